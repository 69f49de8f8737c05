//! What is seen while a run goes on: a line with the share done, the live rate and the time left.
//!
//! On a terminal only, and on stderr; with `--events` a JSON line for each event on stdout instead.

use std::io::{Write, stdout};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use record::Plan;
use rig::{Event, Interval, Observer};
use serde_json::json;
use workload::units;

use crate::cli::OutputArgs;
use crate::failure::IO;
use crate::present;
use crate::recording::{Recording, Unanswered};
use crate::screen::say;

/// A recording that the observer and the command both reach; never at the same time.
pub type Shared = Arc<Mutex<Recording>>;

/// Locks a shared recording. A panic elsewhere does not make what was measured worthless.
pub fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, Recording> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows and keeps the events of a run.
pub struct Live {
    recording: Shared,
    bar: ProgressBar,
    output: OutputArgs,
    began: Instant,
    seconds: f64,
    events: bool,
    step: String,
    repeats: Vec<(String, u32)>,
    /// A line of its own on stderr so often, and when the last one was.
    lines: Option<(Duration, Instant)>,
}

impl Live {
    /// A watcher for a run of that plan.
    pub fn new(recording: Shared, plan: &Plan, output: &OutputArgs) -> Live {
        let hidden = output.quiet || output.events;
        let target = if hidden {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(8)
        };
        let bar = ProgressBar::with_draw_target(Some(1000), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:16.cyan/dim} {wide_msg}") {
            bar.set_style(style.progress_chars("━━─"));
        }
        Live {
            recording,
            bar,
            output: output.clone(),
            began: Instant::now(),
            seconds: plan.seconds,
            events: output.events,
            step: String::new(),
            repeats: plan.steps.iter().map(|s| (s.name.clone(), s.repeats)).collect(),
            lines: None,
        }
    }

    /// The same, which also says how far it is in a line of its own every so often, for screens
    /// that keep what was written.
    pub fn with_lines(self, every: Option<Duration>) -> Live {
        Live { lines: every.map(|every| (every, Instant::now())), ..self }
    }

    /// The bar, to be cleared when the run has ended.
    pub fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }

    fn show(&mut self, what: &str) {
        let elapsed = self.began.elapsed().as_secs_f64();
        let share = (elapsed / self.seconds.max(elapsed)).min(0.99);
        let eta = match self.seconds - elapsed {
            _ if self.seconds == 0.0 => units::span(elapsed),
            left if left > 1.0 => format!("{} left", units::span(left.round())),
            _ => "nearly done".to_string(),
        };
        self.bar.set_position(if self.seconds > 0.0 { (share * 1000.0) as u64 } else { 0 });
        // What matters most first: a narrow terminal cuts the end off.
        let message = format!("{eta:<11}  {:<22}  {what}", self.step);
        if let Some((every, last)) = &mut self.lines
            && last.elapsed() >= *every
        {
            *last = Instant::now();
            self.bar.suspend(|| say(message.trim_end()));
        }
        self.bar.set_message(message);
    }

    /// Says that the drive does not answer; when the patience is over this is the end of the
    /// process, because the threads that wait for the drive cannot be ended by themselves.
    fn no_answer(&self, workload: &str, silent_ns: u64, limit_ns: u64) {
        let mut recording = lock(&self.recording);
        match recording.no_answer(workload, silent_ns, limit_ns) {
            Unanswered::Waits(line) => self.bar.suspend(|| say(&format!("ssdyno: {line}"))),
            Unanswered::GivenUp(failure) => {
                self.bar.finish_and_clear();
                failure.report();
                let shown = self.output.json || !recording.run().metrics.is_empty();
                if shown {
                    let reports = recording.reports();
                    let _ = present::show(recording.run(), &self.output, &reports);
                }
                std::process::exit(i32::from(IO));
            }
        }
    }

    fn begin_step(&mut self, name: &str, replicate: u32) {
        let repeats = self.repeats.iter().find(|r| r.0 == name).map_or(1, |r| r.1);
        self.step = match repeats {
            0 | 1 => name.to_string(),
            n => format!("{name} {}/{n}", replicate + 1),
        };
        self.show("");
    }
}

