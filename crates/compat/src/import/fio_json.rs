//! fio's JSON, plain and with the bins of json+, also within the JSON of another program. Several
//! objects are several runs, or states of one (`--status-interval`, see `repeats.rs`).
//!
//! fio 3 reports bytes and nanoseconds; fio 2 reported KiB and microseconds under nearly the same
//! names (`io_kbytes` came with fio 3). Options missing from a job have fio's defaults.

use record::{Histogram, IoErrors, LatencyProfile, OWN_FIO, Run};
use serde_json::{Map, Value};

use super::fio_names::{
    self, DIRECTIONS, Flushes, Job, MIXED, drive, engine_depth, notes, put_flushes,
};
use super::found::{self, SideFigures, WorkloadShape, put_side, run};
use super::json;
use super::lines::{ImportError, Lines, size};

/// The key of fio's version.
const VERSION: &str = "fio version";

/// Whether a value is the JSON of one run of fio.
fn is_run(value: &Value) -> bool {
    value.get(VERSION).is_some()
}

/// Whether fio's JSON begins on the current line, or another JSON that contains fio's.
/// fio's name in its output.
const VERSION_KEY: &str = "\"fio version\"";

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    if !lines.peek().is_some_and(|line| line.contains('{')) {
        return false;
    }
    match json::objects(lines) {
        Some((objects, _)) => objects.iter().any(|object| object.contains(VERSION_KEY)),
        // fio prints its version first. An object within another that does not end is no result.
        None => {
            let mut ahead = lines.clone();
            let keys = [ahead.next(), ahead.next()];
            json::is_cut(lines) && keys.iter().flatten().any(|line| line.contains(VERSION_KEY))
        }
    }
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let Some((objects, end)) = json::objects(lines) else {
        while lines.next().is_some() {}
        return Err(lines.wrong("fio's JSON cannot be read: the text ends before it"));
    };
    let mut runs = Vec::new();
    for object in objects {
        let value: Value = serde_json::from_str(&object).map_err(|error| {
            let line = begin + error.line().saturating_sub(1);
            lines.wrong_at(line, format!("fio's JSON cannot be read: {error}"))
        })?;
        for document in json::find(&value, &is_run) {
            let text = "fio's JSON has no results";
            runs.push(record(document, begin).ok_or_else(|| lines.wrong_at(begin, text))?);
        }
    }
    *lines = end;
    Ok(runs)
}

fn record(document: &Value, begin: usize) -> Option<Run> {
    let own_version = document["ssdyno"]["version"].as_str();
    let is_own = own_version.is_some();
    let mut run = match own_version {
        Some(own_version) => run("fio", OWN_FIO, Some(own_version.to_string()), begin),
        None => {
            let version = document[VERSION].as_str().unwrap_or_default();
            let version = version.strip_prefix("fio-").unwrap_or(version);
            run("fio", "fio", Some(version.to_string()), begin)
        }
    };
    // Results from fio servers are in `client_stats`, in fio 2 as well as fio 3.
    let jobs = document.get("jobs").or(document.get("client_stats"))?.as_array()?;
    let global = document["global options"].as_object();
    let jobs: Vec<&Value> = jobs.iter().filter(|job| job["jobname"] != "All clients").collect();
    for entry in &jobs {
        job(&mut run, entry, global, is_own);
        let options = JobOptions(entry["job options"].as_object(), global);
        let owner = if jobs.len() == 1 { None } else { entry["jobname"].as_str() };
        run.options.get_or_insert_default().extend(options.of_work(owner));
    }
    began(&mut run, document);
    if let Some([disk]) = document["disk_util"].as_array().map(Vec::as_slice) {
        run.target.drive = disk["name"].as_str().map(drive);
    }
    notes(&mut run, jobs.len());
    Some(run)
}

/// The options of a job, which override the global ones and fio's defaults.
struct JobOptions<'a>(Option<&'a Map<String, Value>>, Option<&'a Map<String, Value>>);

