//! Options of fio's command line that do not belong to a job, as a table like that of job options.

use std::time::Duration;

use super::options::Standing;
use super::value::{Parsed, put, time};
use super::{Eta, Globals, IdleProfile, OutputFormat};

#[derive(Clone, Copy)]
pub(crate) struct Switch {
    pub name: &'static str,
    /// Whether a value follows.
    pub takes: Takes,
    /// Its treatment; no switch has values that request nothing.
    pub standing: Standing<Setter>,
}

/// Whether a value follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// No value.
    Nothing,
    /// An optional value, after an `=`.
    Perhaps,
    Value,
}

/// Applies the value of a switch to the settings.
type Setter = fn(&mut Settings, &str) -> Parsed<()>;

/// The values of the switches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub globals: Globals,
    pub warn_unsupported: bool,
    pub warnings_fatal: bool,
    pub readonly: bool,
    pub parse_only: bool,
    pub showcmd: bool,
    /// A compressed log to print instead of running jobs.
    pub inflate_log: Option<String>,
    /// `--section`: the only sections to read.
    pub sections: Vec<String>,
    /// An answer to print instead of running jobs.
    pub answer: Option<Answer>,
}

/// Something to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Help,
    Version,
    /// `--cmdhelp[=NAME]`.
    Options(String),
    /// `--enghelp[=NAME[,OPTION]]`.
    Engines(String),
}

const SERVER: &str = "jobs run locally; fio's server is not supported";
const TRIGGERS: &str = "programs named on the command line are not run";
const OWN_TESTS: &str = "it tests fio itself";

const fn supported(name: &'static str, takes: Takes, set: Setter) -> Switch {
    Switch { name, takes, standing: Standing::supported(set) }
}

const fn refused(name: &'static str, takes: Takes, why: &'static str) -> Switch {
    Switch { name, takes, standing: Standing::refused(why) }
}

const fn idle(name: &'static str, takes: Takes, why: &'static str) -> Switch {
    Switch { name, takes, standing: Standing::Idle(why) }
}

impl Switch {
    const fn says(self, remark: &'static str) -> Switch {
        Switch { standing: self.standing.says(remark), ..self }
    }
}

