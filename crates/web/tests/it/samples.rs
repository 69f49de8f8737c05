//! Records for tests and measurements: a template, varied by a seed.

use record::{Answer, Document, DriveIdentity, Metric, Run, Stamp, Target, TargetKind, Unit};

/// A record of `quick` with four figures.
#[allow(dead_code, reason = "the example has a template of its own")]
pub fn template() -> Run {
    let drive = DriveIdentity {
        name: "nvme7n1".into(),
        bus: "nvme".into(),
        vendor: Some("ACME".into()),
        model: Some("X1 Pro".into()),
        serial: Some("S0".into()),
        firmware: Some("FW1".into()),
        ..DriveIdentity::default()
    };
    let target = Target {
        spec: "/dev/nvme7n1".into(),
        kind: TargetKind::Device,
        drive: Some(drive),
        ..Target::default()
    };
    let mut run = Run { complete: true, ..Run::new("quick", target) };
    run.environment.ssdyno = "0.1.0".into();
    run.metrics = vec![
        Metric::single("seq-read-1MiB-q8", Unit::BytesPerSecond, 3.4e9),
        Metric::single("seq-write-1MiB-q8", Unit::BytesPerSecond, 2.9e9),
        Metric::single("rand-read-4KiB-q32", Unit::Iops, 88_000.0),
        Metric::single("rand-write-4KiB-q32", Unit::Iops, 61_000.0),
    ];
    run.answer =
        Some(Answer::new("how fast", "Reads 3.4 GB/s, writes 2.9 GB/s.", Stamp::Believable));
    run
}

/// The record of one hour in the history of `drives` drives of four models. Figures vary by 5%, and
/// each drive gets a new firmware every 300 hours.
pub fn vary(template: &Run, seed: u64, drives: u64) -> Document {
    let mut run = template.clone();
    let (drive_number, hour) = (seed % drives, seed);
    let day = 1 + hour / 24;
    let (year, month, day) = (2020 + day / 336, 1 + day / 28 % 12, 1 + day % 28);
    run.started = format!("{year}-{month:02}-{day:02}T{:02}:00:00Z", hour % 24);
    run.id = format!("{}-{seed:08x}", run.started.replace('Z', ""));
    run.number = None;
    run.target.kind = TargetKind::Device;
    run.target.spec = format!("/dev/nvme{drive_number}n1");
    let mut drive = run.target.drive.take().unwrap_or_default();
    drive.name = format!("nvme{drive_number}n1");
    drive.bus = "nvme".into();
    drive.model = Some(format!("X{} Pro", drive_number % 4));
    drive.serial = Some(format!("S6Z1NJ{drive_number:05}"));
    drive.firmware = Some(format!("FW{}", hour / drives / 300));
    run.target.drive = Some(drive);
    for (position, metric) in (0u64..).zip(&mut run.metrics) {
        let factor = 0.975 + 0.05 * share(seed * 1000 + position);
        for value in [&mut metric.value, &mut metric.low, &mut metric.high] {
            *value = value.map(|value| value * factor);
        }
    }
    Document::from_run(run).expect("a record")
}

/// A number from 0 to 1 that a seed determines (SplitMix64).
fn share(seed: u64) -> f64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
