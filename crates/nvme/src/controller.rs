//! The controller: start and stop, admin commands, queues, abort and reset.
//!
//! Admin commands are carried out one at a time; the caller waits for each. Once created, I/O
//! queues are independent of it and may be on other threads. They need it again when a command is
//! overdue ([`Controller::attend`]) and after a reset ([`Controller::restore`]).

use core::ops::Deref;

use crate::command::{Command, opcode};
use crate::error::Error;
use crate::health::HealthLog;
use crate::host::{Clock as _, DmaMap, Mmio as _, PAGE_BYTES, Platform, copy_out, zero};
use crate::identify::{self, Info, Namespace, STRUCTURE_BYTES};
use crate::layout::{QueueLayout, QueueParameters};
use crate::queue::{Queue, Shadow};
use crate::regs::{self, Capabilities};
use crate::request::{Completed, Overdue};
use crate::tracker::Tracker;

/// Slots of the admin queue: commands are carried out one at a time.
const SLOTS: usize = 1;
const SLOT: usize = 0;
const SHAPE: QueueParameters = QueueParameters {
    slots: SLOTS,
    request_bytes: 2 * PAGE_BYTES,
    base: 0,
    timeout_ns: u64::MAX / 8,
};
/// Pages of the admin queue: rings and lists; then data, shadow doorbell values and event indexes.
const DATA_AT: usize = 4 * PAGE_BYTES;
const SHADOW: Shadow = Shadow { values: 5 * PAGE_BYTES, events: 6 * PAGE_BYTES };
/// Memory that the controller itself needs, bytes: the head of its platform's memory.
pub const ADMIN_BYTES: usize = 7 * PAGE_BYTES;

/// Time for an admin command, unless it erases.
const COMMAND_NS: u64 = 10_000_000_000;
/// Extra time to stop and start: some controllers report a value that is too short.
const GRACE_NS: u64 = 2_000_000_000;
const SHUTDOWN_NS: u64 = 10_000_000_000;
/// The feature Number of Queues.
const QUEUES: u8 = 0x07;

/// A running controller. `P` gives access to its registers, its memory and the clock.
pub struct Controller<P> {
    platform: P,
    capabilities: Capabilities,
    admin: Queue<P, P, [Tracker; SLOTS]>,
    info: Info,
    shadow: Option<Shadow>,
    /// Whether an admin command was not answered: only a reset helps.
    stuck: bool,
}

impl<P: Deref<Target: Platform> + Clone> Controller<P> {
    /// Resets, starts and identifies the controller.
    pub fn start(platform: P) -> Result<Self, Error> {
        let raw = platform.read64(regs::CAP);
        if raw == u64::MAX {
            return Err(Error::Gone);
        }
        let capabilities = Capabilities(raw);
        if !capabilities.has_nvm_commands() {
            return Err(Error::Unsupported("the NVM command set"));
        }
        if capabilities.page_bits_min() > PAGE_BYTES.ilog2() {
            return Err(Error::Unsupported("pages of 4 KiB"));
        }
        let bytes = platform.words().len() * 4;
        if bytes < ADMIN_BYTES {
            return Err(Error::Memory { needed: ADMIN_BYTES, there: bytes });
        }
        let layout = QueueLayout::new(&SHAPE, 64, None)?;
        let trackers = [Tracker::default(); SLOTS];
        let admin =
            Queue::new(platform.clone(), platform.clone(), trackers, layout, 0, capabilities)?;
        let info = Info::parse(&[0; STRUCTURE_BYTES]).ok_or(Error::Gone)?;
        let mut controller =
            Controller { platform, capabilities, admin, info, shadow: None, stuck: false };
        controller.stop()?;
        controller.enable()?;
        let mut page = [0; STRUCTURE_BYTES];
        controller.read(&Command::identify(identify::CONTROLLER, 0), &mut page)?;
        controller.info = Info::parse(&page).ok_or(Error::Nonsense("identify controller"))?;
        Ok(controller)
    }

