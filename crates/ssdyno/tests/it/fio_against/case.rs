//! A case: the options of jobs, given as a command line or a job file, and the file that is there
//! before.

use std::fmt;

/// An option with its value, as in a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    pub name: &'static str,
    pub value: String,
}

impl Set {
    pub fn new(name: &'static str, value: impl fmt::Display) -> Set {
        Set { name, value: value.to_string() }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// Where the jobs work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Files in an empty directory.
    Files,
    /// A file of this many bytes, laid out before both runs.
    Existing(u64),
    /// A loop device of this many bytes, over a file of its own.
    Device(u64),
}

/// How the jobs are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// On the command line.
    Line,
    /// In a job file.
    File,
    /// In a job file that includes the one with the options of every job.
    Included,
    /// In a job file with a further section, which `--section` leaves out.
    Sections,
}

/// Jobs to run with both tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    pub target: Target,
    /// Options of every job.
    pub global: Vec<Set>,
    /// Options of each job.
    pub jobs: Vec<Vec<Set>>,
    pub form: Form,
    /// Whether terse output follows the JSON.
    pub terse: bool,
}

/// The name of the existing file.
pub const FILE: &str = "data";

/// The name of the job file.
pub const JOB_FILE: &str = "jobs.fio";

/// The name of the job file that it includes.
pub const SHARED_FILE: &str = "shared.fio";

impl Case {
    /// The value of an option in a job: its own, or the global one.
    pub fn value(&self, job: usize, name: &str) -> Option<&str> {
        let own = self.jobs.get(job).into_iter().flatten().rev();
        let set = own.chain(self.global.iter().rev()).find(|set| set.name == name);
        set.map(|set| set.value.as_str())
    }

    /// Whether any job has this option with another value than 0.
    pub fn has(&self, name: &str) -> bool {
        let sets = self.global.iter().chain(self.jobs.iter().flatten());
        sets.into_iter().any(|set| set.name == name && set.value != "0")
    }

    /// Whether the option has this value in any job.
    pub fn is(&self, name: &str, value: &str) -> bool {
        (0..self.jobs.len()).any(|job| self.value(job, name) == Some(value))
    }

    /// Whether several jobs work in the same file.
    pub fn shares_files(&self) -> bool {
        let is_shared = |job| {
            let format = self.value(job, "filename_format");
            self.has("filename") || format.is_some_and(|format| !format.contains("$jobname"))
        };
        self.jobs.len() > 1 && (0..self.jobs.len()).any(is_shared)
    }

    pub fn rw(&self, job: usize) -> &str {
        self.value(job, "rw").unwrap_or("read").split(':').next().unwrap_or("read")
    }

    /// Whether a job draws the direction of each operation.
    pub fn mixes(&self) -> bool {
        (0..self.jobs.len()).any(|job| matches!(self.rw(job), "rw" | "randrw"))
    }

    /// Number of clones of a job.
    pub fn clones(&self, job: usize) -> usize {
        self.value(job, "numjobs").and_then(|n| n.parse().ok()).unwrap_or(1)
    }

    /// The words of the command line, without those that name outputs.
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        if self.form == Form::Sections {
            words.extend((0..self.jobs.len()).map(|number| format!("--section=j{number}")));
        }
        if self.form != Form::Line {
            words.push(JOB_FILE.into());
            return words;
        }
        words.extend(self.global.iter().map(|set| format!("--{set}")));
        for (number, job) in self.jobs.iter().enumerate() {
            words.push(format!("--name=j{number}"));
            words.extend(job.iter().map(|set| format!("--{set}")));
        }
        words
    }

    /// The job files, with their names.
    pub fn files(&self) -> Vec<(&'static str, String)> {
        let section = |name: String, sets: &[Set]| {
            let lines: String = sets.iter().map(|set| format!("{set}\n")).collect();
            format!("[{name}]\n{lines}")
        };
        let global = section("global".into(), &self.global);
        let jobs = self.jobs.iter().enumerate().map(|(n, job)| section(format!("j{n}"), job));
        let jobs: String = jobs.collect();
        match self.form {
            Form::Line => vec![],
            Form::File => vec![(JOB_FILE, global + &jobs)],
            Form::Included => {
                let shared = self.global.iter().map(|set| format!("{set}\n")).collect();
                let include = format!("[global]\ninclude {SHARED_FILE}\n{jobs}");
                vec![(SHARED_FILE, shared), (JOB_FILE, include)]
            }
            Form::Sections => vec![(JOB_FILE, format!("{global}[other]\nrw=write\n{jobs}"))],
        }
    }

    /// The case as commands for a shell, one per tool.
    pub fn commands(&self) -> String {
        let before = match self.target {
            Target::Files => String::new(),
            Target::Existing(bytes) => format!("head -c {bytes} /dev/urandom > {FILE}\n"),
            Target::Device(bytes) => {
                format!("truncate -s {bytes} image; losetup --find --show image   # DEVICE\n")
            }
        };
        let file = self.files().into_iter();
        let file = file.map(|(name, text)| format!("cat > {name} <<END\n{text}END\n"));
        let file: String = file.collect();
        let words = self.words().join(" ");
        format!("{before}{file}fio {words}\nssdyno fio {words}")
    }
}
