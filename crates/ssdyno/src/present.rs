//! Presents a record to the user: on the screen, as JSON, or as a page with charts.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lab::{Recorded, drives};
use record::{Document, Health, Plan, Run, Safety, VerdictKind};
use report::table::{Align, Table, TableCell};
use report::{Ink, Style};
use serde::Serialize;
use workload::units;

use crate::cli::OutputArgs;
use crate::failure::{CHECK_FAILED, Failure, IO, Result};
use crate::{interrupt, screen};

/// Prints to stdout, without terminal control characters except those of our own styles. If the
/// reader has closed the pipe, the process ends without an error.
pub fn print(text: &str) -> Result<()> {
    print_bytes(emit::screen(text).as_bytes())
}

/// Prints the output of a command that succeeded.
pub fn done(text: &str) -> Result {
    print(text).map(|()| ExitCode::SUCCESS)
}

/// Prints records as JSON lines: with control characters escaped on a terminal, byte for byte to a
/// file or a pipe.
pub fn print_records(text: &str) -> Result<()> {
    if io::stdout().is_terminal() {
        print_bytes(emit::json(text).as_bytes())
    } else {
        print_bytes(text.as_bytes())
    }
}

/// Prints bytes to stdout, like [`print`].
pub fn print_bytes(bytes: &[u8]) -> Result<()> {
    let _limit = interrupt::OutputLimit::begin();
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => other.map_err(|e| Failure::new(IO, format!("cannot write to stdout: {e}"))),
    }
}

/// Formats a value as one line of JSON.
pub fn json(value: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string(value);
    let json = json.map_err(|e| Failure::new(IO, e))?;
    Ok(emit::json(&json).into_owned() + "\n")
}

/// The record as JSON, on one line or indented for people.
pub fn record_json(run: &Run, pretty: bool) -> Result<String> {
    let json = report::json(run, pretty).map_err(|e| Failure::new(IO, e))?;
    Ok(emit::json(&json).into_owned() + "\n")
}

/// A stored record as indented JSON, in the order of the schema, or sorted by name if it has fields
/// unknown to this version.
pub fn document_json(document: &Document) -> Result<String> {
    let failed = |e| Failure::new(IO, e);
    let hash = Document::from_run(document.run().clone()).and_then(|own| own.hash());
    if hash.map_err(failed)? == document.hash().map_err(failed)? {
        return record_json(document.run(), true);
    }
    let value: serde_json::Value =
        document.text().and_then(|text| serde_json::from_str(&text)).map_err(failed)?;
    let json = serde_json::to_string_pretty(&value).map_err(failed)?;
    Ok(emit::json(&json).into_owned() + "\n")
}

/// The directory for reports beside a store.
pub fn reports_beside(store: &Path) -> PathBuf {
    store.parent().unwrap_or(Path::new(".")).join("reports")
}

/// Creates the directory for reports.
pub fn make_reports(directory: &Path) -> io::Result<()> {
    emit::Directory::create(directory, 0o777).map(drop)
}

/// The file name of a run's page in that directory.
pub fn page_name(number: i64) -> String {
    format!("run-{number}.html")
}

/// Writes the page of a run to `path` or into `directory`, and returns its path.
pub fn write_page(run: &Run, path: Option<&Path>, directory: &Path) -> Result<PathBuf> {
    let file_name = match run.number {
        Some(number) => page_name(number),
        None => format!("{}.html", run.id.replace([':', '/'], "-")),
    };
    // Only our own directory is created; a misspelt user path is an error.
    let creation = if path.is_none() { make_reports(directory) } else { Ok(()) };
    let path = path.map_or_else(|| directory.join(file_name), Path::to_path_buf);
    let page = report::html(run).map_err(|e| Failure::new(IO, e))?;
    let _limit = interrupt::OutputLimit::begin();
    creation
        .and_then(|()| emit::renew(&path, page))
        .map_err(|e| Failure::cannot_write(&path, &e))?;
    Ok(path)
}

/// Reports that the store does not have a record, and where it is. This comes first, because the
/// outputs may wait for their readers.
pub fn report_unkept(recorded: &Recorded) {
    if let Err(error) = &recorded.kept {
        Failure::from(error.clone()).report();
    }
}

/// Checks that a page can be written to this path.
pub fn check_page(path: &Path) -> Result<()> {
    let page = report::html(&Run::default()).map_err(|e| Failure::new(IO, e))?;
    emit::check(path, Some(page.as_bytes())).map_err(|e| Failure::cannot_write(path, &e))
}

