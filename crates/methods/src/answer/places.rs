//! Answers about positions on the drive: `zones`, `align`, `speed`.

use record::Statistic::{
    CommandTime, FirstThird, LastTenth, Legacy, Mapped, Middle, Ratio, Slowest, TransferRate,
    UnmappedShare,
};
use record::{Answer, Axis, Better, Chart, FittedLine, MetricKey, Unit, VerdictKind};
use workload::units::{binary, latency};

use crate::names::{NOTHING_WRITTEN, ZONES_ASCENDING, ZONES_READ as READ};
use script::Outcome;
use script::draft::{Draft, name_of, rate, times};

/// Address ranges whose speeds differ by less than this share count as equally fast.
const EVEN: f64 = 0.1;

/// The answer of `zones`: whether the drive is equally fast everywhere, and its slowest part.
pub(crate) fn zones(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "Is the drive equally fast everywhere?");
    let all = draft.value(READ)?;
    let parts = [("first third", FirstThird), ("middle", Middle), ("last tenth", LastTenth)];
    let parts = parts.map(|(name, statistic)| (name, draft.part(READ, statistic)));
    let known: Vec<(&str, f64)> = parts.iter().filter_map(|(n, r)| Some((*n, (*r)?))).collect();
    let slowest = known.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
    let fastest = known.iter().map(|(_, rate)| *rate).reduce(f64::max);
    let unwritten = draft.part(READ, UnmappedShare);
    let nothing = unwritten.is_some_and(|share| share > NOTHING_WRITTEN);
    let sentence = match (slowest, fastest) {
        (Some((part, slow)), Some(fast)) if slow < (1.0 - EVEN) * fast => {
            let factor = fast / slow;
            format!("The {part} is {} slower", times(factor))
        }
        (Some((_, slow)), Some(fast)) => {
            let spread = 100.0 * (fast - slow) / (2.0 * all);
            format!("Equally fast in all parts (±{}%), {}", spread.ceil(), rate(all))
        }
        _ => format!("Reads {} across all addresses", rate(all)),
    };
    let unwritten =
        unwritten.map(|share| format!("; {:.0}% of the drive holds no data.", 100.0 * share));
    let chart = Chart::lines("Read speed by address", Axis::Address, Unit::BytesPerSecond)
        .source(format!("{ZONES_ASCENDING}-profile"), "sequential")
        .source("zones-read-shuffled-profile", "shuffled");
    let writes = Chart::lines("Write speed by address", Axis::Address, Unit::BytesPerSecond)
        .source("zones-write", "sequential writes");
    let draft = draft
        .tile("All addresses", READ, Better::Higher)
        .tile("First third", &name_of(READ, FirstThird), Better::Higher)
        .tile("Middle", &name_of(READ, Middle), Better::Higher)
        .tile("Last tenth", &name_of(READ, LastTenth), Better::Higher)
        .tile("Slowest zone", &name_of(READ, Slowest), Better::Higher)
        .tile("Zones with data", &name_of(READ, Mapped), Better::Higher)
        .chart(chart)
        .chart_of_column(writes);
    if nothing {
        let reads = rate(all);
        return draft.say_of_others(format!(
            "Nothing is written here: {reads} is not the speed of the flash."
        ));
    }
    draft.say(sentence, unwritten)
}

