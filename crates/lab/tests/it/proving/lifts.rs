//! Lifts: every group of parameters that is one cause, and how it is removed from a drive.
//!
//! A lift removes a cost, or sets a resource to the best value of its class: flash of many fast
//! dies, a cache as large as the drive. Lifting adds nothing that a drive lacks altogether (an SLC
//! cache, a read cache), because that would make any drive faster.

use model::{DriveSpec, MapKind};
use record::VerdictKind;

/// A change of a drive's description.
pub type Change = fn(&mut DriveSpec);

/// Parameters that are one cause together.
pub struct Group {
    pub name: &'static str,
    pub lift: Change,
    /// Whether it also affects reads.
    pub reads: bool,
    /// Whether its effect appears only after some time.
    pub slow: bool,
}

const fn of_all(name: &'static str, lift: Change) -> Group {
    Group { name, lift, reads: true, slow: false }
}

const fn of_writes(name: &'static str, lift: Change) -> Group {
    Group { name, lift, reads: false, slow: false }
}

/// Largest read cache that a description permits; `quick` uses 1 GiB.
const READ_CACHE_MAX: u64 = 64 << 30;

/// Flash beyond which spare blocks are never collected during `quick`, bytes.
const NEVER_COLLECTED: f64 = 64e9;

/// All groups.
pub static GROUPS: [Group; 19] = [
    of_all("link", fast_link),
    of_all("turnaround", no_turnaround),
    of_all("depth", deep),
    of_all("host", no_host_time),
    of_all("commands", no_command_time),
    of_all("pieces", no_pieces),
    of_all("mapping unit", small_units),
    of_all("map cache", whole_map),
    of_all("read cache", all_cached),
    of_writes("open blocks", open_blocks),
    of_all("crossings", no_crossings),
    Group { slow: true, ..of_writes("SLC cache", large_cache) },
    Group { slow: true, ..of_writes("collection", much_spare) },
    of_all("flash", fast_flash),
    of_writes("intake", no_intake_limit),
    of_writes("flush", no_flush_time),
    of_all("wear", unworn),
    Group { slow: true, ..of_all("heat", cold) },
    of_all("wake", awake),
];

/// The groups that a verdict can mean; none for verdicts without a cause in the model.
pub fn groups_of(kind: &VerdictKind) -> &'static [&'static str] {
    match kind {
        VerdictKind::Link => &["link", "turnaround"],
        VerdictKind::PerCommand => &["commands", "host", "turnaround", "pieces"],
        VerdictKind::HostCeiling => &["host"],
        VerdictKind::DeviceDepth => &["depth"],
        VerdictKind::MappingUnit => &["mapping unit"],
        VerdictKind::Heat => &["heat"],
        VerdictKind::CacheEnd => &["SLC cache"],
        VerdictKind::FlashBound => &["flash"],
        VerdictKind::Controller => &["intake"],
        VerdictKind::DeviceCache => &["map cache", "read cache"],
        VerdictKind::OpenBlocks => &["open blocks"],
        VerdictKind::Usb => &["depth", "turnaround", "link"],
        VerdictKind::PowerState => &["wake"],
        VerdictKind::Wear => &["wear"],
        VerdictKind::Flush => &["flush"],
        _ => &[],
    }
}

/// The group with this name.
pub fn group(name: &str) -> &'static Group {
    GROUPS.iter().find(|group| group.name == name).expect("a group")
}

pub fn fast_link(spec: &mut DriveSpec) {
    for link in &mut spec.link {
        link.ceiling_mb_s.value = 28_000.0;
    }
}

pub fn no_turnaround(spec: &mut DriveSpec) {
    for link in &mut spec.link {
        link.turnaround_us.value = 0.0;
    }
}

pub fn deep(spec: &mut DriveSpec) {
    for link in &mut spec.link {
        link.depth.value = 1024;
    }
}

pub fn no_host_time(spec: &mut DriveSpec) {
    spec.host.command_us.value = 0.0;
    (spec.host.read_copy_mb_s.value, spec.host.write_copy_mb_s.value) = (0.0, 0.0);
}

pub fn no_command_time(spec: &mut DriveSpec) {
    (spec.command.read_us.value, spec.command.write_us.value) = (0.0, 0.0);
    spec.command.latency_us.value = 0.0;
}

fn no_pieces(spec: &mut DriveSpec) {
    spec.map.piece_us.value = 0.0;
}

pub fn small_units(spec: &mut DriveSpec) {
    spec.map.unit_bytes.value = spec.map.unit_bytes.value.min(4096);
    spec.map.rmw_us.value = 0.0;
}

pub fn whole_map(spec: &mut DriveSpec) {
    spec.map.cache.value.0 = 0;
}

pub fn all_cached(spec: &mut DriveSpec) {
    if spec.buffer.read_cache.value.0 > 0 {
        spec.buffer.read_cache.value.0 = spec.capacity.value.0.min(READ_CACHE_MAX);
    }
}

pub fn open_blocks(spec: &mut DriveSpec) {
    if *spec.map.kind == MapKind::Au {
        (spec.map.open_aus.value, spec.map.random_in_au.value) = (4096, true);
    }
}

fn no_crossings(spec: &mut DriveSpec) {
    (spec.map.cross_us.value, spec.map.page_cross_us.value) = (0.0, 0.0);
}

pub fn large_cache(spec: &mut DriveSpec) {
    if spec.slc.fixed.value.0 + spec.slc.dynamic.value.0 > 0 {
        spec.slc.dynamic.value = spec.capacity.value;
        spec.slc.drain.value = 0.0;
    }
}

fn much_spare(spec: &mut DriveSpec) {
    if *spec.map.kind == MapKind::Page {
        let enough = NEVER_COLLECTED / spec.capacity.0 as f64 - 1.0;
        spec.op.value = spec.op.value.max(enough.min(10.0));
    }
}

pub fn fast_flash(spec: &mut DriveSpec) {
    let nand = &mut spec.nand;
    nand.dies.value = nand.dies.value.max(32);
    nand.channels.value = nand.channels.value.max(32);
    nand.bus_mb_s.value = nand.bus_mb_s.value.max(10_000.0);
    (nand.read_us.value, nand.slc_read_us.value) = (5.0, 5.0);
    (nand.program_us.value, nand.slc_program_us.value) = (60.0, 20.0);
    nand.erase_us.value = nand.erase_us.value.min(500.0);
}

pub fn no_intake_limit(spec: &mut DriveSpec) {
    spec.buffer.intake_mb_s.value = 0.0;
}

pub fn no_flush_time(spec: &mut DriveSpec) {
    spec.command.flush_us.value = 0.0;
}

pub fn unworn(spec: &mut DriveSpec) {
    (spec.wear.used.value, spec.vary.retry.value) = (0.0, 0.0);
}

pub fn cold(spec: &mut DriveSpec) {
    spec.heat.throttle.clear();
}

pub fn awake(spec: &mut DriveSpec) {
    spec.command.wake_us.value = 0.0;
}
