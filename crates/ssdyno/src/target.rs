//! From what the user typed to a rig: a real target, or `null:`, which is none.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use drive::{OpenRequest, Planned};
use engine::{Machine, Options};
use record::{Safety, State, Target, TargetKind};
use rig::{Observer, TargetInfo};

use crate::cli::{InstrumentArgs, TargetArgs};
use crate::failure::Result;

/// The target that completes everything at once: what runs on it measures the instrument.
const NULL: &str = "null:";

/// Size of `null:` where the user gives none, bytes.
const NULL_BYTES: u64 = 1 << 30;

/// Checks everything that opening would check, and touches nothing.
pub fn plan(args: &TargetArgs) -> Result<Planned> {
    if args.target == NULL {
        return Ok(Planned { info: null_info(args.size.unwrap_or(NULL_BYTES)), destroys: None });
    }
    Ok(drive::plan_open(&args.target, &request(args))?)
}

/// Opens the target and puts it on the dynamometer.
pub fn open(
    args: &TargetArgs,
    interrupt: Arc<AtomicBool>,
    observer: Box<dyn Observer>,
) -> Result<Machine> {
    let InstrumentArgs { backend, pin, .. } = args.instrument;
    let options = Options { backend, pin, ..Options::default() };
    if args.target == NULL {
        let info = null_info(args.size.unwrap_or(NULL_BYTES));
        return Ok(Machine::null(info, options, interrupt, observer));
    }
    let opened = drive::open(&args.target, &request(args))?;
    Ok(Machine::new(opened, options, interrupt, observer)?)
}

fn request(args: &TargetArgs) -> OpenRequest {
    // A directory gives scratch at most; a device is given away only by its name.
    let wants = if args.destroy.is_some() { Safety::Destroys } else { Safety::Scratch };
    OpenRequest { size: args.size, wants, destroy: args.destroy.clone() }
}

fn null_info(bytes: u64) -> TargetInfo {
    let target = Target {
        spec: NULL.to_string(),
        kind: TargetKind::Null,
        path: None,
        bytes,
        drive: None,
        layers: Vec::new(),
        filesystem: None,
        direct: None,
    };
    TargetInfo {
        target,
        bytes,
        logical_block_bytes: 512,
        allowed: Safety::Destroys,
        ram: false,
        discard: true,
        state: State::Unknown,
    }
}
