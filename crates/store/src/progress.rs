//! Progress of a migration, reported to the one callback of the process.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Interval between reports of progress; a shorter migration reports none.
const PATIENCE: Duration = Duration::from_secs(2);

/// Progress callback: number of migrated runs and of all runs.
pub type Progress = fn(done: u64, of: u64);

static PROGRESS: OnceLock<Progress> = OnceLock::new();

/// Sets the callback that a migration calls every 2 s. It is global, because a store is opened in
/// many places but migrated only once. Only the first call has an effect.
pub fn on_migration(progress: Progress) {
    // Later calls have no effect.
    let _ = PROGRESS.set(progress);
}

/// Calls the callback for a migration that another process makes.
pub fn report_migration(done: u64, of: u64) {
    PROGRESS.get().iter().for_each(|tell| tell(done, of));
}

/// Counts the runs of a step of a migration.
pub(crate) struct MigrationProgress {
    migrated: u64,
    total: u64,
    reported: Instant,
}

impl MigrationProgress {
    pub fn start(total: usize) -> MigrationProgress {
        MigrationProgress { migrated: 0, total: total as u64, reported: Instant::now() }
    }

    /// One run more is migrated.
    pub fn step(&mut self) {
        self.migrated += 1;
        if self.reported.elapsed() >= PATIENCE {
            self.reported = Instant::now();
            report_migration(self.migrated, self.total);
        }
    }
}
