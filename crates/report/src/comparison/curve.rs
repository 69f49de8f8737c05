//! The rate of a workload over the bytes written, for sides that ran the same workload.

use record::{Run, Series};

use crate::names::distinct;

/// Maximum number of points in a curve, about the width of a screen.
const POINTS: usize = 600;

/// With fewer intervals, a curve shows no more than a number.
const INTERVALS_MIN: usize = 20;

/// Minimum fraction of the drive that a workload must write to count as filling it.
const SHARE_MIN: f64 = 0.1;

/// The last word of a workload on a fresh drive.
const FRESH: &str = "-fresh";

/// A rate over the bytes written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Letter of the side.
    pub letter: char,
    pub workload: String,
    /// Bytes written since its beginning, and the rate in bytes per second.
    pub points: Vec<[f64; 2]>,
}

/// A fill workload common to at least two of these runs, over the bytes written; empty without one.
/// The workload is the one that most of them have, then one on a fresh drive, which shows the end
/// of the cache, then the longest. A run without it has no curve.
pub fn overlay(runs: &[(char, &Run)]) -> Vec<Curve> {
    let series = runs.iter().flat_map(|(_, run)| &run.series);
    let names = distinct(series.map(|series| series.name.as_str()));
    let candidates = names.into_iter().map(|name| {
        let curves = runs.iter().filter_map(|(letter, run)| {
            let series = run.series.iter().find(|series| series.name == name)?;
            let points = points(series)?;
            let bytes_min = SHARE_MIN * run.target.bytes.unwrap_or(0) as f64;
            let fills = points.last().is_some_and(|point| point[0] >= bytes_min);
            fills.then(|| Curve { letter: *letter, workload: name.into(), points })
        });
        (name.ends_with(FRESH), curves.collect::<Vec<Curve>>())
    });
    let candidates = candidates.filter(|(_, curves)| curves.len() > 1);
    let longest = candidates.max_by(|(fresh_a, a), (fresh_b, b)| {
        let [bytes_a, bytes_b] =
            [a, b].map(|curves| curves[0].points.last().map_or(0.0, |point| point[0]));
        (a.len(), fresh_a).cmp(&(b.len(), fresh_b)).then(bytes_a.total_cmp(&bytes_b))
    });
    longest.map_or_else(Vec::new, |(_, curves)| curves)
}

/// The points of a series that only writes.
fn points(series: &Series) -> Option<Vec<[f64; 2]>> {
    let rates = &series.column("write")?.values;
    if rates.len() < INTERVALS_MIN || series.column("read").is_some() {
        return None;
    }
    let (mut written_bytes, mut previous_ns) = (0.0, 0);
    let mut points = Vec::with_capacity(rates.len());
    for (t_ns, rate) in series.t_ns.iter().zip(rates) {
        let seconds = t_ns.saturating_sub(previous_ns) as f64 / 1e9;
        previous_ns = *t_ns;
        if let Some(rate) = rate {
            written_bytes += rate * seconds;
            points.push([written_bytes, *rate]);
        }
    }
    Some(thinned(&points, POINTS))
}

/// At most `most` points: the mean rate of each group, at its end.
fn thinned(points: &[[f64; 2]], most: usize) -> Vec<[f64; 2]> {
    let group = points.len().div_ceil(most).max(1);
    let groups = points.chunks(group).map(|group| {
        let sum = group.iter().map(|point| point[1]).sum::<f64>();
        [group[group.len() - 1][0], sum / group.len() as f64]
    });
    groups.collect()
}
