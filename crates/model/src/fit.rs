//! Fits a description to measurements, using closed forms first and then the model itself.
//!
//! Whole-drive passes (cache size and rate, rate after the cache, overwrite rate) give flash times
//! in closed form, corrected by running the same passes on the model. Grid cells give the other
//! parameters by bisection: each cell can determine certain parameters, and does so only if the
//! model's result for it depends on them. The number of dies is chosen for the best fit to the
//! cells with the other parameters close to the base, because a grid alone cannot distinguish few
//! dies from slow cores; if another number fits as well, it stays a guess. Parameters that no measurement determines keep the base's value and are
//! marked as guessed.

mod foresee;
mod probe;
mod replay;

use toml::{Table, Value};
use workload::{OpKind, Workload};

pub use self::foresee::{Foreseen, foresee};
use self::probe::*;
use self::replay::{rate, run_pass};
use crate::figure::{Figure, FigureOrigin, Size};
use crate::spec::{DriveSpec, LinkSpec};

/// Numbers of dies tried.
const DIES: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// Core times per read tried: this many steps up and down, first coarse, then fine.
const CORE_STEPS: i32 = 6;
const CORE_STEP: f64 = 1.6;
const CORE_FINE_STEP: f64 = 1.08;

/// Misfits closer than this are equally good: 7% in one cell.
const AMBIGUOUS: f64 = 0.005;

/// A coarse step of the core time hides so much misfit.
const COARSE: f64 = 0.1;

/// Share of the link's ceiling from which a rate is that of the link.
const LINK_BOUND: f64 = 0.93;

/// Names of the predictions of a [`FillPass`]: its mean rate, the rates in the cache and after it, and
/// that of the second pass.
pub const WHOLE_FRESH: &str = "whole drive, fresh";
pub const IN_CACHE: &str = "in the cache";
pub const AFTER_CACHE: &str = "after the cache";
pub const WHOLE_AGAIN: &str = "whole drive, again";

/// State of the drive before a cell was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// All blocks discarded.
    Fresh,
    /// The cell's region written once sequentially, the rest discarded.
    LaidOut,
    /// The cell's region written once sequentially, then a rest that empties the cache.
    Rested,
    /// The whole drive written once sequentially.
    Full,
    /// The whole drive written at random until its rate is steady.
    Steady,
}

impl Before {
    /// Whether a trial must write the whole drive first.
    fn is_costly(self) -> bool {
        matches!(self, Before::Full | Before::Steady)
    }
}

/// A measured workload.
#[derive(Clone, Debug)]
pub struct MeasuredCell {
    /// The workload, with its region and depth.
    pub workload: Workload,
    /// Drive state before the measurement.
    pub before: Before,
    /// Bytes per second.
    pub rate: f64,
}

/// A sequential write over the whole fresh drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FillPass {
    /// Block size, bytes.
    pub block: u32,
    pub depth: u32,
    /// Mean rate, bytes per second.
    pub average: f64,
    /// Bytes written before the rate fell, and the rates before and after; `None` if it did not
    /// fall.
    pub cache: Option<(f64, f64, f64)>,
    /// Rate of a second pass, bytes per second; `None` if not measured.
    pub again: Option<f64>,
}

/// All measurements of a drive.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    pub name: String,
    /// Manufacturer's model name.
    pub model: String,
    /// Capacity in bytes; 0 if unknown.
    pub capacity: u64,
    /// Payload ceiling of the link as reported by the system, bytes per second.
    pub link: Option<f64>,
    /// Whole-drive pass.
    pub pass: Option<FillPass>,
    pub cells: Vec<MeasuredCell>,
}

/// A measurement and the fitted model's value.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    pub name: String,
    /// Measured rate, bytes per second.
    pub measured: f64,
    /// Rate of the fitted drive, bytes per second.
    pub predicted: f64,
}

/// A fitted description and its agreement with the measurements.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The description. Determined figures are marked as fitted, the others as guessed.
    pub spec: DriveSpec,
    /// The measurements with the model's values.
    pub predictions: Vec<Prediction>,
}

/// Fits a description to the measurements, starting from `base`.
pub fn fit(observed: &Observed, base: &DriveSpec) -> Fitted {
    let mut spec = guessed(base);
    spec.name.clone_from(&observed.name);
    spec.model.clone_from(&observed.model);
    if observed.capacity > 0 {
        let source = "as reported by the drive".to_string();
        let value = Size(observed.capacity);
        spec.capacity = Figure { value, from: FigureOrigin::Given, source };
    }
    fit_link(&mut spec, observed);
    fit_cells(&mut spec, observed);
    fit_pass(&mut spec, observed);
    correct_pass(&mut spec, observed);
    let spare = worn(&observed.cells)
        .find_map(|cell| Some((solve(&spec, cell, &SPARE)?, &cell.workload.name)));
    if let Some((spare, name)) = spare {
        SPARE.set(&mut spec, rounded(spare), name);
    }
    Fitted { predictions: predictions(&spec, observed), spec }
}

