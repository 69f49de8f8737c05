//! The part of a file used by a clone: fio's rules for size, filesize, offset and percentages.
//!
//! The figures in the tests are fio 3.33's for the same options.

use crate::{Amount, Job};

/// The state of one of a clone's files before the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileState {
    /// Its number among the files.
    pub index: u64,
    /// Number of files of the clone.
    pub count: u64,
    /// Current size, bytes; `None` for a missing file.
    pub there: Option<u64>,
    /// Its size after earlier jobs of the plan, bytes; 0 if none uses it.
    pub planned: u64,
    /// Bytes by which it may grow to fill its file system, except for the reserve.
    pub room: u64,
    /// Whether it is a device, which cannot grow.
    pub device: bool,
}

/// First used byte and number of bytes; `None` if neither the job nor the file determines it.
pub(super) fn extent(job: &Job, clone: u32, place: FileState) -> Option<(u64, u64)> {
    let file_bytes = place.there.unwrap_or(0);
    let start = first_byte(job, clone, file_bytes, place.device);
    let rest = file_bytes.saturating_sub(start);
    let mut bytes = match (job.space.filesize, job.space.size) {
        (Some((low, high)), _) if (low..=high).contains(&file_bytes) => rest,
        (Some((low, high)), _) => drawn(job, place.index, low, high).saturating_sub(start),
        (None, Some(Amount::Bytes(all))) => share(job, place, all),
        (None, None) if fills(job) && !place.device => {
            let room = (rest + place.room).saturating_sub(start.saturating_sub(file_bytes));
            room - room % job.access.min_bs().max(1)
        }
        (None, _) if place.there.is_none() => {
            Some(place.planned.saturating_sub(start)).filter(|n| *n > 0)?
        }
        (None, _) => rest,
    };
    if let Some(Amount::Percent(percent @ ..=99)) = job.space.size {
        let end = start.saturating_add(bytes);
        bytes = Amount::Percent(percent).bytes_of(end).min(bytes);
        bytes -= bytes % job.access.min_bs().max(1);
    }
    Some((start, if place.device { bytes.min(rest) } else { bytes }))
}

/// Whether a job fills its file system or device; `size=` takes precedence, as in fio.
pub(super) fn fills(job: &Job) -> bool {
    job.space.fill_device && job.space.size.is_none() && job.space.filesize.is_none()
}

/// A file's share of `all` bytes. A remainder of whole blocks goes to the first files, one block
/// each; as in fio, the rest is not used.
fn share(job: &Job, place: FileState, all: u64) -> u64 {
    let least = job.access.min_bs().max(1);
    let count = place.count.max(1);
    let leftover_blocks = all % count / least;
    all / count + if place.index < leftover_blocks { least } else { 0 }
}

/// A size between two bounds, in whole blocks, drawn uniformly from the job's seed.
fn drawn(job: &Job, index: u64, low: u64, high: u64) -> u64 {
    if low == high {
        return low;
    }
    let mut draw = job.access.seed();
    for _ in 0..=index {
        draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    }
    let size = low + ((u128::from(draw) * u128::from(high - low + 1)) >> 64) as u64;
    (size - size % job.access.min_bs().max(1)).max(low)
}

/// First used byte of a file or device that is currently `there` bytes long.
pub(super) fn first_byte(job: &Job, clone: u32, there: u64, is_device: bool) -> u64 {
    if job.space.file_append && !is_device { there } else { offset(job, clone, there) }
}

