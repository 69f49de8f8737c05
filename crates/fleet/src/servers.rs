//! NATS and PostgreSQL of Debian's packages on the loopback, in one directory, with generated passwords.
//!
//! NATS' own default is to listen on every address without a password; the configuration written here
//! names the loopback, a free port and a file of users (`members`). PostgreSQL has no socket but the port,
//! and asks everybody for a password. Started by root, both run as the user `postgres`.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use serde::{Deserialize, Serialize};

use crate::config::HubConfig;
use crate::{members, private};

/// Where Debian keeps programs that are not in the search path.
const PLACES: [&str; 2] = ["/usr/sbin", "/sbin"];

/// The file of NATS' users.
const USERS: &str = "users.conf";

/// The state of a listening socket in `/proc/net/tcp`.
const LISTENING: &str = "0A";

const POSTGRES_VERSIONS: &str = "/usr/lib/postgresql";

/// The account of Debian's package, as which root starts both.
const ACCOUNT: &str = "postgres";

/// Maximum size of a message, bytes: a record of `quick` has 35 kB, the server's default of 1 MiB refuses
/// long ones.
const PAYLOAD_MAX: u32 = 8 << 20;

/// Longest wait for a server to end.
const END_MAX: Duration = Duration::from_secs(20);

/// Longest wait for NATS to listen.
const LISTEN_MAX: Duration = Duration::from_secs(20);

/// Pause between two looks at that.
const LISTEN_EVERY: Duration = Duration::from_millis(10);

/// The hub's user at NATS.
const HUB: &str = "hub";

/// Both servers, as their directory describes them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Servers {
    nats_port: u16,
    postgres_port: u16,
    hub_password: String,
    secret: String,
    postgres_password: String,
    #[serde(skip)]
    directory: PathBuf,
}

/// A program that is missing, with its package.
pub fn missing() -> Option<String> {
    let nats = find("nats-server").is_err().then_some("nats-server");
    let postgres = postgres_program("initdb").is_err().then_some("postgresql");
    let packages: Vec<&str> = nats.into_iter().chain(postgres).collect();
    (!packages.is_empty()).then(|| format!("apt-get install {}", packages.join(" ")))
}

/// A program in the search path or in Debian's places.
fn find(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(PLACES.map(PathBuf::from));
    let mut programs = places.map(|place| place.join(name));
    programs.find(|program| program.is_file()).with_context(|| format!("no {name} here"))
}

/// A program of PostgreSQL's latest version.
fn postgres_program(name: &str) -> Result<PathBuf> {
    let versions = fs::read_dir(POSTGRES_VERSIONS).into_iter().flatten().flatten();
    let programs = versions.map(|version| version.path().join("bin").join(name));
    let mut programs: Vec<PathBuf> = programs.filter(|program| program.is_file()).collect();
    programs.sort();
    programs.pop().map_or_else(|| find(name), Ok)
}

/// A port that is free now.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

impl Servers {
    /// Makes a directory with both servers' configuration and an empty database.
    pub fn create(directory: &Path) -> Result<Servers> {
        if let Some(remedy) = missing() {
            bail!("both servers are needed; try: {remedy}");
        }
        let directory = std::path::absolute(directory)?;
        let servers = Servers {
            nats_port: free_port()?,
            postgres_port: free_port()?,
            hub_password: private::password()?,
            secret: crate::digits::hex(&private::random::<32>()?),
            postgres_password: private::password()?,
            directory,
        };
        let account = Account::of_servers()?;
        // The account of the servers must reach its own part, and nothing else.
        let parent = servers.directory.parent().context("the directory has no parent")?;
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        // New: one that somebody else made is his.
        DirBuilder::new()
            .mode(if account.is_some() { 0o711 } else { 0o700 })
            .create(&servers.directory)
            .with_context(|| format!("cannot make {}", servers.directory.display()))?;
        let home = servers.home();
        DirBuilder::new()
            .mode(0o700)
            .create(&home)
            .with_context(|| format!("cannot make {}", home.display()))?;
        private::write(&servers.path("nats.conf"), servers.nats_configuration().as_bytes())?;
        private::write(&servers.path("password"), servers.postgres_password.as_bytes())?;
        let users = servers.users();
        private::write(&users, b"")?;
        if let Some(account) = &account {
            chown(&users, None, Some(account.group))?;
            fs::set_permissions(&users, fs::Permissions::from_mode(0o640))?;
        }
        members::update(&servers.hub(), &[])?;
        if let Some(account) = &account {
            for name in ["", "nats.conf", "password"] {
                chown(servers.path(name), Some(account.user), Some(account.group))?;
            }
        }
        let mut initdb = servers.command(postgres_program("initdb")?);
        initdb.args(["--username=ssdyno", "--auth=scram-sha-256", "--encoding=UTF8"]);
        initdb.args(["--locale=C.UTF-8", "--pwfile"]).arg(servers.path("password"));
        initdb.arg("--pgdata").arg(servers.path("postgres"));
        run(&mut initdb)?;
        let text = toml::to_string(&servers).context("the servers")?;
        private::write(&servers.directory.join("servers.toml"), text.as_bytes())?;
        Ok(servers)
    }

