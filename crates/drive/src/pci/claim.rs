//! Detaches a drive from the kernel and returns it.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::function::{Function, KERNEL, NOBODY, VFIO};
use super::guard::Guard;
use super::note::{Namespace, Note, Notes};
use crate::error::DriveError;
use crate::graph::Graph;
use crate::hold::open_node;
use crate::key::DriveKey;
use crate::machine::Machine;
use crate::response::nvme::formatted as nvme_formatted;

/// Time for the kernel to find the namespaces again. A drive may need seconds to become ready.
const RETURN: Duration = Duration::from_secs(30);
const RETURN_STEP: Duration = Duration::from_millis(20);

/// This process's exclusive right to use a controller.
#[derive(Debug)]
pub struct ControllerClaim {
    function: Function,
    notes: Notes,
    note: Note,
    nsid: u32,
    /// Detached for this run: returned when the claim is dropped.
    taken: bool,
    /// The guard of a drive used without an IOMMU.
    guard: Option<Guard>,
    /// The locked note.
    _lock: File,
}

/// How the driver in this process accesses a function, and how the function accesses memory.
#[derive(Debug)]
pub enum Reach<'a> {
    /// Through VFIO, in an IOMMU group.
    Iommu { group: &'a str },
    /// Without an IOMMU: through sysfs and physical addresses.
    Physical {
        /// Directory of the function in sysfs.
        directory: &'a Path,
        /// An initially empty file of 2 MiB huge pages. The function must be given no other memory:
        /// a guard process holds these pages until the function can no longer access memory.
        pages: &'a File,
    },
}

impl ControllerClaim {
    /// Detaches a controller from the kernel.
    pub(super) fn take(
        machine: &Machine,
        notes: Notes,
        function: Function,
        note: Note,
        nsid: u32,
    ) -> Result<ControllerClaim, DriveError> {
        let lock = take(machine, &notes, &function, &note)?;
        let mut claim =
            ControllerClaim { function, notes, note, nsid, taken: true, guard: None, _lock: lock };
        // Dropping the claim now returns the controller.
        if claim.note.group.is_none() {
            claim.begin_without_iommu()?;
        }
        Ok(claim)
    }

    /// Claims a controller bound with `prepare --bind`.
    pub(super) fn from_kept(
        notes: Notes,
        function: Function,
        note: Note,
        nsid: u32,
    ) -> Result<ControllerClaim, DriveError> {
        let lock = notes.lock(function.address).ok_or_else(|| running(&note.address))?;
        Ok(ControllerClaim { function, notes, note, nsid, taken: false, guard: None, _lock: lock })
    }

    fn begin_without_iommu(&mut self) -> Result<(), DriveError> {
        let guard = Guard::start(self.function.address, &self._lock).map_err(|e| {
            DriveError::io(format!("using pci:{} without an IOMMU", self.note.address), e)
        });
        self.guard = Some(guard?);
        self.function.set("enable", "1")
    }

    /// Address of the function, `0000:00:05.0`.
    pub fn address(&self) -> String {
        self.note.address.clone()
    }

    /// How the function is accessed.
    pub fn reach(&self) -> Reach<'_> {
        match &self.guard {
            Some(Guard { pages, .. }) => {
                Reach::Physical { directory: self.function.directory(), pages }
            }
            None => Reach::Iommu { group: self.note.group.as_deref().unwrap_or_default() },
        }
    }

    /// Serial number of the drive.
    pub fn serial(&self) -> &str {
        &self.note.serial
    }

    /// The namespace.
    pub fn nsid(&self) -> u32 {
        self.nsid
    }

    /// Bytes of the namespace.
    pub fn bytes(&self) -> u64 {
        self.namespace().map_or(0, |namespace| namespace.bytes)
    }

    /// The key to recognise the drive when it has been returned to the kernel.
    pub fn key(&self) -> Option<DriveKey> {
        self.namespace().map(|namespace| namespace.key.clone())
    }

    fn namespace(&self) -> Option<&Namespace> {
        self.note.namespaces.iter().find(|namespace| namespace.nsid == self.nsid)
    }

    /// Notes that the namespace was formatted. A drive bound permanently is then recognised by the
    /// next run.
    pub fn formatted(&mut self, found: &nvme::identify::Namespace) -> Result<(), DriveError> {
        let nsid = self.nsid;
        let format = found.format();
        let namespace = self.note.namespaces.iter_mut().find(|namespace| namespace.nsid == nsid);
        let (Some(format), Some(namespace)) = (format, namespace) else { return Ok(()) };
        nvme_formatted(&mut namespace.drive, found);
        namespace.bytes = found.size * u64::from(format.block_bytes);
        namespace.block_bytes = format.block_bytes;
        (namespace.key.bytes, namespace.key.disk_bytes) = (namespace.bytes, namespace.bytes);
        if !self.taken {
            self._lock = self.notes.keep(self.function.address, &self.note)?;
        }
        Ok(())
    }

    /// Checks that the drive is still bound as before and its guard process is alive.
    pub fn check(&self) -> Result<(), DriveError> {
        let changed =
            |what| DriveError::Changed { path: format!("pci:{}", self.note.address), what };
        let (expected, now) = (self.note.group.as_ref().map(|_| VFIO), self.function.driver());
        if expected != now.as_deref() {
            let [expected, now] = [expected, now.as_deref()].map(|driver| driver.unwrap_or("none"));
            return Err(changed(format!("its driver was {expected}, now {now}")));
        }
        if self.guard.as_ref().is_none_or(Guard::is_there) {
            Ok(())
        } else {
            Err(changed("its guard process has ended".into()))
        }
    }
}

