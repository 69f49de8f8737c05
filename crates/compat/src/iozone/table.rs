//! Prints a run's record as iozone's table: the same columns in the same positions, in KiB/s,
//! rounded down.

use methods::{Iozone, IozoneFigure, IozoneHonest as Honest, IozoneRow as Row};
use record::Run;

use super::{IozoneCommand, ResultUnit, throughput};

/// The two lines above the figures.
const HEAD: &str = "                                                              random    random     bkwd    record    stride
              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread
";

/// The headings of the columns of streams.
const STREAMS: &str = "   fwrite frewrite    fread  freread";

/// The line above everything else.
pub(crate) const TITLE: &str = "ssdyno: iozone's table";

/// Headings of the spreadsheet blocks, without their quotes.
pub(crate) const REPORTS: [&str; 13] = [
    "Writer report",
    "Re-writer report",
    "Reader report",
    "Re-Reader report",
    "Random read report",
    "Random write report",
    "Backward read report",
    "Record rewrite report",
    "Stride read report",
    "Fwrite report",
    "Re-Fwrite report",
    "Fread report",
    "Re-Fread report",
];

/// The trustworthy figures in the order of their columns, with their headings.
const HONEST: [(Honest, &str); 3] = [
    (Honest::ColdRead, "cold read"),
    (Honest::ColdRandomRead, "cold random read"),
    (Honest::RewriteRandomContent, "rewrite, random content"),
];

/// iozone's complete output, and nothing else: scripts count its lines from the end.
pub fn table(command: &IozoneCommand, run: &Run, began: &str) -> String {
    let mut text = format!("        {TITLE}\n\n        Run began: {began}\n\n");
    for line in &command.lines {
        text += &format!("        {line}\n");
    }
    text += &format!("        Command line used: ssdyno iozone {}\n", command.typed);
    if command.unit == ResultUnit::Kib {
        text += "        Output is in kBytes/sec\n";
    }
    text += &format!(
        "        Time Resolution = 0.000000001 seconds.\n        File stride size set to {} * \
         record size.\n",
        command.run.stride
    );
    if !command.run.processes.is_empty() {
        text += &throughput::table(command, run);
        return text + "\niozone test complete.\n";
    }
    text += &heading(command);
    for row in &command.run.rows {
        text += &line(row, run, command);
    }
    text += "\niozone test complete.\n";
    if command.excel || command.sheet.is_some() {
        text += "Excel output is below:\n";
        text += &excel(command, run);
    }
    text
}

/// The lines above the figures; with operations in flight or a mapped file, without the columns of
/// streams.
fn heading(command: &IozoneCommand) -> String {
    if command.run.depth > 1 || command.mapped {
        HEAD.replace(STREAMS, "")
    } else {
        HEAD.to_string()
    }
}

/// A row; figures not measured are blank, but retests that `-+n` leaves out are 0, as in iozone.
fn line(row: &Row, run: &Run, command: &IozoneCommand) -> String {
    let figures = command.run.figures();
    let skipped = command.run.columns().into_iter().filter(|f| !figures.contains(f));
    let skipped: Vec<IozoneFigure> = skipped.collect();
    let mut text = format!("{:>16}{:>8}", row.file_bytes >> 10, row.record_bytes >> 10);
    for figure in IozoneFigure::ALL {
        let width = match figure {
            IozoneFigure::RecordRewrite | IozoneFigure::StridedRead => 10,
            _ => 9,
        };
        let result = result(run, row, figure.name(), command.unit);
        let result = result.or(skipped.contains(&figure).then_some(0));
        let result = result.map_or(String::new(), |result| result.to_string());
        // A figure is always preceded by a blank, even if it then exceeds its column.
        text +=
            &if result.len() < width { format!("{result:>width$}") } else { format!(" {result}") };
    }
    text.trim_end().to_string() + "\n"
}

/// KiB per second, rounded down.
fn kib(run: &Run, row: &Row, figure: &str) -> Option<u64> {
    result(run, row, figure, ResultUnit::Kib)
}

/// A figure in a unit, rounded down, as in iozone.
pub(super) fn result(run: &Run, row: &Row, figure: &str, unit: ResultUnit) -> Option<u64> {
    let metric = run.metric(&row.metric(figure).to_string())?;
    metric.value.map(|bytes_per_s| unit.of_rate(bytes_per_s, row.record_bytes) as u64)
}

