//! The guest's kernel: the newest in /boot (on Debian, from the package `linux-image-amd64`), with
//! the modules used by the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::cpio::Archive;
use crate::run::{find, program};

/// Modules that a script may load; their dependencies are added.
const MODULES: &[&str] = &[
    "virtio_pci",
    "virtio_console", // the port to the host
    "virtio_blk",     // `scratch` disks
    "nvme",
    "ahci",
    "sd_mod",
    "sg",
    "xhci_pci",
    "usb_storage",
    "uas",
    "sdhci_pci",
    "mmc_block",
    "drivetemp",
    "ext4",
    "crc32c_generic",
    "vfat",
    "exfat",
    "adfs",
    "nls_cp437",
    "nls_ascii",
    "nls_utf8",
    "nls_iso8859-1",
    "loop",
    "dm_mod",
    "dm_delay",
    "dm_zero",
    "dm_snapshot",
    "dm_thin_pool",
    "md_mod",
    "raid1",
    "btrfs",
    "dm_crypt",
    "aes_generic",
    "ecb",
    "xts",
    "bcache",
    "vfio_pci",
    "vfio_iommu_type1",
];

/// A bootable kernel.
pub struct Kernel {
    /// The compressed image.
    pub image: PathBuf,
    /// As printed by `uname -r`.
    version: String,
    modules: PathBuf,
}

impl Kernel {
    /// The newest complete and readable kernel; the error gives the reason if there is none.
    pub fn find() -> Result<Kernel> {
        Kernel::in_root(Path::new("/"))
    }

    /// The newest kernel of the system below this directory.
    pub fn in_root(root: &Path) -> Result<Kernel> {
        let boot = root.join("boot");
        let names = fs::read_dir(&boot)
            .with_context(|| boot.display().to_string())?
            .filter_map(|e| e.ok()?.file_name().into_string().ok());
        let mut versions: Vec<String> =
            names.filter_map(|n| n.strip_prefix("vmlinuz-").map(str::to_string)).collect();
        versions.sort_by_key(|version| numbers(version));
        for version in versions.into_iter().rev() {
            let image = boot.join(format!("vmlinuz-{version}"));
            let modules = root.join("lib/modules").join(&version);
            if fs::File::open(&image).is_ok() && modules.join("modules.dep").exists() {
                return Ok(Kernel { image, version, modules });
            }
        }
        bail!("no readable kernel with modules in {}", boot.display());
    }

    /// The image to boot: unpacked into `dir` if possible, because the guest's processor would take
    /// ten times as long.
    pub fn unpacked(&self, dir: &Path) -> Result<PathBuf> {
        let unpacked = dir.join(format!("vmlinux-{}", self.version));
        if unpacked.exists() {
            return Ok(unpacked);
        }
        // QEMU starts an unpacked image only if the kernel has a PVH entry point.
        let config = fs::read_to_string(format!("/boot/config-{}", self.version));
        if !config.unwrap_or_default().lines().any(|line| line == "CONFIG_PVH=y") {
            return Ok(self.image.clone());
        }
        let image = fs::read(&self.image).with_context(|| self.image.display().to_string())?;
        let Some((unpacker, payload)) = payload(&image) else {
            return Ok(self.image.clone());
        };
        let (packed, part) = (dir.join("payload"), dir.join("vmlinux.part"));
        fs::write(&packed, payload)?;
        let mut unpack = program(unpacker, &["-dc", &packed.to_string_lossy()]);
        let status = unpack.stdout(fs::File::create(&part)?).status().context(unpacker)?;
        ensure!(status.success(), "{unpacker} could not unpack {}", self.image.display());
        fs::remove_file(packed)?;
        fs::rename(&part, &unpacked)?;
        Ok(unpacked)
    }

    /// Adds the modules to the archive, with the tables read by `modprobe`.
    pub fn add_modules(&self, archive: &mut Archive) -> Result<()> {
        let place = format!("/lib/modules/{}", self.version);
        let table = self.read("modules.dep")?;
        let (kept, lines) = closure(&table, MODULES);
        for file in &kept {
            let content = fs::read(self.modules.join(file)).with_context(|| file.to_string())?;
            archive.file(&format!("{place}/{file}"), 0o644, &content);
        }
        archive.file(&format!("{place}/modules.dep"), 0o644, lines.as_bytes());
        let names: BTreeSet<String> = kept.iter().map(|file| name(file)).collect();
        let aliases = self.read("modules.alias")?;
        let ours = |line: &&str| line.rsplit(' ').next().is_some_and(|m| names.contains(&name(m)));
        let aliases: String =
            aliases.lines().filter(ours).map(|line| format!("{line}\n")).collect();
        archive.file(&format!("{place}/modules.alias"), 0o644, aliases.as_bytes());
        Ok(())
    }

