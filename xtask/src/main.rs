//! The project's own commands, as `cargo xtask CHORE`.
//!
//! Written in Rust rather than as shell scripts, so that they run wherever the project does and get
//! the same checks. One module per command; `test` installs the Debian packages that they use.

#![forbid(unsafe_code)]

mod bare;
mod bench;
mod binaries;
mod circles;
mod dist;
mod emulated;
mod fio_examples;
mod fio_source;
mod floors;
mod fuzz;
mod guest;
mod mutants;
mod names;
mod packages;
mod parts;
mod peers;
mod portable;
mod readme;
mod room;
mod run;
mod source;
mod supply;
mod test;
mod tidy;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask check    format, house rules, lints, tests of all rooms; installs nothing
cargo xtask test     all checks, also the guest and bare metal, as in CI; installs packages
                     --target aarch64|armv7: the rooms without drives, under qemu-user
cargo xtask tidy     only the house rules
cargo xtask guest    a Linux guest with NVMe, SATA, USB and SD drives: its tests, or a shell
cargo xtask bare     the NVMe driver on bare x86-64 and on a bare Cortex-A53, under QEMU
cargo xtask bench    the instrument's quality, compared with fio; results in benches/RESULTS.md
cargo xtask fuzz     a parser of untrusted text, for a given time: NAME [--time 10m] [--seed N]
                     [--seeds DIR]: more examples
cargo xtask mutants  whether a room's tests detect changed code: ROOM [--sample N] [--seed S]
cargo xtask names    figures of how the code names things, by room; ROOM: the places in it
cargo xtask peers    fio's own tests, from Debian's next release or a checkout, with ssdyno in fio's
                     place: [CHECKOUT] [--fio PROGRAM] [SCRIPT...]
cargo xtask readme   records the answers in README's table of questions again
cargo xtask portable whether the part without drives compiles for macOS and Windows: [--wine]
cargo xtask dist     static binary, tarball, .deb, container image and checksums, in target/dist:
                     [--target x86_64|aarch64|armv7|riscv64]... [--check] [--twice]
";

fn main() -> ExitCode {
    let chore = std::env::args().nth(1).unwrap_or_default();
    let result = match chore.as_str() {
        "test" => test::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "check" => test::check(),
        "tidy" => tidy::run(),
        "bench" => bench::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "fuzz" => fuzz::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "mutants" => mutants::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "names" => names::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "dist" => dist::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "portable" => portable::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "peers" => peers::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "readme" => readme::run(),
        "bare" => bare::run(),
        "guest" => guest::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "" | "help" | "-h" | "--help" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("xtask: unknown chore '{chore}'\n\n{HELP}");
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