    /// The identity and capabilities that the controller reports.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Bytes of the largest transfer; `None`: no limit.
    pub fn transfer_max(&self) -> Option<usize> {
        let bits = u32::from(self.info.transfer_max);
        (bits != 0).then(|| 1usize.checked_shl(bits + 12).unwrap_or(usize::MAX))
    }

    /// Disables the controller. Afterwards it does not access memory.
    pub fn stop(&mut self) -> Result<(), Error> {
        let config = self.platform.read32(regs::CC);
        if config & regs::CC_ENABLE != 0 {
            self.platform.write32(regs::CC, config & !regs::CC_ENABLE);
        }
        self.wait_for(regs::CSTS_READY, 0, self.capabilities.ready_ns() + GRACE_NS)
    }

    /// Flushes the drive's caches and stops the controller, before power-off or a handover.
    pub fn shut_down(&mut self) -> Result<(), Error> {
        let config = self.platform.read32(regs::CC);
        self.platform.write32(regs::CC, config | regs::CC_SHUTDOWN);
        let flushed = self.wait_for(regs::CSTS_SHUTDOWN, regs::CSTS_SHUTDOWN_DONE, SHUTDOWN_NS);
        self.platform.write32(regs::CC, 0);
        self.wait_for(regs::CSTS_READY, 0, self.capabilities.ready_ns() + GRACE_NS)?;
        flushed
    }

    /// Enables the controller with an empty admin queue.
    fn enable(&mut self) -> Result<(), Error> {
        self.admin.lose_all(|_| ());
        self.admin.restart(None);
        (self.shadow, self.stuck) = (None, false);
        let layout = *self.admin.layout();
        let sizes = (layout.sq_entries - 1) | (layout.cq_entries - 1) << 16;
        let platform = &*self.platform;
        // The driver polls.
        platform.write32(regs::INTMS, u32::MAX);
        platform.write32(regs::AQA, sizes);
        platform.write64(regs::ASQ, platform.bus(layout.sq_at));
        platform.write64(regs::ACQ, platform.bus(layout.cq_at));
        platform.write32(regs::CC, regs::CC_ENTRIES | regs::CC_ENABLE);
        let time = self.capabilities.ready_ns() + GRACE_NS;
        self.wait_for(regs::CSTS_READY, regs::CSTS_READY, time)
    }

    fn wait_for(&self, mask: u32, value: u32, time_ns: u64) -> Result<(), Error> {
        let end = self.platform.now_ns().saturating_add(time_ns);
        loop {
            match self.platform.read32(regs::CSTS) {
                regs::GONE => return Err(Error::Gone),
                status if status & mask == value => return Ok(()),
                // A reset clears a fatal error, so stopping continues.
                status if status & regs::CSTS_FATAL != 0 && value != 0 => return Err(Error::Fatal),
                _ if self.platform.now_ns() >= end => return Err(Error::NotReady(time_ns)),
                _ => self.platform.pause(),
            }
        }
    }

    /// Whether the controller works: present, without a fatal error, ready.
    pub fn check(&self) -> Result<(), Error> {
        match self.platform.read32(regs::CSTS) {
            regs::GONE => Err(Error::Gone),
            status if status & regs::CSTS_FATAL != 0 => Err(Error::Fatal),
            status if status & regs::CSTS_READY == 0 => Err(Error::Stopped),
            _ => Ok(()),
        }
    }

    /// Carries out an admin command without data; returns its result.
    pub fn admin(&mut self, command: &Command) -> Result<u32, Error> {
        self.carry_out(command, DATA_AT, 0, COMMAND_NS)
    }

    /// Carries out an admin command that returns at most a page of data.
    pub fn read(&mut self, command: &Command, data: &mut [u8]) -> Result<(), Error> {
        let bytes = data.len().min(PAGE_BYTES);
        zero(self.platform.words(), DATA_AT, PAGE_BYTES);
        self.carry_out(command, DATA_AT, bytes, COMMAND_NS)?;
        copy_out(self.platform.words(), DATA_AT, &mut data[..bytes]);
        Ok(())
    }

    /// Carries out a command with data at an offset in the platform's memory.
    fn carry_out(
        &mut self,
        command: &Command,
        at: usize,
        bytes: usize,
        time_ns: u64,
    ) -> Result<u32, Error> {
        let addresses = self.admin.addresses(SLOT, at, bytes);
        self.carry_out_at(command, addresses, time_ns)
    }

