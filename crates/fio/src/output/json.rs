//! The results in fio's JSON, which other programs plot and convert.
//!
//! All of fio's fields are present under fio's names; ssdyno's additional fields are under
//! `ssdyno`, which readers of fio's JSON ignore; the import recognises our results by its version.
//! `clat_ns` and `lat_ns` are the same times: from issue to completion, including the submitting
//! call. Only their percentiles and bins can differ, because each has an option of its own.
//! `slat_ns` is empty, because that call is not timed separately.

use std::borrow::Cow;
use std::time::Duration;

use rig::{DiskUse, KindStats, ThreadUsage};
use serde_json::{Map, Value, json};
use workload::OpKind;

use super::latency::{any_percentiles, latency, plain};
use super::remarks::failures;
use super::shown::{ReportedSide, Samples, Shown};
use super::{LAYOUT, ended, priorities, shows_disks, with_results};
use crate::job::is_drive;
use crate::run::Ran;
use crate::{Amount, Blocks, Job, PerKind, UnifiedRw};

/// fio's value for an unknown ETA.
const NO_ETA: u32 = 2_147_483_647;

/// The results; `bins` adds the histogram buckets (`json+`).
pub fn json(ran: &Ran<'_>, bins: bool) -> Value {
    let jobs: Vec<Value> =
        with_results(ran, |results| results.iter().map(|shown| job(shown, bins)).collect());
    let time = jiff::Timestamp::from_millisecond(ran.ended_unix_ms as i64).unwrap_or_default();
    let local = time.to_zoned_datetime(jiff::tz::TimeZone::system());
    let mut document = json!({
        "fio version": LAYOUT,
        "timestamp": ran.ended_unix_ms / 1000,
        "timestamp_ms": ran.ended_unix_ms,
        "time": local.strftime("%a %b %e %H:%M:%S %Y").to_string(),
        "global options": {},
        "jobs": jobs,
        "ssdyno": {
            "version": env!("CARGO_PKG_VERSION"),
            "latency": "clat_ns and lat_ns are both from before the submitting call to completion",
            "findings": ran.stages.iter().flat_map(|stage| &stage.findings).collect::<Vec<_>>(),
            "errors": failures(ran).collect::<Vec<_>>(),
        },
    });
    if shows_disks(ran) {
        document["disk_util"] = ran.disks.iter().map(disk).collect();
    }
    document
}

fn job(shown: &Shown<'_>, bins: bool) -> Value {
    let usage = |of: fn(&ThreadUsage) -> u64| shown.sum(|run| of(&run.did.usage));
    let elapsed_ns = shown.elapsed_ns();
    let thread_ns = shown.sum(|run| run.did.end_ns.saturating_sub(run.did.begin_ns)).max(1) as f64;
    let cpu_percent = [usage(|u| u.user_ns), usage(|u| u.system_ns)]
        .map(|cpu_ns| cpu_ns as f64 * 100.0 / thread_ns);
    let depth_names = ["1", "2", "4", "8", "16", "32", ">=64"];
    let batch_names = ["0", "4", "8", "16", "32", "64", ">=64"];
    let (ns, us, ms) = shown.latency_classes();
    let classes = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"];
    let ms_classes = [&classes[..], &["2000", ">=2000"]].concat();
    let mut job = json!({
        "jobname": shown.job.name,
        "groupid": shown.job.group,
        "error": ended::code(shown),
        "eta": NO_ETA,
        "elapsed": elapsed_ns.div_ceil(1_000_000_000),
        "job options": Value::Object(job_options(shown.job)),
        "sync": {
            "total_ios": shown.flushes().map_or(0, |flushes| flushes.ops),
            "lat_ns": latency(shown.flushes().map(|f| &f.service), any_percentiles(shown), bins),
        },
        "job_runtime": elapsed_ns / 1_000_000,
        "usr_cpu": cpu_percent[0],
        "sys_cpu": cpu_percent[1],
        "ctx": usage(|u| u.switches),
        "majf": usage(|u| u.major_faults),
        "minf": usage(|u| u.minor_faults),
        "iodepth_level": named(&depth_names, &shown.shares(|run| run.did.depths)),
        "iodepth_submit": named(&batch_names, &shown.shares(|run| run.did.handed)),
        "iodepth_complete": named(&batch_names, &shown.shares(|run| run.did.returned)),
        "latency_ns": named(&classes, &ns),
        "latency_us": named(&classes, &us),
        "latency_ms": named(&ms_classes, &ms),
        "ssdyno": ours(shown),
    });
    if let Some(fields) = job.as_object_mut() {
        fields.extend(sides(shown, bins));
        fields.extend(ended::fields(shown));
        fields.extend(shown.job.description.iter().map(|text| ("desc".to_string(), json!(text))));
    }
    job
}

