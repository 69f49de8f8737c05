//! MIX-DETERMINED: with a fixed mix the write figure equals the read figure times the mix and is
//! not an independent measurement. A drive that writes slowly shows in both.

use record::{MetricKey, Unit, VerdictKind, capitalised};

use super::Ruling;
use super::rule::{Role, Rule};
use crate::Digest;

/// Minimum number of writes; fewer scatter too much around the mix.
const WRITES_MIN: u64 = 100;

/// Tolerated deviation of the ratio from the mix: three standard deviations at [`WRITES_MIN`].
const TOLERANCE: f64 = 0.3;

pub static RULE: Rule =
    Rule { role: Role::Cause, overridden_by: &[], judge: |facts| vec![mix(facts.seen)] };

pub fn mix(seen: &[Digest]) -> Ruling {
    let Some(first) = seen.iter().find(|d| d.mix.read > 0 && d.mix.write > 0) else {
        return Ruling::no(VerdictKind::NoMix, "No workload mixes reads and writes.");
    };
    let name = MetricKey::parse(&first.name).in_words();
    let replicates = seen.iter().filter(|d| d.name == first.name);
    let [reads, writes] = replicates.fold([0, 0], |sum, d| [sum[0] + d.ops[0], sum[1] + d.ops[1]]);
    if writes < WRITES_MIN || reads == 0 {
        let text = format!("{} ran too few operations to determine its mix.", capitalised(&name));
        return Ruling::unknown(text);
    }
    let planned = f64::from(first.mix.write) / f64::from(first.mix.read);
    let measured = writes as f64 / reads as f64;
    let ruling = if (measured / planned - 1.0).abs() <= TOLERANCE {
        Ruling::yes(
            VerdictKind::MixDetermined,
            format!(
                "In {} the write figure is {measured:.2} times the read figure because the mix is \
                 {}:{}; it is no measure of writes alone.",
                name, first.mix.read, first.mix.write
            ),
        )
    } else {
        Ruling::unknown(format!("{} did not keep to its mix.", capitalised(&name)))
    };
    ruling.with("writes / reads", measured, Unit::Number).with(
        "writes / reads by the mix",
        planned,
        Unit::Number,
    )
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::super::testing::digest;
    use super::*;
    use workload::Mix;

    #[test]
    fn the_ratio_of_the_mix_is_recognised_over_replicates() {
        let mixed = |ops| Digest { mix: Mix::read_percent(70), ops, ..digest("mixed") };
        let ruling = mix(&[digest("a"), mixed([690, 310]), mixed([710, 290])]);
        assert_eq!(ruling.answer, Answer::Yes);
        assert_eq!(ruling.verdict.evidence[0].value, 600.0 / 1400.0);
        assert_eq!(mix(&[mixed([70, 30])]).answer, Answer::Unknown);
        assert_eq!(mix(&[mixed([1000, 1000])]).answer, Answer::Unknown);
        assert_eq!(mix(&[digest("a")]).answer, Answer::No);
    }
}
