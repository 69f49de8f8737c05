//! Measures the time to plan each method, from the request to the plan, as for `--dry-run`. Prints
//! a table; fails if a plan exceeds the goal. Run it with `--release`.

use std::process::ExitCode;
use std::time::Instant;

use lab::{Options, Request, Work};

/// A card, a large drive and the current directory.
const TARGETS: [&str; 3] = ["sim:sd-150x", "sim:samsung-980-pro-2t", "."];

/// Maximum time of a plan, milliseconds.
const MS_MAX: f64 = 20.0;

/// Repeats of every plan. The median counts, because other load only makes it slower.
const REPEATS: usize = 11;

fn main() -> ExitCode {
    println!("Time to plan a method: median of {REPEATS}, ms (goal: at most {MS_MAX:.0} each).\n");
    println!("| method | {} |", TARGETS.map(|target| format!("`{target}`")).join(" | "));
    println!("|---{}|", "|---".repeat(TARGETS.len()));
    let mut missed = 0;
    for method in lab::work::methods() {
        let cells = TARGETS.map(|target| match milliseconds(method.name, target) {
            Some(ms) if ms > MS_MAX => {
                missed += 1;
                format!("{ms:.2} MISSED")
            }
            Some(ms) => format!("{ms:.2}"),
            None => "refused".to_string(),
        });
        println!("| {} | {} |", method.name, cells.join(" | "));
    }
    println!("\n{missed} plans miss the goal.");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The median time of a plan; `None` if the target is refused.
fn milliseconds(method: &str, target: &str) -> Option<f64> {
    let (options, request) = (Options::default(), Request::on(target));
    let work = Work::method(method, &options).ok()?;
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let begun = Instant::now();
        request.plan(&work).ok()?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    times.get(REPEATS / 2).copied()
}
