//! The results on one line per job, in fields separated by semicolons (`--minimal`), which scripts
//! parse by position. Versions 3 to 5 of fio's layout.
//!
//! The line is derived from the JSON fields, so that the two formats cannot disagree. A percentile
//! that is not reported has fio's entry for a missing one, `0%=0`.

use serde_json::Value;

use super::{LAYOUT, Shown, ended, json, with_results};
use crate::UnifiedRw;
use crate::run::Ran;

/// Number of percentile entries in a line.
const PERCENTILES: usize = 20;

/// Text for a percentile that is not reported.
const NO_PERCENTILE: &str = "0%=0";

/// One line per result, each with a line feed.
pub fn terse(ran: &Ran<'_>, version: u32) -> String {
    let document: Value = serde_json::from_str(&json(ran, false)).unwrap_or_default();
    let jobs = document["jobs"].as_array().map_or(&[][..], Vec::as_slice);
    let disks = document["disk_util"].as_array().map_or(&[][..], Vec::as_slice);
    with_results(ran, |results| {
        let lines = results.iter().zip(jobs);
        lines.map(|(shown, job)| line(shown, job, disks, version)).collect()
    })
}

/// The line of a result.
fn line(shown: &Shown<'_>, job: &Value, disks: &[Value], version: u32) -> String {
    let mut fields = vec![version.to_string(), LAYOUT.to_string()];
    let mut names = ["jobname", "groupid", "error"].map(|key| text(&job[key]));
    if !shown.job.reporting.stats {
        // As in fio, a hidden job has no group.
        names[1] = "-1".to_string();
    }
    fields.extend(names);
    let sides = match (shown.job.reporting.unified, version) {
        (UnifiedRw::Mixed, _) => &["mixed"][..],
        (UnifiedRw::None, 3) => &["read", "write"],
        (UnifiedRw::None, _) => &["read", "write", "trim"],
        (UnifiedRw::Both, 3) => &["read", "write", "mixed"],
        (UnifiedRw::Both, _) => &["read", "write", "trim", "mixed"],
    };
    let percentiles = &shown.job.reporting.percentiles;
    sides.iter().for_each(|name| side(&mut fields, &job[*name], percentiles, version));
    usage(&mut fields, job);
    disks.iter().for_each(|one| disk(&mut fields, one));
    if let Some((count, first)) = ended::errors_continued(shown) {
        fields.extend([count.to_string(), first.to_string()]);
    }
    fields.extend(shown.job.description.clone());
    emit::plain(&fields.join(";")).into_owned() + "\n"
}

/// The fields of one direction: 41 in versions 3 and 4, 47 in version 5.
fn side(fields: &mut Vec<String>, side: &Value, percentiles: &[f64], version: u32) {
    fields.extend(["io_kbytes", "bw"].map(|key| text(&side[key])));
    fields.push(number(&side["iops"]).trunc().to_string());
    fields.push(text(&side["runtime"]));
    latency(fields, &side["slat_ns"]);
    latency(fields, &side["clat_ns"]);
    let latencies =
        ["lat_ns", "clat_ns"].iter().find_map(|latency| side[latency].get("percentile"));
    for i in 0..PERCENTILES {
        let field = percentiles.get(i).and_then(|p| {
            let name = format!("{p:.6}");
            Some(format!("{name}%={}", latencies?.get(&name)?.as_u64()? / 1000))
        });
        fields.push(field.unwrap_or_else(|| NO_PERCENTILE.to_string()));
    }
    latency(fields, &side["lat_ns"]);
    fields.extend(["bw_min", "bw_max"].map(|key| text(&side[key])));
    fields.push(format!("{:.6}%", number(&side["bw_agg"])));
    fields.extend(["bw_mean", "bw_dev"].map(|key| real(&side[key])));
    if version >= 5 {
        fields.extend(["bw_samples", "iops_min", "iops_max"].map(|key| text(&side[key])));
        fields.extend(["iops_mean", "iops_stddev"].map(|key| real(&side[key])));
        fields.push(text(&side["iops_samples"]));
    }
}

/// Minimum, maximum, mean and deviation in microseconds.
fn latency(fields: &mut Vec<String>, of: &Value) {
    fields.extend(["min", "max"].map(|key| (number(&of[key]) / 1e3).trunc().to_string()));
    fields.extend(["mean", "stddev"].map(|key| format!("{:.6}", number(&of[key]) / 1e3)));
}

/// The processor, and the distributions of queue depth and of latency.
fn usage(fields: &mut Vec<String>, job: &Value) {
    fields.extend(["usr_cpu", "sys_cpu"].map(|key| format!("{}%", real(&job[key]))));
    fields.extend(["ctx", "majf", "minf"].map(|key| text(&job[key])));
    let depths = ["1", "2", "4", "8", "16", "32", ">=64"];
    fields.extend(depths.map(|depth| format!("{:.1}%", number(&job["iodepth_level"][depth]))));
    let us = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"];
    fields.extend(us.map(|class| format!("{:.2}%", number(&job["latency_us"][class]))));
    let ms = ["2000", ">=2000"];
    let classes = us.iter().chain(&ms);
    fields.extend(classes.map(|class| format!("{:.2}%", number(&job["latency_ms"][*class]))));
}

/// The counters of a drive.
fn disk(fields: &mut Vec<String>, disk: &Value) {
    let counters = [
        "name",
        "read_ios",
        "write_ios",
        "read_merges",
        "write_merges",
        "read_ticks",
        "write_ticks",
        "in_queue",
    ];
    fields.extend(counters.map(|key| text(&disk[key])));
    fields.push(format!("{:.2}%", number(&disk["util"])));
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn real(value: &Value) -> String {
    format!("{:.6}", number(value))
}

/// A field as it is; text without separators.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace([';', '\n'], " "),
        Value::Null => "0".into(),
        value => value.to_string(),
    }
}
