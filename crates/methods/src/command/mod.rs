//! `command`: a user's program, timed repeatedly, with the I/O it caused on the drive.
//!
//! Its data may still be in memory when it ends, so the file system is synced afterwards and the
//! device's traffic is counted until then. Repeats are replicates only if the program does the same
//! each time; the first often finds a colder cache, which is reported rather than averaged away.

mod answer;

use record::{Finding, FindingKind, Level, Safety, State, Unit, VerdictKind};
use rig::{CommandRun, DeviceTraffic, Exit, ProgramTraffic};
use workload::units::decimal;

use rules::Ruling;
use script::{
    Common, Conclusion, MethodError, MethodInfo, MetricInfo, Opt, Options, Outcome, Result, Round,
    Session,
};

/// Default number of runs: the minimum for a meaningful interval.
const RUNS: u32 = 3;

/// The first run counts as colder if it takes longer than the others by this factor.
const COLD: f64 = 1.2;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "command",
    summary: "how long does a program run, with what I/O",
    about: "Runs a command line in the directory, three times or --replicates: ssdyno run DIR -m \
            command -- make -j4. With a device or a file as the target, runs it in the current \
            directory and watches the device. Reports its time with an interval, its processor \
            time and memory, the bytes that it read from and wrote to drives itself, and beside \
            them everything on the drive: the bytes read and written until its end, and written \
            until a sync after it, with the time of the sync, including the traffic of other \
            programs. Caches are not dropped between runs. The output of the \
            command is discarded, its stderr is shown; a command that fails is not repeated.",
    safety: Safety::Scratch,
    seconds: 60.0,
    writes: "as much as the command does",
    ignores: &[Common::Size, Common::Time],
    options: &[&COMMAND],
    primary: &[TIME.name],
    metrics: &[&[TIME, PROCESSOR, SYNC, MEMORY, OWN, TRAFFIC, TRAFFIC_SYNCED, DEPTH, EXIT]],
    run,
    answer: answer::answer,
    conclusion: Conclusion::Script,
    ..MethodInfo::EMPTY
};

const TIME: MetricInfo = MetricInfo::ns("command.time", "from its start to its end");
const PROCESSOR: MetricInfo = MetricInfo::ns(
    "command.{user,system}",
    "processor time of the command and its children, in user mode and in the kernel",
);
const SYNC: MetricInfo =
    MetricInfo::ns("command.sync", "from its end until everything written was on the device");
const MEMORY: MetricInfo =
    MetricInfo::bytes("command.memory", "peak memory of its largest process");
const OWN: MetricInfo = MetricInfo::bytes(
    "command.own-{read,written}",
    "traffic of the command and its children with any drive, as the kernel accounts it to them: a \
     write through memory when it makes a page dirty; without processes that outlive it and the \
     metadata of file systems",
);
const TRAFFIC: MetricInfo = MetricInfo::bytes(
    "command.device-{read,written}",
    "traffic of the device until its end, including that of other programs",
);
const TRAFFIC_SYNCED: MetricInfo = MetricInfo::bytes(
    "command.device-{written-synced,discarded}",
    "traffic of the device until the end of the sync",
);
const DEPTH: MetricInfo =
    MetricInfo::number("command.device-depth", "mean queue depth of the device");
const EXIT: MetricInfo = MetricInfo::number("command.exit", "exit code; a signal is negative");
const USER: MetricInfo = PROCESSOR.named("command.user");
const SYSTEM: MetricInfo = PROCESSOR.named("command.system");
const OWN_READ: MetricInfo = OWN.named("command.own-read");
const OWN_WRITTEN: MetricInfo = OWN.named("command.own-written");
const READ: MetricInfo = TRAFFIC.named("command.device-read");
const WRITTEN: MetricInfo = TRAFFIC.named("command.device-written");
const WRITTEN_SYNCED: MetricInfo = TRAFFIC_SYNCED.named("command.device-written-synced");
const DISCARDED: MetricInfo = TRAFFIC_SYNCED.named("command.device-discarded");