/// Shows the result of a run. The exit code is that of the failure that ended it early, or
/// otherwise that of the record.
pub fn conclude(recorded: Recorded, output: &OutputArgs) -> Result {
    let reports = reports_beside(&recorded.store);
    let Recorded { run, ended, kept, .. } = recorded;
    // The file system of a store that cannot be written may not answer.
    let reports = kept.is_ok().then_some(&*reports);
    if let Err(error) = ended {
        let code = Failure::from(error).report();
        if !run.metrics.is_empty() || output.is_json() {
            show(&run, output, reports)?;
        }
        return Ok(code);
    }
    let code = show(&run, output, reports)?;
    kept.map_err(Failure::reported)?;
    Ok(code)
}

/// Shows the record of a finished run, and returns its exit code. Its page goes to the requested
/// file, or else to the directory of reports, if there is one.
fn show(run: &Run, output: &OutputArgs, reports: Option<&Path>) -> Result {
    let directory = reports.unwrap_or(Path::new("."));
    let has_place = output.html.is_some() || reports.is_some();
    let page = has_place.then(|| write_page(run, output.html.as_deref(), directory));
    let style = screen::style();
    print(&match (output.is_json(), output.verbose) {
        (true, _) => record_json(run, false)?,
        (false, true) => report::terminal_in_full(run, &style),
        (false, false) => report::terminal(run, &style),
    })?;
    output.prom.as_deref().map_or(Ok(()), |directory| write_textfile(run, directory))?;
    match page {
        Some(Ok(path)) if !output.is_json() => {
            print(&format!("page     {}\n", path.display()))?;
        }
        Some(Err(failure)) if output.html.is_some() => return Err(failure),
        // Nobody asked for it, and it can be made again from the record in the store.
        Some(Err(failure)) => drop(failure.report()),
        Some(Ok(_)) | None => {}
    }
    Ok(exit_code(run))
}

/// Writes the metrics of a run for node_exporter, a file for each drive and method, so that the next
/// run replaces it. The collector must never read half a file: it is replaced atomically.
pub fn write_textfile(run: &Run, directory: &Path) -> Result<()> {
    let serial = run.target.drive.as_ref().and_then(|drive| drive.serial.as_deref());
    let subject = serial.unwrap_or(&run.target.spec);
    let subject = subject.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let subject: String = subject.take(SUBJECT_MAX).collect();
    let path = directory.join(format!("ssdyno-{}-{subject}.prom", run.method));
    let text = report::prom([(run, lab::started_ms(run))]);
    emit::replace(&path, text).map_err(|e| Failure::cannot_write(&path, &e))
}

/// Maximum length of a drive's name in the name of a file, characters.
const SUBJECT_MAX: usize = 60;

/// The exit code of a record: 4 after I/O errors on the target, 1 after wrong content or if `fake`
/// found a false capacity or lost content.
pub fn exit_code(run: &Run) -> ExitCode {
    let is_fake = run.method == "fake"
        && run.verdicts.iter().any(|verdict| {
            matches!(verdict.kind, VerdictKind::Aliasing | VerdictKind::ContentLost)
        });
    if run.errors.iter().any(|error| error.op != "verify") {
        ExitCode::from(IO)
    } else if !run.errors.is_empty() || is_fake {
        ExitCode::from(CHECK_FAILED)
    } else {
        ExitCode::SUCCESS
    }
}

/// A bound within this factor of the expected bytes is close to them.
const BOUND_CLOSE: f64 = 1.1;

/// The cost of a run in one line, and its data loss in another. `here` is the wall-clock time of a
/// simulation, in seconds.
pub fn announce(
    method: &str,
    target: &str,
    plan: &Plan,
    health: Option<&Health>,
    here: Option<f64>,
) -> String {
    let mut line = format!("{method} on {}   ", emit::plain(target));
    if plan.seconds > 0.0 {
        line += &if target.starts_with(drives::PREFIX) {
            let time = here.map(|s| format!("about {} here, ", units::duration(s)));
            format!(
                "{} simulated, {}",
                planned_time(plan, units::duration),
                time.unwrap_or_default()
            )
        } else {
            format!("{}{}, ", hedge(plan), planned_time(plan, units::span))
        };
    }
    line += &match plan.write_bytes_max {
        // The user's own program does the I/O.
        0 if plan.region_bytes == 0 => "writes what the command writes".to_string(),
        0 => "reads only".to_string(),
        bytes => {
            let share = health.and_then(|health| health.life_share(bytes));
            let share = share.map(|share| format!(" (up to {} of its life)", percent(share)));
            format!("{}{}", planned_writes(plan), share.unwrap_or_default())
        }
    };
    if let Some(loss) = &plan.destroys {
        line += &format!("\ndestroys  {}", emit::plain(loss));
    }
    line
}

