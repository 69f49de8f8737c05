//! Every parser with a few thousand inputs made from its examples, the same ones in every run.
//! `cargo xtask fuzz NAME --time 10m` goes on from there.

use compat::fuzz::Mutator;
use fio::FUZZED;

#[test]
fn no_parser_panics() {
    for target in FUZZED {
        for example in target.corpus {
            (target.run)(example.as_bytes());
        }
        let mut mutator = Mutator::new(target, 7);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..3_000 {
            let input = mutator.next_input();
            let outcome = std::panic::catch_unwind(|| (target.run)(&input));
            let Ok(outcome) = outcome else {
                panic!("{}: panics on {:?}", target.name, String::from_utf8_lossy(&input));
            };
            if seen.insert(outcome) {
                mutator.keep(&input);
            }
        }
        assert!(seen.len() > 20, "{}: only {} kinds of outcome", target.name, seen.len());
    }
}
