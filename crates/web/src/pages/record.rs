//! The page of a record: the report of the run, with links to the other pages.

use record::{HistoryKey, Run};
use report::{PageLink, Scripts};

use crate::frame::{Venue, forms};
use crate::names;

/// The page; fails only if JSON cannot represent a value.
pub fn page(venue: &Venue, run: &Run, number: i64) -> serde_json::Result<String> {
    let key = HistoryKey::new(&run.target, run.environment.machine_id.as_deref());
    let drive = key.map(|key| PageLink::new("Its history", names::html(&names::drive(&key.text))));
    let further = drive.into_iter().chain(forms(&names::run(number))).collect();
    // The pages of a site share their scripts, which are a fifth of each.
    let place = if venue.is_served() { Scripts::Inside } else { Scripts::Beside };
    report::linked_html(run, &venue.links_with(further), place)
}
