//! The answer of `quick`: the rates at the highest queue depth, and what lowers them most.
//!
//! The sentence names the largest loss against the usual figures of the model or class, with its
//! cause. A link that is simply reached is the last thing to say. If the sentence is too long, its
//! figures give way, and what has no room is the rest of the answer.

use record::{
    Answer, Better, CellKey, Chart, Confidence, HEADLINE_MAX, Limit, Metric, Order, Tile, Unit,
    Verdict, VerdictKind, capitalised,
};
use script::Outcome;
use script::draft::{Draft, count, rate};
use workload::OpKind;

use super::loss::{LowFigure, Usual};

/// Labels of the tiles, with their order and operation.
const CELLS: [(&str, Order, OpKind); 4] = [
    ("Sequential reads", Order::Sequential, OpKind::Read),
    ("Sequential writes", Order::Sequential, OpKind::Write),
    ("Random reads", Order::Random, OpKind::Read),
    ("Random writes", Order::Random, OpKind::Write),
];

/// See [`script::MethodInfo`].
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    answer_against(out, None)
}

/// The answer, with the figures held against the usual ones of such a drive.
pub(crate) fn answer_against(out: &Outcome, usual: Option<&Usual>) -> Option<Answer> {
    let rows = CELLS.map(|(label, order, op)| Some((label, deepest(out, order, op)?)));
    let mut draft = Draft::new(out, "How fast is the drive, and can the numbers be believed?");
    for (label, metric) in rows.into_iter().flatten() {
        draft = draft.tile(label, metric, Better::Higher);
    }
    let tiles = draft.tiles().to_vec();
    let limits: Vec<(&Tile, &Verdict)> = tiles.iter().filter_map(|t| bound(out, t)).collect();
    let lowest = usual.and_then(|usual| LowFigure::largest(out, usual));
    let parts = Parts {
        figures: figures(rows.map(|row| row.map(|(_, metric)| metric)))?,
        loss: lowest.as_ref().map_or(Vec::new(), LowFigure::sentences),
        reached: reached(&limits, draft.concluded(&VerdictKind::Heat)),
    };
    let (headline, rest) = parts.arranged();
    let limits = limits.iter().map(|(tile, verdict)| Limit {
        metric: tile.metric.clone(),
        by: verdict.kind.clone(),
        confidence: Confidence::Measured,
    });
    draft
        .limits(limits)
        .chart(bars(out, "Large sequential blocks", Order::Sequential, Unit::BytesPerSecond))
        .chart(bars(out, "Small random blocks", Order::Random, Unit::Iops))
        .rest(rest, lowest.map(|lowest| lowest.loss))
        .say(headline, None)
}

/// What there is to say. Of alternative wordings, the first says most.
struct Parts {
    /// Clauses: `Reads 3.40 GB/s, writes 2.90 GB/s`, and `88k/61k random IOPS` if measured.
    figures: Vec<String>,
    /// The largest loss, if there is any.
    loss: Vec<String>,
    /// The limit that is simply reached, if there is any.
    reached: Vec<String>,
}

impl Parts {
    /// The headline, which a loss must be part of, and the rest: the figures that gave way, and the
    /// limit that is reached.
    fn arranged(&self) -> (String, String) {
        let figure_count = self.figures.len();
        let mut choices: Vec<(usize, &str)> = Vec::new();
        for words in &self.loss {
            choices.extend([figure_count, 1, 0].map(|count| (count, words.as_str())));
        }
        if self.loss.is_empty() {
            for count in [figure_count, 1] {
                choices.extend(self.reached.iter().map(|words| (count, words.as_str())));
            }
            choices.push((figure_count, ""));
        }
        let fitting = choices
            .into_iter()
            .find(|(count, words)| self.headline(*count, words).chars().count() <= HEADLINE_MAX);
        let (count, words) = fitting.unwrap_or((1, ""));
        let is_unsaid = words.is_empty() || !self.loss.is_empty();
        let limit = self.reached.first().filter(|_| is_unsaid).map_or("", String::as_str);
        (self.headline(count, words), joined(&sentence(&self.figures[count..]), limit))
    }

