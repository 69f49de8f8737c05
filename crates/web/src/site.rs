//! A static site: the pages as files, with JSON and CSV beside the pages of records, drives and
//! models.
//!
//! Each file is replaced atomically, the list last, so that a reader never sees half a page and an
//! interrupted run leaves the earlier list. A directory with other files is refused: a file marks those
//! that were written here, and names what a later run may remove.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use anyhow::{Context, Result, bail};
use store::{Filter, RunSummary, Store};

use crate::frame::Venue;
use crate::pages::records::{RecordList, RecordQuery};
use crate::pages::{drives, history, model, record, records};
use crate::{figures, names};

/// Records on a page of the list.
const PAGE: usize = 200;

/// The file that marks a directory as written here: the names of its files, one a line.
const MARK: &str = "ssdyno-site.txt";

/// The endings of its files.
const FORMS: [&str; 4] = [".html", ".json", ".csv", ".js"];

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteCounts {
    pub records: usize,
    pub drives: usize,
    pub models: usize,
    pub files: usize,
}

/// Writes the site of all finished records into a directory, which is created if it is missing.
pub fn write_site(store: &mut Store, directory: &Path) -> Result<SiteCounts> {
    let mut site = SiteDirectory::open(directory)?;
    let runs = lab::listed(store, &Filter::default())?;
    let runs: Vec<RunSummary> = runs.into_iter().filter(|run| !run.running).collect();
    let drives = store.drives()?;
    let venue = Venue::Site;
    site.write(report::CHARTS_FILE, &report::charts_script())?;
    write_records(&mut site, store, &venue, &runs)?;
    for stored in &drives {
        let members = runs_with(&runs, |run| run.drive_key.as_ref() == Some(&stored.key));
        let page = history::page(&venue, stored, &members);
        site.write_forms(&names::drive(&stored.key), &page, &members)?;
    }
    let models = drives::models(&drives);
    for name in models.keys() {
        let owners: Vec<_> =
            drives.iter().filter(|drive| drive.model.as_deref() == Some(*name)).collect();
        let members = runs_with(&runs, |run| {
            owners.iter().any(|drive| run.drive_key.as_ref() == Some(&drive.key))
        });
        let page = model::page(&venue, name, &owners, &members);
        site.write_forms(&names::model(name), &page, &members)?;
    }
    site.write(names::DRIVES, &drives::page(&venue, &drives))?;
    write_list(&mut site, &venue, &runs)?;
    let counts = SiteCounts {
        records: runs.len(),
        drives: drives.len(),
        models: models.len(),
        files: site.written.len(),
    };
    site.finish()?;
    Ok(counts)
}

fn runs_with(runs: &[RunSummary], belongs: impl Fn(&RunSummary) -> bool) -> Vec<RunSummary> {
    runs.iter().filter(|run| belongs(run)).cloned().collect()
}

/// Writes the pages of records, a part of them on each processor.
fn write_records(
    site: &mut SiteDirectory<'_>,
    store: &Store,
    venue: &Venue,
    runs: &[RunSummary],
) -> Result<()> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let length = runs.len().div_ceil(processors).max(1);
    let (directory, store) = (site.path, store.path());
    let names = thread::scope(|scope| {
        let threads = runs
            .chunks(length)
            .map(|part| scope.spawn(move || write_part(directory, store, venue, part)));
        let threads: Vec<_> = threads.collect();
        let results = threads.into_iter().map(|thread| thread.join());
        results
            .map(|result| result.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect::<Result<Vec<_>>>()
    })?;
    site.written.extend(names.into_iter().flatten());
    Ok(())
}

