//! The fuzz targets of this crate: fio's command lines, job files and I/O logs.

use std::io;

use fio::{CommandLine, World, parse};
use fuzz::{FuzzTarget, outcome};

/// Every parser of this crate.
pub const TARGETS: &[FuzzTarget] = &[COMMAND_LINE, JOB_FILE, IO_LOG];

/// Command lines, one word per line.
const COMMAND_LINE: FuzzTarget =
    FuzzTarget { name: "fio-command-line", run: command_line, corpus: COMMAND_LINES };

/// Job files.
const JOB_FILE: FuzzTarget = FuzzTarget { name: "fio-job-file", run: job_file, corpus: JOB_FILES };

/// I/O logs of a job that repeats one.
const IO_LOG: FuzzTarget = FuzzTarget { name: "fio-io-log", run: io_log, corpus: IO_LOGS };

fn command_line(input: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(input);
    let words: Vec<String> = text.lines().map(String::from).collect();
    parsed(&words, b"[global]\nbs=8k\n[a]\nsize=1m\n[b]\nstonewall\nsize=2m\n")
}

fn job_file(input: &[u8]) -> u64 {
    parsed(&["a.fio".to_string()], input)
}

fn io_log(input: &[u8]) -> u64 {
    let words = ["--name=a", "--read_iolog=log.fio", "--replay_scale=2", "--replay_align=512"];
    parsed(&words.map(String::from), input)
}

/// Parses in a world where all files whose names end in `.fio` are the same.
fn parsed(words: &[String], file: &[u8]) -> u64 {
    // The option as typed precedes the colon.
    let why = |text: &str| outcome(text.split_once(": ").map_or(text, |(_, why)| why));
    match parse(words, &Closed { file }) {
        Err(error) => why(&error.what),
        Ok(CommandLine::Answer(text)) => {
            outcome(text.split_whitespace().next().unwrap_or_default())
        }
        Ok(CommandLine::Inflate(log)) => outcome(&log),
        Ok(CommandLine::Run(plan)) => {
            // The runner of a plan needs the paths; their number must be bounded.
            let paths: usize = plan.jobs.iter().take(8).map(|job| job.paths(0).len()).sum();
            let notes = plan.notes.first().map_or(0, |note| why(&note.text));
            let engines: String = plan.jobs.iter().take(2).map(|job| job.engine.name()).collect();
            notes ^ outcome(&engines) ^ (plan.jobs.len().min(4) + paths.min(4)) as u64
        }
    }
}

struct Closed<'a> {
    file: &'a [u8],
}

impl World for Closed<'_> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        match path.ends_with(".fio") {
            true => Ok(self.file.to_vec()),
            false => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    fn env(&self, name: &str) -> Option<String> {
        // Long enough for several of them to exceed the maximum line length.
        (name.len() % 2 == 1).then(|| "64k".repeat(name.len() * 40))
    }
}

const COMMAND_LINES: &[&str] = &[
    "--randrepeat=1\n--ioengine=libaio\n--direct=1\n-gtod_reduce=1\n--name=test\n--\n\
     filename=random_read.fio\n--bs=4k\n--iodepth=1\n-size=250M\n--readwrite=randrw\n==rwmixread=80\n",
    "--name=io 256GB SSSTC\n--directory=/srv/x/\n--filename=test.dat\n--bs=4k\n--iodepth=64\n\
     --size=4G\n--readwrite=randrw\n--rwmixread=75\n",
    "--output-format=json,normal\n--output=o.json\n--eta=never\n--eta-newline=1s\na.fio\nb.fio\n\
     --section=a\n--warn-unsupported\n--status-interval=2\n",
    "--name=a\n--thread\n--size\n10%\n--numjobs=4\n--name=b\n--wait_for=a\n--rw=randread:8\n",
    "--cmdhelp=bssplit\n",
    "--showcmd\na.fio\n",
    "--enghelp\n",
];

const JOB_FILES: &[&str] = &[
    "; all of it\n[global]\nbs=4k\ninclude b.fio\nsize=(4*1024)k\nrw=randrw:4\nrwmixread=70\n\
     [one]\nfilename=/dev/sdb:/tmp/a\\:b\nbssplit=4k/10:64k/50:32k/40,8k\niodepth=32\n\
     iodepth_batch_complete_min=4\nstonewall\n[two]\nwait_for=one\nbsrange=1k-16k,2k-8k\n",
    "[a]\nrandom_distribution=zoned:60/10:30/20:8/30:2/40,100/100\nrate=1m,500k\nrate_process=poisson\n\
     thinktime=2ms\nthinktime_blocks=4\nverify=pattern\nverify_pattern=%o\"abc\"0xdeadbeef-10\n\
     runtime=30s\ntime_based\nramp_time=2\nsteadystate=iops_slope:0.3%\nss_dur=30\nss_ramp=5\n",
    "[a]\nnumjobs=$ncpus*2\nsize=${X}m\ndirectory=/a:/b\nfilename_format=$jobname.$jobnum.$filenum\n\
     nrfiles=8\nfile_service_type=random:4\nopenfiles=2\nkb_base=1000\noffset=25%\n\
     offset_increment=5%\ncpus_allowed=0,2-4\npercentile_list=1:50:99.99\nignore_error=EIO:84,,ENOSPC\n\
     random_distribution=zipf:1.2:0.5\npercentage_random=50,60\nblockalign=8k\nlatency_target=5ms\n",
    "[zone]\nzonemode=strided\nzonesize=256m\nzonerange=1g\nzoneskip=2g\nfilesize=4k-16k\n\
     verify=md5\nverify_interval=4096\nverify_offset=64\nverify_backlog=16\nlog_avg_msec=500\n\
     write_bw_log\nwrite_lat_log=x\nunified_rw_reporting=both\nstartdelay=2-5\nmax_latency=10ms\n",
];

const IO_LOGS: &[&str] = &[
    "fio version 2 iolog\na add\nb add\na open\na write 0 8192\nb wait 1500 0\nb read 4096 512\n\
     a sync 0 0\nb datasync 0 0\na trim 0 4096\na close\n",
    "fio version 3 iolog\n0 a add\n5 a open\n9 a read 18014398509481984 4096\n8 a write 0 512\n\
     fio version 3 iolog\n3 a read 0 512\n12 a close\n",
];
