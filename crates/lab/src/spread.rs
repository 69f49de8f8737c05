//! The spread between runs before any was repeated, and the runs that count as repeats of another.

use record::{Run, Target, TargetKind};

/// Standard deviation between runs, as a share: virtual drives, SSDs in a machine, cards and sticks,
/// disks of virtual machines. The last was measured over 50 sessions, the others are assumed.
const VIRTUAL: f64 = 0.005;
const SSD: f64 = 0.03;
const CARD: f64 = 0.05;
const VIRTUAL_MACHINE: f64 = 0.15;

/// The spread to assume between runs like this one.
pub(crate) fn prior(run: &Run) -> f64 {
    assumed(&run.target, run.environment.hypervisor.is_some())
}

/// The spread to assume between runs on a target, inside a virtual machine or not.
pub(crate) fn assumed(target: &Target, virtual_machine: bool) -> f64 {
    let bus = target.drive.as_ref().map(|drive| drive.bus.as_str());
    match target.kind {
        TargetKind::Virtual => VIRTUAL,
        _ if virtual_machine => VIRTUAL_MACHINE,
        // The machine of another tool's record, or of a publication, is unknown.
        _ => match bus {
            Some("nvme" | "sata" | "scsi") => SSD,
            _ => CARD,
        },
    }
}

/// Whether both ran the same way on one drive, so that they differ by chance alone.
pub(crate) fn comparable(a: &Run, b: &Run) -> bool {
    let conditions = |run: &Run| {
        let machine = &run.environment;
        (
            run.method.clone(),
            run.state_before,
            run.plan.as_ref().map(|plan| plan.region_bytes),
            run.target.filesystem.as_ref().map(|f| f.kind.clone()),
            run.target.direct,
            machine.machine_id.clone(),
            machine.backend.clone(),
            machine.ssdyno.clone(),
        )
    };
    a.complete && b.complete && conditions(a) == conditions(b)
}
