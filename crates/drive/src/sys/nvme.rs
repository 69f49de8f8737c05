//! NVMe admin commands through the kernel's driver.
//!
//! Source: `include/uapi/linux/nvme_ioctl.h`. The ioctl returns a negative errno, 0, or the drive's
//! status. It needs CAP_SYS_ADMIN; since Linux 6.2, Identify needs only a readable node. Logs still
//! need the capability.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `NVME_IOCTL_ADMIN_CMD`: `_IOWR('N', 0x41, struct nvme_passthru_cmd)`.
const ADMIN_CMD: libc::c_ulong = 0xC048_4E41;

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Default)]
struct Passthru {
    opcode: u8,
    flags: u8,
    reserved: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    addr: u64,
    metadata_len: u32,
    data_len: u32,
    cdw10: u32,
    cdw11: u32,
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<Passthru>() == 72);

/// An admin command that reads data or has no data.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Admin {
    /// Opcode; its lowest two bits are the direction, which must not be host to controller.
    pub opcode: u8,
    /// Namespace; all ones for all namespaces.
    pub nsid: u32,
    /// Command dword 10.
    pub cdw10: u32,
    /// Command dword 11.
    pub cdw11: u32,
    /// Timeout in the kernel, milliseconds; 0 for its default of one minute.
    pub timeout_ms: u32,
}

/// Issues an admin command and stores the response in `data`.
pub(crate) fn admin(file: &File, command: &Admin, data: &mut [u8]) -> io::Result<()> {
    if command.opcode & 3 == 1 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command sends data"));
    }
    let mut passthru = Passthru {
        opcode: command.opcode,
        nsid: command.nsid,
        addr: if data.is_empty() { 0 } else { data.as_mut_ptr() as u64 },
        data_len: data.len() as u32,
        cdw10: command.cdw10,
        cdw11: command.cdw11,
        timeout_ms: command.timeout_ms,
        ..Passthru::default()
    };
    // SAFETY: the structure matches the kernel's; it is live and exclusive for the call. The kernel
    // copies at most `data_len` bytes to `addr`, which is the exclusively borrowed `data`. The
    // command has ended, or was aborted, when the call returns.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), ADMIN_CMD as _, &raw mut passthru) };
    match status {
        0 => Ok(()),
        status if status < 0 => Err(io::Error::last_os_error()),
        status => {
            let status = nvme::Status(status as u16 & 0x7ff);
            Err(io::Error::other(format!("the drive reports: {status}")))
        }
    }
}
