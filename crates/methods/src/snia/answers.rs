//! Answers of the SNIA tests: the steady-state value, and the round in which it was reached.

use record::Statistic::{
    End, FirstRound, Max, P99, Plateau, PlateauRound, Pts, PtsRound, Recovery,
};
use record::{
    Answer, Axis, Band, Better, Chart, Metric, MetricKey, Places, Statistic, Unit, size_word,
};
use workload::units::{binary, duration, latency as time};

use script::Outcome;
use script::draft::{Draft, count, name_of, rate};

/// Half height of the band drawn around the mean of a steady window, as a share of that mean. The
/// specification limits the range of the window to twice this share (20%), not each value to it.
const PTS_BAND: f64 = 0.1;

/// The round in which the test reached steady state: the plateau's, or else the specification's.
fn reached(draft: &Draft<'_>, test: &str) -> Option<f64> {
    draft.part(test, PlateauRound).or(draft.part(test, PtsRound))
}

/// The continuation that names the steady round, after a word: `, reached in round 14.`
fn when(draft: &Draft<'_>, test: &str, word: &str) -> String {
    match reached(draft, test) {
        Some(round) => format!(", {word} in round {round:.0}."),
        None => ", not steady when the rounds ended.".into(),
    }
}

/// The cells of a test: block size, percentage of reads and metric, smaller blocks and more reads
/// first.
fn cells(out: &Outcome, test: &str) -> Vec<(u64, u32, String)> {
    let pattern = format!("{test}-{{size}}-r{{percent}}");
    let cells = out.family(&pattern).map(|(m, at)| (at.bytes(0), at.number(1), m.name.clone()));
    let mut cells: Vec<_> = cells.collect();
    cells.sort_by_key(|(bytes, reads, _)| (*bytes, std::cmp::Reverse(*reads)));
    cells
}

/// The smallest measured block size of at least 4 KiB with this percentage of reads.
fn cell(out: &Outcome, test: &str, reads: u32) -> Option<(u64, String)> {
    let of_share = cells(out, test).into_iter().filter(|cell| cell.1 == reads);
    of_share.map(|(bytes, _, key)| (bytes, key)).find(|(bytes, _)| *bytes >= 4096)
}

/// A chart of the tracked cells by round, with the steady window of the test and the bands of its
/// cells.
fn rounds(
    draft: &Draft<'_>,
    test: &str,
    title: &str,
    unit: Unit,
    cells: &[(String, String)],
) -> Chart {
    let mut chart = Chart::lines(title, Axis::Round, unit)
        .sources(cells.iter().map(|(key, label)| (format!("{key}-rounds"), label)));
    let window = analysis::WINDOW as f64;
    if let Some(end) = reached(draft, test) {
        let x = Some([end - window + 0.5, end + 0.5]);
        chart.bands.push(Band { label: "steady window".into(), x, y: None });
        for (key, _) in cells.iter().filter(|(key, _)| key.starts_with(test)) {
            let mean = draft.part(key, Plateau).or(draft.part(key, Pts));
            let range = mean.map(|m| [m * (1.0 - PTS_BAND), m * (1.0 + PTS_BAND)]);
            let one = cells.len() == 1;
            let label = if one { "±10% of the steady mean".into() } else { String::new() };
            chart.bands.extend(range.map(|y| Band { label, x, y: Some(y) }));
        }
    }
    chart
}

/// A heat map of a test's metrics by block size and share of reads.
fn matrix(out: &Outcome, test: &str, title: &str, unit: Unit) -> Chart {
    let chart = Chart::heatmap(title, Axis::ReadShare, unit);
    cells(out, test).into_iter().fold(chart, |chart, (bytes, reads, key)| {
        chart.grouped(binary(bytes), key, format!("{reads}% reads"))
    })
}

