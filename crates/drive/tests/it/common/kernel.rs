//! Loop devices and mounts of the real kernel, removed on drop.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Runs a command; returns its output, or the reason for a failure.
pub fn run(command: &str, arguments: &[&str]) -> Result<String, String> {
    let output =
        Command::new(command).args(arguments).output().map_err(|e| format!("{command}: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// Unwraps a result, or ends the test with the reason for skipping it.
macro_rules! or_skip {
    ($attempt:expr) => {
        match $attempt {
            Ok(value) => value,
            Err(why) => {
                eprintln!("skipped: {why}");
                return;
            }
        }
    };
}
pub(crate) use or_skip;

/// A loop device over a temporary file.
pub struct Loop {
    pub path: String,
    pub image: PathBuf,
    _dir: TempDir,
}

impl Loop {
    pub fn of(bytes: u64) -> Result<Loop, String> {
        Loop::over(bytes, |_| Ok(()))
    }

    /// Creates a loop device. `prepare` writes the image first, so that its partitions are found.
    pub fn over(bytes: u64, prepare: impl Fn(&Path) -> Result<(), String>) -> Result<Loop, String> {
        let dir = TempDir::new().map_err(|e| e.to_string())?;
        let image = dir.path().join("image");
        File::create(&image).and_then(|file| file.set_len(bytes)).map_err(|e| e.to_string())?;
        prepare(&image)?;
        let path = attach(&image)?;
        Ok(Loop { path, image, _dir: dir })
    }

    pub fn with(bytes: u64, mkfs: &[&str]) -> Result<Loop, String> {
        Loop::over(bytes, |image| {
            let image = image.display().to_string();
            run(mkfs[0], &[&mkfs[1..], &[&image]].concat()).map(drop)
        })
    }

    /// A loop device over an image with these partitions (first sector and number of sectors),
    /// which are added one by one because the kernel may lack support for partition tables.
    pub fn partitioned(bytes: u64, partitions: &[(u32, u32)]) -> Result<Loop, String> {
        let device = Loop::over(bytes, |image| write_mbr(image, partitions))?;
        for ((first, sectors), number) in partitions.iter().zip(1..) {
            let node = format!("{}p{number}", device.path);
            if !Path::new(&node).exists() {
                let numbers = [number.to_string(), first.to_string(), sectors.to_string()];
                run("addpart", &[&device.path, &numbers[0], &numbers[1], &numbers[2]])?;
            }
        }
        Ok(device)
    }

    pub fn name(&self) -> &str {
        self.path.trim_start_matches("/dev/")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = run("partx", &["-d", &self.path]);
        let _ = run("losetup", &["-d", &self.path]);
    }
}

/// Creates a loop device over a file or device; the caller removes it.
pub fn attach(file: &Path) -> Result<String, String> {
    run("losetup", &["-P", "-f", "--show", &file.display().to_string()])
}

/// Removes a loop device and waits until it is gone; a process that inspects it keeps it open
/// briefly.
pub fn detach(device: &str) {
    run("losetup", &["-d", device]).expect("detached");
    let attached = format!("/sys/block/{}/loop", device.trim_start_matches("/dev/"));
    let begun = std::time::Instant::now();
    while Path::new(&attached).exists() && begun.elapsed().as_secs() < 10 {
        std::thread::yield_now();
    }
}

/// A mounted file system.
pub struct Mounted {
    pub dir: PathBuf,
    _dir: TempDir,
}

impl Mounted {
    pub fn new(source: &str, options: &str) -> Result<Mounted, String> {
        Mounted::of_kind("auto", source, options)
    }

    pub fn of_kind(kind: &str, source: &str, options: &str) -> Result<Mounted, String> {
        let temporary = TempDir::new().map_err(|e| e.to_string())?;
        let dir = temporary.path().join("mnt");
        std::fs::create_dir(&dir).map_err(|e| e.to_string())?;
        run("mount", &["-t", kind, "-o", options, source, &dir.display().to_string()])?;
        Ok(Mounted { dir, _dir: temporary })
    }

    pub fn text(&self) -> &str {
        self.dir.to_str().expect("plain")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Another test may keep it busy briefly; it is unmounted after that.
        if run("umount", &[self.text()]).is_err() {
            let _ = run("umount", &["-l", self.text()]);
        }
    }
}

/// Writes an MBR with partitions given by first sector and number of sectors.
fn write_mbr(image: &Path, partitions: &[(u32, u32)]) -> Result<(), String> {
    let mut sector = [0u8; 512];
    for (index, (first, sectors)) in partitions.iter().enumerate() {
        let entry = &mut sector[446 + 16 * index..][..16];
        entry[4] = 0x83;
        entry[8..12].copy_from_slice(&first.to_le_bytes());
        entry[12..16].copy_from_slice(&sectors.to_le_bytes());
    }
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    let file = File::options().write(true).open(image);
    file.and_then(|mut file| file.write_all(&sector)).map_err(|e| e.to_string())
}
