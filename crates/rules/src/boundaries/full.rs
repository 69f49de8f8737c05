//! FULL: free share of the file system.

use record::FileSystem;
use rig::TargetInfo;

use super::{short, table};
use crate::Ruling;
use crate::full::full;
use crate::testing::target;

fn with_space(free_bytes: Option<u64>, bytes: Option<u64>) -> TargetInfo {
    let mut info = target();
    info.target.filesystem = Some(FileSystem { free_bytes, bytes, ..FileSystem::default() });
    info
}

#[test]
fn less_than_a_tenth_free_is_full() {
    let said = |(free, bytes)| short([full(&with_space(free, bytes))]);
    let rows = [
        ((Some(0), Some(1000)), "FULL"),
        ((Some(99), Some(1000)), "FULL"),
        ((Some(100), Some(1000)), "no: ROOM"),
        ((Some(101), Some(1000)), "no: ROOM"),
        ((Some(0), Some(0)), "unknown"),
        ((None, Some(1000)), "unknown"),
        ((Some(100), None), "unknown"),
    ];
    table(said, rows);
}

pub fn examples() -> Vec<Ruling> {
    let seen = [with_space(Some(50), Some(1000)), with_space(Some(500), Some(1000)), target()];
    seen.iter().map(full).collect()
}
