//! Drives detached from the kernel: their holders, binding for later runs, and their return.

use serde::Serialize;

use super::address::Address;
use super::claim::{give_back, running, take};
use super::function::{Function, KERNEL, VFIO};
use super::note::{self, Note, Notes};
use crate::error::DriveError;
use crate::machine::Machine;

/// The holder of a controller.
#[derive(Debug)]
pub(super) enum Holder {
    /// The kernel's driver.
    Kernel,
    /// No process: it was bound with `prepare --bind`, for later runs.
    Kept(Box<Note>),
    /// No process: the run that detached it was killed, or could not return it.
    Left(Box<Note>),
    /// A run.
    Running(String),
    /// Another driver or program, or none.
    Foreign(Option<String>),
}

/// Determines the holder of a controller.
pub(super) fn holder(machine: &Machine, notes: &Notes, function: &Function) -> Holder {
    let driver = function.driver();
    if driver.as_deref() == Some(KERNEL) {
        return Holder::Kernel;
    }
    let note = notes.about(function.address).filter(|note| note.boot == note::boot(machine));
    match note.filter(|_| driver.as_deref().is_none_or(|driver| driver == VFIO)) {
        None => Holder::Foreign(driver),
        Some(note) if notes.lock(function.address).is_none() => Holder::Running(note.address),
        Some(note) if note.kept => Holder::Kept(Box::new(note)),
        Some(note) => Holder::Left(Box::new(note)),
    }
}

impl Holder {
    /// The reason why a drive with this holder is not used.
    pub fn refusal(self, spec: &str) -> DriveError {
        let (text, hint) = match self {
            Holder::Running(address) => return running(&address),
            Holder::Left(_) => {
                let text = format!("{spec} was left by a run that was killed");
                (text, "ssdyno recover, which returns it to the kernel")
            }
            Holder::Foreign(Some(driver)) if driver == VFIO => {
                let text = format!("{spec} is bound to {VFIO}, but not by ssdyno");
                (text, "the program that uses it, such as a virtual machine")
            }
            Holder::Foreign(Some(driver)) => {
                (format!("{spec} has the driver {driver}"), "unbind it from that driver first")
            }
            _ => {
                let text = format!("{spec} has no driver, so whether it is in use is unknown");
                (text, "bind it to the kernel's driver nvme first")
            }
        };
        DriveError::Refused { text, hint: Some(hint.into()) }
    }

    /// The holder in words, for a list.
    fn in_words(&self) -> String {
        match self {
            Holder::Kernel => "with the kernel".into(),
            Holder::Kept(_) => "bound by ssdyno prepare --bind".into(),
            Holder::Left(_) => "left by a run that was killed".into(),
            Holder::Running(_) => "used by a run of ssdyno".into(),
            Holder::Foreign(Some(_)) => "bound by another program".into(),
            Holder::Foreign(None) => "without a driver".into(),
        }
    }

    /// The command that returns the drive to the kernel, if ssdyno detached it and no run uses it.
    fn return_command(&self, address: &Address) -> Option<String> {
        match self {
            Holder::Kept(_) => Some(format!("ssdyno prepare pci:{address} --unbind")),
            Holder::Left(_) => Some("ssdyno recover".into()),
            _ => None,
        }
    }
}

/// An NVMe drive without the kernel's driver.
#[derive(Clone, Debug, Serialize)]
pub struct BoundDrive {
    /// The target: `pci:0000:00:05.0`.
    pub target: String,
    /// Driver of the function.
    pub driver: Option<String>,
    /// Serial number, if ssdyno bound it.
    pub serial: Option<String>,
    /// Model, if ssdyno bound it.
    pub model: Option<String>,
    /// Bytes of its namespaces, if ssdyno bound it.
    pub bytes: Option<u64>,
    /// The holder, in words.
    pub holder: String,
    /// The command that returns the drive to the kernel.
    pub give_back: Option<String>,
}

/// All NVMe drives of this machine without the kernel's driver.
pub fn list() -> Vec<BoundDrive> {
    let machine = Machine::here();
    listed(&machine, &Notes::new(&machine))
}

