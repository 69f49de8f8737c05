//! A target and measurements for the tests of the rules.

use record::{DriveIdentity, Link, Safety, State, Target, TargetKind};
use rig::{DeviceTraffic, TargetInfo};
use workload::Mix;

use crate::Digest;

/// A scratch directory on an unknown drive.
pub(crate) fn target() -> TargetInfo {
    let target = Target {
        spec: ".".into(),
        kind: TargetKind::Directory,
        path: None,
        bytes: Some(1 << 30),
        drive: Some(DriveIdentity::default()),
        layers: Vec::new(),
        filesystem: None,
        direct: None,
    };
    TargetInfo {
        target,
        bytes: 1 << 30,
        logical_block_bytes: 512,
        allowed: Safety::Scratch,
        ram: false,
        discard: false,
        state: State::Unknown,
        formats: Vec::new(),
        bus: rig::Bus::Other,
        limits: rig::Limits::default(),
        guest: None,
    }
}

/// The same target with properties of the drive.
pub(crate) fn with_drive(change: impl FnOnce(&mut DriveIdentity)) -> TargetInfo {
    let mut info = target();
    change(info.target.drive.get_or_insert_default());
    info
}

/// The same target on a link with this ceiling, bytes per second.
pub(crate) fn with_link(ceiling: f64) -> TargetInfo {
    let link = Link { ceiling_bytes_per_s: Some(ceiling), ..Link::default() };
    let target = with_drive(|drive| drive.link = Some(link));
    TargetInfo { limits: rig::Limits::of_drive(target.target.drive.as_ref()), ..target }
}

/// One second of random reads at depth 1 that read nothing.
pub(crate) fn digest(name: &str) -> Digest {
    Digest {
        name: name.into(),
        metrics: vec![name.into()],
        probe: false,
        mix: Mix::READ,
        random: true,
        direct: true,
        ops: [0; 2],
        bytes: [0; 2],
        seconds: 1.0,
        depth_nominal: Some(1),
        depth: 1.0,
        device: None,
        temperature: None,
        cpu_share: 0.1,
        findings: Vec::new(),
        block_bytes: 4096,
        flushes: 0,
        stalled_s: 0.0,
        throttled_s: 0.0,
        course: Vec::new(),
    }
}

/// The same run of a workload of another name.
pub(crate) fn named(name: &str, digest: Digest) -> Digest {
    Digest { name: name.into(), metrics: vec![name.into()], ..digest }
}

/// The device's traffic.
pub(crate) fn device(read_bytes: u64, written_bytes: u64) -> DeviceTraffic {
    DeviceTraffic { read_bytes, written_bytes, depth: 1.0, ..DeviceTraffic::default() }
}
