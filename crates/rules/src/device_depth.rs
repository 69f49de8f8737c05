//! DEVICE DEPTH and USB: does the drive take a fixed number of commands at a time?
//!
//! A drive that takes N commands reaches the rate of any longer queue with a queue of N, in blocks of
//! any size, and that rate is N times the one at depth 1. Flash of few dies does not: some of N
//! commands meet on one die. So a queue of N is measured.
//!
//! With N = 1, everything that commands occupy one after another looks alike: a queue of one, a
//! core, the turn-around of a link, a single die. A longer queue in the drive would be faster only if
//! a read has two parts that can overlap. So its time without flash must be known, from a buffered
//! write, and neither part may be negligible. Where flash is, the command takes the time.

use record::{Order, Unit, VerdictKind};
use rig::{Bus, TargetInfo};
use workload::OpKind;
use workload::OpKind::{Read, Write};
use workload::units::latency;

use super::grid::{Grid, SAME, within};
use super::nearby::NEAR_GAIN;
use super::{Ruling, percent};
use crate::Digest;
use crate::changes::{COMMANDS_AT_A_TIME, DEPTH, LARGER};

/// Maximum relative deviation of a device depth from a whole number.
const WHOLE_WITHIN: f64 = 0.08;

/// Maximum device depth: at [`DEPTH`], a larger one cannot be distinguished from no limit.
const DEVICE_DEPTH_MAX: f64 = 16.0;

/// Minimum share of a read that flash, or everything else, takes if overlapping both would raise the
/// rate by a tenth.
const OVERLAP_MIN: f64 = 0.1;

/// Share of a read above which the command is the cost.
const COMMAND_MIN: f64 = 0.5;

/// Maximum gain from a queue over a transport that is known to take one command at a time: it
/// overlaps with the host's part of a command.
const BULK_ONLY_GAIN_MAX: f64 = 1.5;

/// The number of commands that the drive seems to take at a time, if it is above one: the queue of
/// random reads that tests it.
pub fn depth_to_test(seen: &[Digest]) -> Option<u32> {
    let fixed = Grid::from_digests(seen).fixed_depth()?;
    Some(fixed.commands).filter(|commands| *commands > 1)
}

/// Whether a queue of small blocks is faster than one after another; true if unknown.
pub fn gains_from_queue(seen: &[Digest], kind: OpKind) -> bool {
    Grid::from_digests(seen).is_serial(kind) != Some(true)
}

/// A queue beyond which reads are no faster, in blocks of either size.
struct FixedDepth {
    commands: u32,
    /// Ratios of the rates at [`DEPTH`] to those at depth 1.
    ratio: f64,
    larger: f64,
}

