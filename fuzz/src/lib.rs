//! Coverage-guided fuzz targets: those of the rooms, which their tests also run, and targets with
//! raw bytes for the binary parsers, where the fuzzer needs no text to mutate.
//!
//! [`fuzz!`] makes a program of a target; `targets/` has one file for each.

#![forbid(unsafe_code)]

mod raw;

pub use fuzz::FuzzTarget;
pub use libfuzzer_sys;

#[path = "../../crates/compat/tests/it/fuzz/targets.rs"]
mod compat_targets;
#[path = "../../crates/drive/tests/it/fuzz/targets.rs"]
mod drive_targets;
#[path = "../../crates/fio/tests/it/fuzz/targets.rs"]
mod fio_targets;
#[path = "../../crates/methods/tests/it/fuzz/targets.rs"]
mod methods_targets;
#[path = "../../crates/model/tests/it/fuzz/targets.rs"]
mod model_targets;
#[path = "../../crates/report/tests/it/fuzz/targets.rs"]
mod report_targets;

/// All targets.
pub fn all() -> impl Iterator<Item = &'static FuzzTarget> {
    let rooms = [
        compat_targets::TARGETS,
        drive_targets::TARGETS,
        fio_targets::TARGETS,
        methods_targets::TARGETS,
        model_targets::TARGETS,
        report_targets::TARGETS,
    ];
    rooms.into_iter().chain([raw::TARGETS]).flatten()
}

/// Runs a target on an input.
///
/// # Panics
/// If the target does, or if there is none of this name.
pub fn run(name: &str, input: &[u8]) {
    let target = all().find(|target| target.name == name);
    (target.expect("a target of this name").run)(input);
}

/// The program that fuzzes a target.
#[macro_export]
macro_rules! fuzz {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|input: &[u8]| $crate::run($name, input));
    };
}
