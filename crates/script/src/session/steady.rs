//! Blocks that return different bytes each time they are read: a fault of the drive, its reader or its
//! cable, and the answer of any run that meets it.

use record::{Finding, FindingKind, IoErrors, Level};
use rig::Unsteady;

use super::Session;

impl Session<'_> {
    /// Adds blocks that were read again in a step. If any returned different bytes, that is an error
    /// of this step.
    pub fn doubt_reads(&mut self, step: &str, seen: Unsteady) {
        if !seen.is_seen() {
            return;
        }
        self.unsteady = self.unsteady.and(seen);
        self.out.add_errors(&IoErrors::new("verify", "unsteady", step, seen.blocks));
    }

    /// Whether blocks returned different bytes.
    pub fn reads_differ(&self) -> bool {
        self.unsteady.is_seen()
    }

    /// Lists the finding, with the sums of all steps.
    pub(super) fn note_unsteady(&mut self) {
        if self.reads_differ() {
            let text = self.unsteady.to_string();
            let finding = Finding::new(FindingKind::ReadsDiffer, Level::Bad, text);
            self.out.note(finding.advise("another reader, port or cable; copy your data first"));
        }
    }
}