/// Fields that do not exist in fio.
fn ours(shown: &Shown<'_>) -> Value {
    let measurements: Vec<_> = shown.runs.iter().map(|run| &run.did.measurement).collect();
    let responses = shown.reported().into_iter().filter_map(|side| {
        let response = side.stats.response.as_ref()?;
        let percentiles = any_percentiles(shown);
        Some((side.name().to_string(), latency(Some(response), percentiles, false)))
    });
    json!({
        "effective_depth": measurements.iter().map(|m| m.effective_depth).sum::<f64>(),
        "late_ios": measurements.iter().map(|m| m.late_ops).sum::<u64>(),
        "backend": measurements.first().map(|m| rig::backend_name(m.backend)),
        "verified_sectors": measurements.iter().map(|m| m.verified_sectors).sum::<u64>(),
        "response_ns": responses.collect::<Map<_, _>>(),
    })
}

fn named(names: &[&str], values: &[f64]) -> Value {
    let pairs = names.iter().zip(values).map(|(name, value)| (name.to_string(), json!(value)));
    Value::Object(pairs.collect())
}

/// The directions: separate, combined or both, as requested by the job.
fn sides(shown: &Shown<'_>, bins: bool) -> Map<String, Value> {
    let mut sides = Map::new();
    let unified = shown.job.reporting.unified;
    if unified != UnifiedRw::Mixed {
        for (name, kind) in
            [("read", OpKind::Read), ("write", OpKind::Write), ("trim", OpKind::Discard)]
        {
            sides.insert(name.to_string(), side(shown, shown.side(kind), bins));
        }
    }
    if unified != UnifiedRw::None {
        sides.insert("mixed".to_string(), side(shown, shown.mixed(), bins));
    }
    sides
}

fn side(shown: &Shown<'_>, side: Option<ReportedSide<'_>>, bins: bool) -> Value {
    let reporting = &shown.last_job().reporting;
    let percentiles = |wanted: bool| wanted.then_some(&reporting.percentiles[..]);
    let no_stats = KindStats::default();
    let stats = side.as_ref().map_or(&no_stats, |side| side.stats);
    let bytes_per_s = side.as_ref().map_or(0.0, ReportedSide::bytes_per_s);
    let per_s = side.as_ref().map_or(0.0, ReportedSide::per_s);
    let service = (stats.ops > 0).then_some(&stats.service);
    let mut fields = json!({
        "io_bytes": stats.bytes,
        "io_kbytes": stats.bytes / 1024,
        "bw_bytes": bytes_per_s as u64,
        "bw": (bytes_per_s / 1024.0) as u64,
        "iops": per_s,
        "runtime": side.as_ref().map_or(0, ReportedSide::runtime_ms),
        "total_ios": stats.ops,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": plain(None),
        "clat_ns": latency(service, percentiles(reporting.clat_percentiles), bins),
        "lat_ns": latency(service, percentiles(reporting.lat_percentiles), bins),
    });
    let (bw, iops) = side.as_ref().map_or(Default::default(), |side| (side.bw, side.iops));
    let kib = Samples {
        min: bw.min / 1024.0,
        max: bw.max / 1024.0,
        mean: bw.mean / 1024.0,
        deviation: bw.deviation / 1024.0,
        ..bw
    };
    let share = if bytes_per_s > 0.0 { bw.mean / bytes_per_s } else { 0.0 };
    let samples = json!({
        "bw_min": kib.min as u64,
        "bw_max": kib.max as u64,
        "bw_agg": (share * 100.0).min(100.0),
        "bw_mean": kib.mean,
        "bw_dev": kib.deviation,
        "bw_samples": kib.count,
        "iops_min": iops.min as u64,
        "iops_max": iops.max as u64,
        "iops_mean": iops.mean,
        "iops_stddev": iops.deviation,
        "iops_samples": iops.count,
    });
    if let (Some(fields), Value::Object(samples)) = (fields.as_object_mut(), samples) {
        fields.extend(samples);
        let priorities = side.and_then(|side| priorities::field(shown, side.kind, bins));
        fields.extend(priorities.map(|priorities| ("prios".to_string(), priorities)));
    }
    fields
}

