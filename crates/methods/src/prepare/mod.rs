//! `ssdyno prepare`: brings a drive into a state and verifies it.
//!
//! Not a test: it measures only to verify its work. It uses the same rig as a test, so a virtual
//! drive is prepared like a real one. Fresh: everything discarded. Filled: one sequential pass over
//! everything. Used: then random writes until the rate is steady. Trimmed: then everything
//! discarded. Canaries written before an erase verify it. In a directory only the free space of its
//! file system can be trimmed, without data loss.

mod answer;

use analysis::{Slope, WINDOW};
use record::{
    Evidence, Finding, FindingKind, IoErrors, Level, Safety, State, TargetKind, Unit, Verdict,
    VerdictKind,
};
use rig::{Erase, Preparation, Released, RigError, TargetInfo};
use workload::units::{binary, decimal};
use workload::{Mix, Stop, Workload};

use script::whole::{DEPTH, Whole};
use script::{
    Budget, Conclusion, MethodInfo, MetricInfo, Options, Result, Round, Session, TestRegion,
};

/// Random writes per ageing round, as a share of the drive, and the rounds: at least one pass, at
/// most three. A drive not steady by then will not settle by writing.
const ROUND_SHARE: f64 = 0.1;
const ROUNDS_MIN: u32 = 10;
const ROUNDS_MAX: u32 = 30;

/// The preparation as `ssdyno methods prepare` describes it.
pub static PREPARE: MethodInfo = MethodInfo {
    name: "prepare",
    summary: "brings the drive into a state",
    about: "See ssdyno prepare --help. The metrics show whether the drive did the work.",
    safety: Safety::Destroys,
    seconds: 60.0,
    writes: "nothing for fresh, the whole drive once for filled, up to four times for used and \
             trimmed",
    metrics: &[&[ERASE_TIME, AGE, TRIMMED]],
    answer: answer::answer,
    conclusion: Conclusion::Script,
    ..MethodInfo::EMPTY
};

const ERASE_TIME: MetricInfo = MetricInfo::ns(
    "{discard,secure-discard,zero,format,sanitize}",
    "time taken to erase everything by this method",
);
const AGE: MetricInfo = MetricInfo::rate(
    "age",
    "random writes of small blocks at depth 8: the last five rounds of ageing",
);
const TRIMMED: MetricInfo =
    MetricInfo::bytes("trimmed", "free space that the file system discarded");

/// The task.
#[derive(Clone, Copy, Debug)]
pub struct Prepare {
    /// The target state: any but unknown.
    pub to: State,
    /// Method of the initial erase.
    pub by: Erase,
}

impl Prepare {
    /// Runs the task. The session has the progress, even after an error.
    pub fn run(&self, session: &mut Session<'_>, options: &Options) -> Result<()> {
        let mut verdicts = Vec::new();
        session.declare(&PREPARE);
        let result = match session.target().target.kind {
            TargetKind::Directory => self.trim(session, &mut verdicts),
            _ => self.on_drive(session, options, &mut verdicts),
        };
        session.conclude(verdicts);
        result
    }

    fn on_drive(
        &self,
        session: &mut Session<'_>,
        options: &Options,
        verdicts: &mut Vec<Verdict>,
    ) -> Result<()> {
        let whole = Whole::new(&PREPARE, session.target(), options)?;
        self.check(&whole, session.target())?;
        let discards = self.by != Erase::Discard || whole.discard;
        if discards {
            erase(session, &whole, self.by, verdicts)?;
        } else {
            let text = "the drive does not support discard: its content is overwritten instead";
            session.note(Finding::new(FindingKind::NoDiscard, Level::Note, text));
        }
        if self.to == State::Fresh {
            return Ok(());
        }
        // A format changes the block size.
        let whole = Whole::new(&PREPARE, session.target(), options)?;
        session.fill_region(&whole, "fill", whole.test_region.region())?;
        if matches!(self.to, State::Used | State::Trimmed) {
            verdicts.push(until_steady(session, &whole, options)?);
        }
        if self.to == State::Trimmed {
            erase(session, &whole, Erase::Discard, verdicts)?;
            if session.outcome().state_after == State::Fresh {
                session.set_state(State::Trimmed);
            }
        }
        Ok(())
    }

    /// Checks whether the drive supports the task, as far as is known in advance.
    fn check(&self, whole: &Whole, target: &TargetInfo) -> Result<()> {
        let unsupported = |text: String| Err(RigError::Unsupported(text).into());
        let given_back = matches!(self.to, State::Fresh | State::Trimmed);
        if given_back && !whole.discard && (self.by == Erase::Discard || self.to == State::Trimmed)
        {
            let way = if self.to == State::Fresh { "; --zero writes zeroes instead" } else { "" };
            return unsupported(format!("it does not support discard{way}"));
        }
        match self.by {
            Erase::Format { block_bytes } if !target.formats.contains(&block_bytes) => {
                unsupported(cannot_format(target, block_bytes))
            }
            Erase::Format { .. } | Erase::Sanitize if whole.is_part() => {
                unsupported("a part of the drive cannot be formatted or sanitized alone".into())
            }
            _ => Ok(()),
        }
    }

