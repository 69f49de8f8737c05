//! Runs started from a page: by the command itself, so that nothing is possible here that `ssdyno run
//! TARGET -m METHOD` refuses. Permission to destroy is a serial number that the user typed, as there.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::Value;

use crate::pages::live::Moment;

/// Characters of the command's messages that are kept.
const MESSAGE_MAX: u64 = 4000;

/// Starts runs, one at a time.
pub struct Starter {
    command: PathBuf,
    store: PathBuf,
    current: Mutex<Option<StartedRun>>,
}

/// A run started here.
struct StartedRun {
    child: Child,
    number: i64,
    moment: Arc<Mutex<Moment>>,
}

impl Starter {
    pub fn new(command: PathBuf, store: PathBuf) -> Starter {
        Starter { command, store, current: Mutex::new(None) }
    }

    /// The run in progress that was started here.
    pub fn running(&self) -> Option<i64> {
        self.current().as_ref().map(|run| run.number)
    }

    /// What that run does now.
    pub fn moment(&self, number: i64) -> Option<Moment> {
        let current = self.current();
        let run = current.as_ref().filter(|run| run.number == number)?;
        Some(run.moment.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// The run, unless it has ended.
    fn current(&self) -> MutexGuard<'_, Option<StartedRun>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_mut().is_some_and(|run| !matches!(run.child.try_wait(), Ok(None))) {
            *current = None;
        }
        current
    }

    /// Starts a run and returns its number; an error is the command's own words. A `serial` that is not
    /// empty permits overwriting the device that has it.
    pub fn start(&self, target: &str, method: &str, serial: &str) -> Result<i64, String> {
        let mut current = self.current();
        if let Some(run) = current.as_ref() {
            return Err(format!("run {} is in progress", run.number));
        }
        let mut command = Command::new(&self.command);
        command.args(["run", target, "-m", method, "--events", "--store"]).arg(&self.store);
        if !serial.is_empty() {
            command.arg(format!("--destroy={serial}"));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let cannot = |error| format!("{} could not be started: {error}", self.command.display());
        let mut child = command.spawn().map_err(cannot)?;
        let (Some(events), Some(messages)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("the run could not be followed".into());
        };
        let mut messages = BufReader::new(messages);
        let number = match announced(&mut messages) {
            Ok(number) => number,
            Err(mut text) => {
                // What else it said before it ended.
                let _ = messages.take(MESSAGE_MAX).read_to_string(&mut text);
                let _ = child.wait();
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                return Err(format!("the run did not begin: {text}"));
            }
        };
        let moment = Arc::new(Mutex::new(Moment::default()));
        let copy = Arc::clone(&moment);
        // They end with the run. Unread pipes would stop it.
        thread::spawn(move || follow(BufReader::new(events), &copy));
        thread::spawn(move || messages.lines().map_while(Result::ok).for_each(drop));
        *current = Some(StartedRun { child, number, moment });
        Ok(number)
    }

    /// Asks the run to end and to keep what was measured, as Ctrl-C does.
    pub fn stop(&self) {
        if let Some(run) = self.current().as_ref() {
            interrupt(&run.child);
        }
    }
}

/// The number in the line with which the command announces a run, or what the line says instead.
fn announced(messages: &mut impl BufRead) -> Result<i64, String> {
    let mut line = String::new();
    let _ = messages.take(MESSAGE_MAX).read_line(&mut line);
    let number = line.strip_prefix("run ").and_then(|rest| rest.split_whitespace().next());
    number.and_then(|word| word.parse().ok()).ok_or(line)
}

/// Keeps what the events of a run tell about this moment.
fn follow(events: impl BufRead, moment: &Mutex<Moment>) {
    for line in events.lines().map_while(Result::ok) {
        let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
        let mut moment = moment.lock().unwrap_or_else(PoisonError::into_inner);
        match event["event"].as_str() {
            Some("step") => moment.step = event["name"].as_str().unwrap_or_default().to_string(),
            Some("interval") => moment.rates = rates(&event),
            _ => {}
        }
    }
}

/// Bytes per second read and written in an interval.
fn rates(event: &Value) -> [f64; 2] {
    let number = |name: &str| event[name].as_f64().unwrap_or(0.0);
    let seconds = (number("to_ns") - number("from_ns")) / 1e9;
    ["read_bytes", "write_bytes"]
        .map(|name| if seconds > 0.0 { number(name) / seconds } else { 0.0 })
}

#[cfg(target_os = "linux")]
fn interrupt(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    // It may have ended; it is waited for only under the lock that the caller holds.
    let _ = kill_process(Pid::from_child(child), Signal::INT);
}

/// The run ends by itself.
#[cfg(not(target_os = "linux"))]
fn interrupt(_: &Child) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_that_of_the_announcement() {
        let number = |text: &str| announced(&mut text.as_bytes());
        assert_eq!(number("run 12   quick on /d   about 1:00, reads only\nmore\n"), Ok(12));
        // The reason that the page shows.
        assert_eq!(number("ssdyno: no such target\n"), Err("ssdyno: no such target\n".into()));
        assert_eq!(number(""), Err(String::new()));
    }

    #[test]
    fn a_moment_is_the_last_step_and_interval() {
        let events = "{\"event\":\"step\",\"name\":\"fill\"}\nnonsense\n\
            {\"event\":\"interval\",\"from_ns\":0,\"to_ns\":100000000,\"read_bytes\":5,\"write_bytes\":1000}\n";
        let moment = Mutex::new(Moment::default());
        follow(events.as_bytes(), &moment);
        let moment = moment.into_inner().expect("kept");
        assert_eq!(moment, Moment { step: "fill".into(), rates: [50.0, 10_000.0] });
    }
}
