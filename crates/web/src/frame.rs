//! The frame that all pages share: title, links, style.

use maud::{Markup, PreEscaped, html};
use report::{PageFrame, PageLink};

use crate::names;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What lists and forms need beside the style of reports.
const LOOK: &str = include_str!("look.css");

/// Where the pages are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Venue {
    /// As files: they show only.
    Site,
    /// On the server, which also compares and measures, given this token.
    Server { token: String },
}

impl Venue {
    /// Whether pages may have forms.
    pub fn is_served(&self) -> bool {
        matches!(self, Venue::Server { .. })
    }

    /// The links to the other pages.
    pub fn links(&self) -> Vec<PageLink> {
        let mut links =
            vec![PageLink::new("Records", names::RECORDS), PageLink::new("Drives", names::DRIVES)];
        if self.is_served() {
            links.push(PageLink::new("This machine", names::MACHINE));
            links.push(PageLink::new("Measure", names::MEASURE));
        }
        links
    }

    /// The same, and further ones of a page.
    pub fn links_with(&self, further: Vec<PageLink>) -> Vec<PageLink> {
        [self.links(), further].concat()
    }

    /// A whole page.
    pub fn page(&self, title: &str, further: Vec<PageLink>, body: &Markup) -> String {
        self.page_with(title, further, html! {}, body)
    }

    /// A whole page with further elements in its head.
    pub fn page_with(
        &self,
        title: &str,
        further: Vec<PageLink>,
        head: Markup,
        body: &Markup,
    ) -> String {
        let links = self.links_with(further);
        let head = html! { style { (PreEscaped(LOOK)) } (head) };
        report::page(&PageFrame { title, version: VERSION, links: &links, head }, body)
    }
}

/// The version that the pages name.
pub fn version() -> &'static str {
    VERSION
}

/// Links to the other forms of a page.
pub fn forms(name: &str) -> Vec<PageLink> {
    vec![PageLink::new("JSON", format!("{name}.json")), PageLink::new("CSV", format!("{name}.csv"))]
}
