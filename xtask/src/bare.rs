//! `cargo xtask bare`: the NVMe driver on bare metal, under QEMU, on x86-64 and on a Cortex-A53.
//!
//! Each image starts QEMU's controller, writes and reads back, measures, and writes a mark at the
//! start of the drive. The mark is then searched for in the drive's image by a reader that shares
//! no code with the driver, and the image stays for `guest/tests/metal.sh`, in which Linux reads
//! it. QEMU emulates the processor and counts one nanosecond per instruction,
//! so its figures say nothing about speed; the cost of a command is its number of driver
//! instructions.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::run::{cargo, find, output, program, root};

/// Time limit per image; each takes one to two seconds.
const LIMIT: Duration = Duration::from_secs(30);
/// Goal for both images together. It is reported and not enforced: the emulator's real time depends
/// on the machine's other load.
const GOAL: Duration = Duration::from_secs(10);
const DRIVE_BYTES: u64 = 64 << 20;
/// The table's rows: throughput or rate, and mean latency, of nine workloads; the cost of a command
/// for three sizes.
const ROWS: usize = 21;

/// The emulator's clock: one nanosecond per instruction, independent of other load.
const INSTRUCTIONS: [&str; 2] = ["-icount", "shift=0"];
/// Maximum instructions per command of any size; measured: 121 on x86-64, 109 on the Cortex-A53.
const COMMAND_MAX: u64 = 130;

/// An emulated machine.
struct Board {
    name: &'static str,
    target: &'static str,
    emulator: &'static str,
    machine: &'static [&'static str],
}

const BOARDS: [Board; 2] = [
    Board {
        name: "x86_64",
        target: "x86_64-unknown-none",
        emulator: "qemu-system-x86_64",
        machine: &["-M", "q35", "-cpu", "max"],
    },
    Board {
        name: "aarch64",
        target: "aarch64-unknown-none",
        emulator: "qemu-system-aarch64",
        machine: &["-M", "virt", "-cpu", "cortex-a53"],
    },
];

/// The result of an image.
pub struct Verdict {
    /// The board's name.
    pub name: &'static str,
    /// The reason for skipping it.
    pub skipped: Option<String>,
    /// The reason for its failure.
    pub failure: Option<String>,
    /// The output of the serial port.
    pub said: String,
    /// Run time without the build.
    pub time: Duration,
}

/// `cargo xtask bare`: runs both images and prints their output.
pub fn run() -> Result<ExitCode> {
    let (mut sound, mut total) = (true, Duration::ZERO);
    for verdict in test() {
        total += verdict.time;
        print!("{}", verdict.said);
        if let Some(why) = &verdict.skipped {
            println!("# {} skipped: {why}", verdict.name);
        }
        if let Some(why) = &verdict.failure {
            println!("# {} failed: {why}", verdict.name);
        }
        sound &= verdict.failure.is_none();
    }
    println!("# images: {:.1} s together (goal: {} s)", total.as_secs_f64(), GOAL.as_secs());
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The names of the boards.
pub fn names() -> impl Iterator<Item = &'static str> {
    BOARDS.iter().map(|board| board.name)
}

/// Builds and runs both images.
pub fn test() -> Vec<Verdict> {
    BOARDS.iter().map(Board::verdict).collect()
}

impl Board {
    fn verdict(&self) -> Verdict {
        let mut verdict = Verdict {
            name: self.name,
            skipped: self.missing(),
            failure: None,
            said: String::new(),
            time: Duration::ZERO,
        };
        if verdict.skipped.is_none() {
            let tried = self.build().and_then(|image| {
                let begin = Instant::now();
                let outcome = self.boot(&image, &mut verdict.said);
                verdict.time = begin.elapsed();
                outcome
            });
            verdict.failure = tried.err().map(|error| format!("{error:#}"));
        }
        verdict
    }

    /// The missing requirement, if any; the target is installed if possible.
    fn missing(&self) -> Option<String> {
        if find(self.emulator).is_none() {
            return Some(format!("no {}", self.emulator));
        }
        let there = || {
            let words = ["--print", "target-libdir", "--target", self.target];
            let said = output(&mut program("rustc", &words)).unwrap_or_default();
            Path::new(said.trim()).is_dir()
        };
        if !there() {
            let add = output(&mut program("rustup", &["target", "add", self.target]));
            if add.is_err() || !there() {
                return Some(format!("no target {}", self.target));
            }
        }
        None
    }

    /// Builds the image for release.
    fn build(&self) -> Result<PathBuf> {
        let (bare, target) = (root().join("bare"), root().join("target/bare"));
        let script = bare.join(format!("{}.ld", self.name));
        let (manifest, target) = (bare.join("Cargo.toml"), target.display().to_string());
        let (manifest, link) =
            (manifest.display().to_string(), format!("-Clink-arg=-T{}", script.display()));
        let words = [
            "rustc",
            "-q",
            "--release",
            "--manifest-path",
            &manifest,
            "--target",
            self.target,
            "--target-dir",
            &target,
            "--",
            "-Dwarnings",
            "-Crelocation-model=static",
            &link,
        ];
        output(&mut cargo(&words))?;
        Ok(Path::new(&target).join(self.target).join("release/bare"))
    }