/// Writes the pages of some records, and returns the names of the files.
fn write_part(
    directory: &Path,
    store: &Path,
    venue: &Venue,
    runs: &[RunSummary],
) -> Result<Vec<String>> {
    let store = Store::open_existing(Some(store))?;
    let mut names = Vec::new();
    for number in runs.iter().map(|run| run.number) {
        let (run, document) = lab::kept(&store, number)?;
        let name = names::run(number);
        let forms = [
            (names::html(&name), record::page(venue, &run, number)?),
            (format!("{name}.json"), document.text()? + "\n"),
            (format!("{name}.csv"), report::csv(&run)),
        ];
        for (name, text) in forms {
            put(directory, &name, &text)?;
            names.push(name);
        }
    }
    Ok(names)
}

/// Replaces a file of the site.
fn put(directory: &Path, name: &str, text: &str) -> Result<()> {
    let path = directory.join(name);
    let mut file = emit::Replacement::create(&path).with_context(|| path.display().to_string())?;
    let writing = file.write_all(text.as_bytes()).and_then(|()| file.place());
    writing.with_context(|| path.display().to_string())
}

/// Writes the list, its oldest part first.
fn write_list(site: &mut SiteDirectory<'_>, venue: &Venue, runs: &[RunSummary]) -> Result<()> {
    let name = |page: usize| match page {
        0 => names::RECORDS.to_string(),
        _ => format!("index-{}.html", page + 1),
    };
    let parts: Vec<&[RunSummary]> =
        if runs.is_empty() { vec![runs] } else { runs.chunks(PAGE).collect() };
    for (page, part) in parts.iter().enumerate().rev() {
        let list = RecordList {
            runs: part,
            total: runs.len() as u64,
            newer: page.checked_sub(1).map(name),
            older: (page + 1 < parts.len()).then(|| name(page + 1)),
        };
        site.write(&name(page), &records::page(venue, &RecordQuery::default(), &list))?;
    }
    Ok(())
}

/// The directory of a site while it is written.
struct SiteDirectory<'d> {
    path: &'d Path,
    /// The files of an earlier run.
    earlier: BTreeSet<String>,
    written: BTreeSet<String>,
}

impl SiteDirectory<'_> {
    fn open(path: &Path) -> Result<SiteDirectory<'_>> {
        emit::Directory::create(path, 0o777).with_context(|| path.display().to_string())?;
        let entries = fs::read_dir(path).with_context(|| path.display().to_string())?;
        let is_empty = entries.count() == 0;
        let mark = fs::read_to_string(path.join(MARK)).ok();
        let earlier = match mark {
            Some(text) => text.lines().map(String::from).collect(),
            None if is_empty => BTreeSet::new(),
            None => bail!("{} is not empty, and no site of ssdyno", path.display()),
        };
        // A run that is interrupted leaves a directory that the next one may write.
        let site = SiteDirectory { path, earlier, written: BTreeSet::new() };
        site.write_mark(&site.earlier)?;
        Ok(site)
    }

    fn write(&mut self, name: &str, text: &str) -> Result<()> {
        put(self.path, name, text)?;
        self.written.insert(name.to_string());
        Ok(())
    }

    /// Writes a page that sums up runs, and its other forms.
    fn write_forms(&mut self, name: &str, page: &str, runs: &[RunSummary]) -> Result<()> {
        self.write(&names::html(name), page)?;
        self.write(&format!("{name}.json"), &format!("{}\n", lab::runs_json(runs)))?;
        self.write(&format!("{name}.csv"), &figures::csv(runs))
    }

    /// Removes the files of an earlier run that this one did not write, and marks the rest.
    fn finish(self) -> Result<()> {
        for name in self.earlier.difference(&self.written) {
            // Only names without a directory were written.
            if !name.contains('/') && FORMS.iter().any(|ending| name.ends_with(ending)) {
                let _ = fs::remove_file(self.path.join(name));
            }
        }
        self.write_mark(&self.written)
    }

    fn write_mark(&self, names: &BTreeSet<String>) -> Result<()> {
        let text: String = names.iter().map(|name| format!("{name}\n")).collect();
        let path = self.path.join(MARK);
        emit::replace(&path, text).with_context(|| path.display().to_string())
    }
}
