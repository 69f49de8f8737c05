//! The answers: which page an address means, and what a form changes.

use axum::http::{HeaderName, StatusCode, header};
use lab::LabError;
use maud::html;
use store::{Filter, RunSummary, Store, StoreError};

use super::Server;
use crate::pages::records::{RecordList, RecordQuery};
use crate::pages::{compare, drives, history, live, machine, measure, model, records};
use crate::{figures, names};

/// Records on a page of the list.
const PAGE: u32 = 50;

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const CSV: &str = "text/csv; charset=utf-8";

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub kind: &'static str,
    /// Headers beside those of every answer.
    pub further: Vec<(HeaderName, String)>,
    pub body: String,
}

impl Reply {
    fn ok(kind: &'static str, body: String) -> Reply {
        Reply { status: StatusCode::OK, kind, further: Vec::new(), body }
    }

    fn page(body: String) -> Reply {
        Reply::ok(HTML, body)
    }

    /// A refusal in plain text.
    pub fn refused(status: StatusCode, reason: &str) -> Reply {
        let kind = "text/plain; charset=utf-8";
        Reply { status, kind, further: Vec::new(), body: format!("{}\n", emit::plain(reason)) }
    }

    /// Sends the browser to another page, with GET.
    pub fn see(address: &str) -> Reply {
        let reply = Reply { status: StatusCode::SEE_OTHER, ..Reply::page(String::new()) };
        reply.with(header::LOCATION, address.to_string())
    }

    pub fn with(mut self, name: HeaderName, value: String) -> Reply {
        self.further.push((name, value));
        self
    }
}

/// Why there is no page.
enum Missing {
    NoPage,
    Failed(LabError),
}

impl From<LabError> for Missing {
    fn from(error: LabError) -> Missing {
        Missing::Failed(error)
    }
}

impl From<StoreError> for Missing {
    fn from(error: StoreError) -> Missing {
        match error {
            StoreError::NoSuchRun(_) => Missing::NoPage,
            other => Missing::Failed(other.into()),
        }
    }
}

impl From<serde_json::Error> for Missing {
    fn from(error: serde_json::Error) -> Missing {
        Missing::Failed(LabError::new(lab::ErrorKind::Io, error))
    }
}

impl Server {
    /// The page of an address.
    pub fn read(&self, name: &str, query: &[(String, String)]) -> Reply {
        match self.find(name, query) {
            Ok(reply) => reply,
            Err(Missing::NoPage) => {
                let body = html! { h1 { "There is no such page" } p { a href=(names::RECORDS) { "All records" } } };
                let page = self.venue.page("not found", Vec::new(), &body);
                Reply { status: StatusCode::NOT_FOUND, ..Reply::page(page) }
            }
            Err(Missing::Failed(error)) => self.failed(&error),
        }
    }

    fn failed(&self, error: &LabError) -> Reply {
        let text = error.to_string();
        let body = html! {
            h1 { "This did not work" }
            p.refused { (emit::plain(&text)) }
            @if let Some(advice) = error.advice() { p.advice { (emit::plain(advice)) } }
        };
        let page = self.venue.page("refused", Vec::new(), &body);
        let is_usage = matches!(error.kind(), lab::ErrorKind::Usage | lab::ErrorKind::Refused);
        let status =
            if is_usage { StatusCode::BAD_REQUEST } else { StatusCode::INTERNAL_SERVER_ERROR };
        Reply { status, ..Reply::page(page) }
    }

    fn find(&self, name: &str, query: &[(String, String)]) -> Result<Reply, Missing> {
        let venue = &self.venue;
        match name {
            "" | names::RECORDS => return self.records(query),
            names::DRIVES => return Ok(Reply::page(drives::page(venue, &self.store().drives()?))),
            names::MACHINE => return Ok(Reply::page(machine::page(venue))),
            names::MEASURE => return Ok(self.measure(None)),
            names::COMPARE => {
                let ticked = query.iter().filter(|(name, _)| name == "run");
                let numbers: Vec<i64> =
                    ticked.filter_map(|(_, value)| value.parse().ok()).collect();
                return Ok(Reply::page(compare::page(venue, &self.store(), &numbers)?));
            }
            live::SCRIPT_NAME => {
                return Ok(Reply::ok("text/javascript; charset=utf-8", live::SCRIPT.into()));
            }
            _ => {}
        }
        let (stem, form) = name.rsplit_once('.').ok_or(Missing::NoPage)?;
        if let Some(number) = names::number(stem, "run") {
            return self.run(number, form);
        }
        if let Some(number) = names::number(stem, "live").filter(|_| form == "html") {
            return self.live(number);
        }
        if stem.starts_with("drive-") {
            return self.drive(stem, form);
        }
        if stem.starts_with("model-") {
            return self.model(stem, form);
        }
        Err(Missing::NoPage)
    }

