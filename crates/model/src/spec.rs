//! The description of a virtual drive, read from a TOML file: every parameter of the model.
//!
//! Parameters missing from the file have the values of a plain 512 GB NVMe drive. Reading,
//! overriding and listing are in `preset.rs`; derived values are in `shape.rs`.

use serde::{Deserialize, Serialize};

use crate::alias::AliasSpec;
use crate::declared::DeclaredSpec;
use crate::fault::FaultSpec;
use crate::figure::{Figure, Size};
use crate::ftl::collect::Policy;
use crate::pause_spec::PauseSpec;

fn guess<T>(value: T) -> Figure<T> {
    Figure::guess(value)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DriveSpec {
    pub name: String,
    /// Manufacturer's model name.
    pub model: String,
    /// Description of the drive and of the available data, for display.
    pub about: String,
    /// The class whose parameters hold where the description gives none; empty: none.
    pub class: String,
    /// Capacity visible to the host.
    pub capacity: Figure<Size>,
    /// Over-provisioning: spare flash as a fraction of the capacity, 0.01 to 10.
    pub op: Figure<f64>,
    /// Logical block size in bytes: 512 or 4096.
    pub block_bytes: Figure<u32>,
    /// Logical block sizes the drive can be formatted to, in bytes.
    pub formats: Vec<u32>,
    /// Seed of this specimen, which selects one drive of the model.
    pub seed: Figure<u64>,
    /// The host, as far as it affects measurements.
    pub host: HostSpec,
    /// A provider's limit in front of the drive.
    pub limit: LimitSpec,
    /// Links between host and drive, nearest to the host first.
    pub link: Vec<LinkSpec>,
    pub command: CommandSpec,
    pub buffer: BufferSpec,
    /// Data reduction.
    pub content: ContentSpec,
    pub map: MapSpec,
    pub slc: SlcSpec,
    pub collect: CollectSpec,
    pub discard: DiscardSpec,
    pub nand: NandSpec,
    pub wear: WearSpec,
    pub heat: HeatSpec,
    /// Pauses of the controller.
    pub pause: Vec<PauseSpec>,
    /// Variation between drives, sessions and operations.
    pub vary: VarySpec,
    /// Counterfeit capacity.
    pub alias: AliasSpec,
    /// Faulty writes.
    pub fault: FaultSpec,
    /// Sizes that the drive declares.
    pub declared: DeclaredSpec,
}

impl Default for DriveSpec {
    fn default() -> Self {
        DriveSpec {
            name: String::new(),
            model: String::new(),
            about: String::new(),
            class: String::new(),
            capacity: guess(Size(512_110_190_592)),
            op: guess(0.07),
            block_bytes: guess(512),
            formats: vec![512],
            seed: guess(1),
            host: HostSpec::default(),
            limit: LimitSpec::default(),
            link: Vec::new(),
            command: CommandSpec::default(),
            buffer: BufferSpec::default(),
            content: ContentSpec::default(),
            map: MapSpec::default(),
            slc: SlcSpec::default(),
            collect: CollectSpec::default(),
            discard: DiscardSpec::default(),
            nand: NandSpec::default(),
            wear: WearSpec::default(),
            heat: HeatSpec::default(),
            pause: Vec::new(),
            vary: VarySpec::default(),
            alias: AliasSpec::default(),
            fault: FaultSpec::default(),
            declared: DeclaredSpec::default(),
        }
    }
}

/// The host at the near end of the chain of links. Needed only for figures measured on a slow host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostSpec {
    /// Host time per command (system call, driver, interrupt), us. It is mostly waiting, so it
    /// limits the rate at depth 1, not at high depth.
    pub command_us: Figure<f64>,
    /// Time of an I/O on the thread that issues it, us: one thread issues no I/O before the time of
    /// the one before is over, whatever the depth.
    pub thread_us: Figure<f64>,
    /// Rate at which the host's driver copies data after a read, decimal MB/s; 0: no copy.
    pub read_copy_mb_s: Figure<f64>,
    /// Rate at which the host's driver copies data before a write, decimal MB/s; 0: no copy.
    pub write_copy_mb_s: Figure<f64>,
}

impl Default for HostSpec {
    fn default() -> Self {
        HostSpec {
            command_us: guess(0.0),
            thread_us: guess(0.0),
            read_copy_mb_s: guess(0.0),
            write_copy_mb_s: guess(0.0),
        }
    }
}

