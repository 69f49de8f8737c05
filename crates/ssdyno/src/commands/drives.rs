//! `ssdyno drives`: shows the virtual drives, and the source of every figure.

use lab::drives::{self, ErrorBand, FigureLine, VirtualDrive};
use report::table::{Align, Table, TableCell};
use report::{Ink, Style};
use serde_json::json;
use workload::units;

use crate::cli::{DrivesArgs, DrivesCommand};
use crate::failure::Result;
use crate::{present, screen};

/// Lists the presets, or shows one drive in full.
pub fn run(args: &DrivesArgs) -> Result {
    let style = screen::uncut();
    let text = match &args.what {
        None => list(args, &style)?,
        Some(DrivesCommand::Fit(args)) => return super::fit::run(args),
        Some(DrivesCommand::Check(args)) => return super::check::run(args),
        Some(DrivesCommand::Make(args)) => return super::make::run(args),
        Some(DrivesCommand::Show { name, json }) => show(name, *json || args.json, &style)?,
    };
    present::done(&text)
}

fn list(args: &DrivesArgs, style: &Style) -> Result<String> {
    let drives = drives::presets()?;
    if args.json {
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
    // A pipe gets a line per drive.
    let text = if style.width == usize::MAX {
        lines(drives, style)
    } else if args.verbose {
        descriptions(drives, style)
    } else {
        names(drives, style)
    };
    let legend: String =
        LEGEND.map(|line| format!("{}\n", screen::wrap(line, style.width))).concat();
    Ok(format!("{text}\n{legend}"))
}

/// What can be done with the drives.
const LEGEND: [&str; 3] = [
    "ssdyno run sim:NAME measures one; sim:NAME?state=used starts with a used drive",
    "ssdyno drives -v describes them all; drives show NAME: figures and sources",
    "ssdyno replicate lists the documents named in the descriptions",
];

/// Kinds of drives, by the first word of their own link.
const KINDS: [(&str, &[&str]); 4] = [
    ("NVMe", &["pcie"]),
    ("SATA", &["sata"]),
    ("USB sticks and bridges", &["usb"]),
    ("cards and eMMC", &["sd", "mmc", "emmc"]),
];

fn kind(drive: &VirtualDrive) -> &'static str {
    let link = drive.links.last().map_or("", String::as_str);
    let word = link.split('-').next().unwrap_or(link);
    KINDS.iter().find(|(_, words)| words.contains(&word)).map_or("other", |(kind, _)| kind)
}

/// The names in columns, by kind.
fn names(drives: &[VirtualDrive], style: &Style) -> String {
    let widest = drives.iter().map(|drive| drive.name.chars().count()).max().unwrap_or(0);
    let columns = (style.columns() / (widest + 2)).max(1);
    let mut text = String::new();
    for heading in KINDS.iter().map(|(kind, _)| *kind).chain(["other"]) {
        let names: Vec<&str> =
            drives.iter().filter(|d| kind(d) == heading).map(|d| d.name.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        text += &format!("{}\n", style.paint(Ink::Dim, heading));
        let height = names.len().div_ceil(columns);
        for row in 0..height {
            let row = names.iter().skip(row).step_by(height);
            let row: String = row.map(|name| format!("  {name:widest$}")).collect();
            text += &format!("{}\n", style.paint(Ink::Strong, row.trim_end()));
        }
    }
    text
}

/// Each drive with its description below it.
fn descriptions(drives: &[VirtualDrive], style: &Style) -> String {
    const INDENT: &str = "\n    ";
    let entries = drives.iter().map(|drive| {
        let name = style.paint(Ink::Strong, &drive.name);
        let (size, link) = (units::decimal(drive.bytes), drive.links.join(" + "));
        let text = screen::wrap(&drive.about, style.columns().saturating_sub(INDENT.len()));
        format!("{name}  {size}  {link}{INDENT}{}\n", text.replace('\n', INDENT))
    });
    entries.collect()
}

/// A line per drive, for programs.
fn lines(drives: &[VirtualDrive], style: &Style) -> String {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left, Align::Left]);
    table.heading(["virtual drive", "size", "link", "description"]);
    for drive in drives {
        table.row([
            TableCell::new(Ink::Strong, drive.name.as_str()),
            TableCell::dim(units::decimal(drive.bytes)),
            TableCell::dim(drive.links.join(" + ")),
            TableCell::from(screen::wrap(&drive.about, usize::MAX)),
        ]);
    }
    table.render(style)
}

