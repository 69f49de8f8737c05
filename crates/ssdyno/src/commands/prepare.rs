//! `ssdyno prepare`: brings a drive into a state and records that.

use lab::{Erase, Options, Request, Work};
use record::State;

use super::session;
use crate::cli::{EraseArgs, PrepareArgs, StateWanted, TargetArgs};
use crate::failure::Result;
use crate::interrupt;

/// Prepares the target.
pub fn run(args: PrepareArgs) -> Result {
    let target = Request::from(&args.on).target.to_prepare();
    let on = TargetArgs { size: target.size, ..args.on };
    let options = Options {
        size: on.size,
        time: args.time,
        seed: on.instrument.content_seed(),
        ..Options::default()
    };
    let work = Work::prepare(state(args.to), erase(&args.by), &options);
    session::run(&on, &work, &interrupt::flag()?)
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
