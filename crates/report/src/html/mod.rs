//! The record as one HTML file: no network, dark and light, for desktop, phone and paper.
//!
//! Text and tables are generated here, so that the file is complete without scripts. The charts are
//! drawn in the browser by uPlot (`vendor/uplot`) and [`SCRIPT`] from the complete record embedded
//! in the file. maud escapes all text except the record inside its `<script>`, which contains no
//! `<`.

mod figures;
mod numbers;
mod parts;
pub(crate) mod sheet;
mod summary;

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};
use record::Run;

use crate::chart;
use crate::facts;
use crate::grid::Grid;
use emit::controls_display;

/// Draws the charts, and switches between dark and light.
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("script/plot.js"),
    include_str!("script/time.js"),
    include_str!("script/latency.js"),
    include_str!("script/page.js"),
    "})();\n",
);
const LOOK: &str = include_str!("report.css");
const UPLOT: &str = include_str!("../../vendor/uplot/uPlot.iife.min.js");
const UPLOT_LOOK: &str = include_str!("../../vendor/uplot/uPlot.min.css");
const UPLOT_LICENCE: &str = include_str!("../../vendor/uplot/LICENSE");

/// The page may not load anything, so foreign text in it could not send anything either.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

/// A link at the top of a page that is one of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLink {
    /// Its text.
    pub name: String,
    /// A relative address.
    pub href: String,
}

impl PageLink {
    pub fn new(name: impl Into<String>, href: impl Into<String>) -> PageLink {
        PageLink { name: name.into(), href: href.into() }
    }
}

/// The frame of a page that is one of several: of `ssdyno web` or of a static site.
#[derive(Clone, Debug)]
pub struct PageFrame<'a> {
    pub title: &'a str,
    /// Version of the program.
    pub version: &'a str,
    /// Links to the other pages.
    pub links: &'a [PageLink],
    /// Further elements of the head: style sheets and scripts of the same origin.
    pub head: Markup,
}

/// Where the scripts of a run's page are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scripts {
    /// In the page, which is complete without another file.
    Inside,
    /// In a file beside the page, [`CHARTS_FILE`].
    Beside,
}

/// The name of the file with the scripts that pages of runs share.
pub const CHARTS_FILE: &str = "ssdyno-charts.js";

/// The content of [`CHARTS_FILE`].
pub fn charts_script() -> String {
    format!("/* Charts by uPlot 1.6.32:\n\n{UPLOT_LICENCE}\n*/\n{UPLOT}\n{SCRIPT}")
}

/// What a page with its scripts beside it may load: also from files, which have no origin.
const POLICY_BESIDE: &str = "default-src 'none'; style-src 'unsafe-inline'; \
                             script-src 'self' file:; img-src data:; base-uri 'none'; \
                             form-action 'none'";

/// What comes after the scripts.
const END: &str = "</body></html>";

/// What a page of several may do: load scripts of its own origin, and send forms there.
const POLICY_OF_SITE: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; \
                              img-src data:; connect-src 'self'; base-uri 'none'; \
                              form-action 'self'";

/// A page of several, in the style of the others.
pub fn page(frame: &PageFrame<'_>, body: &Markup) -> String {
    framed(frame, POLICY_OF_SITE, body)
}

/// The run as a page. Fails only if the record contains a value that JSON cannot represent.
pub fn html(run: &Run) -> serde_json::Result<String> {
    linked_html(run, &[], Scripts::Inside)
}

