//! Prints the files of iozone's `-Q`: a line for every operation with its offset, its latency and
//! its size.

use std::collections::BTreeMap;

use methods::{IozoneFigure, IozoneTrial as Trial};

use super::IozoneCommand;

/// The first words of every file.
pub const BEGINNING: &str = "Offset in kBytes   Latency in microseconds";

/// Their headings; those of writers have a blank less.
const HEADING: &str = "Offset in kBytes   Latency in microseconds  Transfer size in bytes\n";
const HEADING_OF_WRITERS: &str =
    "Offset in kBytes   Latency in microseconds Transfer size in bytes\n";

/// Names of the files, in order; none without `-Q`. With one process, a file for each figure of the
/// tests `-i 0` and `-i 1`, measured or not; with several, one for each figure of each process.
pub fn names(command: &IozoneCommand) -> Vec<String> {
    if command.latencies.is_none() {
        return Vec::new();
    }
    let Some(processes) = command.run.processes.last() else {
        return command.asked_columns().filter(|figure| figure.test() <= 1).map(name).collect();
    };
    let names = (0..*processes).flat_map(|process| {
        let figures = command.run.throughput_figures().into_iter();
        figures.map(move |figure| name_of_process(process, figure))
    });
    names.collect()
}

/// Names and contents after a run.
pub fn files(command: &IozoneCommand) -> BTreeMap<String, String> {
    let mut files = BTreeMap::<String, String>::new();
    let Some(latencies) = &command.latencies else { return files };
    let is_table = command.run.processes.is_empty();
    if is_table {
        files.extend(names(command).into_iter().map(|name| (name, HEADING.to_string())));
    }
    for trial in latencies.trials().iter() {
        let text = lines(trial);
        if is_table {
            *files.entry(name(trial.figure)).or_default() += &(text + &footer(trial));
            continue;
        }
        let is_write = trial.figure == IozoneFigure::Write;
        let heading = if is_write { HEADING_OF_WRITERS } else { HEADING };
        let name = name_of_process(trial.process, trial.figure);
        *files.entry(name).or_default() += &(heading.to_string() + &text);
    }
    files
}

fn name_of_process(process: u32, figure: IozoneFigure) -> String {
    format!("Child_{process}_{}", name(figure))
}

/// The file of a figure.
fn name(figure: IozoneFigure) -> String {
    use IozoneFigure::*;
    let stem = match figure {
        Write => "w",
        Rewrite => "rw",
        Read => "r",
        Reread => "rr",
        RandomRead => "randr",
        RandomWrite => "randw",
        BackwardRead => "rev",
        StridedRead => "str",
        Fwrite => "fw",
        Fread => "fr",
        RecordRewrite | Frewrite | Freread => unreachable!("{figure:?} has no file"),
    };
    format!("{stem}ol.dat")
}

fn lines(trial: &Trial) -> String {
    let lines = trial.operations.iter().map(|(offset, latency_ns)| {
        let latency_us = *latency_ns as f64 / 1e3;
        format!("{:10} {latency_us:10.0} {:10}\n", offset >> 10, trial.row.record_bytes)
    });
    lines.collect()
}

fn footer(trial: &Trial) -> String {
    let [system, user, real] =
        [trial.usage.system_ns, trial.usage.user_ns, trial.elapsed_ns].map(|ns| ns as f64 / 1e9);
    format!("\nSystem time {system:10.3} User time {user:10.3} Real {real:10.3}  (seconds)\n")
}
