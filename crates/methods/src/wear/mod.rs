//! `wear`: how much can be written before the drive fails, and does age change its speed? (OLPC's
//! NAND test)
//!
//! Most of the drive is static, so only the free and the spare blocks of the flash cycle. Blocks are
//! stamped in `layout.rs` and judged in `found.rs`. The drive itself records the amount written, so
//! that `--resume` continues a killed run (`resume.rs`).

mod age;
mod answer;
mod cycle;
mod found;
pub mod fuzzing;
mod layout;
mod resume;
#[cfg(test)]
mod tests;
mod transfer;
mod verdict;

use record::{FindingKind, MetricKey, Safety, State, TargetKind};
use rig::{RigError, TargetInfo};
use workload::units::{binary, parse_bytes};

use script::{
    Budget, Common, Conclusion, MethodError, MethodInfo, MetricInfo, Opt, Options, Result, Session,
};

use cycle::{CYCLE, FILL, Test};
use found::Class;
use layout::{BLOCK, Layout};

/// Default duration in seconds: a 4 GB card at 10 MB/s, written twice and read twice.
const SECONDS: f64 = 1500.0;

/// The default amount, as a multiple of the size.
const WRITES: u64 = 2;

/// Distinguishes the seed of the stamps from the seeds of a run's other content.
const SALT: u64 = 0x7765_6172_2d72_756e;

static AMOUNT: Opt<Option<u64>> = Opt::value(
    "amount",
    "SIZE",
    "total bytes to write, such as 3TB; twice the drive by default",
    |words| parse_bytes(&words[0]).map(Some),
    || None,
);

static AGE: Opt<Option<u64>> = Opt::value(
    "age",
    "N",
    "measure the speed every N drive writes",
    |words| match words[0].parse() {
        Ok(n) if (1..=1_000_000).contains(&n) => Ok(Some(n)),
        _ => Err("a number of drive writes, 1 to 1000000".into()),
    },
    || None,
);

static RESUME: Opt<bool> = Opt::switch("resume", "continue the run found on the drive");

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "wear",
    summary: "how much can be written before it fails",
    about: "Fills all but 1/64 of the drive (1 to 32 MiB) with static data, and reads them back. \
            Then it writes, reads and discards the rest, one half after the other, until --amount \
            (OLPC: 3TB) is written or a block fails, so that only the free and the spare blocks of \
            the flash cycle. Every block of 128 KiB is stamped with its address and the number of \
            its write, and is read back after the next 0.5 to 16 MiB are written. At the end, the \
            static data are read again. Blocks that differ are counted as flipped, misplaced, \
            stale, torn, lost or unreadable. The drive itself records the amount written: after a \
            kill or a power cut, --resume continues with the next block, on any machine. --age \
            measures reads and writes every N drive writes. In a directory, the test writes a \
            scratch file: the file system moves its blocks, other files wear the flash as well, \
            and the scratch file does not survive a kill.",
    safety: Safety::Destroys,
    seconds: SECONDS,
    writes: "twice the drive, or --amount",
    ignores: &[Common::Time, Common::Replicates],
    options: &[&AMOUNT, &AGE, &RESUME],
    primary: &[WRITTEN.name, WRITE_RATE.name, "wear-age-{seq,rand}-{read,write}.ratio"],
    metrics: &[&[
        WRITTEN,
        ADDED,
        DRIVE_WRITES,
        WRITE_RATE,
        MetricInfo::rate(
            "wear-write.{start,end}",
            "the same in the first and in the last tenth of this run",
        ),
        CHECKED,
        FAULTS,
        STATIC,
        LIFE,
        LIFE_PER_TB,
        AMPLIFICATION,
        AGE_WRITTEN,
        AGE_SEQUENTIAL,
        AGE_RANDOM,
        MetricInfo::number(
            "wear-age-seq-{read,write}.ratio",
            "the last of these rates divided by the first",
        ),
        MetricInfo::number(
            "wear-age-rand-{read,write}.ratio",
            "the last of these rates divided by the first",
        ),
    ]],
    run,
    answer: answer::answer,
    conclusion: Conclusion::Script,
    provokes: &[FindingKind::ContentLost],
    ..MethodInfo::EMPTY
};

const WRITTEN: MetricInfo = MetricInfo::bytes(
    "wear-written",
    "stamped bytes written by this run and the runs it resumed, without measurements of age",
);
pub(crate) const ADDED: MetricInfo =
    MetricInfo::bytes("wear-added", "of these, bytes written by this run");
