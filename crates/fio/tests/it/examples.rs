//! fio's example job files, if installed: those that need only local files or devices and a
//! supported engine parse, and the others are refused with a reason. docs/fio.md lists both.
//!
//! `SSDYNO_FIO_EXAMPLES` names their directory if it is not where packages put them;
//! `cargo xtask test` sets it.

use std::path::{Path, PathBuf};

use fio::{CommandLine, EXAMPLES, EXAMPLES_REFUSED, FioError, Here, World, parse};

/// This machine, with every environment variable set.
struct Set;

impl World for Set {
    fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        Here.read(path)
    }

    fn env(&self, name: &str) -> Option<String> {
        Some(match name {
            "FIO_BS" => "4k".into(),
            "FIO_IODEPTH" => "4".into(),
            "FIO_RW" => "randwrite".into(),
            _ => "/tmp".into(),
        })
    }
}

fn directory() -> Option<PathBuf> {
    let named = std::env::var_os("SSDYNO_FIO_EXAMPLES").map(PathBuf::from);
    let usual = ["/usr/share/doc/fio/examples", "/usr/share/fio/examples"].map(PathBuf::from);
    named.into_iter().chain(usual).find(|path| path.is_dir())
}

fn parsed(path: &Path, extra: &[&str]) -> Result<CommandLine, FioError> {
    let words: Vec<String> =
        extra.iter().map(ToString::to_string).chain([path.display().to_string()]).collect();
    parse(&words, &Set)
}

/// Whether an example needs an unsupported file, device or engine.
fn is_elsewhere(what: &str) -> bool {
    let engines = ["ioengine=", "zonemode=zbd", "md_per_io_size", "fdp="];
    engines.iter().any(|needs| what.contains(needs))
}

#[test]
fn examples_for_local_files_and_supported_engines_parse() {
    let Some(directory) = directory() else {
        println!("skipped: fio's examples are missing: apt-get download fio-examples");
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(&directory)
        .expect("a directory")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "fio"))
        .collect();
    files.sort();
    let listed = |name: &str, list: &[&str]| list.contains(&name.trim_end_matches(".fio"));
    for file in &files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match parsed(file, &[]) {
            Ok(CommandLine::Run(plan)) => {
                plan.notes.iter().for_each(|note| println!("{name}: note: {}", note.text));
                // There may be newer examples than the page lists.
                assert!(
                    !listed(&name, EXAMPLES_REFUSED),
                    "{name} parses, but docs/fio.md lists it as refused"
                );
            }
            Ok(CommandLine::Answer(_) | CommandLine::Inflate(_)) => {
                panic!("{name}: no example requests an answer")
            }
            Err(error) => {
                println!("{name}: {}", error.what);
                let why = is_elsewhere(&error.what) || listed(&name, EXAMPLES_REFUSED);
                assert!(why, "{name}: {error}");
                assert!(
                    !listed(&name, EXAMPLES),
                    "{name}: {error}, but docs/fio.md says that it parses"
                );
            }
        }
    }
    assert!(files.len() > 80, "{} examples", files.len());
}
