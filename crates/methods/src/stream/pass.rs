//! One recording: frames from a camera into a file system, or past it, with the time each was done.
//!
//! The camera is simulated: a frame is captured at its time, whether or not the drive is ready, and
//! waits in a buffer without limit. What a limited buffer would have lost is computed afterwards.

use std::collections::VecDeque;
use std::time::Duration;

use fat::{Recorder, Step};
use rig::{BlockDone, BlockRequest, BlockWay, RigError};
use workload::{Content, Filler};

use super::door::{Door, METADATA, Tally, succeeded};
use crate::MethodError;
use crate::session::Session;
use crate::whole::DEPTH;

/// Memory lent to a recorder: the longest write of metadata.
const ROOM: usize = 512 << 10;

/// Where the frames go.
pub(super) enum Sink {
    /// In order from the start of the target.
    Plain(Plain),
    /// Through a file system.
    Files(Box<Recorder>),
}

/// Frames without a file system of ours.
pub(super) struct Plain {
    /// Exclusive end, in bytes.
    pub end: u64,
    /// Bytes of a sector.
    pub unit: u64,
    /// A flush after so many bytes.
    pub flush_every: Option<u64>,
    /// The next byte, and the first that is not flushed.
    pub next: u64,
    pub flushed: u64,
}

/// The frames of a recording.
pub(crate) struct Take {
    /// Bytes of a frame.
    pub frame_bytes: u64,
    /// Most frames.
    pub frames: u64,
    /// Bytes per second; `None`: as fast as it goes.
    pub rate: Option<f64>,
    /// Sector size and bytes of the volume.
    pub volume: (u32, u64),
    /// Seed of the content.
    pub seed: u64,
}

/// A recording that was made.
#[derive(Default)]
pub(crate) struct Taken {
    /// Completion of each frame, nanoseconds from the start, in their order.
    pub done_ns: Vec<u64>,
    /// Bytes of frames.
    pub bytes: u64,
    /// From the start to the end of the last frame, or the flush after it.
    pub elapsed_ns: u64,
    /// Metadata between the first frame and the last.
    pub tally: Tally,
    /// Start on the rig's clock.
    pub start_ns: u64,
}

/// Parts of frames in flight, and memory that is free.
struct Flight {
    /// Frame and parts left, in the order of the frames.
    open: VecDeque<(u64, u32)>,
    count: u32,
    done: Vec<BlockDone>,
    spare: Vec<Vec<u8>>,
    filler: Filler,
}

impl Take {
    /// When a frame is captured, nanoseconds from the start.
    pub fn due_ns(&self, number: u64) -> u64 {
        let period = self.rate.map_or(0.0, |rate| self.frame_bytes as f64 / rate * 1e9);
        ((number + 1) as f64 * period) as u64
    }

    /// Records until the frames or the space end.
    pub(super) fn run(
        &self,
        session: &mut Session<'_>,
        sink: &mut Sink,
    ) -> Result<Taken, MethodError> {
        let depth = DEPTH.min(session.rig().blocks()?.depth()?);
        let start_ns = session.rig().elapsed_ns();
        let mut taken = Taken { start_ns, ..Taken::default() };
        let mut flight = Flight {
            open: VecDeque::new(),
            count: 0,
            done: Vec::new(),
            spare: Vec::new(),
            filler: Filler::new(Content::Random, self.seed),
        };
        let mut room = vec![0; ROOM];
        for frame in 0..self.frames {
            self.wait_until(session, start_ns + self.due_ns(frame))?;
            if !self.frame(session, sink, (frame, depth), &mut flight, &mut taken, &mut room)? {
                break;
            }
        }
        while flight.count > 0 {
            self.collect(session, true, &mut flight, &mut taken)?;
        }
        // Data that are only in the drive's buffer are not recorded yet.
        let mut door = Door::new(session.rig().blocks()?, self.volume, &mut taken.tally);
        fat::Drive::flush(&mut door)?;
        taken.elapsed_ns = session.rig().elapsed_ns() - start_ns;
        Ok(taken)
    }

    fn wait_until(&self, session: &mut Session<'_>, due_ns: u64) -> Result<(), MethodError> {
        let now = session.rig().elapsed_ns();
        if self.rate.is_some() && now < due_ns {
            session.rig().idle(Duration::from_nanos(due_ns - now))?;
        }
        Ok(())
    }