impl<'a> JobOptions<'a> {
    fn get(&self, names: &[&str]) -> Option<&'a str> {
        let mut maps = [self.0, self.1].into_iter().flatten();
        maps.find_map(|map| names.iter().find_map(|name| map.get(*name)?.as_str()))
    }

    /// The options that determine the job's work and mean the same in every spelling. Those of one
    /// of several jobs carry its name.
    fn of_work(&self, owner: Option<&str>) -> impl Iterator<Item = (String, String)> {
        let rw = self.get(&["rw", "readwrite"]).map(|rw| rw.split(':').next().unwrap_or(rw));
        let rw = rw.map(|rw| if rw == "readwrite" { "rw" } else { rw });
        let mix = self.get(&["rwmixread"]).filter(|_| rw.is_some_and(|rw| rw.ends_with("rw")));
        let bs = match block_sizes(self) {
            [Some(reads), Some(writes), Some(trims)] if reads == writes && writes == trims => {
                self.get(&["bs", "blocksize"]).map(|_| short(reads))
            }
            _ => None,
        };
        let word = |name: &str| self.get(&[name]).map(String::from);
        let words = [rw.map(String::from), mix.map(String::from), word("iodepth"), bs];
        ["rw", "rwmixread", "iodepth", "bs"].into_iter().zip(words).filter_map(
            move |(name, words)| {
                let name = owner.map_or(name.to_string(), |owner| format!("{owner}: {name}"));
                Some((name, words?))
            },
        )
    }
}

/// Adds the results of a job. `own`: the output is that of `ssdyno fio`.
fn job(run: &mut Run, entry: &Value, global: Option<&Map<String, Value>>, own: bool) {
    let options = JobOptions(entry["job options"].as_object(), global);
    let has_options = options.0.is_some() || options.1.is_some();
    let name = entry["jobname"].as_str().unwrap_or("unknown");
    found::title(run, name);
    let mut job = has_options.then(|| job_options(&options));
    if let Some(job) = &mut job {
        engine_depth(run, job, &depths(&entry["iodepth_level"]));
    }
    let sides = DIRECTIONS.map(|direction| {
        entry.get(direction).filter(|side| number(side, "runtime") > Some(0.0) && did_io(side))
    });
    let has_parts = sides[..MIXED].iter().any(Option::is_some);
    for (i, side) in sides.into_iter().enumerate() {
        // The sum of directions that are listed as well is no further figure.
        let Some(side) = side.filter(|_| i != MIXED || !has_parts) else { continue };
        let (shape, word) = fio_names::shape(job.as_ref(), i, &WorkloadShape::default());
        let (measured, histogram) = measured(side, own);
        let metric = put_side(run, &shape, word, &measured);
        if let Some(service) = histogram {
            run.latencies.push(LatencyProfile::new(metric, word, service));
        }
        let seconds = number(side, "runtime").unwrap_or(0.0) / 1e3;
        run.seconds = Some(run.seconds.unwrap_or(0.0).max(seconds));
    }
    put_flushes(run, flushes(&entry["sync"]));
    if has_options {
        run.target.direct = Some(options.get(&["direct"]) == Some("1"));
        run.target.spec = options.get(&["filename", "directory"]).unwrap_or(name).to_string();
    }
    if let Some(errno) = entry["error"].as_u64().filter(|errno| *errno > 0) {
        run.errors.push(IoErrors::new("unknown", format!("errno {errno}"), name, 1));
    }
}

/// Whether a direction did any I/O.
fn did_io(side: &Value) -> bool {
    ["bw", "iops", "total_ios"].iter().any(|name| number(side, name) > Some(0.0))
}

