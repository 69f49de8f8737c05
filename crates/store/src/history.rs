//! Earlier runs: of a drive, and the latest of each target of a machine.
//!
//! They are read during every run and comparison, so the time must depend on the runs that are
//! returned and not on the size of the store. Numbers are found first, by index, and only then are
//! records read.

use record::Run;
use rusqlite::{Connection, ToSql, params};

use crate::pack::expand;
use crate::rows::metrics;

// Without the `+`, SQLite would take the index by method and visit every run of the store.
const EARLIER: &str = "SELECT run, body FROM record
       WHERE run IN (SELECT number FROM run
                     WHERE place IN (SELECT id FROM place WHERE drive_key = ?)
                       AND +method = ? AND number < ? AND complete
                       AND kind <> 'imported'
                     ORDER BY number DESC LIMIT ?)
       ORDER BY run DESC";

// The latest run of each place, found from the place's last runs backwards.
const OF_MACHINE: &str = "SELECT run, body FROM record
       WHERE run IN (SELECT (SELECT number FROM run
                             WHERE run.place = place.id AND machine = ?1 AND +method = ?2
                               AND number < ?3 AND complete AND kind <> 'imported'
                             ORDER BY number DESC LIMIT 1) AS latest
                     FROM place WHERE (drive_key LIKE 'virtual/%') = ?5
                     ORDER BY latest DESC LIMIT ?4)
       ORDER BY run DESC";

/// See [`crate::Store::earlier`]. Unreadable runs are omitted.
pub(crate) fn earlier(
    conn: &Connection,
    drive_key: &str,
    method: &str,
    number: i64,
    most: u32,
    keeps: impl Fn(&Run) -> bool,
) -> rusqlite::Result<Vec<Run>> {
    bare(conn, EARLIER, params![drive_key, method, number, most], keeps)
}

/// See [`crate::Store::of_machine`].
pub(crate) fn of_machine(
    conn: &Connection,
    machine: &str,
    method: &str,
    number: i64,
    most: u32,
    simulated: bool,
) -> rusqlite::Result<Vec<Run>> {
    bare(conn, OF_MACHINE, params![machine, method, number, most, simulated], |_| true)
}

/// The runs found by a query for numbers and bodies, if `keeps` accepts them, with metrics but
/// without series and histograms. `keeps` is called before the metrics are read, because that takes
/// as long as the rest.
fn bare(
    conn: &Connection,
    sql: &str,
    given: &[&dyn ToSql],
    keeps: impl Fn(&Run) -> bool,
) -> rusqlite::Result<Vec<Run>> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(given)?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let body = expand(row.get_ref(1)?.as_blob()?).ok();
        let body = body.and_then(|body| String::from_utf8(body).ok());
        let run = body.and_then(|body| Run::parse(&body).ok());
        let loaded = run.filter(&keeps).and_then(|run| Some((run, metrics(conn, number).ok()?)));
        runs.extend(loaded.map(|(run, metrics)| Run { number: Some(number), metrics, ..run }));
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Journal, set_up};

    #[test]
    fn no_query_visits_all_runs_or_sorts_records() {
        let conn = Connection::open_in_memory().expect("a store");
        let opened = set_up(conn, Journal::Rollback).expect("tables");
        for sql in [EARLIER, OF_MACHINE] {
            let mut statement =
                opened.conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("valid");
            let given: Vec<_> = (0..statement.parameter_count()).map(|_| "1").collect();
            let given = rusqlite::params_from_iter(given);
            let steps = statement.query_map(given, |row| row.get::<_, String>(3)).expect("steps");
            let steps: Vec<String> = steps.collect::<Result<_, _>>().expect("steps");
            let of = |table: &str| {
                let found = steps.iter().find(|step| step.contains(table));
                found.unwrap_or_else(|| panic!("no {table} in {steps:?}"))
            };
            assert!(of("run ").contains("SEARCH run USING INDEX run_by_place"), "{steps:?}");
            assert!(steps[0].starts_with("SEARCH record USING INTEGER PRIMARY KEY"), "{steps:?}");
        }
    }
}
