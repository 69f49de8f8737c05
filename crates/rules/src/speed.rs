//! Conclusions of `speed`: the old tool's number, whether the location matters, and PER-COMMAND:
//! whether commands or their data take the time.

use analysis::{ClaimKind, Cost};
use record::{Unit, VerdictKind};
use workload::OpKind;
use workload::units::{binary, latency, throughput};

use super::rule::{Role, Rule};
use super::{Ruling, percent};

/// Commands are the limit above this share of the time.
const COMMANDS_BOUND: f64 = 0.5;

/// Maximum relative deviation from the fitted line.
const RESIDUAL_MAX: f64 = 0.25;

/// Passes that differ by more than this share are shown as a range rather than a number.
const CLUSTERED: f64 = 0.05;

/// Read and write rates of the first bytes by the old tool's rule, one per pass.
#[derive(Clone, Debug)]
pub struct Legacy {
    pub rates: [Vec<f64>; 2],
    pub bytes: u64,
    pub chunk: u32,
}

/// Rates at several locations on the drive, one per pass.
#[derive(Clone, Debug)]
pub struct PlaceRates {
    pub kind: OpKind,
    /// The locations; the first is the start of the drive.
    pub places: Vec<&'static str>,
    pub rates: Vec<Vec<f64>>,
}

/// Linear fits of the transfer times of several sizes, one for each round that has a fit.
#[derive(Clone, Debug)]
pub struct CommandTimes {
    pub kind: OpKind,
    /// Maximum transfer, bytes.
    pub chunk: u32,
    pub costs: Vec<Cost>,
    pub rounds: usize,
}

pub static LEGACY: Rule = Rule {
    role: Role::Claim,
    overridden_by: &[],
    judge: |facts| facts.checks.get().map(legacy).into_iter().collect(),
};

pub static PLACES: Rule = Rule {
    role: Role::Claim,
    overridden_by: &[],
    judge: |facts| {
        facts
            .checks
            .list()
            .iter()
            .filter(|p: &&PlaceRates| p.places.len() > 1)
            .map(places)
            .collect()
    },
};

pub static PER_COMMAND: Rule = Rule {
    role: Role::Claim,
    overridden_by: &[],
    judge: |facts| facts.checks.list().iter().map(per_command).collect(),
};

/// The number or range that the old tool would have printed.
pub fn legacy(seen: &Legacy) -> Ruling {
    let sides = ["read", "write"].into_iter().zip(&seen.rates).filter(|(_, r)| !r.is_empty());
    let words: Vec<String> =
        sides.clone().map(|(side, rates)| format!("{side} {}", printed(rates))).collect();
    let text = format!(
        "As .speed prints it: {} MB/s, the first {} in transfers of {}.",
        words.join(", "),
        binary(seen.bytes),
        binary(u64::from(seen.chunk))
    );
    sides.fold(Ruling::yes(VerdictKind::Speed, text), |ruling, (side, rates)| {
        let (low, high) = range(rates);
        ruling.with(format!("{side}, slowest pass"), low, Unit::BytesPerSecond).with(
            format!("{side}, fastest pass"),
            high,
            Unit::BytesPerSecond,
        )
    })
}

fn range(rates: &[f64]) -> (f64, f64) {
    let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
    (low, rates.iter().copied().fold(0.0, f64::max))
}

/// `20.1`, or `6.2-7.4` if passes differ.
fn printed(rates: &[f64]) -> String {
    let (low, high) = range(rates);
    if high - low <= CLUSTERED * high {
        return megabytes(rates.iter().sum::<f64>() / rates.len() as f64);
    }
    format!("{}-{}", megabytes(low), megabytes(high))
}

/// A rate in MB/s; the old tool had no format for 100 and more.
fn megabytes(rate: f64) -> String {
    match rate / 1e6 {
        rate if rate < 100.0 => format!("{rate:.1}"),
        rate => format!("{rate:.0}"),
    }
}

/// Judges whether the rate depends on the location.
pub fn places(seen: &PlaceRates) -> Ruling {
    let kind = seen.kind.name();
    let Some((start, elsewhere)) =
        seen.rates.split_first().filter(|(_, others)| !others.is_empty())
    else {
        return Ruling::unknown(format!(
            "Whether the location matters to a {kind} was not measured."
        ));
    };
    let compared = seen.places[1..].iter().zip(elsewhere).filter_map(|(place, rates)| {
        Some((*place, analysis::compare_among(elsewhere.len(), start, rates)?))
    });
    let distances = compared.map(|(place, c)| (libm::log(c.ratio).abs(), (place, c)));
    let farthest = distances.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, compared)| compared);
    let Some((place, worst)) = farthest else {
        return Ruling::unknown(format!("Whether the location matters to a {kind} is unknown."));
    };
    let rate = analysis::estimate(start).value.unwrap_or(0.0);
    let share = percent(worst.ratio);
    let ruling = match worst.outcome {
        ClaimKind::Slower | ClaimKind::Faster => Ruling::yes(
            VerdictKind::PlaceMatters,
            format!("At the {place} of the drive, a {kind} has {share} of the rate at the start."),
        ),
        ClaimKind::Equivalent => Ruling::no(
            VerdictKind::SameEverywhere,
            format!("A {kind} is as fast in the middle and at the end as at the start."),
        ),
        ClaimKind::Inconclusive => Ruling::unknown(format!(
            "Whether the location matters to a {kind} is unknown: {share} at the {place}, within \
             the scatter."
        )),
    };
    ruling.with(format!("{kind} at the start"), rate, Unit::BytesPerSecond).with(
        format!("{place} over start"),
        worst.ratio,
        Unit::Number,
    )
}

