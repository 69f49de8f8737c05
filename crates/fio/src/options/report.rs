//! Options of measurement, results and logs, and of errors.

use super::{OptionEntry, supported};
use crate::draft::JobDraft;
use crate::value::{Parsed, Value, number_of, put};
use crate::{ErrorSet, UnifiedRw};

/// Maximum number of percentiles, as in fio.
const PERCENTILES_MAX: usize = 20;

const SUBMISSION: &str = "the submitting call is timed apart with `--as-is`; otherwise it is part of \
                          the call that waits, and latency includes it";

pub(super) const OPTIONS: &[OptionEntry] = &[
    supported("kb_base", &[], |d, v| {
        put(&mut d.kb, v.word(&[("1024", 1024), ("1000", 1000)])?)
    })
    .says("for parsing values; results are shown in both units"),
    supported("unit_base", &[], |d, v| {
        put(&mut d.job.reporting.bits, v.word(&[("0", false), ("8", false), ("1", true)])?)
    }),
    supported("clat_percentiles", &[], |d, v| put(&mut d.job.reporting.clat_percentiles, v.flag()?)),
    supported("lat_percentiles", &[], |d, v| put(&mut d.job.reporting.lat_percentiles, v.flag()?)),
    supported("slat_percentiles", &[], |d, v| put(&mut d.job.reporting.slat_percentiles, v.flag()?))
        .says(SUBMISSION),
    supported("percentile_list", &[], percentiles),
    supported("significant_figures", &[], |_, v| v.count32(1, 10).map(drop)).says("always four"),
    supported("disk_util", &[], |d, v| put(&mut d.job.reporting.disk_util, v.flag()?)),
    supported("gtod_reduce", &[], gtod_reduce),
    supported("disable_lat", &[], |d, v| put(&mut d.job.reporting.disable_lat, v.flag()?)),
    supported("disable_clat", &[], |d, v| put(&mut d.job.reporting.disable_clat, v.flag()?)),
    supported("disable_slat", &[], |d, v| put(&mut d.job.reporting.disable_slat, v.flag()?))
        .says(SUBMISSION),
    supported("disable_bw_measurement", &["disable_bw"], |_, v| v.flag().map(drop))
        .says("samples are always taken"),
    supported("unified_rw_reporting", &[], |d, v| {
        let words = [
            ("none", UnifiedRw::None),
            ("0", UnifiedRw::None),
            ("mixed", UnifiedRw::Mixed),
            ("1", UnifiedRw::Mixed),
            ("both", UnifiedRw::Both),
            ("2", UnifiedRw::Both),
        ];
        put(&mut d.job.reporting.unified, v.word(&words)?)
    }),
    supported("stats", &[], |d, v| put(&mut d.job.reporting.stats, v.flag()?)),
    supported("bwavgtime", &[], |d, v| put(&mut d.job.reporting.bw_avg_time, v.millis()?)),
    supported("iopsavgtime", &[], |d, v| put(&mut d.job.reporting.iops_avg_time, v.millis()?)),
    supported("write_bw_log", &[], |d, v| put(&mut d.job.logs.bw, prefix(v))).bare(),
    supported("write_iops_log", &[], |d, v| put(&mut d.job.logs.iops, prefix(v))).bare(),
    supported("write_lat_log", &[], |d, v| put(&mut d.job.logs.lat, prefix(v)))
        .bare()
        .says("the slat log is written with `--as-is`; otherwise latency includes the submitting call"),
    supported("write_hist_log", &[], |d, v| put(&mut d.job.logs.histogram, prefix(v))).bare(),
    supported("log_hist_msec", &[], |d, v| put(&mut d.job.logs.histogram_window, v.millis()?)),
    supported("log_hist_coarseness", &[], |d, v| {
        put(&mut d.job.logs.histogram_coarseness, v.count32(0, 6)?)
    }),
    supported("log_issue_time", &[], |d, v| put(&mut d.job.logs.issue_time, v.flag()?)),
    supported("per_job_logs", &[], |d, v| put(&mut d.job.logs.shared_file, !v.flag()?)),
    supported("log_avg_msec", &[], |d, v| put(&mut d.job.logs.average, v.millis()?)),
    supported("log_window_value", &["log_max_value"], |d, v| {
        let words = [
            ("avg", (false, false)),
            ("0", (false, false)),
            ("max", (true, false)),
            ("1", (true, false)),
            ("both", (false, true)),
        ];
        let logs = &mut d.job.logs;
        Ok((logs.max_value, logs.both_values) = v.word(&words)?)
    }),
    supported("log_store_compressed", &[], |d, v| put(&mut d.job.logs.compressed, v.flag()?))
        .says("as fio 3.42 stores them; not for histograms"),
    supported("log_prio", &[], |d, v| put(&mut d.job.logs.priority, v.flag()?)),
    supported("log_offset", &[], |d, v| put(&mut d.job.logs.offset, v.flag()?)),
    supported("log_alternate_epoch", &["log_unix_epoch"], |d, v| {
        put(&mut d.job.logs.unix_epoch, v.flag()?)
    }),
    supported("continue_on_error", &[], |d, v| {
        let words = [
            ("none", ErrorSet::default()),
            ("0", ErrorSet::default()),
            ("read", error_set(true, false, false)),
            ("write", error_set(false, true, false)),
            ("io", error_set(true, true, false)),
            ("verify", error_set(false, false, true)),
            ("all", error_set(true, true, true)),
            ("1", error_set(true, true, true)),
        ];
        put(&mut d.job.errors.go_on, v.word(&words)?)
    })
    .says(
        "jobs continue after EIO and EILSEQ, as in fio, unless `ignore_error` names others; differences found by verify never end a job",
    ),
    supported("ignore_error", &[], ignored),
    supported("error_dump", &[], |_, v| v.flag().map(drop))
        .says("errors are always reported"),
];