/// The expected time of a plan, `1:02` or, of an unknown drive, `1:02 to 4:20`.
fn planned_time(plan: &Plan, in_words: fn(f64) -> String) -> String {
    let ends = plan.range.map_or([plan.seconds; 2], |range| range.seconds).map(in_words);
    range(ends)
}

/// `writes about 0.9 GB, never more than 4.80 GB`.
pub fn planned_writes(plan: &Plan) -> String {
    let most = plan.write_bytes_max;
    let at_most = format!("writes at most {}", units::decimal(most));
    let Some(expected_bytes) = plan.write_bytes_expected else { return at_most };
    let ends = plan.range.map_or([expected_bytes; 2], |range| range.write_bytes);
    // Such a bound says what is expected.
    if ends.iter().all(|bytes| *bytes as f64 * BOUND_CLOSE >= most as f64) {
        return at_most;
    }
    let expected_words = range(ends.map(units::decimal));
    format!("writes {}{expected_words}, never more than {}", hedge(plan), units::decimal(most))
}

/// The word before an expected value; a range has none.
fn hedge(plan: &Plan) -> &'static str {
    if plan.range.is_some() { "" } else { "about " }
}

/// One value, or two with `to` between them.
fn range([least, most]: [String; 2]) -> String {
    if least == most { least } else { format!("{least} to {most}") }
}

/// A fraction of a drive's life in percent.
fn percent(share: f64) -> String {
    // Rounded up, because it is an upper bound.
    format!("{:.1}%", (share * 1000.0).ceil() / 10.0)
}

/// The share of the drive's life that a plan uses, in a line; empty if it does not write.
fn life(plan: &Plan, health: Option<&Health>) -> String {
    if plan.write_bytes_max == 0 {
        return String::new();
    }
    let is_worn = health.and_then(|h| h.wear_percent).is_some_and(|percent| percent >= 1.0);
    match health.and_then(|health| health.life_share(plan.write_bytes_max)) {
        Some(share) => format!("life      up to {} of the drive's\n", percent(share)),
        None if is_worn => {
            "life      unknown: the drive does not report the bytes written so far\n".into()
        }
        None => "life      unknown: the drive reports no wear yet, or none at all\n".into(),
    }
}

/// The effect of a run on a directory, as shown in a plan.
pub const SCRATCH: &str = "uses a scratch file, removed afterwards";

/// The plan in full, for `--dry-run`. `scratch` is the effect on a directory.
pub fn plan(
    announcement: &str,
    plan: &Plan,
    scratch: &str,
    health: Option<&Health>,
    style: &Style,
) -> String {
    let mut table =
        Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    table.heading(["step", "times", "time", "writes about", "at most"]);
    for step in &plan.steps {
        let amounts = [step.write_bytes_expected, Some(step.write_bytes_max)];
        let [expected_bytes, bytes_max] = amounts.map(|bytes| match bytes {
            None | Some(0) => "-".to_string(),
            Some(bytes) => units::decimal(bytes),
        });
        table.row([
            TableCell::new(Ink::Plain, step.name.as_str()),
            TableCell::dim(step.times()),
            TableCell::dim(units::span(step.seconds)),
            TableCell::dim(expected_bytes),
            TableCell::new(Ink::Plain, bytes_max),
        ]);
    }
    let effect = match plan.safety {
        Safety::Reads => ": changes nothing",
        Safety::Scratch => &format!(": {scratch}"),
        Safety::Borrows => ": overwrites blocks after copying them to a journal, and restores them",
        Safety::Destroys => ": content is lost",
        Safety::Other(_) => "",
    };
    let safety = plan.safety.name();
    let region = units::binary(plan.region_bytes);
    format!(
        "{announcement}\nsafety    {safety}{effect}\nregion    {region}\n{}\n{}",
        life(plan, health),
        table.render(style)
    )
}

#[cfg(test)]
mod tests {
    use record::{IoErrors, PlanRange, Target, Verdict};

    use super::*;

