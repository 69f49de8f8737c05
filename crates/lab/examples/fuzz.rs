//! Fuzzes one parser of any room: `cargo xtask fuzz NAME [--time 10m] [--seed N] [--seeds DIR]`.
//!
//! One program for all, because `lab` is above every room that parses text, so it is linked once.

#[path = "../../compat/tests/it/fuzz/targets.rs"]
mod compat_targets;
#[path = "../../drive/tests/it/fuzz/targets.rs"]
mod drive_targets;
#[path = "../../fio/tests/it/fuzz/targets.rs"]
mod fio_targets;
#[path = "../../journal/tests/it/fuzz/targets.rs"]
mod journal_targets;
#[path = "../tests/it/fuzz/targets.rs"]
mod lab_targets;
#[path = "../../methods/tests/it/fuzz/targets.rs"]
mod methods_targets;
#[path = "../../model/tests/it/fuzz/targets.rs"]
mod model_targets;
#[path = "../../report/tests/it/fuzz/targets.rs"]
mod report_targets;

fn main() -> std::process::ExitCode {
    let targets = [
        compat_targets::TARGETS,
        drive_targets::TARGETS,
        fio_targets::TARGETS,
        journal_targets::TARGETS,
        lab_targets::TARGETS,
        methods_targets::TARGETS,
        model_targets::TARGETS,
        report_targets::TARGETS,
    ];
    fuzz::main(&targets.concat())
}
