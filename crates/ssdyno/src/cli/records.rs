//! Arguments of `runs`, `show`, `compare`, `export` and `rm`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use lab::compare::Gate;
use workload::units;

use super::{StoreArgs, complete, parse_page};

#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Part of the drive's model, serial number or name, or of the target
    #[arg(long, value_name = "TEXT")]
    pub drive: Option<String>,
    /// Only this method
    #[arg(long, short, value_name = "METHOD", add = complete::methods())]
    pub method: Option<String>,
    /// Only runs of this machine
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Part of the title
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Only runs with this tag, as in board=mini-a; can be repeated
    #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = record::parse_tag)]
    pub tags: Vec<(String, String)>,
    /// Started on or after this day: 2026-11-21, or a time
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Started on or before this day
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
    /// List the latest N [default: 50]
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<u32>,
    /// List all
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
    /// Published results instead of your own
    #[arg(long, conflicts_with_all = ["since", "until", "host", "title", "tags"])]
    pub published: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Number, start of the id, `last`, or a published record: `pub:003/m225-fresh`
    #[arg(default_value = "last", add = complete::runs())]
    pub run: String,
    /// Write a page with charts, to FILE or beside the store
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_parser = parse_page)]
    #[arg(conflicts_with_all = ["json", "markdown", "csv"])]
    pub html: Option<Option<PathBuf>>,
    /// Write the page and open it in a browser
    #[arg(long, conflicts_with_all = ["json", "markdown", "csv", "series"])]
    pub open: bool,
    /// Write a card for a forum or a review, as .svg or .png
    #[arg(long, value_name = "FILE", conflicts_with_all = ["html", "open", "json", "markdown", "csv", "series"])]
    pub card: Option<PathBuf>,
    /// Sequential and random rates only, in MB/s and IOPS
    #[arg(long, conflicts_with_all = ["json", "markdown", "csv", "html", "card", "series", "verbose"])]
    pub grid: bool,
    /// All values, conclusions with their evidence, time series, the machine
    #[arg(long, short, conflicts_with_all = ["json", "markdown", "csv", "html", "card"])]
    pub verbose: bool,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["markdown", "csv"])]
    pub json: bool,
    /// Print Markdown, for a forum or an issue
    #[arg(long, conflicts_with = "csv")]
    pub markdown: bool,
    /// Print the metrics as CSV
    #[arg(long)]
    pub csv: bool,
    /// Print the time series as CSV
    #[arg(long, conflicts_with_all = ["html", "json", "markdown", "csv"])]
    pub series: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ssdyno compare 12 15                      two runs
  ssdyno compare 3,4 7,8                    two groups of runs
  ssdyno compare --by title 3-8             groups by a condition
  ssdyno compare last pub:003/m225-fresh    with a published record: ssdyno runs --published
  ssdyno compare last sim:sd-class2         with a virtual drive that does the same
  ssdyno compare -m quick /mnt/a /mnt/b     two targets, in turns until the result is clear
  ssdyno compare -m quick /dev/sd[b-m]      up to 32, in turns and at the same time")]
pub struct CompareArgs {
    /// Groups of runs, the first is A: `12`, `3,4`, `7-9`, an id, `last`, `pub:003/m225-fresh`,
    /// `sim:NAME`, which repeats the work of A; with -m targets
    #[arg(required = true, value_name = "RUNS", add = complete::runs())]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub live: LiveArgs,
    /// Group the runs by a condition or a tag: title, host, drive, firmware, board, tag:board, ...
    #[arg(long, value_name = "CONDITION")]
    pub by: Option<String>,
    /// Test only this metric; chosen in advance, it needs a smaller difference
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Compare runs that did unlike work; the conclusion begins with the difference
    #[arg(long)]
    pub anyway: bool,
    /// For scripts: exit with 1 if a figure is slower than in A by more than this: slower=5%
    #[arg(long, value_name = "CONDITION", value_parser = Gate::parse)]
    pub fail_if: Option<Gate>,
    /// Show all quantities, including those without a claim
    #[arg(long)]
    pub all: bool,
    /// Also write a page with charts to FILE
    #[arg(long, value_name = "FILE", value_parser = parse_page)]
    pub html: Option<PathBuf>,
    /// Print Markdown, for a forum or an issue
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "html")]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Options of a comparison that measures.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measuring in turns")]
pub struct LiveArgs {
    /// Measure targets in turns with this method: AB, BA, AB ...; more than two also at the same time
    #[arg(long, short, value_name = "METHOD", conflicts_with_all = ["by", "all"])]
    #[arg(add = complete::methods())]
    pub method: Option<String>,
    /// End when a difference of this size would have been detected: 3%
    #[arg(long, value_name = "PERCENT", requires = "method", value_parser = parse_share)]
    pub detect: Option<f64>,
    /// Bytes to work on in each target: 1GiB, 500M
    #[arg(long, value_name = "SIZE", requires = "method", value_parser = units::parse_bytes)]
    pub size: Option<u64>,
    /// Approximate duration of one run: 12s
    #[arg(long, value_name = "TIME", requires = "method", value_parser = units::parse_duration)]
    pub time: Option<Duration>,
    /// Show the cost, then stop
    #[arg(long, requires = "method")]
    pub dry_run: bool,
    /// Show no progress
    #[arg(long, short, requires = "method")]
    pub quiet: bool,
}

/// Parses `3%` or `3` as a fraction.
fn parse_share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let percent: f64 = number.parse().map_err(|_| "must be a percentage, as in 3%".to_string())?;
    if percent > 0.0 && percent <= 100.0 {
        Ok(percent / 100.0)
    } else {
        Err("must be over 0% and at most 100%".to_string())
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ssdyno export > records.jsonl                  for ssdyno import on another machine
  ssdyno export --format parquet > runs.parquet  for data frames and DuckDB
  ssdyno export last --public                    what may be published: no serial, host, path or text")]
pub struct ExportArgs {
    /// Numbers, starts of ids, or `last` [default: all]
    #[arg(add = complete::runs())]
    pub runs: Vec<String>,
    /// records: JSON lines; or the metrics as csv, parquet, influx (line protocol), prom (textfile)
    #[arg(long, value_name = "FORMAT", default_value = "records", hide_possible_values = true)]
    #[arg(conflicts_with = "csv", hide_default_value = true)]
    pub format: ExportFormat,
    /// The same as --format csv
    #[arg(long)]
    pub csv: bool,
    /// Only what may be published, as JSON lines: no serial number, host, path or other text of yours;
    /// the day, not the time
    #[arg(long, conflicts_with_all = ["csv", "format"])]
    pub public: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// A format of exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    Records,
    Csv,
    Parquet,
    Influx,
    Prom,
}

#[derive(Debug, Args)]
pub struct RmArgs {
    /// Numbers, starts of ids, or `last`
    #[arg(required = true, add = complete::runs())]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}
