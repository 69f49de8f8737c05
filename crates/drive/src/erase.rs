//! Erases a drive with its own commands: secure discard, write zeroes, NVMe format and sanitize.
//!
//! Formats and sanitizes go through the [`Guard`], which holds the device exclusively: each call
//! verifies that it is still the confirmed drive. A format changes the block size under all open
//! descriptors, and the kernel adopts the new size when the last one is closed, so the caller must
//! close and reopen the drive.

use std::fs::File;
use std::io;
use std::thread;
use std::time::Duration;

use nvme::health::{HealthLog, SanitizeStatus, sanitize_status};

use crate::error::DriveError;
use crate::guard::{Guard, Held};
use crate::node::Node;
use crate::query::nvme as query;
use crate::sys::block::{self, Range};
use crate::sys::nvme::{Admin, admin};

const FORMAT: u8 = 0x80;
const SANITIZE: u8 = 0x84;
const SANITIZE_LOG: u8 = 0x81;
/// Sanitize actions. Block erase is the fastest and leaves erased blocks; crypto erase leaves
/// random data; overwrite writes all flash once.
const BLOCK_ERASE: u32 = 2;
const OVERWRITE: u32 = 3;
const CRYPTO_ERASE: u32 = 4;
/// A block-by-block erase takes minutes per terabyte.
const FORMAT_TIMEOUT_MS: u32 = 3_600_000;
const SANITIZE_PAUSE: Duration = Duration::from_millis(500);
/// The kernel rescans the drive after a format, usually at once.
const FORMAT_SEEN_TRIES: u32 = 100;
const FORMAT_SEEN_PAUSE: Duration = Duration::from_millis(50);

/// Secure-discards a range. The device must be open for writing.
pub fn secure_discard(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    block::erase_range(file, Range::SecureDiscard, offset, bytes)
}

/// Writes zeroes to a range, with a command of the drive if supported. The device must be open for
/// writing.
pub fn write_zeroes(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    block::erase_range(file, Range::Zero, offset, bytes)
}

impl Guard {
    /// Checks whether [`Guard::format`] would be attempted: the drive supports the format, and it
    /// would erase no other namespace.
    pub fn can_format(&self, block_bytes: u32) -> Result<(), DriveError> {
        self.format_command(block_bytes).map(drop)
    }

    fn format_command(&self, block_bytes: u32) -> Result<(&Held, Node, Admin), DriveError> {
        let (device, node) = self.whole_nvme("a format")?;
        let nsid = query::nsid(node.value("nsid"));
        let namespace =
            query::namespace(&device.file, nsid).map_err(|e| io_error("format", &node, e))?;
        let index = namespace.format_of(block_bytes).ok_or_else(|| {
            let text = format!("{} has no format with blocks of {block_bytes} bytes", node.path());
            DriveError::Incapable { text }
        })?;
        if query::controller(&device.file)
            .map_err(|e| io_error("format", &node, e))?
            .format_is_global
        {
            alone(&node, "a format")?;
        }
        let cdw10 = u32::from(index & 15) | u32::from(index >> 4) << 12;
        let timeout_ms = FORMAT_TIMEOUT_MS;
        let command = Admin { opcode: FORMAT, nsid, cdw10, timeout_ms, ..Admin::default() };
        Ok((device, node, command))
    }

    /// Formats the drive with logical blocks of `block_bytes` without metadata, and waits until the
    /// kernel has adopted the new size. All data are lost.
    pub fn format(&self, block_bytes: u32) -> Result<(), DriveError> {
        let (device, node, command) = self.format_command(block_bytes)?;
        admin(&device.file, &command, &mut []).map_err(|e| io_error("format", &node, e))?;
        for _ in 0..FORMAT_SEEN_TRIES {
            if node.value("queue/logical_block_size") == Some(block_bytes) {
                return Ok(());
            }
            thread::sleep(FORMAT_SEEN_PAUSE);
        }
        Err(io_error(
            "format",
            &node,
            io::Error::other("the kernel did not adopt the new block size"),
        ))
    }

    /// Checks whether [`Guard::sanitize`] would be attempted.
    pub fn can_sanitize(&self) -> Result<(), DriveError> {
        self.sanitize_command().map(drop)
    }

    fn sanitize_command(&self) -> Result<(&Held, Node, Admin), DriveError> {
        let (device, node) = self.whole_nvme("a sanitize")?;
        let [crypto, block, overwrite] =
            query::controller(&device.file).map_err(|e| io_error("sanitize", &node, e))?.sanitize;
        let cdw10 = match (block, crypto, overwrite) {
            (true, ..) => BLOCK_ERASE,
            (_, true, _) => CRYPTO_ERASE,
            // One pass.
            (.., true) => OVERWRITE | 1 << 4,
            _ => {
                let text = format!("{} does not support sanitize", node.path());
                return Err(DriveError::Incapable { text });
            }
        };
        alone(&node, "a sanitize")?;
        Ok((device, node, Admin { opcode: SANITIZE, cdw10, ..Admin::default() }))
    }

