//! NVMe drives driven from user space: target `pci:0000:00:05.0`.
//!
//! A drive is detached from the kernel's driver and bound to `vfio-pci`, for a run or, with
//! `prepare --bind`, until it is unbound or the machine is rebooted.
//! This module decides whether that is allowed, does it, and returns the drive; the engine drives
//! it. No drive is detached while the kernel uses any namespace of its controller, or without its
//! serial number. A note, written before the kernel releases the drive, allows its return after a
//! kill (`note.rs`).

pub(crate) mod address;
mod bound;
mod claim;
mod function;
mod guard;
pub(crate) mod note;
#[cfg(test)]
mod tests;

use record::{DriveIdentity, Safety, State, Target, TargetKind};
use rig::{Bus, Limits, TargetInfo};

pub use address::PREFIX;
pub use bound::{BoundDrive, Returned, bind, left_detached, list, recover, stayed_away, unbind};
pub use claim::{ControllerClaim, Reach};
pub use guard::{GUARD, keep_guard};
pub(crate) use note::Notes;

use crate::error::DriveError;
use crate::graph::Graph;
use crate::hold::open_node;
use crate::host;
use crate::key::DriveKey;
use crate::machine::Machine;
use crate::node::Node;
use crate::open::device::content_of;
use crate::open::{OpenRequest, PlannedTarget, first_bytes};
use crate::query;
use address::Spec;
use bound::Holder;
use function::Function;
use note::{Namespace, Note};

/// A drive that this process may use.
#[derive(Debug)]
pub struct PciOpened {
    /// Properties for methods and the record.
    pub info: TargetInfo,
    /// The data that a run will overwrite, in words, for a confirmed target.
    pub destroys: Option<String>,
    /// The right to use the drive. Dropped last, it returns a drive detached for this run.
    pub claim: ControllerClaim,
}

/// A target that passed every check and was not changed.
struct Plan {
    info: TargetInfo,
    destroys: Option<String>,
    function: Function,
    note: Note,
    nsid: u32,
    /// Whether to detach it from the kernel first.
    take: bool,
}

/// Detaches an NVMe drive from the kernel, or claims one that was bound before.
pub fn open_pci(spec: &str, request: &OpenRequest) -> Result<PciOpened, DriveError> {
    let (machine, notes, function) = here(spec)?;
    let Plan { info, destroys, function, note, nsid, take } =
        plan(&machine, &notes, spec, function, request)?;
    let claim = if take {
        ControllerClaim::take(&machine, notes, function, note, nsid)?
    } else {
        ControllerClaim::from_kept(notes, function, note, nsid)?
    };
    Ok(PciOpened { info, destroys, claim })
}

/// The plan of a run, for display only.
pub(crate) fn plan_here(spec: &str, request: &OpenRequest) -> Result<PlannedTarget, DriveError> {
    let (machine, notes, function) = here(spec)?;
    let Plan { info, destroys, .. } = plan(&machine, &notes, spec, function, request)?;
    Ok(PlannedTarget { info, destroys, file: None })
}

/// This machine, its notes, and the controller at an address. An address without an NVMe controller
/// is refused before its note is looked up.
fn here(spec: &str) -> Result<(Machine, Notes, Function), DriveError> {
    let machine = Machine::here();
    let function = Function::find(&machine, spec, Spec::parse(spec)?)?;
    let notes = Notes::new(&machine);
    Ok((machine, notes, function))
}

/// Keys of a controller's namespaces, the same whether or not the drive is detached from the
/// kernel; empty if there is no such controller or its namespaces are unknown.
pub fn keys(spec: &str) -> Vec<DriveKey> {
    here(spec).map_or_else(
        |_| Vec::new(),
        |(machine, notes, function)| keys_of(&machine, &notes, &function),
    )
}

