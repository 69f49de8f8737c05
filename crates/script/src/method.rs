//! A method: its description and its script.

use record::{Answer, FindingKind, MetricKey, Plan, Safety};
use rig::{RigError, TargetInfo};

use crate::{Common, Declared, MethodError, MetricInfo, Options, Outcome, Result, Session};

/// Who draws the conclusions of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// The rules, from its workloads and checks.
    Rules,
    /// Its script, with [`Session::conclude`]; none before.
    Script,
}

/// The use of a scratch file in a directory, on which its size depends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScratchUse {
    /// Whether it may fill the file system, where others leave a tenth free.
    pub fills: bool,
    /// How many times over the file is written at most, by methods that otherwise need a whole
    /// drive: their budget of writes decides its default size. `None` for all others.
    pub passes: Option<f64>,
}

impl ScratchUse {
    /// A file of the usual size.
    pub const USUAL: ScratchUse = ScratchUse { fills: false, passes: None };

    /// A file that stands for a drive.
    pub const fn passes(passes: f64) -> ScratchUse {
        ScratchUse { fills: false, passes: Some(passes) }
    }
}

/// A method, as shown by `ssdyno methods`, or a command that stores metrics.
#[derive(Clone, Copy, Debug)]
pub struct MethodInfo {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line: the question it answers.
    pub summary: &'static str,
    /// A paragraph: actions, their order, and results.
    pub about: &'static str,
    /// The most destructive action on the drive.
    pub safety: Safety,
    /// Version of its protocol: raised when a change of phases, times or rules makes its values
    /// incomparable with earlier ones.
    pub protocol: u32,
    /// Rough duration with the default options, in seconds.
    pub seconds: f64,
    /// Amount written, in words.
    pub writes: &'static str,
    /// Options declared by this method.
    pub options: &'static [&'static dyn Declared],
    /// Common options that have no effect on it.
    pub ignores: &'static [Common],
    /// Metrics it publishes, in groups that methods can share.
    pub metrics: &'static [&'static [MetricInfo]],
    /// The metrics that answer its question, at most eight. A comparison makes claims only about
    /// these. Names as in [`MetricInfo::name`].
    pub primary: &'static [&'static str],
    /// Its script, which is also its plan: see [`plan`]. All measurements are in the session, even
    /// after an error.
    pub run: fn(&mut Session<'_>, &Options) -> Result<()>,
    /// Its answer, from the measurements so far; `None` before there is one.
    pub answer: fn(&Outcome) -> Option<Answer>,
    /// Who draws its conclusions.
    pub conclusion: Conclusion,
    /// Findings that it provokes on purpose, such as an overload. They cast no doubt on its answer.
    pub provokes: &'static [FindingKind],
    /// Its use of a scratch file in a directory.
    pub scratch: ScratchUse,
    /// Whether it compares with a RAM disc, see [`rig::Rig::reference`].
    pub wants_reference: bool,
}

impl MethodInfo {
    /// Defaults for fields that a declaration omits.
    pub const EMPTY: MethodInfo = MethodInfo {
        name: "",
        summary: "",
        about: "",
        safety: Safety::Reads,
        protocol: 1,
        seconds: 0.0,
        writes: "nothing",
        options: &[],
        ignores: &[],
        metrics: &[],
        primary: &[],
        run: |_, _| Ok(()),
        answer: |_| None,
        conclusion: Conclusion::Rules,
        provokes: &[],
        scratch: ScratchUse::USUAL,
        wants_reference: false,
    };

    /// The common options that have an effect on it.
    pub fn common(&self) -> impl Iterator<Item = Common> {
        Common::ALL.into_iter().filter(|option| !self.ignores.contains(option))
    }

    /// The metrics it publishes, in the order of their declaration.
    pub fn metrics(&self) -> impl Iterator<Item = &'static MetricInfo> {
        self.metrics.iter().copied().flatten()
    }

    /// Whether a comparison makes claims about this metric.
    pub fn is_primary(&self, key: &MetricKey) -> bool {
        self.primary.iter().any(|pattern| MetricInfo::is_of(pattern, key))
    }

    /// The declaration of a metric; `None` if it does not publish such a metric.
    pub fn declaration(&self, key: &MetricKey) -> Option<&'static MetricInfo> {
        self.metrics().find(|declared| declared.covers(key))
    }
}

impl Session<'_> {
    /// Takes the answer from a method's description, and who concludes.
    pub fn declare(&mut self, method: &MethodInfo) {
        self.set_answer(method.answer);
        if method.conclusion == Conclusion::Script {
            self.conclude(Vec::new());
        }
    }

    /// Runs a method. Each checkpoint computes its answer from the outcome so far.
    pub fn run(&mut self, method: &MethodInfo, options: &Options) -> Result<()> {
        options.check()?;
        self.declare(method);
        match (method.run)(self, options) {
            // That no copy of the blocks is safe is the answer.
            Err(MethodError::Rig(RigError::Unsteady(_))) => Ok(()),
            result => result,
        }
    }
}

/// Plans a method on a target. Returns the error that its run would return.
pub fn plan(method: &MethodInfo, info: &TargetInfo, options: &Options) -> Result<Plan> {
    Session::plan(info, |session| session.run(method, options))
}
