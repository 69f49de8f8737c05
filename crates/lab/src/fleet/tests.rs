//! The uploads: what is compared, and how well the stated range covers those that are left out.

use record::{Better, DriveIdentity, Metric, MetricKey, Stamp};
use rig::TargetInfo;

use super::*;

/// A run of `quick`'s kind on a model, with one tile.
fn run(model: &str, firmware: &str, metric: &str, unit: Unit, value: f64) -> Run {
    let mut run = Run::new("quick", TargetInfo::null(1 << 30).target);
    run.target.drive = Some(DriveIdentity {
        model: Some(model.into()),
        firmware: Some(firmware.into()),
        ..DriveIdentity::default()
    });
    let metric = Metric::single(MetricKey::parse(metric), unit, value);
    let tiles = vec![Tile::from_metric("reads", &metric, Better::Higher)];
    run.answer = Some(Answer { tiles, ..Answer::new("", "", Stamp::Believable) });
    run
}

fn peers_of(run: &Run) -> Vec<Peer> {
    peers(run, run.answer.as_ref().expect("an answer"))
}

#[test]
fn every_row_has_its_source_and_licence() {
    let lines: Vec<&str> = ROWS.lines().skip(1).collect();
    assert_eq!((lines.len(), uploads().len()), (65, 65));
    for line in lines {
        let columns: Vec<&str> = line.split('\t').collect();
        assert!(columns[9].starts_with("github.com/iocost-benchmark/"), "{line}");
        assert_eq!(columns[10], "Apache-2.0");
    }
    let mut models: Vec<&str> = uploads().iter().map(|upload| &*upload.model).collect();
    models.sort_unstable();
    models.dedup();
    assert_eq!(models.len(), 36);
}

#[test]
fn only_like_work_is_compared() {
    let model = "WD_BLACK SN770 1TB";
    let same = run(model, "731100WD", "rand-read-4KiB-q64", Unit::Iops, 191e3);
    let [peer] = &peers_of(&same)[..] else { panic!("one peer") };
    assert_eq!(peer.whose, "one upload of this model and firmware (iocost-benchmarks)");
    assert!(peer.value < 191_439.0 && peer.highest.expect("a range") > 191_439.0);
    let percentile = peer.percentile.expect("a percentile");
    assert!((0.2..0.8).contains(&percentile), "{percentile}");
    for metric in ["rand-read-4KiB-q32", "seq-read-1MiB-q8", "rand-write-4KiB-q32"] {
        assert_eq!(peers_of(&run(model, "731100WD", metric, Unit::Iops, 191e3)), []);
    }
    let latency = run(model, "731100WD", "rand-read-4KiB-q64.p99", Unit::Nanoseconds, 1e6);
    assert_eq!(peers_of(&latency), []);
    assert_eq!(peers_of(&run("Unknown 1TB", "1", "rand-read-4KiB-q64", Unit::Iops, 1e5)), []);
}

#[test]
fn another_firmware_is_named() {
    let model = "MTFDHBA512TCK";
    let own = run(model, "P1FB007", "seq-read-4KiB-q64", Unit::BytesPerSecond, 83e3 * 4096.0);
    assert!(peers_of(&own)[0].differs.is_empty());
    let new = run(model, "NEW", "seq-read-4KiB-q64", Unit::BytesPerSecond, 83e3 * 4096.0);
    assert_eq!(peers_of(&new)[0].whose, "3 uploads of this model (iocost-benchmarks)");
    assert_eq!(peers_of(&new)[0].differs, ["firmware: another one there"]);
}

/// Leaves out each upload that has another one of its model and firmware.
#[test]
fn left_out_uploads_lie_in_the_range_of_the_others() {
    let uploads = uploads();
    let (mut contained, mut narrow) = (Vec::new(), Vec::new());
    for figure in 0..FIGURES {
        let (mut rows, mut within, mut groups, mut width) = (0, 0, Vec::new(), 0.0_f64);
        for (i, upload) in uploads.iter().enumerate() {
            let (model, firmware) = (&upload.model, &upload.firmware);
            let expected = expectation(uploads, figure, model, firmware, Some(i));
            let Some(expected) = expected.filter(|expected| expected.is_same_firmware) else {
                continue;
            };
            let value = libm::exp(upload.logs[figure]);
            rows += 1;
            within += u32::from((expected.low..=expected.high).contains(&value));
            width = width.max(libm::log(expected.high / expected.low));
            groups.push((model, firmware));
        }
        groups.sort();
        groups.dedup();
        assert_eq!((rows, groups.len()), (43, 19));
        let all = range_of_all(uploads.iter().map(|upload| upload.logs[figure]).collect());
        println!(
            "figure {figure}: {within} of {rows}, factor {:.2}, all models {:.1}",
            libm::exp(width),
            libm::exp(all)
        );
        contained.push(f64::from(within) / f64::from(rows));
        narrow.push(width <= all / 2.0);
    }
    assert!(contained.iter().all(|share| *share >= 0.9), "{contained:?}");
    // Large sequential writes: one model has uploads that differ by a factor of 7.
    assert_eq!(narrow, [true, true, true, false, true, true]);
}

#[test]
fn a_row_alone_has_no_peers() {
    let uploads = uploads();
    let row = uploads.iter().position(|upload| upload.model == "CT1000P3PSSD8").expect("a row");
    let upload = &uploads[row];
    let alone = expectation(uploads, 0, &upload.model, &upload.firmware, Some(row));
    assert_eq!(alone, None);
}

#[test]
fn small_sets_have_a_median_and_a_quantile() {
    assert_eq!((median(vec![]), median(vec![3.0, 1.0])), (None, Some(2.0)));
    assert_eq!(conformal(vec![], 0.95), None);
    assert_eq!(conformal(vec![1.0, 3.0, 2.0], 0.95), Some(3.0));
    assert_eq!(conformal((1..=99).map(f64::from).collect(), 0.95), Some(95.0));
    assert_eq!(range_of_all(vec![]), 0.0);
}
