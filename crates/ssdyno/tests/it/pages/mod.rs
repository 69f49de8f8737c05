//! The screen of every method as text, and its page, opened in a browser like a person would: on
//! desktop and phone, light and dark. A number drawn that is not that of its tile, a chart without
//! a title, an empty plot, a label outside its drawing or on another, a page that scrolls sideways, a script
//! error or a request is a fault.
//!
//! All pages of one form are frames of one document, so the browser starts only four times.

mod drawn;
mod numbers;
mod runs;
mod screens;

use std::path::{Path, PathBuf};
use std::process::Command;

use runs::{make, ssdyno};
use serde_json::Value;

/// Inspects every frame after the page has loaded; the list of faults replaces the frames.
const LOOK: &str = r##"
const faults = [];
const UNITS = new Set(["MB/s", "GB/s", "IOPS", "1", "B", "B/s", "bytes", "ns", "C", "Celsius", "read", "write"]);

function drawn(canvas) {
  const { width, height } = canvas;
  if (!width || !height) return false;
  const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  for (let i = 0; i < pixels.length; i += 4) {
    const [r, g, b, a] = pixels.subarray(i, i + 4);
    if (a > 40 && Math.max(r, g, b) - Math.min(r, g, b) > 40) return true;
  }
  return false;
}

async function look(frame) {
  const page = frame.contentDocument, view = frame.contentWindow, root = page.documentElement;
  const fault = (text) => faults.push(`${frame.title}: ${text}`);
  if (root.dataset.errors) fault(`script error: ${root.dataset.errors}`);
  view.performance.getEntriesByType("resource").forEach((r) => fault(`request: ${r.name}`));
  if (!page.querySelector("figure.answer")) fault("no chart of the answer");
  for (const part of page.querySelectorAll("details")) {
    part.open = true;
    part.dispatchEvent(new Event("toggle"));
  }
  await null; await null; await null;
  const scrolls = () => root.scrollWidth > view.innerWidth;
  if (scrolls()) fault(`scrolls sideways: ${root.scrollWidth} in ${view.innerWidth}`);
  for (const figure of page.querySelectorAll("figure")) {
    const title = figure.querySelector("figcaption b")?.textContent.trim() ?? "";
    if (!title || UNITS.has(title) || /^[\d.,\s]+$/.test(title)) fault(`title '${title}'`);
    const said = figure.querySelector('[role="img"]')?.getAttribute("aria-label")?.trim();
    if (!said) fault(`${title}: no text alternative`);
    const shown = [...figure.querySelectorAll("svg")].filter((svg) => svg.getBoundingClientRect().width > 0);
    if (figure.matches(".answer") && shown.length !== 1) fault(`${title}: ${shown.length} drawings`);
    for (const svg of shown) {
      const { width, height } = svg.viewBox.baseVal;
      const size = (e) => { const b = e.getBBox(); return b.width + b.height; };
      if (![...svg.querySelectorAll(".datum")].some((e) => size(e) > 0)) fault(`${title}: empty`);
      const lines = [...svg.querySelectorAll(".datum.line")].map((line) => line.getBBox().width);
      if (lines.length && Math.max(...lines) < 10) fault(`${title}: no line`);
      for (const text of svg.querySelectorAll("text")) {
        const b = text.getBBox();
        if (b.x < -1 || b.y < -1 || b.x + b.width > width + 1 || b.y + b.height > height + 1)
          fault(`${title}: '${text.textContent}' is outside its drawing`);
      }
      const boxes = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBBox()]);
      boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
        const across = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
        const down = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
        if (across > 0 && down > 3) fault(`${title}: '${one}' covers '${other}'`);
      }));
    }
    const canvas = figure.querySelector("canvas");
    if (canvas && !drawn(canvas)) fault(`${title}: nothing is drawn`);
  }
  for (const e of page.querySelectorAll(".tiles li, .tiles .label, .verdict, h1, figcaption, dd"))
    if (e.scrollWidth > e.clientWidth + 1) fault(`'${e.textContent.trim().slice(0, 60)}' is cut`);
}

addEventListener("load", async () => {
  for (const frame of document.querySelectorAll("iframe")) {
    try { await look(frame); } catch (error) { faults.push(`${frame.title}: ${error}`); }
  }
  const result = document.createElement("pre");
  result.id = "faults";
  result.textContent = JSON.stringify([document.querySelectorAll("iframe").length, faults]);
  document.body.replaceChildren(result);
});
"##;

#[test]
fn every_method_is_readable_on_terminal_desktop_and_phone_in_light_and_dark() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let runs = make(place.path());
    screens::check(place.path(), &runs);
    numbers::check(place.path(), &runs);
    drawn::check(place.path(), &runs);
    drawn::documented(place.path(), &runs);
    let Some(browser) = browser() else {
        return println!("skipped: no Chromium on this machine");
    };
    let mut pages: Vec<_> = runs.into_iter().map(|run| (run.name, run.page)).collect();
    pages.push(("replicate".into(), replicated(place.path())));
    let mut all_faults: Vec<String> = Vec::new();
    for width in [1280, 390] {
        for theme in ["light", "dark"] {
            let name = format!("{width}-{theme}");
            let path = place.path().join(format!("{name}.html"));
            std::fs::write(&path, framed(&pages, width, theme)).expect("a page");
            let [count, faults] = inspect(&browser, &path, width);
            assert_eq!(count, pages.len(), "{name}");
            let faults = faults.as_array().expect("a list").iter();
            all_faults.extend(faults.map(|fault| format!("{name} {fault}")));
        }
    }
    assert!(all_faults.is_empty(), "{}", all_faults.join("\n"));
}

/// The page of a document with lines and bars.
fn replicated(place: &Path) -> String {
    let path = place.join("replicate.page.html");
    let html = format!("--html={}", path.display());
    let output = ssdyno(place).args(["replicate", "003", "--quiet", &html]).output();
    let said = output.expect("it starts").stderr;
    assert!(String::from_utf8_lossy(&said).contains("replicate.page.html"), "{said:?}");
    std::fs::read_to_string(path).expect("a page")
}

/// A document with a frame of this width for each page.
fn framed(pages: &[(String, String)], width: u32, theme: &str) -> String {
    let quoted = |text: &str| text.replace('&', "&amp;").replace('"', "&quot;");
    let mut document = String::from("<!DOCTYPE html><meta charset=\"utf-8\"><body>");
    for (name, page) in pages {
        let page = page.replacen(
            "<html lang=\"en\">",
            &format!("<html lang=\"en\" data-theme=\"{theme}\">"),
            1,
        );
        let size = format!("style=\"width:{width}px;height:900px;border:0\"");
        document +=
            &format!("<iframe title=\"{name}\" {size} srcdoc=\"{}\"></iframe>", quoted(&page));
    }
    document + "<script>" + LOOK + "</script>"
}

/// Inspects the frames. Returns their number and their faults.
fn inspect(browser: &Path, page: &Path, width: u32) -> [Value; 2] {
    let profile = tempfile::tempdir().expect("a directory");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--window-size={},1000", width + 40))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let found =
        dom.split_once("<pre id=\"faults\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (json, _) = found.unwrap_or_else(|| panic!("no result: {} bytes", dom.len()));
    let json = json.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let pair: Vec<Value> = serde_json::from_str(&json).expect("JSON");
    pair.try_into().expect("a count and a list")
}

fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let paths = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&paths).flat_map(|dir| names.map(|name| dir.join(name)));
    found.into_iter().find(|path| path.is_file())
}
