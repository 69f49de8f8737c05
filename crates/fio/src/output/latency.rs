//! A latency in fio's JSON: its extremes and mean, its percentiles, its bins.

use record::Histogram;
use rig::KindStats;

use super::shown::{Shown, deviation};
use super::tree::Tree;
use crate::Reporting;

/// One of fio's three latencies of a direction.
pub(super) struct NamedLatency<'s> {
    pub name: &'static str,
    /// `None` if it was not timed, or is not to be shown.
    pub histogram: Option<&'s Histogram>,
    pub has_percentiles: bool,
}

/// fio's latencies in its order: of submission, from then to completion, and of both. Without times
/// of submission, the second is the same as the third.
pub(super) fn named<'s>(stats: &'s KindStats, reporting: &Reporting) -> [NamedLatency<'s>; 3] {
    let service = (stats.ops > 0).then_some(&stats.service);
    let submission = stats.submission.as_ref().filter(|_| stats.ops > 0);
    let call = submission.map(|times| &times.call);
    let rest = submission.map(|times| &times.rest).or(service);
    let latencies = [
        ("slat", call, reporting.disable_slat, reporting.slat_percentiles),
        ("clat", rest, reporting.disable_clat, reporting.clat_percentiles),
        ("lat", service, reporting.disable_lat, reporting.lat_percentiles),
    ];
    latencies.map(|(name, histogram, is_off, has_percentiles)| NamedLatency {
        name,
        histogram: histogram.filter(|_| !is_off),
        has_percentiles,
    })
}

/// The percentiles of a latency that has no options of its own.
pub(super) fn any_percentiles<'s>(shown: &Shown<'s>) -> Option<&'s [f64]> {
    let reporting = &shown.last_job().reporting;
    let is_enabled = reporting.clat_percentiles || reporting.lat_percentiles;
    is_enabled.then_some(&reporting.percentiles)
}

/// A latency; zeros if there is none. As in fio, it has neither percentiles nor bins if its
/// `percentiles` are not wanted.
pub(super) fn fields(
    histogram: Option<&Histogram>,
    percentiles: Option<&[f64]>,
    bins: bool,
) -> Tree {
    let mut fields = vec![
        ("min", Tree::from(histogram.and_then(Histogram::min).unwrap_or(0))),
        ("max", histogram.and_then(Histogram::max).unwrap_or(0).into()),
        ("mean", histogram.and_then(Histogram::mean).unwrap_or(0.0).into()),
        ("stddev", histogram.map_or(0.0, deviation).into()),
        ("N", histogram.map_or(0, Histogram::count).into()),
    ];
    if let (Some(histogram), Some(percentiles)) = (histogram, percentiles) {
        let list = quantiles(histogram, percentiles);
        let list = list.map(|(percent, ns)| (percent_key(percent), ns.into()));
        fields.push(("percentile", Tree::object(list)));
        if bins {
            let buckets = histogram.buckets();
            let bins = buckets
                .map(|(low, width, count)| ((low + width / 2).to_string(), Tree::from(count)));
            fields.push(("bins", Tree::object(bins)));
        }
    }
    Tree::object(fields)
}

/// The key of a percentile in fio's JSON.
pub(super) fn percent_key(percent: f64) -> String {
    format!("{percent:.6}")
}

/// All percentiles, as in fio: also those that few samples support.
pub(super) fn quantiles(
    histogram: &Histogram,
    percentiles: &[f64],
) -> impl Iterator<Item = (f64, u64)> {
    percentiles.iter().filter_map(|percent| Some((*percent, histogram.quantile(percent / 100.0)?)))
}

/// The percentiles with fewer than ten samples beyond them.
pub(super) fn thin(histogram: &Histogram, percentiles: &[f64]) -> impl Iterator<Item = f64> {
    let percents = quantiles(histogram, percentiles).map(|(percent, _)| percent);
    percents.filter(|percent| histogram.percentile(percent / 100.0).is_none())
}
