//! The programs: what happens at each event of a request's way.
//!
//! A thread's system call, the block layer's new request (`block_bio_queue`), its issue to the drive
//! (`block_rq_issue`), its completion (`block_rq_complete`), and the return of the thread's system
//! call that sees it. A request is known by its pointer: by that of its bio until it is issued, then
//! by its own; pointers are used again. A bio that may not wait fails where the block layer has no
//! room (`block_bio_complete`); `io_uring` then has a worker issue another one, which is known by its
//! place on the drive. Sums are kept for each direction; requests of other processes are counted by
//! name.

use rig::DividedTime;

use super::asm::{Alu, Assembler, Helper, If, Label, Reg, Size};
use super::btf::Types;
use super::maps::{
    FLUSH_ROW, METADATA_ROW, Maps, REQUESTS, SEEN_ROW, THREADS, class, issued, queued, refused,
    seen, sums, thread,
};

/// How a pointer is mixed into the number of a slot: its low bits are zeros, and 2^32 divided by the
/// golden ratio spreads neighbours (Knuth, The Art of Computer Programming, 6.4).
const POINTER_SHIFT: i32 = 6;
const MIXER: i32 = 0x61c8_8647;
const MIXED_SHIFT: i32 = 16;

/// Flags of a bio (include/linux/blk_types.h): metadata, and a flush before its data.
const METADATA: i32 = 1 << 12;
const FLUSH: i32 = 1 << 18;

/// The status of a bio that would have had to wait (`BLK_STS_AGAIN`, same file), and the flag of a
/// task that is a worker of `io_uring` (`PF_IO_WORKER`, include/linux/sched.h).
const AGAIN: i32 = 12;
const WORKER: i32 = 1 << 4;

/// Bits of a place below the sector: the direction, and what makes it no 0.
const SECTOR_SHIFT: i32 = 4;
const NOT_ZERO: i32 = 2;

/// Bits of a thread's completions below their number, and of the unit of their times.
const COUNT_SHIFT: i32 = 48;
const UNIT_SHIFT: i32 = 4;

/// Number of bytes of a process's name.
pub(super) const NAME_BYTES: usize = 16;

/// The process and the drive to follow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed {
    pub process: u32,
    pub disk: (u32, u32),
}

/// Where the kernel keeps what the programs read, in bytes from the start of each structure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offsets {
    bio_device: i16,
    bio_flags: i16,
    bio_bytes: i16,
    bio_sector: i16,
    bio_status: i16,
    bio_parent: i16,
    device_disk: i16,
    disk_major: i16,
    disk_minor: i16,
    request_bio: i16,
    task_flags: i16,
}

impl Offsets {
    /// `None` on kernels before Linux 5.12, whose bio has no block device.
    pub(super) fn new(types: &Types<'_>) -> Option<Offsets> {
        Some(Offsets {
            bio_device: types.offset("bio", "bi_bdev")?,
            bio_flags: types.offset("bio", "bi_opf")?,
            bio_bytes: types.offset("bio", "bi_iter")? + types.offset("bvec_iter", "bi_size")?,
            bio_sector: types.offset("bio", "bi_iter")? + types.offset("bvec_iter", "bi_sector")?,
            bio_status: types.offset("bio", "bi_status")?,
            bio_parent: types.offset("bio", "bi_private")?,
            device_disk: types.offset("block_device", "bd_disk")?,
            disk_major: types.offset("gendisk", "major")?,
            disk_minor: types.offset("gendisk", "first_minor")?,
            request_bio: types.offset("request", "bio")?,
            task_flags: types.offset("task_struct", "flags")?,
        })
    }
}

use Reg::{Frame, R0, R1, R2, R3, R4, R6, R7, R8, R9};
use Size::{Eight, Four, One};