fn keys_of(machine: &Machine, notes: &Notes, function: &Function) -> Vec<DriveKey> {
    let nodes = function.namespaces();
    let keys: Vec<_> =
        nodes.iter().filter_map(|(_, node)| DriveKey::from_node(machine, node)).collect();
    if !keys.is_empty() {
        return keys;
    }
    let note = notes.about(function.address).filter(|note| note.boot == note::boot(machine));
    note.map_or_else(Vec::new, |note| note.namespaces.into_iter().map(|space| space.key).collect())
}

/// Makes all checks of [`open_pci`]; changes nothing.
fn plan(
    machine: &Machine,
    notes: &Notes,
    spec: &str,
    function: Function,
    request: &OpenRequest,
) -> Result<Plan, DriveError> {
    let parsed = Spec::parse(spec)?;
    if request.wants == Safety::Borrows {
        let text = format!("{spec} cannot be borrowed: its driver would not survive a kill");
        let hint = Some("--borrow with its device node, /dev/nvme0n1".into());
        return Err(DriveError::Refused { text, hint });
    }
    let word = request.destroy.as_deref();
    let (note, take) = match bound::holder(machine, notes, &function) {
        Holder::Kernel => (takeable(machine, spec, &function, word, request.no_iommu)?, true),
        Holder::Kept(note) => (confirmed(spec, *note, word)?, false),
        other => return Err(other.refusal(spec)),
    };
    let namespace = chosen(spec, &note, parsed.nsid)?;
    let overwrites = request.wants == Safety::Destroys && word.is_some();
    let safety = if overwrites { Safety::Destroys } else { Safety::Reads };
    let bytes = first_bytes(spec, namespace.bytes, namespace.block_bytes, request.size)?;
    Ok(Plan {
        destroys: overwrites.then(|| format!("everything on {spec}: {}", namespace.contents)),
        info: info(machine, spec, namespace, bytes, safety),
        nsid: namespace.nsid,
        function,
        take,
        note,
    })
}

/// Describes a drive that may be detached from the kernel. Any obstacle is an error; a missing or
/// wrong serial number is checked last, so that the right one bypasses no other check.
fn takeable(
    machine: &Machine,
    spec: &str,
    function: &Function,
    word: Option<&str>,
    no_iommu: bool,
) -> Result<Note, DriveError> {
    let nodes = function.namespaces();
    let graph = Graph::read(machine);
    let busy: Vec<String> = nodes.iter().flat_map(|(_, node)| graph.uses_of(node)).collect();
    if let Some(first) = busy.first() {
        let text = format!("{spec} cannot be taken from the kernel: {first}");
        return Err(refusal(text, "its device node"));
    }
    let group = function.group();
    if group.is_none() {
        without_iommu(spec, function, no_iommu)?;
    }
    let peers = function.group_peers();
    if !peers.is_empty() {
        let text = format!("the IOMMU cannot isolate {spec} from {}", peers.join(", "));
        return Err(refusal(text, "another slot, or unbind those from their drivers"));
    }
    let namespaces: Vec<Namespace> = nodes
        .iter()
        .map(|(nsid, node)| namespace(machine, *nsid, node))
        .collect::<Result<_, _>>()?;
    let serial = namespaces.iter().find_map(|namespace| namespace.drive.serial.clone());
    let Some(serial) = serial else {
        let text = format!("{spec} has no namespace with a serial number");
        return Err(refusal(text, "ssdyno list"));
    };
    let note = Note {
        address: function.address.to_string(),
        serial,
        group,
        kept: false,
        boot: note::boot(machine),
        namespaces,
    };
    let note = confirmed(spec, note, word)?;
    if word.is_none() {
        let text = format!("{spec} belongs to the kernel: taking it requires its serial number");
        let hint = format!("ssdyno prepare {spec} --bind=SERIAL; or --destroy=SERIAL with this");
        return Err(refusal(text, &hint));
    }
    Ok(note)
}

fn refusal(text: String, hint: &str) -> DriveError {
    DriveError::Refused { text, hint: Some(hint.into()) }
}

