//! The guard: every row of the table in docs/safety.md that loop devices can reproduce, for
//! `--destroy` and for `--borrow`. Each is refused in one line with exit code 3, and no byte
//! changes anywhere. Rows that need dm or md are in `crates/drive/tests/it/stacks.rs`, drives that
//! vanish in `guest/tests`.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use crate::common::{Going, Loop, MIB, Mounted, Place, contents, or_skip, root, tool};

const BYTES: u64 = 24 * MIB;

const SIGINT: i32 = 2;
const SIGCONT: i32 = 18;
const SIGSTOP: i32 = 19;

/// The two options that allow a device to be overwritten.
fn ways(bytes: u64, journal: &str) -> [Vec<String>; 2] {
    let words = |text: &str| text.split(' ').map(String::from).collect();
    [
        words(&format!("-m quick --time 1s --destroy={bytes}")),
        words(&format!("-m speed --time 1s --borrow --journal {journal}")),
    ]
}

/// Asserts that a device is refused both ways with these words, in a dry and a real run, and
/// unchanged.
fn refused(place: &Place, device: &str, bytes: u64, image: &std::path::Path, words: &str) {
    let hash = || crate::common::hash(&fs::read(image).expect("the image"));
    let before = hash();
    refused_in_use(place, device, bytes, words);
    assert_eq!(hash(), before, "{device}: {words}");
}

/// The same for a device that its user may change meanwhile.
fn refused_in_use(place: &Place, device: &str, bytes: u64, words: &str) {
    for way in ways(bytes, &place.text("journal")) {
        let way: Vec<&str> = way.iter().map(String::as_str).collect();
        for more in [&["--dry-run"][..], &[]] {
            place.ssdyno(&[&["run", device], &way[..], more].concat()).refuses(3, words);
        }
    }
    assert!(!place.path("journal").exists() && place.is_untouched());
}

fn device(make: &str, options: &[&str]) -> Result<Loop, String> {
    root()?;
    Loop::new(BYTES, make, options)
}

#[test]
fn a_mounted_device_is_refused() {
    let device = or_skip!(device("mkfs.ext4 -q", &[]));
    let mounted = or_skip!(Mounted::new(&["-o", "ro", &device.path]));
    let words = format!("{} is mounted at {}", device.path, mounted.text());
    refused(&Place::new(), &device.path, BYTES, &device.image, &words);
}

#[test]
fn a_mounted_partition_protects_the_drive() {
    let device = or_skip!(device("", &["-P"]));
    let script = "label: dos\nstart=2048,size=16384,type=83\nstart=18432,size=16384,type=83\n";
    let file = device.image.with_extension("layout");
    fs::write(&file, script).expect("a file");
    let command = format!("sfdisk -q {} < {}", device.path, file.display());
    or_skip!(tool("sh", &["-c", &command]));
    let first = format!("{}p1", device.path);
    if !std::path::Path::new(&first).exists() {
        println!("skipped: no partitions on loop devices");
        return;
    }
    or_skip!(tool("mkfs.ext4", &["-q", &first]));
    let mounted = or_skip!(Mounted::new(&["-o", "ro", &first]));
    let words = format!("{first} is mounted at {}", mounted.text());
    let place = Place::new();
    refused(&place, &device.path, BYTES, &device.image, &words);
    refused(&place, &first, 8 * MIB, &device.image, &words);
    // Its neighbour is unused, but its journal has to be on another drive.
    let second = format!("{}p2", device.path);
    drop(mounted);
    let mounted = or_skip!(Mounted::new(&[&first]));
    let journal = mounted.dir.join("journal");
    let words = ["run", &second, "-m", "speed", "--borrow", "--journal"];
    let said = place.ssdyno(&[&words[..], &[journal.to_str().expect("UTF-8")]].concat());
    said.refuses(3, "on the drive itself");
    said.refuses(3, "would be on");
    assert!(!journal.exists());
}

#[test]
fn a_swap_device_is_refused() {
    let device = or_skip!(device("mkswap", &[]));
    or_skip!(tool("swapon", &[&device.path]));
    let result = std::panic::catch_unwind(|| {
        let words = format!("{} is swap", device.path);
        // The kernel may swap to it, but never over its header.
        let header = || fs::read(&device.image).expect("the image")[..4096].to_vec();
        let before = header();
        refused_in_use(&Place::new(), &device.path, BYTES, &words);
        assert!(header() == before, "the header of the swap space");
    });
    tool("swapoff", &[&device.path]).expect("swapped off");
    result.expect("refused");
}

