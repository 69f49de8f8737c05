//! HEAT under a sustained load: did the rate fall because the drive was hot?
//!
//! The rule requires three signs: the rate falls and stays low, the drive is then hotter than at
//! the start, and the rate recovers after cooling. Without the third, any other effect of a
//! sustained load is possible.

use record::{Unit, VerdictKind};
use rig::TargetInfo;
use workload::units::{span, throughput};

use super::rule::{Role, Rule};
use super::{Ruling, percent};
use crate::time_series::TimeSeries;

/// A rate below this share of the cold rate counts as a decrease.
const SLOWER_BELOW: f64 = 0.85;

/// A rate of at least this share of the cold rate counts as recovered.
const RECOVERED_AT: f64 = 0.95;

/// Minimum temperature rise since the start, kelvin.
const WARMER_K: f64 = 5.0;

/// Seconds of load per point of the series in which the rate's changes are found.
const POINT_SECONDS: f64 = 1.0;

/// Maximum number of points; the time to find changes grows with their square.
const POINTS_MAX: usize = 1000;

/// A rate that alternates, as that of a drive that throttles on and off, is averaged over this
/// many seconds.
const WINDOW_SECONDS: f64 = 60.0;

/// Laps at the end of the load over which the hot rate is averaged.
const LAST_LAPS: usize = 3;

/// One lap of a sustained load.
#[derive(Clone, Debug)]
struct Lap {
    seconds: f64,
    bytes: f64,
    /// Rates over equal times of about [`POINT_SECONDS`], bytes per second.
    rates: Vec<f64>,
    end_c: Option<f64>,
    hottest: Option<f64>,
    start_c: Option<f64>,
}

/// A sustained load, lap by lap.
#[derive(Clone, Debug, Default)]
pub struct HeatLoad {
    laps: Vec<Lap>,
    /// Whether the temperature stopped rising.
    pub settled: bool,
    /// Rate after cooling, bytes per second.
    pub cooled: Option<f64>,
    /// Whether only a file was written, which may leave a cache unused at the start.
    pub in_file: bool,
}

impl HeatLoad {
    /// Adds one lap.
    pub fn add(&mut self, series: &TimeSeries) {
        self.laps.push(Lap {
            seconds: series.seconds(),
            bytes: series.bytes(),
            rates: series.rates_over_time((series.seconds() / POINT_SECONDS).ceil() as usize),
            start_c: series.first_celsius(),
            end_c: series.last_celsius(),
            hottest: series.hottest(),
        });
    }

    /// Mean bytes per second over all laps.
    pub fn average(&self) -> Option<f64> {
        let (bytes, seconds) =
            self.laps.iter().fold((0.0, 0.0), |s, l| (s.0 + l.bytes, s.1 + l.seconds));
        (seconds > 0.0).then(|| bytes / seconds)
    }

    /// The mean rate before its first change, bytes per second.
    pub fn cold(&self) -> Option<f64> {
        let (rates, _) = self.points();
        let first = analysis::steps(&rates).pieces.first().copied()?;
        let rates = &rates[first.start..first.end];
        Some(rates.iter().sum::<f64>() / rates.len() as f64)
    }

    /// The mean rate of the last three laps, after the rate fell.
    pub fn hot(&self) -> Option<f64> {
        let (rates, point_seconds) = self.points();
        let last: f64 = self.laps.iter().rev().take(LAST_LAPS).map(|lap| lap.seconds).sum();
        let start = rates.len().saturating_sub((last / point_seconds.max(1e-9)).round() as usize);
        let fall =
            self.throttled_after().map_or(0, |seconds| (seconds / point_seconds).round() as usize);
        let last = &rates[start.max(fall).min(rates.len().saturating_sub(1))..];
        (!last.is_empty()).then(|| last.iter().sum::<f64>() / last.len() as f64)
    }

    /// Temperature at the start, degrees Celsius.
    pub fn start_c(&self) -> Option<f64> {
        self.laps.first()?.start_c
    }

    /// Temperature at the end, degrees Celsius.
    pub fn end_c(&self) -> Option<f64> {
        self.laps.last()?.end_c
    }

    /// Maximum temperature.
    pub fn hottest(&self) -> Option<f64> {
        self.laps.iter().filter_map(|lap| lap.hottest).reduce(f64::max)
    }

    /// Temperature rise per lap over the last `laps`, kelvin; `None` with fewer laps or without a
    /// sensor.
    pub fn slope(&self, laps: usize) -> Option<f64> {
        let last = &self.laps[self.laps.len().checked_sub(laps)?..];
        let celsius: Option<Vec<f64>> = last.iter().map(|lap| lap.end_c).collect();
        Some(analysis::Slope::fit(&celsius?)?.excursion / (laps - 1) as f64)
    }