    /// Both servers in a directory that [`Servers::create`] made.
    pub fn open(directory: &Path) -> Result<Servers> {
        let directory = std::path::absolute(directory)?;
        private::ensure_own(&directory, directory.symlink_metadata()?.uid())?;
        let text = private::read(&directory.join("servers.toml"))?;
        let servers: Servers = toml::from_str(&text).context("servers.toml")?;
        Ok(Servers { directory, ..servers })
    }

    fn home(&self) -> PathBuf {
        self.directory.join("servers")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home().join(name)
    }

    fn nats_configuration(&self) -> String {
        let (port, store, pid) = (self.nats_port, self.path("nats"), self.nats_pid());
        // The path of an included file begins at this one's directory.
        format!(
            "listen: \"127.0.0.1:{port}\"\n\
             pid_file: {pid:?}\n\
             max_payload: {PAYLOAD_MAX}\n\
             jetstream {{ store_dir: {store:?} }}\n\
             authorization {{ include '../{USERS}' }}\n"
        )
    }

    /// The file with the users of NATS. It is in the directory of whoever started all, and not in that of the
    /// servers, whose account could put a link there.
    fn users(&self) -> PathBuf {
        self.directory.join(USERS)
    }

    fn nats_pid(&self) -> PathBuf {
        self.path("nats.pid")
    }

    /// How the hub's own programs reach both.
    pub fn hub(&self) -> HubConfig {
        let Servers { postgres_port, postgres_password, .. } = self;
        let words = format!(
            "host=127.0.0.1 port={postgres_port} user=ssdyno password={postgres_password} \
             dbname=postgres"
        );
        HubConfig {
            nats: format!("nats://127.0.0.1:{}", self.nats_port),
            user: HUB.into(),
            password: self.hub_password.clone(),
            hub_key: None,
            secret: Some(self.secret.clone()),
            postgres: Some(words),
            nats_users: Some(self.users()),
            nats_pid: Some(self.nats_pid()),
        }
    }

    /// The ports of NATS and PostgreSQL.
    pub fn ports(&self) -> [u16; 2] {
        [self.nats_port, self.postgres_port]
    }

    /// Starts NATS, and waits until it listens: somebody else who took its port would get the hub's password.
    pub fn start_nats(&self) -> Result<ServerProcess> {
        let mut nats = self.command(find("nats-server")?);
        nats.arg("--config").arg(self.path("nats.conf"));
        let log = self.directory.join("nats.log");
        let process = ServerProcess::start(nats, &log)?;
        let user = server_user()?;
        let begin = Instant::now();
        while listener_of(self.nats_port)? != Some(user) {
            if !process.is_running() || begin.elapsed() > LISTEN_MAX {
                process.end(Signal::TERM)?;
                bail!("NATS does not listen: {}", log.display());
            }
            thread::sleep(LISTEN_EVERY);
        }
        Ok(process)
    }

    /// Starts PostgreSQL, and waits until it answers.
    pub fn start_postgres(&self) -> Result<ServerProcess> {
        let options = format!(
            "-c port={} -c listen_addresses=127.0.0.1 -c unix_socket_directories=",
            self.postgres_port
        );
        let mut pg_ctl = self.command(postgres_program("pg_ctl")?);
        pg_ctl.args(["start", "--wait", "--silent", "--options", &options, "--log"]);
        pg_ctl.arg(self.path("postgres.log")).arg("--pgdata").arg(self.path("postgres"));
        // It inherits no pipe that somebody reads to its end.
        let log = File::create(self.directory.join("pg_ctl.log"))?;
        pg_ctl.stdout(log.try_clone()?).stderr(log).stdin(Stdio::null());
        let status = pg_ctl.status().context("cannot start pg_ctl")?;
        let log = fs::read_to_string(self.directory.join("pg_ctl.log")).unwrap_or_default();
        ensure!(status.success(), "PostgreSQL does not start: {}", emit::one_line(&log));
        let text = fs::read_to_string(self.path("postgres/postmaster.pid"))?;
        let pid = text.lines().next().and_then(|line| line.trim().parse().ok());
        let pid: u32 = pid.context("PostgreSQL tells no process id")?;
        // Its account wrote this file, and could name a process of somebody else to be ended.
        let owner = fs::metadata(format!("/proc/{pid}"))?.uid();
        ensure!(owner == server_user()?, "process {pid} is none of PostgreSQL's");
        ServerProcess::of_pid(pid)
    }

