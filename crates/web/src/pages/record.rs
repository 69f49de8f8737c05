//! The page of a record: the report of the run, with links to the other pages.

use record::{HistoryKey, Run};
use report::PageLink;

use crate::frame::{Venue, forms};
use crate::names;

/// The page; fails only if JSON cannot represent a value.
pub fn page(venue: &Venue, run: &Run, number: i64) -> serde_json::Result<String> {
    let key = HistoryKey::new(&run.target, run.environment.machine_id.as_deref());
    let drive = key.map(|key| PageLink::new("Its history", names::html(&names::drive(&key.text))));
    let further = drive.into_iter().chain(forms(&names::run(number))).collect();
    report::linked_html(run, &venue.links_with(further))
}
