//! RATE LIMIT on virtual volumes with drawn limits: operations or bytes per second, or both, with
//! bursts. `SSDYNO_LIMITS_SEED` and `SSDYNO_LIMITS_COUNT` draw others and more.

use std::time::Duration;

use record::{Metric, Unit, Verdict};
use script::Options;

use super::{preset, run_with};

/// Numbers from a seed.
struct Draw(u64);

impl Draw {
    /// From 0 up to 1.
    fn share(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }

    /// Between two numbers, each factor as likely as another.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * libm::pow(high / low, self.share())
    }
}

/// What a limit is, per second, and its burst.
#[derive(Clone, Copy, Debug)]
struct Limit {
    per_s: f64,
    burst: f64,
}

/// The drive of a volume, its limits, and the seconds for its test.
#[derive(Clone, Copy, Debug)]
struct Volume {
    drive: &'static str,
    /// The time of its flash, microseconds, if its reads alone may be too slow to meet a limit.
    slow_us: Option<f64>,
    ops: Option<Limit>,
    bytes: Option<Limit>,
    seconds: u64,
}

/// How much farther off the second limit must be where the first is to show: blocks between meet
/// now one, now the other.
const APART: f64 = 1.2;

impl Volume {
    /// The limit of operations, if the smallest blocks meet it before that of bytes.
    fn ops_to_name(&self) -> Option<Limit> {
        let is_first = |ops: &Limit| {
            self.bytes.is_none_or(|bytes| bytes.per_s >= APART * SMALL_BYTES * ops.per_s)
        };
        self.ops.filter(is_first)
    }

    /// The limit of bytes, if the largest blocks meet it before that of operations.
    fn bytes_to_name(&self) -> Option<Limit> {
        let is_first = |bytes: &Limit| {
            self.ops.is_none_or(|ops| LARGE_BYTES * ops.per_s >= APART * bytes.per_s)
        };
        self.bytes.filter(is_first)
    }
}

/// The smallest and the largest blocks of the method.
const SMALL_BYTES: f64 = 4096.0;
const LARGE_BYTES: f64 = 1048576.0;

/// Verdicts that name a cause in the drive or its link.
const OF_THE_DRIVE: [&str; 14] = [
    "CONTROLLER",
    "DEVICE CACHE",
    "DEVICE DEPTH",
    "FLASH BOUND",
    "HEAT",
    "LINK",
    "LINK FULL",
    "MAP CACHE",
    "MAPPING UNIT",
    "OPEN BLOCKS",
    "PER-COMMAND",
    "POWER STATE",
    "STALL",
    "WEAR",
];

/// Drives that are faster than any drawn limit while their flash is.
const DRIVES: [&str; 3] = ["samsung-980-pro-1t", "samsung-970-evo-plus-250", "crucial-bx100-120"];

fn drawn(seed: u64) -> Volume {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    draw.share();
    let drive = DRIVES[(draw.share() * DRIVES.len() as f64) as usize];
    let kind = draw.share();
    let mut limit = |low, high| {
        let per_s = draw.between(low, high);
        Limit { per_s, burst: per_s * draw.between(0.05, 4.0) }
    };
    let ops = (kind < 0.6).then(|| limit(100.0, 20_000.0));
    let bytes = (kind > 0.4).then(|| limit(4e6, 300e6));
    let seconds = draw.between(20.0, 60.0) as u64;
    let slow_us = (draw.share() < 0.3).then(|| draw.between(200.0, 5000.0));
    Volume { drive, slow_us, ops, bytes, seconds }
}

/// The limit and burst of a verdict that counts in this unit, and whether the burst may be larger.
fn said(verdicts: &[Verdict], unit: Unit) -> Option<(Limit, bool)> {
    let mut said = verdicts.iter().filter(|verdict| verdict.kind.name() == "RATE LIMIT");
    let verdict = said.find(|verdict| verdict.evidence[0].unit == unit)?;
    let [limit, burst] = [0, 1].map(|nth| &verdict.evidence[nth]);
    Some((Limit { per_s: limit.value, burst: burst.value }, burst.name.starts_with("at least")))
}

/// Whether a figure shows it: a burst may last for all of the run.
fn is_shown(metrics: &[Metric], unit: Unit, limit: Limit) -> bool {
    let figures = metrics.iter().filter(|metric| metric.unit == unit);
    let mut values = figures.filter_map(|figure| figure.value);
    values.any(|value| (value / limit.per_s - 1.0).abs() <= 0.02)
}

