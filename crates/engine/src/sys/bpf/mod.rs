//! Follows the requests of this process on a drive with eBPF programs on the kernel's tracepoints.
//!
//! The programs are assembled here ([`programs`]), with the offsets of the running kernel's types
//! ([`btf`]) and entries of their [`maps`], so no compiler is needed. They need CAP_BPF and
//! CAP_PERFMON. Nothing outlives this process: maps, programs and attachments end with their
//! descriptors.
//!
//! Structures and commands: include/uapi/linux/bpf.h of Linux.

mod asm;
mod btf;
mod mapped_rows;
mod maps;
mod programs;
#[cfg(test)]
mod tests;
mod undisturbed;

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;

use rig::DividedTime;

use crate::traced::{Completions, OtherProcess, RequestCounts, Traced};
use btf::{Tracepoint, Types};
use mapped_rows::MappedRows;
use maps::{Maps, class, seen, sums, thread};
use programs::{Followed, Offsets};
use undisturbed::Undisturbed;

/// Commands of the system call.
const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const MAP_UPDATE: libc::c_int = 2;
const MAP_NEXT_KEY: libc::c_int = 4;
const PROGRAM_LOAD: libc::c_int = 5;
const ATTACH: libc::c_int = 17;

/// Attempts at most to load a program.
const VERIFICATIONS: u32 = 20;

/// Kinds of maps.
const HASH: u32 = 1;
const ARRAY: u32 = 2;

/// Kinds of programs, and how one with types is attached.
const RAW_TRACEPOINT: u32 = 17;
const TRACING: u32 = 26;
const TRACE_RAW_TRACEPOINT: u32 = 23;

/// Other processes that are told apart.
const OTHERS_MAX: u32 = 256;

/// The types of the running kernel.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct MapElement {
    map: u32,
    _gap: u32,
    key: u64,
    /// For [`MAP_NEXT_KEY`] the next key.
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_kind: u32,
    types: u32,
    function_bytes: u32,
    functions: u64,
    function_count: u32,
    line_bytes: u32,
    lines: u64,
    line_count: u32,
    attach_type: u32,
}

#[repr(C)]
#[derive(Default)]
struct Attach {
    name: u64,
    program: u32,
    _gap: u32,
}

/// Carries out a command.
fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<libc::c_long> {
    let (bytes, attributes) = (size_of::<T>(), std::ptr::from_mut(attributes));
    // SAFETY: the kernel reads and writes `bytes` bytes of the structure, which is live and
    // exclusive for the call; the callers keep what it points to alive.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, bytes) };
    super::check(result)
}