fn mean(costs: &[Cost], part: fn(&Cost) -> f64) -> f64 {
    analysis::mean(&costs.iter().map(part).collect::<Vec<f64>>())
}

/// Judges whether commands or their data take the time.
pub fn per_command(seen: &CommandTimes) -> Ruling {
    let (kind, size) = (seen.kind.name(), binary(u64::from(seen.chunk)));
    let residual = mean(&seen.costs, |cost| cost.residual);
    if seen.costs.is_empty() || seen.costs.len() < seen.rounds || residual > RESIDUAL_MAX {
        return Ruling::unknown(format!(
            "The cost of a {kind} command without its data is unknown: the times of several sizes \
             do not fit a line."
        ))
        .with("residual", residual, Unit::Number);
    }
    let command = mean(&seen.costs, |cost| cost.command_ns);
    let rate = mean(&seen.costs, |cost| cost.bytes_per_s);
    let whole = command + f64::from(seen.chunk) / rate * 1e9;
    let share = command / whole;
    let times = format!(
        "A {kind} of {size} takes {}, of which {} ({}) is the command, whatever its size",
        latency(whole),
        latency(command),
        percent(share)
    );
    let (now, most) = (f64::from(seen.chunk) / whole * 1e9, rate);
    let ruling = if share > COMMANDS_BOUND {
        Ruling::yes(
            VerdictKind::PerCommand,
            format!("{times}: {} now, up to {} if larger.", throughput(now), throughput(most)),
        )
    } else {
        Ruling::no(VerdictKind::DataBound, format!("{times}: larger sizes would gain little."))
    };
    ruling
        .with(format!("time of a {kind} of {size}"), whole, Unit::Nanoseconds)
        .with(format!("rate of a {kind} of {size}"), now, Unit::BytesPerSecond)
        .with(format!("time of a {kind} command"), command, Unit::Nanoseconds)
        .with(format!("rate of the data of a {kind}"), rate, Unit::BytesPerSecond)
        .with("share of the command", share, Unit::Number)
        .with("residual", residual, Unit::Number)
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::*;

    #[test]
    fn numbers_that_cluster_are_one_and_others_a_range() {
        assert_eq!(printed(&[6.39e6, 6.41e6]), "6.4");
        assert_eq!(printed(&[0.8e6, 1.4e6, 1.1e6]), "0.8-1.4");
        let seen =
            Legacy { rates: [vec![20.04e6, 20.0e6], vec![]], bytes: 32 << 20, chunk: 64 << 10 };
        let said = legacy(&seen).verdict.text;
        assert_eq!(
            said,
            "As .speed prints it: read 20.0 MB/s, the first 32 MiB in transfers of 64 KiB."
        );
    }

    fn command(command_ns: f64, residual: f64) -> Ruling {
        let cost = Cost { command_ns, bytes_per_s: 31.5e6, residual };
        let (kind, chunk) = (OpKind::Read, 16 << 10);
        per_command(&CommandTimes { kind, chunk, costs: vec![cost; 4], rounds: 4 })
    }

    #[test]
    fn three_transactions_for_16_kib_explain_the_table() {
        let ruling = command(2_040_000.0, 0.01);
        assert_eq!(ruling.answer, Answer::Yes);
        assert_eq!(
            ruling.verdict.text,
            "A read of 16 KiB takes 2.56 ms, of which 2.04 ms (80%) is the command, whatever its \
             size: 6.40 MB/s now, up to 31.5 MB/s if larger."
        );
        assert_eq!(command(40_000.0, 0.01).answer, Answer::No);
        assert_eq!(command(2_040_000.0, 0.4).answer, Answer::Unknown);
    }

    fn at(end: &[f64]) -> Ruling {
        let start = vec![20e6, 20.1e6, 19.9e6, 20e6];
        let rates = vec![start.clone(), start, end.to_vec()];
        places(&PlaceRates { kind: OpKind::Write, places: vec!["start", "middle", "end"], rates })
    }

    #[test]
    fn a_slow_end_matters_and_the_same_does_not() {
        let slow = at(&[12e6, 12.1e6, 11.9e6, 12e6]);
        assert_eq!(slow.answer, Answer::Yes);
        assert!(slow.verdict.text.starts_with("At the end of the drive, a write has 60%"));
        assert_eq!(at(&[20e6, 20.1e6, 19.9e6, 20e6]).answer, Answer::No);
        assert_eq!(at(&[10e6, 40e6, 20e6, 30e6]).answer, Answer::Unknown);
        let alone = vec![vec![1e6; 4]];
        let seen = PlaceRates { kind: OpKind::Read, places: vec!["start"], rates: alone };
        assert_eq!(places(&seen).answer, Answer::Unknown);
    }
}
