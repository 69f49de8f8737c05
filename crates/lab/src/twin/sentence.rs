//! The answer in one sentence.

use record::{Run, Unit, capitalised};

use super::TwinVerdict;
use super::causes::{CauseOutcome, DriveChange, TestedCause};
use super::figures::HeldFigure;
use crate::repeat::run_name;

pub(super) fn sentence(
    verdict: TwinVerdict,
    run: &Run,
    figures: &[HeldFigure],
    causes: &[TestedCause],
) -> String {
    let name = run_name(run);
    let differing = figures.iter().filter(|figure| figure.differs).count();
    let evidence = |change: DriveChange| {
        let tested = causes.iter().find(|cause| cause.change == change);
        tested.map_or("", |cause| cause.evidence.as_str())
    };
    match verdict {
        TwinVerdict::Same => match figures.len() {
            1 => format!("The same drive as before: the figure of {name} is as expected."),
            count => {
                format!("The same drive as before: all {count} figures of {name} are as expected.")
            }
        },
        TwinVerdict::Changed(DriveChange::AnotherDrive) => {
            let figures = match differing {
                0 => "although its figures are those of the twin".to_string(),
                _ => format!("and {}", widest(figures)),
            };
            format!("Another drive: {}, {figures}.", evidence(DriveChange::AnotherDrive))
        }
        TwinVerdict::Changed(change) => format!(
            "{}, and {} explains it: {}, and with that the twin is as {name}.",
            capitalised(&widest(figures)),
            change.words(),
            evidence(change)
        ),
        TwinVerdict::Undetermined => {
            format!("UNDETERMINED: {}; {}.", widest(figures), why(figures, causes))
        }
    }
}

/// Why no cause is named.
fn why(figures: &[HeldFigure], causes: &[TestedCause]) -> String {
    let explaining = words_of(causes, CauseOutcome::Explains);
    if explaining.len() > 1 {
        return format!("{} would explain it, each alone", explaining.join(" and "));
    }
    let unreported = words_of(causes, CauseOutcome::NotReported);
    let unreported = if unreported.is_empty() {
        String::new()
    } else {
        format!(", and nothing is reported of {}", unreported.join(" and "))
    };
    if figures.iter().any(|figure| figure.differs && is_faster(figure)) {
        return format!(
            "a figure is better than expected, which neither wear, heat nor a slower link \
             explains{unreported}"
        );
    }
    format!("no cause that the drive reports explains it{unreported}")
}

fn is_faster(figure: &HeldFigure) -> bool {
    if figure.unit == Unit::Nanoseconds { figure.ratio() < 1.0 } else { figure.ratio() > 1.0 }
}

/// The figure that differs most.
fn widest(figures: &[HeldFigure]) -> String {
    let differing = figures.iter().filter(|figure| figure.differs);
    let Some(widest) =
        differing.clone().max_by(|a, b| a.log_ratio().abs().total_cmp(&b.log_ratio().abs()))
    else {
        return "no figure differs".into();
    };
    let (ratio, count) = (widest.ratio(), differing.count());
    let times = match ratio {
        r if r >= 1.995 => format!("{r:.1} times"),
        r => format!("{:.0}% of", 100.0 * r),
    };
    let more_figures = match count - 1 {
        0 => String::new(),
        1 => ", one more figure differs".to_string(),
        more => format!(", {more} more figures differ"),
    };
    let figure = if widest.unit == Unit::Nanoseconds { "the time of " } else { "" };
    format!("{figure}{}: {times} what is expected{more_figures}", widest.label)
}

/// The causes with this outcome, in words.
fn words_of(causes: &[TestedCause], outcome: CauseOutcome) -> Vec<&'static str> {
    let matching = causes.iter().filter(|cause| cause.outcome == outcome);
    matching.map(|cause| cause.change.words()).collect()
}
