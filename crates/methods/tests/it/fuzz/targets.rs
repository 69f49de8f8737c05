//! The fuzz target of this room: stamps of an earlier run, read from a drive.

use fuzz::{FuzzTarget, bytes, outcome};

/// Every parser of this room, except that of IOMeter's files, which `compat` fuzzes.
pub const TARGETS: &[FuzzTarget] = &[WEAR];

/// Offset, number and run of a block's stamps, then changes to its bytes.
const WEAR: FuzzTarget = FuzzTarget { name: "wear-stamps", run: wear, corpus: BLOCKS };

fn wear(input: &[u8]) -> u64 {
    outcome(&methods::fuzzing::wear_block(&bytes(input, 2048)))
}

const BLOCKS: &[&str] = &[
    "8 01\n16 07\n",
    "0 0000 10\n8 09\n16 07\n",
    "0 0000 10\n8 11\n16 07\n",
    "0 0000 10\n8 ffffffffffffff\n",
    "24 01\n",
    "0 0000 10\n8 09\n600 ff\n",
];
