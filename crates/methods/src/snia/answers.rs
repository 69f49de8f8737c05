//! Answers of the SNIA tests: the steady-state value, and the round in which it was reached.

use record::Statistic::{End, FirstRound, Max, P99, P999, Plateau, PlateauRound, Pts, PtsRound};
use record::{
    Answer, Axis, Band, Better, Chart, Metric, MetricInfo, MetricKey, Places, Unit, size_word,
};
use workload::units::{binary, duration, latency as time};

use super::metrics::{dirth, hir, iops, latency, throughput, wsat, xsr};
use script::Outcome;
use script::draft::{Draft, count, rate};

/// Half height of the band drawn around the mean of a steady window, as a share of that mean. The
/// specification limits the range of the window to twice this share (20%), not each value to it.
const PTS_BAND: f64 = 0.1;

/// The round in which the test reached steady state: the plateau's, or else the specification's.
fn reached(draft: &Draft<'_>, test: &str) -> Option<f64> {
    let test = MetricKey::parse(test);
    draft.part(&test, PlateauRound).or(draft.part(&test, PtsRound))
}

/// The continuation that names the steady round, after a word: `, reached in round 14.`
fn when(draft: &Draft<'_>, test: &str, word: &str) -> String {
    match reached(draft, test) {
        Some(round) => format!(", {word} in round {round:.0}."),
        None => ", not steady when the rounds ended.".into(),
    }
}

