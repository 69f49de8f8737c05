//! The torture test of `tests/it/faults.rs` for a given number of commands: `torture 1000000 [SEED]`.
//! The additional argument `dozing` enables shadow doorbells and a controller that dozes. Prints
//! one line of JSON, which `cargo xtask bench nvme` reads.

#[path = "../tests/it/torture/mod.rs"]
mod torture;

use std::process::ExitCode;
use std::time::Instant;

use controller::{Faults, Setup};
use torture::Plan;

fn main() -> ExitCode {
    let words: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let commands = words.first().copied().unwrap_or(1_000_000);
    let seed = words.get(1).copied().unwrap_or(1);
    let dozes = std::env::args().any(|word| word == "dozing");
    let timeout_ns = 2_000_000;
    let begin = Instant::now();
    let outcome = torture::run(Plan {
        setup: Setup {
            seed,
            faults: Faults::all(3 * timeout_ns),
            transfer_max: 5,
            dozes,
            ..Setup::default()
        },
        commands,
        queues: 2,
        slots: 16,
        request_bytes: 512 << 10,
        shadow: dozes,
        timeout_ns,
    });
    let lost = outcome.pushed - outcome.ended;
    println!(
        "{{\"commands\":{},\"requests\":{},\"failed\":{},\"lost\":{lost},\"corrupt\":{},\"hung\":{},\
         \"violations\":{},\"strays\":{},\"overdue\":{},\"resets\":{},\"doorbells\":{},\"faults\":{:?},\"seconds\":{:.1}}}",
        outcome.commands,
        outcome.pushed,
        outcome.failed,
        outcome.corrupt,
        outcome.hung,
        outcome.violations,
        outcome.strays,
        outcome.overdue,
        outcome.resets,
        outcome.doorbells,
        outcome.faults,
        begin.elapsed().as_secs_f64(),
    );
    let sound = lost == 0 && outcome.corrupt == 0 && !outcome.hung && outcome.violations == 0;
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
