//! One recording: frames from a camera, with or without a file system, and their completion times.
//!
//! The camera is simulated: it captures each frame on schedule, whether or not the drive is ready,
//! and frames wait in an unlimited buffer. The losses of a limited buffer are computed afterwards.

use std::time::Duration;

use fat::{Recorder, RecorderStep};
use rig::{BlockDone, BlockRequest, BlockWay, RigError};
use workload::{Content, Filler};

use super::door::{Door, Tally, Traffic, succeeded};
use script::whole::DEPTH;
use script::{MethodError, Result, Session};

/// Memory lent to a recorder, bytes: the size of its longest metadata write.
const ROOM: usize = 512 << 10;

/// Destination of the frames.
pub(super) enum Sink {
    /// Sequentially from the start of the target.
    Plain(Plain),
    /// Through a file system.
    Files(Box<Recorder>),
}

/// Frames without a file system of this program.
pub(super) struct Plain {
    /// Exclusive end, in bytes.
    pub end: u64,
    /// Sector size, bytes.
    pub unit: u64,
    /// Bytes between two flushes.
    pub flush_every: Option<u64>,
    /// Offset of the next byte.
    pub next: u64,
    /// Offset of the first byte that is not flushed.
    pub flushed: u64,
}

/// The frames of a recording.
pub(crate) struct Take {
    /// Frame size, bytes.
    pub frame_bytes: u64,
    /// Maximum number of frames.
    pub frames: u64,
    /// Bytes per second; `None` for the maximum rate.
    pub rate: Option<f64>,
    /// Sector size and bytes of the volume.
    pub volume: (u32, u64),
    /// Seed of the content.
    pub seed: u64,
}

/// A completed recording.
#[derive(Default)]
pub(crate) struct Taken {
    /// Completion time of each frame, in frame order, nanoseconds from the start.
    pub done_ns: Vec<u64>,
    /// Total size of the frames, bytes.
    pub bytes: u64,
    /// Time from the start to the end of the flush after the last frame.
    pub elapsed_ns: u64,
    /// Metadata commands of the recording.
    pub tally: Tally,
    /// Start on the rig's clock.
    pub start_ns: u64,
}

/// Requests in flight, and free buffers.
struct Flight {
    traffic: Traffic,
    /// Number of parts of frames in flight.
    count: u32,
    done: Vec<BlockDone>,
    spare: Vec<Vec<u8>>,
    filler: Filler,
}

impl Take {
    /// Capture time of a frame, nanoseconds from the start.
    pub fn due_ns(&self, number: u64) -> u64 {
        let period = self.rate.map_or(0.0, |rate| self.frame_bytes as f64 / rate * 1e9);
        ((number + 1) as f64 * period) as u64
    }

    /// Records until the frames or the space run out.
    pub(super) fn run(&self, session: &mut Session<'_>, sink: &mut Sink) -> Result<Taken> {
        let depth = DEPTH.min(session.queue_depth()?);
        let start_ns = session.elapsed_ns();
        let mut recording = Taken { start_ns, ..Taken::default() };
        let mut flight = Flight {
            traffic: Traffic::default(),
            count: 0,
            done: Vec::new(),
            spare: Vec::new(),
            filler: Filler::new(Content::Random, self.seed),
        };
        let mut room = vec![0; ROOM];
        for frame in 0..self.frames {
            self.wait_until(session, start_ns + self.due_ns(frame))?;
            if !self.frame(session, sink, (frame, depth), &mut flight, &mut recording, &mut room)? {
                break;
            }
        }
        while flight.count > 0 {
            self.collect(session, true, &mut flight, &mut recording)?;
        }
        // Data in the drive's volatile buffer do not yet count as recorded.
        let mut door = Door::new(session, self.volume, &mut flight.traffic);
        fat::SectorDrive::flush(&mut door)?;
        recording.tally = flight.traffic.tally;
        recording.elapsed_ns = session.elapsed_ns() - start_ns;
        Ok(recording)
    }

    fn wait_until(&self, session: &mut Session<'_>, due_ns: u64) -> Result<()> {
        let now = session.elapsed_ns();
        if self.rate.is_some() && now < due_ns {
            session.idle(Duration::from_nanos(due_ns - now))?;
        }
        Ok(())
    }

