//! The results in fio's JSON, which other programs plot and convert.
//!
//! Keys, their order and the layout are fio's; ssdyno's additional fields are under `ssdyno`, which
//! readers of fio's JSON ignore; the import recognises our results by its version. `ssdyno.thin`
//! names the percentiles that too few samples support.
//!
//! `lat_ns` is from issue to completion. Where the submitting call is not timed apart, `slat_ns` is
//! empty and `clat_ns` the same times as `lat_ns`; only their percentiles and bins can differ, because
//! each has an option of its own.

use std::borrow::Cow;
use std::time::Duration;

use rig::{DiskUse, KindStats, ThreadUsage};
use serde_json::{Map, Value};
use workload::OpKind;

use super::latency::{self, any_percentiles, percent_key, thin};
use super::remarks::failures;
use super::shown::{ReportedSide, Samples, Shown};
use super::tree::Tree;
use super::{LAYOUT, ended, mean, priorities, shows_disks, with_results};
use crate::job::is_drive;
use crate::run::Ran;
use crate::{Amount, Blocks, IdleProfile, Job, PerKind, UnifiedRw};

/// fio's value for an unknown ETA.
const NO_ETA: u32 = 2_147_483_647;

/// Fields of an object, in order.
type Fields = Vec<(&'static str, Tree)>;

/// The text of the results; `bins` adds the histogram buckets (`json+`).
pub fn json(ran: &Ran<'_>, bins: bool) -> String {
    let jobs: Vec<Tree> =
        with_results(ran, |results| results.iter().map(|shown| job(shown, bins)).collect());
    let time = jiff::Timestamp::from_millisecond(ran.ended_unix_ms as i64).unwrap_or_default();
    let local = time.to_zoned_datetime(jiff::tz::TimeZone::system());
    let mut fields: Fields = vec![
        ("fio version", LAYOUT.into()),
        ("timestamp", (ran.ended_unix_ms / 1000).into()),
        ("timestamp_ms", ran.ended_unix_ms.into()),
        ("time", local.strftime("%a %b %e %H:%M:%S %Y").to_string().into()),
    ];
    fields.extend(given("global options", &ran.plan.global_options));
    fields.push(("jobs", Tree::List(jobs)));
    if shows_disks(ran) && !ran.disks.is_empty() {
        fields.push(("disk_util", Tree::list(ran.disks.iter().map(disk))));
    }
    fields.extend(idleness(ran));
    let findings = ran.stages.iter().flat_map(|stage| &stage.findings);
    let findings = findings.map(|finding| serde_json::to_value(finding).unwrap_or_default());
    let own_fields = [
        ("version", Tree::from(env!("CARGO_PKG_VERSION"))),
        ("latency", latency_note(ran).into()),
        ("findings", Tree::list(findings)),
        ("errors", Tree::list(failures(ran))),
    ];
    fields.push(("ssdyno", Tree::object(own_fields)));
    Tree::object(fields).to_string()
}

/// What the fields of latency mean in this document.
fn latency_note(ran: &Ran<'_>) -> &'static str {
    let kinds = ran.jobs.iter().flat_map(|run| run.did.seen.kinds.iter().flatten());
    if kinds.into_iter().any(|stats| stats.submission.is_some()) {
        "slat_ns is the submitting call of asynchronous engines, clat_ns the time from then to completion"
    } else {
        "clat_ns and lat_ns are both from before the submitting call to completion"
    }
}

/// How idle the processors were, if requested.
fn idleness(ran: &Ran<'_>) -> Option<(&'static str, Tree)> {
    let processors = ran.processors_idle.as_deref()?;
    let mut fields = vec![("system".to_string(), Tree::Real(mean(processors)))];
    if ran.plan.globals.idle_profile == Some(IdleProfile::PerProcessor) {
        let numbered = (0..).zip(processors);
        fields.extend(
            numbered.map(|(number, idle): (usize, _)| (format!("cpu-{number}"), Tree::Real(*idle))),
        );
    }
    Some(("cpu_idleness", Tree::object(fields)))
}

/// Options as given, if there are any.
fn given(name: &'static str, options: &[(String, String)]) -> Option<(&'static str, Tree)> {
    let list = options.iter().map(|(name, value)| (name.clone(), Tree::from(value.as_str())));
    (!options.is_empty()).then(|| (name, Tree::object(list)))
}

fn job(shown: &Shown<'_>, bins: bool) -> Tree {
    let job = shown.last_job();
    let elapsed_ns = shown.elapsed_ns();
    let mut fields: Fields = vec![
        ("jobname", shown.job.name.as_str().into()),
        ("groupid", shown.job.group.into()),
        ("job_start", shown.began_unix_ms().into()),
        ("error", Tree::Whole(ended::code(shown).unsigned_abs().into())),
        ("eta", NO_ETA.into()),
        ("elapsed", elapsed_ns.div_ceil(1_000_000_000).into()),
    ];
    fields.extend(given("job options", &job.given));
    fields.extend(sides(shown, bins));
    fields.extend(processor(shown));
    fields.extend(distributions(shown));
    fields.extend(ended::fields(shown));
    fields.push(("ssdyno", own_fields(shown)));
    Tree::object(fields)
}

/// The time and the processor time of a job.
fn processor(shown: &Shown<'_>) -> Fields {
    let usage = |of: fn(&ThreadUsage) -> u64| shown.sum(|run| of(&run.did.usage));
    let thread_ns = shown.sum(|run| run.did.end_ns.saturating_sub(run.did.begin_ns)).max(1) as f64;
    let [user_percent, system_percent] = [usage(|u| u.user_ns), usage(|u| u.system_ns)]
        .map(|cpu_ns| Tree::Real(cpu_ns as f64 * 100.0 / thread_ns));
    vec![
        ("job_runtime", (shown.elapsed_ns() / 1_000_000).into()),
        ("usr_cpu", user_percent),
        ("sys_cpu", system_percent),
        ("ctx", usage(|u| u.switches).into()),
        ("majf", usage(|u| u.major_faults).into()),
        ("minf", usage(|u| u.minor_faults).into()),
    ]
}

/// The distributions of queue depth, batches and latency.
fn distributions(shown: &Shown<'_>) -> Fields {
    let depth_names = ["1", "2", "4", "8", "16", "32", ">=64"];
    let batch_names = ["0", "4", "8", "16", "32", "64", ">=64"];
    let (ns, us, ms) = shown.latency_classes();
    let classes = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"];
    let ms_classes = [&classes[..], &["2000", ">=2000"]].concat();
    vec![
        ("iodepth_level", named(&depth_names, &shown.shares(|run| run.did.depths))),
        ("iodepth_submit", named(&batch_names, &shown.shares(|run| run.did.handed))),
        ("iodepth_complete", named(&batch_names, &shown.shares(|run| run.did.returned))),
        ("latency_ns", named(&classes, &ns)),
        ("latency_us", named(&classes, &us)),
        ("latency_ms", named(&ms_classes, &ms)),
    ]
}

fn named(names: &[&str], values: &[f64]) -> Tree {
    Tree::object(names.iter().zip(values).map(|(name, value)| (*name, Tree::Real(*value))))
}

/// Fields that do not exist in fio.
fn own_fields(shown: &Shown<'_>) -> Tree {
    let measurements: Vec<_> = shown.runs.iter().map(|run| &run.did.measurement).collect();
    let sides = shown.reported();
    let responses = sides.iter().filter_map(|side| {
        let response = side.stats.response.as_ref()?;
        Some((side.name(), latency::fields(Some(response), any_percentiles(shown), false)))
    });
    let backend = measurements.first().map(|m| Tree::from(rig::backend_name(m.backend)));
    Tree::object([
        ("effective_depth", measurements.iter().map(|m| m.effective_depth).sum::<f64>().into()),
        ("late_ios", measurements.iter().map(|m| m.late_ops).sum::<u64>().into()),
        ("backend", backend.unwrap_or(Tree::Null)),
        ("verified_sectors", measurements.iter().map(|m| m.verified_sectors).sum::<u64>().into()),
        ("response_ns", Tree::object(responses)),
        ("thin", Tree::object(thin_percentiles(shown, &sides))),
    ])
}

/// The percentiles of each direction that too few samples support.
fn thin_percentiles(
    shown: &Shown<'_>,
    sides: &[ReportedSide<'_>],
) -> impl Iterator<Item = (&'static str, Tree)> {
    let percentiles = any_percentiles(shown).unwrap_or_default();
    sides.iter().filter_map(|side| {
        let keys: Vec<Tree> = thin(&side.stats.service, percentiles)
            .map(|percent| percent_key(percent).into())
            .collect();
        (!keys.is_empty()).then(|| (side.name(), Tree::List(keys)))
    })
}

/// The directions: separate, combined or both, as requested by the job. As in fio, the flushes
/// belong to separate directions.
fn sides(shown: &Shown<'_>, bins: bool) -> Fields {
    let mixed = || ("mixed", side(shown, shown.mixed(), &KindStats::default(), bins));
    let unified = shown.job.reporting.unified;
    if unified == UnifiedRw::Mixed {
        return vec![mixed()];
    }
    let kinds = [("read", OpKind::Read), ("write", OpKind::Write), ("trim", OpKind::Discard)];
    let sides = kinds
        .map(|(name, kind)| (name, side(shown, shown.side(kind), &shown.left_out(kind), bins)));
    let mut fields = sides.to_vec();
    let flushes = shown.flushes();
    let flush_latency = latency::fields(flushes.map(|f| &f.service), any_percentiles(shown), bins);
    let sync_fields =
        [("total_ios", Tree::from(flushes.map_or(0, |f| f.ops))), ("lat_ns", flush_latency)];
    fields.push(("sync", Tree::object(sync_fields)));
    fields.extend((unified == UnifiedRw::Both).then(mixed));
    fields
}

/// A direction; `unmeasured` is what counts in it if nothing was measured.
fn side(
    shown: &Shown<'_>,
    side: Option<ReportedSide<'_>>,
    unmeasured: &KindStats,
    bins: bool,
) -> Tree {
    let reporting = &shown.last_job().reporting;
    let stats = side.as_ref().map_or(unmeasured, |side| side.stats);
    let bytes_per_s = side.as_ref().map_or(0.0, ReportedSide::bytes_per_s);
    let [submission, completion, total] = latency::named(stats, reporting).map(|latency| {
        let percentiles = latency.has_percentiles.then_some(&reporting.percentiles[..]);
        latency::fields(latency.histogram, percentiles, bins)
    });
    let mut fields: Fields = vec![
        ("io_bytes", stats.bytes.into()),
        ("io_kbytes", (stats.bytes / 1024).into()),
        ("bw_bytes", (bytes_per_s as u64).into()),
        ("bw", ((bytes_per_s / 1024.0) as u64).into()),
        ("iops", side.as_ref().map_or(0.0, ReportedSide::per_s).into()),
        ("runtime", side.as_ref().map_or(0, ReportedSide::runtime_ms).into()),
        ("total_ios", stats.ops.into()),
        ("short_ios", Tree::Whole(0)),
        ("drop_ios", Tree::Whole(0)),
        ("slat_ns", submission),
        ("clat_ns", completion),
        ("lat_ns", total),
    ];
    let priorities = side.as_ref().and_then(|side| priorities::field(shown, side.kind, bins));
    fields.extend(priorities.map(|priorities| ("prios", priorities)));
    let (bw, iops) = side.as_ref().map_or(Default::default(), |side| (side.bw, side.iops));
    fields.extend(samples(bw, iops, bytes_per_s));
    Tree::object(fields)
}

/// The samples of bandwidth and IOPS.
fn samples(bw: Samples, iops: Samples, bytes_per_s: f64) -> Fields {
    let share = if bytes_per_s > 0.0 { bw.mean / bytes_per_s } else { 0.0 };
    vec![
        ("bw_min", ((bw.min / 1024.0) as u64).into()),
        ("bw_max", ((bw.max / 1024.0) as u64).into()),
        ("bw_agg", (share * 100.0).min(100.0).into()),
        ("bw_mean", (bw.mean / 1024.0).into()),
        ("bw_dev", (bw.deviation / 1024.0).into()),
        ("bw_samples", (bw.count as u64).into()),
        ("iops_min", (iops.min as u64).into()),
        ("iops_max", (iops.max as u64).into()),
        ("iops_mean", iops.mean.into()),
        ("iops_stddev", iops.deviation.into()),
        ("iops_samples", (iops.count as u64).into()),
    ]
}

fn text(value: &dyn std::fmt::Display) -> Value {
    Value::String(value.to_string())
}

/// The options of a job that determine its results, by name, as fio spells them, whether given or
/// not.
pub fn job_options(job: &Job) -> Map<String, Value> {
    let mut options = Map::new();
    let mut insert = |name: &str, value: Value| drop(options.insert(name.to_string(), value));
    insert("name", text(&job.name));
    insert("rw", text(&job.access.rw.name()));
    insert("ioengine", text(&job.engine.name()));
    insert("direct", text(&u8::from(job.syncing.direct)));
    insert("iodepth", text(&job.queue.depth));
    insert("numjobs", text(&job.numjobs));
    for (name, list) in blocks(&job.access.blocks) {
        insert(name, Value::String(list));
    }
    match job.space.size {
        Some(Amount::Bytes(bytes)) => insert("size", text(&size(bytes))),
        Some(Amount::Percent(percent)) => insert("size", text(&format!("{percent}%"))),
        None => {}
    }
    if job.access.rw.reads() && job.access.rw.writes() {
        insert("rwmixread", text(&job.access.mix_read_percent));
    }
    if let Some(runtime) = job.schedule.runtime {
        insert("runtime", Value::String(time(runtime)));
    }
    if job.schedule.time_based {
        insert("time_based", text(&1));
    }
    if job.reporting.group {
        insert("group_reporting", text(&1));
    }
    if !job.files.names.is_empty() {
        let names: Vec<_> = job.files.names.iter().map(|name| file_name(name)).collect();
        insert("filename", Value::String(names.join(":")));
    }
    options
}

/// The options that give the sizes of reads, writes and trims: at least one of `bs`, `bsrange` and
/// `bssplit`.
fn blocks(blocks: &PerKind<Blocks>) -> impl Iterator<Item = (&'static str, String)> {
    let options = blocks.each().map(|blocks| match blocks {
        Blocks::Fixed(bytes) => ("bs", size(*bytes)),
        Blocks::Range { min, max } => ("bsrange", format!("{}-{}", size(*min), size(*max))),
        Blocks::Split(shares) => {
            let shares =
                shares.iter().map(|share| format!("{}/{}", size(share.bytes), share.percent));
            ("bssplit", shares.collect::<Vec<_>>().join(":"))
        }
    });
    ["bs", "bsrange", "bssplit"].into_iter().filter_map(move |name| {
        let [read, write, trim] = options
            .each_ref()
            .map(|(own, text)| if *own == name { text.clone() } else { String::new() });
        let text = if read == write && write == trim {
            read
        } else if write == trim {
            format!("{read},{write}")
        } else {
            format!("{read},{write},{trim}")
        };
        (!text.is_empty()).then_some((name, text))
    })
}

/// A time in fio's notation: seconds, or with a smaller unit.
fn time(time: Duration) -> String {
    match (time.subsec_micros(), time.subsec_millis()) {
        (0, _) => time.as_secs().to_string(),
        (micros, millis) if micros == millis * 1000 => format!("{}ms", time.as_millis()),
        _ => format!("{}us", time.as_micros()),
    }
}

/// A name in a list separated by colons. That of a drive is taken whole.
fn file_name(name: &str) -> Cow<'_, str> {
    if is_drive(name) { name.into() } else { name.replace(':', "\\:").into() }
}

/// A size in fio's notation: `4k`, `1m`.
fn size(bytes: u64) -> String {
    let units = [(1 << 40, "t"), (1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];
    let unit = units.iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    unit.map_or(bytes.to_string(), |(unit, name)| format!("{}{name}", bytes / unit))
}

fn disk(disk: &DiskUse) -> Tree {
    Tree::object([
        ("name", Tree::from(disk.name.as_str())),
        ("read_ios", disk.ios[0].into()),
        ("write_ios", disk.ios[1].into()),
        ("read_sectors", disk.sectors[0].into()),
        ("write_sectors", disk.sectors[1].into()),
        ("read_merges", disk.merges[0].into()),
        ("write_merges", disk.merges[1].into()),
        ("read_ticks", disk.ticks[0].into()),
        ("write_ticks", disk.ticks[1].into()),
        ("in_queue", disk.in_queue.into()),
        ("util", disk.util.into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::JobRun;
    use crate::testing;

    fn read(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    /// The results of a job with 100 reads of 1 us.
    fn results(words: &[&str], bins: bool) -> Value {
        let plan = testing::plan(&[&["--name=a", "--size=1m"], words].concat());
        let mut run = testing::job_run(&plan.jobs[0]);
        let mut stats = KindStats { ops: 100, ..KindStats::default() };
        stats.service.record_many(1000, 100);
        run.did.seen.kinds[OpKind::Read as usize] = Some(stats);
        read(&json(&testing::ran(&plan, vec![run]), bins))
    }

    fn options_of(words: &[&str]) -> Map<String, Value> {
        let plan = testing::plan(&[&["--name=a", "--size=1m"], words].concat());
        job_options(&plan.jobs[0])
    }

    #[test]
    fn options_are_those_given_in_fios_spelling() {
        let words = ["--readwrite=write", "--name=a", "--size=1m", "--stonewall", "--comm=x"];
        let plan = testing::plan(&words);
        let ran = read(&json(&testing::ran(&plan, vec![testing::job_run(&plan.jobs[0])]), false));
        assert_eq!(ran["global options"], serde_json::json!({"rw": "write"}));
        let options = serde_json::json!({"name": "a", "size": "1m", "comm": "x"});
        assert_eq!(ran["jobs"][0]["job options"], options);
    }

    #[test]
    fn options_describe_the_blocks_of_every_direction() {
        for (words, name, value) in [
            (&["--bs=4k"][..], "bs", "4k"),
            (&["--rw=write", "--bs=4k,64k"], "bs", "4k,64k"),
            (&["--bs=4k,64k,512"], "bs", "4k,64k,512"),
            (&["--bsrange=4k-64k"], "bsrange", "4k-64k"),
            (&["--bssplit=4k/60:64k/40"], "bssplit", "64k/40:4k/60"),
        ] {
            let options = options_of(words);
            assert_eq!(options[name], value, "{words:?}");
            let given = ["bs", "bsrange", "bssplit"].iter().filter(|n| options.contains_key(**n));
            assert_eq!(given.count(), 1, "{words:?}");
        }
        let both = options_of(&["--bs=8k", "--bsrange=4k-4k,4k-8k"]);
        assert_eq!([&both["bs"], &both["bsrange"]], ["4k,", ",4k-8k"]);
    }

    #[test]
    fn options_keep_short_times_and_colons_in_names() {
        for (runtime, shown) in
            [("2", "2"), ("1500ms", "1500ms"), ("500ms", "500ms"), ("5us", "5us")]
        {
            let given = format!("--runtime={runtime}");
            assert_eq!(options_of(&[&given])["runtime"], shown);
        }
        for name in ["d/a\\:b:c", "sim:sd-150x"] {
            assert_eq!(options_of(&[&format!("--filename={name}")])["filename"], name);
        }
    }

    #[test]
    fn disks_are_shown_unless_disabled() {
        for (words, shows) in [(&[][..], true), (&["--disk_util=0"], false)] {
            let plan = testing::plan(&[&["--name=a", "--size=1m"], words].concat());
            let mut ran = testing::ran(&plan, vec![testing::job_run(&plan.jobs[0])]);
            let disk = DiskUse { name: "vda".into(), ..DiskUse::default() };
            ran.disks = vec![disk];
            assert_eq!(read(&json(&ran, false)).get("disk_util").is_some(), shows);
        }
    }

    #[test]
    fn jobs_without_statistics_leave_one_without_counts() {
        let found = results(&["--stats=0", "--unified_rw_reporting=mixed"], false);
        assert_eq!(found["jobs"][0]["read"]["total_ios"], 0);
        assert_eq!(found["jobs"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn percentiles_belong_to_the_latency_that_was_asked_for() {
        for (words, clat, lat) in [
            (&[][..], true, false),
            (&["--clat_percentiles=0"], false, false),
            (&["--lat_percentiles=1"], true, true),
            (&["--clat_percentiles=0", "--lat_percentiles=1"], false, true),
        ] {
            let found = results(words, true);
            let read = &found["jobs"][0]["read"];
            for part in ["percentile", "bins"] {
                let has = |latency: &str| read[latency].get(part).is_some();
                assert_eq!((has("clat_ns"), has("lat_ns")), (clat, lat), "{words:?} {part}");
            }
        }
    }

    #[test]
    fn the_error_of_a_group_is_that_of_its_first_failed_clone() {
        let plan = testing::plan(&["--name=a", "--size=1m", "--group_reporting"]);
        let failed = |code: i32| -> JobRun<'_> {
            let mut run = testing::job_run(&plan.jobs[0]);
            run.judgement.failed = (code != 0).then(|| (code, String::new()));
            let stats = KindStats { ops: 1, ..KindStats::default() };
            run.did.seen.kinds[OpKind::Read as usize] = Some(stats);
            run
        };
        let ran = testing::ran(&plan, [0, 5, 110].map(failed).into());
        assert_eq!(read(&json(&ran, false))["jobs"][0]["error"], 5);
        assert!(super::super::normal(&ran).contains("err= 5"));
        let good = testing::ran(&plan, vec![failed(0)]);
        assert_eq!(read(&json(&good, false))["jobs"][0]["error"], 0);
    }
}
