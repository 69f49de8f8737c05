//! The claims of a document in the order of its places: as text, and as a section of the page.
//!
//! A reader with the document beside him looks up a place by its number. Places without claims are
//! listed too, so that nothing is left out unseen.

use maud::{Markup, html as markup};

use super::Replication;
use super::text::{SENTENCE_COLUMNS, lines};
use crate::html::sheet::sheet;
use crate::table::Align::Left;
use crate::{Ink, Style};

/// Indentation of a claim below its place.
const INDENT: &str = "    ";

/// All places of a document and their claims.
#[derive(Clone, Debug)]
pub struct Claims {
    /// How many claims have each state; empty for a document without claims.
    pub sentence: String,
    pub places: Vec<ClaimPlace>,
}

/// A paragraph or table of the document.
#[derive(Clone, Debug)]
pub struct ClaimPlace {
    /// Its number.
    pub at: String,
    /// Its subject.
    pub topic: String,
    /// Why it has no claims.
    pub none: Option<String>,
    pub claims: Vec<ClaimEntry>,
}

/// A statement of the document and its outcome.
#[derive(Clone, Debug)]
pub struct ClaimEntry {
    pub says: String,
    /// The row or column of the place.
    pub row: Option<String>,
    pub state: ClaimState,
    /// The experiment and its result.
    pub shown_by: String,
    /// Why it differs or cannot be reproduced, or what limits the result.
    pub remark: String,
}

/// The outcome of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimState {
    Reproduced,
    Differs,
    /// No experiment here can show it.
    Cannot,
    /// Its experiments were not selected.
    NotRun,
}

impl ClaimState {
    fn words(self) -> &'static str {
        match self {
            ClaimState::Reproduced => "reproduced",
            ClaimState::Differs => "differs, because",
            ClaimState::Cannot => "cannot be reproduced here, because",
            ClaimState::NotRun => "not run",
        }
    }

    fn ink(self) -> Ink {
        match self {
            ClaimState::Reproduced => Ink::Good,
            ClaimState::Differs => Ink::Bad,
            ClaimState::Cannot => Ink::Warn,
            ClaimState::NotRun => Ink::Dim,
        }
    }
}

/// The claims as text, place by place.
pub fn claims_text(view: &Replication, style: &Style) -> String {
    let width = style.width.min(SENTENCE_COLUMNS);
    let mut text = style.paint(Ink::Strong, &view.title) + "\n";
    for place in &view.claims.places {
        let heading = lines(&format!("{}: {}", place.at, place.topic), width);
        text += "\n";
        text += &heading.lines().map(|l| style.paint(Ink::Strong, l) + "\n").collect::<String>();
        if let Some(none) = &place.none {
            text += &indented(&format!("none: {none}"), INDENT, width);
        }
        text +=
            &place.claims.iter().map(|claim| claim_text(claim, style, width)).collect::<String>();
    }
    text + "\n" + &lines(&view.claims.sentence, width)
}

fn claim_text(claim: &ClaimEntry, style: &Style, width: usize) -> String {
    let row = claim.row.as_ref().map_or(String::new(), |row| format!("{row}: "));
    let indent = INDENT.repeat(2);
    let mut text = indented(&format!("{row}{}", claim.says), INDENT, width);
    text += &format!("{indent}{}\n", style.paint(claim.state.ink(), claim.state.words()));
    if !claim.remark.is_empty() {
        text += &indented(&claim.remark, &indent, width);
    }
    if !claim.shown_by.is_empty() {
        let shown_by = indented(&claim.shown_by, &indent, width);
        text += &shown_by.lines().map(|l| style.paint(Ink::Dim, l) + "\n").collect::<String>();
    }
    text
}

/// A paragraph with this indentation.
fn indented(text: &str, indent: &str, width: usize) -> String {
    let wrapped = lines(text, width.saturating_sub(indent.len()));
    wrapped.lines().map(|line| format!("{indent}{line}\n")).collect()
}

/// The claims as a section of the page.
pub(super) fn section(claims: &Claims) -> Markup {
    let headings = [("place", Left), ("claim", Left), ("state", Left), ("shown by", Left)];
    markup! {
        section {
            h2 { "Every claim, by its place in the document" }
            p { (claims.sentence) }
            (sheet("Claims", &headings, markup! {
                @for place in &claims.places {
                    tr.place {
                        th scope="rowgroup" { (place.at) }
                        td colspan="3" {
                            (place.topic)
                            @if let Some(none) = &place.none { span.unknown { " – none: " (none) } }
                        }
                    }
                    @for claim in &place.claims { (row(claim)) }
                }
            }))
        }
    }
}

fn row(claim: &ClaimEntry) -> Markup {
    let state = match claim.state {
        ClaimState::Reproduced => "plain",
        ClaimState::Differs => "bad",
        ClaimState::Cannot | ClaimState::NotRun => "warn",
    };
    markup! {
        tr.claim {
            td { @if let Some(row) = &claim.row { (row) } }
            td { (claim.says) }
            td {
                b.(state) { (claim.state.words()) }
                @if claim.state == ClaimState::Reproduced && !claim.remark.is_empty() { ";" }
                " " (claim.remark)
            }
            td.unknown { (claim.shown_by) }
        }
    }
}
