//! Runs every parser with a few thousand inputs derived from its examples, the same ones in every
//! run. `cargo xtask fuzz NAME --time 10m` continues from there.

mod targets;

#[test]
fn no_parser_panics() {
    fuzz::check(targets::TARGETS, 2_000, 5);
}