    fn read(&self, name: &str) -> Result<String> {
        let path = self.modules.join(name);
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    }
}

/// Whether a kernel to boot exists.
pub fn has_kernel() -> bool {
    Kernel::find().is_ok()
}

/// The program that unpacks the kernel in an image, and the packed kernel without the length that
/// Linux appends to it, unless the format has one itself (`payload_offset` and `payload_length` in
/// Documentation/x86/boot.rst of Linux).
fn payload(image: &[u8]) -> Option<(&'static str, &[u8])> {
    let word =
        |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    let set_up = (usize::from(*image.get(0x1f1)?) + 1) * 512;
    let start = set_up + word(0x248)?;
    let payload = image.get(start..start + word(0x24c)?)?;
    let (unpacker, appended) = match payload {
        [0xfd, b'7', b'z', ..] => ("xz", 4),
        [0x1f, 0x8b, ..] => ("gzip", 0),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => ("zstd", 4),
        _ => return None,
    };
    let packed = payload.get(..payload.len().checked_sub(appended)?)?;
    find(unpacker).map(|_| (unpacker, packed))
}

/// The numbers in a version, so that 6.1.0-10 is newer than 6.1.0-9.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

/// Module name of a file: `nls_iso8859_1` for `kernel/fs/nls/nls_iso8859-1.ko`.
fn name(file: &str) -> String {
    let file = file.rsplit('/').next().unwrap_or(file);
    file.split(".ko").next().unwrap_or(file).replace('-', "_")
}

/// Selects the requested modules and all their dependencies from modules.dep, with lines of the
/// form `file: needed files`. A missing module is built in or unknown; in the latter case loading
/// it fails.
fn closure<'a>(table: &'a str, wanted: &[&str]) -> (BTreeSet<&'a str>, String) {
    let lines: BTreeMap<&str, &str> =
        table.lines().filter_map(|line| line.split_once(':')).collect();
    let wanted: BTreeSet<String> = wanted.iter().map(|module| name(module)).collect();
    let mut kept = BTreeSet::new();
    for (file, needed) in lines.iter().filter(|(file, _)| wanted.contains(&name(file))) {
        kept.insert(*file);
        kept.extend(needed.split_whitespace());
    }
    let text = kept.iter().filter_map(|file| Some(format!("{file}:{}\n", lines.get(file)?)));
    let text = text.collect();
    (kept, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_has_the_highest_number() {
        assert!(numbers("6.1.0-10-amd64") > numbers("6.1.0-9-amd64"));
        assert!(numbers("6.12.1-amd64") > numbers("6.1.0-9-amd64"));
    }

    #[test]
    fn only_the_length_that_linux_appended_is_cut() {
        let image = |payload: &[u8]| {
            let mut image = vec![0; 1024 + 7];
            image[0x1f1] = 1;
            image[0x248..0x24c].copy_from_slice(&7u32.to_le_bytes());
            image[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
            image.extend_from_slice(payload);
            image
        };
        let gzip = [0x1f, 0x8b, 8, 0, 1, 2, 3, 4];
        let xz = [0xfd, b'7', b'z', b'X', 1, 2, 3, 4];
        for (packed, unpacker, kept) in [(gzip, "gzip", &gzip[..]), (xz, "xz", &xz[..4])] {
            // A machine without the program does not unpack.
            let expected = find(unpacker).map(|_| (unpacker, kept));
            assert_eq!(payload(&image(&packed)), expected);
        }
    }

    #[test]
    fn modules_come_with_their_dependencies() {
        let table = "kernel/a-x.ko: kernel/b.ko kernel/c.ko\nkernel/b.ko: kernel/c.ko\n\
                     kernel/c.ko:\nkernel/d.ko: kernel/c.ko\n";
        let (kept, text) = closure(table, &["a_x"]);
        assert_eq!(
            kept.into_iter().collect::<Vec<_>>(),
            ["kernel/a-x.ko", "kernel/b.ko", "kernel/c.ko"]
        );
        assert_eq!(text.lines().count(), 3);
        assert!(!text.contains("/d.ko"));
    }
}
