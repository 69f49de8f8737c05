//! The file-changing system calls of a process, as recorded by `strace`.
//!
//! Descriptors are resolved to the files on which they were opened. Calls on files outside the
//! directory under test are ignored, as is shared memory (`-shm`), which does not survive a power
//! cut. An unknown call is an error, because the images would lack its change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Recorded calls. Calls not simulated are recorded only to be rejected.
pub(super) const CALLS: &str = "trace=openat,open,creat,close,dup,dup2,dup3,write,writev,pwrite64,\
    pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,fdatasync,sync_file_range,unlink,unlinkat,\
    rename,renameat,renameat2,link,linkat,symlink,symlinkat,mkdir,mkdirat,rmdir,sendfile,\
    copy_file_range";

/// A nonexistent path, opened to leave a word in the trace.
pub(super) const MARK: &str = "/ssdyno-mark/";

/// A change or a mark of the traced process.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Op {
    MakeDirectory(PathBuf),
    Create(PathBuf),
    Write { file: PathBuf, at: usize, bytes: Vec<u8> },
    Truncate { file: PathBuf, bytes: usize },
    Sync(PathBuf),
    SyncNames(PathBuf),
    Remove(PathBuf),
    Mark(String),
}

/// Reads the trace of a process that worked below `root`, where the `known` files already existed.
pub(super) fn read(text: &str, root: &Path, known: &[PathBuf]) -> Vec<Op> {
    let mut reader =
        Reader { root, open: BTreeMap::new(), starts: BTreeMap::new(), there: known.to_vec() };
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.filter_map(|(_process, call)| reader.call(call.trim_start())).collect()
}

struct Reader<'a> {
    root: &'a Path,
    /// Files below the root by descriptor, and their positions.
    open: BTreeMap<u32, (PathBuf, usize)>,
    /// Everything that was opened, by descriptor: relative paths begin there.
    starts: BTreeMap<u32, PathBuf>,
    there: Vec<PathBuf>,
}

impl Reader<'_> {
    fn call(&mut self, line: &str) -> Option<Op> {
        if line.starts_with("+++") || line.starts_with("---") {
            return None;
        }
        let (name, rest) = line.split_once('(').unwrap_or_else(|| panic!("not a call: {line}"));
        // Calls on files cannot be interrupted by another thread: only one thread of the child uses
        // files.
        let (arguments, result) = match rest.rsplit_once(" = ") {
            Some((arguments, result)) => (arguments.trim_end().trim_end_matches(')'), result),
            None => return self.unfinished(line),
        };
        let words: Vec<&str> = arguments.split(", ").collect();
        let result = result.split(' ').next().and_then(|n| n.parse::<i64>().ok()).unwrap_or(-1);
        if name == "openat" {
            let path = self.from(words[0], &text(words[1]));
            return self.opened(&path, words[2], result);
        }
        if result < 0 {
            return None;
        }
        let numbered = |at: usize| words[at].parse::<u32>().ok();
        match name {
            "close" => drop(self.open.remove(&numbered(0)?)),
            "mkdirat" => {
                let path = self.from(words[0], &text(words[1]));
                return self.below(&path).map(Op::MakeDirectory);
            }
            "mkdir" => return self.below(&text(words[0])).map(Op::MakeDirectory),
            "unlink" => return self.removed(&text(words[0])),
            "unlinkat" => return self.removed(&self.from(words[0], &text(words[1]))),
            "fsync" | "fdatasync" => {
                let (path, _) = self.open.get(&numbered(0)?)?;
                let path = path.clone();
                return Some(if path.is_dir() { Op::SyncNames(path) } else { Op::Sync(path) });
            }
            "ftruncate" => {
                let (file, _) = self.open.get(&numbered(0)?)?;
                let bytes = words[1].parse().expect("a length");
                return Some(Op::Truncate { file: file.clone(), bytes });
            }
            "pwrite64" => {
                let (file, _) = self.open.get(&numbered(0)?)?;
                let mut bytes = decoded(words[1]);
                bytes.truncate(result as usize);
                let at = words[3].parse().expect("an offset");
                return Some(Op::Write { file: file.clone(), at, bytes });
            }
            "write" => {
                let (file, position) = self.open.get_mut(&numbered(0)?)?;
                let mut bytes = decoded(words[1]);
                bytes.truncate(result as usize);
                let at = *position;
                *position += bytes.len();
                return Some(Op::Write { file: file.clone(), at, bytes });
            }
            _ => {
                let here = |word: &&str| self.below(&text(word)).is_some();
                let file = numbered(0).is_some_and(|fd| self.open.contains_key(&fd));
                assert!(!file && !words.iter().any(here), "unknown change: {line}");
            }
        }
        None
    }

    fn unfinished(&self, line: &str) -> Option<Op> {
        assert!(!line.contains("pwrite64"), "simultaneous calls of two threads: {line}");
        None
    }

    fn opened(&mut self, path: &str, flags: &str, result: i64) -> Option<Op> {
        if let Some(word) = path.strip_prefix(MARK) {
            return Some(Op::Mark(word.into()));
        }
        if result >= 0 {
            self.open.remove(&(result as u32));
            self.starts.insert(result as u32, PathBuf::from(path));
        }
        let path = self.below(path).filter(|_| result >= 0)?;
        assert!(!flags.contains("O_TRUNC"), "{}: emptied", path.display());
        self.open.insert(result as u32, (path.clone(), 0));
        if path.is_dir() || self.there.contains(&path) {
            return None;
        }
        self.there.push(path.clone());
        Some(Op::Create(path))
    }

    fn removed(&mut self, path: &str) -> Option<Op> {
        let path = self.below(path)?;
        self.there.retain(|there| *there != path);
        Some(Op::Remove(path))
    }

    /// A path with the directory in which it begins, a descriptor.
    fn from(&self, start: &str, path: &str) -> String {
        let start = start.parse().ok().and_then(|fd: u32| self.starts.get(&fd));
        match start {
            Some(start) if path == "." => start.to_string_lossy().into_owned(),
            Some(start) => start.join(path).to_string_lossy().into_owned(),
            None => path.to_string(),
        }
    }

    /// The path, if it is in the directory under test and survives a power cut.
    fn below(&self, path: &str) -> Option<PathBuf> {
        let path = PathBuf::from(path);
        (path.starts_with(self.root) && !path.to_string_lossy().ends_with("-shm")).then_some(path)
    }
}

