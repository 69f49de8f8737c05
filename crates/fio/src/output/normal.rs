//! The text familiar to fio's users, to its last line: scripts read it. Figures and findings that
//! fio does not have are in `remarks.rs`.

use std::fmt::Write;

use record::Histogram;
use rig::DiskUse;
use workload::OpKind;

use super::latency::{self, quantiles};
use super::numbers::{self, LatencyUnit, short};
use super::priorities::{self, PriorityLatency};
use super::shown::{ReportedSide, Samples, Shown, deviation};
use super::{LAYOUT, ended, mean, shown, shows_disks};
use crate::run::Ran;
use crate::{Engine, IdleProfile, Job, Plan};

const DEPTH_NOTE: &str = "note: both iodepth >= 1 and synchronous I/O engine are selected, queue \
                          depth will be capped at 1\n";

/// Characters of a line that percentiles share.
const LINE: usize = 73;

/// Least width of a percentile.
const WIDTH_MIN: usize = 5;

/// Classes of latency per line.
const CLASSES_PER_LINE: usize = 5;

/// Announces the jobs about to run, one per line.
pub fn announce(plan: &Plan) -> String {
    let mut text = String::new();
    for job in &plan.jobs {
        let [read, write, trim] = job.access.blocks.each().map(|blocks| {
            let [min, max] =
                [blocks.min(), blocks.max()].map(|bytes| short(bytes as f64, 6, true, "B"));
            format!("{min}-{max}")
        });
        let _ = writeln!(
            text,
            "{}: (g={}): rw={}, bs=(R) {read}, (W) {write}, (T) {trim}, ioengine={}, iodepth={}",
            emit::plain(&job.name),
            job.group,
            job.access.rw.name(),
            job.engine.name(),
            job.queue.depth,
        );
        if job.numjobs > 1 {
            text.push_str("...\n");
        }
    }
    if plan.globals.as_is {
        let _ = writeln!(text, "{LAYOUT}\nStarting {}", fios_clones(plan));
    } else {
        let clones: u32 = plan.jobs.iter().map(|job| job.numjobs).sum();
        let s = if clones == 1 { "" } else { "s" };
        let _ = writeln!(text, "ssdyno-{}", env!("CARGO_PKG_VERSION"));
        let _ = writeln!(text, "Starting {clones} thread{s}");
    }
    text
}

/// What fio would start: `1 thread and 2 processes`.
fn fios_clones(plan: &Plan) -> String {
    let [threads, processes] = [true, false].map(|is_thread| -> u32 {
        let jobs = plan.jobs.iter().filter(|job| job.thread == is_thread);
        jobs.map(|job| job.numjobs).sum()
    });
    let kinds = [(threads, "thread", "threads"), (processes, "process", "processes")];
    let words = kinds.iter().filter(|(count, ..)| *count > 0);
    let words =
        words.map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }));
    words.collect::<Vec<_>>().join(" and ")
}

/// fio's note on each clone with a queue depth that its engine ignores. Without `--as-is`, a remark
/// says it.
fn depth_notes(ran: &Ran<'_>) -> String {
    let clones = ran.jobs.iter().filter(|run| {
        let job = run.job;
        job.queue.depth > 1 && !job.engine.asynchronous() && job.engine != Engine::Null
    });
    clones.map(|_| DEPTH_NOTE).collect()
}

/// All results of a plan, in fio's format to the last line.
pub fn normal(ran: &Ran<'_>) -> String {
    let results = shown(ran);
    let mut text = if ran.plan.globals.as_is { depth_notes(ran) } else { String::new() };
    text.push('\n');
    for shown in results.iter().filter(|shown| shown.has_operations()) {
        result(&mut text, shown, ran);
    }
    groups(&mut text, &results, ran.plan);
    disks(&mut text, ran);
    idleness(&mut text, ran);
    text
}

