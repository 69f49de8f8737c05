//! Progress during a run: the share done, the current rate and the time left, in one line.
//!
//! The line goes to stderr, only on a terminal. With `--events`, stdout gets a JSON line for each
//! event instead.

use std::io::{Write, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::style::TemplateError;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::{Event, Interval, Recorded, Returning, Watcher, drives};
use record::{Naming, Plan, Run};
use serde_json::json;
use workload::units;

use crate::cli::OutputArgs;
use crate::failure::IO;
use crate::present;
use crate::returning::{self, PassRate};
use crate::screen::{self, say};

/// Length of a bar without a unit.
const PARTS: u64 = 1000;

/// The progress line.
const BAR: &str = "{bar:16.cyan/dim} {wide_msg}";

/// The progress line for work on a known number of bytes.
const BYTES: &str = "{bar:16.cyan/dim} {eta} left  {decimal_bytes} of {decimal_total_bytes}";

/// The progress line below the grid measured so far.
const GRID_AND_BAR: &str = "{prefix}\n\n{bar:16.cyan/dim} {wide_msg}";

fn bar_style(template: &str) -> Result<ProgressStyle, TemplateError> {
    Ok(ProgressStyle::with_template(template)?.progress_chars("━━─"))
}

/// A bar on stderr; nothing is drawn unless that is a terminal.
fn bar(length: Option<u64>, template: &str, hidden: bool) -> ProgressBar {
    let target =
        if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(8) };
    let bar = ProgressBar::with_draw_target(length, target);
    if let Ok(style) = bar_style(template) {
        bar.set_style(style);
    }
    bar
}

/// A bar for work that reads a source from end to end.
pub fn bytes_bar() -> ProgressBar {
    bar(None, BYTES, false)
}

/// A bar with a message. Its length is [`PARTS`].
pub fn message_bar() -> ProgressBar {
    bar(Some(PARTS), BAR, false)
}

/// Sets position and message of a [`message_bar`].
pub fn show_returning(bar: &ProgressBar, progress: &Returning, message: String) {
    bar.set_position((progress.share() * PARTS as f64) as u64);
    bar.set_message(message);
}

/// Shows the progress of a run.
pub struct Live {
    bar: ProgressBar,
    output: OutputArgs,
    began: Instant,
    seconds: f64,
    /// Simulated seconds so far; `None` if time is real.
    simulated: Option<f64>,
    events: bool,
    method: String,
    step: String,
    /// The workload that last transferred data.
    moved: String,
    /// The planned workloads that transfer data.
    transferring: Vec<String>,
    repeats: Vec<(String, u32)>,
    /// Interval between progress lines on stderr, and the time of the last one.
    lines: Option<(Duration, Instant)>,
    /// The rate at which borrowed blocks are returned.
    pace: PassRate,
    /// Whether notices about the store are left out, for a script that expects fio's output.
    hides_store: bool,
    /// Set once the user has asked the run to end.
    interrupt: Arc<AtomicBool>,
}

impl Live {
    /// A watcher for a run of a method with this plan on a target. Time is simulated if the target is
    /// a virtual drive.
    pub fn new(plan: &Plan, target: &str, method: &str, output: &OutputArgs) -> Live {
        Live {
            bar: bar(Some(PARTS), BAR, output.quiet || output.events),
            output: output.clone(),
            began: Instant::now(),
            seconds: plan.seconds,
            simulated: target.starts_with(drives::PREFIX).then_some(0.0),
            events: output.events,
            method: method.to_string(),
            step: String::new(),
            moved: String::new(),
            transferring: plan
                .known_workloads()
                .filter(|w| w.mix.read + w.mix.write > 0)
                .map(|w| w.name)
                .collect(),
            repeats: plan.steps.iter().map(|s| (s.name.clone(), s.repeats)).collect(),
            lines: None,
            pace: PassRate::default(),
            hides_store: false,
            interrupt: Arc::default(),
        }
    }

    /// Once this flag is set, the progress line about borrowed blocks names the effect of the next
    /// signal.
    pub fn with_interrupt(self, interrupt: &Arc<AtomicBool>) -> Live {
        Live { interrupt: Arc::clone(interrupt), ..self }
    }

