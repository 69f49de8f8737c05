//! `ssdyno drives`: shows the virtual drives, and the source of every figure.

use std::process::ExitCode;

use lab::drives::{self, FigureLine, VirtualDrive};
use report::table::{Align, Cell, Table};
use report::{Ink, Style};
use serde_json::json;
use workload::units;

use crate::cli::{DrivesArgs, DrivesCommand};
use crate::failure::Result;
use crate::{present, screen};

/// Lists the presets, or shows one drive in full.
pub fn run(args: &DrivesArgs) -> Result {
    let style = screen::style();
    let text = match &args.what {
        None => list(args.json, &style)?,
        Some(DrivesCommand::Fit(args)) => return super::fit::run(args),
        Some(DrivesCommand::Show { name, json }) => show(name, *json || args.json, &style)?,
    };
    present::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn list(as_json: bool, style: &Style) -> Result<String> {
    let drives = drives::presets()?;
    if as_json {
        let list: Vec<_> = drives
            .iter()
            .map(|d| {
                json!({
                    "name": d.name,
                    "model": d.model,
                    "bytes": d.bytes,
                    "link": d.links,
                    "about": d.about,
                })
            })
            .collect();
        return present::json(&list);
    }
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left, Align::Left]);
    table.heading(["virtual drive", "size", "link", "description"]);
    for drive in &drives {
        table.row([
            Cell::new(Ink::Strong, drive.name.as_str()),
            Cell::dim(units::decimal(drive.bytes)),
            Cell::dim(drive.links.join(" + ")),
            Cell::from(screen::wrap(&drive.about, usize::MAX)),
        ]);
    }
    let legend = "\nssdyno run sim:NAME measures one in virtual time;\n\
                  ssdyno drives show NAME lists every figure with its source.\n";
    Ok(table.render(style) + legend)
}

fn show(name: &str, as_json: bool, style: &Style) -> Result<String> {
    let VirtualDrive { name, model, about, links, figures, .. } = drives::named(name)?;
    if as_json {
        let all = json!({
            "name": name,
            "model": model,
            "about": about,
            "link": links,
            "figures": figures,
        });
        return present::json(&all);
    }
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left, Align::Left]);
    table.heading(["figure", "value", "from", "source"]);
    figures.iter().for_each(|figure| table.row(row(figure)));
    let title = style.paint(Ink::Strong, &format!("{name}   {model}"));
    let about = screen::wrap(&about, style.width.min(90));
    Ok(format!("{title}\n{about}\n\n{}", table.render(style)))
}

fn row(figure: &FigureLine) -> [Cell; 4] {
    let ink = match figure.from.as_str() {
        "published" => Ink::Good,
        "fitted" | "given" => Ink::Plain,
        _ => Ink::Dim,
    };
    [
        Cell::from(figure.key.as_str()),
        Cell::new(Ink::Strong, figure.value.as_str()),
        Cell::new(ink, figure.from.as_str()),
        Cell::dim(figure.source.as_str()),
    ]
}