    /// The rates of all laps over equal times, and that time in seconds.
    fn points(&self) -> (Vec<f64>, f64) {
        let seconds: f64 = self.laps.iter().map(|lap| lap.seconds).sum();
        let rates: Vec<f64> = self.laps.iter().flat_map(|lap| lap.rates.iter().copied()).collect();
        let reduced = analysis::medians(&rates, POINTS_MAX);
        let point_seconds = seconds / reduced.len().max(1) as f64;
        (reduced, point_seconds)
    }

    /// Seconds of load until the rate fell for good: to the change after which no window of a
    /// minute reaches the cold rate again.
    pub fn throttled_after(&self) -> Option<f64> {
        let cold = self.cold()?;
        let (rates, point_seconds) = self.points();
        let window = ((WINDOW_SECONDS / point_seconds).round() as usize).max(1);
        let is_slow = |rates: &[f64]| {
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            mean < SLOWER_BELOW * cold
        };
        let changes = analysis::steps(&rates).changes.into_iter().map(|change| change.at);
        let mut falls = changes.filter(|start| {
            let mut windows = rates[*start..].chunks(window);
            is_slow(&rates[*start..])
                && windows.all(|rates| rates.len() < window.div_ceil(2) || is_slow(rates))
        });
        falls.next().map(|start| start as f64 * point_seconds)
    }
}

pub static RULE: Rule = Rule {
    role: Role::Claim,
    overridden_by: &[],
    judge: |facts| {
        let load = facts.checks.get();
        let ruling =
            load.map(|load| hot_at_first(facts.target, load).unwrap_or_else(|| throttle(load)));
        ruling.into_iter().collect()
    },
};

/// What a load says of a drive that was about at its warning temperature when it began: the rate
/// before it slowed down, if it did, was never seen.
fn hot_at_first(target: &TargetInfo, seen: &HeatLoad) -> Option<Ruling> {
    let warn_c = target.target.drive.as_ref()?.health.temperature_warn_c?;
    let start_c = seen.start_c().filter(|start_c| *start_c >= warn_c - WARMER_K)?;
    seen.throttled_after().is_none().then(|| {
        Ruling::unknown(format!(
            "Whether heat slows the drive down is unknown: it was at {start_c:.0} C before the load, \
             its warning temperature is {warn_c:.0} C, and its rate without heat was not seen."
        ))
    })
}

pub fn throttle(seen: &HeatLoad) -> Ruling {
    let (Some(cold), Some(hot)) = (seen.cold(), seen.hot()) else {
        return Ruling::unknown("The effect of heat is unknown: nothing was measured.");
    };
    let ruling = match (seen.throttled_after(), seen.start_c().zip(seen.hottest())) {
        (None, Some((start, most))) => {
            let ending = if seen.settled { "" } else { " without settling" };
            let text = format!(
                "Under a sustained load, the drive went from {start:.0} to {most:.0} C{ending}, and \
                 did not slow down."
            );
            Ruling::no(VerdictKind::Cool, text)
        }
        (None, None) => {
            Ruling::no(VerdictKind::NoSlowdown, "Under a sustained load, the drive kept its rate.")
        }
        (Some(_), None) => Ruling::unknown(
            "Under a sustained load, the drive slowed down; without a temperature sensor, heat is \
             a guess.",
        ),
        (Some(after), Some((start, most))) => slowed(seen, cold, after, start, most),
    };
    let ruling = ruling.with("rate at first", cold, Unit::BytesPerSecond);
    let ruling = ruling.with("rate of the last laps", hot, Unit::BytesPerSecond);
    match seen.hottest() {
        Some(c) => ruling.with("highest temperature", c, Unit::Celsius),
        None => ruling,
    }
}

fn slowed(seen: &HeatLoad, cold: f64, after: f64, start: f64, most: f64) -> Ruling {
    let hot = seen.hot().unwrap_or(0.0);
    let fall = format!(
        "After {} of load, at {most:.0} C, the rate fell from {} to {}",
        span(after),
        throughput(cold),
        throughput(hot)
    );
    let rise = most - start;
    match seen.cooled.map(|rate| rate / cold) {
        Some(_) if rise < WARMER_K => Ruling::unknown(format!(
            "{fall}; the temperature rose by only {rise:.0} K: heat is unlikely to be the cause."
        )),
        Some(back) if back >= RECOVERED_AT && seen.in_file => Ruling::unknown(format!(
            "{fall}; after a rest, it was back at {}: heat, or a cache that was empty again.",
            percent(back)
        )),
        Some(back) if back >= RECOVERED_AT => Ruling::yes(
            VerdictKind::Heat,
            format!(
                "{fall}; after cooling, it was back at {}: the drive throttles.",
                percent(back)
            ),
        ),
        Some(back) => Ruling::unknown(format!(
            "{fall}; after cooling, it was at {} of the first rate: heat alone is not the cause.",
            percent(back)
        )),
        None => Ruling::unknown(format!("{fall}; only cooling shows whether heat was the cause.")),
    }
}

