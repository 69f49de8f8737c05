//! Decides whether a target allows and supports a workload, from the target's description alone.
//! The answer is the same before a run and before each of its phases.

use record::Safety;
use rig::{Job, Result, RigError, TargetInfo};
use workload::{BlockSizes, Caching, Content, IN_FLIGHT_MAX, Workload, WorkloadError};

use crate::addressable::addressable;

/// Checks that the target allows and supports the workload. O_DIRECT is assumed to work until the
/// target has been opened.
pub fn admit(workload: &Workload, info: &TargetInfo) -> Result<()> {
    workload.check()?;
    let end = workload.region.end();
    if end > info.bytes {
        let text = format!("the region ends at byte {end}, but the target has {}", info.bytes);
        return Err(RigError::Unsupported(text));
    }
    if workload.mix.changes_data() && !gives_back(workload, info) {
        admit_change(&format!("workload {} writes", workload.name), info)?;
    }
    if workload.mix.discard > 0 && !info.discard {
        return Err(RigError::Unsupported("the target does not support discards".into()));
    }
    if workload.verify {
        admit_verification(workload)?;
    }
    admit_blocks(workload, info)
}

/// Checks that the verifier's mark of each block of the region fits into the address space.
fn admit_verification(workload: &Workload) -> Result<()> {
    let blocks = workload.region.bytes / u64::from(workload.blocks.min().max(1)) + 1;
    match addressable(blocks, size_of::<u32>() as u64) {
        Ok(_) => Ok(()),
        Err(error) => {
            let text = format!("verification of {blocks} blocks: {error}");
            Err(RigError::usage(text, "a smaller region, larger blocks, or a 64-bit system"))
        }
    }
}

/// Checks that a job has one source for each of its workload's jobs.
pub(crate) fn admit_sources(job: &Job) -> Result<()> {
    if job.sources.len() == job.workload.jobs as usize {
        return Ok(());
    }
    let text = format!("{} needs a source for each of its jobs", job.name());
    Err(RigError::Unsupported(text))
}

/// Checks that the jobs of a performance together stay within the limit of operations in flight.
pub(crate) fn admit_depth(jobs: &[Job]) -> Result<()> {
    let workloads = jobs.iter().map(|job| &job.workload);
    let operations = workloads.map(|w| u64::from(w.depth) * u64::from(w.jobs)).sum();
    if operations > IN_FLIGHT_MAX {
        return Err(WorkloadError::TooDeep { operations }.into());
    }
    Ok(())
}

/// Checks that the target's data may be changed.
pub(crate) fn admit_change(what: &str, info: &TargetInfo) -> Result<()> {
    let instead = match info.allowed {
        Safety::Reads => "this target is read-only",
        Safety::Borrows => "borrowed blocks may only be overwritten with their own content",
        Safety::Other(_) => "this version does not know the target's safety class",
        Safety::Scratch | Safety::Destroys => return Ok(()),
    };
    Err(RigError::Refused(format!("{what}, and {instead}")))
}

/// Whether a workload writes only the original content, on a target whose blocks may be borrowed.
fn gives_back(workload: &Workload, info: &TargetInfo) -> bool {
    let original = workload.content == Content::Original && workload.mix.discard == 0;
    original && info.allowed == Safety::Borrows
}

/// Checks that blocks may be overwritten with their own content.
pub(crate) fn admit_borrowing(info: &TargetInfo) -> Result<()> {
    match info.allowed {
        Safety::Borrows => Ok(()),
        _ => admit_change("blocks would be borrowed", info),
    }
}

/// Checks that a range consists of whole blocks of the target.
pub(crate) fn admit_blocks_at(offset: u64, bytes: u64, info: &TargetInfo) -> Result<()> {
    let block = u64::from(info.logical_block_bytes.max(1));
    let end = offset.saturating_add(bytes);
    if end <= info.bytes && offset.is_multiple_of(block) && bytes.is_multiple_of(block) {
        return Ok(());
    }
    let text = format!("bytes {offset} to {end} are not whole blocks of the target");
    Err(RigError::Unsupported(text))
}

/// Checks that direct I/O consists of whole logical blocks.
fn admit_blocks(workload: &Workload, info: &TargetInfo) -> Result<()> {
    let block = u64::from(info.logical_block_bytes.max(1));
    let direct = workload.caching == Caching::Bypass && info.target.direct != Some(false);
    let whole = |bytes: u64| bytes.is_multiple_of(block);
    let sizes_fit = match &workload.blocks {
        BlockSizes::Fixed(bytes) => whole(u64::from(*bytes)),
        BlockSizes::Split(parts) => parts.iter().all(|(bytes, _)| whole(u64::from(*bytes))),
    };
    let places_fit = whole(workload.region.start) && whole(workload.shift_bytes);
    if direct && !(sizes_fit && places_fit) {
        return Err(RigError::Unsupported(format!(
            "block sizes and offsets must be multiples of the drive's {block}-byte blocks \
             (without --buffered)"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use workload::{Mix, Pattern, Region};

    use super::*;

    #[test]
    fn every_size_of_a_split_consists_of_whole_blocks() {
        let info = TargetInfo { logical_block_bytes: 4096, ..TargetInfo::null(1 << 20) };
        let region = Region::first(1 << 20);
        let mut workload = Workload::new("w", Pattern::Uniform, Mix::READ, 4096, region);
        let mut fits = |sizes: &[u32]| {
            workload.blocks = BlockSizes::Split(sizes.iter().map(|bytes| (*bytes, 1)).collect());
            admit(&workload, &info).is_ok()
        };
        assert!(fits(&[4096, 8192, 16_384]));
        assert!(!fits(&[4096, 6144, 8192]));
        workload.caching = Caching::Buffered;
        assert!(admit(&workload, &info).is_ok());
    }
}
