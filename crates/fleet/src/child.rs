//! The command `ssdyno` as a child: its guard, its journals and its store stay its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};

/// Lines of the command's messages that are kept, the last ones.
const MESSAGES: usize = 5;

/// What a command said, and how it ended.
#[derive(Debug, Default)]
pub struct ChildOutput {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The last line of its output.
    pub last_line: String,
    /// Its last messages, on one line.
    pub messages: String,
}

impl ChildOutput {
    /// Whether it ran to its end; a failed check is a result, too.
    pub fn is_success(&self) -> bool {
        matches!(self.code, Some(0 | 1))
    }
}

/// Runs the command with these words and passes on each line of its output. If the caller gives up
/// waiting, the command is interrupted: it ends cleanly and keeps what it measured.
pub async fn run(
    program: &Path,
    words: &[String],
    each: &mut dyn FnMut(&str),
) -> Result<ChildOutput> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn();
    let child = child.with_context(|| format!("cannot start {}", program.display()))?;
    let mut running = Running(child);
    let (Some(output), Some(messages)) = (running.0.stdout.take(), running.0.stderr.take()) else {
        anyhow::bail!("the output of {} cannot be read", program.display());
    };
    let mut last_line = String::new();
    let mut tail: Vec<String> = Vec::new();
    let mut keep_last = |line: &str| {
        each(line);
        last_line = line.to_string();
    };
    let mut keep_tail = |line: &str| {
        tail.push(line.to_string());
        if tail.len() > MESSAGES {
            tail.remove(0);
        }
    };
    tokio::join!(read_lines(output, &mut keep_last), read_lines(messages, &mut keep_tail));
    let status = running.0.wait().await?;
    let messages = emit::one_line(&tail.join("\n"));
    Ok(ChildOutput { code: status.code(), last_line, messages })
}

async fn read_lines(input: impl AsyncRead + Unpin, each: &mut dyn FnMut(&str)) {
    let mut lines = BufReader::new(input).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        each(&line);
    }
}

/// A child that is interrupted when nobody waits for it any more.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let pid = self.0.id().and_then(|id| Pid::from_raw(id as i32));
        if let Some(pid) = pid {
            // It may have ended.
            let _ = kill_process(pid, Signal::INT);
        }
    }
}

/// The command beside this program, or else the one in the search path.
pub fn command() -> PathBuf {
    let name = PathBuf::from("ssdyno");
    let this_program = std::env::current_exe().ok();
    let sibling = this_program.and_then(|program| Some(program.parent()?.join(&name)));
    sibling.filter(|path| path.is_file()).unwrap_or(name)
}