/// Carries out a command that returns a descriptor.
fn descriptor<T>(command: libc::c_int, attributes: &mut T) -> io::Result<OwnedFd> {
    let descriptor = bpf(command, attributes)?;
    // SAFETY: the kernel has just created this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

/// A map with keys and values of these sizes in bytes.
struct Map {
    descriptor: OwnedFd,
    value_bytes: usize,
}

impl Map {
    fn new(
        kind: u32,
        key_bytes: usize,
        value_bytes: usize,
        entries: u32,
        flags: u32,
    ) -> io::Result<Map> {
        let key_bytes = key_bytes as u32;
        let mut create =
            MapCreate { kind, key_bytes, value_bytes: value_bytes as u32, entries, flags };
        Ok(Map { descriptor: descriptor(MAP_CREATE, &mut create)?, value_bytes })
    }

    fn number(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    fn element(&self, key: *const u8, value: *mut u8) -> MapElement {
        let map = self.number() as u32;
        MapElement { map, key: key as u64, value: value as u64, ..MapElement::default() }
    }

    /// The numbers of the value of a key.
    fn get<const N: usize>(&self, key: &[u8]) -> Option<[u64; N]> {
        let mut value = [0; N];
        assert_eq!(self.value_bytes, size_of_val(&value), "the size of a value");
        let mut element = self.element(key.as_ptr(), value.as_mut_ptr().cast());
        bpf(MAP_LOOKUP, &mut element).ok().map(|_| value)
    }

    fn set(&self, key: &[u8], mut value: u64) -> io::Result<()> {
        assert_eq!(self.value_bytes, size_of_val(&value), "the size of a value");
        let mut element = self.element(key.as_ptr(), std::ptr::from_mut(&mut value).cast());
        bpf(MAP_UPDATE, &mut element).map(drop)
    }

    /// The key after this one; the first for `None`.
    fn next_key<const N: usize>(&self, key: Option<&[u8; N]>) -> Option<[u8; N]> {
        let mut next = [0; N];
        let key = key.map_or(std::ptr::null(), |key| key.as_ptr());
        let mut element = self.element(key, next.as_mut_ptr());
        bpf(MAP_NEXT_KEY, &mut element).ok().map(|_| next)
    }
}

/// What the programs need to know of the running kernel.
struct Kernel {
    offsets: Offsets,
    queues: Tracepoint,
    splits: Tracepoint,
    issues: Tracepoint,
    completes: Tracepoint,
    ends: Tracepoint,
}

impl Kernel {
    fn read() -> Option<Kernel> {
        let data = std::fs::read(TYPES).ok()?;
        let types = Types::parse(&data)?;
        Some(Kernel {
            offsets: Offsets::new(&types)?,
            queues: types.tracepoint("block_bio_queue")?,
            splits: types.tracepoint("block_split")?,
            issues: types.tracepoint("block_rq_issue")?,
            completes: types.tracepoint("block_rq_complete")?,
            ends: types.tracepoint("block_bio_complete")?,
        })
    }

    /// The running kernel; `None` if it does not describe its types, or not these.
    fn here() -> Option<&'static Kernel> {
        static KERNEL: OnceLock<Option<Kernel>> = OnceLock::new();
        KERNEL.get_or_init(Kernel::read).as_ref()
    }
}

/// Loads a program and attaches it: to a tracepoint with types, or to one by name.
fn run(code: &[u64], typed: Option<Tracepoint>, name: Option<&CStr>) -> io::Result<OwnedFd> {
    let mut load = ProgramLoad {
        kind: if typed.is_some() { TRACING } else { RAW_TRACEPOINT },
        instructions: code.len() as u32,
        code: code.as_ptr() as u64,
        license: c"GPL".as_ptr() as u64,
        name: program_name(std::process::id()),
        attach_kind: if typed.is_some() { TRACE_RAW_TRACEPOINT } else { 0 },
        attach_type: typed.map_or(0, |tracepoint| tracepoint.id),
        ..ProgramLoad::default()
    };
    let program = verified(&mut load)?;
    let name = name.map_or(0, |name| name.as_ptr() as u64);
    let mut attach = Attach { name, program: program.as_raw_fd() as u32, _gap: 0 };
    // The attachment keeps the program.
    descriptor(ATTACH, &mut attach)
}

/// Loads a program. What calls the thread while the kernel verifies it ends that with EAGAIN: a signal,
/// hence none arrives, or io_uring's work for the thread, which is done before the next attempt.
fn verified(load: &mut ProgramLoad) -> io::Result<OwnedFd> {
    let _undisturbed = Undisturbed::begin();
    for _ in 1..VERIFICATIONS {
        match descriptor(PROGRAM_LOAD, load) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return result,
        }
    }
    descriptor(PROGRAM_LOAD, load)
}

/// The name of the programs of a process, as the kernel shows it.
fn program_name(process: u32) -> [u8; 16] {
    let mut name = [0; 16];
    let text = format!("ssdyno_{process}");
    name[..text.len().min(15)].copy_from_slice(&text.as_bytes()[..text.len().min(15)]);
    name
}

/// The programs, attached.
pub(crate) struct Tracer {
    sums: MappedRows<{ sums::BYTES / 8 }>,
    classes: MappedRows<{ class::BYTES / 8 }>,
    others: Map,
    mask: Map,
    /// These keep the maps that only the programs use.
    _attachments: Vec<OwnedFd>,
}

impl Tracer {
    /// Follows the requests of this process on the drive with this device number. `None` if the
    /// kernel does not describe its types or does not permit it.
    pub(crate) fn attach(disk: (u32, u32)) -> Option<Tracer> {
        let kernel = Kernel::here()?;
        Tracer::on(kernel, Followed { process: std::process::id(), disk }).ok()
    }

