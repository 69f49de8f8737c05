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

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::super::testing::target;
    use super::*;
    use record::FileSystem;

    #[test]
    fn less_than_a_tenth_is_full() {
        let answer = |free_bytes, bytes| {
            let mut info = target();
            info.target.filesystem =
                Some(FileSystem { free_bytes, bytes, ..FileSystem::default() });
            full(&info).answer
        };
        assert_eq!(answer(Some(9), Some(100)), Answer::Yes);
        assert_eq!(answer(Some(10), Some(100)), Answer::No);
        assert_eq!(answer(None, Some(100)), Answer::Unknown);
        assert_eq!(answer(Some(0), Some(0)), Answer::Unknown);
        assert_eq!(full(&target()).answer, Answer::Unknown);
    }
}
