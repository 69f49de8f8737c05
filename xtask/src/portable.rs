//! `cargo xtask portable`: builds that nobody at a Linux machine notices. The portable part of the
//! program (virtual drives, imports, records) for macOS and Windows, and ssdyno on Linux for 32 bits and
//! without its default features.
//!
//! Compiling for another system needs its target (`rustup target add`), but no linker, so it is not
//! part of `cargo xtask test`. `tidy` checks the rule that keeps it true: only a module or item that is
//! marked as Linux's names something of Linux ([`findings`]). With `--wine`, the program for Windows
//! answers README's ten questions under Wine, with the same figures as here, bit for bit. Builds for
//! this machine are also linked and answer one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::packages::{self, Need};
use crate::readme;
use crate::run::{capture, cargo, output, program, root};
use crate::source::{code_of, has_word};

const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// Builds to check: what they are, and the arguments of `cargo check`. Without `bundled`, SQLite
/// needs no compiler for the other system.
const BUILDS: [(&str, &[&str]); 5] = [
    (
        "32 bits",
        &["-p", "ssdyno", "--features", "cards", "--target", "armv7-unknown-linux-gnueabihf"],
    ),
    ("macOS", &["-p", "ssdyno", "--features", "cards", "--target", "x86_64-apple-darwin"]),
    ("Windows", &["-p", "ssdyno", "--features", "cards", "--target", WINDOWS]),
    ("no features", &["-p", "ssdyno", "-p", "lab", "-p", "store", "--all-targets"]),
    ("without cards", &["-p", "ssdyno", "--features", "bundled", "--all-targets"]),
];

/// The packages for `--wine`.
const FOR_WINE: &[Need] =
    &[(&["x86_64-w64-mingw32-gcc"], "gcc-mingw-w64-x86-64"), (&[WINE], "wine64")];

/// Wine without its launcher, which is not in the path.
const WINE: &str = "/usr/lib/wine/wine64";

/// Builds of the command that differ in their features, and those features. The first links the
/// system's SQLite.
const LINKED: [(&str, &str); 2] = [("no features", ""), ("without cards", "bundled")];

/// The oldest SQLite that rusqlite calls; Debian 12 has 3.40.
const SQLITE: &str = "--atleast-version=3.45.3";

/// The directory of another SQLite than the system's, for libsqlite3-sys.
const SQLITE_DIR: &str = "SQLITE3_LIB_DIR";

/// The parts of a record that only the drive determines.
const FIGURES: [&str; 11] = [
    "answer",
    "errors",
    "health_after",
    "latencies",
    "metrics",
    "series",
    "simulated_seconds",
    "state_after",
    "target",
    "verdicts",
    "warnings",
];

/// A library of Windows that Wine has since version 9: the source of its only function in use.
const RANDOM: &str = "\
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG bytes);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T bytes) {
    return SystemFunction036(buffer, (ULONG)bytes);
}
";

/// Starts a program with a store of its own: the drive Z: is the root of this machine.
const IN_WINE: &str = "XDG_DATA_HOME=Z:$XDG_DATA_HOME XDG_STATE_HOME=Z:$XDG_STATE_HOME exec \"$0\" \"$@\" 2>/dev/null";

/// Rooms that are only linked on Linux, or only in tests.
const OF_LINUX: [&str; 3] = ["crates/drive/src", "crates/journal/src", "crates/fuzz/src"];

/// Crates and modules that not every system has.
const NOT_EVERYWHERE: [&str; 7] =
    ["rustix", "libc", "io_uring", "drive", "journal", "std::os::unix", "std::os::fd"];