/// Ends the program unless the current thread belongs to the process. Leaves its number at
/// `Frame + number`.
fn only_own_threads(a: &mut Assembler, process: u32, number: i16, end: Label) {
    a.call(Helper::CurrentThread);
    a.alu(Alu::Move, R6, R0);
    a.alu_number(Alu::ShiftRight, R6, 32);
    a.jump_if(If::NotEqual, R6, process as i32, end);
    a.store_number(Eight, Frame, number, 0);
    a.store(Four, Frame, number, R0);
}

/// R0 = the value of the key at `Frame + key`, or 0.
fn look_up(a: &mut Assembler, map: i32, key: i16) {
    a.load_map(R1, map);
    a.alu(Alu::Move, R2, Frame);
    a.alu_number(Alu::Add, R2, i32::from(key));
    a.call(Helper::MapLookup);
}

/// R0 = the slot of the thread whose number is at `Frame + number`. Uses `Frame + key`.
fn thread_slot(a: &mut Assembler, maps: &Maps, number: i16, key: i16, end: Label) {
    a.load(Four, R1, Frame, number);
    a.alu_number(Alu::And, R1, THREADS as i32 - 1);
    a.store(Four, Frame, key, R1);
    look_up(a, maps.threads, key);
    a.jump_if(If::Equal, R0, 0, end);
}

/// R0 = the slot of a pointer, or of a place. Uses `Frame + key`.
fn pointer_slot(a: &mut Assembler, map: i32, pointer: Reg, key: i16, end: Label) {
    // The verifier permits no arithmetic on pointers.
    a.lower_half(R1, pointer);
    a.alu_number(Alu::ShiftRight, R1, POINTER_SHIFT);
    a.alu_number(Alu::Multiply, R1, MIXER);
    a.alu_number(Alu::ShiftRight, R1, MIXED_SHIFT);
    a.alu_number(Alu::And, R1, REQUESTS as i32 - 1);
    a.store(Four, Frame, key, R1);
    look_up(a, map, key);
    a.jump_if(If::Equal, R0, 0, end);
}

/// A system call begins. One in so many is followed, as are all requests that it queues.
pub(super) fn call_begins(maps: &Maps, process: u32) -> Vec<u64> {
    let mut a = Assembler::default();
    let (end, same_thread, is_chosen) = (a.label(), a.label(), a.label());
    only_own_threads(&mut a, process, -8, end);
    thread_slot(&mut a, maps, -8, -12, end);
    a.alu(Alu::Move, R7, R0);
    a.load(Eight, R1, Frame, -8);
    a.load(Eight, R2, R7, thread::NUMBER);
    a.jump_if_reg(If::Equal, R1, R2, same_thread);
    a.store(Eight, R7, thread::NUMBER, R1);
    a.store_number(Eight, R7, thread::SKIPS, 0);
    a.store_number(Eight, R7, thread::COMPLETED, 0);
    a.bind(same_thread);
    a.load(Eight, R1, R7, thread::SKIPS);
    a.jump_if(If::Equal, R1, 0, is_chosen);
    a.alu_number(Alu::Subtract, R1, 1);
    a.store(Eight, R7, thread::SKIPS, R1);
    a.store_number(Eight, R7, thread::CALLED, 0);
    a.jump_if(If::NotEqual, R7, 0, end);
    a.bind(is_chosen);
    a.store_number(Four, Frame, -12, 0);
    look_up(&mut a, maps.mask, -12);
    a.jump_if(If::Equal, R0, 0, end);
    a.load(Eight, R8, R0, 0);
    a.call(Helper::Random);
    a.alu(Alu::And, R0, R8);
    a.store(Eight, R7, thread::SKIPS, R0);
    a.call(Helper::Time);
    a.store(Eight, R7, thread::CALLED, R0);
    a.exit(end);
    a.finish()
}