    /// Boots the image with an empty drive; checks its output and the drive.
    fn boot(&self, image: &Path, said: &mut String) -> Result<()> {
        let dir = root().join("target/bare");
        let file =
            |ending: &str| dir.join(format!("{}.{}.{ending}", self.name, std::process::id()));
        let (drive, serial) = (file("drive"), file("serial"));
        File::create(&drive)?.set_len(DRIVE_BYTES)?;
        let outcome = self.emulate(image, &drive, &serial);
        *said = fs::read_to_string(&serial).unwrap_or_default();
        let outcome = outcome.and_then(|()| judge(said)).and_then(|()| marked(&drive));
        fs::remove_file(&serial).with_context(|| serial.display().to_string())?;
        match outcome {
            Ok(()) => fs::rename(&drive, image_of(self.name)).context("the drive's image"),
            Err(error) => {
                let _ = fs::remove_file(image_of(self.name));
                fs::remove_file(&drive).context("the drive's image")?;
                Err(error)
            }
        }
    }

    fn emulate(&self, image: &Path, drive: &Path, serial: &Path) -> Result<()> {
        let (kernel, drive) = (image.display().to_string(), drive.display());
        let (drive, serial) = (
            format!("file={drive},if=none,id=drive,format=raw"),
            format!("file:{}", serial.display()),
        );
        let rest =
            ["-m", "256", "-nodefaults", "-display", "none", "-no-reboot", "-serial", &serial];
        let nvme = ["-drive", &drive, "-device", "nvme,drive=drive,serial=SSDYNO-BARE"];
        let words = [self.machine, &INSTRUCTIONS, &rest, &nvme, &["-kernel", &kernel]].concat();
        let mut command = program(self.emulator, &words);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let begin = Instant::now();
        while begin.elapsed() < LIMIT {
            if let Some(status) = child.try_wait()? {
                ensure!(status.success(), "{} ended with {status}", self.emulator);
                return Ok(());
            }
            sleep(Duration::from_millis(20));
        }
        child.kill()?;
        child.wait()?;
        bail!("the image did not end within {} s", LIMIT.as_secs())
    }
}

/// The image of the drive on which a board's last successful run left its mark.
pub fn image_of(board: &str) -> PathBuf {
    root().join("target/bare").join(format!("{board}.drive"))
}

/// Whether the image reports success and a full table.
fn judge(said: &str) -> Result<()> {
    if let Some(why) = said.lines().find_map(|line| line.strip_prefix("# failed: ")) {
        bail!("{why}");
    }
    ensure!(said.contains("\n# read back: ok"), "nothing was read back");
    ensure!(said.trim_end().ends_with("# done"), "the output is incomplete");
    let rows = said.lines().filter(|line| line.starts_with("bare-")).count();
    ensure!(rows == ROWS, "{rows} rows of figures, not {ROWS}");
    for row in said.lines().filter(|line| line.contains(",command-")) {
        let cost = row.split(',').nth(5).and_then(|cost| cost.parse::<u64>().ok());
        let within = cost.is_some_and(|cost| (1..=COMMAND_MAX).contains(&cost));
        ensure!(within, "a command takes more than {COMMAND_MAX} instructions: {row}");
    }
    Ok(())
}

/// Whether the mark is at the start of the drive: 16 pieces of 4 KiB, as written by
/// `bare/src/check.rs` in round 7.
fn marked(drive: &Path) -> Result<()> {
    let bytes = fs::read(drive).with_context(|| drive.display().to_string())?;
    let word =
        |slot: u32, i: u32| (slot.wrapping_mul(0x0100_0193) ^ i).wrapping_mul(0x9e37_79b1) ^ 7;
    let expected = (0..16).flat_map(|slot| (0..1024).map(move |i| word(slot, i)));
    let found = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    ensure!(found.take(16 * 1024).eq(expected), "the drive's image lacks the mark");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_run_is_a_failure() {
        let rows: String =
            (0..ROWS).map(|i| format!("bare-x,io,nvme:S,command-{i},ns,130,,,1,130\n")).collect();
        let good = format!("# ssdyno bare x\n# read back: ok\n{rows}# done\n");
        assert!(judge(&good).is_ok());
        for bad in [
            good.replace("# done", "# gave up"),
            good.replace("# read back: ok\n", ""),
            good.replacen("bare-x", "x", 1),
            good.replacen(",130,", ",131,", 1),
            good.replacen(",130,", ",0,", 1),
            format!("# failed: no NVMe controller\n{good}"),
        ] {
            assert!(judge(&bad).is_err(), "{bad}");
        }
    }
}
