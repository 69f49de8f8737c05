//! Answers printed instead of running jobs: `--help`, `--cmdhelp`, `--enghelp`, `--version`,
//! `--showcmd`.

use emit::shell_word;

use super::FioError;
use super::assemble::{COMMAND_LINE, known};
use super::options::{self, ENGINE_OPTIONS, ENGINES, OptionEntry, Standing};
use super::output;
use super::section::Section;
use super::switches::Answer;

const HELP: &str = "\
Runs fio jobs and prints results in fio's format; adds remarks on effects that fio does not report.

Usage: ssdyno fio [OPTION]... [JOB FILE]...

  ssdyno fio --name=test --filename=test.dat --size=1g --bs=4k --rw=randread --iodepth=32
  ssdyno fio --output-format=json jobs.fio   or normal, json+, terse, several with commas
  ssdyno fio --warn-unsupported jobs.fio   unsupported options are dropped with a warning
  ssdyno fio --parse-only jobs.fio         only checks the options
  ssdyno fio --cmdhelp=all                 every option of fio: supported, accepted, refused and why
  ssdyno fio --cmdhelp=bs                  one option
  ssdyno fio --enghelp                     the engines
";

/// The answer to a question.
pub(crate) fn answer(answer: &Answer) -> Result<String, FioError> {
    Ok(match answer {
        Answer::Help => HELP.into(),
        Answer::Version => format!("{}\n", output::LAYOUT),
        Answer::Options(name) if name.is_empty() || name == "all" => all_options(),
        Answer::Options(name) => one_option(name)?,
        Answer::Engines(name) => engines(name)?,
    })
}

fn all_options() -> String {
    let groups = ENGINE_OPTIONS.iter().flat_map(|group| group.entries);
    let lines = options::all()
        .chain(groups)
        .map(|entry| format!("{:28} {}\n", entry.name, standing(entry.standing)));
    lines.collect()
}

fn standing<S>(standing: Standing<S>) -> String {
    match standing {
        Standing::Supported { remark: "", .. } => "supported".into(),
        Standing::Supported { remark, .. } => format!("supported: {remark}"),
        Standing::Idle(why) => format!("accepted without effect: {why}"),
        Standing::Refused { why, fine: [] } => format!("refused: {why}"),
        Standing::Refused { why, fine } => format!("refused, except {}: {why}", fine.join(", ")),
    }
}

fn one_option(name: &str) -> Result<String, FioError> {
    let Some(entry) = known(name) else {
        let error = FioError::new(COMMAND_LINE, format!("--cmdhelp={name}: not an option of fio"));
        return Err(match options::nearest(name) {
            Some(near) => error.advise(format!("--cmdhelp={near}")),
            None => error.advise("--cmdhelp=all"),
        });
    };
    Ok(entry_line(entry))
}

fn entry_line(entry: &OptionEntry) -> String {
    let names: Vec<_> = entry.names().collect();
    format!("{}: {}\n", names.join(", "), standing(entry.standing))
}

/// All engines, one engine, or an option of one: `libaio,hipri`.
fn engines(words: &str) -> Result<String, FioError> {
    let (name, option) = words.split_once(',').map_or((words, None), |(n, o)| (n, Some(o)));
    let entries: Vec<_> =
        ENGINES.iter().filter(|entry| words.is_empty() || entry.names.contains(&name)).collect();
    let unknown = |what, suggestion: Option<String>| {
        let error = FioError::new(COMMAND_LINE, format!("--enghelp={words}: {what}"));
        error.advise(suggestion.map_or("--enghelp".into(), |name| format!("--enghelp={name}")))
    };
    if entries.is_empty() {
        let suggestion = emit::nearest(name, ENGINES.iter().flat_map(|e| e.names.iter().copied()));
        return Err(unknown("not an engine of fio", suggestion.map(String::from)));
    }
    let Some(option) = option else {
        return Ok(entries
            .into_iter()
            .map(|entry| format!("{}: {}\n", entry.names.join(", "), standing(entry.standing)))
            .collect());
    };
    let Some(entry) = options::engine_option(option) else {
        let names =
            ENGINE_OPTIONS.iter().flat_map(|group| group.entries).flat_map(OptionEntry::names);
        let suggestion =
            emit::nearest(option, names).map(|suggestion| format!("{name},{suggestion}"));
        return Err(unknown("not an option of an engine", suggestion));
    };
    Ok(entry_line(entry))
}

/// The equivalent command line of these sections, quoted for a shell.
pub(crate) fn command(sections: &[Section]) -> String {
    let mut words = vec!["fio".to_string()];
    for section in sections {
        // Options before the first job are global, so a global section needs no name there.
        if let Some(name) = section.name.as_ref().filter(|_| !section.global() || words.len() > 1) {
            words.push(format!("--name={}", shell_word(name)));
        }
        if section.stonewall {
            words.push("--stonewall".into());
        }
        for option in &section.options {
            words.push(match &option.value {
                Some(value) => format!("--{}={}", option.name, shell_word(value)),
                None => format!("--{}", option.name),
            });
        }
    }
    words.join(" ") + "\n"
}
