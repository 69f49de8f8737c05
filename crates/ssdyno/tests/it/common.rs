//! A separate place for every test: a directory to measure, a store, and the command on both.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

pub const MIB: u64 = 1 << 20;

/// Unwraps a result, or ends the test and prints why it was skipped.
macro_rules! or_skip {
    ($attempt:expr) => {
        match $attempt {
            Ok(value) => value,
            Err(why) => {
                println!("skipped: {why}");
                return;
            }
        }
    };
}
pub(crate) use or_skip;

/// The output of a command.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn of(output: Output) -> Said {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let code = output.status.code().unwrap_or(-1);
        Said { code, out: text(output.stdout), err: text(output.stderr) }
    }

    /// The same, asserting success.
    pub fn good(self) -> Said {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// The record or list on stdout.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// Asserts a refusal: this exit code, one line on stderr that contains `words`, and at most one
    /// more.
    pub fn refuses(&self, code: i32, words: &str) {
        assert_eq!(self.code, code, "{self:?}");
        let lines: Vec<&str> = self.err.lines().collect();
        assert!(lines[0].starts_with("ssdyno: ") && lines[0].contains(words), "{self:?}");
        assert!(lines[1..].iter().all(|l| l.starts_with("   try: ")), "{self:?}");
        assert!(lines.len() <= 2 && self.out.is_empty(), "{self:?}");
    }
}

