//! `ssdyno image`: makes images for `run -m restore`.

use std::sync::atomic::Ordering;

use lab::image::make;
use workload::units::decimal;

use crate::cli::{ImageArgs, ImageCommand};
use crate::failure::Result;
use crate::{interrupt, live, present};

/// Makes an image.
pub fn run(args: &ImageArgs) -> Result {
    let ImageCommand::Make(args) = &args.command;
    let (interrupt, bar) = (interrupt::InterruptibleRun::begin(), live::bytes_bar());
    let limit = interrupt::OutputLimit::begin();
    let image = make(&args.source, &args.image, &mut |done, bytes| {
        bar.set_length(bytes);
        bar.set_position(done);
        !interrupt.flag().load(Ordering::Relaxed)
    });
    drop((limit, interrupt));
    bar.finish_and_clear();
    let image = image?;
    present::done(&if args.json {
        present::json(&image)?
    } else {
        format!(
            "{}: {} as {}, {} blocks\n",
            args.image.display(),
            decimal(image.bytes),
            decimal(image.image_bytes),
            image.blocks
        )
    })
}
