//! fio's command lines and job files, as users write them, and their plans.

use std::collections::HashMap;
use std::time::Duration;

use fio::{
    Amount, Blocks, CommandLine, Distribution, Engine, FioError, Job, OutputFormat, Plan, Rw,
    Share, World, parse,
};

/// A world with these files and nothing else.
struct Files(HashMap<String, String>);

impl World for Files {
    fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        let file = self.0.get(path).map(|text| text.clone().into_bytes());
        file.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }
}

fn asked(words: &[&str], files: &[(&str, &str)]) -> Result<CommandLine, FioError> {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let files = files.iter().map(|(name, text)| (name.to_string(), text.to_string()));
    parse(&words, &Files(files.collect()))
}

fn plan(words: &[&str]) -> Plan {
    match asked(words, &[]) {
        Ok(CommandLine::Run(plan)) => *plan,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn job(words: &[&str]) -> Job {
    let words: Vec<&str> = ["--name=x"].iter().chain(words).copied().collect();
    plan(&words).jobs.remove(0)
}

fn file(text: &str) -> Plan {
    match asked(&["a.fio"], &[("a.fio", text)]) {
        Ok(CommandLine::Run(plan)) => *plan,
        other => panic!("{text}: {other:?}"),
    }
}

fn refusal(words: &[&str]) -> FioError {
    asked(words, &[]).expect_err("an error")
}

/// The command published in document 000, as split by a shell, without its last word.
const FIRST: &[&str] = &[
    "--randrepeat=1",
    "--ioengine=libaio",
    "--direct=1",
    "-gtod_reduce=1",
    "--name=test",
    "--filename=random_read.fio",
    "--bs=4k",
    "--iodepth=1",
    "-size=250M",
    "--readwrite=randrw",
];

#[test]
fn the_command_of_document_000_with_its_slips() {
    let words: Vec<_> = FIRST.iter().chain(&["==rwmixread=80"]).copied().collect();
    let error = refusal(&words);
    assert!(error.what.contains("'==rwmixread=80'"), "{error}");
    assert_eq!(error.advice.as_deref(), Some("--rwmixread=80"));
    // Corrected according to the error.
    let words: Vec<_> = FIRST.iter().chain(&["--rwmixread=80"]).copied().collect();
    let job = &plan(&words).jobs[0];
    assert_eq!((job.access.rw, job.access.mix_read_percent), (Rw::RandRw, 80));
    assert_eq!(job.space.size, Some(Amount::Bytes(250 << 20)));
    assert!(job.syncing.direct && job.reporting.gtod_reduce);
    assert_eq!(job.paths(0), ["random_read.fio"]);
}

#[test]
fn a_line_break_after_two_dashes_is_repaired_and_reported() {
    for broken in [&["--", "filename=random_read.fio"][..], &["--\n\nfilename=random_read.fio"]] {
        let mut words = FIRST.to_vec();
        words.splice(5..6, broken.iter().copied());
        let plan = plan(&words);
        assert_eq!(plan.jobs[0].paths(0), ["random_read.fio"]);
        assert_eq!(plan.jobs[0].access.rw, Rw::RandRw);
        assert_eq!(plan.notes.is_empty(), broken.len() == 1, "{:?}", plan.notes);
    }
}

#[test]
fn the_command_of_document_002() {
    let plan = plan(&[
        "--randrepeat=1",
        "--ioengine=libaio",
        "--gtod_reduce=1",
        "--directory=/srv/someone/",
        "--name=io 256GB SSSTC NVME CM4/4GB Mini Base",
        "--filename=test.dat",
        "--bs=4k",
        "--iodepth=64",
        "--size=4G",
        "--readwrite=randrw",
        "--rwmixread=75",
    ]);
    let job = &plan.jobs[0];
    assert_eq!(job.name, "io 256GB SSSTC NVME CM4/4GB Mini Base");
    assert_eq!((job.engine, job.queue.depth), (Engine::Libaio, 64));
    assert_eq!(job.space.size, Some(Amount::Bytes(4 << 30)));
    assert_eq!(job.paths(0), ["/srv/someone//test.dat"]);
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
}

#[test]
fn unsupported_options_of_fio_are_named() {
    let words = ["--name=x", "--size=1m", "--atomic=1"];
    let error = refusal(&words);
    assert!(error.what.starts_with("atomic=1: not supported: "), "{error}");
    assert!(error.advice.is_some_and(|advice| advice.contains("--warn-unsupported")));
    let plan = plan(&["--warn-unsupported", "--name=x", "--size=1m", "--atomic=1"]);
    assert_eq!(plan.notes.len(), 1);
    assert!(plan.notes[0].text.starts_with("atomic=1: dropped: "), "{:?}", plan.notes);
    assert!(job(&["--atomic=0", "--size=1m"]).access.rw.reads());
}

#[test]
fn misspelt_options_are_reported_with_the_nearest() {
    for (slip, meant) in [
        ("--rwmixred=70", "--rwmixread"),
        ("--iodpeth=4", "--iodepth"),
        ("--output-fromat=json", "--output-format"),
        ("--Direct=1", "--direct"),
    ] {
        let error = refusal(&["--name=x", slip]);
        let advice = error.advice.clone().unwrap_or_default();
        assert!(advice.starts_with(meant), "{slip}: {error}, try {advice}");
    }
    let text = "[x]\nsize=1m\n\nrwmixred=70\n";
    let error = asked(&["a.fio"], &[("a.fio", text)]).expect_err("a misspelt option");
    assert_eq!(error.place, "a.fio:4");
    assert_eq!(error.advice.as_deref(), Some("rwmixread, if you meant that"));
}

#[test]
fn invalid_values_are_errors() {
    for word in [
        "--size=1.5g",
        "--runtime=60sec",
        "--bs=8kk",
        "--iodepth=0",
        "--iodepth=4,8",
        "--rw=rand",
        "--numjobs=1000000000000",
        "--nrfiles=99999999999",
        "--direct=yes",
        "--bs=0",
        "--nice=20",
        "--bssplit=4k/60:8k/50",
        "--percentile_list=101",
        "--random_distribution=zipf:1",
        "--rwmixread=101",
        "--cpus_allowed=3-1",
        "--startdelay=-1",
        "--offset=200%",
        "--bs=",
        "--ioengine=libaoi",
        "--verify=sha",
        "--bsrange=4k",
        "--rate_iops=x",
    ] {
        let error = refusal(&["--name=x", "--size=1m", word]);
        assert!(
            error.what.contains(word.trim_start_matches('-').split('=').next().unwrap_or_default()),
            "{error}"
        );
    }
}

#[test]
fn inconsistent_options_are_errors() {
    for words in [
        &["--rate=1m", "--rate_iops=10"][..],
        &["--rate=1m", "--rate_min=2m"],
        &["--zonemode=strided"],
        &["--zonesize=1m"],
        &["--verify=pattern", "--rw=write"],
        &["--bs=64k", "--size=4k"],
        &["--ss_dur=1"],
        &["--wait_for=y"],
        &["--verify=md5", "--rw=write", "--verify_offset=8"],
        &["--size=1m", "--name=x", "--size=1m", "--group_reporting", "--lat_percentiles=1"],
        &["--size=1m", "--name=x", "--size=1m", "--ss=iops:50%", "--ss_dur=10"],
    ] {
        let all: Vec<_> = ["--name=x"].iter().chain(words).copied().collect();
        assert!(refusal(&all).what.starts_with("job 'x': "), "{words:?}");
    }
    let error = refusal(&["--readonly", "--name=x", "--size=1m", "--rw=randwrite"]);
    assert!(error.what.contains("--readonly"), "{error}");
}

#[test]
fn values_for_read_write_and_trim() {
    let blocks = |word: &str| {
        let blocks = job(&[word, "--size=1m"]).access.blocks;
        [blocks.read, blocks.write, blocks.trim]
    };
    let fixed = |sizes: [u64; 3]| sizes.map(Blocks::Fixed);
    assert_eq!(blocks("--bs=8k"), fixed([8192; 3]));
    assert_eq!(blocks("--bs=4k,8k"), fixed([4096, 8192, 8192]));
    assert_eq!(blocks("--bs=4k,8k,16k"), fixed([4096, 8192, 16384]));
    assert_eq!(blocks("--bs=,8k"), fixed([4096, 8192, 8192]));
    assert_eq!(blocks("--bs=8k,"), fixed([8192, 4096, 4096]));
    assert_eq!(blocks("--bs=4k-8k"), fixed([4096, 8192, 8192]));
    let range = |min, max| Blocks::Range { min, max };
    let (small, large) = (range(1024, 4096), range(2048, 8192));
    assert_eq!(blocks("--bsrange=1k-4k,8k-2k"), [small, large.clone(), large]);
    let split = |parts: &[(u64, u32)]| {
        Blocks::Split(parts.iter().map(|&(bytes, percent)| Share { bytes, percent }).collect())
    };
    let writes = split(&[(65536, 100)]);
    assert_eq!(
        blocks("--bssplit=4k/70:8k/30,64k"),
        [split(&[(8192, 30), (4096, 70)]), writes.clone(), writes]
    );
    let paced = job(&["--rate=1m,500k,", "--size=1m"]).pace;
    assert_eq!(
        (paced.rate.read, paced.rate.write, paced.rate.trim),
        (Some(1 << 20), Some(500 << 10), None)
    );
}

#[test]
fn sections_inherit_in_fios_order() {
    let plan = file(
        "[global]\nbs=8k\nfilename=a\ndirectory=/d\n[one]\nsize=1m\n[global]\nbs=16k\nkb_base=1000\n\
         [two]\nsize=1m\nfilename=b\nname=second\n",
    );
    let [one, two] = &plan.jobs[..] else { panic!("{plan:?}") };
    assert_eq!(one.access.blocks.read, Blocks::Fixed(8192));
    assert_eq!(one.paths(0), ["/d/a"]);
    // 16k comes before kb_base, but fio reads kb_base first.
    assert_eq!(two.access.blocks.read, Blocks::Fixed(16000));
    assert_eq!(two.space.size, Some(Amount::Bytes(1_000_000)));
    assert_eq!(two.paths(0), ["/d/a", "/d/b"], "names are combined, as in fio");
    assert_eq!((two.name.as_str(), two.section.as_str()), ("second", "two"));
}

#[test]
fn groups_and_waiting() {
    let text = "[a]\nsize=1m\n[b]\nsize=1m\n[c]\nstonewall\nsize=1m\n[d]\nnew_group\nwait_for=a\nsize=1m\n";
    let second = "[e]\nsize=1m\n[f]\nsize=1m\n";
    let files = [("a.fio", text), ("b.fio", second)];
    let Ok(CommandLine::Run(plan)) = asked(&["a.fio", "b.fio"], &files) else { panic!("no plan") };
    let groups: Vec<_> = plan.jobs.iter().map(|job| job.group).collect();
    assert_eq!(groups, [0, 0, 1, 2, 3, 3]);
    let walls: Vec<_> = plan.jobs.iter().map(|job| job.schedule.stonewall).collect();
    assert_eq!(walls, [false, false, true, false, true, false]);
    assert_eq!(plan.jobs[3].schedule.wait_for, Some(0));
}

#[test]
fn globals_before_the_first_name_and_separate_values() {
    let plan = plan(&[
        "--output-format",
        "json,normal",
        "--eta=never",
        "--bs",
        "8k",
        "--thread",
        "--name",
        "a",
        "--size=1m",
        "--name=b",
        "--size=2m",
        "--group_reporting",
        "--bs=4k",
    ]);
    assert_eq!(plan.globals.formats, [OutputFormat::Json, OutputFormat::Normal]);
    let [a, b] = &plan.jobs[..] else { panic!("{plan:?}") };
    assert!(b.reporting.group && !a.reporting.group);
    assert_eq!(a.access.blocks.read, Blocks::Fixed(8192));
    assert_eq!(b.access.blocks.read, Blocks::Fixed(4096));
}

#[test]
fn a_hyphen_in_the_name_of_an_option_is_eta_in_fio_and_noted() {
    let plan = plan(&["-end-fsync=1", "--name=x", "--rw=write", "--size=1m"]);
    assert!(!plan.jobs[0].syncing.end_fsync);
    assert!(plan.notes[0].text.contains("changes nothing; --end_fsync"), "{:?}", plan.notes);
    for word in ["--end-fsync=1", "-enginne=sync", "-gtod-reduce=1"] {
        let error = refusal(&[word, "--name=x", "--size=1m"]);
        assert!(error.what.contains("not an option of fio"), "{error}");
    }
}

#[test]
fn names_can_be_abbreviated_if_unambiguous() {
    assert_eq!(
        job(&["--size=1m", "--iodepth_batch_complete_ma=4", "--iodepth=8"]).queue.complete_max,
        4
    );
    assert!(refusal(&["--name=x", "--direc=/d"]).what.contains("not an option"));
}

#[test]
fn directories_and_files() {
    let paths = |words: &[&str], clone| job(words).paths(clone);
    assert_eq!(paths(&["--size=1m", "--nrfiles=2"], 1), ["x.1.0", "x.1.1"]);
    assert_eq!(paths(&["--directory=/a:/b", "--size=1m"], 1), ["/b/x.1.0"]);
    assert_eq!(paths(&["--directory=/a:/b", "--filename=f:g", "--size=1m"], 1), ["/a/f", "/a/g"]);
    assert_eq!(paths(&["--filename=/dev/a\\:b:c", "--size=1m"], 0), ["/dev/a:b", "c"]);
    let late = plan(&["--name=x", "--filename=f", "--directory=/d", "--size=1m"]);
    assert_eq!(late.jobs[0].paths(0), ["f"], "as in fio");
    assert_eq!(late.notes.len(), 1, "and reported");
    assert_eq!(plan(&["--name=/dev/sdz", "--size=1m"]).jobs[0].paths(0), ["/dev/sdz"]);
}

#[test]
fn one_option_implies_another() {
    let aligned = job(&["--rw=randread", "--blockalign=8k", "--size=1m"]);
    assert!(aligned.access.norandommap);
    assert_eq!(aligned.access.block_align.read, 8192);
    assert!(job(&["--random_distribution=zipf", "--size=1m"]).access.norandommap);
    assert_eq!(job(&["--randseed=7", "--size=1m"]).access.seed(), 7);
    assert!(job(&["--verify=md5", "--rw=write", "--size=1m"]).content.refill);
    assert!(job(&["--dedupe_percentage=10", "--size=1m"]).content.refill);
    let all = job(&["--buffer_compress_percentage=100", "--size=1m"]).content;
    assert!(all.zero && !all.refill);
    let queue =
        job(&["--iodepth=16", "--iodepth_batch=0", "--iodepth_batch_complete_min=4", "--size=1m"])
            .queue;
    assert_eq!((queue.batch, queue.complete_min, queue.complete_max, queue.low), (16, 4, 4, 16));
    assert!(job(&["--time_based", "--size=1m"]).schedule.runtime.is_none());
}

#[test]
fn times_and_steps() {
    let schedule =
        job(&["--startdelay=2-5", "--runtime=1m", "--ramp_time=500ms", "--size=1m"]).schedule;
    assert_eq!(schedule.startdelay.low, Duration::from_secs(2));
    assert_eq!(schedule.startdelay.high, Duration::from_secs(5));
    assert_eq!(schedule.runtime, Some(Duration::from_secs(60)));
    assert_eq!(schedule.ramp_time, Duration::from_millis(500));
    assert_eq!(job(&["--thinktime=20", "--size=1m"]).pace.think.time, Duration::from_micros(20));
    assert_eq!(job(&["--rw=randread:8", "--size=1m"]).access.random_every, 8);
    assert_eq!(job(&["--rw=read:-8k", "--size=1m"]).access.sequence_add, -8192);
    let steady = job(&["--ss=iops:10%", "--ss_dur=30s", "--ss_ramp=5", "--size=1m"]).steady;
    assert_eq!(steady.map(|steady| steady.duration), Some(Duration::from_secs(30)));
    let distribution = job(&["--random_distribution=pareto:0.3", "--size=1m"]).access.distribution;
    assert!(matches!(distribution, Distribution::Pareto(spread) if spread.value == 0.3));
}

#[test]
fn questions_are_answered() {
    let answer =
        |words: &[&str]| match asked(words, &[("a.fio", "[global]\nbs=8k\n[a b]\nthread\n")]) {
            Ok(CommandLine::Answer(text)) => text,
            other => panic!("{words:?}: {other:?}"),
        };
    assert!(answer(&["--help"]).contains("--warn-unsupported"));
    assert!(answer(&["--version"]).starts_with("fio-3."));
    assert!(answer(&["--cmdhelp=bs"]).contains("blocksize"));
    assert!(answer(&["--cmdhelp=all"]).lines().count() > 250);
    assert!(answer(&["--enghelp"]).contains("io_uring: supported"));
    assert_eq!(answer(&["--enghelp=libaio"]), "libaio: supported\n");
    assert!(answer(&["--enghelp=libaio,nowait"]).starts_with("nowait: refused"));
    assert_eq!(answer(&["--showcmd", "a.fio"]), "fio --bs=8k --name='a b' --thread\n");
    assert_eq!(answer(&["--parse-only", "a.fio", "--name=b", "--size=1m"]), "");
    assert_eq!(
        answer(&["--parse-only", "--ss_dur=10s", "--ss=iops:10"]),
        "",
        "no job is none to check"
    );
}

#[test]
fn unknown_engines_are_errors() {
    for (words, what, advice) in [
        ("--enghelp=libaoi", "not an engine", "--enghelp=libaio"),
        ("--enghelp=no-such-thing", "not an engine", "--enghelp"),
        ("--enghelp=libaio,nowiat", "not an option", "--enghelp=libaio,nowait"),
    ] {
        let error = refusal(&[words]);
        assert!(error.what.contains(what), "{words}: {error:?}");
        assert_eq!(error.advice.as_deref(), Some(advice), "{words}");
    }
}

#[test]
fn exitall_of_one_job_applies_to_all() {
    let exits = |words: &[&str]| -> Vec<bool> {
        let all = [&["--name=a", "--size=1m", "--name=b", "--size=1m"], words].concat();
        plan(&all).jobs.iter().map(|job| job.schedule.exitall).collect()
    };
    assert_eq!(exits(&["--exitall"]), [true, true]);
    assert_eq!(exits(&["--name=c", "--stonewall", "--size=1m", "--exitall=1"]), [true; 3]);
    assert_eq!(exits(&[]), [false, false]);
}

#[test]
fn two_kinds_of_flushes_become_one_and_are_noted() {
    let notes = |words: &[&str]| {
        let all = [&["--name=a", "--size=1m", "--rw=write", "--fsync=10"], words].concat();
        plan(&all).notes.len()
    };
    assert_eq!((notes(&[]), notes(&["--fdatasync=3"])), (0, 1));
}

#[test]
fn nothing_to_do_is_an_error() {
    for words in
        [&[][..], &["--bs=4k"], &["missing.fio"], &["--section=b", "--name=a", "--size=1m"]]
    {
        assert!(refusal(words).advice.is_some() || words == ["missing.fio"], "{words:?}");
    }
}
