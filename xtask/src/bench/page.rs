//! `cargo xtask bench page [--tiny]`: the page of a run with 100,000 points in headless Chromium,
//! and the size of the page of a `sustain` over 2 TB.
//!
//! The points are three workloads with 100 ms rows, imported like a foreign record. The page is
//! opened with a probe at its end, which unfolds everything, waits for the charts, and adds to the
//! document the time since navigation started.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::places::Bench;
use super::results::median;
use super::{Effort, Outcome, tools};
use crate::run::{output, program};

const SECONDS_MAX: f64 = 1.0;
const BYTES_MAX: f64 = 2e6;

/// Rows of each of the three workloads: 100,000 points in total.
const ROWS: u64 = 33_334;

/// Measures the time until everything is unfolded and the charts are drawn (in a microtask).
/// Reading their pixels waits for the drawing.
const PROBE: &str = r#"<script>
addEventListener("load", async () => {
  for (const part of document.querySelectorAll("details")) { part.open = true; part.dispatchEvent(new Event("toggle")); }
  await null; await null; await null;
  const canvases = [...document.querySelectorAll("canvas")].filter((c) => c.width && c.height);
  canvases.forEach((c) => c.getContext("2d").getImageData(0, 0, 1, 1));
  const result = document.createElement("pre");
  result.id = "drawn";
  result.textContent = `${performance.now()} ${canvases.length}`;
  document.body.append(result);
});
</script></body>"#;

/// Creates and measures both pages.
pub fn run(effort: Effort) -> Result<Outcome> {
    let Some(browser) = browser() else {
        return Ok(Outcome::Skipped("no Chromium on this machine".into()));
    };
    let binary = tools::build()?;
    let bench = Bench::new()?;
    let tiny = !effort.is_whole();
    let store = bench.path("page.sqlite").display().to_string();
    let page = bench.path("page.html");
    let html = format!("--html={}", page.display());
    let drive = if tiny { "sim:sd-class2?capacity=64MiB" } else { "sim:samsung-980-pro-2t" };
    let words = ["run", drive, "-m", "sustain", "--quiet", "--store", &store, &html];
    output(&mut program(&binary, &words))?;
    let sustain_bytes = std::fs::metadata(&page)?.len() as f64;
    let rows = if tiny { 300 } else { ROWS };
    let record =
        with_points(&output(&mut program(&binary, &["export", "--store", &store]))?, rows)?;
    let file = bench.path("points.json");
    std::fs::write(&file, record.to_string())?;
    let points = bench.path("points.sqlite").display().to_string();
    let import = ["import", &file.display().to_string(), "--store", &points];
    output(&mut program(&binary, &import))?;
    let (mut written, mut drawn) = (Vec::new(), Vec::new());
    for _ in 0..effort.repeats {
        let began = Instant::now();
        output(&mut program(&binary, &["show", "last", &html, "--store", &points]))?;
        written.push(began.elapsed().as_secs_f64());
        drawn.push(seconds_to_draw(&browser, &bench, &page)?);
    }
    let points_bytes = std::fs::metadata(&page)?.len() as f64;
    let (written, drawn) = (median(written), median(drawn));
    let text = format!(
        "| | measured | goal |\n|---|---|---|\n\
         | page of `sustain` on a 2 TB drive | {:.2} MB | {:.0} MB |\n\
         | `ssdyno show last --html`, {} points | {:.2} s | |\n\
         | from navigation to everything drawn | {:.2} s | |\n\
         | both | {:.2} s | {SECONDS_MAX:.0} s |\n\
         | size of that page | {:.2} MB | |\n",
        sustain_bytes / 1e6,
        BYTES_MAX / 1e6,
        3 * rows,
        written,
        drawn,
        written + drawn,
        points_bytes / 1e6,
    );
    let met = sustain_bytes <= BYTES_MAX && written + drawn <= SECONDS_MAX;
    Ok(Outcome::Ran { met, text })
}

/// The record with its series replaced by three workloads of `rows` rows.
fn with_points(exported: &str, rows: u64) -> Result<Value> {
    let mut record: Value = serde_json::from_str(exported).context("an export")?;
    let series = (0..3u64).map(|workload| {
        let noise = |i: u64| ((i * 2_654_435_761 + workload * 97) % 1000) as f64 / 1000.0;
        let t_ns: Vec<u64> = (1..=rows).map(|i| i * 100_000_000).collect();
        let rates: Vec<f64> = (0..rows).map(|i| 2e9 + 5e8 * noise(i)).collect();
        json!({
            "name": format!("workload {workload}"),
            "replicate": 0,
            "start_ns": workload * rows * 100_000_000,
            "t_ns": t_ns,
            "columns": [{ "name": "write", "unit": "B/s", "values": rates }],
        })
    });
    record["series"] = series.collect();
    record["id"] = "01PAGE0000000000000000000".into();
    Ok(record)
}

/// Seconds from the navigation until everything on the page is drawn.
fn seconds_to_draw(browser: &Path, bench: &Bench, page: &Path) -> Result<f64> {
    let probed = bench.path("probed.html");
    let text = std::fs::read_to_string(page)?;
    let at = text.rfind("</body>").context("the page has no </body>")?;
    std::fs::write(&probed, format!("{}{PROBE}{}", &text[..at], &text[at + "</body>".len()..]))?;
    let profile = format!("--user-data-dir={}", bench.path("profile").display());
    let address = format!("file://{}", probed.display());
    let words = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--dump-dom"];
    let words = [&words[..], &[&profile, &address]].concat();
    let dom = output(&mut program(browser, &words))?;
    let found = dom.split_once("id=\"drawn\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (said, _) = found.context("the page was not drawn")?;
    let (ms, canvases) = said.split_once(' ').context("the probe wrote no time and count")?;
    if canvases == "0" {
        bail!("no chart was drawn");
    }
    Ok(ms.parse::<f64>()? / 1e3)
}

fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let paths = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&paths).flat_map(|dir| names.map(|name| dir.join(name)));
    found.into_iter().find(|path| path.is_file())
}
