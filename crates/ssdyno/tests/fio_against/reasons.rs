//! The differences that are deliberate. The list only shrinks.

use crate::case::{Case, Target};
use crate::compare::{COPIED, Difference, FEWER_ZEROS};
use crate::sure::bytes;

type Explains = fn(&Case, &Difference) -> bool;

/// Each reason with the differences it explains.
const REASONS: [(&str, Explains); 9] = [
    (
        "a refusal that docs/fio.md names, because the result would not be what was asked for",
        |_, difference| {
            let refusals = || REFUSALS.iter().any(|text| difference.text.contains(text));
            difference.kind == "refused" && refusals()
        },
    ),
    (
        "ioengine=mmap: fio refuses small blocks and growing files, and maps offsets to others",
        |case, difference| {
            let is_refused = difference.kind == "exit code" && difference.text.contains("ssdyno 0");
            let has_offsets = ["zonesize", "offset", "offset_increment", "file_append"]
                .iter()
                .any(|name| case.has(name));
            // It ends early where it can map nothing.
            let kinds = ["operations", "offsets", "amounts", "files"];
            let is_elsewhere = has_offsets && kinds.contains(&difference.kind);
            case.is("ioengine", "mmap") && (is_refused || is_elsewhere)
        },
    ),
    ("a file that grows keeps its content; fio removes it first", |case, difference| {
        let grows = (0..case.jobs.len()).any(|job| grows(case, job));
        grows && difference.kind == "files" && !case.has("overwrite")
    }),
    (
        "scramble_buffers=0, buffer_compress_percentage=0, verify=null: random sectors always \
         differ, as copies would flatter a drive",
        |case, difference| {
            let is_copied = case.is("scramble_buffers", "0")
                || case.is("buffer_compress_percentage", "0")
                || case.is("verify", "null");
            is_copied && difference.text.contains(COPIED)
        },
    ),
    ("scramble_buffers=1 leaves zeros and patterns as they are asked for", |case, difference| {
        let is_fixed = case.has("zero_buffers") || case.has("buffer_pattern");
        let is_content = difference.text.starts_with("content of");
        is_fixed && is_content && case.is("scramble_buffers", "1")
    }),
    ("zero_buffers of a mix are zeros; fio writes what it has read before", |case, difference| {
        let is_mix = (0..case.jobs.len()).any(|job| matches!(case.rw(job), "rw" | "randrw"));
        let is_zero = case.has("zero_buffers") || case.is("buffer_compress_percentage", "100");
        is_mix && is_zero && difference.text.contains(FEWER_ZEROS)
    }),
    (
        "randtrimwrite with an offset or zones: fio adds the offset twice to that of its writes",
        |case, difference| {
            let moves = case.has("offset") || case.has("offset_increment") || case.has("zonesize");
            let kinds = ["operations", "offsets", "amounts", "files"];
            case.is("rw", "randtrimwrite") && moves && kinds.contains(&difference.kind)
        },
    ),
    ("verify_only: fio counts the operations that it leaves out as done", |case, difference| {
        let kinds = ["operations", "offsets", "amounts"];
        let writes = !matches!(case.rw(0), "read" | "randread");
        writes && case.has("verify_only") && kinds.contains(&difference.kind)
    }),
    (
        "a verifying job that fio fails and ssdyno passes: fio reports blocks written twice as bad, \
         and those of a mix over several files",
        |case, difference| {
            let writes = !matches!(case.rw(0), "read" | "randread") && !case.has("verify_only");
            let is_good = difference.kind == "exit code" && difference.text.contains("ssdyno 0")
                || difference.text == "error: fio 84, ssdyno 0";
            writes && is_good && case.has("verify") && can_reorder(case)
        },
    ),
];

/// Whether a job extends the file that is there.
fn grows(case: &Case, job: usize) -> bool {
    let Target::Existing(there) = case.target else { return false };
    let number = |name| case.value(job, name).and_then(bytes);
    let size = number("size").or(number("filesize"));
    let percent = case.value(job, "offset").and_then(|text| text.strip_suffix('%'));
    let share = percent.and_then(|percent| Some(percent.parse::<u64>().ok()? * there / 100));
    let offset = number("offset").or(share).unwrap_or(0);
    size.is_some_and(|size| offset + size > there)
}

/// Whether a job may write to a place more than once, or reads back in another order than it wrote.
fn can_reorder(case: &Case) -> bool {
    const OPTIONS: [&str; 11] = [
        "norandommap",
        "random_generator",
        "random_distribution",
        "percentage_random",
        "ba",
        "bsrange",
        "bssplit",
        "zonesize",
        "loops",
        "io_size",
        "io_limit",
    ];
    let has_steps = |job| case.value(job, "rw").is_some_and(|rw| rw.contains(':'));
    let is_mix = (0..case.jobs.len()).any(|job| matches!(case.rw(job), "rw" | "randrw"));
    case.shares_files()
        || is_mix && case.has("nrfiles")
        || OPTIONS.iter().any(|name| case.has(name))
        || case.is("percentage_random", "0")
        || (0..case.jobs.len()).any(has_steps)
}

/// Parts of the refusals.
const REFUSALS: [&str; 6] = [
    "verify=pattern needs verify_pattern=",
    "is smaller than the smallest block",
    "less than a block",
    "stamp does not fit",
    "there is no data beyond the end of a file",
    "its files are empty after the first loop",
];

/// The reasons.
pub const NAMES: [&str; REASONS.len()] = {
    let mut names = [""; REASONS.len()];
    let mut number = 0;
    while number < names.len() {
        names[number] = REASONS[number].0;
        number += 1;
    }
    names
};

/// The reason for a difference.
pub fn explain(case: &Case, difference: &Difference) -> Option<&'static str> {
    let reason = REASONS.iter().find(|(_, explains)| explains(case, difference));
    reason.map(|(name, _)| *name)
}
