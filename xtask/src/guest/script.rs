//! A test in the guest: a shell script whose first comment says what it needs.
//!
//! ```text
//! # drives: usb:64M scratch     kinds of drives (machine.rs), with a size where the usual is wrong
//! # later: usb2                 drives that `host plug` attaches
//! # each: nvme ssd sd           once for each of these, called $drive in it
//! # modules: dm_mod             loaded before it starts
//! # needs: dmsetup              programs of this machine; without them it is skipped
//! # seconds: 60                 it may take
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::run::root;

/// A script and what its head asks for.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Of the file, without its ending.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// Attached when the machine starts.
    pub drives: Vec<String>,
    /// Attached by the script.
    pub later: Vec<String>,
    /// Runs once for each; empty: once.
    pub each: Vec<String>,
    /// To be loaded.
    pub modules: Vec<String>,
    /// Programs.
    pub needs: Vec<String>,
    /// Until it counts as hung.
    pub limit: Duration,
}

/// A script on one drive of its `each`, or on none.
#[derive(Clone, Debug)]
pub struct Case {
    /// The script.
    pub script: Script,
    /// The drive it is about.
    pub drive: Option<String>,
}

impl Script {
    /// Reads the head of a file.
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
            "seconds" => match value.trim().parse() {
                Ok(seconds) => self.limit = Duration::from_secs(seconds),
                Err(_) => bail!("`seconds` takes a number"),
            },
            _ => {}
        }
        Ok(())
    }

    /// What is to be run.
    pub fn cases(&self) -> Vec<Case> {
        let case = |drive| Case { script: self.clone(), drive };
        match self.each.as_slice() {
            [] => vec![case(None)],
            each => each.iter().map(|drive| case(Some(drive.clone()))).collect(),
        }
    }
}

impl Case {
    /// As it is called in what a user reads.
    pub fn name(&self) -> String {
        let drive = self.drive.as_deref().map(bare);
        drive.map_or(self.script.name.clone(), |drive| format!("{}-{drive}", self.script.name))
    }

    /// All that is attached when the machine starts.
    pub fn drives(&self) -> Vec<String> {
        self.drive.iter().chain(&self.script.drives).cloned().collect()
    }
}

/// `usb` of `usb:64M`.
pub fn bare(drive: &str) -> &str {
    drive.split(':').next().unwrap_or(drive)
}

/// Those of `guest/tests`, by name.
pub fn all() -> Result<Vec<Script>> {
    let dir = root().join("guest/tests");
    let entries = fs::read_dir(&dir).with_context(|| dir.display().to_string())?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "sh")).collect();
    paths.sort();
    paths.iter().map(|path| Script::read(path)).collect()
}
