//! Conditions of records: those that differ between two sides, and groups of runs that share one.

use std::borrow::Cow;
use std::collections::BTreeSet;

use record::{Run, State, TargetKind};
use serde::Serialize;

use crate::error::{LabError, Result};

/// A condition that differs, or that is known for only one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The condition.
    pub what: Cow<'static, str>,
    /// Its value in A; several values are separated by a bar.
    pub a: Option<String>,
    pub b: Option<String>,
}

/// The condition that `--by title` groups by. A difference in titles alone means nothing.
const TITLE: &str = "title";

type Conditions = [(&'static str, Option<String>); 21];

fn conditions(run: &Run) -> Conditions {
    let drive = run.target.drive.as_ref();
    let machine = &run.environment;
    let tool = run.origin.as_ref().map(|o| o.tool_name());
    let state = (run.state_before != State::Unknown).then_some(run.state_before);
    let title = run.title().map(String::from);
    [
        (TITLE, title),
        ("drive", drive.and_then(|d| d.model.clone().or(Some(d.name.clone())))),
        ("serial number", drive.and_then(|d| d.serial.clone())),
        ("firmware", drive.and_then(|d| d.firmware.clone())),
        ("target", target(run)),
        ("capacity", drive.and_then(|d| d.bytes).map(workload::units::decimal)),
        ("link", drive.and_then(|d| d.link.as_ref()?.now.clone())),
        ("state before", state.map(|s| format!("{s:?}").to_lowercase())),
        ("file system", run.target.filesystem.as_ref().map(|f| f.kind.clone())),
        ("page cache", run.target.direct.map(|d| if d { "bypassed" } else { "used" }.into())),
        ("size", run.plan.as_ref().map(|p| workload::units::binary(p.region_bytes))),
        ("method", Some(run.method.clone())),
        // Values from two protocol versions are not the same quantity.
        ("protocol", run.protocol.map(|version| format!("version {version}"))),
        ("tool", tool.unwrap_or_else(|| Some(format!("ssdyno {}", machine.ssdyno)))),
        ("backend", machine.backend.clone()),
        ("machine", machine.board.clone().or(machine.host.clone())),
        ("host", machine.host.clone()),
        ("processor", machine.cpu.model.clone()),
        ("governor", machine.cpu.governor.clone()),
        ("system", machine.os.clone()),
        ("kernel", machine.kernel.clone()),
    ]
}

/// A virtual drive with its specimen and overrides, or the kind of a real target.
fn target(run: &Run) -> Option<String> {
    match run.target.kind {
        TargetKind::Unknown | TargetKind::Other(_) => None,
        TargetKind::Virtual => Some(run.target.spec.clone()),
        kind => Some(kind.name().to_string()),
    }
}

/// Conditions that differ, or that are known for only one side.
pub(crate) fn differences(a: &[Run], b: &[Run]) -> Vec<Difference> {
    let tags = tag_conditions(a, b);
    let [a, b] = [a, b].map(|side| side.iter().map(conditions).collect::<Vec<_>>());
    let Some(first) = a.first() else { return Vec::new() };
    let names = first.iter().map(|(what, _)| *what).enumerate();
    names
        .filter(|(_, what)| !matches!(*what, TITLE | "host"))
        .map(|(i, what)| Difference { what: what.into(), a: values(&a, i), b: values(&b, i) })
        .chain(tags)
        .filter(|difference| difference.a != difference.b)
        .collect()
}

/// The tags of both sides, each as a condition.
fn tag_conditions(a: &[Run], b: &[Run]) -> Vec<Difference> {
    let names: BTreeSet<&str> =
        a.iter().chain(b).flat_map(Run::tags).map(|(name, _)| name).collect();
    let conditions = names.into_iter().map(|name| {
        let [a, b] = [a, b].map(|side| {
            let values: BTreeSet<&str> = side.iter().filter_map(|run| tag(run, name)).collect();
            (!values.is_empty()).then(|| values.into_iter().collect::<Vec<_>>().join(" | "))
        });
        Difference { what: format!("tag {name}").into(), a, b }
    });
    conditions.collect()
}

fn tag<'r>(run: &'r Run, name: &str) -> Option<&'r str> {
    run.tags().find(|(tag, _)| *tag == name).map(|(_, value)| value)
}

fn values(side: &[Conditions], index: usize) -> Option<String> {
    let values: BTreeSet<&str> = side.iter().filter_map(|c| c[index].1.as_deref()).collect();
    (!values.is_empty()).then(|| values.into_iter().collect::<Vec<_>>().join(" | "))
}

/// Groups the runs by a condition or a tag (`tag:board`, or `board` if no condition is called so), in
/// the order of their first run. Each group comes with its value.
pub fn group_by(runs: Vec<Run>, by: &str) -> Result<Vec<(String, Vec<Run>)>> {
    let name = by.replace(['-', '_'], " ");
    let names: Vec<_> =
        runs.first().map(|r| conditions(r).map(|(what, _)| what).to_vec()).unwrap_or_default();
    let index = names.iter().position(|what| *what == name);
    // A tag may have the name of a condition.
    let tag_name = by.strip_prefix("tag:").or(if index.is_none() { Some(by) } else { None });
    let is_tag = tag_name.is_some_and(|name| runs.iter().any(|run| tag(run, name).is_some()));
    if index.is_none() && !is_tag {
        let tags: BTreeSet<&str> = runs.iter().flat_map(Run::tags).map(|(name, _)| name).collect();
        let names = names.iter().map(|what| what.replace(' ', "-"));
        let names = names.chain(tags.into_iter().map(|name| format!("tag:{name}")));
        let names = names.collect::<Vec<_>>().join(", ");
        return Err(LabError::usage(format!("no condition '{by}' to group by; known: {names}")));
    }
    let mut groups: Vec<(String, Vec<Run>)> = Vec::new();
    for run in runs {
        let value = match (index, tag_name) {
            (Some(index), _) => conditions(&run)[index].1.clone(),
            (None, name) => tag(&run, name.unwrap_or_default()).map(String::from),
        };
        let value = value.unwrap_or_else(|| "unknown".into());
        match groups.iter_mut().find(|(name, _)| *name == value) {
            Some((_, group)) => group.push(run),
            None => groups.push((value, vec![run])),
        }
    }
    Ok(groups)
}
