//! Opens the target named by the user, after all possible checks.
//!
//! A directory gets a scratch file. A file or block device is opened as it is, for reading unless
//! confirmed with `--destroy` (a device: or borrowed). Each kind of target first creates a [`Plan`]
//! without changing anything, at which `--dry-run` ends; opening carries out the plan.

pub(crate) mod device;
mod file;
mod scratch;
mod table;

use std::fs::{File, FileType};
use std::path::{Path, PathBuf};

use record::{DriveIdentity, FileSystem, Safety, State, Target, TargetKind};
use rig::{Bus, Limits, TargetInfo};

use crate::error::DriveError;
use crate::guard::{Guard, Identity};
use crate::host;
use crate::machine::Machine;
use crate::node::Node;
use crate::open_file::FileIdentity;
use crate::pci::address::PREFIX;
use crate::query;
use crate::stack::Stack;
use crate::watch::Watch;

/// The intended use of a target.
#[derive(Clone, Debug)]
pub struct OpenRequest {
    /// Bytes to use (`--size`). For a directory, the size of the scratch file: by default 1 GiB or
    /// what `passes` says, or less if space is short. For a file or device, its first bytes: by default all.
    pub size: Option<u64>,
    /// The most destructive use intended. A directory always gets `scratch`. A file or device gets
    /// `destroys` if wanted and confirmed; a device gets `borrows` if wanted and unused; otherwise
    /// `reads`.
    pub wants: Safety,
    /// Confirmation (`--destroy`): the serial number of the drive, or the size in bytes of a file
    /// or of a device without a serial number. A wrong value is always refused; a directory refuses
    /// any value.
    pub destroy: Option<String>,
    /// Allows taking a drive without an IOMMU from the kernel (`--no-iommu`).
    pub no_iommu: bool,
    /// Allows a scratch file of a given size to fill the file system, except the root file system.
    /// Otherwise [`crate::kept_free`] applies.
    pub fills: bool,
    /// How many times over a scratch file is written at most, if it stands for a drive: its default
    /// size is then the budget of writes divided by this.
    pub passes: Option<f64>,
    /// The name of a scratch file that stays, in the directory. It must not exist yet.
    pub keep: Option<PathBuf>,
}

impl OpenRequest {
    /// A request to use all of a target for `wants`, without a confirmation or exception.
    pub fn to(wants: Safety) -> OpenRequest {
        OpenRequest {
            size: None,
            wants,
            destroy: None,
            no_iommu: false,
            fills: false,
            passes: None,
            keep: None,
        }
    }
}

/// A target that passed every check and was not changed.
#[derive(Clone, Debug)]
pub struct PlannedTarget {
    /// The target as [`open`] would return it.
    pub info: TargetInfo,
    /// The data that would be lost, in words: the contents of a confirmed drive or file.
    pub destroys: Option<String>,
    /// Identity of the file, if the target is a file.
    pub file: Option<FileIdentity>,
}

/// A target ready for I/O.
#[derive(Debug)]
pub struct Opened {
    /// Properties for methods and records.
    pub info: TargetInfo,
    /// The target, opened without O_DIRECT, for writing if allowed. A scratch file is empty and
    /// disappears when its last descriptor is closed.
    file: File,
    /// Counters and temperature of the drive.
    pub watch: Watch,
    /// To check before each phase, and to keep until the end.
    pub guard: Guard,
    /// The data that a run will overwrite, in words, for a confirmed target.
    pub destroys: Option<String>,
    /// Scratch files of killed runs removed from the directory.
    pub orphans_removed: usize,
    /// The request, for reopening the target after a format.
    pub request: OpenRequest,
}

impl Opened {
    /// The descriptor, only for the devices of the engine and the journal.
    pub fn file(&self) -> &File {
        &self.file
    }
}

pub use file::check_unused;
pub use scratch::NamedScratch;

/// Opens a directory, file or block device of this machine.
pub fn open(spec: &str, request: &OpenRequest) -> Result<Opened, DriveError> {
    open_planned(spec, request, None)
}

