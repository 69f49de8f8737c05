//! Results of other tools as fuzz targets, one per format.

use compat::import::{Piece, Pieces, decode, format, read};
use fuzz::{Target, outcome};
use record::Document;

/// A number for the outcome of reading ssdyno records and the text between them.
fn records(bytes: &[u8]) -> u64 {
    let mut result = 0u64;
    for piece in Pieces::new(bytes, 1 << 20) {
        let one = match piece {
            Ok(Piece::Record { json, .. }) => match Document::parse(&json) {
                Ok(document) => outcome(document.hash().map_or("no hash", |_| "a record")),
                Err(error) => outcome(&error.to_string()),
            },
            Ok(Piece::Text { bytes, .. }) => imported(&bytes, "ssdyno"),
            Err(error) => outcome(&error.to_string()),
        };
        result = result.wrapping_mul(31).wrapping_add(one);
    }
    result
}

/// A number for the outcome of reading one format.
fn imported(bytes: &[u8], name: &str) -> u64 {
    match read(&decode(bytes), format(name)) {
        Ok(runs) => {
            let metrics = runs.iter().flat_map(|run| &run.metrics);
            // Powers of ten of the values, so that formats with few names have several outcomes,
            // too.
            let power = |m: &record::Metric| m.value.unwrap_or(0.0).max(1e-9).log10() as i64;
            let powers = metrics.clone().fold(0u64, |sum, m| {
                sum.wrapping_mul(31).wrapping_add(power(m).unsigned_abs() % 31)
            });
            let names = metrics.map(|m| m.name.as_str()).collect::<Vec<_>>().join(" ");
            outcome(&format!("ok {names}")) ^ powers
        }
        Err(error) => outcome(&error.why) ^ error.line.min(16) as u64,
    }
}

macro_rules! targets {
    ($($constant:ident $function:ident $name:literal $($sample:literal)*;)*) => {
        $(
            fn $function(bytes: &[u8]) -> u64 {
                imported(bytes, $name)
            }
            pub const $constant: Target = Target {
                name: concat!("import-", $name),
                run: $function,
                corpus: &[$(include_str!(concat!("../import/", $sample))),*],
            };
        )*
    };
}

/// ssdyno exports, as JSON and as CSV.
pub const OWN: Target = Target {
    name: "import-ssdyno",
    run: records,
    corpus: &[include_str!("../import/export.jsonl"), include_str!("../import/export.csv")],
};

targets! {
    FIO_JSON fuzz_fio_json "fio-json" "fio-mix.json" "fio-plus.json" "fio2.json";
    FIO fuzz_fio "fio" "fio-mix.txt" "fio-jobs.txt" "fio2.txt";
    IOZONE fuzz_iozone "iozone" "iozone.txt" "iozone-excel.txt";
    DISKMARK fuzz_diskmark "diskmark" "cdm8.txt" "cdm3.txt" "kdiskmark.txt";
    F3 fuzz_f3 "f3" "f3write.txt" "f3read.txt" "f3probe.txt";
    HDPARM fuzz_hdparm "hdparm" "hdparm.txt";
    FLASHBENCH fuzz_flashbench "flashbench" "flashbench-a.txt" "flashbench-au.txt";
    DD fuzz_dd "dd" "dd.txt" "dd-others.txt";
}
