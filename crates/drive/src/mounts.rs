//! Mounts and swap: /proc/self/mountinfo and /proc/swaps.
//!
//! Source: proc(5), "/proc/[pid]/mountinfo". The kernel writes space, tab, newline and backslash in
//! paths as three octal digits. Any text is accepted; malformed lines are skipped.

use std::path::{Path, PathBuf};

use crate::machine::{DevNumber, Machine};

/// One line of mountinfo.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mount {
    pub id: u64,
    pub dev: DevNumber,
    /// The mounted directory of the file system; not `/` for bind mounts and subvolumes.
    pub root: String,
    pub point: String,
    pub kind: String,
    pub source: String,
    /// Options of the mount and of the file system, without duplicates.
    pub options: String,
}

impl Mount {
    /// Value of an option; empty for an option without a value.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.split(',').find_map(|option| match option.split_once('=') {
            Some((key, value)) => (key == name).then_some(value),
            None => (option == name).then_some(""),
        })
    }

    /// Whether the data are in memory.
    pub fn in_memory(&self) -> bool {
        matches!(self.kind.as_str(), "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" | "rootfs")
    }
}

/// All mounts visible to this process, in order of mounting.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mounts(pub Vec<Mount>);

impl Mounts {
    pub fn read(machine: &Machine) -> Mounts {
        Mounts::parse(&machine.text("/proc/self/mountinfo").unwrap_or_default())
    }

    pub fn parse(text: &str) -> Mounts {
        Mounts(text.lines().filter_map(parse_line).collect())
    }

    /// The mount that contains an absolute path: the deepest, and the latest of those at the same
    /// point.
    pub fn covering(&self, path: &Path) -> Option<&Mount> {
        let covers = self.0.iter().filter(|mount| path.starts_with(&mount.point));
        covers.max_by_key(|mount| Path::new(&mount.point).components().count())
    }

    pub fn by_id(&self, id: u64) -> Option<&Mount> {
        self.0.iter().find(|mount| mount.id == id)
    }
}

fn parse_line(line: &str) -> Option<Mount> {
    let (place, source) = line.split_once(" - ")?;
    let place: Vec<&str> = place.split(' ').collect();
    let &[id, _, dev, root, point, options, ..] = place.as_slice() else { return None };
    let mut source = source.split(' ');
    let (kind, device, own_options) = (source.next()?, source.next()?, source.next().unwrap_or(""));
    Some(Mount {
        id: id.parse().ok()?,
        dev: dev.parse().ok()?,
        root: unescape(root),
        point: unescape(point),
        kind: kind.to_string(),
        source: unescape(device),
        options: join_options(options, own_options),
    })
}

/// Merges the options of the mount and the file system. A read-only file system makes the mount
/// read-only, and a read-only mount does not become `rw` because its file system is.
fn join_options(mount: &str, own: &str) -> String {
    let mut options: Vec<&str> = mount.split(',').chain(own.split(',')).collect();
    if options.contains(&"ro") {
        options.retain(|option| *option != "rw");
    }
    let mut distinct: Vec<&str> = Vec::with_capacity(options.len());
    for option in options {
        if !option.is_empty() && !distinct.contains(&option) {
            distinct.push(option);
        }
    }
    unescape(&distinct.join(","))
}

/// Decodes the kernel's octal escapes, such as `\040`.
fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut position = 0;
    while position < bytes.len() {
        let escaped = bytes[position..].strip_prefix(b"\\").and_then(|rest| octal(rest.get(..3)?));
        decoded.push(escaped.unwrap_or(bytes[position]));
        position += if escaped.is_some() { 4 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn octal(digits: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(digits).ok()?;
    let plain = digits.iter().all(|digit| (b'0'..=b'7').contains(digit));
    plain.then(|| u8::from_str_radix(text, 8).ok()).flatten()
}

/// Whether the data of a kind of file system are on another machine, or on the host of a virtual
/// one.
pub(crate) fn is_remote(kind: &str) -> bool {
    const KINDS: [&str; 19] = [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "fuse.ceph",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "fuse.vmhgfs-fuse",
        "lustre",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
    ];
    KINDS.contains(&kind)
}

/// A device or file used as swap.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Swap {
    /// Its name as text; names of removed files end in ` (deleted)`.
    pub path: PathBuf,
    /// Whether it is a file.
    pub is_file: bool,
    /// Usable size, bytes: all but the first page.
    pub bytes: u64,
}

/// Devices and files used as swap.
pub(crate) fn swaps(machine: &Machine) -> Vec<Swap> {
    let text = machine.text("/proc/swaps").unwrap_or_default();
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            let (path, kind, kib) = (fields.next()?, fields.next()?, fields.next()?);
            let bytes = kib.parse::<u64>().ok()?.saturating_mul(1024);
            Some(Swap { path: PathBuf::from(unescape(path)), is_file: kind == "file", bytes })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,discard
40 27 8:17 / /media/my\\040stick ro,nosuid master:2 - vfat /dev/sdb1 rw,fmask=0022
41 27 0:40 /@home /srv rw - btrfs /dev/sda3 rw,subvolid=257
42 27 0:41 / /srv rw - tmpfs tmpfs rw
nonsense - without sense
";

    #[test]
    fn lines_with_and_without_optional_fields() {
        let mounts = Mounts::parse(TEXT);
        assert_eq!(mounts.0.len(), 5);
        let stick = &mounts.0[2];
        assert_eq!(stick.point, "/media/my stick");
        assert_eq!(stick.dev, DevNumber { major: 8, minor: 17 });
        assert_eq!(stick.option("ro"), Some(""));
        assert_eq!(stick.options, "ro,nosuid,fmask=0022");
        assert_eq!(stick.option("fmask"), Some("0022"));
        assert_eq!(mounts.0[3].root, "/@home");
    }

    #[test]
    fn the_deepest_and_latest_mount_covers_a_path() {
        let mounts = Mounts::parse(TEXT);
        let covering = |path: &str| mounts.covering(Path::new(path)).map(|m| m.id);
        assert_eq!(covering("/etc/passwd"), Some(27));
        assert_eq!(covering("/media/my stick/a"), Some(40));
        assert_eq!(covering("/media/my sticky"), Some(27));
        assert_eq!(covering("/srv/x"), Some(42), "mounted over the other file system");
    }

    proptest! {
        #[test]
        fn any_text_is_accepted(text in "(?s).{0,400}") {
            Mounts::parse(&text);
        }

        #[test]
        fn any_fields_are_accepted(fields in prop::collection::vec("[ -~]{0,9}", 0..14)) {
            Mounts::parse(&fields.join(" "));
            Mounts::parse(&format!("1 2 3:4 {} - a b c", fields.join(" ")));
        }

        #[test]
        fn escapes_are_decoded(path in "[ -~]{0,40}") {
            let escaped = path.replace('\\', "\\134").replace(' ', "\\040");
            prop_assert_eq!(unescape(&escaped), path);
        }
    }
}
