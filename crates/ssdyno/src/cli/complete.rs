//! Candidates for the shell's completion: methods, targets, records, words that permit a loss.
//!
//! The shell calls the program itself for them, so nothing here may print, fail or take long.

use std::ffi::OsStr;

use clap_complete::CompletionCandidate;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, PathCompleter, ValueCompleter};
use lab::{drives, machine, work};
use store::{Filter, Store};

/// Records that are offered: as many as `runs` shows on a screen.
const RUNS: u32 = 20;

/// The methods, each with its question.
pub fn methods() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let candidate = |info: &lab::MethodInfo| {
            CompletionCandidate::new(info.name).help(Some(info.summary.into()))
        };
        work::methods().map(candidate).collect()
    })
}

/// Paths, and the virtual drives after `sim:`.
pub fn targets() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let mut candidates = PathCompleter::any().complete(current);
        let typed = current.to_str().unwrap_or_default();
        // `s`, `sim:` and `sim:sd` mean a virtual drive; an empty word does not name thirty of them.
        if !typed.is_empty()
            && (drives::PREFIX.starts_with(typed) || typed.starts_with(drives::PREFIX))
        {
            candidates.extend(
                virtual_drives().filter(|c| c.get_value().to_string_lossy().starts_with(typed)),
            );
        }
        candidates
    })
}

fn virtual_drives() -> impl Iterator<Item = CompletionCandidate> {
    let candidate = |drive: drives::VirtualDrive| {
        CompletionCandidate::new(format!("{}{}", drives::PREFIX, drive.name))
            .help(Some(drive.model.into()))
    };
    drives::presets().unwrap_or_default().into_iter().map(candidate)
}

/// The latest records by number, each with its method and drive.
pub fn runs() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let filter = Filter { limit: Some(RUNS), ..Filter::default() };
        let runs = Store::open_existing(None).and_then(|store| store.runs(&filter));
        let numbered = runs.unwrap_or_default().into_iter().map(|run| {
            let drive = run.drive.unwrap_or(run.target);
            let help = format!("{} on {drive}", run.method);
            CompletionCandidate::new(run.number.to_string()).help(Some(help.into()))
        });
        numbered.chain([CompletionCandidate::new("last")]).collect()
    })
}

/// The words that permit overwriting a drive: of those that may be overwritten at all.
pub fn confirmations() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let candidate = |device: drive::BlockDevice| {
            let help = device.drive.path.unwrap_or(device.drive.name);
            let word = device.allowance.confirm?;
            Some(CompletionCandidate::new(word).help(Some(help.into())))
        };
        machine::drives().into_iter().filter_map(candidate).collect()
    })
}
