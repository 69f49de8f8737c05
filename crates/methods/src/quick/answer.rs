//! The answer of `quick`: the rates at the highest queue depth, and their limit.

use record::{
    Answer, Better, CellKey, Chart, Confidence, Limit, Metric, Order, Tile, Unit, Verdict,
    VerdictKind,
};
use script::Outcome;
use script::draft::{Draft, count, rate};
use workload::OpKind;

/// See [`script::MethodInfo`].
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let cells = [
        ("Sequential reads", Order::Sequential, OpKind::Read),
        ("Sequential writes", Order::Sequential, OpKind::Write),
        ("Random reads", Order::Random, OpKind::Read),
        ("Random writes", Order::Random, OpKind::Write),
    ];
    let rows = cells.map(|(label, order, op)| Some((label, deepest(out, order, op)?)));
    let value = |i: usize| rows[i].and_then(|(_, metric)| metric.value);
    let rates = [value(0).map(|r| format!("Reads {}", rate(r))), value(1).map(rate)];
    let rates = match rates {
        [Some(reads), Some(writes)] => format!("{reads}, writes {writes}"),
        [Some(reads), None] => reads,
        _ => return None,
    };
    let random: Vec<String> = [value(2), value(3)].into_iter().flatten().map(count).collect();
    let iops = if random.is_empty() {
        ".".to_string()
    } else {
        format!("; {} random IOPS.", random.join("/"))
    };
    let mut draft = Draft::new(out, "How fast is the drive, and can the numbers be believed?");
    for (label, metric) in rows.into_iter().flatten() {
        draft = draft.tile(label, metric, Better::Higher);
    }
    let tiles = draft.tiles().to_vec();
    let limits: Vec<(&Tile, &Verdict)> = tiles.iter().filter_map(|t| bound(out, t)).collect();
    let heat = draft.concluded(&VerdictKind::Heat);
    let words = match limits.first() {
        Some((tile, verdict)) => part(&verdict.kind)
            .map(|part| limited_by(part, &tile.label.to_lowercase()))
            .unwrap_or_default(),
        None if heat => vec![" Heat slowed the drive down.".to_string()],
        None => Vec::new(),
    };
    let limits = limits.iter().map(|(tile, verdict)| Limit {
        metric: tile.metric.clone(),
        by: verdict.kind.clone(),
        confidence: Confidence::Measured,
    });
    draft
        .limits(limits)
        .chart(bars(out, "Large sequential blocks", Order::Sequential, Unit::BytesPerSecond))
        .chart(bars(out, "Small random blocks", Order::Random, Unit::Iops))
        .say(format!("{rates}{iops}"), words)
}

/// A chart of reads and writes at every queue depth, deepest first.
fn bars(out: &Outcome, title: &str, order: Order, unit: Unit) -> Chart {
    let mut cells: Vec<(CellKey, &Metric)> = Vec::new();
    for metric in out.metrics.iter().filter(|m| m.unit == unit) {
        let key = metric.key();
        let is_plain = |c: &&CellKey| c.order == order && c.op.is_some() && c.words.is_empty();
        let cell = key.as_cell().filter(is_plain).filter(|_| key.statistic.is_none());
        cells.extend(cell.map(|cell| (cell.clone(), metric)));
    }
    cells.sort_by_key(|(cell, _)| (std::cmp::Reverse(cell.depth), cell.op.map(|op| op as usize)));
    cells.into_iter().fold(Chart::bars(title, unit), |chart, (cell, metric)| {
        let group = format!("depth {}", cell.depth);
        let label = if cell.op == Some(OpKind::Read) { "reads" } else { "writes" };
        chart.grouped(group, &metric.name, label)
    })
}

/// The sentences about a limit, most specific first.
fn limited_by(part: &str, which: &str) -> Vec<String> {
    let short = which.rsplit(' ').next().unwrap_or(which);
    vec![format!(" The {part} limits {which}."), format!(" The {part} limits {short}.")]
}

/// The rate of the cell with the highest queue depth.
fn deepest(out: &Outcome, order: Order, op: OpKind) -> Option<&Metric> {
    let depth = |metric: &&Metric| {
        let key = metric.key();
        let cell =
            key.as_cell().filter(|c| c.order == order && c.op == Some(op) && c.words.is_empty())?;
        key.statistic.is_none().then_some(cell.depth)
    };
    out.metrics.iter().filter(|m| depth(m).is_some()).max_by_key(depth)
}