fn text(word: &str) -> String {
    String::from_utf8_lossy(&decoded(word)).into_owned()
}

/// Decodes a string printed by `strace -xx`: `"\x41\x42"`.
fn decoded(word: &str) -> Vec<u8> {
    assert!(!word.ends_with("..."), "the trace is truncated: {}", &word[..word.len().min(60)]);
    let digits = word.trim_matches('"').split("\\x").skip(1);
    digits.map(|hex| u8::from_str_radix(hex, 16).expect("two digits")).collect()
}

#[test]
fn calls_are_read_and_unknown_changes_rejected() {
    let hex = |text: &str| {
        let digits: String = text.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
        format!("\"{digits}\"")
    };
    let trace = [
        format!("7 openat(AT_FDCWD, {}, O_RDWR|O_CREAT|O_CLOEXEC, 0644) = 3", hex("/r/s")),
        format!("7 openat(AT_FDCWD, {}, O_RDWR) = -1 ENOENT (No such file)", hex("/r/none")),
        format!("7 pwrite64(3, {}, 2, 4096) = 2", hex("ab")),
        format!("7 pwrite64(9, {}, 2, 4096) = 2", hex("ab")),
        "7 ftruncate(3, 512)       = 0".into(),
        "7 fdatasync(3)            = 0".into(),
        format!("7 openat(AT_FDCWD, {}, O_RDONLY) = -1 ENOENT (No such)", hex("/ssdyno-mark/x")),
        format!("7 unlink({})      = 0", hex("/r/s")),
        "7 +++ exited with 0 +++".into(),
    ];
    let file = PathBuf::from("/r/s");
    let ops = read(&trace.join("\n"), Path::new("/r"), &[]);
    let expected = [
        Op::Create(file.clone()),
        Op::Write { file: file.clone(), at: 4096, bytes: b"ab".to_vec() },
        Op::Truncate { file: file.clone(), bytes: 512 },
        Op::Sync(file.clone()),
        Op::Mark("x".into()),
        Op::Remove(file),
    ];
    assert_eq!(ops, expected);
    let unknown = format!("7 truncate({}, 5) = 0", hex("/r/s"));
    let refused = std::panic::catch_unwind(|| read(&unknown, Path::new("/r"), &[]));
    assert!(refused.is_err(), "{refused:?}");
}
