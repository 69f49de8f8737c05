//! The queue of the block interface: a thread that transfers a caller's bytes through a backend.
//!
//! It works on any device, because it needs only a [`Backend`], which belongs to one thread.
//! Requests arrive through a channel and are returned with their bytes. A request is split into
//! parts of [`PART`] bytes, each in a slot of the backend, so that it can have any length.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rig::{BackendKind, BlockDone, BlockRequest, BlockWay, Issue};
use workload::{Mix, Op, OpKind, Pattern, Region, Workload};

use crate::backend::{Backend, Completion, Wait};
use crate::clock::Clock;
use crate::device::{AnyDevice, IoAsk, UseBackend};

/// Bytes of a part: large enough for the full speed of any drive with few parts in flight.
const PART: u32 = 256 << 10;

/// Maximum number of slots, and of requests in flight: 16 MiB of buffers.
const SLOTS: u32 = 64;

/// How long to wait for a completion before checking for new requests, nanoseconds. It doubles
/// while neither arrives, so that a slow drive costs little processor time.
const LOOK_NS: std::ops::Range<u64> = 20_000..1_000_000;

/// The open queue of a device.
pub(crate) struct Door {
    /// `None` once it is closed.
    requests: Option<Sender<BlockRequest>>,
    results: Receiver<BlockDone>,
    thread: Option<JoinHandle<()>>,
    depth: u32,
    in_flight: u32,
}

impl Door {
    /// Opens a queue. Times are nanoseconds since `origin_ns` on the clock.
    pub(crate) fn open(
        device: Arc<AnyDevice>,
        kind: BackendKind,
        clock: Clock,
        origin_ns: u64,
    ) -> io::Result<Door> {
        let (requests, submitted) = channel();
        let (sender, results) = channel();
        let (ready, opened) = channel();
        let thread = std::thread::Builder::new().spawn(move || {
            let region = Region::first(u64::from(PART));
            let mix = Mix::read_percent(50);
            let workload = Workload {
                depth: SLOTS,
                ..Workload::new("blocks", Pattern::Sequential, mix, PART, region)
            };
            let issue = Issue::default();
            let ask = IoAsk { kind, workload: &workload, issue: &issue, clock };
            device.io(
                &ask,
                Ok(()),
                Serve { requests: submitted, results: sender, ready, origin_ns },
            );
        })?;
        let depth = opened.recv().unwrap_or_else(|_| Err(ended()))?;
        Ok(Door { requests: Some(requests), results, thread: Some(thread), depth, in_flight: 0 })
    }

    /// Maximum requests in flight.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// Requests submitted and not yet taken.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Submits a request.
    pub(crate) fn submit(&mut self, request: BlockRequest) -> io::Result<()> {
        let result = self.requests.as_ref().map(|requests| requests.send(request));
        match result {
            Some(Ok(())) => {
                self.in_flight += 1;
                Ok(())
            }
            _ => Err(ended()),
        }
    }

    /// Takes a completed request, waiting up to `patience`; `None` after that time.
    pub(crate) fn take(&mut self, patience: Duration) -> io::Result<Option<BlockDone>> {
        match self.results.recv_timeout(patience) {
            Ok(done) => {
                self.in_flight -= 1;
                Ok(Some(done))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
        }
    }
}

/// Waits until the requests in flight have completed, because the device must be free afterwards.
impl Drop for Door {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panic is a bug of ours, and its message has been printed.
            let _ = thread.join();
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("the queue of the block interface has ended")
}

/// The thread's state while it waits for its backend.
struct Serve {
    requests: Receiver<BlockRequest>,
    results: Sender<BlockDone>,
    ready: Sender<io::Result<u32>>,
    origin_ns: u64,
}

impl UseBackend for Serve {
    type Out = ();

