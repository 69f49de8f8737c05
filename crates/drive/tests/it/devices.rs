//! Opening block devices: refusals, permissions and the guard, on loop devices of the real kernel.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use crate::common::kernel::{Loop, Mounted, attach, detach, or_skip, run};
use drive::{DriveError, OpenRequest, Opened, open, plan_open};
use record::{Safety, TargetKind};
use rig::ErrorClass;

const MIB: u64 = 1 << 20;

fn reads() -> OpenRequest {
    OpenRequest::to(Safety::Reads)
}

fn destroy(word: &str) -> OpenRequest {
    OpenRequest { destroy: Some(word.into()), ..OpenRequest::to(Safety::Destroys) }
}

fn refused(result: Result<Opened, DriveError>) -> String {
    let error = result.expect_err("must be refused");
    assert_eq!(error.fault(), ErrorClass::Refused, "{error}");
    let text = error.to_string();
    assert!(!text.contains('\n'), "one line: {text}");
    text
}

/// Asserts that a device is refused for this reason, both when planned and when opened.
fn refused_in_use(path: &str, bytes: u64, reason: &str) {
    let request = destroy(&bytes.to_string());
    let text = refused(open(path, &request));
    assert!(text.contains(reason), "{text}");
    let planned = plan_open(path, &request).expect_err("planned as refused");
    assert_eq!(planned.to_string(), text);
    let reading = open(path, &reads()).expect("reads are allowed");
    assert_eq!(reading.info.allowed, Safety::Reads);
}

#[test]
fn reads_are_the_default_and_cannot_write() {
    let device = or_skip!(Loop::of(8 * MIB));
    let opened = open(&device.path, &reads()).expect("opens");
    let info = &opened.info;
    assert_eq!((info.allowed, info.bytes, info.logical_block_bytes), (Safety::Reads, 8 * MIB, 512));
    assert_eq!(
        (info.target.kind, info.target.direct, info.discard),
        (TargetKind::Device, None, false)
    );
    assert_eq!(info.target.layers.first().map(String::as_str), Some(device.path.as_str()));
    assert!(opened.destroys.is_none());
    assert!(opened.file().write_at(&[1], 0).is_err());
    // The intention to destroy is not enough without a confirmation.
    let wanting = OpenRequest { wants: Safety::Destroys, ..reads() };
    assert_eq!(open(&device.path, &wanting).expect("opens").info.allowed, Safety::Reads);
}

#[test]
fn a_size_selects_the_first_whole_blocks() {
    let device = or_skip!(Loop::of(8 * MIB));
    let sized = |size| open(&device.path, &OpenRequest { size: Some(size), ..reads() });
    assert_eq!(sized(MIB + 100).expect("fits").info.bytes, MIB);
    for bad in [0, 100, 8 * MIB + 1] {
        assert_eq!(sized(bad).expect_err("bad size").fault(), ErrorClass::Usage, "{bad}");
    }
}

#[test]
fn a_wrong_confirmation_is_refused_and_the_right_one_grants_exclusive_access() {
    let device = or_skip!(Loop::of(8 * MIB));
    for wrong in ["", "1", "8MiB", "S6Z1NJ0W"] {
        assert!(refused(open(&device.path, &destroy(wrong))).contains("nothing was touched"));
        // A wrong confirmation is refused even if nothing would be destroyed.
        let request = OpenRequest { wants: Safety::Reads, ..destroy(wrong) };
        refused(open(&device.path, &request));
    }
    let word = (8 * MIB).to_string();
    let merely = open(&device.path, &OpenRequest { wants: Safety::Reads, ..destroy(&word) });
    assert_eq!(merely.expect("opens").info.allowed, Safety::Reads);

    let opened = open(&device.path, &destroy(&word)).expect("granted");
    assert_eq!(opened.info.allowed, Safety::Destroys);
    assert!(opened.info.discard, "loop devices discard by punching holes");
    let lost = opened.destroys.clone().expect("said");
    assert_eq!(lost, format!("everything on {}: blank, nothing recognised", device.path));
    opened.file().write_all_at(&[7; 4096], 4096).expect("may be written");
    opened.guard.check_again().expect("nothing changed");

    let exclusive = || File::options().read(true).custom_flags(libc::O_EXCL).open(&device.path);
    assert!(exclusive().is_err(), "held");
    refused(open(&device.path, &destroy(&word)));
    drop(opened);
    open(&device.path, &destroy(&word)).expect("released");
}

