//! Outputs of real tools, as people paste them: the same figures or a refusal, never others.
//! `cargo xtask bench import-against` runs the tools anew, with drawn options.

mod check;
mod disturb;

use check::Tally;

/// Disturbances of every recorded output, with several seeds.
#[test]
fn a_paste_has_the_figures_of_the_output_or_is_refused() {
    let mut tally = Tally::default();
    for dir in ["tests/import", "tests/outputs"] {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
        let mut files: Vec<_> =
            std::fs::read_dir(dir).expect("samples").map(|f| f.expect("a file").path()).collect();
        files.sort();
        for file in files.iter().filter(|file| !file.ends_with("export.jsonl")) {
            let bytes = std::fs::read(file).expect("a sample");
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            for seed in 0..3 {
                tally.check(&format!("{name}, seed {seed}"), &bytes, seed);
            }
        }
    }
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    assert!(tally.empty.is_empty(), "{}", tally.empty.join("\n"));
    assert_eq!(tally.read, tally.outputs, "{}", tally.reasons.join("\n"));
    assert!(tally.compared > 0, "no output in several formats");
    // A paste is rarely refused.
    let shown = tally.reasons.join("\n");
    assert!(tally.refused * 10 <= tally.disturbed, "{} refused:\n{shown}", tally.refused);
}
