//! Screens as users see them, at typical widths. The snapshots are the specification.

use crate::common;
use record::{Finding, FindingKind, Level, VerdictKind};
use report::{Style, terminal};

const NARROW: Style = Style { colour: false, width: 80, unicode: true };
const WIDE: Style = Style { colour: false, width: 120, unicode: true };

#[test]
fn quick_fits_one_screen_of_80_columns() {
    let text = terminal(&common::quick(), &NARROW);
    insta::assert_snapshot!("quick-80", text);
    // The sample has everything: wear, two long verdicts, two doubts (one with advice), errors.
    assert!(text.lines().count() <= 36, "{} lines", text.lines().count());
}

#[test]
fn the_full_screen_shows_every_value() {
    let run = common::quick();
    let text = report::terminal_in_full(&run, &WIDE);
    assert!(!text.contains("more values"), "{text}");
    let others = run.metrics.iter().filter(|m| m.key().as_cell().is_none());
    assert!(others.clone().count() > 4, "too many for a page");
    others.for_each(|metric| assert!(text.contains(&metric.name), "{}: {text}", metric.name));
}

#[test]
fn an_answer_fits_a_page_at_every_width_without_truncation() {
    let run = common::answered();
    for width in [60, 80, 120] {
        let text = terminal(&run, &Style { width, ..NARROW });
        insta::assert_snapshot!(format!("answered-{width}"), text);
        // The sample has a second line, a doubt, a note and errors.
        let page = if width < 80 { 37 } else { 32 };
        assert!(text.lines().count() <= page, "{} lines", text.lines().count());
        let over = text.lines().find(|line| line.chars().count() > width);
        assert_eq!(over, None);
        assert!(!text.contains('…'), "{text}");
    }
}

#[test]
fn the_grid_of_a_run_in_progress_has_a_placeholder_for_every_planned_cell() {
    let whole = common::quick();
    let mut run = record::Run { metrics: Vec::new(), latencies: Vec::new(), ..whole.clone() };
    let grid = |run: &record::Run| report::grid_so_far(run, &NARROW).expect("quick has one");
    let empty = grid(&run);
    insta::assert_snapshot!("so-far-0", empty);
    run.metrics =
        whole.metrics.iter().filter(|m| m.name.starts_with("seq-read")).cloned().collect();
    let some = grid(&run);
    insta::assert_snapshot!("so-far-2", some);
    let rows = |text: &str| text.lines().count();
    assert_eq!(rows(&some), rows(&empty), "the grid does not grow");
    run.metrics.clone_from(&whole.metrics);
    let all = grid(&run);
    assert!(rows(&all) == rows(&empty) && !all.contains('\u{b7}'), "{all}");
    run.method = "sustain".into();
    assert_eq!(report::grid_so_far(&run, &NARROW), None);
}

#[test]
fn a_prediction_wider_than_a_factor_of_two_is_noisy_except_on_the_full_screen() {
    let mut run = common::answered();
    for metric in run.metrics.iter_mut().filter(|m| m.name == "rand-write-4KiB-q32") {
        (metric.low, metric.high) = (Some(334e3), Some(1.53e6));
        metric.covers = Some(record::Covers::NextRun);
    }
    assert!(terminal(&run, &NARROW).contains("too noisy"));
    assert!(!report::terminal_in_full(&run, &NARROW).contains("too noisy"));
}

#[test]
fn doubts_that_are_not_shown_are_counted() {
    let mut run = common::answered();
    let doubts = |level: Level, count: usize| -> Vec<Finding> {
        let kinds = FindingKind::ALL.iter().take(count).cloned();
        kinds.map(|kind| Finding::new(kind, level, "it may be off")).collect()
    };
    for level in [Level::Warn, Level::Bad] {
        run.warnings = doubts(level, 4);
        assert!(!terminal(&run, &NARROW).contains("! and"), "{}", terminal(&run, &NARROW));
        run.warnings = doubts(level, 7);
        assert!(terminal(&run, &NARROW).contains("! and 3 more"), "{}", terminal(&run, &NARROW));
    }
    for (count, words) in [(4, "- and 1 more note\n"), (5, "- and 2 more notes\n")] {
        run.warnings = doubts(Level::Note, count);
        let text = report::terminal_in_full(&run, &NARROW);
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn a_conclusion_that_the_headline_already_states_is_not_repeated() {
    let mut run = common::answered();
    run.verdicts[0].kind = VerdictKind::Knee;
    for (text, shown) in [("The drive reads 3.52 GB/s.", false), ("It reads 3.52 GB/s.", true)] {
        run.verdicts[0].text = text.replace("It reads", "It always reads");
        let text = terminal(&run, &NARROW);
        assert_eq!(text.lines().any(|line| line.starts_with("why")), shown, "{text}");
    }
}

#[test]
fn no_read_cache_at_depth_1_is_not_shown_beside_a_cache_found_at_another_depth() {
    let mut run = common::answered();
    let verdict = |kind| {
        let mut verdict = run.verdicts[0].clone();
        verdict.kind = kind;
        verdict
    };
    let [none, some] = [VerdictKind::NoDeviceCache, VerdictKind::DeviceCache].map(verdict);
    run.verdicts.push(none);
    assert!(terminal(&run, &NARROW).contains("no read cache"));
    run.verdicts.push(some);
    assert!(!terminal(&run, &NARROW).contains("no read cache"));
}

#[test]
fn quick_in_a_wide_window_has_full_intervals() {
    insta::assert_snapshot!("quick-120", terminal(&common::quick(), &WIDE));
}

#[test]
fn io_shows_response_next_to_service() {
    insta::assert_snapshot!("io-80", terminal(&common::io(), &NARROW));
}

#[test]
fn a_cut_short_run_shows_its_results() {
    insta::assert_snapshot!("cut-short-80", terminal(&common::cut_short(), &NARROW));
}

#[test]
fn a_run_killed_at_once_says_so() {
    insta::assert_snapshot!("empty-80", terminal(&common::empty(), &NARROW));
}

#[test]
fn missing_information_is_called_unknown() {
    insta::assert_snapshot!("unknown-80", terminal(&common::unknown(), &NARROW));
}

#[test]
fn an_hour_of_one_workload_shows_its_time_series() {
    insta::assert_snapshot!("long-ascii", terminal(&common::long(), &Style::PLAIN));
}

#[test]
fn no_line_exceeds_the_screen_or_controls_it() {
    let runs =
        [common::quick(), common::io(), common::cut_short(), common::unknown(), common::hostile()];
    for run in runs.iter().chain([&common::answered()]) {
        for width in [80, 100, 132] {
            let text = terminal(run, &Style { width, ..NARROW });
            let over = text.lines().find(|line| line.chars().count() > width);
            assert_eq!(over, None, "{} at {width}", run.method);
            assert!(!text.contains('\x1b') && !text.contains('\u{202e}'));
        }
    }
}

#[test]
fn plain_style_is_plain_ascii() {
    for run in [common::quick(), common::io(), common::long(), common::unknown()] {
        assert!(terminal(&run, &Style::PLAIN).is_ascii());
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let run = common::quick();
    let coloured = terminal(&run, &Style { colour: true, ..NARROW });
    let mut plain = String::new();
    let mut pieces = coloured.split('\x1b');
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        plain.push_str(piece.split_once('m').expect("an ended sequence").1);
    }
    assert_eq!(plain, terminal(&run, &NARROW));
}