/// The trustworthy figures in a table of their own; empty if there are none.
pub fn honest(spec: &Iozone, run: &Run) -> String {
    let columns = HONEST
        .into_iter()
        .filter(|(honest, _)| spec.rows.iter().any(|row| kib(run, row, honest.name()).is_some()));
    let columns: Vec<_> = columns.collect();
    if columns.is_empty() {
        return String::new();
    }
    let mut text = format!("{:>16}{:>8}", "kB", "reclen");
    for (_, heading) in &columns {
        text += &format!("  {heading}");
    }
    text.push('\n');
    for row in &spec.rows {
        text += &format!("{:>16}{:>8}", row.file_bytes >> 10, row.record_bytes >> 10);
        for (honest, heading) in &columns {
            let kib = kib(run, row, honest.name()).map_or(String::new(), |kib| kib.to_string());
            text += &format!("  {kib:>width$}", width = heading.len());
        }
        text.push('\n');
    }
    text
}

/// One block per figure: a line per file size, a column per record size.
fn excel(command: &IozoneCommand, run: &Run) -> String {
    let mut text = String::new();
    for figure in command.asked_columns() {
        text += &format!("\n\"{}\"\n        ", REPORTS[figure as usize]);
        let sizes = command.records.iter().map(|bytes| format!("\"{}\"", bytes >> 10));
        text += &(sizes.collect::<Vec<_>>().join("  ") + "\n");
        for (file_bytes, cells) in blocks(command, run, figure) {
            text += &format!("\"{}\"  ", file_bytes >> 10);
            text += &cells.iter().map(|cell| format!(" {cell} ")).collect::<String>();
            text.push('\n');
        }
    }
    text
}

/// The results of a figure: for each file size, one for each record size up to its last; 0 if not
/// measured.
pub(super) fn blocks(
    command: &IozoneCommand,
    run: &Run,
    figure: IozoneFigure,
) -> Vec<(u64, Vec<u64>)> {
    let mut files: Vec<u64> = command.run.rows.iter().map(|row| row.file_bytes).collect();
    files.dedup();
    let figures = files.into_iter().map(|file_bytes| {
        let records = command.records.iter().filter(|record| **record <= file_bytes);
        let results = records.map(|record| {
            let record_bytes = u32::try_from(*record).unwrap_or(u32::MAX);
            let row = Row { file_bytes, record_bytes };
            result(run, &row, figure.name(), command.unit).unwrap_or(0)
        });
        (file_bytes, results.collect())
    });
    figures.collect()
}