    fn some_plan(seconds: f64, write_bytes_max: u64, destroys: Option<&str>) -> Plan {
        Plan {
            safety: Safety::Scratch,
            seconds,
            write_bytes_expected: None,
            range: None,
            write_bytes_max,
            region_bytes: 1 << 20,
            destroys: destroys.map(String::from),
            steps: Vec::new(),
            workloads: Vec::new(),
            command: Vec::new(),
        }
    }

    #[test]
    fn a_run_is_announced_in_one_line_and_a_loss_in_one_more() {
        let table = [
            (some_plan(60.0, 0, None), "quick on /d   about 1:00, reads only"),
            (some_plan(4.2, 1 << 30, None), "quick on /d   about 4.2 s, writes at most 1.07 GB"),
            (some_plan(0.0, 4096, None), "quick on /d   writes at most 4.10 kB"),
            (
                some_plan(1.0, 512, Some("everything on sdx")),
                "quick on /d   about 1.0 s, writes at most 512 B\ndestroys  everything on sdx",
            ),
        ];
        for (plan, line) in table {
            assert_eq!(announce("quick", "/d", &plan, None, None), line);
        }
    }

    #[test]
    fn what_is_expected_stands_beside_the_bound() {
        let expected = |bytes| Plan {
            write_bytes_expected: Some(bytes),
            ..some_plan(60.0, 4_800_000_000, None)
        };
        let line = |plan: &Plan| announce("quick", "/d", plan, None, None);
        assert_eq!(
            line(&expected(900_000_000)),
            "quick on /d   about 1:00, writes about 900 MB, never more than 4.80 GB"
        );
        assert_eq!(
            line(&expected(4_700_000_000)),
            "quick on /d   about 1:00, writes at most 4.80 GB"
        );
        let range = PlanRange { seconds: [62.0, 260.0], write_bytes: [300_000_000, 2_000_000_000] };
        let unknown = Plan { range: Some(range), ..expected(900_000_000) };
        assert_eq!(
            line(&unknown),
            "quick on /d   1:02 to 4:20, writes 300 MB to 2.00 GB, never more than 4.80 GB"
        );
    }

    #[test]
    fn a_simulation_is_announced_with_simulated_and_real_time() {
        let line = announce("sustain", "sim:x", &some_plan(3720.0, 0, None), None, Some(4.0));
        assert_eq!(line, "sustain on sim:x   62 min simulated, about 4.0 s here, reads only");
    }

    #[test]
    fn the_share_of_life_is_shown_where_the_drive_reports_wear() {
        let plan = some_plan(1.0, 1_000_000_000_000, None);
        // 40 TB used at least 3% and less than 4% of its life.
        let health = Health {
            wear_percent: Some(3.0),
            written_bytes: Some(40_000_000_000_000),
            ..Health::default()
        };
        let line = announce("quick", "/d", &plan, Some(&health), None);
        assert!(line.ends_with("writes at most 1.00 TB (up to 0.1% of its life)"), "{line}");
        assert_eq!(life(&plan, Some(&health)), "life      up to 0.1% of the drive's\n");
        assert!(life(&plan, None).starts_with("life      unknown: "));
        assert_eq!(life(&some_plan(1.0, 0, None), Some(&health)), "");
    }

    #[test]
    fn errors_wrong_content_and_a_false_capacity_have_their_exit_codes() {
        let run = |method: &str, errors: &[&str], verdict| {
            let mut run = Run::new(method, Target::default());
            let error = |op: &&str| IoErrors::new(*op, "EIO", "w", 1);
            run.errors = errors.iter().map(error).collect();
            run.verdicts = vec![Verdict::new(verdict, "")];
            exit_code(&run)
        };
        let table = [
            (run("fake", &[], VerdictKind::CapacityReal), 0),
            (run("fake", &[], VerdictKind::Aliasing), 1),
            (run("fake", &[], VerdictKind::ContentLost), 1),
            (run("fake", &["read"], VerdictKind::ContentLost), IO),
            (run("wear", &["verify"], VerdictKind::ContentLost), 1),
            (run("speed", &["verify", "read"], VerdictKind::Undetermined), IO),
        ];
        for (number, (code, expected)) in table.into_iter().enumerate() {
            assert_eq!(code, ExitCode::from(expected), "{number}");
        }
    }

    #[test]
    fn reports_are_beside_their_store() {
        assert_eq!(reports_beside(Path::new("/a/b.sqlite")), Path::new("/a/reports"));
        assert_eq!(reports_beside(Path::new("b.sqlite")), Path::new("reports"));
    }
}
