//! The basis of a replicated figure: fitted, stated or predicted.
//!
//! The presets record for every parameter whether it is published, fitted or guessed, and from
//! which figure. A figure cited by a fitted parameter must be reproduced, which shows only that the
//! model is able to; so must a rate of a filled drive whose parameter was fitted to another figure
//! of that rate. A figure cited by a published parameter is an input. The model predicts
//! everything else, from parameters some of which are guesses.

use model::FigureLine;

use super::document::{Experiment, PublishedFigure};
use super::label::Basis;
use super::time_series::Reading;
use crate::published::{self, ParsedFigure, Printed, is_path};
use crate::virtual_drive;

/// The basis of a figure of an experiment on a virtual drive.
pub(super) fn basis(figure: &PublishedFigure, experiment: &Experiment) -> Basis {
    if let Some(basis) = figure.basis {
        return basis;
    }
    if experiment.fitted.iter().any(|path| is_path_of(path, figure)) {
        return Basis::Fitted;
    }
    let Ok(spec) = virtual_drive::named(&experiment.target()) else { return Basis::Predicted };
    let lines = spec.figures();
    let [cites_fitted, cites_published] = ["fitted", "published"]
        .map(|origin| lines.iter().any(|line| line.from == origin && cites(line, figure)));
    let mut fitted = lines.iter().filter(|line| line.from == "fitted");
    let is_fitted = fitted.any(|line| determining(&figure.read).contains(&&*line.key));
    match (cites_fitted || is_fitted, cites_published) {
        (true, _) => Basis::Fitted,
        (false, true) => Basis::Stated,
        (false, false) => Basis::Predicted,
    }
}

/// The parameters that determine a rate of a drive while it is filled.
fn determining(read: &Reading) -> &'static [&'static str] {
    match read {
        Reading::Metric(name) => match name.as_str() {
            "sustain-fresh.inside" => &["nand.slc_program_us"],
            "sustain-fresh.average" | "sustain-fresh.worst-1%" => &["nand.program_us", "slc.drain"],
            _ => &[],
        },
        _ => &[],
    }
}

/// Whether the source of a parameter cites a figure: by the path of the figure or of one that equals
/// it or, if it contains no path, by a value that equals it within the digits of either.
fn cites(line: &FigureLine, figure: &PublishedFigure) -> bool {
    let words = line.source.split([' ', ',', ';', ':']);
    let paths: Vec<&str> = words.filter(|word| is_path(word)).collect();
    if paths.is_empty() {
        cited_values(&line.source).iter().any(|value| value.is_of(figure))
    } else {
        paths.iter().any(|path| is_path_of(path, figure))
    }
}

/// Whether a path is that of the figure, or of another row with the same value in the same column:
/// a parameter fitted to that row meets this one too, which shows nothing.
fn is_path_of(path: &str, figure: &PublishedFigure) -> bool {
    let Some(path_own) = figure.of.as_deref() else { return false };
    let column = |path: &str| path.rsplit('/').next().map(str::to_string);
    let printed = |path: &str| published::figure(path).ok().map(|(figure, _)| figure);
    path == path_own || (column(path) == column(path_own) && printed(path) == printed(path_own))
}

/// A value in the source of a parameter, or a range of values.
#[derive(Debug)]
struct CitedValue {
    /// In the record's unit.
    low: f64,
    high: f64,
    /// Half a unit of the last digit.
    rounding: f64,
    /// The unit in records.
    unit: record::Unit,
}

impl CitedValue {
    /// Parses an amount such as `36.9` or `25-30` with its unit.
    fn read(amount: &str, unit: &str) -> Option<CitedValue> {
        let (low, high) = amount.split_once('-').unwrap_or((amount, amount));
        let (low, high) = (low.parse::<f64>().ok()?, high.parse::<f64>().ok()?);
        let (unit, scale) = ParsedFigure::read(&Printed::Number(1.0), Some(unit))?.scale();
        let rounding = half_unit(amount) * scale;
        Some(CitedValue { low: low * scale, high: high * scale, rounding, unit })
    }

    fn is_of(&self, figure: &PublishedFigure) -> bool {
        let (name, scale) = figure.unit.name_and_scale();
        let unit = ParsedFigure::read(&Printed::Number(1.0), Some(name)).map(|f| f.scale().0);
        let low = figure.published * scale;
        let high = figure.to.unwrap_or(figure.published) * scale;
        // Halfway between two roundings, a value is either, but ranges only touch there.
        let edge = if figure.to.is_some() { 1.0 - 1e-6 } else { 1.0 + 1e-9 };
        let rounding = self.rounding.max(printed_rounding(figure.published) * scale) * edge;
        unit == Some(self.unit) && self.low - rounding <= high && self.high + rounding >= low
    }
}

/// Half a unit of the last digit of a figure; 0 for a single digit, which says too little.
fn printed_rounding(figure: f64) -> f64 {
    let text = figure.to_string();
    let digits = text.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit).count();
    if digits < 2 { 0.0 } else { half_unit(&text) }
}

