//! A file system in memory whose server can be slow or stop, on the kernel's FUSE protocol
//! (include/uapi/linux/fuse.h). One directory, regular files, nothing else.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use tempfile::TempDir;

use crate::common::tool;

const ROOT: u64 = 1;
const ENOENT: i32 = 2;
const ENOSYS: i32 = 38;

/// The state of the server, set by the test.
#[derive(Default)]
pub struct Server {
    /// Delay of every write, milliseconds.
    pub write_ms: AtomicU64,
    /// The next request is read and never answered: the kernel does not let go of its thread.
    pub is_stopped: AtomicBool,
    /// The kernel has been greeted.
    is_ready: AtomicBool,
    /// How often something had to be made durable.
    pub syncs: AtomicU64,
    /// Requests read since it was stopped.
    pub unanswered: AtomicU64,
}

pub struct Fuse {
    pub server: Arc<Server>,
    dir: TempDir,
}

impl Fuse {
    pub fn mount() -> Result<Fuse, String> {
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).map_err(|e| e.to_string())?;
        let link = OpenOptions::new().read(true).write(true).open("/dev/fuse");
        let link = link.map_err(|e| format!("/dev/fuse: {e}"))?;
        fcntl_setfd(&link, FdFlags::empty()).map_err(|e| e.to_string())?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", link.as_raw_fd());
        let path = dir.path().to_str().ok_or("UTF-8")?;
        tool("mount", &["-i", "-t", "fuse", "-o", &options, "none", path])?;
        fcntl_setfd(&link, FdFlags::CLOEXEC).map_err(|e| e.to_string())?;
        let server = Arc::new(Server::default());
        let serving = Arc::clone(&server);
        thread::spawn(move || Files::default().serve(&link, &serving));
        while !server.is_ready.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        Ok(Fuse { server, dir })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Waits until the server keeps a request.
    pub fn wait_for_request(&self) {
        while self.server.unanswered.load(Ordering::SeqCst) == 0 {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Fuse {
    /// Aborts the connection, which frees the threads that wait for it.
    fn drop(&mut self) {
        let device = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mount = self.dir.path().to_string_lossy().into_owned();
        let line = device.lines().find(|line| line.split(' ').nth(4) == Some(&mount));
        let minor = line.and_then(|line| line.split(' ').nth(2)?.split_once(':'));
        if let Some((_, minor)) = minor {
            let abort = PathBuf::from(format!("/sys/fs/fuse/connections/{minor}/abort"));
            let _ = tool("mount", &["-t", "fusectl", "none", "/sys/fs/fuse/connections"]);
            let _ = fs::write(abort, "1");
        }
        let _ = tool("umount", &["-l", &mount]);
    }
}

#[derive(Default)]
struct Files {
    /// Content by node; a removed file stays until the end.
    nodes: BTreeMap<u64, Vec<u8>>,
    names: BTreeMap<Vec<u8>, u64>,
}

struct Request<'a> {
    opcode: u32,
    node: u64,
    body: &'a [u8],
}

impl Request<'_> {
    fn u64(&self, start: usize) -> u64 {
        u64::from_le_bytes(self.body[start..start + 8].try_into().expect("8 bytes"))
    }

    fn u32(&self, start: usize) -> u32 {
        u32::from_le_bytes(self.body[start..start + 4].try_into().expect("4 bytes"))
    }

    fn name(&self, start: usize) -> Vec<u8> {
        self.body[start..].split(|byte| *byte == 0).next().unwrap_or_default().to_vec()
    }
}

impl Files {
    fn serve(&mut self, mut link: &File, server: &Server) {
        let mut buffer = vec![0; 1 << 20];
        while let Ok(length) = link.read(&mut buffer) {
            let field = |start: usize| &buffer[start..start + 8];
            let opcode = u32::from_le_bytes(buffer[4..8].try_into().expect("4 bytes"));
            let unique = u64::from_le_bytes(field(8).try_into().expect("8 bytes"));
            let node = u64::from_le_bytes(field(16).try_into().expect("8 bytes"));
            if server.is_stopped.load(Ordering::SeqCst) {
                server.unanswered.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            if opcode == 20 {
                server.syncs.fetch_add(1, Ordering::SeqCst);
            }
            if opcode == 16 {
                thread::sleep(Duration::from_millis(server.write_ms.load(Ordering::SeqCst)));
            }
            // FORGET and BATCH_FORGET have no reply.
            if matches!(opcode, 2 | 42) {
                continue;
            }
            let reply = self.answer(&Request { opcode, node, body: &buffer[40..length] });
            let (error, body) = reply.map_or_else(|error| (-error, Vec::new()), |body| (0, body));
            let mut out = (16 + body.len() as u32).to_le_bytes().to_vec();
            out.extend(error.to_le_bytes());
            out.extend(unique.to_le_bytes());
            out.extend(body);
            let _ = link.write_all(&out);
            server.is_ready.store(true, Ordering::SeqCst);
        }
    }

    fn answer(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        match request.opcode {
            26 => Ok(init()),
            1 => {
                let node = *self.names.get(&request.name(0)).ok_or(ENOENT)?;
                Ok(self.entry(node))
            }
            3 => Ok(self.attributes(request.node)),
            4 => {
                if request.u32(0) & 8 != 0 {
                    let bytes = request.u64(16) as usize;
                    self.content(request.node)?.resize(bytes, 0);
                }
                Ok(self.attributes(request.node))
            }
            10 => self.names.remove(&request.name(0)).map(|_| Vec::new()).ok_or(ENOENT),
            12 | 45 => {
                let start = if request.opcode == 12 { 8 } else { 16 };
                let old = request.name(start);
                let new = request.name(start + old.len() + 1);
                let node = self.names.remove(&old).ok_or(ENOENT)?;
                self.names.insert(new, node);
                Ok(Vec::new())
            }
            // OPEN, OPENDIR
            14 | 27 => Ok(vec![0; 16]),
            15 => {
                let content = self.content(request.node)?;
                let (start, length) = (request.u64(8) as usize, request.u32(16) as usize);
                let start = start.min(content.len());
                Ok(content[start..content.len().min(start + length)].to_vec())
            }
            16 => {
                let (start, length) = (request.u64(8) as usize, request.u32(16) as usize);
                let content = self.content(request.node)?;
                content.resize(content.len().max(start + length), 0);
                content[start..start + length].copy_from_slice(&request.body[40..40 + length]);
                Ok([length as u32, 0].into_iter().flat_map(u32::to_le_bytes).collect())
            }
            17 => Ok(statistics()),
            35 => {
                let node = ROOT + 1 + self.nodes.len() as u64;
                self.nodes.insert(node, Vec::new());
                self.names.insert(request.name(16), node);
                Ok([self.entry(node), vec![0; 16]].concat())
            }
            // RELEASE, FSYNC, FLUSH, READDIR, RELEASEDIR, FSYNCDIR
            18 | 20 | 25 | 28 | 29 | 30 => Ok(Vec::new()),
            _ => Err(ENOSYS),
        }
    }

    fn content(&mut self, node: u64) -> Result<&mut Vec<u8>, i32> {
        self.nodes.get_mut(&node).ok_or(ENOENT)
    }

    fn attributes(&self, node: u64) -> Vec<u8> {
        [vec![0; 16], self.attribute(node)].concat()
    }

    fn entry(&self, node: u64) -> Vec<u8> {
        [node.to_le_bytes().to_vec(), vec![0; 32], self.attribute(node)].concat()
    }

    fn attribute(&self, node: u64) -> Vec<u8> {
        let bytes = self.nodes.get(&node).map_or(0, Vec::len) as u64;
        let mode: u32 = if node == ROOT { 0o40_700 } else { 0o100_600 };
        let wide = [node, bytes, bytes.div_ceil(512), 0, 0, 0].map(u64::to_le_bytes).concat();
        let narrow = [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0].map(u32::to_le_bytes).concat();
        [wide, narrow].concat()
    }
}

fn init() -> Vec<u8> {
    // Version 7.31, no flags, writes of at most 128 KiB.
    let mut out = [7, 31, 0, 0, 0, 128 << 10, 1].map(u32::to_le_bytes).concat();
    out.resize(64, 0);
    out
}

fn statistics() -> Vec<u8> {
    let free: u64 = 1 << 20;
    let wide = [free; 5].map(u64::to_le_bytes).concat();
    let narrow = [4096, 255, 4096, 0].map(u32::to_le_bytes).concat();
    [wide, narrow, vec![0; 24]].concat()
}