/// A system call returns: the thread sees what has completed since the last one.
pub(super) fn call_returns(maps: &Maps, process: u32) -> Vec<u64> {
    let mut a = Assembler::default();
    let end = a.label();
    only_own_threads(&mut a, process, -8, end);
    thread_slot(&mut a, maps, -8, -12, end);
    a.alu(Alu::Move, R7, R0);
    a.load(Eight, R1, Frame, -8);
    a.load(Eight, R2, R7, thread::NUMBER);
    a.jump_if_reg(If::NotEqual, R1, R2, end);
    a.load(Eight, R8, R7, thread::COMPLETED);
    a.jump_if(If::Equal, R8, 0, end);
    // Before the exchange: the first completion after it sets the time of another first.
    a.load(Eight, R6, R7, thread::FIRST);
    a.alu_number(Alu::Move, R8, 0);
    a.exchange(R7, thread::COMPLETED, R8);
    a.call(Helper::Time);
    a.alu(Alu::Subtract, R0, R6);
    a.alu(Alu::Move, R6, R0);
    a.alu(Alu::Move, R9, R8);
    a.alu_number(Alu::ShiftRight, R9, COUNT_SHIFT);
    // Number x time since the first completion, less the sum of the times of all since the first.
    a.alu(Alu::Multiply, R6, R9);
    a.alu_number(Alu::ShiftLeft, R8, 64 - COUNT_SHIFT);
    a.alu_number(Alu::ShiftRight, R8, 64 - COUNT_SHIFT - UNIT_SHIFT);
    // Processors need not agree to the nanosecond.
    let is_later = a.label();
    a.jump_if_reg(If::Greater, R6, R8, is_later);
    a.alu(Alu::Move, R8, R6);
    a.bind(is_later);
    a.alu(Alu::Subtract, R6, R8);
    a.store_number(Four, Frame, -12, SEEN_ROW);
    look_up(&mut a, maps.sums, -12);
    a.jump_if(If::Equal, R0, 0, end);
    a.add_atomically(R0, seen::COUNT, R9);
    a.add_atomically(R0, seen::TIME, R6);
    a.exit(end);
    a.finish()
}

/// Ends the program unless the bio at R7 is for the drive.
fn only_this_drive(a: &mut Assembler, at: &Offsets, of: Followed, end: Label) {
    a.load(Eight, R1, R7, at.bio_device);
    a.load(Eight, R1, R1, at.device_disk);
    a.load(Four, R2, R1, at.disk_major);
    a.jump_if(If::NotEqual, R2, of.disk.0 as i32, end);
    a.load(Four, R2, R1, at.disk_minor);
    a.jump_if(If::NotEqual, R2, of.disk.1 as i32, end);
}

/// R0 = the slot of the place of the bio at R7, whose direction is in R8; `place` = that place. Uses
/// `Frame - 4`.
fn place_slot(a: &mut Assembler, maps: &Maps, at: &Offsets, place: Reg, end: Label) {
    a.load(Eight, place, R7, at.bio_sector);
    a.alu_number(Alu::ShiftLeft, place, SECTOR_SHIFT);
    a.alu(Alu::Add, place, R8);
    a.alu_number(Alu::Add, place, NOT_ZERO);
    pointer_slot(a, maps.refused, place, -4, end);
}

