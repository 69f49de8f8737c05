//! Options for the engine, the queue and pacing.

use std::time::Duration;

use super::{ENGINES, OptionEntry, Standing, supported};
use crate::RateProcess;
use crate::draft::JobDraft;
use crate::value::{Number, Parsed, Value, put, time};

const MICRO: Duration = Duration::from_micros(1);

/// Maximum queue depth: Linux allows 32768 for a ring, and 65536 for AIO by default.
const DEEPEST: u32 = 65_536;

pub(super) const OPTIONS: &[OptionEntry] = &[
    supported("ioengine", &[], engine).says("see the table of engines"),
    supported("iodepth", &[], |d, v| put(&mut d.job.queue.depth, v.count32(1, DEEPEST)?)),
    supported("iodepth_batch", &["iodepth_batch_submit"], |d, v| {
        put(&mut d.batch, v.count32(0, DEEPEST)?)
    }),
    supported("iodepth_batch_complete_min", &["iodepth_batch_complete"], |d, v| {
        put(&mut d.job.queue.complete_min, v.count32(0, DEEPEST)?)
    }),
    supported("iodepth_batch_complete_max", &[], |d, v| {
        put(&mut d.complete_max, v.count32(0, DEEPEST)?)
    })
    .says("no effect: all completed operations are collected together"),
    supported("iodepth_low", &[], |d, v| put(&mut d.low, v.count32(0, DEEPEST)?)),
    supported("serialize_overlap", &[], |d, v| put(&mut d.job.queue.serialize_overlap, v.flag()?)),
    supported("io_submit_mode", &[], |d, v| {
        put(&mut d.offload, v.word(&[("inline", false), ("offload", true)])?)
    })
    .says("`offload` only with an asynchronous engine, which always submits operations when they are due"),
    supported("rate", &[], |d, v| {
        v.per_kind(&mut d.job.pace.rate, |text| Ok(none(v.size(text)?.bytes()?)))
    }),
    supported("rate_min", &["ratemin"], |d, v| {
        v.per_kind(&mut d.job.pace.rate_min, |text| Ok(none(v.size(text)?.bytes()?)))
    }),
    supported("rate_iops", &[], |d, v| v.per_kind(&mut d.job.pace.rate_iops, |text| iops(v, text))),
    supported("rate_iops_min", &[], |d, v| {
        v.per_kind(&mut d.job.pace.rate_iops_min, |text| iops(v, text))
    }),
    supported("rate_process", &[], |d, v| {
        let words = [("linear", RateProcess::Linear), ("poisson", RateProcess::Poisson)];
        put(&mut d.job.pace.process, v.word(&words)?)
    }),
    supported("rate_cycle", &["ratecycle"], |d, v| put(&mut d.job.pace.cycle, v.millis()?)),
    supported("rate_ignore_thinktime", &[], |d, v| put(&mut d.job.pace.ignore_thinktime, v.flag()?)),
    supported("thinktime", &[], |d, v| put(&mut d.job.pace.think.time, v.time(MICRO)?)),
    supported("thinktime_spin", &[], |d, v| put(&mut d.job.pace.think.spin, v.time(MICRO)?)),
    supported("thinktime_blocks", &[], |d, v| {
        put(&mut d.job.pace.think.blocks, Some(v.count32(0, u32::MAX)?.max(1)))
    }),
    supported("thinktime_blocks_type", &[], |_, v| v.word(&[("complete", ()), ("issue", ())]))
        .says("blocks count when issued"),
    supported("thinktime_iotime", &[], |d, v| {
        put(&mut d.job.pace.think.iotime, v.time(Duration::from_secs(1))?)
    }),
    supported("max_latency", &[], |d, v| {
        v.per_kind(&mut d.job.pace.max_latency, |text| Ok(Some(time(text, MICRO)?).filter(|time| !time.is_zero())))
    }),
    supported("latency_target", &[], |d, v| put(&mut d.latency.target, v.time(MICRO)?)),
    supported("latency_window", &[], |d, v| put(&mut d.latency.window, v.time(MICRO)?)),
    supported("latency_percentile", &[], |d, v| match v.text()?.parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => put(&mut d.latency.percentile, percent),
        _ => Err(format!("'{}' is not within 0 to 100", v.text()?)),
    }),
    supported("latency_run", &[], |d, v| put(&mut d.latency.run, v.flag()?)),
];

fn engine(d: &mut JobDraft, v: &Value) -> Parsed<()> {
    let word = v.text()?.split(':').next().unwrap_or_default();
    let Some(entry) = ENGINES.iter().find(|entry| entry.names.contains(&word)) else {
        return Err(format!("'{word}' is not a fio engine"));
    };
    match entry.standing {
        Standing::Supported { set, .. } => put(&mut d.job.engine, set),
        Standing::Idle(why) | Standing::Refused { why, .. } => {
            Err(format!("{word} is not supported: {why}"))
        }
    }
}

fn none(number: u64) -> Option<u64> {
    Some(number).filter(|number| *number > 0)
}

fn iops(v: &Value, text: &str) -> Parsed<Option<u32>> {
    match v.size(text)? {
        Number::Plain(rate @ 0..=0xffff_ffff) => Ok(Some(rate as u32).filter(|rate| *rate > 0)),
        _ => Err(format!("'{text}' is not an IOPS rate")),
    }
}