/// The answer of `snia-iops`.
pub(super) fn iops(out: &Outcome) -> Option<Answer> {
    const TEST: &str = "snia-iops";
    let draft = Draft::new(out, "How many IOPS does the drive reach in steady state?");
    let (bytes, writes) = cell(out, TEST, 0)?;
    let sentence = format!("{} random-write IOPS in steady state", count(draft.value(&writes)?));
    let more = when(&draft, TEST, "reached");
    let tracked: Vec<(String, String)> = [(0, 4 << 10), (65, 64 << 10), (100, 1 << 20)]
        .into_iter()
        .map(|(reads, size): (u32, u64)| {
            let key = MetricKey::of_words(&[&TEST, &size_word(size), &format_args!("r{reads}")]);
            (key.to_string(), format!("{}, {reads}% reads", binary(size)))
        })
        .collect();
    let chart = rounds(&draft, TEST, "Operations per second by round", Unit::Iops, &tracked);
    let label = |share: &str| format!("{} {share}", binary(bytes));
    let mut draft = draft.tile(&label("writes"), &writes, Better::Higher);
    for (reads, words) in [(100, "reads"), (65, "65% reads")] {
        if let Some((_, key)) = cell(out, TEST, reads) {
            draft = draft.tile(&label(words), &key, Better::Higher);
        }
    }
    draft
        .tile("64 KiB, 65% reads", &tracked[1].0, Better::Higher)
        .tile("1 MiB reads", &tracked[2].0, Better::Higher)
        .tile("Writes, first round", &name_of(&writes, FirstRound), Better::Neither)
        .chart(chart)
        .chart(matrix(out, TEST, "Operations per second by size and share of reads", Unit::Iops))
        .say(sentence, [more])
}

/// The answer of `snia-throughput`.
pub(super) fn throughput(out: &Outcome) -> Option<Answer> {
    const TEST: &str = "snia-throughput";
    let draft = Draft::new(out, "How fast are large blocks in steady state?");
    let largest = |reads: u32| {
        let of_share = cells(out, TEST).into_iter().filter(|cell| cell.1 == reads);
        of_share.map(|(bytes, _, key)| (bytes, key)).next_back()
    };
    let (size, writes) = largest(0)?;
    // Each size has its own rounds; the sentence is about the largest.
    let test = MetricKey::of_words(&[&TEST, &size_word(size)]).to_string();
    let reads = largest(100).map(|(_, key)| key);
    let both = reads.as_deref().and_then(|key| draft.value(key));
    let both = both.map(|r| format!("Reads {}, writes ", rate(r))).unwrap_or("Writes ".into());
    let sentence = format!("{both}{} in steady state", rate(draft.value(&writes)?));
    let mut draft = draft.tile(&format!("{} writes", binary(size)), &writes, Better::Higher);
    if let Some(reads) = &reads {
        draft = draft.tile(&format!("{} reads", binary(size)), reads, Better::Higher);
    }
    let draft = draft.tile("Writes, first round", &name_of(&writes, FirstRound), Better::Neither);
    let plateau = draft.part(&test, PlateauRound).map_or(PtsRound, |_| PlateauRound);
    let draft = draft.tile("Steady in round", &name_of(&test, plateau), Better::Lower);
    let cells: Vec<(String, String)> = out
        .series
        .iter()
        .filter_map(|series| {
            let at = Places::parse("snia-throughput-{size}-r{percent}-rounds", &series.name)?;
            let side = if at.number(1) == 0 { "writes" } else { "reads" };
            let key = MetricKey::of_words(&[&TEST, &at.word(0), &format_args!("r{}", at.word(1))]);
            Some((key.to_string(), format!("{} {side}", binary(at.bytes(0)))))
        })
        .collect();
    let unit = Unit::BytesPerSecond;
    let chart = rounds(&draft, &test, "Speed by round", unit, &cells);
    let more = when(&draft, &test, "reached");
    let matrix = matrix(out, TEST, "Speed by size and direction", unit);
    draft.chart(chart).chart(matrix).say(sentence, [more])
}

