//! Tests the parser with a few hundred inputs made from its examples, the same ones in every run.
//! `cargo xtask fuzz NAME --time 10m` continues from there.

mod targets;

#[test]
fn no_parser_panics() {
    fuzz::check(targets::TARGETS, 500, 3);
}
