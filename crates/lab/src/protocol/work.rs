//! A measurement of a protocol as work: its preparations, then its method or workload, in one run.

use std::borrow::Cow;

use record::TargetKind;
use rig::Preparation;
use script::{Options, Session};
use workload::{Content, Region};

use super::{Measure, Preparing, ProtocolRun};
use crate::error::{LabError, Result};
use crate::io::ReadIo;
use crate::work::Work;

/// Maximum wait for a drive to cool, seconds.
const COOL_MAX_S: f64 = 1800.0;

impl<'a> Work<'a> {
    /// A measurement of a protocol in a session with this seed. `read_io` parses the options of
    /// `ssdyno io`, which belong to the command.
    pub fn measurement(measure: &'a Measure, seed: u64, read_io: ReadIo<'_>) -> Result<Work<'a>> {
        let work =
            match &measure.run {
                ProtocolRun::Method(name, options) => {
                    let options = Options { seed, ..options.clone() };
                    Work::of_method(name, Cow::Owned(options))?
                }
                ProtocolRun::Io(words) => Work::of_io(read_io(words).map_err(|why| {
                    LabError::usage(format!("io = \"{words}\": {}", one_line(&why)))
                })?),
            };
        let (info, options) = (work.info, work.options.clone().unwrap_or_default());
        let prepared = Work::new(info, move |session| {
            measure.prepare.iter().try_for_each(|step| prepare(*step, seed, session))?;
            work.run(session)
        });
        Ok(prepared.with_options(options))
    }
}

/// The first line of a command-line parser's message.
fn one_line(why: &str) -> &str {
    why.lines().next().unwrap_or_default().trim_start_matches("error: ")
}

fn prepare(step: Preparing, seed: u64, session: &mut Session<'_>) -> Result<()> {
    let region = Region::first(session.target().bytes);
    match step {
        // Each run of a virtual drive begins with a fresh one.
        Preparing::TrimFree if session.target().target.kind == TargetKind::Virtual => {
            session.skip("fstrim");
        }
        Preparing::TrimFree => session.prepare("fstrim", Preparation::TrimFree).map(drop)?,
        Preparing::Discard => {
            session.prepare("blkdiscard", Preparation::Discard { region }).map(drop)?;
        }
        Preparing::Fill => {
            let fill = Preparation::Fill { region, content: Content::Random, seed };
            session.prepare("fill", fill).map(drop)?;
        }
        Preparing::Rest(seconds) => session.rest("rest", seconds)?,
        Preparing::Cool(celsius) => session.cool(celsius, COOL_MAX_S).map(drop)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_may_take_all_free_space_if_its_method_may() {
        for (method, fills) in [("fake", true), ("quick", false)] {
            let run = ProtocolRun::Method(method, Options::default());
            let measure = Measure { run, prepare: Vec::new(), repeat: 1, side: None };
            let work = Work::measurement(&measure, 1, &|_| Err("not asked".into()));
            assert_eq!(work.expect("a method").info.scratch.fills, fills, "{method}");
        }
    }
}
