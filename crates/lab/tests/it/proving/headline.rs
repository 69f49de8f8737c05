//! Judges the headline of `quick` on a drawn drive: whether it names the largest loss against the
//! same specimen as shipped, with a true cause.
//!
//! A cause of a loss is more than a cause of a low figure: lifting it must raise the figure by 10%
//! more than it raises that of the drive as shipped. Otherwise, the model has the same limit, and the
//! drive is slower for another reason.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::Simulator;
use lab::{Options, Request, Work};
use methods::find;
use model::DriveSpec;
use record::{Loss, MetricKey, Order, Run};
use rig::Event;
use script::{Outcome, Session};

use super::drawn::Drawn;
use super::figures;
use super::lifts::{GROUPS, group, groups_of};
use super::truth::{CAUSE_MIN, HELD_MIN, WRONG_MAX};
use crate::quiet::Quiet;

/// The judgement of a headline, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Headline {
    /// Nothing was lost, and no loss is claimed.
    NoLoss,
    /// The largest loss is named with a true cause.
    Right,
    /// Lifting the named cause has a small effect, or the drive's description has no parameter for it.
    Neither,
    /// The largest loss is named, and its cause is unknown.
    Unknown,
    /// A loss is not named.
    Silent,
    /// Another cell, a loss that does not exist, or a cause that is none.
    Wrong,
}

/// A drive with its headline and the truth about it.
pub struct HeadlineTrial {
    pub drawn: Drawn,
    pub headline: String,
    pub judgement: Headline,
    /// The largest loss: its cell, and the figure as shipped over the drive's.
    pub largest: (String, f64),
    /// For headlines that are not right, the groups that raise the named figure, or else the one
    /// with the largest loss, more than that of the drive as shipped, with their factors.
    pub causes: Vec<(&'static str, f64)>,
}

impl HeadlineTrial {
    pub fn run(drawn: &Drawn) -> HeadlineTrial {
        let run = quick(drawn);
        let answer = run.answer.as_ref().expect("an answer");
        let mut out = Outcome::default();
        out.metrics.clone_from(&run.metrics);
        let mut pair = Pair::new(drawn, figures(&out));
        let largest = pair.largest_loss();
        let judgement = pair.judge(answer.loss.as_ref(), largest.1);
        let subject = answer.loss.as_ref().map_or(&largest.0, |loss| &loss.metric);
        let is_fine = matches!(judgement, Headline::NoLoss | Headline::Right);
        let causes = if is_fine { Vec::new() } else { pair.causes(subject) };
        let headline = answer.headline.clone();
        HeadlineTrial { drawn: drawn.clone(), headline, judgement, largest, causes }
    }
}

/// A run of `quick` as a user starts it.
fn quick(drawn: &Drawn) -> Run {
    let place = tempfile::tempdir().expect("a directory");
    let mut request =
        Request { store: Some(place.path().join("runs")), ..Request::on(drawn.target()) };
    request.instrument.seed = drawn.session;
    let options = Options { seed: drawn.session, ..Options::default() };
    let work = Work::method("quick", &options).expect("a method");
    let interrupt = Arc::new(AtomicBool::new(false));
    let planned = request.plan(&work).expect("drawn drives can be planned");
    planned.begin(Box::new(Quiet), &interrupt).expect("it begins").run(&interrupt).run
}

/// The figures of a run of `quick` with these options.
pub fn figures_with(spec: &DriveSpec, options: &Options) -> BTreeMap<String, f64> {
    let nobody = Box::new(|_: &Event| {});
    let mut drive = Simulator::new(spec.clone(), "sim:proving", Arc::default(), nobody);
    let mut session = Session::new(&mut drive);
    let run = session.run(find("quick").expect("exists"), options);
    run.unwrap_or_else(|e| panic!("seed {}: {e}", options.seed));
    figures(&session.finish())
}

/// A drive with the figures that lifts of groups give it, by the names of the groups.
struct Lifts {
    spec: DriveSpec,
    options: Options,
    figures: BTreeMap<Vec<&'static str>, BTreeMap<String, f64>>,
}

impl Lifts {
    /// A figure without these groups. Lifts that change nothing, or make the drive impossible, leave
    /// it as it is.
    fn figure(&mut self, groups: &[&'static str], metric: &str) -> f64 {
        if !self.figures.contains_key(groups) {
            let mut lifted = self.spec.clone();
            groups.iter().for_each(|name| (group(name).lift)(&mut lifted));
            let changed = (lifted != self.spec).then(|| lifted.with_overrides(&[]).ok()).flatten();
            let figures = match changed {
                Some(drive) => figures_with(&drive, &self.options),
                None => self.figures[&[][..]].clone(),
            };
            self.figures.insert(groups.to_vec(), figures);
        }
        self.figures[groups].get(metric).copied().unwrap_or(0.0).max(f64::MIN_POSITIVE)
    }
}

/// The drive, and the same specimen as shipped.
struct Pair {
    drive: Lifts,
    shipped: Lifts,
}

impl Pair {
    fn new(drawn: &Drawn, figures: BTreeMap<String, f64>) -> Pair {
        let options = Options { seed: drawn.session, ..Options::default() };
        let lifts = |spec: DriveSpec, figures| {
            let figures = BTreeMap::from([(Vec::new(), figures)]);
            Lifts { spec, options: options.clone(), figures }
        };
        let shipped = drawn.as_shipped().spec();
        let of_shipped = figures_with(&shipped, &options);
        Pair { drive: lifts(drawn.spec(), figures), shipped: lifts(shipped, of_shipped) }
    }