/// Sets the link's rate to that reported by the system, or else to that of the fastest read.
fn fit_link(spec: &mut DriveSpec, observed: &Observed) {
    let reads = observed.cells.iter().filter(|c| c.workload.mix.only() == Some(OpKind::Read));
    let fastest = reads.map(|cell| cell.rate).reduce(f64::max);
    let (rate, source) = match (observed.link, fastest) {
        (Some(rate), _) => (rate, "link as reported by the system"),
        (None, Some(rate)) => (rate, "fastest read"),
        (None, None) => return,
    };
    let mut link = spec.link.first().cloned().unwrap_or_default();
    if link.bus.is_empty() {
        link.bus = Figure::guess("none".into());
    }
    put(&mut link.ceiling_mb_s, rounded(rate / 1e6), source);
    spec.link = vec![LinkSpec { packet_bytes: Figure::default(), ..link }];
}

/// Derives flash times from the rates of the passes: rate = dies x planes x page x bits / program
/// time.
fn fit_pass(spec: &mut DriveSpec, observed: &Observed) {
    let nand = &spec.nand;
    let row = f64::from(*nand.dies * *nand.planes * *nand.page_bytes);
    let full = row * f64::from(*nand.bits);
    let Some(pass) = &observed.pass else {
        // A short write goes into the cache, if the base has one.
        let Some(rate) = fastest_write(&observed.cells) else { return };
        let cached = spec.slc.dynamic.0 + spec.slc.fixed.0 > 0;
        let nand = &mut spec.nand;
        let (figure, bytes) =
            if cached { (&mut nand.slc_program_us, row) } else { (&mut nand.program_us, full) };
        put(figure, rounded(bytes / rate * 1e6), "fastest write, cached or not");
        return;
    };
    let ceiling = spec.link_ceiling().map_or(f64::INFINITY, |rate| LINK_BOUND * rate);
    let native = pass.again.unwrap_or(pass.cache.map_or(pass.average, |(_, _, after)| after));
    // Of flash as fast as the link, only a bound is known.
    if native < ceiling || full / *spec.nand.program_us * 1e6 < native {
        put(&mut spec.nand.program_us, rounded(full / native * 1e6), "overwrite rate");
    }
    if pass.cache.is_none() && pass.average > ceiling {
        // A cache behind the link does not show.
        return;
    }
    let (bytes, inside, after) = pass.cache.unwrap_or((0.0, 0.0, native));
    put(&mut spec.slc.dynamic, Size(bytes as u64), "bytes until the first drop");
    put(&mut spec.slc.fixed, Size(0), "bytes until the first drop, fixed and dynamic together");
    if inside > 0.0 {
        if inside < ceiling || row / *spec.nand.slc_program_us * 1e6 < inside {
            put(&mut spec.nand.slc_program_us, rounded(row / inside * 1e6), "rate in the cache");
        }
        let drain = rounded((1.0 - after / native).clamp(0.0, 0.9));
        put(&mut spec.slc.drain, drain, "rate after the cache over the overwrite rate");
    }
}

/// Corrects for effects that only the model includes: garbage collection, the link, the buffer.
fn correct_pass(spec: &mut DriveSpec, observed: &Observed) {
    let Some(pass) = &observed.pass else { return };
    for _ in 0..2 {
        let predicted = run_pass(spec, pass);
        let ratio = |predicted: f64, measured: f64| (predicted / measured).clamp(0.5, 2.0);
        if let Some(rate) = pass.again
            && spec.nand.program_us.from == FigureOrigin::Fitted
        {
            let value = *spec.nand.program_us * ratio(predicted.again.unwrap_or(rate), rate);
            put(&mut spec.nand.program_us, rounded(value), "overwrite rate");
        }
        if let (Some((_, inside, _)), Some((_, cached_rate, _))) = (pass.cache, predicted.cache)
            && spec.nand.slc_program_us.from == FigureOrigin::Fitted
        {
            let value = *spec.nand.slc_program_us * ratio(cached_rate, inside);
            put(&mut spec.nand.slc_program_us, rounded(value), "rate in the cache");
        }
    }
}

/// Fits writes first, because writes at depth 1 give the time common to all commands, and then
/// reads. Afterwards fits writes again, because the flash times have changed.
fn fit_cells(spec: &mut DriveSpec, observed: &Observed) {
    let cells = &observed.cells;
    fit_pass(spec, observed);
    decide(spec, cells, random(cells, OpKind::Write, false), &WRITE_CORE);
    if random(cells, OpKind::Read, false).is_some() {
        *spec = divided(spec, observed);
    }
    decide(spec, cells, sequential(cells), &BUS);
    decide(spec, cells, random(cells, OpKind::Write, false), &WRITE_CORE);
}

