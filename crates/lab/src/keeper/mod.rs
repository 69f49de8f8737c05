//! The keeper of a run's record, which alone touches the store.
//!
//! The measuring thread puts points and results into a mailbox and never waits. A second thread
//! takes them to a desk, where they are stored. Questions about earlier runs and the finished record
//! are waited for, but not for long, and hardly at all once the user has asked the run to end.
//!
//! The command answers at a desk in a process of its own ([`use_process`]): the kernel may hold a
//! thread that waits for a file system whose server has stopped, and no process can end with such a
//! thread. Tests and other programs answer in the second thread.

mod desk;
mod mailbox;
mod message;
#[cfg_attr(not(target_os = "linux"), path = "../elsewhere/process.rs")]
mod process;
mod records;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use record::{Run, Series, State, Target, TargetKind};
use rules::Neighbour;

use self::desk::StoreDesk;
pub use self::desk::serve;
use self::mailbox::{Mailbox, Parcel};
use self::message::{Desk, Question, Reply};
pub(crate) use self::message::{Earlier, SeriesPoint, Wanted};
use self::process::Process;
use crate::error::{ErrorKind, LabError, Result};

/// Longest wait for a reply: twice the time for which the store itself waits for another writer.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// Longest wait for what only makes a plan better.
const PLAN_SILENCE_MAX: Duration = Duration::from_millis(500);

/// Longest wait after the user has asked the run to end, which takes two seconds at most.
const INTERRUPTED_MAX: Duration = Duration::from_millis(1000);

/// A wait that the user is told about.
const NOTICED: Duration = Duration::from_secs(2);

/// Results are stored again after this many times the time that the last storing took, at most
/// [`PAUSE_MAX`]: the record of hundreds of short steps then costs a fiftieth of their time, not more
/// than they do.
const PAUSE: u32 = 50;
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Interval between looks at the user's interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Longest wait for the process to close the store and end.
const END_MAX: Duration = Duration::from_secs(2);
const END_STEP: Duration = Duration::from_millis(1);

/// The argument that turns this program into the keeper's process.
static WORD: OnceLock<&str> = OnceLock::new();

/// Makes every later run keep its record in a process of its own: this program, started with
/// `word`, must call [`serve`].
pub fn use_process(word: &'static str) {
    // Later calls have no effect.
    let _ = WORD.set(word);
}

/// The keeper of one run.
pub(crate) struct Keeper {
    mailbox: Arc<Mailbox>,
    thread: Option<JoinHandle<()>>,
    process: Option<Process>,
    interrupt: Arc<AtomicBool>,
    store: PathBuf,
    /// Whether points wait for their place: a virtual drive's time does not pass meanwhile.
    is_virtual: bool,
    /// The store has been given up.
    is_abandoned: AtomicBool,
}

