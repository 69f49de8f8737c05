//! COMPRESSIBLE: does the drive write compressible content faster than random content?
//!
//! If so (compression, deduplication, zeros that are not stored), its figures for random content
//! apply only to incompressible data, and figures of tools that write zeros apply only to zeros.

use analysis::{Comparison, compare_among};
use record::{Unit, VerdictKind};
use workload::Content;

use super::rule::{Role, Rule};
use super::{Ruling, percent};

/// The contents tested, with their names. The others are compared with the first, random.
pub const CONTENTS: [(&str, Content); 4] = [
    ("random", Content::Random),
    ("zeros", Content::Zeros),
    ("half", Content::Compressible(0.5)),
    ("repeated", Content::Repeated),
];

/// There is a gain if the lower end of its interval is above this ratio.
const GAIN_MIN: f64 = 1.05;

/// There is no significant gain if the upper ends of all intervals are below this ratio.
const GAIN_MAX: f64 = 1.25;

/// Write rates in bytes per second for each of [`CONTENTS`], by round.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    pub rates: [Vec<f64>; CONTENTS.len()],
}

pub static RULE: Rule = Rule {
    role: Role::Check,
    overridden_by: &[],
    judge: |facts| {
        let contents = facts.checks.get().filter(|_| !facts.target.ram);
        contents.map(content).into_iter().collect()
    },
};

pub fn content(contents: &Contents) -> Ruling {
    let compared = compared(contents);
    let gain = compared.iter().filter(|(_, c)| gains(c));
    let gain = gain.max_by(|(_, a), (_, b)| a.ratio.total_cmp(&b.ratio));
    let most = compared.iter().map(|(_, c)| c.high.unwrap_or(f64::INFINITY)).fold(1.0, f64::max);
    let ruling = if let Some((name, c)) = gain {
        let (low, high) = (c.low.unwrap_or(c.ratio), c.high.unwrap_or(c.ratio));
        let text = format!(
            "Content matters: '{name}' is written {:.2} [{low:.2}, {high:.2}] times as fast as \
             random data.",
            c.ratio
        );
        Ruling::yes(VerdictKind::Compressible, text)
    } else if compared.len() + 1 == CONTENTS.len() && most < GAIN_MAX {
        let text = format!(
            "Content does not matter: zeros, repeated and half-compressible data gain {} at most.",
            percent(most - 1.0)
        );
        Ruling::no(VerdictKind::Incompressible, text)
    } else {
        let reason = if compared.is_empty() || !most.is_finite() {
            "too few writes were compared".to_string()
        } else {
            format!(
                "the writes scatter so much that a gain of {} could go unseen",
                percent(most - 1.0)
            )
        };
        Ruling::unknown(format!(
            "Whether content matters is unknown: {reason}; more replicates can show it."
        ))
    };
    compared.iter().fold(ruling, evidence)
}

/// Whether writes of this content are faster than writes of random content.
pub fn gains_from(contents: &Contents, name: &str) -> bool {
    compared(contents).iter().any(|(other, c)| *other == name && gains(c))
}

fn gains(c: &Comparison) -> bool {
    c.low.is_some_and(|low| low > GAIN_MIN)
}

/// Compares each content with random, over the rounds that both have. The best of three is
/// reported, so the intervals are widened accordingly.
fn compared(contents: &Contents) -> Vec<(&'static str, Comparison)> {
    let random = &contents.rates[0];
    let contents_and_rates = CONTENTS.iter().zip(&contents.rates).skip(1);
    contents_and_rates
        .filter_map(|((name, _), rates)| {
            let n = random.len().min(rates.len());
            Some((*name, compare_among(CONTENTS.len() - 1, &random[..n], &rates[..n])?))
        })
        .collect()
}

fn evidence(ruling: Ruling, (name, c): &(&str, Comparison)) -> Ruling {
    let ruling = ruling.with(format!("{name} / random"), c.ratio, Unit::Number);
    let (Some(low), Some(high)) = (c.low, c.high) else {
        return ruling;
    };
    ruling.with(format!("{name} / random, low"), low, Unit::Number).with(
        format!("{name} / random, high"),
        high,
        Unit::Number,
    )
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::*;

    fn rates(factors: [f64; 4], noise: f64) -> Contents {
        let wave = [1.0, -1.0, 0.5, -0.5];
        let of = |f: f64, i: usize| {
            (0..4).map(|r| 100.0 * f * (1.0 + noise * wave[(r + i) % 4])).collect()
        };
        Contents { rates: [0, 1, 2, 3].map(|i| of(factors[i], i)) }
    }

    #[test]
    fn a_compressing_drive_and_a_plain_one() {
        let ruling = content(&rates([1.0, 3.0, 1.7, 1.0], 0.02));
        assert_eq!(ruling.answer, Answer::Yes);
        assert!(ruling.verdict.text.starts_with("Content matters: 'zeros'"));
        assert_eq!(content(&rates([1.0, 1.0, 1.0, 1.01], 0.02)).answer, Answer::No);
        assert_eq!(content(&rates([1.0, 1.0, 1.0, 2.0], 0.02)).answer, Answer::Yes);
    }

    #[test]
    fn noise_and_a_single_round_are_inconclusive() {
        assert_eq!(content(&rates([1.0; 4], 0.4)).answer, Answer::Unknown);
        let single = Contents { rates: [1.0, 9.0, 9.0, 9.0].map(|r| vec![r]) };
        assert_eq!(content(&single).answer, Answer::Unknown);
        assert_eq!(content(&Contents::default()).answer, Answer::Unknown);
    }

    #[test]
    fn an_unfinished_round_is_ignored() {
        let mut cut = rates([1.0; 4], 0.01);
        cut.rates[3].pop();
        assert_eq!(content(&cut).answer, Answer::No);
    }
}
