//! The description of a virtual drive: every parameter of the model, read from a TOML file.
//!
//! Whatever a file leaves out has the value of a plain 512 GB NVMe drive. Reading, overriding and
//! listing are in `preset.rs`; what is derived from a description is in `shape.rs`.

use serde::{Deserialize, Serialize};

use crate::figure::{Figure, Size};
use crate::ftl::collect::Policy;

fn guess<T>(value: T) -> Figure<T> {
    Figure::guess(value)
}

/// A virtual drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DriveSpec {
    /// Name of the preset.
    pub name: String,
    /// Maker's model name.
    pub model: String,
    /// What the drive is and what is known of it, for people.
    pub about: String,
    /// Bytes that the host sees.
    pub capacity: Figure<Size>,
    /// Spare flash as a share of the capacity, 0.01 to 10.
    pub op: Figure<f64>,
    /// Logical block, bytes: 512 or 4096.
    pub block_bytes: Figure<u32>,
    /// Logical blocks that the drive can be formatted to, bytes.
    pub formats: Vec<u32>,
    /// Seed of everything random in the drive.
    pub seed: Figure<u64>,
    /// The host, as far as it is part of what a host measures.
    pub host: HostSpec,
    /// Links between host and drive, nearest to the host first.
    pub link: Vec<LinkSpec>,
    /// Commands.
    pub command: CommandSpec,
    /// Write buffer.
    pub buffer: BufferSpec,
    /// Mapping.
    pub map: MapSpec,
    /// SLC cache.
    pub slc: SlcSpec,
    /// Collection.
    pub collect: CollectSpec,
    /// Discard.
    pub discard: DiscardSpec,
    /// Flash.
    pub nand: NandSpec,
    /// Wear.
    pub wear: WearSpec,
    /// Heat.
    pub heat: HeatSpec,
}

impl Default for DriveSpec {
    fn default() -> Self {
        DriveSpec {
            name: String::new(),
            model: String::new(),
            about: String::new(),
            capacity: guess(Size(512_110_190_592)),
            op: guess(0.07),
            block_bytes: guess(512),
            formats: vec![512],
            seed: guess(1),
            host: HostSpec::default(),
            link: Vec::new(),
            command: CommandSpec::default(),
            buffer: BufferSpec::default(),
            map: MapSpec::default(),
            slc: SlcSpec::default(),
            collect: CollectSpec::default(),
            discard: DiscardSpec::default(),
            nand: NandSpec::default(),
            wear: WearSpec::default(),
            heat: HeatSpec::default(),
        }
    }
}

/// The host at the near end of the chain of links. A drive of its own has none: only figures that were
/// measured on a slow host need it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostSpec {
    /// Time of the host per command (system call, driver, interrupt), us. Waiting for the most part:
    /// it limits one command at a time, not many together.
    pub command_us: Figure<f64>,
}

impl Default for HostSpec {
    fn default() -> Self {
        HostSpec { command_us: guess(0.0) }
    }
}

/// One link of the chain between host and drive. See `link.rs` for the buses that are known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkSpec {
    /// `pcie-3x4`, `sata-3`, `usb-2`, `sd-high`, `emmc-hs200`, ...
    pub bus: Figure<String>,
    /// Payload of a PCIe packet, bytes; 0: what is usual for the generation.
    pub packet_bytes: Figure<u32>,
    /// Payload ceiling in decimal MB/s; 0: that of the bus.
    pub ceiling_mb_s: Figure<f64>,
    /// Time per transfer beside the data (bulk-only transport, command and response), us.
    pub turnaround_us: Figure<f64>,
    /// The largest transfer of one such turn-around, bytes; 0: no limit.
    pub transfer_bytes: Figure<Size>,
    /// Commands that may be outstanding; 0: what is usual for the bus.
    pub depth: Figure<u32>,
}

/// What a command costs before data moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CommandSpec {
    /// Processor cores that work on commands.
    pub cores: Figure<u32>,
    /// Time of a core per read, us.
    pub read_us: Figure<f64>,
    /// Time of a core per write, us.
    pub write_us: Figure<f64>,
    /// Time that every command takes but no core is busy, us.
    pub latency_us: Figure<f64>,
    /// Time of a flush beside the data, us.
    pub flush_us: Figure<f64>,
}

impl Default for CommandSpec {
    fn default() -> Self {
        CommandSpec {
            cores: guess(4),
            read_us: guess(4.0),
            write_us: guess(4.0),
            latency_us: guess(8.0),
            flush_us: guess(100.0),
        }
    }
}