#[test]
fn contents_that_would_be_lost_are_named() {
    let device = or_skip!(Loop::with(16 * MIB, &["mkfs.ext4", "-q", "-L", "photos"]));
    let word = (16 * MIB).to_string();
    let planned = plan_open(&device.path, &destroy(&word)).expect("planned");
    let lost = planned.destroys.expect("said");
    assert!(lost.ends_with(": ext4 'photos'"), "{lost}");
    assert_eq!(planned.info.allowed, Safety::Destroys);
}

#[test]
fn a_mounted_device_is_refused() {
    let device = or_skip!(Loop::with(16 * MIB, &["mkfs.ext4", "-q"]));
    let mounted = or_skip!(Mounted::new(&device.path, "rw"));
    refused_in_use(&device.path, 16 * MIB, &format!("mounted at {}", mounted.text()));
}

#[test]
fn a_mounted_partition_blocks_its_disk_but_not_its_neighbour() {
    let device = or_skip!(Loop::partitioned(16 * MIB, &[(2048, 16384), (18432, 8192)]));
    let first = format!("{}p1", device.path);
    run("mkfs.ext4", &["-q", &first]).expect("formatted");
    let planned = plan_open(&device.path, &destroy(&(16 * MIB).to_string())).expect("unused");
    let lost = planned.destroys.expect("said");
    assert!(lost.ends_with("MBR partition table; 1: ext4; 2: partition 'Linux'"), "{lost}");

    let mounted = or_skip!(Mounted::new(&first, "rw"));
    let reason = format!("{first} is mounted at {}", mounted.text());
    refused_in_use(&device.path, 16 * MIB, &reason);
    refused_in_use(&first, 8 * MIB, &reason);
    let second = format!("{}p2", device.path);
    let opened = open(&second, &destroy(&(4 * MIB).to_string())).expect("nobody uses it");
    assert_eq!((opened.info.bytes, opened.info.allowed), (4 * MIB, Safety::Destroys));
    let layers = &opened.info.target.layers[..2];
    assert_eq!(layers, [second, device.path.clone()]);
}

#[test]
fn swap_is_refused() {
    let device = or_skip!(Loop::with(16 * MIB, &["mkswap"]));
    or_skip!(run("swapon", &[&device.path]));
    let result = std::panic::catch_unwind(|| {
        refused_in_use(&device.path, 16 * MIB, &format!("{} is swap", device.path));
    });
    run("swapoff", &[&device.path]).expect("swapped off");
    result.expect("refused");
}

#[test]
fn a_device_under_a_loop_device_is_refused() {
    let device = or_skip!(Loop::of(8 * MIB));
    let above = or_skip!(attach(device.path.as_ref()));
    let result = std::panic::catch_unwind(|| {
        let name = above.trim_start_matches("/dev/");
        refused_in_use(&device.path, 8 * MIB, &format!("held by {name}"));
    });
    detach(&above);
    result.expect("refused");
}

#[test]
fn a_file_system_used_only_by_a_loop_device_is_refused() {
    let device = or_skip!(Loop::with(32 * MIB, &["mkfs.ext4", "-q"]));
    let mounted = or_skip!(Mounted::new(&device.path, "rw"));
    let image = mounted.dir.join("inner");
    File::create(&image).and_then(|file| file.set_len(MIB)).expect("created");
    let above = or_skip!(attach(&image));
    let result = std::panic::catch_unwind(|| {
        refused_in_use(&device.path, 32 * MIB, "is mounted at");
        // No longer listed as a mount, but still in use.
        run("umount", &["-l", mounted.text()]).expect("unmounted lazily");
        refused_in_use(&device.path, 32 * MIB, "contains the file under");
    });
    detach(&above);
    result.expect("refused");
}

