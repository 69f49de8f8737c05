//! Shell completion candidates: methods, targets, records and confirmations for overwriting.
//!
//! The shell calls the program for them, so this module must not print, fail or take long.

use std::ffi::OsStr;

use clap_complete::CompletionCandidate;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, PathCompleter, ValueCompleter};
use lab::{drives, machine, work};
use store::{Filter, Store};

/// Number of records offered; arbitrary, less than a screen.
const RUNS: u32 = 20;

/// Completes methods, each with its question.
pub fn methods() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        work::methods()
            .map(|info| CompletionCandidate::new(info.name).help(Some(info.summary.into())))
            .collect()
    })
}

/// Completes paths, and virtual drives after `sim:`.
pub fn targets() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let mut candidates = PathCompleter::any().complete(current);
        let typed = current.to_str().unwrap_or_default();
        // `s`, `sim:` and `sim:sd` match virtual drives; an empty word would list all of them.
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
    drives::presets().unwrap_or_default().iter().map(|drive| {
        CompletionCandidate::new(format!("{}{}", drives::PREFIX, drive.name))
            .help(Some(drive.model.clone().into()))
    })
}

/// Completes the latest records by number, each with its method and drive.
pub fn runs() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let filter = Filter { limit: Some(RUNS), ..Filter::default() };
        let runs = Store::open_current(None).and_then(|store| store.runs(&filter));
        let numbered = runs.unwrap_or_default().into_iter().map(|run| {
            let drive = run.drive.unwrap_or(run.target);
            let help = format!("{} on {drive}", run.method);
            CompletionCandidate::new(run.number.to_string()).help(Some(help.into()))
        });
        numbered.chain([CompletionCandidate::new("last")]).collect()
    })
}

/// Completes the confirmations of drives that may be overwritten.
pub fn confirmations() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let drives = machine::confirmations().into_iter();
        drives.map(|(word, name)| CompletionCandidate::new(word).help(Some(name.into()))).collect()
    })
}