pub(crate) static COMMAND: Opt<Vec<String>> =
    Opt::rest("command", "COMMAND", "the program to run in the directory, and its arguments");

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let command = options.get(&COMMAND);
    let name = name(&command)?;
    session.set_state(State::Unknown);
    let mut runs: Vec<CommandRun> = Vec::new();
    session.rounds(run_count(options), None, |session, replicate| {
        session.step(&name, replicate);
        let run = session.command(&command)?;
        // A program interrupted together with the run is not a sample.
        session.idle(std::time::Duration::from_nanos(1))?;
        runs.push(run);
        publish(&runs, session.outcome_mut());
        session.conclude(vec![ruling(&runs).verdict]);
        session.checkpoint();
        if run.exit != Exit::Code(0) {
            session.note(failed(run.exit));
            session.checkpoint();
            return Err(MethodError::CommandFailed { exit: run.exit });
        }
        Ok(Round::Again)
    })?;
    note_cold(&runs, session.outcome_mut());
    session.checkpoint();
    Ok(())
}

fn failed(exit: Exit) -> Finding {
    let text =
        format!("the command ended with {exit}: it is not repeated, and its time is not valid");
    Finding::new(FindingKind::CommandFailed, Level::Bad, text)
}

fn run_count(options: &Options) -> u32 {
    options.replicates.unwrap_or(RUNS).max(1)
}

/// The command, approximately as typed.
fn name(command: &[String]) -> Result<String> {
    if command.is_empty() { Err(MethodError::NoCommand) } else { Ok(command.join(" ")) }
}

/// Publishes everything about the runs so far.
fn publish(runs: &[CommandRun], out: &mut Outcome) {
    put(out, TIME, runs, |r| Some(r.elapsed_ns as f64));
    put(out, USER, runs, |r| Some(r.user_ns as f64));
    put(out, SYSTEM, runs, |r| Some(r.system_ns as f64));
    put(out, SYNC, runs, |r| Some(r.sync_ns as f64));
    put(out, MEMORY, runs, |r| Some(r.memory_bytes_max as f64));
    let device = |of: fn(&DeviceTraffic) -> u64, synced: bool| {
        move |r: &CommandRun| {
            let device = if synced { r.device_synced } else { r.device };
            device.as_ref().map(|d| of(d) as f64)
        }
    };
    let traffic_of =
        |bytes: fn(ProgramTraffic) -> u64| move |r: &CommandRun| r.own.map(|own| bytes(own) as f64);
    put(out, OWN_READ, runs, traffic_of(|own| own.read_bytes));
    put(out, OWN_WRITTEN, runs, traffic_of(|own| own.written_bytes));
    put(out, READ, runs, device(|d| d.read_bytes, false));
    put(out, WRITTEN, runs, device(|d| d.written_bytes, false));
    put(out, WRITTEN_SYNCED, runs, device(|d| d.written_bytes, true));
    put(out, DISCARDED, runs, device(|d| d.discarded_bytes, true));
    put(out, DEPTH, runs, |r| r.device.map(|d| d.depth));
    put(out, EXIT, runs, |r| match r.exit {
        Exit::Code(code) => Some(f64::from(code)),
        Exit::Signal(signal) => Some(f64::from(-signal)),
    });
}

/// A metric of all runs; omitted if it is unknown for one of them.
fn put(
    out: &mut Outcome,
    metric: MetricInfo,
    runs: &[CommandRun],
    sample: impl Fn(&CommandRun) -> Option<f64>,
) {
    let samples: Option<Vec<f64>> = runs.iter().map(sample).collect();
    match samples {
        Some(samples) => out.put_metric(analysis::metric(metric, metric.unit, samples)),
        // Earlier runs may have published it.
        None => out.metrics.retain(|earlier| earlier.name != metric.name),
    }
}

