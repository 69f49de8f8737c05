//! Formats clap's errors like all failures: one line, and one with something to try.
//!
//! The advice goes by meaning before it goes by spelling: who types `--numjobs` knows fio. A word is
//! only corrected if it is a typing error of another; a similar word would mislead.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, Error};

use crate::cli::Cli;
use crate::failure::{Failure, USAGE};

/// Words of other tools, or that one might expect, and what means the same here. What begins with an
/// option is only said if the command has it.
const MEANINGS: [(&[&str], &str); 18] = [
    (&["numjobs", "threads", "workers"], "--jobs"),
    (&["iodepth", "qd", "queue-depth"], "--depth"),
    (&["runtime", "duration", "seconds", "time_based"], "--time 10s"),
    (&["readwrite", "mode", "operation"], "--rw"),
    (&["blocksize", "block-size", "record"], "--bs"),
    (&["rwmixread"], "--mix"),
    (&["ioengine", "engine"], "--backend"),
    (&["rate_iops", "rate-iops", "iops"], "--rate"),
    (&["loops"], "--coverage"),
    (&["number_ios"], "--ops"),
    (&["rounds", "repeat", "iterations", "runs"], "--replicates"),
    (&["randseed"], "--seed"),
    (&["output-format"], "--json"),
    (&["output", "report"], "--html FILE"),
    (&["log", "debug"], "--verbose"),
    (&["name", "label"], "--title"),
    (&["direct", "group_reporting"], "the same without it: it is always so"),
    (&["filename", "device", "target"], "the target without an option: ssdyno io TARGET"),
];

/// A value for each placeholder in the help.
const EXAMPLES: [(&str, &str); 8] = [
    ("TIME", "10s"),
    ("SIZE", "1GiB"),
    ("BYTES", "64MiB"),
    ("N", "4"),
    ("PERCENT", "50"),
    ("RATE", "400MB/s"),
    ("IOPS", "5k"),
    ("SERIAL", "SERIAL, as ssdyno list shows it; a directory needs none"),
];

/// The failure for a command line. Help and version are printed here and end the process.
pub fn failure(error: &Error) -> Failure {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if matches!(
        error.kind(),
        DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        error.exit();
    }
    Failure::new(USAGE, text(error)).advise(advice(error, &crate::cli::typed()))
}

/// The first paragraph of clap's message, in one line.
fn text(error: &Error) -> String {
    let message = error.to_string();
    let lines = message.lines().map(str::trim).take_while(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join(" ");
    line.strip_prefix("error: ").unwrap_or(&line).to_string()
}

/// What was probably meant, or otherwise the help to read.
fn advice(error: &Error, typed: &[String]) -> String {
    let definition = Cli::command();
    let name = typed.iter().skip(1).find_map(|word| definition.find_subcommand(word));
    let argument = word(error, ContextKind::InvalidArg);
    let meant = match error.kind() {
        ErrorKind::UnknownArgument => argument.and_then(|typed| {
            let is_run = name.is_some_and(|command| command.get_name() == "run");
            let free = definition.find_subcommand(FREE).filter(|_| is_run);
            too_early(name, &typed)
                .or_else(|| option(name, &typed))
                .or_else(|| option_elsewhere(free, &typed))
                .or_else(|| spelt(name, &typed))
        }),
        ErrorKind::InvalidSubcommand => word(error, ContextKind::InvalidSubcommand)
            .and_then(|typed| subcommand(&definition, &typed)),
        ErrorKind::InvalidValue => argument.and_then(|argument| value(error, &argument)),
        _ => None,
    };
    meant.unwrap_or_else(|| help(name))
}

/// The command that takes any workload, and has the options of tools that do.
const FREE: &str = "io";

/// The command that an unknown one stands for: another spelling, or the one that takes a target.
fn subcommand(definition: &Command, typed: &str) -> Option<String> {
    let is_target = typed.starts_with(['/', '.', '~']) || typed.contains([':', '/']);
    if is_target {
        return Some(format!("ssdyno run {typed}"));
    }
    Some(emit::typo_of(typed, names(definition))?.to_string())
}

/// The place of an option that this command has, typed before it.
fn too_early(command: Option<&Command>, typed: &str) -> Option<String> {
    let (command, typed) = (command?, name_of(typed));
    let is_own = long_options(command).contains(&typed);
    is_own.then(|| format!("after the command: ssdyno {} --{typed}", command.get_name()))
}

/// The option that an unknown one means in this command.
fn option(command: Option<&Command>, typed: &str) -> Option<String> {
    let typed = name_of(typed);
    let options = long_options(command?);
    let (_, meaning) = MEANINGS.iter().find(|(words, _)| words.contains(&typed))?;
    let long = meaning.split(' ').next().and_then(|word| word.strip_prefix("--"));
    long.is_none_or(|long| options.contains(&long)).then(|| (*meaning).to_string())
}

/// The option that has this name or meaning in another command, with that command.
fn option_elsewhere(command: Option<&Command>, typed: &str) -> Option<String> {
    let command = command?;
    let typed = name_of(typed);
    let same_option = long_options(command).contains(&typed).then(|| format!("--{typed}"));
    let meant = same_option.or_else(|| option(Some(command), typed))?;
    meant.starts_with("--").then(|| format!("ssdyno {} TARGET {meant}", command.get_name()))
}

/// The option of this command that an unknown one misspells.
fn spelt(command: Option<&Command>, typed: &str) -> Option<String> {
    let options = long_options(command?);
    emit::typo_of(name_of(typed), options.into_iter()).map(|long| format!("--{long}"))
}

fn name_of(typed: &str) -> &str {
    typed.split('=').next().unwrap_or(typed).trim_start_matches('-')
}

fn long_options(command: &Command) -> Vec<&str> {
    command.get_arguments().filter_map(Arg::get_long).collect()
}

/// A value for an option that has none, or one that it does not know.
fn value(error: &Error, argument: &str) -> Option<String> {
    let (option, placeholder) = argument.split_once(' ').unwrap_or((argument, ""));
    let typed = word(error, ContextKind::InvalidValue).unwrap_or_default();
    if !option.starts_with("--") {
        return None;
    }
    if typed.is_empty() {
        let placeholder = placeholder.trim_matches(['<', '>']);
        let example = EXAMPLES.iter().find(|(name, _)| *name == placeholder)?;
        return Some(format!("{option} {}", example.1));
    }
    // `random` begins `randread` and `randwrite`; clap's own suggestion goes by spelling.
    let words = match error.get(ContextKind::ValidValue)? {
        ContextValue::Strings(words) => words,
        _ => return None,
    };
    let stem = &typed[..typed.floor_char_boundary(typed.len().min(STEM))];
    let longer: Vec<_> = words.iter().filter(|word| word.starts_with(stem)).cloned().collect();
    if longer.is_empty() {
        let nearest = emit::nearest(&typed, words.iter().map(String::as_str))?;
        return Some(format!("{option} {nearest}"));
    }
    Some(format!("{option} {}", longer.join(", or ")))
}

/// Letters at the beginning of a value that tell what it is about.
const STEM: usize = 4;

fn names(command: &Command) -> impl Iterator<Item = &str> {
    command.get_subcommands().map(Command::get_name)
}

fn word(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(word) => Some(word.clone()),
        ContextValue::Strings(words) => words.first().cloned(),
        _ => None,
    }
}

