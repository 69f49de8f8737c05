//! The mailbox between a run and its keeper. It is bounded: points up to a number, the latest
//! results, and one question.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use record::Run;

use super::message::{Question, Reply, SeriesPoint};
use crate::error::{ErrorKind, LabError, Result};

/// Points that wait at most: those of an hour and a half.
const POINTS_MAX: usize = 50_000;

/// A message on its way to the desk.
pub(super) enum Parcel {
    /// Points of the series; nobody waits for the reply.
    Points(Vec<SeriesPoint>),
    /// The results so far; nobody waits for the reply.
    Results(Box<Run>),
    /// A question whose reply is waited for.
    Asked(Question),
}

#[derive(Default)]
pub(super) struct Mailbox {
    content: Mutex<Content>,
    changed: Condvar,
}

#[derive(Default)]
struct Content {
    points: Vec<SeriesPoint>,
    update: Option<Box<Run>>,
    question: Option<Question>,
    reply: Option<Result<Reply>>,
    trouble: Trouble,
    /// When the desk last replied.
    last_sign: Option<Instant>,
    is_closed: bool,
}

/// The first failure of the desk to store what was left.
#[derive(Default)]
enum Trouble {
    #[default]
    None,
    Unreported(LabError),
    Reported,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_full(&self) -> bool {
        let content = self.lock();
        content.points.len() >= POINTS_MAX && !content.is_closed
    }

    /// Leaves a point, or drops it if too many wait.
    pub(super) fn add(&self, point: SeriesPoint) {
        let mut content = self.lock();
        if content.points.len() < POINTS_MAX {
            content.points.push(point);
        } else {
            let text = format!("the store is too slow: {POINTS_MAX} intervals wait");
            content.trouble.note(LabError::new(ErrorKind::Io, text));
        }
        self.changed.notify_all();
    }

    /// Leaves results, in place of earlier ones.
    pub(super) fn replace(&self, run: Run) {
        self.lock().update = Some(Box::new(run));
        self.changed.notify_all();
    }

    /// Leaves a question; returns whether the mailbox is open.
    pub(super) fn ask(&self, question: Question) -> bool {
        let mut content = self.lock();
        if content.is_closed {
            return false;
        }
        if matches!(question, Question::Finish(_)) {
            // The record has them.
            content.update = None;
        }
        (content.question, content.reply) = (Some(question), None);
        self.changed.notify_all();
        true
    }

    /// Waits for the reply to the question.
    pub(super) fn reply(&self, timeout: Duration) -> Option<Result<Reply>> {
        let content = self.lock();
        let waited = self
            .changed
            .wait_timeout_while(content, timeout, |content: &mut Content| content.reply.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.reply.take()
    }

    pub(super) fn put_reply(&self, reply: Result<Reply>) {
        let mut content = self.lock();
        (content.reply, content.last_sign) = (Some(reply), Some(Instant::now()));
        self.changed.notify_all();
    }

    /// Notes the reply to what was left.
    pub(super) fn note(&self, reply: Result<Reply>) {
        let mut content = self.lock();
        content.last_sign = Some(Instant::now());
        if let Err(error) = reply {
            content.trouble.note(error);
        }
    }

    /// The first failure; once.
    pub(super) fn trouble(&self) -> Option<LabError> {
        let mut content = self.lock();
        match mem::take(&mut content.trouble) {
            Trouble::None => None,
            Trouble::Reported => {
                content.trouble = Trouble::Reported;
                None
            }
            Trouble::Unreported(error) => {
                content.trouble = Trouble::Reported;
                Some(error)
            }
        }
    }

    /// When the desk last replied.
    pub(super) fn last_sign(&self) -> Option<Instant> {
        self.lock().last_sign
    }

    /// Refuses questions from now on. What was left is still stored.
    pub(super) fn close(&self) {
        let mut content = self.lock();
        (content.is_closed, content.question) = (true, None);
        self.changed.notify_all();
    }

    /// Waits for the next parcel: points first, because the record is stored after its series, and
    /// results not before `next_update` unless the mailbox is closed. `None` once it is closed and
    /// empty.
    pub(super) fn take(&self, next_update: Instant) -> Option<Parcel> {
        let mut content = self.lock();
        loop {
            if !content.points.is_empty() {
                return Some(Parcel::Points(mem::take(&mut content.points)));
            }
            let pause = next_update.saturating_duration_since(Instant::now());
            if (pause.is_zero() || content.is_closed)
                && let Some(run) = content.update.take()
            {
                return Some(Parcel::Results(run));
            }
            if let Some(question) = content.question.take() {
                return Some(Parcel::Asked(question));
            }
            if content.is_closed {
                return None;
            }
            content = if content.update.is_some() {
                let waited = self.changed.wait_timeout(content, pause);
                waited.unwrap_or_else(PoisonError::into_inner).0
            } else {
                self.changed.wait(content).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }
}

impl Trouble {
    fn note(&mut self, error: LabError) {
        if matches!(self, Trouble::None) {
            *self = Trouble::Unreported(error);
        }
    }
}
