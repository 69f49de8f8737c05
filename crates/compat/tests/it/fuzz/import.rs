//! Results of other tools as fuzz targets, one per format.

use compat::import::{ImportError, Pieces, StreamPiece, decode, format, read};
use fuzz::{FuzzTarget, outcome};
use record::{Document, Run};

/// A number for the outcome of reading ssdyno records and the text between them.
fn records(bytes: &[u8]) -> u64 {
    let mut result = 0u64;
    for piece in Pieces::new(bytes, 1 << 20) {
        let one = match piece {
            Ok(StreamPiece::Record { json, .. }) => match Document::parse(&json) {
                Ok(document) => outcome(document.hash().map_or("no hash", |_| "a record")),
                Err(error) => outcome(&error.to_string()),
            },
            Ok(StreamPiece::Text { bytes, .. }) => imported(&bytes, "ssdyno"),
            Err(error) => outcome(&error.to_string()),
        };
        result = result.wrapping_mul(31).wrapping_add(one);
    }
    result
}

/// A number for the outcome of reading one format.
fn imported(bytes: &[u8], name: &str) -> u64 {
    summary(read(&decode(bytes), format(name)))
}

/// A number for the outcome of reading a text.
fn summary(outcome_read: Result<Vec<Run>, ImportError>) -> u64 {
    match outcome_read {
        Ok(runs) => {
            let metrics = runs.iter().flat_map(|run| &run.metrics);
            // Powers of ten of the values, so that formats with few names have several outcomes,
            // too.
            let power = |m: &record::Metric| libm::log10(m.value.unwrap_or(0.0).max(1e-9)) as i64;
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
            pub const $constant: FuzzTarget = FuzzTarget {
                name: concat!("import-", $name),
                run: $function,
                corpus: &[$(include_str!(concat!("../../import/", $sample))),*],
            };
        )*
    };
}

/// ssdyno exports, as JSON and as CSV.
pub const OWN: FuzzTarget = FuzzTarget {
    name: "import-ssdyno",
    run: records,
    corpus: &[include_str!("../../import/export.jsonl"), include_str!("../../import/export.csv")],
};

/// Texts of every format as people paste them, of which none is known.
pub const PASTE: FuzzTarget = FuzzTarget {
    name: "import-paste",
    run: paste,
    corpus: &[
        SHEET,
        include_str!("../../field/prefix.txt"),
        include_str!("../../field/dd-fr.txt"),
        "> > j: (groupid=0, jobs=1): err= 0: pid=1: Mon Jan  6 00:00:10 2025\n> >   write: \
         IOPS=100, BW=400KiB/s (410kB/s)(4000KiB/10000msec)\n> >     clat (usec): min=9, max=2.5k\n",
        "Jan  6 00:00:10 host dd[12]: 1048576 bytes (1.0 MB) copied, 0.5 s, 2.1 MB/s\r\n\
         Jan  6 00:00:11 host dd[12]: 1048576 bytes (1.0 MB) copied, 0.5 s, 2.1 MB/s\r\n",
        "node1 | SUCCESS => {\"stdout_lines\": [\"/dev/sda:\", \" Timing cached reads:   2000 MB in  \
         2.00 seconds = 1000.00 MB/sec\"], \"stdout\": \"1048576 bytes copied, 0.5 s, 2.1 MB/s\"}\n",
        "Jobs: 1 (f=1)\rJobs: 1 (f=0)\r\u{1b}[1m--- . (ext4 /dev/sda) ioping statistics ---\u{1b}[m\n2 \
         requests completed in 534.9 us, 8 KiB read, 3.74 k iops, 14.6 MiB/s\nmin/avg/max/mdev = \
         260.2 us / 267.4 us / 274.6 us / 7.20 us\n",
        "{\"a\": {\"fio version\": \"fio-3.33\", \"jobs\": [{\"jobname\": \"j\", \"read\": {\"iops\": 100.5, \
         \"runtime\": 1000, \"total_ios\": 100, \"clat_ns\": {\"max\": 5000}}}]}}\n",
    ],
};

fn paste(bytes: &[u8]) -> u64 {
    summary(read(&decode(bytes), None))
}

/// The spreadsheet of iozone, with numbers that are text as well.
const SHEET: &str = "\t\0\x04\0\x02\0\x10\0\x04\0\x15\0\0\0\0\0\0\0\0\rWriter Report\
    \x03\0\x0f\0\x01\0\x01\0\0\0\0\0\0\0\0\0\0\x10@\x03\0\x0f\0\x02\0\0\0\0\0\0\0\0\0\0\0\0P@\
    \x03\0\x0f\0\x02\0\x01\0\0\0\0\0\0\0\0\0\0\x59@";

targets! {
    FIO_JSON fuzz_fio_json "fio-json" "fio-mix.json" "fio-plus.json" "fio2.json" "fio-unified.json" "../outputs/fio-json.txt";
    FIO fuzz_fio "fio" "fio-mix.txt" "fio-jobs.txt" "fio2.txt" "../outputs/fio-text.txt" "../outputs/fio-states.txt";
    FIO_TERSE fuzz_fio_terse "fio-terse" "fio-terse2.txt" "fio-terse3.txt" "fio-terse4.txt" "fio-terse5.txt";
    IOZONE fuzz_iozone "iozone" "iozone.txt" "iozone-excel.txt" "iozone-t.txt" "iozone-us.txt" "../outputs/iozone-ops.txt";
    DISKMARK fuzz_diskmark "diskmark" "cdm8.txt" "cdm3.txt" "kdiskmark.txt";
    F3 fuzz_f3 "f3" "f3write.txt" "f3read.txt" "f3read-bad.txt" "f3probe.txt";
    H2TESTW fuzz_h2testw "h2testw" "h2testw.txt" "h2testw-de.txt" "h2testw-errors.txt";
    SYSBENCH fuzz_sysbench "sysbench" "sysbench-seqwr.txt" "sysbench-rndwr.txt" "../outputs/sysbench.txt";
    IOPING fuzz_ioping "ioping" "ioping.txt" "../outputs/ioping.txt";
    BONNIE fuzz_bonnie "bonnie" "bonnie.txt" "bonnie-n.txt";
    DISKSPD fuzz_diskspd "diskspd" "diskspd.txt";
    DISKSPD_XML fuzz_diskspd_xml "diskspd-xml" "diskspd.xml";
    ELBENCHO fuzz_elbencho "elbencho" "elbencho.csv" "elbencho-dir.csv";
    ELBENCHO_TEXT fuzz_elbencho_text "elbencho-text" "elbencho-text.txt";
    HDPARM fuzz_hdparm "hdparm" "hdparm.txt";
    FLASHBENCH fuzz_flashbench "flashbench" "flashbench-a.txt" "flashbench-au.txt";
    DD fuzz_dd "dd" "dd.txt" "dd-others.txt" "../outputs/dd.txt";
}
