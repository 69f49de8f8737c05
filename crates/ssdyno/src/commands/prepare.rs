//! `ssdyno prepare`: brings a drive into a state and records that.

use lab::{Erase, Options, Work};
use record::State;

use super::session;
use crate::cli::{EraseArgs, MeasureArgs, PrepareArgs, StateWanted, TargetArgs};
use crate::failure::Result;
use crate::interrupt;

/// Prepares the target.
pub fn run(args: PrepareArgs) -> Result {
    let TargetArgs { target, measure } = args.on;
    let size = measure.request(&target).target.to_prepare().size;
    let measure = MeasureArgs { size, ..measure };
    let options = Options {
        size: measure.size,
        time: args.time,
        seed: measure.instrument.content_seed(),
        ..Options::default()
    };
    let work = Work::prepare(state(args.to), erase(&args.by), &options);
    session::run(&target, &measure, &work, &interrupt::flag()?)
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