/// Notes a first run that took longer than all others, of which there are at least two.
fn note_cold(runs: &[CommandRun], out: &mut Outcome) {
    let [first, rest @ ..] = runs else { return };
    let slowest = rest.iter().map(|r| r.elapsed_ns).max().unwrap_or(u64::MAX);
    if rest.len() >= 2 && first.elapsed_ns as f64 > COLD * slowest as f64 {
        let text = "the first run took longer than any other: it found colder caches";
        let advice = "leave it out, or drop the caches before each run";
        out.note(Finding::new(FindingKind::FirstRunCold, Level::Note, text).advise(advice));
    }
}

/// The breakdown of the time, as far as it is known.
fn ruling(runs: &[CommandRun]) -> Ruling {
    let n = runs.len().max(1) as f64;
    let elapsed = runs.iter().map(|r| r.elapsed_ns as f64).sum::<f64>() / n;
    let cpu = runs.iter().map(|r| (r.user_ns + r.system_ns) as f64).sum::<f64>() / n;
    let share = cpu / elapsed.max(1.0);
    let traffic = runs.iter().map(|r| r.device_synced.map(|d| d.read_bytes + d.written_bytes));
    let traffic: Option<Vec<u64>> = traffic.collect();
    let drive = traffic.map_or("the traffic of the drive is unknown".to_string(), |bytes| {
        let mean = bytes.iter().sum::<u64>() / bytes.len().max(1) as u64;
        let traffic = decimal(mean);
        format!(
            "{traffic} were read from or written to the drive by all programs, the sync included"
        )
    });
    let failed = runs.last().filter(|r| r.exit != Exit::Code(0));
    let text = match failed {
        Some(run) => format!("The command ended with {}: its time is not valid.", run.exit),
        None => format!(
            "It kept {share:.2} processors busy ({:.2} s of {:.2} s), and {drive}.",
            cpu / 1e9,
            elapsed / 1e9
        ),
    };
    let ruling = if failed.is_some() {
        Ruling::no(VerdictKind::Failed, text)
    } else {
        Ruling::yes(VerdictKind::Command, text)
    };
    ruling.with("processor time / time", share, Unit::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(seconds: f64) -> CommandRun {
        CommandRun {
            elapsed_ns: (seconds * 1e9) as u64,
            sync_ns: 0,
            user_ns: 0,
            system_ns: 0,
            memory_bytes_max: 0,
            exit: Exit::Code(0),
            own: None,
            device: None,
            device_synced: None,
        }
    }

    #[test]
    fn a_metric_that_a_later_run_does_not_have_is_withdrawn() {
        let mut out = Outcome::default();
        let device = Some(DeviceTraffic::default());
        let seen = CommandRun { device, device_synced: device, ..took(1.0) };
        publish(&[seen], &mut out);
        let count = |out: &Outcome, name: &str| {
            out.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.n)
        };
        assert_eq!(count(&out, "command.device-read"), Some(1));
        publish(&[seen, took(1.0)], &mut out);
        assert_eq!(count(&out, "command.time"), Some(2));
        assert!(out.metrics.iter().all(|metric| !metric.name.contains("device")));
    }

    fn noted(times: &[f64]) -> usize {
        let mut out = Outcome::default();
        note_cold(&times.iter().copied().map(took).collect::<Vec<_>>(), &mut out);
        out.warnings.iter().filter(|w| w.kind == FindingKind::FirstRunCold).count()
    }

    #[test]
    fn a_first_run_that_took_a_fifth_longer_than_all_others_is_noted() {
        assert_eq!(noted(&[1.3, 1.0, 1.0]), 1);
        assert_eq!(noted(&[9.0, 1.0, 1.1]), 1);
        assert_eq!(noted(&[1.3, 1.0, 1.1]), 0, "another took nearly as long");
        assert_eq!(noted(&[1.1, 1.0, 1.0]), 0);
        assert_eq!(noted(&[9.0, 1.0]), 0, "a second run alone may be the outlier");
        assert_eq!(noted(&[1.3, 1.0, 1.0, 1.0, 1.0]), 1);
        assert_eq!(noted(&[1.3, 1.0, 1.0, 1.0, 1.2]), 0);
        assert_eq!(noted(&[9.0]), 0);
    }
}
