//! Fuzzes one parser of this crate: `cargo xtask fuzz NAME [--time 10m] [--seed N]`.

#[path = "../tests/it/fuzz/targets.rs"]
mod targets;

fn main() -> std::process::ExitCode {
    fuzz::main(targets::TARGETS)
}
