//! Makes a random stack on the kernel of this machine, and removes it on drop.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fuzz::Random;
use tempfile::TempDir;

use super::model::{Attachment, Bytes, Model, Node, Table};
use crate::common::kernel::run;

const UNIT: u64 = 64 << 10;
/// Smallest member that is formatted.
const MEMBER_BYTES_MIN: u64 = 512 << 10;

/// Number of the first base that stands in for a hidden one.
const DECOYS: usize = 1000;

/// How to remove a part of the stack.
enum Undo {
    Command(Vec<String>),
    Child(Child),
}

/// A stack with one member in use.
pub struct World {
    pub model: Model,
    nodes: Vec<Node>,
    /// Steps in words, for a failure.
    steps: Vec<String>,
    /// The name by which each loop device was attached to its file.
    attached: Vec<String>,
    /// Whether each has a size limit.
    limited: Vec<bool>,
    /// Whether the kernel does not tell the size of a file that is hidden.
    is_size_hidden: bool,
    undo: Vec<Undo>,
    random: Random,
    dir: TempDir,
}

impl World {
    /// Whether this machine can make stacks.
    pub fn possible() -> Result<(), String> {
        if run("id", &["-u"])? != "0" {
            return Err("needs root".into());
        }
        if !Path::new("/dev/loop-control").exists() {
            return Err("no loop devices".into());
        }
        for tool in ["losetup", "addpart", "mkfs.ext4", "mkswap", "unshare", "mknod"] {
            run("sh", &["-c", &format!("command -v {tool}")]).map_err(|_| format!("no {tool}"))?;
        }
        Ok(())
    }

    /// Makes the stack of a seed.
    pub fn make(seed: u64) -> World {
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let mut world = World {
            model: Model::default(),
            nodes: Vec::new(),
            steps: vec![format!("seed {seed}")],
            attached: Vec::new(),
            limited: Vec::new(),
            is_size_hidden: false,
            undo: Vec::new(),
            random: Random::new(seed),
            dir,
        };
        for base in 0..2 + world.random.below(2) {
            world.add_base(base);
        }
        for _ in 0..2 + world.random.below(4) {
            world.add_layer();
        }
        world.use_a_member();
        world
    }

