//! Builds records from parsed results. Metrics have the same names as ssdyno's, so that they can be
//! compared, and nothing is added that does not follow from the text.

use record::{
    Finding, FindingKind, Level, Metric, MetricKey, Order, Origin, Run, Statistic, Unit,
    free_side_name, side_name,
};

/// A percentile with fewer operations beyond it is not imported: its interval would be too wide.
const SAMPLES_BEYOND: f64 = 10.0;

/// An empty record for a tool's result that begins at a line.
pub(crate) fn run(method: &str, tool: &str, version: Option<String>, line: usize) -> Run {
    let place = Some(format!("line {line}"));
    let origin = Origin { version, place, ..Origin::imported(Some(tool), "") };
    Run::elsewhere(env!("CARGO_PKG_VERSION"), method, origin)
}

/// Adds the tool's command line or settings.
pub(crate) fn with_command(mut run: Run, command: Option<String>) -> Run {
    if let Some(origin) = &mut run.origin {
        origin.command = command;
    }
    run
}

/// Adds the user's name for a part of the result, once.
pub(crate) fn title(run: &mut Run, name: &str) {
    let Some(origin) = run.origin.as_mut().filter(|_| !name.is_empty()) else { return };
    match &mut origin.title {
        Some(names) if names.split(", ").any(|known| known == name) => {}
        Some(names) => *names += &format!(", {name}"),
        none => *none = Some(name.to_string()),
    }
}

/// The user's names for the result, if it has any.
pub(crate) fn own_title(run: &Run) -> Option<String> {
    run.origin.as_ref().and_then(|origin| origin.title.clone())
}

/// Sets the start time, if known.
pub(crate) fn start(run: &mut Run, started: Option<String>) {
    if let (Some(started), Some(origin)) = (started, &mut run.origin) {
        run.started = started;
        origin.start_known = true;
    }
}

/// Adds a single value. Negative and infinite values are ignored.
pub(crate) fn put(run: &mut Run, name: impl Into<String>, unit: Unit, value: f64) {
    if value.is_finite() && value >= 0.0 {
        run.metrics.push(Metric::single(name, unit, value));
    }
}

/// Adds a note.
pub(crate) fn note(run: &mut Run, kind: FindingKind, text: impl Into<String>) {
    run.warnings.push(Finding::new(kind, Level::Note, text));
}

/// The shape of a workload, as far as known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkloadShape {
    pub random: bool,
    pub mixed: bool,
    pub block_bytes: Option<u64>,
    pub depth: Option<u32>,
    pub jobs: u64,
    /// Distinguishes workloads of the same shape.
    pub extra: Option<String>,
}

impl WorkloadShape {
    /// `rand-read-4KiB-q32`; only the direction if sizes are unknown.
    pub fn name(&self, direction: &str) -> String {
        let order = match (self.mixed, self.random) {
            (true, _) => Order::Mixed,
            (_, true) => Order::Random,
            _ => Order::Sequential,
        };
        let sizes = self.block_bytes.zip(self.depth);
        side_name(order, direction, sizes, self.jobs, self.extra.clone())
    }

    /// Whether its rate is reported in operations, as in ssdyno.
    pub fn in_operations(&self) -> bool {
        self.random || self.mixed || self.block_bytes.is_none()
    }
}

/// A tool's figures for one direction of one workload.
#[derive(Clone, Debug, Default)]
pub(crate) struct SideFigures {
    pub bytes_per_s: Option<f64>,
    pub iops: Option<f64>,
    /// Operations, if counted.
    pub operations: Option<u64>,
    pub min_ns: Option<f64>,
    pub max_ns: Option<f64>,
    /// Share (0 to 1) and nanoseconds, of completion.
    pub percentiles: Vec<(f64, f64)>,
    pub submission: Vec<(f64, f64)>,
}

