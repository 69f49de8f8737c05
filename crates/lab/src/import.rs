//! Imports records of ssdyno and results of other tools into the store.
//!
//! A record of ssdyno keeps its id and its content. The id of another tool's result is derived from
//! its text, so importing the same text twice gives one record.
//!
//! Records are read one at a time and entered in batches, so memory use does not grow with their
//! number. [`check`] looks at every file before the first record is entered. A pipe cannot be read
//! twice, so the records before an invalid one are already in the store.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use compat::import::{self, Pieces, StreamPiece};
pub use compat::import::{FORMATS, Format};
use jiff::Timestamp;
use record::{Document, Labels, Run};
use store::{Entered, News, RECORD_BYTES_MAX, Store};

use crate::error::{LabError, Result};
use crate::kept::answered;

/// Records per transaction: enough to make its cost small, few enough to keep in memory.
const BATCH: usize = 16;

/// Maximum bytes of records per transaction.
const BATCH_BYTES: usize = 8 << 20;

/// A record during import.
#[derive(Debug)]
pub struct Imported {
    /// The record.
    pub document: Document,
    /// Its source file, or `standard input`.
    pub file: String,
    /// The line of the file on which it begins; `None` for a result of another tool, whose origin
    /// has it.
    pub line: Option<usize>,
    /// The outcome; `None` in a dry run.
    pub entered: Option<Entered>,
}

/// The store that receives the records. The first record opens it, so that input without a record
/// creates no store.
pub struct Destination {
    path: Option<PathBuf>,
    store: Option<Store>,
}

impl Destination {
    /// The store at this path, or the default one.
    pub fn at(path: Option<&Path>) -> Destination {
        Destination { path: path.map(Path::to_path_buf), store: None }
    }

    fn open(&mut self) -> Result<&mut Store> {
        let store = match self.store.take() {
            Some(store) => store,
            None => Store::open(self.path.as_deref())?,
        };
        Ok(self.store.insert(store))
    }

    fn sync(&mut self) -> Result<()> {
        self.store.as_mut().map_or(Ok(()), |store| Ok(store.sync()?))
    }
}

pub fn format(name: &str) -> Result<&'static Format> {
    import::format(name).ok_or_else(|| {
        let names = FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
        LabError::usage(format!("no format '{name}'; known: {names}"))
            .advise("ssdyno import --list")
    })
}

/// The files to import: of a directory all its files, by name, except hidden ones.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let dir_error = |e: io::Error| LabError::usage(format!("{}: {e}", path.display()));
        let entries = std::fs::read_dir(path).map_err(dir_error)?;
        let entries: Vec<_> = entries.collect::<io::Result<_>>().map_err(dir_error)?;
        let entries = entries.iter().filter(|entry| {
            !entry.file_name().as_encoded_bytes().starts_with(b".") && entry.path().is_file()
        });
        let mut names: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        if names.is_empty() {
            return Err(LabError::usage(format!("{}: no files in this directory", path.display())));
        }
        names.sort();
        files.append(&mut names);
    }
    Ok(files)
}

/// Checks that files can be imported; skips pipes.
pub fn check(files: &[impl AsRef<Path>], only: Option<&Format>) -> Result<()> {
    let mut files = files.iter().map(AsRef::as_ref).filter(|path| !is_pipe(path));
    files.try_for_each(|path| pass(path, only, &Labels::default(), &mut |_| Ok(())))
}

/// A missing file and a directory are not: they are refused like an unreadable file.
fn is_pipe(path: &Path) -> bool {
    let kind = path.metadata().map(|meta| meta.file_type());
    path == Path::new("-") || kind.is_ok_and(|kind| !kind.is_file() && !kind.is_dir())
}

/// Reads files (`-` is standard input) and passes every record to `each`, after entering it if
/// there is a destination. `only` is the format, if known; `labels` go with results of other tools.
pub fn read(
    files: &[impl AsRef<Path>],
    only: Option<&Format>,
    mut into: Option<Destination>,
    labels: &Labels,
    each: &mut dyn FnMut(Imported) -> Result<()>,
) -> Result<()> {
    let result = files.iter().try_for_each(|path| {
        let mut batch = Batch { into: into.as_mut(), waiting: Vec::new(), bytes: 0, count: 0 };
        let result = pass(path.as_ref(), only, labels, &mut |imported| batch.add(imported, each));
        let flushed = batch.flush(each);
        let count = batch.count;
        result.map_err(|e| match count {
            0 => e,
            n => e.advise(format!(
                "fix it and import again: the records before it ({n}) are already stored"
            )),
        })?;
        flushed
    });
    result.and(into.map_or(Ok(()), |mut into| into.sync()))
}

/// Records waiting for their transaction.
struct Batch<'a> {
    into: Option<&'a mut Destination>,
    waiting: Vec<Imported>,
    bytes: usize,
    /// Number of records entered so far.
    count: usize,
}