/// `cargo xtask portable [--wine]`.
pub fn run(words: &[String]) -> Result<ExitCode> {
    let wine = match words {
        [] => false,
        [word] if word == "--wine" => true,
        _ => bail!("cargo xtask portable [--wine]"),
    };
    for (name, arguments) in BUILDS {
        let (compiles, said) =
            capture(cargo(&["check", "-q", "--no-default-features"]).args(arguments))?;
        ensure!(compiles && said.is_empty(), "{name}:\n{}", said.trim_end());
        println!("{name}: compiles without a warning");
    }
    for (name, features) in LINKED {
        if features.is_empty() && !has_sqlite() {
            println!("{name}: not linked, this machine has no SQLite 3.45.3 or later");
            continue;
        }
        println!("{name}: {}", answer_with(features)?);
    }
    if wine {
        let compared = questions()?;
        println!("Windows under Wine: {compared} answers are those of Linux, bit for bit");
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the command can be linked with a SQLite of this machine.
fn has_sqlite() -> bool {
    std::env::var_os(SQLITE_DIR).is_some()
        || output(&mut program("pkg-config", &[SQLITE, "sqlite3"])).is_ok()
}

/// Links the command with these features only; returns its answer to a question, shown from the
/// store, after it has refused to draw a card without the renderer.
fn answer_with(features: &str) -> Result<String> {
    let words = ["build", "-q", "-p", "ssdyno", "--no-default-features", "--features", features];
    output(&mut cargo(&words))?;
    let place = TempDir::new()?;
    let ssdyno = |words: &str| {
        let mut command = program(root().join("target/debug/ssdyno"), &[]);
        command.args(words.split(' ')).current_dir(&place);
        command.env("XDG_DATA_HOME", place.path()).env("XDG_STATE_HOME", place.path());
        command
    };
    output(&mut ssdyno("run sim:sd-class2 -m sdclass --seed 1"))?;
    let (is_drawn, said) = capture(&mut ssdyno("show 1 --card card.png"))?;
    ensure!(!is_drawn && said.contains("cards"), "a card without its renderer: {said}");
    let said = output(&mut ssdyno("show 1"))?;
    let answer = said.lines().find(|line| line.starts_with("The card"));
    Ok(answer.with_context(|| format!("no answer in\n{said}"))?.to_string())
}

/// Compares the answers to README's questions; returns their number.
fn questions() -> Result<usize> {
    let missing = packages::missing(FOR_WINE);
    ensure!(missing.is_empty(), "apt-get install {}", missing.join(" "));
    output(&mut cargo(&["build", "-q", "-p", "ssdyno"]))?;
    let windows = ["build", "-q", "-p", "ssdyno", "--no-default-features", "--features", "bundled"];
    let linker = "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER";
    output(cargo(&windows).args(["--target", WINDOWS]).env(linker, FOR_WINE[0].0[0]))?;
    let target = root().join("target");
    let here = target.join("debug/ssdyno");
    let there = target.join(WINDOWS).join("debug/ssdyno.exe");
    let random = target.join("random.c");
    fs::write(&random, RANDOM).with_context(|| random.display().to_string())?;
    let library = there.with_file_name("bcryptprimitives.dll");
    let mut compiler = program(FOR_WINE[0].0[0], &["-shared", "-o"]);
    output(compiler.arg(library).arg(random).arg("-ladvapi32"))?;
    let text = fs::read_to_string(root().join("README.md")).context("README.md")?;
    let questions = readme::questions(&text)?;
    for question in &questions {
        let expected = question.record(program(&here, &[]))?;
        let mut wine = program("sh", &["-c", IN_WINE, WINE]);
        wine.arg(&there).env("WINEDEBUG", "-all").env("WINEPREFIX", target.join("wine"));
        let record = question.record(wine)?;
        let part = FIGURES.into_iter().find(|part| expected[part] != record[part]);
        ensure!(part.is_none(), "{}: other {}", question.command, part.unwrap_or_default());
    }
    Ok(questions.len())
}

/// The violations of a room, given by the paths of its files below `src`: names of what not every
/// system has, outside modules and items that are marked.
pub fn findings(src: &str, files: &[(PathBuf, String)]) -> Vec<String> {
    if !src.starts_with("crates/") || OF_LINUX.contains(&src) {
        return Vec::new();
    }
    let marked: Vec<PathBuf> =
        files.iter().flat_map(|(path, text)| marked_modules(&module(path), text)).collect();
    let everywhere = files.iter().filter(|(path, _)| {
        let module = module(path);
        !path.starts_with("elsewhere") && !marked.iter().any(|marked| module.starts_with(marked))
    });
    // A room may have a module of the same name.
    let is_own = |name: &str| files.iter().any(|(path, _)| module(path) == Path::new(name));
    let names = NOT_EVERYWHERE.into_iter().filter(|name| !is_own(name));
    let names: Vec<&str> = names.collect();
    let named = |code: &str| names.iter().find(|name| is_named(code, name)).copied();
    let mut findings = Vec::new();
    for (path, text) in everywhere {
        for (line, code) in unmarked_lines(text) {
            let path = path.display();
            let name = named(&code).into_iter();
            findings
                .extend(name.map(|name| format!("{src}/{path}:{line}: {name} is not everywhere")));
        }
    }
    findings
}

/// Whether code names a crate, not a module of the room or a local of that name, or a path.
fn is_named(code: &str, name: &str) -> bool {
    let path = if name.contains("::") { name.to_string() } else { format!("{name}::") };
    code.match_indices(&path).any(|(at, _)| {
        let before = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        !code[..at].ends_with(before)
    })
}

/// A file's module, as a path.
fn module(file: &Path) -> PathBuf {
    let path = file.with_extension("");
    match path.file_name().and_then(|name| name.to_str()) {
        Some("mod" | "lib" | "main") => path.parent().unwrap_or(Path::new("")).to_path_buf(),
        _ => path,
    }
}

/// Whether an attribute limits what follows to some system or to tests, or replaces it elsewhere.
fn is_mark(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[cfg")
        && ["target_os", "unix", "test"].iter().any(|word| has_word(line, word))
}

/// The modules that a file declares with a mark.
fn marked_modules(own: &Path, text: &str) -> Vec<PathBuf> {
    let mut is_marked = false;
    let mut modules = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("#[") {
            is_marked |= is_mark(line);
            continue;
        }
        let declared = line.strip_suffix(';').and_then(|line| line.rsplit_once("mod "));
        modules.extend(declared.filter(|_| is_marked).map(|(_, name)| own.join(name)));
        is_marked = false;
    }
    modules
}

/// The lines of code outside marked items, numbered from 1.
fn unmarked_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    // The indentation of a marked item.
    let mut marked: Option<usize> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let indentation = line.len() - line.trim_start().len();
        match marked {
            None if is_mark(line) => marked = Some(indentation),
            None => lines.push((number, code_of(line))),
            Some(start) => {
                let ends = line.ends_with('}') || line.ends_with("};") || line.ends_with(';');
                if indentation == start && ends && !line.trim_start().starts_with("#[") {
                    marked = None;
                }
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_not_every_system_has_is_named_only_where_it_is_marked() {
        let root = "#[cfg_attr(not(target_os = \"linux\"), path = \"elsewhere/a.rs\")]\nmod a;\nmod b;\n\
                    #[cfg(target_os = \"linux\")]\npub use a::A;\n\
                    #[cfg(target_os = \"linux\")]\nfn f() {\n    drive::list()\n}\n";
        let files = |b: &str| {
            let files = [("lib.rs", root), ("a/c.rs", "use rustix::fs;"), ("b/mod.rs", b)];
            files.map(|(path, text)| (PathBuf::from(path), text.to_string()))
        };
        assert_eq!(findings("crates/x/src", &files("let drive = 1; // drive::list()")), [""; 0]);
        let text = "crates/x/src/b/mod.rs:1: std::os::fd is not everywhere";
        assert_eq!(findings("crates/x/src", &files("use std::os::fd::OwnedFd;")), [text]);
        assert_eq!(findings("crates/drive/src", &files("use std::os::fd::OwnedFd;")), [""; 0]);
    }
}
