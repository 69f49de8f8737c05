//! Records that a protocol or a document needs. They are read where the store is read: in the
//! keeper's process.

use std::collections::BTreeMap;

use record::{HistoryKey, Run, Target};
use store::{Filter, Store};

use super::message::Wanted;
use crate::error::Result;

/// Maximum number of latest records to search for those of a protocol.
const OF_PROTOCOL_MAX: u32 = 5000;

/// Maximum number of latest records on a target to search for one.
const OF_TARGET_MAX: u32 = 50;

/// The wanted records.
pub(super) fn find(store: &Store, wanted: &Wanted) -> Result<Vec<Run>> {
    match wanted {
        Wanted::OfProtocol { hash, began } => of_protocol(store, hash, began.as_deref()),
        Wanted::Newest { target, title } => newest(store, target, title),
        Wanted::Latest { target, method, options } => {
            latest(store, target, method, options.as_ref())
        }
    }
}

/// Skips records that cannot be read.
fn of_protocol(store: &Store, hash: &str, began: Option<&str>) -> Result<Vec<Run>> {
    let latest = Filter { limit: Some(OF_PROTOCOL_MAX), ..Filter::default() };
    let runs = store.runs(&latest)?.into_iter().filter_map(|run| store.load(run.number).ok());
    let mut runs: Vec<Run> = runs
        .filter(|run| {
            let part = run.part_of.as_ref().filter(|part| part.hash == hash);
            part.is_some_and(|part| began.is_none_or(|began| began == part.began))
        })
        .collect();
    runs.sort_by_cached_key(|run| {
        (run.part_of.as_ref().map(|part| part.began.clone()), run.id.clone())
    });
    Ok(runs)
}

fn latest(
    store: &Store,
    target: &Target,
    method: &str,
    options: Option<&BTreeMap<String, String>>,
) -> Result<Vec<Run>> {
    let machine_id = store.machine_id();
    let Some(key) = HistoryKey::new(target, machine_id.as_deref()) else { return Ok(Vec::new()) };
    Ok(store.earlier(&key, method, i64::MAX, 1, |run| {
        run.complete && (options.is_none() || run.options.as_ref() == options)
    })?)
}

fn newest(store: &Store, target: &str, title: &str) -> Result<Vec<Run>> {
    let drive = Some(target.to_string());
    let filter = Filter { drive, limit: Some(OF_TARGET_MAX), ..Filter::default() };
    for summary in store.runs(&filter)? {
        let run = store.load(summary.number)?;
        let its_title = run.origin.as_ref().and_then(|origin| origin.title.as_deref());
        if run.target.spec == target && its_title == Some(title) {
            return Ok(vec![run]);
        }
    }
    Ok(Vec::new())
}
