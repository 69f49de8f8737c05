//! `ssdyno recover`: compares the blocks that killed runs had borrowed with the drives, and puts back
//! those that differ.

use std::path::Path;
use std::process::ExitCode;

use lab::recover::{Recovered, Recovery};

use crate::cli::RecoverArgs;
use crate::failure::{CHECK_FAILED, Result};
use crate::{present, screen};

/// Goes through every journal.
pub fn run(args: &RecoverArgs) -> Result {
    let RecoverArgs { device, replay, journal, discard, json } = args;
    let recovery = Recovery {
        device: device.clone(),
        replay: *replay,
        journal: journal.clone(),
        discard: discard.clone(),
    };
    let mut printed = Ok(());
    let results = recovery.run(|result| {
        if !json && printed.is_ok() {
            printed = present::print(&text(result));
        }
    })?;
    printed?;
    if *json {
        present::print(&present::json(&results)?)?;
    } else if results.is_empty() {
        let directory = recovery.directory()?;
        present::print(&format!("nothing is left in {}\n", directory.display()))?;
    }
    let closed = results.iter().all(|result| result.closed);
    Ok(if closed { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// A line on stderr if journals are left, here or in the default place, for commands that start
/// something else.
pub fn mention(journal: Option<&Path>) {
    for journal in [None, journal.map(Path::to_path_buf)] {
        let recovery = Recovery { journal, ..Recovery::default() };
        if recovery.is_due() {
            let command = recovery.command();
            screen::say(&format!("note: a run left blocks that it had borrowed: {command}"));
            return;
        }
    }
}

fn text(result: &Recovered) -> String {
    let when = result.made_s.and_then(|s| jiff::Timestamp::from_second(s as i64).ok());
    let when = when.map(|t| format!(" of {}", t.strftime("%Y-%m-%d %H:%M UTC")));
    let drive = result.drive.as_ref().map(|drive| format!("\n  {drive}"));
    let mut text = format!("{}{}", result.journal, when.unwrap_or_default());
    text += &format!("{}\n  {}\n", drive.unwrap_or_default(), result.text);
    if let Some(advice) = &result.advice {
        text += &format!("  try: {advice}\n");
    }
    text
}