/// Where written data wait for flash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BufferSpec {
    /// Bytes of it.
    pub size: Figure<Size>,
    /// Rate at which the controller takes written data in, decimal MB/s; 0: as fast as they come.
    pub intake_mb_s: Figure<f64>,
    /// Survives a power cut; a flush then costs nothing.
    pub protected: Figure<bool>,
    /// Mapping units written in part that wait for the rest before they are read and modified.
    pub combine: Figure<u32>,
}

impl Default for BufferSpec {
    fn default() -> Self {
        BufferSpec {
            size: guess(Size(8 << 20)),
            intake_mb_s: guess(0.0),
            protected: guess(false),
            combine: guess(4),
        }
    }
}

/// How addresses are mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MapKind {
    /// Every mapping unit for itself.
    #[default]
    Page,
    /// Whole allocation units, a few of them open at a time (SD, USB sticks).
    Au,
}

/// The mapping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MapSpec {
    /// Page or allocation unit.
    pub kind: Figure<MapKind>,
    /// Mapping unit, bytes; what is written in part is read, modified and written.
    pub unit_bytes: Figure<u32>,
    /// Time of a core per read-modify-write, beside the flash's, us.
    pub rmw_us: Figure<f64>,
    /// Time of a core per further piece of flash that a read is put together from, us.
    pub piece_us: Figure<f64>,
    /// Bytes of map that are at hand (DRAM, host memory, SRAM); 0: all of it.
    pub cache: Figure<Size>,
    /// Time to fetch a part of the map that is not at hand, us.
    pub miss_us: Figure<f64>,
    /// Allocation unit, bytes.
    pub au: Figure<Size>,
    /// Allocation units that can be open at a time.
    pub open_aus: Figure<u32>,
    /// Within an open allocation unit, any order is as good as ascending.
    pub random_in_au: Figure<bool>,
}

impl Default for MapSpec {
    fn default() -> Self {
        MapSpec {
            kind: guess(MapKind::Page),
            unit_bytes: guess(4096),
            rmw_us: guess(0.0),
            piece_us: guess(0.0),
            cache: guess(Size(0)),
            miss_us: guess(60.0),
            au: guess(Size(4 << 20)),
            open_aus: guess(2),
            random_in_au: guess(false),
        }
    }
}

/// The SLC cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlcSpec {
    /// Host bytes it holds however full the drive is.
    pub fixed: Figure<Size>,
    /// Host bytes it holds beside, while the host leaves room.
    pub dynamic: Figure<Size>,
    /// Share of program time spent on draining while the host writes directly, 0 to 0.9.
    pub drain: Figure<f64>,
    /// No direct path: everything goes through the cache.
    pub first: Figure<bool>,
    /// Share of the cache at which, drained down to it, it is entered again.
    pub reenter: Figure<f64>,
    /// How much longer folding programs than the host's direct writes, 1 or more.
    pub fold_factor: Figure<f64>,
    /// Emptied when idle.
    pub idle_fold: Figure<bool>,
}

impl Default for SlcSpec {
    fn default() -> Self {
        SlcSpec {
            fixed: guess(Size(0)),
            dynamic: guess(Size(0)),
            drain: guess(0.3),
            first: guess(false),
            reenter: guess(0.02),
            fold_factor: guess(1.0),
            idle_fold: guess(true),
        }
    }
}

/// Collection of superblocks and what is done when idle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CollectSpec {
    /// `greedy`, `fifo`, `cost-benefit` or such as `8-choices`.
    pub policy: Figure<Policy>,
    /// Largest superblock, bytes; small drives have smaller ones.
    pub superblock: Figure<Size>,
    /// Host data and moved data fill the same superblock, and a superblock is collected whole when
    /// the next is begun: simple controllers.
    pub shared: Figure<bool>,
    /// Idle time is used once nothing came for this long, ms.
    pub idle_after_ms: Figure<f64>,
    /// Share of the spare flash that idle time frees, 0 to 0.9.
    pub idle_free: Figure<f64>,
}

impl Default for CollectSpec {
    fn default() -> Self {
        CollectSpec {
            policy: guess(Policy::Greedy),
            superblock: guess(Size(384 << 20)),
            shared: guess(false),
            idle_after_ms: guess(100.0),
            idle_free: guess(0.5),
        }
    }
}

