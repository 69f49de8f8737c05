//! Root in another user's directory: nothing is written outside it, whatever its owner moves
//! meanwhile, and what is written belongs to the owner.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;

use crate::common::{Place, or_skip, root};

const USER: u32 = 1234;

/// Commands in each race; `SSDYNO_RACES` asks for more.
fn count() -> u32 {
    std::env::var("SSDYNO_RACES").ok().and_then(|n| n.parse().ok()).unwrap_or(8)
}

/// A directory of another user and one of root's, both readable from anywhere.
struct Neighbours {
    theirs: PathBuf,
    closed: PathBuf,
    dir: TempDir,
}

impl Neighbours {
    fn new() -> Neighbours {
        let dir = TempDir::new().expect("a directory");
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).expect("set");
        let [theirs, closed] = ["theirs", "closed"].map(|name| dir.path().join(name));
        fs::create_dir(&theirs).expect("a directory");
        give(&theirs);
        fs::create_dir(&closed).expect("a directory");
        fs::set_permissions(&closed, Permissions::from_mode(0o700)).expect("set");
        Neighbours { theirs, closed, dir }
    }

    /// Asserts that root's directory is empty, and all files in the other belong to its owner.
    fn check(&self) {
        let strays: Vec<_> = fs::read_dir(&self.closed).expect("a directory").collect();
        assert!(strays.is_empty(), "{strays:?}");
        check_owner(&self.theirs);
    }
}

fn give(path: &Path) {
    std::os::unix::fs::lchown(path, Some(USER), Some(USER)).expect("given");
}

fn check_owner(directory: &Path) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let Ok(meta) = entry.path().symlink_metadata() else { continue };
        assert_eq!(meta.uid(), USER, "{:?}", entry.path());
        if meta.is_dir() {
            check_owner(&entry.path());
        }
    }
}

/// Runs `work` while two versions of a name, `real` and `link`, take turns. Returns the number of
/// turns.
fn race(name: &Path, real: &Path, link: &Path, work: impl FnOnce()) -> u64 {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flips = scope.spawn(|| {
            let mut flips = 0;
            while !is_over.load(Ordering::Relaxed) {
                // Missing before its first turn, or replaced by the command.
                let _ = fs::rename(real, name);
                let _ = fs::rename(name, real);
                let _ = fs::rename(link, name);
                let _ = fs::rename(name, link);
                flips += 1;
            }
            flips
        });
        work();
        is_over.store(true, Ordering::Relaxed);
        flips.join().expect("no panic")
    })
}

#[test]
fn a_store_whose_name_becomes_a_link_is_never_written_elsewhere() {
    or_skip!(root());
    let place = Place::new();
    let both = Neighbours::new();
    let [store, real, link] = ["s", "real", "link"].map(|name| both.theirs.join(name));
    symlink(both.closed.join("stolen"), &link).expect("a link");
    give(&link);
    let words = ["io", "null:", "--ops", "9", "--quiet", "--store", store.to_str().expect("UTF-8")];
    let flips = race(&store, &real, &link, || {
        for _ in 0..count() {
            let said = place.ssdyno(&words);
            assert!(matches!(said.code, 0 | 2 | 4), "{said:?}");
        }
    });
    both.check();
    println!("{flips} flips of a store during {} commands: no link was followed", count());
}

#[test]
fn a_directory_that_becomes_a_link_is_never_followed() {
    or_skip!(root());
    let place = Place::new();
    let record = place.io("null: --ops 9");
    assert_eq!(record["complete"], true);
    let both = Neighbours::new();
    let [name, real, link] = ["d", "real", "link"].map(|name| both.theirs.join(name));
    fs::create_dir(&real).expect("a directory");
    give(&real);
    symlink(&both.closed, &link).expect("a link");
    give(&link);
    let inside = |file: &str| name.join(file).to_str().expect("UTF-8").to_string();
    let page = format!("--html={}", inside("page.html"));
    let (card, store) = (inside("card.svg"), inside("store"));
    let (output, file) = (format!("--output={}", inside("out")), inside("file"));
    let filename = format!("--filename={file}");
    let fio = ["fio", "--name=a", "--size=64k", "--rw=write", "--ioengine=psync"];
    let commands: [&[&str]; 5] = [
        &["show", "1", &page],
        &["show", "1", "--card", &card],
        &["io", "null:", "--ops", "9", "--quiet", "--store", &store],
        &["fio", "--name=a", "--size=64k", "--rw=read", "--ioengine=null", &output],
        &[&fio[..], &["--overwrite-files", &filename]].concat(),
    ];
    let mut flips = 0;
    for words in commands {
        flips += race(&name, &real, &link, || {
            for _ in 0..count() {
                let said = place.ssdyno(words);
                assert!(matches!(said.code, 0 | 2..=4), "{words:?}: {said:?}");
            }
        });
        both.check();
    }
    let each = count();
    println!("{flips} flips of a directory during {each} of each command: no link was followed");
}

#[test]
fn what_root_leaves_in_another_users_home_belongs_to_that_user() {
    or_skip!(root());
    let place = Place::new();
    let both = Neighbours::new();
    let words = ["io", "null:", "--ops", "9", "--quiet"];
    let command = || {
        let mut command = place.command(&words);
        command.env("HOME", &both.theirs).env_remove("XDG_DATA_HOME");
        command
    };
    for number in 1..3 {
        let said = crate::common::Said::of(command().output().expect("starts")).good();
        assert!(said.out.contains(".local/share/ssdyno/reports"), "{said:?}");
        both.check();
        assert!(both.theirs.join(".local/share/ssdyno/runs.sqlite").exists(), "{number}");
    }
    // The user's own next run.
    let mut own = command();
    own.uid(USER).gid(USER).current_dir(&both.theirs).env("TMPDIR", both.dir.path());
    let said = own.output();
    match said {
        Ok(output) => drop(crate::common::Said::of(output).good()),
        // The program is in a directory that this user may not enter.
        Err(why) => println!("skipped: {why}"),
    }
    both.check();
}

#[test]
fn another_users_link_is_not_followed_to_a_file() {
    or_skip!(root());
    let place = Place::new();
    let both = Neighbours::new();
    let victim = both.dir.path().join("victim");
    fs::write(&victim, vec![7; 65_536]).expect("a file");
    let link = both.theirs.join("link");
    symlink(&victim, &link).expect("a link");
    give(&link);
    let filename = format!("--filename={}", link.display());
    let words = ["fio", "--name=a", "--size=64k", "--rw=write", "--overwrite-files", &filename];
    let said = place.ssdyno(&words);
    assert!(said.code != 0 && said.err.contains("symbolic link"), "{said:?}");
    assert!(fs::read(&victim).expect("kept").iter().all(|byte| *byte == 7));
    // Reports beside a store.
    let (store, reports) = (both.theirs.join("store"), both.theirs.join("reports"));
    symlink(&both.closed, &reports).expect("a link");
    chown(&store, None, None).expect_err("not there yet");
    let store = store.to_str().expect("UTF-8");
    let said = place.ssdyno(&["io", "null:", "--ops", "9", "--quiet", "--store", store]).good();
    assert!(said.err.contains("refusing to follow another user's symbolic link"), "{said:?}");
    give(&reports);
    both.check();
}
