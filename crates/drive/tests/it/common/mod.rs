//! Kernel files of simulated machines, in a temporary directory.

pub mod kernel;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use drive::{BlockDevice, Machine};
use tempfile::TempDir;

/// A simulated machine.
pub struct Built(TempDir);

impl Built {
    pub fn new() -> Built {
        Built(TempDir::new().expect("a temporary directory"))
    }

    pub fn machine(&self) -> Machine {
        Machine::at(self.0.path())
    }

    pub fn list(&self) -> Vec<BlockDevice> {
        self.machine().list()
    }

    pub fn path(&self, absolute: &str) -> PathBuf {
        self.0.path().join(absolute.trim_start_matches('/'))
    }

    pub fn dir(&self, absolute: &str) -> &Built {
        fs::create_dir_all(self.path(absolute)).expect("directory");
        self
    }

    pub fn file(&self, absolute: &str, content: impl AsRef<[u8]>) -> &Built {
        let path = self.path(absolute);
        fs::create_dir_all(path.parent().expect("absolute")).expect("directory");
        fs::write(path, content).expect("file");
        self
    }

    /// Adds files to one directory: names and texts.
    pub fn files(&self, dir: &str, files: &[(&str, &str)]) -> &Built {
        for (name, text) in files {
            self.file(&format!("{dir}/{name}"), format!("{text}\n"));
        }
        self
    }

    /// Adds a relative link, like all links in sysfs.
    pub fn link(&self, from: &str, to: &str) -> &Built {
        let from_path = self.path(from);
        fs::create_dir_all(from_path.parent().expect("absolute")).expect("directory");
        let up = "../".repeat(from.trim_start_matches('/').split('/').count() - 1);
        symlink(Path::new(&up).join(to.trim_start_matches('/')), from_path).expect("link");
        self
    }

    /// Adds a block device at a path below /sys/devices, with its links and usual files.
    pub fn disk(&self, dir: &str, number: &str, bytes: u64) -> &Built {
        let name = dir.rsplit('/').next().expect("name");
        self.link(&format!("/sys/block/{name}"), dir);
        self.node(dir, number, bytes);
        self.files(
            &format!("{dir}/queue"),
            &[
                ("logical_block_size", "512"),
                ("physical_block_size", "4096"),
                ("rotational", "0"),
                ("write_cache", "write back"),
                ("discard_max_bytes", "2147450880"),
                ("scheduler", "[none] mq-deadline"),
            ],
        )
    }

    pub fn partition(&self, disk: &str, number: u32, dev: &str, start: u64, bytes: u64) -> &Built {
        let name = disk.rsplit('/').next().expect("name");
        let p = if name.ends_with(|c: char| c.is_ascii_digit()) { "p" } else { "" };
        let dir = format!("{disk}/{name}{p}{number}");
        self.node(&dir, dev, bytes);
        let (number, start) = (number.to_string(), (start / 512).to_string());
        self.files(&dir, &[("partition", &number), ("start", &start)])
    }

    fn node(&self, dir: &str, number: &str, bytes: u64) {
        let name = dir.rsplit('/').next().expect("name");
        let sectors = (bytes / 512).to_string();
        let stat = "1 0 8 1 2 0 16 1 0 5 6 3 0 24 1 0 0";
        self.files(dir, &[("dev", number), ("size", &sectors), ("ro", "0"), ("stat", stat)]);
        self.link(&format!("/sys/class/block/{name}"), dir);
        self.link(&format!("/sys/dev/block/{number}"), dir);
        self.file(&format!("/dev/{name}"), []);
    }

    pub fn mounts(&self, lines: &[&str]) -> &Built {
        self.file("/proc/self/mountinfo", lines.join("\n"))
    }
}
