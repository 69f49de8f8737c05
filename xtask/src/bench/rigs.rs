//! `cargo xtask bench rigs DIR`: checks verdicts on real set-ups whose speed has a known cause, as
//! `bench verdicts` does on virtual drives.
//!
//! Each rig is measured with and without its cause. A verdict that names a limit is right for
//! figures that rise by at least 10% without the limit. The verdict RAM names the source of the
//! data, whatever the speed: it is right for every figure with memory in the path, and wrong for
//! any figure without. The rates of the checks are not judged. Needs root. Everything is created
//! below DIR, on separate loop devices and in separate control groups, and removed afterwards. A
//! rig that cannot be set up on this machine is skipped, and the reason is printed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::places::unmount;
use super::results;
use crate::run::{cargo, find, output, program, root};

/// A figure that rises by a smaller factor does not depend on the cause.
const RISE: f64 = 1.1;

/// Limits that are effective on any machine: bytes per second, and share of a processor.
const LIMIT_BYTES: u64 = 10_000_000;
const QUOTA: [u64; 2] = [10_000, 100_000];

/// A rig: measured with its cause and without.
struct Rig {
    name: &'static str,
    verdict: &'static str,
    /// Whether the cause is memory, not a limit.
    memory: bool,
    measure: fn(&Ground) -> Result<[Seen; 2]>,
}

const RIGS: [Rig; 7] = [
    Rig {
        name: "loop device on tmpfs",
        verdict: "RAM",
        memory: true,
        measure: |g| Ok([g.quick(&g.on_loop(true, true)?, None)?, g.on_disk()?]),
    },
    Rig {
        name: "loop device on a file, through the page cache",
        verdict: "RAM",
        memory: true,
        measure: |g| Ok([g.quick(&g.on_loop(false, false)?, None)?, g.on_disk()?]),
    },
    Rig { name: "zram", verdict: "RAM", memory: true, measure: |g| g.zram() },
    Rig {
        name: "io_uring without O_DIRECT",
        verdict: "RAM",
        memory: true,
        measure: |g| {
            let mount = g.on_loop(false, true)?;
            let reads = ["--rw", "randread", "--depth", "8", "--backend", "uring", "--time", "4s"];
            let buffered = [&reads[..], &["--buffered"]].concat();
            Ok([g.io(&mount, &buffered)?, g.io(&mount, &reads)?])
        },
    },
    Rig {
        name: "file system frozen for 3 s",
        verdict: "STALL",
        memory: false,
        measure: Ground::frozen,
    },
    Rig {
        name: "control group: a tenth of a processor",
        verdict: "CPU QUOTA",
        memory: false,
        measure: |g| {
            let mount = g.on_loop(true, true)?;
            let group = Group::of_processor()?;
            Ok([g.quick(&mount, Some(&group))?, g.quick(&mount, None)?])
        },
    },
    Rig {
        name: "control group: 10 MB/s",
        verdict: "IO LIMIT",
        memory: false,
        measure: |g| {
            let mount = g.on_loop(false, true)?;
            let group = Group::of_device(&mount.device)?;
            Ok([g.quick(&mount, Some(&group))?, g.quick(&mount, None)?])
        },
    },
];

