//! `cargo xtask bench import-against [--outputs N] [--seed S] [--keep DIR]`: what `ssdyno import`
//! makes of the outputs of real tools. `--keep` leaves the outputs in a directory.
//!
//! The tools run on files and a loop device of this benchmark, with drawn options and, for dd, in
//! all locales of the machine. Several formats of one run of fio must give equal figures. Every
//! output is then disturbed as pastes are; the example `import-against` of `compat` reads all of
//! them, and fails if a figure is wrong or a record empty.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use fuzz::Random;

use super::places::{Bench, Loop};
use super::results;
use crate::run::{cargo, find, output, printed, program};

/// Size of the loop device, MiB: f3 fills it.
const LOOP_MIB: u64 = 40;

/// Outputs per thousand of each tool; fio makes the rest.
const SHARES: [(&str, usize); 7] = [
    ("dd", 250),
    ("iozone", 60),
    ("ioping", 40),
    ("f3", 10),
    ("hdparm", 3),
    ("sysbench", 4),
    ("bonnie++", 2),
];

/// Where the tools run, and where their outputs go.
struct Place {
    bench: Bench,
    outputs: PathBuf,
    random: Random,
    locales: Vec<String>,
    /// Outputs, and runs that failed.
    count: usize,
    failures: usize,
}

