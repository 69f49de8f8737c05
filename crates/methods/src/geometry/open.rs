//! Open erase blocks: how many blocks can be written in turn without making the drive copy data.

use rig::BlockWay;
use workload::{Content, Filler, Permutation};

use super::{Found, OPEN_LINEAR, OPEN_RANDOM};
use script::whole::Whole;
use script::{Bulk, Result, Session, timed_write};

/// Bytes per write.
const CHUNK: u64 = 64 << 10;

/// Number of timed writes to each block, after an untimed first one that opens it.
const TURNS: u64 = 8;

/// Maximum number of blocks tried.
const MOST: u32 = 32;

/// Too many blocks are open if writes take more than this many times as long as to one block.
const TOO_MANY: f64 = 2.0;

/// Maximum bytes written in each of the two searches.
const BYTES_MAX: u64 = 96 << 20;

/// Maximum duration of each search, seconds.
const SECONDS_MAX: f64 = 240.0;

/// Number of blocks that stay open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Open {
    /// This many; 0 if random writes to even a single block make the drive copy data.
    Exactly(u32),
    /// This many or more; the search ended there.
    AtLeast(u32),
}

/// Searches twice: with sequential, then with random writes. Does nothing if the erase block is
/// unknown.
pub(super) fn search(
    session: &mut Session<'_>,
    whole: &Whole,
    erase: Option<u64>,
    found: &mut Found,
) -> Result<()> {
    let names = [OPEN_LINEAR, OPEN_RANDOM].map(|metric| metric.name);
    let mut single = None;
    for (index, name) in names.into_iter().enumerate() {
        session.step(name, 0);
        let bytes = BYTES_MAX.min(whole.bytes());
        let bulk = [Bulk::new(BlockWay::Write, whole.test_region.region(), bytes)];
        let open = session.transfer(name, &bulk, |session| {
            let Some(erase) = erase else { return Ok(None) };
            let mut writer = Writer::new(session, whole, erase, index == 1);
            let base = match single {
                Some(base) => base,
                None => *single.insert(writer.each_ns(session, 1)?.unwrap_or(f64::INFINITY)),
            };
            writer.search(session, base)
        })?;
        found.open[index] = open.flatten();
    }
    Ok(())
}

/// Writes to erase blocks in turn.
struct Writer {
    erase: u64,
    /// First erase block used, and the number of blocks. They span the second half of the region,
    /// which contains no FAT zone.
    begin: u64,
    blocks: u64,
    random: bool,
    /// The next block to use, relative to `begin`.
    next: u64,
    written: u64,
    most: u64,
    began_ns: u64,
    filler: Filler,
    seed: u64,
}

impl Writer {
    fn new(session: &mut Session<'_>, whole: &Whole, erase: u64, random: bool) -> Writer {
        let seed = whole.test_region.seed_of(20 + u32::from(random));
        let blocks = whole.bytes() / erase;
        Writer {
            erase,
            begin: blocks / 2,
            blocks: blocks - blocks / 2,
            random,
            next: 0,
            written: 0,
            most: BYTES_MAX.min(whole.bytes()),
            began_ns: session.elapsed_ns(),
            filler: Filler::new(Content::Random, seed),
            seed,
        }
    }

    /// Doubles the number of blocks until it is too high, then bisects.
    fn search(&mut self, session: &mut Session<'_>, base: f64) -> Result<Option<Open>> {
        let (mut good, mut bad) = (0, None);
        let mut count = 1;
        loop {
            let Some(write_ns) = self.each_ns(session, count)? else {
                let most = if bad.is_none() { Some(Open::AtLeast(good)) } else { None };
                return Ok(most.filter(|_| good > 0));
            };
            if write_ns > TOO_MANY * base {
                bad = Some(count)
            } else {
                good = count
            }
            count = match bad {
                None if good >= MOST => return Ok(Some(Open::AtLeast(good))),
                None => good * 2,
                Some(bad) if bad - good <= 1 => return Ok(Some(Open::Exactly(good))),
                Some(bad) => good + (bad - good) / 2,
            };
        }
    }

    /// Mean time of a write to `count` blocks in turn, nanoseconds; `None` if the region is too
    /// small or a limit on bytes or time is reached.
    fn each_ns(&mut self, session: &mut Session<'_>, count: u32) -> Result<Option<f64>> {
        let bytes = u64::from(count) * (TURNS + 1) * CHUNK;
        let elapsed = (session.elapsed_ns() - self.began_ns) as f64 / 1e9;
        let room = u64::from(count) <= self.blocks && (TURNS + 1) * CHUNK <= self.erase;
        if !room || self.written + bytes > self.most || elapsed > SECONDS_MAX {
            return Ok(None);
        }
        let first = self.begin + self.next;
        self.next = (self.next + u64::from(count)) % (self.blocks - u64::from(count) + 1);
        let slots = Permutation::new(self.erase / CHUNK, self.seed ^ first);
        let mut start_ns = 0;
        for turn in 0..=TURNS {
            for block in 0..u64::from(count) {
                let slot = if self.random { slots.get(turn) } else { turn };
                let offset = (first + block) * self.erase + slot * CHUNK;
                timed_write(session, &self.filler, offset, CHUNK)?;
            }
            if turn == 0 {
                session.flush()?;
                start_ns = session.elapsed_ns();
            }
        }
        session.flush()?;
        self.written += bytes;
        let ns = session.elapsed_ns().saturating_sub(start_ns) as f64;
        Ok(Some(ns / (u64::from(count) * TURNS) as f64))
    }
}