    fn only_trims(&self) -> Result<()> {
        if self.to == State::Trimmed && self.by == Erase::Discard {
            return Ok(());
        }
        let text = "a directory can only be trimmed (--to trimmed); everything else needs a whole \
                    drive opened with --destroy";
        Err(RigError::Refused(text.into()).into())
    }

    /// Trims the free space through the file system.
    fn trim(&self, session: &mut Session<'_>, verdicts: &mut Vec<Verdict>) -> Result<()> {
        self.only_trims()?;
        let bytes = session.prepare("trim", Preparation::TrimFree)?.bytes;
        session.put(TRIMMED, Some(bytes as f64));
        let text = match bytes {
            0 => "the file system reports 0 bytes discarded: all free space was trimmed before or \
                  it did not try"
                .to_string(),
            bytes => format!(
                "the file system reports {} of free space discarded; it cannot report how the \
                 drive handled that (method trim can)",
                decimal(bytes)
            ),
        };
        verdicts.push(Verdict::new(VerdictKind::Trimmed, text));
        Ok(())
    }
}

/// Why a drive cannot be formatted to this block size.
pub(crate) fn cannot_format(target: &TargetInfo, block_bytes: u32) -> String {
    let sizes: Vec<String> = target.formats.iter().map(u32::to_string).collect();
    match sizes.as_slice() {
        [] => format!("{} cannot be formatted to another block size", target.target.spec),
        sizes => format!(
            "{} has no format with blocks of {block_bytes} bytes, only of {}",
            target.target.spec,
            sizes.join(" and ")
        ),
    }
}

/// Erases everything and reports the result of the verification.
fn erase(
    session: &mut Session<'_>,
    whole: &Whole,
    how: Erase,
    verdicts: &mut Vec<Verdict>,
) -> Result<()> {
    session.set_state(State::Unknown);
    let erase = Preparation::Erase { region: whole.everything, how };
    let erased = session.prepare(how.name(), erase)?;
    session.put_member(ERASE_TIME, &[&how.name()], Some(erased.elapsed_ns as f64));
    let released = erased.released.filter(|r| r.looked_bytes > 0);
    let kept_bytes = released.map_or(0, |r| r.kept_bytes);
    // Blocks full of zeroes are mapped, unless the drive unmaps them.
    let erased_state = if how == Erase::Zero { State::Filled } else { State::Fresh };
    session.set_state(if kept_bytes == 0 { erased_state } else { State::Unknown });
    if let Some(released) = released {
        verdicts.push(verdict(how, &released));
    }
    match (kept_bytes, how) {
        (0, _) => Ok(()),
        (_, Erase::Discard) => {
            let text = "blocks still read as before: the drive ignored the discard or does not \
                        show it; its state is unknown";
            session.note(Finding::new(FindingKind::DiscardNotSeen, Level::Warn, text));
            Ok(())
        }
        (kept_bytes, _) => {
            let kind = format!("kept after {}", how.name());
            session.add_errors(&IoErrors::new("verify", kind, "", kept_bytes / 512));
            Ok(())
        }
    }
}

fn verdict(how: Erase, released: &Released) -> Verdict {
    let Released { looked_bytes, zero_bytes, kept_bytes, .. } = *released;
    let action = match how {
        Erase::Format { block_bytes } => format!("format to blocks of {block_bytes} bytes"),
        how => how.name().to_string(),
    };
    let size = binary(looked_bytes);
    let (kind, text) = match (zero_bytes, kept_bytes) {
        (zero, 0) if zero == looked_bytes => {
            (VerdictKind::Erased, format!("{action}: {size} of canaries read as zeroes"))
        }
        (_, 0) => (VerdictKind::Erased, format!("{action}: none of {size} of canaries remains")),
        (_, kept) => (
            VerdictKind::NotErased,
            format!("{action}: {} of {size} of canaries remain", binary(kept)),
        ),
    };
    let evidence = [("zeroes", zero_bytes), ("left", kept_bytes)]
        .map(|(name, bytes)| Evidence::new(name, bytes as f64 / looked_bytes as f64, Unit::Number));
    Verdict::new(kind, text).with_evidence(evidence)
}