/// The job's offset in a file of `there` bytes. If it involves a percentage, it is rounded up once,
/// after all steps.
fn offset(job: &Job, clone: u32, there: u64) -> u64 {
    let space = &job.space;
    let base = space.offset.bytes_of(there);
    let steps = u64::from(clone).saturating_mul(space.offset_increment.bytes_of(there));
    let start = base.saturating_add(steps);
    let shares = [space.offset, space.offset_increment];
    if !shares.iter().any(|amount| matches!(amount, Amount::Percent(1..))) {
        return start;
    }
    let least = job.access.min_bs().max(1);
    let grid = if space.offset_align > 0 { space.offset_align } else { least };
    start.checked_next_multiple_of(grid).unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommandLine, parse, testing::Small};

    fn job(words: &[&str]) -> Job {
        let words: Vec<String> =
            ["--name=x"].iter().chain(words).map(ToString::to_string).collect();
        match parse(&words, &Small::default()) {
            Ok(CommandLine::Run(plan)) => plan.jobs[0].clone(),
            other => panic!("{words:?}: {other:?}"),
        }
    }

    const STATE: FileState =
        FileState { index: 0, count: 1, there: None, planned: 0, room: 0, device: false };

    fn one(words: &[&str], there: Option<u64>) -> Option<(u64, u64)> {
        extent(&job(words), 0, FileState { there, ..STATE })
    }

    #[test]
    fn new_files() {
        assert_eq!(one(&["--size=64k", "--offset=25%"], None), Some((0, 65536)));
        assert_eq!(one(&["--size=64k", "--offset=8k"], None), Some((8192, 65536)));
        assert_eq!(one(&["--filesize=64k", "--offset=8k"], None), Some((8192, 57344)));
        assert_eq!(one(&["--size=10%"], None), None);
    }

    #[test]
    fn files_of_100000_bytes() {
        let there = Some(100_000);
        assert_eq!(one(&["--size=50%"], there), Some((0, 49152)));
        assert_eq!(one(&["--size=50%", "--bs=512"], there), Some((0, 49664)));
        assert_eq!(one(&[], there), Some((0, 100_000)));
        assert_eq!(one(&["--offset=10%"], there), Some((12288, 87712)));
        assert_eq!(one(&["--size=50%", "--offset=60%"], there), Some((61440, 36864)));
        assert_eq!(one(&["--size=100%"], there), Some((0, 100_000)));
        assert_eq!(one(&["--filesize=64k"], there), Some((0, 65536)));
        assert_eq!(one(&["--filesize=64k-256k"], there), Some((0, 100_000)));
    }

    #[test]
    fn appending_starts_at_the_end_and_filling_uses_the_free_space() {
        let append = job(&["--file_append=1", "--size=64k"]);
        let there = FileState { there: Some(100_000), ..STATE };
        assert_eq!(extent(&append, 0, there), Some((100_000, 65536)));
        assert_eq!(extent(&append, 0, STATE), Some((0, 65536)));
        let fill = job(&["--fill_device=1", "--rw=write"]);
        assert_eq!(extent(&fill, 0, FileState { room: 1 << 20, ..STATE }), Some((0, 1 << 20)));
        let room = FileState { room: 1 << 20, ..there };
        assert_eq!(extent(&fill, 0, room), Some((0, (100_000 + (1 << 20)) / 4096 * 4096)));
        let read = job(&["--rw=read"]);
        assert_eq!(extent(&read, 0, STATE), None);
        assert_eq!(extent(&read, 0, FileState { planned: 8192, ..STATE }), Some((0, 8192)));
    }

    #[test]
    fn shares_and_ends_are_those_of_the_file_as_it_is() {
        let first = |words: &[&str], there| first_byte(&job(words), 0, there, false);
        assert_eq!(first(&["--offset=25%"], 0), 0);
        assert_eq!(first(&["--offset=25%"], 65536), 16384);
        assert_eq!(first(&["--file_append=1"], 65536), 65536);
    }

    #[test]
    fn steps_of_a_percentage_are_rounded_once() {
        let job = job(&["--size=4k", "--offset_increment=3%", "--numjobs=5"]);
        let place = FileState { there: Some(100_000), ..STATE };
        let starts: Vec<_> =
            (0..5).map(|clone| extent(&job, clone, place).expect("a size").0).collect();
        assert_eq!(starts, [0, 4096, 8192, 12288, 12288]);
    }

    #[test]
    fn sizes_are_divided() {
        let job = job(&["--size=100k", "--nrfiles=3"]);
        let part = |index| extent(&job, 0, FileState { index, count: 3, ..STATE });
        assert_eq!([part(0), part(1), part(2)], [Some((0, 34133)); 3]);
        let drawn = super::drawn(&super::tests::job(&["--filesize=4k-64k"]), 2, 4096, 65536);
        assert!(drawn.is_multiple_of(4096) && (4096..=65536).contains(&drawn));
    }

    #[test]
    fn devices_do_not_grow() {
        let place = FileState { there: Some(65536), device: true, ..STATE };
        assert_eq!(extent(&job(&["--size=1m", "--offset=8k"]), 0, place), Some((8192, 57344)));
    }
}
