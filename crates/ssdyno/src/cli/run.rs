//! Arguments of `run`, `list`, `methods` and `doctor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use lab::{Declared, Form, Options, work};
use workload::units;

use super::{MeasureArgs, complete};

#[derive(Debug, Args)]
#[command(next_help_heading = "Test", after_help = RUN_EXAMPLES)]
pub struct RunArgs {
    /// Directories, files or block devices, measured in turns; without one, ssdyno asks
    #[arg(value_name = "TARGET", help_heading = None, add = complete::targets())]
    pub targets: Vec<String>,
    /// Methods to run, in order: quick,sustain (see `ssdyno methods`)
    #[arg(long, short, value_name = "METHOD", default_value = "quick", value_delimiter = ',')]
    #[arg(add = complete::methods())]
    pub method: Vec<String>,
    /// Run the steps of this file, or of a bundled protocol: board-against-board, iocost,
    /// state-bars
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["method", "time", "replicates", "html", "verbose"])]
    pub protocol: Option<String>,
    /// Answers to the protocol's questions, for unattended runs: STEP = "answer"
    #[arg(long, value_name = "FILE", requires = "protocol")]
    pub answers: Option<PathBuf>,
    /// Approximate duration: 30s, 5m
    #[arg(long, value_parser = units::parse_duration, value_name = "TIME")]
    pub time: Option<Duration>,
    /// Measure each target alone, then all of them at the same time: what the host costs, and which
    /// drive differs
    #[arg(long, conflicts_with_all = ["protocol", "events", "verbose", "prom"])]
    pub together: bool,
    /// Replicates of each workload; intervals need at least two
    #[arg(long, value_name = "N")]
    pub replicates: Option<u32>,
    #[command(flatten)]
    pub measure: MeasureArgs,
    // Must come after the target, because the words after `--` come last.
    #[command(flatten)]
    pub own: MethodArgs,
}

impl From<&RunArgs> for Options {
    fn from(args: &RunArgs) -> Options {
        Options {
            size: args.measure.size,
            time: args.time,
            seed: args.measure.instrument.session_seed(),
            replicates: args.replicates,
            ..Options::default()
        }
    }
}

/// The definition whose help fits a page: of `run`, it hides the options of methods that these words do
/// not name, and those that go with one kind of target. They can be given all the same.
pub fn shown_for(definition: Command, words: &[String]) -> Command {
    let spoken: Vec<&str> = words.iter().flat_map(|word| word.split(['=', ','])).collect();
    let hidden = move |name: &str| match name {
        "answers" => !spoken.contains(&"--protocol"),
        RESUME if spoken.contains(&"--protocol") => false,
        // The options of these groups, and those that go with another option.
        "backend" | "pin" | "traces" | "patience" => !spoken.contains(&INSTRUMENT),
        "journal" => !spoken.contains(&"--borrow"),
        "no_iommu" => !spoken.iter().any(|word| word.starts_with("pci:")),
        _ => work::declared().iter().any(|(option, methods)| {
            option.name() == name && !methods.iter().any(|method| spoken.contains(method))
        }),
    };
    let names: Vec<String> = definition
        .find_subcommand("run")
        .into_iter()
        .flat_map(Command::get_arguments)
        .map(|argument| argument.get_id().to_string())
        .filter(|name| hidden(name))
        .collect();
    definition.mut_subcommand("run", |run| {
        names.iter().fold(run, |run, name| run.mut_arg(name, |argument| argument.hide(true)))
    })
}

/// The word that shows the options of the instrument.
const INSTRUMENT: &str = "instrument";

/// The option that protocols share.
pub const RESUME: &str = "resume";

/// Options declared by individual methods: names and arguments.
#[derive(Clone, Debug, Default)]
pub struct MethodArgs {
    pub typed: Vec<(String, Vec<String>)>,
}

impl Args for MethodArgs {
    fn augment_args(command: Command) -> Command {
        work::declared()
            .into_iter()
            .fold(command, |command, (option, methods)| command.arg(argument(option, &methods)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        MethodArgs::augment_args(command)
    }
}

/// The argument of a declared option.
fn argument(option: &'static dyn Declared, methods: &[&str]) -> Arg {
    let mut help = format!("{}: {}", methods.join(", "), option.help());
    if option.name() == RESUME {
        help += "; with --protocol: continue after its last record";
    }
    let arg = Arg::new(option.name()).help(help).help_heading("Method");
    match option.form() {
        Form::Switch | Form::Unwritten => arg.long(option.name()).action(ArgAction::SetTrue),
        Form::Value(name) => {
            arg.long(option.name()).value_name(name).value_parser(move |text: &str| {
                match option.parse(&[text.to_string()]) {
                    Ok(_) => Ok(text.to_string()),
                    Err(range) => Err(format!("must be {range}")),
                }
            })
        }
        Form::Rest(name) => arg.last(true).num_args(1..).value_name(name),
    }
}

impl FromArgMatches for MethodArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<MethodArgs, clap::Error> {
        let typed = work::declared().into_iter().filter_map(|(option, _)| {
            let name = option.name();
            let words = match option.form() {
                Form::Switch | Form::Unwritten => matches.get_flag(name).then(Vec::new)?,
                Form::Value(_) | Form::Rest(_) => {
                    matches.get_many::<String>(name)?.cloned().collect()
                }
            };
            Some((name.to_string(), words))
        });
        Ok(MethodArgs { typed: typed.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = MethodArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

const RUN_EXAMPLES: &str = "\
Examples:
  ssdyno run .                              the drive under this directory, about a minute
  ssdyno run . --time 10s --size 256MiB     a short run
  ssdyno run /dev/sdb                       a whole drive, reads only
  ssdyno run /dev/sdb --destroy=S6Z1NJ0W    also writes: everything on it is lost
  ssdyno run /mnt/a /mnt/b -m quick,sustain two drives in turns, two methods
  ssdyno run /dev/sd[b-m] --together        each drive alone, then all at the same time
  ssdyno run . -m command -- make -j4       a program: its time and its I/O
  ssdyno run . --protocol board-against-board  steps and questions from a file
  ssdyno run . --json | jq .metrics         for programs

More options: ssdyno run instrument --help shows --backend, --pin, --where and --patience;
ssdyno run -m METHOD --help, or ssdyno methods METHOD, those of a method.";

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only the drive that contains this path, with all known details
    pub path: Option<PathBuf>,
    /// Show all known details of each drive
    #[arg(long, short)]
    pub verbose: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct MethodsArgs {
    /// Show these methods in full
    #[arg(value_name = "NAME", add = complete::methods())]
    pub names: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
