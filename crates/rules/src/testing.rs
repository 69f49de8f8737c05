//! A target and measurements for the tests of the rules.

use record::{
    DriveIdentity, Evidence, Finding, FindingKind, Level, Link, Order, Safety, State, Target,
    TargetKind, Unit,
};
use rig::{DeviceTraffic, SplitPart, TargetInfo, TimeSplit};
use workload::{Mix, OpKind};

use crate::Digest;
use crate::changes::{DEPTH, LARGER};

/// A scratch directory on an unknown drive.
pub fn target() -> TargetInfo {
    let target = Target {
        spec: ".".into(),
        kind: TargetKind::Directory,
        bytes: Some(1 << 30),
        drive: Some(DriveIdentity::default()),
        ..Target::default()
    };
    TargetInfo {
        target,
        bytes: 1 << 30,
        logical_block_bytes: 512,
        allowed: Safety::Scratch,
        ram: false,
        discard: false,
        state: State::Unknown,
        formats: Vec::new(),
        bus: rig::Bus::Other,
        limits: rig::Limits::default(),
        rates: None,
        guest: None,
    }
}

/// The same target with properties of the drive.
pub fn with_drive(change: impl FnOnce(&mut DriveIdentity)) -> TargetInfo {
    let mut info = target();
    change(info.target.drive.get_or_insert_default());
    info
}

/// The same target on a link with this ceiling, bytes per second.
pub fn with_link(ceiling: f64) -> TargetInfo {
    let link = Link { ceiling_bytes_per_s: Some(ceiling), ..Link::default() };
    let target = with_drive(|drive| drive.link = Some(link));
    TargetInfo { limits: rig::Limits::of_drive(target.target.drive.as_ref()), ..target }
}

/// One second of random reads at depth 1 without a completed operation.
pub fn digest(name: &str) -> Digest {
    Digest {
        name: name.into(),
        metrics: vec![name.into()],
        probe: false,
        mix: Mix::READ,
        random: true,
        direct: true,
        ops: [0; 2],
        bytes: [0; 2],
        seconds: 1.0,
        depth_nominal: Some(1),
        depth: 1.0,
        device: None,
        temperature: None,
        cpu_share: 0.1,
        waiting_s: 0.0,
        splits: [None; 2],
        findings: Vec::new(),
        block_bytes: 4096,
        flushes: 0,
        stalled_s: 0.0,
        throttled_s: 0.0,
        rates: Vec::new(),
        fall: None,
        plateau: None,
        flush_s: 0.0,
        read_ns: [0.0; 2],
        fast_read_ns: 0.0,
        slow_read_ns: 0.0,
        write_ns: 0.0,
    }
}

/// A run of ten seconds at this rate; `blocks` is the block size in units of 4 KiB.
pub fn run(kind: OpKind, order: Order, blocks: u32, depth: u32, iops: f64) -> Digest {
    let cell = record::CellKey::new(order, Some(kind), u64::from(blocks) << 12, depth);
    let large = blocks > LARGER[1];
    let tested = blocks > 1 || ![1, DEPTH].contains(&depth) || order == Order::Sequential;
    let probe = tested && !large;
    let place = if order == Order::Sequential { "in-order" } else { "random" };
    let size = record::size_word(cell.block_bytes);
    let name = if probe {
        format!("cause-{}-{place}-{size}-{depth}", kind.name())
    } else {
        cell.to_string()
    };
    let ops = (iops * 10.0) as u64;
    let bytes = (iops * 10.0 * f64::from(blocks) * 4096.0) as u64;
    let side = |n: u64| if kind == OpKind::Read { [n, 0] } else { [0, n] };
    let (mix, random) = (Mix::from_kind(kind), order == Order::Random);
    let (block_bytes, depth_nominal) = (blocks << 12, Some(depth));
    let (ops, bytes, x) = (side(ops), side(bytes), digest("x"));
    let all = Digest { ops, bytes, mix, random, probe, block_bytes, depth_nominal, ..x };
    named(&name, Digest { seconds: 10.0, ..all })
}

/// A run of random operations.
pub fn random(kind: OpKind, blocks: u32, depth: u32, iops: f64) -> Digest {
    run(kind, Order::Random, blocks, depth, iops)
}

/// A run of sequential 1 MiB blocks at this rate, bytes per second.
pub fn in_order(kind: OpKind, depth: u32, rate: f64) -> Digest {
    run(kind, Order::Sequential, 256, depth, rate / f64::from(1 << 20))
}

/// A run of small blocks close to each other, at high queue depth.
pub fn near(kind: OpKind, iops: f64) -> Digest {
    let name = format!("cause-{}-near-4KiB-{DEPTH}", kind.name());
    Digest { probe: true, ..named(&name, random(kind, 1, DEPTH, iops)) }
}

/// A run of small random reads and writes, 70:30, at high queue depth.
pub fn mixed(iops: f64) -> Digest {
    let (reads, writes) = (random(OpKind::Read, 1, DEPTH, 0.7 * iops), 0.3 * iops);
    let [read_bytes, write_bytes] = [reads.bytes[0], (writes * 10.0 * 4096.0) as u64];
    let (mix, ops) = (Mix::read_percent(70), [reads.ops[0], (writes * 10.0) as u64]);
    named("mixed-4KiB-q32", Digest { mix, ops, bytes: [read_bytes, write_bytes], ..reads })
}

/// A burst of writes at this rate, bytes per second.
pub fn burst(block: u32, depth: u32, rate: f64) -> Digest {
    let run = random(OpKind::Write, block >> 12, depth, rate / f64::from(block));
    let write_ns = 1e9 * f64::from(block * depth) / rate;
    Digest { probe: true, write_ns, ..named(&crate::changes::burst_name(block, depth), run) }
}

/// The first blocks of 64 KiB written after a rest, in this time.
pub fn first_blocks(count: u64, seconds: f64) -> Digest {
    let block = LARGER[1] << 12;
    let run = random(OpKind::Write, LARGER[1], 1, 1.0);
    let bytes = [0, count * u64::from(block)];
    let name = crate::changes::first_name(block, count);
    Digest { bytes, seconds, ops: [0, count], ..named(&name, run) }
}

/// The same run under another workload name.
pub fn named(name: &str, digest: Digest) -> Digest {
    Digest { name: name.into(), metrics: vec![name.into()], ..digest }
}

/// The split of reads into this percentage of their time in each of some parts.
pub fn split(parts: &[(SplitPart, u64)]) -> [Option<TimeSplit>; 2] {
    let whole = TimeSplit::new(1000, 100_000_000);
    let add = |split: TimeSplit, (part, percent): &(SplitPart, u64)| {
        split.with(*part, percent * 1_000_000)
    };
    [Some(parts.iter().fold(whole, add)), None]
}

/// That the process was stopped for so long.
pub fn stood_still(seconds: f64) -> Finding {
    let number = Evidence::new("time not caused by the drive", seconds * 1e9, Unit::Nanoseconds);
    Finding::new(FindingKind::StoodStill, Level::Warn, "").with(number)
}

/// The device's traffic.
pub fn device(read_bytes: u64, written_bytes: u64) -> DeviceTraffic {
    DeviceTraffic { read_bytes, written_bytes, depth: 1.0, ..DeviceTraffic::default() }
}