/// Like [`open`], but fails if the target is no longer the planned file.
pub fn open_planned(
    spec: &str,
    request: &OpenRequest,
    planned: Option<FileIdentity>,
) -> Result<Opened, DriveError> {
    let machine = Machine::here();
    let plan = plan(&machine, spec, request)?;
    if planned.is_some_and(|file| !plan.file().is_some_and(|now| now.is_same_file(&file))) {
        let change = "its name no longer refers to the planned file".into();
        return Err(DriveError::Changed { path: spec.into(), what: change });
    }
    plan.carry_out(&machine, request)
}

/// Makes all checks of [`open`]; creates nothing and opens nothing for writing.
pub(crate) fn plan_here(spec: &str, request: &OpenRequest) -> Result<PlannedTarget, DriveError> {
    let plan = plan(&Machine::here(), spec, request)?;
    Ok(PlannedTarget { file: plan.file(), info: plan.info, destroys: plan.destroys })
}

/// A target that may be opened, and its mode.
struct Plan {
    info: TargetInfo,
    stack: Stack,
    /// Identity of the target; `None` for a directory, whose scratch file is new.
    identity: Option<Expected>,
    destroys: Option<String>,
}

/// The expected identity of the target.
enum Expected {
    Device(Identity),
    File(FileIdentity),
}

impl Plan {
    fn file(&self) -> Option<FileIdentity> {
        match self.identity {
            Some(Expected::File(identity)) => Some(identity),
            _ => None,
        }
    }

    fn carry_out(self, machine: &Machine, request: &OpenRequest) -> Result<Opened, DriveError> {
        let path = Path::new(self.info.target.path.as_deref().unwrap_or_default());
        let mut orphans_removed = 0;
        let safety = self.info.allowed;
        let (file, guard) = match self.identity {
            None => {
                orphans_removed = scratch::remove_orphans(path);
                scratch::create(path, request.keep.as_deref())?
            }
            Some(Expected::Device(identity)) => device::open(machine, path, safety, identity)?,
            Some(Expected::File(identity)) => file::open(machine, path, safety, identity)?,
        };
        let watch = Watch::on(&self.stack);
        let (info, destroys) = (self.info, self.destroys);
        let request = request.clone();
        Ok(Opened { info, file, watch, guard, destroys, orphans_removed, request })
    }
}

fn plan(machine: &Machine, spec: &str, request: &OpenRequest) -> Result<Plan, DriveError> {
    if spec.starts_with(PREFIX) {
        let problem =
            "a drive without the kernel's driver: it has no device node, but one is needed";
        return Err(DriveError::Refused {
            text: format!("{spec} is {problem}"),
            hint: Some("the device node from ssdyno list, /dev/nvme0n1".into()),
        });
    }
    if request.size == Some(0) {
        return Err(DriveError::BadSize {
            text: "a size of 0 leaves nothing to measure".into(),
            hint: Some("--size 1GiB".into()),
        });
    }
    let path = Path::new(spec);
    let meta = std::fs::metadata(path).map_err(|e| DriveError::from_io("read", path, e))?;
    let kind = meta.file_type();
    if kind.is_dir() {
        scratch::plan(machine, spec, request)
    } else if kind.is_file() {
        file::plan(machine, spec, &meta, request)
    } else {
        device::plan(machine, spec, block_number(spec, &meta)?, request)
    }
}

/// Device number of a block device; an error for other files.
fn block_number(spec: &str, meta: &std::fs::Metadata) -> Result<u64, DriveError> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let kind: FileType = meta.file_type();
    if kind.is_block_device() {
        return Ok(meta.rdev());
    }
    let what = if kind.is_char_device() {
        "a character device"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_fifo() {
        "a pipe"
    } else {
        "neither a directory, nor a file, nor a block device"
    };
    // /dev/nvme0 is the controller; its first namespace is the drive.
    let namespace = format!("{spec}n1");
    let hint = Path::new(&namespace).exists().then_some(namespace);
    Err(DriveError::NotATarget { path: spec.into(), what, hint })
}

/// The parts of a [`TargetInfo`] that depend on the kind of target.
struct Facts<'a> {
    spec: &'a str,
    kind: TargetKind,
    path: &'a Path,
    bytes: u64,
    filesystem: Option<FileSystem>,
    logical_block_bytes: u32,
    allowed: Safety,
    discard: bool,
}

