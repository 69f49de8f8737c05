//! Parses fio's command line into sections and globals.
//!
//! `--opt=value` and `--opt value` are equivalent, as are one dash and two. Names can be
//! abbreviated as long as they are unambiguous, and job files can appear anywhere. `--name=` starts
//! a job; options before the first one apply to all jobs.

use std::collections::VecDeque;

use super::assemble::{Assembled, AssemblyRules, COMMAND_LINE, known};
use super::options::{self, Standing};
use super::section::{Given, Section};
use super::switches::{self, Settings, Switch, Takes};
use super::{CommandLine, FioError, Note, Plan, World, assemble, help, jobfile, output};

/// Maximum number of words; arbitrary, more than a shell passes on.
const WORDS_MAX: usize = 1 << 20;

/// Parses a command line; `words` are those after `fio`.
pub fn parse(words: &[String], world: &dyn World) -> Result<CommandLine, FioError> {
    let mut reader = CommandLineReader::default();
    if words.len() > WORDS_MAX {
        return Err(wrong("too many words"));
    }
    reader.words = words.iter().map(String::as_str).collect();
    reader.read()?;
    let CommandLineReader { settings, mut sections, files, mut notes, .. } = reader;
    if let Some(answer) = settings.answer {
        return help::answer(&answer).map(CommandLine::Answer);
    }
    if let Some(log) = settings.inflate_log {
        return Ok(CommandLine::Inflate(log));
    }
    for (index, file) in files.iter().enumerate() {
        let file_sections = jobfile::sections(file, &settings.sections, world, &mut notes);
        let mut file_sections = file_sections.map_err(|error| teach(error, file))?;
        if index > 0
            && let Some(section) = file_sections.iter_mut().find(|section| !section.global())
        {
            section.stonewall = true;
        }
        sections.append(&mut file_sections);
    }
    if settings.showcmd {
        return Ok(CommandLine::Answer(help::command(&sections)));
    }
    let rules =
        AssemblyRules { warn_unsupported: settings.warn_unsupported, readonly: settings.readonly };
    let Assembled { jobs, global_options, thresholds } =
        assemble::jobs(&sections, rules, world, &mut notes)?;
    if let (Some(note), true) = (notes.first(), settings.warnings_fatal) {
        let error = FioError::new(&note.place, &note.text);
        return Err(error.advise("omit --warnings-fatal to continue anyway"));
    }
    let mut plan = Plan { globals: settings.globals, jobs, global_options, notes };
    plan.globals.debug.thresholds = thresholds;
    if settings.parse_only {
        return Ok(CommandLine::Answer(output::debug(&plan)));
    }
    if plan.jobs.is_empty() {
        let advice = "a job starts with --name=NAME, or with [NAME] in a job file";
        return Err(wrong("there is no job").advise(advice));
    }
    Ok(CommandLine::Run(Box::new(plan)))
}

fn option_names() -> impl Iterator<Item = &'static str> {
    let switches = switches::SWITCHES.iter().map(|switch| switch.name);
    switches.chain(options::all().flat_map(options::OptionEntry::names))
}

fn wrong(what: impl Into<String>) -> FioError {
    FioError::new(COMMAND_LINE, what)
}

/// Explains that an unreadable job file may be an option with a typing error at its start.
fn teach(error: FioError, file: &str) -> FioError {
    let word = file.trim_start_matches(['=', '-', '–', '—']);
    let name = word.split('=').next().unwrap_or_default().trim();
    let cannot_be_read = error.place == COMMAND_LINE && error.what.contains("cannot be read");
    if !cannot_be_read || known(name).is_none() || !(word.contains('=') || word != file) {
        return error;
    }
    let text = format!("'{file}' is read as a job file: options start with two dashes");
    wrong(text).advise(format!("--{word}"))
}

#[derive(Default)]
struct CommandLineReader<'a> {
    words: VecDeque<&'a str>,
    settings: Settings,
    sections: Vec<Section>,
    files: Vec<String>,
    notes: Vec<Note>,
    /// Inside a `--name` excluded by `--section`.
    skip: bool,
}

