//! Single transfers through the block interface at depth 1, timed in nanoseconds.

use rig::{BlockRequest, BlockWay, RigError};
use workload::Filler;

use crate::{MethodError, Result, Session};

/// Reads; returns the time in nanoseconds.
pub fn timed_read(session: &mut Session<'_>, offset: u64, bytes: u64) -> Result<f64> {
    timed(session, BlockWay::Read, offset, vec![0; bytes as usize])
}

/// Writes content that is never read back; returns the time in nanoseconds.
pub fn timed_write(
    session: &mut Session<'_>,
    filler: &Filler,
    offset: u64,
    bytes: u64,
) -> Result<f64> {
    let mut content = vec![0; bytes as usize];
    filler.fill(&mut content, offset);
    timed(session, BlockWay::Write, offset, content)
}

fn timed(session: &mut Session<'_>, way: BlockWay, offset: u64, bytes: Vec<u8>) -> Result<f64> {
    let request = BlockRequest { tag: offset, way, offset, bytes };
    let mut completed = Vec::new();
    match way {
        BlockWay::Read | BlockWay::Flush => session.submit(request)?,
        BlockWay::Write => session.submit_unkept(request)?,
    }
    session.poll(true, &mut completed)?;
    let part = || format!("{way:?} at {offset}");
    let block = completed.pop().ok_or_else(|| MethodError::Unfinished { part: part() })?;
    block.result.map_err(|source| RigError::Io { context: part(), source })?;
    Ok(block.done_ns.saturating_sub(block.submitted_ns) as f64)
}
