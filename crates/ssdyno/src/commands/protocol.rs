//! `ssdyno run TARGET --protocol FILE`: runs the steps of a file, with a record for each
//! measurement.
//!
//! Questions are asked on the terminal or answered from a file; if neither is available, the run
//! does not start. The conclusion is printed at the end, and again with `--resume`.

use std::io::{IsTerminal, Write, stderr, stdin};

use lab::protocol::{
    Answers, Ask, Item, Next, PlannedItem, Preparing, Progress, Protocol, ProtocolConclusion,
    ProtocolRun,
};
use lab::{LabError, Recorded, Request, protocol};
use record::Plan;
use report::table::{Align, Table, TableCell};
use report::{Ink, Style};
use serde_json::json;

use super::{io, session};
use crate::cli::{RESUME, RunArgs};
use crate::failure::{Failure, REFUSED, Result, USAGE};
use crate::{present, screen};

/// Spaces between columns, and the minimum width of wrapped text.
const GAP: usize = 2;
const TEXT_MIN: usize = 20;

/// Runs or plans a protocol on one target.
pub fn run(file: &str, args: &RunArgs) -> Result {
    let protocol = protocol::protocol(file)?;
    let [target] = args.targets.as_slice() else {
        let text = "a protocol takes one target at a time";
        return Err(Failure::new(USAGE, text).advise("one `ssdyno run` for each target"));
    };
    let (resume, options): (Vec<_>, Vec<_>) =
        args.own.typed.iter().partition(|(name, _)| name == RESUME);
    if !options.is_empty() {
        let text = "method options belong in the protocol file";
        return Err(Failure::new(USAGE, text).advise("options = { ... } in its steps"));
    }
    let request = args.measure.request(target);
    let progress = if resume.is_empty() {
        Progress::begin(&protocol)
    } else {
        Progress::resume(&protocol, request.store.as_deref())?
    };
    let runner =
        ProtocolRunner { protocol: &protocol, request, args, answers: answers(&protocol, args)? };
    if args.measure.dry_run {
        return runner.plan(&progress);
    }
    runner.check(&progress)?;
    runner.run(progress)
}

/// The answers from the file of `--answers`.
fn answers(protocol: &Protocol, args: &RunArgs) -> Result<Option<Answers>> {
    let Some(path) = &args.answers else { return Ok(None) };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(USAGE, format!("{name}: {error}")))?;
    Ok(Some(Answers::parse(&name, &text, protocol)?))
}

struct ProtocolRunner<'a> {
    protocol: &'a Protocol,
    request: Request,
    args: &'a RunArgs,
    answers: Option<Answers>,
}

