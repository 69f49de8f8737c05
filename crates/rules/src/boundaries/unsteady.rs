//! READS DIFFER: one block.

use rig::Unsteady;

use super::table;
use crate::reads_differ;

#[test]
fn one_block_that_differs_is_enough() {
    let said = |blocks| match reads_differ(Unsteady { blocks, of: 100 }) {
        Some(verdict) => {
            format!("{}: {} {:?}", verdict.kind.name(), verdict.text, verdict.next_test)
        }
        None => "nothing".to_string(),
    };
    let differ = "READS DIFFER: This drive, reader or cable reads different bytes each time: 1 of \
                  100 blocks. Some(\"the same with another reader, port or cable\")";
    table(said, [(0, "nothing"), (1, differ)]);
    let verdict = reads_differ(Unsteady { blocks: 3, of: 100 }).expect("they differ");
    let numbers: Vec<_> = verdict.evidence.iter().map(|e| (e.name.as_str(), e.value)).collect();
    assert_eq!(numbers, [("blocks", 3.0), ("blocks read twice", 100.0)]);
}