/// Runs the tools and reads their outputs.
pub fn run(words: &[&str]) -> Result<ExitCode> {
    let option = |name: &str, default: u64| -> Result<u64> {
        let value = words.windows(2).find(|pair| pair[0] == name).map(|pair| pair[1]);
        value.map_or(Ok(default), |value| value.parse().with_context(|| format!("{name} N")))
    };
    let (number, seed) = (option("--outputs", 2000)? as usize, option("--seed", 1)?);
    let keep = words.windows(2).find(|pair| pair[0] == "--keep").map(|pair| PathBuf::from(pair[1]));
    let place = make(number, seed, keep)?;
    let (seed, dir) = (seed.to_string(), place.outputs.display().to_string());
    let example = ["run", "-q", "-p", "compat", "--example", "import-against", "--", &dir, &seed];
    let (is_met, text) = printed(&mut cargo(&example))?;
    ensure!(!text.trim().is_empty(), "the example printed nothing");
    print!("{text}");
    let command = format!("cargo xtask bench import-against --outputs {number} --seed {seed}");
    results::write("import against the tools", &command, &text)?;
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the tools. Their outputs go into a new directory, or one to keep.
fn make(number: usize, seed: u64, keep: Option<PathBuf>) -> Result<Place> {
    let bench = Bench::new()?;
    let outputs = keep.unwrap_or_else(|| bench.path("outputs"));
    fs::create_dir_all(&outputs)?;
    let locales = output(&mut program("locale", &["-a"]))?;
    let locales = locales.lines().map(String::from).collect();
    let random = Random::new(seed);
    let mut place = Place { bench, outputs, random, locales, count: 0, failures: 0 };
    let share = |tool: &str| {
        let share = SHARES.iter().find(|(name, _)| *name == tool).map_or(0, |(_, share)| *share);
        if find(tool).or_else(|| find(&format!("{tool}write"))).is_some() {
            (number * share).div_ceil(1000)
        } else {
            println!("without {tool}");
            0
        }
    };
    (0..share("dd")).try_for_each(|_| place.dd())?;
    (0..share("iozone")).try_for_each(|_| place.iozone())?;
    (0..share("ioping")).try_for_each(|_| place.ioping())?;
    (0..share("sysbench")).try_for_each(|_| place.sysbench())?;
    (0..share("bonnie++")).try_for_each(|_| place.bonnie())?;
    if let Ok(device) = Loop::new(LOOP_MIB) {
        (0..share("hdparm")).try_for_each(|_| place.hdparm(&device.device))?;
        (0..number / 50).try_for_each(|_| place.trim(&device.device))?;
        let (_mounted, at) = device.mounted(place.bench.path("mount"))?;
        (0..share("f3") / 2).try_for_each(|_| place.f3(&at))?;
    } else {
        println!("without a loop device, which needs root: no hdparm, f3 and trims");
    }
    while place.count < number {
        ensure!(place.failures <= number + 10, "most runs of the tools fail");
        place.fio()?;
    }
    Ok(place)
}

impl Place {
    fn draw<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.random.below(words.len())]
    }

    /// Runs a tool and keeps what it prints.
    fn keep(&mut self, tool: &str, program: &str, words: &[&str]) -> Result<()> {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.bench.path("."));
        self.keep_output(tool, &mut command)
    }

    fn keep_output(&mut self, tool: &str, command: &mut Command) -> Result<()> {
        let said = command.output().with_context(|| format!("cannot run {tool}"))?;
        // A tool that failed has no whole result. f3read fails if content is lost.
        if !said.status.success() && tool != "f3read" {
            self.failures += 1;
            return Ok(());
        }
        let text = [said.stdout, said.stderr].concat();
        self.count += 1;
        let path = self.outputs.join(format!("{tool}-{:05}.txt", self.count));
        // The command, for the search of a cause.
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        fs::write(self.bench.path("commands").with_extension(tool), words.join("\n"))?;
        fs::write(path, text).context("cannot write an output")
    }

    fn dd(&mut self) -> Result<()> {
        let locale = self.locales[self.random.below(self.locales.len())].clone();
        let block = self.draw(&["bs=512", "bs=4k", "bs=64k", "bs=1M", "bs=1000"]);
        let count = format!("count={}", 1 + self.random.below(64));
        let mut command = Command::new("dd");
        command.args(["if=/dev/zero", "of=dd.bin", block, &count]);
        match self.random.below(4) {
            0 => command.arg("conv=fdatasync"),
            1 => command.arg("status=progress"),
            _ => &mut command,
        };
        command.env("LC_ALL", &locale).env("LANGUAGE", "").current_dir(self.bench.path("."));
        self.keep_output("dd", &mut command)
    }

    fn iozone(&mut self) -> Result<()> {
        let record = self.draw(&["4k", "16k", "64k"]);
        let size = self.draw(&["256k", "1m", "4m"]);
        let mut words = vec!["-s", size, "-r", record, "-i", "0"];
        for test in ["1", "2"] {
            if self.random.below(2) == 0 {
                words.extend(["-i", test]);
            }
        }
        words.extend(match self.random.below(6) {
            0 => &["-O"][..],
            1 => &["-N"],
            2 => &["-t", "2"],
            3 => &["-R"],
            4 => &["-e", "-I"],
            _ => &[],
        });
        if !words.contains(&"-t") {
            words.extend(["-f", "iozone.tmp"]);
        }
        self.keep("iozone", "iozone", &words)
    }

    fn ioping(&mut self) -> Result<()> {
        let size = self.draw(&["4k", "64k", "1m"]);
        let mode = self.draw(&["-q", "-D", "-L", "-C", "-G"]);
        let mut words = vec!["-c", "4", "-i", "1ms", "-s", size, mode];
        words.extend(if mode == "-G" { &["-WWW", "ioping.tmp"][..] } else { &["."] });
        fs::write(self.bench.path("ioping.tmp"), vec![1; 2 << 20])?;
        self.keep("ioping", "ioping", &words)
    }

    fn sysbench(&mut self) -> Result<()> {
        let mode = self.draw(&["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"]);
        let common = ["fileio", "--file-total-size=4M", "--file-num=2", "--time=1"];
        let mode = format!("--file-test-mode={mode}");
        let threads = format!("--threads={}", 1 + self.random.below(3));
        let block = self.draw(&["--file-block-size=4096", "--file-block-size=16384"]);
        let here = self.bench.path(".");
        let prepare = [&common[..], &["prepare"]].concat();
        let _ = Command::new("sysbench").args(prepare).current_dir(here).output();
        self.keep("sysbench", "sysbench", &[&common[..], &[&mode, &threads, block, "run"]].concat())
    }

    fn bonnie(&mut self) -> Result<()> {
        let size = self.draw(&["16", "64:512", "100"]);
        let files = self.draw(&["0", "1"]);
        let mut words = vec!["-d", ".", "-s", size, "-r", "8", "-n", files, "-u", "root"];
        if self.random.below(2) == 0 {
            words.push("-f");
        }
        let mut command = Command::new("bonnie++");
        // Progress goes to the other stream, which people leave out.
        command.args(words).current_dir(self.bench.path("."));
        command.stderr(std::process::Stdio::null());
        self.keep_output("bonnie", &mut command)
    }

    fn hdparm(&mut self, device: &str) -> Result<()> {
        let mode = self.draw(&["-t", "-T", "-tT"]);
        self.keep("hdparm", "hdparm", &[mode, device])
    }

    /// A good card, and one that lost content.
    fn f3(&mut self, at: &Path) -> Result<()> {
        let mount = at.display().to_string();
        self.keep("f3write", "f3write", &[&mount])?;
        if self.random.below(2) == 0 {
            let block = vec![self.random.below(256) as u8; 512 * (1 + self.random.below(40))];
            let path = at.join("1.h2w");
            let mut file = fs::read(&path)?;
            let start = 512 * self.random.below(file.len() / 1024);
            let end = (start + block.len()).min(file.len());
            file[start..end].copy_from_slice(&block[..end - start]);
            fs::write(&path, file)?;
        }
        self.keep("f3read", "f3read", &[&mount])
    }

    fn trim(&mut self, device: &str) -> Result<()> {
        let rw = format!("--rw={}", self.draw(&["trim", "randtrim", "trimwrite"]));
        let file = format!("--filename={device}");
        let format = self.draw(&["normal", "json", "terse", "normal,json", "normal,json,terse"]);
        let format = format!("--output-format={format}");
        let words = ["--name=j", "--bs=4k", "--size=1m", "--io_size=256k", &rw, &file, &format];
        self.keep("fio", "fio", &words)
    }

    fn fio(&mut self) -> Result<()> {
        let words = self.fio_words();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.keep("fio", "fio", &words)
    }

    /// A command line of fio with drawn options.
    fn fio_words(&mut self) -> Vec<String> {
        let name = self.draw(&["j", "seq read", "a-b", "8k: test", "job, 2"]);
        let rw = self.draw(&["read", "write", "randread", "randwrite", "rw", "randrw"]);
        let block = self.draw(&["512", "4k", "4k", "16k", "4k,8k", "1000"]);
        let size = self.draw(&["64k", "256k", "1m", "250k"]);
        let engine = self.draw(&["psync", "sync", "libaio", "io_uring", "mmap"]);
        let depth = self.draw(&["1", "1", "4", "32"]);
        let format = self.draw(&[
            "normal",
            "normal",
            "json",
            "json+",
            "terse",
            "normal,json",
            "normal,json,terse",
            "json,normal",
            "terse,normal",
        ]);
        let version = self.draw(&["2", "3", "4", "5"]);
        let mut words: Vec<String> = [
            ("name", name),
            ("rw", rw),
            ("bs", block),
            ("size", size),
            ("ioengine", engine),
            ("iodepth", depth),
            ("output-format", format),
            ("terse-version", version),
            ("filename", "fio.tmp"),
        ]
        .map(|(option, value)| format!("--{option}={value}"))
        .to_vec();
        let more = [
            "--numjobs=2",
            "--numjobs=3 --group_reporting=1",
            "--unified_rw_reporting=1",
            "--unified_rw_reporting=both",
            "--fdatasync=4",
            "--fsync=8",
            "--slat_percentiles=1",
            "--lat_percentiles=1",
            "--percentile_list=50:99:99.9",
            "--gtod_reduce=1",
            "--rate_iops=400",
            "--bsrange=4k-16k",
            "--loops=3",
            "--end_fsync=1",
            "--clat_percentiles=0",
            "--disk_util=0",
            "--name=second --rw=randread",
            "--time_based --runtime=1s --rate_iops=60 --status-interval=1 --runtime=2s",
        ];
        for _ in 0..self.random.below(3) {
            // The last costs two seconds.
            let limit = if self.random.below(10) == 0 { more.len() } else { more.len() - 1 };
            let extra = more[self.random.below(limit)];
            words.extend(extra.split(' ').map(String::from));
        }
        words
    }
}