const fn error_set(read: bool, write: bool, verify: bool) -> ErrorSet {
    ErrorSet { read, write, verify }
}

/// `1:50:99.9`, ascending; the largest number of decimals given is used for printing.
fn percentiles(d: &mut JobDraft, v: &Value) -> Parsed<()> {
    let reporting = &mut d.job.reporting;
    let mut list = Vec::new();
    for text in v.text()?.split(':') {
        let text = text.trim();
        match text.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => list.push(percent),
            _ => return Err(format!("'{text}' is not within 0 to 100")),
        }
        let digits = text.split_once('.').map_or(0, |(_, decimals)| decimals.len().min(10));
        reporting.percentile_precision = reporting.percentile_precision.max(digits as u32);
    }
    if list.len() > PERCENTILES_MAX {
        return Err(format!("has {} percentiles; fio takes {PERCENTILES_MAX}", list.len()));
    }
    list.sort_by(f64::total_cmp);
    reporting.percentiles = list;
    Ok(())
}

fn gtod_reduce(d: &mut JobDraft, v: &Value) -> Parsed<()> {
    let reporting = &mut d.job.reporting;
    reporting.gtod_reduce = v.flag()?;
    if reporting.gtod_reduce {
        reporting.disable_slat = true;
        reporting.disable_lat = true;
        reporting.disable_clat = true;
        reporting.slat_percentiles = false;
        reporting.clat_percentiles = false;
        reporting.lat_percentiles = false;
    }
    Ok(())
}

/// The prefix of a log; by default the job's name, which is filled in at the end.
fn prefix(v: &Value) -> Option<String> {
    Some(v.text.unwrap_or_default().trim().to_string())
}

/// `EIO:EILSEQ,,84`: errors of reads, writes and verification.
fn ignored(d: &mut JobDraft, v: &Value) -> Parsed<()> {
    let errors = &mut d.job.errors;
    let lists: Vec<&str> = v.text()?.splitn(4, ',').collect();
    if lists.len() > 3 {
        return Err("has more than three lists; they are for reads, writes, verification".into());
    }
    let places = [
        (&mut errors.ignore_read, &mut errors.go_on.read),
        (&mut errors.ignore_write, &mut errors.go_on.write),
        (&mut errors.ignore_verify, &mut errors.go_on.verify),
    ];
    for (list, (place, go_on)) in lists.into_iter().zip(places) {
        let names = list.split(':').filter(|name| !name.trim().is_empty());
        *place = names.map(number_of).collect::<Parsed<_>>()?;
        *go_on |= !place.is_empty();
    }
    Ok(())
}