/// The block layer gets a request.
pub(super) fn queues(maps: &Maps, at: &Offsets, of: Followed, argument: i16) -> Vec<u64> {
    let mut a = Assembler::default();
    let (end, foreign, data, counted) = (a.label(), a.label(), a.label(), a.label());
    let (by_caller, followed, unknown) = (a.label(), a.label(), a.label());
    a.load(Eight, R7, R1, 8 * argument);
    only_this_drive(&mut a, at, of, end);
    // An earlier request with this pointer was forgotten: a merge takes it along.
    pointer_slot(&mut a, maps.queued, R7, -4, end);
    a.load(Eight, R1, R0, queued::POINTER);
    a.jump_if_reg(If::NotEqual, R1, R7, unknown);
    a.store_number(Eight, R0, queued::POINTER, 0);
    a.bind(unknown);
    a.load(Four, R8, R7, at.bio_flags);
    a.load(Four, R9, R7, at.bio_bytes);
    a.call(Helper::CurrentThread);
    a.store_number(Eight, Frame, -16, 0);
    a.store(Four, Frame, -16, R0);
    a.alu_number(Alu::ShiftRight, R0, 32);
    a.jump_if(If::NotEqual, R0, of.process as i32, foreign);
    // R6 = its row, R8 = its operation: only reads and writes move data.
    a.alu(Alu::Move, R6, R8);
    a.alu_number(Alu::And, R8, 0xff);
    a.jump_if(If::Greater, R8, 1, end);
    a.jump_if(If::NotEqual, R9, 0, data);
    a.alu_number(Alu::And, R6, FLUSH);
    a.jump_if(If::Equal, R6, 0, end);
    a.alu_number(Alu::Move, R8, FLUSH_ROW);
    let count = a.label();
    a.jump_if(If::NotEqual, R8, 0, count);
    a.bind(data);
    a.alu_number(Alu::And, R6, METADATA);
    a.jump_if(If::Equal, R6, 0, count);
    a.alu_number(Alu::Add, R8, METADATA_ROW);
    a.bind(count);
    a.store(Four, Frame, -8, R8);
    look_up(&mut a, maps.sums, -8);
    a.jump_if(If::Equal, R0, 0, end);
    a.alu_number(Alu::Move, R1, 1);
    a.add_atomically(R0, sums::QUEUED, R1);
    a.add_atomically(R0, sums::QUEUED_BYTES, R9);
    a.jump_if(If::Greater, R8, 1, end);
    thread_slot(&mut a, maps, -16, -4, end);
    a.load(Eight, R9, R0, thread::CALLED);
    a.load(Eight, R1, Frame, -16);
    a.load(Eight, R2, R0, thread::NUMBER);
    a.jump_if_reg(If::Equal, R1, R2, by_caller);
    // A worker, which calls nothing, issues what was refused, for the thread that called.
    a.call(Helper::CurrentTask);
    a.load(Four, R1, R0, at.task_flags);
    a.alu_number(Alu::And, R1, WORKER);
    a.jump_if(If::Equal, R1, 0, end);
    place_slot(&mut a, maps, at, R6, end);
    a.load(Eight, R1, R0, refused::PLACE);
    a.jump_if_reg(If::NotEqual, R1, R6, end);
    a.store_number(Eight, R0, refused::PLACE, 0);
    a.load(Eight, R9, R0, refused::CALLED);
    a.load(Eight, R1, R0, refused::THREAD);
    a.store(Eight, Frame, -16, R1);
    a.jump_if(If::NotEqual, R7, 0, followed);
    a.bind(by_caller);
    a.jump_if(If::Equal, R9, 0, end);
    a.bind(followed);
    pointer_slot(&mut a, maps.queued, R7, -4, end);
    a.alu(Alu::Move, R6, R0);
    a.store(Eight, R6, queued::POINTER, R7);
    a.store(Eight, R6, queued::DIRECTION, R8);
    a.store_number(Eight, R6, queued::IS_ISSUED, 0);
    a.load(Eight, R1, Frame, -16);
    a.store(Eight, R6, queued::THREAD, R1);
    a.call(Helper::Time);
    a.store(Eight, R6, queued::AT, R0);
    a.alu(Alu::Subtract, R0, R9);
    a.store(Eight, R6, queued::HELD, R0);
    a.jump_if(If::NotEqual, R7, 0, counted);
    a.bind(foreign);
    count_other(&mut a, maps.others);
    a.bind(counted);
    a.exit(end);
    a.finish()
}