    /// Makes the drive erase all its flash with its fastest method and waits for completion.
    /// `progress` receives the fraction done. Cannot be cancelled. All data are lost.
    pub fn sanitize(&self, progress: &mut dyn FnMut(f64)) -> Result<(), DriveError> {
        let (device, node, command) = self.sanitize_command()?;
        admin(&device.file, &command, &mut []).map_err(|e| io_error("sanitize", &node, e))?;
        loop {
            let log = query::log(&device.file, SANITIZE_LOG, HealthLog::BYTES)
                .map_err(|e| io_error("sanitize", &node, e))?;
            match sanitize_status(&log) {
                Some(SanitizeStatus::Done) => return Ok(()),
                Some(SanitizeStatus::InProgress(share)) => progress(share),
                _ => {
                    return Err(io_error(
                        "sanitize",
                        &node,
                        io::Error::other("the drive reports that it failed"),
                    ));
                }
            }
            thread::sleep(SANITIZE_PAUSE);
        }
    }

    /// The whole NVMe drive, held for overwriting, if it is still the confirmed drive.
    fn whole_nvme(&self, what: &str) -> Result<(&Held, Node), DriveError> {
        let incapable = |why: &str| DriveError::Incapable { text: format!("{what} {why}") };
        let device = self.held().ok_or_else(|| incapable("needs a whole NVMe drive"))?;
        self.check_again()?;
        let node = device.node().ok_or_else(|| incapable("needs a drive that is present"))?;
        if !node.name.starts_with("nvme") || node.partition().is_some() {
            return Err(incapable("needs a whole NVMe drive"));
        }
        if device.may_destroy() {
            Ok((device, node))
        } else {
            Err(incapable("needs a drive opened with --destroy"))
        }
    }
}

/// Refuses a command that would also erase other, unconfirmed namespaces of the drive.
fn alone(node: &Node, what: &str) -> Result<(), DriveError> {
    let namespaces = siblings(node);
    if namespaces.is_empty() {
        return Ok(());
    }
    let reasons = vec![format!("{what} would also erase {}", namespaces.join(", "))];
    Err(DriveError::InUse { path: node.path(), reasons })
}

/// Other namespaces of the same drive: block devices of the same controller or subsystem.
fn siblings(node: &Node) -> Vec<String> {
    // `nvme0c0n1` is another path to `nvme0n1`.
    let number = node.name.rsplit_once('n').map(|(_, number)| number);
    let namespaces = node.names("device").into_iter().filter(|name| {
        let (_, other) = name.rsplit_once('n').unwrap_or_default();
        let is_namespace = !other.is_empty() && other.bytes().all(|b| b.is_ascii_digit());
        name.starts_with("nvme") && is_namespace && Some(other) != number
    });
    namespaces.map(|name| format!("/dev/{name}")).collect()
}

fn io_error(command: &str, node: &Node, error: io::Error) -> DriveError {
    DriveError::io(format!("{command} of {}", node.path()), error)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use record::Safety;

    use super::*;
    use crate::guard::Identity;
    use crate::machine::Machine;

    /// A borrowed drive was opened exclusively, but not confirmed by its serial number.
    #[test]
    fn only_a_confirmed_drive_is_erased() {
        let root = tempfile::TempDir::new().expect("a directory");
        let disk = root.path().join("sys/devices/nvme0/nvme0n1");
        fs::create_dir_all(&disk).expect("created");
        // A regular file stands in for the node: its device number is 0:0.
        for (file, text) in [("dev", "0:0"), ("size", "8"), ("nsid", "1")] {
            fs::write(disk.join(file), text).expect("written");
        }
        let numbers = root.path().join("sys/dev/block");
        fs::create_dir_all(&numbers).expect("created");
        symlink(&disk, numbers.join("0:0")).expect("linked");
        let machine = Machine::at(root.path());
        let says = |allowed: Safety| {
            let file = tempfile::tempfile().expect("a file");
            file.set_len(4096).expect("sized");
            let number = crate::machine::DevNumber::from_dev(0);
            let node = Node::numbered(&machine, number).expect("there");
            let identity = Identity::read(&machine, &node).expect("known");
            let guard = Guard::device(
                &machine,
                "/dev/nvme0n1".into(),
                (file, crate::hold::Others::default()),
                allowed,
                identity,
            );
            let errors = [
                guard.can_format(512),
                guard.format(512),
                guard.can_sanitize(),
                guard.sanitize(&mut |_| ()),
            ];
            errors.map(|error| error.expect_err("not an NVMe drive").to_string())
        };
        let needs = "needs a drive opened with --destroy";
        let refused = ["a format", "a format", "a sanitize", "a sanitize"];
        let refused = refused.map(|what| format!("{what} {needs}"));
        assert_eq!(says(Safety::Reads), refused);
        assert_eq!(says(Safety::Borrows), refused);
        let asked = says(Safety::Destroys);
        assert!(asked.iter().all(|text| text.contains("of /dev/nvme0n1: ")), "{asked:?}");
    }
}
