//! The mark of runs on several drives at the same time. Their figures are no measure for those of a drive
//! alone, so no later run is compared with them.

use record::Run;

/// Maximum number of drives that are measured together: a process, a file and a few threads for each.
pub const DRIVES_MAX: usize = 32;

/// The option of a record with the number of drives that were measured at the same time.
pub(crate) const TOGETHER: &str = "together";

/// Number of drives that were measured at the same time as the drive of a record, and that one; `None`:
/// it was alone.
pub(crate) fn drives(run: &Run) -> Option<&str> {
    run.options.as_ref()?.get(TOGETHER).map(String::as_str)
}
