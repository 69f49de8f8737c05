//! The evidence for the figures of a virtual drive: published, fitted or guessed parameters. Those of
//! its class are no better than guessed.
//!
//! A figure has the evidence of the least known parameter that determines it: for a figure bounded
//! by the link, the buses; for a sequential write, the program time, in the SLC cache if the drive
//! has one. Every other figure depends on many parameters of flash and controller, and counts as
//! guessed.

use model::{DriveSpec, FigureLine};
use record::{Answer, Finding, FindingKind, Level, MetricKey, Order, Tile, VerdictKind};
use workload::OpKind;

/// Grades of evidence, weakest first.
const RANKS: [&str; 3] = ["guessed", "fitted", "published"];

/// A note on the evidence for each main figure of an answer; `None` if there are no figures.
pub(crate) fn note(spec: &DriveSpec, answer: &Answer) -> Option<Finding> {
    // No figure depends on sizes that a drive only declares.
    let mut lines = spec.figures();
    lines.retain(|line| !line.key.starts_with("declared."));
    let guessed = lines.iter().filter(|line| line.from == "guessed").count();
    let [weak, fitted, stated] = [0, 1, 2].map(|rank| {
        let tiles =
            answer.tiles.iter().filter(|tile| self::rank(tile, answer, spec, &lines) == rank);
        let labels: Vec<String> = tiles.map(|tile| tile.label.to_lowercase()).collect();
        (!labels.is_empty()).then_some(labels)
    });
    let count = match lines.len() {
        all if guessed == all => format!("All {all} parameters of this drive are guessed"),
        all => format!("{guessed} of the {all} parameters of this drive are guessed"),
    };
    let of_class = lines.iter().filter(|line| line.from == "class").count();
    let count = match of_class {
        0 => count,
        _ => format!("{count}, {of_class} are those of its class"),
    };
    let text = match (weak, &fitted, &stated) {
        (None, None, None) => return None,
        (None, ..) => count,
        (Some(_), None, None) => format!("{count}, and every figure of the drive rests on them"),
        (Some(weak), ..) => format!("{count}; figures based on them: {}", weak.join(", ")),
    };
    let sure = [(fitted, "fitted"), (stated, "published")];
    let sure = sure
        .into_iter()
        .filter_map(|(labels, word)| Some(format!("{}: {word}", labels?.join(", "))));
    let text = std::iter::once(text).chain(sure).collect::<Vec<_>>().join("; ");
    let advice = format!("ssdyno drives show {}", spec.name);
    Some(Finding::new(FindingKind::GuessedDrive, Level::Note, text).advise(advice))
}

/// The index in [`RANKS`] of the evidence for a figure.
fn rank(tile: &Tile, answer: &Answer, spec: &DriveSpec, lines: &[FigureLine]) -> usize {
    let by_link =
        answer.limits.iter().any(|l| l.metric == tile.metric && l.by == VerdictKind::Link);
    if !by_link && !is_main_sequential_write(&tile.metric) {
        return 0;
    }
    let cached = spec.slc.fixed.value.0 + spec.slc.dynamic.value.0 > 0;
    let program = if cached { "nand.slc_program_us" } else { "nand.program_us" };
    let ranks = lines.iter().map(|line| (line, &*line.key)).filter(|(_, key)| {
        if by_link { key.starts_with("link.") && key.ends_with(".bus") } else { *key == program }
    });
    let ranks = ranks.map(|(line, _)| match &*line.from {
        "sheet" => RANKS.len() - 1,
        from => RANKS.iter().position(|rank| *rank == from).unwrap_or(0),
    });
    ranks.min().unwrap_or(0)
}

fn is_main_sequential_write(metric: &str) -> bool {
    let key = MetricKey::parse(metric);
    let cell = key.as_cell().map(|cell| (cell.order, cell.op));
    key.is_main() && cell == Some((Order::Sequential, Some(OpKind::Write)))
}

#[cfg(test)]
mod tests {
    use record::{Better, Confidence, Limit, Metric, Stamp, Unit};

    use super::*;

    fn labelled(metric: &str) -> String {
        metric.to_lowercase()
    }

    fn answer(metrics: &[&str], by_link: &str) -> Answer {
        let tile = |name: &&str| {
            let metric = Metric::single(MetricKey::parse(name), Unit::BytesPerSecond, 1e9);
            Tile::from_metric(labelled(name), &metric, Better::Higher)
        };
        let confidence = Confidence::Measured;
        Answer {
            tiles: metrics.iter().map(tile).collect(),
            limits: vec![Limit { metric: by_link.into(), by: VerdictKind::Link, confidence }],
            ..Answer::new("", "", Stamp::Believable)
        }
    }

    fn text(drive: &str, metrics: &[&str], by_link: &str) -> String {
        let spec = DriveSpec::preset(drive).expect("a preset");
        let found = note(&spec, &answer(metrics, by_link)).expect("figures");
        found.text.split_once("; ").map(|(_, rest)| rest.to_string()).unwrap_or(found.text)
    }

    #[test]
    fn each_figure_has_the_evidence_of_its_least_known_parameter() {
        let [read, write, random] = ["seq-read-1MiB-q8", "seq-write-1MiB-q8", "rand-read-4KiB-q1"];
        let pro = "samsung-980-pro-1t";
        assert_eq!(
            text(pro, &[read, write, random], read),
            labelled(&format!(
                "figures based on them: {random}; {write}: fitted; {read}: published"
            ))
        );
        // Without the link as its bound, a read depends on flash times.
        assert_eq!(
            text(pro, &[read, write], "none"),
            labelled(&format!("figures based on them: {read}; {write}: fitted"))
        );
        let all = text(pro, &[random, "states-fresh", "seq-read-1MiB-q8.p99"], "none");
        assert!(all.ends_with("and every figure of the drive rests on them"), "{all}");
        // The program time of its cache is guessed, that of its other blocks fitted.
        let bx500 = text("crucial-bx500-500", &[write], "none");
        assert!(bx500.ends_with("rests on them"), "{bx500}");
        // A drive without a cache, whose SLC program time has no effect.
        let cacheless = text("samsung-970-pro-1t", &[write, random], "none");
        assert_eq!(
            cacheless,
            labelled(&format!("figures based on them: {random}; {write}: fitted"))
        );
        // Nothing is known about this drive's flash.
        let weak = text("crucial-c300-256", &[write], "none");
        assert!(weak.ends_with("rests on them"), "{weak}");
        let spec = DriveSpec::preset(pro).expect("a preset");
        assert_eq!(note(&spec, &answer(&[], read)), None);
    }
}
