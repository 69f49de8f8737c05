//! Borrowed blocks: however a run ends, every byte is unchanged; and the handling of leftovers by
//! `recover`. A kill alone damages nothing, because blocks are overwritten with their own content.
//! The tests therefore also overwrite blocks with garbage, as a power loss during a write could.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, chown};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Going, Loop, MIB, Mounted, Place, Said, contents, metric, or_skip, root, verdicts,
};

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// Size of the borrowed devices: three regions of 8 MiB.
const BYTES: u64 = 24 * MIB;

/// Number of kills at random moments; `SSDYNO_KILLS` overrides it (`cargo xtask bench kills` takes
/// 1,000).
const KILLS: u64 = 6;

/// Kills per device in a long test, which uses up to four devices at once.
const KILLS_OF_DEVICE: u64 = 250;

/// A device with content that varies from block to block, and a separate journal.
struct Lent {
    device: Loop,
    place: Place,
    journal: String,
    before: u64,
}

impl Lent {
    fn new() -> Result<Lent, String> {
        root()?;
        let device = Loop::new(BYTES, "", &[])?;
        let content: Vec<u8> = (0..BYTES).map(|i| (i / 512 * 37 + i) as u8).collect();
        fs::write(&device.image, content).map_err(|e| e.to_string())?;
        let place = Place::new();
        let journal = place.text("journal");
        Ok(Lent { before: device.hash(), device, place, journal })
    }

    fn words<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let words = ["run", &self.device.path, "-m", "speed", "--time", "2s", "--borrow"];
        [&words[..], &["--journal", &self.journal], more].concat()
    }

    fn run(&self) -> Said {
        self.place.ssdyno(&self.words(&["--json", "--quiet"]))
    }

    /// Starts a run and kills it when this step begins.
    fn killed_at(&self, step: &str) {
        let mut run = Going::start(&self.place, &self.words(&[]));
        run.until(&format!("\"name\":\"{step}\""));
        run.signal(SIGKILL);
        assert_eq!(run.end().code, -1);
    }

    fn recover(&self, words: &[&str]) -> Said {
        self.place.ssdyno(&[&["recover", "--journal", &self.journal], words].concat())
    }

    /// Names of the remaining journals of this kind.
    fn left(&self, kind: &str) -> Vec<String> {
        let Ok(names) = fs::read_dir(&self.journal) else { return Vec::new() };
        let names = names.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned());
        names.filter(|name| name.ends_with(kind)).collect()
    }

    /// Overwrites some blocks of the device.
    fn scribble(&self, at: u64, bytes: usize) {
        let device = File::options().write(true).open(&self.device.path).expect("opens");
        device.write_all_at(&vec![0xa5; bytes], at).expect("written");
        device.sync_all().expect("synced");
        assert_ne!(self.device.hash(), self.before);
    }

    fn is_as_before(&self) {
        assert_eq!(self.device.hash(), self.before, "left: {:?}", self.left(""));
    }
}

fn state(said: &Said) -> Value {
    said.json().as_array().expect("a list").first().cloned().unwrap_or_default()
}

#[test]
fn a_borrowed_device_is_measured_and_every_byte_is_unchanged() {
    let lent = or_skip!(Lent::new());
    let dry = lent.place.ssdyno(&lent.words(&["--dry-run"])).good().out;
    assert!(dry.contains("borrows: overwrites blocks after copying them"), "{dry}");
    assert!(!fs::exists(&lent.journal).expect("known"), "a dry run creates nothing");
    let said = lent.place.ssdyno(&lent.words(&["--json"])).good();
    let record = said.json();
    assert!(said.err.contains("borrowed  25.2 MB compared: all unchanged"), "{}", said.err);
    assert!(!said.err.contains("comparing"), "progress in a pipe: {}", said.err);
    for name in ["speed-read", "speed-write", "speed-write-middle", "speed-read-end"] {
        assert!(metric(&record, name).is_some_and(|rate| rate > 0.0), "{name}");
    }
    let tenths = metric(&record, "speed-write.legacy").expect("measured") / 1e5;
    assert!(tenths > 0.0);
    assert_eq!(record["plan"]["safety"], "borrows");
    assert!(record["plan"]["destroys"].is_null());
    assert!(record["errors"].as_array().is_some_and(Vec::is_empty), "{}", record["errors"]);
    assert!(verdicts(&record).contains(&"SPEED"));
    lent.is_as_before();
    assert!(lent.left("").is_empty());
    assert_eq!(lent.recover(&[]).good().out, format!("no journals in {}\n", lent.journal));
}