    /// Carries out a command with the given two addresses.
    fn carry_out_at(
        &mut self,
        command: &Command,
        addresses: (u64, u64),
        time_ns: u64,
    ) -> Result<u32, Error> {
        let Command { opcode, .. } = *command;
        if self.stuck {
            return Err(Error::NoAnswer(opcode));
        }
        let result = self.admin.push_addressed(SLOT, command, addresses);
        result.map_err(|_| Error::NoAnswer(opcode))?;
        self.admin.ring();
        let end = self.platform.now_ns().saturating_add(time_ns);
        let mut answer: Option<Completed> = None;
        loop {
            self.admin.poll(|done| answer = Some(done));
            match answer {
                Some(Completed { status, .. }) if status.is_ok() => return Ok(self.admin.result()),
                Some(Completed { status, .. }) => return Err(Error::Refused { opcode, status }),
                None => self.check().inspect_err(|_| self.stuck = true)?,
            }
            if self.platform.now_ns() >= end {
                self.stuck = true;
                return Err(Error::NoAnswer(opcode));
            }
            self.platform.pause();
        }
    }

    /// Fills `list` with the active namespace IDs in ascending order; returns their number (at most
    /// 1,024).
    pub fn namespaces(&mut self, list: &mut [u32]) -> Result<usize, Error> {
        let mut page = [0; STRUCTURE_BYTES];
        self.read(&Command::identify(identify::NAMESPACE_LIST, 0), &mut page)?;
        let mut count = 0;
        for nsid in identify::namespace_list(&page) {
            if let Some(place) = list.get_mut(count) {
                *place = nsid;
            }
            count += 1;
        }
        Ok(count)
    }

    /// Identifies a namespace.
    pub fn namespace(&mut self, nsid: u32) -> Result<Namespace, Error> {
        let mut page = [0; STRUCTURE_BYTES];
        self.read(&Command::identify(identify::NAMESPACE, nsid), &mut page)?;
        Namespace::parse(&page).ok_or(Error::Nonsense("identify namespace"))
    }

    /// The health log of the controller.
    pub fn health(&mut self) -> Result<HealthLog, Error> {
        let mut log = [0; HealthLog::BYTES];
        self.read(&Command::log(HealthLog::PAGE, u32::MAX, HealthLog::BYTES as u32), &mut log)?;
        HealthLog::parse(&log).ok_or(Error::Nonsense("the health log"))
    }

    /// Formats a namespace. Everything on it is lost; allow minutes.
    pub fn format(&mut self, nsid: u32, format: u8, erase: u8, time_ns: u64) -> Result<(), Error> {
        self.carry_out(&Command::format(nsid, format, erase), DATA_AT, 0, time_ns).map(drop)
    }

    /// Requests I/O queue pairs; returns the number granted. They are numbered from 1. Must be
    /// called before the first queue is created, and again after a reset, because some controllers
    /// forget the number.
    pub fn grant_queues(&mut self, wanted: u16) -> Result<u16, Error> {
        let zero_based = u32::from(wanted.max(1) - 1);
        let granted = self.admin(&Command::set_feature(QUEUES, zero_based | zero_based << 16))?;
        Ok((granted as u16).min((granted >> 16) as u16).saturating_add(1).min(wanted.max(1)))
    }

    /// Enables shadow doorbells for queues created from now on, if supported (NVMe 1.4, section
    /// 5.7): the controller then reads most doorbells from memory.
    pub fn use_shadow_doorbells(&mut self) -> Result<bool, Error> {
        if !self.info.doorbell_buffer {
            return Ok(false);
        }
        zero(self.platform.words(), SHADOW.values, 2 * PAGE_BYTES);
        // Its two addresses take the place of a two-page transfer's.
        let command = Command { opcode: opcode::DOORBELL_BUFFER, ..Command::default() };
        self.carry_out(&command, SHADOW.values, 2 * PAGE_BYTES, COMMAND_NS)?;
        self.shadow = Some(SHADOW);
        Ok(true)
    }

