//! fio's JSON, plain and with the bins of json+. fio's warnings may precede it.
//!
//! fio 3 reports bytes and nanoseconds; fio 2 reported KiB and microseconds under nearly the same
//! names (`io_kbytes` came with fio 3). Options missing from a job have fio's defaults.

use record::{Histogram, IoErrors, LatencyProfile, OWN_FIO, Run};
use serde_json::{Map, Value};

pub(crate) use super::fio_text::json_begins as begins;
use super::fio_text::{drive, notes, pass_over};
use super::found::{self, Shape, Side, put_side, run};
use super::lines::{ImportError, Lines, size};

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let mut values = serde_json::Deserializer::from_str(lines.rest()).into_iter::<Value>();
    let found = values.next();
    let bytes = values.byte_offset();
    match found {
        Some(Ok(document)) => {
            lines.skip(bytes);
            let why = "fio's JSON has no results";
            let run = record(&document, begin).ok_or_else(|| lines.wrong_at(begin, why))?;
            pass_over(lines)?;
            Ok(vec![run])
        }
        Some(Err(error)) => {
            let line = begin + error.line().saturating_sub(1);
            Err(lines.wrong_at(line, format!("fio's JSON cannot be read: {error}")))
        }
        None => Err(lines.wrong_at(begin, "no JSON")),
    }
}

fn record(document: &Value, begin: usize) -> Option<Run> {
    let ours = document["ssdyno"]["version"].as_str();
    let own = ours.is_some();
    let mut run = match ours {
        Some(ours) => run("fio", OWN_FIO, Some(ours.to_string()), begin),
        None => {
            let version = document["fio version"].as_str().unwrap_or_default();
            let version = version.strip_prefix("fio-").unwrap_or(version);
            run("fio", "fio", Some(version.to_string()), begin)
        }
    };
    // Results from fio servers are in `client_stats`, in fio 2 as well as fio 3.
    let jobs = document.get("jobs").or(document.get("client_stats"))?.as_array()?;
    let global = document["global options"].as_object();
    for entry in jobs.iter().filter(|job| job["jobname"] != "All clients") {
        job(&mut run, entry, global, own);
    }
    began(&mut run, document);
    if let Some([disk]) = document["disk_util"].as_array().map(Vec::as_slice) {
        run.target.drive = disk["name"].as_str().map(drive);
    }
    notes(&mut run, jobs.len());
    (!run.metrics.is_empty() || !run.errors.is_empty()).then_some(run)
}

/// The options of a job, which override the global ones and fio's defaults.
struct Options<'a>(Option<&'a Map<String, Value>>, Option<&'a Map<String, Value>>);

impl<'a> Options<'a> {
    fn get(&self, names: &[&str]) -> Option<&'a str> {
        let find = |map: Option<&'a Map<String, Value>>| {
            names.iter().find_map(|name| map?.get(*name)?.as_str())
        };
        find(self.0).or_else(|| find(self.1))
    }
}

/// Adds the results of a job. `own`: the output is that of `ssdyno fio`.
fn job(run: &mut Run, job: &Value, global: Option<&Map<String, Value>>, own: bool) {
    let options = Options(job["job options"].as_object(), global);
    let known = options.0.is_some() || options.1.is_some();
    let name = job["jobname"].as_str().unwrap_or("unknown");
    found::title(run, name);
    for (i, direction) in ["read", "write"].into_iter().enumerate() {
        let Some(side) = job.get(direction).filter(|side| number(side, "runtime") > Some(0.0))
        else {
            continue;
        };
        let shape = if known { shape(&options, i) } else { Shape::default() };
        let (measured, histogram) = measured(side, own);
        let metric = put_side(run, &shape, direction, &measured);
        if let Some(service) = histogram {
            run.latencies.push(LatencyProfile::new(metric, direction, service));
        }
        let seconds = number(side, "runtime").unwrap_or(0.0) / 1e3;
        run.seconds = Some(run.seconds.unwrap_or(0.0).max(seconds));
    }
    if known {
        run.target.direct = Some(options.get(&["direct"]) == Some("1"));
        run.target.spec = options.get(&["filename", "directory"]).unwrap_or(name).to_string();
    }
    if let Some(errno) = job["error"].as_u64().filter(|errno| *errno > 0) {
        run.errors.push(IoErrors::new("unknown", format!("errno {errno}"), name, 1));
    }
}

