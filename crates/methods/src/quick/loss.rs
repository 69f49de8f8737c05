//! The largest loss of a drive: a figure far below what is usual for its model or class, with the
//! cause that a rule found.

use std::collections::BTreeMap;

use record::{Covers, Metric, Order, VerdictKind};
use script::Outcome;
use script::draft::times;
use workload::OpKind;

/// Losses within this factor of the largest count as equal, and one with a cause comes first.
const ALIKE: f64 = 1.05;

/// The figures that are usual for a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Usual {
    /// What the drive is held against: `this model`, `this class`.
    pub whose: &'static str,
    /// A figure is low if the usual one is at least this factor higher.
    pub factor_min: f64,
    /// Rates of cells, by metric, in the unit of the metric.
    pub figures: BTreeMap<String, f64>,
}

/// A figure below the usual one.
pub(super) struct Loss<'o> {
    /// The cell in words: `Random writes`, `Sequential reads at depth 1`.
    label: String,
    order: Order,
    op: OpKind,
    /// The usual figure over the measured one.
    factor: f64,
    whose: &'static str,
    /// The conclusion that explains the figure.
    cause: Option<&'o VerdictKind>,
}

impl<'o> Loss<'o> {
    /// The largest loss of a cell, if there is any.
    pub fn largest(out: &'o Outcome, usual: &Usual) -> Option<Loss<'o>> {
        let mut losses: Vec<Loss<'_>> =
            out.metrics.iter().filter_map(|metric| Loss::new(out, metric, usual)).collect();
        losses.sort_by(|a, b| b.factor.total_cmp(&a.factor));
        let largest = losses.first()?.factor;
        let mut alike = losses.iter().take_while(|loss| loss.factor * ALIKE >= largest);
        let explained = alike.position(|loss| loss.cause.is_some());
        Some(losses.swap_remove(explained.unwrap_or(0)))
    }

    /// The loss of a cell against its usual figure, which the next run would not reach.
    fn new(out: &'o Outcome, metric: &'o Metric, usual: &Usual) -> Option<Loss<'o>> {
        let key = metric.key();
        let cell = key.as_cell().filter(|c| c.words.is_empty() && key.statistic.is_none())?;
        let (order, op) = (cell.order, cell.op?);
        let usual_value = *usual.figures.get(&metric.name)?;
        let factor = usual_value / metric.value.filter(|value| *value > 0.0)?;
        let is_next = metric.covers == Some(Covers::NextRun);
        let is_reached = is_next && metric.high.is_some_and(|high| high >= usual_value);
        if factor < usual.factor_min || is_reached {
            return None;
        }
        let name = match order {
            Order::Sequential => "Sequential",
            Order::Random => "Random",
            _ => return None,
        };
        let is_deepest = out.metrics.iter().all(|other| {
            let key = other.key();
            let alike = key.as_cell().filter(|c| (c.order, c.op) == (order, Some(op)));
            alike.is_none_or(|alike| alike.depth <= cell.depth)
        });
        let depth = if is_deepest { String::new() } else { format!(" at depth {}", cell.depth) };
        let label = format!("{name} {}s{depth}", op.name());
        Some(Loss { label, order, op, factor, whose: usual.whose, cause: cause(out, &metric.name) })
    }

    /// The sentences about it, the one that says most first.
    pub fn sentences(&self) -> Vec<String> {
        let Loss { label, factor, .. } = self;
        let difference = if *factor >= 1.95 {
            times(*factor)
        } else {
            format!("{:.0}%", 100.0 * (1.0 - 1.0 / factor))
        };
        let loss = format!("{label} are {difference} below {}", self.whose);
        match self.cause {
            Some(kind) => vec![format!("{loss}: {}.", in_words(kind))],
            None => vec![
                format!("{loss}, cause unknown: ssdyno run -m {} tells.", self.next_method()),
                format!("{loss}, cause unknown."),
            ],
        }
    }

    /// The method that looks further.
    fn next_method(&self) -> &'static str {
        match (self.order, self.op) {
            (Order::Sequential, OpKind::Write) => "sustain",
            (_, OpKind::Write) => "states",
            _ => "authentic",
        }
    }
}

/// The conclusion that explains the largest share of a figure's time; of equal ones the first.
fn cause<'o>(out: &'o Outcome, metric: &str) -> Option<&'o VerdictKind> {
    let mut largest: Option<(f64, &VerdictKind)> = None;
    for verdict in &out.verdicts {
        let explained = verdict.explains.iter().find(|explained| explained.metric == metric);
        let is_cause =
            !matches!(verdict.kind, VerdictKind::Undetermined | VerdictKind::MixDetermined);
        let Some(explained) = explained.filter(|_| is_cause) else { continue };
        let share = explained.share.unwrap_or(0.0);
        if largest.is_none_or(|(most, _)| share > most) {
            largest = Some((share, &verdict.kind));
        }
    }
    largest.map(|(_, kind)| kind)
}

/// A cause in the words of a sentence.
fn in_words(cause: &VerdictKind) -> String {
    match cause {
        VerdictKind::Link => "the link".into(),
        VerdictKind::LinkDowngraded => "a downgraded link".into(),
        VerdictKind::HostCeiling => "the port".into(),
        VerdictKind::PerCommand => "time per command".into(),
        VerdictKind::Cpu => "the processor".into(),
        VerdictKind::CpuQuota => "a processor quota".into(),
        VerdictKind::IoLimit => "a control group".into(),
        VerdictKind::Stall => "stalls".into(),
        VerdictKind::SaturatedByOthers => "other programs".into(),
        VerdictKind::MappingUnit => "a large mapping unit".into(),
        VerdictKind::DeviceDepth => "few commands at a time".into(),
        VerdictKind::FlashBound => "the flash".into(),
        VerdictKind::Controller => "the controller".into(),
        VerdictKind::OpenBlocks => "few open blocks".into(),
        VerdictKind::Usb => "the USB bridge".into(),
        VerdictKind::PowerState => "its power state".into(),
        VerdictKind::FileSystem => "the file system".into(),
        VerdictKind::CacheEnd => "a full cache".into(),
        VerdictKind::MapCache => "a small map cache".into(),
        VerdictKind::Flush => "flushes".into(),
        VerdictKind::Depth => "the queue was not full".into(),
        other => other.name().to_lowercase(),
    }
}
