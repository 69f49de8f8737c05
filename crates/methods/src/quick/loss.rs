//! The largest loss of a drive: a figure far below what is usual for its model or class, with the
//! cause that a rule found.
//!
//! A conclusion about a figure is no cause of its loss if the model has the same limit: a card with
//! few open blocks is slow at random writes anyway, and slower flash makes it slower. So a cause that
//! multiplies the work must do so by more than half of the loss (in logarithms) more than on the model,
//! and one that adds to its time must take more than half of the additional time. A resource that is
//! used up needs no comparison: it limits a lower figure only if there is less of it than the model
//! has.

use std::collections::BTreeMap;

use record::{Covers, Loss, Metric, Order, Verdict, VerdictKind};
use rules::changes::{COMMANDS_AT_A_TIME, DEPTH};
use script::Outcome;
use script::draft::times;
use workload::OpKind;

/// Losses within this factor of the largest count as equal, and one with a cause comes first.
const ALIKE: f64 = 1.05;

/// Minimum share of a loss, in logarithms or in time, that its cause accounts for.
const MOST: f64 = 0.5;

/// Error of the difference between a cause's times here and on the model, as a share of an operation's
/// time: a cause that adds little more is not told from one that adds nothing. Assumed, not measured.
const SHARE_ERROR: f64 = 0.05;

/// Minimum share of the time that is left without a cause; a share is not measured more exactly.
const SHARE_LEFT_MIN: f64 = 0.002;

/// The figures that are usual for a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Usual {
    /// What the drive is held against: `this model`, `this class`.
    pub whose: &'static str,
    /// By metric.
    pub figures: BTreeMap<String, UsualFigure>,
}

/// The usual rate of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct UsualFigure {
    /// The rate, in the unit of the metric.
    pub value: f64,
    /// A figure is low if the usual one is at least this factor higher.
    pub factor_min: f64,
    /// Factors that the figure would gain without the causes that multiply its work or add to its
    /// time ([`gains`]), by name of the verdict.
    pub gains: BTreeMap<String, f64>,
}

/// A figure below the usual one.
pub(super) struct LowFigure {
    /// The cell in words: `Random writes`, `Sequential reads at depth 1`.
    label: String,
    order: Order,
    op: OpKind,
    pub loss: Loss,
}

impl LowFigure {
    /// The cell with the largest loss, if there is any.
    pub fn largest(out: &Outcome, usual: &Usual) -> Option<LowFigure> {
        let low = out.metrics.iter().filter_map(|metric| LowFigure::new(out, metric, usual));
        let mut low: Vec<LowFigure> = low.collect();
        low.sort_by(|a, b| b.loss.factor.total_cmp(&a.loss.factor));
        let largest = low.first()?.loss.factor;
        let mut alike = low.iter().take_while(|cell| cell.loss.factor * ALIKE >= largest);
        let explained = alike.position(|cell| cell.loss.cause.is_some());
        Some(low.swap_remove(explained.unwrap_or(0)))
    }

