//! Impossible requests end in one line with the right exit code, and leave no file and no entry in
//! the store.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{Loop, MIB, Mounted, Place, contents, or_skip, root, tool};

#[test]
fn invalid_arguments_are_refused() {
    let place = Place::new();
    let file = place.file("file", MIB);
    let table: &[(&[&str], &str)] = &[
        (&["run", "/nowhere"], "/nowhere: no such file or directory"),
        (&["run"], "run needs a target"),
        (&["run", "/dev/null"], "character device"),
        (&["run", ".", "--size", "0"], "size of 0"),
        (&["run", ".", "--size", "1x"], "'1x' is not a size"),
        (&["run", ".", "--size", "1MiB"], "size is 1 MiB, must be 4 MiB or more"),
        (&["run", ".", "-m", "quikc"], "did you mean 'quick'?"),
        (&["run", ".", "-m", "nonsense"], "known: quick, authentic"),
        (&["run", ".", "--time", "0.1s"], "time is"),
        (&["run", ".", "--replicates", "0"], "replicates is 0"),
        (&["run", ".", "-m", "wear", "--time", "9s"], "--time has no effect on -m wear"),
        (&["run", ".", "-m", "command,wear", "--replicates", "0"], "replicates is 0"),
        (&["run", ".", "-m", "quick", "--icf", "/nowhere"], "goes with -m iometer, not with quick"),
        (&["compare", "-m", "restore", "--time", "9s", ".", "."], "no effect on -m restore"),
        (&["run", ".", "--backend", "magic"], "uring, aio, psync or null"),
        (&["run", &file, "--size", "2MiB"], "has 1048576"),
        (&["io", ".", "--rw", "sideways"], "randwrite"),
        (&["io", ".", "--bs", "0"], "1 byte to 1 GiB"),
        (&["io", ".", "--bs", "4k:x"], "whole number"),
        (&["io", ".", "--size", "4MiB", "--bs", "8MiB"], "smaller than one block"),
        (&["io", ".", "--depth", "0"], "0 is not in 1..=65536"),
        (&["io", ".", "--ops", "0"], "1 or more"),
        (&["io", ".", "--coverage", "-1"], "above 0"),
        (&["io", ".", "--time", "0s"], "time of 0"),
        (&["io", ".", "--rate", "-5"], "rate is -5"),
        (&["io", ".", "--zipf", "0"], "zipf exponent is 0"),
        (&["io", ".", "--hot", "20"], "such as 20/80"),
        (&["io", ".", "--burst", "1s"], "such as 1s/9s"),
        (&["io", ".", "--content", "gold"], "content 'gold'"),
        (&["io", ".", "--rw", "read", "--zipf", "1.1"], "require --rw randread"),
        (&["io", ".", "--stride", "1M"], "require --rw read"),
        (&["io", ".", "--size", "1MiB", "--offset", "2MiB"], "past the end"),
        (&["prepare", "pci:0:0:1.0", "--bind=S1", "--dry-run"], "'--dry-run'"),
        (&["prepare", "pci:0:0:1.0", "--unbind", "--dry-run"], "'--dry-run'"),
        (&["prepare", "pci:0:0:1.0", "--bind=S1", "--no-iommu"], "'--no-iommu'"),
        (&["run", ".", "--protocol", "state-bars", "--html=x.html"], "'--html"),
        (&["run", ".", "--protocol", "state-bars", "--verbose"], "'--verbose'"),
        (&["shwo"], "shwo"),
        (&["show", "--html", "--json"], "cannot be used with"),
        (&["show", "--html", "3"], "'3' is not the file of a page"),
        (&["replicate", "--html", "003"], "'003' is not the file of a page"),
        (&["replicate", "003", "--shard", "1/2"], "--out"),
        (&["replicate", "003", "--out", "x", "--json"], "cannot be used with"),
        (&["replicate", "003", "--from", "nowhere"], "nowhere"),
        (&["methods", "quikc"], "did you mean 'quick'?"),
        (&["list", "/nowhere"], "no such file"),
        (&["export"], "no store here"),
    ];
    for (args, words) in table {
        place.ssdyno(args).refuses(2, words);
    }
    assert!(place.is_untouched());
    assert!(!place.path("data").exists(), "a store was created without need");
}

#[test]
fn a_misspelt_word_gets_a_suggestion() {
    let place = Place::new();
    let table: &[(&[&str], &str)] = &[
        (&["io", ".", "--rw", "radnread"], "   try: --rw randread\n"),
        (&["run", ".", "--metod", "quick"], "   try: --method\n"),
        (&["shwo"], "   try: show\n"),
        (&["io", ".", "--depth", "0"], "   try: ssdyno io --help\n"),
    ];
    for (args, advice) in table {
        let said = place.ssdyno(args);
        assert!(said.err.ends_with(advice), "{said:?}");
    }
}