impl Keeper {
    /// Enters a run into the store at this path, or the default one, and completes its number and
    /// the id of this machine.
    pub(crate) fn begin(
        store: Option<&Path>,
        run: &mut Run,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<Keeper> {
        let is_virtual = run.target.kind == TargetKind::Virtual;
        let mut keeper = Keeper::start(store, interrupt, is_virtual)?;
        let pid = std::process::id();
        let store = store.map(|path| path.as_os_str().to_owned());
        let begin = Question::Begin { store, run: Box::new(run.clone()), pid };
        if let Reply::Begun { number, machine_id, store } = keeper.ask(begin, &mut |_| {})? {
            (run.number, run.environment.machine_id) = (Some(number), machine_id);
            keeper.store = store.into();
        }
        Ok(keeper)
    }

    /// Starts the process, or a thread, that answers questions about this store.
    fn start(
        store: Option<&Path>,
        interrupt: &Arc<AtomicBool>,
        is_virtual: bool,
    ) -> Result<Keeper> {
        let mailbox = Arc::new(Mailbox::default());
        let process = WORD.get();
        let process =
            process.map(|word| process::start(word, &mailbox, Box::new(StoreDesk::default())));
        // Without a process, a thread has to do.
        let (desk, process): (Box<dyn Desk>, _) = match process {
            Some(Ok((desk, process))) => (desk, Some(process)),
            Some(Err(_)) | None => (Box::new(StoreDesk::default()), None),
        };
        let own_mailbox = Arc::clone(&mailbox);
        let thread = thread::Builder::new().name("store".into());
        let thread = thread.spawn(move || carry(&own_mailbox, desk));
        let thread = thread.map_err(|e| {
            LabError::new(ErrorKind::Io, format!("cannot start a thread for the store: {e}"))
        })?;
        Ok(Keeper {
            mailbox,
            thread: Some(thread),
            process,
            interrupt: Arc::clone(interrupt),
            store: store.map_or_else(|| store::default_path().unwrap_or_default(), Path::to_owned),
            is_virtual,
            is_abandoned: AtomicBool::new(false),
        })
    }

    pub(crate) fn store(&self) -> &Path {
        &self.store
    }

    /// Whether the user has asked the run to end.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Leaves a point to be stored.
    pub(crate) fn append(&self, point: SeriesPoint) {
        while self.is_virtual && self.mailbox.is_full() && !self.is_interrupted() {
            thread::sleep(END_STEP);
        }
        self.mailbox.add(point);
    }

    /// Leaves the results so far to be stored; they replace those that still wait.
    pub(crate) fn update(&self, run: &Run) {
        self.mailbox.replace(run.clone());
    }

    /// The first failure to store what was left; once.
    pub(crate) fn trouble(&self) -> Option<LabError> {
        self.mailbox.trouble()
    }

    /// The state in which earlier runs left the drive, and the start of the run that left it.
    pub(crate) fn state_before(&self, target: &Target) -> Option<(State, String)> {
        let question = Question::StateBefore(Box::new(target.clone()));
        match self.ask(question, &mut |_| {}) {
            Ok(Reply::StateBefore(state)) => state,
            _ => None,
        }
    }

    /// Drives measured on the port of the run's drive by the same method.
    pub(crate) fn neighbours(&self, run: &Run) -> Vec<Neighbour> {
        let (protocol, environment) = (run.protocol, run.environment.clone());
        let run = Run { protocol, environment, ..Run::new(&run.method, run.target.clone()) };
        match self.ask(Question::Neighbours(Box::new(run)), &mut |_| {}) {
            Ok(Reply::Neighbours(all)) => {
                all.into_iter().map(|(model, rates)| Neighbour { model, rates }).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What earlier runs say about this one; `None` if the store does not tell. With `foresee`, the
    /// intervals for the next run.
    pub(crate) fn earlier(&self, run: &Run, foresee: bool) -> Option<Earlier> {
        let run = Box::new(Run { series: Vec::new(), ..run.clone() });
        match self.ask(Question::Earlier { run, foresee }, &mut |_| {}) {
            Ok(Reply::Earlier(earlier)) => Some(*earlier),
            _ => None,
        }
    }

    /// The series stored so far.
    pub(crate) fn series(&self) -> Option<Vec<Series>> {
        match self.ask(Question::Series, &mut |_| {}) {
            Ok(Reply::Series(series)) => Some(series),
            _ => None,
        }
    }

    /// Stores the complete record. Calls `say` with a line if that takes long.
    pub(crate) fn finish(&self, run: &Run, say: &mut dyn FnMut(&str)) -> Result<()> {
        self.ask(Question::Finish(Box::new(run.clone())), say).map(drop)
    }

    /// Waits for a reply, as long as the user and the store permit.
    fn ask(&self, question: Question, say: &mut dyn FnMut(&str)) -> Result<Reply> {
        self.ask_within(SILENCE_MAX, question, say)
    }

    /// The same, at most for this long.
    fn ask_within(
        &self,
        silence_max: Duration,
        question: Question,
        say: &mut dyn FnMut(&str),
    ) -> Result<Reply> {
        let start = Instant::now();
        let (mut interrupted, mut has_said) = (None, false);
        let is_beginning = matches!(question, Question::Begin { .. });
        if !self.mailbox.ask(question) {
            return Err(self.silence(None));
        }
        loop {
            if let Some(reply) = self.mailbox.reply(LOOK_EVERY) {
                return reply;
            }
            let now = Instant::now();
            if self.is_interrupted() {
                interrupted.get_or_insert(now);
            }
            let is_over = interrupted.is_some_and(|since| now - since >= INTERRUPTED_MAX);
            if is_over && is_beginning {
                self.abandon();
                return Err(LabError::new(ErrorKind::Interrupted, "interrupted"));
            }
            let last_sign = self.mailbox.last_sign().map_or(start, |sign| sign.max(start));
            if is_over || last_sign.elapsed() >= silence_max {
                self.abandon();
                return Err(self.silence(Some(start.elapsed())));
            }
            if start.elapsed() >= NOTICED && !has_said {
                has_said = true;
                say(&format!("waiting for the store {}", self.store.display()));
            }
        }
    }

    /// Gives the store up.
    fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Relaxed);
        self.mailbox.close();
        self.process.iter().for_each(process::kill);
    }

    fn silence(&self, waited: Option<Duration>) -> LabError {
        let store = self.store.display();
        let text = match waited {
            Some(time) => {
                format!("{store}: the store did not answer for {:.1} s", time.as_secs_f64())
            }
            None => format!("{store}: the store does not answer"),
        };
        LabError::new(ErrorKind::Io, text).advise("--store FILE keeps runs elsewhere")
    }
}

impl Drop for Keeper {
    /// Lets the keeper store what was left and close the store, unless that takes long.
    fn drop(&mut self) {
        self.mailbox.close();
        let thread = self.thread.take().filter(|_| !self.is_abandoned.load(Ordering::Relaxed));
        let Some(thread) = thread else { return };
        let limit = if self.is_interrupted() { INTERRUPTED_MAX / 2 } else { END_MAX };
        let end = Instant::now() + limit;
        while !thread.is_finished()
            || self.process.as_ref().is_some_and(|process| !process::has_ended(process))
        {
            if Instant::now() >= end {
                self.process.iter().for_each(process::kill);
                return;
            }
            thread::sleep(END_STEP);
        }
    }
}

/// Records in the store at this path, or the default one, read by a keeper without a run.
pub(crate) fn records(store: Option<&Path>, wanted: Wanted) -> Result<Vec<Run>> {
    let keeper = Keeper::start(store, &Arc::default(), false)?;
    let store = store.map(|path| path.as_os_str().to_owned());
    match keeper.ask(Question::Records { store, wanted }, &mut |_| {})? {
        Reply::Records(runs) => Ok(runs),
        _ => Ok(Vec::new()),
    }
}

/// The newest complete record of a method on a drive, with these options or any, if a store tells
/// at once.
pub(crate) fn latest(
    store: Option<&Path>,
    target: &Target,
    method: &str,
    options: Option<&BTreeMap<String, String>>,
) -> Option<Run> {
    let keeper = Keeper::start(store, &Arc::default(), false).ok()?;
    let question = Question::Records {
        store: store.map(|path| path.as_os_str().to_owned()),
        wanted: Wanted::Latest {
            target: Box::new(target.clone()),
            method: method.to_string(),
            options: options.cloned(),
        },
    };
    match keeper.ask_within(PLAN_SILENCE_MAX, question, &mut |_| {}) {
        Ok(Reply::Records(mut runs)) => runs.pop(),
        _ => None,
    }
}

/// Takes parcels to the desk until the mailbox is closed and empty.
fn carry(mailbox: &Mailbox, mut desk: Box<dyn Desk>) {
    let mut next_update = Instant::now();
    while let Some(parcel) = mailbox.take(next_update) {
        match parcel {
            Parcel::Points(points) => mailbox.note(desk.answer(Question::Append(points))),
            Parcel::Results(run) => {
                let start = Instant::now();
                mailbox.note(desk.answer(Question::Update(run)));
                next_update = Instant::now() + (start.elapsed() * PAUSE).min(PAUSE_MAX);
            }
            Parcel::Asked(question) => mailbox.put_reply(desk.answer(question)),
        }
    }
}