impl Batch<'_> {
    fn add(
        &mut self,
        (imported, bytes): (Imported, usize),
        each: &mut dyn FnMut(Imported) -> Result<()>,
    ) -> Result<()> {
        let Some(destination) = &mut self.into else { return each(imported) };
        let store = destination.open()?;
        // The same text has the same id, even if a later version reads more from it.
        let number = imported.line.is_none().then(|| store.find(&imported.document.run().id).ok());
        if let Some(number) = number.flatten() {
            self.flush(each)?;
            let entry = Some(Entered { number, news: News::Known });
            return each(Imported { entered: entry, ..imported });
        }
        self.waiting.push(imported);
        self.bytes += bytes;
        if self.waiting.len() >= BATCH || self.bytes >= BATCH_BYTES {
            self.flush(each)
        } else {
            Ok(())
        }
    }

    fn flush(&mut self, each: &mut dyn FnMut(Imported) -> Result<()>) -> Result<()> {
        let Some(destination) = self.into.as_mut().filter(|_| !self.waiting.is_empty()) else {
            return Ok(());
        };
        let (waiting, _) = (std::mem::take(&mut self.waiting), std::mem::take(&mut self.bytes));
        let entries =
            destination.open()?.import(waiting.iter().map(|imported| &imported.document))?;
        let headlines = waiting.iter().zip(&entries).filter(|(imported, entry)| {
            entry.news != News::Known && imported.document.run().answer.is_none()
        });
        let headlines = headlines.filter_map(|(imported, entry)| {
            let run = answered(imported.document.run().clone());
            Some((entry.number, run.answer?.headline))
        });
        destination.open()?.keep_headlines(&headlines.collect::<Vec<_>>())?;
        self.count += entries.len();
        let imports = waiting.into_iter().zip(entries);
        imports
            .map(|(imported, entry)| Imported { entered: Some(entry), ..imported })
            .try_for_each(each)
    }
}

/// Reads one file to its end. Each record comes with its size in bytes.
fn pass(
    path: &Path,
    only: Option<&Format>,
    labels: &Labels,
    each: &mut dyn FnMut((Imported, usize)) -> Result<()>,
) -> Result<()> {
    let standard = path == Path::new("-");
    let file = if standard { "standard input".into() } else { path.display().to_string() };
    let usage_error = |why: String| LabError::usage(format!("{file}: {why}"));
    let input: Box<dyn BufRead> = if standard {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).map_err(|e| usage_error(e.to_string()))?))
    };
    let takes_records = only.is_none_or(|format| format.name == "ssdyno");
    let mut has_records = false;
    let mut barren = None;
    for piece in Pieces::new(input, RECORD_BYTES_MAX) {
        match piece.map_err(|e| usage_error(e.to_string()))? {
            StreamPiece::Record { json, line } if takes_records => {
                let document = Document::parse(&json)
                    .map_err(|e| usage_error(format!("line {line}: not an ssdyno record: {e}")))?;
                if *labels != Labels::default() {
                    let text = format!("line {line} is a record of ssdyno, which keeps its labels");
                    return Err(usage_error(text).advise("import it without labels"));
                }
                has_records = true;
                let file = file.clone();
                each((Imported { document, file, line: Some(line), entered: None }, json.len()))?;
            }
            StreamPiece::Record { .. } => {}
            StreamPiece::Text { bytes, line } => {
                let text = import::decode(&bytes);
                let runs = import::results(&text, line, only)
                    .map_err(|e| usage_error(e.to_string()).advise("ssdyno import --list"))?;
                if runs.is_empty() && barren.is_none() {
                    barren = Some((text, line));
                }
                for (i, mut run) in runs.into_iter().enumerate() {
                    has_records = true;
                    complete(&mut run, &file, &bytes, i);
                    run.labels = labels.clone().if_any();
                    let document =
                        Document::from_run(run).map_err(|e| usage_error(e.to_string()))?;
                    let file = file.clone();
                    each((Imported { document, file, line: None, entered: None }, 0))?;
                }
            }
        }
    }
    if has_records {
        return Ok(());
    }
    let (text, line) = barren.unwrap_or_else(|| (String::new(), 1));
    let reason = import::nothing(&text, line, only);
    Err(usage_error(reason.to_string()).advise("ssdyno import --list"))
}

/// Sets the id, the source and the time of another tool's result.
fn complete(run: &mut Run, file: &str, bytes: &[u8], index: usize) {
    if let Some(origin) = run.origin.as_mut().filter(|origin| origin.source.is_empty()) {
        origin.source = file.to_string();
    }
    let start_known = run.origin.as_ref().is_some_and(|origin| origin.start_known);
    let moment = run.started.parse::<Timestamp>().ok().filter(|_| start_known);
    if run.id.is_empty() {
        let content = [bytes, &(index as u64).to_le_bytes()].concat();
        let ms = moment.map_or(0, |moment| moment.as_millisecond());
        run.id = store::id_of(ms, &content);
    }
    if moment.is_none() {
        run.started = Timestamp::now().to_string();
    }
}
