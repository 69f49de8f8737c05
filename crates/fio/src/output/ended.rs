//! The last lines and fields of a job in fio's format: its error, errors it continued after, the
//! queue depth found for a latency target, and steady state.

use std::time::Duration;

use super::numbers::{self, LatencyUnit};
use super::shown::Shown;
use super::tree::Tree;
use crate::run::{FAULT, SteadySeen, Window};
use crate::{Criterion, Threshold};

/// The error number of a result: as in fio also one after which a job continued, although the run
/// succeeded.
pub(super) fn code(shown: &Shown<'_>) -> i32 {
    match (shown.error(), errors_continued(shown)) {
        (0, Some((_, first))) => first,
        (code, _) => code,
    }
}

/// The text after `err=`: the number and its meaning.
pub(super) fn error(shown: &Shown<'_>) -> String {
    match code(shown) {
        0 => " 0".to_string(),
        code => format!("{code:2} ({})", error_text(code)),
    }
}

fn error_text(code: i32) -> String {
    emit::without_error_number(&rig::errno::error(code).to_string())
}

/// Number of errors after which jobs continued, and the code of the first.
pub(super) fn errors_continued(shown: &Shown<'_>) -> Option<(u64, i32)> {
    let errors = &shown.last_job().errors;
    let go_on = &errors.go_on;
    (go_on.read || go_on.write || go_on.verify).then(|| {
        let faults = if errors.forgives_faults() { shown.sum(|run| run.faults()) } else { 0 };
        let forgiven = shown.sum(|run| run.judgement.forgiven);
        let mut codes = shown.runs.iter().map(|run| run.judgement.first_error);
        let code = codes.find(|code| *code != 0).unwrap_or(if faults > 0 { FAULT } else { 0 });
        (forgiven + faults, code)
    })
}

/// The largest final queue depth among the clones.
fn depth(shown: &Shown<'_>) -> u32 {
    let depths = shown.runs.iter().filter_map(|run| run.judgement.depth);
    let requested = shown.job.latency_target.map_or(shown.job.queue.depth, |_| 1);
    depths.max().unwrap_or(requested)
}

fn steady<'r>(shown: &'r Shown<'_>) -> Option<&'r SteadySeen> {
    shown.runs.iter().find_map(|run| run.steady.as_ref())
}

/// The lines in the text output.
pub(super) fn lines(shown: &Shown<'_>) -> String {
    let mut text = String::new();
    if let Some((count, first)) = errors_continued(shown) {
        let reason = if first == 0 { "Success".to_string() } else { error_text(first) };
        text += &format!("     errors    : total={count}, first_error={first}/<{reason}>\n");
    }
    let depth = depth(shown);
    text += &match &shown.job.latency_target {
        None => format!("     latency   : target=0, window=0, percentile=100.00%, depth={depth}\n"),
        Some(asked) => format!(
            "     latency   : target={}, window={}, percentile={:.2}%, depth={depth}\n",
            time(asked.target),
            time(asked.window),
            asked.percentile
        ),
    };
    text + &steady(shown)
        .map(|seen| steady_line(seen, shown.job.reporting.bits))
        .unwrap_or_default()
}

/// `100.00usec`, as fio prints it.
fn time(time: Duration) -> String {
    let ns = time.as_nanos() as f64;
    let units = [("sec", 1e9), ("msec", 1e6), ("usec", 1e3)];
    let unit = units.iter().find(|(_, unit)| ns >= *unit).unwrap_or(&("nsec", 1.0));
    format!("{:.2}{}", ns / unit.1, unit.0)
}

