//! The scores in the form of the published tables: KiB/s and percent of the RAM disc.

use record::{Unit, VerdictKind};

use super::score::{Column, Score};
use rules::Ruling;

/// All scores so far.
pub(super) struct Scores {
    /// Whether the published RAM disc is the reference.
    published: bool,
    /// Whether a RAM disc is measured.
    measured: bool,
    columns: [Scored; 4],
}

#[derive(Clone, Copy, Default)]
struct Scored {
    legacy: Option<Score>,
    legacy_ram: Option<Score>,
    /// Honest rates of drive and RAM disc, bytes per second.
    drive: Option<f64>,
    ram: Option<f64>,
}

impl Scores {
    pub fn new(published: bool, measured: bool) -> Scores {
        Scores { published, measured, columns: [Scored::default(); 4] }
    }

    pub fn put(&mut self, column: Column, drive: Score, ram: Option<Score>) {
        let scored = &mut self.columns[column as usize];
        (scored.legacy, scored.legacy_ram) = (Some(drive), ram);
    }

    pub fn put_honest(&mut self, column: Column, [ram, drive]: &[Vec<f64>; 2]) {
        let scored = &mut self.columns[column as usize];
        scored.drive = analysis::estimate(drive).value;
        scored.ram = analysis::estimate(ram).value;
    }

    /// The line that users compare, starting with the old tool's figures.
    pub fn verdict(&self) -> Ruling {
        let measured = self.measured && !self.published;
        let legacy = self.line(|s| s.legacy.map(|s| s.kib), |s| s.legacy_ram.map(|s| s.kib));
        let honest = self.line(|s| s.drive.map(kib), |s| s.ram.map(kib));
        let disc = if measured {
            "the RAM disc of this machine"
        } else {
            "the RAM disc of RISC OS as published"
        };
        let mut text = format!("In KiB/s, and percent of {disc}. The old tool's scores: {legacy}.");
        if !honest.is_empty() {
            text += &format!(" Bypassing the cache, and durable: {honest}.");
        }
        let mut ruling = Ruling::yes(VerdictKind::Mark, text);
        for column in Column::ALL {
            if let Some(share) = self.share(column) {
                let name = format!("{} of the RAM disc", column.heading());
                ruling = ruling.with(name, share, Unit::Number);
            }
        }
        ruling
    }

    /// The honest share if there is one, otherwise the old tool's.
    fn share(&self, column: Column) -> Option<f64> {
        let scored = &self.columns[column as usize];
        let legacy = scored.legacy.map(|s| s.kib as f64);
        let drive = scored.drive.map(|rate| rate / 1024.0).or(legacy)?;
        let ram = match scored.drive {
            Some(_) => scored.ram.map(|rate| rate / 1024.0),
            None => scored.legacy_ram.map(|s| s.kib as f64),
        };
        Some(drive / self.reference(column, ram))
    }

    fn reference(&self, column: Column, measured: Option<f64>) -> f64 {
        let published = column.riscos_ramfs() as f64;
        if self.published { published } else { measured.unwrap_or(published) }
    }

    fn line(
        &self,
        drive: impl Fn(&Scored) -> Option<u64>,
        ram: impl Fn(&Scored) -> Option<u64>,
    ) -> String {
        let parts = Column::ALL.into_iter().filter_map(|column| {
            let scored = &self.columns[column as usize];
            let kib = drive(scored)?;
            let share = kib as f64 / self.reference(column, ram(scored).map(|kib| kib as f64));
            Some(format!("{} {kib} {:.0}%", column.heading(), share * 100.0))
        });
        parts.collect::<Vec<_>>().join(", ")
    }
}

fn kib(rate: f64) -> u64 {
    (rate / 1024.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_reference_gives_the_published_percentages() {
        // Document 000: SanDisk 128GB SSD, ADFS on the Pi IO board: 36%, 12%, 31%, 27%.
        let mut scores = Scores::new(true, true);
        for (column, kib) in Column::ALL.into_iter().zip([141_784, 162_217, 1543, 1374]) {
            let score = Score { kib, low: kib, high: kib };
            scores.put(column, score, Some(Score { kib: 1, low: 1, high: 1 }));
        }
        let text = scores.verdict().verdict.text;
        let line = "HD Read 141784 36%, HD Write 162217 12%, FS Read 1543 31%, FS Write 1374 27%";
        assert!(text.contains(line) && text.contains("as published"), "{text}");
    }

    #[test]
    fn a_measured_disc_is_the_reference_unless_the_published_one_is_requested() {
        let mut scores = Scores::new(false, true);
        let score = |kib| Score { kib, low: kib, high: kib };
        scores.put(Column::HdRead, score(500), Some(score(1000)));
        assert!(scores.verdict().verdict.text.contains("HD Read 500 50%"));
        scores.put_honest(Column::HdRead, &[vec![4096.0, 4096.0], vec![1024.0, 1024.0]]);
        let verdict = scores.verdict().verdict;
        assert!(verdict.text.contains("durable: HD Read 1 25%"), "{}", verdict.text);
        let [evidence] = &verdict.evidence[..] else { panic!("{verdict:?}") };
        assert!((evidence.value - 0.25).abs() < 1e-9);
    }
}
