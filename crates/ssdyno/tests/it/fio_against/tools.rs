//! Runs a case with both tools, each in a directory of its own with equal files.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::case::{Case, FILE, Form, JOB_FILE, SHARED_FILE, Target};

/// A run that takes longer counts as endless. The jobs take less than a second.
const TIME_MAX: Duration = Duration::from_secs(30);

/// Where files are in memory, if there is such a place.
const MEMORY: &str = "/dev/shm";

/// Lines with fewer fields are not terse output.
const TERSE_FIELDS_MIN: usize = 20;

/// The options of the logs, which both tools write.
const LOGS: [&str; 3] = ["write_lat_log=../log", "log_offset=1", "per_job_logs=1"];

/// An operation of the log: direction (0 read, 1 write, 2 trim), bytes and offset.
pub type Logged = (u8, u64, u64);

/// What a tool did.
#[derive(Clone)]
pub struct Did {
    /// The exit code; `None` if it did not end by itself.
    pub code: Option<i32>,
    /// Whether a signal ended it, or a job of it, that the test did not send.
    pub is_killed: bool,
    pub json: Value,
    /// The lines of terse output.
    pub terse: Vec<String>,
    pub said: String,
    /// The log of each clone, in order of completion.
    pub logs: Vec<Vec<Logged>>,
    /// Flushes of the first job before its end, if known from elsewhere than the JSON.
    pub flushes: Option<u64>,
    /// Remaining files, sorted by name.
    pub files: Vec<(String, Vec<u8>)>,
}

/// What both tools did.
pub struct Pair {
    pub theirs: Did,
    pub ours: Did,
}

/// Why the test is skipped, if it must be.
pub fn available() -> Result<(), String> {
    let said = Command::new("fio").arg("--version").output();
    said.map(drop).map_err(|_| "fio is not installed".to_string())
}

/// A new directory, in memory if possible.
pub fn directory() -> TempDir {
    let memory = Path::new(MEMORY);
    let parent = if memory.is_dir() { memory } else { Path::new(env!("CARGO_TARGET_TMPDIR")) };
    TempDir::with_prefix_in("ssdyno-fio-", parent).expect("a directory")
}

pub fn run(case: &Case) -> Pair {
    Pair { theirs: run_one(case, true), ours: run_one(case, false) }
}

/// Runs a case with one of the tools.
pub fn run_one(case: &Case, is_fio: bool) -> Did {
    let place = directory();
    let work = place.path().join("work");
    fs::create_dir(&work).expect("a directory");
    let device = prepare(case, &work, place.path());
    let logs: String = LOGS.iter().map(|log| format!("{log}\n")).collect();
    for (name, text) in case.files() {
        let text = with_device(&text, device.as_ref());
        let text = text.replacen("[global]\n", &format!("[global]\n{logs}"), 1);
        fs::write(work.join(name), text).expect("a file");
    }
    let mut command = if is_fio {
        Command::new("fio")
    } else {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ssdyno"));
        command.arg("fio").arg(format!("--store={}", place.path().join("s").display()));
        command.arg("--overwrite-files");
        if let Target::Device(bytes) = case.target {
            // A loop device is named by the serial number of its file, or by its size.
            command.arg(format!("--destroy={bytes}"));
        }
        command
    };
    let formats = if case.terse { "json,terse" } else { "json" };
    command.arg("--output=../out").arg(format!("--output-format={formats}"));
    if is_fio && case.form == Form::Line && case.jobs.len() == 1 {
        command.arg("--write_iolog=../iolog");
    }
    // Options before a job file are not those of its jobs.
    if case.form == Form::Line {
        command.args(LOGS.iter().map(|log| format!("--{log}")));
    }
    command.args(case.words().iter().map(|word| with_device(word, device.as_ref())));
    command.current_dir(&work).env("HOME", place.path()).env("XDG_DATA_HOME", place.path());
    let said = ended(&mut command, &place.path().join("said"));
    let did = read(case, place.path(), &work, said, device.as_ref());
    drop(device);
    did
}

fn with_device(word: &str, device: Option<&Loop>) -> String {
    device.map_or(word.to_string(), |device| word.replace("DEVICE", &device.node))
}

/// Bytes of a sector.
pub const SECTOR: usize = 512;

/// How names of blocks that failed verification end; `expected` comes with `received`.
const DUMPS: [&str; 3] = [".hdr_fail", ".received", ".expected"];

/// The content of existing files and devices, as far as they reach.
pub static NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut random = fuzz::Random::new(1);
    (0..1 << 20).map(|_| random.below(256) as u8).collect()
});

