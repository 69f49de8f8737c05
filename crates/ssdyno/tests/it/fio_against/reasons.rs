//! The differences that are deliberate. The list only shrinks. Each reason looks for what it says in
//! what both tools did, and explains a difference only if nothing else remains.

use super::case::{Case, Target};
use super::compare::{COPIED, Difference};
use super::sure::bytes;
use super::tools::{Did, Logged, Pair, run_one};
use super::views::{is_of_writes, kept, remains, removes, rest, unscrambled, zeroed};

type Explains = fn(&Case, &Pair, &Difference) -> bool;

/// Each reason with the differences it explains.
const REASONS: [(&str, Explains); 14] = [
    (
        "a refusal that docs/fio.md names, because the result would not be what was asked for",
        |_, _, difference| {
            let refusals = || REFUSALS.iter().any(|text| difference.text.contains(text));
            difference.kind == "refused" && refusals()
        },
    ),
    (
        "ioengine=mmap: fio refuses parts of a page with direct or flushes, and to append",
        |case, pair, difference| {
            let refusals = [
                "mmap options dictate a minimum",
                "append/extent with IO engine mmap",
                "func=msync, error=Invalid argument",
            ];
            let is_refused = refusals.iter().any(|text| pair.theirs.said.contains(text));
            let is_good = difference.kind == "exit code" && difference.text.contains("ssdyno 0");
            // The reads of what no job wrote fail.
            let is_failed = difference.kind == "errors";
            case.is("ioengine", "mmap") && is_refused && (is_good || is_failed)
        },
    ),
    (
        "ioengine=mmap with an offset or zones: fio writes at the place less the offset, thus all \
         zones to the same place, where they do not verify; ssdyno does what fio does with psync",
        |case, pair, difference| {
            let is_likely = case.is("ioengine", "mmap") && moves(case);
            let is_good = difference.kind == "exit code" && difference.text.contains("ssdyno 0");
            if !is_likely || !is_good && difference.kind != "files" {
                return false;
            }
            let psync = run_one(&with_psync(case), true);
            psync.code == Some(0) && (is_good || !remains(case, &psync, &pair.ours, difference))
        },
    ),
    ("a file that grows keeps its content; fio removes it first", |case, pair, difference| {
        let grows = (0..case.jobs.len()).any(|job| grows(case, job));
        let is_files = difference.kind == "files" && !case.has("overwrite");
        let is_rest_copied =
            || rest(case, pair, difference, kept).is_none_or(|rest| is_copied(case, &rest));
        grows && is_files && is_rest_copied()
    }),
    (
        "scramble_buffers=0, buffer_compress_percentage=0, verify=null, buffer_pattern after \
         dedupe_percentage: random sectors differ as asked, as copies would flatter a drive",
        |case, _, difference| is_copied(case, &difference.text),
    ),
    (
        "scramble_buffers=1 leaves zeros and patterns as they are asked for",
        |case, pair, difference| {
            let is_fixed = case.has("zero_buffers") || case.has("buffer_pattern");
            let is_scrambled = is_fixed && case.is("scramble_buffers", "1");
            let is_files = difference.kind == "files";
            is_scrambled && is_files && removes(case, pair, difference, unscrambled)
        },
    ),
    (
        "zero_buffers of a mix are zeros; fio writes what it has read before",
        |case, pair, difference| {
            let is_zero = case.has("zero_buffers") || case.is("buffer_compress_percentage", "100");
            let is_files = difference.kind == "files";
            // What fio has read elsewhere, it writes again.
            let is_explained =
                || rest(case, pair, difference, zeroed).is_none_or(|rest| rest.contains(COPIED));
            case.mixes() && is_zero && is_files && is_explained()
        },
    ),
    (
        "fio writes elsewhere than it trimmed: randtrimwrite with an offset or zones adds the offset \
         twice, trimwrite with several sizes draws them apart",
        |case, pair, difference| {
            let kinds = ["operations", "offsets", "amounts", "files"];
            let has_sizes = case.has("bssplit") || case.has("bsrange");
            let is_likely = case.is("rw", "randtrimwrite") && moves(case)
                || case.is("rw", "trimwrite") && has_sizes;
            let unpaired = |is_fio| {
                let logs = logs(case, pair, is_fio);
                logs.iter().map(|log| unpaired(log)).max().unwrap_or(0)
            };
            // A last trim of ssdyno may have no write, as there are no operations left; and the end
            // of a zone may lie between a sequential trim and its write, as in fio.
            let is_parted = case.is("rw", "trimwrite") && case.has("zonesize");
            is_likely
                && kinds.contains(&difference.kind)
                && unpaired(true) > 0
                && (is_parted || unpaired(false) < 2)
        },
    ),
    (
        "a job that only reads what it verifies repeats its loops, as in fio 3.42; in older ones it ends \
         with the places of the first",
        |case, pair, difference| {
            let kinds = ["operations", "offsets", "amounts"];
            let is_likely = case.has("verify") && (case.has("loops") || case.has("io_size"));
            let has_more_reads = reads(&pair.ours) > reads(&pair.theirs);
            is_likely && !writes(case) && kinds.contains(&difference.kind) && has_more_reads
        },
    ),
    (
        "verify_only: fio counts the operations that it leaves out as done",
        |case, pair, difference| {
            let kinds = ["operations", "offsets", "amounts"];
            let is_likely = case.has("verify_only") && kinds.contains(&difference.kind);
            // Reads of a mix are left out, too; what was written is read by both.
            let has_more_reads = case.mixes() && reads(&pair.theirs) > reads(&pair.ours);
            let is_left_out = has_more_reads || is_of_writes(case, pair, difference);
            writes(case) && is_likely && is_left_out
        },
    ),
    (
        "verify_fatal ends a job at the first block that fails; fio goes on if its header is bad",
        |case, pair, difference| {
            let kinds = ["operations", "offsets", "amounts"];
            let is_likely = case.has("verify_fatal");
            let is_header = pair.theirs.said.contains("bad magic header");
            let is_early = reads(&pair.ours) < reads(&pair.theirs);
            is_likely && kinds.contains(&difference.kind) && is_header && is_early
        },
    ),
    (
        "verify_only beyond the end of a file: an asynchronous fio checks what its buffer held before",
        |case, pair, difference| {
            let engines = ["libaio", "io_uring"];
            let is_asynchronous = engines.iter().any(|engine| case.is("ioengine", engine));
            let is_failed = difference.text.contains("fio 0, ssdyno 4");
            let is_short = pair.ours.said.contains("short transfer");
            is_asynchronous && case.has("verify_only") && is_failed && is_short
        },
    ),
    (
        "verify_only with verify_backlog: fio does not check the blocks that it reads in batches",
        |case, _, difference| {
            let is_likely = case.has("verify_only") && case.has("verify_backlog");
            let is_missed = difference.text.starts_with("fio 0, ssdyno 4:")
                || difference.text == "error: fio 0, ssdyno 84";
            // Without batches, fio finds them, too.
            let is_bad = || run_one(&at_once(case), true).said.contains("verify: bad");
            is_likely && is_missed && is_bad()
        },
    ),
    (
        "a verifying job that fio fails and ssdyno passes: fio reports blocks written twice as bad, \
         and those of a mix over several files, in the order of a register or of a distribution",
        |case, pair, difference| {
            let is_good = difference.kind == "exit code" && difference.text.contains("ssdyno 0")
                || difference.text == "error: fio 84, ssdyno 0";
            let is_likely = case.has("verify") && writes(case) && !case.has("verify_only");
            let is_bad = pair.theirs.said.contains("verify: bad");
            let is_parted = case.has("nrfiles")
                || case.is("random_generator", "lfsr")
                || case.has("random_distribution");
            let has_several = is_bad && case.mixes() && is_parted;
            is_good && is_likely && (has_several || writes_twice(case, pair))
        },
    ),
];

