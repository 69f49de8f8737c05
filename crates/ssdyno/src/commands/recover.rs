//! `ssdyno recover`: returns drives detached by killed runs to the kernel, compares blocks borrowed
//! by them with the drives, and restores those that differ.

use std::path::Path;
use std::process::ExitCode;

use indicatif::ProgressBar;
use lab::Returning;
use lab::recover::{JournalFile, Recovered, Recovery, RecoveryWatcher, Returned, left_detached};
use serde::Serialize;

use crate::cli::RecoverArgs;
use crate::failure::{CHECK_FAILED, Result};
use crate::returning::PassRate;
use crate::{live, present, screen};

/// Processes every journal.
pub fn run(args: &RecoverArgs) -> Result {
    let RecoverArgs { device, replay, journal, discard, journal_of, json } = args;
    let recovery = Recovery {
        device: device.as_deref().map(canonical),
        replay: *replay,
        journal: journal.clone(),
        discard: discard.clone(),
        owner: journal_of.clone(),
    };
    // This comes first, because the drive of a journal can be one of them.
    let drives = recovery.give_back();
    if !json {
        drives.iter().try_for_each(|drive| present::print(&way(drive)))?;
    }
    let mut watcher = RecoveryScreen {
        bar: live::message_bar(),
        pace: PassRate::default(),
        json: *json,
        printed: Ok(()),
    };
    let results = recovery.run(&mut watcher);
    watcher.bar.finish_and_clear();
    let results = results?;
    watcher.printed?;
    if *json {
        let lines =
            drives.iter().map(RecoveryLine::Drive).chain(results.iter().map(RecoveryLine::Journal));
        present::print(&present::json(&lines.collect::<Vec<_>>())?)?;
    } else if results.is_empty() && drives.is_empty() {
        let directory = recovery.directory()?;
        let absence =
            device.as_ref().map_or("no journals".into(), |d| format!("no journal of {d}"));
        present::print(&format!("{absence} in {}\n", directory.display()))?;
    }
    if results.is_empty() && recovery.owner.is_none() {
        mention_here(&recovery);
    }
    mention_elsewhere(&recovery);
    let is_recovered = results.iter().all(|result| result.closed)
        && drives.iter().all(|drive| drive.failed.is_none());
    Ok(if is_recovered { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// For commands other than `recover`: prints a line on stderr for each drive that a run left
/// detached, for each drive with a journal in the default directory or else in this one, and for
/// each drive whose blocks another user, or a run with another home directory, left.
pub fn mention(journal: Option<&Path>) {
    for drive in left_detached() {
        screen::say(&format!("note: a run left {drive} detached from the kernel: ssdyno recover"));
    }
    for journal in [None, journal.map(Path::to_path_buf)] {
        if mention_here(&Recovery { journal, ..Recovery::default() }) {
            break;
        }
    }
    mention_elsewhere(&Recovery { journal: journal.map(Path::to_path_buf), ..Recovery::default() });
}

/// Prints a line on stderr for each drive with a journal in the directory. Returns whether there
/// is one.
fn mention_here(recovery: &Recovery) -> bool {
    let remains = recovery.left();
    for remain in &remains {
        screen::say(&format!("note: a run left {remain}: {}", recovery.command()));
    }
    !remains.is_empty()
}

/// The path of a device without symbolic links, as in its journal: `/dev/sdb` for a link in
/// `/dev/disk/by-id`. Any other text is unchanged.
fn canonical(device: &str) -> String {
    let path = std::fs::canonicalize(device).ok();
    path.and_then(|path| path.to_str().map(String::from)).unwrap_or_else(|| device.into())
}

/// Prints a line on stderr for each drive whose blocks another user, or a run with another home
/// directory, left.
fn mention_elsewhere(recovery: &Recovery) {
    for (left, command) in recovery.left_elsewhere() {
        screen::say(&format!("note: {left}: {command}"));
    }
}

/// Shows the progress on a terminal, and each result as text.
struct RecoveryScreen {
    bar: ProgressBar,
    pace: PassRate,
    json: bool,
    printed: Result<()>,
}

impl RecoveryWatcher for RecoveryScreen {
    fn progress(&mut self, progress: &Returning) {
        live::show_returning(&self.bar, progress, self.pace.words(progress));
    }

    fn opened(&mut self, file: &JournalFile) {
        let text = identity(file);
        if self.json {
            self.bar.suspend(|| screen::say(text.trim_end()));
        } else if self.printed.is_ok() {
            self.printed = self.bar.suspend(|| present::print(&text));
        }
    }

    fn recovered(&mut self, result: &Recovered) {
        // The next journal has its own rate.
        self.pace = PassRate::default();
        self.bar.reset();
        self.bar.set_message("");
        if !self.json && self.printed.is_ok() {
            self.printed = self.bar.suspend(|| present::print(&text(result)));
        }
    }
}

/// An element of the JSON list: a drive or a journal.
#[derive(Serialize)]
#[serde(untagged)]
enum RecoveryLine<'a> {
    Drive(&'a Returned),
    Journal(&'a Recovered),
}

/// The result for a drive that a killed run had detached from the kernel.
fn way(drive: &Returned) -> String {
    let Returned { target, serial, failed } = drive;
    match failed {
        None => format!("{target}, serial number {serial}: returned to the kernel\n"),
        Some(why) => format!("{target}, serial number {serial}: {why}\n"),
    }
}

/// The file of another user's journal.
fn identity(file: &JournalFile) -> String {
    let JournalFile { path, owner, bytes, sha256 } = file;
    format!("{path}\n  owner {owner}, {bytes} bytes, SHA-256 {sha256}\n")
}

fn text(result: &Recovered) -> String {
    let time = result.made_s.and_then(|s| jiff::Timestamp::from_second(s as i64).ok());
    let time = time.map(|time| format!(" of {}", time.strftime("%Y-%m-%d %H:%M UTC")));
    let drive = result.drive.as_ref().map(|drive| format!("\n  {drive}"));
    let mut text = format!("{}{}", result.journal, time.unwrap_or_default());
    text += &format!("{}\n  {}\n", drive.unwrap_or_default(), result.text);
    if let Some(advice) = &result.advice {
        text += &format!("  try: {advice}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_known_by_any_link_to_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().canonicalize().expect("there");
        let (device, link) = (path.join("sdb"), path.join("ata-X"));
        std::fs::write(&device, "").expect("a file");
        std::os::unix::fs::symlink("sdb", &link).expect("a link");
        let [device, link] = [device, link].map(|path| path.to_str().expect("UTF-8").to_string());
        assert_eq!([canonical(&link), canonical(&device)], [device.as_str(), &device]);
        assert_eq!(canonical("/dev/no-such-drive"), "/dev/no-such-drive");
    }
}
