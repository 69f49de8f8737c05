//! How far predictions of virtual drives are from published figures, by the kind of figure.
//!
//! `cargo xtask bench predict` measures it on figures that no parameter was chosen by, prints it
//! and writes `bands.tsv`, which is compiled in. A kind with few rows has no band.

/// The table of the bench: kind, rows, median and 90th percentile of |ln(ours / published)|.
const TABLE: &str = include_str!("bands.tsv");

/// Fewest rows from which a kind has a band.
const ROWS_MIN: u32 = 4;

/// The error of a kind of figure, where nothing was fitted to it.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorBand {
    /// The kind, in words.
    pub kind: String,
    /// Published figures that it was measured on.
    pub rows: u32,
    /// Factor, at least 1, within which half of the predictions are.
    pub half_within: f64,
    /// Factor within which nine of ten are.
    pub most_within: f64,
}

/// The bands of all kinds with enough rows.
pub fn error_bands() -> Vec<ErrorBand> {
    let bands = TABLE.lines().skip(1).filter_map(parse);
    bands.filter(|band| band.rows >= ROWS_MIN).collect()
}

fn parse(line: &str) -> Option<ErrorBand> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [kind, rows, median, p90] = fields[..] else { return None };
    let [half_within, most_within] = [median, p90].map(|text| Some(libm::exp(text.parse().ok()?)));
    Some(ErrorBand {
        kind: kind.into(),
        rows: rows.parse().ok()?,
        half_within: half_within?,
        most_within: most_within?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table "by kind" of the bench's section in `benches/RESULTS.md`, as lines of the file.
    fn measured() -> Vec<String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/RESULTS.md");
        let text = std::fs::read_to_string(path).expect("the results");
        let (_, section) = text.split_once("\n## predict\n").expect("a section");
        let (_, table) = section.split_once("Predicted, by kind:").expect("a table");
        let (table, _) = table.split_once("Predicted, by drive:").expect("the next table");
        let rows =
            table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| kind"));
        rows.map(|row| row.split('|').skip(1).take(4).map(str::trim).collect::<Vec<_>>().join("\t"))
            .collect()
    }

    #[test]
    fn the_table_is_that_of_the_bench() {
        let lines: Vec<&str> = TABLE.lines().skip(1).collect();
        assert_eq!(lines, measured());
        assert_eq!(TABLE.lines().skip(1).filter_map(parse).count(), lines.len());
    }

    #[test]
    fn a_kind_with_few_rows_has_no_band() {
        let bands = error_bands();
        assert!(bands.iter().all(|band| band.rows >= ROWS_MIN), "{bands:?}");
        assert!(
            bands
                .iter()
                .all(|band| 1.0 <= band.half_within && band.half_within <= band.most_within)
        );
        assert!(bands.len() < TABLE.lines().count() - 1);
    }
}