    fn on(kernel: &Kernel, followed: Followed) -> io::Result<Tracer> {
        let array = |value_bytes, entries| Map::new(ARRAY, 4, value_bytes, entries, 0);
        let threads = array(thread::BYTES, maps::THREADS)?;
        let queued = array(maps::QUEUED_BYTES, maps::REQUESTS)?;
        let issued = array(maps::ISSUED_BYTES, maps::REQUESTS)?;
        let refused = array(maps::REFUSED_BYTES, maps::REQUESTS)?;
        let (sums, classes) = (MappedRows::new(maps::ROWS)?, MappedRows::new(maps::CLASSES)?);
        let mask = array(8, 1)?;
        let processes = Map::new(HASH, programs::NAME_BYTES, 16, OTHERS_MAX, 0)?;
        let maps = Maps {
            threads: threads.number(),
            queued: queued.number(),
            issued: issued.number(),
            refused: refused.number(),
            sums: sums.number(),
            classes: classes.number(),
            others: processes.number(),
            mask: mask.number(),
        };
        let Kernel { offsets, queues, splits, issues, completes, ends } = kernel;
        let last = |tracepoint: &Tracepoint| tracepoint.arguments.saturating_sub(1) as i16;
        let process = followed.process;
        // Completions first, so that nothing that was followed is missed.
        let attachments = [
            run(&programs::completes(&maps), Some(*completes), None)?,
            run(&programs::issues(&maps, offsets, last(issues)), Some(*issues), None)?,
            run(&programs::splits(&maps, offsets), Some(*splits), None)?,
            run(&programs::refuses(&maps, offsets, followed, last(ends)), Some(*ends), None)?,
            run(&programs::call_returns(&maps, process), None, Some(c"sys_exit"))?,
            run(&programs::call_begins(&maps, process), None, Some(c"sys_enter"))?,
            run(&programs::queues(&maps, offsets, followed, last(queues)), Some(*queues), None)?,
        ];
        Ok(Tracer { sums, classes, others: processes, mask, _attachments: attachments.into() })
    }

    /// Follows the requests of about one system call in so many, a power of two, at random distances.
    pub(crate) fn follow_one_in(&self, calls: u64) {
        assert!(calls.is_power_of_two(), "a mask of random bits");
        // Distances up to twice the mean. A failure would leave the choice as it was.
        let mask = if calls == 1 { 0 } else { 2 * calls - 1 };
        let _ = self.mask.set(&0u32.to_ne_bytes(), mask);
    }

    /// The sums so far.
    pub(crate) fn read(&self) -> Traced {
        let completions = self.sums.row(maps::SEEN_ROW as usize);
        Traced {
            data: self.both(0),
            completed: [0, DividedTime::CLASSES].map(|first| self.classes_from(first)),
            seen: completions[seen::COUNT as usize / 8],
            seen_ns: completions[seen::TIME as usize / 8],
            metadata: self.both(maps::METADATA_ROW),
            flushes: self.row(maps::FLUSH_ROW).queued,
            others: self.others(),
        }
    }

    /// The rows of reads and of writes.
    fn both(&self, first: i32) -> [RequestCounts; 2] {
        [first, first + 1].map(|row| self.row(row))
    }

    /// The classes of a direction, from this row, that have requests.
    fn classes_from(&self, first: usize) -> BTreeMap<usize, Completions> {
        let class = |class: usize| {
            let values = self.classes.row(first + class);
            let value = |offset: i16| values[offset as usize / 8];
            let completions = Completions {
                count: value(class::COMPLETED),
                held_ns: value(class::HELD),
                queue_ns: value(class::QUEUE),
                device_ns: value(class::DEVICE),
            };
            (class, completions)
        };
        let classes = (0..DividedTime::CLASSES).map(class);
        classes.filter(|(_, completions)| completions.count > 0).collect()
    }

    fn row(&self, row: i32) -> RequestCounts {
        let values = self.sums.row(row as usize);
        let value = |offset: i16| values[offset as usize / 8];
        RequestCounts {
            queued: value(sums::QUEUED),
            queued_bytes: value(sums::QUEUED_BYTES),
            issued: value(sums::ISSUED),
            splits: value(sums::SPLITS),
        }
    }

    fn others(&self) -> Vec<OtherProcess> {
        let mut key: Option<[u8; programs::NAME_BYTES]> = None;
        let mut processes = Vec::new();
        while let Some(name) = self.others.next_key(key.as_ref()) {
            if let Some([requests, bytes]) = self.others.get(&name) {
                let text = name.split(|byte| *byte == 0).next().unwrap_or_default();
                let name = String::from_utf8_lossy(text).into_owned();
                processes.push(OtherProcess { name, requests, bytes });
            }
            key = Some(name);
            if processes.len() > OTHERS_MAX as usize {
                break;
            }
        }
        processes
    }
}