/// The meaning of a word that starts with dashes.
enum Named {
    Switch(&'static Switch),
    Option(&'static options::OptionEntry),
}

impl<'a> CommandLineReader<'a> {
    fn read(&mut self) -> Result<(), FioError> {
        while let Some(word) = self.words.pop_front() {
            // A typographic dash, as word processors make from two hyphens.
            if let Some(rest) = word.strip_prefix(['–', '—'])
                && known(rest.split('=').next().unwrap_or_default()).is_some()
            {
                let text = format!("'{word}' starts with a long dash; fio needs two hyphens");
                return Err(wrong(text).advise(format!("--{rest}")));
            }
            match word.trim() {
                "--" => self.end_of_options()?,
                trimmed if trimmed.starts_with('-') && trimmed != "-" => self.dashed(word)?,
                _ => self.files.push(word.into()),
            }
        }
        Ok(())
    }

    /// After `--`, all words are job files. An option's name there is the rest of a word that a
    /// line break split in two.
    fn end_of_options(&mut self) -> Result<(), FioError> {
        let word = self.words.front().copied().unwrap_or_default();
        match word.split_once('=') {
            Some((name, _)) if known(name.trim()).is_some() => {
                self.words.pop_front();
                let text = format!("'-- {word}' is read as --{word}, with a line break in between");
                self.notes.push(Note::new(COMMAND_LINE, text));
                self.dashed(&format!("--{word}"))
            }
            _ => {
                self.files.extend(self.words.drain(..).map(String::from));
                Ok(())
            }
        }
    }

    /// Whether fio takes a word like `-end-fsync=1` for `-e` (`--eta`), of which an unknown value changes
    /// nothing; leaves a note. Other unknown names stay errors, here as elsewhere.
    fn is_eta(&mut self, word: &str) -> bool {
        let name = word[1..].split('=').next().unwrap_or_default();
        let meant = name.replace('-', "_");
        let is_eta = name.starts_with('e') && meant != name && known(&meant).is_some();
        if is_eta {
            let text = format!("as in fio, {word} is -e (--eta) and changes nothing");
            let text = format!("{text}; --{meant}, if you meant that");
            self.notes.push(Note::new(COMMAND_LINE, text));
        }
        is_eta
    }

    fn dashed(&mut self, word: &str) -> Result<(), FioError> {
        if self.is_eta(word.trim()) {
            return Ok(());
        }
        let body = word.trim_start();
        let body = body.strip_prefix("--").or_else(|| body.strip_prefix('-')).unwrap_or(body);
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (body, None),
        };
        match self.named(name.trim())? {
            Named::Switch(switch) => self.switch(switch, value),
            Named::Option(entry) => {
                let name = entry.names().find(|full| *full == name.trim()).unwrap_or(entry.name);
                let value = match value {
                    None if !entry.bare || takes_a_log(name) => self.next_value(),
                    value => value,
                };
                self.option(name, value)
            }
        }
    }

    /// The switch or option of that name, or the only one with that prefix.
    fn named(&self, name: &str) -> Result<Named, FioError> {
        if let Some(switch) = switches::find(name) {
            return Ok(Named::Switch(switch));
        }
        if let Some(entry) = known(name) {
            return Ok(Named::Option(entry));
        }
        let mut longer: Vec<_> =
            option_names().filter(|full| name.len() > 1 && full.starts_with(name)).collect();
        longer.dedup();
        match longer[..] {
            [only] => self.named(only),
            _ => {
                let error = wrong(format!("--{name}: not an option of fio"));
                Err(match emit::nearest(name, option_names()) {
                    Some(near) => error.advise(format!("--{near}, if you meant that")),
                    None => error.advise("--cmdhelp=all lists the options"),
                })
            }
        }
    }

    /// The next word, if it can be a value.
    fn next_value(&mut self) -> Option<String> {
        let word = self.words.front().filter(|word| !word.starts_with("--"))?.to_string();
        self.words.pop_front();
        Some(word)
    }

    fn switch(&mut self, switch: &Switch, value: Option<String>) -> Result<(), FioError> {
        let text = match &value {
            Some(value) => format!("--{}={value}", switch.name),
            None => format!("--{}", switch.name),
        };
        let value = match (switch.takes, value) {
            (Takes::Value, None) => match self.next_value() {
                Some(value) => Some(value),
                None => return Err(wrong(format!("{text}: needs a value"))),
            },
            (Takes::Nothing, Some(_)) => return Err(wrong(format!("{text}: takes no value"))),
            (_, value) => value,
        };
        match switch.standing {
            Standing::Idle(_) => Ok(()),
            Standing::Refused { why, .. } => {
                if self.settings.warn_unsupported {
                    self.notes.push(Note::dropped(COMMAND_LINE, &text, why));
                    return Ok(());
                }
                let advice = "omit it, or put --warn-unsupported before it";
                Err(wrong(format!("{text}: not supported: {why}")).advise(advice))
            }
            Standing::Supported { set, .. } => {
                let value = value.unwrap_or_default();
                set(&mut self.settings, &value).map_err(|what| wrong(format!("{text}: {what}")))
            }
        }
    }

    fn option(&mut self, name: &str, value: Option<String>) -> Result<(), FioError> {
        if name == "name" {
            let Some(name) = value.filter(|name| !name.is_empty()) else {
                return Err(wrong("--name: needs a value"));
            };
            let sections = &self.settings.sections;
            self.skip =
                !sections.is_empty() && !sections.contains(&name) && !name.starts_with("global");
            if !self.skip {
                self.begin(Some(name));
            }
            return Ok(());
        }
        if self.skip {
            return Ok(());
        }
        if self.sections.is_empty() {
            self.begin(None);
        }
        if let Some(section) = self.sections.last_mut() {
            section.options.push(Given { place: COMMAND_LINE.into(), name: name.into(), value });
        }
        Ok(())
    }

    fn begin(&mut self, name: Option<String>) {
        let section = Section { name, place: COMMAND_LINE.into(), ..Section::default() };
        self.sections.push(section);
    }
}

/// Log options need no value in a job file, but on the command line they take the next word.
fn takes_a_log(name: &str) -> bool {
    name.starts_with("write_") && name.ends_with("_log")
}
