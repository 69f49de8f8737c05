//! Fuzz target of this crate: untrusted records, rendered in every output format.

use emit::controls_display;
use fuzz::{FuzzTarget, outcome};
use record::Document;
use report::Style;

/// Every fuzz target of this crate.
pub const TARGETS: &[FuzzTarget] = &[RECORD];

/// Records as JSON.
const RECORD: FuzzTarget = FuzzTarget { name: "record", run: record, corpus: RECORDS };

fn record(input: &[u8]) -> u64 {
    let document = match Document::parse(&String::from_utf8_lossy(input)) {
        Ok(document) => document,
        Err(error) => return outcome(&error.to_string()),
    };
    let hash = document.hash().map(|hash| hash.to_string());
    let again = document.text().and_then(|text| Document::parse(&text)).and_then(|d| d.hash());
    assert_eq!(
        hash.ok(),
        again.map(|hash| hash.to_string()).ok(),
        "a record changes when written and parsed again"
    );
    let run = document.run();
    let clean = |text: &str| {
        let found = text.chars().find(|c| !matches!(c, '\n' | '\t') && controls_display(*c));
        assert_eq!(found, None, "a control character");
    };
    clean(&emit::screen(&report::terminal(run, &Style::PLAIN)));
    clean(&report::markdown(run));
    clean(&report::csv(run));
    clean(&report::csv_series(run));
    match report::html(run) {
        Ok(page) => clean(&page),
        Err(error) => return outcome(&error.to_string()),
    }
    1 + run.metrics.len().min(3) as u64 + 10 * run.series.len().min(3) as u64
}

const RECORDS: &[&str] = &[include_str!("record.json")];
