//! File options: names, number, creation, removal, durability and the page cache.

use super::{OptionEntry, supported};
use crate::draft::JobDraft;
use crate::job::is_drive;
use crate::value::{Parsed, Value, normal, pareto, put, zipf};
use crate::{FadviseHint, Fallocate, FileService, MAX_FILES, ServiceOrder, SyncMode};

pub(super) const OPTIONS: &[OptionEntry] = &[
    supported("directory", &[], |d, v| {
        if !d.job.files.names.is_empty() {
            let note = "comes after filename=, so, as in fio, those files are not in it but in the \
                        current directory; give directory= first";
            v.notes.borrow_mut().push(note.into());
        }
        put(&mut d.job.files.directories, list(v.text()?)?)
    }),
    supported("filename", &[], file_names).says(
        "names from `[global]` and the job are combined, as in fio; `sim:NAME` is a virtual drive",
    ),
    supported("filename_format", &[], |d, v| {
        put(&mut d.job.files.filename_format, v.text()?.into())
    }),
    supported("nrfiles", &["nr_files"], |d, v| put(&mut d.nrfiles, v.count32(1, MAX_FILES)?)),
    supported("openfiles", &[], |d, v| put(&mut d.openfiles, v.count32(0, MAX_FILES)?))
        .says("the other files wait until one is done, as in fio"),
    supported("file_service_type", &[], |d, v| put(&mut d.job.files.service, service(v)?)),
    supported("fallocate", &[], |d, v| {
        let words = [
            ("none", Fallocate::None),
            ("0", Fallocate::None),
            ("native", Fallocate::Native),
            ("posix", Fallocate::Posix),
            ("1", Fallocate::Posix),
            ("keep", Fallocate::Keep),
            ("truncate", Fallocate::Truncate),
        ];
        put(&mut d.job.files.fallocate, v.word(&words)?)
    }),
    supported("fadvise_hint", &[], |d, v| {
        let words = [
            ("0", FadviseHint::None),
            ("1", FadviseHint::ByWorkload),
            ("random", FadviseHint::Random),
            ("sequential", FadviseHint::Sequential),
            ("noreuse", FadviseHint::NoReuse),
        ];
        put(&mut d.job.files.fadvise, v.word(&words)?)
    }),
    supported("overwrite", &[], |d, v| put(&mut d.job.files.overwrite, v.flag()?)),
    supported("create_on_open", &[], |d, v| put(&mut d.job.files.create_on_open, v.flag()?)),
    supported("create_only", &[], |d, v| put(&mut d.job.files.create_only, v.flag()?)),
    supported("create_fsync", &[], |d, v| put(&mut d.job.files.create_fsync, v.flag()?)),
    supported("allow_file_create", &[], |d, v| put(&mut d.job.files.allow_file_create, v.flag()?)),
    supported("pre_read", &[], |d, v| put(&mut d.job.files.pre_read, v.flag()?)),
    supported("invalidate", &[], |d, v| put(&mut d.job.files.invalidate, v.flag()?)),
    supported("unlink", &[], |d, v| put(&mut d.job.files.unlink, v.flag()?)),
    supported("unlink_each_loop", &[], |d, v| put(&mut d.job.files.unlink_each_loop, v.flag()?))
        .says("the files are emptied between loops, which frees the same blocks, and removed after the last"),
    supported("direct", &[], |d, v| put(&mut d.job.syncing.direct, v.flag()?)),
    supported("buffered", &[], |d, v| put(&mut d.job.syncing.direct, !v.flag()?)),
    supported("sync", &[], |d, v| {
        let words = [
            ("none", SyncMode::None),
            ("0", SyncMode::None),
            ("sync", SyncMode::Sync),
            ("1", SyncMode::Sync),
            ("dsync", SyncMode::Dsync),
        ];
        put(&mut d.job.syncing.sync, v.word(&words)?)
    }),
    supported("fsync", &[], |d, v| put(&mut d.job.syncing.fsync, v.count32(0, u32::MAX)?)),
    supported("fdatasync", &[], |d, v| put(&mut d.job.syncing.fdatasync, v.count32(0, u32::MAX)?))
        .says("with fsync=, both periods apply, but every flush is an fsync"),
    supported("end_fsync", &[], |d, v| put(&mut d.job.syncing.end_fsync, v.flag()?)),
    supported("fsync_on_close", &[], |d, v| put(&mut d.job.syncing.fsync_on_close, v.flag()?)),
];

/// Appends names and sets the number of files to the total number of names.
fn file_names(d: &mut JobDraft, v: &Value) -> Parsed<()> {
    let files = &mut d.job.files;
    for name in list(v.text()?)? {
        // With several directories, fio's clones share the names in the first.
        files.names.push(match files.directories.first() {
            Some(directory) if !is_drive(&name) => format!("{directory}/{name}"),
            _ => name,
        });
    }
    if files.names.len() > MAX_FILES as usize {
        return Err(format!("names more than {MAX_FILES} files"));
    }
    put(&mut d.nrfiles, files.names.len() as u32)
}

/// Splits names at colons; `\:` and a leading colon are literal. The name of a drive is not split.
pub(super) fn list(text: &str) -> Parsed<Vec<String>> {
    if is_drive(text) {
        return Ok(vec![text.to_string()]);
    }
    let mut names = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let last_index = names.len() - 1;
        match letter {
            '\\' if letters.peek() == Some(&':') => names[last_index].extend(letters.next()),
            ':' if names[last_index].is_empty() => names[last_index].push(':'),
            ':' => names.push(String::new()),
            _ => names[last_index].push(letter),
        }
    }
    names.retain(|name| !name.is_empty());
    match names.iter().find(|name| name.contains('\0')) {
        Some(_) => Err("a name cannot contain a NUL byte".into()),
        None => Ok(names),
    }
}

fn service(v: &Value) -> Parsed<FileService> {
    let order = match v.text()?.split(':').next().unwrap_or_default() {
        "random" => ServiceOrder::Random,
        "roundrobin" => ServiceOrder::RoundRobin,
        "sequential" => ServiceOrder::Sequential,
        "zipf" => ServiceOrder::Zipf(zipf(v.after_colon())?.value),
        "pareto" => ServiceOrder::Pareto(pareto(v.after_colon())?.value),
        "normal" | "gauss" => ServiceOrder::Normal(normal(v.after_colon())?.value),
        other => {
            let names = "random, roundrobin, sequential, zipf, pareto, normal";
            return Err(format!("'{other}' is not one of {names}"));
        }
    };
    if matches!(order, ServiceOrder::Zipf(_) | ServiceOrder::Pareto(_) | ServiceOrder::Normal(_)) {
        return Ok(FileService { order, every: 1 });
    }
    let period = match v.after_colon() {
        None => 1,
        Some(text) => match v.size(text)?.bytes()? {
            period @ 1..=0xffff_ffff => period as u32,
            period => return Err(format!("cannot change files every {period} operations")),
        },
    };
    Ok(FileService { order, every: period })
}
