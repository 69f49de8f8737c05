//! `ssdyno run` at a terminal without a target: asks which drive and which question, shows the plan,
//! and runs it. What it does is printed as the command that does the same.

use std::io::{IsTerminal, stderr, stdin};
use std::process::ExitCode;

use lab::{Form, MethodInfo, work};
use record::Safety;

use super::choice::Choice;
use super::list;
use crate::cli::{self, Command};
use crate::failure::{Failure, Result, USAGE};
use crate::screen;

/// The virtual drive to look around with.
const VIRTUAL: &str = "sim:samsung-980-pro-1t";

/// The questions that people have, most common first; those that fit the target are offered.
const QUESTIONS: [&str; 9] =
    ["quick", "sustain", "authentic", "heat", "fake", "curve", "zones", "power", "geometry"];

/// The number of questions offered.
const OFFERED: usize = 5;

/// Asks, and runs what was chosen.
pub fn run() -> Result {
    if !stdin().is_terminal() || !stderr().is_terminal() {
        let failure =
            Failure::new(USAGE, "run needs a target: a directory, file, device or sim:NAME");
        return Err(failure.advise("ssdyno run ., the drive under this directory"));
    }
    let mut drives = vec![Choice::new(".", "the drive under this directory, in a scratch file")];
    drives.extend(list::choices());
    drives.push(Choice::new(VIRTUAL, "a virtual drive, to look around: nothing is written"));
    let target = choose("Which drive?", &drives, "or another path, or sim:NAME")?;
    let questions: Vec<Choice> = QUESTIONS
        .iter()
        .filter_map(|name| work::methods().find(|method| method.name == *name))
        .filter(|method| fits(method, &target))
        .map(|method| Choice::new(method.name, format!("{}?", method.summary)))
        .take(OFFERED)
        .collect();
    let method = choose("Which question?", &questions, "or another of ssdyno methods")?;
    let words = ["ssdyno", "run", &target, "-m", &method].map(String::from);
    carry_out([&words[..], &["--dry-run".into(), "--quiet".into()]].concat())?;
    if !answer("\nRun it? [Y/n]")?.is_none_or(|text| text.to_lowercase().starts_with('y')) {
        screen::say(&format!("later: {}", words.join(" ")));
        return Ok(ExitCode::SUCCESS);
    }
    screen::say(&format!("$ {}\n", words.join(" ")));
    carry_out(words.to_vec())
}

/// Whether a method runs on a target without a permission, and without more words.
fn fits(method: &MethodInfo, target: &str) -> bool {
    let permitted = match target {
        virtual_drive if virtual_drive.starts_with("sim:") => Safety::Destroys,
        device if device.starts_with("/dev/") || device.starts_with("pci:") => Safety::Reads,
        _ => Safety::Scratch,
    };
    let needs_words = method.options.iter().any(|option| matches!(option.form(), Form::Rest(_)));
    let in_file = permitted == Safety::Scratch && method.scratch.passes.is_some();
    let is_permitted = method.safety <= permitted || in_file;
    is_permitted && !needs_words && work::method(method.name).is_ok()
}

/// Runs a command line as if it had been typed.
fn carry_out(words: Vec<String>) -> Result {
    cli::mean(&words);
    let command = cli::parse(words.into_iter().map(Into::into).collect());
    match command.map_err(|error| crate::usage::failure(&error))?.command {
        Command::Run(args) => super::run::run(&args),
        other => Err(Failure::new(USAGE, format!("not a run: {other:?}"))),
    }
}

/// The chosen word: by its number, or typed; the first one by default.
fn choose(question: &str, choices: &[Choice], hint: &str) -> Result<String> {
    let width = choices.iter().map(|choice| choice.word.len()).max().unwrap_or(0);
    screen::say(&format!("\n{question}"));
    for (number, Choice { word, meaning }) in (1..).zip(choices) {
        screen::say(&format!("  {number:>2}  {word:<width$}  {meaning}"));
    }
    loop {
        let Some(text) = answer(&format!("number [1], {hint}:"))? else {
            return Ok(choices.first().map_or(String::new(), |choice| choice.word.clone()));
        };
        match text.parse::<usize>() {
            Err(_) => return Ok(text),
            Ok(number) => {
                if let Some(choice) = number.checked_sub(1).and_then(|index| choices.get(index)) {
                    return Ok(choice.word.clone());
                }
                screen::say(&format!("there is no {number}"));
            }
        }
    }
}

/// A line from the terminal; `None` if it is empty.
fn answer(prompt: &str) -> Result<Option<String>> {
    screen::say(prompt);
    let mut line = String::new();
    if stdin().read_line(&mut line)? == 0 {
        return Err(Failure::new(USAGE, "no answer").advise("ssdyno run TARGET -m METHOD"));
    }
    let line = line.trim();
    Ok((!line.is_empty()).then(|| line.to_string()))
}