/// Measures all rigs below a directory, prints their table, and stores it.
pub fn run(directory: &str) -> Result<ExitCode> {
    output(&mut cargo(&["build", "--release", "-q", "-p", "ssdyno"]))?;
    let place = Path::new(directory).canonicalize()?.join(format!("rigs-{}", std::process::id()));
    fs::create_dir_all(&place)?;
    let ground = Ground { place: place.clone(), ssdyno: root().join("target/release/ssdyno") };
    let mut text =
        String::from("| rig | verdict | right | wrong | not named |\n|---|---|---|---|---|\n");
    let (mut met, mut skipped) = (true, String::new());
    for rig in &RIGS {
        match (rig.measure)(&ground) {
            Ok(seen) => {
                let [right, wrong, silent] = judge(rig, &seen);
                met &= wrong == 0 && right > 0;
                let (name, verdict) = (rig.name, rig.verdict);
                text += &format!("| {name} | {verdict} | {right} | {wrong} | {silent} |\n");
            }
            Err(error) => skipped += &format!("- {}: skipped: {error:#}\n", rig.name),
        }
    }
    text += "\nRight: the verdict names a limit without which the figure rises by at least 10%, or memory that served the \
             figure. Wrong: the figure does not rise by that much, or no memory served it. Guest devices: skipped; `cargo xtask guest` covers them.\n";
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text += &format!("Load at the end: {}.\n", load.split(' ').next().unwrap_or("unknown"));
    text += &skipped;
    print!("{text}");
    results::write("rigs", "cargo xtask bench rigs DIR", &text)?;
    fs::remove_dir_all(&place)?;
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The path of a system program.
fn tool(name: &str) -> Result<PathBuf> {
    find(name).with_context(|| format!("{name} is missing"))
}

/// Numbers of figures for which the verdict is right, wrong, and silent.
fn judge(rig: &Rig, [held, free]: &[Seen; 2]) -> [u32; 3] {
    let names: Vec<&str> = held.verdicts.iter().map(|(name, _)| name.as_str()).collect();
    eprintln!("{}: {}", rig.name, names.join(", "));
    let mut counts = [0; 3];
    for (metric, with) in held.figures.iter().filter(|(metric, _)| !metric.starts_with("check-")) {
        let Some(without) = free.figures.get(metric) else { continue };
        let rise = without / with;
        let named = held.names(rig.verdict, metric);
        let (right, wrong, silent) = match rig.memory {
            true => (named, free.names(rig.verdict, metric), !named),
            false => (named && rise >= RISE, named && rise < RISE, !named && rise >= RISE),
        };
        eprintln!("  {metric}: x{rise:.2} without the cause, named: {named}");
        for (count, one) in counts.iter_mut().zip([right, wrong, silent]) {
            *count += u32::from(one);
        }
    }
    counts
}

/// The verdicts of a run, each with the figures it explains, and the run's main rates.
struct Seen {
    verdicts: Vec<(String, Vec<String>)>,
    figures: BTreeMap<String, f64>,
}

impl Seen {
    /// Whether the verdict names a figure. A verdict without a list of figures names all of them.
    fn names(&self, verdict: &str, metric: &String) -> bool {
        let mut mine = self.verdicts.iter().filter(|(name, _)| name == verdict);
        mine.any(|(_, metrics)| metrics.is_empty() || metrics.contains(metric))
    }

    fn of(record: &Value) -> Seen {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let explained =
            |v: &Value| list(&v["explains"]).iter().map(|e| text(&e["metric"])).collect();
        let verdicts = list(&record["verdicts"]);
        let verdicts = verdicts.iter().map(|v| (text(&v["name"]), explained(v))).collect();
        let figures = list(&record["metrics"]).into_iter().filter_map(|m| {
            let name = text(&m["name"]);
            let rate = ["IOPS", "B/s"].contains(&m["unit"].as_str()?);
            (rate && !name.contains('.')).then_some((name, m["value"].as_f64()?))
        });
        Seen { verdicts, figures: figures.collect() }
    }
}

/// The directory of all rigs, and the program that measures.
struct Ground {
    place: PathBuf,
    ssdyno: PathBuf,
}

impl Ground {
    fn measure(&self, words: &[&str], group: Option<&Group>) -> Result<Seen> {
        let store = self.place.join("runs");
        let mut command = match group {
            Some(group) => {
                let enter = r#"echo $$ > "$0" && exec "$@""#;
                let mut command = program("sh", &["-c", enter]);
                command.arg(group.dir.join("cgroup.procs")).arg(&self.ssdyno);
                command
            }
            None => Command::new(&self.ssdyno),
        };
        command.args(words).args(["--json", "--quiet", "--store"]).arg(&store);
        let said = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
        let record = said.stdout.split(|byte| *byte == b'\n').rfind(|line| line.starts_with(b"{"));
        let record = serde_json::from_slice(record.context("the run printed no record")?)?;
        let seen = Seen::of(&record);
        match seen.figures.is_empty() {
            true => bail!("the record has no rates"),
            false => Ok(seen),
        }
    }

    fn quick(&self, mount: &Mount, group: Option<&Group>) -> Result<Seen> {
        let dir = mount.dir.display().to_string();
        let words = ["run", &dir, "-m", "quick", "--time", "12s", "--size", "64MiB"];
        self.measure(&words, group)
    }

    fn io(&self, mount: &Mount, words: &[&str]) -> Result<Seen> {
        let dir = mount.dir.display().to_string();
        self.measure(&[&["io", &dir, "--size", "64MiB"], words].concat(), None)
    }

    /// Measures a file system on a loop device, without any rig's cause.
    fn on_disk(&self) -> Result<Seen> {
        self.quick(&self.on_loop(false, true)?, None)
    }

    /// ext4 on a loop device over a file on tmpfs or on the disk, with or without the page cache.
    fn on_loop(&self, memory: bool, direct: bool) -> Result<Mount> {
        let under = memory.then(|| Mount::tmpfs(&self.place)).transpose()?;
        let file = under.as_ref().map_or(&self.place, |mount| &mount.dir).join("image");
        let image = fs::File::create(&file)?;
        image.set_len(256 << 20)?;
        let setup = ["-f", "--show"].map(String::from);
        let mut words = setup.to_vec();
        // tmpfs does not support direct I/O.
        words.extend((direct && !memory).then(|| "--direct-io=on".to_string()));
        words.push(file.display().to_string());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let device = output(&mut program(tool("losetup")?, &words))?.trim().to_string();
        let held = Held::Loop(device.clone(), under.map(Box::new), file);
        Mount::ext4(&self.place, device, held)
    }

    fn zram(&self) -> Result<[Seen; 2]> {
        let control = Path::new("/sys/class/zram-control");
        let number = fs::read_to_string(control.join("hot_add")).context("no zram")?;
        let number = number.trim().to_string();
        let held = Held::Zram(number.clone());
        fs::write(format!("/sys/block/zram{number}/disksize"), "256M")?;
        let mount = Mount::ext4(&self.place, format!("/dev/zram{number}"), held)?;
        let seen = self.quick(&mount, None)?;
        drop(mount);
        Ok([seen, self.on_disk()?])
    }

    fn frozen(&self) -> Result<[Seen; 2]> {
        let mount = self.on_loop(false, true)?;
        let words = ["--rw", "randwrite", "--depth", "4", "--time", "8s"];
        let dir = mount.dir.display().to_string();
        let freezer = tool("fsfreeze")?;
        let held = thread::scope(|scope| {
            let freeze = scope.spawn(|| {
                thread::sleep(Duration::from_secs(3));
                let frozen = output(&mut program(&freezer, &["--freeze", &dir]));
                thread::sleep(Duration::from_secs(3));
                frozen.and_then(|_| output(&mut program(&freezer, &["--unfreeze", &dir])))
            });
            let seen = self.io(&mount, &words);
            let freeze = freeze.join().unwrap_or_else(|_| bail!("the freezer failed"));
            freeze.and(seen)
        })?;
        Ok([held, self.io(&mount, &words)?])
    }
}

/// The device of a mount, released after the mount.
enum Held {
    Tmpfs,
    Loop(String, Option<Box<Mount>>, PathBuf),
    Zram(String),
}

impl Drop for Held {
    fn drop(&mut self) {
        match self {
            Held::Tmpfs => {}
            Held::Loop(device, under, file) => {
                let _ =
                    tool("losetup").and_then(|tool| output(&mut program(tool, &["-d", device])));
                let _ = fs::remove_file(file);
                drop(under.take());
            }
            Held::Zram(number) => {
                let _ = fs::write(format!("/sys/block/zram{number}/reset"), "1");
                let _ = fs::write("/sys/class/zram-control/hot_remove", number);
            }
        }
    }
}

/// A mounted file system.
struct Mount {
    dir: PathBuf,
    device: String,
    _held: Held,
}

impl Mount {
    fn tmpfs(place: &Path) -> Result<Mount> {
        Mount::new(place, "tmpfs", "tmpfs".to_string(), Held::Tmpfs)
    }

    fn ext4(place: &Path, device: String, held: Held) -> Result<Mount> {
        output(&mut program(tool("mkfs.ext4")?, &["-q", "-F", &device]))?;
        Mount::new(place, "ext4", device, held)
    }

    fn new(place: &Path, kind: &str, device: String, held: Held) -> Result<Mount> {
        let dir = place.join(kind);
        fs::create_dir_all(&dir)?;
        let at = dir.display().to_string();
        output(&mut program(tool("mount")?, &["-t", kind, &device, &at]))?;
        Ok(Mount { dir, device, _held: held })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        unmount(&self.dir);
    }
}

/// A control group, of version 1 or 2, with a limit.
struct Group {
    dir: PathBuf,
}

impl Group {
    fn of_processor() -> Result<Group> {
        let [quota, period] = QUOTA;
        let unified = [("cpu.max", format!("{quota} {period}"))];
        let old =
            [("cpu.cfs_period_us", period.to_string()), ("cpu.cfs_quota_us", quota.to_string())];
        Group::new("cpu", "cpu", &unified, &old)
    }

    fn of_device(device: &str) -> Result<Group> {
        let name = device.trim_start_matches("/dev/");
        let number = fs::read_to_string(format!("/sys/block/{name}/dev"))?.trim().to_string();
        let unified = [("io.max", format!("{number} rbps={LIMIT_BYTES} wbps={LIMIT_BYTES}"))];
        let limit = format!("{number} {LIMIT_BYTES}");
        let old = [
            ("blkio.throttle.read_bps_device", limit.clone()),
            ("blkio.throttle.write_bps_device", limit),
        ];
        Group::new("io", "blkio", &unified, &old)
    }

    /// A group in the unified hierarchy if it has the controller, otherwise in the legacy one.
    fn new(
        controller: &str,
        old_controller: &str,
        unified: &[(&str, String)],
        old: &[(&str, String)],
    ) -> Result<Group> {
        let top = Path::new("/sys/fs/cgroup");
        let controllers = fs::read_to_string(top.join("cgroup.controllers")).unwrap_or_default();
        let name = format!("ssdyno-rig-{}", std::process::id());
        let (dir, settings) = match controllers.split_whitespace().any(|c| c == controller) {
            true => {
                fs::write(top.join("cgroup.subtree_control"), format!("+{controller}"))?;
                (top.join(name), unified)
            }
            false => (top.join(old_controller).join(name), old),
        };
        fs::create_dir(&dir).with_context(|| format!("no control group for {controller}"))?;
        let group = Group { dir };
        for (file, value) in settings {
            fs::write(group.dir.join(file), value).with_context(|| (*file).to_string())?;
        }
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.dir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_judged_by_rises_and_memory_by_its_presence() {
        let rig = |memory| Rig { name: "", verdict: "RAM", memory, measure: Ground::frozen };
        let seen = |figures: [f64; 3], explains: &[&str]| {
            let names = ["a", "b", "c"].map(String::from);
            let explains = explains.iter().map(|name| (*name).to_string()).collect();
            let figures = names.into_iter().zip(figures).collect();
            Seen { verdicts: vec![("RAM".to_string(), explains)], figures }
        };
        let both = [seen([10.0; 3], &["a", "b"]), seen([12.0, 10.5, 12.0], &["c"])];
        assert_eq!(judge(&rig(false), &both), [1, 1, 1]);
        assert_eq!(judge(&rig(true), &both), [2, 1, 1]);
        let all = [seen([10.0; 3], &[]), Seen { verdicts: Vec::new(), ..seen([9.0; 3], &[]) }];
        assert_eq!(judge(&rig(true), &all), [3, 0, 0], "a verdict on all figures");
    }
}