    /// Submits a frame. Returns false at the end of the space.
    fn frame(
        &self,
        session: &mut Session<'_>,
        sink: &mut Sink,
        (frame, depth): (u64, u32),
        flight: &mut Flight,
        recording: &mut Taken,
        room: &mut [u8],
    ) -> Result<bool> {
        let mut left = self.frame_bytes;
        while left > 0 {
            match sink.place(left) {
                RecorderStep::Sync => {
                    let has_begun = !recording.done_ns.is_empty() || left < self.frame_bytes;
                    let mut door = Door::new(session, self.volume, &mut flight.traffic);
                    let goes_on = sink.sync(&mut door, room)?;
                    flight.done.append(&mut door.into_done());
                    if !goes_on {
                        // An incomplete frame does not count.
                        return Ok(false);
                    }
                    flight.traffic.tally.waits += u64::from(has_begun);
                }
                RecorderStep::Write { sector, bytes } => {
                    self.collect(session, flight.count >= depth, flight, recording)?;
                    let offset = sector * u64::from(self.volume.0);
                    flight.submit(session, frame, offset, bytes)?;
                    left -= bytes;
                    let mut door = Door::new(session, self.volume, &mut flight.traffic);
                    sink.advance(&mut door, room)?;
                }
            }
        }
        recording.bytes += self.frame_bytes;
        recording.done_ns.push(0);
        Ok(true)
    }

    /// Collects completed requests.
    fn collect(
        &self,
        session: &mut Session<'_>,
        wait: bool,
        flight: &mut Flight,
        recording: &mut Taken,
    ) -> Result<()> {
        let mut completed = std::mem::take(&mut flight.done);
        loop {
            session.poll(wait && completed.is_empty(), &mut completed)?;
            let before = flight.count;
            for one in completed.drain(..) {
                succeeded(&one)?;
                if let Some(frame) = flight.traffic.end(one.request.tag) {
                    flight.count -= 1;
                    flight.complete(one, frame, recording);
                }
            }
            // If only metadata completed, keep waiting for a frame.
            if !wait || flight.count < before || flight.count == 0 {
                break;
            }
        }
        flight.done = completed;
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
    ) -> Result<()> {
        let length = length as usize;
        let bytes = match self.spare.iter().position(|spare| spare.len() == length) {
            Some(place) => self.spare.swap_remove(place),
            None => {
                let mut bytes = vec![0; length];
                self.filler.fill(&mut bytes, frame);
                bytes
            }
        };
        self.count += 1;
        let tag = self.traffic.begin(Some(frame));
        let request = BlockRequest { tag, way: BlockWay::Write, offset, bytes };
        session.submit_unique(request, &mut self.filler)
    }

    /// Records the completion time of a frame, which is that of its last part.
    fn complete(&mut self, one: BlockDone, frame: u64, recording: &mut Taken) {
        let after_ns = one.done_ns.saturating_sub(recording.start_ns);
        if let Some(done_ns) = recording.done_ns.get_mut(frame as usize) {
            *done_ns = after_ns.max(*done_ns);
        }
        self.spare.push(one.request.bytes);
    }
}

impl Sink {
    fn place(&mut self, bytes: u64) -> RecorderStep {
        match self {
            Sink::Files(recorder) => recorder.place(bytes),
            Sink::Plain(plain) => {
                let after = plain.next + bytes;
                let due = plain.flush_every.is_some_and(|every| after - plain.flushed > every);
                if after > plain.end || (due && plain.next > plain.flushed) {
                    return RecorderStep::Sync;
                }
                let step = RecorderStep::Write { sector: plain.next / plain.unit, bytes };
                plain.next = after;
                step
            }
        }
    }

    /// Lets the file system work on its metadata, without waiting.
    fn advance(&mut self, door: &mut Door<'_, '_>, room: &mut [u8]) -> Result<()> {
        match self {
            Sink::Files(recorder) => recorder.advance(door, room).map_err(of_fat),
            Sink::Plain(_) => Ok(()),
        }
    }

    /// Makes the frames so far durable. Returns false at the end of the space.
    fn sync(&mut self, door: &mut Door<'_, '_>, room: &mut [u8]) -> Result<bool> {
        match self {
            Sink::Files(recorder) => match recorder.sync(door, room) {
                Ok(()) => Ok(true),
                Err(fat::Error::Full | fat::Error::DirectoryFull) => Ok(false),
                Err(error) => Err(of_fat(error)),
            },
            Sink::Plain(plain) => {
                let goes_on = plain.flush_every.is_some() && plain.next != plain.flushed;
                fat::SectorDrive::flush(door)?;
                plain.flushed = plain.next;
                Ok(goes_on)
            }
        }
    }
}

/// Converts an error of the file system.
pub(super) fn of_fat(error: fat::Error<MethodError>) -> MethodError {
    match error {
        fat::Error::Drive(error) => error,
        other => RigError::Unsupported(other.to_string()).into(),
    }
}
