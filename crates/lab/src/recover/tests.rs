//! Which drive a journal belongs to, and what is said about it.

use std::fs::{self, File};
use std::io;

use journal::{BLOCK, Borrowed, Storage};
use workload::Region;

use super::*;

/// Makes a journal of four blocks of a drive with this serial number.
fn kept(dir: &std::path::Path, serial: Option<&str>) -> EarlierJournal {
    let bytes = 4 * BLOCK as u64;
    let drive = dir.join("drive");
    fs::write(&drive, vec![7; 4 * BLOCK]).expect("written");
    let file = File::open(drive).expect("opens");
    let borrowed = Borrowed::read(&file, Region::first(bytes)).expect("read");
    let key = DriveKey {
        path: "/dev/sdx".into(),
        model: None,
        serial: serial.map(String::from),
        disk_bytes: bytes,
        start: None,
        bytes,
        backing_file: None,
        nsid: None,
    };
    let place = JournalDir::at(dir);
    let path = place.keep(&key, &borrowed).expect("kept").path().to_path_buf();
    EarlierJournal::open(&path).expect("whole")
}

/// docs/safety.md: "accepted if at least half of its blocks match the journal".
#[test]
fn a_drive_without_a_serial_number_is_identified_by_half_of_its_blocks() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let (nameless, named) = (kept(dir.path(), None), kept(dir.path(), Some("S1")));
    let accepts = |kept: &EarlierJournal, differing: &[usize], recovery: &Recovery| {
        recovery.check_identity(&kept.header, kept, differing, ("/dev/sdx", false))
    };
    let usual = Recovery::default();
    accepts(&nameless, &[], &usual).expect("all blocks match");
    accepts(&nameless, &[0, 3], &usual).expect("half of them match");
    let error = accepts(&nameless, &[0, 1, 3], &usual).expect_err("a quarter matches");
    assert!(error.to_string().contains("only 25% of its blocks"), "{error}");
    accepts(&named, &[0, 1, 2, 3], &usual).expect("the serial number matches");
    // Naming the device counts only together with the request to write.
    let device = Some("/dev/sdx".to_string());
    let asked = Recovery { device: device.clone(), replay: true, ..Recovery::default() };
    accepts(&nameless, &[0, 1, 2, 3], &asked).expect("the user named it");
    let only_named = Recovery { device, ..Recovery::default() };
    accepts(&nameless, &[0, 1, 2, 3], &only_named).expect_err("no write was requested");
}

/// Two cards in turn in one reader have the serial number of the reader.
#[test]
fn a_usb_drive_is_identified_by_half_of_its_blocks_or_named() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let kept = kept(dir.path(), Some("READER"));
    let accepts = |differing: &[usize], recovery: &Recovery| {
        recovery.check_identity(&kept.header, &kept, differing, ("/dev/sdx", true))
    };
    let replay = Recovery { replay: true, ..Recovery::default() };
    accepts(&[0, 3], &replay).expect("half of the blocks match");
    let error = accepts(&[0, 1, 2, 3], &replay).expect_err("another card");
    let text = "the serial number of /dev/sdx may be that of its reader or dock, and only 0%";
    assert!(error.to_string().starts_with(text), "{error}");
    let advice = error.advice().expect("a command").to_string();
    assert!(advice.starts_with("ssdyno recover /dev/sdx --replay"), "{advice}");
    let named = Recovery { device: Some("/dev/sdx".into()), ..replay };
    accepts(&[0, 1, 2, 3], &named).expect("the user named it");
}

#[test]
fn a_drive_with_another_name_is_named() {
    let found = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let recovery =
        |device: Option<&str>| Recovery { device: device.map(String::from), ..Recovery::default() };
    let chosen = |device, names: &[&str]| {
        recovery(device).choose(&found(names)).map_err(|error| error.to_string())
    };
    assert_eq!(chosen(None, &["/dev/sdc"]), Ok("/dev/sdc".into()));
    assert_eq!(chosen(Some("/dev/sdc"), &["/dev/sdb", "/dev/sdc"]), Ok("/dev/sdc".into()));
    let moved = chosen(Some("/dev/sdb"), &["/dev/sdc"]).expect_err("not there");
    assert_eq!(moved, "the drive is now /dev/sdc: nothing was touched");
    let error = recovery(Some("/dev/sdb")).choose(&found(&["/dev/sdc"])).expect_err("moved");
    assert_eq!(error.advice(), Some("ssdyno recover /dev/sdc"));
    for device in [None, Some("/dev/sdb")] {
        let none = chosen(device, &[]).expect_err("none");
        assert!(none.starts_with("the drive is not attached"), "{none}");
        let two = chosen(device, &["/dev/sdc", "/dev/sdd"]).expect_err("two");
        assert!(two.starts_with("several drives match (/dev/sdc, /dev/sdd)"), "{two}");
    }
}

/// A drive that cannot be read from this offset on.
struct Torn<'a>(&'a [u8], u64);

impl Storage for Torn<'_> {
    fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if offset >= self.1 {
            return Err(io::Error::other("bad sector"));
        }
        buffer.copy_from_slice(&self.0[offset as usize..][..buffer.len()]);
        Ok(())
    }

    fn write_all(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn forget(&self, _: Region) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn unreadable_blocks_are_not_reported_as_different() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let kept = kept(dir.path(), Some("S1"));
    let mut bytes = vec![7; 4 * BLOCK];
    bytes[0] = 8;
    let drive = Torn(&bytes, 2 * BLOCK as u64);
    let compared = kept.borrowed.compare(&drive, Rereads::UntilCertain, &mut |_| ());
    let compared = compared.expect("compared");
    assert_eq!((&compared.differing[..], &compared.to_restore()[..]), (&[0][..], &[0, 2, 3][..]));
    let error = check_readable(&compared, &kept, "/dev/sdx").expect_err("two");
    assert_eq!(error.to_string(), "2 of 4 blocks on /dev/sdx cannot be read: bad sector");
    assert_eq!(error.advice(), None);
    check_readable(&Differences::default(), &kept, "/dev/sdx").expect("all were read");
}

#[test]
fn a_leftover_names_its_drive() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let recovery = Recovery { journal: Some(dir.path().into()), ..Recovery::default() };
    assert_eq!(recovery.left(), Vec::<String>::new());
    drop(kept(dir.path(), Some("S1")));
    let bytes = 4 * BLOCK;
    let drive = format!("/dev/sdx (a drive of unknown model, serial number S1, {bytes} bytes)");
    assert_eq!(recovery.left(), [format!("borrowed blocks of {drive}")]);
    let names = || fs::read_dir(dir.path()).expect("listed").map(|e| e.expect("an entry").path());
    let is_journal = |path: &PathBuf| path.extension().is_some_and(|e| e == "journal");
    let path = names().find(is_journal).expect("there");
    // A second journal of the same drive.
    fs::copy(&path, path.with_file_name("second.journal")).expect("copied");
    assert_eq!(recovery.left(), [format!("borrowed blocks of {drive}")]);
    fs::remove_file(path.with_file_name("second.journal")).expect("removed");
    fs::write(&path, "SSDYNOJ1").expect("damaged");
    let unknown = format!("borrowed blocks of an unknown drive in {}", path.display());
    assert_eq!(recovery.left(), [unknown]);
    let part = path.with_extension("part");
    fs::rename(&path, &part).expect("renamed");
    assert_eq!(recovery.left(), [format!("an incomplete journal, {}", part.display())]);
}
