//! A guest from start to end, and its script's requests to the host.
//!
//! No wait has a fixed time: events are answered as they arrive, and a limit of processor time ends a
//! guest that goes on for ever.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Ready;
use super::machine::{Builder, Drive, OPTIONS, Volume, bare_metal_image, image};
use super::qemu::{self, Qemu};
use super::script::{Case, bare};
use crate::run::{output, program};

/// Result of a script.
pub struct Outcome {
    /// Exit status of the script.
    pub status: i32,
    /// Output of the script.
    pub said: String,
}

/// Runs a case; its images and logs remain in a directory with its name.
pub fn run(case: &Case, ready: &Ready) -> Result<Outcome> {
    let dir = empty(&ready.dir.join(case.name()))?;
    let cores = cores_in_turn();
    let mut command = command(case, ready, cores[0]);
    qemu::logs(&mut command, &dir)?;
    let status = serve(case, &dir, command, cores.get(1).copied(), true);
    let read = |name: &str| {
        let text = fs::read(dir.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    };
    let said = read("out.log");
    let status = status.with_context(|| {
        format!("{said}--- end of the console ---\n{}\n---", tail(&read("console.log"), 30))
    })?;
    Ok(Outcome { status, said })
}

/// Opens a shell with these drives on this terminal.
pub fn shell(case: &Case, ready: &Ready) -> Result<()> {
    let dir = empty(&ready.dir.join(case.name()))?;
    let mut command = command(case, ready, cores_in_turn()[0]);
    qemu::terminal(&mut command);
    serve(case, &dir, command, None, false).map(drop)
}

fn empty(dir: &Path) -> Result<std::path::PathBuf> {
    if dir.exists() {
        fs::remove_dir_all(dir).with_context(|| dir.display().to_string())?;
    }
    fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    Ok(dir.to_path_buf())
}

/// Options of the guest's kernel. Without its timer check, which sometimes hangs on a busy host, and
/// without the HPET, with which more guests stood still there.
///
/// On a busy host, a guest with an SD card in a few still stands still for ever: its processor halted,
/// the one-shot timer of its local APIC expired, no interrupt pending (QEMU 7.2; seen in its monitor).
/// Why is not known. With `nohz=off`, the tick goes on while a guest waits, which tells it from one that
/// stands still.
///
/// QEMU translates a program's code again for every address that the program is loaded at: with addresses
/// that do not vary, `ssdyno --version` takes a quarter of the time.
const KERNEL: &str = "norandmaps quiet panic=-1 nokaslr no_timer_check hpet=disable nohz=off";

fn command(case: &Case, ready: &Ready, core: usize) -> Command {
    // Interrupting the tests must not leave a guest running.
    let core = core.to_string();
    let words = ["--pdeathsig", "KILL", "taskset", "-c", &core, ready.board.emulator()];
    let mut command = program("setpriv", &words);
    let mut kernel = format!("console={} {}", ready.board.console(), KERNEL);
    command.args(ready.board.options());
    if case.script.iommu {
        // Must precede the PCI devices that it translates for. VFIO also needs interrupt remapping.
        command.args(["-device", "intel-iommu,intremap=on,caching-mode=on"]);
        kernel += " intel_iommu=on";
    }
    command.args(OPTIONS);
    command.arg("-kernel").arg(&ready.kernel).arg("-initrd").arg(&ready.initrd);
    command.args(["-append", &kernel]);
    command
}

/// The cores of this machine, starting with the core of the next guest, in turn. All threads of a
/// guest stay on one core: with two, QEMU 7.2's NVMe stalled in most runs, as if a doorbell in
/// shared memory were lost between processors (the guest then waits 30 s for each); on one core, it
/// did not. A benchmark may nevertheless request two (`cores`).
fn cores_in_turn() -> Vec<usize> {
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:"));
    let mut cores = cores(list.unwrap_or("0"));
    if cores.is_empty() {
        return vec![0];
    }
    let turn = STARTED.fetch_add(1, Ordering::Relaxed) % cores.len();
    cores.rotate_left(turn);
    cores
}

/// Parses a list of numbers such as `0-3,8`.
fn cores(list: &str) -> Vec<usize> {
    let span = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(span).flatten().collect()
}

/// The drives of a case, and how often its guest has booted and asked for a reset.
struct Guest {
    drives: Vec<Drive>,
    later: Vec<Drive>,
    boots: u32,
    resets: u32,
}

/// Creates the images, starts the guest and answers its requests until its script has ended.
/// Returns the exit status. `second` is another core, for a script that needs two.
fn serve(
    case: &Case,
    dir: &Path,
    mut command: Command,
    second: Option<usize>,
    script: bool,
) -> Result<i32> {
    let mut builder = Builder::default();
    let mut make = |words: &[String]| -> Result<Vec<Drive>> {
        words.iter().map(|word| builder.drive(word, dir)).collect()
    };
    let (drives, later) = (make(&case.drives())?, make(&case.script.later)?);
    let mut guest = Guest { drives, later, boots: 0, resets: 0 };
    let aio = case.script.aio.as_deref().unwrap_or("threads");
    for volume in guest.volumes() {
        if let Some(content) = bare_metal_image(&volume.name) {
            fs::copy(&content, &volume.image).with_context(|| content.display().to_string())?;
        } else {
            let file = File::create(&volume.image).context("an image")?;
            file.set_len(volume.bytes).context("an image")?;
        }
        command.arg("-blockdev").arg(image(volume, aio).to_string());
    }
    for device in guest.drives.iter().flat_map(|drive| &drive.devices) {
        command.arg("-device").arg(device.to_string());
    }
    let mut qemu = Qemu::start(command, dir, case.script.limit)?;
    if case.script.two_cores {
        qemu.move_processor(second.context("the script needs two cores")?)?;
    }
    let parameters = guest.parameters(case, script);
    let status = guest.talk(&mut qemu, &parameters);
    qemu.end()?;
    status
}

impl Guest {
    fn talk(&mut self, qemu: &mut Qemu, parameters: &str) -> Result<i32> {
        loop {
            let line = qemu.asked()?;
            if let Some(status) = line.strip_prefix("exit ") {
                return status.trim().parse().context("its exit status");
            }
            let answer = match line.as_str() {
                "hello" => {
                    self.boots += 1;
                    ensure!(self.boots == self.resets + 1, "the guest rebooted unexpectedly");
                    format!("boot={} {parameters}", self.boots)
                }
                // Not answered: the next start would mistake the answer for its own.
                "reset" => {
                    self.resets += 1;
                    qemu.qmp("system_reset", json!({}))?;
                    continue;
                }
                line => self.answer(qemu, line).unwrap_or_else(|e| format!("error: {e:#}")),
            };
            qemu.answer(&answer)?;
        }
    }

    /// Answers one line with one line.
    fn answer(&mut self, qemu: &mut Qemu, line: &str) -> Result<String> {
        let (what, name) = line.split_once(' ').unwrap_or((line, ""));
        match what {
            "unplug" => drop(qemu.qmp("device_del", json!({ "id": name }))?),
            "plug" => {
                let mut drives = self.drives.iter().chain(&self.later);
                let drive = drives.find(|drive| drive.name == name).context("no such drive")?;
                for device in drive.devices.iter().filter(|device| is_hot(device)) {
                    qemu.qmp("device_add", device.clone())?;
                }
            }
            "limit" => {
                let (name, words) = name.split_once(' ').context("limit NAME KEY=NUMBER ...")?;
                qemu.qmp("block_set_io_throttle", throttle(name, words)?)?;
            }
            "blocks" => return Ok(fs::metadata(&self.volume(name)?.image)?.blocks().to_string()),
            "hash" => return hash(&self.volume(name)?.image),
            "jq" => return jq(name),
            _ => anyhow::bail!("unknown request '{what}'"),
        }
        Ok("ok".into())
    }

    fn volumes(&self) -> impl Iterator<Item = &Volume> {
        self.drives.iter().chain(&self.later).flat_map(|drive| &drive.volumes)
    }

    fn volume(&self, name: &str) -> Result<&Volume> {
        self.volumes().find(|volume| volume.name == name).context("no such drive")
    }

    /// Parameters for a start: shell assignments.
    fn parameters(&self, case: &Case, script: bool) -> String {
        let volumes = self.volumes().map(|v| format!("{}|{}|{}", v.name, v.glob, v.serial));
        let names = |words: &[String]| words.iter().map(|w| bare(w)).collect::<Vec<_>>().join(" ");
        let file = case.script.path.file_name().unwrap_or_default().to_string_lossy();
        format!(
            "script='{}' drive='{}' attached='{}' later='{}' modules='{}' volumes='{}' seed='{}'",
            if script { &file } else { "" },
            case.drive.as_deref().map(bare).unwrap_or_default(),
            names(&case.drives()),
            names(&case.script.later),
            case.script.modules.join(" "),
            volumes.collect::<Vec<_>>().join(" "),
            seed(),
        )
    }
}

/// What separates the arguments of a request for jq, and its input and lines.
const UNIT: char = '\u{1f}';
const RECORD: char = '\u{1e}';

/// Environment variable with the seed of scripts that draw what they do; otherwise the script has
/// its own.
const SEED: &str = "SSDYNO_SEED";

fn seed() -> String {
    let seed = std::env::var(SEED).ok().and_then(|text| text.parse::<u32>().ok());
    seed.map(|seed| seed.to_string()).unwrap_or_default()
}

/// The throttle of a virtio disk, whose backend is a part of it: words such as `iops=500 iops_max=1000`; 0 or nothing is no limit.
fn throttle(name: &str, words: &str) -> Result<Value> {
    let mut limits = json!({ "id": format!("/machine/peripheral/{name}/virtio-backend") });
    for key in ["bps", "bps_rd", "bps_wr", "iops", "iops_rd", "iops_wr"] {
        limits[key] = json!(0);
    }
    for word in words.split_whitespace() {
        let (key, number) = word.split_once('=').context("KEY=NUMBER")?;
        limits[key] = json!(number.parse::<u64>().context("a number")?);
    }
    Ok(limits)
}

/// Whether a device can be unplugged; a PCIe port stays.
fn is_hot(device: &Value) -> bool {
    device["driver"] != "pcie-root-port"
}

fn hash(image: &Path) -> Result<String> {
    let said = output(&mut program("sha256sum", &[&image.to_string_lossy()]))?;
    Ok(said.split_whitespace().next().unwrap_or_default().to_string())
}

/// Runs jq on a request of `guest/lib.sh`: whether its last argument is the input's file in the guest,
/// the arguments and the input. The answer is the exit status and the output.
fn jq(request: &str) -> Result<String> {
    let (arguments, input) = request.split_once(RECORD).context("jq without input")?;
    let mut arguments: Vec<&str> = arguments.split(UNIT).collect();
    if arguments.remove(0) == "file" {
        arguments.pop();
    }
    let mut file = tempfile::tempfile().context("jq's input")?;
    file.write_all(input.as_bytes()).context("jq's input")?;
    file.rewind().context("jq's input")?;
    let said = program("jq", &arguments).stdin(file).output().context("jq")?;
    let text = [said.stdout, said.stderr].concat();
    let text = String::from_utf8_lossy(&text).replace('\n', &RECORD.to_string());
    Ok(format!("{} {text}", said.status.code().unwrap_or(1)))
}

fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_throttle_has_all_keys_and_only_numbers() {
        let limits = super::throttle("nvme", "iops=500 iops_max=900").expect("words");
        assert_eq!([&limits["iops"], &limits["iops_max"], &limits["bps"]], [500, 900, 0]);
        assert!(super::throttle("nvme", "iops=x").is_err());
    }

    #[test]
    fn a_request_for_jq_is_answered_in_one_line() {
        if crate::run::find("jq").is_none() {
            return println!("skipped: no jq on this machine");
        }
        let request = "file\u{1f}-r\u{1f}.a[]\u{1f}/tmp/record\u{1e}{ \"a\": [1, \"b c\"] }";
        assert_eq!(super::jq(request).expect("an answer"), "0 1\u{1e}b c\u{1e}");
        let request = "input\u{1f}-e\u{1f}.a\u{1e}{}";
        assert_eq!(super::jq(request).expect("an answer"), "1 null\u{1e}");
    }

    #[test]
    fn a_list_of_processors() {
        assert_eq!(super::cores("\t0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(super::cores("x"), [0; 0]);
    }
}