/// Checks whether a drive without an IOMMU may be used.
fn without_iommu(spec: &str, function: &Function, allowed: bool) -> Result<(), DriveError> {
    if !allowed {
        let text = format!("{spec} has no IOMMU to protect memory from it");
        let hint =
            "VT-d or AMD-Vi in the firmware and intel_iommu=on for Linux; or a run with --no-iommu";
        return Err(refusal(text, hint));
    }
    // On other architectures a drive's writes may bypass the processor's caches.
    if !cfg!(target_arch = "x86_64") {
        let text = format!("{spec} has no IOMMU, and --no-iommu is for x86-64 only");
        return Err(refusal(text, "its device node"));
    }
    function.can_be_silenced().map_err(|error| {
        let text =
            format!("{spec} cannot be reset, so nothing could stop it after a kill: {error}");
        refusal(text, "its device node")
    })
}

/// The note, if the word matches its serial number or is absent.
fn confirmed(spec: &str, note: Note, word: Option<&str>) -> Result<Note, DriveError> {
    match word {
        Some(given) if given != note.serial => Err(DriveError::Unconfirmed {
            path: spec.into(),
            given: given.into(),
            expected: "serial number",
            is: None,
        }),
        _ => Ok(note),
    }
}

fn namespace(machine: &Machine, nsid: u32, node: &Node) -> Result<Namespace, DriveError> {
    let error_gone = || DriveError::Gone { path: node.path() };
    let block_bytes = node.value("queue/logical_block_size").ok_or_else(error_gone)?;
    // Exclusive, so that a holder not visible in sysfs, such as ZFS, causes a refusal.
    let contents = if machine.is_here() {
        let file = open_node(std::path::Path::new(&node.path()), false, true)?;
        content_of(node, &file, block_bytes)
    } else {
        "unknown contents".into()
    };
    Ok(Namespace {
        nsid,
        bytes: node.bytes().ok_or_else(error_gone)?,
        block_bytes,
        drive: query::identify(machine, node, false),
        key: DriveKey::from_node(machine, node).ok_or_else(error_gone)?,
        contents,
    })
}

/// The requested namespace, or the only one.
fn chosen<'a>(spec: &str, note: &'a Note, nsid: Option<u32>) -> Result<&'a Namespace, DriveError> {
    let bad_size = |text: String| {
        let nsid = note.namespaces.first().map_or(1, |namespace| namespace.nsid);
        let hint = Some(format!("pci:{}/{nsid}", note.address));
        DriveError::BadSize { text, hint }
    };
    match (nsid, note.namespaces.as_slice()) {
        (None, [only]) => Ok(only),
        (None, all) => Err(bad_size(format!("{spec} has {} namespaces: name one", all.len()))),
        (Some(nsid), all) => all
            .iter()
            .find(|namespace| namespace.nsid == nsid)
            .ok_or_else(|| bad_size(format!("{spec}: there is no such namespace"))),
    }
}

fn info(
    machine: &Machine,
    spec: &str,
    namespace: &Namespace,
    bytes: u64,
    allowed: Safety,
) -> TargetInfo {
    let drive = DriveIdentity {
        path: Some(spec.to_string()),
        // These applied to the kernel's driver.
        scheduler: None,
        transfer_max_bytes: None,
        ..namespace.drive.clone()
    };
    let discard = drive.discard_max_bytes.is_some_and(|bytes| bytes > 0);
    let (limits, formats) = (Limits::of_drive(Some(&drive)), drive.formats.clone());
    let target = Target {
        spec: spec.to_string(),
        kind: TargetKind::Device,
        path: Some(spec.to_string()),
        bytes: Some(bytes),
        drive: Some(drive),
        direct: Some(true),
        ..Target::default()
    };
    TargetInfo {
        target,
        bytes,
        logical_block_bytes: namespace.block_bytes,
        allowed,
        ram: false,
        discard: discard && allowed == Safety::Destroys,
        state: State::Unknown,
        formats,
        bus: Bus::parse("nvme"),
        limits,
        rates: None,
        guest: host::hypervisor(machine),
    }
}
