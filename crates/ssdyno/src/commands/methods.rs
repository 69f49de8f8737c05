//! `ssdyno methods`: lists the methods, or shows some in full.

use lab::{Declared, Form, MethodInfo, MetricInfo, work};
use report::Ink;
use report::table::{Align, Table, TableCell};
use serde_json::{Value, json};
use workload::units;

use crate::cli::MethodsArgs;
use crate::failure::Result;
use crate::{present, screen};

/// Lists the methods, or shows some in full.
pub fn run(args: &MethodsArgs) -> Result {
    let is_list = args.names.is_empty();
    let methods: Vec<&MethodInfo> = if is_list {
        work::methods().collect()
    } else {
        args.names.iter().map(|name| work::description(name)).collect::<lab::Result<_>>()?
    };
    let text = if args.json {
        json(&methods)?
    } else if is_list {
        table(&methods)
    } else {
        methods.iter().map(|info| in_full(info)).collect::<Vec<_>>().join("\n")
    };
    present::done(&text)
}

fn table(methods: &[&MethodInfo]) -> String {
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Right, Align::Left]).wrapping();
    table.heading(["method", "safety", "time", "question"]);
    for info in methods {
        table.row([
            TableCell::new(Ink::Strong, info.name),
            TableCell::new(Ink::Plain, info.safety.name()),
            TableCell::dim(units::span(info.seconds)),
            TableCell::new(Ink::Plain, info.summary),
        ]);
    }
    let style = screen::uncut();
    let legend = [
        "reads: changes nothing   scratch: uses a scratch file, removed afterwards",
        "borrows: blocks are overwritten and restored   destroys: content is lost",
        "ssdyno methods NAME shows one in full.",
    ];
    let legend = legend.map(|line| {
        if line.len() > style.columns() { line.replace("   ", "\n") } else { line.to_string() }
    });
    format!("{}\n{}\n", table.render(&style), legend.join("\n"))
}

/// Width of the names of a method's facts.
const FACT: usize = 9;

fn in_full(info: &MethodInfo) -> String {
    let width = screen::style().width.min(90);
    let text = screen::wrap(info.about, width);
    let metrics: String = info.metrics().map(|metric| in_words(metric, width)).collect();
    format!(
        "{} - {}\n\n{text}\n\nsafety   {}\nwrites   {}\ntime     {}\n\n{}metrics\n{metrics}",
        info.name,
        info.summary,
        info.safety.name(),
        screen::wrap(info.writes, width.saturating_sub(FACT))
            .replace('\n', &format!("\n{:FACT$}", "")),
        units::span(info.seconds),
        options(info, width),
    )
}

/// The options that have an effect on a method; empty for other commands, which have their own
/// help.
fn options(info: &MethodInfo, width: usize) -> String {
    if work::method(info.name).is_err() {
        return String::new();
    }
    let common = info.common().map(|option| format!("--{} ", option.name())).collect::<String>();
    let common = format!("  {}\n", format!("{common}--seed").trim_end());
    let options = info.options.iter().filter_map(|option| {
        let text = match option.form() {
            Form::Switch => format!("--{}", option.name()),
            Form::Value(value) => format!("--{} {value}", option.name()),
            Form::Rest(value) => format!("-- {value}"),
            Form::Unwritten => return None,
        };
        Some(entry(&text, option.help(), width))
    });
    format!("options\n{common}{}\n", options.collect::<String>())
}

/// A metric with its unit, followed by the lines of its meaning.
fn in_words(metric: &MetricInfo, width: usize) -> String {
    entry(&format!("{}  ({})", metric.name, metric.unit.name()), metric.meaning, width)
}

/// An indented heading, followed by the lines of its meaning.
fn entry(heading: &str, meaning: &str, width: usize) -> String {
    const INDENT: &str = "\n      ";
    let lines = screen::wrap(meaning, width.saturating_sub(INDENT.len()));
    format!("  {heading}{INDENT}{}\n", lines.replace('\n', INDENT))
}

fn option_json(option: &&dyn Declared) -> Value {
    json!({ "name": option.name(), "help": option.help() })
}

fn metric_json(metric: &MetricInfo) -> Value {
    json!({ "name": metric.name, "unit": metric.unit, "meaning": metric.meaning })
}

fn json(methods: &[&MethodInfo]) -> Result<String> {
    let methods = methods.iter().map(|info| {
        json!({
            "name": info.name,
            "summary": info.summary,
            "about": info.about,
            "safety": info.safety,
            "seconds": info.seconds,
            "writes": info.writes,
            "options": info.options.iter().map(option_json).collect::<Vec<_>>(),
            "ignores": info.ignores.iter().map(|option| option.name()).collect::<Vec<_>>(),
            "metrics": info.metrics().map(metric_json).collect::<Vec<_>>(),
        })
    });
    present::json(&methods.collect::<Vec<_>>())
}
