//! Names of metrics, taken apart: `{seq|rand|mixed}-{read|write}-{size}-q{depth}`, and behind a dot
//! what was measured of it (`.p99`, `.read`, `.read.p99`).
//!
//! Words between pattern and size that are neither `read` nor `write` are kept as they are, so that
//! a method may say more (`mixed-70-4KiB-q32`). A name of another form is not taken apart at all.

use workload::units;

/// The order of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    Seq,
    Rand,
    Mixed,
}

impl Order {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Order::Seq => "seq",
            Order::Rand => "rand",
            Order::Mixed => "mixed",
        }
    }
}

/// Reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read = 0,
    Write = 1,
}

impl Direction {
    pub(crate) const BOTH: [Direction; 2] = [Direction::Read, Direction::Write];

    pub(crate) fn parse(word: &str) -> Option<Direction> {
        Direction::BOTH.into_iter().find(|d| d.name() == word)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
        }
    }
}

/// Latency statistics that every screen has, in the order of their columns.
pub(crate) const STATISTICS: [&str; 4] = ["p50", "p99", "p99.9", "max"];

/// What identifies a row of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) order: Order,
    pub(crate) block_bytes: u64,
    pub(crate) depth: u32,
    /// Further words of the name, such as `70`.
    pub(crate) extra: Vec<String>,
}

impl Key {
    /// Sorts rows as CrystalDiskMark users know them: sequential first, large and deep first.
    pub(crate) fn rank(&self) -> impl Ord + use<> {
        let down = std::cmp::Reverse;
        (self.order, down(self.block_bytes), down(u64::from(self.depth)), self.extra.clone())
    }

    /// `rand 4 KiB q32`; a mix is called by its shares where they are known: `mix 70/30 4 KiB q32`.
    pub(crate) fn label(&self, shares: Option<&str>) -> String {
        let size = units::binary(self.block_bytes);
        let (order, depth) = (self.order.name(), self.depth);
        if let (Order::Mixed, Some(shares)) = (self.order, shares) {
            return format!("mix {shares} {size} q{depth}");
        }
        let words = self.extra.iter().map(|word| format!(" {word}")).collect::<String>();
        format!("{order} {size} q{depth}{words}")
    }
}

/// A name taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) key: Key,
    /// `None`: both together.
    pub(crate) direction: Option<Direction>,
    /// Index into [`STATISTICS`]; `None`: the rate itself.
    pub(crate) statistic: Option<usize>,
}

impl Name {
    pub(crate) fn parse(name: &str) -> Option<Name> {
        let (base, suffix) = name.split_once('.').unwrap_or((name, ""));
        let (key, in_base) = parse_base(base)?;
        let (head, rest) = suffix.split_once('.').unwrap_or((suffix, ""));
        let in_suffix = Direction::parse(head);
        let statistic = if in_suffix.is_some() { rest } else { suffix };
        let index = STATISTICS.iter().position(|s| *s == statistic);
        if index.is_none() && !statistic.is_empty() {
            return None;
        }
        Some(Name { key, direction: in_suffix.or(in_base), statistic: index })
    }
}

fn parse_base(base: &str) -> Option<(Key, Option<Direction>)> {
    let mut words: Vec<&str> = base.split('-').collect();
    let depth = words.pop()?.strip_prefix('q')?.parse().ok()?;
    let block_bytes = units::parse_bytes(words.pop()?).ok()?;
    let mut words = words.into_iter();
    let order = match words.next()? {
        "seq" => Order::Seq,
        "rand" => Order::Rand,
        "mixed" => Order::Mixed,
        _ => return None,
    };
    let (directions, extra): (Vec<&str>, Vec<&str>) =
        words.partition(|w| Direction::parse(w).is_some());
    let direction = directions.first().and_then(|w| Direction::parse(w));
    let extra = extra.into_iter().map(String::from).collect();
    Some((Key { order, block_bytes, depth, extra }, direction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_grid_come_apart() {
        let name = Name::parse("rand-write-4KiB-q32.p99.9").expect("a name");
        assert_eq!(name.key.label(None), "rand 4 KiB q32");
        assert_eq!((name.direction, name.statistic), (Some(Direction::Write), Some(2)));
        let name = Name::parse("mixed-70-4KiB-q32.read.p50").expect("a name");
        assert_eq!(name.key.label(Some("70/30")), "mix 70/30 4 KiB q32");
        assert_eq!((name.direction, name.statistic), (Some(Direction::Read), Some(0)));
        let name = Name::parse("mixed-4KiB-q32").expect("a name");
        assert_eq!((name.direction, name.statistic), (None, None));
    }

    #[test]
    fn other_names_do_not() {
        for name in
            ["", "iops", "service.p99", "seq-read", "rand-read-4KiB-q", "seq-read-1MiB-q8.x", "-q1"]
        {
            assert_eq!(Name::parse(name), None, "{name}");
        }
    }
}