/// Determines a parameter from a cell; measurements at depth 1 then give the remaining time.
fn decide(
    spec: &mut DriveSpec,
    cells: &[MeasuredCell],
    cell: Option<&MeasuredCell>,
    parameter: &Parameter,
) {
    if let Some(cell) = cell
        && let Some(value) = solve(spec, cell, parameter)
    {
        parameter.set(spec, rounded(value), &cell.workload.name);
    }
    fit_alone(spec, cells);
}

/// Returns the description that fits the cells best. Tries every number of dies with every division
/// of a read's time between core and flash, which high depth can separate and depth 1 cannot. Uses
/// coarse steps first, then fine steps around the best of them.
fn divided(spec: &DriveSpec, observed: &Observed) -> DriveSpec {
    let cells = &observed.cells;
    let trial = |dies: u32, core: f64| {
        let mut trial_spec = spec.clone();
        put(&mut trial_spec.nand.dies, dies, "best fit to the cells");
        READ_CORE.set(&mut trial_spec, rounded(core), "best fit to the cells");
        fit_pass(&mut trial_spec, observed);
        fit_alone(&mut trial_spec, cells);
        (misfit(&trial_spec, cells) + strangeness(&trial_spec, spec), trial_spec)
    };
    let steps = |from: f64, step: f64| (-CORE_STEPS..=CORE_STEPS).map(move |n| from * step.powi(n));
    let nearest = |a: &(f64, DriveSpec), b: &(f64, DriveSpec)| a.0.total_cmp(&b.0);
    let usual = *spec.command.read_us;
    let coarse = DIES
        .iter()
        .filter_map(|dies| steps(usual, CORE_STEP).map(|core| trial(*dies, core)).min_by(nearest));
    let coarse: Vec<(f64, DriveSpec)> = coarse.collect();
    let least = coarse.iter().map(|(misfit, _)| *misfit).fold(f64::INFINITY, f64::min);
    let promising = coarse.iter().filter(|(misfit, _)| *misfit < least + COARSE);
    let fine = promising.filter_map(|(_, spec)| {
        let cores = steps(*spec.command.read_us, CORE_FINE_STEP);
        cores.map(|core| trial(*spec.nand.dies, core)).min_by(nearest)
    });
    let fine: Vec<(f64, DriveSpec)> = fine.collect();
    let least = fine.iter().map(|(misfit, _)| *misfit).fold(f64::INFINITY, f64::min);
    let mut good = fine.into_iter().filter(|(misfit, _)| *misfit < least + AMBIGUOUS);
    let Some((_, mut best)) = good.next() else { return spec.clone() };
    // Of numbers that fit equally well, the one nearest to the base's stays, as a guess.
    for (_, other) in good {
        let distances = [&best, &other]
            .map(|trial| libm::log(f64::from(*trial.nand.dies) / f64::from(*spec.nand.dies)).abs());
        if distances[1] < distances[0] {
            best = other;
        }
        let figure = &mut best.nand.dies;
        figure.from = FigureOrigin::Guessed;
        figure.source = "another number fits as well".into();
    }
    best
}

/// Sum of squared logarithms of measured over predicted.
fn misfit(spec: &DriveSpec, cells: &[MeasuredCell]) -> f64 {
    let cells = cells.iter().filter(|cell| !cell.before.is_costly());
    cells.map(|cell| libm::log(rate(spec, cell) / cell.rate).powi(2)).sum()
}

/// Distance of the parameters from the base's, which decides between equally good fits. A weight of
/// 1/100 makes a fit that is 10% better in one cell as good as a parameter closer by a factor of e.
fn strangeness(spec: &DriveSpec, base: &DriveSpec) -> f64 {
    let distances = [&LATENCY, &SLC_READ, &READ, &READ_CORE].into_iter().map(|parameter| {
        let [value, base] =
            [spec, base].map(|spec| (parameter.place)(&mut spec.clone()).value.max(1e-3));
        libm::log(value / base).powi(2)
    });
    0.01 * distances.sum::<f64>()
}

