//! Runs an iozone command line as work on a target.
//!
//! The file given with `-f` only names the location: the run uses a scratch file in the same
//! directory. With `-w`, that file has the given name and stays; if it exists, it is the target and
//! is only read unless `--destroy` permits more. Devices and virtual drives are targets themselves.

use std::borrow::Cow;
use std::path::Path;

use compat::iozone::IozoneCommand;
use engine::BackendKind;
use methods::{IOZONE, IOZONE_LATENCIES};
use script::Options;

use crate::error::Result;
use crate::request::{Instrument, NULL, NULL_NVME, TargetRequest};
use crate::virtual_drive;
use crate::work::Work;

/// Name of the file that stays, if none is given.
const DEFAULT_NAME: &str = "iozone.tmp";

/// Minimum size of a scratch file.
const BYTES_MIN: u64 = 4 << 20;

/// The work of a command line. `legacy` limits it to iozone's own figures.
pub fn work(command: &IozoneCommand, legacy: bool) -> Result<Work<'static>> {
    let mut run = command.run.clone();
    run.honest = !legacy;
    let mut flags = run.flags();
    let options = Options::default().with(&IOZONE, Some(run));
    let options = options.with(&IOZONE_LATENCIES, command.latencies.clone());
    flags.extend(command.mapped.then(|| ("B".to_string(), String::new())));
    Ok(Work::of_method("iozone", Cow::Owned(options))?.with_options(flags))
}

/// How a command line is measured: `-B` maps the file into memory. A virtual drive has no mappings.
pub fn instrument(command: &IozoneCommand) -> Instrument {
    let is_mapped = command.mapped && !target(command, None).is_simulated();
    Instrument { backend: is_mapped.then_some(BackendKind::Mmap), ..Instrument::default() }
}

/// The target of a command line. `destroy` is the confirmation that allows overwriting it.
pub fn target(command: &IozoneCommand, destroy: Option<String>) -> TargetRequest {
    let path = command.keep.then(|| Path::new(command.file.as_deref().unwrap_or(DEFAULT_NAME)));
    if let Some(file) = path.filter(|file| file.is_file()) {
        return TargetRequest {
            spec: file.display().to_string(),
            destroy,
            ..TargetRequest::default()
        };
    }
    let spec = place(command.file.as_deref());
    let directory = Path::new(&spec).is_dir();
    let size = directory.then(|| command.run.file_bytes_max().max(BYTES_MIN));
    let keep = path.filter(|_| directory).map(Path::to_path_buf);
    TargetRequest { spec, size, destroy, keep, ..TargetRequest::default() }
}

/// The directory of the file given with `-f`, or the target itself.
fn place(file: Option<&str>) -> String {
    let Some(file) = file else { return ".".into() };
    let path = Path::new(file);
    let null = [NULL, NULL_NVME].contains(&file);
    let itself = file.starts_with(virtual_drive::PREFIX) || null || path.is_dir();
    if itself || path.exists() && !path.is_file() {
        return file.to_string();
    }
    emit::directory_of(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_names_a_location_and_is_not_touched() {
        assert_eq!(place(None), ".");
        assert_eq!(place(Some("iozone.tmp")), ".");
        assert_eq!(place(Some("/no/such/place/iozone.tmp")), "/no/such/place");
        assert_eq!(place(Some("/")), "/");
        assert_eq!(place(Some("/dev/null")), "/dev/null");
        assert_eq!(place(Some("sim:qlc-1t")), "sim:qlc-1t");
    }
}
