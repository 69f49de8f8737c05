//! Formats clap's errors like all failures: one line, and one with something to try.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error};

use crate::cli::Cli;
use crate::failure::{Failure, USAGE};

/// The failure for a command line. Help and version are printed here and end the process.
pub fn failure(error: &Error) -> Failure {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if matches!(
        error.kind(),
        DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        error.exit();
    }
    Failure::new(USAGE, text(error)).advise(advice(error))
}

/// The first paragraph of clap's message, in one line.
fn text(error: &Error) -> String {
    let message = error.to_string();
    let lines = message.lines().map(str::trim).take_while(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join(" ");
    line.strip_prefix("error: ").unwrap_or(&line).to_string()
}

/// The word that was probably meant, or otherwise the help to read.
fn advice(error: &Error) -> String {
    let kinds = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand];
    if let Some(word) = kinds.into_iter().find_map(|kind| word(error, kind)) {
        return word;
    }
    match (word(error, ContextKind::InvalidArg), word(error, ContextKind::SuggestedValue)) {
        // `--rw <RW>` and `randread`.
        (Some(arg), Some(value)) => {
            format!("{} {value}", arg.split(' ').next().unwrap_or_default())
        }
        _ => help(&crate::cli::typed()),
    }
}

fn word(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(word) => Some(word.clone()),
        ContextValue::Strings(words) => words.first().cloned(),
        _ => None,
    }
}

/// The help of the command that was typed.
fn help(args: &[String]) -> String {
    let command = Cli::command();
    let name = args.iter().skip(1).find(|arg| command.find_subcommand(arg).is_some());
    name.map_or("ssdyno --help".into(), |name| format!("ssdyno {name} --help"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn said(line: &str) -> (String, String) {
        let error = Cli::try_parse_from(line.split(' ')).expect_err("refused");
        (text(&error), advice(&error))
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
        let (text, _) = said("ssdyno run");
        assert_eq!(text, "the following required arguments were not provided: <TARGET>...");
        let (text, _) = said("ssdyno io . --bs 4x");
        assert!(!text.contains('\n') && text.contains("4x"), "{text}");
    }

    #[test]
    fn advice_names_the_help_of_the_command() {
        let help = |line: &str| help(&line.split(' ').map(String::from).collect::<Vec<_>>());
        assert_eq!(help("ssdyno io . --depth 0"), "ssdyno io --help");
        assert_eq!(help("ssdyno --nothing"), "ssdyno --help");
    }

    #[test]
    fn the_command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }
}
