//! Rounds of all cells until the tracked ones are steady.
//!
//! Two definitions are reported separately. PTS-steady: the rule of the specification over the last
//! five rounds, which also accepts a slow decay. Plateau-steady: in addition, the drive has been
//! overwritten once since the rounds began (if they write), and the slope over the window is level.
//! Rounds continue until the stricter definition is met, up to the specification's 25.

use analysis::{Slope, WINDOW};
use record::{Finding, FindingKind, Level, MetricKey, Series, Statistic, Unit};

use super::cell::Cell;
use rules::Steadiness;
use script::whole::Whole;
use script::{Budget, MethodError, Result, Round, Session};

/// Maximum rounds, by the specification.
pub(super) const ROUNDS_MAX: u32 = 25;

/// Tolerated excess of the rounds' duration over their workloads, for their final flushes.
const TIME_SLACK: f64 = 1.25;

/// Allowance per cell and round for the operations in flight when its time ends: a constant in
/// seconds, and the rate of the slowest card expected. 32 blocks of 1 MiB take a class 2 card half
/// a minute, however short the cell.
const LAST_OP_S: f64 = 1.0;
const SLOWEST_RATE: f64 = 1024.0 * 1024.0;

/// Rounds and their end condition.
pub(super) struct Rounds {
    /// Prefix of the names of the results.
    pub name: String,
    pub cells: Vec<Cell>,
    pub most: u32,
    /// The rounds also end after this many passes of writes.
    pub passes_max: f64,
}

impl Rounds {
    /// Rounds with the default maximum.
    pub fn new(name: &str, cells: Vec<Cell>, passes_max: f64) -> Rounds {
        Rounds { name: name.into(), cells, most: ROUNDS_MAX, passes_max }
    }

    /// Runs the rounds and publishes the steady values.
    pub fn run(&mut self, session: &mut Session<'_>, whole: &Whole) -> Result<()> {
        let (mut ends, mut steadiness) = (Vec::new(), Steadiness::new(&self.name));
        let budget = Budget {
            seconds: f64::from(self.most) * self.cells.iter().map(seconds_max).sum::<f64>(),
            bytes: (self.passes_max * whole.bytes() as f64) as u64,
            ..Budget::default()
        };
        let name = format!("{}-rounds", self.name);
        let result = session.budget(&name, budget, |session| {
            self.until_steady(session, whole, &mut ends, &mut steadiness)
        });
        self.put_series(session, &ends);
        if steadiness.rounds == 0 {
            self.put(session, &steadiness);
        }
        result?;
        if steadiness.rounds == 0 && !session.plans() {
            return Err(MethodError::Unfinished { part: name });
        }
        if steadiness.pts.is_none() {
            let name = MetricKey::parse(&self.name).in_words();
            let text = format!("{name}: not steady after {} rounds", steadiness.rounds);
            session.note(Finding::new(FindingKind::NotSteady, Level::Warn, text));
        }
        Ok(())
    }

    fn until_steady(
        &mut self,
        session: &mut Session<'_>,
        whole: &Whole,
        ends: &mut Vec<End>,
        steadiness: &mut Steadiness,
    ) -> Result<()> {
        let mut written_bytes = 0;
        let writes = self.cells.iter().any(|c| c.workload.mix.changes_data());
        session.rounds(self.most, None, |session, round| {
            for cell in &mut self.cells {
                written_bytes += cell.run(session, round)?;
            }
            ends.push(End { t_ns: session.elapsed_ns(), written: written_bytes });
            steadiness.rounds = round + 1;
            steadiness.excursion = self.excursion();
            if steadiness.pts.is_none() && self.all(Slope::is_pts_steady) {
                steadiness.pts = Some(round + 1);
            }
            let passes = written_bytes as f64 / whole.bytes() as f64;
            steadiness.passes = passes;
            if self.all(Slope::is_level) && (passes >= 1.0 || !writes) {
                steadiness.plateau = Some(round + 1);
            }
            self.put(session, steadiness);
            session.checks_mut().update(|tests: &mut Vec<Steadiness>| {
                tests.retain(|test| test.name != steadiness.name);
                tests.push(steadiness.clone());
            });
            session.checkpoint();
            Ok(Round::settled_if(steadiness.plateau.is_some()))
        })?;
        Ok(())
    }

    /// The windows of the tracked cells; `None` before the fifth round, or if a round has no value.
    fn windows(&self) -> impl Iterator<Item = Option<Slope>> {
        let tracked = self.cells.iter().filter(|c| c.tracked);
        tracked.map(|c| {
            let window = &c.samples[c.samples.len().checked_sub(WINDOW)?..];
            Slope::fit(&window.iter().copied().collect::<Option<Vec<f64>>>()?)
        })
    }

    fn all(&self, steady: fn(&Slope) -> bool) -> bool {
        self.windows().all(|w| w.is_some_and(|slope| steady(&slope)))
    }

    /// The largest change of a fitted line over the window, as a share of its mean.
    fn excursion(&self) -> Option<f64> {
        let shares = self.windows().flatten().map(|s| s.excursion / s.mean);
        shares.max_by(|a, b| a.abs().total_cmp(&b.abs()))
    }

    /// Publishes every cell over the last five rounds, and the tracked cells also over their steady
    /// windows. A first round that was cut short has only its finished cells.
    fn put(&self, session: &mut Session<'_>, steadiness: &Steadiness) {
        for cell in self.cells.iter().filter(|cell| !cell.samples.is_empty()) {
            let window = |end: usize| &cell.samples[end.saturating_sub(WINDOW)..end];
            cell.put(session, window(cell.samples.len()));
            if !cell.tracked {
                continue;
            }
            let first = cell.key().with(Statistic::FirstRound);
            session.put_value(first, cell.unit(), cell.samples.first().copied().flatten());
            let ends = [(Statistic::Pts, steadiness.pts), (Statistic::Plateau, steadiness.plateau)];
            for (statistic, end) in ends.into_iter().filter_map(|(s, end)| Some((s, end?))) {
                let mean = cell.mean(cell.key().with(statistic), window(end as usize));
                mean.into_iter().for_each(|mean| session.put_metric(mean));
            }
        }
        let (pts, plateau) = (Statistic::PtsRound, Statistic::PlateauRound);
        for (statistic, round) in [(pts, steadiness.pts), (plateau, steadiness.plateau)] {
            let key = MetricKey::parse(&self.name).with(statistic);
            session.put_value(key, Unit::Number, round.map(f64::from));
        }
    }

    /// Time series of the tracked cells, one row per round.
    fn put_series(&self, session: &mut Session<'_>, ends: &[End]) {
        for cell in self.cells.iter().filter(|c| c.tracked) {
            let mut series = Series::new(format!("{}-rounds", cell.workload.name), 0, 0);
            for (end, value) in ends.iter().zip(&cell.samples) {
                let written_column = ("written", Unit::Bytes, Some(end.written as f64));
                series.push(end.t_ns, &[("round", cell.unit(), *value), written_column]);
            }
            if !series.t_ns.is_empty() {
                session.put_series(series);
            }
        }
    }
}

/// The end of a round.
struct End {
    /// Time on the target's clock, nanoseconds.
    t_ns: u64,
    /// Bytes written by all rounds so far.
    written: u64,
}

/// Maximum duration of a cell in one round, seconds.
fn seconds_max(cell: &Cell) -> f64 {
    TIME_SLACK * cell.seconds() + LAST_OP_S + cell.bytes_in_flight() / SLOWEST_RATE
}
