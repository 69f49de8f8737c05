//! The figures that no room may exceed, and the type names that three rooms may share: those of today.
//!
//! `limits.txt` only shrinks. A figure that is lower than its limit is a finding too, until the limit is
//! lowered (`cargo xtask names --shrink`), so that what was mended stays mended.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::measure::Habit;
use super::{Room, measure};
use crate::run::root;

/// What has a limit in each room, in the order of the columns.
const LIMITED: [Habit; 4] = [Habit::WeakName, Habit::Of, Habit::BooleanArm, Habit::EmptyMatch];

/// Rooms from which on a shared type name is refused.
const SHARING_MAX: usize = 3;

/// The limits, or figures in their form.
#[derive(Debug, Default, PartialEq)]
struct Limits {
    counts: BTreeMap<String, [usize; LIMITED.len()]>,
    types: BTreeSet<String>,
}

/// One line per figure above its limit or below it.
pub fn findings() -> Result<Vec<String>> {
    let limits = Limits::parse(&std::fs::read_to_string(path()).context("limits.txt")?)?;
    Ok(limits.compare(&Limits::from_rooms(&measure(&root())?)))
}

/// Lowers the limits to the figures, where these are lower.
pub fn shrink() -> Result<()> {
    let text = std::fs::read_to_string(path()).context("limits.txt")?;
    let comments = text.lines().filter(|line| line.starts_with('#'));
    let comments: String = comments.map(|line| format!("{line}\n")).collect();
    let mut limits = Limits::parse(&text)?;
    limits.lower(&Limits::from_rooms(&measure(&root())?));
    std::fs::write(path(), comments + &limits.text()).context("limits.txt")
}

fn path() -> PathBuf {
    root().join("xtask/src/names/limits.txt")
}

impl Limits {
    /// The figures of the rooms.
    fn from_rooms(rooms: &[Room]) -> Limits {
        let counts = rooms.iter().map(|room| (room.name.clone(), LIMITED.map(|h| room.count(h))));
        let mut rooms_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for room in rooms {
            for declared in room.figures().flat_map(|figures| &figures.types) {
                rooms_of.entry(&declared.name).or_default().insert(&room.name);
            }
        }
        let shared = rooms_of.iter().filter(|(_, rooms)| rooms.len() >= SHARING_MAX);
        Limits {
            counts: counts.collect(),
            types: shared.map(|(name, _)| name.to_string()).collect(),
        }
    }

    /// Reads lines `ROOM COUNT..` and `type NAME`.
    fn parse(text: &str) -> Result<Limits> {
        let mut limits = Limits::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            match (words.next(), words.next()) {
                (Some("type"), Some(name)) => drop(limits.types.insert(name.into())),
                (Some(room), Some(first)) => {
                    let counts = std::iter::once(first).chain(words).map(str::parse);
                    let counts: Vec<usize> = counts.collect::<Result<_, _>>().context("a count")?;
                    let counts = counts.try_into().ok().context("a count in each column")?;
                    limits.counts.insert(room.into(), counts);
                }
                _ => {}
            }
        }
        Ok(limits)
    }

    fn text(&self) -> String {
        let rooms = self.counts.iter().map(|(room, counts)| {
            let counts: String = counts.iter().map(|count| format!("{count:>9}")).collect();
            format!("{room:<11}{counts}\n")
        });
        rooms.chain(self.types.iter().map(|name| format!("type {name}\n"))).collect()
    }

    fn limit(&self, room: &str) -> [usize; LIMITED.len()] {
        self.counts.get(room).copied().unwrap_or_default()
    }

    fn compare(&self, figures: &Limits) -> Vec<String> {
        let mut findings = Vec::new();
        for (room, counts) in &figures.counts {
            for ((habit, count), limit) in LIMITED.iter().zip(counts).zip(self.limit(room)) {
                let name = habit.name();
                if *count > limit {
                    findings.push(format!(
                        "crates/{room}: {count} times '{name}', {limit} at most; try: cargo xtask names {room}"
                    ));
                } else if *count < limit {
                    findings.push(format!(
                        "crates/{room}: only {count} times '{name}'; try: cargo xtask names --shrink"
                    ));
                }
            }
        }
        for name in figures.types.difference(&self.types) {
            findings.push(format!(
                "type {name}: declared in {SHARING_MAX} rooms; give one a name of its own"
            ));
        }
        for name in self.types.difference(&figures.types) {
            findings.push(format!(
                "type {name}: no longer in {SHARING_MAX} rooms; try: cargo xtask names --shrink"
            ));
        }
        findings
    }

    fn lower(&mut self, figures: &Limits) {
        self.counts.retain(|room, _| figures.counts.contains_key(room));
        for (room, limits) in &mut self.counts {
            for (limit, count) in limits.iter_mut().zip(figures.limit(room)) {
                *limit = count.min(*limit);
            }
        }
        self.types.retain(|name| figures.types.contains(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_refuse_more_and_demand_less() {
        let limits = Limits::parse("# room\nfat 3 0 1 0\ntype Row\n").expect("limits");
        assert_eq!(limits.compare(&limits), Vec::<String>::new());
        let figures = Limits::parse("fat 4 0 0 0\nnvme 0 1 0 0\ntype Step").expect("figures");
        let findings = limits.compare(&figures);
        assert_eq!(findings.len(), 5, "{findings:?}");
        for (finding, words) in findings.iter().zip([
            "fat: 4 times 'weak name', 3 at most",
            "fat: only 0 times 'boolean arm'",
            "nvme: 1 times 'fn of', 0 at most",
            "type Step: declared",
            "type Row: no longer",
        ]) {
            assert!(finding.contains(words), "{finding}");
        }
    }

    #[test]
    fn limits_only_shrink() {
        let mut limits =
            Limits::parse("fat 3 0 1 0\nold 1 1 1 1\ntype Row\ntype Cell").expect("limits");
        let figures = Limits::parse("fat 4 0 0 0\ntype Step\ntype Cell").expect("figures");
        limits.lower(&figures);
        assert_eq!(limits, Limits::parse("fat 3 0 0 0\ntype Cell").expect("limits"));
        assert_eq!(Limits::parse(&limits.text()).expect("its text"), limits);
    }
}
