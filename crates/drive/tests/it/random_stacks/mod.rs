//! Random stacks of loop devices, partitions, overlays and names, with one member in use: the guard
//! refuses every node that shares a byte with it, and no other.
//!
//! The oracle is the generator, which knows the bytes of every node (`model.rs`) because it made
//! them; the kernel is not asked. Nothing is written to a target: `plan_open` answers. Stacks stand
//! only on files that the generator makes. `SSDYNO_ANSWERS` sets the minimum number of answers
//! (`cargo xtask bench guard`: 10,000), `SSDYNO_SEED` the first seed.

mod model;
mod world;

use drive::{DriveError, OpenRequest, plan_open};
use record::Safety;

use world::World;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The guard's answer about a node: whether it is refused, with the reasons.
fn answer(path: &str, bytes: u64) -> (bool, String) {
    let destroy = Some(bytes.to_string());
    match plan_open(path, &OpenRequest { destroy, ..OpenRequest::to(Safety::Destroys) }) {
        Ok(_) => (false, "free".into()),
        Err(error @ DriveError::InUse { .. }) => (true, error.to_string()),
        Err(error) => panic!("{path:?}: neither free nor in use: {error}"),
    }
}

#[test]
fn a_node_is_refused_exactly_if_it_shares_a_byte_with_something_in_use() {
    if let Err(why) = World::possible() {
        println!("skipped: {why}");
        return;
    }
    let (wanted, seed) = (number("SSDYNO_ANSWERS", 150), number("SSDYNO_SEED", 1));
    let (mut free, mut refused, mut stacks) = (0u64, 0u64, 0u64);
    while free + refused < wanted {
        let world = World::make(seed + stacks);
        stacks += 1;
        for node in world.nodes() {
            let (is_refused, words) = answer(&node.path, node.bytes);
            let is_shared = world.model.is_shared(node);
            assert_eq!(is_refused, is_shared, "{}", world.story(node, &words));
            *(if is_refused { &mut refused } else { &mut free }) += 1;
        }
    }
    let answers = free + refused;
    println!("{answers} answers of the guard on {stacks} stacks: {refused} refused, {free} free");
    assert!(free * 10 > answers && refused * 10 > answers, "both answers are tested");
}