/// Adds the rate and the latencies of one direction. A name already taken gets a suffix. Returns
/// the name used.
pub(crate) fn put_side(
    run: &mut Run,
    shape: &WorkloadShape,
    direction: &str,
    side: &SideFigures,
) -> String {
    let name = free_side_name(
        |extra| {
            WorkloadShape { extra: extra.or(shape.extra.clone()), ..shape.clone() }.name(direction)
        },
        |name| run.metric(name).is_some(),
    );
    let rate = if shape.in_operations() { side.iops } else { side.bytes_per_s };
    let unit = if shape.in_operations() { Unit::Iops } else { Unit::BytesPerSecond };
    match rate {
        Some(value) => put(run, name.as_str(), unit, value),
        None => {
            if let Some(value) = side.bytes_per_s {
                put(run, name.as_str(), Unit::BytesPerSecond, value);
            }
        }
    }
    let key = MetricKey::parse(&name);
    put_quantiles(run, &key, &side.percentiles, side.operations);
    for (statistic, ns) in [(Statistic::Min, side.min_ns), (Statistic::Max, side.max_ns)] {
        if let Some(ns) = ns {
            put(run, key.clone().with(statistic), Unit::Nanoseconds, ns);
        }
    }
    let submission = MetricKey::parse("submission").within(&name);
    put_quantiles(run, &submission, &side.submission, side.operations);
    name
}

/// Adds the percentiles that ssdyno reports, from shares (0 to 1) and nanoseconds. One with too few
/// operations beyond it is left out.
pub(crate) fn put_quantiles(
    run: &mut Run,
    key: &MetricKey,
    percentiles: &[(f64, f64)],
    operations: Option<u64>,
) {
    for statistic in [Statistic::P50, Statistic::P99, Statistic::P999] {
        let Some(share) = statistic.quantile() else { continue };
        let percentile = percentiles.iter().find(|(q, _)| (q - share).abs() < 1e-9);
        let Some((_, ns)) = percentile else { continue };
        let samples_beyond = operations.map(|n| n as f64 * (1.0 - share));
        if samples_beyond.is_none_or(|samples_beyond| samples_beyond + 1e-6 >= SAMPLES_BEYOND) {
            put(run, key.clone().with(statistic), Unit::Nanoseconds, *ns);
        }
    }
}

/// Parses `Tue Oct  3 18:02:42 2023` as UTC, because the tools do not state the time zone.
pub(crate) fn ctime(text: &str) -> Option<jiff::civil::DateTime> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split_whitespace().take(5).collect();
    let [_, month, day, time, year] = words.as_slice() else { return None };
    let month = MONTHS.iter().position(|m| m == month)? + 1;
    format!("{year:0>4}-{month:02}-{day:0>2}T{time}").parse().ok()
}

/// A local time in an unknown zone as RFC 3339.
pub(crate) fn moment(time: jiff::civil::DateTime) -> String {
    format!("{time}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_ssdynos_metrics() {
        let mut shape = WorkloadShape {
            random: true,
            block_bytes: Some(4096),
            depth: Some(32),
            jobs: 1,
            ..WorkloadShape::default()
        };
        assert_eq!(shape.name("read"), "rand-read-4KiB-q32");
        (shape.jobs, shape.mixed) = (4, true);
        assert_eq!(shape.name("write"), "mixed-write-jobs4-4KiB-q32");
        shape.block_bytes = None;
        assert_eq!(shape.name("read"), "read-jobs4");
    }

    #[test]
    fn a_percentile_of_too_few_operations_is_omitted() {
        let shape = WorkloadShape {
            random: true,
            block_bytes: Some(4096),
            depth: Some(1),
            ..WorkloadShape::default()
        };
        let percentiles = vec![(0.5, 1e3), (0.99, 2e3), (0.999, 3e3)];
        let side = SideFigures {
            iops: Some(1.0),
            operations: Some(2000),
            percentiles,
            ..SideFigures::default()
        };
        let mut found = run("fio", "fio", None, 1);
        put_side(&mut found, &shape, "read", &side);
        let names: Vec<_> = found.metrics.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["rand-read-4KiB-q1", "rand-read-4KiB-q1.p50", "rand-read-4KiB-q1.p99"]);
    }

    #[test]
    fn times_in_ctime_format() {
        let time = |text| ctime(text).map(moment);
        assert_eq!(time("Tue Oct  3 18:02:42 2023"), Some("2023-10-03T18:02:42Z".to_string()));
        for text in ["", "Tue Oct  3 18:02:42", "Tue Foo  3 18:02:42 2023", "a Oct 33 1:2:3 2023"] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