#[test]
fn a_device_without_borrow_is_only_read() {
    let lent = or_skip!(Lent::new());
    let run = ["run", &lent.device.path, "-m", "speed", "--time", "1s", "--json", "--quiet"];
    let record = lent.place.ssdyno(&run).good().json();
    assert_eq!(record["plan"]["safety"], "reads");
    assert!(metric(&record, "speed-read").is_some() && metric(&record, "speed-write").is_none());
    assert!(record["warnings"].to_string().contains("--borrow"), "{}", record["warnings"]);
    lent.is_as_before();
}

#[test]
fn a_run_killed_at_any_moment_costs_nothing() {
    let asked = std::env::var("SSDYNO_KILLS").ok().and_then(|n| n.parse().ok());
    let kills: u64 = asked.unwrap_or(KILLS);
    let devices = kills.div_ceil(KILLS_OF_DEVICE).min(4);
    let lent: Result<Vec<Lent>, _> = (0..devices).map(|_| Lent::new()).collect();
    let lent = or_skip!(lent);
    let whole = std::thread::scope(|scope| {
        let shares = (0..devices).map(|n| kills / devices + u64::from(n < kills % devices));
        let lanes = lent.iter().zip(shares).zip(0x5eed..);
        let lanes = lanes.map(|((lent, kills), seed)| scope.spawn(move || kill(lent, kills, seed)));
        let lanes: Vec<_> = lanes.collect();
        lanes.into_iter().map(|lane| lane.join().expect("as before")).sum::<usize>()
    });
    println!("{kills} kills left {whole} complete journals: no byte differs");
}

/// Kills a number of runs of the methods that borrow, in turns. Returns the number of complete
/// journals that they left.
fn kill(lent: &Lent, kills: u64, seed: u64) -> usize {
    let (mut random, mut whole) = (seed, 0);
    for kill in 0..kills {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let moment = Duration::from_micros((random >> 33) % 1_500_000);
        let method = ["speed", "fake"][kill as usize % 2];
        let words = ["run", &lent.device.path, "-m", method, "--time", "2s", "--borrow"];
        let words = [&words[..], &["--journal", &lent.journal, "--quiet"]].concat();
        let mut command = lent.place.command(&words);
        let output = std::process::Stdio::null;
        let mut run = command.stdout(output()).stderr(output()).spawn().expect("starts");
        std::thread::sleep(moment);
        run.kill().expect("killed");
        run.wait().expect("ends");
        if method == "speed" {
            // It overwrites blocks with their own content.
            lent.is_as_before();
        }
        whole += lent.left(".journal").len();
        // Few blocks may be left to identify the drive, so it is named.
        lent.recover(&[&lent.device.path, "--replay"]).good();
        let what = format!("kill {kill} after {moment:?}: {}", words.join(" "));
        assert!(lent.left("").is_empty(), "{what}");
        assert_eq!(lent.device.hash(), lent.before, "{what}");
    }
    whole
}

#[test]
fn damage_by_a_power_loss_is_restored_on_request() {
    let lent = or_skip!(Lent::new());
    lent.killed_at("speed-write-middle");
    assert!(!lent.left(".journal").is_empty());
    // Damages half a block of ours and two whole ones.
    lent.scribble(MIB + 300, 70_000);
    let damaged = lent.device.hash();

    let said = lent.recover(&["--json"]);
    assert_eq!((said.code, &state(&said)["closed"]), (1, &false.into()), "{said:?}");
    assert_eq!(state(&said)["differing"], 2);
    assert_eq!(lent.device.hash(), damaged, "nothing is written without --replay");
    let text = lent.recover(&[]).out;
    assert!(text.contains("131 kB of 8.39 MB on /dev/loop") && text.contains("--replay"), "{text}");

    let run = lent.run();
    run.refuses(3, "an earlier run left blocks");
    let other = ["io", "null:", "--ops", "1", "--journal", &lent.journal];
    let said = lent.place.ssdyno(&other).good().err;
    let image = lent.device.image.display();
    assert!(said.starts_with(&format!("note: a run left borrowed blocks of {}", lent.device.path)));
    assert!(said.contains(&format!("over {image}")) && said.contains("ssdyno recover"), "{said}");

    let said = lent.recover(&["--replay", "--json"]).good();
    assert_eq!((&state(&said)["put_back"], &state(&said)["closed"]), (&2.into(), &true.into()));
    lent.is_as_before();
    lent.recover(&["--replay"]).good();
    lent.is_as_before();
}

