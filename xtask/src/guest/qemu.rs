//! A QEMU process and its connections.
//!
//! QMP uses one socket. A virtio port on another carries the guest's one-line requests and the
//! answers. The script's output and the guest's console are written to files. Each connection has a
//! reader thread, and all input becomes events in one queue.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::param::clock_ticks_per_second;
use serde_json::{Value, json};

use crate::run::{output, program};

/// Events from QEMU.
pub enum Event {
    /// A line from the guest.
    Asked(String),
    /// A line from QMP.
    Qmp(Value),
    /// A connection was opened: its name and its writing end.
    Open(&'static str, UnixStream),
    /// QEMU ended, with its stderr.
    Ended(String),
}

/// A running QEMU.
pub struct Qemu {
    child: Child,
    /// The connections to the guest's port and to QMP.
    port: Option<UnixStream>,
    commands: Option<UnixStream>,
    events: Receiver<Event>,
    /// Events received while waiting for another.
    backlog: VecDeque<Event>,
    start: Instant,
    limit: Duration,
    /// When it was last seen to have computed, and its processor time then.
    last_busy: (Instant, Duration),
}

/// A guest may take its limit in processor time, which other programs on this machine hardly change,
/// and so many times as long by the clock: one that hangs takes no processor time.
const PATIENCE: u32 = 5;

/// A guest that has not computed for [`MOVED`] in this time stands still: 15,000 ticks of an idle one
/// should take many times that.
const STILL: Duration = Duration::from_secs(60);
const MOVED: Duration = Duration::from_millis(50);

/// The emulator's failure, not that of what is tested.
#[derive(Debug)]
pub struct StandsStill;

impl Display for StandsStill {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "the guest stands still: it has not computed for {} s", STILL.as_secs())
    }
}

impl Error for StandsStill {}

/// How often the time is looked at while no event arrives.
const LOOK: Duration = Duration::from_secs(1);

impl Qemu {
    /// Starts QEMU and opens its connections; sockets and logs are in `dir`. `limit` is the processor
    /// time that it may take.
    pub fn start(mut command: Command, dir: &Path, limit: Duration) -> Result<Qemu> {
        let (sender, events) = channel();
        for (name, make) in [("host", asked as Maker), ("qmp", qmp as Maker)] {
            let door = dir.join(name);
            let listener = UnixListener::bind(&door).with_context(|| door.display().to_string())?;
            let sender = sender.clone();
            thread::spawn(move || listen(name, &listener, make, &sender));
            let door = door.display();
            command.arg("-chardev").arg(format!("socket,id={name},path={door}"));
        }
        command.stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start QEMU")?;
        let mut errors = child.stderr.take().context("no stderr of QEMU")?;
        thread::spawn(move || {
            let mut said = Vec::new();
            let _ = errors.read_to_end(&mut said);
            let _ = sender.send(Event::Ended(String::from_utf8_lossy(&said).into_owned()));
        });
        let (start, backlog) = (Instant::now(), VecDeque::new());
        let last_busy = (start, Duration::ZERO);
        let (port, commands) = (None, None);
        let mut qemu = Qemu { child, port, commands, events, backlog, start, limit, last_busy };
        while qemu.port.is_none() || qemu.commands.is_none() {
            match qemu.receive()? {
                Event::Open("host", line) => qemu.port = Some(line),
                Event::Open(_, line) => qemu.commands = Some(line),
                other => qemu.backlog.push_back(other),
            }
        }
        qemu.qmp("qmp_capabilities", json!({}))?;
        Ok(qemu)
    }

    /// The guest's next request.
    pub fn asked(&mut self) -> Result<String> {
        loop {
            let event = self.backlog.pop_front().map_or_else(|| self.receive(), Ok)?;
            if let Event::Asked(line) = event {
                return Ok(line);
            }
        }
    }

    /// Answers the guest's request.
    pub fn answer(&mut self, line: &str) -> Result<()> {
        let port = self.port.as_mut().context("the guest's port is not open")?;
        writeln!(port, "{line}").context("the guest's port")
    }

