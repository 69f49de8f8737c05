//! STALL: share of the time.

use super::{short, table};
use crate::stall::stall;
use crate::testing::{device, digest, named, stood_still, target};
use crate::{Digest, Ruling};

fn run(name: &str, stalled_s: f64) -> Digest {
    named(name, Digest { seconds: 10.0, stalled_s, ..digest("x") })
}

#[test]
fn a_tenth_of_the_time_is_a_stall() {
    let said = |stalled_s| short(stall(&target(), &[run("a", stalled_s)]));
    let rows = [(0.0, "nothing"), (0.99, "nothing"), (1.0, "STALL: a 10%"), (1.01, "STALL: a 10%")];
    table(said, rows);
}

#[test]
fn the_share_is_of_all_replicates() {
    let seen = [run("a", 2.2), run("a", 0.0), run("b", 0.9), run("c", 9.0)];
    assert_eq!(short(stall(&target(), &seen)), "STALL: a 11%, c 90%");
    assert_eq!(short(stall(&target(), &[])), "nothing");
}

#[test]
fn what_the_host_held_back_has_not_stalled() {
    let on = |change: fn(&mut Digest)| {
        let mut stalled = run("a", 3.0);
        change(&mut stalled);
        let mut limited = target();
        limited.limits.group.iops = [Some(100.0), None];
        short(stall(&limited, &[stalled, run("b", 2.0)]))
    };
    assert_eq!(on(|_| ()), "STALL: a 30%, b 20%");
    assert_eq!(on(|run| run.ops = [1000, 0]), "STALL: b 20%", "at the limit of its group");
    assert_eq!(on(|run| run.throttled_s = 3.0), "STALL: b 20%");
    assert_eq!(on(|run| run.waiting_s = 3.0), "STALL: b 20%");
    assert_eq!(on(|run| run.findings.push(stood_still(2.5))), "STALL: b 20%");
    let served_others = |run: &mut Digest| {
        (run.bytes, run.device) = ([80 << 20, 0], Some(device(100 << 20, 0)));
    };
    assert_eq!(on(served_others), "STALL: b 20%");
    assert_eq!(on(|run| run.findings.push(stood_still(0.5))), "STALL: a 25%, b 20%");
}

pub fn examples() -> Vec<Ruling> {
    let seen = [run("rand-read-4KiB-q1", 2.5), run("rand-write-4KiB-q1", 10.0)];
    seen.iter().flat_map(|run| stall(&target(), std::slice::from_ref(run))).collect()
}
