//! The whole command line as a property: any command with any of its options and any values ends by
//! itself with a documented exit code, one clear message and nothing left behind.
//!
//! Commands and options come from the definition of the command line itself, through its
//! completions and helps, so a new option is drawn without a change here. Nothing is measured:
//! targets do not exist, or the line asks for a plan only.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::process::Output;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::common::{Place, Said};
use crate::hostile::is_clean;

/// Lines drawn. Each starts a process, which takes about 15 ms.
const CASES: u32 = 400;

/// Maximum length of a line of a message, bytes: values are quoted in part.
const LINE_MAX: usize = 1000;

/// The commands of tools, whose output has the form of these tools.
const TOOLS: [&str; 2] = ["fio", "iozone"];

/// A command and the options that it declares.
struct Command {
    words: Vec<String>,
    options: Vec<String>,
    /// Words that make it plan something that it never carries out.
    plan: Vec<String>,
}

impl Command {
    fn of(place: &Place, words: &[&str]) -> Command {
        let options = match words[0] {
            "fio" => fio_options(place),
            "iozone" => options_in(&place.ssdyno(&["iozone", "-h"]).good().out),
            _ => completed(place, &[words, &["--"]].concat()),
        };
        let plan = match words[0] {
            "run" | "io" | "prepare" => "sim:sd-150x --dry-run",
            "fio" => "--name=a --rw=read --size=4k --ioengine=null --dry-run",
            "iozone" => "-s 64k -r 4k -i 0 -f sim:sd-150x --dry-run",
            _ => "",
        };
        Command {
            words: words.iter().map(ToString::to_string).collect(),
            options,
            plan: plan.split_whitespace().map(String::from).collect(),
        }
    }

    /// Every command and subcommand.
    fn all(place: &Place) -> Vec<Command> {
        let mut all = Vec::new();
        for name in subcommands(place, &[]) {
            all.push(Command::of(place, &[&name]));
            if !TOOLS.contains(&&*name) {
                let below = subcommands(place, &[&name]);
                all.extend(below.iter().map(|sub| Command::of(place, &[&name, sub])));
            }
        }
        all
    }
}

/// Serves until it is ended, so that no line of it ends with a message.
const ENDLESS: &str = "web";

/// The subcommands listed in a command's help, except the endless one.
pub fn subcommands(place: &Place, words: &[&str]) -> Vec<String> {
    let help = place.ssdyno(&[words, &["--help"]].concat()).good().out;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != ENDLESS).map(String::from).collect()
}

/// The completions of the last word, as the shell asks for them.
pub fn completed(place: &Place, words: &[&str]) -> Vec<String> {
    let mut command = place.command(&[&["--", "ssdyno"], words].concat());
    command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    command.env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_COMP_TYPE", "9");
    let said = Said::of(command.output().expect("starts")).good();
    said.out.lines().map(String::from).collect()
}

/// The options of fio's jobs, and those of its own command line.
fn fio_options(place: &Place) -> Vec<String> {
    let known = place.ssdyno(&["fio", "--cmdhelp"]).good().out;
    let names = known.lines().filter_map(|line| line.split_whitespace().next());
    let mut options: Vec<String> = names.map(|name| format!("--{name}")).collect();
    options.extend(options_in(&place.ssdyno(&["fio", "--help"]).good().out));
    options
}

/// All words of a help that begin with a dash.
fn options_in(help: &str) -> Vec<String> {
    let words = help.split([' ', '\n', ',', '=', '[', ']']);
    let options = words.filter(|word| word.starts_with('-') && word.len() > 1);
    options.map(String::from).collect()
}

/// How an option and its value are typed.
#[derive(Clone, Copy, Debug)]
enum Form {
    Joined,
    Apart,
    WithoutValue,
}

/// A line, independent of the commands there are.
#[derive(Debug)]
struct Drawn {
    command: Index,
    /// Whether the line plans work on a target that exists.
    plans: bool,
    options: Vec<(Index, Form, Vec<u8>)>,
    words: Vec<Vec<u8>>,
}

impl Drawn {
    /// The words after the command.
    fn line(&self, command: &Command) -> Vec<OsString> {
        let mut line: Vec<Vec<u8>> = Vec::new();
        // The tools measure the working directory if not told otherwise.
        if self.plans || TOOLS.contains(&&*command.words[0]) {
            line.extend(command.plan.iter().map(|word| word.clone().into_bytes()));
        }
        for (option, form, value) in &self.options {
            // `completions` and `man` have no options of their own.
            let option = command.options.get(option.index(command.options.len().max(1)));
            let option = option.map_or(&b"--unknown"[..], |option| option.as_bytes());
            match form {
                Form::Joined => line.push([option, b"=", value].concat()),
                Form::Apart => line.extend([option.to_vec(), value.clone()]),
                Form::WithoutValue => line.push(option.to_vec()),
            }
        }
        line.extend(self.words.iter().cloned());
        line.into_iter().map(OsString::from_vec).collect()
    }
}

