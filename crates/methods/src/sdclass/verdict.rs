//! The verdict of `sdclass`: the classes that the card meets on this host.

use super::CLASS;
use super::classes::Measured;
use record::{Evidence, Unit, Verdict, VerdictKind};

/// GRADE: the classes met on this host, and the next ones that are not met.
pub(super) fn verdict(measured: &Measured) -> Verdict {
    let (met, missed) = measured.words();
    let missed = if missed.is_empty() {
        String::new()
    } else {
        format!(" It does not meet {} here.", missed.join(", "))
    };
    let text = if met.is_empty() {
        format!("The card meets no class on this host.{missed}")
    } else {
        format!("The card meets {} on this host.{missed}", met.join(", "))
    };
    let evidence = [
        ("slowest 4 MiB in units of 64 KiB", measured.write[0], Unit::BytesPerSecond),
        ("slowest 4 MiB in units of 512 KiB", measured.write[1], Unit::BytesPerSecond),
        ("slowest unit of 512 KiB", measured.busy_ns[1] as f64, Unit::Nanoseconds),
        ("reads of 512 KiB", measured.read, Unit::BytesPerSecond),
        ("random reads", measured.random[0][0], Unit::Iops),
        ("random writes", measured.random[0][1], Unit::Iops),
        ("random reads, 32 in flight", measured.random[1][0], Unit::Iops),
        ("random writes, 32 in flight", measured.random[1][1], Unit::Iops),
    ];
    let evidence = evidence.map(|(name, value, unit)| Evidence::new(name, value, unit));
    let verdict = Verdict::new(VerdictKind::Grade, text).with_evidence(evidence);
    let classes = ["speed", "uhs", "video", "application"];
    classes.iter().fold(verdict, |verdict, name| verdict.explaining(CLASS.member(&[name])))
}