    /// The nodes that have a name now.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| Path::new(&node.path).exists())
    }

    /// How the stack was made, and where the answer was wrong.
    pub fn story(&self, node: &Node, words: &str) -> String {
        format!("{:?}\nguard: {words}\n{:?}\n{}", node, self.model, self.steps.join("\n"))
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().expect("UTF-8").to_string()
    }

    fn dir(&self, name: &str) -> String {
        let path = self.path(name);
        fs::create_dir_all(&path).expect("a directory");
        path
    }

    fn run(&mut self, words: &[&str]) -> String {
        self.steps.push(words.join(" "));
        let said = run(words[0], &words[1..]);
        said.unwrap_or_else(|why| panic!("{why}\n{}", self.steps.join("\n")))
    }

    fn undo(&mut self, words: &[&str]) {
        self.undo.push(Undo::Command(words.iter().map(|word| word.to_string()).collect()));
    }

    fn mount(&mut self, words: &[&str], point: &str) {
        self.run(&[&["mount"], words, &[point]].concat());
        self.undo(&["umount", point]);
    }

    /// Adds a base file at a place of a random kind, with one or two names.
    fn add_base(&mut self, base: usize) {
        // Every base has a size of its own, so that files without a name are not confused.
        let bytes = (48 + 5 * base as u64 + 20 * self.random.below(3) as u64) * UNIT;
        let name = ["a", "a (deleted)", "a ", "a\n", "é"][self.random.below(5)];
        let at = self.dir(&format!("base{base}"));
        let (first, others) = match self.random.below(5) {
            0 => self.overlay(&at, name, false),
            1 => self.overlay(&at, name, true),
            2 => self.overmounted(&at, name),
            3 => {
                let (dir, view) = (self.dir(&format!("base{base}/dir")), format!("{at}/view"));
                fs::create_dir_all(&view).expect("a directory");
                self.mount(&["--bind", &dir], &view);
                (format!("{dir}/{name}"), vec![format!("{view}/{name}")])
            }
            _ => (format!("{at}/{name}"), Vec::new()),
        };
        fs::File::create(&first).and_then(|file| file.set_len(bytes)).expect("a file");
        self.steps.push(format!("{first:?} has {bytes} bytes; also {others:?}"));
        let place = Bytes { base, start: 0, length: bytes };
        let mut names = [vec![first.clone()], others].concat();
        if self.random.below(2) == 0 {
            let link = format!("{first}.link");
            fs::hard_link(&first, &link).expect("a link");
            names.push(link);
        }
        for path in names {
            self.nodes.push(file(path, place));
        }
    }

    /// An overlay; its upper layer is elsewhere or on the same file system.
    fn overlay(&mut self, at: &str, name: &str, in_memory: bool) -> (String, Vec<String>) {
        let [lower, layers, view] = ["lower", "layers", "view"].map(|dir| format!("{at}/{dir}"));
        for dir in [&lower, &layers, &view] {
            fs::create_dir_all(dir).expect("a directory");
        }
        if in_memory {
            self.mount(&["-t", "tmpfs", "tmpfs"], &layers);
        }
        for dir in ["upper", "work"] {
            fs::create_dir_all(format!("{layers}/{dir}")).expect("a directory");
        }
        let options = format!("lowerdir={lower},upperdir={layers}/upper,workdir={layers}/work");
        self.mount(&["-t", "overlay", "overlay", "-o", &options], &view);
        (format!("{view}/{name}"), vec![format!("{layers}/upper/{name}")])
    }

    /// A directory that will be mounted over, and stays visible elsewhere.
    fn overmounted(&mut self, at: &str, name: &str) -> (String, Vec<String>) {
        let [dir, view] = ["dir", "view"].map(|dir| format!("{at}/{dir}"));
        fs::create_dir_all(&dir).expect("a directory");
        fs::create_dir_all(&view).expect("a directory");
        self.mount(&["--bind", &dir], &view);
        (format!("{dir}/{name}"), vec![format!("{view}/{name}")])
    }

    /// Adds a loop device, or partitions on one.
    fn add_layer(&mut self) {
        let named: Vec<Node> = self.nodes().cloned().collect();
        let node = named[self.random.below(named.len())].clone();
        let is_whole_loop =
            node.path.starts_with("/dev/loop") && node.path.matches('p').count() == 1;
        let has_partitions = named.iter().any(|other| other.path == format!("{}p1", node.path));
        match self.random.below(3) {
            0 if is_whole_loop && !has_partitions => {
                self.add_partitions(&node);
            }
            _ => self.add_loop(&node),
        }
    }

    /// A range of whole units in this many bytes, at least one.
    fn range(&mut self, bytes: u64) -> (u64, u64) {
        let units = bytes / UNIT;
        let start = self.random.below(units as usize / 2) as u64;
        let length = 1 + self.random.below((units - start) as usize) as u64;
        (start * UNIT, length * UNIT)
    }

    fn add_loop(&mut self, node: &Node) {
        let (mut offset, mut length) = (0, node.bytes);
        let mut options = vec!["-P".to_string(), "-f".into(), "--show".into()];
        if self.random.below(2) == 0 && node.bytes >= 4 * UNIT {
            (offset, length) = self.range(node.bytes);
            options.extend(["-o".into(), offset.to_string()]);
            options.extend(["--sizelimit".into(), length.to_string()]);
        }
        // A device is sometimes attached by a node that is removed.
        let is_device = node.is_device();
        let alias = self.path(&format!("node{}", self.model.loops.len()));
        let is_alias = is_device && self.random.below(3) == 0;
        if is_alias {
            use std::os::unix::fs::MetadataExt;
            let number = fs::metadata(&node.path).expect("a device").rdev();
            let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
            self.run(&["mknod", &alias, "b", &major.to_string(), &minor.to_string()]);
        }
        let below = if is_alias { alias.clone() } else { node.path.clone() };
        let words: Vec<&str> = options.iter().map(String::as_str).collect();
        let path = self.run(&[&["losetup"], &words[..], &[below.as_str()]].concat());
        self.undo(&["losetup", "-d", &path]);
        if is_alias {
            fs::remove_file(&alias).expect("removed");
        }
        let place = Bytes { start: node.place.start + offset, length, ..node.place };
        let chain = [&node.chain[..], &[self.model.loops.len()]].concat();
        let to = node.whole.clone();
        self.model.loops.push(Attachment { bytes: place, to, is_obscure: false });
        self.attached.push(node.path.clone());
        self.limited.push(options.len() > 3);
        let (whole, is_obscure) = (path.clone(), node.is_obscure);
        self.nodes.push(Node { path, bytes: length, place, whole, chain, is_obscure });
        if !is_device {
            self.change_name(&node.path);
        }
    }

    /// Whether a loop device with a size limit was attached to a file by this name.
    fn is_limited(&self, name: &str) -> bool {
        let loops = self.attached.iter().zip(&self.limited);
        loops.into_iter().any(|(attached, is_limited)| attached == name && *is_limited)
    }

    /// Marks every node that stands on a file by a name which is gone.
    fn obscure(&mut self, name: &str) {
        let is_attached = |number: &usize| self.attached[*number] == name;
        for node in &mut self.nodes {
            node.is_obscure |= node.chain.iter().any(is_attached);
        }
        for (one, attached) in self.model.loops.iter_mut().zip(&self.attached) {
            one.is_obscure |= attached == name;
        }
    }

    /// Renames, removes or hides a name of an attached file. The kernel no longer tells which file
    /// a removed name of an overlay was.
    fn change_name(&mut self, path: &str) {
        if path.contains("/layers/") {
            // What an overlay shows of a layer changed behind its back is undefined.
            return;
        }
        let at = PathBuf::from(path);
        let is_overlay = path.contains("/view/") && at.with_file_name("../layers").exists();
        match self.random.below(4) {
            0 => {
                let moved = format!("{path}.moved");
                fs::rename(path, &moved).expect("renamed");
                self.steps.push(format!("{path:?} is now {moved:?}"));
                self.rename_nodes(path, &moved);
            }
            1 if is_overlay && (self.is_limited(path) || self.is_size_hidden) => {
                // The kernel tells neither the file nor a size: every file is then refused.
            }
            2 if self.is_limited(path) && self.model.loops.iter().any(|one| one.is_obscure) => {}
            1 if self.nodes().any(|node| node.path == format!("{path}.link")) => {
                fs::remove_file(path).expect("removed");
                self.steps.push(format!("{path:?} is removed"));
                if is_overlay {
                    self.obscure(path);
                }
            }
            2 if at.with_file_name("../view").exists() && path.contains("/dir/") => {
                let dir = at.parent().expect("a directory").to_str().expect("UTF-8").to_string();
                let bytes = fs::metadata(path).expect("there").len();
                self.mount(&["-t", "tmpfs", "tmpfs"], &dir);
                fs::File::create(path).and_then(|file| file.set_len(bytes)).expect("a decoy");
                self.steps.push(format!("{path:?} is a decoy"));
                self.is_size_hidden |= self.is_limited(path);
                self.nodes.retain(|node| Path::new(&node.path).parent() != at.parent());
                let base = DECOYS + self.model.loops.len();
                let place = Bytes { base, start: 0, length: bytes };
                self.nodes.push(file(path.to_string(), place));
            }
            _ => {}
        }
    }

    /// Renames a file in every place where it is visible.
    fn rename_nodes(&mut self, from: &str, to: &str) {
        let [old, new] = [from, to].map(|path| Path::new(path).file_name().expect("a name"));
        let base = self.nodes.iter().find(|node| node.path == from).map(|node| node.place.base);
        let is_file = |node: &&mut Node| !node.is_device();
        for node in self.nodes.iter_mut().filter(is_file) {
            let path = PathBuf::from(&node.path);
            if Some(node.place.base) == base && path.file_name() == Some(old) {
                node.path = path.with_file_name(new).to_str().expect("UTF-8").to_string();
            }
        }
        self.attached.iter_mut().filter(|name| *name == from).for_each(|name| *name = to.into());
    }

    fn add_partitions(&mut self, node: &Node) {
        let half = node.bytes / UNIT / 2 * UNIT;
        if half < UNIT {
            return;
        }
        let part = |start, length| Bytes { start: node.place.start + start, length, ..node.place };
        self.model.tables.push(Table {
            on: *node.chain.last().expect("it is attached"),
            partitions: [part(0, half), part(half, half)],
            rest: part(2 * half, node.bytes - 2 * half),
        });
        for (number, start) in [(1, 0), (2, half)] {
            let (number, length) = (number.to_string(), half);
            let sectors = [(start / 512).to_string(), (length / 512).to_string()];
            self.run(&["addpart", &node.path, &number, &sectors[0], &sectors[1]]);
            self.undo(&["delpart", &node.path, &number]);
            let place = part(start, length);
            let path = format!("{}p{number}", node.path);
            self.nodes.push(Node { path, bytes: length, place, ..node.clone() });
        }
    }

    /// Brings a random member into use.
    fn use_a_member(&mut self) {
        let named: Vec<Node> = self.nodes().cloned().collect();
        let is_large = |node: &&Node| node.bytes >= MEMBER_BYTES_MIN;
        let mut members: Vec<&Node> = named.iter().filter(|n| n.is_device()).collect();
        members.extend(named.iter().find(|node| can_be_swap_file(node)));
        members.retain(is_large);
        if members.is_empty() {
            return;
        }
        let member = members[self.random.below(members.len())].clone();
        let point = self.dir("point");
        match self.random.below(4) {
            _ if !member.is_device() => self.swap_to_file(&member),
            0 => self.swap_to(&member.path, member.bytes),
            way => {
                self.run(&["mkfs.ext4", "-q", "-F", "-O", "^has_journal", &member.path]);
                match way {
                    1 => self.mount_elsewhere(&member.path, &point),
                    2 => self.mount_lazily(&member.path, &point),
                    _ => self.mount(&[&member.path], &point),
                }
            }
        }
        self.model.in_use = Some(member);
    }

    /// Allocates a file, all or half of which becomes swap.
    fn swap_to_file(&mut self, member: &Node) {
        let image = fs::OpenOptions::new().write(true).open(&member.path).expect("a file");
        image.write_all_at(&vec![0; member.bytes as usize], 0).expect("allocated");
        image.set_permissions(fs::Permissions::from_mode(0o600)).expect("private");
        let share = 1 + self.random.below(2) as u64;
        self.swap_to(&member.path, member.bytes / share);
    }

    fn swap_to(&mut self, path: &str, bytes: u64) {
        self.run(&["mkswap", path, &(bytes / 1024).to_string()]);
        self.run(&["swapon", "-p", "0", path]);
        self.undo(&["swapoff", path]);
    }

    /// Mounts in another namespace, which lives as long as a process there.
    fn mount_elsewhere(&mut self, device: &str, point: &str) {
        let script = format!("mount {device} {point} && echo ok && read end");
        self.steps.push(format!("unshare -m: {script}"));
        let mut command = Command::new("unshare");
        command.args(["-m", "--propagation", "private", "sh", "-c", &script]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
        let mut said = [0; 3];
        child.stdout.as_mut().expect("piped").read_exact(&mut said).expect("mounted");
        self.undo.push(Undo::Child(child));
    }

    /// Mounts and unmounts lazily, while a process works in the directory.
    fn mount_lazily(&mut self, device: &str, point: &str) {
        let script = format!(
            "mount {device} {point} && cd {point} && umount -l {point} && echo ok && read end"
        );
        self.steps.push(script.clone());
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
        let mut said = [0; 3];
        child.stdout.as_mut().expect("piped").read_exact(&mut said).expect("mounted");
        self.undo.push(Undo::Child(child));
    }
}

/// Whether the kernel swaps to this file: it refuses overlays, and decoys, which are in memory.
fn can_be_swap_file(node: &Node) -> bool {
    let layers = Path::new(&node.path).with_file_name("../layers");
    let is_in_memory = node.path.contains("/layers/") || node.place.base >= DECOYS;
    !node.is_device() && !is_in_memory && !layers.exists()
}

/// All of a file.
fn file(path: String, place: Bytes) -> Node {
    let whole = format!("file {}", place.base);
    Node { path, bytes: place.length, place, whole, chain: Vec::new(), is_obscure: false }
}

impl Drop for World {
    fn drop(&mut self) {
        while let Some(undo) = self.undo.pop() {
            match undo {
                Undo::Command(words) => {
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    // The kernel releases a mount or a device shortly after its last user.
                    for _ in 0..100 {
                        if run(words[0], &words[1..]).is_ok() {
                            break;
                        }
                        std::thread::sleep(std::time::Duration::from_millis(20));
                    }
                }
                Undo::Child(mut child) => {
                    let _ = child.stdin.take().map(|mut input| input.write_all(b"\n"));
                    let _ = child.wait();
                }
            }
        }
    }
}
