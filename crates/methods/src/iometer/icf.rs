//! IOMeter's configuration files (`.icf`).
//!
//! A line that begins with an apostrophe is a heading for the indented lines below it. Only
//! settings that determine the I/O are read: run time and ramp, access specifications, workers with
//! their outstanding I/Os, assigned specifications and disk extents. Test types that vary the I/O
//! between runs are refused; other settings, such as the data pattern, are ignored. An error quotes
//! its line.

use std::fmt;

/// Sector size in bytes, the unit of disk extents.
const SECTOR: u64 = 512;

/// Maximum specifications, lines of one, and workers, beyond any real configuration.
const SPECS_MAX: usize = 1000;
const LINES_MAX: usize = 100;
const WORKERS_MAX: u32 = 256;

/// Maximum outstanding I/Os of a worker.
const OUTSTANDING_MAX: u32 = 4096;

/// Largest transfer, bytes.
const SIZE_MAX: u64 = 1 << 30;

/// One line of an access specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessLine {
    /// Bytes of a transfer.
    pub size: u32,
    /// Share of the accesses, percent.
    pub share: u32,
    /// Share of reads, percent.
    pub reads: u32,
    /// Share of random addresses, percent.
    pub random: u32,
    /// Pause of the worker after a burst of this line, milliseconds.
    pub delay_ms: u32,
    /// Accesses of this line per burst, at least 1.
    pub burst: u32,
    /// Alignment of addresses in bytes; 0: not given.
    pub align: u32,
}

/// An access specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSpec {
    /// Its name.
    pub name: String,
    /// Its lines, whose shares add up to 100.
    pub lines: Vec<AccessLine>,
}

/// A specification, and the workers with equal settings that issue it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IcfJob {
    /// The specification.
    pub spec: AccessSpec,
    /// Number of workers, each with its own I/Os.
    pub workers: u32,
    /// Outstanding I/Os of each worker.
    pub outstanding: u32,
    /// First byte used on the disk.
    pub start: u64,
    /// Number of bytes used; 0: all.
    pub bytes: u64,
}

/// A test: its runs, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IcfScript {
    /// The jobs of each run, which run at the same time: at least one. Run n issues specification n
    /// of each worker.
    pub runs: Vec<Vec<IcfJob>>,
    /// Duration of each run, seconds; `None`: until stopped.
    pub seconds: Option<u64>,
    /// Ramp before each run, excluded from its results, seconds.
    pub ramp_seconds: u64,
}

impl IcfScript {
    /// All jobs of all runs.
    pub fn jobs(&self) -> impl Iterator<Item = &IcfJob> {
        self.runs.iter().flatten()
    }
}

/// An invalid or unsupported line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IcfError {
    /// Its number, from 1; for a fault of the whole file, the number of its lines.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// The fault.
    pub fault: String,
}

impl fmt::Display for IcfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: '{}': {}", self.line, self.text, self.fault)
    }
}

impl std::error::Error for IcfError {}

/// The fields of a value line.
struct Value<'a> {
    line: usize,
    text: &'a str,
}

impl<'a> Value<'a> {
    fn error(&self, fault: impl Into<String>) -> IcfError {
        let text = self.text.chars().filter(|c| !c.is_control()).take(60).collect();
        IcfError { line: self.line, text, fault: fault.into() }
    }

    fn fields(&self) -> impl Iterator<Item = &'a str> {
        self.text.split(',').map(str::trim)
    }

    fn number(&self, text: Option<&str>, what: &str, most: u64) -> Result<u64, IcfError> {
        let number = text.and_then(|text| text.parse::<u64>().ok());
        number
            .filter(|number| *number <= most)
            .ok_or_else(|| self.error(format!("{what} must be a whole number up to {most}")))
    }

    fn access(&self) -> Result<AccessLine, IcfError> {
        let fields: Vec<&str> = self.fields().collect();
        if fields.len() != 8 {
            return Err(self.error(format!("expected 8 fields, not {}", fields.len())));
        }
        let names = ["size", "share", "reads", "random", "delay", "burst", "alignment", "reply"];
        let most = [SIZE_MAX, 100, 100, 100, 3_600_000, 1 << 20, SIZE_MAX, SIZE_MAX];
        let mut numbers = [0u32; 8];
        for (i, number) in numbers.iter_mut().enumerate() {
            *number = self.number(fields.get(i).copied(), names[i], most[i])? as u32;
        }
        let [size, share, reads, random, delay_ms, burst, align, _] = numbers;
        if size == 0 || burst == 0 {
            return Err(self.error("size and burst must be at least 1"));
        }
        Ok(AccessLine { size, share, reads, random, delay_ms, burst, align })
    }
}

