//! The project's own commands, as `cargo xtask CHORE`.
//!
//! Rust rather than shell scripts, so that they run wherever the project does and are checked like
//! it. One file per command; none needs anything installed by hand.

#![forbid(unsafe_code)]

mod bare;
mod bench;
mod circles;
mod dist;
mod fio_examples;
mod floors;
mod fuzz;
mod guest;
mod mutants;
mod packages;
mod parts;
mod readme;
mod run;
mod source;
mod test;
mod tidy;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask test     everything that must hold: format, lints, house rules, tests; what CI runs
cargo xtask tidy     the house rules alone
cargo xtask guest    a Linux guest with NVMe, SATA, USB and SD drives: its tests, or a shell
cargo xtask bare     the NVMe driver on bare x86-64 and on a bare Cortex-A53, under QEMU
cargo xtask bench    how good the instrument is, against fio; into benches/RESULTS.md
cargo xtask fuzz     a parser of text that others wrote, for a given time: NAME [--time 10m] [--seed N]
cargo xtask mutants  do the tests of a room notice changed code: ROOM [--sample N] [--seed S]
cargo xtask readme   the answers in README's table of questions, recorded anew
cargo xtask dist     a static binary, manual pages, completions and a .deb, in target/dist
";

fn main() -> ExitCode {
    let chore = std::env::args().nth(1).unwrap_or_default();
    let result = match chore.as_str() {
        "test" => test::run(),
        "tidy" => tidy::run(),
        "bench" => bench::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "fuzz" => fuzz::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "mutants" => mutants::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "dist" => dist::run(),
        "readme" => readme::run(),
        "bare" => bare::run(),
        "guest" => guest::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "" | "help" | "-h" | "--help" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("xtask: no chore '{chore}'\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