impl ProtocolRunner<'_> {
    /// Refuses to start if a question cannot be answered or a measurement is not permitted.
    fn check(&self, progress: &Progress<'_>) -> Result<()> {
        if let Some(id) = progress.asks()
            && self.answers.is_none()
            && !stdin().is_terminal()
        {
            let text =
                format!("step '{id}' asks a question, but there is no terminal to answer it");
            return Err(Failure::new(REFUSED, text).advise("--answers FILE"));
        }
        Ok(progress.check(&self.request, &io::read)?)
    }

    /// Shows the plan of all remaining items.
    fn plan(&self, progress: &Progress<'_>) -> Result {
        let items = progress.plan(&self.request, &io::read)?;
        let plans: Vec<&Plan> = items.iter().filter_map(PlannedItem::plan).collect();
        let seconds = plans.iter().fold(0.0, |sum, plan| sum + plan.seconds);
        let bytes: u64 = plans.iter().map(|plan| plan.write_bytes_max).sum();
        let target = &self.request.target.spec;
        let text = if self.args.measure.output.is_json() {
            present::json(&json!({
                "protocol": self.protocol.name,
                "hash": self.protocol.hash,
                "target": target,
                "seconds": seconds,
                "write_bytes_max": bytes,
                "steps": items.iter().map(PlannedItem::json).collect::<Vec<_>>(),
            }))?
        } else {
            let (style, amount) = (screen::style(), workload::units::binary(bytes));
            let title = style.paint(Ink::Strong, &self.protocol.title);
            let time = workload::units::span(seconds);
            let table = steps(&items, progress.place(), &style);
            format!(
                "{title}\n{} on {target}: about {time}, at most {amount} written\n\n{table}",
                self.protocol.name
            )
        };
        present::done(&text)
    }

    fn run(&self, mut progress: Progress<'_>) -> Result {
        let output = &self.args.measure.output;
        if !output.quiet {
            screen::say(&format!("{}   {}", self.protocol.name, self.protocol.title));
        }
        while let Some(next) = progress.next() {
            match next {
                Next::Ask(id, ask) => {
                    let answer = self.ask(&progress, id, ask)?;
                    progress.answer(ask, &answer);
                }
                Next::Measure(item) => {
                    let (number, total) = progress.place();
                    if !output.quiet {
                        let (id, repeat) = (&item.step.id, item.repeat);
                        let repeats = item.measure.repeat;
                        screen::say(&format!(
                            "step {number}/{total}   {id}, {repeat} of {repeats}"
                        ));
                    }
                    let part_of = Some(progress.part_of(&item));
                    let request = Request { part_of, ..self.request.clone() };
                    let work = item.work(&request, &io::read)?;
                    let Recorded { run, ended, kept, .. } =
                        session::record(&request, output, &work)?;
                    ended.map_err(|error| self.interrupted(error))?;
                    kept.map_err(Failure::reported)?;
                    if !run.complete {
                        let text = format!("step '{}' did not complete", item.step.id);
                        return Err(Failure::new(crate::failure::IO, text).advise(self.resume()));
                    }
                    progress.measured();
                }
            }
        }
        let store = self.request.store.as_deref();
        let conclusion = protocol::conclude(self.protocol, store, progress.began())?;
        present::done(&if output.is_json() {
            present::json(&json!({
                "protocol": self.protocol.name,
                "hash": self.protocol.hash,
                "conclusion": conclusion,
            }))?
        } else {
            concluded(self.protocol, &conclusion)
        })
    }

    fn resume(&self) -> String {
        let file = self.args.protocol.as_deref().unwrap_or_default();
        format!("ssdyno run {} --protocol {file} --resume", self.request.target.spec)
    }

    fn interrupted(&self, error: LabError) -> LabError {
        error.advise(self.resume())
    }

    /// The answer to a question, from the file or from the terminal.
    fn ask(&self, progress: &Progress<'_>, id: &str, ask: &Ask) -> Result<String> {
        if let Some(answers) = &self.answers {
            return Ok(answers.answer(id).to_string());
        }
        let (number, total) = progress.place();
        loop {
            let end = if ask.field.is_some() { ": " } else { " " };
            let _ = write!(stderr(), "step {number}/{total}   {}{end}", emit::screen(&ask.text));
            let mut line = String::new();
            let bytes = stdin()
                .read_line(&mut line)
                .map_err(|error| Failure::new(USAGE, format!("no answer: {error}")))?;
            if bytes == 0 {
                let text = format!("no answer for step '{id}'");
                return Err(Failure::new(REFUSED, text).advise(self.resume()));
            }
            if ask.field.is_none() || !line.trim().is_empty() {
                return Ok(line.trim().to_string());
            }
        }
    }
}

