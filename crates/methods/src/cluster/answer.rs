//! The answer of `cluster`: the smallest unit that writes at full speed and in which files are
//! recorded at full speed, and what larger ones waste.

use super::{FILES, FILES_UNIT, KNEE_UNIT, MOUNTED_UNIT, SLACK, UNIT_RATE};
use record::{Answer, Better, Chart, Metric, Unit};
use script::Outcome;
use script::draft::{Draft, rate};
use workload::units::{binary, binary_tight};

/// The answer of `cluster`: the unit of the later knee with its rate, and the throughput of the
/// smallest unit; with a single unit, only its throughput.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "Which allocation unit should a file system use?");
    let of_writes = draft.value(KNEE_UNIT.member(&[&"write"]));
    let of_files = draft.value(FILES_UNIT).filter(|unit| Some(*unit) > of_writes);
    let knee = of_files.or(of_writes);
    let [reads, writes] = ["seq-read-unit-{size}-q{depth}", "seq-write-unit-{size}-q{depth}"].map(
        |name| -> Vec<&Metric> { out.family(UNIT_RATE.named(name)).map(|(m, _)| m).collect() },
    );
    let best = writes.iter().filter_map(|m| m.value).reduce(f64::max)?;
    let smallest = writes.first()?;
    let least = binary(size_of(smallest)?);
    // A run records into one of the two file systems.
    let recorded: Vec<(&Metric, u64)> = ["cluster-exfat-{size}", "cluster-fat32-{size}"]
        .into_iter()
        .flat_map(|name| out.family(FILES.named(name)).map(|(m, at)| (m, at.bytes(0))))
        .collect();
    let (sentence, continuation) = match knee {
        Some(knee) if of_files.is_some() => {
            let rates = [Some(knee as u64), size_of(smallest)].map(|bytes| {
                let metric = recorded.iter().find(|(_, unit)| Some(*unit) == bytes);
                metric.and_then(|(metric, _)| metric.value)
            });
            let share = rates[1]? / rates[0]? * 100.0;
            let unit = binary(knee as u64);
            (
                format!("{unit} units record files at {}", rate(rates[0]?)),
                format!("; {least} units reach {share:.0}% of it."),
            )
        }
        Some(knee) if size_of(smallest) == Some(knee as u64) => {
            let sentence =
                format!("Even the smallest units, {least}, write at or near {}", rate(best));
            (sentence, ".".into())
        }
        Some(knee) => (
            format!("{} units write at or near {}", binary(knee as u64), rate(best)),
            match draft.value(MOUNTED_UNIT) {
                Some(unit) => format!("; the file system here has {}.", binary(unit as u64)),
                None => {
                    format!("; {least} units reach {:.0}% of it.", smallest.value? / best * 100.0)
                }
            },
        ),
        None if writes.len() == 1 => {
            let sentence = format!("Only {least} units fit here; they write {}", rate(best));
            (sentence, ". A larger --size allows larger units.".into())
        }
        None => return None,
    };
    let chart = Chart::bars("Reads and writes of one unit each", Unit::BytesPerSecond);
    let mut chart = chart.level(format!("full speed {}", rate(best)), best, None);
    for write in &writes {
        let Some(mut size) = size_of(write).map(binary) else { continue };
        if knee.is_some_and(|knee| size_of(write) == Some(knee as u64)) {
            size += " (chosen)";
        }
        let read = reads.iter().find(|read| self::size_of(read) == self::size_of(write));
        if let Some(read) = read {
            chart = chart.grouped(&size, &read.name, "reads");
        }
        chart = chart.grouped(&size, &write.name, "writes");
    }
    // The unit of the knee is the one to choose, so its slack is the price.
    let choice = writes.iter().find(|m| knee.is_none_or(|knee| size_of(m) == Some(knee as u64)))?;
    let unit_bytes = size_of(choice)?;
    let unit = binary(unit_bytes);
    let slacks = out.family(SLACK).map(|(m, at)| (&m.name, binary(at.bytes(0))));
    let sources = recorded.iter().map(|(metric, bytes)| {
        let mark = if knee == Some(*bytes as f64) { " (chosen)" } else { "" };
        (&metric.name, binary(*bytes) + mark)
    });
    let files = Chart::bars("Files of 8 MiB recorded", Unit::BytesPerSecond).sources(sources);
    let wasted = Chart::bars("Space wasted by your files", Unit::Number).sources(slacks);
    let draft = draft
        .tile("Unit for writes", KNEE_UNIT.member(&[&"write"]), Better::Lower)
        .tile("Unit for reads", KNEE_UNIT.member(&[&"read"]), Better::Lower)
        .tile("Unit for files", FILES_UNIT, Better::Lower)
        .tile(
            &format!("Space wasted, {unit} units"),
            SLACK.member(&[&binary_tight(unit_bytes)]),
            Better::Lower,
        )
        .tile("Writes in smallest units", *smallest, Better::Higher);
    let last = writes.last()?;
    let draft = match writes.len() {
        1 => draft,
        _ => draft.tile("Writes in largest units", *last, Better::Higher),
    };
    draft.chart(chart).chart(files).chart(wasted).say(sentence, [continuation])
}

fn size_of(metric: &Metric) -> Option<u64> {
    metric.key().as_cell().map(|cell| cell.block_bytes)
}