const DRIVE_WRITES: MetricInfo =
    MetricInfo::number("wear-drive-writes", "bytes written over the size in use");
const WRITE_RATE: MetricInfo =
    MetricInfo::rate("wear-write", "writes while cycling, with their flushes");
const CHECKED: MetricInfo = MetricInfo::bytes(
    "wear-checked",
    "bytes that were read back as written; static data count at every check",
);
const FAULTS: MetricInfo = MetricInfo::number(
    "wear-{flipped,misplaced,stale,torn,lost,unreadable}",
    "blocks of 128 KiB that differ: a few bits, another address, an older write, part of the \
         write, any other content, unreadable",
);
const STATIC: MetricInfo =
    MetricInfo::bytes("wear-static", "static data that came back at the end");
const LIFE: MetricInfo = MetricInfo::number(
    "wear-life",
    "rated life used at the end, as reported by the drive, percent",
);
const LIFE_PER_TB: MetricInfo =
    MetricInfo::number("wear-life-per-tb", "rated life used per TB written, percent");
const AMPLIFICATION: MetricInfo = MetricInfo::number(
    "wear-amplification",
    "bytes written to flash over bytes written by hosts, by the drive's counters",
);
const AGE_WRITTEN: MetricInfo =
    MetricInfo::bytes("wear-age-written", "bytes written by this run's measurements of age");
const AGE_SEQUENTIAL: MetricInfo = MetricInfo::rate(
    "wear-age-seq-{read,write}-{writes}",
    "sequential, at that number of drive writes, 128 KiB, queue depth 8",
);
const AGE_RANDOM: MetricInfo = MetricInfo::iops(
    "wear-age-rand-{read,write}-{writes}",
    "random, at that number of drive writes, 4 KiB, queue depth 1",
);

/// The number of blocks with a fault.
fn fault(class: Class) -> MetricKey {
    FAULTS.member(&[&class.name()])
}

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let resumes = options.get(&RESUME);
    admit(session.target(), resumes)?;
    let layout = Layout::new(session.target(), options)?;
    let amount = options.get(&AMOUNT).unwrap_or(WRITES * layout.bytes());
    let goal = amount.div_ceil(BLOCK);
    if amount < layout.least_bytes() {
        let least = binary(layout.least_bytes());
        return Err(MethodError::Option {
            option: "amount",
            value: binary(amount),
            range: format!("at least the static data and half of the rest, {least}"),
        });
    }
    let mut test = Test::new(session, layout, goal);
    // A plan reads nothing and assumes a new run, which writes most.
    if resumes && !session.plans() {
        test.resume(resume::find(session, &layout)?);
    } else if !session.plans() {
        test.seed = new_seed(session, &layout, options.seed ^ SALT)?;
    }
    measure(session, &mut test, options.get(&AGE))
}

/// The seed of a new run. A new scratch file has no earlier stamps to avoid.
fn new_seed(session: &mut Session<'_>, layout: &Layout, seed: u64) -> Result<u64> {
    match session.target().target.kind {
        TargetKind::Directory => Ok(layout.seed(seed)),
        _ => resume::fresh(session, layout, seed),
    }
}

/// Refuses a user's device or file that was not opened with `--destroy`, and the resumption of a
/// scratch file, which is always new.
fn admit(target: &TargetInfo, resumes: bool) -> Result<()> {
    let advice = "--destroy with its serial number, or its size if it is a file";
    script::admit(target, Safety::Destroys, "wear overwrites all of", advice)?;
    if resumes && target.target.kind == TargetKind::Directory {
        let spec = &target.target.spec;
        let text = format!("no run is left in {spec}: its scratch file was deleted");
        let advice = "a file of your own, or a device, keeps the run";
        return Err(RigError::refused(text, advice).into());
    }
    Ok(())
}

fn measure(session: &mut Session<'_>, test: &mut Test, age: Option<u64>) -> Result<()> {
    if session.target().target.kind != TargetKind::Directory {
        session.set_state(State::Used);
    }
    session.step(FILL, 0);
    test.fill(session)?;
    session.step("wear-check", 0);
    // A run resumed within a pass checks its static data once, at the end.
    if !test.resumed_in_pass() {
        test.check_fixed(session)?;
    }
    session.budget(CYCLE, Budget::default(), |session| test.cycle(session, age))?;
    session.step("wear-check", 1);
    test.check_fixed(session)?;
    test.publish(session);
    test.report(session);
    session.conclude(verdict::verdicts(test, session.target()));
    session.checkpoint();
    Ok(())
}