/// A size as fio prints it in the options of a job.
fn short(bytes: u64) -> String {
    let units = [(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];
    let unit = units.iter().find(|(unit, _)| bytes.is_multiple_of(*unit));
    unit.map_or(bytes.to_string(), |(unit, name)| format!("{}{name}", bytes / unit))
}

fn job_options(options: &JobOptions<'_>) -> Job {
    let rw = options.get(&["rw", "readwrite"]).unwrap_or("read");
    let several = ["bsrange", "blocksize_range", "bssplit"].iter();
    let fixed = several.clone().all(|name| options.get(&[name]).is_none());
    let grouped = options.get(&["group_reporting"]).is_some_and(|value| value != "0");
    let jobs = options.get(&["numjobs"]).filter(|_| grouped).and_then(|n| n.parse().ok());
    Job {
        rw: rw.split(':').next().unwrap_or(rw).to_string(),
        blocks: if fixed { block_sizes(options) } else { [None; 3] },
        depth: options.get(&["iodepth"]).map_or(Some(1), |depth| depth.parse().ok()),
        engine: options.get(&["ioengine"]).map(String::from),
        jobs: jobs.unwrap_or(1),
    }
}

/// Block sizes of reads, writes and trims: `4k`, `4k,8k`; a missing one is that before it.
fn block_sizes(options: &JobOptions<'_>) -> [Option<u64>; 3] {
    let mut parts = options.get(&["bs", "blocksize"]).unwrap_or("4k").split(',');
    let mut previous = "4k";
    [(); 3].map(|()| {
        previous = parts.next().filter(|part| !part.is_empty()).unwrap_or(previous);
        size(previous).filter(|bytes| *bytes > 0)
    })
}

/// Shares of the depths 1, 2, 4, .. in percent.
fn depths(levels: &Value) -> Vec<f64> {
    let shares = ["1", "2", "4", "8", "16", "32", ">=64"];
    shares.iter().map(|depth| number(levels, depth).unwrap_or(0.0)).collect()
}

/// Latencies of fsync and the like, which fio 2 does not print.
fn flushes(sync: &Value) -> Option<Flushes> {
    let latency = sync.get("lat_ns")?;
    Some(Flushes {
        operations: sync["total_ios"].as_u64(),
        min_ns: number(latency, "min"),
        mean_ns: number(latency, "mean"),
        max_ns: number(latency, "max"),
        percentiles: percentiles(latency, 1.0),
    })
}

/// Samples beyond a percentile that make it a figure.
const SAMPLES_BEYOND: f64 = 10.0;

fn number(value: &Value, name: &str) -> Option<f64> {
    value.get(name)?.as_f64()
}

fn measured(side: &Value, own: bool) -> (SideFigures, Option<Histogram>) {
    let (bytes, mut nanoseconds) = (number(side, "bw_bytes"), side.get("clat_ns"));
    // In ssdyno's output, `clat_ns` and `lat_ns` are the same times, but only those whose
    // percentiles were requested have any.
    if own && nanoseconds.is_some_and(|latency| latency.get("percentile").is_none()) {
        nanoseconds = side.get("lat_ns").or(nanoseconds);
    }
    let kib = number(side, "bw").map(|kib| kib * 1024.0);
    let latency = nanoseconds.or(side.get("clat")).unwrap_or(&Value::Null);
    let scale = if nanoseconds.is_some() { 1.0 } else { 1e3 };
    // With gtod_reduce, fio measures no latency and reports zeros.
    let max_ns = number(latency, "max").filter(|max| *max > 0.0);
    let mut service_percentiles =
        if max_ns.is_some() { percentiles(latency, scale) } else { Vec::new() };
    if own {
        // `ssdyno fio` prints all percentiles, as fio does; its record has those that enough samples
        // support.
        let samples = number(latency, "N").unwrap_or(0.0);
        service_percentiles.retain(|(share, _)| (1.0 - share) * samples >= SAMPLES_BEYOND - 1e-6);
    }
    let side = SideFigures {
        bytes_per_s: bytes.or(kib),
        iops: number(side, "iops"),
        operations: side["total_ios"].as_u64(),
        min_ns: number(latency, "min").filter(|_| max_ns.is_some()).map(|min| min * scale),
        max_ns: max_ns.map(|max| max * scale),
        percentiles: service_percentiles,
        submission: side.get("slat_ns").map_or_else(Vec::new, |slat| percentiles(slat, 1.0)),
    };
    (side, bins(latency))
}

/// Shares (0 to 1) and nanoseconds.
fn percentiles(latency: &Value, scale: f64) -> Vec<(f64, f64)> {
    // fio 2 lists unused percentiles under the key `0.00`.
    let percentiles = latency["percentile"].as_object().into_iter().flatten();
    let percentiles = percentiles.filter_map(|(percent, value)| {
        let percent: f64 = percent.trim_start_matches('>').trim_start_matches('=').parse().ok()?;
        Some((percent / 100.0, value.as_f64()? * scale)).filter(|(share, _)| *share > 0.0)
    });
    percentiles.collect()
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
    let run_ms = (run.seconds.unwrap_or(0.0) * 1e3) as i64;
    let start = ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms.checked_sub(run_ms)?).ok());
    found::start(run, start.map(|start| start.to_string()));
}