/// A limit of reads and writes together that a provider sets on a volume. The burst is what passes at
/// the speed of the drive after a rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSpec {
    /// Operations per second; 0: no limit.
    pub iops: Figure<f64>,
    /// Decimal MB per second; 0: no limit.
    pub mb_s: Figure<f64>,
    /// Operations of a burst.
    pub burst_ops: Figure<f64>,
    /// Decimal MB of a burst.
    pub burst_mb: Figure<f64>,
}

impl Default for LimitSpec {
    fn default() -> Self {
        LimitSpec {
            iops: guess(0.0),
            mb_s: guess(0.0),
            burst_ops: guess(0.0),
            burst_mb: guess(0.0),
        }
    }
}

/// One link of the chain between host and drive. The known buses are in `link.rs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkSpec {
    /// `pcie-3x4`, `sata-3`, `usb-2`, `sd-high`, `emmc-hs200`, ...
    pub bus: Figure<String>,
    /// Payload of a PCIe packet, bytes; 0: the default of the generation.
    pub packet_bytes: Figure<u32>,
    /// Payload ceiling, decimal MB/s; 0: the default of the bus.
    pub ceiling_mb_s: Figure<f64>,
    /// Time per transfer in addition to the data (bulk-only transport, command and response), us.
    pub turnaround_us: Figure<f64>,
    /// Maximum size of a transfer, bytes; 0: no limit.
    pub transfer_bytes: Figure<Size>,
    /// Maximum outstanding commands; 0: the default of the bus.
    pub depth: Figure<u32>,
}

/// Time costs of a command before data move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CommandSpec {
    /// Processor cores that execute commands.
    pub cores: Figure<u32>,
    /// Core time per read, us.
    pub read_us: Figure<f64>,
    /// Core time per write, us.
    pub write_us: Figure<f64>,
    /// Time of every command during which it occupies no core, us.
    pub latency_us: Figure<f64>,
    /// Time of a flush in addition to the data, us.
    pub flush_us: Figure<f64>,
    /// Number of flushes that the drive executes at a time; others wait.
    pub flush_depth: Figure<u32>,
    /// Time of a read whose data were read ahead, in addition to their transfer, us.
    pub ahead_us: Figure<f64>,
    /// Whether a flush is acknowledged at once and does nothing.
    pub flush_ignored: Figure<bool>,
    /// Idle time after which the drive sleeps, ms.
    pub sleep_after_ms: Figure<f64>,
    /// Time to wake up, us; 0: the drive never sleeps.
    pub wake_us: Figure<f64>,
}

impl Default for CommandSpec {
    fn default() -> Self {
        CommandSpec {
            cores: guess(4),
            read_us: guess(4.0),
            write_us: guess(4.0),
            latency_us: guess(8.0),
            flush_us: guess(100.0),
            flush_depth: guess(64),
            ahead_us: guess(8.0),
            flush_ignored: guess(false),
            sleep_after_ms: guess(100.0),
            wake_us: guess(0.0),
        }
    }
}

/// The write buffer: written data wait here for flash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BufferSpec {
    /// Size, bytes.
    pub size: Figure<Size>,
    /// Rate at which the controller takes in written data, decimal MB/s; 0: no limit.
    pub intake_mb_s: Figure<f64>,
    /// Power-loss protection: the content survives a power cut, so a flush has nothing to do.
    pub protected: Figure<bool>,
    /// Maximum number of partly written mapping units waiting for the rest; beyond it, the oldest
    /// is completed by read-modify-write.
    pub combine: Figure<u32>,
    /// Read cache for recently read or written data, bytes; 0: none.
    pub read_cache: Figure<Size>,
    /// Bytes that the drive reads ahead of a sequential read; 0: none.
    pub read_ahead: Figure<Size>,
}

impl Default for BufferSpec {
    fn default() -> Self {
        BufferSpec {
            size: guess(Size(8 << 20)),
            intake_mb_s: guess(0.0),
            protected: guess(false),
            combine: guess(4),
            read_cache: guess(Size(0)),
            read_ahead: guess(Size(0)),
        }
    }
}

/// Data reduction: the part of the written content that reaches flash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContentSpec {
    /// Fraction of the compressible part of the data that is not programmed, 0 (no compression) to
    /// 1.
    pub compression: Figure<f64>,
    /// Whether data that are already stored are not programmed again.
    pub dedupe: Figure<bool>,
}

impl Default for ContentSpec {
    fn default() -> Self {
        ContentSpec { compression: guess(0.0), dedupe: guess(false) }
    }
}