/// The first signal ends the run and restores the blocks; the second leaves that to `recover`.
#[test]
fn a_second_signal_leaves_the_journal_to_recover() {
    let lent = or_skip!(Lent::new());
    let mut run = Going::start(&lent.place, &lent.words(&[]));
    run.until("\"name\":\"speed-write\"");
    run.signal(SIGINT);
    run.signal(SIGTERM);
    assert_eq!(run.end().code, 130);
    assert!(!lent.left(".journal").is_empty());
    lent.run().refuses(3, "an earlier run left blocks");
    lent.recover(&[]).good();
    assert!(lent.left("").is_empty());
    lent.is_as_before();
}

/// docs/safety.md: "`--borrow` and `--destroy` on that drive are refused, wherever the journal is".
#[test]
fn a_drive_with_a_journal_is_not_overwritten() {
    let lent = or_skip!(Lent::new());
    lent.killed_at("speed-write");
    let [name] = &lent.left(".journal")[..] else { panic!("{:?}", lent.left("")) };
    // The default place, which every command consults.
    let state = lent.place.path("state");
    let default = state.join("ssdyno/journal");
    fs::create_dir_all(&default).expect("made");
    fs::copy(format!("{}/{name}", lent.journal), default.join(name)).expect("copied");
    let ssdyno = |words: &[&str]| {
        let mut command = lent.place.command(words);
        Said::of(command.env("XDG_STATE_HOME", &state).output().expect("starts"))
    };
    let path = &*lent.device.path;
    let destroy = format!("--destroy={BYTES}");
    let job = ["fio", "--name=a", "--rw=write", "--size=64k", "--filename", path, &destroy];
    let table = ["partition", path, "--layout", "fat32", &destroy];
    let io = ["io", path, "--rw", "write", "--ops", "8", &destroy, "--quiet"];
    for words in [&job[..], &table, &io] {
        ssdyno(words).refuses(3, "an earlier run left blocks");
    }
    let said = ssdyno(&io).err;
    assert!(said.contains("ssdyno recover") && said.contains("--discard loop"), "{said}");
    lent.is_as_before();
    // Damaged, it may have blocks of any drive, and cannot restore any.
    let journal = File::options().write(true).open(default.join(name));
    journal.and_then(|file| file.write_all_at(&[0; 40], 40)).expect("damaged");
    let borrow = ["run", path, "-m", "speed", "--time", "2s", "--borrow"];
    ssdyno(&borrow).refuses(3, "is damaged, and may contain blocks of");
    ssdyno(&io).good();
    ssdyno(&["recover", "--discard", name.trim_end_matches(".journal")]).good();
    ssdyno(&borrow).good();
}

/// docs/safety.md: "Without `HOME`, the home directory of the user's account is used".
#[test]
fn without_a_home_the_account_has_one_and_without_any_nothing_is_overwritten() {
    let lent = or_skip!(Lent::new());
    let device = &*lent.device.path;
    let destroy = format!("--destroy={BYTES}");
    let borrow = ["run", device, "-m", "speed", "--borrow", "--dry-run"];
    let destroy = ["io", device, "--rw", "write", "--ops", "8", "--quiet", &destroy];
    for words in [&borrow[..], &destroy] {
        let mut command = lent.place.command(words);
        // A relative path depends on the working directory, so no later run would find the
        // journals.
        let said = Said::of(command.env("HOME", "relative").output().expect("starts"));
        said.refuses(3, "no directory for journals of borrowed blocks");
        assert!(said.err.contains("try: XDG_STATE_HOME=DIR"), "{said:?}");
    }
    lent.is_as_before();
    let mut homeless = lent.place.command(&borrow);
    let planned = Said::of(homeless.env_remove("HOME").output().expect("starts"));
    if planned.err.contains("this user's account has no home") {
        println!("skipped: /etc/passwd does not name this user's home");
        return;
    }
    let journals = planned.out.split("copied to ").nth(1).unwrap_or_default();
    let place = journals.split_whitespace().next().unwrap_or_default();
    assert!(
        place.starts_with('/') && place.ends_with("/.local/state/ssdyno/journal"),
        "{planned:?}"
    );
}

