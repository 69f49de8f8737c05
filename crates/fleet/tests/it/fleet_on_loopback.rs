//! A trial in a temporary directory, and the programs in it.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use fleet::central::Central;
use fleet::config::HubConfig;
use fleet::key::{AgentKey, Enrolment};
use fleet::{members, servers};
use record::Document;
use tempfile::TempDir;

/// A trial that ends with the test.
pub struct Loopback {
    place: TempDir,
    agents: Vec<Child>,
    /// What starts the program: nothing, or a command with its words.
    starter: &'static [&'static str],
}

/// Starts a program as a script does in its background: it ignores the interrupt.
pub const IN_BACKGROUND: &[&str] = &["sh", "-c", "trap '' INT; exec \"$@\"", "sh"];

/// Starts a program as a user without rights.
pub const AS_NOBODY: &[&str] = &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/// The program under test.
fn program() -> &'static str {
    env!("CARGO_BIN_EXE_ssdyno-fleet")
}

/// The command beside it.
pub fn command() -> PathBuf {
    Path::new(program()).with_file_name("ssdyno")
}

/// Why there can be no trial here.
fn obstacle() -> Option<String> {
    let command = command();
    servers::missing()
        .or_else(|| (!command.is_file()).then(|| format!("no {}: cargo build", command.display())))
}

/// Why nothing can be started that way.
fn obstacle_of(starter: &[&str]) -> Option<String> {
    let (first, words) = starter.split_first()?;
    let output = Command::new(first).args(words).args([program(), "--version"]).output();
    let is_good = output.is_ok_and(|output| output.status.success());
    (!is_good).then(|| format!("{first} cannot start {}", program()))
}

impl Loopback {
    /// Starts a trial, or says why the test is skipped.
    pub fn up() -> Option<Loopback> {
        Loopback::up_by(&[])
    }