    /// The figure as shipped over that of the drive, both without these groups.
    fn loss(&mut self, without: &[&'static str], metric: &str) -> f64 {
        self.shipped.figure(without, metric) / self.drive.figure(without, metric)
    }

    fn largest_loss(&mut self) -> (String, f64) {
        let metrics: Vec<String> = self.drive.figures[&[][..]].keys().cloned().collect();
        let metrics = metrics.into_iter().filter(|metric| {
            let key = MetricKey::parse(metric);
            key.as_cell().is_some_and(|cell| cell.order != Order::Mixed)
        });
        let losses = metrics.map(|metric| {
            let loss = self.loss(&[], &metric);
            (metric, loss)
        });
        losses.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
    }

    fn judge(&mut self, named: Option<&Loss>, largest: f64) -> Headline {
        let Some(named) = named else {
            return if largest >= HELD_MIN { Headline::Silent } else { Headline::NoLoss };
        };
        let (metric, loss) = (&named.metric, self.loss(&[], &named.metric));
        if loss < CAUSE_MIN || loss * CAUSE_MIN < largest {
            return Headline::Wrong;
        }
        let Some(kind) = &named.cause else { return Headline::Unknown };
        let groups = groups_of(kind);
        let gain = groups.iter().map(|group| self.gain(group, metric)).fold(1.0, f64::max);
        if gain >= CAUSE_MIN || groups.iter().any(|group| self.is_together(group, metric)) {
            Headline::Right
        } else if gain < WRONG_MAX && !groups.is_empty() {
            Headline::Wrong
        } else {
            Headline::Neither
        }
    }

    /// The factor by which lifting a group raises the figure of the drive more than that of the
    /// drive as shipped.
    fn gain(&mut self, group: &'static str, metric: &str) -> f64 {
        self.loss(&[], metric) / self.loss(&[group], metric)
    }

    /// Whether a group limits a figure together with others: lifting all others, or one, is of no
    /// use without it, and brings back some of the loss with it.
    fn is_together(&mut self, group: &'static str, metric: &str) -> bool {
        let others = GROUPS.iter().map(|group| group.name).filter(|other| *other != group);
        let others: Vec<&'static str> = others.collect();
        let each = others.iter().map(|other| vec![*other]);
        let mut sets = each.chain([others.clone()]);
        sets.any(|others| {
            let with = [&others[..], &[group]].concat();
            let (loss, without) = (self.loss(&[], metric), self.loss(&others, metric));
            without * CAUSE_MIN > loss && self.loss(&with, metric) * CAUSE_MIN <= loss.min(without)
        })
    }

    /// The groups that are a cause of the loss, the largest first.
    fn causes(&mut self, metric: &str) -> Vec<(&'static str, f64)> {
        let gains = GROUPS.iter().map(|group| (group.name, self.gain(group.name, metric)));
        let mut causes: Vec<(&'static str, f64)> =
            gains.filter(|(_, gain)| *gain >= CAUSE_MIN).collect();
        causes.sort_by(|a, b| b.1.total_cmp(&a.1));
        causes
    }
}
