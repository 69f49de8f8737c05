//! Reads the blocks of an image: one thread reads, another inflates and checks, and the caller
//! writes.
//!
//! The threads run a few blocks ahead and wait if the caller is slow. Each measures its working
//! time without its waiting time, to find the slowest of the three.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use methods::{BlockSource, ImageBlock, ImageFile, Spent};

use super::format::{HEADER, Head, ImageError, RECORD, Record, head, record};
use crate::error::{LabError, Result};

/// Maximum number of blocks that a thread is ahead of the next one.
const AHEAD: usize = 8;

/// An image with a parsed header.
#[derive(Clone, Debug)]
pub struct ImageOnDisk {
    path: PathBuf,
    head: Head,
}

impl ImageOnDisk {
    /// Opens an image and reads its header.
    pub fn open(path: &Path) -> Result<ImageOnDisk> {
        let advice = "an image as made by `ssdyno image make SOURCE IMAGE`";
        let usage_error = |why: String| {
            LabError::usage(format!("--image {}: {why}", path.display())).advise(advice)
        };
        let mut bytes = Vec::with_capacity(HEADER);
        let file = File::open(path).map_err(|error| usage_error(error.to_string()))?;
        file.take(HEADER as u64)
            .read_to_end(&mut bytes)
            .map_err(|error| usage_error(error.to_string()))?;
        let head = head(&bytes).map_err(|error| usage_error(error.to_string()))?;
        Ok(ImageOnDisk { path: path.to_path_buf(), head })
    }
}

impl ImageFile for ImageOnDisk {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn bytes(&self) -> u64 {
        self.head.bytes
    }

    fn open(&self) -> std::result::Result<Box<dyn BlockSource>, String> {
        let file = File::open(&self.path).map_err(|error| error.to_string())?;
        Ok(Box::new(Blocks::start(file, self.head).map_err(|error| error.to_string())?))
    }
}

/// Working times of the threads so far.
#[derive(Default)]
struct Work {
    image_bytes: AtomicU64,
    source_ns: AtomicU64,
    processor_ns: AtomicU64,
}

impl Work {
    fn add(counter: &AtomicU64, begun: Instant) {
        counter.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }
}

type Stored = std::result::Result<(u64, Record, Vec<u8>), String>;
type Checked = std::result::Result<ImageBlock, String>;

/// The blocks supplied by the threads.
struct Blocks {
    checked: Receiver<Checked>,
    work: Arc<Work>,
    begun: Instant,
}

impl Blocks {
    fn start(file: File, head: Head) -> std::io::Result<Blocks> {
        let work = Arc::new(Work::default());
        let (to_inflate, stored) = sync_channel(AHEAD);
        let (to_write, checked) = sync_channel(AHEAD);
        let reading = Reading { file, head, at: 0, work: Arc::clone(&work) };
        std::thread::Builder::new().spawn(move || reading.run(&to_inflate))?;
        let inflating = Arc::clone(&work);
        std::thread::Builder::new().spawn(move || inflate(head, &stored, &to_write, &inflating))?;
        Ok(Blocks { checked, work, begun: Instant::now() })
    }
}

impl BlockSource for Blocks {
    fn next_block(&mut self) -> std::result::Result<Option<ImageBlock>, String> {
        self.checked.recv().ok().transpose()
    }

    fn spent(&self) -> Spent {
        Spent {
            image_bytes: self.work.image_bytes.load(Ordering::Relaxed),
            source_ns: self.work.source_ns.load(Ordering::Relaxed),
            processor_ns: self.work.processor_ns.load(Ordering::Relaxed),
            elapsed_ns: self.begun.elapsed().as_nanos() as u64,
        }
    }
}

/// The reading thread.
struct Reading {
    file: File,
    head: Head,
    at: u64,
    work: Arc<Work>,
}

impl Reading {
    /// Reads records until the last one, a defect, or a closed channel.
    fn run(mut self, out: &SyncSender<Stored>) {
        let header = self.take(HEADER, 0).map(drop);
        for block in 0..self.head.blocks() {
            let record = header.clone().and_then(|()| self.record(block));
            let is_broken = record.is_err();
            if out.send(record).is_err() || is_broken {
                return;
            }
        }
    }

    fn record(&mut self, block: u64) -> Stored {
        let offset = self.at;
        let bytes = self.take(RECORD, block)?;
        let record =
            record(&bytes, &self.head, block, offset).map_err(|error| error.to_string())?;
        let stored = self.take(record.stored as usize, block)?;
        Ok((block, record, stored))
    }

    fn take(&mut self, length: usize, block: u64) -> std::result::Result<Vec<u8>, String> {
        let start = Instant::now();
        let mut bytes = vec![0; length];
        let result = self.file.read_exact(&mut bytes);
        Work::add(&self.work.source_ns, start);
        result.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => {
                let blocks = self.head.blocks();
                ImageError::Ends { block, blocks, at: self.at }.to_string()
            }
            _ => error.to_string(),
        })?;
        self.at += length as u64;
        self.work.image_bytes.fetch_add(length as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// The thread that inflates and checks blocks.
fn inflate(head: Head, stored: &Receiver<Stored>, out: &SyncSender<Checked>, work: &Work) {
    for record in stored {
        let start = Instant::now();
        let checked = record.and_then(|(block, record, stored)| {
            let bytes = record.content(&stored).map_err(|error| error.to_string())?;
            Ok(ImageBlock { offset: head.place(block).0, bytes })
        });
        Work::add(&work.processor_ns, start);
        let is_broken = checked.is_err();
        if out.send(checked).is_err() || is_broken {
            return;
        }
    }
}
