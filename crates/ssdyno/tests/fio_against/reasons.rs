//! The differences that are deliberate. The list only shrinks.

use crate::case::{Case, Target};
use crate::compare::Difference;

type Explains = fn(&Case, &Difference) -> bool;

/// Each reason with the differences it explains.
const REASONS: [(&str, Explains); 8] = [
    (
        "a refusal that docs/fio.md names, because the result would not be what was asked for",
        |_, difference| {
            let refusals = || REFUSALS.iter().any(|text| difference.text.contains(text));
            difference.kind == "refused" && refusals()
        },
    ),
    (
        "ioengine=mmap: fio refuses small blocks and growing files, and loses what it trims around",
        |case, difference| {
            let kinds = ["exit code", "files"];
            case.is("ioengine", "mmap") && kinds.contains(&difference.kind)
        },
    ),
    ("a file that grows keeps its content; fio removes it first", |case, difference| {
        let existed = matches!(case.target, Target::Existing(_));
        existed && difference.kind == "files" && !case.has("overwrite")
    }),
    (
        "scramble_buffers, buffer_compress_percentage=0, verify=null: random sectors always differ, \
         as copies would flatter a drive, and zeros stay zeros",
        |case, difference| {
            let is_copied = |job| {
                case.value(job, "scramble_buffers").is_some()
                    || case.value(job, "buffer_compress_percentage") == Some("0")
                    || case.value(job, "verify") == Some("null")
            };
            (0..case.jobs.len()).any(is_copied) && difference.text.starts_with("content of")
        },
    ),
    ("file_append with zones or several passes: fio ends with the first", |case, difference| {
        let kinds = ["operations", "offsets", "amounts", "files"];
        let repeats = ["zonesize", "loops", "io_size", "io_limit"];
        let repeats = repeats.iter().any(|name| case.has(name));
        case.has("file_append") && repeats && kinds.contains(&difference.kind)
    }),
    (
        "randtrimwrite with an offset or zones: fio adds the offset twice to that of its writes",
        |case, difference| {
            let moves = case.has("offset") || case.has("offset_increment") || case.has("zonesize");
            let kinds = ["operations", "offsets", "amounts", "files"];
            case.is("rw", "randtrimwrite") && moves && kinds.contains(&difference.kind)
        },
    ),
    (
        "file_append with sizes drawn from a range: fio ends at the first that does not fit",
        |case, difference| {
            let drawn = case.has("bsrange") || case.has("bssplit");
            let kinds = ["operations", "amounts", "files"];
            drawn && case.has("file_append") && kinds.contains(&difference.kind)
        },
    ),
    (
        "a verifying job that fio fails and ssdyno passes: fio reports blocks written twice as bad",
        |case, difference| {
            let writes = !matches!(case.rw(0), "read" | "randread") && !case.has("verify_only");
            let is_good = difference.kind == "exit code" && difference.text.contains("ssdyno 0");
            writes && is_good && case.has("verify")
        },
    ),
];

/// Parts of the refusals.
const REFUSALS: [&str; 7] = [
    "verify=pattern needs verify_pattern=",
    "bs_is_seq_rand=1 does not support mixed",
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
