//! Reads back everything a job wrote, after its last phase and outside the measured time, if its
//! source does not do so itself.

use std::io;
use std::sync::atomic::Ordering;

use rig::StopReason;

use super::Worker;
use crate::backend::{Backend, negative};
use crate::sys::arena::Arena;
use crate::verify::Verifier;

impl<B: Backend> Worker<'_, B> {
    /// Checks the content of all blocks written. A block that cannot be read is an error of the
    /// run. A run that was cut short is not checked.
    pub(super) fn read_back(&mut self, verifier: &mut Verifier) -> io::Result<()> {
        let cut_short = matches!(self.end.stop, StopReason::Interrupted | StopReason::Errors);
        if cut_short || self.workload.mix.write == 0 {
            return Ok(());
        }
        let bytes_max = self.workload.blocks.max();
        // Aligned, for targets that bypass the page cache.
        let mut arena = Arena::new(1, bytes_max as usize)?;
        let mut offset = 0;
        while let Some(read) = verifier.next_written(offset, bytes_max) {
            if self.stop.load(Ordering::Relaxed) {
                self.end.stop = StopReason::Interrupted;
                break;
            }
            self.recorder.pulse.beat();
            let buffer = arena.slot(0, read.bytes);
            match self.backend.read_back(read.offset, buffer) {
                Ok(false) => break,
                Ok(true) => {
                    self.failures = 0;
                    if let Some((fault, address)) = verifier.check(read.offset, buffer) {
                        self.recorder.fault("verify", fault.name(), address);
                    }
                }
                Err(e) => self.count_failure(read, result_of(&e)),
            }
            if self.control.gave_up() {
                self.end.stop = StopReason::Errors;
                break;
            }
            offset = read.end();
        }
        Ok(())
    }
}

/// The result of a read that failed: a negative error number, or 0 at the end of the target.
fn result_of(error: &io::Error) -> i64 {
    if error.kind() == io::ErrorKind::UnexpectedEof { 0 } else { negative(error) }
}