/// A row for each remaining item; `start` is the number of the first.
fn steps(items: &[PlannedItem<'_>], (start, total): (usize, usize), style: &Style) -> String {
    let mut rows = Vec::new();
    for (number, planned) in (start..).zip(items) {
        let (id, text) = match planned {
            PlannedItem::Ask(id, ask) => (*id, format!("asks: {}", ask.text)),
            PlannedItem::Measure { item, plan, .. } => (item.step.id.as_str(), cost(item, plan)),
        };
        let place = format!("{number}/{total}");
        rows.push((vec![TableCell::dim(place), TableCell::new(Ink::Strong, id)], text));
    }
    wrapped(Table::new(&[Align::Right, Align::Left]), rows, style)
}

/// Renders each row's cells, with its text in an additional last column, wrapped to the screen
/// width. `table` defines the columns of the cells, and the headings.
fn wrapped(table: Table, rows: Vec<(Vec<TableCell>, String)>, style: &Style) -> String {
    let mut cells = table.clone();
    rows.iter().for_each(|(row, _)| cells.row(row.clone()));
    let room = style.width.max(40).saturating_sub(cells.width() + GAP).max(TEXT_MIN);
    let mut table = table.with(Align::Left);
    for (mut row, text) in rows {
        let columns = row.len();
        for line in report::wrap(&text, room) {
            row.push(TableCell::from(line));
            table.row(row);
            row = vec![TableCell::default(); columns];
        }
        if text.is_empty() {
            table.row(row);
        }
    }
    table.render(style)
}

/// One-line description of a measurement and its cost.
fn cost(item: &Item<'_>, plan: &Plan) -> String {
    let work = match &item.measure.run {
        ProtocolRun::Method(name, _) => (*name).to_string(),
        ProtocolRun::Io(words) => format!("io {words}"),
    };
    let preparations: Vec<String> =
        item.measure.prepare.iter().map(|step| preparing(*step)).collect();
    let preparations = if preparations.is_empty() {
        String::new()
    } else {
        format!("{}, then ", preparations.join(", "))
    };
    let side = item.measure.side.as_ref().map_or(String::new(), |side| format!(", side {side}"));
    let repeat = format!("{} of {}", item.repeat, item.measure.repeat);
    let time = workload::units::span(plan.seconds);
    let amount = workload::units::binary(plan.write_bytes_max);
    format!("{preparations}{work}: {repeat}{side}; {time}, at most {amount} written")
}

fn preparing(step: Preparing) -> String {
    match step {
        Preparing::TrimFree => "fstrim".to_string(),
        Preparing::Discard => "blkdiscard".to_string(),
        Preparing::Fill => "fill".to_string(),
        Preparing::Rest(seconds) => format!("rest {seconds} s"),
        Preparing::Cool(celsius) => format!("cool to {celsius} C"),
    }
}

/// The conclusion of a protocol as text.
fn concluded(protocol: &Protocol, conclusion: &ProtocolConclusion) -> String {
    let style = screen::style();
    let right = Align::Right;
    let mut table = Table::new(&[Align::Left, right, Align::Left, right, right]);
    table.heading(["step", "", "side", "run", "elapsed"]);
    let mut rows = Vec::new();
    for row in &conclusion.elapsed {
        let seconds = row.seconds.map_or("simulated".to_string(), |s| format!("{s:.2} s"));
        let number = row.run.map_or(String::new(), |number| number.to_string());
        let cells = vec![
            TableCell::from(row.step.as_str()),
            TableCell::dim(row.repeat.to_string()),
            TableCell::from(row.side.clone().unwrap_or_default()),
            TableCell::from(number),
            TableCell::new(Ink::Strong, seconds),
        ];
        rows.push((cells, row.headline.clone().unwrap_or_default()));
    }
    let table = wrapped(table, rows, &style);
    let mut text = format!("{}\n{table}", style.paint(Ink::Strong, &protocol.title));
    if let [a, b] = protocol.sides.as_slice() {
        for sentence in &conclusion.sentences {
            text += &format!("\n{}\n", screen::wrap(sentence, style.width.min(90)));
        }
        let differ = conclusion
            .confounders
            .iter()
            .map(|[name, in_a, in_b]| format!("{name} ({in_a} on {a}, {in_b} on {b})"));
        let differ: Vec<String> = differ.collect();
        if differ.len() > 1 {
            let line = format!(
                "More than one condition differed, so a difference cannot be attributed to \
                 a single cause: {}.",
                differ.join("; ")
            );
            text += &format!("\n{}\n", screen::wrap(&line, style.width.min(90)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use lab::Work;
    use lab::protocol::Action;

    use super::*;

    #[test]
    fn long_text_is_wrapped_and_never_cut() {
        let text = "a durable write takes 1.20 ms, of which the flush takes most, and no longer";
        let rows =
            vec![(vec![TableCell::from("1/2"), TableCell::from("board-a")], text.to_string())];
        let style = Style { width: 60, ..Style::PLAIN };
        let shown = wrapped(Table::new(&[Align::Right, Align::Left]), rows, &style);
        let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        assert_eq!(words(&shown), [&words("1/2 board-a")[..], &words(text)].concat());
        assert!(shown.lines().count() > 1 && shown.lines().all(|line| line.len() <= 60), "{shown}");
    }

    /// Only the command can check options of `io` in the bundled protocols.
    #[test]
    fn every_step_of_every_bundled_protocol_can_be_planned() {
        for name in protocol::names() {
            let protocol = protocol::protocol(name).unwrap_or_else(|e| panic!("{e}"));
            for step in &protocol.steps {
                let Action::Measure(measure) = &step.action else { continue };
                let work = Work::measurement(measure, 1, &io::read).expect("known words");
                let request = Request::on("sim:samsung-970-pro-1t?capacity=8GiB&vary=0");
                request
                    .plan(&work)
                    .map(drop)
                    .unwrap_or_else(|e| panic!("{name}, {}: {e}", step.id));
            }
        }
    }
}