/// The answer of `snia-latency`.
pub(super) fn latency(out: &Outcome) -> Option<Answer> {
    const TEST: &str = "snia-latency";
    const DISTRIBUTION: &str = "snia-latency-distribution";
    let draft = Draft::new(out, "How long does a single operation take in steady state?");
    let (bytes, writes) = cell(out, TEST, 0)?;
    let reads = cell(out, TEST, 100).map(|(_, key)| key);
    let size = binary(bytes);
    let read = reads.as_deref().and_then(|key| draft.value(key));
    let read = read.map(|ns| format!(", a read {}", time(ns))).unwrap_or_default();
    let sentence = format!("A {size} write takes {}{read}", time(draft.value(&writes)?));
    let tail = draft.part(DISTRIBUTION, P99);
    let more = tail.map(|ns| format!("; 1 write in 100 takes over {}.", time(ns)));
    let cells: Vec<(String, String)> = [(0, "writes"), (65, "65% reads"), (100, "reads")]
        .into_iter()
        .filter_map(|(reads, label)| Some((cell(out, TEST, reads)?.1, label.to_string())))
        .collect();
    let unit = Unit::Nanoseconds;
    let chart = rounds(&draft, TEST, &format!("Mean latency of {size} by round"), unit, &cells);
    let mut draft = draft.tile(&format!("{size} write"), &writes, Better::Lower);
    if let Some(reads) = &reads {
        draft = draft.tile(&format!("{size} read"), reads, Better::Lower);
    }
    draft
        .tile("99% of writes within", &name_of(DISTRIBUTION, P99), Better::Lower)
        .tile("99.9% of writes within", &name_of(DISTRIBUTION, Statistic::P999), Better::Lower)
        .tile("Longest write", &name_of(DISTRIBUTION, Max), Better::Lower)
        .tile("Write, first round", &name_of(&writes, FirstRound), Better::Neither)
        .chart(chart)
        .chart(matrix(out, TEST, "Mean latency by size and share of reads", unit))
        .say(sentence, more)
}

/// The answer of `snia-wsat`.
pub(super) fn wsat(out: &Outcome) -> Option<Answer> {
    const TEST: &str = "snia-wsat";
    let draft = Draft::new(out, "How fast are random writes once the drive is saturated?");
    let (_, key) = cell(out, TEST, 0)?;
    let steady = draft.value(&key)?;
    let first = draft.part(&key, FirstRound);
    let sentence = match first {
        Some(first) if first > 1.1 * steady => {
            format!("Falls from {} to {} random-write IOPS", count(first), count(steady))
        }
        _ => format!("{} random-write IOPS from the first minute", count(steady)),
    };
    let round = when(&draft, TEST, "steady");
    let series = draft.series(&format!("{key}-rounds"));
    let axis = if series.is_some_and(|series| series.column("written").is_some()) {
        Axis::BytesWritten
    } else {
        Axis::Round
    };
    let chart = Chart::lines("Random writes while the drive fills", axis, Unit::Iops)
        .source(format!("{key}-rounds"), "random writes")
        .level(format!("{} IOPS", count(steady)), steady, None);
    draft
        .tile("Saturated", &key, Better::Higher)
        .tile("First minute", &name_of(&key, FirstRound), Better::Higher)
        .tile("Steady state by the specification", &name_of(&key, Pts), Better::Higher)
        .tile("Plateau", &name_of(&key, Plateau), Better::Higher)
        .tile("Round of the plateau", &name_of(TEST, PlateauRound), Better::Lower)
        .chart(chart)
        .say(sentence, [round])
}

