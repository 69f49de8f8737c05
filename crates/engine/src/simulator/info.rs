//! The description of a virtual drive as a target: identity, blocks, bus and limits.

use model::{DriveSpec, Figure, LinkSpec, MapKind, Size};
use record::{DeclaredSizes, Safety, State, Target, TargetKind};
use rig::{Bus, Flash, Limits, TargetInfo};
use xxhash_rust::xxh3::xxh3_64;

use super::Simulator;

impl Simulator {
    /// The target for a drive with this description.
    pub fn info(spec: &DriveSpec, spec_text: &str) -> TargetInfo {
        let block = u64::from(*spec.block_bytes);
        let bytes = spec.capacity.0 / block * block;
        let target = Target {
            spec: spec_text.to_string(),
            kind: TargetKind::Virtual,
            bytes: Some(bytes),
            drive: Some(identity(spec, bytes)),
            direct: Some(true),
            ..Target::default()
        };
        TargetInfo {
            target,
            bytes,
            logical_block_bytes: *spec.block_bytes,
            allowed: Safety::Destroys,
            ram: false,
            discard: true,
            state: State::Fresh,
            formats: spec.formats.clone(),
            bus: spec.link.first().map_or(Bus::Other, |link| Bus::parse(&link.bus)),
            limits: limits(spec),
            rates: None,
            guest: None,
        }
    }
}

/// Ceilings derived from a description. A burst fills the buffer and the SLC cache. After that, the
/// rate is limited by all planes programming in parallel: the pages of a cell's bits at once, or a
/// page at SLC speed if there is a cache, because data overwritten in the cache are never folded.
fn limits(spec: &DriveSpec) -> Limits {
    let (command, nand, slc) = (&spec.command, &spec.nand, &spec.slc);
    let turnarounds: f64 = spec.link.iter().map(|link| *link.turnaround_us).sum();
    let least_us = command.read_us.min(*command.write_us) + *command.latency_us + turnarounds;
    let cached = slc.fixed.0 > 0 || slc.dynamic.0 > 0;
    let (program_us, pages) =
        if cached { (*nand.slc_program_us, 1) } else { (*nand.program_us, *nand.bits) };
    let stripe = *nand.dies * *nand.planes * *nand.page_bytes * pages;
    Limits {
        link_bytes_per_s: spec.link_ceiling(),
        least_command_ns: Some((least_us * 1e3) as u64),
        burst_bytes: Some(spec.buffer.size.0 + slc.fixed.0 + slc.dynamic.0),
        queue_requests: None,
        group: rig::GroupLimits::default(),
        native_bytes_per_s: (program_us > 0.0).then(|| f64::from(stripe) * 1e6 / program_us),
        flash: flash(spec),
    }
}

/// The flash that a page map writes to; of other maps, the size and order of writes decide.
fn flash(spec: &DriveSpec) -> Option<Flash> {
    let (nand, slc) = (&spec.nand, &spec.slc);
    let is_mapped_by_page = *spec.map.kind == MapKind::Page;
    let stripe = *nand.dies * *nand.planes * *nand.page_bytes * *nand.bits;
    (is_mapped_by_page && *nand.program_us > 0.0).then(|| Flash {
        fixed_bytes: slc.fixed.0,
        dynamic_bytes: slc.dynamic.0,
        bits: *nand.bits,
        bytes_per_s: f64::from(stripe) * 1e6 / *nand.program_us,
        gathered_bytes_per_s: f64::from(*nand.dies * *spec.map.unit_bytes) * 1e6 / *nand.read_us,
        spare_share: *spec.op,
    })
}

/// The identifier of this drive: a hash of its description without the session seed. The runs of a
/// drive are found however it was specified, and a changed file or preset counts as a different
/// drive.
fn specimen(spec: &DriveSpec) -> String {
    let figures = spec.figures().into_iter().filter(|line| line.key != "vary.session_seed");
    let lines: Vec<String> = figures.map(|line| format!("{}={}", line.key, line.value)).collect();
    format!("virtual.{:016x}", xxh3_64(lines.join("\n").as_bytes()))
}

/// The simulated host, if the description has one. Drives with the same host share a port.
fn port(spec: &DriveSpec) -> Option<String> {
    let host = &spec.host;
    let costs = [*host.command_us, *host.read_copy_mb_s, *host.write_copy_mb_s];
    let bus = spec.link.first().map_or("none", |link| link.bus.value.as_str());
    let has_costs = costs.iter().any(|cost| *cost > 0.0);
    has_costs
        .then(|| format!("{bus}, {} us, copies at {} and {} MB/s", costs[0], costs[1], costs[2]))
}

fn declared(spec: &DriveSpec) -> DeclaredSizes {
    let size = |figure: &Figure<Size>| Some(figure.0).filter(|bytes| *bytes > 0);
    let declared = &spec.declared;
    let discard_granularity = size(&declared.discard_granularity);
    DeclaredSizes {
        allocation_unit: size(&declared.allocation_unit),
        preferred_erase: size(&declared.preferred_erase),
        write_granularity: size(&declared.write_granularity),
        optimal_write: size(&declared.optimal_write),
        discard_granularity,
        discard_alignment: discard_granularity.map(|_| declared.discard_alignment.0),
    }
}

fn identity(spec: &DriveSpec, bytes: u64) -> record::DriveIdentity {
    let buses: Vec<String> = spec.link.iter().map(|link| link.bus.value.clone()).collect();
    let ceilings = spec.link.iter().filter_map(LinkSpec::ceiling);
    let transfers = spec.link.iter().map(|link| link.transfer_bytes.0).filter(|most| *most > 0);
    let link = record::Link {
        kind: "virtual".into(),
        now: (!buses.is_empty()).then(|| buses.join(" + ")),
        best: None,
        ceiling_bytes_per_s: ceilings.reduce(f64::min),
        downgraded: None,
        port: port(spec),
    };
    record::DriveIdentity {
        name: spec.name.clone(),
        bus: "virtual".into(),
        model: (!spec.model.is_empty()).then(|| spec.model.clone()),
        bytes: Some(bytes),
        logical_block_bytes: Some(*spec.block_bytes),
        physical_block_bytes: Some(*spec.map.unit_bytes),
        rotational: Some(false),
        read_only: Some(false),
        write_cache: Some(!*spec.buffer.protected),
        discard_max_bytes: Some(if *spec.discard.honoured { u64::from(u32::MAX) } else { 0 }),
        transfer_max_bytes: transfers.min(),
        link: Some(link),
        hardware_id: Some(specimen(spec)),
        declared: declared(spec),
        ..record::DriveIdentity::default()
    }
}
