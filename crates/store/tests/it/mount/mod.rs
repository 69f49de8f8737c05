//! Small mounted file systems, for tests of full ones.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A mounted file system, unmounted on drop.
pub struct Mount {
    pub kind: &'static str,
    dir: TempDir,
    _image: Option<TempDir>,
}

impl Mount {
    /// A tmpfs of 1 MiB and an ext4 of 2 MiB in a file, except those that cannot be mounted.
    pub fn all() -> Vec<Mount> {
        [Mount::tmpfs(), Mount::ext4()].into_iter().flatten().collect()
    }

    /// A tmpfs of 1 MiB.
    pub fn tmpfs() -> Option<Mount> {
        let dir = tempfile::tempdir().expect("a directory");
        mount("tmpfs", &["-t", "tmpfs", "-o", "size=1m", "tmpfs"], dir, None)
    }

    /// An ext4 of 2 MiB in a file. Its blocks of 1 KiB are smaller than a page of memory.
    fn ext4() -> Option<Mount> {
        let outer = tempfile::tempdir().expect("a directory");
        let image = outer.path().join("image");
        File::create(&image).and_then(|file| file.set_len(2 << 20)).expect("made");
        let image = image.to_str().expect("a plain name");
        if !succeeds(Command::new("mkfs.ext4").args(["-q", "-m", "0", "-O", "^has_journal", image]))
        {
            println!("skipped: mkfs.ext4 is missing");
            return None;
        }
        let dir = tempfile::tempdir().expect("a directory");
        mount("ext4", &["-o", "loop", image], dir, Some(outer))
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Fills the remaining space with a file, and returns its path.
    pub fn fill(&self) -> PathBuf {
        let path = self.path().join("filler");
        let mut file = File::options().create(true).append(true).open(&path).expect("opened");
        while file.write_all(&[0; 4096]).is_ok() {}
        // ext4 notices that it is full only when it allocates the last blocks.
        let _ = file.sync_all();
        while file.write_all(&[0]).is_ok() {}
        path
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

fn mount(
    kind: &'static str,
    arguments: &[&str],
    dir: TempDir,
    image: Option<TempDir>,
) -> Option<Mount> {
    if !succeeds(Command::new("mount").args(arguments).arg(dir.path())) {
        println!("skipped: cannot mount {kind}");
        return None;
    }
    // The tests would count this directory as a file.
    let _ = fs::remove_dir(dir.path().join("lost+found"));
    Some(Mount { kind, dir, _image: image })
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