fn steady_line(seen: &SteadySeen, bits: bool) -> String {
    let bw = seen.mean(|w| w.bw) as f64;
    let lat = match seen.asked.criterion {
        Criterion::Latency => {
            let mean = seen.mean(|w| w.lat) as f64;
            let unit = LatencyUnit::for_range(mean, mean * 100.0, mean);
            format!(", lat={}{}", numbers::count(mean / unit.ns), unit.name)
        }
        _ => String::new(),
    };
    format!(
        "  steadystate  : attained={}, bw={}, iops={}{lat}, {} {}={:.3}{}\n",
        if seen.attained { "yes" } else { "no" },
        numbers::rate(bw, bits),
        numbers::count(seen.mean(|w| w.iops) as f64),
        name(seen.asked.criterion),
        if seen.asked.slope { "slope" } else { "mean dev" },
        seen.criterion,
        percent_sign(seen),
    )
}

fn name(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::Iops => "iops",
        Criterion::Bandwidth => "bw",
        Criterion::Latency => "lat",
    }
}

fn percent_sign(seen: &SteadySeen) -> &'static str {
    match seen.asked.limit {
        Threshold::Percent(_) => "%",
        Threshold::Absolute(_) => "",
    }
}

/// The fields in the JSON output.
pub(super) fn fields(shown: &Shown<'_>) -> Vec<(&'static str, Tree)> {
    let mut fields = Vec::new();
    if let Some((count, first)) = errors_continued(shown) {
        fields.push(("total_err", count.into()));
        fields.push(("first_error", Tree::Whole(first.unsigned_abs().into())));
    }
    // As in fio, a job that shows no results has no depth.
    let has_results = shown.job.reporting.stats;
    fields.extend(has_results.then(|| latency_fields(shown)).into_iter().flatten());
    fields.extend(shown.job.description.iter().map(|text| ("desc", text.as_str().into())));
    fields.extend(steady(shown).map(|seen| ("steadystate", steady_block(seen))));
    fields
}

/// The queue depth, and the latency that it was to meet.
fn latency_fields(shown: &Shown<'_>) -> [(&'static str, Tree); 6] {
    let goal = shown.job.latency_target;
    let target_ns = goal.map_or(0, |goal| goal.target.as_nanos() as u64);
    let window_us = goal.map_or(0, |goal| goal.window.as_micros() as u64);
    [
        ("latency_depth", depth(shown).into()),
        ("latency_target", target_ns.into()),
        ("latency_target_ns", target_ns.into()),
        ("latency_percentile", goal.map_or(100.0, |goal| goal.percentile).into()),
        ("latency_window", window_us.into()),
        ("latency_window_us", window_us.into()),
    ]
}

fn steady_block(seen: &SteadySeen) -> Tree {
    let limit = match seen.asked.limit {
        Threshold::Percent(limit) | Threshold::Absolute(limit) => limit,
    };
    let (slope, percent) = (if seen.asked.slope { "_slope" } else { "" }, percent_sign(seen));
    // As in fio, windows that did not come are zero.
    let values = |of: fn(&Window) -> u64| {
        let seen_windows = seen.windows.iter().map(of).chain(std::iter::repeat(0));
        Tree::list(seen_windows.take(seen.asked.windows()))
    };
    let mut data =
        vec![("bw_mean", seen.mean(|w| w.bw).into()), ("iops_mean", seen.mean(|w| w.iops).into())];
    if seen.asked.criterion == Criterion::Latency {
        data.push(("lat_mean", seen.mean(|w| w.lat).into()));
        data.push(("lat_ns", values(|w| w.lat)));
    }
    data.extend([("iops", values(|w| w.iops)), ("bw", values(|w| w.bw))]);
    let ss = format!("{}{slope}:{limit:.6}{percent}", name(seen.asked.criterion));
    Tree::object([
        ("ss", Tree::from(ss)),
        ("duration", seen.asked.duration.as_secs().into()),
        ("attained", u32::from(seen.attained).into()),
        ("criterion", format!("{:.6}{percent}", seen.criterion).into()),
        ("max_deviation", seen.deviation.into()),
        ("slope", seen.slope.into()),
        ("data", Tree::object(data)),
    ])
}