    fn records(&self, pairs: &[(String, String)]) -> Result<Reply, Missing> {
        let query = RecordQuery::from_pairs(pairs);
        let filter =
            query.filter(PAGE).map_err(|text| LabError::new(lab::ErrorKind::Usage, text))?;
        let mut store = self.store();
        let runs = lab::listed(&mut store, &filter)?;
        let total = store.count(&Filter { before: None, ..filter })?;
        let list = RecordList::of_query(&query, &runs, total, PAGE);
        Ok(Reply::page(records::page(&self.venue, &query, &list)))
    }

    fn run(&self, number: i64, form: &str) -> Result<Reply, Missing> {
        let store = self.store();
        match form {
            "html" => {
                let (run, _) = lab::kept(&store, number)?;
                Ok(Reply::page(crate::pages::record::page(&self.venue, &run, number)?))
            }
            "json" => Ok(Reply::ok(JSON, store.document(number)?.text()? + "\n")),
            "csv" => Ok(Reply::ok(CSV, report::csv(&store.load(number)?))),
            _ => Err(Missing::NoPage),
        }
    }

    fn live(&self, number: i64) -> Result<Reply, Missing> {
        let run = self.store().load(number)?;
        if !is_running(&run) {
            return Ok(Reply::see(&names::html(&names::run(number))));
        }
        let moment = self.starter.moment(number);
        let page = live::page(&self.venue, &run, number, moment.as_ref(), moment.is_some());
        Ok(Reply::page(page))
    }

    fn drive(&self, stem: &str, form: &str) -> Result<Reply, Missing> {
        let mut store = self.store();
        let stored = store.drives()?.into_iter().find(|drive| names::drive(&drive.key) == stem);
        let stored = stored.ok_or(Missing::NoPage)?;
        let filter = Filter { drive_key: Some(stored.key.clone()), ..Filter::default() };
        let runs = lab::listed(&mut store, &filter)?;
        summary(form, &runs, || history::page(&self.venue, &stored, &runs))
    }

    fn model(&self, stem: &str, form: &str) -> Result<Reply, Missing> {
        let mut store = self.store();
        let all_drives = store.drives()?;
        let is_meant = |name: &String| names::model(name) == stem;
        let members: Vec<_> =
            all_drives.iter().filter(|drive| drive.model.as_ref().is_some_and(is_meant)).collect();
        let name = members.first().and_then(|drive| drive.model.clone()).ok_or(Missing::NoPage)?;
        let runs = runs_of_model(&mut store, &name)?;
        summary(form, &runs, || model::page(&self.venue, &name, &members, &runs))
    }

    fn measure(&self, refused: Option<&str>) -> Reply {
        let page = measure::page(&self.venue, refused, self.starter.running());
        let status = if refused.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
        Reply { status, ..Reply::page(page) }
    }

    /// Carries out a form.
    pub fn change(&self, name: &str, form: &[(String, String)]) -> Reply {
        if !self.door.has_token(form) {
            return Reply::refused(
                StatusCode::FORBIDDEN,
                "a change without its token: reload the page",
            );
        }
        let field = |name: &str| {
            form.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.trim())
        };
        match name {
            "start" => {
                let (target, method) = (field("target"), field("method"));
                let serial = field("destroy");
                if let Some(reason) = measure::refusal(target, method, serial) {
                    return self.measure(Some(&reason));
                }
                match self.starter.start(target, method, serial) {
                    Ok(number) => Reply::see(&names::html(&names::live(number))),
                    Err(reason) => self.measure(Some(&reason)),
                }
            }
            "stop" => {
                self.starter.stop();
                Reply::see(names::RECORDS)
            }
            _ => Reply::refused(StatusCode::NOT_FOUND, "there is no such change"),
        }
    }
}

/// All runs of a model, also those of drives without a model that have this name.
fn runs_of_model(store: &mut Store, name: &str) -> Result<Vec<RunSummary>, StoreError> {
    let filter = Filter { model: Some(name.to_string()), ..Filter::default() };
    lab::listed(store, &filter)
}

/// A page that sums up runs, in one of its forms.
fn summary(
    form: &str,
    runs: &[RunSummary],
    page: impl FnOnce() -> String,
) -> Result<Reply, Missing> {
    match form {
        "html" => Ok(Reply::page(page())),
        "json" => Ok(Reply::ok(JSON, format!("{}\n", lab::runs_json(runs)))),
        "csv" => Ok(Reply::ok(CSV, figures::csv(runs))),
        _ => Err(Missing::NoPage),
    }
}

/// Whether a run is in progress.
pub fn is_running(run: &record::Run) -> bool {
    !run.complete && run.cut_short.is_none()
}
