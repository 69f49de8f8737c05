//! The content of a clone's writes: fio's buffer options translated to a workload.

use workload::{Blend, Content, Filler, Shared};

use super::clones::JobClone;
use crate::job::DataVerify;
use crate::{Amount, Job};

/// Assigns every clone of a plan the content of its writes.
pub(super) fn assign(clones: &mut [JobClone<'_>]) {
    let contents =
        clones.iter().map(|clone| content(clone.job, clone.content_seed(), shared(clones, clone)));
    let contents: Vec<_> = contents.collect();
    clones.iter_mut().zip(contents).for_each(|(clone, content)| clone.content = content);
}

/// The content of a file that is laid out for a job: as its writes, without stamps.
pub(super) fn laid_out(job: &Job) -> Content {
    content(&Job { verify: DataVerify::default(), ..job.clone() }, job.seed(0), None)
}

/// The content of a clone's writes. `seed` determines the chunk that a job repeats.
fn content(job: &Job, seed: u64, shared: Option<Shared>) -> Content {
    let content = &job.content;
    // What is verified is never a copy, as in fio.
    let copies = if job.verifies() { 0 } else { content.dedupe_percent };
    // Reads overwrite the content of the buffers.
    let mixed = job.access.rw.reads() && job.access.rw.writes();
    let anew = mixed || content.refill;
    // As in fio, verification divides no write.
    let chunk = if job.verifies() { u32::MAX } else { chunk(job) };
    let plain = |plain_percent, pattern: &[u8]| {
        Content::Blend(Blend {
            plain_percent,
            chunk,
            pattern: pattern.to_vec(),
            copy_percent: copies,
            shared: shared.clone(),
            anew,
        })
    };
    if job.verifies() {
        // In fio, too, headers are followed by random bytes and a compressible part.
        let pattern = content.pattern.as_deref().unwrap_or_default();
        let compresses = content.compress_percent > 0;
        return if compresses { plain(content.compress_percent, pattern) } else { Content::Random };
    }
    match &content.pattern {
        _ if copies == 100 => plain(100, &repeated_chunk(job, seed)),
        None if content.zero && copies == 0 && anew => plain(100, &[]),
        None if content.zero && copies == 0 => Content::Zeros,
        pattern if copies > 0 => {
            plain(content.compress_percent, pattern.as_deref().unwrap_or_default())
        }
        Some(pattern) if content.compress_percent == 0 => plain(100, pattern),
        None if content.compress_percent == 0 && !content.refill => Content::Random,
        pattern => plain(content.compress_percent, pattern.as_deref().unwrap_or_default()),
    }
}

/// The only chunk of a job with `dedupe_percentage=100`: as in fio, each of its chunks is a copy,
/// even within a write.
fn repeated_chunk(job: &Job, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; chunk(job) as usize];
    let blend = Blend {
        plain_percent: job.content.compress_percent,
        chunk: chunk(job),
        pattern: job.content.pattern.clone().unwrap_or_default(),
        copy_percent: 0,
        shared: None,
        anew: true,
    };
    Filler::new(Content::Blend(blend), seed).fill(&mut bytes, 0);
    bytes
}

/// Size of a chunk of random and plain bytes: at most the smallest write, as in fio.
fn chunk(job: &Job) -> u32 {
    let least = job.access.blocks.write.min().min(u64::from(u32::MAX)) as u32;
    job.content.compress_chunk.clamp(1, least.max(1))
}

/// The contents that a clone repeats, if it does not repeat its previous write.
fn shared(clones: &[JobClone<'_>], clone: &JobClone<'_>) -> Option<Shared> {
    let content = &clone.job.content;
    if content.dedupe_percent == 0 || !content.dedupe_set {
        return None;
    }
    let size = match clone.job.space.size {
        Some(Amount::Bytes(bytes)) => bytes,
        _ => clone.bytes(),
    };
    let bytes = Amount::Percent(content.dedupe_set_percent).bytes_of(size);
    let contents = (bytes / clone.job.access.blocks.write.min().max(1)).max(1);
    if !content.dedupe_global {
        return Some(Shared { contents, seeds: vec![clone.content_seed()] });
    }
    // Its own first, then those of the following clones, cyclically.
    let (earlier, later) = clones.split_at((clone.serial as usize).min(clones.len()));
    let seeds = later.iter().chain(earlier).map(JobClone::content_seed);
    Some(Shared { contents, seeds: seeds.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommandLine, parse, testing::Small};

    fn of(words: &[&str]) -> Content {
        let words: Vec<String> =
            ["--name=x", "--size=1m"].iter().chain(words).map(ToString::to_string).collect();
        match parse(&words, &Small::default()) {
            Ok(CommandLine::Run(plan)) => content(&plan.jobs[0], 1, None),
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn simple_contents_stay_simple() {
        assert_eq!(of(&["--rw=write"]), Content::Random);
        assert_eq!(of(&["--rw=write", "--zero_buffers"]), Content::Zeros);
        assert_eq!(of(&["--rw=write", "--buffer_compress_percentage=100"]), Content::Zeros);
        let copies = of(&["--rw=write", "--dedupe_percentage=100"]);
        let Content::Blend(copies) = copies else { panic!("{copies:?}") };
        assert_eq!((copies.plain_percent, copies.pattern.len()), (100, 512));
    }

    #[test]
    fn files_are_laid_out_without_stamps() {
        let words = ["--name=x", "--size=1m", "--rw=read", "--zero_buffers", "--verify=meta"];
        let plan = crate::testing::plan(&words);
        let Content::Blend(zeros) = laid_out(&plan.jobs[0]) else { panic!() };
        assert_eq!((zeros.plain_percent, &zeros.pattern[..]), (100, &[][..]));
    }

    #[test]
    fn content_that_is_verified_compresses_as_a_whole() {
        let words = ["--rw=write", "--buffer_compress_percentage=70", "--verify=crc32c"];
        let copies = ["--dedupe_percentage=100"];
        let Content::Blend(blend) = of(&[&words[..], &copies].concat()) else { panic!() };
        let Blend { plain_percent, chunk, copy_percent, .. } = blend;
        assert_eq!((plain_percent, chunk, copy_percent), (70, u32::MAX, 0));
        let placed = |words: &[&str]| crate::testing::plan(words).jobs[0].verify.placed;
        let name = ["--name=x", "--size=1m"];
        assert!(placed(&[&name[..], &words].concat()));
        assert!(!placed(&[&name[..], &words[..1], &words[2..]].concat()));
    }

    #[test]
    fn a_pattern_replaces_zeros() {
        let Content::Blend(all) = of(&["--rw=write", "--buffer_pattern=0xab"]) else { panic!() };
        assert_eq!((all.plain_percent, &all.pattern[..]), (100, &[0xab][..]));
        let words = ["--rw=write", "--buffer_pattern=0xab", "--buffer_compress_percentage=30"];
        let Content::Blend(part) = of(&words) else { panic!() };
        assert_eq!((part.plain_percent, part.chunk, part.anew), (30, 512, true));
    }

    #[test]
    fn each_write_is_new_in_a_mix_or_on_request() {
        let Content::Blend(new) = of(&["--rw=write", "--refill_buffers"]) else { panic!() };
        assert!(new.anew && new.plain_percent == 0);
        let Content::Blend(zeros) = of(&["--rw=rw", "--zero_buffers"]) else { panic!() };
        assert!(zeros.anew && zeros.pattern.is_empty());
    }
}