/// Mapping granularity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MapKind {
    /// Individual mapping units.
    #[default]
    Page,
    /// Whole allocation units, a few of them open at a time (SD cards, USB sticks).
    Au,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MapSpec {
    /// Page or allocation unit.
    pub kind: Figure<MapKind>,
    /// Mapping unit, bytes; partial writes are read-modify-write.
    pub unit_bytes: Figure<u32>,
    /// Core time per read-modify-write, in addition to the flash time, us.
    pub rmw_us: Figure<f64>,
    /// Core time for each additional contiguous piece of flash in a read, us.
    pub piece_us: Figure<f64>,
    /// Size of the map cache (DRAM, host memory, SRAM), bytes; 0: the whole map is cached.
    pub cache: Figure<Size>,
    /// Time to fetch a part of the map that is not cached, us.
    pub miss_us: Figure<f64>,
    /// Allocation unit, bytes.
    pub au: Figure<Size>,
    /// Maximum number of open allocation units.
    pub open_aus: Figure<u32>,
    /// Additional time of a read that crosses from one allocation unit into the next, us.
    pub cross_us: Figure<f64>,
    /// Additional time of a read that covers part of one mapping unit and crosses from one page of
    /// the flash into the next, us. Only for allocation units.
    pub page_cross_us: Figure<f64>,
    /// Whether random order within an open allocation unit is as good as ascending.
    pub random_in_au: Figure<bool>,
    /// Size of the zone at the start for the tables of a FAT file system, bytes; 0: none. Its
    /// allocation units accept any order and do not count as open ones. (Linaro's survey of flash
    /// cards; flashbench `--find-fat`.)
    pub fat: Figure<Size>,
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
            cross_us: guess(0.0),
            page_cross_us: guess(0.0),
            random_in_au: guess(false),
            fat: guess(Size(0)),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlcSpec {
    /// Capacity in host bytes that exists even on a full drive: at most half of the spare flash.
    pub fixed: Figure<Size>,
    /// Additional capacity in host bytes while the host leaves room.
    pub dynamic: Figure<Size>,
    /// Fraction of program time spent draining while the host writes directly, 0 to 0.9.
    pub drain: Figure<f64>,
    /// No direct path: all writes go through the cache.
    pub first: Figure<bool>,
    /// Fraction of the cache in use at which a draining cache accepts writes again.
    pub reenter: Figure<f64>,
    /// Program time of folding relative to direct host writes, 0.1 to 100.
    pub fold_factor: Figure<f64>,
    /// Whether the cache is emptied when idle.
    pub idle_fold: Figure<bool>,
    /// Data that stay in the dynamic part when the cache is emptied, bytes: reads of them are as
    /// fast as those of the cache.
    pub keep: Figure<Size>,
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
            keep: guess(Size(0)),
        }
    }
}

/// Garbage collection and idle-time work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CollectSpec {
    /// `greedy`, `fifo`, `cost-benefit` or, for example, `8-choices`.
    pub policy: Figure<Policy>,
    /// Maximum size of a superblock, bytes; small drives have smaller ones.
    pub superblock: Figure<Size>,
    /// Whether host data and moved data share a superblock, and a whole superblock is collected
    /// when the next is opened, as in simple controllers.
    pub shared: Figure<bool>,
    /// Idle work starts after this time without commands, ms.
    pub idle_after_ms: Figure<f64>,
    /// Fraction of the spare flash freed in idle time, 0 to 0.9.
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

/// Discard (TRIM).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DiscardSpec {
    /// Whether a discard releases the range; otherwise it has no effect.
    pub honoured: Figure<bool>,
    /// Whether a discarded block reads as zeros; otherwise its content is indeterminate.
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NandSpec {
    pub dies: Figure<u32>,
    /// Number of channels; dies are distributed over them in turn.
    pub channels: Figure<u32>,
    /// Number of planes of a die that operate in parallel.
    pub planes: Figure<u32>,
    /// Whether each plane of a die reads a page of its own; otherwise all read the same row.
    pub plane_reads: Figure<bool>,
    /// Page size of a plane, bytes.
    pub page_bytes: Figure<u32>,
    /// Bits per cell; also the number of pages per plane programmed at once.
    pub bits: Figure<u32>,
    /// Sense time of a page, us.
    pub read_us: Figure<f64>,
    /// Program time of a unit of planes x bits pages, us.
    pub program_us: Figure<f64>,
    /// Erase time, us.
    pub erase_us: Figure<f64>,
    /// Sense time of an SLC page, us.
    pub slc_read_us: Figure<f64>,
    /// Program time of an SLC unit (one page per plane), us.
    pub slc_program_us: Figure<f64>,
    /// Rate of a channel, decimal MB/s.
    pub bus_mb_s: Figure<f64>,
    /// Time after which a read suspends a program or erase, us; negative: it waits for the end.
    pub suspend_us: Figure<f64>,
    /// How often reads suspend a program or erase; further ones wait for its end. US patent 10,956,081
    /// describes a largest number, without a value.
    pub suspends: Figure<u32>,
}