/// Without its table, the file system of a partition would be lost.
#[test]
fn a_loop_device_over_the_table_of_a_mounted_partition_is_refused() {
    let device = or_skip!(Loop::partitioned(16 * MIB, &[(2048, 24576)]));
    let partition = format!("{}p1", device.path);
    let over = ["-f", "--show", "--sizelimit", "1048576", &device.path];
    let table = or_skip!(run("losetup", &over));
    let result = std::panic::catch_unwind(|| {
        open(&table, &destroy(&MIB.to_string())).expect("nothing is in use");
        run("mkfs.ext4", &["-q", &partition]).expect("made");
        let _mounted = Mounted::new(&partition, "ro").expect("mounted");
        let words = format!("{} contains the table or label of", device.path);
        refused_in_use(&table, MIB, &words);
    });
    detach(&table);
    result.expect("refused");
}

#[test]
fn a_read_only_device_is_refused() {
    let image = tempfile::NamedTempFile::new().expect("a file");
    image.as_file().set_len(8 * MIB).expect("sized");
    let device =
        or_skip!(run("losetup", &["-r", "-f", "--show", &image.path().display().to_string()]));
    let result = std::panic::catch_unwind(|| {
        let text = refused(open(&device, &destroy(&(8 * MIB).to_string())));
        assert!(text.ends_with("is read-only"), "{text}");
        assert_eq!(open(&device, &reads()).expect("opens").info.allowed, Safety::Reads);
    });
    detach(&device);
    result.expect("refused");
}

#[test]
fn the_guard_notices_a_new_size_and_a_new_loop_device() {
    let device = or_skip!(Loop::of(8 * MIB));
    let opened = open(&device.path, &destroy(&(8 * MIB).to_string())).expect("granted");
    let above = or_skip!(attach(device.path.as_ref()));
    let held = opened.guard.check_again();
    detach(&above);
    assert_eq!(held.expect_err("in use").fault(), ErrorClass::Refused);
    opened.guard.check_again().expect("free again");

    File::options().write(true).open(&device.image).and_then(|f| f.set_len(4 * MIB)).expect("cut");
    // The device itself still has its size; reads of the missing part return zeros.
    let error = opened.guard.check_again().expect_err("cut short below it");
    let text = "the file under it had 8388608 bytes, now 4194304";
    assert!(error.to_string().contains(text), "{error}");
    or_skip!(run("losetup", &["-c", &device.path]));
    let error = opened.guard.check_again().expect_err("smaller");
    assert!(error.to_string().contains("it had 8388608 bytes, now 4194304"), "{error}");
    assert_eq!(error.fault(), ErrorClass::Refused);
}

#[test]
fn the_guard_notices_another_partition_table() {
    let device = or_skip!(Loop::partitioned(16 * MIB, &[(2048, 8192)]));
    let opened = open(&device.path, &destroy(&(16 * MIB).to_string())).expect("granted");
    or_skip!(run("addpart", &[&device.path, "2", "16384", "8192"]));
    let error = opened.guard.check_again().expect_err("another table");
    assert!(error.to_string().contains("its partition table is another"), "{error}");
    assert_eq!(error.fault(), ErrorClass::Refused);
    or_skip!(run("delpart", &[&device.path, "2"]));
    opened.guard.check_again().expect("as before");
}

#[test]
fn a_swap_file_is_refused_whatever_share_of_it_is_swap() {
    for swap_kib in ["4096", "2048"] {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().write_all_at(&vec![0; 4 * MIB as usize], 0).expect("written");
        let path = file.path().display().to_string();
        run("chmod", &["600", &path]).expect("private");
        or_skip!(run("mkswap", &[&path, swap_kib]));
        or_skip!(run("swapon", &["-p", "0", &path]));
        let link = format!("{path}.link");
        std::fs::hard_link(&path, &link).expect("a link");
        let result = std::panic::catch_unwind(|| {
            refused_in_use(&path, 4 * MIB, "it is swap");
            refused_in_use(&link, 4 * MIB, "it is swap");
        });
        run("swapoff", &[&path]).expect("swapped off");
        std::fs::remove_file(&link).expect("removed");
        result.expect("refused");
    }
}

#[test]
fn an_empty_device_has_nothing_to_measure() {
    let device = or_skip!(Loop::of(0));
    let error = open(&device.path, &reads()).expect_err("empty");
    assert_eq!(error.fault(), ErrorClass::Usage);
}