impl Drop for ControllerClaim {
    fn drop(&mut self) {
        if !self.taken {
            return;
        }
        // If the drive cannot be returned, it keeps its note, and `recover` reports the reason.
        if self.guard.as_mut().is_none_or(|guard| guard.end().is_ok()) {
            let _ = give_back(&self.notes, &self.function, Some(&self.note));
        }
    }
}

/// The error for a drive that another process uses.
pub(super) fn running(address: &str) -> DriveError {
    let text = format!("pci:{address} is used by another ssdyno");
    DriveError::Refused { text, hint: None }
}

/// Detaches a controller from its driver, and binds it to `vfio-pci` if it has an IOMMU. Its
/// namespaces are held exclusively until the kernel has released them, so that none can be mounted
/// meanwhile. Returns the locked note.
pub(super) fn take(
    machine: &Machine,
    notes: &Notes,
    function: &Function,
    note: &Note,
) -> Result<File, DriveError> {
    let name = format!("pci:{}", note.address);
    let driver = note.group.as_ref().map(|_| VFIO);
    if driver.is_some() {
        load(function, VFIO);
        load(function, "vfio_iommu_type1");
        if !function.has_driver(VFIO) {
            let text = format!("{name} cannot be taken: this kernel has no {VFIO} driver");
            return Err(DriveError::Refused { text, hint: Some(format!("modprobe {VFIO}")) });
        }
    }
    let nodes = function.namespaces();
    let files = nodes.iter().map(|(_, node)| open_node(Path::new(&node.path()), false, true));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let graph = Graph::read(machine);
    let reasons: Vec<String> = nodes.iter().flat_map(|(_, node)| graph.uses_of(node)).collect();
    if !reasons.is_empty() {
        return Err(DriveError::InUse { path: name, reasons });
    }
    let (noted_count, now) = (note.namespaces.len(), nodes.len());
    if noted_count != now {
        let change = format!("the number of its namespaces was {noted_count}, now {now}");
        return Err(DriveError::Changed { path: name, what: change });
    }
    let lock = notes.keep(function.address, note)?;
    let bound = function
        .set("driver_override", driver.unwrap_or(NOBODY))
        .and_then(|()| function.announce(&format!("drivers/{KERNEL}/unbind")))
        .and_then(|()| function.announce("drivers_probe"));
    drop(files);
    match bound {
        Ok(()) if function.driver().as_deref() == driver => Ok(lock),
        bound => {
            give_back(notes, function, Some(note))?;
            bound?;
            let text = match driver {
                Some(driver) => format!("{driver} did not bind {name}"),
                None => format!("{name} was bound to a driver again"),
            };
            Err(DriveError::Refused { text, hint: Some("dmesg, for the reason".into()) })
        }
    }
}

/// Returns a controller to the kernel's driver, waits for its namespaces, and removes its note.
/// `note` is `None` if the kernel already has the controller.
pub(super) fn give_back(
    notes: &Notes,
    function: &Function,
    note: Option<&Note>,
) -> Result<(), DriveError> {
    let driver = function.driver();
    if note.is_some_and(|note| note.group.is_none()) && driver.is_none() {
        function.silence().map_err(|e| {
            DriveError::io(format!("disabling memory access of pci:{}", function.address), e)
        })?;
        // Fails if the function was not enabled.
        let _ = function.set("enable", "0");
    }
    // An empty line clears the override.
    function.set("driver_override", "\n")?;
    if driver.as_deref() == Some(VFIO) {
        function.announce(&format!("drivers/{VFIO}/unbind"))?;
    }
    if driver.as_deref() != Some(KERNEL) {
        load(function, KERNEL);
        function.announce(&format!("drivers/{KERNEL}/bind"))?;
    }
    let begin = Instant::now();
    let namespaces = note.map_or(0, |note| note.namespaces.len());
    while function.namespaces().len() < namespaces {
        if begin.elapsed() > RETURN {
            let context = format!("pci:{} was returned to the kernel", function.address);
            let problem = std::io::Error::other("its namespaces did not appear: see dmesg");
            return Err(DriveError::io(context, problem));
        }
        thread::sleep(RETURN_STEP);
    }
    notes.forget(function.address)
}

/// Loads a module, if the system can. The caller checks the result.
fn load(function: &Function, module: &str) {
    if !function.has_driver(module) {
        let mut modprobe = Command::new("modprobe");
        let quiet = modprobe.arg("-q").arg(module).stdin(Stdio::null());
        let _ = quiet.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}
