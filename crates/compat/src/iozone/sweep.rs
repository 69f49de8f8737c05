//! The file and record sizes of a run: as given, or the sweep of auto mode.
//!
//! Auto mode sweeps files from 64 KiB to 512 MiB and records from 4 KiB to 16 MiB, doubling both.
//! Above 16 MiB it omits records below 64 KiB, unless sizes are given or `-z` is set.

use methods::IozoneRow;

use super::IozoneError;

const AUTO_FILES: [u64; 2] = [64 << 10, 512 << 20];
const AUTO_RECORDS: [u64; 2] = [4 << 10, 16 << 20];

/// Auto mode skips small records for files above this size, bytes.
const CROSSOVER: u64 = 16 << 20;
/// Records below this size are small, bytes.
const LARGE_RECORD: u64 = 64 << 10;

/// iozone's defaults, bytes.
const PLAIN_FILE: u64 = 512 << 10;
const PLAIN_RECORD: u64 = 4 << 10;

/// Maximum record, bytes.
const RECORD_MAX: u64 = 1 << 30;

/// Maximum number of rows.
const ROWS_MAX: usize = 4096;

/// Sizes as given, bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    /// `-a`.
    pub auto: bool,
    /// `-z`.
    pub all: bool,
    /// `-s`, repeatable.
    pub files: Vec<u64>,
    /// `-r`, repeatable.
    pub records: Vec<u64>,
    /// `-n` and `-g`.
    pub file_range: [Option<u64>; 2],
    /// `-y` and `-q`.
    pub record_range: [Option<u64>; 2],
}

impl Sizes {
    /// The rows, ordered by file.
    pub fn rows(&self) -> Result<Vec<IozoneRow>, IozoneError> {
        let files = match (&self.files[..], self.auto) {
            ([], true) => doubling("-n and -g", self.file_range, AUTO_FILES)?,
            ([], false) => vec![PLAIN_FILE],
            (named, _) => named.to_vec(),
        };
        let records = self.records()?;
        let mut rows = Vec::new();
        for file in files {
            let fitting = records.iter().filter(|record| self.is_taken(file, **record));
            rows.extend(fitting.map(|record| row(file, *record)).collect::<Result<Vec<_>, _>>()?);
        }
        match rows.len() {
            0 => Err(IozoneError::new("no record fits into the file")
                .advise("-s is the file, -r the record: -s 100m -r 4k")),
            n if n > ROWS_MAX => Err(IozoneError::new(format!("{n} rows are too many"))),
            _ => Ok(rows),
        }
    }

    /// The record sizes, ascending in auto mode, otherwise as given.
    pub fn records(&self) -> Result<Vec<u64>, IozoneError> {
        match (&self.records[..], self.auto) {
            ([], true) => doubling("-y and -q", self.record_range, AUTO_RECORDS),
            ([], false) => Ok(vec![PLAIN_RECORD]),
            (named, _) => Ok(named.to_vec()),
        }
    }

    fn is_taken(&self, file: u64, record: u64) -> bool {
        let is_explicit = !self.files.is_empty() || !self.records.is_empty();
        let is_small = file > CROSSOVER && record < LARGE_RECORD;
        record <= file && (is_explicit || self.all || !self.auto || !is_small)
    }
}

/// Sizes from one end to the other, doubling.
fn doubling(
    options: &str,
    range: [Option<u64>; 2],
    usual: [u64; 2],
) -> Result<Vec<u64>, IozoneError> {
    let [least, most] = [range[0].unwrap_or(usual[0]), range[1].unwrap_or(usual[1])];
    if least > most {
        return Err(IozoneError::new(format!(
            "{options}: nothing between {least} and {most} bytes"
        )));
    }
    Ok(std::iter::successors(Some(least), |size| size.checked_mul(2))
        .take_while(|size| *size <= most)
        .collect())
}

fn row(file: u64, record: u64) -> Result<IozoneRow, IozoneError> {
    let record_bytes = u32::try_from(record).ok().filter(|_| record <= RECORD_MAX);
    let record_bytes =
        record_bytes.ok_or_else(|| IozoneError::new("a record has at most 1 GiB"))?;
    Ok(IozoneRow { file_bytes: file, record_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(sizes: &Sizes) -> Vec<(u64, u64)> {
        let rows = sizes.rows().expect("rows");
        rows.iter().map(|r| (r.file_bytes >> 10, u64::from(r.record_bytes) >> 10)).collect()
    }

    #[test]
    fn auto_mode_doubles_both_and_skips_small_records_of_large_files() {
        let auto = Sizes { auto: true, ..Sizes::default() };
        let all = rows(&auto);
        assert_eq!(all[..5], [(64, 4), (64, 8), (64, 16), (64, 32), (64, 64)]);
        assert_eq!(all.last(), Some(&(524_288, 16_384)));
        // 5 to 13 records up to 16 MiB, then 9 each of 5 sizes.
        assert_eq!(all.len(), (5..=13).sum::<usize>() + 5 * 9);
        assert!(!all.contains(&(32_768, 32)) && all.contains(&(32_768, 64)));
        let everything = rows(&Sizes { all: true, ..auto.clone() });
        assert_eq!(everything.len(), all.len() + 5 * 4);
        let named = rows(&Sizes { files: vec![100 << 20], records: vec![4096], ..auto.clone() });
        assert_eq!(named, [(102_400, 4)]);
        let ranges = Sizes { file_range: [Some(1 << 20), Some(2 << 20)], ..auto };
        assert_eq!(rows(&ranges).len(), 9 + 10);
    }

    #[test]
    fn the_default_is_512_kib_in_4_kib_records() {
        assert_eq!(rows(&Sizes::default()), [(512, 4)]);
        let several = Sizes { records: vec![4096, 8192], files: vec![1 << 20], ..Sizes::default() };
        assert_eq!(rows(&several), [(1024, 4), (1024, 8)]);
        let odd = Sizes { files: vec![10 << 10], records: vec![4096], ..Sizes::default() };
        assert_eq!(rows(&odd), [(10, 4)]);
        let small = Sizes { files: vec![1 << 10], ..Sizes::default() };
        assert!(small.rows().expect_err("too small").what.contains("no record fits"));
    }
}
