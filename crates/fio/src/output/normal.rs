//! The text familiar to fio's users, to its last line: scripts read it. Figures and findings that
//! fio does not have are in `remarks.rs`.

use std::fmt::Write;

use record::Histogram;
use rig::DiskUse;
use workload::OpKind;

use super::numbers::{self, LatencyUnit, short};
use super::shown::{ReportedSide, Samples, Shown, deviation};
use super::{ended, shown, shows_disks};
use crate::run::Ran;
use crate::{Job, Plan};

/// Percentiles per line.
const PER_LINE: usize = 4;

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
    let clones: u32 = plan.jobs.iter().map(|job| job.numjobs).sum();
    let s = if clones == 1 { "" } else { "s" };
    let _ = writeln!(text, "ssdyno-{}", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(text, "Starting {clones} thread{s}");
    text
}

/// All results of a plan, in fio's format to the last line.
pub fn normal(ran: &Ran<'_>) -> String {
    let results = shown(ran);
    let mut text = String::new();
    for shown in &results {
        text.push('\n');
        result(&mut text, shown, ran);
    }
    groups(&mut text, &results);
    disks(&mut text, ran);
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
        direction(text, job, &side);
    }
    if let Some(flushes) = shown.flushes() {
        text.push_str("  fsync/fdatasync/sync_file_range:\n");
        latency(text, job, "sync", &flushes.service);
    }
    if !job.reporting.gtod_reduce {
        classes(text, shown);
    }
    machine(text, shown);
}

fn direction(text: &mut String, job: &Job, side: &ReportedSide<'_>) {
    let name = match side.kind {
        Some(OpKind::Discard) => "trim",
        _ => side.name(),
    };
    let zones = if side.kind == Some(OpKind::Write) { "; 0 zone resets" } else { "" };
    let _ = writeln!(
        text,
        "  {name}: IOPS={}, BW={}({}/{}msec){zones}",
        numbers::count(side.per_s()),
        numbers::rate(side.bytes_per_s(), job.reporting.bits),
        numbers::bytes(side.stats.bytes),
        side.runtime_ms(),
    );
    if !job.reporting.gtod_reduce {
        if !job.reporting.disable_lat || !job.reporting.disable_clat {
            latency(text, job, "lat", &side.stats.service);
        }
        if let Some(response) = &side.stats.response {
            latency(text, job, "resp", response);
        }
    }
    let share = side.bw.mean * 100.0 / side.bytes_per_s().max(1.0);
    if side.bw.count > 0 {
        let bits = job.reporting.bits;
        let divisor = if bits { 128.0 } else { 1024.0 };
        let unit = if bits { "Kibit/s" } else { "  KiB/s" };
        let Samples { min, max, mean, deviation, count } = side.bw;
        let _ = writeln!(
            text,
            "   bw ({unit}): min={:5.0}, max={:5.0}, per={:3.2}%, avg={:5.2}, stdev={:5.2}, samples={count}",
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

/// A latency's line and percentiles.
fn latency(text: &mut String, job: &Job, name: &str, histogram: &Histogram) {
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
    if job.reporting.clat_percentiles || job.reporting.lat_percentiles {
        percentiles(text, job, name, histogram);
    }
}

fn percentiles(text: &mut String, job: &Job, name: &str, histogram: &Histogram) {
    let percents = job.reporting.percentiles.iter();
    let percentiles: Vec<(f64, u64)> =
        percents.filter_map(|p| Some((*p, histogram.percentile(p / 100.0)?))).collect();
    let (Some((_, min)), Some((_, max))) = (percentiles.first(), percentiles.last()) else {
        return;
    };
    let unit = match (*min, *max) {
        (2_000_001.., 99_999_001..) => LatencyUnit { name: "msec", ns: 1e6 },
        (2001.., 100_000..) => LatencyUnit { name: "usec", ns: 1e3 },
        _ => LatencyUnit { name: "nsec", ns: 1.0 },
    };
    let _ = writeln!(text, "    {name} percentiles ({}):", unit.name);
    let width = format!("{:.0}", *max as f64 / unit.ns).len().max(4);
    let precision = job.reporting.percentile_precision as usize;
    for (i, (percent, ns)) in percentiles.iter().enumerate() {
        let begin = if i % PER_LINE == 0 { "     | " } else { " " };
        let end = match i + 1 {
            last if last == percentiles.len() => "\n",
            next if next % PER_LINE == 0 => ",\n",
            _ => ",",
        };
        let percent = format!("{percent:.precision$}");
        let _ = write!(text, "{begin}{percent:>5}th=[{:>width$.0}]{end}", *ns as f64 / unit.ns);
    }
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
        for line in classes.chunks(6) {
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
        [OpKind::Read, OpKind::Write, OpKind::Discard, OpKind::Flush]
            .map(|kind| shown.kinds[kind as usize].as_ref().map_or(0, |stats| stats.ops));
    let _ = writeln!(
        text,
        "     issued rwts: total={reads},{writes},{trims},{flushes} short=0,0,0,0 dropped=0,0,0,0",
    );
    text.push_str(&ended::lines(shown));
}

fn groups(text: &mut String, results: &[Shown<'_>]) {
    let mut numbers: Vec<u32> = results.iter().map(|shown| shown.job.group).collect();
    numbers.dedup();
    for group in numbers {
        let _ = writeln!(text, "\nRun status group {group} (all jobs):");
        let members: Vec<_> = results.iter().filter(|shown| shown.job.group == group).collect();
        let bits = members.iter().any(|shown| shown.job.reporting.bits);
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

fn disks(text: &mut String, ran: &Ran<'_>) {
    if ran.disks.is_empty() || !shows_disks(ran) {
        return;
    }
    text.push_str("\nDisk stats (read/write):\n");
    for DiskUse { name, ios, merges, ticks, in_queue, util } in &ran.disks {
        let _ = writeln!(
            text,
            "  {name}: ios={}/{}, merge={}/{}, ticks={}/{}, in_queue={in_queue}, util={util:.2}%",
            ios[0], ios[1], merges[0], merges[1], ticks[0], ticks[1],
        );
    }
}
