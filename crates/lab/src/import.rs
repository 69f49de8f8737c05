//! Results of other tools into the store, each a record that names its source.
//!
//! The id of a record derives from the text it was read from, so that importing the same text twice
//! gives one record.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use compat::import;
pub use compat::import::{FORMATS, Format};
use jiff::Timestamp;
use record::Run;
use store::Store;

use crate::error::{LabError, Result};

/// Largest text that is read, bytes: records with all their series take tens of MB.
const BYTES_MAX: u64 = 1 << 30;

/// A record found in a text.
#[derive(Debug)]
pub struct Imported {
    /// The record.
    pub run: Run,
    /// The file it is from; `-` is standard input.
    pub file: String,
    /// Whether it was in the store before.
    pub known: bool,
}

/// The format of that name.
pub fn format(name: &str) -> Result<&'static Format> {
    let known = || FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
    let unknown = || LabError::usage(format!("no format '{name}'; there are: {}", known()));
    import::format(name).ok_or_else(|| unknown().advise("ssdyno import --list"))
}

/// The records in a file; `only` is its format where that is known.
pub fn read(path: &Path, only: Option<&Format>) -> Result<Vec<Imported>> {
    let file = path.display().to_string();
    let bytes = bytes(path).map_err(|e| LabError::usage(format!("{file}: {e}")))?;
    let text = import::decode(&bytes);
    let wrong = |e| LabError::usage(format!("{file}: {e}")).advise("ssdyno import --list");
    let mut runs = import::read(&text, only).map_err(wrong)?;
    for (i, run) in runs.iter_mut().enumerate() {
        complete(run, &file, &bytes, i);
    }
    let found = runs.into_iter();
    Ok(found.map(|run| Imported { run, file: file.clone(), known: false }).collect())
}

/// Enters records that are not in the store yet, and gives every record its number.
pub fn enter(found: &mut [Imported], store: Option<&Path>) -> Result<()> {
    let mut store = Store::open(store)?;
    for imported in found {
        let before = store.find(&imported.run.id).ok();
        let number = store.import(&imported.run)?;
        imported.known = before == Some(number);
        if imported.known {
            imported.run = store.load(number)?;
        }
        imported.run.number = Some(number);
    }
    Ok(())
}

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = match path.to_str() {
        Some("-") => io::stdin().lock().take(BYTES_MAX + 1).read_to_end(&mut bytes)?,
        _ => fs::File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?,
    };
    if read as u64 > BYTES_MAX {
        return Err(io::Error::other("more than 1 GiB"));
    }
    Ok(bytes)
}

/// Gives the record its id, its source and its time.
fn complete(run: &mut Run, file: &str, bytes: &[u8], index: usize) {
    if let Some(origin) = run.origin.as_mut().filter(|origin| origin.source.is_empty()) {
        origin.source = file.to_string();
    }
    let known = run.origin.as_ref().is_some_and(|origin| origin.start_known);
    let moment = run.started.parse::<Timestamp>().ok().filter(|_| known);
    if run.id.is_empty() {
        let content = [bytes, &(index as u64).to_le_bytes()].concat();
        let ms = moment.map_or(0, |moment| moment.as_millisecond());
        run.id = store::id_of(ms, &content);
    }
    if moment.is_none() {
        run.started = Timestamp::now().to_string();
    }
}
