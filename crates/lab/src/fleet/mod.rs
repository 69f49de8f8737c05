//! What is normal for a model: uploads of other people, in `published/fleet`.
//!
//! A figure is compared only with that of the same work: operation, order, block size and depth. The
//! uploads of one model and firmware differ by far more than the runs of one drive, because specimen,
//! state, machine and file system differ, too. How much they do is measured from the uploads
//! themselves: the distances of each from the median of its group, over all other groups. They have
//! heavy tails, so the range is a quantile of these distances and not a multiple of a deviation.

#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use record::{Answer, Order, Peer, Run, Tile, Unit};
use workload::{BlockSizes, OpKind, Pattern};

/// The data, with a heading in the first line.
const ROWS: &str = include_str!("../../../../published/fleet/iocost.tsv");

/// The source, as peers name it.
const SOURCE: &str = "iocost-benchmarks";

/// Share of further uploads in the stated range.
const COVERED: f64 = 0.95;

/// Number of figures of an upload.
const FIGURES: usize = 6;

/// The work of the figures, in the order of the columns: direction, order, block size, depth.
const WORKS: [FleetWork; FIGURES] = [
    FleetWork { op: OpKind::Read, order: Order::Sequential, block_bytes: 128 << 20, depth: 1 },
    FleetWork { op: OpKind::Read, order: Order::Sequential, block_bytes: 4096, depth: 64 },
    FleetWork { op: OpKind::Read, order: Order::Random, block_bytes: 4096, depth: 64 },
    FleetWork { op: OpKind::Write, order: Order::Sequential, block_bytes: 128 << 20, depth: 1 },
    FleetWork { op: OpKind::Write, order: Order::Sequential, block_bytes: 4096, depth: 64 },
    FleetWork { op: OpKind::Write, order: Order::Random, block_bytes: 4096, depth: 64 },
];

/// What determines a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FleetWork {
    op: OpKind,
    order: Order,
    block_bytes: u64,
    depth: u32,
}

/// One upload.
#[derive(Clone, Debug)]
struct Upload {
    /// In upper case, with blanks: some tools replace them by underscores.
    model: String,
    firmware: String,
    /// Logarithms of bytes per second, in the order of [`WORKS`].
    logs: [f64; FIGURES],
}

/// What further uploads of a model are expected to be.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Expectation {
    /// Bytes per second of the median upload.
    median: f64,
    /// The range of [`COVERED`] of them.
    low: f64,
    high: f64,
    /// Number of uploads.
    uploads: usize,
    /// Whether they have the same firmware.
    is_same_firmware: bool,
    /// Whether the uploads of one model differ so much that the range is more than half as wide as
    /// that of all models.
    is_wide: bool,
}

impl Upload {
    fn parse(line: &str) -> Option<Upload> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [model, firmware, _version, figures @ .., _source, _licence] = columns.as_slice()
        else {
            return None;
        };
        let figures: Vec<f64> = figures.iter().filter_map(|figure| figure.parse().ok()).collect();
        let figures: [f64; FIGURES] = figures.try_into().ok()?;
        let mut logs = [0.0; FIGURES];
        for (i, figure) in figures.into_iter().enumerate() {
            // Columns of small blocks count operations.
            let bytes = if is_in_operations(i) { WORKS[i].block_bytes as f64 } else { 1.0 };
            logs[i] = libm::log(figure * bytes);
        }
        Some(Upload { model: normal_name(model), firmware: normal_name(firmware), logs })
    }

    fn is_of(&self, model: &str, firmware: &str) -> bool {
        self.model == model && self.firmware == firmware
    }
}

fn is_in_operations(figure: usize) -> bool {
    WORKS[figure].block_bytes == 4096
}

/// A name as drives print it, in upper case.
fn normal_name(text: &str) -> String {
    let text = text.replace('_', " ").to_uppercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All uploads. The file is embedded, and a test parses all of it.
fn uploads() -> &'static [Upload] {
    static UPLOADS: OnceLock<Vec<Upload>> = OnceLock::new();
    UPLOADS.get_or_init(|| ROWS.lines().skip(1).filter_map(Upload::parse).collect())
}

/// Peers of an answer among the uploads, for the tiles with the same work.
pub(crate) fn peers(run: &Run, answer: &Answer) -> Vec<Peer> {
    let Some(drive) = run.target.drive.as_ref() else { return Vec::new() };
    let Some(model) = drive.model.as_deref().map(normal_name) else { return Vec::new() };
    let firmware = drive.firmware.as_deref().map(normal_name).unwrap_or_default();
    let tiles = answer.tiles.iter().filter_map(|tile| {
        let figure = figure_of(run, tile)?;
        peer(tile, figure, &model, &firmware)
    });
    tiles.collect()
}

/// The figure of an upload with the same work as a tile.
fn figure_of(run: &Run, tile: &Tile) -> Option<usize> {
    let key = record::MetricKey::parse(&tile.metric);
    let work = match key.as_cell() {
        Some(cell) if cell.words.is_empty() => FleetWork {
            op: cell.op?,
            order: cell.order,
            block_bytes: cell.block_bytes,
            depth: cell.depth,
        },
        Some(_) => return None,
        None if run.method == "io" && matches!(&*tile.metric, "throughput" | "iops") => {
            by_hand(run)?
        }
        None => return None,
    };
    let is_rate = matches!(tile.unit, Unit::BytesPerSecond | Unit::Iops);
    WORKS.iter().position(|other| is_rate && *other == work)
}

