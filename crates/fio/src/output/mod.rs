//! The results of a plan in fio's formats: text for users, JSON for tools, and logs.
//!
//! The layout is fio's, so that users and programs find their way. There are two deliberate
//! differences: latency includes the call that submits an operation (fio excludes it from `clat`),
//! and findings about the numbers are remarks for stderr.

mod debug;
mod dumps;
mod ended;
mod histograms;
mod iologs;
mod json;
mod latency;
mod lines;
mod logs;
mod normal;
mod numbers;
mod priorities;
mod record;
mod remarks;
mod shown;
mod states;
mod terse;
mod tree;

pub use debug::debug;
pub use dumps::write_dumps;
pub use iologs::{iolog_paths, write_iologs};
pub use json::{job_options, json};
pub use lines::inflate_log;
pub use logs::{log_paths, write_logs};
pub use normal::{announce, normal};
pub use record::{METRICS, latencies, metrics};
pub use remarks::{failures, remarks};
pub(crate) use shown::Shown;
pub use states::write_states;
pub use terse::terse;

/// The fio version whose options are supported and whose layout is used, as fio names it.
pub const LAYOUT: &str = "fio-3.42";

use super::run::{JobRun, Ran};

/// The mean of some percentages; 0 of none.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Whether the activity of disks is shown: by default, unless all jobs disable it.
pub(crate) fn shows_disks(ran: &Ran<'_>) -> bool {
    ran.plan.jobs.iter().any(|job| job.reporting.disk_util)
}

/// The results as shown: with `group_reporting`, a clone is combined with those before it in its
/// group, whether or not they have the option, as in fio.
pub(crate) fn shown<'r>(ran: &'r Ran<'r>) -> Vec<Shown<'r>> {
    let mut groups: Vec<Vec<&JobRun<'_>>> = Vec::new();
    for run in ran.jobs.iter().filter(|run| run.job.reporting.stats) {
        match groups
            .last_mut()
            .filter(|group| run.job.reporting.group && group[0].job.group == run.job.group)
        {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    let as_is = ran.plan.globals.as_is;
    groups.into_iter().map(|runs| Shown::new(runs).counting_left_out(as_is)).collect()
}

/// Calls `print` with the results as shown. As in fio, one without counts stands for all if
/// `stats=0` hides them all, so that a program finds a job.
fn with_results<T>(ran: &Ran<'_>, print: impl FnOnce(&[Shown<'_>]) -> T) -> T {
    let results = shown(ran);
    let Some(first) = ran.jobs.first().filter(|_| results.is_empty()) else {
        return print(&results);
    };
    let job = first.job.hidden();
    let run = first.hidden(&job);
    print(&[Shown::new(vec![&run])])
}
