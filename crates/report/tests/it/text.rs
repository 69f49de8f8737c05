//! The forms for pasting, piping and loading: Markdown, CSV, JSON.

use crate::common;
use record::Run;

#[test]
fn markdown_is_fit_for_pasting() {
    insta::assert_snapshot!("quick-markdown", report::markdown(&common::quick()));
    insta::assert_snapshot!("unknown-markdown", report::markdown(&common::unknown()));
}

#[test]
fn markdown_reveals_no_serial_number_or_path() {
    let text = report::markdown(&common::quick());
    for private in ["S6Z1NJ0W", "bench", "/home"] {
        assert!(!text.contains(private), "{private}");
    }
}

#[test]
fn csv_has_a_row_for_each_metric() {
    let run = common::quick();
    let text = report::csv(&run);
    assert_eq!(text.lines().count(), 1 + run.metrics.len());
    insta::assert_snapshot!("quick-csv", text);
}

#[test]
fn csv_of_series_has_a_row_for_each_known_value() {
    let run = common::quick();
    let text = report::csv_series(&run);
    let columns = run.series.iter().flat_map(|s| &s.columns);
    let known: usize = columns.map(|c| c.values.iter().flatten().count()).sum();
    assert_eq!(text.lines().count(), 1 + known);
    let head: String = text.lines().take(12).map(|line| line.to_string() + "\n").collect();
    insta::assert_snapshot!("quick-series-csv-head", head);
}

#[test]
fn json_is_the_record() {
    let runs = [
        common::quick(),
        common::io(),
        common::cut_short(),
        common::empty(),
        common::unknown(),
        common::hostile(),
    ];
    for run in runs {
        for pretty in [false, true] {
            let text = report::json(&run, pretty).expect("plain data");
            let back: Run = serde_json::from_str(&text).expect("own text");
            assert_eq!(back, run);
            assert_eq!(text.lines().count() == 1, !pretty);
        }
    }
}

#[test]
fn a_record_from_elsewhere_says_so_first_and_invents_nothing() {
    let text = report::terminal(&common::imported(), &report::Style::PLAIN);
    let title = text.split("\n\n").next().unwrap_or_default();
    assert!(title.contains("imported: not measured by ssdyno"), "{text}");
    assert!(title.contains("start unknown"), "{text}");
    for line in ["from     fio 3.33  out.txt  line 3", "drive    unknown", "host     unknown"] {
        assert!(text.lines().any(|l| l == line), "{line}: {text}");
    }
    let markdown = report::markdown(&common::imported());
    assert!(markdown.contains("imported: not measured") && markdown.contains("**From** fio 3"));
    let page = report::html(&common::imported()).expect("plain data");
    assert!(page.contains("imported: not measured by ssdyno") && !page.contains(">Plan<"));
}

#[test]
fn the_answer_comes_first_on_every_surface() {
    let run = common::answered();
    let headline = run.answer.as_ref().map(|answer| answer.headline.clone()).expect("an answer");
    let style = report::Style { colour: false, width: 100, unicode: true };
    let before = |text: &str, later: &str| {
        let (at, later) = (text.find(&headline), text.find(later));
        assert!(at.is_some() && later.is_some() && at < later, "{text}");
    };
    before(&report::terminal(&run, &style), "seq 1 MiB q8");
    before(&report::markdown(&run), "seq 1 MiB q8");
    let page = report::html(&run).expect("plain data");
    let order = [
        headline.as_str(),
        "reservations: the processor may run slowly",
        "Sequential reads",
        "class=\"facts\"",
    ];
    let places = order.map(|part| page.find(&format!(">{part}")).or_else(|| page.find(part)));
    assert!(places.is_sorted() && places[0].is_some(), "{places:?}");
    // The tiles are those of the answer: one.
    let tiles = page.split_once("class=\"tiles\"").expect("tiles").1.split("</ul>").next();
    assert_eq!(tiles.map(|tiles| tiles.matches("<li>").count()), Some(1));
    assert!(report::terminal(&run, &style).contains("with reservations: the processor may run"));
}