fn writes(case: &Case) -> bool {
    !matches!(case.rw(0), "read" | "randread")
}

/// The number of reads of all clones.
fn reads(did: &Did) -> usize {
    did.logs.iter().flatten().filter(|logged| logged.0 == 0).count()
}

/// Whether a difference is that fio writes its random bytes again where it is asked to.
fn is_copied(case: &Case, text: &str) -> bool {
    let is_asked = case.is("scramble_buffers", "0")
        || case.is("buffer_compress_percentage", "0")
        || case.is("verify", "null")
        || (0..case.jobs.len()).any(|job| fills_once(case, job));
    is_asked && text.contains(COPIED)
}

/// Whether fio fills the buffer of a job's copies only once: a pattern after their share turns off
/// what the share has turned on.
fn fills_once(case: &Case, job: usize) -> bool {
    let sets = case.global.iter().chain(&case.jobs[job]).filter(|set| set.value != "0");
    let names: Vec<_> = sets.map(|set| set.name).collect();
    let last = |name| names.iter().rposition(|other| *other == name);
    let (share, pattern) = (last("dedupe_percentage"), last("buffer_pattern"));
    let refills = case.mixes() || case.has("buffer_compress_percentage");
    share.is_some() && pattern > share && !refills
}

/// Whether a job begins elsewhere than at the start of its file, or moves on in it.
fn moves(case: &Case) -> bool {
    ["offset", "offset_increment", "zonesize"].iter().any(|name| case.has(name))
}

