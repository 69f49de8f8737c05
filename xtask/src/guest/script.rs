//! A test in the guest: a shell script whose first comment states its requirements.
//!
//! ```text
//! # drives: usb:64M scratch     kinds of drives (machine.rs), with a size if not the default
//! # later: usb2                 drives that `host plug` attaches
//! # each: nvme ssd sd           once for each of these, called $drive in it
//! # modules: dm_mod             loaded before it starts
//! # iommu: on                    the machine has an IOMMU
//! # cores: 2                     separate cores for its processor and its drives
//! # aio: io_uring                how QEMU accesses images, if not with threads
//! # needs: dmsetup              programs of this machine; skipped without them
//! # seconds: 60                 limit of processor time
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::run::root;

/// A script with the requirements from its head.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// File name without its extension.
    pub name: String,
    /// Path of the script.
    pub path: PathBuf,
    /// Drives attached when the machine starts.
    pub drives: Vec<String>,
    /// Drives attached by the script.
    pub later: Vec<String>,
    /// The script runs once on each of these drives; empty: it runs once.
    pub each: Vec<String>,
    /// Kernel modules to load.
    pub modules: Vec<String>,
    /// Required programs.
    pub needs: Vec<String>,
    /// Whether the machine has an IOMMU.
    pub iommu: bool,
    /// Whether the guest's processor has a dedicated core.
    pub two_cores: bool,
    /// How QEMU accesses images, if not with threads. `io_uring` is faster, but containers may
    /// forbid it.
    pub aio: Option<String>,
    /// Limit of processor time.
    pub limit: Duration,
}

/// A script with one drive of its `each`, or without one.
#[derive(Clone, Debug)]
pub struct Case {
    /// The script.
    pub script: Script,
    /// The tested drive.
    pub drive: Option<String>,
}

impl Script {
    /// Reads the script's head.
    pub fn read(path: &Path) -> Result<Script> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let limit = Duration::from_secs(120);
        let mut script = Script { name, path: path.to_path_buf(), limit, ..Script::default() };
        for line in text.lines().take_while(|line| line.starts_with('#')) {
            script.take(line).with_context(|| path.display().to_string())?;
        }
        Ok(script)
    }

    fn take(&mut self, line: &str) -> Result<()> {
        let Some((key, value)) = line.trim_start_matches('#').split_once(':') else {
            return Ok(());
        };
        let words = || value.split_whitespace().map(str::to_string).collect();
        match key.trim() {
            "drives" => self.drives = words(),
            "later" => self.later = words(),
            "each" => self.each = words(),
            "modules" => self.modules = words(),
            "needs" => self.needs = words(),
            "iommu" => self.iommu = value.trim() == "on",
            "aio" => self.aio = Some(value.trim().into()),
            "cores" => self.two_cores = value.trim() == "2",
            "seconds" => match value.trim().parse() {
                Ok(seconds) => self.limit = Duration::from_secs(seconds),
                Err(_) => bail!("`seconds` takes a number"),
            },
            _ => {}
        }
        Ok(())
    }

    /// The cases of the script.
    pub fn cases(&self) -> Vec<Case> {
        let case = |drive| Case { script: self.clone(), drive };
        match self.each.as_slice() {
            [] => vec![case(None)],
            each => each.iter().map(|drive| case(Some(drive.clone()))).collect(),
        }
    }
}

impl Case {
    /// The case's name for display.
    pub fn name(&self) -> String {
        let drive = self.drive.as_deref().map(bare);
        drive.map_or(self.script.name.clone(), |drive| format!("{}-{drive}", self.script.name))
    }

    /// All drives attached when the machine starts.
    pub fn drives(&self) -> Vec<String> {
        self.drive.iter().chain(&self.script.drives).cloned().collect()
    }
}

/// The name without the size: `usb` for `usb:64M`.
pub fn bare(drive: &str) -> &str {
    drive.split(':').next().unwrap_or(drive)
}

/// The scripts of `guest/tests`, sorted by name.
pub fn all() -> Result<Vec<Script>> {
    let dir = root().join("guest/tests");
    let entries = fs::read_dir(&dir).with_context(|| dir.display().to_string())?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "sh")).collect();
    paths.sort();
    paths.iter().map(|path| Script::read(path)).collect()
}
