//! From what the user typed to a rig: a real target, a virtual drive, or `null:`, which is none.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use drive::{OpenRequest, Planned};
use engine::{Machine, Options, Simulator};
use journal::Place;
use lab::virtual_drive;
use record::{Health, Plan, Safety, State};
use rig::{Observer, Rig, TargetInfo};
use workload::units;

use crate::cli::{InstrumentArgs, TargetArgs};
use crate::failure::Result;

/// The target that completes everything at once: what runs on it measures the instrument.
const NULL: &str = "null:";

/// Size of `null:` where the user gives none, bytes.
const NULL_BYTES: u64 = 1 << 30;

/// Checks everything that opening would check, and touches nothing.
pub fn plan(args: &TargetArgs) -> Result<Planned> {
    if args.target == NULL {
        return Ok(Planned {
            info: TargetInfo::null(args.size.unwrap_or(NULL_BYTES)),
            destroys: None,
        });
    }
    if let Some(spec) = virtual_drive::described(&args.target) {
        return Ok(Planned { info: Simulator::info(&spec?, &args.target), destroys: None });
    }
    let planned = drive::plan_open(&args.target, &request(args))?;
    if planned.info.allowed == Safety::Borrows {
        let place = Place::at(args.borrow.journal.as_deref())?;
        place.check(Path::new(&args.target))?;
    }
    Ok(planned)
}

/// What is borrowed, and where it is kept meanwhile, in a line.
pub fn lending(args: &TargetArgs, plan: &Plan) -> Option<String> {
    let borrows = plan.safety == Safety::Borrows && args.borrow.allowed;
    let place = borrows.then(|| Place::at(args.borrow.journal.as_deref()))?.ok()?;
    let (bytes, dir) = (units::binary(plan.region_bytes), place.dir().display());
    Some(format!("borrows   {bytes} of {}, kept meanwhile in {dir}", args.target))
}

/// A target on the dynamometer.
pub enum Stand {
    /// A target of this machine, or none at all.
    Real(Box<Machine>),
    /// A virtual drive.
    Virtual(Box<Simulator>),
}

impl Stand {
    /// The rig that methods see.
    pub fn rig(&mut self) -> &mut dyn Rig {
        match self {
            Stand::Real(machine) => machine.as_mut(),
            Stand::Virtual(simulator) => simulator.as_mut(),
        }
    }

    /// What the drive is known to have been through. A virtual drive knows that itself.
    pub fn assume(&mut self, state: State) {
        if let Stand::Real(machine) = self {
            machine.assume(state);
        }
    }

    /// Wear, errors and temperature as the drive tells them now.
    pub fn health(&mut self) -> Option<Health> {
        match self {
            Stand::Real(machine) => drive::health(machine.target().target.drive.as_ref()?),
            Stand::Virtual(simulator) => Some(simulator.health()),
        }
    }
}

impl Stand {
    /// The same with a disc in memory beside it, where this machine has one to give. A virtual
    /// drive has no machine around it.
    pub fn with_reference(self, interrupt: &Arc<AtomicBool>) -> Stand {
        match self {
            Stand::Real(machine) => {
                let reference = ram_disc(interrupt).map(Box::new);
                Stand::Real(Box::new(machine.with_reference(reference)))
            }
            Stand::Virtual(simulator) => Stand::Virtual(simulator),
        }
    }
}

/// Where file systems in memory usually are.
const RAM_DISCS: [&str; 4] = ["/dev/shm", "/run/shm", "/tmp", "/run"];

/// A scratch file on a file system that lives in memory: the first directory that has room.
fn ram_disc(interrupt: &Arc<AtomicBool>) -> Option<Machine> {
    let places = RAM_DISCS.iter().flat_map(|place| [64u64, 16].map(|mib| (place, mib << 20)));
    let opened = places.into_iter().find_map(|(place, size)| {
        let request = OpenRequest { size: Some(size), wants: Safety::Scratch, destroy: None };
        let planned = drive::plan_open(place, &request).ok()?;
        planned.info.ram.then(|| drive::open(place, &request).ok()).flatten()
    });
    let quiet = Box::new(|_: &rig::Event| {});
    Machine::new(opened?, Options::default(), Arc::clone(interrupt), quiet).ok()
}

/// Opens the target and puts it on the dynamometer.
pub fn open(
    args: &TargetArgs,
    interrupt: Arc<AtomicBool>,
    observer: Box<dyn Observer>,
) -> Result<Stand> {
    let InstrumentArgs { backend, pin, patience, .. } = args.instrument;
    let journal = match args.borrow.allowed {
        true => Some(Place::at(args.borrow.journal.as_deref())?),
        false => None,
    };
    let usual = Options::default();
    let patience = patience.unwrap_or(usual.patience);
    let options = Options { backend, pin, journal, patience, ..usual };
    if args.target == NULL {
        let info = TargetInfo::null(args.size.unwrap_or(NULL_BYTES));
        return Ok(Stand::Real(Box::new(Machine::null(info, options, interrupt, observer))));
    }
    if let Some(spec) = virtual_drive::described(&args.target) {
        let simulator = Simulator::new(spec?, &args.target, interrupt, observer);
        return Ok(Stand::Virtual(Box::new(simulator)));
    }
    let opened = drive::open(&args.target, &request(args))?;
    Ok(Stand::Real(Box::new(Machine::new(opened, options, interrupt, observer)?)))
}

fn request(args: &TargetArgs) -> OpenRequest {
    // A directory gives scratch at most; a device is given away only by its name.
    let wants = match (&args.destroy, args.borrow.allowed) {
        (Some(_), _) => Safety::Destroys,
        (None, true) => Safety::Borrows,
        (None, false) => Safety::Scratch,
    };
    OpenRequest { size: args.size, wants, destroy: args.destroy.clone() }
}
