//! docs/fio.md describes the parser. `SSDYNO_WRITE_DOCS=1 cargo test -p fio --test it docs`
//! regenerates it.

use std::path::Path;

#[test]
fn the_page_about_fio_matches_the_parser() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fio.md");
    let made = fio::markdown();
    if std::env::var_os("SSDYNO_WRITE_DOCS").is_some() {
        std::fs::write(&page, &made).expect("docs/fio.md written");
    }
    let there = std::fs::read_to_string(&page).unwrap_or_default();
    let advice = "run SSDYNO_WRITE_DOCS=1 cargo test -p fio --test it docs";
    assert!(there == made, "docs/fio.md differs from the parser's tables; {advice}");
}
