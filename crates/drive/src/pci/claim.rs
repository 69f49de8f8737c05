//! Taking a drive from the kernel, and giving it back.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::function::{Function, KERNEL, VFIO};
use super::note::{Namespace, Note, Notes};
use crate::error::DriveError;
use crate::key::DriveKey;
use crate::machine::Machine;
use crate::open::device::open_node;
use crate::usage;

/// Time for the kernel to find the namespaces again. A drive may take seconds to become ready.
const RETURN: Duration = Duration::from_secs(30);
const RETURN_STEP: Duration = Duration::from_millis(20);

/// The right to drive a controller, for this process alone.
#[derive(Debug)]
pub struct Claim {
    function: Function,
    notes: Notes,
    note: Note,
    nsid: u32,
    /// Taken for this run: it goes back with the claim.
    taken: bool,
    /// The locked note.
    _lock: File,
}

impl Claim {
    /// Takes a controller from the kernel.
    pub(super) fn take(
        machine: &Machine,
        notes: Notes,
        function: Function,
        note: Note,
        nsid: u32,
    ) -> Result<Claim, DriveError> {
        let lock = take(machine, &notes, &function, &note)?;
        Ok(Claim { function, notes, note, nsid, taken: true, _lock: lock })
    }

    /// Claims a controller that was bound to stay so.
    pub(super) fn of_kept(
        notes: Notes,
        function: Function,
        note: Note,
        nsid: u32,
    ) -> Result<Claim, DriveError> {
        let lock = notes.lock(function.address).ok_or_else(|| running(&note.address))?;
        Ok(Claim { function, notes, note, nsid, taken: false, _lock: lock })
    }

    /// Address of the function, `0000:00:05.0`.
    pub fn address(&self) -> String {
        self.note.address.clone()
    }

    /// Its IOMMU group.
    pub fn group(&self) -> &str {
        &self.note.group
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

    /// The key by which the drive is recognised when the kernel has it again.
    pub fn key(&self) -> Option<DriveKey> {
        self.namespace().map(|namespace| namespace.key.clone())
    }

    fn namespace(&self) -> Option<&Namespace> {
        self.note.namespaces.iter().find(|namespace| namespace.nsid == self.nsid)
    }

    /// Checks that nobody has taken it away meanwhile.
    pub fn check(&self) -> Result<(), DriveError> {
        match self.function.driver().as_deref() {
            Some(VFIO) => Ok(()),
            now => Err(DriveError::Changed {
                path: format!("pci:{}", self.note.address),
                what: format!("its driver was {VFIO}, now {}", now.unwrap_or("none")),
            }),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.taken {
            // A drive that does not go back keeps its note, and `recover` says why.
            let _ = give_back(&self.notes, &self.function, self.note.namespaces.len());
        }
    }
}

/// The error for a drive that another process has.
pub(super) fn running(address: &str) -> DriveError {
    let text = format!("pci:{address} is used by another ssdyno");
    DriveError::Refused { text, hint: None }
}

/// Binds a controller to `vfio-pci`. Its namespaces are held exclusively until the kernel has let
/// them go, so that none can be mounted in between. Returns the locked note.
pub(super) fn take(
    machine: &Machine,
    notes: &Notes,
    function: &Function,
    note: &Note,
) -> Result<File, DriveError> {
    let name = format!("pci:{}", note.address);
    load(function, VFIO);
    load(function, "vfio_iommu_type1");
    if !function.has_driver(VFIO) {
        let text = format!("{name} cannot be taken: this kernel has no driver {VFIO}");
        return Err(DriveError::Refused { text, hint: Some(format!("modprobe {VFIO}")) });
    }
    let nodes = function.namespaces();
    let hold = |node: &crate::node::Node| open_node(Path::new(&node.path()), false, true);
    let held = nodes.iter().map(|(_, node)| hold(node)).collect::<Result<Vec<_>, _>>()?;
    let reasons: Vec<String> =
        nodes.iter().flat_map(|(_, node)| usage::uses_of(machine, node)).collect();
    if !reasons.is_empty() || nodes.len() != note.namespaces.len() {
        return Err(DriveError::InUse { path: name, reasons });
    }
    let lock = notes.keep(function.address, note)?;
    let bound = function
        .set("driver_override", VFIO)
        .and_then(|()| function.announce(&format!("drivers/{KERNEL}/unbind")))
        .and_then(|()| function.announce("drivers_probe"));
    drop(held);
    match (bound, function.driver().as_deref()) {
        (Ok(()), Some(VFIO)) => Ok(lock),
        (bound, _) => {
            give_back(notes, function, note.namespaces.len())?;
            bound?;
            let text = format!("{name}: {VFIO} does not take it");
            Err(DriveError::Refused { text, hint: Some("dmesg, for the reason".into()) })
        }
    }
}

/// Gives a controller back to the kernel's driver, waits for so many namespaces, and removes its note.
pub(super) fn give_back(
    notes: &Notes,
    function: &Function,
    namespaces: usize,
) -> Result<(), DriveError> {
    // An empty line clears it.
    function.set("driver_override", "\n")?;
    let driver = function.driver();
    if driver.as_deref() == Some(VFIO) {
        function.announce(&format!("drivers/{VFIO}/unbind"))?;
    }
    if driver.as_deref() != Some(KERNEL) {
        load(function, KERNEL);
        function.announce(&format!("drivers/{KERNEL}/bind"))?;
    }
    let begin = Instant::now();
    while function.namespaces().len() < namespaces {
        if begin.elapsed() > RETURN {
            let context = format!("pci:{} went back to the kernel", function.address);
            let what = std::io::Error::other("its namespaces do not appear: see dmesg");
            return Err(DriveError::io(context, what));
        }
        thread::sleep(RETURN_STEP);
    }
    notes.forget(function.address)
}

/// Loads a module, if the system can. Whether it helped is seen later.
fn load(function: &Function, module: &str) {
    if !function.has_driver(module) {
        let mut modprobe = Command::new("modprobe");
        let quiet = modprobe.arg("-q").arg(module).stdin(Stdio::null());
        let _ = quiet.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}