/// The answer of `align`: the cost of the worst misalignment.
pub(crate) fn align(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "What do misaligned writes cost?");
    let aligned = draft.value("align-0")?;
    let mut within: f64 = 0.0;
    let offsets = out.family("align-{bytes}.ratio");
    let offsets = offsets.filter_map(|(m, at)| {
        let ratio = m.value?;
        let slower = ratio < 1.0 - EVEN && m.high.is_none_or(|high| high < 1.0);
        // The largest difference that the measurement permits.
        let ends = [m.low, Some(ratio), m.high].into_iter().flatten();
        within = ends.fold(within, |most, end| most.max((1.0 - end).abs()));
        Some((u64::from(at.number(0)), ratio, slower))
    });
    let offsets: Vec<(u64, f64, bool)> = offsets.collect();
    let least = |certain: bool| {
        let of = offsets.iter().filter(|(.., slower)| *slower || !certain);
        of.map(|(bytes, ratio, _)| (*bytes, *ratio)).min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let costly = least(true);
    let worst = costly.or_else(|| least(false));
    let sentence = match (costly, worst) {
        (Some((_, ratio)), _) => {
            format!("Misaligned 4 KiB writes are {} slower", times(1.0 / ratio))
        }
        (None, Some((_, ratio))) if ratio < 1.0 - EVEN => {
            let percent = 100.0 * ratio;
            format!("Misaligned 4 KiB writes may be slower ({percent:.0}% of aligned): not certain")
        }
        (None, Some(_)) => {
            let percent = (100.0 * within).round().max(1.0);
            format!("Alignment makes no visible difference to 4 KiB writes (within {percent}%)")
        }
        (None, None) => format!("Aligned 4 KiB writes reach {}", rate(aligned)),
    };
    let at = costly.map(|(bytes, _)| format!(", at an offset of {}.", binary(bytes)));
    let ratio = |bytes: u64| (name_of(&format!("align-{bytes}"), Ratio), binary(bytes));
    let chart = Chart::bars("Write speed at each offset, aligned = 1", Unit::Number)
        .level("aligned", 1.0, None)
        .sources(offsets.iter().map(|(bytes, ..)| ratio(*bytes)));
    let rates = Chart::bars("Aligned writes", Unit::BytesPerSecond).source("align-0", "aligned");
    let mut draft = draft.tile("Aligned", "align-0", Better::Higher);
    let mut shown = vec![512, 2048, 4096];
    shown.extend(worst.map(|(bytes, _)| bytes).filter(|bytes| !shown.contains(bytes)));
    for bytes in shown {
        let label = format!("Offset {}", binary(bytes));
        draft = draft.tile(&label, &format!("align-{bytes}"), Better::Higher);
    }
    if let Some((bytes, _)) = worst {
        let name = name_of(&format!("align-{bytes}"), Ratio);
        draft = draft.tile("Worst, relative to aligned", &name, Better::Higher);
    }
    let chart = if chart.is_empty() { rates } else { chart };
    if let Some((bytes, _)) = worst {
        draft = draft.limit(&format!("align-{bytes}"), VerdictKind::Misaligned);
    }
    draft.chart(chart).say(sentence, at)
}

/// The answer of `speed`: read and write throughput, and the cost of a command.
pub(crate) fn speed(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "What does .speed report, and what does a command cost?");
    let reads = draft.value("speed-read")?;
    let writes = draft.value("speed-write");
    let writes = writes.map(|r| format!(", writes {}", rate(r))).unwrap_or_default();
    let sentence = format!("Reads {}{writes}", rate(reads));
    let cost = draft.part("speed-read", CommandTime);
    let cost = cost.filter(|ns| *ns > 0.0).map(|ns| format!("; a command costs {}.", latency(ns)));
    let draft = draft
        .tile("Reads", "speed-read", Better::Higher)
        .tile("Writes", "speed-write", Better::Higher)
        .tile("Reads as .speed prints them", &name_of("speed-read", Legacy), Better::Higher)
        .tile("Writes as .speed prints them", &name_of("speed-write", Legacy), Better::Higher)
        .tile("Cost of a read command", &name_of("speed-read", CommandTime), Better::Lower);
    // The cost is 0 if it cannot be separated from the transfer time.
    let draft = match draft.part("speed-write", CommandTime) {
        Some(ns) if ns > 0.0 => {
            let key = name_of("speed-write", CommandTime);
            draft.tile("Cost of a write command", &key, Better::Lower)
        }
        _ => draft,
    };
    let title = "Time of a command by transfer size";
    let mut chart = Chart::points(title, Axis::BlockSize, Unit::Nanoseconds);
    for (metric, at) in out.family("speed-{read,write}-{size}") {
        let group = if at.word(0) == "read" { "reads" } else { "writes" };
        chart = chart.point(group, &metric.name, at.bytes(1) as f64);
    }
    for (subject, label) in [("speed-read", "reads"), ("speed-write", "writes")] {
        let parts = [CommandTime, TransferRate].map(|statistic| draft.part(subject, statistic));
        if let [Some(at_zero), Some(rate)] = parts {
            let slope = 1e9 / rate;
            chart.fits.push(FittedLine { label: label.into(), at_zero, slope });
        }
    }
    let places = [("", "start"), ("-middle", "middle"), ("-end", "end")];
    let mut bars = Chart::bars("Speed at three positions", Unit::BytesPerSecond);
    for (word, place) in places {
        for (side, label) in [("speed-read", "reads"), ("speed-write", "writes")] {
            let key = MetricKey::parse(&format!("{side}{word}")).to_string();
            bars = bars.grouped(place, key, label);
        }
    }
    draft.chart(chart).chart(bars).say(sentence, cost)
}