    /// Starts a trial by another command.
    pub fn up_by(starter: &'static [&'static str]) -> Option<Loopback> {
        if let Some(why) = obstacle().or_else(|| obstacle_of(starter)) {
            println!("skipped: {why}");
            return None;
        }
        let place = tempfile::tempdir().expect("a directory");
        // Servers and trials run as other users than root.
        let mode = if starter == AS_NOBODY { 0o777 } else { 0o711 };
        std::fs::set_permissions(place.path(), Permissions::from_mode(mode)).expect("a mode");
        let trial = Loopback { place, agents: Vec::new(), starter };
        let output = trial.fleet(&["up", "--directory", &trial.word("trial")]);
        assert!(output.status.success(), "{output:?}");
        Some(trial)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub fn word(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// How the hub's programs reach it.
    pub fn hub(&self) -> HubConfig {
        HubConfig::read(&self.path("trial/hub.toml")).expect("the hub's file")
    }

    pub fn fleet(&self, words: &[&str]) -> Output {
        let mut all = self.starter.iter().copied().chain([program()]);
        let mut command = Command::new(all.next().expect("a program"));
        command.args(all).args(words).stdin(Stdio::null()).output().expect("started")
    }

    /// The output of a question to the hub.
    pub fn ask(&self, words: &[&str]) -> String {
        let hub = self.word("trial/hub.toml");
        let output = self.fleet(&[&["ask", "--hub", &hub], words].concat());
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Enrols an agent and starts it, with further words.
    pub fn start_agent(&mut self, name: &str, words: &[&str]) {
        let store = self.word(&format!("{name}.sqlite"));
        let own = ["--store", &store, "--host", name];
        let key = self.fleet(&[&["key"], &own[..]].concat());
        let line = String::from_utf8(key.stdout).expect("text");
        let hub = self.word("trial/hub.toml");
        let enrolled = self.fleet(&[&["enrol", "--hub", &hub][..], &[line.trim()]].concat());
        assert!(enrolled.status.success(), "{enrolled:?}");
        let file = self.path(&format!("{name}.toml"));
        std::fs::write(&file, enrolled.stdout).expect("written");
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("a mode");
        let file = file.display().to_string();
        let own = [&own[..], &["--hub", &file, "--slots", "1"]].concat();
        self.agents.push(self.agent_process(&own, words));
    }

    /// A key of the test's, enrolled for a machine, and how its agent reaches the hub.
    pub async fn enrol(&self, secret: u8, machine: &str) -> (AgentKey, HubConfig) {
        let key = AgentKey::from_secret(&[secret; 32]);
        let enrolment =
            Enrolment { key: key.public(), machine: machine.into(), host: "lab".into() };
        let config = members::enrol(&self.hub(), &enrolment).await.expect("enrolled");
        (key, config)
    }

    fn agent_process(&self, own: &[&str], words: &[&str]) -> Child {
        let mut agent = Command::new(program());
        agent.arg("agent").args(own).args(words).arg("--command").arg(command());
        let log = std::fs::File::create(self.path("agent.log")).expect("a log");
        agent.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
        agent.spawn().expect("started")
    }

    /// Kills the agent that was started last.
    pub fn kill_agent(&mut self) {
        let mut agent = self.agents.pop().expect("an agent");
        agent.kill().expect("killed");
        agent.wait().expect("ended");
    }

    /// Runs the command, and returns the hashes of the records in a directory.
    pub fn hashes_of(&self, words: &[&str], directory: &Path) -> BTreeSet<Vec<u8>> {
        let output = Command::new(command()).args(words).output().expect("started");
        assert!(output.status.success(), "{output:?}");
        let files = std::fs::read_dir(directory).expect("listed");
        let texts =
            files.map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("read"));
        let hash =
            |text: String| Document::parse(&text).and_then(|d| d.hash()).expect("a record").0;
        texts.map(|text| hash(text).to_vec()).collect()
    }

    pub async fn central(&self) -> Central {
        Central::connect(self.hub().postgres().expect("words")).await.expect("connected")
    }

    /// Waits until a question has an answer with these words.
    pub fn wait_for(&self, words: &[&str], expected: &str) -> String {
        for _ in 0..600 {
            let text = self.ask(words);
            if text.contains(expected) {
                return text;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("no '{expected}' in\n{}", self.ask(words));
    }

    /// Ends the trial.
    pub fn down(&self) -> Output {
        self.fleet(&["down", "--directory", &self.word("trial")])
    }

    /// The command lines of processes that name the trial.
    pub fn processes(&self) -> Vec<String> {
        let trial = self.word("trial");
        let processes = std::fs::read_dir("/proc").expect("listed").flatten();
        let lines = processes
            .filter_map(|process| std::fs::read_to_string(process.path().join("cmdline")).ok());
        lines.filter(|line| line.contains(&trial)).map(|line| line.replace('\0', " ")).collect()
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        for agent in &mut self.agents {
            let _ = agent.kill();
            let _ = agent.wait();
        }
        if self.path("trial").exists() {
            let output = self.down();
            eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// A loop device over a sparse image in the directory of a trial.
#[derive(Debug)]
pub struct LoopDevice {
    pub path: String,
    image: PathBuf,
}

impl LoopDevice {
    pub fn over(trial: &Loopback, bytes: u64) -> Result<LoopDevice, String> {
        let image = trial.path(&format!("image-{bytes}"));
        let file = std::fs::File::create(&image).map_err(|e| e.to_string())?;
        file.set_len(bytes).map_err(|e| e.to_string())?;
        let output = Command::new("losetup").args(["-f", "--show"]).arg(&image).output();
        let output = output.map_err(|e| format!("losetup: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let path = text.trim().to_string();
        if path.is_empty() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
        }
        Ok(LoopDevice { path, image })
    }

    /// Blocks of 512 bytes that the image occupies.
    pub fn written(&self) -> u64 {
        std::fs::metadata(&self.image).expect("the image").blocks()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.path]).status();
    }
}
