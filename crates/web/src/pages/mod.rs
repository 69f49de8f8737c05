//! The pages, a file each. All text of records passes maud, which escapes it.

pub mod compare;

pub mod drives;
pub mod history;
pub mod live;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
pub mod machine;
pub mod measure;
pub mod model;
pub mod record;
pub mod records;

use maud::{Markup, html};
use store::RunSummary;

/// A text without characters that control how it is displayed; a dash if it is unknown.
pub(crate) fn text(text: Option<&str>) -> Markup {
    html! {
        @match text {
            Some(text) => (emit::plain(text)),
            None => span.unknown { "unknown" },
        }
    }
}

/// `2026-11-21 20:50`.
pub(crate) fn minute(run: &RunSummary) -> String {
    let started = run.started.get(..16).unwrap_or(&run.started).replace('T', " ");
    if run.start_known { started } else { "unknown".into() }
}

/// The result of a run in a sentence, and the class of its tone.
pub(crate) fn result(run: &RunSummary) -> (&'static str, String) {
    let answer = run.answer.clone();
    if run.conflict {
        return (
            "bad",
            format!("CONFLICT: another record has its id. {}", answer.unwrap_or_default()),
        );
    }
    if run.running {
        return ("good", "running".into());
    }
    if run.complete {
        return ("plain", answer.unwrap_or_else(|| "nothing was measured".into()));
    }
    let reason = run.cut_short.clone().map(|reason| format!("cut short: {reason}"));
    ("warn", answer.or(reason).unwrap_or_else(|| "cut short".into()))
}