#[test]
fn a_journal_is_restored_only_to_its_own_drive() {
    let mut lent = or_skip!(Lent::new());
    lent.killed_at("speed-write");
    lent.scribble(4096, 4096);
    // Replaces the device by another of the same size.
    let other = or_skip!(Loop::new(BYTES, "", &[]));
    let before = other.hash();
    lent.device.detach();
    let said = lent.recover(&["--replay"]);
    assert!(said.code == 1 && said.out.contains("the drive is not attached"), "{said:?}");
    let said = lent.recover(&["--replay", &other.path]);
    assert_eq!(said.code, 0, "no journal belongs to it: {said:?}");
    assert!(said.out.contains(&format!("no journal of {} in ", other.path)), "{said:?}");
    assert!(said.err.contains("note: a run left borrowed blocks of "), "{said:?}");
    assert_eq!(other.hash(), before);
    lent.device.attach();
    let link = lent.place.text("by-id");
    std::os::unix::fs::symlink(&lent.device.path, &link).expect("a link");
    lent.recover(&["--replay", &link]).good();
    lent.is_as_before();
}

#[test]
fn a_device_mounted_since_is_not_written() {
    or_skip!(root());
    let device = or_skip!(Loop::new(BYTES, "mkfs.ext4 -q", &[]));
    let (place, before) = (Place::new(), device.hash());
    let journal = place.text("journal");
    let lent = Lent { device, place, journal, before };
    lent.killed_at("speed-write");
    let mounted = or_skip!(Mounted::new(&["-o", "ro,noload", &lent.device.path]));
    let said = lent.recover(&["--replay"]);
    assert!(said.code == 1 && said.out.contains("is mounted at"), "{said:?}");
    drop(mounted);
    lent.recover(&[]).good();
    lent.is_as_before();
}

#[test]
fn a_torn_journal_means_that_nothing_was_overwritten() {
    let lent = or_skip!(Lent::new());
    lent.killed_at("speed-write");
    let [name] = &lent.left(".journal")[..] else { panic!("{:?}", lent.left("")) };
    let path = format!("{}/{name}", lent.journal);
    let whole = fs::read(&path).expect("a journal");
    fs::remove_file(&path).expect("removed");
    let part = path.replace(".journal", ".part");
    for length in [0, 10, 2000, whole.len() / 2, whole.len()] {
        fs::write(&part, &whole[..length]).expect("written");
        let said = lent.recover(&["--replay"]).good();
        assert!(said.out.contains("nothing had been overwritten yet: removed"), "{said:?}");
        assert!(lent.left("").is_empty());
    }
    // A complete journal that was damaged later is neither trusted nor discarded.
    let mut damaged = whole.clone();
    damaged[100] ^= 1;
    fs::write(&path, &damaged).expect("written");
    let said = lent.recover(&["--replay"]);
    assert!(said.code == 1 && said.out.contains("is damaged"), "{said:?}");
    // If only the journal's bytes were damaged, checksums still show that the drive is right.
    damaged.clone_from(&whole);
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    fs::write(&path, &damaged).expect("written");
    lent.recover(&[]).good();
    lent.is_as_before();
}

#[test]
fn a_journal_without_room_stops_everything_before_the_first_write() {
    let mut lent = or_skip!(Lent::new());
    let small = or_skip!(Loop::new(6 * MIB, "mkfs.ext4 -q", &[]));
    let mounted = or_skip!(Mounted::new(&[&small.path]));
    lent.journal = mounted.dir.join("journal").to_str().expect("UTF-8").to_string();
    let said = lent.run();
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("no room for the journal"), "{said:?}");
    assert!(lent.left("").is_empty(), "{:?}", lent.left(""));
    lent.is_as_before();
    let [run] = &lent.place.runs()[..] else { panic!("a record is kept") };
    assert!(run["cut_short"].to_string().contains("no room"), "{run}");
}

#[test]
fn an_interrupt_ends_a_run_cleanly() {
    let lent = or_skip!(Lent::new());
    let mut run = Going::start(&lent.place, &lent.words(&[]));
    run.until("\"name\":\"speed-write-middle\"");
    run.signal(2);
    run.until("\"name\":\"comparing\"");
    let returned = run.until("\"event\":\"returned\"");
    assert!(returned.contains("\"restored_bytes\":0"), "{returned}");
    assert_eq!(run.end().code, 130);
    assert!(lent.left("").is_empty(), "{:?}", lent.left(""));
    lent.is_as_before();
}

