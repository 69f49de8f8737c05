//! Writes an archive for the kernel to unpack at boot: cpio in its "new ASCII" format.
//!
//! A header with 8-digit hexadecimal fields, the name and the content, each padded to 4 bytes
//! (Documentation/driver-api/early-userspace/buffer-format.rst of Linux). Not compressed, because
//! an emulated processor would have to unpack it.

use std::collections::BTreeSet;

const DIRECTORY: u32 = 0o040_755;
const FILE: u32 = 0o100_000;

/// An archive under construction.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    known: BTreeSet<String>,
}

impl Archive {
    /// Adds a file at an absolute path, with its directories; the first file of a name is kept.
    pub fn file(&mut self, path: &str, permissions: u32, content: &[u8]) {
        let path = path.trim_start_matches('/');
        if self.has(path) {
            return;
        }
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.directory(parent);
        }
        self.entry(path, FILE | permissions, content);
    }

    /// Adds a directory and its parents.
    pub fn directory(&mut self, path: &str) {
        let path = path.trim_start_matches('/');
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for end in ends.collect::<Vec<_>>() {
            if !self.has(&path[..end]) {
                self.entry(&path[..end], DIRECTORY, &[]);
            }
        }
    }

    /// Whether this path has an entry.
    pub fn has(&self, path: &str) -> bool {
        self.known.contains(path.trim_start_matches('/'))
    }

    /// Completes the archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) {
        let inode = self.known.len() as u32 + 1;
        let links = if mode & DIRECTORY == DIRECTORY { 2 } else { 1 };
        let (size, name_size) = (content.len() as u32, name.len() as u32 + 1);
        // inode, mode, user, group, links, time, size, four device numbers, length of name,
        // checksum
        let fields = [inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend(b"070701");
        fields.iter().for_each(|field| self.bytes.extend(format!("{field:08X}").bytes()));
        self.bytes.extend(name.bytes().chain([0]));
        self.pad();
        self.bytes.extend(content);
        self.pad();
        self.known.insert(name.to_string());
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{find, output, program};

    #[test]
    fn another_reader_unpacks_it() {
        let mut archive = Archive::default();
        archive.file("/bin/deep/tool", 0o755, b"#!/bin/sh\necho hello\n");
        archive.file("/bin/deep/tool", 0o644, b"the first stays");
        archive.directory("/proc");
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("archive");
        std::fs::write(&file, archive.finish()).expect("written");
        if find("cpio").is_none() {
            return println!("skipped: no cpio on this machine");
        }
        let unpack = format!("cd {} && cpio -idu < archive 2>&1", dir.path().display());
        output(&mut program("sh", &["-c", &unpack])).expect("unpacked");
        let said = output(&mut program(dir.path().join("bin/deep/tool"), &[])).expect("started");
        assert_eq!(said, "hello\n");
        assert!(dir.path().join("proc").is_dir());
    }
}