fn result(text: &mut String, shown: &Shown<'_>, ran: &Ran<'_>) {
    let job = shown.job;
    let end_time = jiff::Timestamp::from_millisecond(ran.ended_unix_ms as i64).unwrap_or_default();
    let end_time = end_time.to_zoned_datetime(jiff::tz::TimeZone::system());
    let _ = writeln!(
        text,
        "{}: (groupid={}, jobs={}): err={}: pid={}: {}",
        emit::plain(&job.name),
        job.group,
        shown.runs.len(),
        ended::error(shown),
        std::process::id(),
        end_time.strftime("%a %b %e %H:%M:%S %Y"),
    );
    if let Some(description) = &job.description {
        let _ = writeln!(text, "  Description  : [{}]", emit::plain(description));
    }
    for side in shown.reported() {
        direction(text, shown, &side);
        if let Some(response) = side.stats.response.as_ref().filter(|_| !ran.plan.globals.as_is) {
            latency_line(text, "resp", response);
        }
        rates(text, job, &side);
    }
    if !job.reporting.gtod_reduce {
        classes(text, shown);
    }
    if let Some(flushes) = shown.flushes() {
        text.push_str("  fsync/fdatasync/sync_file_range/syncfs:\n");
        latency_line(text, "sync", &flushes.service);
        percentiles(text, job, "sync", &flushes.service);
    }
    machine(text, shown);
}

fn direction(text: &mut String, shown: &Shown<'_>, side: &ReportedSide<'_>) {
    let reporting = &shown.last_job().reporting;
    let name = match side.kind {
        Some(OpKind::Discard) => "trim",
        _ => side.name(),
    };
    let _ = writeln!(
        text,
        "  {name}: IOPS={}, BW={}({}/{}msec)",
        numbers::count(side.per_s()),
        numbers::rate(side.bytes_per_s(), reporting.bits),
        numbers::bytes(side.stats.bytes),
        side.runtime_ms(),
    );
    let latencies = latency::named(side.stats, reporting);
    for latency in &latencies {
        if let Some(histogram) = latency.histogram {
            latency_line(text, latency.name, histogram);
        }
    }
    let by_priority = priorities::latencies(shown, side.kind);
    let name = priorities::latency_name(shown);
    for PriorityLatency { parts: [class, level, hint], histogram } in &by_priority {
        latency_line(text, &format!("{name} prio {class}/{level}/{hint}"), histogram);
    }
    for latency in latencies.iter().filter(|latency| latency.has_percentiles) {
        if let Some(histogram) = latency.histogram {
            percentiles(text, shown.last_job(), latency.name, histogram);
        }
    }
    if reporting.clat_percentiles || reporting.lat_percentiles {
        let ops: u64 = by_priority.iter().map(|group| group.histogram.count()).sum();
        for PriorityLatency { parts: [class, level, hint], histogram } in &by_priority {
            let share = histogram.count() as f64 * 100.0 / ops as f64;
            let name = format!("{name} prio {class}/{level}/{hint} ({share:.2}% of IOs)");
            percentiles(text, shown.last_job(), &name, histogram);
        }
    }
}

/// The samples of bandwidth and IOPS.
fn rates(text: &mut String, job: &Job, side: &ReportedSide<'_>) {
    let share = side.bw.mean * 100.0 / side.bytes_per_s().max(1.0);
    if side.bw.count > 0 {
        let Samples { min, max, mean, deviation, count } = side.bw;
        let (unit, divisor) = rate_unit(mean, job.reporting.bits);
        let _ = writeln!(
            text,
            "   bw ({unit:>5}/s): min={:5.0}, max={:5.0}, per={:3.2}%, avg={:5.2}, stdev={:5.2}, samples={count}",
            min / divisor,
            max / divisor,
            share.min(100.0),
            mean / divisor,
            deviation / divisor,
        );
    }
    if side.iops.count > 0 {
        let Samples { min, max, mean, deviation, count } = side.iops;
        let _ = writeln!(
            text,
            "   iops        : min={min:5.0}, max={max:5.0}, avg={mean:5.2}, stdev={deviation:5.2}, samples={count}",
        );
    }
}

/// The unit of samples of a rate with this mean in bytes, and its bytes: fio changes to the larger
/// one above 1024 * 1024 of the smaller.
fn rate_unit(mean: f64, bits: bool) -> (&'static str, f64) {
    let (unit, larger_unit, divisor) =
        if bits { ("Kibit", "Mibit", 128.0) } else { ("KiB", "MiB", 1024.0) };
    if mean / divisor > 1024.0 * 1024.0 { (larger_unit, divisor * 1024.0) } else { (unit, divisor) }
}

