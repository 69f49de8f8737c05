//! The quantities that two sides have in common, and those of them that are tested.

use std::collections::BTreeSet;

use record::{MetricKey, Naming, Order, Run, Unit};
use workload::OpKind;

use super::quantity::{Names, Quantity, is_from_memory, names, quantities};
use super::{Side, is_rate};

/// Maximum number of metrics in a family.
const FAMILY_MAX: usize = 8;

/// One quantity of both sides.
pub(super) struct Match {
    /// Its name in A.
    pub a: String,
    pub label: String,
    /// Its name in B.
    pub b: String,
    pub unit: Unit,
    /// Whether it was read from memory on one side, which permits no claim about a drive.
    pub from_memory: bool,
}

impl Match {
    fn key(&self) -> MetricKey {
        MetricKey::parse(&self.a)
    }

    /// Whether it is the writes of a fixed mix: the two sides of a mix are one measurement.
    fn is_second_of_mix(&self) -> bool {
        let key = self.key();
        let is_mixed = key.as_cell().is_some_and(|cell| cell.order == Order::Mixed);
        is_mixed && key.direction() == Some(OpKind::Write)
    }
}

/// A quantity of a run, with the names by which it is matched.
struct Candidate {
    names: Names,
    from_memory: bool,
    quantity: Quantity,
}

fn candidates(side: &Side) -> Vec<Candidate> {
    let runs = side.runs.iter();
    let candidates = runs.flat_map(|run| {
        quantities(run).into_iter().map(move |quantity| Candidate {
            names: names(run, &quantity.name),
            from_memory: is_from_memory(run, &quantity.name),
            quantity,
        })
    });
    candidates.collect()
}

pub(super) fn match_quantities(side_a: &Side, side_b: &Side) -> Vec<Match> {
    let ignores_owner = is_published(side_a) != is_published(side_b);
    let candidates_b = candidates(side_b);
    let (mut names_a, mut names_b) = (BTreeSet::new(), BTreeSet::new());
    let mut matches = Vec::new();
    for a in candidates(side_a) {
        let Quantity { name, unit, .. } = a.quantity;
        if !names_a.insert(name.clone()) {
            continue;
        }
        let partner = candidates_b.iter().find(|b| {
            b.quantity.unit == unit
                && !names_b.contains(&b.quantity.name)
                && a.names.meets(&b.names, ignores_owner)
        });
        if let Some(b) = partner {
            names_b.insert(b.quantity.name.clone());
            matches.push(Match {
                label: label(side_a, &name),
                a: name,
                b: b.quantity.name.clone(),
                unit,
                from_memory: a.from_memory || b.from_memory,
            });
        }
    }
    matches
}

/// A quantity in words: the label of its tile, except for a figure of a cell.
fn label(side: &Side, name: &str) -> String {
    let key = MetricKey::parse(name);
    let answers = side.runs.iter().filter_map(|run| run.answer.as_ref());
    let mut tiles = answers.flat_map(|answer| &answer.tiles);
    let tile = tiles.find(|tile| tile.metric == name).filter(|_| key.as_cell().is_none());
    let naming = side.runs.first().map_or(Naming::Ours, Run::naming);
    tile.map_or_else(|| naming.metric(&key), |tile| tile.label.clone())
}

fn is_published(side: &Side) -> bool {
    side.runs.iter().any(crate::published::is_published)
}

/// The names in A of the quantities to test: the metric that was asked for, or else those that a
/// method declares primary, main cells, rates, anything, whichever comes first.
pub(super) fn primary_names(
    a: &Side,
    b: &Side,
    matches: &[Match],
    metric: Option<&str>,
) -> Vec<String> {
    let matches = matches.iter().filter(|m| !m.from_memory);
    if let Some(name) = metric {
        let matches = matches.filter(|m| m.a == name || m.b == name);
        return matches.take(FAMILY_MAX).map(|m| m.a.clone()).collect();
    }
    let matches: Vec<&Match> = matches.filter(|m| !m.is_second_of_mix()).collect();
    let choices: [&dyn Fn(&Match) -> bool; 4] = [
        &|m| is_primary(a, &m.key()) || is_primary(b, &m.key()),
        &|m| is_rate(m.unit) && m.key().is_main(),
        &|m| is_rate(m.unit),
        &|_| true,
    ];
    let mut families = choices.into_iter().map(|is_chosen| {
        let family = matches.iter().filter(|m| is_chosen(m)).take(FAMILY_MAX);
        family.map(|m| m.a.clone()).collect::<Vec<_>>()
    });
    families.find(|names| !names.is_empty()).unwrap_or_default()
}

fn is_primary(side: &Side, key: &MetricKey) -> bool {
    let method = side.runs.first().and_then(|run| crate::work::method(&run.method).ok());
    method.is_some_and(|method| method.is_primary(key))
}