#[test]
fn a_directory_a_file_and_a_virtual_drive_are_measured_in_their_own_ways() {
    let place = Place::new();
    let before = contents(&place.work());
    let run = |target: &str, more: &[&str]| {
        let time = if target.starts_with("sim:") { "90s" } else { "2s" };
        let words = ["run", target, "-m", "speed", "--time", time, "--json", "--quiet"];
        place.ssdyno(&[&words[..], more].concat()).good().json()
    };
    let record = run(".", &["--size", "8MiB"]);
    assert_eq!(record["plan"]["safety"], "scratch");
    assert!(
        metric(&record, "speed-write").is_some() && metric(&record, "speed-write-end").is_none()
    );
    assert_eq!(contents(&place.work()), before);

    let image = place.file("image", 8 * MIB);
    fs::write(&image, vec![7; 8 << 20]).expect("written");
    let record = run(&image, &[]);
    assert!(metric(&record, "speed-write").is_none(), "a file is only read");
    let record = run(&image, &["--destroy=8388608"]);
    assert!(metric(&record, "speed-write").is_some());
    assert_eq!(fs::read(&image).expect("a file"), vec![7; 8 << 20], "restored all the same");

    // 6.4 MB/s for every stick, because of three transactions per 16 KiB.
    let record = run("sim:usb-16k", &[]);
    let legacy = metric(&record, "speed-read.legacy").expect("measured");
    assert!((legacy / 6.4e6 - 1.0).abs() < 0.05, "{legacy}");
    assert!(verdicts(&record).contains(&"PER-COMMAND"), "{:?}", verdicts(&record));
}

/// docs/safety.md: "A journal decides what is written to a raw drive, so only its owner's are
/// restored".
#[test]
fn a_journal_of_another_user_is_restored_only_by_name_and_stops_nobody() {
    const STRANGER: u32 = 12_345;
    let lent = or_skip!(Lent::new());
    lent.killed_at("speed-write");
    let [name] = &lent.left(".journal")[..] else { panic!("{:?}", lent.left("")) };
    let path = format!("{}/{name}", lent.journal);
    let hash = Command::new("sha256sum").arg(&path).output().expect("starts").stdout;
    let hash = String::from_utf8(hash).expect("digits").split(' ').next().map(String::from);
    or_skip!(chown(&path, Some(STRANGER), None).map_err(|e| e.to_string()));
    // The stranger's own run would have entered it in his registry, not in ours.
    fs::remove_dir_all(lent.place.path("home/.local/state/ssdyno/journal")).expect("an entry");
    lent.scribble(4096, 4096);
    let scribbled = lent.device.hash();
    let said = lent.recover(&["--replay"]).good();
    assert_eq!(lent.device.hash(), scribbled, "{said:?}");
    let command = format!("ssdyno recover --journal-of {STRANGER} --journal {}", lent.journal);
    let note = format!("note: user {STRANGER} left borrowed blocks of {}", lent.device.path);
    assert!(said.err.contains(&note) && said.err.contains(&command), "{said:?}");
    lent.run().good();
    let named = format!("--journal-of={STRANGER}");
    let said = lent.recover(&[&named]);
    assert_eq!((said.code, lent.device.hash()), (1, scribbled), "{said:?}");
    let identity = format!(
        "owner {STRANGER}, {} bytes, SHA-256 {}",
        fs::metadata(&path).expect("there").len(),
        hash.expect("a hash")
    );
    assert!(said.out.contains(&format!("{path}\n  {identity}")), "{said:?}");
    assert!(said.out.contains(&format!("try: {command} --replay, if ")), "{said:?}");
    let said = lent.recover(&["--journal-of", "nobody-of-this-name"]);
    said.refuses(2, "no user is named 'nobody-of-this-name'");
    lent.recover(&[&named, "--replay"]).good();
    lent.is_as_before();
    assert!(lent.left("").is_empty());
}

#[test]
fn a_pipe_named_like_a_journal_hangs_nothing() {
    let lent = or_skip!(Lent::new());
    fs::create_dir(&lent.journal).expect("made");
    let pipe = format!("{}/x.journal", lent.journal);
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("starts").success());
    lent.run().refuses(3, "is damaged, and may contain blocks of");
    let said = lent.recover(&[]);
    assert!(said.code == 1 && said.out.contains("is not a regular file"), "{said:?}");
    lent.place.ssdyno(&["io", "null:", "--ops", "1", "--journal", &lent.journal]).good();
    lent.recover(&["--discard", "x"]).good();
    lent.run().good();
    lent.is_as_before();
}
