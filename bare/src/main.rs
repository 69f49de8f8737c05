//! The NVMe driver on a machine without an operating system.
//!
//! Finds the controller, starts it, writes and reads back the first blocks, then measures the
//! workloads of document 001: sequential in blocks of 64 KiB or more, and random. The serial port
//! carries messages as comments, and the figures as a table that `ssdyno import` reads. The drive
//! is overwritten.

#![no_std]
#![no_main]

mod check;
mod figures;
mod machine;
mod sys;

use core::fmt::Write;

use machine::{ADMIN, Host, QUEUE, Serial, TRACKERS};
use nvme::{Controller, Error, FormattedNamespace, Queue, QueueParameters, Tracker};

/// Maximum number of requests in flight.
pub const SLOTS: usize = 16;
/// Size of the largest request, bytes.
pub const REQUEST_BYTES: usize = 512 << 10;
const TIMEOUT_NS: u64 = 10_000_000_000;

/// The driver's queue on this machine.
pub type Lane = Queue<&'static Host, &'static machine::Pages<{ QUEUE / 4 }>, [Tracker; TRACKERS]>;

/// The drive under test.
pub struct Drive {
    /// Its queue.
    pub queue: Lane,
    /// Offset of the buffer of slot 0.
    pub data_at: usize,
    /// Its namespace.
    pub place: FormattedNamespace,
    /// Size of the namespace, bytes.
    pub bytes: u64,
    /// Serial number, padded; [`text`] removes the padding.
    pub serial: [u8; 20],
}

/// Why there are no figures.
pub enum Failure {
    /// No NVMe controller on the bus.
    NoController,
    /// An error of the driver.
    Driver(Error),
    /// The drive lost or changed data, or a request failed; the text gives the details.
    Drive(&'static str),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Driver(error)
    }
}

/// Called by the architecture's boot code, which has set up a stack. The loader has zeroed the
/// static memory.
pub fn main() -> ! {
    let ok = match run() {
        Ok(()) => true,
        Err(Failure::NoController) => say(format_args!("# failed: no NVMe controller")),
        Err(Failure::Driver(error)) => say(format_args!("# failed: {error}")),
        Err(Failure::Drive(reason)) => say(format_args!("# failed: {reason}")),
    };
    say(format_args!("# {}", if ok { "done" } else { "gave up" }));
    sys::power_off()
}

/// Prints a line on the serial port. Returns `false`, for use in failures.
pub fn say(words: core::fmt::Arguments<'_>) -> bool {
    // Writing to the port cannot fail.
    let _ = writeln!(Serial, "{words}");
    false
}

fn run() -> Result<(), Failure> {
    say(format_args!("# ssdyno bare {}", sys::NAME));
    let host = machine::find().ok_or(Failure::NoController)?;
    let mut controller = Controller::start(host)?;
    let (serial, model) = (controller.info().serial, controller.info().model);
    say(format_args!("# drive {} serial {}", text(&model), text(&serial)));
    let mut drive = open(&mut controller, serial)?;
    say(format_args!("# namespace 1: {} bytes", drive.bytes));
    check::writes_read_back(&mut drive)?;
    figures::measure(&mut drive)?;
    check::leave_mark(&mut drive)?;
    let doorbells = drive.queue.counters();
    say(format_args!("# commands {} doorbells {}", doorbells.commands, doorbells.doorbells));
    controller.delete_queue(1)?;
    controller.shut_down()?;
    Ok(())
}

fn open(controller: &mut Controller<&'static Host>, serial: [u8; 20]) -> Result<Drive, Failure> {
    let namespace = controller.namespace(1)?;
    let format = namespace.format().ok_or(Failure::Drive("the namespace has no usable format"))?;
    let place = FormattedNamespace { nsid: 1, block_bits: format.block_bytes.trailing_zeros() };
    if format.metadata_bytes != 0 {
        return Err(Failure::Drive("the namespace's blocks have metadata"));
    }
    let bytes = namespace.size << place.block_bits;
    if bytes < REQUEST_BYTES as u64 {
        return Err(Failure::Drive("the namespace is smaller than the largest request"));
    }
    controller.grant_queues(1)?;
    let shape = QueueParameters {
        slots: SLOTS,
        request_bytes: REQUEST_BYTES,
        base: 0,
        timeout_ns: TIMEOUT_NS,
    };
    let layout = controller.lay_out(&shape)?;
    let data_at = layout.end();
    if data_at + SLOTS * REQUEST_BYTES > QUEUE {
        return Err(Failure::Drive("too little memory for the queue"));
    }
    let trackers = [Tracker::default(); TRACKERS];
    let queue = controller.create_queue(1, machine::queue_memory(), trackers, layout)?;
    Ok(Drive { queue, data_at, place, bytes, serial })
}

/// A text field of the drive.
pub fn text(field: &[u8]) -> &str {
    core::str::from_utf8(nvme::identify::trimmed(field)).unwrap_or("?")
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    say(format_args!("# panic: {info}"));
    sys::power_off()
}

const _: () = assert!(ADMIN >= nvme::ADMIN_BYTES);