/// The line of a latency.
fn latency_line(text: &mut String, name: &str, histogram: &Histogram) {
    let (Some(min), Some(max), Some(mean)) = (histogram.min(), histogram.max(), histogram.mean())
    else {
        return;
    };
    let deviation = deviation(histogram);
    let unit = LatencyUnit::for_range(min as f64, max as f64, deviation);
    let [min, max] = [min, max].map(|ns| short(ns as f64 / unit.ns, 6, false, ""));
    let _ = writeln!(
        text,
        "    {name:>4} ({}): min={min}, max={max}, avg={:5.2}, stdev={:5.2}",
        unit.name,
        mean / unit.ns,
        deviation / unit.ns,
    );
}

fn percentiles(text: &mut String, job: &Job, name: &str, histogram: &Histogram) {
    let percentiles: Vec<(f64, u64)> = quantiles(histogram, &job.reporting.percentiles).collect();
    let (Some((_, min)), Some((_, max))) = (percentiles.first(), percentiles.last()) else {
        return;
    };
    let (unit, unit_ns) = match (*min, *max) {
        (2_000_001.., 100_000_000..) => ("msec", 1_000_000),
        (2001.., 100_000..) => ("usec", 1000),
        _ => ("nsec", 1),
    };
    let _ = writeln!(text, "    {name} percentiles ({unit}):");
    let width = (max / unit_ns).to_string().len().max(WIDTH_MIN);
    let precision = job.reporting.percentile_precision as usize;
    let percent_width = precision + 3;
    let per_line = (LINE / (precision + 10 + width)).max(1);
    for line in percentiles.chunks(per_line) {
        let entries = line.iter().map(|(percent, ns)| {
            let rounded_up = ns.div_ceil(unit_ns);
            format!(" {percent:>percent_width$.precision$}th=[{rounded_up:>width$}]")
        });
        let _ = writeln!(text, "     |{},", entries.collect::<Vec<_>>().join(","));
    }
    // The last line ends without a comma.
    text.truncate(text.len() - 2);
    text.push('\n');
}

fn classes(text: &mut String, shown: &Shown<'_>) {
    const BOUNDS: [&str; 12] =
        ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];
    let (ns, us, ms) = shown.latency_classes();
    for (unit, shares) in [("nsec", &ns[..]), ("usec", &us[..]), ("msec", &ms[..])] {
        let classes: Vec<String> = BOUNDS
            .iter()
            .zip(shares)
            .filter(|(_, share)| **share > 0.0)
            .map(|(bound, share)| format!("{bound}={:.2}%", share.max(0.01)))
            .collect();
        for line in classes.chunks(CLASSES_PER_LINE) {
            let _ = writeln!(text, "  lat ({unit})   : {}", line.join(", "));
        }
    }
}

fn share_list(names: [&str; 7], shares: [f64; 7]) -> String {
    let shares = names.into_iter().zip(shares).map(|(name, share)| match share {
        0.0 => format!("{name}=0.0%"),
        _ => format!("{name}={:.1}%", share.max(0.1)),
    });
    shares.collect::<Vec<_>>().join(", ")
}

fn machine(text: &mut String, shown: &Shown<'_>) {
    let time = shown.sum(|run| run.did.end_ns.saturating_sub(run.did.begin_ns)).max(1) as f64;
    let cpu_ns = [shown.sum(|run| run.did.usage.user_ns), shown.sum(|run| run.did.usage.system_ns)];
    let [user, system] = cpu_ns.map(|ns| ns as f64 * 100.0 / time);
    let _ = writeln!(
        text,
        "  cpu          : usr={user:3.2}%, sys={system:3.2}%, ctx={}, majf={}, minf={}",
        shown.sum(|run| run.did.usage.switches),
        shown.sum(|run| run.did.usage.major_faults),
        shown.sum(|run| run.did.usage.minor_faults),
    );
    let depths = ["1", "2", "4", "8", "16", "32", ">=64"];
    let batches = ["0", "4", "8", "16", "32", "64", ">=64"];
    let _ =
        writeln!(text, "  IO depths    : {}", share_list(depths, shown.shares(|r| r.did.depths)));
    let _ =
        writeln!(text, "     submit    : {}", share_list(batches, shown.shares(|r| r.did.handed)));
    let _ = writeln!(
        text,
        "     complete  : {}",
        share_list(batches, shown.shares(|r| r.did.returned))
    );
    let [reads, writes, trims, flushes] =
        [OpKind::Read, OpKind::Write, OpKind::Discard, OpKind::Flush].map(|kind| {
            let measured = shown.kinds[kind as usize].as_ref().map_or(0, |stats| stats.ops);
            measured + shown.left_out(kind).ops
        });
    let _ = writeln!(
        text,
        "     issued rwts: total={reads},{writes},{trims},{flushes} short=0,0,0,0 dropped=0,0,0,0",
    );
    text.push_str(&ended::lines(shown));
}