/// A bio ends: one that found no room did not reach the drive. It ends in its own submission, so the
/// current thread is the one that called.
pub(super) fn refuses(maps: &Maps, at: &Offsets, of: Followed, argument: i16) -> Vec<u64> {
    let mut a = Assembler::default();
    let end = a.label();
    a.load(Eight, R7, R1, 8 * argument);
    a.load(One, R1, R7, at.bio_status);
    a.jump_if(If::NotEqual, R1, AGAIN, end);
    only_this_drive(&mut a, at, of, end);
    a.call(Helper::CurrentThread);
    a.alu_number(Alu::ShiftRight, R0, 32);
    a.jump_if(If::NotEqual, R0, of.process as i32, end);
    a.load(Four, R8, R7, at.bio_flags);
    a.alu_number(Alu::And, R8, 0xff);
    a.jump_if(If::Greater, R8, 1, end);
    a.load(Four, R9, R7, at.bio_bytes);
    a.store(Four, Frame, -4, R8);
    look_up(&mut a, maps.sums, -4);
    a.jump_if(If::Equal, R0, 0, end);
    a.alu_number(Alu::Move, R1, -1);
    a.add_atomically(R0, sums::QUEUED, R1);
    a.alu(Alu::Multiply, R1, R9);
    a.add_atomically(R0, sums::QUEUED_BYTES, R1);
    pointer_slot(&mut a, maps.queued, R7, -4, end);
    a.load(Eight, R1, R0, queued::POINTER);
    a.jump_if_reg(If::NotEqual, R1, R7, end);
    a.store_number(Eight, R0, queued::POINTER, 0);
    a.alu(Alu::Move, R6, R0);
    place_slot(&mut a, maps, at, R9, end);
    a.store(Eight, R0, refused::PLACE, R9);
    a.load(Eight, R1, R6, queued::AT);
    a.load(Eight, R2, R6, queued::HELD);
    a.alu(Alu::Subtract, R1, R2);
    a.store(Eight, R0, refused::CALLED, R1);
    a.load(Eight, R1, R6, queued::THREAD);
    a.store(Eight, R0, refused::THREAD, R1);
    a.exit(end);
    a.finish()
}

/// Sets the value at `Frame + value` for the key at `Frame + key`.
fn update(a: &mut Assembler, map: i32, key: i16, value: i16) {
    a.load_map(R1, map);
    a.alu(Alu::Move, R2, Frame);
    a.alu_number(Alu::Add, R2, i32::from(key));
    a.alu(Alu::Move, R3, Frame);
    a.alu_number(Alu::Add, R3, i32::from(value));
    a.alu_number(Alu::Move, R4, 0);
    a.call(Helper::MapUpdate);
}

/// Counts a request of another process; R9 has its bytes.
fn count_other(a: &mut Assembler, others: i32) {
    let (name, value) = (-16 - NAME_BYTES as i16, -64);
    let (new, counted) = (a.label(), a.label());
    a.store_number(Eight, Frame, name, 0);
    a.store_number(Eight, Frame, name + 8, 0);
    a.alu(Alu::Move, R1, Frame);
    a.alu_number(Alu::Add, R1, i32::from(name));
    a.alu_number(Alu::Move, R2, NAME_BYTES as i32);
    a.call(Helper::CurrentName);
    look_up(a, others, name);
    a.jump_if(If::Equal, R0, 0, new);
    a.alu_number(Alu::Move, R1, 1);
    a.add_atomically(R0, 0, R1);
    a.add_atomically(R0, 8, R9);
    a.jump_if(If::NotEqual, R0, 0, counted);
    a.bind(new);
    a.store_number(Eight, Frame, value, 1);
    a.store(Eight, Frame, value + 8, R9);
    update(a, others, name, value);
    a.bind(counted);
}

/// The block layer divides a bio: the first part has its own pointer, and the rest keeps that of
/// the whole.
pub(super) fn splits(maps: &Maps, at: &Offsets) -> Vec<u64> {
    let mut a = Assembler::default();
    let end = a.label();
    a.load(Eight, R7, R1, 0);
    a.load(Eight, R8, R7, at.bio_parent);
    pointer_slot(&mut a, maps.queued, R8, -4, end);
    a.load(Eight, R1, R0, queued::POINTER);
    a.jump_if_reg(If::NotEqual, R1, R8, end);
    a.load(Eight, R1, R0, queued::DIRECTION);
    a.store(Four, Frame, -4, R1);
    look_up(&mut a, maps.sums, -4);
    a.jump_if(If::Equal, R0, 0, end);
    a.alu_number(Alu::Move, R1, 1);
    a.add_atomically(R0, sums::SPLITS, R1);
    a.exit(end);
    a.finish()
}

