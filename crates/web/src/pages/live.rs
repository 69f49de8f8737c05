//! A run in progress: its rates now, its throughput over time, its results so far. The script
//! replaces the part inside [`page`] by each new one; without it, the page reloads itself.

use maud::{Markup, html};
use record::Run;

use crate::frame::Venue;
use crate::{figures, names};

/// Seconds between reloads without a script.
const RELOAD_S: u32 = 5;

/// Replaces the content of the page by what the server sends.
pub const SCRIPT: &str = include_str!("live.js");

/// The name of the script.
pub const SCRIPT_NAME: &str = "live.js";

/// What a run started here does at this moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moment {
    /// The step of its plan.
    pub step: String,
    /// Bytes per second read and written in the last interval.
    pub rates: [f64; 2],
}

/// The page of a run in progress. `stop` is whether it was started here, so that it can be ended.
pub fn page(venue: &Venue, run: &Run, number: i64, moment: Option<&Moment>, stop: bool) -> String {
    let head = html! {
        noscript { meta http-equiv="refresh" content=(RELOAD_S); }
        script src=(SCRIPT_NAME) defer {}
    };
    let body = html! {
        h1 { (run.method) " on " (emit::plain(&run.target.spec)) }
        div #live data-events=(format!("{}.events", names::live(number))) aria-live="off" {
            (part(run, moment))
        }
        @if let (true, Venue::Server { token }) = (stop, venue) {
            form action="stop" method="post" {
                input type="hidden" name="token" value=(token);
                p.paging { button type="submit" { "End this run and keep what was measured" } }
            }
        }
    };
    venue.page_with(&format!("run {number}"), Vec::new(), head, &body)
}

/// The part that changes.
pub fn part(run: &Run, moment: Option<&Moment>) -> Markup {
    let main = run.metrics.iter().filter(|metric| metric.key().is_main());
    let results: Vec<String> = main.filter_map(figures::in_words).collect();
    html! {
        p.status {
            span.good { "running" }
            @if let Some(Moment { step, rates: [read, write] }) = moment {
                @let step = run.naming().step(step, &run.method);
                @if !step.is_empty() { span { (emit::plain(&step)) } }
                span { "reads " (workload::units::throughput(*read)) }
                span { "writes " (workload::units::throughput(*write)) }
            }
        }
        @if let Some(chart) = report::throughput(run) { section { (chart) } }
        @if !results.is_empty() {
            section {
                h2 { "So far" }
                ul { @for result in &results { li { (emit::plain(result)) } } }
            }
        }
    }
}
