//! Rules that detect iozone results unrelated to the drive. Pure.

use record::{Unit, VerdictKind};
use rig::{Measurement, TargetInfo};
use workload::OpKind;
use workload::units::throughput;

use super::spec::{Honest, IozoneFigure, Row};
use rules::Ruling;

/// Reads came from memory if the device delivered less than this share of their bytes.
const FROM_DEVICE: f64 = 0.5;

/// Rates that differ by less than this share count as equal.
const SAME: f64 = 0.15;

/// Maximum number of results named in a verdict.
const NAMES_MAX: usize = 6;

/// The measurements needed by the rules.
#[derive(Default)]
pub(super) struct Seen {
    figures: Vec<(Row, IozoneFigure, Rate)>,
    honest: Vec<(Honest, f64)>,
}

struct Rate {
    bytes_per_s: f64,
    /// Share of the bytes read that the device delivered; `None` if unknown.
    from_device: Option<f64>,
}

fn rate(m: &Measurement) -> f64 {
    m.throughput(None).unwrap_or(0.0)
}

impl Seen {
    pub fn add(&mut self, row: Row, figure: IozoneFigure, m: &Measurement) {
        let read = m.kind(OpKind::Read).map_or(0, |k| k.bytes);
        let device_share =
            m.device.filter(|_| read > 0).map(|d| d.fetched_bytes() as f64 / read as f64);
        self.figures.push((row, figure, Rate { bytes_per_s: rate(m), from_device: device_share }));
    }

    pub fn add_honest(&mut self, honest: Honest, m: &Measurement) {
        self.honest.push((honest, rate(m)));
    }

    pub fn rulings(&self, target: &TargetInfo, sync: bool) -> Vec<Ruling> {
        self.memory(target).into_iter().chain(self.commits(sync)).collect()
    }

    /// Did reads come from memory?
    fn memory(&self, target: &TargetInfo) -> Option<Ruling> {
        let link = target.target.drive.as_ref().and_then(|d| d.link.as_ref()?.ceiling_bytes_per_s);
        let reads: Vec<_> = self.figures.iter().filter(|(_, figure, _)| !figure.writes()).collect();
        let cached = reads.iter().filter(|(_, _, rate)| match (rate.from_device, link) {
            _ if target.ram => true,
            (Some(share), _) => share < FROM_DEVICE,
            (None, Some(ceiling)) => rate.bytes_per_s > ceiling,
            (None, None) => false,
        });
        let cached: Vec<_> = cached.collect();
        let (_, _, fastest) =
            cached.iter().max_by(|a, b| a.2.bytes_per_s.total_cmp(&b.2.bytes_per_s))?;
        let mut names: Vec<&str> = cached.iter().map(|(_, figure, _)| figure.name()).collect();
        names.dedup();
        if names.len() > NAMES_MAX {
            names.truncate(NAMES_MAX);
            names.push("and others");
        }
        let mut text = format!(
            "{} of {} read results came from memory ({}), at up to {}: they say nothing about the \
             drive.",
            cached.len(),
            reads.len(),
            names.join(", "),
            throughput(fastest.bytes_per_s),
        );
        if let Some(ceiling) = link.filter(|ceiling| fastest.bytes_per_s > *ceiling) {
            text += &format!(" The link carries {}.", throughput(ceiling));
        }
        if let Some((_, cold)) = self.honest.iter().find(|(h, _)| *h == Honest::ColdRead) {
            text += &format!(" The first read after the cache was dropped: {}.", throughput(*cold));
        }
        let ruling = Ruling::yes(VerdictKind::Ram, text);
        let ruling = ruling.with("fastest read", fastest.bytes_per_s, Unit::BytesPerSecond);
        Some(match fastest.from_device {
            Some(share) => ruling.with("device bytes / application bytes", share, Unit::Number),
            None => ruling,
        })
    }

    /// Do durable writes measure only the time of a commit?
    fn commits(&self, sync: bool) -> Option<Ruling> {
        let (row, _, rewrite) =
            self.figures.iter().find(|(_, f, _)| *f == IozoneFigure::Rewrite)?;
        let random =
            self.figures.iter().find(|(r, f, _)| r == row && *f == IozoneFigure::RandomWrite);
        let (rewrite, random) = (rewrite.bytes_per_s, random?.2.bytes_per_s);
        if !sync || rewrite <= 0.0 || random <= 0.0 {
            return None;
        }
        let (ratio, record) = (random / rewrite, f64::from(row.record_bytes));
        let commit_ns = record / rewrite * 1e9;
        let commit = format!("{:.2} ms", commit_ns / 1e6);
        let rates = format!("rewrite {}, random write {}", throughput(rewrite), throughput(random));
        let ruling = if (ratio - 1.0).abs() < SAME {
            Ruling::yes(
                VerdictKind::Flush,
                format!(
                    "Writes measure only the time of a commit: {rates}, {commit} per record at any \
                     place."
                ),
            )
        } else {
            Ruling::no(
                VerdictKind::NotFlush,
                format!("Durable writes in order and at random differ in speed: {rates}."),
            )
        };
        let ruling = ruling.with("random write / rewrite", ratio, Unit::Number);
        Some(ruling.with("a commit", commit_ns, Unit::Nanoseconds))
    }
}
