//! `ssdyno prepare`: brings a drive into a defined state and records the run.

use lab::{Erase, Options, Work, machine};

use super::session;
use crate::cli::{DriverArgs, EraseArgs, MeasureArgs, PrepareArgs, TargetArgs};
use crate::failure::Result;
use crate::present;

/// Prepares the target.
pub fn run(args: PrepareArgs) -> Result {
    let TargetArgs { target, measure } = args.on;
    let driver = match (&args.driver, args.to) {
        (DriverArgs { bind: Some(serial), .. }, _) => return bind(&target, serial),
        (DriverArgs { unbind: true, .. }, _) | (_, None) => return unbind(&target),
        (_, Some(driver)) => driver,
    };
    let size = measure.request(&target).target.to_prepare().size;
    let measure = MeasureArgs { size, ..measure };
    let options = Options {
        size: measure.size,
        time: args.time,
        seed: measure.instrument.content_seed(),
        ..Options::default()
    };
    let work = Work::prepare(driver, erase(&args.by), &options);
    session::run(&target, &measure, &work)
}

fn bind(target: &str, serial: &str) -> Result {
    machine::bind(target, serial)?;
    let text =
        format!("{target} is bound to vfio-pci: ssdyno prepare {target} --unbind returns it\n");
    present::done(&text)
}

fn unbind(target: &str) -> Result {
    machine::unbind(target)?;
    present::done(&format!("{target} belongs to the kernel\n"))
}

fn erase(by: &EraseArgs) -> Erase {
    match by {
        EraseArgs { secure: true, .. } => Erase::SecureDiscard,
        EraseArgs { zero: true, .. } => Erase::Zero,
        EraseArgs { sanitize: true, .. } => Erase::Sanitize,
        EraseArgs { lbaf: Some(block_bytes), .. } => Erase::Format { block_bytes: *block_bytes },
        _ => Erase::Discard,
    }
}