/// What a discard does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DiscardSpec {
    /// The range is given back; otherwise nothing happens.
    pub honoured: Figure<bool>,
    /// A discarded block reads as zeros; otherwise as anything.
    pub zeros: Figure<bool>,
    /// Time per command, us.
    pub command_us: Figure<f64>,
    /// Time per GiB, us.
    pub gib_us: Figure<f64>,
}

impl Default for DiscardSpec {
    fn default() -> Self {
        DiscardSpec {
            honoured: guess(true),
            zeros: guess(true),
            command_us: guess(50.0),
            gib_us: guess(500.0),
        }
    }
}

/// The flash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NandSpec {
    /// Dies.
    pub dies: Figure<u32>,
    /// Channels; dies are dealt to them in turn.
    pub channels: Figure<u32>,
    /// Planes of a die that work together.
    pub planes: Figure<u32>,
    /// Page of a plane, bytes.
    pub page_bytes: Figure<u32>,
    /// Bits per cell, which is also pages of a plane programmed at once.
    pub bits: Figure<u32>,
    /// Sense time of a page, us.
    pub read_us: Figure<f64>,
    /// Program time of a unit of planes x bits pages, us.
    pub program_us: Figure<f64>,
    /// Erase time, us.
    pub erase_us: Figure<f64>,
    /// Sense time of a page with one bit per cell, us.
    pub slc_read_us: Figure<f64>,
    /// Program time of a unit of one page per plane with one bit per cell, us.
    pub slc_program_us: Figure<f64>,
    /// Rate of a channel, decimal MB/s.
    pub bus_mb_s: Figure<f64>,
    /// A read interrupts a program or erase after this time, us; below 0: it waits for its end.
    pub suspend_us: Figure<f64>,
}

impl Default for NandSpec {
    fn default() -> Self {
        NandSpec {
            dies: guess(16),
            channels: guess(8),
            planes: guess(2),
            page_bytes: guess(16_384),
            bits: guess(3),
            read_us: guess(50.0),
            program_us: guess(660.0),
            erase_us: guess(3500.0),
            slc_read_us: guess(20.0),
            slc_program_us: guess(75.0),
            bus_mb_s: guess(800.0),
            suspend_us: guess(20.0),
        }
    }
}

/// Wear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WearSpec {
    /// Erases that a block endures.
    pub endurance: Figure<u32>,
    /// Blocks that replace worn-out ones, as a share of all.
    pub spares: Figure<f64>,
    /// Data are moved off blocks that were erased this much less than others; 0: never.
    pub level_lead: Figure<u32>,
}

impl Default for WearSpec {
    fn default() -> Self {
        WearSpec { endurance: guess(1500), spares: guess(0.01), level_lead: guess(100) }
    }
}

/// Heat: one thermal mass between the drive's power and the air.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HeatSpec {
    /// Air around the drive, degrees Celsius.
    pub ambient_c: Figure<f64>,
    /// Power when idle, watts.
    pub idle_w: Figure<f64>,
    /// Power per GB/s programmed, watts.
    pub program_w: Figure<f64>,
    /// Power per GB/s read from flash, watts.
    pub read_w: Figure<f64>,
    /// Degrees per watt without any cooling.
    pub bare_c_per_w: Figure<f64>,
    /// Degrees per watt with a heat sink in moving air.
    pub cooled_c_per_w: Figure<f64>,
    /// A heat sink in moving air is there.
    pub cooled: Figure<bool>,
    /// Time constant without cooling, seconds; with cooling it is shorter in proportion.
    pub bare_s: Figure<f64>,
    /// Temperatures and what is still allowed there.
    pub throttle: Vec<ThrottleSpec>,
}

impl Default for HeatSpec {
    fn default() -> Self {
        HeatSpec {
            ambient_c: guess(25.0),
            idle_w: guess(0.6),
            program_w: guess(1.8),
            read_w: guess(1.0),
            bare_c_per_w: guess(14.0),
            cooled_c_per_w: guess(6.0),
            cooled: guess(true),
            bare_s: guess(180.0),
            throttle: Vec::new(),
        }
    }
}

/// A step of throttling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThrottleSpec {
    /// From this temperature on, degrees Celsius.
    pub above_c: Figure<f64>,
    /// Until it is below this, degrees Celsius.
    pub below_c: Figure<f64>,
    /// Host data in decimal MB/s.
    pub limit_mb_s: Figure<f64>,
}