    fn with<B: Backend>(self, backend: io::Result<B>) {
        let Serve { requests, results, ready, origin_ns } = self;
        let depth = backend.as_ref().map(|backend| backend.depth_max().min(SLOTS));
        let answer = depth.map_err(|e| io::Error::new(e.kind(), e.to_string()));
        let Ok(depth) = answer else {
            let _ = ready.send(answer);
            return;
        };
        let Ok(backend) = backend else { return };
        if ready.send(Ok(depth)).is_err() {
            return;
        }
        let slots = (0..depth).map(|_| None).collect();
        let free = (0..depth).rev().collect();
        let open = (0..SLOTS).map(|_| None).collect();
        let queue = Queue {
            backend,
            results,
            origin_ns,
            slots,
            free,
            open,
            waiting: VecDeque::new(),
            count: 0,
        };
        queue.serve(&requests);
    }
}

/// A part of a request in a slot.
#[derive(Clone, Copy)]
struct RequestPart {
    /// The request, as an index into [`Queue::open`].
    request: usize,
    /// First byte within the request.
    from: usize,
    bytes: u32,
}

/// A request with outstanding parts.
struct Open {
    done: BlockDone,
    left: usize,
}

struct Queue<B> {
    backend: B,
    results: Sender<BlockDone>,
    origin_ns: u64,
    /// The part in each slot.
    slots: Vec<Option<RequestPart>>,
    free: Vec<u32>,
    open: Vec<Option<Open>>,
    waiting: VecDeque<RequestPart>,
    /// Number of open requests.
    count: usize,
}

impl<B: Backend> Queue<B> {
    /// Carries out requests until the channel is closed and none is left.
    fn serve(mut self, requests: &Receiver<BlockRequest>) {
        let mut completions = Vec::new();
        let mut look_ns = LOOK_NS.start;
        loop {
            let before = self.count;
            if self.count == 0 {
                let Ok(request) = requests.recv() else { return };
                self.begin(request);
            }
            while self.count < self.open.len()
                && let Ok(request) = requests.try_recv()
            {
                self.begin(request);
            }
            self.push();
            let wait = if self.free.len() < self.slots.len() {
                Wait::Until(self.backend.now() + look_ns)
            } else {
                Wait::No
            };
            if let Err(error) = self.backend.turn(wait, &mut completions) {
                return self.fail(&error);
            }
            let quiet = completions.is_empty() && self.count == before;
            look_ns = if quiet { (look_ns * 2).min(LOOK_NS.end) } else { LOOK_NS.start };
            completions.drain(..).for_each(|completion| self.complete(completion));
        }
    }

    fn time(&self) -> u64 {
        self.backend.now().saturating_sub(self.origin_ns)
    }

    /// Accepts a request and splits it into parts.
    fn begin(&mut self, request: BlockRequest) {
        let now = self.time();
        let length = request.bytes.len();
        let completion = BlockDone { request, submitted_ns: now, done_ns: now, result: Ok(()) };
        if length == 0 && completion.request.way != BlockWay::Flush {
            // Cannot fail: `Door` joins this thread before it drops the receiver.
            let _ = self.results.send(completion);
            return;
        }
        let Some(place) = self.open.iter().position(Option::is_none) else { return };
        // A flush is one part without bytes.
        let parts = (0..length.max(1)).step_by(PART as usize).map(|from| {
            let bytes = (length - from).min(PART as usize) as u32;
            RequestPart { request: place, from, bytes }
        });
        self.waiting.extend(parts);
        self.open[place] =
            Some(Open { done: completion, left: length.div_ceil(PART as usize).max(1) });
        self.count += 1;
    }

    /// Queues waiting parts on free slots.
    fn push(&mut self) {
        while !self.waiting.is_empty()
            && let Some(slot) = self.free.pop()
            && let Some(part) = self.waiting.pop_front()
        {
            let Some(open) = &self.open[part.request] else { continue };
            let request = &open.done.request;
            let kind = match request.way {
                BlockWay::Read => OpKind::Read,
                BlockWay::Write => {
                    let bytes = &request.bytes[part.from..][..part.bytes as usize];
                    self.backend.buffer(slot, part.bytes).copy_from_slice(bytes);
                    OpKind::Write
                }
                BlockWay::Flush => OpKind::Flush,
            };
            let offset = request.offset + part.from as u64;
            self.slots[slot as usize] = Some(part);
            self.backend.push(slot, Op { kind, offset, bytes: part.bytes });
        }
    }

    /// Records the result of a part, and returns the request to the caller after its last part.
    fn complete(&mut self, Completion { slot, result }: Completion) {
        self.free.push(slot);
        let Some(part) = self.slots[slot as usize].take() else { return };
        let now = self.time();
        let Some(open) = &mut self.open[part.request] else { return };
        let BlockDone { request, result: outcome, done_ns, .. } = &mut open.done;
        if outcome.is_ok() {
            *outcome = moved(result, part.bytes);
        }
        if request.way == BlockWay::Read && outcome.is_ok() {
            let bytes = &mut request.bytes[part.from..][..part.bytes as usize];
            bytes.copy_from_slice(self.backend.buffer(slot, part.bytes));
        }
        *done_ns = now;
        open.left -= 1;
        if open.left == 0
            && let Some(open) = self.open[part.request].take()
        {
            self.count -= 1;
            let _ = self.results.send(open.done);
        }
    }

    /// Fails every open request. The queue then ends.
    fn fail(&mut self, error: &io::Error) {
        for open in self.open.drain(..).flatten() {
            let result = Err(io::Error::new(error.kind(), error.to_string()));
            let _ = self.results.send(BlockDone { result, ..open.done });
        }
    }
}

/// The result of a transfer of `bytes` bytes.
fn moved(result: i64, bytes: u32) -> io::Result<()> {
    match result {
        _ if result == i64::from(bytes) => Ok(()),
        error if error < 0 => Err(io::Error::from_raw_os_error(-error as i32)),
        short => Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("only {short} of {bytes} bytes were transferred"),
        )),
    }
}
