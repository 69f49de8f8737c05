//! The answer of `quick`: the rates at the highest queue depth, and their limit.

use record::{
    Answer, Better, CellKey, Chart, Confidence, Limit, Metric, Order, Tile, Unit, Verdict,
    VerdictKind,
};
use workload::OpKind;

use script::Outcome;
use script::draft::{Draft, count, rate};

/// See [`script::MethodInfo`].
pub(crate) fn quick(out: &Outcome) -> Option<Answer> {
    let cells = [
        ("Sequential reads", Order::Sequential, OpKind::Read),
        ("Sequential writes", Order::Sequential, OpKind::Write),
        ("Random reads", Order::Random, OpKind::Read),
        ("Random writes", Order::Random, OpKind::Write),
    ];
    let found = cells.map(|(label, order, op)| Some((label, deepest(out, order, op)?)));
    let value = |i: usize| found[i].and_then(|(_, metric)| metric.value);
    let rates = [value(0).map(|r| format!("Reads {}", rate(r))), value(1).map(rate)];
    let rates = match rates {
        [Some(reads), Some(writes)] => format!("{reads}, writes {writes}"),
        [Some(reads), None] => reads,
        _ => return None,
    };
    let random: Vec<String> = [value(2), value(3)].into_iter().flatten().map(count).collect();
    let iops = match random.is_empty() {
        true => ".".to_string(),
        false => format!("; {} random IOPS.", random.join("/")),
    };
    let mut draft = Draft::new(out, "How fast is the drive, and can the numbers be believed?");
    for (label, metric) in found.into_iter().flatten() {
        draft = draft.tile(label, &metric.name, Better::Higher);
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
        let plain = |c: &&CellKey| c.order == order && c.op.is_some() && c.words.is_empty();
        let cell = key.as_cell().filter(plain).filter(|_| key.statistic.is_none());
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
        let primary = |c: &&CellKey| c.order == order && c.op == Some(op) && c.words.is_empty();
        let cell = key.as_cell().filter(primary)?;
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