/// Values that no option expects. None names a file or a drive of this machine.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let chosen: [&[u8]; 14] = [
        b"",
        b"-",
        b"--",
        b"\xff\xfe/\x80",
        b"sim:\xff",
        b"\x1b[2J\x1b]0;owned\x07",
        "\u{202e}gnp\u{200b}".as_bytes(),
        b"-1",
        b"18446744073709551616",
        b"1e999",
        b"nan",
        b"%s%n,,=:/no/../x",
        b"sim:sd-150x?capacity=",
        b"a\nb\tc",
    ];
    let odd = |byte: &u8| !matches!(byte, 0 | b'/' | b'.');
    prop_oneof![
        4 => select(chosen.to_vec()).prop_map(<[u8]>::to_vec),
        2 => prop::collection::vec(any::<u8>().prop_filter("no path", odd), 0..24),
        2 => "[-+0-9a-zA-Z:%,?=@ ]{0,16}".prop_map(String::into_bytes),
        1 => any::<i128>().prop_map(|number| number.to_string().into_bytes()),
        1 => any::<f64>().prop_map(|number| format!("{number:e}").into_bytes()),
        1 => (select(vec![b'9', b'a', b'(', b',']), 1_000..60_000usize).prop_map(|(b, n)| vec![b; n]),
    ]
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let form = select(vec![Form::Joined, Form::Joined, Form::Apart, Form::WithoutValue]);
    let option = (any::<Index>(), form, value());
    let options = prop::collection::vec(option, 0..=3);
    let words = prop_oneof![
        2 => Just(Vec::new()),
        1 => Just(vec![b"no/such/target".to_vec()]),
        1 => prop::collection::vec(value(), 1..=2),
    ];
    (any::<Index>(), any::<bool>(), options, words)
        .prop_map(|(command, plans, options, words)| Drawn { command, plans, options, words })
}

#[test]
fn any_line_ends_with_one_message_and_leaves_nothing() {
    let place = Place::new();
    let commands = Command::all(&place);
    assert!(commands.len() > 22, "{}", commands.len());
    let options: usize = commands.iter().map(|command| command.options.len()).sum();
    assert!(options > 600, "{options}");
    let config = ProptestConfig {
        cases: CASES,
        // Each step would start a process; the line is short as it is.
        max_shrink_iters: 0,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(drawn in drawn())| {
        let command = &commands[drawn.command.index(commands.len())];
        let line = drawn.line(command);
        let output = start(&place, &command.words, &line);
        let (is_man, left) = (command.words[0] == "man", clear(&place));
        check(&command.words, &line, &output);
        // `man` creates the directory it is given.
        prop_assert!(is_man || left.is_empty(), "{:?} {line:?} left {left:?}", command.words);
        // The store of an import from a pipe is opened before its end is known.
        let is_piped = command.words[0] == "import" && line.iter().any(|word| word == "-");
        let is_empty = is_piped && place.runs().is_empty();
        let data = place.path("data");
        prop_assert!(is_empty || !data.exists(), "{:?} {line:?} made a store", command.words);
        let _ = fs::remove_dir_all(data);
    });
    assert!(place.is_untouched());
}

/// Removes all but the canary from the working directory, and returns the names.
fn clear(place: &Place) -> Vec<OsString> {
    let entries = fs::read_dir(place.work()).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names: Vec<OsString> = names.filter(|name| name != "canary").collect();
    for name in &names {
        let path = place.work().join(name);
        // Either a file or a directory.
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
    names
}

/// Runs a line. A line that does not end is killed with the exit code 124.
pub fn start<W: AsRef<str>>(place: &Place, command: &[W], line: &[OsString]) -> Output {
    let words = ["20", env!("CARGO_BIN_EXE_ssdyno")];
    let words = words.into_iter().chain(command.iter().map(AsRef::as_ref)).collect::<Vec<_>>();
    place.command_of("timeout".as_ref(), &words).args(line).output().expect("starts")
}

/// Checks the end of a line: exit code, message, characters.
pub fn check<W: AsRef<str>>(command: &[W], line: &[OsString], output: &Output) {
    let command: Vec<&str> = command.iter().map(AsRef::as_ref).collect();
    let shown: Vec<String> = line.iter().map(|word| short(word)).collect();
    let [out, err] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let code = output.status.code();
    let what = format!("{command:?} {shown:?}: {code:?} {err:.2000}");
    assert!(matches!(code, Some(0..=4)), "{what}");
    assert!(!err.contains("panicked"), "{what}");
    is_clean(&what, &out);
    is_clean(&what, &err);
    let lines: Vec<&str> = err.lines().collect();
    assert!(lines.iter().all(|line| line.len() < LINE_MAX), "{what}");
    if !matches!(code, Some(2..=4)) {
        return;
    }
    let is_error = |line: &&str| line.starts_with("ssdyno: ");
    if TOOLS.contains(&command[0]) {
        // Remarks on the job precede the error.
        assert!(lines.iter().filter(|line| is_error(line)).count() == 1, "{what}");
        return;
    }
    assert!(lines.first().is_some_and(is_error), "{what}");
    assert!(lines[1..].iter().all(|line| line.starts_with("   try: ")), "{what}");
    assert!(lines.len() <= 2, "{what}");
}

fn short(word: &OsStr) -> String {
    word.to_string_lossy().chars().take(40).collect()
}