#[test]
fn a_device_and_a_file_under_a_loop_device_are_refused() {
    let device = or_skip!(device("", &[]));
    let above = or_skip!(tool("losetup", &["-f", "--show", &device.path]));
    let place = Place::new();
    let result = std::panic::catch_unwind(|| {
        let words = format!("is held by {}", above.trim_start_matches("/dev/"));
        refused(&place, &device.path, BYTES, &device.image, &words);
        let (before, image) = (device.hash(), device.image.to_str().expect("UTF-8"));
        let destroy = format!("--destroy={BYTES}");
        let words = format!("{} is backed by it", device.name());
        place.ssdyno(&["run", image, "--time", "1s", &destroy]).refuses(3, &words);
        assert_eq!(device.hash(), before);
    });
    tool("losetup", &["-d", &above]).expect("detached");
    result.expect("refused");
}

/// Asks only: if the guard fails, nothing is written.
#[test]
fn a_device_that_stands_on_a_mounted_one_is_refused() {
    let device = or_skip!(device("mkfs.ext4 -q", &[]));
    let mounted = or_skip!(Mounted::new(&["-o", "ro", &device.path]));
    let image = device.image.to_str().expect("UTF-8");
    let place = Place::new();
    let on_it = format!("{} is mounted at {}", device.path, mounted.text());
    let beside = format!("{} is backed by {image}", device.name());
    for (below, words) in [(device.path.as_str(), &on_it), (image, &beside)] {
        let above = or_skip!(tool("losetup", &["-f", "--show", below]));
        let result = std::panic::catch_unwind(|| {
            for way in ways(BYTES, &place.text("journal")) {
                let way: Vec<&str> = way.iter().map(String::as_str).collect();
                let said = place.ssdyno(&[&["run", &above, "--dry-run"], &way[..]].concat());
                said.refuses(3, &format!("below it, {words}"));
            }
            let listed = place.ssdyno(&["list", &above]).good().out;
            assert!(listed.contains(&on_it), "{listed}");
        });
        tool("losetup", &["-d", &above]).expect("detached");
        result.expect("refused");
    }
    assert!(place.is_untouched());
}

#[test]
fn a_loop_device_on_a_file_ends_the_run_that_overwrites_it() {
    or_skip!(root());
    let place = Place::new();
    let file = place.file("file", 8 * MIB);
    let io = ["io", &file, "--rw", "randwrite", "--time", "60s", "--destroy=8388608"];
    let mut run = Going::start(&place, &io);
    run.until("\"event\":\"interval\"");
    let above = or_skip!(tool("losetup", &["-f", "--show", &file]));
    let said = run.end();
    tool("losetup", &["-d", &above]).expect("detached");
    assert!(said.code == 3 && said.err.contains("is backed by it"), "{said:?}");
}

/// One beside the device, on the same file, is held as long as the run lasts.
#[test]
fn an_unused_loop_device_beside_the_target_is_held_and_a_new_one_ends_the_run() {
    use std::os::unix::fs::OpenOptionsExt;
    const O_EXCL: i32 = 0o200;
    let device = or_skip!(device("", &[]));
    let image = device.image.to_str().expect("UTF-8");
    let beside = or_skip!(tool("losetup", &["-f", "--show", image]));
    let place = Place::new();
    let destroy = format!("--destroy={BYTES}");
    let io = ["io", &device.path, "--rw", "randwrite", "--time", "60s", &destroy];
    let mut run = Going::start(&place, &io);
    run.until("\"event\":\"interval\"");
    let claim = File::options().read(true).custom_flags(O_EXCL).open(&beside);
    let later = tool("losetup", &["-f", "--show", image]);
    let said = run.end();
    for one in later.iter().chain([&beside]) {
        tool("losetup", &["-d", one]).expect("detached");
    }
    assert!(claim.is_err_and(|error| error.kind() == std::io::ErrorKind::ResourceBusy));
    let words = format!("below it, {} is backed by", later.expect("attached").replace("/dev/", ""));
    assert!(said.code == 3 && said.err.contains(&words), "{said:?}");
}

