//! `restore`: how long does it take to write an image, and what bounds it? (fs-update of Open Firmware)
//!
//! The image comes as checked blocks from a [`BlockSource`], which reads, inflates and checks on threads
//! of its own while this method writes. A block is written only after it was checked, in the order
//! of the image: of a broken image nothing is written from the broken block on. The format is not
//! known here.

mod source;
mod summary;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use record::{MetricKey, Safety, State, TargetKind, Unit};
use rig::{BlockRequest, BlockWay, Fault, Preparation, RigError, TargetInfo};
use workload::units::binary;
use workload::{Content, Region};

use crate::session::Session;
use crate::{Method, MethodError, MethodInfo, MetricInfo, Opt, Options};

use source::Generated;
pub use source::{BlockSource, ImageBlock, ImageFile, Spent};

/// Default duration in seconds, on a card of Class 6.
const SECONDS: f64 = 15.0;

/// Requests in flight.
const DEPTH: usize = 8;

/// The method.
pub(crate) struct Restore;

/// The image to write.
#[derive(Clone, Default)]
pub enum Image {
    /// Blocks made by the method.
    #[default]
    Generated,
    /// A file by its name, which is still to be opened.
    Named(String),
    /// An opened file.
    Opened(Arc<dyn ImageFile>),
}

/// `--image`: a program replaces the name by the opened file.
pub static IMAGE: Opt<Image> = Opt::value(
    "image",
    "FILE",
    "image to write, as made by `ssdyno image make`; generated blocks by default",
    |words| Ok(Image::Named(words[0].clone())),
    Image::default,
);

static INFO: MethodInfo = MethodInfo {
    name: "restore",
    summary: "how fast is an image written, and why",
    about: "Writes an image that `ssdyno image make` made: compressed blocks of 1 MiB, each with a checksum. \
            Reading, inflating, checking and writing overlap, with 8 blocks in flight, and the flush is in \
            the time. A block is written only after it was checked: of a broken image nothing is written \
            from the broken block on. The rates of the source, of the processor and of the writes are those \
            of each while it works; the slowest one bounds. Without --image, generated blocks are written, \
            64 MiB of them or --size, and only the writes have a rate. On a device the first bytes are overwritten; in a \
            directory a scratch file is written.",
    safety: Safety::Destroys,
    seconds: SECONDS,
    writes: "the image, 64 MiB or --size",
    options: &[&IMAGE],
    primary: &["restore-time", "restore-{source,processor,write}"],
    metrics: &[&METRICS],
    answer: summary::answer,
    ..MethodInfo::EMPTY
};

const METRICS: [MetricInfo; 6] = [
    MetricInfo::new(
        "restore-time",
        Unit::Nanoseconds,
        "from the first read to the end of the flush",
    ),
    MetricInfo::new("restore-rate", Unit::BytesPerSecond, "bytes of the target over that time"),
    MetricInfo::new("restore-written", Unit::Bytes, "bytes written to the target"),
    MetricInfo::new(
        "restore-{source,processor,write}",
        Unit::BytesPerSecond,
        "bytes of the target over the time in which that part worked",
    ),
    MetricInfo::new("restore-image", Unit::Bytes, "bytes of the image that were read"),
    MetricInfo::new("restore-image.ratio", Unit::Number, "bytes of the image over bytes written"),
];

impl Method for Restore {
    fn info(&self) -> &'static MethodInfo {
        &INFO
    }

    fn run(&self, session: &mut Session<'_>, options: &Options) -> Result<(), MethodError> {
        session.declare(&INFO);
        session.conclude(Vec::new());
        let file: Arc<dyn ImageFile> = match options.get(&IMAGE) {
            Image::Opened(file) => file,
            Image::Generated => Arc::new(Generated::new(options, session.target().bytes)),
            Image::Named(name) => {
                return Err(RigError::usage(
                    format!("the image {name} was not opened"),
                    "a program opens it before the run",
                )
                .into());
            }
        };
        admit(session.target(), file.bytes())?;
        restore(session, file.as_ref())
    }
}

/// A user's device or file is written only if it was given away, and the image must fit.
fn admit(target: &TargetInfo, bytes: u64) -> Result<(), MethodError> {
    let spec = &target.target.spec;
    let users = matches!(target.target.kind, TargetKind::File | TargetKind::Device);
    if users && target.allowed < Safety::Destroys {
        return Err(RigError::Target {
            fault: Fault::Refused,
            text: format!("restore overwrites {spec}, which was not given away"),
            advice: Some("--destroy with its serial number, or its size if it is a file".into()),
        }
        .into());
    }
    if bytes > target.bytes {
        let (image, room) = (binary(bytes), binary(target.bytes));
        let advice = match target.target.kind {
            TargetKind::Directory => format!("--size {} gives the scratch file room", bytes),
            _ => "a larger drive".to_string(),
        };
        let text = format!("the image needs {image}, and {spec} has {room}");
        return Err(RigError::usage(text, advice).into());
    }
    Ok(())
}

