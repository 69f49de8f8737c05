//! Prints the results of several processes as iozone does: for every test the rate of all, and of the
//! slowest, the fastest and the mean process; with `-R`, a table of all numbers of processes.

use methods::{IozoneFigure, IozoneRow};
use record::{MetricKey, Run, Statistic};

use super::{IozoneCommand, ResultUnit};

/// A figure, its processes after `for`, and its row in the table of `-R`. Blanks and tabs are those
/// of iozone.
type Heading = (IozoneFigure, &'static str, &'static str);

const HEADINGS: [Heading; 10] = [
    (IozoneFigure::Write, "{:2} initial writers \t", "  Initial write"),
    (IozoneFigure::Rewrite, "{:2} rewriters \t", "        Rewrite"),
    (IozoneFigure::Read, "{:2} readers \t\t", "           Read"),
    (IozoneFigure::Reread, "{} re-readers \t", "        Re-read"),
    (IozoneFigure::BackwardRead, "{} reverse readers \t", "   Reverse Read"),
    (IozoneFigure::StridedRead, "{} stride readers \t", "    Stride read"),
    (IozoneFigure::RandomRead, "{} random readers \t", "    Random read"),
    (IozoneFigure::RandomWrite, "{} random writers \t", "   Random write"),
    (IozoneFigure::Fwrite, "{:2} fwriters \t", "         Fwrite"),
    (IozoneFigure::Fread, "{:2} freaders \t", "          Fread"),
];

/// All results.
pub(super) fn table(command: &IozoneCommand, run: &Run) -> String {
    let mut text = String::new();
    let unit = if command.threads { "thread" } else { "process" };
    if let [least, .., most] = command.run.processes[..] {
        text += &format!("\tMin {unit} = {least} \n\tMax {unit} = {most} \n");
    }
    if let Some(first) = command.run.processes.first() {
        let plural = match (first, command.threads) {
            (1, _) => "",
            (_, true) => "s",
            (_, false) => "es",
        };
        text += &format!("\tThroughput test with {first} {unit}{plural}\n");
    }
    for processes in &command.run.processes {
        for row in &command.run.rows {
            text += &block(command, run, row, *processes, unit);
        }
    }
    if command.excel {
        text += &command.run.rows.iter().map(|row| report(command, run, row)).collect::<String>();
    }
    text
}

/// The results of a number of processes.
fn block(
    command: &IozoneCommand,
    run: &Run,
    row: &IozoneRow,
    processes: u32,
    what: &str,
) -> String {
    let (file, record) = (row.file_bytes >> 10, row.record_bytes >> 10);
    let record_bytes = u64::from(row.record_bytes);
    let records = row.file_bytes / record_bytes;
    // Every process transfers all whole records.
    let transferred = match command.unit {
        ResultUnit::Operations => format!("{:10.2} ops", records as f64),
        _ => format!("{:10.2} kB", ((records * record_bytes) >> 10) as f64),
    };
    let mut text = format!("\tEach {what} writes a {file} kByte file in {record} kByte records\n");
    let unit = command.unit.name();
    for (figure, heading, _) in headings(command) {
        let key = row.throughput_metric(processes, figure);
        let Some(sum) = rate(command, run, row, &key) else { continue };
        let [total, lowest, highest] =
            [Statistic::Throughput, Statistic::Lowest, Statistic::Highest].map(|statistic| {
                rate(command, run, row, &key.clone().with(statistic)).unwrap_or(0.0)
            });
        let group = heading.replace("{:2}", &format!("{processes:2}"));
        let group = group.replace("{}", &processes.to_string());
        text += &format!("\n\tChildren see throughput for {group}= {sum:10.2} {unit}\n");
        text += &format!("\tParent sees throughput for {group}= {total:10.2} {unit}\n");
        let mean = sum / f64::from(processes);
        text += &format!("\tMin throughput per {what} \t\t\t= {lowest:10.2} {unit} \n");
        text += &format!("\tMax throughput per {what} \t\t\t= {highest:10.2} {unit}\n");
        text += &format!("\tAvg throughput per {what} \t\t\t= {mean:10.2} {unit}\n");
        text += &format!("\tMin xfer \t\t\t\t\t= {transferred}\n");
    }
    text + "\n\n"
}

/// The table of `-R`: a line per test, a column per number of processes.
fn report(command: &IozoneCommand, run: &Run, row: &IozoneRow) -> String {
    let units = if command.threads { "threads" } else { "processes" };
    let unit = command.unit.name().replace("kB", "kBytes");
    let mut text = format!(
        "\n\"Throughput report Y-axis is type of test X-axis is number of {units}\"\n\
         \"Record size = {} kBytes \"\n\"Output is in {unit}\"\n",
        row.record_bytes >> 10
    );
    for (name, rates) in cells(command, run, row) {
        let rates: String = rates.iter().map(|rate| format!(" {rate:10.2} ")).collect();
        text += &format!("\n\"{name} \"{rates}\n");
    }
    text + "\n"
}

fn headings(command: &IozoneCommand) -> impl Iterator<Item = Heading> {
    let figures = command.run.throughput_figures();
    HEADINGS.into_iter().filter(move |heading| figures.contains(&heading.0))
}

fn rate(command: &IozoneCommand, run: &Run, row: &IozoneRow, key: &MetricKey) -> Option<f64> {
    let bytes_per_s = run.metric(&key.to_string())?.value?;
    Some(command.unit.of_rate(bytes_per_s, row.record_bytes))
}

/// Rows of a spreadsheet: the name of each test that was asked for and its result for each number of
/// processes; 0 for one that an option left out, as in iozone.
pub(super) fn cells(
    command: &IozoneCommand,
    run: &Run,
    row: &IozoneRow,
) -> Vec<(&'static str, Vec<f64>)> {
    let headings = HEADINGS.into_iter();
    let headings = headings.filter(|(figure, ..)| command.asked.contains(&figure.test()));
    let figures = headings.map(|(figure, _, name)| {
        let rates = command.run.processes.iter().map(|processes| {
            let key = row.throughput_metric(*processes, figure);
            rate(command, run, row, &key).unwrap_or(0.0)
        });
        (name, rates.collect())
    });
    figures.collect()
}