#[test]
fn another_partition_table_ends_the_run_that_overwrites_the_device() {
    let device = or_skip!(device("", &["-P"]));
    let place = Place::new();
    let destroy = format!("--destroy={BYTES}");
    let io = ["io", &device.path, "--rw", "randwrite", "--time", "60s", &destroy];
    let mut run = Going::start(&place, &io);
    run.until("\"event\":\"interval\"");
    let added = tool("addpart", &[&device.path, "1", "2048", "8192"]);
    let said = run.end();
    or_skip!(added);
    tool("delpart", &[&device.path, "1"]).expect("removed");
    assert!(said.code == 3 && said.err.contains("its partition table is another"), "{said:?}");
}

#[test]
fn a_file_that_is_cut_short_ends_the_run_that_overwrites_it() {
    let place = Place::new();
    let file = place.file("file", 64 * MIB);
    let size = format!("--destroy={}", 64 * MIB);
    let io = ["io", &file, "--rw", "randwrite", "--time", "60s", &size];
    let mut run = Going::start(&place, &io);
    run.until("\"event\":\"interval\"");
    let image = File::options().write(true).open(&file).expect("opens");
    image.set_len(MIB).expect("cut");
    let said = run.end();
    assert!(said.code == 3 && said.err.contains("changed since it was opened"), "{said:?}");
    assert!(image.metadata().expect("there").len() <= 64 * MIB);
}

#[test]
fn a_read_only_device_is_refused() {
    let device = or_skip!(device("", &["-r"]));
    refused(&Place::new(), &device.path, BYTES, &device.image, "is read-only");
}

#[test]
fn a_device_held_by_another_ssdyno_is_refused() {
    let device = or_skip!(device("", &[]));
    let place = Place::new();
    for way in ways(BYTES, &place.text("first")) {
        let way: Vec<&str> = way.iter().map(String::as_str).collect();
        let way: Vec<&str> = way.iter().map(|w| if *w == "1s" { "30s" } else { w }).collect();
        let mut first = Going::start(&place, &[&["run", &device.path], &way[..]].concat());
        first.until("\"event\":\"step\"");
        // While stopped, the run keeps the device open.
        first.signal(SIGSTOP);
        let other = Place::new();
        for way in ways(BYTES, &other.text("journal")) {
            let way: Vec<&str> = way.iter().map(String::as_str).collect();
            let words = "the kernel reports another holder";
            other.ssdyno(&[&["run", &device.path], &way[..]].concat()).refuses(3, words);
        }
        assert!(!other.path("journal").exists() && other.is_untouched());
        first.signal(SIGINT);
        first.signal(SIGCONT);
        assert_eq!(first.end().code, 130);
    }
}

#[test]
fn a_missing_or_wrong_confirmation_is_refused() {
    let device = or_skip!(device("", &[]));
    let (place, before) = (Place::new(), device.hash());
    for wrong in ["", "1", "24MiB", "S6Z1NJ0W"] {
        let destroy = format!("--destroy={wrong}");
        let run = ["run", &device.path, "--time", "1s", &destroy];
        place.ssdyno(&run).refuses(3, "is not the size in bytes of");
    }
    for method in ["sustain", "states", "align"] {
        let run = ["run", &device.path, "-m", method];
        place.ssdyno(&run).refuses(3, "which was not opened with --destroy");
        let journal = place.text("journal");
        place
            .ssdyno(&[&run[..], &["--borrow", "--journal", &journal]].concat())
            .refuses(3, "which was not opened with --destroy");
    }
    let destroy = format!("--destroy={BYTES}");
    let both = ["run", &device.path, "-m", "speed", "--borrow", &destroy];
    place.ssdyno(&both).refuses(2, "cannot be used with");
    assert_eq!(device.hash(), before);
    assert!(place.is_untouched());
}

#[test]
fn other_content_on_a_borrowed_device_is_refused() {
    let device = or_skip!(device("", &[]));
    let (place, before) = (Place::new(), device.hash());
    let journal = place.text("journal");
    let io = ["io", &device.path, "--rw", "write", "--ops", "8", "--borrow", "--journal", &journal];
    place.ssdyno(&io).refuses(3, "only be overwritten with their own content");
    assert_eq!(device.hash(), before);
    assert!(place.is_untouched());
}

#[test]
fn a_journal_in_an_unsafe_place_is_refused() {
    let device = or_skip!(device("", &[]));
    let (place, before) = (Place::new(), device.hash());
    let run = |more: &[&str]| {
        place.ssdyno(&[&["run", &device.path, "-m", "speed", "--borrow"], more].concat())
    };
    let memory = or_skip!(Mounted::new(&["-t", "tmpfs", "tmpfs"]));
    run(&["--journal", memory.text()]).refuses(3, "would be in memory");
    assert_eq!(device.hash(), before);
    assert!(place.is_untouched());
}

