//! Dumps of blocks that failed verification: the received and the expected bytes, as files.

use std::io;
use std::path::{Path, PathBuf};

use crate::run::Ran;

/// Writes the blocks of `verify_dump` to `directory` under fio's names: the file's name, the offset
/// within it, and `received` or `expected`, or `hdr_fail` if its header does not tell what was
/// expected. Returns the written files.
pub fn write_dumps(ran: &Ran<'_>, directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for run in &ran.jobs {
        for dump in &run.did.dumps {
            let (path, offset) = run.place(dump.address);
            let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy();
            let contents = match &dump.expected {
                Some(expected) => vec![("received", &dump.found), ("expected", expected)],
                None => vec![("hdr_fail", &dump.found)],
            };
            for (what, content) in contents {
                let path = directory.join(format!("{name}.{offset}.{what}"));
                emit::replace(&path, content)?;
                paths.push(path);
            }
        }
    }
    Ok(paths)
}
