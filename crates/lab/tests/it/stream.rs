//! Tests the method `stream` on virtual drives of realistic size, and verifies its buffer sizes by
//! recording again.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::Simulator;
use model::DriveSpec;
use rig::{Event, TargetInfo};
use script::{Options, Outcome, Session};

/// Runs `stream` with these options, as typed.
fn stream(drive: &str, overrides: &[(&str, &str)], typed: &[(&str, &str)]) -> Outcome {
    let preset = DriveSpec::preset(drive).expect("a preset");
    let spec = preset.with_overrides(overrides).expect("permitted");
    let method = methods::find("stream").expect("a method");
    let mut options = Options::default();
    for (name, word) in typed {
        let declared = method.options.iter().find(|o| o.name() == *name).expect("declared");
        options.parse(*declared, &[word.to_string()]).expect("a value");
    }
    let never = Arc::new(AtomicBool::new(false));
    let mut rig = Simulator::new(spec, "sim:drive", never, Box::new(|_: &Event| {}));
    let mut session = Session::new(&mut rig);
    session.run(method, &options).expect("nothing is wrong");
    session.finish()
}

fn value(out: &Outcome, name: &str) -> f64 {
    let metric = out.metrics.iter().find(|m| m.name == name);
    metric.and_then(|m| m.value).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn document_001_is_recorded_at_the_speed_of_the_drive_over_two_terabytes() {
    let out = stream("samsung-980-pro-2t", &[], &[]);
    for metric in &out.metrics {
        println!("{} {:?}", metric.name, metric.value);
    }
    assert!(value(&out, "stream-exfat.ratio") >= 0.99);
    for pass in ["stream-exfat", "stream-exfat-full"] {
        assert!(value(&out, &format!("{pass}.metadata-writes")) <= 0.19, "{pass}");
        assert_eq!(value(&out, &format!("{pass}.metadata-reads")), 0.0, "{pass}");
    }
    assert!(out.warnings.is_empty(), "{:?}", out.warnings);
}

#[test]
fn fat32_costs_more_metadata_and_meets_its_minimum() {
    let size = [("capacity", "64GiB")];
    let out = stream("samsung-980-pro-2t", &size, &[("fs", "fat32")]);
    assert!(value(&out, "stream-fat32.metadata-writes") <= 1.25);
    assert_eq!(value(&out, "stream-fat32.metadata-reads"), 0.0);
    assert!(value(&out, "stream-fat32.ratio") >= 0.99);
}

/// A smaller drive with a proportional cache, so that the cache fills during the recording.
const SMALL: [(&str, &str); 3] =
    [("capacity", "64GiB"), ("slc.fixed", "2GiB"), ("slc.dynamic", "0")];

#[test]
fn the_buffer_for_a_camera_loses_no_frame_and_a_smaller_one_does() {
    let pass = "stream-exfat-full";
    let with = |buffer: &str| {
        stream("samsung-980-pro-2t", &SMALL, &[("rate", "1.5GB/s"), ("buffer", buffer)])
    };
    let first = with("64MiB");
    for pass in ["stream-exfat", pass] {
        let buffer = value(&first, &format!("{pass}.buffer"));
        println!("{pass}: {} MB", buffer / 1e6);
        let exact = with(&format!("{buffer:.0}"));
        assert_eq!(value(&exact, &format!("{pass}.lost-frames")), 0.0, "{pass}");
        if buffer > 4e6 {
            let less = with(&format!("{:.0}", buffer - 1048576.0));
            assert!(value(&less, &format!("{pass}.lost-frames")) > 0.0, "{pass}");
        }
    }
}

#[test]
fn a_recording_at_the_lossless_rate_fits_the_buffer() {
    let flat_out = stream("samsung-980-pro-2t", &SMALL, &[]);
    for pass in ["stream-exfat", "stream-exfat-full"] {
        let rate = value(&flat_out, &format!("{pass}.lossless-rate"));
        let typed = format!("{rate:.0}");
        let paced = stream("samsung-980-pro-2t", &SMALL, &[("rate", &typed)]);
        let needed = value(&paced, &format!("{pass}.buffer"));
        println!("{pass}: {rate} B/s needs {needed}");
        assert_eq!(value(&paced, &format!("{pass}.lost-frames")), 0.0, "{pass} at {rate}");
    }
}

#[test]
fn a_plan_promises_four_passes_and_their_metadata() {
    let spec = DriveSpec::preset("samsung-980-pro-2t").expect("a preset");
    let info: TargetInfo = Simulator::info(&spec, "sim:drive");
    let method = methods::find("stream").expect("a method");
    let plan = script::plan(method, &info, &Options::default()).expect("permitted");
    let passes = plan.write_bytes_max as f64 / info.bytes as f64;
    assert!((4.0..4.2).contains(&passes), "{passes}");
    assert!(plan.seconds > 1000.0, "{}", plan.seconds);
}