/// A directory to measure, with a file in it that must stay unchanged, and a store beside it.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Place {
        Place::under(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    pub fn under(parent: &Path) -> Place {
        fs::create_dir_all(parent).expect("a directory");
        let place = Place(TempDir::new_in(parent).expect("a directory"));
        fs::create_dir(place.work()).expect("a directory");
        fs::create_dir(place.path("tmp")).expect("a directory");
        fs::write(place.work().join("canary"), "sings").expect("a file");
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The directory to measure.
    pub fn work(&self) -> PathBuf {
        self.path("work")
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_string()
    }

    /// Creates a file for a test to measure.
    pub fn file(&self, name: &str, bytes: u64) -> String {
        File::create(self.path(name)).and_then(|f| f.set_len(bytes)).expect("a file");
        self.text(name)
    }

    /// The command, with the environment of this place only.
    pub fn command(&self, args: &[&str]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_ssdyno")), args)
    }

    pub fn command_of(&self, binary: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(binary);
        command.args(args).current_dir(self.work()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("HOME", self.path("home"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("TMPDIR", self.path("tmp"));
        command.stdin(Stdio::null());
        command
    }

    pub fn ssdyno(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().expect("starts"))
    }

    /// Runs the command with a fault in its system calls, in strace's syntax
    /// (`openat:error=EIO:when=3+`). Returns an error if there is no tracer.
    pub fn faulty(&self, fault: &str, args: &[&str]) -> Result<Said, String> {
        let inject = format!("inject={fault}");
        let call = fault.split(':').next().unwrap_or_default();
        let traced = format!("trace={call}");
        let binary = env!("CARGO_BIN_EXE_ssdyno");
        // With a filter, only the calls that may fail wait for the tracer.
        let filtered = ["60", "strace", "-f", "--seccomp-bpf", "-o", "/dev/null"];
        let words = [&filtered[..], &["-e", &traced, "-e", &inject, binary], args].concat();
        // A hang ends as a failure with 124, rather than hanging the test.
        let said = self.command_of(Path::new("timeout"), &words).output();
        let said = Said::of(said.map_err(|e| format!("no timeout: {e}"))?);
        match said.code {
            126 | 127 => Err(format!("no strace: {}", said.err)),
            1 if said.err.starts_with("strace:") => Err(said.err),
            _ => Ok(said),
        }
    }

    /// A run of `ssdyno io` with a record as JSON; `TARGET` and words as on the command line.
    pub fn io(&self, line: &str) -> Value {
        let words: Vec<&str> = line.split(' ').collect();
        self.ssdyno(&[&["io"], &words[..], &["--json", "--quiet"]].concat()).good().json()
    }

    /// The runs in the store, latest first; empty without a store.
    pub fn runs(&self) -> Vec<Value> {
        if !self.path("data").join("ssdyno/runs.sqlite").exists() {
            return Vec::new();
        }
        let said = self.ssdyno(&["runs", "--json"]).good().json();
        said.as_array().expect("a list").clone()
    }

    /// Names of files in the measured directory that the test did not create. Asserts that the
    /// canary is unchanged.
    pub fn left_behind(&self) -> Vec<String> {
        let found = contents(&self.work());
        let canary = contents_of_canary();
        assert!(canary.iter().all(|(name, hash)| found.get(name) == Some(hash)), "{found:?}");
        found.into_keys().filter(|name| !canary.contains_key(name)).collect()
    }

    /// Removes these files.
    pub fn clear(&self) {
        for name in self.left_behind() {
            let path = self.work().join(name);
            // Either a file or a directory.
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
    }

    /// Whether nothing was started and nothing remains.
    pub fn is_untouched(&self) -> bool {
        self.runs().is_empty() && contents(&self.work()) == contents_of_canary()
    }
}

fn contents_of_canary() -> BTreeMap<String, u64> {
    BTreeMap::from([("canary".to_string(), hash(b"sings"))])
}

/// Names and hashes of the files of a directory.
pub fn contents(dir: &Path) -> BTreeMap<String, u64> {
    let entries = fs::read_dir(dir).expect("a directory").map(|e| e.expect("an entry"));
    let named = |e: fs::DirEntry| {
        let content = fs::read(e.path()).expect("a file");
        (e.file_name().to_string_lossy().into_owned(), hash(&content))
    };
    entries.map(named).collect()
}

pub fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// The metric with this name in a record.
pub fn metric(record: &Value, name: &str) -> Option<f64> {
    let metrics = record["metrics"].as_array().expect("metrics");
    metrics.iter().find(|m| m["name"] == name)?["value"].as_f64()
}

/// Names of the verdicts of a record.
pub fn verdicts(record: &Value) -> Vec<&str> {
    names(&record["verdicts"])
}

/// Names of the warnings of a record.
pub fn warnings(record: &Value) -> Vec<&str> {
    names(&record["warnings"])
}

fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list").iter();
    list.map(|v| v["name"].as_str().expect("a name")).collect()
}

/// A run in progress, with its lines of events.
pub struct Going {
    pub child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Going {
    /// Starts a run with `--json --events`.
    pub fn start(place: &Place, args: &[&str]) -> Going {
        let args = [args, &["--json", "--events", "--quiet"]].concat();
        Going::of(place.command(&args))
    }

    /// Starts a command that prints events.
    pub fn of(mut command: Command) -> Going {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Going { child, lines }
    }

    /// Reads until a line contains these words; the run is then at that point.
    pub fn until(&mut self, words: &str) -> String {
        loop {
            let line = self.lines.next().unwrap_or_else(|| {
                let mut said = String::new();
                let read = self.child.stderr.as_mut().map(|err| err.read_to_string(&mut said));
                panic!("no line with {words}: {read:?} {said}")
            });
            let line = line.expect("UTF-8");
            if line.contains(words) {
                return line;
            }
        }
    }

    pub fn signal(&self, signal: i32) {
        send(signal, self.child.id());
    }

    /// Waits for the end; returns the output after the lines read so far.
    pub fn end(mut self) -> Said {
        let rest: Vec<String> = self.lines.by_ref().map_while(Result::ok).collect();
        let output = self.child.wait_with_output().expect("ends");
        Said { out: rest.join("\n"), ..Said::of(output) }
    }
}

/// Sends a signal to a process of this test.
pub fn send(signal: i32, pid: u32) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status();
    assert!(sent.is_ok_and(|s| s.success()), "kill -{signal} {pid}");
}

/// Runs a tool. Returns its output, or the reason for a failure.
pub fn tool(name: &str, args: &[&str]) -> Result<String, String> {
    let said = Command::new(name).args(args).output().map_err(|e| format!("{name}: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    match (said.status.success(), text(&said.stderr)) {
        (true, _) => Ok(text(&said.stdout)),
        // A test that is skipped for it says why.
        (false, silence) if silence.is_empty() => Err(format!("{name}: {}", said.status)),
        (false, why) => Err(why),
    }
}

/// Checks that this test runs as root.
pub fn root() -> Result<(), String> {
    match tool("id", &["-u"])?.as_str() {
        "0" => Ok(()),
        _ => Err("needs root".into()),
    }
}

/// A loop device on its own image, detached when dropped.
pub struct Loop {
    pub path: String,
    pub image: PathBuf,
    _dir: TempDir,
}

impl Loop {
    /// `make` is a command that gets the image as its last argument, such as `mkfs.ext4 -q`;
    /// `options` are those of losetup.
    pub fn new(bytes: u64, make: &str, options: &[&str]) -> Result<Loop, String> {
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).map_err(|e| e.to_string())?;
        let image = dir.path().join("image");
        File::create(&image).and_then(|f| f.set_len(bytes)).map_err(|e| e.to_string())?;
        let name = image.to_str().ok_or("UTF-8")?;
        if let Some((program, args)) = make.split(' ').collect::<Vec<_>>().split_first()
            && !program.is_empty()
        {
            tool(program, &[args, &[name]].concat())?;
        }
        let path = tool("losetup", &[options, &["-f", "--show", name]].concat())?;
        Ok(Loop { path, image, _dir: dir })
    }

    pub fn name(&self) -> &str {
        self.path.trim_start_matches("/dev/")
    }

    /// Detaches the image. From then on another test may get the device.
    pub fn detach(&mut self) {
        tool("losetup", &["-d", &self.path]).expect("detached");
        // The kernel does so when the last descriptor of a killed run is closed.
        let backing = format!("/sys/block/{}/loop/backing_file", self.name());
        let image = self.image.to_str().expect("UTF-8");
        while fs::read_to_string(&backing).is_ok_and(|file| file.trim() == image) {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.path.clear();
    }

    /// Attaches the image again, to any device.
    pub fn attach(&mut self) {
        let image = self.image.to_str().expect("UTF-8");
        self.path = tool("losetup", &["-f", "--show", image]).expect("attached");
    }

    pub fn hash(&self) -> u64 {
        hash(&fs::read(&self.image).expect("the image"))
    }

    /// Blocks of 512 bytes that the image, sparse at first, occupies: much faster than a hash of a
    /// large device.
    pub fn written(&self) -> u64 {
        fs::metadata(&self.image).expect("the image").blocks()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = tool("losetup", &["-d", &self.path]);
    }
}

/// A file system mounted in its own directory.
pub struct Mounted {
    pub dir: PathBuf,
    _dir: TempDir,
}

impl Mounted {
    /// `words` are the arguments of mount without the directory: `-o ro /dev/loop0`.
    pub fn new(words: &[&str]) -> Result<Mounted, String> {
        let temporary = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).map_err(|e| e.to_string())?;
        let dir = temporary.path().join("mnt");
        fs::create_dir(&dir).map_err(|e| e.to_string())?;
        tool("mount", &[words, &[dir.to_str().ok_or("UTF-8")?]].concat())?;
        Ok(Mounted { dir, _dir: temporary })
    }

    pub fn text(&self) -> &str {
        self.dir.to_str().expect("UTF-8")
    }

    /// Fills the file system with one file, to the last byte.
    pub fn fill(&self) {
        let mut full = File::create(self.dir.join("full")).expect("a file");
        let mut piece = vec![1; MIB as usize];
        while !piece.is_empty() {
            if std::io::Write::write_all(&mut full, &piece).is_err() {
                piece.truncate(piece.len() / 2);
            }
        }
        let _ = full.sync_all();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // The kernel releases a ring's files shortly after its process has ended.
        for _ in 0..200 {
            match tool("umount", &[self.text()]) {
                Err(why) if why.contains("busy") => std::thread::sleep(Duration::from_millis(50)),
                _ => return,
            }
        }
    }
}