    /// Sends a QMP command and waits for its result.
    pub fn qmp(&mut self, command: &str, arguments: Value) -> Result<Value> {
        let line = json!({"execute": command, "arguments": arguments});
        writeln!(self.commands.as_mut().context("QMP is not open")?, "{line}").context("QMP")?;
        loop {
            match self.receive()? {
                Event::Qmp(mut answer) if answer.get("return").is_some() => {
                    return Ok(answer["return"].take());
                }
                Event::Qmp(answer) if answer.get("error").is_some() => {
                    bail!("{command}: {}", answer["error"]["desc"].as_str().unwrap_or_default())
                }
                other => self.backlog.push_back(other),
            }
        }
    }

    /// Moves the guest's processor to a core; the other threads stay.
    pub fn move_processor(&mut self, core: usize) -> Result<()> {
        let processors = self.qmp("query-cpus-fast", json!({}))?;
        let thread = processors[0]["thread-id"].as_u64().context("the processor's thread")?;
        let words = ["-p", "-c", &core.to_string(), &thread.to_string()];
        output(&mut program("taskset", &words)).map(drop)
    }

    /// Terminates QEMU if it is still running.
    pub fn end(mut self) -> Result<()> {
        // The images are in this machine's page cache, so nothing is lost.
        let _ = self.child.kill();
        self.child.wait().context("QEMU").map(drop)
    }

    fn receive(&mut self) -> Result<Event> {
        loop {
            match self.events.recv_timeout(LOOK) {
                Ok(Event::Ended(said)) => bail!("QEMU has ended: {}", said.trim_end()),
                Ok(event) => return Ok(event),
                Err(_) => self.check_time()?,
            }
        }
    }

    /// Fails if the guest has taken its time, or stands still.
    fn check_time(&mut self) -> Result<()> {
        let (busy, elapsed) = (self.processor_time()?, self.start.elapsed());
        ensure!(
            busy <= self.limit && elapsed <= self.limit * PATIENCE,
            "the guest exceeded its time limit: {} s of processor time in {} s",
            busy.as_secs(),
            elapsed.as_secs()
        );
        if busy >= self.last_busy.1 + MOVED {
            self.last_busy = (Instant::now(), busy);
        }
        ensure!(self.last_busy.0.elapsed() <= STILL, StandsStill);
        Ok(())
    }

    /// Processor time of all threads of QEMU.
    fn processor_time(&self) -> Result<Duration> {
        let path = format!("/proc/{}/stat", self.child.id());
        let text = fs::read_to_string(&path).context(path)?;
        // After the name, which is in brackets: user and system time are the 12th and 13th fields.
        let ticks = text.rsplit_once(')').into_iter().flat_map(|(_, rest)| {
            let fields = rest.split_whitespace().skip(11).take(2);
            fields.filter_map(|field| field.parse::<u64>().ok())
        });
        let seconds = ticks.sum::<u64>() as f64 / clock_ticks_per_second() as f64;
        Ok(Duration::from_secs_f64(seconds))
    }
}

type Maker = fn(String) -> Event;

fn asked(line: String) -> Event {
    Event::Asked(line)
}

fn qmp(line: String) -> Event {
    Event::Qmp(serde_json::from_str(&line).unwrap_or_default())
}

/// Accepts QEMU's connection and reads from it.
fn listen(name: &'static str, listener: &UnixListener, make: Maker, to: &Sender<Event>) {
    let Ok((line, _)) = listener.accept() else { return };
    let Ok(back) = line.try_clone() else { return };
    let _ = to.send(Event::Open(name, back));
    for line in BufReader::new(line).lines().map_while(|line| line.ok()) {
        if to.send(make(line)).is_err() {
            return;
        }
    }
}

/// Destination of a script's output and of the guest's console.
pub fn logs(command: &mut Command, dir: &Path) -> Result<()> {
    for (name, file) in [("out", "out.log"), ("console", "console.log")] {
        let path = dir.join(file);
        File::create(&path).with_context(|| path.display().to_string())?;
        command.arg("-chardev").arg(format!("file,id={name},path={}", path.display()));
    }
    command.args(["-serial", "chardev:console"]).stdin(Stdio::null()).stdout(Stdio::null());
    Ok(())
}

/// Connects the console to this terminal, for a shell.
pub fn terminal(command: &mut Command) {
    command.args(["-chardev", "null,id=out", "-serial", "mon:stdio"]);
    command.stdin(Stdio::inherit());
}