/// Reads a configuration.
pub fn parse(text: &str) -> Result<IcfScript, IcfError> {
    let mut reader = Reader::default();
    let mut key = String::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_end_matches(['\r', ' ', '\t']);
        if let Some(section) = line.strip_prefix('\'') {
            // Indented comments are column headings.
            if !section.starts_with(['\t', ' ']) {
                key = section.trim_end_matches(['=', ' ']).to_ascii_lowercase();
                reader.heading(&key);
            }
        } else if !line.trim().is_empty() && !line.starts_with("Version") {
            let value = Value { line: number + 1, text: line.trim() };
            reader.value(&key, &value)?;
        }
    }
    reader.finish(text.lines().count())
}

/// The specification of an idle worker.
const IDLE: &str = "Idle";

/// A worker while it is read.
#[derive(Clone, Debug, Default, PartialEq)]
struct Worker {
    outstanding: u32,
    specs: Vec<String>,
    bytes: u64,
    start: u64,
    network: bool,
    line: usize,
    name: String,
}

#[derive(Default)]
struct Reader {
    specs: Vec<AccessSpec>,
    /// Line that names each specification: number and text.
    places: Vec<(usize, String)>,
    workers: Vec<Worker>,
    seconds: u64,
    ramp_seconds: u64,
}

impl Reader {
    fn heading(&mut self, key: &str) {
        if key == "worker" {
            self.workers.push(Worker { outstanding: 1, ..Worker::default() });
        }
    }

    fn value(&mut self, key: &str, value: &Value<'_>) -> Result<(), IcfError> {
        let mut fields = value.fields();
        match key {
            "run time" => {
                let mut parts = value.text.split_whitespace();
                let names = [("hours", 3600), ("minutes", 60), ("seconds", 1)];
                self.seconds = 0;
                for (name, seconds) in names {
                    self.seconds += value.number(parts.next(), name, 100_000)? * seconds;
                }
            }
            "ramp up time (s)" => {
                self.ramp_seconds = value.number(fields.next(), "the ramp", 100_000)?;
            }
            "test type" if value.text != "NORMAL" => {
                return Err(value.error("only test type NORMAL is supported"));
            }
            "access specification name,default assignment" => self.name(value)?,
            "size,% of size,% reads,% random,delay,burst,align,reply" => self.access(value)?,
            "worker" => {
                if let Some(worker) = self.workers.last_mut() {
                    (worker.line, worker.name) = (value.line, value.text.to_string());
                }
            }
            "worker type" => self.worker(value)?.network = value.text != "DISK",
            "assigned access specs" => {
                let name = value.text.to_string();
                self.worker(value)?.specs.push(name);
            }
            key if key.starts_with("number of outstanding ios") => {
                let most = u64::from(OUTSTANDING_MAX);
                let count = value.number(fields.next(), "outstanding I/Os", most)?;
                self.worker(value)?.outstanding = (count as u32).max(1);
            }
            key if key.starts_with("disk maximum size,starting sector") => {
                let bytes = value.number(fields.next(), "the maximum size", 1 << 50)? * SECTOR;
                let start = value.number(fields.next(), "the starting sector", 1 << 50)? * SECTOR;
                let worker = self.worker(value)?;
                (worker.bytes, worker.start) = (bytes, start);
            }
            _ => {}
        }
        Ok(())
    }

    fn worker(&mut self, value: &Value<'_>) -> Result<&mut Worker, IcfError> {
        self.workers.last_mut().ok_or_else(|| value.error("no worker precedes it"))
    }

    fn name(&mut self, value: &Value<'_>) -> Result<(), IcfError> {
        let name = value.text.rsplit_once(',').map_or(value.text, |(name, _)| name).trim();
        if name.is_empty() || self.specs.len() == SPECS_MAX {
            return Err(value.error(format!("expected a name; at most {SPECS_MAX} are allowed")));
        }
        self.specs.push(AccessSpec { name: name.to_string(), lines: Vec::new() });
        self.places.push((value.line, value.text.to_string()));
        Ok(())
    }

    fn access(&mut self, value: &Value<'_>) -> Result<(), IcfError> {
        let Some(spec) = self.specs.last_mut() else {
            return Err(value.error("no access specification precedes it"));
        };
        if spec.name == IDLE {
            return Ok(());
        }
        let line = value.access()?;
        if spec.lines.len() == LINES_MAX {
            return Err(value.error(format!("a specification has at most {LINES_MAX} lines")));
        }
        spec.lines.push(line);
        Ok(())
    }