    /// Also prints the progress on a new line at this interval, for scrolling terminals.
    pub fn with_lines(self, every: Option<Duration>) -> Live {
        Live { lines: every.map(|every| (every, Instant::now())), ..self }
    }

    /// The same without notices about the store.
    pub fn hiding_store(self, hides_store: bool) -> Live {
        Live { hides_store, ..self }
    }

    /// Whether time is simulated.
    pub fn is_simulated(&self) -> bool {
        self.simulated.is_some()
    }

    /// The bar, for clearing it when the run has ended.
    pub fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }

    fn show(&mut self, what: &str) {
        let elapsed = self.began.elapsed().as_secs_f64();
        let plan_elapsed = self.simulated.unwrap_or(elapsed);
        let eta = match left(elapsed, plan_elapsed, self.seconds) {
            None => units::span(elapsed),
            Some(left) if left > 1.0 => format!("{} left", units::span(left.round())),
            Some(_) => "nearly done".to_string(),
        };
        let share = if self.seconds > 0.0 { (plan_elapsed / self.seconds).min(0.99) } else { 0.0 };
        self.bar.set_position((share * PARTS as f64) as u64);
        // The most important part comes first, because a narrow terminal cuts off the end.
        let message = format!("{eta:<11}  {:<34}  {what}", self.step);
        let message = emit::plain(&message).into_owned();
        if let Some((period, last)) = &mut self.lines
            && last.elapsed() >= *period
        {
            *last = Instant::now();
            self.bar.suspend(|| say(message.trim_end()));
        }
        self.bar.set_message(message);
    }

    /// Shows the return of borrowed blocks. The time of the plan is over then, so it has its own.
    fn show_returning(&mut self, progress: &Returning) {
        let mut message = self.pace.words(progress);
        if self.interrupt.load(Ordering::Relaxed) {
            message += "; Ctrl-C leaves the rest to ssdyno recover";
        }
        show_returning(&self.bar, progress, message);
    }

    /// Prints the result for the borrowed blocks, unless the run is quiet or prints events.
    fn returned(&mut self, compared_bytes: u64, restored_bytes: u64) {
        self.pace = PassRate::default();
        if !self.output.quiet && !self.output.events {
            self.bar.suspend(|| say(&returning::result(compared_bytes, restored_bytes)));
        }
    }

    fn begin_step(&mut self, name: &str, replicate: u32) {
        let repeats = self.repeats.iter().find(|r| r.0 == name).map_or(1, |r| r.1);
        let words = Naming::new(&self.method, false).step(name, &self.method);
        self.step = match repeats {
            0 | 1 => words,
            n => format!("{words} {}/{n}", replicate + 1),
        };
        self.show("");
    }
}

impl Watcher for Live {
    fn event(&mut self, event: &Event) {
        if let (Some(now), Event::Interval { start_ns, interval, .. }) =
            (&mut self.simulated, event)
        {
            *now = (start_ns + interval.end_ns) as f64 / 1e9;
        }
        match event {
            Event::Step { skipped: true, .. } => {}
            Event::Step { name, replicate, .. } => self.begin_step(name, *replicate),
            Event::Interval { workload, interval, .. } => {
                if interval.ops != [0, 0] {
                    self.moved.clone_from(workload);
                }
                let transfers = self.moved == *workload || self.transferring.contains(workload);
                self.show(&rates(interval, transfers));
            }
            Event::Progress { done, .. } => self.show(&format!("{:.0}%", done * 100.0)),
            Event::Part { done, name, .. } => self.show(&format!("{:.0}%  {name}", done * 100.0)),
            Event::Returning(progress) => self.show_returning(progress),
            Event::Returned { compared_bytes, restored_bytes } => {
                self.returned(*compared_bytes, *restored_bytes);
            }
            Event::Finding(_) | Event::NoAnswer { .. } => {}
        }
        // A reader that closed the pipe has seen enough; the run continues.
        self.events = self.events && writeln!(stdout(), "{}", line(event)).is_ok();
    }