/// A drive that throttles after two minutes, for the tests of rules.
#[cfg(test)]
pub(super) fn throttling() -> HeatLoad {
    let laps = [(2.7e9, 40.0), (2.7e9, 70.0), (1.0e9, 80.0), (1.0e9, 80.0), (1.0e9, 80.0)];
    tests::heat_load(&laps, Some(2.7e9))
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::super::testing::with_drive;
    use super::*;

    pub(super) fn heat_load(laps: &[(f64, f64)], cooled: Option<f64>) -> HeatLoad {
        let of = |&(rate, c): &(f64, f64)| Lap {
            seconds: 60.0,
            bytes: rate * 60.0,
            rates: vec![rate; 60],
            start_c: Some(c),
            end_c: Some(c),
            hottest: Some(c),
        };
        HeatLoad { laps: laps.iter().map(of).collect(), settled: true, cooled, in_file: false }
    }

    #[test]
    fn a_drive_that_was_hot_before_the_load_is_not_called_cool() {
        let with_warning =
            |warn_c| with_drive(|drive| drive.health.temperature_warn_c = Some(warn_c));
        let judged = |warn_c, celsius| {
            let load = heat_load(&[(1e9, celsius), (1e9, celsius + 9.0)], None);
            hot_at_first(&with_warning(warn_c), &load)
        };
        assert_eq!(judged(80.0, 82.0).map(|ruling| ruling.answer), Some(Answer::Unknown));
        assert!(judged(80.0, 76.0).is_some() && judged(80.0, 60.0).is_none());
    }

    #[test]
    fn slow_when_hot_and_fast_when_cooled_is_heat() {
        let laps = [(2.7e9, 40.0), (2.7e9, 70.0), (1.0e9, 80.0), (1.0e9, 80.0), (1.0e9, 80.0)];
        let hot = heat_load(&laps, Some(2.7e9));
        assert_eq!(hot.throttled_after(), Some(120.0));
        let ruling = throttle(&hot);
        assert_eq!(ruling.verdict.kind.name(), "HEAT");
        assert!(
            ruling
                .verdict
                .text
                .starts_with("After 2:00 of load, at 80 C, the rate fell from 2700 MB/s to 1000")
        );
        let in_file = HeatLoad { in_file: true, ..hot.clone() };
        assert_eq!(throttle(&in_file).answer, Answer::Unknown, "a cache may recover like this");
        assert_eq!(throttle(&heat_load(&laps, Some(1.0e9))).answer, Answer::Unknown);
        assert_eq!(throttle(&heat_load(&laps, None)).answer, Answer::Unknown);
        assert!(hot.slope(3).expect("three").abs() < 1e-9 && hot.slope(5).expect("five") > 5.0);
    }

    /// A drive that throttles within the first lap, and one that throttles on and off.
    #[test]
    fn the_fall_is_found_in_the_series_and_not_in_the_laps() {
        let lap = |rates: Vec<f64>| Lap {
            seconds: 60.0,
            bytes: rates.iter().sum(),
            rates,
            start_c: Some(40.0),
            end_c: Some(80.0),
            hottest: Some(80.0),
        };
        let first = lap([vec![2.77e9; 14], vec![1.5e9; 46]].concat());
        let laps = vec![first, lap(vec![1.5e9; 60]), lap(vec![1.5e9; 60])];
        let load = HeatLoad { laps, settled: true, cooled: Some(2.77e9), in_file: false };
        assert_eq!(load.throttled_after(), Some(14.0));
        let text = throttle(&load).verdict.text;
        assert!(text.contains("fell from 2770 MB/s to 1500 MB/s"), "{text}");
        let waves = || lap((0..60).map(|s| if s / 10 % 2 == 0 { 2.7e9 } else { 1e9 }).collect());
        let laps = vec![lap(vec![2.7e9; 60]), waves(), waves(), waves()];
        let load = HeatLoad { laps, settled: true, cooled: Some(2.7e9), in_file: false };
        assert_eq!(load.throttled_after(), Some(70.0), "the first fall of the waves");
    }

    #[test]
    fn a_drive_that_keeps_its_rate_is_cool_whatever_its_temperature() {
        let cool = heat_load(&[(1e9, 30.0), (0.9e9, 38.0), (1e9, 39.0)], Some(1e9));
        assert_eq!(
            (throttle(&cool).answer, throttle(&cool).verdict.kind.name()),
            (Answer::No, "COOL")
        );
        assert_eq!(throttle(&HeatLoad::default()).answer, Answer::Unknown);
        let mut blind = heat_load(&[(1e9, 0.0), (0.5e9, 0.0)], None);
        blind.laps.iter_mut().for_each(|l| (l.start_c, l.end_c, l.hottest) = (None, None, None));
        assert_eq!((throttle(&blind).answer, blind.slope(2)), (Answer::Unknown, None));
    }
}