pub(crate) const SWITCHES: &[Switch] = &[
    supported("warn-unsupported", Takes::Nothing, |s, _| put(&mut s.warn_unsupported, true))
        .says("not fio's: unsupported options are dropped with a warning"),
    supported("output", Takes::Value, |s, v| put(&mut s.globals.output, Some(v.into()))),
    supported("output-format", Takes::Value, |s, v| put(&mut s.globals.formats, formats(v)?))
        .says("`normal`, `json`, `json+`, `terse`, several separated by commas"),
    supported("minimal", Takes::Nothing, |s, _| {
        put(&mut s.globals.formats, vec![OutputFormat::Terse])
    }),
    supported("append-terse", Takes::Perhaps, |s, _| {
        let formats = &mut s.globals.formats;
        formats.extend((!formats.contains(&OutputFormat::Terse)).then_some(OutputFormat::Terse));
        Ok(())
    }),
    supported("terse-version", Takes::Value, |s, v| {
        s.globals.terse_version = match v {
            "3" => 3,
            "4" => 4,
            "5" => 5,
            other => return Err(format!("'{other}' is not one of 3, 4, 5")),
        };
        Ok(())
    }),
    supported("eta", Takes::Value, |s, v| {
        s.globals.eta = match v {
            "auto" => Eta::Auto,
            "always" => Eta::Always,
            "never" => Eta::Never,
            other => return Err(format!("'{other}' is not one of auto, always, never")),
        };
        Ok(())
    }),
    supported("eta-newline", Takes::Value, |s, v| {
        put(&mut s.globals.eta_newline, Some(some_time(v)?))
    }),
    supported("status-interval", Takes::Value, |s, v| {
        put(&mut s.globals.status_interval, Some(some_time(v)?))
    })
    .says("the results so far, without processor time and depths"),
    supported("aux-path", Takes::Value, |s, v| put(&mut s.globals.aux_path, Some(v.into()))),
    supported("readonly", Takes::Nothing, |s, _| put(&mut s.readonly, true)),
    supported("section", Takes::Value, |s, v| match v {
        "global" => Err("[global] alone is not a job".into()),
        _ => {
            s.sections.push(v.into());
            Ok(())
        }
    }),
    supported("parse-only", Takes::Nothing, |s, _| put(&mut s.parse_only, true)),
    supported("showcmd", Takes::Nothing, |s, _| put(&mut s.showcmd, true)),
    supported("warnings-fatal", Takes::Nothing, |s, _| put(&mut s.warnings_fatal, true)),
    supported("help", Takes::Nothing, |s, _| put(&mut s.answer, Some(Answer::Help))),
    supported("version", Takes::Nothing, |s, _| put(&mut s.answer, Some(Answer::Version))),
    supported("cmdhelp", Takes::Perhaps, |s, v| {
        put(&mut s.answer, Some(Answer::Options(v.into())))
    }),
    supported("enghelp", Takes::Perhaps, |s, v| {
        put(&mut s.answer, Some(Answer::Engines(v.into())))
    }),
    supported("idle-prof", Takes::Value, |s, v| {
        s.globals.idle_profile = match v {
            "system" => Some(IdleProfile::System),
            "percpu" => Some(IdleProfile::PerProcessor),
            other => return Err(format!("'{other}' is not one of system, percpu")),
        };
        Ok(())
    })
    .says("from the kernel's counters, without fio's unit of work, as nothing else runs beside the jobs"),
    idle("eta-interval", Takes::Value, "the ETA line is updated when there is something new"),
    supported("debug", Takes::Value, |s, v| put(&mut s.globals.debug.topics, topics(v)?)).says(
        "`random` shows the seeds of jobs, `parse` the thresholds of steady states, other words \
         nothing: they are about fio's internals",
    ),
    idle("max-jobs", Takes::Value, "it has no effect in fio"),
    idle("alloc-size", Takes::Value, "memory is allocated as needed"),
    refused("latency-log", Takes::Value, "removed from fio; use the job option write_lat_log="),
    supported("bandwidth-log", Takes::Perhaps, |s, _| put(&mut s.globals.bandwidth_log, true))
        .says("`agg-read_bw.log` and so on, with the rates of all jobs together"),
    supported("inflate-log", Takes::Value, |s, v| put(&mut s.inflate_log, Some(v.into()))),
    refused("server", Takes::Perhaps, SERVER),
    refused("daemonize", Takes::Value, SERVER),
    refused("client", Takes::Value, SERVER),
    refused("remote-config", Takes::Value, SERVER),
    refused("cpuclock-test", Takes::Nothing, OWN_TESTS),
    refused("crctest", Takes::Perhaps, OWN_TESTS),
    refused("memcpytest", Takes::Perhaps, OWN_TESTS),
    refused("trigger-file", Takes::Value, TRIGGERS),
    refused("trigger-timeout", Takes::Value, TRIGGERS),
    refused("trigger", Takes::Value, TRIGGERS),
    refused("trigger-remote", Takes::Value, TRIGGERS),
    refused("merge-blktrace-only", Takes::Nothing, "blktrace traces are not read"),
];

/// The switch of that name, or of that letter.
pub(crate) fn find(name: &str) -> Option<&'static Switch> {
    let name = match name {
        "h" => "help",
        "v" => "version",
        "o" => "output",
        name => name,
    };
    SWITCHES.iter().find(|switch| switch.name == name)
}

fn formats(text: &str) -> Parsed<Vec<OutputFormat>> {
    let mut formats = Vec::new();
    for word in text.split(',') {
        let format = match word.trim() {
            "normal" => OutputFormat::Normal,
            "json" => OutputFormat::Json,
            "json+" => OutputFormat::JsonPlus,
            "terse" | "minimal" | "csv" => OutputFormat::Terse,
            other => return Err(format!("'{other}' is not one of normal, json, json+, terse")),
        };
        // One of each is enough, and bounds the list.
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    Ok(formats)
}

/// The words of `--debug`, each of which may name a job after a colon.
fn topics(text: &str) -> Parsed<Vec<String>> {
    const TOPICS: [&str; 20] = [
        "process",
        "file",
        "io",
        "mem",
        "blktrace",
        "verify",
        "random",
        "parse",
        "diskutil",
        "job",
        "mutex",
        "profile",
        "time",
        "net",
        "rate",
        "compress",
        "steadystate",
        "helperthread",
        "zbd",
        "sprandom",
    ];
    let words = text.split(',').map(|word| word.split(':').next().unwrap_or_default().trim());
    let topics = words.map(|word| match word {
        "all" => Ok(word.to_string()),
        _ if TOPICS.contains(&word) => Ok(word.to_string()),
        _ => Err(format!("'{word}' is not one of {}, all", TOPICS.join(", "))),
    });
    topics.collect()
}

fn some_time(text: &str) -> Parsed<Duration> {
    match time(text, Duration::from_secs(1))? {
        short if short < Duration::from_millis(1) => Err("is shorter than 1 ms".into()),
        time => Ok(time),
    }
}