#[test]
fn the_root_disk_is_refused() {
    let place = Place::new();
    let listed = place.ssdyno(&["list", "/", "--json"]);
    let Some(disk) = listed.json().get(0).cloned().filter(|_| listed.code == 0) else {
        println!("skipped: no drive is known under /");
        return;
    };
    let path = disk["drive"]["path"].as_str().expect("a path").to_string();
    let word = disk["drive"]["serial"].as_str().map(String::from);
    let word = word.unwrap_or_else(|| disk["drive"]["bytes"].to_string());
    let destroy = format!("--destroy={word}");
    let journal = place.text("journal");
    // A dry run, in case the guard fails.
    for way in [&[&destroy[..]][..], &["-m", "speed", "--borrow", "--journal", &journal]] {
        let said = place.ssdyno(&[&["run", &path, "--dry-run"], way].concat());
        assert_eq!(said.code, 3, "{said:?}");
        let refused =
            said.err.contains("is mounted at /") || said.err.contains("the root file system");
        assert!(refused, "{said:?}");
    }
    assert!(place.is_untouched());
}

#[test]
fn the_content_to_be_destroyed_is_named() {
    let device = or_skip!(device("", &[]));
    let place = Place::new();
    let mut label = b"LABELONE\x01\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0LVM2 001".to_vec();
    label.resize(512, 0);
    let table: [(u64, &[u8], &str); 4] = [
        (0, b"LUKS\xba\xbe\0\x01", "crypto_LUKS"),
        (512, &label, "LVM"),
        (4096, b"\xfc\x4e\x2b\xa9\x01\0\0\0", "raid"),
        (128 << 10, b"\x0c\xb1\xba\0\0\0\0\0", "zfs"),
    ];
    let file = File::options().write(true).open(&device.path).expect("opens");
    for (at, magic, word) in table {
        file.write_all_at(&vec![0; 1 << 20], 0).expect("blank");
        file.write_all_at(magic, at).expect("written");
        file.sync_all().expect("synced");
        let before = device.hash();
        let destroy = format!("--destroy={BYTES}");
        let dry = place.ssdyno(&["run", &device.path, &destroy, "--dry-run"]).good().out;
        let line =
            dry.lines().find(|l| l.starts_with("destroys")).unwrap_or_default().to_lowercase();
        assert!(line.contains(&word.to_lowercase()), "{word}: {dry}");
        assert_eq!(device.hash(), before);
    }
}

#[test]
fn a_device_that_changes_during_a_run_is_detected() {
    let device = or_skip!(device("", &[]));
    let place = Place::new();
    for way in ways(BYTES, &place.text("journal")) {
        let way: Vec<&str> = way.iter().map(String::as_str).collect();
        let way: Vec<&str> = way.iter().map(|w| if *w == "1s" { "30s" } else { w }).collect();
        let mut run = Going::start(&place, &[&["run", &device.path], &way[..]].concat());
        run.until("\"event\":\"step\"");
        run.signal(SIGSTOP);
        let image = File::options().write(true).open(&device.image).expect("opens");
        image.set_len(BYTES - MIB).expect("cut");
        or_skip!(tool("losetup", &["-c", &device.path]));
        run.signal(SIGCONT);
        let said = run.end();
        // An operation on the truncated part can fail before the guard is checked again.
        let words = format!("it had {BYTES} bytes, now {}", BYTES - MIB);
        let seen = said.err.contains("changed since it was opened") && said.err.contains(&words);
        assert!(said.code == 4 || said.code == 3 && seen, "{said:?}");
        image.set_len(BYTES).expect("restored");
        or_skip!(tool("losetup", &["-c", &device.path]));
    }
    assert_eq!(contents(&place.work()).len(), 1);
}

#[test]
fn a_refused_file_shows_the_word_that_permits_it() {
    let place = Place::new();
    let file = place.file("file", 8 * MIB);
    let said = place.ssdyno(&["run", &file, "--destroy=1"]);
    said.refuses(3, "'1' is not the size in bytes of");
    assert!(said.err.contains("   try: --destroy=8388608, if its data may be lost"), "{said:?}");
}