impl Facts<'_> {
    fn info(self, machine: &Machine, stack: &Stack) -> TargetInfo {
        let drive: Option<DriveIdentity> =
            stack.drive.as_ref().map(|node| query::identify(machine, node, stack.ram));
        let formats =
            drive.as_ref().map_or_else(Vec::new, |d| formats(self.kind, &stack.layers, d));
        let bus =
            if stack.ram { Bus::Ram } else { Bus::parse(drive.as_ref().map_or("", |d| &d.bus)) };
        let group = host::group_limits(machine, stack);
        let layers = stack.passed.iter().chain(&stack.disks).map(Node::disk);
        let queue_requests = layers.filter_map(|node| node.value("queue/nr_requests")).min();
        let limits = Limits { group, queue_requests, ..Limits::of_drive(drive.as_ref()) };
        let target = Target {
            spec: self.spec.to_string(),
            kind: self.kind,
            path: Some(self.path.display().to_string()),
            bytes: Some(self.bytes),
            drive,
            layers: stack.layers.clone(),
            filesystem: self.filesystem,
            direct: None,
        };
        TargetInfo {
            target,
            bytes: self.bytes,
            logical_block_bytes: self.logical_block_bytes,
            allowed: self.allowed,
            ram: stack.ram,
            discard: self.discard,
            state: State::Unknown,
            formats,
            bus,
            limits,
            rates: None,
            guest: host::hypervisor(machine),
        }
    }
}

/// The formats that a target may request. A format erases the whole drive, so files, partitions and
/// other layers on it have none.
fn formats(kind: TargetKind, layers: &[String], drive: &DriveIdentity) -> Vec<u32> {
    if kind == TargetKind::Device && layers.is_empty() { drive.formats.clone() } else { Vec::new() }
}

/// The first `requested` bytes of a target with `there` bytes, in whole blocks.
pub(crate) fn first_bytes(
    spec: &str,
    there: u64,
    block_bytes: u32,
    requested: Option<u64>,
) -> Result<u64, DriveError> {
    let in_blocks = |bytes: u64| bytes - bytes % u64::from(block_bytes.max(1));
    let hint = (in_blocks(there) > 0).then(|| format!("--size {}", in_blocks(there)));
    let bad_size = |text: String| DriveError::BadSize { text, hint };
    if in_blocks(there) == 0 {
        return Err(bad_size(format!(
            "{spec} has {there} bytes, less than one block of {block_bytes}"
        )));
    }
    match requested {
        Some(bytes) if bytes > there => {
            Err(bad_size(format!("{bytes} bytes were requested, {spec} has {there}")))
        }
        Some(bytes) if in_blocks(bytes) == 0 => {
            Err(bad_size(format!("{bytes} bytes are less than one block of {block_bytes} bytes")))
        }
        Some(bytes) => Ok(in_blocks(bytes)),
        None => Ok(in_blocks(there)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_drive_may_request_another_format() {
        let drive = DriveIdentity { formats: vec![512, 4096], ..DriveIdentity::default() };
        let of = |kind, layers: &[&str]| {
            let layers: Vec<String> = layers.iter().map(|layer| layer.to_string()).collect();
            formats(kind, &layers, &drive)
        };
        assert_eq!(of(TargetKind::Device, &[]), [512, 4096]);
        assert!(of(TargetKind::Device, &["/dev/nvme0n1p1"]).is_empty(), "a partition");
        assert!(of(TargetKind::File, &[]).is_empty(), "a file");
        assert!(of(TargetKind::Directory, &[]).is_empty(), "a directory");
    }

    #[test]
    fn the_first_bytes_are_existing_whole_blocks() {
        let first = |there, size| {
            first_bytes("d", there, 512, size).map_err(|error| match error {
                DriveError::BadSize { hint, .. } => hint.unwrap_or_else(|| "no hint".into()),
                other => other.to_string(),
            })
        };
        assert_eq!(first(10_000, None), Ok(9728));
        assert_eq!(first(10_000, Some(10_000)), Ok(9728), "the whole target");
        assert_eq!(first(10_000, Some(1024)), Ok(1024));
        assert_eq!(first(10_000, Some(1500)), Ok(1024));
        assert_eq!(first(10_000, Some(10_001)), Err("--size 9728".into()));
        assert_eq!(first(10_000, Some(511)), Err("--size 9728".into()));
        assert_eq!(first(511, Some(1)), Err("no hint".into()), "less than one block");
        assert_eq!(first(512, None), Ok(512));
    }
}
