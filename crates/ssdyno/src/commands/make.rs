//! `ssdyno drives make`: describes a virtual drive from a data sheet and a class.

use std::io::Write;

use lab::fit::HEAD;
use lab::sheet::{Sheet, SheetDrive};
use report::table::{Align, Table, TableCell};
use report::{Ink, Style};
use serde_json::json;

use crate::cli::MakeArgs;
use crate::failure::{Failure, Result};
use crate::{present, screen};

/// Makes a description, and says what of it rests on the sheet.
pub fn run(args: &MakeArgs) -> Result {
    let file = args.from.display().to_string();
    let drive = Sheet::read(&args.from)?.drive(&file, &args.name)?;
    if let Some(path) = &args.output {
        // The file begins like one of a fit: both may be replaced.
        let file = emit::Replacement::renew(path, HEAD.as_bytes());
        file.and_then(|mut file| {
            file.write_all(drive.toml.as_bytes())?;
            file.finish()
        })
        .map_err(|e| Failure::cannot_write(path, &e))?;
    }
    present::done(&if args.json {
        present::json(&json!({
            "sheet": drive.decided,
            "class": drive.of_class,
            "guessed": drive.guessed,
            "missing": drive.missing,
            "toml": drive.toml,
        }))?
    } else {
        as_text(&drive, args, &screen::style())
    })
}

fn as_text(drive: &SheetDrive, args: &MakeArgs, style: &Style) -> String {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    table.heading(["figure", "value", "from the sheet"]);
    for figure in &drive.decided {
        table.row([
            TableCell::from(figure.key.as_str()),
            TableCell::new(Ink::Strong, figure.value.as_str()),
            TableCell::dim(figure.source.as_str()),
        ]);
    }
    let mut text = format!("{}\n", table.render(style));
    let line = format!("of the class: {}", drive.of_class.join(", "));
    text += &format!("{}\n", screen::wrap(&line, style.width.min(90)));
    let line = format!("guessed, as for any drive: {} more parameters", drive.guessed.len());
    text += &format!("{}\n", screen::wrap(&line, style.width.min(90)));
    if !drive.missing.is_empty() {
        let line = format!("the sheet could also have: {}", drive.missing.join(", "));
        text += &format!("{}\n", screen::wrap(&line, style.width.min(90)));
    }
    text + &match &args.output {
        Some(path) => format!("\nwritten to {0}     ssdyno run sim:{0}\n", path.display()),
        None => "\nnothing written: -o FILE.toml writes the description\n".to_string(),
    }
}
