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
    let is_enabled = reporting.clat_percentiles || reporting.lat_percentiles;
    is_enabled.then_some(&reporting.percentiles)
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
    let percentiles = percentiles.iter().filter_map(|percent| {
        Some((format!("{percent:.6}"), json!(histogram.percentile(percent / 100.0)?)))
    });
    fields.insert("percentile".into(), percentiles.collect::<Map<_, _>>().into());
    if bins {
        let buckets = histogram.buckets();
        let bins = buckets.map(|(low, width, count)| ((low + width / 2).to_string(), json!(count)));
        fields.insert("bins".into(), bins.collect::<Map<_, _>>().into());
    }
    value
}
