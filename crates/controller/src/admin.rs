//! Admin commands: identify, health log, features, queues, abort, shadow doorbells and format.

use nvme::{PAGE_BYTES, identify, opcode};

use crate::faults::Fate;
use crate::media::SimulatedMedia;
use crate::queues::{Cq, Fetched, Sq};
use crate::simulated::{Event, State};

const NO_COMMAND: u16 = 0x4001;
const INVALID_FIELD: u16 = 0x4002;
const NO_NAMESPACE: u16 = 0x400b;
const ABORTED: u16 = 0x0007;
const NO_QUEUE: u16 = 0x4101;
const NO_LOG: u16 = 0x4109;
const NO_FORMAT: u16 = 0x410a;
const FEATURE_QUEUES: u32 = 7;
/// Supported block sizes, as base-2 exponents.
const FORMATS: [u8; 2] = [9, 12];

impl State {
    pub(crate) fn execute_admin(&mut self, command: &Fetched) {
        let (status, result) = match command.opcode {
            opcode::IDENTIFY => (self.identify(command), 0),
            opcode::GET_LOG => (self.log(command), 0),
            opcode::SET_FEATURES if command.cdw[0] & 0xff == FEATURE_QUEUES => {
                let granted = u32::from(self.setup.queues - 1).min(command.cdw[1] & 0xffff);
                (0, granted | granted << 16)
            }
            opcode::CREATE_CQ | opcode::CREATE_SQ => (self.create(command), 0),
            // The admin queues cannot be deleted.
            opcode::DELETE_CQ | opcode::DELETE_SQ if command.cdw[0] as u16 == 0 => (NO_QUEUE, 0),
            opcode::DELETE_CQ => (remove(self.cqs.remove(&(command.cdw[0] as u16))), 0),
            opcode::DELETE_SQ => (self.delete_sq(command.cdw[0] as u16), 0),
            opcode::ABORT => (0, self.abort(command.cdw[0])),
            opcode::DOORBELL_BUFFER if self.setup.shadow => {
                self.shadow = Some((command.prp[0], command.prp[1]));
                (0, 0)
            }
            opcode::FORMAT => (self.format(command), 0),
            _ => (NO_COMMAND, 0),
        };
        self.post(command.completion(status, result));
    }

    fn create(&mut self, command: &Fetched) -> u16 {
        let [selector, flags, ..] = command.cdw;
        let (id, entries) = (selector as u16, (selector >> 16) + 1);
        let fits = id >= 1 && id <= self.setup.queues && entries <= self.setup.entries_max;
        let contiguous = flags & 1 != 0 && command.prp[0].is_multiple_of(PAGE_BYTES as u64);
        if !fits || !contiguous {
            return INVALID_FIELD;
        }
        let used = match command.opcode {
            opcode::CREATE_CQ => self.cqs.contains_key(&id),
            _ => self.sqs.contains_key(&id),
        };
        if used {
            return NO_QUEUE;
        }
        if command.opcode == opcode::CREATE_CQ {
            self.cqs.insert(id, Cq::new(command.prp[0], entries));
            return 0;
        }
        let cq = (flags >> 16) as u16;
        if !self.cqs.contains_key(&cq) {
            return NO_QUEUE;
        }
        let awake = !self.setup.dozes;
        self.sqs.insert(id, Sq::new(command.prp[0], entries, cq, awake));
        0
    }

    fn delete_sq(&mut self, id: u16) -> u16 {
        self.due.retain(|_, event| !matches!(event, Event::Command(c) if c.sq == id));
        remove(self.sqs.remove(&id))
    }

    /// Aborts a command. Returns 0 if it was aborted, 1 if not.
    fn abort(&mut self, which: u32) -> u32 {
        let (sq, cid) = (which as u16, (which >> 16) as u16);
        let due = self.due.iter().find_map(|(key, event)| match event {
            Event::Command(c) if (c.sq, c.cid) == (sq, cid) => Some((*key, *c)),
            _ => None,
        });
        match due {
            Some((key, command)) if command.fate != Fate::Stubborn => {
                self.due.remove(&key);
                self.post(command.completion(ABORTED, 0));
                0
            }
            _ => 1,
        }
    }

