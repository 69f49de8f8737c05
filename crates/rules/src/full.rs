//! FULL: is the file system so full that writes may be slower?

use record::{Unit, VerdictKind};
use rig::TargetInfo;

use super::rule::{Role, Rule};
use super::{Ruling, percent};

/// Below this share of free space, file systems search longer for free blocks, and drives have
/// little space for wear levelling and collection.
const FREE_SHARE_MIN: f64 = 0.1;

pub static RULE: Rule =
    Rule { role: Role::Cause, overridden_by: &[], judge: |facts| vec![full(facts.target)] };

pub fn full(target: &TargetInfo) -> Ruling {
    let filesystem = target.target.filesystem.as_ref();
    let free_and_size = filesystem.and_then(|f| Some((f.free_bytes?, f.bytes.filter(|&b| b > 0)?)));
    let Some((free, bytes)) = free_and_size else {
        return Ruling::unknown("The free space of the file system is unknown.");
    };
    let share = free as f64 / bytes as f64;
    let ruling = if share < FREE_SHARE_MIN {
        Ruling::yes(
            VerdictKind::Full,
            format!("Only {} of the file system is free: writes may be slower.", percent(share)),
        )
    } else {
        Ruling::no(VerdictKind::Room, format!("{} of the file system is free.", percent(share)))
    };
    ruling.with("free share of the file system", share, Unit::Number)
}
