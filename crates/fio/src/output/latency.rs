//! A latency in fio's JSON: its extremes and mean, its percentiles, its bins.

use record::Histogram;
use serde_json::{Map, Value, json};

use super::shown::{Shown, deviation};

/// A latency without percentiles; zeros if there is none.
pub(super) fn plain(histogram: Option<&Histogram>) -> Value {
    json!({
        "min": histogram.and_then(Histogram::min).unwrap_or(0),
        "max": histogram.and_then(Histogram::max).unwrap_or(0),
        "mean": histogram.and_then(Histogram::mean).unwrap_or(0.0),
        "stddev": histogram.map_or(0.0, deviation),
        "N": histogram.map_or(0, Histogram::count),
    })
}

/// The percentiles of a latency that has no options of its own.
pub(super) fn any_percentiles<'s>(shown: &Shown<'s>) -> Option<&'s [f64]> {
    let reporting = &shown.last_job().reporting;
    let wanted = reporting.clat_percentiles || reporting.lat_percentiles;
    wanted.then_some(&reporting.percentiles)
}

/// A latency with the percentiles that have at least ten samples beyond them. As in fio, it has no
/// bins either if its `percentiles` are not wanted.
pub(super) fn latency(
    histogram: Option<&Histogram>,
    percentiles: Option<&[f64]>,
    bins: bool,
) -> Value {
    let mut value = plain(histogram);
    let (Some(fields), Some(histogram), Some(percentiles)) =
        (value.as_object_mut(), histogram, percentiles)
    else {
        return value;
    };
    let percentile = |p: &f64| Some((format!("{p:.6}"), json!(histogram.percentile(p / 100.0)?)));
    let list = percentiles.iter().filter_map(percentile).collect::<Map<_, _>>();
    fields.insert("percentile".into(), list.into());
    if bins {
        let bin =
            |(low, width, count): (u64, u64, u64)| ((low + width / 2).to_string(), json!(count));
        fields.insert("bins".into(), histogram.buckets().map(bin).collect::<Map<_, _>>().into());
    }
    value
}