/// The table as CSV with a header; figures not measured are empty.
pub fn csv(spec: &Iozone, run: &Run) -> String {
    let honest = HONEST.iter().map(|(honest, _)| honest.name());
    let names: Vec<&str> = IozoneFigure::ALL.iter().map(|f| f.name()).chain(honest).collect();
    let mut text = format!("file_kib,record_kib,{}\n", names.join(","));
    for row in &spec.rows {
        text += &format!("{},{}", row.file_bytes >> 10, row.record_bytes >> 10);
        for name in &names {
            text += &kib(run, row, name).map_or(",".to_string(), |kib| format!(",{kib}"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iozone::{IozoneRequest, parse};
    use record::{Metric, Unit};

    /// A record as in the store, with these KiB/s.
    fn run(row: Row, kib: &[(&str, u64)]) -> Run {
        let text = include_str!("../../tests/samples/run.json");
        let mut run: Run = serde_json::from_str(text).expect("a record");
        let metric = |(name, kib): &(&str, u64)| {
            Metric::single(row.metric(name), Unit::BytesPerSecond, *kib as f64 * 1024.0 + 1000.0)
        };
        run.metrics = kib.iter().map(metric).collect();
        run
    }

    fn command(line: &str) -> Box<IozoneCommand> {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        match parse(&words) {
            Ok(IozoneRequest::Run(command)) => command,
            other => panic!("{other:?}"),
        }
    }

    const TYPED: &str = "-f /data/iozone.tst -e -o -a -s 100M -r 4k -i 0 -i 1 -i 2";
    const ROW: Row = Row { file_bytes: 100 << 20, record_bytes: 4096 };

    #[test]
    fn a_row_matches_document_002_exactly() {
        let figures = [
            ("write", 2781),
            ("rewrite", 4202),
            ("read", 996_001),
            ("reread", 1_008_897),
            ("random-read", 986_084),
            ("random-write", 4180),
        ];
        let text = table(&command(TYPED), &run(ROW, &figures), "today");
        let line =
            "          102400       4     2781     4202   996001  1008897   986084     4180\n";
        assert!(text.contains(line), "{text}");
        assert!(text.contains(HEAD) && HEAD.starts_with(&" ".repeat(62)), "{text}");
        for line in [
            "        Include fsync in write timing\n        SYNC Mode. \n        Auto Mode\n",
            "        File size set to 102400 kB\n        Record Size 4 kB\n",
            "        Command line used: ssdyno iozone -f /data/iozone.tst -e -o -a -s 100M",
            "        Output is in kBytes/sec\n",
            "        File stride size set to 17 * record size.\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn a_full_row_keeps_every_figure_under_its_heading() {
        let figures: Vec<_> = IozoneFigure::ALL
            .iter()
            .enumerate()
            .map(|(i, f)| (f.name(), 10_000 + i as u64))
            .collect();
        let line = line(&ROW, &run(ROW, &figures), &command(TYPED));
        let expected = "          102400       4    10000    10001    10002    10003    10004    \
                        10005    10006     10007     10008    10009    10010    10011    10012\n";
        assert_eq!(line, expected);
        let alone = super::line(&ROW, &run(ROW, &[("freread", 7)]), &command(TYPED));
        assert_eq!(alone.len(), expected.len());
        let figures = [("write", 123_456_789), ("rewrite", 1)];
        let fast = super::line(&ROW, &run(ROW, &figures), &command(TYPED));
        assert!(fast.contains("4 123456789        1"), "{fast}");
    }

    /// A saved table is imported with the same figures, without its first lines, too.
    #[test]
    fn a_printed_table_can_be_imported() {
        for test in 3..=7 {
            let measured = |f: &IozoneFigure| [0, test].contains(&f.test());
            let figures: Vec<_> = IozoneFigure::ALL
                .into_iter()
                .filter(measured)
                .map(|f| (f.name(), 1000 + f as u64))
                .collect();
            let command = command(&format!("-i 0 -i {test} -s 100m -r 4k"));
            let text = table(&command, &run(ROW, &figures), "today");
            let alone = &text[text.find(HEAD).expect("the head")..];
            for text in [text.as_str(), alone] {
                let runs =
                    crate::import::read(text, None).unwrap_or_else(|e| panic!("{e}: {text}"));
                let [imported] = runs.as_slice() else { panic!("{runs:?}") };
                assert_eq!(imported.metrics.len(), figures.len(), "{text}");
                for (name, expected) in &figures {
                    assert_eq!(kib(imported, &ROW, name), Some(*expected), "{name}: {text}");
                }
                let origin = imported.origin.as_ref().expect("imported");
                let whole = text.contains(TITLE);
                assert_eq!(origin.command.is_some(), whole, "the command line is read: {text}");
            }
        }
    }

    #[test]
    fn results_are_operations_or_their_times_if_asked() {
        let row = Row { file_bytes: 1 << 20, record_bytes: 64 << 10 };
        for (option, result, line) in [
            ("-O", "100", "OPS Mode. Output is in operations per second.\n"),
            ("-N", "9998", "Microseconds/op Mode. Output is in microseconds per operation.\n"),
        ] {
            let command = command(&format!("-s 1m -r 64k -i 0 -+n {option}"));
            let text = table(&command, &run(row, &[("write", 6400)]), "today");
            let cells: Vec<_> =
                text.lines().rev().nth(2).unwrap_or("").split_whitespace().collect();
            assert_eq!(cells, ["1024", "64", result, "0"], "{text}");
            assert!(text.contains(line) && !text.contains("kBytes/sec"), "{text}");
        }
    }

    #[test]
    fn trustworthy_figures_are_not_in_iozones_output() {
        let command = command("-s 100m -r 4k -i 0 -i 1 -i 2");
        let run = run(ROW, &[("write", 5), ("cold-read", 6)]);
        let text = table(&command, &run, "today");
        let from_end: Vec<_> = text.lines().rev().take(3).collect();
        assert_eq!(from_end[0], "iozone test complete.");
        assert!(from_end[1].is_empty() && from_end[2].ends_with(" 4        5"), "{text}");
        assert_eq!(
            honest(&command.run, &run),
            "              kB  reclen  cold read\n          102400       4          6\n"
        );
    }

    #[test]
    fn spreadsheets_get_one_block_per_figure_or_one_line_per_row() {
        let command = command("-i 0 -s 100m -r 4k -r 8k -R");
        let run = run(ROW, &[("write", 5), ("cold-read", 6)]);
        let excel = excel(&command, &run);
        let block = "\"Writer report\"\n        \"4\"  \"8\"\n\"102400\"   5  0 \n";
        assert!(excel.contains(block), "{excel}");
        let text = table(&command, &run, "today");
        assert!(
            text.contains("\niozone test complete.\nExcel output is below:\n\n\"Wri"),
            "{text}"
        );
        let csv = csv(&command.run, &run);
        let lines: Vec<_> = csv.lines().collect();
        assert!(lines[0].starts_with("file_kib,record_kib,write,rewrite,read,"), "{csv}");
        assert_eq!(lines[1], "102400,4,5,,,,,,,,,,,,,6,,");
        assert_eq!(lines[2], "102400,8,,,,,,,,,,,,,,,,");
    }
}