/// The answer of `snia-hir`.
pub(super) fn hir(out: &Outcome) -> Option<Answer> {
    const STEADY: &str = "snia-hir-steady";
    let draft = Draft::new(out, "Do short idle periods help the drive?");
    let steady = draft.value(STEADY)?;
    let waits = out.family("snia-hir-wait-{time}").map(|(m, at)| (m, at.seconds(0)));
    let waits: Vec<(&Metric, f64)> = waits.collect();
    let best = waits.iter().filter_map(|(m, s)| Some((*s, m.value?)));
    let best = best.max_by(|a, b| a.1.total_cmp(&b.1));
    let sentence = match best {
        Some((seconds, iops)) if iops > 1.1 * steady => format!(
            "Idle periods of {} raise random writes from {} to {} IOPS",
            duration(seconds),
            count(steady),
            count(iops)
        ),
        Some(_) => format!("Idle periods change nothing: {} random-write IOPS", count(steady)),
        None => format!("{} random-write IOPS in steady state", count(steady)),
    };
    let title = "Random writes after each idle time";
    let then_none = waits.iter().map(|(m, at)| (format!("{}-then-none", m.name), *at));
    let chart = Chart::points(title, Axis::Rest, Unit::Iops)
        .level("no idle time", steady, None)
        .joined("after idle time", waits.iter().map(|(m, at)| (&m.name, *at)))
        .joined("afterwards, no idle time", then_none);
    let draft = draft.tile("No idle time", STEADY, Better::Higher);
    let draft = waits.iter().fold(draft, |draft, (metric, at)| {
        draft.tile(&format!("After {at:.0} s idle"), &metric.name, Better::Higher)
    });
    let steady = vec![(STEADY.to_string(), "random writes".to_string())];
    let title = "Random writes without idle time, by round";
    let rounds = rounds(&draft, "snia-hir", title, Unit::Iops, &steady);
    draft.chart(chart).chart(rounds).say(sentence, None)
}

/// The answer of `snia-xsr`.
pub(super) fn xsr(out: &Outcome) -> Option<Answer> {
    const PARTS: [(&str, &str); 3] = [
        ("snia-xsr-sequential-before", "sequential, before"),
        ("snia-xsr-random", "random"),
        ("snia-xsr-sequential-after", "sequential, after"),
    ];
    let draft = Draft::new(out, "How does the drive recover from another workload?");
    let before = draft.value(PARTS[0].0)?;
    let recovery = draft.part(PARTS[2].0, Recovery).map(|ns| ns / 1e9);
    let after = draft.value(PARTS[2].0);
    let sentence = match (recovery, after) {
        (Some(s), Some(_)) if s < 1.0 => "Sequential writes recover at once".to_string(),
        (Some(s), Some(_)) => {
            format!("Sequential writes recover {} after random ones", duration(s))
        }
        (None, Some(after)) => {
            format!("Sequential writes stay at {} after random ones", rate(after))
        }
        _ => "Sequential writes before random ones".to_string(),
    };
    let more = match after {
        Some(_) => format!(" ({} before).", rate(before)),
        None => format!(": {}.", rate(before)),
    };
    let title = "Write speed in each part";
    let chart = Chart::lines(title, Axis::BytesWritten, Unit::BytesPerSecond).sources(PARTS);
    let bars = Chart::bars("Average of each part", Unit::BytesPerSecond).sources(PARTS);
    draft
        .tile("Sequential, before", PARTS[0].0, Better::Higher)
        .tile("Random", PARTS[1].0, Better::Higher)
        .tile("Sequential, after", PARTS[2].0, Better::Higher)
        .tile("Recovery time", &name_of(PARTS[2].0, Recovery), Better::Lower)
        .tile("End of the random part", &name_of(PARTS[1].0, End), Better::Higher)
        .chart_of_column(chart)
        .chart(bars)
        .say(sentence, [more])
}

