//! Runs every parser on a few thousand inputs derived from its examples, the same ones in every
//! run. `cargo xtask fuzz NAME --time 10m` continues from there.

mod targets;

#[test]
fn no_parser_panics() {
    fuzz::check(targets::TARGETS, 3_000, 8);
}