fn shape(options: &Options<'_>, side: usize) -> Shape {
    let rw = options.get(&["rw", "readwrite"]).unwrap_or("read");
    let rw = rw.split(':').next().unwrap_or(rw);
    let several = ["bsrange", "blocksize_range", "bssplit"].iter();
    let fixed = several.clone().all(|name| options.get(&[name]).is_none());
    let block = options.get(&["bs", "blocksize"]).unwrap_or("4k");
    let mut parts = block.split(',');
    let first = parts.next().unwrap_or(block);
    let block =
        if side == 0 { first } else { parts.next().filter(|p| !p.is_empty()).unwrap_or(first) };
    let grouped = options.get(&["group_reporting"]).is_some();
    let jobs = options.get(&["numjobs"]).filter(|_| grouped).and_then(|n| n.parse().ok());
    Shape {
        random: rw.starts_with("rand"),
        mixed: rw.ends_with("rw") || rw == "readwrite",
        block_bytes: size(block).filter(|bytes| fixed && *bytes > 0),
        depth: options.get(&["iodepth"]).map_or(Some(1), |depth| depth.parse().ok()),
        jobs: jobs.unwrap_or(1),
        extra: None,
    }
}

fn number(value: &Value, name: &str) -> Option<f64> {
    value.get(name)?.as_f64()
}

fn measured(side: &Value, own: bool) -> (Side, Option<Histogram>) {
    let (bytes, mut nanoseconds) = (number(side, "bw_bytes"), side.get("clat_ns"));
    // In ssdyno's output, `clat_ns` and `lat_ns` are the same times, but only those whose
    // percentiles were requested have any.
    if own && nanoseconds.is_some_and(|latency| latency.get("percentile").is_none()) {
        nanoseconds = side.get("lat_ns").or(nanoseconds);
    }
    let kib = number(side, "bw").map(|kib| kib * 1024.0);
    let latency = nanoseconds.or(side.get("clat")).unwrap_or(&Value::Null);
    let scale = if nanoseconds.is_some() { 1.0 } else { 1e3 };
    // fio 2 lists unused percentiles under the key `0.00`.
    let percentiles = latency["percentile"].as_object().into_iter().flatten();
    let percentiles = percentiles.filter_map(|(percent, value)| {
        let percent: f64 = percent.trim_start_matches('>').trim_start_matches('=').parse().ok()?;
        Some((percent / 100.0, value.as_f64()? * scale)).filter(|(share, _)| *share > 0.0)
    });
    // With gtod_reduce, fio measures no latency and reports zeros.
    let timed = number(latency, "max").filter(|max| *max > 0.0);
    let side = Side {
        bytes_per_s: bytes.or(kib),
        iops: number(side, "iops"),
        operations: side["total_ios"].as_u64(),
        max_ns: timed.map(|max| max * scale),
        percentiles: if timed.is_some() { percentiles.collect() } else { Vec::new() },
    };
    (side, bins(latency))
}

/// The bins of json+: the middle of each bin in nanoseconds, and its count.
fn bins(latency: &Value) -> Option<Histogram> {
    let mut histogram = Histogram::default();
    for (ns, count) in latency.get("bins")?.as_object()? {
        histogram.record_many(ns.parse().ok()?, count.as_u64()?);
    }
    (histogram.count() > 0).then_some(histogram)
}

/// fio records its end time.
fn began(run: &mut Run, document: &Value) {
    let ms = document["timestamp_ms"].as_i64();
    let ms = ms.or_else(|| document["timestamp"].as_i64()?.checked_mul(1000));
    let took = (run.seconds.unwrap_or(0.0) * 1e3) as i64;
    let began = ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms.checked_sub(took)?).ok());
    found::start(run, began.map(|began| began.to_string()));
}
