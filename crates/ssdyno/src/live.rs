//! What is seen while a run goes on: a line with the share done, the live rate and the time left.
//!
//! On a terminal only, and on stderr; with `--events` a JSON line for each event on stdout instead.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use record::Plan;
use rig::{Event, Interval, Observer};
use serde_json::json;
use workload::units;

use crate::cli::OutputArgs;
use crate::recording::Recording;

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
    began: Instant,
    seconds: f64,
    events: bool,
    step: String,
    repeats: Vec<(String, u32)>,
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
        if let Ok(style) = ProgressStyle::with_template("{bar:24.cyan/dim} {msg}") {
            bar.set_style(style.progress_chars("━━─"));
        }
        Live {
            recording,
            bar,
            began: Instant::now(),
            seconds: plan.seconds,
            events: output.events,
            step: String::new(),
            repeats: plan.steps.iter().map(|s| (s.name.clone(), s.repeats)).collect(),
        }
    }

    /// The bar, to be cleared when the run has ended.
    pub fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }

    fn show(&self, what: &str) {
        let elapsed = self.began.elapsed().as_secs_f64();
        let share = (elapsed / self.seconds.max(0.1)).min(0.99);
        self.bar.set_position((share * 1000.0) as u64);
        let left = self.seconds - elapsed;
        let eta = match left {
            l if l > 1.0 => format!("about {} left", units::span(l.round())),
            _ => "nearly done".to_string(),
        };
        self.bar.set_message(format!("{:<22} {what:<26} {eta}", self.step));
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
            Event::Finding(_) => {}
        }
        if self.events {
            println!("{}", line(event));
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