/// Random writes over everything, a tenth per round, until five rounds are steady by the SNIA rule
/// and everything has been overwritten once.
fn until_steady(session: &mut Session<'_>, whole: &Whole, options: &Options) -> Result<Verdict> {
    let (mut rates, mut steady) = (Vec::new(), false);
    let budget = Budget {
        seconds: options.time.map_or(f64::INFINITY, |time| time.as_secs_f64()),
        bytes: (ROUND_SHARE * f64::from(ROUNDS_MAX) * whole.bytes() as f64) as u64,
        ..Budget::default()
    };
    session.budget(AGE.name, budget, |session| {
        session.rounds(ROUNDS_MAX, None, |session, round| {
            let w = TestRegion::replicate(&age(whole), round);
            let measurement = session.moment(&w, round)?;
            rates.push(measurement.throughput(None).unwrap_or(0.0));
            let window =
                rates.len().checked_sub(WINDOW).and_then(|from| Slope::fit(&rates[from..]));
            steady = window.is_some_and(|slope| slope.is_pts_steady());
            Ok(Round::settled_if(steady && round + 1 >= ROUNDS_MIN))
        })?;
        Ok(())
    })?;
    let rounds = rates.len();
    let settled = &rates[rounds.saturating_sub(WINDOW)..];
    session.put_rates(AGE, settled);
    session.set_state(State::Used);
    let times = ROUND_SHARE * rounds as f64;
    let (kind, text) = if steady {
        (VerdictKind::Steady, format!("steady after {times:.1} random drive writes"))
    } else {
        (VerdictKind::NotSteady, format!("not steady after {times:.1} random drive writes"))
    };
    let evidence = [Evidence::new("rounds", rounds as f64, Unit::Number)];
    Ok(Verdict::new(kind, text).with_evidence(evidence))
}

fn age(whole: &Whole) -> Workload {
    let mut w = whole.random(AGE.name, Mix::WRITE, whole.test_region.small, 1.0, 9);
    let small = u64::from(whole.test_region.small);
    let bytes = ((whole.bytes() as f64 * ROUND_SHARE) as u64 / small).max(1) * small;
    (w.depth, w.stop) = (DEPTH, Stop { bytes: Some(bytes), ..Stop::default() });
    w
}

#[cfg(test)]
mod tests {
    use super::*;
    use script::test_drive::{Fake, Traits};

    const BYTES: u64 = 64 << 20;
    const MIB: u64 = 1 << 20;

    /// Prepares a drive; returns it and the resulting state.
    fn prepared(to: State) -> (Fake, State) {
        let mut fake = Fake::confirmed(Traits::default(), BYTES);
        let mut session = Session::new(&mut fake);
        let task = Prepare { to, by: Erase::Discard };
        task.run(&mut session, &Options::default()).expect("nothing is wrong with the drive");
        let state = session.finish().state_after;
        (fake, state)
    }

    #[test]
    fn canaries_read_as_zeroes_only_if_all_do() {
        let text = |zero_bytes, kept_bytes| {
            let released =
                Released { looked_bytes: MIB, zero_bytes, kept_bytes, trimmed_bytes: None };
            verdict(Erase::Discard, &released).text
        };
        assert_eq!(text(MIB, 0), "discard: 1 MiB of canaries read as zeroes");
        assert_eq!(text(MIB - 512, 0), "discard: none of 1 MiB of canaries remains");
        assert_eq!(text(0, MIB / 2), "discard: 512 KiB of 1 MiB of canaries remain");
    }

    /// "Nothing for fresh, the whole drive once for filled, up to four times for used and trimmed."
    #[test]
    fn each_state_writes_the_documented_amount() {
        for (to, least, most) in [
            (State::Fresh, 0.0, 0.0),
            (State::Filled, 1.0, 1.0),
            (State::Used, 1.99, 4.0),
            (State::Trimmed, 1.99, 4.0),
        ] {
            let (fake, state) = prepared(to);
            let times = fake.written as f64 / BYTES as f64;
            assert!((least..=most).contains(&times), "{to:?}: {times} times");
            assert_eq!(state, to);
        }
    }

    #[test]
    fn ageing_writes_random_tenths_until_steady_in_at_least_ten_rounds() {
        let (fake, _) = prepared(State::Used);
        let rounds: Vec<_> = fake.issued.iter().filter(|w| w.name == AGE.name).collect();
        assert!((10..=30).contains(&rounds.len()), "{}", rounds.len());
        for w in &rounds {
            let bytes = w.stop.bytes.expect("bounded by bytes");
            assert!(bytes.abs_diff(BYTES / 10) < 4096 && bytes.is_multiple_of(4096), "{bytes}");
            assert!(w.pattern.is_random() && w.mix == Mix::WRITE && w.region.bytes == BYTES);
        }
        let seeds: std::collections::BTreeSet<_> = rounds.iter().map(|w| w.seed).collect();
        assert_eq!(seeds.len(), rounds.len(), "every round has its own seed");
    }
}
