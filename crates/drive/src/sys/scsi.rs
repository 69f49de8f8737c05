//! SCSI commands that read, through SG_IO.
//!
//! Source: `include/scsi/sg.h`, version 3 of the interface, which block devices also support. The
//! kernel allows users without CAP_SYS_RAWIO only some commands: INQUIRY, not ATA pass-through.

use std::ffi::{c_int, c_uchar, c_uint, c_ushort, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use crate::response::scsi::Sense;

const SG_IO: libc::c_ulong = 0x2285;
const FROM_DEVICE: c_int = -3;
const CHECK_CONDITION: u8 = 2;
const SENSE_BYTES: usize = 64;
const TIMEOUT_MS: c_uint = 5000;

/// `struct sg_io_hdr`.
#[repr(C)]
struct Header {
    interface_id: c_int,
    dxfer_direction: c_int,
    cmd_len: c_uchar,
    mx_sb_len: c_uchar,
    iovec_count: c_ushort,
    dxfer_len: c_uint,
    dxferp: *mut c_void,
    cmdp: *const c_uchar,
    sbp: *mut c_uchar,
    timeout: c_uint,
    flags: c_uint,
    pack_id: c_int,
    usr_ptr: *mut c_void,
    status: c_uchar,
    masked_status: c_uchar,
    msg_status: c_uchar,
    sb_len_wr: c_uchar,
    host_status: c_ushort,
    driver_status: c_ushort,
    resid: c_int,
    duration: c_uint,
    info: c_uint,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Header>() == 88);

/// Sends a command that reads; returns the number of bytes received in `data`.
pub(crate) fn read(file: &File, command: &[u8], data: &mut [u8]) -> io::Result<usize> {
    let mut sense = [0u8; SENSE_BYTES];
    let mut header = Header {
        interface_id: c_int::from(b'S'),
        dxfer_direction: FROM_DEVICE,
        cmd_len: command.len() as c_uchar,
        mx_sb_len: SENSE_BYTES as c_uchar,
        iovec_count: 0,
        dxfer_len: data.len() as c_uint,
        dxferp: data.as_mut_ptr().cast(),
        cmdp: command.as_ptr(),
        sbp: sense.as_mut_ptr(),
        timeout: TIMEOUT_MS,
        flags: 0,
        pack_id: 0,
        usr_ptr: ptr::null_mut(),
        status: 0,
        masked_status: 0,
        msg_status: 0,
        sb_len_wr: 0,
        host_status: 0,
        driver_status: 0,
        resid: 0,
        duration: 0,
        info: 0,
    };
    // SAFETY: the header matches the kernel's structure. Command, data and sense are live for the
    // call, the latter two exclusively, with the stated lengths. The command has ended when the
    // call returns.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), SG_IO as _, &raw mut header) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    if header.status & 0x3e == CHECK_CONDITION {
        let reported = &sense[..usize::from(header.sb_len_wr).min(SENSE_BYTES)];
        // A successful command may still return sense data (recovered error, ATA registers).
        return match Sense::parse(reported) {
            Some(sense) if sense.key <= 1 => Ok(received(&header, data.len())),
            Some(sense) => Err(io::Error::other(sense.to_string())),
            None => Err(io::Error::other("the drive refused the command without a reason")),
        };
    }
    if header.status != 0 || header.host_status != 0 {
        let Header { status, host_status, .. } = header;
        let text = format!("the command failed: status {status:#x}, host {host_status:#x}");
        return Err(io::Error::other(text));
    }
    Ok(received(&header, data.len()))
}

fn received(header: &Header, requested: usize) -> usize {
    requested.saturating_sub(header.resid.max(0) as usize)
}
