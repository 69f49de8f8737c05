//! The answer of `lbaf`: which workloads gain from blocks of 4096 bytes.

use super::RATE;
use record::{Answer, Better, Chart, MetricKey, Order, Statistic, Unit, capitalised};
use script::Outcome;
use script::draft::{Draft, times};
use workload::OpKind;

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
    stem: MetricKey,
    order: Order,
    op: OpKind,
    depth: u32,
    ratio: Option<f64>,
}

fn cells(out: &Outcome) -> Vec<Cell> {
    let cells = out.family(RATE.named("lbaf-{seq,rand}-{read,write}-{size}-q{depth}-in-512")).map(
        |(_, at)| {
            let order = if at.word(0) == "seq" { Order::Sequential } else { Order::Random };
            let op = if at.word(1) == "read" { OpKind::Read } else { OpKind::Write };
            let depth = at.number(3);
            let cell = MetricKey::cell(order, Some(op), at.bytes(2), depth);
            let key = MetricKey::of_words(&[&"lbaf", &cell]);
            let ratio = out.value(key.clone().with(Statistic::Ratio));
            Cell { stem: key, order, op, depth, ratio }
        },
    );
    cells.collect()
}

/// The answer of `lbaf`: which workloads gain from blocks of 4096 bytes.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "Is the drive faster with 4096-byte than with 512-byte blocks?");
    let cells = cells(out);
    let changed: Vec<String> = CELLS
        .into_iter()
        .filter_map(|(order, op, name)| {
            let ratio = deepest(&cells, order, op)?.ratio?;
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
    let continuations = match changed.len() {
        0 => Vec::new(),
        1 => vec![", all else the same.".into()],
        _ => vec![format!(", {}.", changed[1..].join(", ")), format!(", {}.", changed[1])],
    };
    let chart = |title: &str, order: Order| {
        let cells_in_order = cells.iter().filter(|cell| cell.order == order);
        cells_in_order.fold(Chart::bars(title, Unit::BytesPerSecond), |chart, cell| {
            let op = if cell.op == OpKind::Read { "reads" } else { "writes" };
            let group = format!("{op}, depth {}", cell.depth);
            [512, 4096].into_iter().fold(chart, |chart, block| {
                let key = MetricKey::of_words(&[&cell.stem, &"in", &block]);
                chart.grouped(&group, key, format!("{block}-byte blocks"))
            })
        })
    };
    let mut draft = draft
        .chart(chart("Random 4 KiB in both formats", Order::Random))
        .chart(chart("Large sequential blocks in both formats", Order::Sequential));
    for (order, op, name) in CELLS {
        if let Some(cell) = deepest(&cells, order, op) {
            let label = format!("{}, 4096 over 512", capitalised(name));
            draft = draft.tile(&label, cell.stem.clone().with(Statistic::Ratio), Better::Higher);
        }
    }
    for cell in &cells {
        let name = CELLS.iter().find(|c| (c.0, c.1) == (cell.order, cell.op)).map_or("", |c| c.2);
        let key = MetricKey::of_words(&[&cell.stem, &"in", &512]);
        draft = draft.tile(&format!("{}, 512", capitalised(name)), key, Better::Higher);
    }
    (!cells.is_empty()).then(|| draft.say(sentence, continuations)).flatten()
}

/// The cell with the highest queue depth.
fn deepest(cells: &[Cell], order: Order, op: OpKind) -> Option<&Cell> {
    cells.iter().filter(|cell| (cell.order, cell.op) == (order, op)).max_by_key(|cell| cell.depth)
}

fn times_as(ratio: f64) -> String {
    if ratio < 1.95 { format!("{ratio:.2} times") } else { times(ratio) }
}
