//! Erasing a drive by its own means: secure discard, zeroes, NVMe format and sanitize.
//!
//! All of it through the [`Guard`], which holds the device exclusively: each call checks again that
//! it still is the drive that was given away. A format changes the block size under every open
//! descriptor, and the kernel takes the new one over when the last of them is closed: whoever formats
//! has to let go of the drive and open it again.

use std::fs::File;
use std::io;
use std::thread;
use std::time::Duration;

use crate::answer::nvme::{self, Sanitizing};
use crate::ask::nvme as asked;
use crate::error::DriveError;
use crate::guard::{Guard, Held};
use crate::node::Node;
use crate::sys::block::{self, Range};
use crate::sys::nvme::{Admin, admin};

const FORMAT: u8 = 0x80;
const SANITIZE: u8 = 0x84;
const SANITIZE_LOG: u8 = 0x81;
/// Sanitize actions: block erase is quickest where it is had and leaves blocks erased; crypto erase
/// leaves nonsense; overwriting writes all flash once.
const BLOCK_ERASE: u32 = 2;
const OVERWRITE: u32 = 3;
const CRYPTO_ERASE: u32 = 4;
/// Drives that erase block by block take minutes for a terabyte.
const FORMAT_TIMEOUT_MS: u32 = 3_600_000;
const SANITIZE_PAUSE: Duration = Duration::from_millis(500);
/// The kernel looks at the drive again by itself after a format, and is mostly done at once.
const FORMAT_SEEN_TRIES: u32 = 100;
const FORMAT_SEEN_PAUSE: Duration = Duration::from_millis(50);

/// Erases a range of a device opened for writing by a secure discard.
pub fn secure_discard(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    block::give_back(file, Range::SecureDiscard, offset, bytes)
}

/// Erases a range of a device opened for writing by zeroes, which the drive makes itself where it can.
pub fn write_zeroes(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    block::give_back(file, Range::Zero, offset, bytes)
}

impl Guard {
    /// Whether [`Guard::format`] would be tried: the drive has the format, and no other namespace of
    /// it would be lost too.
    pub fn can_format(&self, block_bytes: u32) -> Result<(), DriveError> {
        self.format_command(block_bytes).map(drop)
    }

    fn format_command(&self, block_bytes: u32) -> Result<(&Held, Node, Admin), DriveError> {
        let (held, node) = self.whole_nvme("a format")?;
        let failed = |e| DriveError::io(format!("format of {}", node.path()), e);
        let nsid = asked::nsid(node.value("nsid"));
        let namespace = asked::namespace(&held.file, nsid).map_err(failed)?;
        let index = namespace.format_of(block_bytes).ok_or_else(|| {
            let text = format!("{} has no format with blocks of {block_bytes} bytes", node.path());
            DriveError::Incapable { text }
        })?;
        if asked::controller(&held.file).map_err(failed)?.format_is_global {
            alone(&node, "a format")?;
        }
        let cdw10 = u32::from(index & 15) | u32::from(index >> 4) << 12;
        let timeout_ms = FORMAT_TIMEOUT_MS;
        let command = Admin { opcode: FORMAT, nsid, cdw10, timeout_ms, ..Admin::default() };
        Ok((held, node, command))
    }

    /// Formats the drive to logical blocks of `block_bytes`, without metadata, and waits until the
    /// kernel knows. Everything on it is lost.
    pub fn format(&self, block_bytes: u32) -> Result<(), DriveError> {
        let (held, node, command) = self.format_command(block_bytes)?;
        let failed = |e| DriveError::io(format!("format of {}", node.path()), e);
        admin(&held.file, &command, &mut []).map_err(failed)?;
        for _ in 0..FORMAT_SEEN_TRIES {
            if node.value("queue/logical_block_size") == Some(block_bytes) {
                return Ok(());
            }
            thread::sleep(FORMAT_SEEN_PAUSE);
        }
        Err(failed(io::Error::other("the kernel does not see the new block size")))
    }