/// The options as a fio user would write them. Those that describe the I/O are always present,
/// because readers expect them.
fn text(value: &dyn std::fmt::Display) -> Value {
    Value::String(value.to_string())
}

/// The options of a job that determine its results, by name, as fio prints them.
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

fn disk(disk: &DiskUse) -> Value {
    json!({
        "name": disk.name,
        "read_ios": disk.ios[0],
        "write_ios": disk.ios[1],
        "read_merges": disk.merges[0],
        "write_merges": disk.merges[1],
        "read_ticks": disk.ticks[0],
        "write_ticks": disk.ticks[1],
        "in_queue": disk.in_queue,
        "util": disk.util,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::JobRun;
    use crate::testing;

    /// The results of a job with 100 reads of 1 us.
    fn results(words: &[&str], bins: bool) -> Value {
        let plan = testing::plan(&[&["--name=a", "--size=1m"], words].concat());
        let mut run = testing::job_run(&plan.jobs[0]);
        let mut stats = KindStats { ops: 100, ..KindStats::default() };
        stats.service.record_many(1000, 100);
        run.did.seen.kinds[OpKind::Read as usize] = Some(stats);
        json(&testing::ran(&plan, vec![run]), bins)
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
            let options = &results(words, false)["jobs"][0]["job options"];
            assert_eq!(options[name], value, "{words:?}");
            let given = ["bs", "bsrange", "bssplit"].iter().filter(|n| options.get(n).is_some());
            assert_eq!(given.count(), 1, "{words:?}");
        }
        let both = results(&["--bs=8k", "--bsrange=4k-4k,4k-8k"], false);
        let options = &both["jobs"][0]["job options"];
        assert_eq!((&options["bs"], &options["bsrange"]), (&json!("4k,"), &json!(",4k-8k")));
    }

    #[test]
    fn options_keep_short_times_and_colons_in_names() {
        for (runtime, shown) in
            [("2", "2"), ("1500ms", "1500ms"), ("500ms", "500ms"), ("5us", "5us")]
        {
            let given = format!("--runtime={runtime}");
            let found = results(&[&given], false);
            assert_eq!(found["jobs"][0]["job options"]["runtime"], shown);
        }
        for name in ["d/a\\:b:c", "sim:sd-150x"] {
            let found = results(&[&format!("--filename={name}")], false);
            assert_eq!(found["jobs"][0]["job options"]["filename"], name);
        }
    }

    #[test]
    fn disks_are_shown_unless_disabled() {
        assert!(results(&[], false)["disk_util"].is_array());
        assert_eq!(results(&["--disk_util=0"], false).get("disk_util"), None);
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
            run
        };
        let ran = testing::ran(&plan, [0, 5, 110].map(failed).into());
        assert_eq!(json(&ran, false)["jobs"][0]["error"], 5);
        assert!(super::super::normal(&ran).contains("err= 5"));
        let good = testing::ran(&plan, vec![failed(0)]);
        assert_eq!(json(&good, false)["jobs"][0]["error"], 0);
    }
}
