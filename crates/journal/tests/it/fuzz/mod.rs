//! Tests every parser with a few thousand inputs made from its examples, the same ones in every
//! run. `cargo xtask fuzz NAME --time 10m` continues from there.

mod targets;

#[test]
fn no_parser_panics() {
    fuzz::check(targets::TARGETS, 3_000, 5);
}
