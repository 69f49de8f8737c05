//! Options of jobs that end when steady.

use std::time::Duration;

use super::{OptionEntry, supported};
use crate::draft::JobDraft;
use crate::value::{Parsed, Value, put, time};
use crate::{Criterion, Threshold};

const SECOND: Duration = Duration::from_secs(1);

pub(super) const OPTIONS: &[OptionEntry] = &[
    supported("steadystate", &["ss"], criterion),
    supported("steadystate_duration", &["ss_dur"], |d, v| {
        put(&mut d.steady.duration, v.time(SECOND)?)
    }),
    supported("steadystate_ramp_time", &["ss_ramp"], |d, v| {
        put(&mut d.steady.ramp, v.time(SECOND)?)
    }),
    supported("steadystate_check_interval", &["ss_interval"], |d, v| {
        put(&mut d.steady.interval, v.time(SECOND)?)
    }),
];

/// `iops_slope:0.1%`, `bw:10m`, `lat:5ms`.
fn limit(text: &str) -> Parsed<f64> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err(format!("'{text}' is not a limit")),
    }
}

fn criterion(d: &mut JobDraft, v: &Value) -> Parsed<()> {
    let words = [
        ("iops", (Criterion::Iops, false)),
        ("iops_slope", (Criterion::Iops, true)),
        ("bw", (Criterion::Bandwidth, false)),
        ("bw_slope", (Criterion::Bandwidth, true)),
        ("lat", (Criterion::Latency, false)),
        ("lat_slope", (Criterion::Latency, true)),
    ];
    (d.steady.criterion, d.steady.slope) = v.word(&words)?;
    let text = v.after_colon().ok_or("needs a limit, for example iops_slope:0.1%")?;
    d.steady.limit = match (text.strip_suffix('%'), d.steady.criterion) {
        (Some(percent), _) => Threshold::Percent(limit(percent)?),
        (None, Criterion::Iops) => Threshold::Absolute(limit(text)?),
        (None, Criterion::Bandwidth) => Threshold::Absolute(v.size(text)?.bytes()? as f64),
        (None, Criterion::Latency) => {
            Threshold::Absolute(time(text, Duration::from_micros(1))?.as_nanos() as f64)
        }
    };
    Ok(())
}