/// The work of `ssdyno io`, if it is one that uploads can have.
fn by_hand(run: &Run) -> Option<FleetWork> {
    let mut workloads = run.known_workloads();
    let workload = workloads.next().filter(|_| workloads.next().is_none())?;
    let order = match workload.pattern {
        Pattern::Sequential => Order::Sequential,
        Pattern::Uniform | Pattern::UniformOnce => Order::Random,
        _ => return None,
    };
    let BlockSizes::Fixed(block_bytes) = workload.blocks else { return None };
    let is_plain = workload.jobs == 1
        && workload.caching == workload::Caching::Bypass
        && workload.pacing == workload::Pacing::Closed
        && workload.flush_every.is_none()
        && !workload.sync_writes;
    let op = workload.mix.only().filter(|_| is_plain)?;
    Some(FleetWork { op, order, block_bytes: u64::from(block_bytes), depth: workload.depth })
}

fn peer(tile: &Tile, figure: usize, model: &str, firmware: &str) -> Option<Peer> {
    let expected = expectation(uploads(), figure, model, firmware, None)?;
    let scale = match tile.unit {
        Unit::Iops => 1.0 / WORKS[figure].block_bytes as f64,
        _ => 1.0,
    };
    let percentile = percentile(uploads(), figure, model, tile.value? / scale, &expected);
    let count = match expected.uploads {
        1 => "one upload".to_string(),
        count => format!("{count} uploads"),
    };
    let alike = if expected.is_same_firmware { " and firmware" } else { "" };
    let mut differs = Vec::new();
    if !expected.is_same_firmware {
        differs.push("firmware: another one there".to_string());
    }
    if expected.is_wide {
        differs.push("uploads of one model differ as much as models do".to_string());
    }
    Some(Peer {
        metric: tile.metric.clone(),
        whose: format!("{count} of this model{alike} ({SOURCE})"),
        unit: tile.unit,
        value: expected.low * scale,
        highest: Some(expected.high * scale),
        percentile: Some(percentile),
        differs,
    })
}

/// The expectation for a model, from the uploads with its firmware or, without any, from all of the
/// model; `left_out` is not counted. `None`: no peers.
fn expectation(
    uploads: &[Upload],
    figure: usize,
    model: &str,
    firmware: &str,
    left_out: Option<usize>,
) -> Option<Expectation> {
    let rows = uploads.iter().enumerate().filter(|(i, _)| Some(*i) != left_out);
    let of_model: Vec<&Upload> =
        rows.map(|(_, upload)| upload).filter(|upload| upload.model == model).collect();
    let is_same_firmware = of_model.iter().any(|upload| upload.firmware == firmware);
    let peers = of_model.iter().filter(|u| !is_same_firmware || u.firmware == firmware);
    let logs: Vec<f64> = peers.map(|upload| upload.logs[figure]).collect();
    let center = median(logs.clone())?;
    let distances = distances(uploads, figure, model).into_iter().map(f64::abs).collect();
    let half = conformal(distances, COVERED)?;
    let all_logs: Vec<f64> = uploads.iter().map(|upload| upload.logs[figure]).collect();
    Some(Expectation {
        median: libm::exp(center),
        low: libm::exp(center - half),
        high: libm::exp(center + half),
        uploads: logs.len(),
        is_same_firmware,
        is_wide: 2.0 * half > 0.5 * range_of_all(all_logs),
    })
}

/// The distance of each upload from the median of the others with its model and firmware, except for
/// those of a model.
fn distances(uploads: &[Upload], figure: usize, without: &str) -> Vec<f64> {
    let rows = uploads.iter().enumerate().filter(|(_, upload)| upload.model != without);
    let distances = rows.filter_map(|(i, upload)| {
        let peers = uploads.iter().enumerate();
        let peers = peers.filter(|(j, p)| *j != i && p.is_of(&upload.model, &upload.firmware));
        let center = median(peers.map(|(_, peer)| peer.logs[figure]).collect())?;
        Some(upload.logs[figure] - center)
    });
    distances.collect()
}

/// The share of uploads of the model that are expected to be slower than this.
fn percentile(
    uploads: &[Upload],
    figure: usize,
    model: &str,
    value: f64,
    expected: &Expectation,
) -> f64 {
    let distance = libm::log(value / expected.median);
    let distances = distances(uploads, figure, model);
    let slower = distances.iter().filter(|other| **other < distance).count();
    slower as f64 / distances.len().max(1) as f64
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { (values[middle - 1] + upper) / 2.0 })
}

/// The distance within which a further value lies with this probability, whatever the distribution
/// (Vovk and others, Algorithmic Learning in a Random World, 2005).
fn conformal(mut distances: Vec<f64>, covered: f64) -> Option<f64> {
    distances.sort_by(f64::total_cmp);
    let rank = libm::ceil((distances.len() + 1) as f64 * covered) as usize;
    distances.get(rank.min(distances.len()).checked_sub(1)?).copied()
}

/// The width of the range with [`COVERED`] of all uploads.
fn range_of_all(mut logs: Vec<f64>) -> f64 {
    logs.sort_by(f64::total_cmp);
    let cut = ((1.0 - COVERED) / 2.0 * logs.len() as f64) as usize;
    match (logs.get(cut), logs.len().checked_sub(cut + 1).and_then(|end| logs.get(end))) {
        (Some(low), Some(high)) => high - low,
        _ => 0.0,
    }
}