    /// The first figures, and these words.
    fn headline(&self, count: usize, words: &str) -> String {
        joined(&sentence(&self.figures[..count]), words)
    }
}

fn sentence(clauses: &[String]) -> String {
    if clauses.is_empty() { String::new() } else { format!("{}.", clauses.join("; ")) }
}

fn joined(sentence: &str, next: &str) -> String {
    let words = [sentence, next].into_iter().filter(|words| !words.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The figures in clauses; `None` without sequential reads.
fn figures(
    [reads, writes, random_reads, random_writes]: [Option<&Metric>; 4],
) -> Option<Vec<String>> {
    let mut clauses = match (reads.and_then(rates), writes.and_then(rates)) {
        (Some(reads), Some(writes)) => vec![format!("Reads {reads}, writes {writes}")],
        (Some(reads), None) => vec![format!("Reads {reads}")],
        _ => return None,
    };
    let random = [random_reads, random_writes].into_iter().flatten().filter_map(counts);
    let random: Vec<String> = random.collect();
    if !random.is_empty() {
        clauses.push(format!("{} random IOPS", random.join("/")));
    }
    Some(clauses)
}

/// A throughput: `3.40 GB/s`; of a cell that is too noisy its range, `0.94 to 2.25 GB/s`.
fn rates(metric: &Metric) -> Option<String> {
    let Some((low, high)) = noisy_range(metric) else { return metric.value.map(rate) };
    let (low, high) = (rate(low), rate(high));
    let number = match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => number,
        _ => &low,
    };
    Some(format!("{number} to {high}"))
}

/// A number of operations: `88k`; of a cell that is too noisy its range, `41k to 88k`.
fn counts(metric: &Metric) -> Option<String> {
    let Some((low, high)) = noisy_range(metric) else { return metric.value.map(count) };
    Some(format!("{} to {}", count(low), count(high)))
}

fn noisy_range(metric: &Metric) -> Option<(f64, f64)> {
    metric.low.zip(metric.high).filter(|_| metric.is_too_noisy())
}

/// A chart of reads and writes at every queue depth, deepest first.
fn bars(out: &Outcome, title: &str, order: Order, unit: Unit) -> Chart {
    let mut cells: Vec<(CellKey, &Metric)> = Vec::new();
    for metric in out.metrics.iter().filter(|m| m.unit == unit) {
        let key = metric.key();
        let cell = key.as_cell().filter(|_| key.statistic.is_none());
        let cell = cell.filter(|c| c.order == order && c.op.is_some() && c.words.is_empty());
        cells.extend(cell.map(|cell| (cell.clone(), metric)));
    }
    cells.sort_by_key(|(cell, _)| (std::cmp::Reverse(cell.depth), cell.op.map(|op| op as usize)));
    cells.into_iter().fold(Chart::bars(title, unit), |chart, (cell, metric)| {
        let group = format!("depth {}", cell.depth);
        let label = if cell.op == Some(OpKind::Read) { "reads" } else { "writes" };
        chart.grouped(group, &metric.name, label)
    })
}

/// The sentences about limits that are simply reached, the longest first.
fn reached(limits: &[(&Tile, &Verdict)], heat: bool) -> Vec<String> {
    let Some((part, kind)) = limits.iter().find_map(|(_, v)| Some((part(&v.kind)?, &v.kind)))
    else {
        return if heat { vec!["Heat slowed the drive down.".into()] } else { Vec::new() };
    };
    let tiles = limits.iter().filter(|(_, verdict)| verdict.kind == *kind);
    let names = listed(tiles.map(|(tile, _)| tile.label.to_lowercase()));
    let adjective = capitalised(part.rsplit(' ').next().unwrap_or(part));
    vec![format!("The {part} limits {names}."), format!("{adjective}-limited: {names}.")]
}

/// `sequential reads and writes, random reads`: the order once for both operations.
fn listed(labels: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    let mut previous = String::new();
    for label in labels {
        let (order, operation) = label.split_once(' ').unwrap_or(("", &label));
        if previous == order {
            text += &format!(" and {operation}");
        } else if text.is_empty() {
            text.clone_from(&label);
        } else {
            text += &format!(", {label}");
        }
        previous = order.to_string();
    }
    text
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

/// The name of a part whose limit a drive may simply reach.
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
    use std::collections::BTreeMap;

    use record::{Explained, Finding, FindingKind, Level, Loss, Stamp};

    use super::*;
    use crate::UsualFigure;
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
            // The longer sentence has one character too many. The noun is never shortened.
            (VerdictKind::Link, "seq-write-1MiB-q8", " Link-limited: sequential writes."),
            (VerdictKind::Cpu, "rand-read-4KiB-q32", " Processor-limited: random reads."),
            (VerdictKind::Depth, "rand-write-4KiB-q32", ""),
        ];
        for (kind, name, words) in table {
            let limits = vec![(name.to_string(), kind.clone())];
            assert_eq!(limited(&mut out, kind, Some(name)), (words.to_string(), limits));
        }
        // Of several figures, all are named, and other figures give way.
        out.verdicts = vec![
            verdict(VerdictKind::Link, Some("seq-read-1MiB-q8")),
            verdict(VerdictKind::Link, Some("seq-write-1MiB-q8")),
        ];
        assert_eq!(
            super::answer(&out).expect("measured").headline,
            "Reads 3.40 GB/s, writes 12.6 MB/s. The link limits sequential reads and writes."
        );
        assert_eq!(super::answer(&out).expect("measured").rest, "88k/1.2k random IOPS.");
        // A limit of a workload without a tile is not shown.
        let none = (String::new(), Vec::new());
        assert_eq!(limited(&mut out, VerdictKind::Cpu, Some("mixed-4KiB-q32")), none);
        let heat = limited(&mut out, VerdictKind::Heat, None);
        assert_eq!(heat, (" Heat slowed the drive down.".to_string(), Vec::new()));
    }

    fn usual() -> Usual {
        let figures = [
            ("seq-read-1MiB-q1", 9.9e9),
            ("seq-read-1MiB-q8", 3.5e9),
            ("seq-write-1MiB-q8", 25e6),
            ("rand-read-4KiB-q32", 90e3),
            ("rand-write-4KiB-q32", 620e3),
        ];
        let figures = figures.map(|(name, value)| {
            let figure = UsualFigure { value, factor_min: 1.15, gains: BTreeMap::new() };
            (name.to_string(), figure)
        });
        Usual { whose: "this model", figures: figures.into_iter().collect() }
    }

    /// The largest loss is named with its cause, whatever else is limited.
    #[test]
    fn the_largest_loss_comes_before_a_link_that_is_reached() {
        let mut out = measured();
        let answered = |out: &Outcome| answer_against(out, Some(&usual())).expect("measured");
        let said = |out: &Outcome| answered(out).headline;
        let rest = "Reads 3.40 GB/s, writes 12.6 MB/s; 88k/1.2k random IOPS. The link limits \
                    sequential reads.";
        let link = verdict(VerdictKind::Link, Some("seq-read-1MiB-q8"));
        out.verdicts = vec![link.clone()];
        assert_eq!(
            said(&out),
            "Random writes are 500 times below this model, cause unknown: ssdyno run -m states tells."
        );
        assert_eq!(answered(&out).rest, rest);
        out.verdicts.push(verdict(VerdictKind::MappingUnit, Some("rand-write-4KiB-q32")));
        assert_eq!(
            said(&out),
            "Random writes are 500 times below this model: a large mapping unit."
        );
        assert_eq!(answered(&out).rest, rest);
        let loss = Loss {
            metric: "rand-write-4KiB-q32".into(),
            factor: 500.0,
            whose: "this model".into(),
            cause: Some(VerdictKind::MappingUnit),
        };
        assert_eq!(answered(&out).loss, Some(loss));
        out.metrics[5].value = Some(600e3);
        out.verdicts = vec![link, verdict(VerdictKind::Heat, Some("seq-write-1MiB-q8"))];
        let next = "Reads 3.40 GB/s, writes 12.6 MB/s. Sequential writes are 2.0 times below this \
                    model: heat.";
        assert_eq!(said(&out), next);
        assert_eq!(answered(&out).rest, "88k/600k random IOPS. The link limits sequential reads.");
        // A loss within the interval for the next run is no loss.
        out.metrics[3] = out.metrics[3].clone().between(12.9e6, 25.5e6, record::Covers::NextRun);
        let ending = "; 88k/600k random IOPS. The link limits sequential reads.";
        assert!(said(&out).ends_with(ending), "{}", said(&out));
        out.metrics[3] = Metric::single("seq-write-1MiB-q8", Unit::BytesPerSecond, 24e6);
        assert!(said(&out).ends_with(ending), "{}", said(&out));
        out.metrics[0].value = Some(4.5e9);
        let shallow = "Sequential reads at depth 1 are 2.2 times below this model, cause unknown.";
        assert!(said(&out).starts_with(shallow), "{}", said(&out));
    }

    /// The cache ended after the first round of four: fast and slow rounds give a wide range.
    #[test]
    fn a_figure_is_low_if_every_round_was() {
        let said = |first: f64| {
            let mut out = measured();
            out.metrics[5].value = Some(600e3);
            out.metrics[3] = out.metrics[3].clone().between(2e6, 90e6, record::Covers::NextRun);
            out.metrics[3].samples = vec![first, 8e6, 7.9e6, 7.9e6];
            answer_against(&out, Some(&usual())).expect("measured").headline
        };
        let low = "Sequential writes are 2.0 times below this model";
        assert!(said(20e6).contains(low), "{}", said(20e6));
        assert!(!said(24e6).contains(low), "{}", said(24e6));
    }

    /// Slower flash holds a deep queue, too; slower commands add to the time of a single read alike.
    #[test]
    fn flash_explains_slow_single_reads_if_the_deep_queue_lost_as_well() {
        let said = |deep: f64| {
            let mut out = outcome(&[
                ("seq-read-1MiB-q8", Unit::BytesPerSecond, 3.5e9),
                ("rand-read-4KiB-q32", Unit::Iops, deep),
                ("rand-read-4KiB-q1", Unit::Iops, 5e3),
            ]);
            out.verdicts = vec![verdict(VerdictKind::FlashBound, Some("rand-read-4KiB-q1"))];
            let mut usual = usual();
            let figure = UsualFigure { value: 10e3, factor_min: 1.15, gains: BTreeMap::new() };
            usual.figures.insert("rand-read-4KiB-q1".into(), figure);
            answer_against(&out, Some(&usual)).expect("measured").headline
        };
        let slow = "Random reads at depth 1 are 2.0 times below this model";
        assert!(said(60e3).contains(&format!("{slow}: the flash.")), "{}", said(60e3));
        assert!(said(89e3).contains(&format!("{slow}, cause unknown")), "{}", said(89e3));
    }

    #[test]
    fn a_cell_that_is_too_noisy_has_a_range() {
        let mut out = measured();
        out.metrics[1] = out.metrics[1].clone().between(0.9e9, 4.3e9, record::Covers::NextRun);
        out.metrics[4] = out.metrics[4].clone().between(40e3, 90e3, record::Covers::Rounds);
        let headline = answer(&out).expect("measured").headline;
        assert_eq!(
            headline,
            "Reads 900 MB/s to 4.30 GB/s, writes 12.6 MB/s; 40k to 90k/1.2k random IOPS."
        );
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
        assert_eq!(answer.rest, "");
        let mut out = measured();
        out.verdicts = vec![verdict(VerdictKind::Ram, None)];
        assert!(!super::answer(&out).expect("measured").headline.contains("GB/s"));
    }
}
