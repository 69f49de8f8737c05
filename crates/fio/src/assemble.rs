//! Turns sections into jobs: inheritance from `[global]`, the effect of each option, and the order
//! of jobs.

use std::cell::RefCell;

use super::draft::JobDraft;
use super::options::{self, OptionEntry, Standing};
use super::resolve;
use super::section::{Given, Section};
use super::value::Value;
use super::{FioError, Job, Note, World};

/// The treatment of options that are not supported.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AssemblyRules {
    /// Unsupported options are dropped with a warning.
    pub warn_unsupported: bool,
    /// Jobs that change data are an error.
    pub readonly: bool,
}

/// The jobs of sections.
pub(crate) struct Assembled {
    pub jobs: Vec<Job>,
    /// The options of global sections, as given.
    pub global_options: Vec<(String, String)>,
    /// The thresholds of steady states, in fio's words.
    pub thresholds: Vec<String>,
}

/// Builds the jobs of these sections.
pub(crate) fn jobs(
    sections: &[Section],
    rules: AssemblyRules,
    world: &dyn World,
    notes: &mut Vec<Note>,
) -> Result<Assembled, FioError> {
    let mut builder = Builder {
        rules,
        world,
        notes,
        global: JobDraft::default(),
        global_options: Vec::new(),
        jobs: Vec::new(),
        thresholds: Vec::new(),
        group: 0,
    };
    for section in sections {
        builder.section(section)?;
    }
    // As in fio, the option of one job applies to all.
    let exitall = builder.jobs.iter().any(|job| job.schedule.exitall);
    builder.jobs.iter_mut().for_each(|job| job.schedule.exitall = exitall);
    let Builder { jobs, global_options, thresholds, .. } = builder;
    Ok(Assembled { jobs, global_options, thresholds })
}

struct Builder<'a> {
    rules: AssemblyRules,
    world: &'a dyn World,
    notes: &'a mut Vec<Note>,
    global: JobDraft,
    global_options: Vec<(String, String)>,
    jobs: Vec<Job>,
    thresholds: Vec<String>,
    group: u32,
}