/// The help of the command that was typed.
fn help(command: Option<&Command>) -> String {
    command
        .map_or("ssdyno --help".into(), |command| format!("ssdyno {} --help", command.get_name()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn said(line: &str) -> (String, String) {
        let words: Vec<String> = line.split(' ').map(String::from).collect();
        let error = Cli::try_parse_from(&words).expect_err("refused");
        (text(&error), advice(&error, &words))
    }

    #[test]
    fn an_error_is_one_line_with_the_likely_word() {
        let (text, advice) = said("ssdyno io . --rw radnread");
        assert!(text.starts_with("invalid value 'radnread' for '--rw <RW>'"), "{text}");
        assert!(text.contains("randwrite"), "{text}");
        assert_eq!(advice, "--rw randread");
        let (text, advice) = said("ssdyno run . --metod quick");
        assert_eq!(text, "unexpected argument '--metod' found");
        assert_eq!(advice, "--method");
        assert_eq!(said("ssdyno shwo").1, "show");
        let (text, _) = said("ssdyno prepare");
        assert!(text.starts_with("the following required arguments were not provided: "), "{text}");
        let (text, _) = said("ssdyno io . --bs 4x");
        assert!(!text.contains('\n') && text.contains("4x"), "{text}");
    }

    #[test]
    fn words_of_other_tools_are_understood() {
        let table = [
            ("ssdyno io . --numjobs 4", "--jobs"),
            ("ssdyno --numjobs 4 io .", "--jobs"),
            ("ssdyno --store x run .", "after the command: ssdyno run --store"),
            ("ssdyno io . --runtime=10", "--time 10s"),
            ("ssdyno io . --blocksize 4k", "--bs"),
            ("ssdyno io . --rw random", "--rw randread, or randwrite, or randrw"),
            ("ssdyno io . --time", "--time 10s"),
            // A word that means nothing here, or only elsewhere, gets the help.
            ("ssdyno upgrade", "ssdyno --help"),
            ("ssdyno run . --label x", "--title"),
            ("ssdyno run . --nothing 4", "ssdyno run --help"),
            // What a method decides, `io` leaves to the user.
            ("ssdyno run . --iodepth 4", "ssdyno io TARGET --depth"),
            ("ssdyno run . --bs 4k", "ssdyno io TARGET --bs"),
            ("ssdyno run . --numjobs=4", "ssdyno io TARGET --jobs"),
            ("ssdyno run . --runtime=10", "--time 10s"),
            ("ssdyno sim:sd-150x", "ssdyno run sim:sd-150x"),
            ("ssdyno ./here", "ssdyno run ./here"),
            ("ssdyno completions ksh", "ssdyno completions --help"),
        ];
        for (typed, advice) in table {
            assert_eq!(said(typed).1, advice, "{typed}");
        }
    }

    #[test]
    fn advice_names_the_help_of_the_command() {
        assert_eq!(said("ssdyno io . --depth 0").1, "ssdyno io --help");
        assert_eq!(said("ssdyno --nothing").1, "ssdyno --help");
    }

    #[test]
    fn every_meaning_is_an_option_somewhere() {
        let definition = Cli::command();
        for (words, meaning) in MEANINGS {
            let commands = definition.get_subcommands();
            let option = |command| option(Some(command), words[0]).as_deref() == Some(meaning);
            assert!(commands.into_iter().any(option), "{words:?}");
        }
    }

    #[test]
    fn the_command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }
}