    /// The layout of a queue on this controller.
    pub fn lay_out(&self, shape: &QueueParameters) -> Result<QueueLayout, Error> {
        QueueLayout::new(shape, self.capabilities.entries_max(), self.transfer_max())
    }

    /// Creates queue pair `id` (from 1) in `memory`, which it uses until it is deleted or the
    /// controller is stopped.
    pub fn create_queue<D, T>(
        &mut self,
        id: u16,
        memory: D,
        trackers: T,
        layout: QueueLayout,
    ) -> Result<Queue<P, D, T>, Error>
    where
        D: Deref<Target: DmaMap>,
        T: AsMut<[Tracker]> + AsRef<[Tracker]>,
    {
        let platform = self.platform.clone();
        let mut queue = Queue::new(platform, memory, trackers, layout, id, self.capabilities)?;
        self.restore(&mut queue)?;
        Ok(queue)
    }

    /// Recreates a queue after a reset. [`Controller::end`] must have ended its requests.
    pub fn restore<D, T>(&mut self, queue: &mut Queue<P, D, T>) -> Result<(), Error>
    where
        D: Deref<Target: DmaMap>,
        T: AsMut<[Tracker]> + AsRef<[Tracker]>,
    {
        // The page of values has room for the doorbells of a limited number of queues.
        let end = self.capabilities.doorbell(queue.id() + 1) - self.capabilities.doorbell(0);
        queue.restart(self.shadow.filter(|_| end <= PAGE_BYTES));
        let (id, layout) = (queue.id(), *queue.layout());
        let memory: &D::Target = queue.memory();
        let (sq, cq) = (memory.bus(layout.sq_at), memory.bus(layout.cq_at));
        self.carry_out_at(&Command::create_cq(id, layout.cq_entries), (cq, 0), COMMAND_NS)?;
        let created =
            self.carry_out_at(&Command::create_sq(id, layout.sq_entries), (sq, 0), COMMAND_NS);
        if matches!(created, Err(Error::Refused { .. })) {
            // Half a pair would occupy its number until a reset.
            let _ = self.admin(&Command::delete(opcode::DELETE_CQ, id));
        }
        created.map(drop)
    }

    /// Deletes a queue pair. Its commands in flight are aborted. Its memory may be reused only
    /// after success.
    pub fn delete_queue(&mut self, id: u16) -> Result<(), Error> {
        self.admin(&Command::delete(opcode::DELETE_SQ, id))?;
        self.admin(&Command::delete(opcode::DELETE_CQ, id)).map(drop)
    }

    /// Aborts the overdue commands of a queue. Returns [`Overdue::Reset`] to the caller, which
    /// knows all queues.
    pub fn attend<D, T>(&mut self, queue: &mut Queue<P, D, T>) -> Result<Option<Overdue>, Error>
    where
        D: Deref<Target: DmaMap>,
        T: AsMut<[Tracker]> + AsRef<[Tracker]>,
    {
        self.check()?;
        while let Some(overdue) = queue.overdue() {
            let Overdue::Abort(cid) = overdue else { return Ok(Some(overdue)) };
            match self.admin(&Command::abort(queue.id(), cid)) {
                // Not aborted, or too many aborts at once: the abort's timeout decides.
                Ok(_) | Err(Error::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Resets and restarts the controller, without its queues: each must be ended
    /// ([`Controller::end`]) and may be restored.
    pub fn reset(&mut self) -> Result<(), Error> {
        let shadow = self.shadow.is_some();
        self.stop()?;
        self.enable()?;
        if shadow {
            self.use_shadow_doorbells()?;
        }
        Ok(())
    }

    /// Ends the requests of a queue after a reset; each is reported as [`Status::LOST`].
    ///
    /// [`Status::LOST`]: crate::Status::LOST
    pub fn end<D, T>(&mut self, queue: &mut Queue<P, D, T>, done: impl FnMut(Completed))
    where
        D: Deref<Target: DmaMap>,
        T: AsMut<[Tracker]> + AsRef<[Tracker]>,
    {
        queue.lose_all(done);
    }
}
