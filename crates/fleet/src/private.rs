//! Files that only their owner reads: keys and passwords.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rustix::fs::OFlags;

/// Bytes read of such a file.
const BYTES_MAX: u64 = 64 << 10;

/// Creates or replaces a file with mode 600.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    let problem = || format!("cannot write {}", path.display());
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(path)
        .with_context(problem)?;
    file.set_permissions(fs::Permissions::from_mode(0o600)).with_context(problem)?;
    file.write_all(content).with_context(problem)?;
    file.sync_all().with_context(problem)
}

/// Reads a file; refuses one that others may read, or that belongs to another user.
pub fn read(path: &Path) -> Result<String> {
    let problem = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(problem)?;
    let meta = file.metadata().with_context(problem)?;
    ensure_own(path, meta.uid())?;
    let mode = meta.mode();
    ensure!(
        mode & 0o077 == 0,
        "{}: others may read it (mode {:o}); try: chmod 600",
        path.display(),
        mode & 0o777
    );
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text).with_context(problem)?;
    Ok(text)
}

/// Refuses what belongs to another user than this one or root.
pub fn ensure_own(path: &Path, owner: u32) -> Result<()> {
    let user = rustix::process::geteuid().as_raw();
    ensure!(owner == user || owner == 0, "{}: belongs to user {owner}", path.display());
    Ok(())
}

/// Random bytes from the system.
pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags)
            .context("no random numbers from the system")?;
    }
    Ok(bytes)
}

/// A password: 128 random bits in hexadecimal digits.
pub fn password() -> Result<String> {
    Ok(crate::digits::hex(&random::<16>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_neither_read_a_written_file_nor_is_an_open_one_accepted() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("password");
        fs::write(&path, "old").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("a mode");
        let error = read(&path).expect_err("others may read it").to_string();
        assert!(error.contains("chmod 600"), "{error}");
        write(&path, b"new").expect("replaced");
        assert_eq!(read(&path).expect("readable"), "new");
        assert_ne!(password().expect("random"), password().expect("random"));
    }
}