    fn measured(&mut self, run: &Run) {
        if self.bar.is_hidden() {
            return;
        }
        let Some(grid) = report::grid_so_far(run, &screen::progress_style()) else { return };
        if let Ok(style) = bar_style(GRID_AND_BAR) {
            self.bar.set_style(style);
            self.bar.set_prefix(emit::screen(grid.trim_end()).into_owned());
        }
    }

    fn warn(&mut self, line: &str) {
        self.bar.suspend(|| say(&format!("ssdyno: {line}")));
    }

    fn notice_store(&mut self, line: &str) {
        if !self.hides_store {
            self.warn(line);
        }
    }

    fn give_up(&mut self, recorded: Recorded) -> ! {
        self.bar.finish_and_clear();
        present::report_unkept(&recorded);
        let _ = present::conclude(recorded, &self.output);
        std::process::exit(i32::from(IO));
    }
}

/// Real seconds left in a run of `seconds`, of which `done` took `elapsed` real ones. `None` if the
/// plan has no duration, or a simulation has not shown its speed yet.
fn left(elapsed: f64, done: f64, seconds: f64) -> Option<f64> {
    (seconds > 0.0 && done > 0.0).then(|| (seconds - done) * elapsed / done)
}

/// The rates of an interval, in common units. Without any, a workload has stalled if it
/// `transfers` data; one that only discards or flushes has no rate.
fn rates(interval: &Interval, transfers: bool) -> String {
    let time = Duration::from_nanos(interval.end_ns - interval.start_ns).as_secs_f64();
    let sides = ["read", "write"].into_iter().enumerate().filter(|(i, _)| interval.ops[*i] > 0);
    let sides = sides
        .map(|(i, name)| format!("{name} {}", units::throughput(interval.bytes[i] as f64 / time)));
    let sides: Vec<String> = sides.collect();
    if interval.stood_still {
        return "stood still".into();
    }
    if sides.is_empty() && transfers { "stalled".into() } else { sides.join("  ") }
}