impl Grid<'_> {
    /// The whole number of commands by which a queue is faster, if it is one.
    fn fixed_depth(&self) -> Option<FixedDepth> {
        let (single, deep) = (self.random(Read, 1, 1)?, self.random(Read, 1, DEPTH)?);
        let ratio = deep / single;
        let larger = self.random(Read, LARGER[0], DEPTH)? / self.random(Read, LARGER[0], 1)?;
        let whole = ratio.round();
        let is_whole =
            (1.0..=DEVICE_DEPTH_MAX).contains(&whole) && within(ratio, whole, WHOLE_WITHIN);
        let is_fixed = same(deep, self.deeper(Read)?) && same(ratio, larger);
        (is_whole && is_fixed).then_some(FixedDepth { commands: whole as u32, ratio, larger })
    }

    /// Checks whether the drive takes a fixed number of commands at a time.
    pub(super) fn device_depth(&self, target: &TargetInfo) -> Option<Ruling> {
        let (single, deep) = (self.random(Read, 1, 1)?, self.random(Read, 1, DEPTH)?);
        let is_bulk_only = is_bulk_only(target) && deep <= BULK_ONLY_GAIN_MAX * single;
        if is_bulk_only && same(deep, self.deeper(Read)?) {
            return self.bulk_only(deep / single);
        }
        let FixedDepth { commands, ratio, larger } = self.fixed_depth()?;
        if commands == 1 {
            let flash = self.flash_share()?;
            if *flash.end() < OVERLAP_MIN {
                return self.command_in_line(*flash.end());
            }
            if *flash.start() < OVERLAP_MIN || *flash.end() > 1.0 - OVERLAP_MIN {
                return None;
            }
        } else if !same(self.random(Read, 1, commands)?, deep) {
            return None;
        }
        let ruling = Ruling::yes(VerdictKind::DeviceDepth, said(commands, ratio))
            .explaining(self.find(Read, Order::Random, 1, DEPTH)?, None)
            .next_test("the drive on another controller or bridge, which may set the limit")
            .with(COMMANDS_AT_A_TIME, ratio, Unit::Number)
            .with("the same with larger blocks", larger, Unit::Number);
        let writes = self.random(Write, 1, DEPTH).zip(self.random(Write, 1, 1));
        let gains_alike =
            |(deep, single): (f64, f64)| within(deep / single, f64::from(commands), WHOLE_WITHIN);
        // A queue of writes gains more than so many commands at a time allow, so the drive takes more.
        // Or reads and writes have a rate in common that their queues reach with different gains: it
        // is that of commands.
        let gain_max = f64::from(commands) * (1.0 + WHOLE_WITHIN);
        if commands > 1
            && writes.is_some_and(|w| w.0 / w.1 > gain_max || (same(w.0, deep) && !gains_alike(w)))
        {
            return None;
        }
        let writes = writes.filter(|rates| {
            gains_alike(*rates) && (commands > 1 || self.writes_wait_in_line(target.bus))
        });
        Some(match writes.and_then(|_| self.find(Write, Order::Random, 1, DEPTH)) {
            Some(writes) => ruling.explaining(writes, None),
            None => ruling,
        })
    }

    /// One command at a time, as the transport has it. Reads that wait for flash have another limit;
    /// writes have this one if a burst after a rest is no faster.
    fn bulk_only(&self, ratio: f64) -> Option<Ruling> {
        if self.flash_share().is_some_and(|flash| *flash.end() > 1.0 - OVERLAP_MIN) {
            return None;
        }
        let text = format!("{} USB's bulk-only transport allows no more.", said(1, ratio));
        let ruling = Ruling::yes(VerdictKind::Usb, text)
            .explaining(self.find(Read, Order::Random, 1, DEPTH)?, None)
            .next_test("the drive in a UAS enclosure, or without a bridge")
            .with(COMMANDS_AT_A_TIME, ratio, Unit::Number);
        let writes = self.find(Write, Order::Random, 1, DEPTH).filter(|writes| {
            let burst = self.burst(writes.first().block_bytes, DEPTH);
            let single = self.random(Write, 1, 1).filter(|_| self.buffered_write_ns().is_some());
            single.is_some_and(|single| writes.iops() <= BULK_ONLY_GAIN_MAX * single)
                && burst.is_some_and(|burst| same(burst, writes.throughput()))
        });
        Some(match writes {
            Some(writes) => ruling.explaining(writes, None),
            None => ruling,
        })
    }

    /// A queue that gives nothing to reads whose time is the command's.
    fn command_in_line(&self, flash: f64) -> Option<Ruling> {
        let [small_ns, large_ns] = [1, LARGER[0]].map(|n| Some(1e9 / self.random(Read, n, 1)?));
        let (small_ns, large_ns) = small_ns.zip(large_ns)?;
        let data_ns = (large_ns - small_ns).max(0.0) / f64::from(LARGER[0] - 1);
        let share = 1.0 - flash.max(0.0) - data_ns / small_ns;
        if share <= COMMAND_MIN {
            return None;
        }
        let text = format!(
            "A read takes {}, of which {} is the command or its turn-around on the link, and one \
             waits for the other: a queue is no faster.",
            latency(small_ns),
            percent(share)
        );
        Some(
            Ruling::yes(VerdictKind::PerCommand, text)
                .explaining(self.find(Read, Order::Random, 1, DEPTH)?, Some(share))
                .next_test("larger blocks: --bs 64k; the drive in a faster reader")
                .with("share of flash", flash, Unit::Share)
                .with("time of the data", data_ns, Unit::Nanoseconds),
        )
    }

    /// Whether writes that a deep queue does not speed up wait for the one before. A write that
    /// flash or the copy of a block delays gains nothing from a queue either, and the protocols of
    /// cards and of USB's bulk-only transport take the time of a turn-around for every command.
    fn writes_wait_in_line(&self, bus: Bus) -> bool {
        let is_local = self.near(Write).zip(self.random(Write, 1, DEPTH));
        let is_local = is_local.is_some_and(|(near, all)| near >= NEAR_GAIN * all);
        let is_serial = matches!(bus, Bus::Usb | Bus::Sd | Bus::Emmc);
        !is_serial && !is_local && self.buffered_write_ns().is_some()
    }
}

/// Whether the drive is behind USB's bulk-only transport: its link names UAS otherwise.
fn is_bulk_only(target: &TargetInfo) -> bool {
    let link = target.target.drive.as_ref().and_then(|drive| drive.link.as_ref());
    let is_uas = link.and_then(|link| link.now.as_ref()).is_some_and(|now| now.contains("uas"));
    target.bus == Bus::Usb && !is_uas
}

fn said(commands: u32, ratio: f64) -> String {
    format!(
        "The drive takes {commands} command{} at a time: queue depth {DEPTH} gives {ratio:.1} \
         times the rate of depth 1, and higher depths no more.",
        if commands == 1 { "" } else { "s" }
    )
}

pub(super) fn same(a: f64, b: f64) -> bool {
    within(a, b, SAME)
}