/// The first verdict that explains a tile.
fn bound<'t, 'o>(out: &'o Outcome, tile: &'t Tile) -> Option<(&'t Tile, &'o Verdict)> {
    let verdict = out.verdicts.iter().find(|verdict| verdict.explains(&tile.metric))?;
    Some((tile, verdict))
}

/// The name of the limiting part in a sentence.
fn part(cause: &VerdictKind) -> Option<&'static str> {
    match cause {
        VerdictKind::Link => Some("link"),
        VerdictKind::Cpu => Some("processor"),
        VerdictKind::Heat => Some("drive's heat"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use record::{Explained, Finding, FindingKind, Level, Stamp, Unit, Verdict, VerdictKind};

    use super::*;
    use crate::testing::outcome;

    fn verdict(kind: VerdictKind, workload: Option<&str>) -> Verdict {
        let explained = |name: &str| Explained { metric: name.into(), share: None };
        Verdict {
            explains: workload.map(explained).into_iter().collect(),
            ..Verdict::new(kind, "")
        }
    }

    fn measured() -> Outcome {
        outcome(&[
            ("seq-read-1MiB-q1", Unit::BytesPerSecond, 9e9),
            ("seq-read-1MiB-q8", Unit::BytesPerSecond, 3.4e9),
            ("seq-read-1MiB-q8.p50", Unit::Nanoseconds, 9e9),
            ("seq-write-1MiB-q8", Unit::BytesPerSecond, 12.6e6),
            ("rand-read-4KiB-q32", Unit::Iops, 88_400.0),
            ("rand-write-4KiB-q32", Unit::Iops, 1_240.0),
        ])
    }

    #[test]
    fn quick_reports_the_deepest_queues_and_the_bound_of_its_workload() {
        let mut out = measured();
        let answer = answer(&out).expect("measured");
        assert_eq!(answer.headline, "Reads 3.40 GB/s, writes 12.6 MB/s; 88k/1.2k random IOPS.");
        assert_eq!((answer.tiles.len(), answer.limits.len()), (4, 0));
        let limited = |out: &mut Outcome, kind, workload| {
            out.verdicts = vec![verdict(VerdictKind::Drive, None), verdict(kind, workload)];
            let answer = super::answer(out).expect("measured");
            let limits: Vec<_> = answer.limits.into_iter().map(|l| (l.metric, l.by)).collect();
            (answer.headline.split_once("IOPS.").expect("rates").1.to_string(), limits)
        };
        let table = [
            (VerdictKind::Link, "seq-read-1MiB-q8", " The link limits sequential reads."),
            // The exact sentence is one character too long.
            (VerdictKind::Link, "seq-write-1MiB-q8", " The link limits writes."),
            (VerdictKind::Cpu, "rand-read-4KiB-q32", " The processor limits reads."),
            (VerdictKind::Depth, "rand-write-4KiB-q32", ""),
        ];
        for (kind, name, words) in table {
            let limits = vec![(name.to_string(), kind.clone())];
            assert_eq!(limited(&mut out, kind, Some(name)), (words.to_string(), limits));
        }
        // A limit of a workload without a tile is not shown.
        let none = (String::new(), Vec::new());
        assert_eq!(limited(&mut out, VerdictKind::Cpu, Some("mixed-4KiB-q32")), none);
        let heat = limited(&mut out, VerdictKind::Heat, None);
        assert_eq!(heat, (" Heat slowed the drive down.".to_string(), Vec::new()));
    }

    #[test]
    fn a_device_that_is_only_read_has_an_answer_about_reads() {
        let out = outcome(&[
            ("seq-read-1MiB-q8", Unit::BytesPerSecond, 5.2e8),
            ("rand-read-4KiB-q32", Unit::Iops, 640.0),
        ]);
        assert_eq!(answer(&out).expect("measured").headline, "Reads 520 MB/s; 640 random IOPS.");
        assert!(answer(&Outcome::default()).is_none());
    }

    #[test]
    fn reads_from_memory_are_not_praised() {
        let mut out = measured();
        out.warnings = vec![Finding::new(FindingKind::ServedFromRam, Level::Bad, "")];
        let answer = super::answer(&out).expect("measured");
        assert_eq!(answer.stamp, Stamp::NotTheDrive(FindingKind::ServedFromRam));
        assert!(answer.headline.starts_with("These are not the drive's numbers"));
        let mut out = measured();
        out.verdicts = vec![verdict(VerdictKind::Ram, None)];
        assert!(!super::answer(&out).expect("measured").headline.contains("GB/s"));
    }
}
