//! `ssdyno image`: makes images for `run -m restore`.

use std::process::ExitCode;

use lab::image::make;
use workload::units::decimal;

use crate::cli::{ImageArgs, ImageCommand};
use crate::failure::Result;
use crate::present;

/// Makes an image.
pub fn run(args: &ImageArgs) -> Result {
    let ImageCommand::Make(args) = &args.command;
    let made = make(&args.source, &args.image)?;
    present::print(&match args.json {
        true => present::json(&made)?,
        false => format!(
            "{}: {} as {}, {} blocks\n",
            args.image.display(),
            decimal(made.bytes),
            decimal(made.image_bytes),
            made.blocks
        ),
    })?;
    Ok(ExitCode::SUCCESS)
}
