//! DEPTH: were as many operations in flight as the workload asked for?
//!
//! A synchronous path, a scheduler or a lock can hold them back: then a figure "at depth 32" is the
//! figure of a smaller depth. Seen from two sides: from the operations' own times (Little's law), and
//! for small random blocks, which are neither split nor merged on their way, from the requests that
//! the device had.

use record::Unit;

use super::{Ruling, percent};
use crate::Digest;

/// Below this share of the nominal depth the figure belongs to another depth.
const OWN_SHARE_LEAST: f64 = 0.8;

/// The device has each request for a part of its time only (the kernel and the interrupt take the
/// rest), so less is asked of it.
const DEVICE_SHARE_LEAST: f64 = 0.4;

/// Operations per slot, from which on the emptying queue at the end does not matter.
const OPS_PER_SLOT_LEAST: u64 = 20;

pub(crate) fn depth(seen: &[Digest]) -> Ruling {
    let judged = seen.iter().filter_map(|d| Some((d, effective(d)?)));
    let worst = judged.min_by(|(a, x), (b, y)| (x / nominal(a)).total_cmp(&(y / nominal(b))));
    let Some((digest, effective)) = worst else {
        return Ruling::unknown("the depth: too few operations at a depth above 1");
    };
    let nominal = nominal(digest);
    let share = effective / nominal;
    let ruling = match share < OWN_SHARE_LEAST {
        true => Ruling::yes(
            "DEPTH",
            format!(
                "{} had {effective:.1} operations in flight, not {nominal:.0}: its figures are \
                 those of that depth.",
                digest.name
            ),
        ),
        false => Ruling::no("DEPTH KEPT", format!("the depth ({} of it was kept)", percent(share))),
    };
    ruling.with("effective depth", effective, Unit::Number).with(
        "nominal depth",
        nominal,
        Unit::Number,
    )
}

fn nominal(digest: &Digest) -> f64 {
    digest.depth_nominal.unwrap_or(1).into()
}

/// The effective depth of a measurement that can be judged; the device's view where that is the
/// damning one.
fn effective(d: &Digest) -> Option<f64> {
    let nominal = d.depth_nominal.filter(|&n| n > 1)?;
    let ops = d.ops[0] + d.ops[1];
    if ops < OPS_PER_SLOT_LEAST * u64::from(nominal) {
        return None;
    }
    // Only pure reads: a flush at the end holds up everything and counts in the device's mean.
    let watched = d
        .device
        .filter(|device| d.random && d.mix.write == 0 && device.read_bytes >= d.bytes[0] / 2);
    let seen = watched.map(|device| device.depth);
    match seen {
        Some(seen) if seen < DEVICE_SHARE_LEAST * f64::from(nominal) => Some(seen.min(d.depth)),
        _ => Some(d.depth),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::super::testing::{device, digest};
    use super::*;
    use rig::DeviceTraffic;

    fn at_32(depth: f64) -> Digest {
        let bytes = [40_960_000, 0];
        Digest { depth_nominal: Some(32), depth, ops: [10_000, 0], bytes, ..digest("rand") }
    }

    #[test]
    fn the_worst_workload_decides() {
        assert_eq!(depth(&[at_32(31.8)]).answer, Answer::No);
        let ruling = depth(&[at_32(31.8), at_32(1.4)]);
        assert_eq!(ruling.answer, Answer::Yes);
        assert_eq!(ruling.verdict.evidence[0].value, 1.4);
    }

    #[test]
    fn a_depth_that_never_reaches_the_device_is_a_fiction() {
        let held_back = |read_bytes| {
            let device = DeviceTraffic { depth: 1.5, ..device(read_bytes, 0) };
            depth(&[Digest { device: Some(device), ..at_32(31.9) }]).answer
        };
        assert_eq!(held_back(40_960_000), Answer::Yes);
        // From memory nothing reaches the device: that is another rule's matter.
        assert_eq!(held_back(0), Answer::No);
    }

    #[test]
    fn depth_1_and_a_handful_of_operations_tell_nothing() {
        assert_eq!(depth(&[digest("q1")]).answer, Answer::Unknown);
        assert_eq!(depth(&[Digest { ops: [100, 0], ..at_32(20.0) }]).answer, Answer::Unknown);
        assert_eq!(depth(&[]).answer, Answer::Unknown);
    }
}