/// The words of a rate from a test that reached steady state; empty if it did not.
fn in_steady_state(draft: &Draft<'_>, test: &str) -> &'static str {
    reached(draft, test).map_or("", |_| " in steady state")
}

/// The cells of a test: block size, percentage of reads and metric, smaller blocks and more reads
/// first.
fn cells(out: &Outcome, family: MetricInfo) -> Vec<(u64, u32, MetricKey)> {
    let cells = out.family(family).map(|(m, at)| (at.bytes(0), at.number(1), m.key()));
    let mut cells: Vec<_> = cells.collect();
    cells.sort_by_key(|(bytes, reads, _)| (*bytes, std::cmp::Reverse(*reads)));
    cells
}

/// The smallest measured block size of at least 4 KiB with this percentage of reads.
fn cell(out: &Outcome, family: MetricInfo, reads: u32) -> Option<(u64, MetricKey)> {
    let of_share = cells(out, family).into_iter().filter(|cell| cell.1 == reads);
    of_share.map(|(bytes, _, key)| (bytes, key)).find(|(bytes, _)| *bytes >= 4096)
}

/// A chart of the tracked cells by round, with the steady window of the test and the bands of its
/// cells.
fn rounds(
    draft: &Draft<'_>,
    test: &str,
    title: &str,
    unit: Unit,
    cells: &[(MetricKey, String)],
) -> Chart {
    let mut chart = Chart::lines(title, Axis::Round, unit)
        .sources(cells.iter().map(|(key, label)| (format!("{key}-rounds"), label)));
    let window = analysis::WINDOW as f64;
    if let Some(end) = reached(draft, test) {
        let x = Some([end - window + 0.5, end + 0.5]);
        chart.bands.push(Band { label: "steady window".into(), x, y: None });
        for (key, _) in cells.iter().filter(|(key, _)| key.to_string().starts_with(test)) {
            let mean = draft.part(key, Plateau).or(draft.part(key, Pts));
            let range = mean.map(|m| [m * (1.0 - PTS_BAND), m * (1.0 + PTS_BAND)]);
            let is_single = cells.len() == 1;
            let label = if is_single { "±10% of the steady mean".into() } else { String::new() };
            chart.bands.extend(range.map(|y| Band { label, x, y: Some(y) }));
        }
    }
    chart
}

/// A heat map of a test's metrics by block size and share of reads.
fn matrix(out: &Outcome, family: MetricInfo, title: &str) -> Chart {
    let chart = Chart::heatmap(title, Axis::ReadShare, family.unit);
    cells(out, family).into_iter().fold(chart, |chart, (bytes, reads, key)| {
        chart.grouped(binary(bytes), key, format!("{reads}% reads"))
    })
}

/// The answer of `snia-iops`.
pub(super) fn iops(out: &Outcome) -> Option<Answer> {
    use iops::{CELLS, NAME};
    let draft = Draft::new(out, "How many IOPS does the drive reach in steady state?");
    let (bytes, writes) = cell(out, CELLS, 0)?;
    let of_size = if bytes == 4096 { String::new() } else { format!(" of {}", binary(bytes)) };
    let iops = count(draft.value(&writes)?);
    let steady = in_steady_state(&draft, NAME);
    let sentence = format!("{iops} random-write IOPS{of_size}{steady}");
    let continuation = when(&draft, NAME, "reached");
    let tracked =
        [(0, 4 << 10), (65, 64 << 10), (100, 1 << 20)].map(|(reads, size): (u32, u64)| {
            let key = CELLS.member(&[&size_word(size), &reads]);
            (key, format!("{}, {reads}% reads", binary(size)))
        });
    let chart = rounds(&draft, NAME, "Operations per second by round", Unit::Iops, &tracked);
    let label = |share: &str| format!("{} {share}", binary(bytes));
    let mut draft = draft.tile(&label("writes"), &writes, Better::Higher);
    for (reads, words) in [(100, "reads"), (65, "65% reads")] {
        if let Some((_, key)) = cell(out, CELLS, reads) {
            draft = draft.tile(&label(words), &key, Better::Higher);
        }
    }
    draft
        .tile("64 KiB, 65% reads", &tracked[1].0, Better::Higher)
        .tile("1 MiB reads", &tracked[2].0, Better::Higher)
        .tile("Writes, first round", writes.with(FirstRound), Better::Neither)
        .chart(chart)
        .chart(matrix(out, CELLS, "Operations per second by size and share of reads"))
        .say(sentence, [continuation])
}

/// The answer of `snia-throughput`.
pub(super) fn throughput(out: &Outcome) -> Option<Answer> {
    use throughput::{CELLS, NAME};
    let draft = Draft::new(out, "How fast are large blocks in steady state?");
    let largest = |reads: u32| {
        let of_share = cells(out, CELLS).into_iter().filter(|cell| cell.1 == reads);
        of_share.map(|(bytes, _, key)| (bytes, key)).next_back()
    };
    let (size, writes) = largest(0)?;
    // Each size has its own rounds; the sentence is about the largest.
    let test = MetricKey::of_words(&[&NAME, &size_word(size)]);
    let reads = largest(100).map(|(_, key)| key);
    let read_rate = reads.as_ref().and_then(|key| draft.value(key));
    let beginning =
        read_rate.map(|r| format!("Reads {}, writes ", rate(r))).unwrap_or("Writes ".into());
    let steady = in_steady_state(&draft, &test.to_string());
    let sentence = format!("{beginning}{}{steady}", rate(draft.value(&writes)?));
    let mut draft = draft.tile(&format!("{} writes", binary(size)), &writes, Better::Higher);
    if let Some(reads) = &reads {
        draft = draft.tile(&format!("{} reads", binary(size)), reads, Better::Higher);
    }
    let draft = draft.tile("Writes, first round", writes.with(FirstRound), Better::Neither);
    let plateau = draft.part(&test, PlateauRound).map_or(PtsRound, |_| PlateauRound);
    let draft = draft.tile("Steady in round", test.clone().with(plateau), Better::Lower);
    let cells: Vec<(MetricKey, String)> = out
        .series
        .iter()
        .filter_map(|series| {
            let places = Places::parse("snia-throughput-{size}-r{percent}-rounds", &series.name)?;
            let side = if places.number(1) == 0 { "writes" } else { "reads" };
            let key = CELLS.member(&[&places.word(0), &places.word(1)]);
            Some((key, format!("{} {side}", binary(places.bytes(0)))))
        })
        .collect();
    let test = test.to_string();
    let chart = rounds(&draft, &test, "Speed by round", CELLS.unit, &cells);
    let continuation = when(&draft, &test, "reached");
    draft
        .chart(chart)
        .chart(matrix(out, CELLS, "Speed by size and direction"))
        .say(sentence, [continuation])
}

/// The answer of `snia-latency`.
pub(super) fn latency(out: &Outcome) -> Option<Answer> {
    use latency::{CELLS, NAME, distribution};
    let draft = Draft::new(out, "How long does a single operation take in steady state?");
    let (bytes, writes) = cell(out, CELLS, 0)?;
    let reads = cell(out, CELLS, 100).map(|(_, key)| key);
    let size = binary(bytes);
    let read = reads.as_ref().and_then(|key| draft.value(key));
    let read = read.map(|ns| format!(", a read {}", time(ns))).unwrap_or_default();
    let mean = draft.value(&writes)?;
    let sentence = format!("A {size} write takes {}{read}", time(mean));
    // A few long writes can raise the mean beyond what 99 in 100 take.
    let tail = [(100, P99), (1000, P999)].into_iter().find_map(|(writes, percentile)| {
        Some((writes, draft.part(distribution(), percentile).filter(|ns| *ns > mean)?))
    });
    let continuation =
        tail.map(|(writes, ns)| format!("; 1 write in {writes} takes over {}.", time(ns)));
    let cells: Vec<(MetricKey, String)> = [(0, "writes"), (65, "65% reads"), (100, "reads")]
        .into_iter()
        .filter_map(|(reads, label)| Some((cell(out, CELLS, reads)?.1, label.to_string())))
        .collect();
    let title = format!("Mean latency of {size} by round");
    let chart = rounds(&draft, NAME, &title, CELLS.unit, &cells);
    let mut draft = draft.tile(&format!("{size} write"), &writes, Better::Lower);
    if let Some(reads) = &reads {
        draft = draft.tile(&format!("{size} read"), reads, Better::Lower);
    }
    draft
        .tile("99% of writes within", distribution().with(P99), Better::Lower)
        .tile("99.9% of writes within", distribution().with(P999), Better::Lower)
        .tile("Longest write", distribution().with(Max), Better::Lower)
        .tile("Write, first round", writes.with(FirstRound), Better::Neither)
        .chart(chart)
        .chart(matrix(out, CELLS, "Mean latency by size and share of reads"))
        .say(sentence, continuation)
}

/// The answer of `snia-wsat`.
pub(super) fn wsat(out: &Outcome) -> Option<Answer> {
    use wsat::{CELLS, NAME};
    let draft = Draft::new(out, "How fast are random writes once the drive is saturated?");
    let (_, key) = cell(out, CELLS, 0)?;
    let steady = draft.value(&key)?;
    let first = draft.part(&key, FirstRound);
    let sentence = match first {
        Some(first) if first > 1.1 * steady => {
            format!("Falls from {} to {} random-write IOPS", count(first), count(steady))
        }
        _ => format!("{} random-write IOPS from the first round", count(steady)),
    };
    let round = when(&draft, NAME, "steady");
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
        .tile("First round", key.clone().with(FirstRound), Better::Higher)
        .tile("Steady state by the specification", key.clone().with(Pts), Better::Higher)
        .tile("Plateau", key.with(Plateau), Better::Higher)
        .tile("Round of the plateau", MetricKey::parse(NAME).with(PlateauRound), Better::Lower)
        .chart(chart)
        .say(sentence, [round])
}

/// The answer of `snia-hir`.
pub(super) fn hir(out: &Outcome) -> Option<Answer> {
    use hir::{NAME, STEADY, THEN_NONE, WAIT};
    let draft = Draft::new(out, "Do short idle periods help the drive?");
    let steady = draft.value(STEADY)?;
    let waits = out.family(WAIT).map(|(m, at)| (m, at.seconds(0)));
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
        None => format!("{} random-write IOPS{}", count(steady), in_steady_state(&draft, NAME)),
    };
    let title = "Random writes after each idle time";
    let then_none = out.family(THEN_NONE).map(|(m, at)| (&m.name, at.seconds(0)));
    let chart = Chart::points(title, Axis::Rest, Unit::Iops)
        .level("no idle time", steady, None)
        .joined("after idle time", waits.iter().map(|(m, at)| (&m.name, *at)))
        .joined("afterwards, no idle time", then_none);
    let draft = draft.tile("No idle time", STEADY, Better::Higher);
    let draft = waits.iter().fold(draft, |draft, (metric, at)| {
        draft.tile(&format!("After {at:.0} s idle"), *metric, Better::Higher)
    });
    let steady = [(STEADY.into(), "random writes".to_string())];
    let title = "Random writes without idle time, by round";
    let rounds = rounds(&draft, NAME, title, Unit::Iops, &steady);
    draft.chart(chart).chart(rounds).say(sentence, None)
}

