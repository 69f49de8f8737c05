//! A store with changed rows gives records or one-line errors, whatever was changed.
//!
//! The store is that of the migration test. Each mutation changes one value of one row, either as
//! stored or inside the compressed parts. These are recompressed, so that decompression does not
//! catch the change.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use fuzz::Random;
use lab::compare::{self, Side};
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec;
use record::Run;
use report::Style;
use rusqlite::Connection;
use rusqlite::types::Value;
use store::{Filter, Store, StoreError};

const MUTATIONS: u64 = 2000;

/// Values to change: table, column, and whether it is compressed.
const COLUMNS: [(&str, &str, bool); 14] = [
    ("record", "body", true),
    ("record", "body", true),
    ("record", "latencies", true),
    ("record", "latencies", true),
    ("piece", "data", true),
    ("piece", "data", false),
    ("piece", "points", false),
    ("metric", "value", false),
    ("metric", "samples", false),
    ("metric", "n", false),
    ("word", "text", false),
    ("run", "headline", false),
    ("run", "started", false),
    ("place", "model", false),
];

/// The store, migrated to the current format, without a log file.
fn store() -> (tempfile::TempDir, Vec<u8>) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("runs.sqlite");
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/stores/version-1.sqlite");
    fs::copy(old, &path).expect("a copy");
    drop(Store::open(Some(&path)).expect("migrated"));
    let conn = Connection::open(&path).expect("open");
    // Each mutation reopens the file; a write-ahead log would add two files each time.
    conn.pragma_update(None, "journal_mode", "DELETE").expect("changed");
    drop(conn);
    let content = fs::read(&path).expect("read");
    (dir, content)
}

/// Changes one value, and returns a line that names it.
fn mutate(path: &Path, random: &mut Random) -> String {
    let conn = Connection::open(path).expect("open");
    let (table, column, packed) = COLUMNS[random.below(COLUMNS.len())];
    let key = match table {
        "metric" => "run * 1000 + position",
        "run" => "number",
        "record" => "run",
        "piece" => "number",
        _ => "id",
    };
    let sql = format!("SELECT {key}, {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY 1");
    let mut rows: Vec<(i64, Value)> = conn
        .prepare(&sql)
        .and_then(|mut s| s.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
        .expect("listed");
    if rows.is_empty() {
        return mutate(path, random);
    }
    let (row, value) = rows.swap_remove(random.below(rows.len()));
    let changed = match value {
        Value::Blob(data) if packed => {
            let data = decompress_to_vec(&data).expect("own data");
            Value::Blob(compress_to_vec(&change(data, random), 1))
        }
        Value::Blob(data) => Value::Blob(change(data, random)),
        Value::Text(text) => {
            Value::Text(String::from_utf8_lossy(&change(text.into_bytes(), random)).into_owned())
        }
        Value::Integer(n) => Value::Integer(n ^ (1 << random.below(64))),
        Value::Real(n) => match f64::from_bits(n.to_bits() ^ (1 << random.below(64))) {
            n if n.is_nan() => Value::Real(f64::INFINITY),
            n => Value::Real(n),
        },
        Value::Null => Value::Null,
    };
    let sql = format!("UPDATE {table} SET {column} = ? WHERE {key} = ?");
    // The index refuses a word that equals another one.
    let _ = conn.execute(&sql, rusqlite::params![changed, row]);
    format!("{table}.{column} of {row}")
}

/// Changes a byte, adds one, removes one, or swaps two.
fn change(mut data: Vec<u8>, random: &mut Random) -> Vec<u8> {
    if data.is_empty() {
        return vec![random.below(256) as u8];
    }
    let (at, half) = (random.below(data.len()), data.len() / 2);
    match random.below(6) {
        0 => data.insert(at, random.below(256) as u8),
        1 => drop(data.remove(at)),
        2 => data.swap(at, half),
        // A digit stays a digit, so that JSON stays JSON.
        3 | 4 if data[at].is_ascii_digit() => data[at] = b'0' + random.below(10) as u8,
        _ => data[at] = random.below(256) as u8,
    }
    data
}

/// Does everything that is done with records, and returns the errors. Records equal to `good` ones
/// are not shown again.
fn read(path: &Path, good: &mut Vec<Run>) -> Result<Vec<StoreError>, StoreError> {
    let store = Store::open(Some(path))?;
    let mut errors: Vec<StoreError> = store.runs(&Filter::default()).err().into_iter().collect();
    let mut runs: Vec<Run> = Vec::new();
    for number in store.numbers()? {
        match lab::kept(&store, number) {
            Ok((run, _)) => runs.push(run),
            Err(error) => errors.push(error),
        }
    }
    for run in &runs {
        if good.contains(run) {
            continue;
        }
        let style = Style { colour: false, width: 80, unicode: true };
        let _ = (report::terminal(run, &style), report::markdown(run), report::csv(run));
        let _ = (report::csv_series(run), report::json(run, true), report::html(run));
        let side = |run: &Run| Side { runs: vec![run.clone()], repeats: Vec::new() };
        let _ = compare::compare(&[side(&runs[0]), side(run)], None);
    }
    if good.is_empty() {
        *good = runs;
    }
    Ok(errors)
}

#[test]
fn two_thousand_changes_end_in_records_or_errors() {
    let (dir, good) = store();
    let path = dir.path().join("runs.sqlite");
    let mut whole = Vec::new();
    assert!(read(&path, &mut whole).expect("readable").is_empty(), "the store itself is intact");
    let mut random = Random::new(0x5eed);
    let mut failed = 0;
    for i in 0..MUTATIONS {
        fs::write(&path, &good).expect("written");
        let changed = mutate(&path, &mut random);
        let errors = catch_unwind(AssertUnwindSafe(|| read(&path, &mut whole)));
        let errors = errors.unwrap_or_else(|_| panic!("mutation {i}: {changed}"));
        let errors = errors.unwrap_or_else(|error| vec![error]);
        failed += u64::from(!errors.is_empty());
        for error in errors {
            assert!(
                matches!(error, StoreError::Damaged { .. }),
                "mutation {i}: {changed}: {error}"
            );
            let line = error.to_string();
            assert!(!line.contains('\n'), "mutation {i}: {changed}: {line}");
        }
    }
    assert!((MUTATIONS / 10..MUTATIONS).contains(&failed), "{failed} of {MUTATIONS} were errors");
}
