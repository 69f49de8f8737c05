//! The HTML report: self-contained, harmless whatever the drive's name, and drawn in a browser
//! without errors. The pages stay in the target directory for inspection.

use crate::common;
use std::path::{Path, PathBuf};
use std::process::Command;

use record::Run;

fn page(run: &Run) -> String {
    report::html(run).expect("plain data")
}

fn samples() -> Vec<(&'static str, Run)> {
    vec![
        ("quick", common::quick()),
        ("answered", common::answered()),
        ("io", common::io()),
        ("cut-short", common::cut_short()),
        ("empty", common::empty()),
        ("unknown", common::unknown()),
        ("hostile", common::hostile()),
        ("long", common::long()),
    ]
}

fn written(name: &str, run: &Run) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html"));
    std::fs::write(&path, page(run)).expect("the target directory is writable");
    path
}

#[test]
fn no_external_content_is_loaded() {
    for (name, run) in samples() {
        let page = page(&run);
        let own = page.replace("/*! https://github.com/leeoniya/uPlot (v1.6.32) */", "");
        assert!(!own.contains("http://") && !own.contains("https://"), "{name}");
        for loads in [" src=", "@import", "url(", "fetch(", "XMLHttpRequest"] {
            assert!(!own.contains(loads), "{name} has {loads}");
        }
        assert!(own.contains("default-src 'none'"));
        assert!(own.contains("Copyright (c) 2022 Leon Sorokin"));
    }
}

#[test]
fn foreign_text_stays_text() {
    let page = page(&common::hostile());
    // Exactly three scripts: the record, uPlot and our own.
    assert_eq!(page.matches("</script>").count(), 3);
    assert!(!page.contains("<b>x</b>"));
    assert!(page.contains("&lt;/script&gt;&lt;b&gt;x"));
}

#[test]
fn the_page_contains_the_whole_record() {
    for (name, run) in samples() {
        let page = std::fs::read_to_string(written(name, &run)).expect("just written");
        let (_, rest) = page.split_once("id=\"record\">").expect("the record");
        let (json, _) = rest.split_once("</script>").expect("its end");
        let back: Run = serde_json::from_str(json).expect("JSON");
        assert_eq!(back, run, "{name}");
    }
}

#[test]
fn charts_are_drawn_without_an_error() {
    let Some(browser) = browser() else {
        return println!("skipped: Chromium is missing");
    };
    for (name, run) in samples() {
        let dom = dumped(&browser, &written(name, &run));
        let attribute = |key: &str| {
            let (_, rest) =
                dom.split_once(&format!("{key}=\"")).unwrap_or_else(|| panic!("{name}: no {key}"));
            rest.split('"').next().unwrap_or_default().to_string()
        };
        assert_eq!(attribute("data-errors"), "", "{name}");
        let charts: usize = attribute("data-charts").parse().expect("a number");
        assert_eq!(charts, dom.matches("class=\"uplot").count(), "{name}");
        let expected = usize::from(!run.series.is_empty()) + run.latencies.len();
        assert!(charts >= expected, "{name}: {charts} charts, expected at least {expected}");
        println!("{name}: {charts} charts in {} ms", attribute("data-draw-ms"));
    }
}

/// Drags over the middle of the first chart, as with a mouse.
const DRAG: &str = r#"<script>
const over = document.querySelector(".u-over"), box = over.getBoundingClientRect();
const fire = (type, share, target = over) => target.dispatchEvent(new MouseEvent(type,
  { bubbles: true, button: 0, movementX: 9, clientX: box.left + share * box.width, clientY: box.top + 9 }));
fire("mousemove", 0.4); fire("mousedown", 0.4); fire("mousemove", 0.6); fire("mouseup", 0.6, document);
document.documentElement.dataset.zoomed = !document.querySelector("figcaption button").hidden;
fire("mousemove", 0.5);
Promise.resolve().then(() => document.documentElement.dataset.readout = document.querySelector(".readout").textContent);
</script>"#;

#[test]
fn a_chart_can_be_zoomed() {
    let Some(browser) = browser() else {
        return println!("skipped: Chromium is missing");
    };
    let path = written("zoomed", &common::long());
    let page = std::fs::read_to_string(&path).expect("just written");
    std::fs::write(&path, page + DRAG).expect("the target directory is writable");
    let dom = dumped(&browser, &path);
    assert!(dom.contains("data-zoomed=\"true\""));
    assert!(dom.contains("data-errors=\"\""));
    // The middle of an hour.
    assert!(dom.contains("data-readout=\"30:0") || dom.contains("data-readout=\"29:5"));
}

fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let paths = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&paths).flat_map(|dir| names.map(|name| dir.join(name)));
    found.into_iter().find(|path| path.is_file())
}

/// The page's elements after its scripts have run.
fn dumped(browser: &Path, page: &Path) -> String {
    let profile = tempfile::tempdir().expect("a directory");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