fn predictions(spec: &DriveSpec, observed: &Observed) -> Vec<Prediction> {
    let line =
        |name: &str, measured, predicted| Prediction { name: name.into(), measured, predicted };
    let mut lines = Vec::new();
    if let Some(pass) = &observed.pass {
        let predicted = run_pass(spec, pass);
        lines.push(line(WHOLE_FRESH, pass.average, predicted.average));
        if let (Some(cache), Some(predicted_cache)) = (pass.cache, predicted.cache) {
            lines.push(line(IN_CACHE, cache.1, predicted_cache.1));
            lines.push(line(AFTER_CACHE, cache.2, predicted_cache.2));
        }
        lines.extend(pass.again.zip(predicted.again).map(|(m, p)| line(WHOLE_AGAIN, m, p)));
    }
    for cell in &observed.cells {
        lines.push(line(&cell.workload.name, cell.rate, rate(spec, cell)));
    }
    lines
}

/// Copies the base for another drive, of no class: each of its figures becomes a guess.
fn guessed(base: &DriveSpec) -> DriveSpec {
    let source = format!("not determined; as in {}", base.name);
    let changed = Table::try_from(base).ok().and_then(|mut table| {
        mark(&mut table, &source);
        table.remove("class");
        DriveSpec::from_table(&table).ok()
    });
    changed.unwrap_or_else(|| base.clone())
}

fn mark(table: &mut Table, source: &str) {
    if table.contains_key("value") && table.contains_key("from") {
        table.insert("from".into(), Value::String("guessed".into()));
        table.insert("source".into(), Value::String(source.into()));
        return;
    }
    for (_, value) in table.iter_mut() {
        match value {
            Value::Table(inner) => mark(inner, source),
            Value::Array(list) => {
                list.iter_mut().filter_map(Value::as_table_mut).for_each(|t| mark(t, source));
            }
            _ => {}
        }
    }
}

fn put<T>(figure: &mut Figure<T>, value: T, source: &str) {
    *figure = Figure { value, from: FigureOrigin::Fitted, source: source.to_string() };
}

/// Rounds to four significant digits, the precision of the measurements.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10f64.powi(3 - libm::log10(value.abs()).floor() as i32);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{Mix, Pattern, Region};

    #[test]
    fn four_digits_are_kept() {
        let kept = [1747.63, 0.30712, 12.0, 0.0, 437_915.2].map(rounded);
        assert_eq!(kept, [1748.0, 0.3071, 12.0, 0.0, 437_900.0]);
    }

    #[test]
    fn figures_of_the_base_become_guesses() {
        let base = DriveSpec::preset("samsung-980-pro-1t").expect("known");
        let figures = guessed(&base).figures();
        assert!(figures.iter().all(|f| f.from == "guessed"), "{figures:?}");
        let link = figures.iter().find(|f| f.key == "link.0.bus").expect("a link");
        assert_eq!(link.value, "pcie-4x4");
    }

    #[test]
    fn without_measurements_nothing_is_determined() {
        let base = DriveSpec::default();
        let fitted = fit(&Observed::default(), &base);
        assert!(fitted.predictions.is_empty());
        assert!(fitted.spec.figures().iter().all(|f| f.from == "guessed"));
    }

    #[test]
    fn passes_give_the_cache_and_the_flash() {
        let cache = Some((8e9, 3.2e9, 1.4e9));
        let (average, again) = (1.7e9, Some(2e9));
        let pass = FillPass { block: 1 << 20, depth: 8, average, cache, again };
        let observed =
            Observed { capacity: 32_000_000_000, pass: Some(pass), ..Observed::default() };
        let Fitted { spec, predictions } = fit(&observed, &DriveSpec::default());
        assert_eq!(spec.slc.dynamic.0, 8_000_000_000);
        assert!((*spec.slc.drain - 0.3).abs() < 0.01, "{}", *spec.slc.drain);
        for p in predictions.iter().filter(|p| p.name != WHOLE_FRESH) {
            assert!((p.predicted / p.measured - 1.0).abs() < 0.1, "{p:?}");
        }
    }

    /// Random writes to a full drive determine the over-provisioning.
    #[test]
    fn random_writes_on_a_full_drive_give_the_spare_flash() {
        let truth = DriveSpec::default();
        let sizes = [("capacity", "1GiB"), ("op", "0.2"), ("slc", "0")];
        let truth = truth.with_overrides(&sizes).expect("known");
        let region = Region::first(1 << 30);
        let mut workload =
            Workload::new("states-filled", Pattern::Uniform, Mix::WRITE, 4096, region);
        workload.depth = 3;
        workload.stop.bytes = Some(3 << 30);
        let mut cell = MeasuredCell { workload, before: Before::Full, rate: 0.0 };
        cell.rate = rate(&truth, &cell);
        let observed = Observed { capacity: 1 << 30, cells: vec![cell], ..Observed::default() };
        let base = DriveSpec::default().with_overrides(&[("slc", "0")]).expect("known");
        let fitted = fit(&observed, &base);
        assert!((*fitted.spec.op - 0.2).abs() < 0.02, "{}", *fitted.spec.op);
    }
}
