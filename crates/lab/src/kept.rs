//! A stored record prepared for display, with its origin and conflicts from the store.

use jiff::Timestamp;
use record::{Document, Finding, FindingKind, Level, Run};
use serde_json::{Value, json};
use store::{Filter, Provenance, RunSummary, Store, StoreError, StoredRecord};

/// Loads a record by number for display. Its first findings report its origin and whether the store
/// still has its original content. The document is as stored.
pub fn kept(store: &Store, number: i64) -> Result<(Run, Document), StoreError> {
    let StoredRecord { document, kind, conflicts, intact } = store.kept(number)?;
    let mut run = document.run().clone();
    let mut findings = Vec::new();
    if !intact {
        let text = "the content of this record has changed since it was stored";
        findings.push(Finding::new(FindingKind::DamagedRecord, Level::Bad, text));
    }
    if !conflicts.is_empty() {
        let finding = Finding::new(FindingKind::Conflict, Level::Bad, conflict(&conflicts));
        findings.push(finding.advise("export it again where it was measured"));
    }
    if let Some(text) = carried(&run, kind, store.machine_id().as_deref()) {
        findings.push(Finding::new(FindingKind::Carried, Level::Note, text));
    }
    run.warnings.splice(0..0, findings);
    Ok((answered(run), document))
}

/// The runs that match a filter, latest first, each with a headline. Records that were stored without
/// an answer (those of earlier versions, and runs that were killed) are read once, and their headline is kept.
pub fn listed(store: &mut Store, filter: &Filter) -> Result<Vec<RunSummary>, StoreError> {
    let mut runs = store.runs(filter)?;
    let mut headlines = Vec::new();
    for run in runs.iter_mut().filter(|run| run.answer.is_none() && !run.running) {
        run.answer = kept(store, run.number)?.0.answer.map(|answer| answer.headline);
        headlines.extend(run.answer.clone().map(|headline| (run.number, headline)));
    }
    if !headlines.is_empty() && store.read_only().is_none() {
        // A store that is locked gets them the next time.
        let _ = store.keep_headlines(&headlines);
    }
    Ok(runs)
}

/// A list of runs as JSON.
pub fn runs_json(runs: &[RunSummary]) -> Value {
    let summaries = runs.iter().map(|run| {
        json!({
            "number": run.number,
            "id": run.id,
            "hash": run.hash.map(|hash| hash.to_string()),
            "kind": run.kind.name(),
            "machine": run.machine,
            "host": run.host,
            "title": run.title,
            "tags": run.tags,
            "conflict": run.conflict,
            "started": run.start_known.then_some(&run.started),
            "method": run.method,
            "target": run.target,
            "drive": run.drive,
            "serial": run.serial,
            "firmware": run.firmware,
            "complete": run.complete,
            "running": run.running,
            "cut_short": run.cut_short,
            "headline": run.headline,
            "answer": run.answer,
        })
    });
    summaries.collect()
}

/// The start of a run, milliseconds since 1970; `None` if it is unknown.
pub fn started_ms(run: &Run) -> Option<i64> {
    let is_known = run.origin.as_ref().is_none_or(|origin| origin.start_known);
    let time = is_known.then(|| run.started.parse::<Timestamp>().ok()).flatten();
    time.map(|time| time.as_millisecond())
}

/// The other records with this id, in a sentence.
fn conflict(others: &[i64]) -> String {
    let names: Vec<String> = others.iter().map(|other| format!("run {other}")).collect();
    let (names, have) = (names.join(", "), if others.len() == 1 { "has" } else { "have" });
    format!("{names} {have} the same id but other content: one of them was changed")
}

/// Adds an answer to records stored without one: imports, publications, runs of earlier versions,
/// and killed runs. A stored answer gets the worse of its own stamp and that of the record.
pub fn answered(run: Run) -> Run {
    Run { answer: Some(methods::answer(&run)), ..run }
}

/// Where a record comes from, in a sentence, if it was not measured here.
fn carried(run: &Run, kind: Provenance, here: Option<&str>) -> Option<String> {
    if kind == Provenance::Imported {
        return None;
    }
    let machine = &run.environment;
    let host = machine.host.as_ref().map(|host| format!(" ({host})")).unwrap_or_default();
    match machine.machine_id.as_deref() {
        Some(id) if here != Some(id) => {
            let id: String = id.chars().take(8).collect();
            Some(format!("measured by ssdyno on machine {id}{host}, copied to this store"))
        }
        _ if kind == Provenance::Measured => None,
        Some(_) => Some("measured by ssdyno on this machine, copied from another store".into()),
        None => Some(format!("measured by ssdyno on another machine{host}, copied to this store")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_conflicts_are_a_plural() {
        assert!(conflict(&[2]).starts_with("run 2 has the same id but"));
        assert!(conflict(&[2, 3]).starts_with("run 2, run 3 have the same id but"));
    }
}