fn groups(text: &mut String, results: &[Shown<'_>], plan: &Plan) {
    let mut numbers: Vec<u32> = plan.jobs.iter().map(|job| job.group).collect();
    numbers.dedup();
    for group in numbers {
        let _ = writeln!(text, "\nRun status group {group} (all jobs):");
        let members: Vec<_> = results.iter().filter(|shown| shown.job.group == group).collect();
        // In fio, too, the last job decides.
        let bits = members.last().is_some_and(|shown| shown.job.reporting.bits);
        let group_sides: Vec<ReportedSide<'_>> =
            members.iter().flat_map(|shown| shown.reported()).collect();
        for (name, title) in
            [("read", "READ"), ("write", "WRITE"), ("discard", "TRIM"), ("mixed", "MIXED")]
        {
            let sides: Vec<_> = group_sides.iter().filter(|side| side.name() == name).collect();
            group_line(text, title, &sides, bits);
        }
    }
}

fn group_line(text: &mut String, name: &str, sides: &[&ReportedSide<'_>], bits: bool) {
    if sides.is_empty() {
        return;
    }
    let bytes: u64 = sides.iter().map(|side| side.stats.bytes).sum();
    let times: Vec<u64> = sides.iter().map(|side| side.runtime_ms()).collect();
    let longest = sides.iter().map(|side| side.runtime_ns).max().unwrap_or(1).max(1);
    let rates = sides.iter().map(|side| side.bytes_per_s());
    let (low, high) =
        rates.fold((f64::INFINITY, 0.0f64), |(low, high), rate| (low.min(rate), high.max(rate)));
    let _ = writeln!(
        text,
        "  {name:>5}: bw={}, {}-{} ({}-{}), io={} ({}), run={}-{}msec",
        numbers::rate(bytes as f64 * 1e9 / longest as f64, bits),
        numbers::binary_rate(low, bits),
        numbers::binary_rate(high, bits),
        numbers::decimal_rate(low, bits),
        numbers::decimal_rate(high, bits),
        numbers::bytes(bytes),
        numbers::decimal_bytes(bytes),
        times.iter().min().unwrap_or(&0),
        times.iter().max().unwrap_or(&0),
    );
}

/// How idle the processors were, if requested.
fn idleness(text: &mut String, ran: &Ran<'_>) {
    let Some(processors) = &ran.processors_idle else { return };
    let _ = writeln!(text, "\nCPU idleness:\n  system: {:.2}%", mean(processors));
    if ran.plan.globals.idle_profile == Some(IdleProfile::PerProcessor) {
        let list: Vec<String> = processors.iter().map(|idle| format!("{idle:.2}%")).collect();
        let _ = writeln!(text, "  percpu: {}", list.join(", "));
    }
}

fn disks(text: &mut String, ran: &Ran<'_>) {
    if ran.disks.is_empty() || !shows_disks(ran) {
        return;
    }
    text.push_str("\nDisk stats (read/write):\n");
    for DiskUse { name, ios, sectors, merges, ticks, in_queue, util } in &ran.disks {
        let [ios, sectors, merges, ticks] =
            [ios, sectors, merges, ticks].map(|[read, written]| format!("{read}/{written}"));
        let _ = writeln!(
            text,
            "  {name}: ios={ios}, sectors={sectors}, merge={merges}, ticks={ticks}, \
             in_queue={in_queue}, util={util:.2}%",
        );
    }
}
