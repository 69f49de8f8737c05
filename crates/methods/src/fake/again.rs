//! Second reads of wrong content. A reader or cable that returns wrong bytes now and then must not
//! make a good drive a counterfeit one: no flipped bit makes a right stamp, so any read that has it
//! proves that the content is kept.

use rig::{RigError, Unsteady};

use super::found::{differing_blocks, is_right, take_right};
use script::{MethodError, Result, Session};

/// Number of second reads that agree with the first, after which wrong content is believed at once:
/// a counterfeit drive has a great deal of it.
const AGREED_MAX: u32 = 16;

/// Maximum number of reads of a piece, the first included.
const READS_MAX: u32 = 8;

/// The second reads of a run.
#[derive(Default)]
pub(super) struct Rereads {
    /// Pieces of which two reads agreed on wrong content.
    agreed: u32,
    /// Blocks that returned different bytes, of all that were read.
    pub seen: Unsteady,
}

impl Rereads {
    /// Reads a piece with wrong content again, until all of its stamps are right or a read agrees
    /// with the first. `bytes` then has every sector that was right in any read.
    pub fn settle(
        &mut self,
        session: &mut Session<'_>,
        offset: u64,
        bytes: &mut [u8],
        seed: u64,
    ) -> Result<()> {
        let blocks = differing_blocks(bytes, &[]);
        self.seen.of += blocks.len() as u64;
        let is_believed = self.agreed >= AGREED_MAX && !self.seen.is_seen();
        if is_believed || is_right(offset, bytes, seed) {
            return Ok(());
        }
        let (first, mut now) = (bytes.to_vec(), vec![0; bytes.len()]);
        let mut differs = vec![false; blocks.len()];
        for _ in 1..READS_MAX {
            match session.read(offset, &mut now) {
                Err(MethodError::Rig(RigError::Io { .. })) => break,
                read => read?,
            }
            let blocks = differing_blocks(&first, &now);
            differs.iter_mut().zip(&blocks).for_each(|(seen, now)| *seen |= now);
            take_right(offset, bytes, &now, seed);
            let agrees = !blocks.contains(&true);
            self.agreed += u32::from(agrees);
            if agrees || is_right(offset, bytes, seed) {
                break;
            }
        }
        self.seen.blocks += differs.iter().filter(|differs| **differs).count() as u64;
        Ok(())
    }
}
