//! Answers about block sizes: `lbaf` and `cluster`.

use record::{Answer, Better, Chart, Metric, MetricKey, Order, Statistic, Unit, capitalised};
use workload::OpKind;
use workload::units::{binary, binary_tight};

use script::Outcome;
use script::draft::{Draft, rate, times};

/// Ratios within this distance of 1 count as equal.
const SAME: f64 = 0.05;

/// The cells of `lbaf`, most informative first.
const CELLS: [(Order, OpKind, &str); 4] = [
    (Order::Random, OpKind::Write, "random writes"),
    (Order::Random, OpKind::Read, "random reads"),
    (Order::Sequential, OpKind::Write, "sequential writes"),
    (Order::Sequential, OpKind::Read, "sequential reads"),
];

/// A workload of `lbaf`, parsed from a metric name without its format suffix.
struct Cell {
    stem: String,
    order: Order,
    op: OpKind,
    depth: u32,
    ratio: Option<f64>,
}

fn cells(out: &Outcome) -> Vec<Cell> {
    let cells = out.family("lbaf-{seq,rand}-{read,write}-{size}-q{depth}-in-512").map(|(_, at)| {
        let order = if at.word(0) == "seq" { Order::Sequential } else { Order::Random };
        let op = if at.word(1) == "read" { OpKind::Read } else { OpKind::Write };
        let depth = at.number(3);
        let cell = MetricKey::cell(order, Some(op), at.bytes(2), depth);
        let key = MetricKey::of_words(&[&"lbaf", &cell]);
        let ratio = out.value(&key.clone().with(Statistic::Ratio).to_string());
        Cell { stem: key.to_string(), order, op, depth, ratio }
    });
    cells.collect()
}

/// The answer of `lbaf`: which workloads gain from blocks of 4096 bytes.
pub(crate) fn lbaf(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "Is the drive faster with 4096-byte than with 512-byte blocks?");
    let cells = cells(out);
    let ratio = |order: Order, op: OpKind| {
        let of = cells.iter().filter(|c| c.order == order && c.op == op);
        of.max_by_key(|c| c.depth).and_then(|c| c.ratio)
    };
    let changed: Vec<String> = CELLS
        .into_iter()
        .filter_map(|(order, op, name)| {
            let ratio = ratio(order, op)?;
            match ratio {
                r if r > 1.0 + SAME => Some(format!("{name} {} as fast", times_as(r))),
                r if r < 1.0 - SAME => Some(format!("{name} {:.0}% slower", 100.0 * (1.0 - r))),
                _ => None,
            }
        })
        .collect();
    let compared = cells.iter().any(|c| c.ratio.is_some());
    let sentence = match (compared, changed.first()) {
        (true, Some(first)) => format!("4096-byte blocks: {first}"),
        (true, None) => "4096-byte blocks: as fast as 512-byte blocks".into(),
        (false, _) => "Only one of the two formats was measured".into(),
    };
    let more = match changed.len() {
        0 => Vec::new(),
        1 => vec![", all else the same.".into()],
        _ => vec![format!(", {}.", changed[1..].join(", ")), format!(", {}.", changed[1])],
    };
    let chart = |title: &str, order: Order| {
        let of = cells.iter().filter(|cell| cell.order == order);
        of.fold(Chart::bars(title, Unit::BytesPerSecond), |chart, cell| {
            let op = if cell.op == OpKind::Read { "reads" } else { "writes" };
            let group = format!("{op}, depth {}", cell.depth);
            let side = |block: u32| MetricKey::of_words(&[&cell.stem, &"in", &block]).to_string();
            let chart = chart.grouped(&group, side(512), "512-byte blocks");
            chart.grouped(&group, side(4096), "4096-byte blocks")
        })
    };
    let mut draft = draft
        .chart(chart("Random 4 KiB in both formats", Order::Random))
        .chart(chart("Large sequential blocks in both formats", Order::Sequential));
    for (order, op, name) in CELLS {
        let of = cells.iter().filter(|c| c.order == order && c.op == op);
        if let Some(cell) = of.max_by_key(|c| c.depth) {
            let key = MetricKey::parse(&cell.stem).with(Statistic::Ratio).to_string();
            draft =
                draft.tile(&format!("{}, 4096 over 512", capitalised(name)), &key, Better::Higher);
        }
    }
    for cell in &cells {
        let name = CELLS.iter().find(|c| (c.0, c.1) == (cell.order, cell.op)).map_or("", |c| c.2);
        let key = MetricKey::of_words(&[&cell.stem, &"in", &512]).to_string();
        draft = draft.tile(&format!("{}, 512", capitalised(name)), &key, Better::Higher);
    }
    (!cells.is_empty()).then(|| draft.say(sentence, more)).flatten()
}