/// Half a unit of the last digit of a number.
fn half_unit(number: &str) -> f64 {
    let decimals = number.rsplit_once('.').map_or(0, |(_, digits)| digits.len());
    0.5 * libm::pow(10.0, -(decimals as f64))
}

/// The values in a source. A value without a unit, followed by `read` or `written`, has the unit of
/// the value before it.
fn cited_values(source: &str) -> Vec<CitedValue> {
    let words = with_ranges(source);
    let mut values = Vec::new();
    let mut last_unit = "";
    for pair in words.windows(2) {
        let next = pair[1].trim_end_matches([',', ';', ':', ')']);
        let unit = if matches!(next, "read" | "written") { last_unit } else { next };
        if let Some(value) = CitedValue::read(&pair[0], unit) {
            values.push(value);
            last_unit = unit;
        }
    }
    values
}

/// The words of a source, in which `25 to 30` is one: `25-30`.
fn with_ranges(source: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in source.split_whitespace() {
        let is_number = word.parse::<f64>().is_ok();
        match words.as_slice() {
            [.., low, to] if is_number && to == "to" && low.parse::<f64>().is_ok() => {
                let range = format!("{low}-{word}");
                words.truncate(words.len() - 2);
                words.push(range);
            }
            _ => words.push(word.to_string()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::document::{self, Document};
    use super::*;

    fn basis_in(document: &Document, figure: &PublishedFigure) -> Basis {
        basis(figure, document.experiment(&figure.experiment).expect("its experiment"))
    }

    fn counts(name: &str) -> Vec<(Basis, usize)> {
        let document = document::document(name).expect("there");
        let all: Vec<Basis> = document.figures.iter().map(|f| basis_in(&document, f)).collect();
        let count = |basis| (basis, all.iter().filter(|b| **b == basis).count());
        Basis::ALL.map(count).to_vec()
    }

    #[test]
    fn a_path_in_a_source_cites_only_that_figure() {
        let document = document::document("000").expect("there");
        let of = |path: &str| document.figures.iter().find(|f| f.of.as_deref() == Some(path));
        let line = |source: &str| FigureLine {
            key: "k".into(),
            value: "1".into(),
            from: "fitted".into(),
            source: source.into(),
        };
        let fitted = of("000/first-sabrent-512-mini-b/fs-read").expect("1705 KiB/s");
        let predicted = of("000/bx100-120/fs-read").expect("1703 KiB/s");
        let source = line("000/first-sabrent-512-mini-b/fs-read, 1705 KiB/s");
        assert!(cites(&source, fitted) && !cites(&source, predicted));
    }

    #[test]
    fn a_web_address_in_a_source_is_not_a_path() {
        assert!(is_path("004/usd-sandisk-4g-class2/read"));
        assert!(!is_path("example.org/news/185692") && !is_path("400/600") && !is_path("MB/s"));
        // The sources of the P2's parameters contain a value and a web address.
        let document = document::document("fills").expect("there");
        let of = |figure: &&PublishedFigure| figure.experiment == "crucial-p2-500-qlc";
        let figures: Vec<&PublishedFigure> = document.figures.iter().filter(of).collect();
        let bases = figures.iter().map(|figure| basis_in(&document, figure));
        let fitted = bases.filter(|basis| *basis == Basis::Fitted).count();
        assert!(fitted > 0, "{fitted} of {}", figures.len());
    }

    #[test]
    fn one_row_of_000_was_fitted_and_others_are_predicted() {
        let [(_, predicted), (_, fitted), _] = counts("000")[..] else { panic!("three") };
        assert!(predicted > fitted, "{predicted} {fitted}");
    }

    #[test]
    fn in_003_the_drive_was_fitted_to_some_figures_and_predicts_others() {
        let [(_, predicted), (_, fitted), _] = counts("003")[..] else { panic!("three") };
        assert!(predicted > 0 && fitted > 0, "{predicted} {fitted}");
    }

    /// A figure of an experiment, with its value in a unit.
    fn figure_of(value: f64, unit: &str) -> PublishedFigure {
        let text = format!(
            "what = 'f'\nexperiment = 'e'\nread = 'm'\npublished = {value:?}\nunit = '{unit}'\n\
             tolerance = 0.1\nsource = 's'"
        );
        toml::from_str(&text).expect("well formed")
    }

    /// Draws values, and sources that print them with some of their digits, in one of several
    /// units. The source cites the value, and none that rounds to other digits.
    #[test]
    fn a_source_cites_what_rounds_to_its_digits() {
        const RATES: [(&str, f64); 4] =
            [("GB/s", 1e9), ("MB/s", 1e6), ("KiB/s", 1024.0), ("kB/s", 1e3)];
        let mut random = fuzz::Random::new(41);
        for _ in 0..2000 {
            let (unit, scale) = RATES[random.below(4)];
            let decimals = random.below(4) as i32;
            let step = 10f64.powi(-decimals);
            let digits = (10 + random.below(9000)) as f64;
            // Within half a step of the printed digits, in thousandths of a step.
            // Odd, so that the value has more digits than are printed.
            let value = (digits + (2.0 * random.below(499) as f64 - 497.0) / 1000.0) * step;
            let amount = format!("{:.*}", decimals as usize, digits * step);
            let source = match random.below(3) {
                0 => format!("document 000: {amount} {unit} read"),
                1 => format!("1 {unit} read, {amount} written under RISC OS"),
                _ => format!("'A review', 2020: {amount} {unit}, depth 1"),
            };
            let line = FigureLine {
                key: "k".into(),
                value: "1".into(),
                from: "fitted".into(),
                source: source.clone(),
            };
            let (shown, shown_scale) = RATES[random.below(4)];
            let converted = |value: f64| figure_of(value * scale / shown_scale, shown);
            assert!(cites(&line, &converted(value)), "{source}: {value} {unit}");
            let away = (1.0 + random.below(50) as f64) * step;
            let other = if random.below(2) == 0 { value + away } else { value - away };
            // The first template with two values cites 1 as well.
            if (other - 1.0).abs() > 1.0 {
                assert!(!cites(&line, &converted(other)), "{source}: {other} {unit}");
            }
            assert!(!cites(&line, &figure_of(value, "s")), "{source}: in seconds");
        }
    }

    /// Every figure of `published/figures` whose path a fitted parameter cites is fitted on that
    /// drive, and so is every other figure of the same column with the same value.
    #[test]
    fn figures_cited_by_presets_are_fitted_and_so_are_their_equals() {
        let mut count = 0;
        for name in ["000", "004"] {
            let document = document::document(name).expect("there");
            for figure in document.figures.iter().filter(|f| f.of.is_some()) {
                let target = document.experiment(&figure.experiment).expect("there").target();
                let lines = virtual_drive::named(&target).expect("a preset").figures();
                let fitted = lines.iter().filter(|line| line.from == "fitted");
                let paths = fitted.flat_map(|line| line.source.split([' ', ',', ';', ':']));
                let is_cited = paths.filter(|word| is_path(word)).any(|path| {
                    let (cited, column) = (published::figure(path), path.rsplit('/').next());
                    let printed = figure.of.as_deref().expect("filtered");
                    let (own, own_column) =
                        (published::figure(printed), printed.rsplit('/').next());
                    column == own_column && cited.map(|(f, _)| f).ok() == own.map(|(f, _)| f).ok()
                });
                if is_cited {
                    count += 1;
                    assert_eq!(basis_in(&document, figure), Basis::Fitted, "{}", figure.what);
                }
            }
        }
        assert!(count > 20, "{count}");
    }

    /// The labels that were wrong: printed with two digits in the preset, without a unit of their
    /// own, or a constant of the host that one of twelve equal rows was fitted to.
    #[test]
    fn rounded_values_and_equal_rows_are_not_called_predicted() {
        let fitted = |name: &str, what: &str| {
            let document = document::document(name).expect("there");
            let figure = document.figures.iter().find(|f| f.what == what).expect(what);
            assert_eq!(basis_in(&document, figure), Basis::Fitted, "{name}: {what}");
        };
        fitted("000", "NVMe over USB 2, 4 KiB read of 80/20");
        fitted("000", "NVMe over USB 2, 4 KiB write of 80/20");
        fitted("000", "BX500 over USB 2, save");
        for what in ["Kingston 2G", "Transcend 4G, second", "ExtremeIII 2G", "ADATA 4G"] {
            fitted("004", &format!("USB adapter, {what}, read"));
        }
        for what in ["DataTraveler 1G", "SanDisk Cruzer 4G", "Verbatim 1G"] {
            fitted("004", &format!("USB {what}, read"));
        }
        fitted("003", "M225 sequential read, after over before");
        // Printed as 160, where the drive was fitted to 159.9.
        fitted("003", "M225 sequential write, first third");
    }

    #[test]
    fn a_source_cites_a_number_in_its_unit() {
        let document = document::document("004").expect("there");
        let row =
            |i: usize| ["004/usd-sandisk-4g-class2/read", "004/usd-sandisk-4g-class2/write"][i];
        let of = |i: usize| document.figures.iter().find(|f| f.of.as_deref() == Some(row(i)));
        let figure = |i: usize| of(i).expect("its row");
        let line = |source: &str| FigureLine {
            key: "k".into(),
            value: "1".into(),
            from: "fitted".into(),
            source: source.into(),
        };
        // Printed as 20, and as 6-7.
        assert!(cites(&line("document 004: 20 MB/s read"), figure(0)));
        assert!(!cites(&line("document 004: 21 MB/s read"), figure(0)));
        assert!(!cites(&line("document 004: 20 s"), figure(0)));
        assert!(cites(&line("0.0065 GB/s (somewhere)"), figure(1)));
        assert!(!cites(&line("8-9 MB/s"), figure(1)));
        assert!(cites(&line("a review: 5.9 to 6.4 MB/s written"), figure(1)));
        assert!(!cites(&line("a review: 7.9 to 8.4 MB/s written"), figure(1)));
    }
}
