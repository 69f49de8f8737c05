//! The common names of another tool's results: a direction of a job as a cell of the grid, whether
//! ssdyno ran the job or imports its output. Results of the same job therefore compare, whatever the
//! job was called.

use crate::{CellKey, Order};

/// The cell of one direction of a job: `rand-read-4KiB-q32`, `mixed-write-jobs4-4KiB-q8`.
///
/// `sizes` are bytes of a transfer and operations in flight; without them, the direction alone is
/// the name. `words` distinguish workloads of the same shape.
pub fn side_name(
    order: Order,
    direction: &str,
    sizes: Option<(u64, u32)>,
    jobs: u64,
    words: impl IntoIterator<Item = String>,
) -> String {
    let jobs = (jobs > 1).then(|| format!("jobs{jobs}"));
    let words = std::iter::once(direction.to_string()).chain(jobs).chain(words);
    let words: Vec<String> = words.collect();
    match sizes {
        Some((block_bytes, depth)) => {
            CellKey { words, ..CellKey::new(order, None, block_bytes, depth) }.to_string()
        }
        None => words.join("-"),
    }
}

/// The first name that is free: a further job of the same shape gets `job2`, `job3`, ...
pub fn free_side_name(
    name: impl Fn(Option<String>) -> String,
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let numbered = (2u32..).map(|number| name(Some(format!("job{number}"))));
    let mut names = std::iter::once(name(None)).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

/// Whether the rate of a cell is one of operations: sequential cells have bytes.
pub fn is_in_operations(order: Order) -> bool {
    order != Order::Sequential
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_is_a_cell_and_a_second_one_is_numbered() {
        let sizes = Some((4096, 32));
        let name = |words: Option<String>| side_name(Order::Random, "read", sizes, 1, words);
        assert_eq!(name(None), "rand-read-4KiB-q32");
        assert_eq!(
            free_side_name(name, |name| name == "rand-read-4KiB-q32"),
            "rand-read-job2-4KiB-q32"
        );
        assert_eq!(side_name(Order::Mixed, "write", sizes, 4, None), "mixed-write-jobs4-4KiB-q32");
        assert_eq!(side_name(Order::Random, "read", None, 4, None), "read-jobs4");
    }
}