    fn finish(mut self, lines: usize) -> Result<IcfScript, IcfError> {
        let error_at =
            |(line, text): &(usize, String), fault: &str| Value { line: *line, text }.error(fault);
        for (spec, place) in self.specs.iter().zip(&self.places) {
            let sum: u32 = spec.lines.iter().map(|line| line.share).sum();
            if sum != 100 && spec.name != IDLE {
                return Err(error_at(place, &format!("its shares add up to {sum}%, not 100%")));
            }
        }
        let mut workers: Vec<Worker> = self.workers.drain(..).filter(|w| !w.network).collect();
        if workers.is_empty() {
            workers.push(Worker { outstanding: 1, ..Worker::default() });
        }
        if workers.iter().all(|worker| worker.specs.is_empty()) {
            let names: Vec<String> = self.specs.iter().map(|spec| spec.name.clone()).collect();
            workers.iter_mut().for_each(|worker| worker.specs.clone_from(&names));
        }
        let last = workers.iter().map(|worker| worker.specs.len()).max().unwrap_or(0);
        let mut runs = Vec::new();
        for index in 0..last {
            let mut jobs = Vec::new();
            for worker in &workers {
                let Some(name) = worker.specs.get(index).filter(|name| *name != IDLE) else {
                    continue;
                };
                let spec = self.specs.iter().find(|spec| spec.name == *name).ok_or_else(|| {
                    let place = (worker.line.max(1), worker.name.clone());
                    error_at(&place, &format!("there is no specification '{name}'"))
                })?;
                add(&mut jobs, worker, spec);
            }
            runs.extend(Some(jobs).filter(|jobs| !jobs.is_empty()));
        }
        if runs.is_empty() || workers.len() as u32 > WORKERS_MAX {
            let fault = "no access specification to run, or too many workers";
            return Err(IcfError { line: lines, text: "end of file".into(), fault: fault.into() });
        }
        let seconds = Some(self.seconds).filter(|seconds| *seconds > 0);
        Ok(IcfScript { runs, seconds, ramp_seconds: self.ramp_seconds })
    }
}

