//! Writes and reads back every word of the first 8 MiB, in requests of several sizes.

use core::sync::atomic::Ordering::Relaxed;

use nvme::{DmaMap, IoRequest, RequestKind};

use crate::{Drive, Failure, REQUEST_BYTES, SLOTS};

/// Sizes of the requests, each used once on every slot: two need no PRP list, one needs a list of
/// one page, and the largest can need several commands.
const SIZES: [usize; 4] = [4096, 8192, 64 << 10, REQUEST_BYTES];

/// The mark's `round`, which no check uses.
const MARK: u32 = 7;

/// Writes and reads back; every word depends on its position.
pub fn writes_read_back(drive: &mut Drive) -> Result<(), Failure> {
    for (round, bytes) in SIZES.into_iter().enumerate() {
        let step = (SLOTS * bytes) as u64;
        if step > drive.bytes {
            continue;
        }
        fill(drive, bytes, round as u32);
        on_every_slot(
            drive,
            if round % 2 == 1 { RequestKind::WriteThrough } else { RequestKind::Write },
            bytes,
        )?;
        wipe(drive, bytes);
        on_every_slot(drive, RequestKind::Read, bytes)?;
        if !matches(drive, bytes, round as u32) {
            return Err(Failure::Drive("data read back differ from the data written"));
        }
    }
    crate::say(format_args!("# read back: ok"));
    Ok(())
}

/// Leaves a mark at the start of the drive. Other programs can compute the mark and check it.
pub fn leave_mark(drive: &mut Drive) -> Result<(), Failure> {
    fill(drive, 4096, MARK);
    on_every_slot(drive, RequestKind::WriteThrough, 4096)
}

fn word(slot: usize, i: usize, round: u32) -> u32 {
    ((slot as u32).wrapping_mul(0x0100_0193) ^ i as u32).wrapping_mul(0x9e37_79b1) ^ round
}

fn first_word(drive: &Drive, slot: usize) -> usize {
    (drive.data_at + slot * REQUEST_BYTES) / 4
}

fn fill(drive: &Drive, bytes: usize, round: u32) {
    let words = drive.queue.memory().words();
    for slot in 0..SLOTS {
        let at = first_word(drive, slot);
        (0..bytes / 4).for_each(|i| words[at + i].store(word(slot, i, round), Relaxed));
    }
}

fn wipe(drive: &Drive, bytes: usize) {
    let words = drive.queue.memory().words();
    for slot in 0..SLOTS {
        let at = first_word(drive, slot);
        words[at..at + bytes / 4].iter().for_each(|word| word.store(0, Relaxed));
    }
}

fn matches(drive: &Drive, bytes: usize, round: u32) -> bool {
    let words = drive.queue.memory().words();
    (0..SLOTS).all(|slot| {
        let at = first_word(drive, slot);
        (0..bytes / 4).all(|i| words[at + i].load(Relaxed) == word(slot, i, round))
    })
}

/// Issues a request on every slot, to consecutive places on the drive, and waits for all of them.
fn on_every_slot(drive: &mut Drive, kind: RequestKind, bytes: usize) -> Result<(), Failure> {
    let blocks = (bytes >> drive.place.block_bits) as u32;
    for slot in 0..SLOTS {
        let at = drive.data_at + slot * REQUEST_BYTES;
        let lba = slot as u64 * u64::from(blocks);
        let request = IoRequest { kind, place: drive.place, lba, blocks, at };
        drive.queue.push(slot, &request).map_err(|_| Failure::Drive("the queue is full"))?;
    }
    drive.queue.ring();
    let (mut ended, mut ok) = (0, true);
    while ended < SLOTS {
        drive.queue.poll(|completed| {
            ended += 1;
            ok &= completed.status.is_ok();
        });
        if drive.queue.overdue().is_some() {
            return Err(Failure::Drive("the drive does not answer"));
        }
    }
    if ok { Ok(()) } else { Err(Failure::Drive("a request failed")) }
}