/// The answer of `snia-dirth`.
pub(super) fn dirth(out: &Outcome) -> Option<Answer> {
    const STEADY: &str = "snia-dirth-steady";
    let draft = Draft::new(out, "What do more jobs and deeper queues gain, and what do they cost?");
    let cells: Vec<(u32, u32, String)> = out
        .family("snia-dirth-t{jobs}-q{depth}")
        .map(|(m, at)| (at.number(0), at.number(1), m.name.clone()))
        .collect();
    let most =
        cells.iter().filter_map(|(jobs, depth, key)| Some((*jobs * *depth, draft.value(key)?)));
    let most = most.max_by(|a, b| a.1.total_cmp(&b.1));
    let steady = draft.value(STEADY)?;
    let response = draft.value("snia-dirth-t1-q1.response");
    let sentence = match most {
        Some((flying, iops)) => format!("{} IOPS at most, with {flying} in flight", count(iops)),
        None => format!("{} IOPS with 1024 in flight", count(steady)),
    };
    let alone = draft.value("snia-dirth-t1-q1").zip(response);
    let alone = alone.map(|(iops, ns)| format!("; {} at depth 1, {} each.", count(iops), time(ns)));
    let map = |title: &str, unit, suffix: &str| {
        cells.iter().fold(
            Chart::heatmap(title, Axis::QueueDepth, unit),
            |chart, (jobs, depth, key)| {
                let s = if *jobs == 1 { "" } else { "s" };
                chart.grouped(
                    format!("{jobs} job{s}"),
                    format!("{key}{suffix}"),
                    format!("{depth} each"),
                )
            },
        )
    };
    draft
        .tile("32 jobs at depth 32", "snia-dirth-t32-q32", Better::Higher)
        .tile("One job at depth 1", "snia-dirth-t1-q1", Better::Higher)
        .tile("Response, one job at depth 1", "snia-dirth-t1-q1.response", Better::Lower)
        .tile("Response, 32 jobs at depth 32", "snia-dirth-t32-q32.response", Better::Lower)
        .tile("Steady rounds", STEADY, Better::Higher)
        .chart(map("Operations per second by jobs and depth", Unit::Iops, ""))
        .chart(map("Mean response time by jobs and depth", Unit::Nanoseconds, ".response"))
        .chart(rounds(
            &Draft::new(out, ""),
            "snia-dirth",
            "Operations per second by round",
            Unit::Iops,
            &[(STEADY.to_string(), "32 jobs at depth 32".to_string())],
        ))
        .say(sentence, alone)
}

#[cfg(test)]
mod tests {
    use record::Unit;

    use super::*;
    use crate::testing::outcome;

    #[test]
    fn a_steady_throughput_names_its_round_and_marks_the_window() {
        let all = [
            ("snia-throughput-1MiB-r0", Unit::BytesPerSecond, 160e6),
            ("snia-throughput-1MiB-r0.plateau", Unit::BytesPerSecond, 160e6),
            ("snia-throughput-1MiB-r100", Unit::BytesPerSecond, 280e6),
            ("snia-throughput-1MiB.pts-round", Unit::Number, 5.0),
            ("snia-throughput-1MiB.plateau-round", Unit::Number, 6.0),
            ("snia-throughput-128KiB-r0", Unit::BytesPerSecond, 120e6),
            ("snia-throughput-128KiB-r0.plateau", Unit::BytesPerSecond, 120e6),
            ("snia-throughput-128KiB.plateau-round", Unit::Number, 9.0),
        ];
        let of = |metrics: &[(&str, Unit, f64)]| {
            let mut out = outcome(metrics);
            let series = ["1MiB-r0", "128KiB-r0"];
            let series = series.map(|cell| format!("snia-throughput-{cell}-rounds"));
            out.series.extend(series.map(|name| record::Series::new(name, 0, 0)));
            throughput(&out).expect("measured")
        };
        let steady = of(&all);
        let expected = "Reads 280 MB/s, writes 160 MB/s in steady state, reached in round 6.";
        assert_eq!(steady.headline, expected);
        assert!(steady.tiles.iter().any(|t| t.label == "Steady in round" && t.value == Some(6.0)));
        let bands = &steady.charts[0].bands;
        assert_eq!(bands[0].x, Some([1.5, 6.5]));
        let levels: Vec<_> = bands.iter().filter_map(|band| band.y).collect();
        assert_eq!(levels, [[144e6, 176e6]], "the band of the size that the window belongs to");
        assert!(of(&all[..3]).headline.ends_with("not steady when the rounds ended."));
    }
}