/// An event as one JSON line.
fn line(event: &Event) -> String {
    let value = match event {
        Event::Step { name, replicate, skipped } => {
            let event = if *skipped { "skipped" } else { "step" };
            json!({"event": event, "name": name, "replicate": replicate})
        }
        Event::Progress { name, done } => json!({"event": "progress", "name": name, "done": done}),
        Event::Part { step, done, name, replicate } => json!({
            "event": "progress",
            "name": step,
            "done": done,
            "part": name,
            "replicate": replicate,
        }),
        Event::Returning(progress) => json!({
            "event": "progress",
            "name": progress.pass.name(),
            "done": progress.share(),
            "done_bytes": progress.done_bytes(),
            "total_bytes": progress.total_bytes,
        }),
        Event::Returned { compared_bytes, restored_bytes } => json!({
            "event": "returned",
            "compared_bytes": compared_bytes,
            "restored_bytes": restored_bytes,
        }),
        Event::Finding(finding) => json!({"event": "finding", "finding": finding}),
        Event::NoAnswer { workload, silent_ns, limit_ns } => json!({
            "event": "no_answer",
            "workload": workload,
            "silent_ns": silent_ns,
            "limit_ns": limit_ns,
        }),
        Event::Interval { workload, replicate, start_ns, interval } => {
            let count_if_moving = |count: u64| (!interval.stood_still).then_some(count);
            json!({
                "event": "interval",
                "workload": workload,
                "replicate": replicate,
                "start_ns": start_ns,
                "from_ns": interval.start_ns,
                "to_ns": interval.end_ns,
                "read_bytes": count_if_moving(interval.bytes[0]),
                "write_bytes": count_if_moving(interval.bytes[1]),
                "read_ops": count_if_moving(interval.ops[0]),
                "write_ops": count_if_moving(interval.ops[1]),
                "temperature_c": interval.temperature_c,
            })
        }
    };
    emit::json(&value.to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use record::{Finding, Level};

    use super::*;

    #[test]
    fn a_simulation_has_its_own_speed() {
        assert_eq!(left(20.0, 20.0, 60.0), Some(40.0), "real time");
        assert_eq!(left(1.0, 1200.0, 3600.0), Some(2.0), "an hour simulated in three seconds");
        assert_eq!(left(1.0, 0.0, 3600.0), None);
        assert_eq!(left(5.0, 5.0, 0.0), None);
    }

    fn parsed(event: &Event) -> serde_json::Value {
        let line = line(event);
        assert!(!line.contains('\n'));
        serde_json::from_str(&line).expect("JSON")
    }

    #[test]
    fn every_event_is_a_line_of_json() {
        let step = |skipped| Event::Step { name: "fill".into(), replicate: 2, skipped };
        let expected = |event| json!({"event": event, "name": "fill", "replicate": 2});
        assert_eq!(parsed(&step(false)), expected("step"));
        assert_eq!(parsed(&step(true)), expected("skipped"));
        let progress = Event::Progress { name: "fill".into(), done: 0.5 };
        assert_eq!(parsed(&progress)["done"], 0.5);
        let part =
            Event::Part { step: "rounds".into(), done: 0.5, name: "4k-r0".into(), replicate: 1 };
        let expected = json!({"event": "progress", "name": "rounds", "done": 0.5, "part": "4k-r0", "replicate": 1});
        assert_eq!(parsed(&part), expected);
        let returning = Event::Returning(Returning::new(lab::Pass::Compare, 4096).after(1024));
        let expected = json!({"event": "progress", "name": "comparing", "done": 0.25, "done_bytes": 1024, "total_bytes": 4096});
        assert_eq!(parsed(&returning), expected);
        let finding =
            Event::Finding(Finding::new(record::FindingKind::Load, Level::Warn, "two\nlines"));
        assert_eq!(parsed(&finding)["finding"]["text"], "two\nlines");
    }

    #[test]
    fn an_interval_keeps_its_numbers_and_unknowns_are_null() {
        let interval = Interval {
            start_ns: 5,
            end_ns: 15,
            bytes: [4096, 0],
            ops: [1, 0],
            ..Default::default()
        };
        let event = Event::Interval { workload: "w".into(), replicate: 0, start_ns: 7, interval };
        let line = parsed(&event);
        assert_eq!(
            (&line["start_ns"], &line["from_ns"], &line["to_ns"]),
            (&json!(7), &json!(5), &json!(15))
        );
        assert_eq!((&line["read_bytes"], &line["write_ops"]), (&json!(4096), &json!(0)));
        assert!(line["temperature_c"].is_null());
    }

    #[test]
    fn rates_name_the_directions_that_moved() {
        let moved = |bytes: [u64; 2]| Interval {
            end_ns: 100_000_000,
            bytes,
            ops: bytes.map(|b| b / 4096),
            ..Default::default()
        };
        let rates = |bytes| rates(&moved(bytes), true);
        assert_eq!(rates([4_096_000, 0]), "read 41.0 MB/s");
        assert_eq!(rates([4_096_000, 8_192_000]), "read 41.0 MB/s  write 81.9 MB/s");
        assert_eq!(rates([0, 0]), "stalled");
    }

    #[test]
    fn only_a_workload_that_has_moved_data_stalls() {
        let plan = Plan {
            safety: record::Safety::Destroys,
            seconds: 9.0,
            write_bytes_expected: None,
            range: None,
            write_bytes_max: 0,
            region_bytes: 0,
            destroys: None,
            steps: Vec::new(),
            workloads: Vec::new(),
            command: Vec::new(),
        };
        let output = OutputArgs { quiet: true, ..OutputArgs::default() };
        let mut live = Live::new(&plan, "/dev/sdx", "quick", &output);
        let mut shown = |workload: &str, ops: u64| {
            let interval = Interval { end_ns: 100, ops: [0, ops], ..Default::default() };
            let workload = workload.to_string();
            live.event(&Event::Interval { workload, replicate: 0, start_ns: 0, interval });
            live.bar.message().contains("stalled")
        };
        let table =
            [("trim", 0, false), ("write", 1, false), ("write", 0, true), ("trim", 0, false)];
        for (workload, ops, stalled) in table {
            assert_eq!(shown(workload, ops), stalled, "{workload} {ops}");
        }
    }
}
