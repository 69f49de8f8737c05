//! Which supported options the cases had, and which of these were in a case that was compared.

use std::collections::BTreeSet;
use std::fmt;

use super::case::Case;
use super::options;

/// The options of the cases of a run.
#[derive(Default)]
pub struct Coverage {
    drawn: BTreeSet<&'static str>,
    compared: BTreeSet<&'static str>,
}

impl Coverage {
    pub fn add(&mut self, case: &Case, is_compared: bool) {
        for set in case.global.iter().chain(case.jobs.iter().flatten()) {
            self.drawn.insert(set.name);
            if is_compared {
                self.compared.insert(set.name);
            }
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let supported = supported();
        let is_absent = |name: &&&str| !self.compared.contains(**name) && !ALWAYS.contains(*name);
        let count = |set: &BTreeSet<&str>| {
            supported.iter().filter(|name| set.contains(**name) || ALWAYS.contains(name)).count()
        };
        let absent: Vec<&str> = supported.iter().filter(is_absent).copied().collect();
        write!(
            f,
            "options: {} supported, {} drawn, {} in lines that were compared; not: {}",
            supported.len(),
            count(&self.drawn),
            count(&self.compared),
            absent.join(" ")
        )
    }
}

/// Options that every run has, from the tool that runs it.
const ALWAYS: [&str; 4] = ["name", "write_lat_log", "log_offset", "per_job_logs"];

/// The options of jobs that the page lists as supported, each with its other names.
fn rows() -> Vec<Vec<&'static str>> {
    let page = include_str!("../../../../../docs/fio.md");
    let jobs = page.split("## Options of jobs").nth(1).and_then(|rest| rest.split("## Eng").next());
    let rows = jobs.unwrap_or_default().lines().filter(|line| line.contains("| supported |"));
    let names = rows.filter_map(|row| row.split('|').nth(1));
    names.map(|names| names.split('`').skip(1).step_by(2).collect()).collect()
}

/// The first name of each.
fn supported() -> Vec<&'static str> {
    rows().into_iter().filter_map(|names| names.first().copied()).collect()
}

#[test]
fn every_supported_option_is_drawn_or_left_out_with_a_reason() {
    let missing: Vec<_> =
        supported().into_iter().filter(|name| !options::is_covered(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let names = rows().concat();
    assert!(options::DRAWN.iter().all(|option| names.contains(&option.name)));
}