impl Default for NandSpec {
    fn default() -> Self {
        NandSpec {
            dies: guess(16),
            channels: guess(8),
            planes: guess(2),
            plane_reads: guess(false),
            page_bytes: guess(16_384),
            bits: guess(3),
            read_us: guess(50.0),
            program_us: guess(660.0),
            erase_us: guess(3500.0),
            slc_read_us: guess(20.0),
            slc_program_us: guess(75.0),
            bus_mb_s: guess(800.0),
            suspend_us: guess(20.0),
            suspends: guess(20),
        }
    }
}

/// Endurance and wear levelling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WearSpec {
    /// Endurance of a block in erase cycles.
    pub endurance: Figure<u32>,
    /// Spare blocks that replace worn-out ones, as a fraction of all blocks.
    pub spares: Figure<f64>,
    /// Difference in erases from the most erased block at which a block's data are moved (wear
    /// levelling); 0: never.
    pub level_lead: Figure<u32>,
    /// Fraction of all flash in initial bad blocks, which reduce the spare flash.
    pub bad: Figure<f64>,
    /// Fraction of the endurance used up before the first command.
    pub used: Figure<f64>,
    /// Fraction of page reads repeated at the end of the endurance; grows with the square of
    /// `used`.
    pub retry: Figure<f64>,
}

impl Default for WearSpec {
    fn default() -> Self {
        WearSpec {
            endurance: guess(1500),
            spares: guess(0.01),
            level_lead: guess(100),
            bad: guess(0.0),
            used: guess(0.0),
            retry: guess(0.3),
        }
    }
}

/// Heat, with one thermal mass between the drive's power and the air.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HeatSpec {
    /// Ambient temperature, degrees Celsius.
    pub ambient_c: Figure<f64>,
    /// Power when idle, watts.
    pub idle_w: Figure<f64>,
    /// Power per GB/s programmed, watts.
    pub program_w: Figure<f64>,
    /// Power per GB/s read from flash, watts.
    pub read_w: Figure<f64>,
    /// Thermal resistance without cooling, degrees per watt.
    pub bare_c_per_w: Figure<f64>,
    /// Thermal resistance with a heat sink in moving air, degrees per watt.
    pub cooled_c_per_w: Figure<f64>,
    /// Whether the drive has a heat sink in moving air.
    pub cooled: Figure<bool>,
    /// Time constant without cooling, seconds; proportionally shorter with cooling.
    pub bare_s: Figure<f64>,
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

/// Variation. Standard deviations are fractions of a time. The model itself is deterministic: if
/// `amount` is 0, times do not vary between drives, sessions and operations, except for the read
/// retries of worn flash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VarySpec {
    /// Factor for all amplitudes below; 0: no variation. Virtual drives specified by a user have 1.
    pub amount: Figure<f64>,
    /// Variation of flash times between drives of the model.
    pub specimen: Figure<f64>,
    /// Variation of flash times between the dies of a drive.
    pub die: Figure<f64>,
    /// Variation of flash times between erase blocks.
    pub block: Figure<f64>,
    /// Variation of all times between sessions.
    pub session: Figure<f64>,
    /// Slow drift of all times within a session.
    pub drift: Figure<f64>,
    /// Time constant of the drift, s.
    pub drift_s: Figure<f64>,
    /// Fraction of page reads that are repeated.
    pub retry: Figure<f64>,
    /// Mean delay of a completion on the host, us; included in the latency of commands.
    pub jitter_us: Figure<f64>,
    pub session_seed: Figure<u64>,
}

impl Default for VarySpec {
    fn default() -> Self {
        VarySpec {
            amount: guess(0.0),
            specimen: guess(0.01),
            die: guess(0.02),
            block: guess(0.02),
            session: guess(0.003),
            drift: guess(0.002),
            drift_s: guess(20.0),
            retry: guess(0.001),
            jitter_us: guess(0.5),
            session_seed: guess(1),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThrottleSpec {
    /// Temperature at which the step starts, degrees Celsius.
    pub above_c: Figure<f64>,
    /// Temperature below which the step ends, degrees Celsius.
    pub below_c: Figure<f64>,
    /// Limit on host data, decimal MB/s.
    pub limit_mb_s: Figure<f64>,
    /// Limit on written data, decimal MB/s; 0: that on all host data.
    #[serde(default)]
    pub write_mb_s: Figure<f64>,
}
