//! `ssdyno prepare`: brings a drive into a state, and keeps a record of that.

use std::path::Path;

use methods::{Options, Prepare};
use record::State;
use rig::Erase;

use super::session::{self, Job};
use crate::cli::{EraseArgs, PrepareArgs, StateWanted, TargetArgs};
use crate::failure::Result;
use crate::interrupt;

/// Name in the record.
const NAME: &str = "prepare";

/// The scratch file that a directory is trimmed by way of stays empty.
const SCRATCH_BYTES: u64 = 1 << 20;

/// Prepares the target.
pub fn run(args: PrepareArgs) -> Result {
    let prepare = Prepare { to: state(args.to), by: erase(&args.by) };
    let on = match Path::new(&args.on.target).is_dir() {
        true => TargetArgs { size: Some(SCRATCH_BYTES), ..args.on },
        false => args.on,
    };
    let options =
        Options { size: on.size, time: args.time, seed: on.instrument.seed, ..Options::default() };
    let job = Job { method: NAME, act: &|session| Ok(prepare.run(session, &options)?) };
    session::run(&on, &job, &interrupt::flag()?)
}

fn state(wanted: StateWanted) -> State {
    match wanted {
        StateWanted::Fresh => State::Fresh,
        StateWanted::Filled => State::Filled,
        StateWanted::Used => State::Used,
        StateWanted::Trimmed => State::Trimmed,
    }
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
