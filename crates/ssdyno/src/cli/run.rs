//! Arguments of `run`, `list`, `methods` and `doctor`.

use std::ops::RangeInclusive;
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
    pub array: ArrayArgs,
    #[command(flatten)]
    pub measure: MeasureArgs,
    // Must come after the target, because the words after `--` come last.
    #[command(flatten)]
    pub own: MethodArgs,
}

/// Runs for a job array.
#[derive(Debug, Args)]
#[command(next_help_heading = "Job arrays")]
pub struct ArrayArgs {
    /// Write each record to a file in DIR, for `ssdyno import DIR`; those of virtual drives go nowhere
    /// else, and are the same on every machine
    #[arg(long, value_name = "DIR")]
    #[arg(conflicts_with_all = ["protocol", "together", "dry_run", "json", "events", "verbose", "html", "prom"])]
    pub out: Option<PathBuf>,
    /// Only every N-th run, from the I-th on: 3/10
    #[arg(long, value_name = "I/N", requires = "out", value_parser = Shard::parse)]
    pub shard: Option<Shard>,
    /// Each run with each of these seeds: 1-100
    #[arg(long, value_name = "A-B", requires = "out", conflicts_with = "seed")]
    #[arg(value_parser = parse_seeds)]
    pub seeds: Option<(u64, u64)>,
}

/// A part of the runs: every `parts`-th, from `part` on, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    part: u64,
    parts: u64,
}

impl Default for Shard {
    /// All runs.
    fn default() -> Shard {
        Shard { part: 1, parts: 1 }
    }
}

impl Shard {
    pub fn parse(text: &str) -> Result<Shard, String> {
        let numbers = text.split_once('/').map(|(part, parts)| (part.parse(), parts.parse()));
        match numbers {
            Some((Ok(part), Ok(parts))) if (1..=parts).contains(&part) => Ok(Shard { part, parts }),
            _ => Err("must be a part of a number of parts, as in 3/10".into()),
        }
    }

    /// Whether it has the run with this number, counted from 1.
    pub fn has(self, number: u64) -> bool {
        number % self.parts == self.part % self.parts
    }
}

/// Parses `1-100`, or one seed.
fn parse_seeds(text: &str) -> Result<(u64, u64), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
        _ => Err("must be the first and the last seed, as in 1-100".into()),
    }
}

impl RunArgs {
    /// The seeds of a job array: the given ones, or that of the session.
    pub fn seeds(&self) -> RangeInclusive<u64> {
        let seed = self.measure.instrument.session_seed();
        let (first, last) = self.array.seeds.unwrap_or((seed, seed));
        first..=last
    }
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
        "out" | "shard" | "seeds" => !spoken.contains(&ARRAY),
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

/// The word that shows the options of job arrays.
const ARRAY: &str = "array";

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
ssdyno run array --help shows --out, --shard and --seeds, for job arrays;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_have_every_run_once() {
        for parts in 1..=7 {
            let shards: Vec<Shard> = (1..=parts)
                .map(|part| Shard::parse(&format!("{part}/{parts}")).expect("a part"))
                .collect();
            for number in 1..=30 {
                let owners = shards.iter().filter(|shard| shard.has(number)).count();
                assert_eq!(owners, 1, "run {number} of {parts} parts");
            }
        }
        assert!(Shard::default().has(1) && Shard::default().has(2));
        for wrong in ["0/3", "4/3", "1", "1/0", "a/b", "-1/3", ""] {
            assert!(Shard::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn seeds_are_a_range_or_one() {
        assert_eq!(parse_seeds("1-100"), Ok((1, 100)));
        assert_eq!(parse_seeds("7"), Ok((7, 7)));
        for wrong in ["", "5-4", "a", "1-", "-1"] {
            assert!(parse_seeds(wrong).is_err(), "{wrong}");
        }
    }
}
