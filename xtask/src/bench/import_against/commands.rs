//! Command lines of the tools, drawn from a seed.

use fuzz::Random;

/// A command of a tool.
pub struct ToolCommand {
    pub program: String,
    pub words: Vec<String>,
    pub locale: Option<String>,
}

impl ToolCommand {
    pub fn new(program: &str, words: &[&str]) -> ToolCommand {
        let words = words.iter().map(|word| (*word).to_string()).collect();
        ToolCommand { program: program.to_string(), words, locale: None }
    }

    /// The tool's name in the names of the outputs.
    pub fn tool(&self) -> &str {
        self.program.trim_end_matches('+')
    }

    /// The command in one line, for the search of a cause.
    pub fn line(&self) -> String {
        let locale = self.locale.iter().map(|locale| format!("LC_ALL={locale}"));
        let quoted = |word: &String| {
            if word.contains(' ') { format!("'{word}'") } else { word.clone() }
        };
        let words = std::iter::once(&self.program).chain(&self.words).map(quoted);
        locale.chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// Draws commands.
pub struct Draw {
    pub random: Random,
    locales: Vec<String>,
}

impl Draw {
    pub fn new(seed: u64, locales: Vec<String>) -> Draw {
        Draw { random: Random::new(seed), locales }
    }

    /// A command of a tool; `device` is the loop device, for those that need one.
    pub fn command(&mut self, tool: &str, device: &str) -> ToolCommand {
        match tool {
            "dd" => self.dd(),
            "iozone" => self.iozone(),
            "ioping" => self.ioping(),
            "sysbench" => self.sysbench(),
            "bonnie++" => self.bonnie(),
            "hdparm" => ToolCommand::new("hdparm", &[self.pick(&["-t", "-T", "-tT"]), device]),
            "trim" => self.trim(device),
            _ => self.fio(),
        }
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.random.below(words.len())]
    }

    fn dd(&mut self) -> ToolCommand {
        let block = self.pick(&["bs=512", "bs=4k", "bs=64k", "bs=1M", "bs=1000"]);
        let count = format!("count={}", 1 + self.random.below(64));
        let mut words = vec!["if=/dev/zero", "of=dd.bin", block, &count];
        words.extend(match self.random.below(4) {
            0 => &["conv=fdatasync"][..],
            1 => &["status=progress"],
            _ => &[],
        });
        let locale = Some(self.locales[self.random.below(self.locales.len())].clone());
        ToolCommand { locale, ..ToolCommand::new("dd", &words) }
    }

    /// Letters are joined as getopt allows.
    fn iozone(&mut self) -> ToolCommand {
        let record = self.pick(&["4k", "16k", "64k"]);
        let size = self.pick(&["256k", "1m", "4m"]);
        let mut words = match self.random.below(3) {
            0 => vec![format!("-s{size}"), format!("-r{record}")],
            _ => ["-s", size, "-r", record].map(String::from).to_vec(),
        };
        let joined = self.random.below(2) == 0;
        for test in ["0", "1", "2"] {
            if test == "0" || self.random.below(2) == 0 {
                match joined {
                    true => words.push(format!("-i{test}")),
                    false => words.extend(["-i".to_string(), test.to_string()]),
                }
            }
        }
        let mode = match self.random.below(8) {
            0 => "-O",
            1 => "-N",
            2 => "-t 2",
            3 => "-R",
            4 => "-e -I",
            5 => "-ceO",
            6 => "-eIN",
            _ => "",
        };
        words.extend(mode.split_whitespace().map(String::from));
        if !mode.starts_with("-t") {
            words.extend(["-f", "iozone.tmp"].map(String::from));
        }
        ToolCommand { words, ..ToolCommand::new("iozone", &[]) }
    }

    fn ioping(&mut self) -> ToolCommand {
        let size = self.pick(&["4k", "64k", "1m"]);
        let mode = self.pick(&["-q", "-D", "-L", "-C", "-G"]);
        let mut words = vec!["-c", "4", "-i", "1ms", "-s", size, mode];
        words.extend(if mode == "-G" { &["-WWW", "ioping.tmp"][..] } else { &["."] });
        ToolCommand::new("ioping", &words)
    }

    fn sysbench(&mut self) -> ToolCommand {
        let mode = self.pick(&["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"]);
        let mode = format!("--file-test-mode={mode}");
        let threads = format!("--threads={}", 1 + self.random.below(3));
        let block = self.pick(&["--file-block-size=4096", "--file-block-size=16384"]);
        let common = ["fileio", "--file-total-size=4M", "--file-num=2", "--time=1"];
        ToolCommand::new("sysbench", &[&common[..], &[&mode, &threads, block, "run"]].concat())
    }

    fn bonnie(&mut self) -> ToolCommand {
        let size = self.pick(&["16", "64:512", "100"]);
        let files = self.pick(&["0", "1"]);
        let mut words = vec!["-d", ".", "-s", size, "-r", "8", "-n", files, "-u", "root"];
        if self.random.below(2) == 0 {
            words.push("-f");
        }
        ToolCommand::new("bonnie++", &words)
    }

    fn trim(&mut self, device: &str) -> ToolCommand {
        let rw = format!("--rw={}", self.pick(&["trim", "randtrim", "trimwrite"]));
        let file = format!("--filename={device}");
        let format = self.pick(&["normal", "json", "terse", "normal,json", "normal,json,terse"]);
        let format = format!("--output-format={format}");
        let words = ["--name=j", "--bs=4k", "--size=1m", "--io_size=256k", &rw, &file, &format];
        ToolCommand::new("fio", &words)
    }

    /// A command line of fio with drawn options.
    fn fio(&mut self) -> ToolCommand {
        let format = self.pick(&[
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
        let options = [
            ("name", self.pick(&["j", "seq read", "a-b", "8k: test", "job, 2"])),
            ("rw", self.pick(&["read", "write", "randread", "randwrite", "rw", "randrw"])),
            ("bs", self.pick(&["512", "4k", "4k", "16k", "4k,8k", "1000"])),
            ("size", self.pick(&["64k", "256k", "1m", "250k"])),
            ("ioengine", self.pick(&["psync", "sync", "libaio", "io_uring", "mmap"])),
            ("iodepth", self.pick(&["1", "1", "4", "32"])),
            ("output-format", format),
            ("terse-version", self.pick(&["2", "3", "4", "5"])),
            ("filename", "fio.tmp"),
        ];
        let mut words = options.map(|(option, value)| format!("--{option}={value}")).to_vec();
        for _ in 0..self.random.below(3) {
            // The last costs two seconds.
            let last = MORE.len() - usize::from(self.random.below(10) > 0);
            let extra = MORE[self.random.below(last)];
            words.extend(extra.split(' ').map(String::from));
        }
        ToolCommand { words, ..ToolCommand::new("fio", &[]) }
    }
}

/// Further options of fio.
const MORE: [&str; 18] = [
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