    /// A command that runs as the account of the servers.
    fn command(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.home()).env_clear().stdin(Stdio::null());
        if let Ok(Some(account)) = Account::of_servers() {
            command.uid(account.user).gid(account.group);
        }
        command
    }

    /// Removes the directory with everything in it.
    pub fn remove(self) -> Result<()> {
        let directory = self.directory.display();
        fs::remove_dir_all(&self.directory).with_context(|| format!("cannot remove {directory}"))
    }
}

fn run(command: &mut Command) -> Result<()> {
    let name = Path::new(command.get_program()).file_name().map(OsStr::to_os_string);
    let output = command.output().with_context(|| format!("cannot start {name:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name:?}: {}", emit::one_line(&errors));
    Ok(())
}

/// The user as whom the servers run.
fn server_user() -> Result<u32> {
    let account = Account::of_servers()?;
    Ok(account.map_or_else(|| rustix::process::geteuid().as_raw(), |account| account.user))
}

/// The account for the servers, if root starts them.
struct Account {
    user: u32,
    group: u32,
}

impl Account {
    fn of_servers() -> Result<Option<Account>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let text = fs::read_to_string("/etc/passwd").context("/etc/passwd")?;
        let line = text.lines().find_map(|line| line.strip_prefix(ACCOUNT)?.strip_prefix(':'));
        let mut words = line.into_iter().flat_map(|line| line.split(':').skip(1));
        let (user, group) = (words.next().map(str::parse), words.next().map(str::parse));
        match (user, group) {
            (Some(Ok(user)), Some(Ok(group))) => Ok(Some(Account { user, group })),
            _ => bail!("PostgreSQL does not run as root, and there is no account '{ACCOUNT}'"),
        }
    }
}

/// A process that outlives the one that started it: its id, and its start, which tells it from a later
/// process with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerProcess {
    pid: u32,
    /// Clock ticks since boot.
    start: u64,
}

impl ServerProcess {
    /// Starts a program in a process group of its own, so that no Ctrl-C reaches it.
    pub fn start(mut command: Command, log: &Path) -> Result<ServerProcess> {
        let problem = || format!("cannot write {}", log.display());
        let log_file = File::options().create(true).append(true).open(log).with_context(problem)?;
        log_file.set_permissions(fs::Permissions::from_mode(0o600)).with_context(problem)?;
        command.stdin(Stdio::null()).stdout(log_file.try_clone()?).stderr(log_file);
        let program = command.get_program().display().to_string();
        let child = command.process_group(0).spawn();
        let child = child.with_context(|| format!("cannot start {program}"))?;
        ServerProcess::of_pid(child.id())
    }

    fn of_pid(pid: u32) -> Result<ServerProcess> {
        let start = start_of(pid).with_context(|| format!("process {pid} has ended at once"))?;
        Ok(ServerProcess { pid, start })
    }

    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        start_of(self.pid) == Some(self.start)
    }

    /// Sends it and its children a signal, if it still runs.
    pub fn send(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(self.pid as i32).filter(|_| self.is_running());
        // It may end just now.
        let _ = pid.map(|pid| kill_process_group(pid, signal));
        Ok(())
    }

    /// Sends it and its children a signal, and waits for its end; one that takes longer than
    /// [`END_MAX`], as on a busy machine, is killed. A process that has ended is left alone.
    pub fn end(&self, signal: Signal) -> Result<()> {
        let Some(pid) = Pid::from_raw(self.pid as i32) else { return Ok(()) };
        let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { return Ok(()) };
        // The descriptor is that of the process with this start, or of none that concerns us.
        if !self.is_running() {
            return Ok(());
        }
        // It may end just now.
        let _ = kill_process_group(pid, signal);
        let mut ends = [PollFd::new(&descriptor, PollFlags::IN)];
        let limit = Timespec { tv_sec: END_MAX.as_secs() as i64, tv_nsec: 0 };
        if poll(&mut ends, Some(&limit))? == 1 {
            return Ok(());
        }
        let _ = kill_process_group(pid, Signal::KILL);
        ensure!(poll(&mut ends, Some(&limit))? == 1, "process {} does not end", self.pid);
        Ok(())
    }
}

/// The user who listens on a port of 127.0.0.1 (proc(5), `/proc/net/tcp`); `None` if nobody does.
fn listener_of(port: u16) -> Result<Option<u32>> {
    let text = fs::read_to_string("/proc/net/tcp").context("/proc/net/tcp")?;
    // 127.0.0.1 as the kernel writes it, in the order of this processor's bytes.
    let address = format!("{:08X}:{port:04X}", u32::from_ne_bytes([127, 0, 0, 1]));
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|words| words.len() > 7 && words[1] == address && words[3] == LISTENING);
    Ok(line.and_then(|words| words[7].parse().ok()))
}

/// The start of a process in clock ticks since boot (proc(5), `stat`, field 22).
fn start_of(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, field 2, is in parentheses and may have any sign.
    let (_, after_name) = text.rsplit_once(')')?;
    after_name.split_whitespace().nth(19)?.parse().ok()
}
