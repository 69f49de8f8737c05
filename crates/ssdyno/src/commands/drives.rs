//! `ssdyno drives`: the virtual drives, and where their figures come from.

use std::process::ExitCode;

use model::{DriveSpec, FigureLine};
use report::table::{Align, Cell, Table};
use report::{Ink, Style};
use serde_json::json;
use workload::units;

use crate::cli::{DrivesArgs, DrivesCommand};
use crate::failure::{Failure, Result, USAGE};
use crate::virtual_drive::{PREFIX, described};
use crate::{present, screen};

/// Lists the presets, or tells all about one drive.
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
    let drives =
        DriveSpec::presets().map(DriveSpec::preset).collect::<std::result::Result<Vec<_>, _>>();
    let drives = drives.map_err(|e| Failure::new(USAGE, e))?;
    if as_json {
        let list: Vec<_> = drives
            .iter()
            .map(|d| {
                json!({
                    "name": d.name,
                    "model": d.model,
                    "bytes": d.capacity.0,
                    "link": links(d),
                    "about": d.about,
                })
            })
            .collect();
        return present::json(&list);
    }
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left, Align::Left]);
    table.heading(["virtual drive", "size", "behind", "what it is"]);
    for drive in &drives {
        table.row([
            Cell::new(Ink::Strong, drive.name.as_str()),
            Cell::dim(units::decimal(drive.capacity.0)),
            Cell::dim(links(drive).join(" + ")),
            Cell::from(screen::wrap(&drive.about, usize::MAX)),
        ]);
    }
    let legend = "\nssdyno run sim:NAME puts one on the dynamometer, in virtual time;\n\
                  ssdyno drives show NAME tells every figure and where it comes from.\n";
    Ok(table.render(style) + legend)
}

fn links(drive: &DriveSpec) -> Vec<String> {
    drive.link.iter().map(|link| link.bus.value.clone()).collect()
}

fn show(name: &str, as_json: bool, style: &Style) -> Result<String> {
    let spec = if name.starts_with(PREFIX) { name.to_string() } else { format!("{PREFIX}{name}") };
    let Some(drive) = described(&spec) else {
        return Err(Failure::new(USAGE, format!("{name} is no virtual drive")));
    };
    let drive = drive?;
    let figures = drive.figures();
    if as_json {
        let all = json!({
            "name": drive.name,
            "model": drive.model,
            "about": drive.about,
            "link": links(&drive),
            "figures": figures,
        });
        return present::json(&all);
    }
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left, Align::Left]);
    table.heading(["figure", "value", "from", "source"]);
    figures.iter().for_each(|figure| table.row(row(figure)));
    let title = style.paint(Ink::Strong, &format!("{}   {}", drive.name, drive.model));
    let about = screen::wrap(&drive.about, style.width.min(90));
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