impl Observer for Live {
    fn event(&mut self, event: &Event) {
        lock(&self.recording).event(event);
        match event {
            Event::Step { name, replicate } => self.begin_step(name, *replicate),
            Event::Interval { interval, .. } => self.show(&rates(interval)),
            Event::Progress { done, .. } => self.show(&format!("{:.0}%", done * 100.0)),
            Event::Finding(_) | Event::NoAnswer { .. } => {}
        }
        // A reader that went away has seen enough; the record is kept all the same.
        self.events = self.events && writeln!(stdout(), "{}", line(event)).is_ok();
        if let Event::NoAnswer { workload, silent_ns, limit_ns } = event {
            self.no_answer(workload, *silent_ns, *limit_ns);
        }
    }
}

/// The rates of an interval, in the units people expect.
fn rates(interval: &Interval) -> String {
    let time = Duration::from_nanos(interval.end_ns - interval.start_ns).as_secs_f64();
    let side = |i: usize, name: &str| {
        let rate = interval.bytes[i] as f64 / time;
        (interval.ops[i] > 0).then(|| format!("{name} {}", units::throughput(rate)))
    };
    let sides: Vec<String> = [side(0, "read"), side(1, "write")].into_iter().flatten().collect();
    if sides.is_empty() { "stalled".into() } else { sides.join("  ") }
}

/// An event as one JSON line.
fn line(event: &Event) -> String {
    let value = match event {
        Event::Step { name, replicate } => {
            json!({"event": "step", "name": name, "replicate": replicate})
        }
        Event::Progress { name, done } => json!({"event": "progress", "name": name, "done": done}),
        Event::Finding(finding) => json!({"event": "finding", "finding": finding}),
        Event::NoAnswer { workload, silent_ns, limit_ns } => json!({
            "event": "no_answer",
            "workload": workload,
            "silent_ns": silent_ns,
            "limit_ns": limit_ns,
        }),
        Event::Interval { workload, replicate, start_ns, interval } => json!({
            "event": "interval",
            "workload": workload,
            "replicate": replicate,
            "start_ns": start_ns,
            "from_ns": interval.start_ns,
            "to_ns": interval.end_ns,
            "read_bytes": interval.bytes[0],
            "write_bytes": interval.bytes[1],
            "read_ops": interval.ops[0],
            "write_ops": interval.ops[1],
            "temperature_c": interval.temperature_c,
        }),
    };
    value.to_string()
}

#[cfg(test)]
mod tests {
    use record::{Finding, Level};

    use super::*;

    fn parsed(event: &Event) -> serde_json::Value {
        let line = line(event);
        assert!(!line.contains('\n'));
        serde_json::from_str(&line).expect("JSON")
    }

    #[test]
    fn every_event_is_a_line_of_json() {
        let step = Event::Step { name: "fill".into(), replicate: 2 };
        assert_eq!(parsed(&step), json!({"event": "step", "name": "fill", "replicate": 2}));
        let progress = Event::Progress { name: "fill".into(), done: 0.5 };
        assert_eq!(parsed(&progress)["done"], 0.5);
        let finding =
            Event::Finding(Finding::new(record::FindingKind::Load, Level::Warn, "two\nlines"));
        assert_eq!(parsed(&finding)["finding"]["text"], "two\nlines");
    }

    #[test]
    fn an_interval_keeps_its_numbers_and_what_is_unknown_is_null() {
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
    fn rates_name_what_moved() {
        let moved = |bytes: [u64; 2]| Interval {
            end_ns: 100_000_000,
            bytes,
            ops: bytes.map(|b| b / 4096),
            ..Default::default()
        };
        assert_eq!(rates(&moved([4_096_000, 0])), "read 41.0 MB/s");
        assert_eq!(rates(&moved([4_096_000, 8_192_000])), "read 41.0 MB/s  write 81.9 MB/s");
        assert_eq!(rates(&moved([0, 0])), "stalled");
    }
}
