//! Times of a command other than those of flash and link: controller, host, lookups, sleep.
//!
//! They are converted once from the description, because every command needs several of them.

use workload::{Op, OpKind};

use crate::media::ns;
use crate::spec::DriveSpec;

/// Time costs of commands, in nanoseconds.
#[derive(Debug)]
pub(crate) struct Costs {
    pub read: u64,
    pub write: u64,
    pub latency: u64,
    pub host: u64,
    /// Time on the issuing thread.
    pub thread: u64,
    /// Copying on the host, in picoseconds per byte read and per byte written.
    pub copy_ps: [u64; 2],
    pub flush: u64,
    /// Core time of a flush, which like a read whose data were read ahead looks nothing up.
    pub flush_core: u64,
    /// Of a read whose data were read ahead.
    pub ahead: u64,
    pub discard: u64,
    pub discard_gib: u64,
    pub rmw: u64,
    pub piece: u64,
    pub cross: u64,
    pub page_cross: u64,
    /// Size of a page of the flash, bytes.
    pub flash_page: u64,
    pub idle_after: u64,
    pub sleep_after: u64,
    pub wake: u64,
    /// Read and write times without variation.
    pub usual: [u64; 2],
}

impl Costs {
    pub fn new(spec: &DriveSpec) -> Costs {
        Costs {
            read: ns(*spec.command.read_us),
            write: ns(*spec.command.write_us),
            latency: ns(*spec.command.latency_us),
            host: ns(*spec.host.command_us),
            thread: ns(*spec.host.thread_us),
            copy_ps: [*spec.host.read_copy_mb_s, *spec.host.write_copy_mb_s]
                .map(|mb_s| if mb_s > 0.0 { (1e6 / mb_s).round() as u64 } else { 0 }),
            flush: ns(*spec.command.flush_us),
            flush_core: ns(spec.command.ahead_us.min(*spec.command.write_us)),
            ahead: ns(*spec.command.ahead_us),
            discard: ns(*spec.discard.command_us),
            discard_gib: ns(*spec.discard.gib_us),
            rmw: ns(*spec.map.rmw_us),
            piece: ns(*spec.map.piece_us),
            cross: ns(*spec.map.cross_us),
            page_cross: ns(*spec.map.page_cross_us),
            flash_page: u64::from(*spec.nand.page_bytes),
            idle_after: ns(*spec.collect.idle_after_ms * 1e3),
            sleep_after: ns(*spec.command.sleep_after_ms * 1e3),
            wake: ns(*spec.command.wake_us),
            usual: [ns(*spec.command.read_us), ns(*spec.command.write_us)],
        }
    }

    /// Host time of a command: a fixed part, and copying the data.
    #[inline]
    pub fn on_host(&self, op: &Op) -> u64 {
        match op.kind {
            OpKind::Read => self.host + u64::from(op.bytes) * self.copy_ps[0] / 1000,
            OpKind::Write => self.host + u64::from(op.bytes) * self.copy_ps[1] / 1000,
            OpKind::Flush | OpKind::Discard => self.host,
        }
    }
}
