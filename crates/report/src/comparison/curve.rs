//! The rate of a workload over the bytes written, for sides that ran the same workload.

use record::{Run, Series};

/// Maximum number of points in a curve, about the width of a screen.
const POINTS: usize = 600;

/// With fewer intervals, a curve shows no more than a number.
const INTERVALS_MIN: usize = 20;

/// Minimum fraction of the drive that a workload must write to count as filling it.
const SHARE_LEAST: f64 = 0.1;

/// A rate over the bytes written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Letter of the side.
    pub letter: char,
    /// The workload.
    pub workload: String,
    /// Bytes written since its beginning, and the rate in bytes per second.
    pub points: Vec<[f64; 2]>,
}

/// The fill workload common to all of these runs, over the bytes written: the longest if there are
/// several, none if the runs have none in common.
pub fn overlay(runs: &[(char, &Run)]) -> Vec<Curve> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let common = first.1.series.iter().filter_map(|series| {
        let find =
            |run: &Run| run.series.iter().find(|other| other.name == series.name).and_then(points);
        let mut all = vec![(first.0, points(series)?)];
        for (letter, run) in others {
            all.push((*letter, find(run)?));
        }
        Some((series.name.clone(), all))
    });
    let written = |all: &[(char, Vec<[f64; 2]>)]| all[0].1.last().map_or(0.0, |point| point[0]);
    let longest = common.max_by(|a, b| written(&a.1).total_cmp(&written(&b.1)));
    let least = SHARE_LEAST * first.1.target.bytes.unwrap_or(0) as f64;
    let longest = longest.filter(|(_, all)| written(all) >= least);
    let Some((workload, all)) = longest else { return Vec::new() };
    let curve = |(letter, points)| Curve { letter, workload: workload.clone(), points };
    all.into_iter().map(curve).collect()
}

/// The points of a series that only writes.
fn points(series: &Series) -> Option<Vec<[f64; 2]>> {
    let rates = &series.column("write")?.values;
    if rates.len() < INTERVALS_MIN || series.column("read").is_some() {
        return None;
    }
    let (mut written, mut before) = (0.0, 0);
    let mut all = Vec::with_capacity(rates.len());
    for (t_ns, rate) in series.t_ns.iter().zip(rates) {
        let seconds = t_ns.saturating_sub(before) as f64 / 1e9;
        before = *t_ns;
        if let Some(rate) = rate {
            written += rate * seconds;
            all.push([written, *rate]);
        }
    }
    Some(thinned(&all, POINTS))
}

/// At most `most` points: the mean rate of each group, at its end.
fn thinned(points: &[[f64; 2]], most: usize) -> Vec<[f64; 2]> {
    let group = points.len().div_ceil(most).max(1);
    let mean =
        |group: &[[f64; 2]]| group.iter().map(|point| point[1]).sum::<f64>() / group.len() as f64;
    points.chunks(group).map(|group| [group[group.len() - 1][0], mean(group)]).collect()
}