    /// A cell below its usual figure, which the next run would not reach.
    fn new(out: &Outcome, metric: &Metric, usual: &Usual) -> Option<LowFigure> {
        let key = metric.key();
        let cell = key.as_cell().filter(|c| c.words.is_empty() && key.statistic.is_none())?;
        let (order, op) = (cell.order, cell.op?);
        let figure = usual.figures.get(&metric.name)?;
        let factor = figure.value / metric.value.filter(|value| *value > 0.0)?;
        if factor < figure.factor_min || is_reached(metric, figure) {
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
        let is_single_read = cell.depth == 1 && op == OpKind::Read && order == Order::Random;
        let flash_explains =
            !is_single_read || deepest_loss(out, usual, order, op) >= libm::pow(factor, MOST);
        let candidates = out
            .verdicts
            .iter()
            .filter(|verdict| flash_explains || verdict.kind != VerdictKind::FlashBound);
        let cause = cause(candidates, &metric.name, factor, figure).cloned();
        let (metric, whose) = (metric.name.clone(), usual.whose.to_string());
        Some(LowFigure { label, order, op, loss: Loss { metric, factor, whose, cause } })
    }

    /// The sentences about it, the one that says most first.
    pub fn sentences(&self) -> Vec<String> {
        let LowFigure { label, loss, .. } = self;
        let difference = if loss.factor >= 1.95 {
            times(loss.factor)
        } else {
            format!("{:.0}%", 100.0 * (1.0 - 1.0 / loss.factor))
        };
        let words = format!("{label} are {difference} below {}", loss.whose);
        match &loss.cause {
            // Writes to a used drive wait for flash that moves older data first; its rate alone does not
            // show which part that is.
            Some(VerdictKind::FlashBound) if self.op == OpKind::Write => vec![
                format!("{words}: the flash, or collection in it."),
                format!("{words}: the flash."),
            ],
            Some(kind) => vec![format!("{words}: {}.", in_words(kind))],
            None => vec![
                format!("{words}, cause unknown: ssdyno run -m {} tells.", self.next_method()),
                format!("{words}, cause unknown."),
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

/// Whether the next run may reach the usual figure. If every round was low, it will not: rounds
/// that differ because a cache ended between two of them make its range wide, too.
fn is_reached(metric: &Metric, usual: &UsualFigure) -> bool {
    let is_next = metric.covers == Some(Covers::NextRun);
    let is_low = metric.range().is_some_and(|(_, most)| most * usual.factor_min <= usual.value);
    is_next && !is_low && metric.high.is_some_and(|high| high >= usual.value)
}

/// The loss of the figure with the deepest queue of its kind; 1 if it is not known. Slower flash makes
/// deep queues slower, too; at depth 1, slower commands add to its time alike.
fn deepest_loss(out: &Outcome, usual: &Usual, order: Order, op: OpKind) -> f64 {
    let losses = out.metrics.iter().filter_map(|metric| {
        let key = metric.key();
        let cell = key.as_cell().filter(|cell| (cell.order, cell.op) == (order, Some(op)))?;
        let figure = usual.figures.get(&metric.name)?;
        Some((cell.depth, figure.value / metric.value.filter(|value| *value > 0.0)?))
    });
    losses.max_by_key(|(depth, _)| *depth).map_or(1.0, |(_, loss)| loss)
}

/// The conclusion that explains the largest share of a figure's time, of those that explain its
/// loss; of equal ones the first.
fn cause<'o>(
    verdicts: impl Iterator<Item = &'o Verdict>,
    metric: &str,
    loss: f64,
    usual: &UsualFigure,
) -> Option<&'o VerdictKind> {
    let mut largest: Option<(f64, &VerdictKind)> = None;
    for verdict in verdicts {
        let explained = verdict.explains.iter().find(|explained| explained.metric == metric);
        let is_cause = is_cause(&verdict.kind) && explains(verdict, metric, loss, usual);
        let Some(explained) = explained.filter(|_| is_cause) else { continue };
        let share = explained.share.unwrap_or(0.0);
        if largest.is_none_or(|(most, _)| share > most) {
            largest = Some((share, &verdict.kind));
        }
    }
    largest.map(|(_, kind)| kind)
}

/// Whether a conclusion about a figure explains its loss.
fn explains(verdict: &Verdict, metric: &str, loss: f64, usual: &UsualFigure) -> bool {
    let of_model = usual.gains.get(verdict.kind.name());
    match gain(verdict, metric) {
        _ if is_used_up(verdict, metric) => true,
        // Larger blocks show that units are rewritten, not how much less would be written in small
        // ones.
        _ if verdict.kind == VerdictKind::MappingUnit && of_model.is_none() => true,
        Some(gain) if adds_time(&verdict.kind) => {
            // In units of the model's time for an operation.
            let added_time = loss * time_share(gain) - time_share(*of_model.unwrap_or(&1.0));
            let error = if of_model.is_some() { SHARE_ERROR * loss } else { 0.0 };
            added_time - error > MOST * (loss - 1.0)
        }
        Some(gain) => gain / of_model.unwrap_or(&1.0) >= libm::pow(loss, MOST),
        None => of_model.is_none(),
    }
}

/// Whether a cause adds its own time to that of the work, rather than multiplying the work.
fn adds_time(kind: &VerdictKind) -> bool {
    matches!(
        kind,
        VerdictKind::PerCommand
            | VerdictKind::Link
            | VerdictKind::Usb
            | VerdictKind::PowerState
            | VerdictKind::DeviceCache
            | VerdictKind::MapCache
            | VerdictKind::Stall
            | VerdictKind::CpuShared
            | VerdictKind::RateLimit
            | VerdictKind::Flush
            | VerdictKind::FileSystem
            | VerdictKind::Layer
            | VerdictKind::BlockQueue
            | VerdictKind::Completion
    )
}

/// Share of the time of an operation that a cause takes, without which it would gain this factor.
fn time_share(gain: f64) -> f64 {
    1.0 - 1.0 / gain
}

/// Whether a conclusion names a resource that is used up by the work on a figure. Commands are, if
/// they are the cost at any block size and depth, of which no share is measured.
fn is_used_up(verdict: &Verdict, metric: &str) -> bool {
    match verdict.kind {
        VerdictKind::LinkDowngraded
        | VerdictKind::HostCeiling
        | VerdictKind::Cpu
        | VerdictKind::IoLimit
        | VerdictKind::RateLimit
        | VerdictKind::FlashBound
        | VerdictKind::Controller => true,
        VerdictKind::PerCommand => gain(verdict, metric).is_none(),
        _ => false,
    }
}

/// The factor that a figure would gain at most without the cause, if it was measured there or on
/// another figure.
fn gain(verdict: &Verdict, metric: &str) -> Option<f64> {
    let commands = verdict.evidence.iter().find(|evidence| evidence.name == COMMANDS_AT_A_TIME);
    if let Some(commands) = commands {
        return Some(f64::from(DEPTH) / commands.value.max(1.0));
    }
    let explained = verdict.explains.iter().find(|explained| explained.metric == metric)?.share;
    let of_others = verdict.explains.iter().filter_map(|explained| explained.share);
    let share = explained.or(of_others.reduce(f64::max))?;
    Some(1.0 / (1.0 - share).max(SHARE_LEFT_MIN))
}

/// The factors that a figure would gain without each of the causes that these conclusions name, by
/// name, except for resources that are used up; 1 where none was measured.
pub fn gains(verdicts: &[Verdict], metric: &str) -> BTreeMap<String, f64> {
    let causes = verdicts.iter().filter(|v| v.explains(metric) && !is_used_up(v, metric));
    let causes = causes.filter(|verdict| is_cause(&verdict.kind));
    causes.map(|v| (v.kind.name().to_string(), gain(v, metric).unwrap_or(1.0))).collect()
}

fn is_cause(kind: &VerdictKind) -> bool {
    !matches!(kind, VerdictKind::Undetermined | VerdictKind::MixDetermined)
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
        VerdictKind::CpuShared => "a shared processor".into(),
        VerdictKind::IoLimit => "a control group".into(),
        VerdictKind::RateLimit => "a limit of its provider".into(),
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
        VerdictKind::Layer => "a layer above the drive".into(),
        VerdictKind::BlockQueue => "the scheduler".into(),
        VerdictKind::Completion => "time after completion".into(),
        VerdictKind::CacheEnd => "a full cache".into(),
        VerdictKind::MapCache => "a small map cache".into(),
        VerdictKind::Flush => "flushes".into(),
        VerdictKind::Depth => "the queue was not full".into(),
        other => other.name().to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use record::{Evidence, Explained, Unit};

    use super::*;

    const CELL: &str = "rand-write-4KiB-q32";

    fn explaining(kind: VerdictKind, share: Option<f64>) -> Verdict {
        let explains = vec![Explained { metric: CELL.into(), share }];
        Verdict { explains, ..Verdict::new(kind, "") }
    }

    /// Whether it explains a loss of so many times, of a drive whose model has such a conclusion.
    fn explains_beside(model: Option<&Verdict>, verdict: &Verdict, loss: f64) -> bool {
        let of_model: Vec<Verdict> = model.into_iter().cloned().collect();
        let gains = gains(&of_model, CELL);
        explains(verdict, CELL, loss, &UsualFigure { value: 1.0, factor_min: 1.15, gains })
    }

    #[test]
    fn a_limit_that_the_model_has_too_explains_no_loss() {
        let open = |share| explaining(VerdictKind::OpenBlocks, Some(share));
        let (few, fewer) = (open(0.9), open(0.99));
        assert!(!explains_beside(Some(&few), &few, 1.27));
        // Ten times the copies are more than half of a loss of 50, in logarithms, and not of 200.
        assert!(explains_beside(Some(&few), &fewer, 50.0));
        assert!(!explains_beside(Some(&few), &fewer, 200.0));
        assert!(explains_beside(None, &few, 50.0) && !explains_beside(None, &few, 200.0));
    }

    #[test]
    fn the_usual_figure_is_not_reached_if_every_round_was_low() {
        let usual = UsualFigure { value: 100.0, factor_min: 1.25, gains: BTreeMap::new() };
        let reaches = |most: f64, high: f64| {
            let metric = Metric {
                samples: vec![60.0, most],
                high: Some(high),
                covers: Some(Covers::NextRun),
                ..Metric::single(CELL, Unit::Iops, 70.0)
            };
            is_reached(&metric, &usual)
        };
        // A round of 80 is low: the usual figure is 1.25 times as high.
        assert_eq!(
            [(80.0, 150.0), (81.0, 150.0)].map(|(most, high)| reaches(most, high)),
            [false, true]
        );
        assert_eq!(
            [(81.0, 100.0), (81.0, 99.0)].map(|(most, high)| reaches(most, high)),
            [true, false]
        );
    }

    #[test]
    fn a_cause_of_a_tenth_of_the_time_explains_no_loss_of_four_times() {
        let stalls = explaining(VerdictKind::Stall, Some(0.1));
        assert!(!explains_beside(None, &stalls, 4.0) && explains_beside(None, &stalls, 1.2));
    }

    /// A write takes 10 us here, of which commands take 6; then 25 us, of which they take 19 or 10.
    #[test]
    fn time_that_commands_add_explains_a_loss_if_it_is_most_of_what_was_added() {
        let commands = |share| explaining(VerdictKind::PerCommand, Some(share));
        assert!(explains_beside(Some(&commands(0.6)), &commands(19.0 / 25.0), 2.5));
        assert!(!explains_beside(Some(&commands(0.6)), &commands(10.0 / 25.0), 2.5));
    }

    /// A link twice as slow takes twice the time; one that takes as long as before added none.
    #[test]
    fn a_link_explains_the_time_that_it_added() {
        let link = |share| explaining(VerdictKind::Link, Some(share));
        assert!(explains_beside(Some(&link(0.99)), &link(0.99), 2.0));
        assert!(explains_beside(None, &link(0.99), 2.0));
        assert!(!explains_beside(Some(&link(0.99)), &link(0.87), 1.16));
    }

    #[test]
    fn a_resource_that_is_used_up_explains_a_lower_figure() {
        let used_up = [
            explaining(VerdictKind::LinkDowngraded, Some(0.97)),
            explaining(VerdictKind::FlashBound, None),
            explaining(VerdictKind::PerCommand, None),
        ];
        for verdict in used_up {
            assert!(explains_beside(Some(&verdict), &verdict, 9.0), "{:?}", verdict.kind);
        }
        // At depth 1, the time of commands is part of a figure's.
        let half = explaining(VerdictKind::PerCommand, Some(0.5));
        assert!(!explains_beside(Some(&half), &half, 9.0) && explains_beside(None, &half, 3.0));
    }

    /// A drive that takes 2 commands at a time is at most 16 times as fast with a queue of 32.
    #[test]
    fn fewer_commands_at_a_time_explain_as_much_as_they_are_fewer() {
        let taking = |commands| {
            let evidence = [Evidence::new(COMMANDS_AT_A_TIME, commands, Unit::Number)];
            explaining(VerdictKind::DeviceDepth, None).with_evidence(evidence)
        };
        assert!(!explains_beside(Some(&taking(1.0)), &taking(1.0), 3.0));
        assert!(explains_beside(Some(&taking(4.0)), &taking(1.0), 3.0));
        assert!(explains_beside(None, &taking(2.0), 200.0));
        assert!(!explains_beside(None, &taking(2.0), 300.0));
    }

    #[test]
    fn a_mapping_unit_explains_more_than_larger_blocks_gain() {
        let unit = |share| explaining(VerdictKind::MappingUnit, Some(share));
        assert!(explains_beside(None, &unit(0.2), 9.0));
        assert!(!explains_beside(Some(&unit(0.2)), &unit(0.2), 9.0));
    }

    #[test]
    fn a_cause_of_unknown_size_explains_a_loss_if_the_model_lacks_it() {
        let heat = explaining(VerdictKind::Heat, None);
        assert!(explains_beside(None, &heat, 3.0) && !explains_beside(Some(&heat), &heat, 3.0));
    }
}
