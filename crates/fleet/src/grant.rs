//! The permission to destroy: a file of root's on the host that has the drive.
//!
//! ```toml
//! [[drive]]
//! serial = "S6Z1NJ0W"
//! bytes_a_day = "2TB"
//! until = 2026-12-31        # the last day, UTC
//! ```
//!
//! A hub can ask for anything; what is not in this file is refused here, and the guard of the command
//! is asked again. The file and its directories belong to root, and nobody else can write to them: an
//! agent that runs as another user cannot grant itself anything. The file is read again for every job.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use jiff::civil::Date;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::Deserialize;
use workload::units;

/// Where the file is, unless the agent was started with another name.
pub const GRANTS: &str = "/etc/ssdyno/grants.toml";

/// Bytes read of it.
const BYTES_MAX: u64 = 1 << 20;

/// Everything that this host permits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grants {
    drives: Vec<DriveGrant>,
}

/// The permission for one drive.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveGrant {
    /// The serial number, as the command's `--destroy` takes it.
    pub serial: String,
    /// Bytes that all jobs of a day (UTC) may write.
    pub bytes_a_day: u64,
    /// The last day (UTC).
    pub until: Date,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantsFile {
    #[serde(default)]
    drive: Vec<DriveTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DriveTable {
    serial: String,
    bytes_a_day: String,
    until: toml::value::Datetime,
}

impl Grants {
    /// Reads the file; without one, nothing is permitted. An error says why nothing is.
    pub fn read(path: &Path) -> Result<Grants, String> {
        Grants::read_as(path, 0)
    }

    /// Like [`Grants::read`], for a file of another user's instead of root's.
    fn read_as(path: &Path, owner: u32) -> Result<Grants, String> {
        let name = path.display();
        let Some(file) = open_owned(path, owner)? else { return Ok(Grants::default()) };
        let mut text = String::new();
        let length = file.take(BYTES_MAX + 1).read_to_string(&mut text);
        let length = length.map_err(|e| format!("{name}: {e}"))?;
        if length as u64 > BYTES_MAX {
            return Err(format!("{name}: larger than {BYTES_MAX} bytes"));
        }
        Grants::parse(&text).map_err(|e| format!("{name}: {e}"))
    }

    /// Reads the text of the file.
    pub fn parse(text: &str) -> Result<Grants, String> {
        let tables: GrantsFile =
            toml::from_str(text).map_err(|e| emit::one_line(&e.to_string()))?;
        let drives = tables.drive.into_iter().map(|table| {
            let DriveTable { serial, bytes_a_day, until: day } = table;
            if serial.trim().is_empty() || serial.chars().any(char::is_control) {
                return Err("a drive without a serial number".to_string());
            }
            let last_day: Date = day
                .to_string()
                .parse()
                .map_err(|_| format!("until = {day}: write a day, as in 2026-12-31"))?;
            Ok(DriveGrant {
                serial,
                bytes_a_day: units::parse_bytes(&bytes_a_day)?,
                until: last_day,
            })
        });
        Ok(Grants { drives: drives.collect::<Result<_, _>>()? })
    }

    /// The permission for the drive with this serial number on a day; an error says what is missing.
    pub fn permit(&self, serial: &str, today: Date) -> Result<&DriveGrant, String> {
        let mut grants = self.drives.iter().filter(|grant| grant.serial == serial);
        let Some(first) = grants.clone().next() else {
            return Err(format!("this host grants nothing for drive {serial}"));
        };
        grants
            .find(|grant| today <= grant.until)
            .ok_or_else(|| format!("the grant for drive {serial} ended on {}", first.until))
    }
}

/// Opens a file that only `owner` (or root) can change, by a way that only they can change: every directory
/// is opened in the one before, and checked as it is open. `None` if it does not exist.
fn open_owned(path: &Path, owner: u32) -> Result<Option<File>, String> {
    let absolute = std::path::absolute(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut so_far = PathBuf::from("/");
    let mut place = open_part(None, &so_far, true)?.ok_or("no root directory")?;
    let mut parts = absolute.components().skip(1).peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(part) = part else {
            return Err(format!("{}: write the path without '..'", path.display()));
        };
        check_owner(&so_far, &place.metadata().map_err(|e| e.to_string())?, owner, true)?;
        so_far.push(part);
        let is_directory = parts.peek().is_some();
        let Some(next) = open_part(Some(&place), &so_far, is_directory)? else { return Ok(None) };
        place = next;
    }
    let meta = place.metadata().map_err(|e| format!("{}: {e}", path.display()))?;
    if !meta.is_file() {
        return Err(format!("{}: not a regular file", path.display()));
    }
    check_owner(path, &meta, owner, false)?;
    Ok(Some(place))
}

/// Opens the last part of a path in its directory, without following a link; `None` if it does not exist.
fn open_part(
    directory: Option<&File>,
    path: &Path,
    is_directory: bool,
) -> Result<Option<File>, String> {
    // It may be a directory that this user cannot list.
    let kind = if is_directory { OFlags::PATH | OFlags::DIRECTORY } else { OFlags::NONBLOCK };
    let flags = kind | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match (directory, path.file_name()) {
        (Some(directory), Some(name)) => rustix::fs::openat(directory, name, flags, Mode::empty()),
        _ => rustix::fs::open(path, flags, Mode::empty()),
    };
    match opened {
        Ok(descriptor) => Ok(Some(File::from(descriptor))),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP | Errno::NOTDIR) => {
            Err(format!("{}: a link, or no directory; name the file itself", path.display()))
        }
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Checks that only `owner` (or root) can change a file or a directory. Others may write to a directory
/// with the sticky bit, in which they cannot replace this file.
fn check_owner(path: &Path, meta: &Metadata, owner: u32, is_directory: bool) -> Result<(), String> {
    let name = path.display();
    if meta.uid() != 0 && meta.uid() != owner {
        return Err(format!("{name}: belongs to user {}, not to root", meta.uid()));
    }
    let is_sticky = is_directory && meta.mode() & 0o1000 != 0;
    if meta.mode() & 0o022 != 0 && !is_sticky {
        let mode = meta.mode() & 0o7777;
        return Err(format!("{name}: others may write to it (mode {mode:o}); try: chmod go-w"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "[[drive]]\nserial = 'S1'\nbytes_a_day = '2TB'\nuntil = 2026-12-31\n";

    fn user() -> u32 {
        rustix::process::getuid().as_raw()
    }

    #[test]
    fn a_drive_is_permitted_until_its_day() {
        let grants = Grants::parse(TEXT).expect("a grant");
        let grant = grants.permit("S1", date(2026, 12, 31)).expect("permitted");
        assert_eq!(grant.bytes_a_day, 2_000_000_000_000);
        let error = grants.permit("S1", date(2027, 1, 1)).expect_err("too late");
        assert_eq!(error, "the grant for drive S1 ended on 2026-12-31");
        assert!(grants.permit("S2", date(2026, 1, 1)).is_err());
        assert!(grants.permit("", date(2026, 1, 1)).is_err());
        let later = format!("{TEXT}{}", TEXT.replace("2026", "2027"));
        assert!(Grants::parse(&later).expect("two").permit("S1", date(2027, 6, 1)).is_ok());
    }

    #[test]
    fn a_file_that_others_can_change_permits_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("grants.toml");
        assert_eq!(Grants::read_as(&path, user()), Ok(Grants::default()), "no file, no grant");
        fs::write(&path, TEXT).expect("written");
        fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("a mode");
        assert_eq!(Grants::read_as(&path, user()).expect("read").drives.len(), 1);
        for mode in [0o664, 0o646, 0o666] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("a mode");
            let error = Grants::read_as(&path, user()).expect_err("writable");
            assert!(error.contains("others may write"), "{error}");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("a mode");
        fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).expect("a mode");
        let error = Grants::read_as(&path, user()).expect_err("its directory is writable");
        assert!(error.contains("others may write"), "{error}");
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).expect("a mode");
        let link = dir.path().join("link");
        symlink(&path, &link).expect("a link");
        assert!(Grants::read_as(&link, user()).is_err(), "a link");
        assert!(Grants::read_as(dir.path(), user()).is_err(), "a directory");
        let place = dir.path().join("place");
        symlink(dir.path(), &place).expect("a link");
        let error = Grants::read_as(&place.join("grants.toml"), user()).expect_err("by a link");
        assert!(error.contains("a link"), "{error}");
        let around = dir.path().join("../grants.toml");
        assert!(Grants::read_as(&around, user()).is_err(), "a way back");
        fs::write(&path, format!("{TEXT}#{}", "x".repeat(1 << 20))).expect("written");
        let error = Grants::read_as(&path, user()).expect_err("too long");
        assert!(error.contains("larger"), "{error}");
        if user() != 0 {
            let error = Grants::read(&path).expect_err("not root's");
            assert!(error.contains("not to root"), "{error}");
        } else {
            std::os::unix::fs::chown(&path, Some(1), None).expect("another owner");
            let error = Grants::read(&path).expect_err("not root's");
            assert!(error.contains("not to root"), "{error}");
        }
    }

    #[test]
    fn a_misspelt_grant_is_an_error() {
        for (from, to) in [
            ("2TB", "lots"),
            ("2026-12-31", "'soon'"),
            ("2026-12-31", "12:00:00"),
            ("serial", "sn"),
            ("S1", " "),
        ] {
            assert!(Grants::parse(&TEXT.replace(from, to)).is_err(), "{to}");
        }
    }

    proptest! {
        #[test]
        fn only_what_is_written_is_permitted(
            serial in "[A-Za-z0-9 ._-]{1,20}", other in "[A-Za-z0-9 ._-]{0,20}", bytes in 0u64..1 << 50,
            day in 1i8..=28, later in -40i32..40,
        ) {
            prop_assume!(!serial.trim().is_empty());
            let text = format!(
                "[[drive]]\nserial = '{serial}'\nbytes_a_day = '{bytes}'\nuntil = 2026-06-{day:02}\n"
            );
            let grants = Grants::parse(&text).expect("a grant");
            let until = date(2026, 6, day);
            let today = until.checked_add(jiff::Span::new().days(later)).expect("a day");
            let permit = grants.permit(&serial, today);
            prop_assert_eq!(permit.is_ok(), later <= 0);
            prop_assert!(permit.map_or(true, |grant| grant.bytes_a_day == bytes));
            prop_assert_eq!(grants.permit(&other, until).is_ok(), other == serial);
        }

        #[test]
        fn any_text_is_refused_or_read(text in "\\PC{0,200}", at in 0usize..80, sign in "\\PC") {
            let _ = Grants::parse(&text);
            let mut mended = TEXT.to_string();
            mended.insert_str(mended.floor_char_boundary(at), &sign);
            let _ = Grants::parse(&mended);
        }
    }
}