    /// Submits a frame; false where the space ends.
    fn frame(
        &self,
        session: &mut Session<'_>,
        sink: &mut Sink,
        (frame, depth): (u64, u32),
        flight: &mut Flight,
        taken: &mut Taken,
        room: &mut [u8],
    ) -> Result<bool, MethodError> {
        let mut left = self.frame_bytes;
        while left > 0 {
            match sink.place(left) {
                Step::Sync => {
                    let mut door =
                        Door::new(session.rig().blocks()?, self.volume, &mut taken.tally);
                    let goes_on = sink.sync(&mut door, room)?;
                    flight.done.append(&mut door.into_done());
                    if !goes_on {
                        // A part of a frame is no frame.
                        flight.open.retain(|(number, _)| *number != frame);
                        return Ok(false);
                    }
                }
                Step::Write { sector, bytes } => {
                    self.collect(session, flight.count >= depth, flight, taken)?;
                    let offset = sector * u64::from(self.volume.0);
                    flight.submit(session, frame, offset, bytes)?;
                    left -= bytes;
                }
            }
        }
        taken.bytes += self.frame_bytes;
        taken.done_ns.push(0);
        Ok(true)
    }

    /// Takes what was completed.
    fn collect(
        &self,
        session: &mut Session<'_>,
        wait: bool,
        flight: &mut Flight,
        taken: &mut Taken,
    ) -> Result<(), MethodError> {
        let mut done = std::mem::take(&mut flight.done);
        loop {
            session.rig().blocks()?.poll(wait && done.is_empty(), &mut done)?;
            let before = flight.count;
            for one in done.drain(..) {
                succeeded(&one)?;
                if one.request.tag != METADATA {
                    flight.count -= 1;
                    flight.complete(one, taken);
                }
            }
            // Only metadata were completed: a frame is still awaited.
            if !wait || flight.count < before || flight.count == 0 {
                break;
            }
        }
        flight.done = done;
        Ok(())
    }
}

impl Flight {
    fn submit(
        &mut self,
        session: &mut Session<'_>,
        frame: u64,
        offset: u64,
        length: u64,
    ) -> Result<(), MethodError> {
        let length = length as usize;
        let mut bytes = match self.spare.iter().position(|spare| spare.len() == length) {
            Some(place) => self.spare.swap_remove(place),
            None => {
                let mut bytes = vec![0; length];
                self.filler.fill(&mut bytes, frame);
                bytes
            }
        };
        self.filler.touch(&mut bytes, offset);
        match self.open.back_mut() {
            Some((number, parts)) if *number == frame => *parts += 1,
            _ => self.open.push_back((frame, 1)),
        }
        self.count += 1;
        let request = BlockRequest { tag: frame, way: BlockWay::Write, offset, bytes };
        Ok(session.rig().blocks()?.submit_unkept(request)?)
    }

    /// Notes when a frame was done: with its last part, and not before the frames ahead of it.
    fn complete(&mut self, one: BlockDone, taken: &mut Taken) {
        let at = one.done_ns.saturating_sub(taken.start_ns);
        if let Some((_, parts)) = self.open.iter_mut().find(|(frame, _)| *frame == one.request.tag)
        {
            *parts -= 1;
        }
        if let Some(done_ns) = taken.done_ns.get_mut(one.request.tag as usize) {
            *done_ns = at.max(*done_ns);
        }
        self.open.retain(|(_, parts)| *parts > 0);
        self.spare.push(one.request.bytes);
    }
}

impl Sink {
    fn place(&mut self, bytes: u64) -> Step {
        match self {
            Sink::Files(recorder) => recorder.place(bytes),
            Sink::Plain(plain) => {
                let after = plain.next + bytes;
                let due = plain.flush_every.is_some_and(|every| after - plain.flushed > every);
                if after > plain.end || (due && plain.next > plain.flushed) {
                    return Step::Sync;
                }
                let step = Step::Write { sector: plain.next / plain.unit, bytes };
                plain.next = after;
                step
            }
        }
    }

    /// Makes the frames so far durable; false at the end of the space.
    fn sync(&mut self, door: &mut Door<'_>, room: &mut [u8]) -> Result<bool, MethodError> {
        match self {
            Sink::Files(recorder) => match recorder.sync(door, room) {
                Ok(()) => Ok(true),
                Err(fat::Error::Full | fat::Error::DirectoryFull) => Ok(false),
                Err(error) => Err(of_fat(error).into()),
            },
            Sink::Plain(plain) => {
                let goes_on = plain.flush_every.is_some() && plain.next != plain.flushed;
                fat::Drive::flush(door)?;
                plain.flushed = plain.next;
                Ok(goes_on)
            }
        }
    }
}

/// An error of the file system.
pub(super) fn of_fat(error: fat::Error<RigError>) -> RigError {
    match error {
        fat::Error::Drive(error) => error,
        other => RigError::Unsupported(other.to_string()),
    }
}