fn times_as(ratio: f64) -> String {
    if ratio < 1.95 { format!("{ratio:.2} times") } else { times(ratio) }
}

/// The answer of `cluster`: the knee, and the throughput of the smallest unit; with a single unit,
/// only its throughput.
pub(crate) fn cluster(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "Which allocation unit should a file system use?");
    let knee = draft.value("cluster-knee-write");
    let of = |pattern| -> Vec<&Metric> { out.family(pattern).map(|(m, _)| m).collect() };
    let reads = of("seq-read-unit-{size}-q{depth}");
    let writes = of("seq-write-unit-{size}-q{depth}");
    let best = writes.iter().filter_map(|m| m.value).reduce(f64::max)?;
    let smallest = writes.first()?;
    let size = |m: &Metric| m.key().as_cell().map(|cell| binary(cell.block_bytes));
    let least = size(smallest)?;
    let (sentence, more) = match knee {
        Some(knee) if size_of(smallest) == Some(knee as u64) => {
            let sentence =
                format!("Even the smallest units, {least}, write at or near {}", rate(best));
            (sentence, ".".into())
        }
        Some(knee) => (
            format!("{} units write at or near {}", binary(knee as u64), rate(best)),
            format!("; {least} units reach {:.0}% of it.", smallest.value? / best * 100.0),
        ),
        None if writes.len() == 1 => {
            let sentence = format!("Only {least} units fit here; they write {}", rate(best));
            (sentence, ". A larger --size allows larger units.".into())
        }
        None => return None,
    };
    let mut chart = Chart::bars("Reads and writes of one unit each", Unit::BytesPerSecond);
    for write in &writes {
        let Some(size) = size(write) else { continue };
        let read = reads.iter().find(|read| self::size_of(read) == self::size_of(write));
        if let Some(read) = read {
            chart = chart.grouped(&size, &read.name, "reads");
        }
        chart = chart.grouped(&size, &write.name, "writes");
    }
    // The unit of the knee is the one to choose, so its slack is the price.
    let chosen = writes.iter().find(|m| knee.is_none_or(|knee| size_of(m) == Some(knee as u64)))?;
    let slack = |bytes: u64| format!("cluster-slack-{}", binary_tight(bytes));
    let (unit, unit_bytes) = (size(chosen)?, size_of(chosen)?);
    let sizes = |pattern| out.family(pattern).map(|(m, at)| (&m.name, binary(at.bytes(0))));
    // A run records into one of the two file systems.
    let files = Chart::bars("Files of 8 MiB recorded", Unit::BytesPerSecond)
        .sources(sizes("cluster-exfat-{size}").chain(sizes("cluster-fat32-{size}")));
    let wasted = Chart::bars("Space wasted by your files", Unit::Number)
        .sources(sizes("cluster-slack-{size}"));
    let draft = draft
        .tile("Unit for writes", "cluster-knee-write", Better::Lower)
        .tile("Unit for reads", "cluster-knee-read", Better::Lower)
        .tile(&format!("Space wasted, {unit} units"), &slack(unit_bytes), Better::Lower)
        .tile("Writes in smallest units", &smallest.name, Better::Higher);
    let last = writes.last()?;
    let draft = match writes.len() {
        1 => draft,
        _ => draft.tile("Writes in largest units", &last.name, Better::Higher),
    };
    draft.chart(chart).chart(files).chart(wasted).say(sentence, [more])
}

fn size_of(metric: &Metric) -> Option<u64> {
    metric.key().as_cell().map(|cell| cell.block_bytes)
}
