//! Activity of the disks under the files during a run, from the kernel's counters
//! (Documentation/block/stat.rst), which include other users.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use emit::directory_of;
use rig::DiskUse;

/// The counters before a run.
pub(super) struct Before {
    at: Instant,
    disks: Vec<(String, [u64; 11])>,
}

/// Reads the counters of the disks under these files.
pub(super) fn look<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> Before {
    let places = paths.map(|path| if path.exists() { &**path } else { directory_of(path) });
    let places: BTreeSet<&Path> = places.collect();
    let located = places.iter().filter_map(|path| drive::locate(path).ok());
    let names: BTreeSet<String> = located.flat_map(|location| location.disks).collect();
    let disks = names.into_iter().filter_map(|name| Some((name.clone(), counters(&name)?)));
    Before { at: Instant::now(), disks: disks.collect() }
}

/// The activity of each disk since `before`.
pub(super) fn since(before: &Before) -> Vec<DiskUse> {
    let elapsed_ms = before.at.elapsed().as_millis().max(1) as f64;
    let uses = before.disks.iter().filter_map(|(name, then)| {
        let now = counters(name)?;
        let growth: [u64; 11] = std::array::from_fn(|i| now[i].saturating_sub(then[i]));
        Some(DiskUse {
            name: name.clone(),
            ios: [growth[0], growth[4]],
            merges: [growth[1], growth[5]],
            sectors: [growth[2], growth[6]],
            ticks: [growth[3], growth[7]],
            in_queue: growth[10],
            util: (growth[9] as f64 / elapsed_ms * 100.0).min(100.0),
        })
    });
    uses.collect()
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
