//! The list of records, with filters and boxes to compare on the server.

use maud::{Markup, html};
use store::{Filter, RunSummary};

use super::{minute, result, text};
use crate::frame::Venue;
use crate::{figures, names};

/// The filter as it was typed, for the form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordQuery {
    pub drive: String,
    pub method: String,
    pub host: String,
    pub title: String,
    pub tag: String,
    /// The number below which the page begins.
    pub before: Option<i64>,
}

impl RecordQuery {
    /// From the pairs of an address.
    pub fn from_pairs(pairs: &[(String, String)]) -> RecordQuery {
        let mut query = RecordQuery::default();
        for (name, value) in pairs {
            let value = value.trim().to_string();
            match name.as_str() {
                "drive" => query.drive = value,
                "method" => query.method = value,
                "host" => query.host = value,
                "title" => query.title = value,
                "tag" => query.tag = value,
                "before" => query.before = value.parse().ok(),
                _ => {}
            }
        }
        query
    }

    /// The filter of the store; an error in words for what is no tag.
    pub fn filter(&self, limit: u32) -> Result<Filter, String> {
        let tags = non_empty(&self.tag).map(|tag| record::parse_tag(&tag)).transpose()?;
        Ok(Filter {
            drive: non_empty(&self.drive),
            method: non_empty(&self.method),
            host: non_empty(&self.host),
            title: non_empty(&self.title),
            tags: tags.into_iter().collect(),
            limit: Some(limit),
            before: self.before,
            ..Filter::default()
        })
    }

    /// The address of the page that begins below a number.
    fn href(&self, before: i64) -> String {
        let mut words = form_urlencoded::Serializer::new(String::new());
        for (name, value) in self.fields() {
            if !value.is_empty() {
                words.append_pair(name, value);
            }
        }
        words.append_pair("before", &before.to_string());
        format!("{}?{}", names::RECORDS, words.finish())
    }

    fn fields(&self) -> [(&'static str, &str); 5] {
        [
            ("drive", &self.drive),
            ("method", &self.method),
            ("host", &self.host),
            ("title", &self.title),
            ("tag", &self.tag),
        ]
    }
}

fn non_empty(text: &str) -> Option<String> {
    Some(text.to_string()).filter(|text| !text.is_empty())
}

/// A part of the list.
#[derive(Debug)]
pub struct RecordList<'r> {
    pub runs: &'r [RunSummary],
    /// Number of matching runs.
    pub total: u64,
    /// Addresses of the parts before and after.
    pub newer: Option<String>,
    pub older: Option<String>,
}

impl<'r> RecordList<'r> {
    /// A part on the server.
    pub fn of_query(
        query: &RecordQuery,
        runs: &'r [RunSummary],
        total: u64,
        limit: u32,
    ) -> RecordList<'r> {
        let is_full = runs.len() >= limit as usize;
        let last = runs.last().filter(|_| is_full);
        RecordList { runs, total, newer: None, older: last.map(|run| query.href(run.number)) }
    }
}

/// The page of the list; `query` has the form's content on the server.
pub fn page(venue: &Venue, query: &RecordQuery, list: &RecordList<'_>) -> String {
    let body = html! {
        h1 { "Records" }
        @if venue.is_served() { (filter_form(query)) }
        p.note { (list.total) @if list.total == 1 { " record" } @else { " records" } }
        @if list.total == 0 && *query == RecordQuery::default() {
            p { "No records yet. Try: " code { "ssdyno run ." } }
        } @else if venue.is_served() {
            form action=(names::COMPARE) method="get" {
                (table(list.runs, true))
                @if list.runs.len() > 1 {
                    p.paging { button type="submit" { "Compare the ticked records" } }
                }
            }
        } @else {
            (table(list.runs, false))
        }
        p.paging {
            @if let Some(href) = &list.newer { a href=(href) { "Newer records" } }
            @if let Some(href) = &list.older { a href=(href) { "Older records" } }
        }
    };
    venue.page("records", Vec::new(), &body)
}

fn filter_form(query: &RecordQuery) -> Markup {
    html! {
        form.filter action=(names::RECORDS) method="get" {
            @for (name, value) in query.fields() {
                label {
                    (label(name))
                    input type="text" name=(name) value=(value) size="14";
                }
            }
            button type="submit" { "Filter" }
        }
    }
}

fn label(name: &str) -> &str {
    match name {
        "drive" => "Drive, serial or target",
        "method" => "Method",
        "host" => "Host",
        "title" => "Title",
        _ => "Tag, as board=a",
    }
}

/// A table of runs, with a box for each if they can be compared.
pub fn table(runs: &[RunSummary], boxes: bool) -> Markup {
    let mut hosts: Vec<&str> = runs.iter().filter_map(|run| run.host.as_deref()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let optional = [runs.iter().any(|run| run.firmware.is_some()), hosts.len() > 1];
    let [has_firmware, has_hosts] = optional;
    html! {
        @if runs.is_empty() { p { "No records match." } }
        @else {
            div.scroll tabindex="0" role="region" aria-label="Records" {
                table.list {
                    thead {
                        tr {
                            @if boxes { th scope="col" { "" } }
                            th.number scope="col" { "Run" }
                            th scope="col" { "Started" }
                            th scope="col" { "Method" }
                            th scope="col" { "Drive" }
                            @if has_firmware { th scope="col" { "Firmware" } }
                            @if has_hosts { th scope="col" { "Host" } }
                            th scope="col" { "Result" }
                        }
                    }
                    tbody { @for run in runs { (row(run, boxes, optional)) } }
                }
            }
        }
    }
}

/// A row; the last argument is whether there are columns for the firmware and the host.
fn row(run: &RunSummary, boxes: bool, [has_firmware, has_hosts]: [bool; 2]) -> Markup {
    let (tone, sentence) = result(run);
    let name = if run.running { names::live(run.number) } else { names::run(run.number) };
    let labels = run.title.iter().cloned();
    let labels = labels.chain(run.tags.iter().map(|(name, value)| format!("{name}={value}")));
    let labels = labels.collect::<Vec<_>>().join(" ");
    let figures: Vec<String> = run.headline.iter().filter_map(figures::in_words).collect();
    html! {
        tr {
            @if boxes {
                td.inline {
                    @if !run.running {
                        input type="checkbox" name="run" value=(run.number) aria-label=(format!("compare run {}", run.number));
                    }
                }
            }
            td.number.inline { a href=(names::html(&name)) { "run " (run.number) } }
            td.inline.nowrap { (minute(run)) }
            td.inline { (emit::plain(&run.method)) }
            td {
                @match (&run.drive_key, &run.drive) {
                    (Some(key), Some(_)) => a href=(names::html(&names::drive(key))) { (text(run.drive.as_deref())) },
                    _ => (text(run.drive.as_deref().or(Some(&run.target)))),
                }
            }
            @if has_firmware {
                td.empty[run.firmware.is_none()] {
                    @if let Some(firmware) = &run.firmware { (emit::plain(firmware)) }
                }
            }
            @if has_hosts { td.empty[run.host.is_none()] { @if let Some(host) = &run.host { (emit::plain(host)) } } }
            td.answer {
                @if !labels.is_empty() { div.title { (emit::plain(&labels)) } }
                span.(tone) { (emit::plain(&sentence)) }
                @if sentence.is_empty() || run.answer.is_none() {
                    div.figures { (emit::plain(&figures.join(", "))) }
                }
            }
        }
    }
}