/// Lays out the existing file or device.
fn prepare(case: &Case, work: &Path, place: &Path) -> Option<Loop> {
    let content = |bytes: u64| &NOISE[..bytes as usize];
    match case.target {
        Target::Files => None,
        Target::Existing(bytes) => {
            fs::write(work.join(FILE), content(bytes)).expect("a file");
            None
        }
        Target::Device(bytes) => {
            let image = place.join("image");
            fs::write(&image, content(bytes)).expect("a file");
            Some(Loop::new(&image).expect("a loop device"))
        }
    }
}

/// Runs a command with its output in the file `said`; the state is `None` if it does not end.
fn ended(command: &mut Command, said: &Path) -> (Option<ExitStatus>, String) {
    // Not a pipe: a fio that says more than one holds would wait for ever.
    let file = File::create(said).expect("a file");
    let both = file.try_clone().expect("a descriptor");
    command.stdin(Stdio::null()).stdout(both).stderr(file);
    let mut child = command.process_group(0).spawn().expect("starts");
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a state") {
            break Some(status);
        }
        if start.elapsed() > TIME_MAX {
            // With the processes of fio's jobs.
            let group = format!("-{}", child.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let said = String::from_utf8_lossy(&fs::read(said).unwrap_or_default()).into_owned();
    (status, said)
}

fn read(
    case: &Case,
    place: &Path,
    work: &Path,
    (status, said): (Option<ExitStatus>, String),
    device: Option<&Loop>,
) -> Did {
    let out = fs::read_to_string(place.join("out")).unwrap_or_default();
    let json: Option<Value> = out.find('{').and_then(|start| {
        let text = &out[start..];
        serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok()
    });
    // After some errors of its options, fio prints no job and ends with 0.
    let has_jobs = json.as_ref().is_some_and(|json| !json["jobs"][0].is_null());
    let code = status.and_then(|status| status.code());
    // fio's jobs are processes of their own.
    let is_killed = status.is_some() && code.is_none() || said.contains("got signal=");
    let code = code.map(|code| if code == 0 && !has_jobs { 1 } else { code });
    let is_terse = |line: &&str| case.terse && line.matches(';').count() >= TERSE_FIELDS_MIN;
    let terse = out.lines().filter(is_terse);
    let terse = terse.map(str::to_string).collect();
    let clones: usize = (0..case.jobs.len()).map(|job| case.clones(job)).sum();
    let logs = (1..=clones).map(|n| log(&place.join(format!("log_lat.{n}.log")))).collect();
    let iolog = fs::read_to_string(place.join("iolog")).ok();
    let is_flush = |line: &&str| line.contains(" sync ") || line.contains(" datasync ");
    let flushes = iolog.map(|text| text.lines().filter(is_flush).count() as u64);
    let mut files = contents(work);
    // Of several blocks that fail, fio and ssdyno keep a different number.
    let count = files.len();
    files.retain(|(name, _)| !DUMPS.iter().any(|end| name.ends_with(end)));
    if files.len() < count {
        files.push(("a block that failed".into(), Vec::new()));
    }
    if let Some(device) = device {
        // The kernel dismantles a ring after its process has ended, and only then writes back.
        let _ = File::open(&device.node).and_then(|file| file.sync_all());
        files.push(("DEVICE".into(), fs::read(place.join("image")).unwrap_or_default()));
    }
    Did { code, is_killed, json: json.unwrap_or_default(), terse, said, logs, flushes, files }
}

fn log(path: &Path) -> Vec<Logged> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = |line: &str| {
        let mut fields = line.split(',').map(|field| field.trim().parse::<u64>().ok());
        let (kind, bytes, offset) = (fields.nth(2)??, fields.next()??, fields.next()??);
        Some((kind as u8, bytes, offset))
    };
    text.lines().filter_map(line).collect()
}

fn contents(work: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(work).expect("a directory").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> =
        names.filter(|name| ![JOB_FILE, SHARED_FILE].contains(&&**name)).collect();
    names.retain(|name| !name.ends_with(".state"));
    names.sort();
    let read = |name: String| {
        let bytes = fs::read(work.join(&name)).unwrap_or_default();
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

/// A loop device, detached when dropped.
struct Loop {
    node: String,
}

impl Loop {
    fn new(image: &Path) -> io::Result<Loop> {
        let said = Command::new("losetup").args(["--find", "--show"]).arg(image).output()?;
        let node = String::from_utf8_lossy(&said.stdout).trim().to_string();
        if node.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(Loop { node }) }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.node]).output();
    }
}

/// Whether loop devices can be made here.
pub fn has_devices() -> bool {
    let image = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fio-against-probe");
    let made = File::create(&image).and_then(|file| file.set_len(1 << 20));
    let device = made.and_then(|()| Loop::new(&image));
    let _ = fs::remove_file(&image);
    device.is_ok()
}
