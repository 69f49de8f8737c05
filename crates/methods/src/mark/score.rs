//! The arithmetic of RISCOSMark, and its reference figures. Pure.
//!
//! All 43 distinct values of the table in document 000 are floor(N * 8192 * 100 / T) for whole N
//! and T of 100 to 139: N loads of 8 MiB, T ticks of 10 ms.

/// One of the four figures, in print order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    HdRead,
    HdWrite,
    FsRead,
    FsWrite,
}

impl Column {
    pub const ALL: [Column; 4] = [Column::HdRead, Column::HdWrite, Column::FsRead, Column::FsWrite];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        ["hd-read", "hd-write", "fs-read", "fs-write"][self as usize]
    }

    /// Its heading in the published tables.
    pub fn heading(self) -> &'static str {
        ["HD Read", "HD Write", "FS Read", "FS Write"][self as usize]
    }

    pub fn writes(self) -> bool {
        matches!(self, Column::HdWrite | Column::FsWrite)
    }

    /// Whether it uses whole files rather than single bytes.
    pub fn whole_files(self) -> bool {
        matches!(self, Column::HdRead | Column::HdWrite)
    }

    /// Scores of the RAM disc of document 000, KiB/s ("RAMfs 1500MB", RISC OS on a Compute Module
    /// 4).
    pub fn riscos_ramfs(self) -> u64 {
        [397_433, 1_362_629, 4_928, 5_134][self as usize]
    }
}

/// Duration of one stream call under RISC OS on a Compute Module 4, nanoseconds: one byte on its
/// RAM disc, where the file system is the only cost.
pub(crate) fn riscos_call_ns(column: Column) -> u32 {
    (1e9 / (column.riscos_ramfs() as f64 * 1024.0)).round() as u32
}

/// A score as printed by the old tool, with the resolution of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Score {
    /// KiB/s, rounded down.
    pub kib: u64,
    /// The score for one tick more and one tick less.
    pub low: u64,
    pub high: u64,
}

impl Score {
    /// From the KiB moved and the elapsed nanoseconds. `None` for less than two ticks.
    pub fn new(moved_kib: u64, elapsed_ns: u64) -> Option<Score> {
        let ticks = elapsed_ns / 10_000_000;
        let rate = |ticks: u64| moved_kib * 100 / ticks;
        (ticks >= 2).then(|| Score {
            kib: rate(ticks),
            low: rate(ticks + 1),
            high: rate(ticks - 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_match_the_published_table() {
        // N files in T ticks, decomposed from the values of document 000.
        for (files, ticks, kib) in
            [(18, 104, 141_784), (26, 102, 208_815), (45, 106, 347_773), (3, 109, 22_546)]
        {
            let score = Score::new(files * 8192, ticks * 10_000_000 + 9_999_999).expect("ticks");
            assert_eq!(score.kib, kib);
            assert_eq!(score.kib, files * 8192 * 100 / ticks);
            assert!(score.low < kib && kib < score.high);
            assert!((score.high - score.low) as f64 / (kib as f64) < 0.021, "{score:?}");
        }
        assert_eq!(Score::new(8192, 19_999_999), None);
    }

    #[test]
    fn a_call_takes_the_time_of_a_byte_on_the_published_ram_disc() {
        assert_eq!(Column::ALL.map(riscos_call_ns), [2, 1, 198, 190]);
    }
}
