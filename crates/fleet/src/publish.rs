//! The central store as a Parquet file, for data frames: written by the command `ssdyno`.
//!
//! The records go into an SQLite store beside the file, which keeps them, so that each is imported once;
//! from there the command exports them all. The file is replaced as a whole.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::ask;
use crate::config::HubConfig;

/// Age at which a collector has the file written again.
const NIGHT: Duration = Duration::from_secs(24 * 60 * 60);

/// How often its age is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(10 * 60);

/// Writes the file.
pub async fn write(hub: &HubConfig, command: &Path, file: &Path) -> Result<()> {
    let store =
        format!("--store={}", std::path::absolute(file)?.with_extension("sqlite").display());
    let problem = || format!("cannot start {}", command.display());
    let mut import = Command::new(command);
    import.args(["import", "-", &store]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut import = import.spawn().with_context(problem)?;
    let mut lines = BufWriter::new(import.stdin.take().context("its input")?);
    let sending = ask::export(hub, None, &mut |line| writeln!(lines, "{line}")).await;
    // Its end is the end of the records.
    drop(lines);
    let status = import.wait().with_context(problem)?;
    sending?;
    ensure!(status.success(), "{} import failed", command.display());
    let new = file.with_extension("new");
    let output = File::create(&new).with_context(|| format!("cannot write {}", new.display()))?;
    let mut export = Command::new(command);
    export.args(["export", "--format", "parquet", &store]).stdin(Stdio::null());
    let status = export.stdout(output.try_clone()?).status().with_context(problem)?;
    ensure!(status.success(), "{} export failed", command.display());
    output.sync_all()?;
    fs::rename(&new, file).with_context(|| format!("cannot write {}", file.display()))
}

/// Has the file written once a day, by a process of its own: the collector does not wait for it.
pub async fn write_nightly(hub: PathBuf, file: PathBuf) {
    loop {
        let age = fs::metadata(&file).and_then(|meta| meta.modified()).ok();
        let age = age.and_then(|time| time.elapsed().ok());
        if age.is_none_or(|age| age >= NIGHT) {
            let status = write_now(&hub, &file).await;
            if !status.is_ok_and(|status| status.success()) {
                eprintln!("ssdyno-fleet: {} is not written", file.display());
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn write_now(hub: &Path, file: &Path) -> std::io::Result<std::process::ExitStatus> {
    let program = std::env::current_exe()?;
    let mut command = tokio::process::Command::new(program);
    command.arg("parquet").arg("--hub").arg(hub).arg(file).status().await
}