/// A request is issued to the drive, perhaps again.
pub(super) fn issues(maps: &Maps, at: &Offsets, argument: i16) -> Vec<u64> {
    let mut a = Assembler::default();
    let (end, reissue, counted) = (a.label(), a.label(), a.label());
    a.load(Eight, R7, R1, 8 * argument);
    a.load(Eight, R8, R7, at.request_bio);
    a.jump_if(If::Equal, R8, 0, end);
    pointer_slot(&mut a, maps.queued, R8, -4, end);
    a.load(Eight, R1, R0, queued::POINTER);
    a.jump_if_reg(If::NotEqual, R1, R8, end);
    a.alu(Alu::Move, R6, R0);
    a.load(Eight, R1, R6, queued::IS_ISSUED);
    a.jump_if(If::NotEqual, R1, 0, reissue);
    a.store_number(Eight, R6, queued::IS_ISSUED, 1);
    pointer_slot(&mut a, maps.issued, R7, -4, end);
    a.alu(Alu::Move, R9, R0);
    a.store(Eight, R9, issued::POINTER, R7);
    a.store(Eight, R9, issued::BIO, R8);
    for (from, to) in [
        (queued::HELD, issued::HELD),
        (queued::THREAD, issued::THREAD),
        (queued::DIRECTION, issued::DIRECTION),
    ] {
        a.load(Eight, R1, R6, from);
        a.store(Eight, R9, to, R1);
    }
    a.call(Helper::Time);
    a.store(Eight, R9, issued::AT, R0);
    a.load(Eight, R1, R6, queued::AT);
    a.alu(Alu::Subtract, R0, R1);
    a.store(Eight, R9, issued::QUEUE, R0);
    a.load(Eight, R1, R9, issued::DIRECTION);
    a.store(Four, Frame, -4, R1);
    look_up(&mut a, maps.sums, -4);
    a.jump_if(If::Equal, R0, 0, end);
    a.alu_number(Alu::Move, R1, 1);
    a.add_atomically(R0, sums::ISSUED, R1);
    a.jump_if(If::NotEqual, R0, 0, counted);
    // The last issue counts: the drive may have refused the first.
    a.bind(reissue);
    pointer_slot(&mut a, maps.issued, R7, -4, end);
    a.load(Eight, R1, R0, issued::POINTER);
    a.jump_if_reg(If::NotEqual, R1, R7, end);
    a.load(Eight, R1, R0, issued::BIO);
    a.jump_if_reg(If::NotEqual, R1, R8, end);
    a.alu(Alu::Move, R6, R0);
    a.call(Helper::Time);
    a.load(Eight, R1, R6, issued::AT);
    a.store(Eight, R6, issued::AT, R0);
    a.alu(Alu::Subtract, R0, R1);
    a.load(Eight, R1, R6, issued::QUEUE);
    a.alu(Alu::Add, R1, R0);
    a.store(Eight, R6, issued::QUEUE, R1);
    a.bind(counted);
    a.exit(end);
    a.finish()
}

