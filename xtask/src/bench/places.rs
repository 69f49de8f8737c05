//! Targets of the benchmarks: a file on the machine's disk, a loop device over memory, a small file
//! system that can be frozen. All are removed on drop.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::run::{output, program, root};

const MIB: u64 = 1 << 20;

/// Attempts to unmount, 50 ms apart.
const UNMOUNTS: u32 = 40;

/// A directory on the machine's disk, inside the build directory.
pub struct Bench(PathBuf);

impl Bench {
    /// Creates an empty directory.
    pub fn new() -> Result<Bench> {
        let path = root().join("target/bench");
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path)?;
        Ok(Bench(path))
    }

    /// The path of an entry in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Creates a file of `mib` MiB with random content.
    pub fn file(&self, name: &str, mib: u64) -> Result<PathBuf> {
        let path = self.path(name);
        random_file(&path, mib)?;
        Ok(path)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Reads a file once into the page cache.
pub fn warm(path: &Path) -> Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; MIB as usize];
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}

/// A loop device over a file in memory, optionally mounted.
pub struct Loop {
    /// The device node.
    pub device: String,
    image: PathBuf,
    mount: Option<PathBuf>,
}

impl Loop {
    /// Creates a loop device of `mib` MiB with random content. Needs root.
    pub fn new(mib: u64) -> Result<Loop> {
        let image = PathBuf::from(format!("/dev/shm/ssdyno-bench-{}", std::process::id()));
        random_file(&image, mib)?;
        let arguments = ["--find", "--show", &image.display().to_string()];
        let device = output(&mut program("losetup", &arguments));
        match device {
            Ok(device) => Ok(Loop { device: device.trim().to_string(), image, mount: None }),
            Err(error) => {
                let _ = fs::remove_file(&image);
                Err(error)
            }
        }
    }

    /// Formats the device with ext4 and mounts it.
    pub fn mounted(mut self, at: PathBuf) -> Result<(Loop, PathBuf)> {
        output(&mut program("mkfs.ext4", &["-q", "-F", &self.device]))?;
        fs::create_dir_all(&at)?;
        output(&mut program("mount", &[&self.device, &at.display().to_string()]))?;
        self.mount = Some(at.clone());
        Ok((self, at))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if let Some(at) = &self.mount {
            unmount(at);
        }
        let _ = output(&mut program("losetup", &["--detach", &self.device]));
        let _ = fs::remove_file(&self.image);
    }
}

/// Unmounts a directory. The kernel dismantles a ring after its process has ended; until then its
/// files are busy.
pub fn unmount(directory: &Path) {
    let directory = directory.display().to_string();
    for _ in 0..UNMOUNTS {
        match output(&mut program("umount", &[&directory])) {
            Ok(_) => return,
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
    eprintln!("{directory}: still mounted");
}

fn random_file(path: &Path, mib: u64) -> Result<()> {
    let shown = || format!("cannot write {}", path.display());
    let mut random = File::open("/dev/urandom")?.take(mib * MIB);
    let mut file = File::create(path).with_context(shown)?;
    io::copy(&mut random, &mut file).with_context(shown)?;
    file.flush()?;
    file.sync_all().with_context(shown)
}