/// What was moved so far.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    written: u64,
    /// Nanoseconds in which at least one write was in flight.
    busy_ns: u64,
    /// End of the last write counted in `busy_ns`.
    until_ns: u64,
}

impl Moved {
    fn add(&mut self, one: &rig::BlockDone) {
        self.written += one.request.bytes.len() as u64;
        let from = one.submitted_ns.max(self.until_ns);
        self.busy_ns += one.done_ns.saturating_sub(from);
        self.until_ns = self.until_ns.max(one.done_ns);
    }
}

fn restore(session: &mut Session<'_>, file: &dyn ImageFile) -> Result<(), MethodError> {
    session.step("restore", 0);
    if session.target().target.kind != TargetKind::Directory {
        session.out.state_after = State::Used;
    }
    if session.plans() {
        let region = Region::first(file.written());
        session.rig().prepare(Preparation::Fill { region, content: Content::Random, seed: 1 })?;
        return Ok(());
    }
    let begun_ns = session.rig().elapsed_ns();
    let mut source = file.open().map_err(|error| broken(file, &error))?;
    let (mut moved, mut done, mut flight) = (Moved::default(), Vec::new(), 0);
    let mut error = None;
    loop {
        let block = match source.next_block() {
            Ok(block) => block,
            Err(why) => {
                error = Some(broken(file, &why));
                None
            }
        };
        let last = block.is_none();
        if let Some(ImageBlock { offset, bytes }) = block {
            let request = BlockRequest { tag: offset, way: BlockWay::Write, offset, bytes };
            session.rig().blocks()?.submit(request)?;
            flight += 1;
        }
        while flight > 0 && (last || flight >= DEPTH) {
            session.rig().blocks()?.poll(true, &mut done)?;
            flight -= done.len();
            for one in done.drain(..) {
                moved.add(&one);
                let at = one.request.offset;
                one.result
                    .map_err(|source| RigError::Io { context: format!("write at {at}"), source })?;
            }
        }
        let share = moved.written as f64 / file.written().max(1) as f64;
        session.rig().note(rig::Event::Progress { name: "restore".into(), done: share.min(1.0) });
        if last {
            break;
        }
    }
    let before_flush = session.rig().elapsed_ns();
    session.rig().blocks()?.flush()?;
    let end_ns = session.rig().elapsed_ns();
    moved.busy_ns += end_ns.saturating_sub(before_flush);
    publish(session, &moved, source.spent(), end_ns.saturating_sub(begun_ns));
    match error {
        Some(error) => Err(error),
        None => {
            session.conclude(vec![summary::verdict(&session.out)]);
            session.checkpoint();
            Ok(())
        }
    }
}

fn publish(session: &mut Session<'_>, moved: &Moved, spent: Spent, elapsed_ns: u64) {
    let written = moved.written as f64;
    let rate = |ns: u64| (ns > 0 && written > 0.0).then(|| written * 1e9 / ns as f64);
    // Time in which the source or the processor were slower than the writes is on their own clock.
    let elapsed_ns = elapsed_ns.max(spent.elapsed_ns);
    let mut put = |name: &str, unit, value| session.put(MetricKey::parse(name), unit, value);
    put("restore-time", Unit::Nanoseconds, Some(elapsed_ns as f64));
    put("restore-rate", Unit::BytesPerSecond, rate(elapsed_ns));
    put("restore-written", Unit::Bytes, Some(written));
    put("restore-write", Unit::BytesPerSecond, rate(moved.busy_ns));
    put("restore-source", Unit::BytesPerSecond, rate(spent.source_ns));
    put("restore-processor", Unit::BytesPerSecond, rate(spent.processor_ns));
    let image = Some(spent.image_bytes as f64).filter(|bytes| *bytes > 0.0);
    put("restore-image", Unit::Bytes, image);
    put("restore-image.ratio", Unit::Number, image.filter(|_| written > 0.0).map(|b| b / written));
}

/// A broken image: the place is in the reason.
fn broken(file: &dyn ImageFile, why: &str) -> MethodError {
    RigError::Target {
        fault: Fault::Usage,
        text: format!("{}: {why}", file.name()),
        advice: Some("make the image again, or copy it again".into()),
    }
    .into()
}
