//! What the disks under the files did meanwhile, by the kernel's own counters
//! (Documentation/block/stat.rst): other users of them included.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

/// Counters of one disk over a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskUse {
    /// Kernel name.
    pub name: String,
    /// Reads, writes completed.
    pub ios: [u64; 2],
    /// Reads, writes that were merged with others.
    pub merges: [u64; 2],
    /// Milliseconds that reads, writes took, summed.
    pub ticks: [u64; 2],
    /// Milliseconds times requests in flight.
    pub in_queue: u64,
    /// Percent of the time in which something was in flight.
    pub util: f64,
}

/// A look at the disks before a run.
pub(super) struct Before {
    at: Instant,
    disks: Vec<(String, [u64; 11])>,
}

/// Looks at the disks under these files.
pub(super) fn look(paths: &[PathBuf]) -> Before {
    let places: BTreeSet<PathBuf> = paths
        .iter()
        .map(|path| match path.parent() {
            _ if path.exists() => path.clone(),
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        })
        .collect();
    let located = places.iter().filter_map(|path| drive::locate(path).ok());
    let names: BTreeSet<String> = located.flat_map(|location| location.disks).collect();
    let disks = names.into_iter().filter_map(|name| Some((name.clone(), counters(&name)?)));
    Before { at: Instant::now(), disks: disks.collect() }
}

/// What they did since.
pub(super) fn since(before: &Before) -> Vec<DiskUse> {
    let elapsed_ms = before.at.elapsed().as_millis().max(1) as f64;
    let one = |(name, then): &(String, [u64; 11])| {
        let now = counters(name)?;
        let grown = |i: usize| now[i].saturating_sub(then[i]);
        Some(DiskUse {
            name: name.clone(),
            ios: [grown(0), grown(4)],
            merges: [grown(1), grown(5)],
            ticks: [grown(3), grown(7)],
            in_queue: grown(10),
            util: (grown(9) as f64 / elapsed_ms * 100.0).min(100.0),
        })
    };
    before.disks.iter().filter_map(one).collect()
}

fn counters(name: &str) -> Option<[u64; 11]> {
    let text = std::fs::read_to_string(format!("/sys/class/block/{name}/stat")).ok()?;
    let mut fields = text.split_whitespace().map(|field| field.parse().ok());
    let mut counters = [0; 11];
    for counter in &mut counters {
        *counter = fields.next()??;
    }
    Some(counters)
}