impl Builder<'_> {
    fn section(&mut self, section: &Section) -> Result<(), FioError> {
        if section.global() {
            let mut global = std::mem::take(&mut self.global);
            self.options(&mut global, section)?;
            self.global_options.append(&mut global.job.given);
            self.global = global;
            return Ok(());
        }
        let mut draft = self.global.clone();
        let name = section.name.clone().unwrap_or_default();
        draft.job.origin = section.place.clone();
        (draft.job.name, draft.job.section) = (name.clone(), name);
        if section.place == COMMAND_LINE {
            draft.job.given.push(("name".into(), draft.job.name.clone()));
        }
        draft.stonewall |= section.stonewall;
        self.options(&mut draft, section)?;
        self.job(draft, section)
    }

    /// In a job file, fio processes some options before the others, whatever the order of the
    /// lines.
    fn options(&mut self, draft: &mut JobDraft, section: &Section) -> Result<(), FioError> {
        let mut options: Vec<_> = section.options.iter().collect();
        if section.place != COMMAND_LINE {
            options.sort_by_key(|given| rank(&given.name));
        }
        options.into_iter().try_for_each(|given| self.option(draft, given))
    }

    fn option(&mut self, draft: &mut JobDraft, given: &Given) -> Result<(), FioError> {
        let Some(entry) = known(&given.name) else { return Err(unknown(given)) };
        let value = given.value.as_deref().map(str::trim).unwrap_or_default();
        if value.is_empty() && !entry.bare {
            return Err(given.error("needs a value").advise(format!("{}=VALUE", given.name)));
        }
        match entry.standing {
            Standing::Idle(_) => {}
            Standing::Refused { fine, .. } if fine.contains(&value) => {}
            Standing::Refused { why, .. } if self.rules.warn_unsupported => {
                self.notes.push(Note::dropped(&given.place, &given.shown(), why));
                return Ok(());
            }
            Standing::Refused { why, .. } => {
                let advice = "--warn-unsupported drops unsupported options with a warning";
                return Err(given.error(&format!("not supported: {why}")).advise(advice));
            }
            Standing::Supported { set, .. } => {
                let notes = RefCell::default();
                let text = given.value.as_deref();
                let parsed = Value { text, world: self.world, kb: draft.kb, notes: &notes };
                let result = set(draft, &parsed).map_err(|what| given.error(&what));
                for text in notes.into_inner() {
                    self.note(&given.place, format!("{}: {text}", given.name));
                }
                result?;
                if entry.name == "steadystate" {
                    self.thresholds.push(draft.steady.threshold_in_fios_words());
                }
            }
        }
        // Nor does fio list an option without a value.
        if !value.is_empty() {
            draft.job.given.push((entry.name.to_string(), value.to_string()));
        }
        Ok(())
    }

    fn note(&mut self, place: &str, text: String) {
        self.notes.push(Note::new(place, text));
    }

    fn job(&mut self, draft: JobDraft, section: &Section) -> Result<(), FioError> {
        let wrong = |what: String| {
            FioError::new(&section.place, format!("job '{}': {what}", draft.job.name))
        };
        let wait_for = draft.wait_for.as_deref().map(|name| self.waited_for(name)).transpose();
        let wait_for = wait_for.map_err(wrong)?;
        let mut notes = Vec::new();
        let mut job = resolve::job(&draft, self.world, &mut notes).map_err(wrong)?;
        for text in notes {
            self.note(&section.place, format!("job '{}': {text}", job.name));
        }
        let rw = job.access.rw;
        let is_replayed = job.replay.is_some();
        if self.rules.readonly && !is_replayed && (rw.writes() || rw.trims()) {
            return Err(wrong(format!("rw={} is not allowed with --readonly", rw.name())));
        }
        if self.rules.readonly && is_replayed && job.changes() {
            return Err(wrong("a log with writes is not allowed with --readonly".into()));
        }
        let clones: u32 = self.jobs.iter().map(|job| job.numjobs).sum();
        if clones + job.numjobs > resolve::CLONES_MAX {
            return Err(wrong(format!("more than {} jobs in total", resolve::CLONES_MAX)));
        }
        if !self.jobs.is_empty() && (draft.stonewall || draft.new_group) {
            self.group += 1;
        }
        job.group = self.group;
        if let Some(option) = self.differing_option(&job) {
            return Err(wrong(format!("{option} differs from that of other jobs of its group")));
        }
        job.schedule.stonewall = draft.stonewall;
        job.schedule.wait_for = wait_for;
        self.jobs.push(job);
        Ok(())
    }

    /// An option that differs from an earlier job of the group, but must not in fio.
    fn differing_option(&self, job: &Job) -> Option<&'static str> {
        let mut members = self.jobs.iter().filter(|other| other.group == job.group);
        let (steady, reporting) = (&job.steady, &job.reporting);
        members.find_map(|other| {
            let differs = reporting.lat_percentiles != other.reporting.lat_percentiles;
            if reporting.group && reporting.stats && differs {
                Some("lat_percentiles")
            } else {
                (*steady != other.steady).then_some("steadystate")
            }
        })
    }

    /// The only job of that name, which must come earlier.
    fn waited_for(&self, name: &str) -> Result<usize, String> {
        let mut matches = self.jobs.iter().enumerate().filter(|(_, job)| job.name == name);
        match (matches.next(), matches.next()) {
            (Some((index, _)), None) => Ok(index),
            (None, _) => Err(format!("wait_for={name}: no earlier job has that name")),
            (Some(_), Some(_)) => Err(format!("wait_for={name}: several jobs have that name")),
        }
    }
}

/// The location of options on the command line.
pub(crate) const COMMAND_LINE: &str = "command line";

/// The order in which fio processes options: file names need their directory, and an engine's
/// options need the engine.
fn rank(name: &str) -> u32 {
    match name {
        "kb_base" | "unit_base" | "cpus_allowed_policy" => 0,
        "filename" | "filename_format" => 2,
        _ if options::find(name).is_some() => 1,
        _ => 3,
    }
}

fn unknown(given: &Given) -> FioError {
    let error = FioError::new(&given.place, format!("{}: not an option of fio", given.shown()));
    match options::nearest(&given.name) {
        Some(name) => error.advise(format!("{name}, if you meant that")),
        None => error.advise("--cmdhelp=all lists the options"),
    }
}

/// The option of that name, from any table.
pub(crate) fn known(name: &str) -> Option<&'static OptionEntry> {
    options::find(name).or_else(|| options::engine_option(name))
}