/// The answer of `snia-xsr`.
pub(super) fn xsr(out: &Outcome) -> Option<Answer> {
    use xsr::{AFTER, BEFORE, RANDOM, RECOVERY};
    const PARTS: [(MetricInfo, &str); 3] =
        [(BEFORE, "sequential, before"), (RANDOM, "random"), (AFTER, "sequential, after")];
    let draft = Draft::new(out, "How does the drive recover from another workload?");
    let before = draft.value(BEFORE)?;
    let recovery = draft.value(RECOVERY).map(|ns| ns / 1e9);
    let after = draft.value(AFTER);
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
    let continuation = match after {
        Some(_) => format!(" ({} before).", rate(before)),
        None => format!(": {}.", rate(before)),
    };
    let title = "Write speed in each part";
    let chart = Chart::lines(title, Axis::BytesWritten, Unit::BytesPerSecond).sources(PARTS);
    let bars = Chart::bars("Average of each part", Unit::BytesPerSecond).sources(PARTS);
    draft
        .tile("Sequential, before", BEFORE, Better::Higher)
        .tile("Random", RANDOM, Better::Higher)
        .tile("Sequential, after", AFTER, Better::Higher)
        .tile("Recovery time", RECOVERY, Better::Lower)
        .tile("End of the random part", RANDOM.with(End), Better::Higher)
        .chart_of_column(chart)
        .chart(bars)
        .say(sentence, [continuation])
}