    fn identify(&mut self, command: &Fetched) -> u16 {
        let mut page = vec![0; identify::STRUCTURE_BYTES];
        let index = (command.nsid as usize).wrapping_sub(1);
        match command.cdw[0] & 0xff {
            identify::CONTROLLER => self.describe(&mut page),
            identify::NAMESPACE => match self.media.get(index) {
                Some(media) => {
                    let power = media.block_bytes.trailing_zeros() as u8;
                    [0, 8, 16]
                        .iter()
                        .for_each(|at| put(&mut page, *at, &media.blocks.to_le_bytes()));
                    page[25] = FORMATS.len() as u8 - 1;
                    page[26] = FORMATS.iter().position(|f| *f == power).unwrap_or(0) as u8;
                    page[33] = 1;
                    for (i, power) in FORMATS.iter().enumerate() {
                        page[128 + 4 * i + 2] = *power;
                    }
                }
                None => return NO_NAMESPACE,
            },
            identify::NAMESPACE_LIST => {
                let after = (1..=self.media.len() as u32).filter(|nsid| *nsid > command.nsid);
                for (i, nsid) in after.take(1024).enumerate() {
                    put(&mut page, 4 * i, &nsid.to_le_bytes());
                }
            }
            _ => return INVALID_FIELD,
        }
        self.give(command, &page)
    }

    fn describe(&self, page: &mut [u8]) {
        put(page, 4, b"SSDYNO-SIM-1        ");
        put(page, 24, format!("{:<40}", "ssdyno simulated controller").as_bytes());
        put(page, 64, b"1.0     ");
        page[77] = self.setup.transfer_max;
        put(page, 80, &0x0001_0400u32.to_le_bytes());
        let optional: u16 = if self.setup.shadow { 0x102 } else { 0x002 };
        put(page, 256, &optional.to_le_bytes());
        put(page, 266, &343u16.to_le_bytes());
        put(page, 268, &358u16.to_le_bytes());
        put(page, 516, &(self.media.len() as u32).to_le_bytes());
        put(page, 520, &0x000cu16.to_le_bytes());
        page[524] = u8::from(self.setup.formats_all);
        page[525] = u8::from(self.media.iter().any(SimulatedMedia::is_cached));
    }

    fn log(&mut self, command: &Fetched) -> u16 {
        if command.cdw[0] as u8 != nvme::health::HealthLog::PAGE {
            return NO_LOG;
        }
        let mut log = vec![0; nvme::health::HealthLog::BYTES];
        put(&mut log, 1, &313u16.to_le_bytes());
        (log[3], log[4]) = (100, 10);
        self.give(command, &log)
    }

    fn format(&mut self, command: &Fetched) -> u16 {
        let format = FORMATS.get((command.cdw[0] & 15) as usize);
        let index = (command.nsid as usize).wrapping_sub(1);
        let Some(power) = format else { return NO_FORMAT };
        if index >= self.media.len() {
            return NO_NAMESPACE;
        }
        let is_global = self.setup.formats_all;
        let media = self.media.iter_mut().enumerate().filter(|(i, _)| is_global || *i == index);
        media.for_each(|(_, media)| media.format(1 << power));
        0
    }

    /// Transfers the data of an admin command to the host: at most one page.
    fn give(&mut self, command: &Fetched, data: &[u8]) -> u16 {
        match self.find(command.prp[0]) {
            Some((memory, offset)) => {
                self.memories[memory].write(offset..offset + data.len(), data);
                0
            }
            None => INVALID_FIELD,
        }
    }
}

fn put(page: &mut [u8], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

fn remove<T>(queue: Option<T>) -> u16 {
    if queue.is_some() { 0 } else { NO_QUEUE }
}
