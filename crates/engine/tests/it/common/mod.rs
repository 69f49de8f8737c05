//! Backends that this machine may lack.

use std::io::ErrorKind;

use rig::{BackendKind, ErrorClass, RigError};

/// Reports that a backend is skipped because the kernel or a sandbox does not provide it (ENOSYS,
/// EPERM, EAGAIN). Any other error, and any error of psync, fails the test.
pub fn skip(backend: BackendKind, error: &RigError) {
    let expected = [ErrorKind::Unsupported, ErrorKind::PermissionDenied, ErrorKind::WouldBlock];
    let absent = match error {
        RigError::Io { source, .. } => expected.contains(&source.kind()),
        // io_uring is probed when the machine is created.
        RigError::Target { fault: ErrorClass::Usage, .. } => backend == BackendKind::Uring,
        _ => false,
    };
    assert!(absent && backend != BackendKind::Psync, "{}: {error:?}", backend.name());
    println!("skipped: backend {} is not available: {error}", backend.name());
}