/// What is wrong with what is said of limits that count in a unit: of the true one, if there is one, of
/// which something must be said or not. `None` if nothing is.
fn error(truth: Option<Limit>, is_due: bool, said: Option<(Limit, bool)>) -> Option<String> {
    let Some(truth) = truth else { return said.map(|said| format!("{said:?} is not set")) };
    let Some((limit, is_part)) = said else {
        return is_due.then(|| format!("silent: {truth:?} was not named"));
    };
    let is_rate = (limit.per_s / truth.per_s - 1.0).abs() <= 0.05;
    let is_burst = if is_part {
        limit.burst <= 1.1 * truth.burst
    } else {
        (limit.burst / truth.burst - 1.0).abs() <= 0.1
    };
    (!is_rate || !is_burst).then(|| format!("{truth:?} was said to be {limit:?}, part: {is_part}"))
}

/// Causes in the drive that verdicts name for figures that have the limit's rate of operations. One of
/// bytes cannot be told from flash behind few channels where reads alone are slower.
fn blamed_on_the_drive(volume: &Volume, metrics: &[Metric], verdicts: &[Verdict]) -> Vec<String> {
    let Some(limit) = volume.ops else { return Vec::new() };
    let is_held = |name: &str| {
        let figures = metrics.iter().filter(|metric| metric.name == *name);
        is_shown(&Vec::from_iter(figures.cloned()), Unit::Iops, limit)
    };
    let in_drive = verdicts.iter().filter(|verdict| OF_THE_DRIVE.contains(&verdict.kind.name()));
    let blamed = in_drive.flat_map(|verdict| {
        let held = verdict.explains.iter().filter(|explained| is_held(&explained.metric));
        held.map(|explained| format!("{} of {}", verdict.kind.name(), explained.metric))
    });
    blamed.collect()
}

#[test]
fn limits_of_providers_are_named_with_their_rate_and_burst() {
    let number = |name: &str, usual| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let (first, count) = (number("SSDYNO_LIMITS_SEED", 430), number("SSDYNO_LIMITS_COUNT", 6));
    let mut wrong = Vec::new();
    for seed in first..first + count {
        let volume = drawn(seed);
        let text = |limit: Option<f64>| limit.unwrap_or(0.0).to_string();
        let overrides = [
            ("limit.iops", text(volume.ops.map(|limit| limit.per_s))),
            ("limit.burst_ops", text(volume.ops.map(|limit| limit.burst))),
            ("limit.mb_s", text(volume.bytes.map(|limit| limit.per_s / 1e6))),
            ("limit.burst_mb", text(volume.bytes.map(|limit| limit.burst / 1e6))),
        ];
        let slow_us = volume.slow_us.map(|time_us| ("nand.read_us", time_us.to_string()));
        let overrides = Vec::from_iter(overrides.into_iter().chain(slow_us));
        let overrides = Vec::from_iter(overrides.iter().map(|(name, value)| (*name, &**value)));
        let spec = preset(volume.drive, &overrides);
        let time = Some(Duration::from_secs(volume.seconds));
        let options = Options { seed, time, ..Options::default() };
        let out = run_with(methods::find("quick").expect("a method"), &spec, &options);
        let error_in = |unit, limit: Option<Limit>, to_name: Option<Limit>| {
            let is_fast = volume.slow_us.is_none();
            let is_due =
                is_fast && to_name.is_some_and(|limit| is_shown(&out.metrics, unit, limit));
            error(limit, is_due, said(&out.verdicts, unit))
        };
        let ops = error_in(Unit::Iops, volume.ops, volume.ops_to_name());
        let bytes = error_in(Unit::BytesPerSecond, volume.bytes, volume.bytes_to_name());
        let blamed = blamed_on_the_drive(&volume, &out.metrics, &out.verdicts);
        for error in ops.into_iter().chain(bytes).chain(blamed) {
            let query: Vec<String> =
                overrides.iter().map(|(name, value)| format!("{name}={value}")).collect();
            wrong.push(format!(
                "{error}\n  'sim:{}?{}' --seed {seed} --time {}s",
                volume.drive,
                query.join("&"),
                volume.seconds
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