/// The case with another way to read and write.
fn with_psync(case: &Case) -> Case {
    let mut case = case.clone();
    let sets = case.global.iter_mut().chain(case.jobs.iter_mut().flatten());
    let engines = sets.filter(|set| set.name == "ioengine");
    engines.for_each(|set| set.value = "psync".into());
    case
}

/// The case with all that is read back at the end.
fn at_once(case: &Case) -> Case {
    let mut case = case.clone();
    case.global.retain(|set| !set.name.starts_with("verify_backlog"));
    case.jobs.iter_mut().for_each(|job| job.retain(|set| !set.name.starts_with("verify_backlog")));
    case
}

/// The logs of fio or ssdyno; those of another run if the case hides them.
fn logs(case: &Case, pair: &Pair, is_fio: bool) -> Vec<Vec<Logged>> {
    if !case.is("stats", "0") {
        return if is_fio { &pair.theirs } else { &pair.ours }.logs.clone();
    }
    let mut shown = case.clone();
    shown.global.retain(|set| set.name != "stats");
    shown.jobs.iter_mut().for_each(|job| job.retain(|set| set.name != "stats"));
    run_one(&shown, is_fio).logs
}

/// The trims without a write of the same place, and the writes without such a trim.
fn unpaired(log: &[Logged]) -> usize {
    let places = |side| {
        let of_side = log.iter().filter(move |logged| logged.0 == side);
        let mut places: Vec<_> = of_side.map(|(_, bytes, offset)| (*offset, *bytes)).collect();
        places.sort_unstable();
        places
    };
    let (trims, writes) = (places(2), places(1));
    let missing = |list: &[(u64, u64)], other: &[(u64, u64)]| {
        let is_missing = |place: &&(u64, u64)| other.binary_search(place).is_err();
        list.iter().filter(is_missing).count().max(list.len().saturating_sub(other.len()))
    };
    missing(&trims, &writes) + missing(&writes, &trims)
}

/// Whether fio wrote to a place more often than there are files and loops, or than there are files
/// between two reads.
fn writes_twice(case: &Case, pair: &Pair) -> bool {
    let number = |name| case.value(0, name).and_then(bytes).unwrap_or(1);
    let (files, loops) = (number("nrfiles"), number("loops"));
    let is_over = |log: &[Logged], once: u64| {
        let writes = || log.iter().filter(|logged| logged.0 == 1);
        writes().any(|(_, _, at)| {
            let over = writes().filter(|(_, bytes, offset)| (*offset..offset + bytes).contains(at));
            over.count() as u64 > once
        })
    };
    logs(case, pair, true).iter().any(|log| {
        let mut passes = log.split(|logged| logged.0 == 0);
        is_over(log, files * loops) || passes.any(|pass| is_over(pass, files))
    })
}

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
pub fn explain(case: &Case, pair: &Pair, difference: &Difference) -> Option<&'static str> {
    let reason = REASONS.iter().find(|(_, explains)| explains(case, pair, difference));
    reason.map(|(name, _)| *name)
}