#[test]
fn writing_without_destroy_is_refused() {
    let place = Place::new();
    let file = place.file("file", MIB);
    let before = fs::read(&file).expect("a file");
    let write = ["io", &file, "--rw", "randwrite", "--ops", "1"];
    place.ssdyno(&write).refuses(3, "may only be read");
    for wrong in ["1048575", "SERIAL", ""] {
        let destroy = format!("--destroy={wrong}");
        let said = place.ssdyno(&[&write[..], &[&destroy]].concat());
        assert!(said.code == 3 || wrong.is_empty() && said.code == 2, "{said:?}");
        assert_eq!(fs::read(&file).expect("a file"), before);
    }
    assert!(place.is_untouched());
    place.ssdyno(&[&write[..], &["--destroy=1048576"]].concat()).good();
    assert_ne!(fs::read(&file).expect("a file"), before);
}

#[test]
fn an_unusable_store_is_reported_before_anything_is_measured() {
    let place = Place::new();
    let run = |store: &Path| {
        let store = store.to_str().expect("UTF-8");
        place.ssdyno(&["io", ".", "--size", "1MiB", "--ops", "1", "--store", store])
    };
    run(Path::new("/proc/nobody/store")).refuses(4, "cannot open the store");
    let foreign = place.path("foreign");
    fs::write(&foreign, "a letter to a friend").expect("a file");
    run(&foreign).refuses(2, "not an ssdyno store");
    assert_eq!(fs::read_to_string(&foreign).expect("a file"), "a letter to a friend");
    let store = place.path("newer");
    run(&store).good();
    set_version(&store, 999);
    run(&store).refuses(2, "newer ssdyno");
    assert!(place.is_untouched());
}

/// Sets a store's version: `PRAGMA user_version` is four bytes of the file's header (SQLite file
/// format, 1.3.14).
fn set_version(store: &Path, version: u32) {
    let mut bytes = fs::read(store).expect("a store");
    bytes[60..64].copy_from_slice(&version.to_be_bytes());
    fs::write(store, bytes).expect("a store");
}

#[test]
fn a_directory_without_permission_is_refused() {
    or_skip!(root());
    or_skip!(tool("setpriv", &["--version"]));
    let place = Place::under(&std::env::temp_dir());
    // A place where the user `nobody` can read and execute but not write.
    let binary = place.path("ssdyno");
    fs::copy(env!("CARGO_BIN_EXE_ssdyno"), &binary).expect("a copy");
    let open = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    };
    open(place.path("work").parent().expect("a parent"), 0o755);
    open(&place.path("work"), 0o755);
    fs::create_dir(place.path("closed")).expect("a directory");
    open(&place.path("closed"), 0o700);
    let run = |target: &str| {
        let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        let mut command = place.command_of(Path::new("setpriv"), &nobody);
        command.arg(&binary).args(["run", target, "--time", "1s", "--size", "4MiB"]);
        let output = command.output().expect("starts");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let code = output.status.code().unwrap_or(-1);
        crate::common::Said { code, out: text(output.stdout), err: text(output.stderr) }
    };
    run(".").refuses(3, "no permission to create files in");
    run(&place.text("closed")).refuses(3, "no permission");
    run(&place.text("closed/inside")).refuses(3, "no permission");
    assert!(place.is_untouched());
}

/// The root of `unshare -r` is called root and is a plain user.
#[test]
fn the_only_user_of_a_namespace_has_outputs_in_its_own_directories() {
    or_skip!(root());
    let place = Place::under(&std::env::temp_dir());
    let binary = place.path("ssdyno");
    fs::copy(env!("CARGO_BIN_EXE_ssdyno"), &binary).expect("a copy");
    let work = place.path("work");
    fs::set_permissions(work.parent().expect("a parent"), fs::Permissions::from_mode(0o755))
        .expect("permissions");
    std::os::unix::fs::chown(&work, Some(1234), Some(1234)).expect("given");
    let user = ["--reuid=1234", "--regid=1234", "--clear-groups", "unshare", "-r"];
    or_skip!(tool("setpriv", &[&user[..], &["true"]].concat()));
    let [store, page] = ["work/store", "work/x.html"].map(|name| place.text(name));
    let words = ["io", "null:", "--ops", "8", "--store", &store, "--html", &page];
    let mut command = place.command_of(Path::new("setpriv"), &user);
    let output = command.arg(&binary).args(words).output().expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(fs::metadata(&page).is_ok_and(|file| file.len() > 1000) && Path::new(&store).exists());
}