/// Adds a worker to the job with its settings, or as a new job.
fn add(jobs: &mut Vec<IcfJob>, worker: &Worker, spec: &AccessSpec) {
    let Worker { outstanding, start, bytes, .. } = *worker;
    if spec.lines.is_empty() {
        return;
    }
    let new = IcfJob { spec: spec.clone(), workers: 1, outstanding, start, bytes };
    match jobs.iter_mut().find(|job| IcfJob { workers: 1, ..(**job).clone() } == new) {
        Some(job) => job.workers += 1,
        None => jobs.push(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "Version 1.1.0 \n\
        'TEST SETUP ====================================================================\n\
        'Test Description\n\tan example\n\
        'Run Time\n'\thours      minutes    seconds\n\t0          1          30\n\
        'Ramp Up Time (s)\n\t5\n'Default Disk Workers to Spawn\n\tNUMBER_OF_CPUS\n\
        'Worker Cycling\n'\tstart      step       step type\n\t1          1          LINEAR\n\
        'Test Type\n\tNORMAL\n'END test setup\n\
        'ACCESS SPECIFICATIONS =========================================================\n\
        'Access specification name,default assignment\n\tdatabase, 8K,NONE\n\
        'size,% of size,% reads,% random,delay,burst,align,reply\n\t8192,80,67,100,0,1,0,0\n\
        \t65536,20,100,0,5,2,65536,0\n\
        'Access specification name,default assignment\n\tstream,ALL\n\
        'size,% of size,% reads,% random,delay,burst,align,reply\n\t1048576,100,0,0,10,4,0,0\n\
        'END access specifications\n\
        'MANAGER LIST ==================================================================\n\
        'Manager ID, manager name\n\t1,HOST\n'Manager network address\n\t\n\
        'Worker\n\tWorker 1\n'Worker type\n\tDISK\n\
        'Default target settings for worker\n\
        'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,\
        fixed seed value\n\
        \t3,DISABLED,1,DISABLED,0\n\
        'Disk maximum size,starting sector,Data pattern\n\t2097152,64,0\n\
        'End default target settings for worker\n\
        'Assigned access specs\n\tstream\n\tdatabase, 8K\n'End assigned access specs\n\
        'Target assignments\n'Target\n\tC: \"\"\n'Target type\n\tDISK\n'End target\n\
        'End target assignments\n\
        'End worker\n'End manager\n'END manager list\nVersion 1.1.0 \n";

    #[test]
    fn parses_a_file_written_by_iometer() {
        let script = parse(FILE).expect("well formed");
        let names: Vec<&str> = script.jobs().map(|job| job.spec.name.as_str()).collect();
        assert_eq!(names, ["stream", "database, 8K"], "in assignment order");
        let job = &script.runs[1][0];
        assert_eq!((job.workers, job.outstanding), (1, 3));
        assert_eq!((script.seconds, script.ramp_seconds), (Some(90), 5));
        assert_eq!((job.bytes, job.start), (1 << 30, 32 << 10));
        let line = job.spec.lines[0];
        assert_eq!(
            (line.size, line.share, line.reads, line.random, line.align),
            (8192, 80, 67, 100, 0)
        );
        let pauses = job.spec.lines.iter().map(|line| (line.delay_ms, line.burst));
        assert_eq!(pauses.collect::<Vec<_>>(), [(0, 1), (5, 2)], "each line has its own");
        let stream = script.runs[0][0].spec.lines[0];
        assert_eq!((stream.delay_ms, stream.burst), (10, 4));
    }

    #[test]
    fn a_broken_line_is_quoted_with_its_number() {
        let error = |from: &str, to: &str| {
            let text = FILE.replace(from, to);
            assert_ne!(text, FILE);
            parse(&text).expect_err("broken").to_string()
        };
        let text = error("8192,80,67,100,0,1,0,0", "8192,80,67,100");
        assert_eq!(text, "line 22: '8192,80,67,100': expected 8 fields, not 4");
        let text = error("8192,80,67", "8192,80,670");
        assert!(text.starts_with("line 22: '8192,80,670,") && text.contains("reads"), "{text}");
        let text = error("65536,20,", "65536,10,");
        assert_eq!(text, "line 20: 'database, 8K,NONE': its shares add up to 90%, not 100%");
        assert!(error("\tNORMAL", "\tCYCLE_WORKERS").contains("only test type NORMAL"));
        assert!(error("\tstream\n", "\tstreams\n").contains("no specification 'streams'"));
        let text = error("65536,20,100,0,5,2", "65536,20,100,0,5,0");
        assert!(
            text.starts_with("line 23: '65536,20,100,0,5,0,") && text.contains("burst"),
            "{text}"
        );
        let text = error("0,10,4,0,0", "0,10,4,0,x");
        assert!(text.ends_with("reply must be a whole number up to 1073741824"), "{text}");
        assert!(parse("").expect_err("empty").to_string().contains("no access specification"));
    }

    #[test]
    fn workers_have_their_own_extents_depths_and_specifications() {
        let second = "'Worker\n\tWorker 2\n'Worker type\n\tDISK\n\
            'Number of outstanding IOs,test connection rate\n\t5,DISABLED\n\
            'Disk maximum size,starting sector,Data pattern\n\t2097152,100000,0\n\
            'Assigned access specs\n\tstream\n\tIdle\n'End worker\n'End manager";
        let idle = "'Access specification name,default assignment\n\tIdle,NONE\n\
            'size,% of size,% reads,% random,delay,burst,align,reply\n\t0,100,100,0,0,1,0,0\n\
            'END access";
        let text = FILE.replace("'End manager", second).replace("'END access", idle);
        let runs = parse(&text).expect("well formed").runs;
        let settings = |job: &IcfJob| (job.workers, job.outstanding, job.start / SECTOR);
        let settings = runs.iter().map(|run| run.iter().map(settings).collect::<Vec<_>>());
        let expected = [vec![(1, 3, 64), (1, 5, 100_000)], vec![(1, 3, 64)]];
        assert_eq!(settings.collect::<Vec<_>>(), expected);
        let twice = "'Worker\n\tWorker 2\n'Worker type\n\tDISK\n'Worker\n\tWorker 3\n";
        let end = "'Assigned access specs\n\tstream\n'End worker\n'End manager";
        let alike = FILE.replace("'End manager", &format!("{twice}{end}"));
        let runs = parse(&alike).expect("well formed").runs;
        assert_eq!(runs[0].iter().map(|job| job.workers).sum::<u32>(), 2, "one is idle");
        // With the settings of the first worker it joins its job.
        let settings = "'Number of outstanding IOs,test connection rate\n\t3,DISABLED\n\
            'Disk maximum size,starting sector,Data pattern\n\t2097152,64,0\n";
        let same = format!("'Worker\n\tWorker 2\n'Worker type\n\tDISK\n{settings}{end}");
        let runs = parse(&FILE.replace("'End manager", &same)).expect("well formed").runs;
        assert_eq!(runs[0].iter().map(|job| job.workers).collect::<Vec<_>>(), [2]);
    }
}