/// The page of a run with links to other pages.
pub fn linked_html(run: &Run, links: &[PageLink], place: Scripts) -> serde_json::Result<String> {
    let record = embedded(&serde_json::to_string(run)?);
    let subject = facts::marked(summary::subject(run), run);
    let title = format!("{} {}, {subject}", facts::run_name(run), run.method);
    let scripts = markup! {
        script type="application/json" id="record" { (PreEscaped(record)) }
        @match place {
            Scripts::Inside => {
                script { (PreEscaped(UPLOT)) }
                script { (PreEscaped(SCRIPT)) }
            }
            Scripts::Beside => script src=(CHARTS_FILE) {},
        }
    };
    let policy = match place {
        Scripts::Inside => POLICY,
        Scripts::Beside => POLICY_BESIDE,
    };
    let grid = Grid::new(run);
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            (head(&title, policy, &uplot(place)))
            body {
                (top(run, links))
                main {
                    (summary::summary(run, &grid))
                    (answer(run))
                    (parts::limits(run))
                    (parts::normal(run))
                    (parts::distrust(run))
                    div.folded {
                        (folded("All numbers", numbers::numbers(run, &grid)))
                        (folded("Conclusions and their evidence", parts::conclusions(run)))
                        (folded("Where the time goes", numbers::splits(run)))
                        (folded("Over time", figures::over_time(run)))
                        (folded("Latency", figures::latencies(run, &grid)))
                        (folded("Origin", parts::origin(run)))
                        (folded("Drive", parts::drive(run)))
                        (folded("Machine", parts::machine(run)))
                        (folded("Plan", parts::plan(run)))
                        (folded("Raw values", parts::raw(run)))
                    }
                }
                footer {
                    "ssdyno " (run.environment.ssdyno) ". This page loads no external content."
                }
                (scripts)
            }
        }
    };
    // The scripts are as long as the rest several times over, and steady already.
    let (page, scripts) = (page.into_string(), scripts.into_string());
    let text = page.strip_suffix(&format!("{scripts}{END}")).unwrap_or(&page);
    Ok(steady(text.to_string()) + &page[text.len()..])
}

/// The charts of the answer, at full width.
fn answer(run: &Run) -> Markup {
    let charts = chart::charts(run);
    markup! {
        @if !charts.is_empty() {
            section { @for chart in &charts { (chart) } }
        }
    }
}

/// A collapsed part; omitted if empty.
fn folded(title: &str, part: Markup) -> Markup {
    markup! {
        @if !part.0.is_empty() { details.more { summary { (title) } (part) } }
    }
}

/// A page without scripts, in the same style.
pub(crate) fn document(title: &str, version: &str, links: &[PageLink], body: &Markup) -> String {
    framed(&PageFrame { title, version, links, head: markup! {} }, POLICY, body)
}

fn framed(frame: &PageFrame<'_>, policy: &str, body: &Markup) -> String {
    let PageFrame { title, version, links, head: elements } = frame;
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            (head(title, policy, elements))
            body {
                header.top { span.brand { "ssdyno" } span { (emit::plain(title)) } (nav(links)) }
                main { (body) }
                footer { "ssdyno " (version) ". This page loads no external content." }
            }
        }
    };
    steady(page.into_string())
}

/// The links of a page; nothing without any.
fn nav(links: &[PageLink]) -> Markup {
    markup! {
        @if !links.is_empty() {
            nav { @for link in links { a href=(link.href) { (emit::plain(&link.name)) } } }
        }
    }
}

/// JSON that cannot end its element or change the direction of the surrounding text.
fn embedded(json: &str) -> String {
    emit::json(json).replace('<', "\\u003c")
}

/// The page without characters that change the direction of the following text.
fn steady(page: String) -> String {
    page.replace(|c| controls_display(c) && c != '\n' && c != '\t', "\u{fffd}")
}

/// The head of a page; `charts` is the additional content, such as that needed by charts.
fn head(title: &str, policy: &str, charts: &Markup) -> Markup {
    markup! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (emit::plain(title)) }
            link rel="icon" href="data:,";
            (charts)
            style { (PreEscaped(LOOK)) }
        }
    }
}

/// The style sheet of uPlot, and its licence if its script is in the page.
fn uplot(place: Scripts) -> Markup {
    markup! {
        @if place == Scripts::Inside {
            (PreEscaped(format!("<!-- Charts by uPlot 1.6.32:\n\n{UPLOT_LICENCE}\n-->\n")))
        }
        style { (PreEscaped(UPLOT_LOOK)) }
    }
}

fn top(run: &Run, links: &[PageLink]) -> Markup {
    markup! {
        header.top {
            span.brand { "ssdyno" }
            span { (facts::run_name(run)) " · " (run.method) }
            time datetime=(run.started) { (facts::when(run)) }
            (nav(links))
            button #theme type="button" aria-label="Switch between dark and light" { "Dark / light" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_cannot_end_its_element() {
        let json = "{\"a\":\"</script><!--\u{202e}\"}";
        assert_eq!(embedded(json), r#"{"a":"\u003c/script>\u003c!--\u202e"}"#);
    }

    #[test]
    fn the_library_cannot_end_its_element() {
        for text in [UPLOT, SCRIPT] {
            assert!(!text.contains("</"));
        }
        assert!(!UPLOT_LICENCE.contains("--"));
    }
}
