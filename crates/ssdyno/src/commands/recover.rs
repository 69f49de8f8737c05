//! `ssdyno recover`: compares what killed runs had borrowed with the drives, and puts back what
//! differs.

use std::path::Path;
use std::process::ExitCode;

use drive::OpenRequest;
use journal::{Header, Kept, Leftover, Place, State};
use record::Safety;
use serde::Serialize;
use workload::units;

use crate::cli::RecoverArgs;
use crate::failure::{CHECK_FAILED, Failure, REFUSED, Result};
use crate::{present, screen};

/// A drive without a serial number is taken for the one of a journal if this share of its blocks is
/// as they were: a run overwrites them with their own content, so of the right one nearly all are.
const ALIKE: f64 = 0.5;

/// What became of a journal.
#[derive(Debug, Serialize)]
struct Outcome {
    journal: String,
    drive: Option<String>,
    /// Seconds since 1970; `null` where the journal does not tell.
    made_s: Option<u64>,
    /// Blocks that were compared, that differed, and that were put back.
    blocks: usize,
    differing: usize,
    put_back: usize,
    /// Nothing is left of it.
    closed: bool,
    text: String,
    advice: Option<String>,
}

/// Goes through everything that runs left in the place.
pub fn run(args: &RecoverArgs) -> Result {
    let place = Place::at(args.journal.as_deref())?;
    let mut outcomes = Vec::new();
    for left in place.unfinished()?.into_iter().filter(|left| concerns(left, args)) {
        let outcome = recover(&place, &left, args);
        if !args.json {
            tell(&outcome)?;
        }
        outcomes.push(outcome);
    }
    if args.json {
        present::print(&present::json(&outcomes)?)?;
    } else if outcomes.is_empty() {
        present::print(&format!("nothing is left in {}\n", place.dir().display()))?;
    }
    let closed = outcomes.iter().all(|outcome| outcome.closed);
    Ok(if closed { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// A line if journals are left, for whoever starts something else; nothing mostly.
pub fn mention(journal: Option<&Path>) {
    let Ok(place) = Place::at(journal) else { return };
    if place.unfinished().is_ok_and(|left| !left.is_empty()) {
        let which = journal.map(|dir| format!(" --journal {}", dir.display()));
        let command = format!("ssdyno recover{}", which.unwrap_or_default());
        screen::say(&format!("note: a run left blocks that it had borrowed: {command}"));
    }
}

fn concerns(left: &Leftover, args: &RecoverArgs) -> bool {
    let (Some(device), State::Whole(header)) = (&args.device, &left.state) else { return true };
    drive::find(&header.drive).contains(device)
}

fn tell(outcome: &Outcome) -> Result<()> {
    let when = outcome.made_s.and_then(|s| jiff::Timestamp::from_second(s as i64).ok());
    let when = when.map(|t| format!(" of {}", t.strftime("%Y-%m-%d %H:%M UTC")));
    let of = outcome.drive.as_ref().map(|drive| format!("\n  {drive}"));
    let mut text = format!("{}{}", outcome.journal, when.unwrap_or_default());
    text += &format!("{}\n  {}\n", of.unwrap_or_default(), outcome.text);
    if let Some(advice) = &outcome.advice {
        text += &format!("  try: {advice}\n");
    }
    present::print(&text)
}

fn recover(place: &Place, left: &Leftover, args: &RecoverArgs) -> Outcome {
    let mut outcome = Outcome {
        journal: left.path.display().to_string(),
        drive: None,
        made_s: None,
        blocks: 0,
        differing: 0,
        put_back: 0,
        closed: false,
        text: String::new(),
        advice: None,
    };
    let done = match &left.state {
        State::Torn => place.remove(&left.path).map_err(Failure::from).map(|()| {
            "it is not complete, so nothing had been overwritten yet: removed".to_string()
        }),
        State::Damaged(what) => {
            let text = format!("{what}: what it held cannot be read any more");
            Err(Failure::new(CHECK_FAILED, text))
        }
        State::Whole(header) => {
            outcome.drive = Some(header.drive.in_words());
            outcome.made_s = Some(header.made_s);
            compare(place, left, header, args, &mut outcome)
        }
    };
    outcome.closed = done.is_ok();
    (outcome.text, outcome.advice) = match done {
        Ok(text) => (text, None),
        Err(failure) => (failure.text(), failure.advice().map(String::from)),
    };
    outcome
}

/// Compares a journal with its drive, puts back what differs if that was asked for, and closes it.
fn compare(
    place: &Place,
    left: &Leftover,
    header: &Header,
    args: &RecoverArgs,
    outcome: &mut Outcome,
) -> Result<String> {
    let device = find(header, args)?;
    let kept = Kept::open(&left.path)?;
    // Exclusively: what is mounted by now must not be written, and is not compared either.
    let request = OpenRequest { size: None, wants: Safety::Borrows, destroy: None };
    let opened = drive::open(&device, &request)?;
    let same = opened.guard.key().is_some_and(|key| key.is(&header.drive));
    if !same {
        let text = format!("{device} is another drive by now: nothing was touched");
        return Err(Failure::new(REFUSED, text));
    }
    let differing = kept.borrowed.differing(&opened.file)?;
    (outcome.blocks, outcome.differing) = (kept.borrowed.blocks(), differing.len());
    if differing.is_empty() {
        place.close(kept)?;
        return Ok(format!("every byte on {device} is as it was: closed"));
    }
    let found = format!(
        "{} of {} on {device} differ",
        units::decimal(kept.borrowed.bytes_of(&differing)),
        units::decimal(header.region.bytes)
    );
    doubt(header, &kept, &differing, &device, args)?;
    let damaged = kept.borrowed.damaged();
    let lost = differing.iter().filter(|block| damaged.contains(block)).count();
    if !args.replay {
        let text = format!("{found}: the run damaged them, or they were written since");
        let which = args.journal.as_ref().map(|dir| format!(" --journal {}", dir.display()));
        let which = which.unwrap_or_default();
        let advice =
            format!("ssdyno recover{which} --replay, if nobody has written to the drive since");
        return Err(Failure::new(CHECK_FAILED, text).advise(advice));
    }
    kept.borrowed.put_back(&opened.file, &differing)?;
    outcome.put_back = differing.len() - lost;
    if lost > 0 {
        let text = format!("{found}; {lost} blocks could not be put back: the journal is damaged");
        return Err(Failure::new(CHECK_FAILED, text));
    }
    place.close(kept)?;
    Ok(format!("{found}; they were put back and read again: closed"))
}

/// The device of a journal: the only one that fits, or of several the one the user names.
fn find(header: &Header, args: &RecoverArgs) -> Result<String> {
    let found = drive::find(&header.drive);
    let fits = |device: &&String| args.device.as_ref().is_none_or(|named| named == *device);
    match found.iter().filter(fits).collect::<Vec<_>>().as_slice() {
        [] => {
            let text = "the drive is not here: nothing was touched";
            Err(Failure::new(REFUSED, text).advise("attach it, then ssdyno recover"))
        }
        [one] => Ok((*one).clone()),
        several => {
            let names = several.iter().map(|d| d.as_str()).collect::<Vec<_>>().join(", ");
            let text = format!("several drives look like it ({names}): nothing was touched");
            Err(Failure::new(REFUSED, text).advise("ssdyno recover DEVICE"))
        }
    }
}

/// Without a serial number, content has to tell the drive from others of its size.
fn doubt(
    header: &Header,
    kept: &Kept,
    differing: &[usize],
    device: &str,
    args: &RecoverArgs,
) -> Result<()> {
    let alike = 1.0 - differing.len() as f64 / kept.borrowed.blocks().max(1) as f64;
    let named = args.device.is_some() && args.replay;
    if header.drive.is_unique() || alike >= ALIKE || named {
        return Ok(());
    }
    let text = format!(
        "{device} has no serial number, and only {:.0}% of its blocks are those of the journal: it \
         is another drive, or was written over since; nothing was touched",
        alike * 100.0
    );
    Err(Failure::new(REFUSED, text))
}
