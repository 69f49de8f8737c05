//! One rate of operations, whatever they are: what holds it is not flash, which takes longer for more
//! data, and longer for a write than for a read.
//!
//! Where writes after a rest are faster, a drive's buffer fills up and then waits for flash; but a
//! limit of operations with a bucket looks the same. A limit of bytes does, too, and cannot be told
//! from flash behind few channels, which reads and writes as many bytes.

use workload::OpKind::{Read, Write};

use super::grid::{Grid, SAME, within};
use crate::changes::{DEPTH, LARGER};

impl Grid<'_> {
    /// Whether a mix passes as many small operations as its writes alone, though reads are no slower:
    /// then writes do not cost more than reads.
    pub fn mixes_at_rate_of_writes(&self) -> bool {
        let rates = self.random(Read, 1, DEPTH).zip(self.random(Write, 1, DEPTH));
        rates.zip(self.mixed(DEPTH)).is_some_and(|((reads, writes), mixed)| {
            reads >= (1.0 - SAME) * writes && within(mixed, writes, SAME)
        })
    }

    /// Whether as many larger blocks are written per second as small ones.
    pub fn writes_larger_as_fast(&self) -> bool {
        let rates = self.random(Write, 1, DEPTH).zip(self.random(Write, LARGER[0], DEPTH));
        rates.is_some_and(|(small, larger)| within(larger, small, SAME))
    }
}
