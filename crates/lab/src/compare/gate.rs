//! A gate for scripts: is B slower than A by more than they tolerate?
//!
//! The interval decides, not the ratio: a figure fails if all of its interval is beyond the limit, and
//! stays open if the interval contains the limit.

use record::Unit;
use serde::Serialize;

use super::Pair;

/// Greatest loss of speed that a gate can tolerate, as a fraction.
const LOSS_MAX: f64 = 0.99;

/// What a script tolerates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// The loss of speed that is tolerated, as a fraction.
    loss: f64,
}

/// What a gate concludes from a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateResult {
    /// The loss of speed that is tolerated, as a fraction.
    pub tolerated_loss: f64,
    /// Names of the figures that are slower by more.
    pub slower: Vec<String>,
    /// Names of the figures that may be slower by more: their intervals contain the limit.
    pub open: Vec<String>,
    /// Number of figures that are not slower by more.
    pub tolerated: usize,
}

/// What the interval of one figure tells.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Passage {
    Slower,
    Open,
    Tolerated,
}

impl Gate {
    /// Parses `slower=5%`.
    ///
    /// # Errors
    /// The reason if the text is no such condition.
    pub fn parse(text: &str) -> Result<Gate, String> {
        let share =
            text.strip_prefix("slower=").map(|share| share.strip_suffix('%').unwrap_or(share));
        let loss = share.and_then(|share| share.trim().parse::<f64>().ok()).map(|p| p / 100.0);
        match loss {
            Some(loss) if loss > 0.0 && loss <= LOSS_MAX => Ok(Gate { loss }),
            Some(_) => Err(format!("must be over 0% and at most {:.0}%", 100.0 * LOSS_MAX)),
            None => Err("must be a tolerated loss, as in slower=5%".into()),
        }
    }

    /// Judges the primary figures that were tested.
    pub fn judge(&self, pairs: &[Pair]) -> GateResult {
        let passages: Vec<(&Pair, Passage)> =
            pairs.iter().filter_map(|pair| Some((pair, self.passage(pair)?))).collect();
        let passages_of_note = [Passage::Slower, Passage::Open, Passage::Tolerated];
        let [slower, open, tolerated] = passages_of_note.map(|wanted| {
            let pairs = passages.iter().filter(|(_, passage)| *passage == wanted);
            pairs.map(|(pair, _)| pair.name.clone()).collect::<Vec<_>>()
        });
        GateResult { tolerated_loss: self.loss, slower, open, tolerated: tolerated.len() }
    }

    /// `None` for a figure that was not tested, or that is neither a rate nor a time.
    fn passage(&self, pair: &Pair) -> Option<Passage> {
        let (low, high) = pair.low.zip(pair.high)?;
        let [slowest, fastest] = match pair.unit {
            _ if pair.is_rate() => [low, high],
            Unit::Nanoseconds => [1.0 / high, 1.0 / low],
            _ => return None,
        };
        let limit = 1.0 - self.loss;
        Some(if fastest < limit {
            Passage::Slower
        } else if slowest < limit {
            Passage::Open
        } else {
            Passage::Tolerated
        })
    }
}

impl GateResult {
    /// Whether a figure is slower by more than is tolerated.
    pub fn fails(&self) -> bool {
        !self.slower.is_empty()
    }

    /// Whether nothing was judged.
    pub fn is_empty(&self) -> bool {
        self.slower.is_empty() && self.open.is_empty() && self.tolerated == 0
    }

    /// The conclusion in one line about the second of the sides with these names.
    pub fn sentence(&self, pairs: &[Pair], names: [&str; 2]) -> String {
        let name = names[1];
        let limit = format!("more than {}%", (1000.0 * self.tolerated_loss).round() / 10.0);
        let total = self.slower.len() + self.open.len() + self.tolerated;
        if self.fails() {
            let figures =
                self.slower.iter().filter_map(|figure| pairs.iter().find(|p| p.name == *figure));
            let figures: Vec<String> = figures.map(|pair| described(pair, names)).collect();
            return format!("gate: fails, {name} is slower by {limit} at {}", figures.join("; "));
        }
        let open = match self.open.len() {
            0 => String::new(),
            open => format!("; {open} may be: more runs would tell"),
        };
        format!(
            "gate: passes, none of {total} figures of {name} is shown to be slower by {limit}{open}"
        )
    }
}

/// The figure, its ratio and the interval behind it.
fn described(pair: &Pair, names: [&str; 2]) -> String {
    let Some(factor) = pair.factor() else { return pair.label.clone() };
    let (ratio, interval) = (factor.words_about(names), factor.in_brackets());
    format!("{}: {ratio}{interval}", pair.label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(unit: Unit, [low, high]: [f64; 2]) -> Pair {
        Pair {
            label: "random 4 KiB reads at depth 32".into(),
            n: [3, 3],
            primary: true,
            ratio: Some((low * high).sqrt()),
            low: Some(low),
            high: Some(high),
            ..Pair::named("rand-read-4KiB-q32", unit)
        }
    }

    #[test]
    fn the_whole_interval_of_a_rate_is_below_the_limit_or_above_it() {
        let gate = Gate::parse("slower=5%").expect("a gate");
        let passage = |interval| gate.passage(&pair(Unit::Iops, interval));
        assert_eq!(passage([0.90, 0.949]), Some(Passage::Slower));
        assert_eq!(passage([0.90, 0.951]), Some(Passage::Open));
        assert_eq!(passage([0.951, 0.97]), Some(Passage::Tolerated));
        assert_eq!(passage([1.5, 2.5]), Some(Passage::Tolerated));
    }

    #[test]
    fn a_time_is_slower_if_it_is_longer() {
        let gate = Gate::parse("slower=50").expect("a gate");
        let passage = |interval| gate.passage(&pair(Unit::Nanoseconds, interval));
        assert_eq!(passage([2.01, 3.0]), Some(Passage::Slower));
        assert_eq!(passage([1.99, 3.0]), Some(Passage::Open));
        assert_eq!(passage([0.1, 1.99]), Some(Passage::Tolerated));
    }

    #[test]
    fn untested_figures_and_counts_are_not_judged() {
        let gate = Gate::parse("slower=5%").expect("a gate");
        let untested = Pair { low: None, high: None, ..pair(Unit::Iops, [0.5, 0.6]) };
        let count = pair(Unit::Number, [0.5, 0.6]);
        assert!(gate.judge(&[untested, count]).is_empty());
    }

    #[test]
    fn the_sentence_gives_the_interval_behind_a_failure() {
        let gate = Gate::parse("slower=5%").expect("a gate");
        let sentence = |pairs: &[Pair]| gate.judge(pairs).sentence(pairs, ["A", "B"]);
        assert_eq!(
            sentence(&[pair(Unit::Iops, [0.88, 0.92])]),
            "gate: fails, B is slower by more than 5% at random 4 KiB reads at depth 32: A 1.11 times \
             (1.09 to 1.14)"
        );
        assert_eq!(
            sentence(&[pair(Unit::Iops, [0.88, 0.99]), pair(Unit::Iops, [0.98, 0.99])]),
            "gate: passes, none of 2 figures of B is shown to be slower by more than 5%; 1 may be: \
             more runs would tell"
        );
    }

    #[test]
    fn other_conditions_are_refused_with_an_example() {
        for text in ["faster=5%", "slower", "slower=", "slower=x", "5%", "slower=0%", "slower=100%"]
        {
            assert!(Gate::parse(text).is_err(), "{text}");
        }
    }
}
