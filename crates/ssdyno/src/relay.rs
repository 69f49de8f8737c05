//! Shows a run in a thread of its own, so that the measuring thread never waits for a terminal or a
//! pipe. Events that do not fit into the queue are counted and lost; only a virtual drive, whose
//! time does not pass meanwhile, waits for its place in the queue.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lab::{Event, Recorded, Watcher};
use record::Run;

use crate::failure::IO;
use crate::interrupt::SCREEN_THREAD;
use crate::live::Live;
use crate::screen;

/// Messages in the queue: the events of a quarter of an hour.
const QUEUE: usize = 10_000;

/// Time for the last messages once the user has asked the run to end.
const INTERRUPTED_MAX: Duration = Duration::from_millis(300);

/// Time to show a run whose drive does not answer.
const GIVE_UP_MAX: Duration = Duration::from_secs(10);

const STEP: Duration = Duration::from_millis(1);

enum Message {
    Event(Box<Event>),
    Measured(Box<Run>),
    Warning(String),
    StoreNotice(String),
    GiveUp(Box<Recorded>),
}

/// The measuring thread's end of the queue.
pub struct Relay {
    queue: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<()>>,
    interrupt: Arc<AtomicBool>,
    /// Results are shown during the run.
    draws: bool,
    /// Results are in the queue; newer ones are not added.
    has_results: Arc<AtomicBool>,
    is_virtual: bool,
    lost: u64,
}

impl Relay {
    /// Starts the thread. Without one, the measuring thread shows the run itself.
    pub fn start(live: Live, interrupt: &Arc<AtomicBool>) -> Box<dyn Watcher> {
        let (queue, messages) = sync_channel(QUEUE);
        let has_results = Arc::new(AtomicBool::new(false));
        let mut relay = Relay {
            queue: Some(queue),
            thread: None,
            interrupt: Arc::clone(interrupt),
            draws: !live.bar().is_hidden(),
            has_results: Arc::clone(&has_results),
            is_virtual: live.is_simulated(),
            lost: 0,
        };
        let (sender, receiver) = sync_channel::<Live>(1);
        let screen = thread::Builder::new().name(SCREEN_THREAD.into()).spawn(move || {
            if let Ok(live) = receiver.recv() {
                show(live, &messages, &has_results);
            }
        });
        match screen {
            Ok(thread) => {
                relay.thread = Some(thread);
                // The thread waits for it.
                let _ = sender.send(live);
                Box::new(relay)
            }
            Err(_) => Box::new(live),
        }
    }

    /// Queues a message, unless its reader is too slow; returns whether it is queued.
    fn send(&mut self, mut message: Message) -> bool {
        let Some(queue) = &self.queue else { return false };
        loop {
            let waits = self.is_virtual && !self.interrupt.load(Ordering::Relaxed);
            match queue.try_send(message) {
                Err(TrySendError::Full(back)) if waits => message = back,
                Err(TrySendError::Full(_)) => {
                    self.lost += 1;
                    return false;
                }
                Ok(()) | Err(TrySendError::Disconnected(_)) => return true,
            }
            thread::sleep(STEP);
        }
    }

    /// Waits until the thread has ended, or `is_over` after this time.
    fn wait(&self, mut is_over: impl FnMut(Duration) -> bool) {
        let start = Instant::now();
        let Some(thread) = &self.thread else { return };
        while !thread.is_finished() && !is_over(start.elapsed()) {
            thread::sleep(STEP);
        }
    }
}

impl Watcher for Relay {
    fn event(&mut self, event: &Event) {
        self.send(Message::Event(Box::new(event.clone())));
    }

    fn measured(&mut self, run: &Run) {
        if self.draws && !self.has_results.swap(true, Ordering::Relaxed) {
            let is_queued = self.send(Message::Measured(Box::new(run.clone())));
            // A lost message must not hide the next one.
            self.has_results.fetch_and(is_queued, Ordering::Relaxed);
        }
    }

    fn warn(&mut self, line: &str) {
        self.send(Message::Warning(line.to_string()));
    }

    fn notice_store(&mut self, line: &str) {
        self.send(Message::StoreNotice(line.to_string()));
    }

    fn give_up(&mut self, recorded: Recorded) -> ! {
        self.send(Message::GiveUp(Box::new(recorded)));
        self.wait(|waited| waited >= GIVE_UP_MAX);
        process::exit(i32::from(IO));
    }
}

impl Drop for Relay {
    /// Waits until everything is shown, or the user does not want to see it.
    fn drop(&mut self) {
        self.queue = None;
        let mut interrupted = None;
        self.wait(|waited| {
            if self.interrupt.load(Ordering::Relaxed) {
                interrupted.get_or_insert(waited);
            }
            interrupted.is_some_and(|since| waited - since >= INTERRUPTED_MAX)
        });
        if self.lost > 0 {
            let count = self.lost;
            screen::say(&format!(
                "ssdyno: {count} events are not shown: their reader was too slow"
            ));
        }
    }
}

fn show(mut live: Live, messages: &Receiver<Message>, has_results: &AtomicBool) {
    for message in messages {
        match message {
            Message::Event(event) => live.event(&event),
            Message::Measured(run) => {
                has_results.store(false, Ordering::Relaxed);
                live.measured(&run);
            }
            Message::Warning(line) => live.warn(&line),
            Message::StoreNotice(line) => live.notice_store(&line),
            Message::GiveUp(recorded) => live.give_up(*recorded),
        }
    }
}
