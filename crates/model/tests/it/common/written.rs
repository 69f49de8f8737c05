//! Ten drive writes, the first sequential and the others random, and their outcome: stalls, write
//! amplification and page counts.

use model::{CommandStatus, DriveSpec};
use workload::{Op, OpKind};

use super::Bench;

/// One policy of each kind.
pub const POLICIES: [&str; 4] = ["greedy", "fifo", "4-choices", "cost-benefit"];

/// Number of drive writes.
const TIMES: u64 = 10;

/// A command that takes longer counts as stalled. Arbitrary, but far above the time to collect one
/// superblock and well below the timeouts of hosts.
const STALL_NS: u64 = 3_000_000_000;

/// The outcome.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Number of refused writes.
    pub refused: u64,
    /// Longest write, nanoseconds.
    pub longest_ns: u64,
    /// Pages programmed per page written, over all drive writes.
    pub amplification: f64,
    /// Whether live pages, mapped pages and logical pages agree.
    pub adds_up: bool,
}

impl Written {
    /// Performs ten drive writes of mapping units at depth 1, the first sequential, the others
    /// random.
    pub fn measure(capacity: &str, unit: &str, op: &str, policy: &str) -> Written {
        let pairs = [("capacity", capacity), ("unit", unit), ("op", op), ("policy", policy)];
        let pairs = [&pairs[..], &[("slc", "1GiB"), ("endurance", "100000")]].concat();
        let spec = DriveSpec::preset("samsung-980-pro-1t").expect("known");
        let mut bench = Bench::new(&spec.with_overrides(&pairs).expect("known"));
        let size: u64 = unit.parse().expect("a number");
        let units = bench.drive.bytes() / size;
        let (mut refused, mut longest_ns) = (0, 0);
        for i in 0..TIMES * units {
            let at = if i < units { i } else { bench.below(units) };
            let op = Op { kind: OpKind::Write, offset: at * size, bytes: size as u32 };
            let end = bench.drive.submit(bench.now, &op);
            refused += u64::from(end.status != CommandStatus::Ok);
            longest_ns = longest_ns.max(end.done_ns - bench.now);
            bench.now = end.done_ns;
        }
        let (work, page) = (bench.drive.work(), bench.drive.page_mapped().expect("page-mapped"));
        let moved = (work.moved + work.folded) as f64;
        page.check();
        let adds_up = page.map().mapped() == u64::from(page.layout().logical_pages);
        let amplification = 1.0 + moved / work.host as f64;
        Written { refused, longest_ns, amplification, adds_up }
    }

    /// Returns the problem, if there is one.
    pub fn problem(&self) -> Option<&'static str> {
        match self {
            Written { refused: 1.., .. } => Some("writes were refused"),
            Written { adds_up: false, .. } => Some("pages do not add up"),
            Written { longest_ns: STALL_NS.., .. } => Some("stalled"),
            _ => None,
        }
    }
}