/// Adds the request at R6, with R9 in the drive, to its [`DividedTime::class`]. Uses R7 and
/// `Frame - 4`.
fn count_class(a: &mut Assembler, maps: &Maps) {
    let counted = a.label();
    a.load(Eight, R7, R6, issued::HELD);
    a.load(Eight, R1, R6, issued::QUEUE);
    a.alu(Alu::Add, R7, R1);
    a.alu(Alu::Add, R7, R9);
    // R2 = the number of the time's highest bit, by halves of the bits that are left. There are no
    // quarters below 4 ns.
    let has_quarters = a.label();
    a.jump_if(If::Greater, R7, 3, has_quarters);
    a.alu_number(Alu::Move, R7, 4);
    a.bind(has_quarters);
    a.alu(Alu::Move, R1, R7);
    a.alu_number(Alu::Move, R2, 0);
    for bits in [32, 16, 8, 4, 2, 1] {
        let lower = a.label();
        a.alu(Alu::Move, R3, R1);
        a.alu_number(Alu::ShiftRight, R3, bits);
        a.jump_if(If::Equal, R3, 0, lower);
        a.alu(Alu::Move, R1, R3);
        a.alu_number(Alu::Add, R2, bits);
        a.bind(lower);
    }
    a.alu(Alu::Move, R1, R2);
    a.alu_number(Alu::Subtract, R1, 2);
    a.alu(Alu::ShiftRight, R7, R1);
    a.alu_number(Alu::And, R7, 3);
    a.load(Eight, R1, R6, issued::DIRECTION);
    a.alu_number(Alu::Multiply, R1, DividedTime::CLASSES as i32);
    a.alu_number(Alu::ShiftLeft, R2, 2);
    a.alu(Alu::Add, R1, R2);
    a.alu(Alu::Add, R1, R7);
    a.store(Four, Frame, -4, R1);
    look_up(a, maps.classes, -4);
    a.jump_if(If::Equal, R0, 0, counted);
    a.alu_number(Alu::Move, R1, 1);
    a.add_atomically(R0, class::COMPLETED, R1);
    a.load(Eight, R1, R6, issued::HELD);
    a.add_atomically(R0, class::HELD, R1);
    a.load(Eight, R1, R6, issued::QUEUE);
    a.add_atomically(R0, class::QUEUE, R1);
    a.add_atomically(R0, class::DEVICE, R9);
    a.bind(counted);
}

/// The drive completes a request.
pub(super) fn completes(maps: &Maps) -> Vec<u64> {
    let mut a = Assembler::default();
    let end = a.label();
    a.load(Eight, R7, R1, 0);
    pointer_slot(&mut a, maps.issued, R7, -4, end);
    a.load(Eight, R1, R0, issued::POINTER);
    a.jump_if_reg(If::NotEqual, R1, R7, end);
    a.alu(Alu::Move, R6, R0);
    a.store_number(Eight, R6, issued::POINTER, 0);
    a.call(Helper::Time);
    a.alu(Alu::Move, R8, R0);
    // R9 = the time in the drive.
    a.alu(Alu::Move, R9, R0);
    a.load(Eight, R1, R6, issued::AT);
    a.alu(Alu::Subtract, R9, R1);
    count_class(&mut a, maps);
    a.load(Eight, R1, R6, issued::THREAD);
    a.store(Eight, Frame, -16, R1);
    thread_slot(&mut a, maps, -16, -4, end);
    a.load(Eight, R1, Frame, -16);
    a.load(Eight, R2, R0, thread::NUMBER);
    a.jump_if_reg(If::NotEqual, R1, R2, end);
    let (has_first, earlier, counted) = (a.label(), a.label(), a.label());
    a.load(Eight, R1, R0, thread::COMPLETED);
    a.jump_if(If::NotEqual, R1, 0, has_first);
    a.store(Eight, R0, thread::FIRST, R8);
    a.bind(has_first);
    a.load(Eight, R1, R0, thread::FIRST);
    // Another processor may have set the first in between.
    a.jump_if_reg(If::Greater, R1, R8, earlier);
    a.alu(Alu::Subtract, R8, R1);
    a.alu_number(Alu::ShiftRight, R8, UNIT_SHIFT);
    a.jump_if(If::NotEqual, R6, 0, counted);
    a.bind(earlier);
    a.alu_number(Alu::Move, R8, 0);
    a.bind(counted);
    a.alu_number(Alu::Move, R1, 1);
    a.alu_number(Alu::ShiftLeft, R1, COUNT_SHIFT);
    a.alu(Alu::Add, R8, R1);
    a.add_atomically(R0, thread::COMPLETED, R8);
    a.exit(end);
    a.finish()
}