pub(super) fn listed(machine: &Machine, notes: &Notes) -> Vec<BoundDrive> {
    let drives = Function::all(machine).into_iter().filter_map(|function| {
        let holder = holder(machine, notes, &function);
        let note = match &holder {
            Holder::Kernel => return None,
            Holder::Kept(note) | Holder::Left(note) => Some((**note).clone()),
            Holder::Running(_) => notes.about(function.address),
            Holder::Foreign(_) => None,
        };
        let namespace = note.as_ref().and_then(|note| note.namespaces.first());
        Some(BoundDrive {
            target: format!("pci:{}", function.address),
            driver: function.driver(),
            model: namespace.and_then(|namespace| namespace.drive.model.clone()),
            bytes: note.as_ref().map(|note| note.namespaces.iter().map(|n| n.bytes).sum()),
            holder: holder.in_words(),
            give_back: holder.return_command(&function.address),
            serial: note.map(|note| note.serial),
        })
    });
    drives.collect()
}

/// Detaches a drive from the kernel until [`unbind`]. Refused unless its serial number is `serial`.
pub fn bind(spec: &str, serial: &str) -> Result<(), DriveError> {
    let (machine, notes, function) = super::here(spec)?;
    match holder(&machine, &notes, &function) {
        Holder::Kernel => {
            let note = super::takeable(&machine, spec, &function, Some(serial), false)?;
            let note = Note { kept: true, ..note };
            take(&machine, &notes, &function, &note).map(drop)
        }
        // Already bound.
        Holder::Kept(note) => super::confirmed(spec, *note, Some(serial)).map(drop),
        other => Err(other.refusal(spec)),
    }
}

/// Returns a drive to the kernel.
pub fn unbind(spec: &str) -> Result<(), DriveError> {
    let (machine, notes, function) = super::here(spec)?;
    match holder(&machine, &notes, &function) {
        Holder::Kernel => Ok(()),
        Holder::Kept(note) | Holder::Left(note) => {
            let _lock = notes.lock(function.address).ok_or_else(|| running(&note.address))?;
            give_back(&notes, &function, Some(&note))
        }
        other => Err(other.refusal(spec)),
    }
}

/// The result of returning a drive that a killed run had detached.
#[derive(Clone, Debug, Serialize)]
pub struct Returned {
    /// The target: `pci:0000:00:05.0`.
    pub target: String,
    pub serial: String,
    /// Why the drive was not returned to the kernel; `null` if it was.
    pub failed: Option<String>,
}

/// Whether the drive of a target was not returned to the kernel after its run.
pub fn stayed_away(spec: &str) -> bool {
    super::here(spec).is_ok_and(|(machine, notes, function)| {
        matches!(holder(&machine, &notes, &function), Holder::Left(_))
    })
}

/// The drives that killed runs left detached from the kernel, in words: target, model, serial
/// number.
pub fn left_detached() -> Vec<String> {
    let machine = Machine::here();
    let detached = left(&machine, &Notes::new(&machine));
    detached.iter().map(|(_, note)| note.in_words()).collect()
}

/// Gives every drive detached by a killed run back to the kernel, and removes obsolete notes.
pub fn recover() -> Vec<Returned> {
    let machine = Machine::here();
    let notes = Notes::new(&machine);
    let mut returned = Vec::new();
    for (function, note) in left(&machine, &notes) {
        let Some(_lock) = notes.lock(function.address) else { continue };
        let result = give_back(&notes, &function, Some(&note));
        returned.push(Returned {
            target: format!("pci:{}", note.address),
            serial: note.serial,
            failed: result.err().map(|error| error.to_string()),
        });
    }
    notes.all().into_iter().for_each(|address| tidy(&machine, &notes, address));
    returned
}

/// Drives that killed runs had detached.
pub(super) fn left(machine: &Machine, notes: &Notes) -> Vec<(Function, Note)> {
    Function::all(machine)
        .into_iter()
        .filter_map(|function| match holder(machine, notes, &function) {
            Holder::Left(note) => Some((function, *note)),
            _ => None,
        })
        .collect()
}

/// Removes the note of a run that was killed before the kernel released the drive, or before the
/// last boot. If this fails, the next call tries again.
fn tidy(machine: &Machine, notes: &Notes, address: Address) {
    let function = Function::at(machine, address);
    let holder = function.as_ref().map(|function| holder(machine, notes, function));
    let Some(_lock) = notes.lock(address) else { return };
    let _ = match holder {
        Some(Holder::Kept(_) | Holder::Left(_) | Holder::Running(_)) => return,
        // The function may still have an override for the other driver.
        Some(Holder::Kernel) => function.map_or(Ok(()), |f| give_back(notes, &f, None)),
        Some(Holder::Foreign(_)) | None => notes.forget(address),
    };
}