#[test]
fn a_full_or_read_only_file_system_is_refused() {
    or_skip!(root());
    let device = or_skip!(Loop::new(16 * MIB, "mkfs.ext4 -q", &[]));
    let place = Place::new();
    let mounted = or_skip!(Mounted::new(&[&device.path]));
    mounted.fill();
    let before = contents_of(&mounted);
    let run = |size: &str| {
        let said = place.ssdyno(&["run", mounted.text(), "--time", "1s", "--size", size]);
        said.refuses(3, "no room in");
    };
    run("4MiB");
    run("1GiB");
    place.ssdyno(&["run", mounted.text()]).refuses(3, "no room in");
    assert_eq!(contents_of(&mounted), before);
    or_skip!(tool("mount", &["-o", "remount,ro", mounted.text()]));
    let said = place.ssdyno(&["run", mounted.text(), "--time", "1s", "--size", "4MiB"]);
    said.refuses(3, "is read-only");
    let inside = place.ssdyno(&["io", &format!("{}/full", mounted.text()), "--rw", "write"]);
    assert_eq!(inside.code, 3, "{inside:?}");
    assert!(place.is_untouched());
}

fn contents_of(mounted: &Mounted) -> Vec<String> {
    let names = fs::read_dir(&mounted.dir).expect("a directory");
    let mut names: Vec<_> =
        names.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_device_in_use_or_wrongly_confirmed_is_not_overwritten() {
    or_skip!(root());
    let device = or_skip!(Loop::new(16 * MIB, "mkfs.ext4 -q", &[]));
    let place = Place::new();
    let run = |destroy: &str| {
        let destroy = format!("--destroy={destroy}");
        place.ssdyno(&["run", &device.path, "--time", "1s", &destroy])
    };
    let before = device.hash();
    run("16777215").refuses(3, "is not the size in bytes");
    run("S6Z1NJ0W").refuses(3, "is not the size in bytes");
    assert_eq!(device.hash(), before);
    let mounted = or_skip!(Mounted::new(&["-o", "ro", &device.path]));
    run("16777216").refuses(3, "in use");
    drop(mounted);
    assert_eq!(device.hash(), before);
    assert!(place.is_untouched());
    assert_eq!(contents(&place.work()).len(), 1);
}

#[test]
fn block_sizes_below_the_drives_are_refused() {
    or_skip!(root());
    let device = or_skip!(Loop::new(4 * MIB, "", &["-b", "4096"]));
    let place = Place::new();
    let io = |words: &[&str]| {
        place.ssdyno(&[&["io", &device.path, "--ops", "8", "--quiet"], words].concat())
    };
    io(&["--bs", "512"]).refuses(2, "multiples of the drive's 4096-byte blocks");
    io(&["--shift", "512"]).refuses(2, "multiples of the drive's 4096-byte blocks");
    io(&["--bs", "512", "--dry-run"]).refuses(2, "4096-byte blocks");
    assert!(place.is_untouched());
    io(&["--bs", "512", "--buffered"]).good();
    io(&["--bs", "4096"]).good();
}

#[test]
fn a_broken_line_of_an_iometer_configuration_is_quoted_with_file_and_number() {
    let place = Place::new();
    let file = place.path("a.icf");
    let text = "Version 1.1.0\n'Access specification name,default assignment\n\tx,NONE\n\
        'size,% of size,% reads,% random,delay,burst,align,reply\n\t4096,100,100,100,0,1,0,no\n";
    fs::write(&file, text).expect("a file");
    let words = ["run", ".", "-m", "iometer", "--icf", &place.text("a.icf")];
    let said = "a.icf:5: '4096,100,100,100,0,1,0,no': reply must be a whole number";
    place.ssdyno(&words).refuses(2, said);
}

/// A hint that helps, for what people type by mistake; where none helps, none is given that misleads.
#[test]
fn typical_mistakes_get_the_hint_that_helps() {
    let place = Place::new();
    let table = [
        ("run sdzz", "/dev/sdzz; ssdyno list names the drives that are there"),
        ("run nvme77", "/dev/nvme77n1; ssdyno list names the drives that are there"),
        ("run /dev/sdzz", "ssdyno list"),
        ("run sd-150x", "sim:sd-150x"),
        ("run samsung-980-pro", "sim:samsung-980-pro-1t, sim:samsung-980-pro-2t"),
        ("run sim:sd-150x?foo=1", "ssdyno drives show sd-150x"),
        ("run sim:sd-150x --destroy=1", "the same without --destroy: nothing real is written"),
        ("run . --borrow", "the same without --borrow: only a scratch file is written there"),
        ("run . --destroy", "--destroy SERIAL, as ssdyno list shows it; a directory needs none"),
        ("run . --log verbose", "--verbose"),
        ("io . --numjobs 4", "--jobs"),
        ("upgrade", "ssdyno --help"),
    ];
    for (line, hint) in table {
        let said = place.ssdyno(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(said.code, 2, "{line}: {said:?}");
        let advice = said.err.lines().find_map(|line| line.strip_prefix("   try: "));
        assert_eq!(advice, Some(hint), "{line}: {said:?}");
    }
    assert!(place.ssdyno(&["help", "run"]).good().out.contains("Usage: ssdyno run"));
    assert!(place.left_behind().is_empty());
}
