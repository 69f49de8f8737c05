//! On systems other than Linux, no drive of the machine is known.

use maud::html;

use crate::frame::Venue;

pub fn page(venue: &Venue) -> String {
    let body = html! {
        h1 { "Drives of this machine" }
        p { "They are listed on Linux only." }
    };
    venue.page("this machine", Vec::new(), &body)
}

/// No devices.
pub fn targets() -> Vec<(String, String)> {
    Vec::new()
}