    /// Whether [`Guard::sanitize`] would be tried.
    pub fn can_sanitize(&self) -> Result<(), DriveError> {
        self.sanitize_command().map(drop)
    }

    fn sanitize_command(&self) -> Result<(&Held, Node, Admin), DriveError> {
        let (held, node) = self.whole_nvme("a sanitize")?;
        let failed = |e| DriveError::io(format!("sanitize of {}", node.path()), e);
        let [crypto, block, overwrite] = asked::controller(&held.file).map_err(failed)?.sanitize;
        let cdw10 = match (block, crypto, overwrite) {
            (true, ..) => BLOCK_ERASE,
            (_, true, _) => CRYPTO_ERASE,
            // One pass.
            (.., true) => OVERWRITE | 1 << 4,
            _ => {
                let text = format!("{} cannot sanitize itself", node.path());
                return Err(DriveError::Incapable { text });
            }
        };
        alone(&node, "a sanitize")?;
        Ok((held, node, Admin { opcode: SANITIZE, cdw10, ..Admin::default() }))
    }

    /// Makes the drive erase all its flash, by the quickest way it has, and waits until that is done;
    /// `progress` gets the share done. It cannot be ended early. Everything on it is lost.
    pub fn sanitize(&self, progress: &mut dyn FnMut(f64)) -> Result<(), DriveError> {
        let (held, node, command) = self.sanitize_command()?;
        let failed = |e| DriveError::io(format!("sanitize of {}", node.path()), e);
        admin(&held.file, &command, &mut []).map_err(failed)?;
        loop {
            let log = asked::log(&held.file, SANITIZE_LOG, nvme::LOG_BYTES).map_err(failed)?;
            match nvme::sanitizing(&log) {
                Some(Sanitizing::Done) => return Ok(()),
                Some(Sanitizing::GoingOn(share)) => progress(share),
                _ => return Err(failed(io::Error::other("the drive says that it failed"))),
            }
            thread::sleep(SANITIZE_PAUSE);
        }
    }

    /// The whole NVMe drive that is held to be overwritten, still the one that was given away.
    fn whole_nvme(&self, what: &str) -> Result<(&Held, Node), DriveError> {
        let incapable = |why: &str| DriveError::Incapable { text: format!("{what} {why}") };
        let held = self.held().ok_or_else(|| incapable("needs a whole NVMe drive"))?;
        self.check_again()?;
        let node = held.node().ok_or_else(|| incapable("needs a drive that is there"))?;
        if !node.name.starts_with("nvme") || node.partition().is_some() {
            return Err(incapable("needs a whole NVMe drive, which this is not"));
        }
        match held.is_exclusive() {
            true => Ok((held, node)),
            false => Err(incapable("needs a drive that was given away")),
        }
    }
}

/// Refuses what would also erase other namespaces of the same drive, which nobody gave away.
fn alone(node: &Node, what: &str) -> Result<(), DriveError> {
    let others = siblings(node);
    if others.is_empty() {
        return Ok(());
    }
    let reasons = vec![format!("{what} would also erase {}", others.join(", "))];
    Err(DriveError::InUse { path: node.path(), reasons })
}

/// Other namespaces of the drive of this one: block devices of the same controller or subsystem.
fn siblings(node: &Node) -> Vec<String> {
    let named = |name: &String| {
        let (_, number) = name.rsplit_once('n').unwrap_or_default();
        name.starts_with("nvme") && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    };
    // `nvme0n1`, and `nvme0c0n1`: the same by another path.
    let namespace = |name: &str| name.rsplit_once('n').map(|(_, n)| n.to_string());
    let ours = namespace(&node.name);
    let all = node.names("device").into_iter().filter(named);
    all.filter(|name| namespace(name) != ours).map(|name| format!("/dev/{name}")).collect()
}