fn show(name: &str, as_json: bool, style: &Style) -> Result<String> {
    let VirtualDrive { name, model, class, about, links, figures, .. } = drives::named(name)?;
    let bands = drives::error_bands();
    if as_json {
        return present::json(&json!({
            "name": name,
            "model": model,
            "class": class,
            "about": about,
            "link": links,
            "figures": figures,
            "error_bands": bands.iter().map(band_as_json).collect::<Vec<_>>(),
        }));
    }
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left, Align::Left]).wrapping();
    table.heading(["figure", "value", "from", "source"]);
    figures.iter().for_each(|figure| table.row(row(figure)));
    let title = style.paint(Ink::Strong, &format!("{name}   {model}"));
    let text = screen::wrap(&about, style.width.min(90));
    let origins = screen::wrap(&origins(&class, &figures), style.width.min(90));
    let bands = bands_table(&bands, style);
    Ok(format!("{title}\n{text}\n\n{origins}\n\n{}\n{bands}", table.render(style)))
}

/// Where the parameters come from, the best known first: `of 98 parameters: 12 published, 86 guessed`.
fn origins(class: &str, figures: &[FigureLine]) -> String {
    let counts = ORIGINS.iter().filter_map(|(from, words)| {
        let count = figures.iter().filter(|figure| figure.from == *from).count();
        (count > 0).then(|| format!("{count} {words}"))
    });
    let counts: Vec<String> = counts.collect();
    let counts = counts.join(", ").replace(OF_CLASS, &format!("of class {class}"));
    format!("of {} parameters: {counts}", figures.len())
}

/// What is said of parameters of a class.
const OF_CLASS: &str = "of its class";

/// The origins of parameters, the best known first, and what is said of them.
const ORIGINS: [(&str, &str); 6] = [
    ("given", "given by the user"),
    ("published", "published"),
    ("sheet", "from a sheet"),
    ("fitted", "fitted to measurements"),
    ("class", OF_CLASS),
    ("guessed", "guessed"),
];

/// How far predictions are from published figures that nothing was fitted to.
fn bands_table(bands: &[ErrorBand], style: &Style) -> String {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right]);
    table.heading(["predicted", "usually within", "9 of 10 within", "figures"]);
    for band in bands {
        table.row([
            TableCell::from(band.kind.as_str()),
            TableCell::new(Ink::Strong, within(band.half_within)),
            TableCell::from(within(band.most_within)),
            TableCell::dim(band.rows.to_string()),
        ]);
    }
    let line = "How far virtual drives are from published figures that nothing was fitted to, by kind of figure: \
                half of them are within the first column.";
    format!("{}\n{}", screen::wrap(line, style.width.min(90)), table.render(style))
}

/// A factor in words: a percentage as far as it is one that reads well.
fn within(factor: f64) -> String {
    if factor < 2.0 {
        format!("{:.0}%", 100.0 * (factor - 1.0))
    } else {
        format!("a factor of {factor:.1}")
    }
}

fn band_as_json(band: &ErrorBand) -> serde_json::Value {
    json!({
        "kind": band.kind,
        "published_figures": band.rows,
        "half_within_factor": band.half_within,
        "nine_of_ten_within_factor": band.most_within,
    })
}

fn row(figure: &FigureLine) -> [TableCell; 4] {
    let ink = match figure.from.as_str() {
        "published" | "sheet" => Ink::Good,
        "fitted" | "given" => Ink::Plain,
        _ => Ink::Dim,
    };
    [
        TableCell::from(figure.key.as_str()),
        TableCell::new(Ink::Strong, figure.value.as_str()),
        TableCell::new(ink, figure.from.as_str()),
        TableCell::dim(figure.source.as_str()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_of_every_preset_has_an_origin_that_is_counted() {
        for drive in drives::presets().expect("well formed") {
            let said = origins(&drive.class, &drive.figures);
            let counted: usize =
                said.split([' ', ',']).filter_map(|w| w.parse::<usize>().ok()).sum();
            assert_eq!(counted, 2 * drive.figures.len(), "{}: {said}", drive.name);
        }
    }

    #[test]
    fn the_class_stands_beside_its_parameters() {
        let line = |from: &str| FigureLine {
            key: "op".into(),
            value: "1".into(),
            from: from.into(),
            source: String::new(),
        };
        let figures = ["class", "published", "class", "guessed"].map(line);
        assert_eq!(
            origins("pcie4-8ch", &figures),
            "of 4 parameters: 1 published, 2 of class pcie4-8ch, 1 guessed"
        );
    }
}