/// The answer of `snia-dirth`.
pub(super) fn dirth(out: &Outcome) -> Option<Answer> {
    use dirth::{CELLS, NAME, RESPONSE, STEADY};
    let draft = Draft::new(out, "What do more jobs and deeper queues gain, and what do they cost?");
    let cells: Vec<(u32, u32)> =
        out.family(CELLS).map(|(_, at)| (at.number(0), at.number(1))).collect();
    let most = cells.iter().filter_map(|(jobs, depth)| {
        Some((jobs * depth, draft.value(CELLS.member(&[jobs, depth]))?))
    });
    let most = most.max_by(|a, b| a.1.total_cmp(&b.1));
    let steady = draft.value(STEADY)?;
    let response = draft.value(RESPONSE.member(&[&1, &1]));
    let sentence = match most {
        Some((flying, iops)) => format!("{} IOPS at most, with {flying} in flight", count(iops)),
        None => format!("{} IOPS with 1024 in flight", count(steady)),
    };
    let alone = draft.value(CELLS.member(&[&1, &1])).zip(response);
    let alone = alone.map(|(iops, ns)| format!("; {} at depth 1, {} each.", count(iops), time(ns)));
    let map = |title: &str, family: MetricInfo| {
        let chart = Chart::heatmap(title, Axis::QueueDepth, family.unit);
        cells.iter().fold(chart, |chart, (jobs, depth)| {
            let s = if *jobs == 1 { "" } else { "s" };
            let key = family.member(&[jobs, depth]);
            chart.grouped(format!("{jobs} job{s}"), key, format!("{depth} each"))
        })
    };
    draft
        .tile("32 jobs at depth 32", CELLS.member(&[&32, &32]), Better::Higher)
        .tile("One job at depth 1", CELLS.member(&[&1, &1]), Better::Higher)
        .tile("Response, one job at depth 1", RESPONSE.member(&[&1, &1]), Better::Lower)
        .tile("Response, 32 jobs at depth 32", RESPONSE.member(&[&32, &32]), Better::Lower)
        .tile("Steady rounds", STEADY, Better::Higher)
        .chart(map("Operations per second by jobs and depth", CELLS))
        .chart(map("Mean response time by jobs and depth", RESPONSE))
        .chart(rounds(
            &Draft::new(out, ""),
            NAME,
            "Operations per second by round",
            Unit::Iops,
            &[(STEADY.into(), "32 jobs at depth 32".to_string())],
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
