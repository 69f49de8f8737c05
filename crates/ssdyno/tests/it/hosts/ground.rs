//! Where the cases run: a directory on the disk, and a file system on a loop device above it.
//!
//! Whatever is set is undone by a shell of its own session that waits for the end of its input: also
//! if this process is killed. Busy processes and neighbours end by themselves after a minute.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::{Place, tool};

/// The name of the control groups.
pub const GROUP: &str = "ssdyno-hosts";

/// Bytes of the file system on the loop device.
const LOOP_BYTES: u64 = 1 << 30;

/// A setting of the machine that is undone on drop, or when this process ends.
pub struct Setting {
    guardian: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Setting {
    /// Carries out the first commands; the second undo them. Both know `$processor`, the processor of
    /// the run, `$ssdyno` and `$store`. An error says why it could not be set.
    pub fn new(place: &Place, (set, undo): &(String, String)) -> Result<Setting, String> {
        let script = format!(
            "trap '' INT TERM HUP; undo() {{ {undo} :; }}; trap undo EXIT; {set} echo ready; read end"
        );
        let mut guardian = Command::new("setsid")
            .args(["sh", "-c", &script])
            .env("processor", processor())
            .env("ssdyno", env!("CARGO_BIN_EXE_ssdyno"))
            .env("store", place.path("neighbour.sqlite"))
            .env("HOME", place.path("home"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("setsid: {e}"))?;
        let mut output = BufReader::new(guardian.stdout.take().ok_or("no output")?);
        let mut line = String::new();
        output.read_line(&mut line).map_err(|e| e.to_string())?;
        let setting = Setting { guardian, output };
        if line == "ready\n" { Ok(setting) } else { Err("it could not be set".into()) }
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        drop(self.guardian.stdin.take());
        // What it undoes says nothing; the end of its output is its own end.
        let _ = self.output.read_line(&mut String::new());
        let _ = self.guardian.wait();
    }
}

/// The last processor: the first one has most interrupts.
pub fn processor() -> String {
    (std::thread::available_parallelism().map_or(1, usize::from) - 1).to_string()
}

/// A place to run in, and what its causes need to know of it.
pub struct Ground {
    pub directory: String,
    /// The directory of a neighbour on the same file system.
    pub other: String,
    /// The device number, as the kernel writes it: `254:0`.
    pub number: String,
    /// The settings of the block layer's queue.
    pub queue: String,
    _mounted: Option<Setting>,
}

impl Ground {
    /// A directory on the disk of the build directory.
    pub fn disk(place: &Place) -> Result<Ground, String> {
        Ground::new(place.work().as_path(), None)
    }

    /// A file system on a loop device over a file in that directory.
    pub fn on_loop(place: &Place) -> Result<Ground, String> {
        let (image, mount) = (place.text("image"), place.text("mount"));
        tool("truncate", &["-s", &LOOP_BYTES.to_string(), &image])?;
        tool("mkfs.ext4", &["-q", "-m", "0", &image])?;
        let set = format!(
            "loop=$(losetup --direct-io=on -f --show {image}) && mkdir {mount} && \
             mount $loop {mount} && mkdir {mount}/work {mount}/other || exit 1; "
        );
        let undo = format!(
            "for i in $(seq 100); do umount {mount} && break; sleep .1; done; losetup -d $loop; \
             rm -rf {image} {mount}; "
        );
        let mounted = Setting::new(place, &(set, undo))?;
        Ground::new(&Path::new(&mount).join("work"), Some(mounted))
    }

    fn new(directory: &Path, mounted: Option<Setting>) -> Result<Ground, String> {
        let directory = directory.display().to_string();
        let number = tool("stat", &["-c", "%Hd:%Ld", &directory])?;
        let other =
            if mounted.is_some() { format!("{directory}/../other") } else { directory.clone() };
        let queue = format!("/sys/dev/block/{number}/queue");
        Ok(Ground { directory, other, number, queue, _mounted: mounted })
    }
}
