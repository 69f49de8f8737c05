//! The users of NATS: the hub, and each enrolled agent with permissions on its own subjects.
//!
//! NATS' configuration includes the file (`authorization { include "users.conf" }`). It is written anew
//! at every change, and the server is told by SIGHUP; whoever is no longer in it is cut off at once.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::central::Central;
use crate::config::HubConfig;
use crate::hub::agent_subjects;
use crate::key::Enrolment;

/// The name of the server's process, as the kernel cuts it.
const SERVER: &str = "nats-server";

/// Enrols a key: PostgreSQL knows it, and NATS its user. Returns the file for its agent.
pub async fn enrol(hub: &HubConfig, enrolment: &Enrolment) -> Result<HubConfig> {
    let central = Central::connect(hub.postgres()?).await?;
    central.make_tables().await?;
    central.enrol(enrolment).await?;
    update(hub, &central.enrolments().await?)?;
    hub.for_agent(enrolment)
}

/// Revokes the keys of a machine, named by its id or its name; it is cut off at once.
pub async fn revoke(hub: &HubConfig, name: &str) -> Result<String> {
    let central = Central::connect(hub.postgres()?).await?;
    let keys = central.revoke(name).await?;
    ensure!(keys > 0, "no key of a machine '{}'; try: ask agents", emit::plain(name));
    update(hub, &central.enrolments().await?)?;
    Ok(format!("{keys} keys revoked; what they signed before stays\n"))
}

/// Writes the users into the file that the hub's configuration names, and tells NATS.
pub fn update(config: &HubConfig, enrolments: &[Enrolment]) -> Result<()> {
    let path = config.nats_users.as_deref().context(
        "the hub's file names no file for the users of NATS; try: nats_users = \"/etc/nats/users.conf\"",
    )?;
    replace(path, &users(config, enrolments)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    config.nats_pid.as_deref().map_or(Ok(()), reload)
}

/// The text of the file.
pub fn users(config: &HubConfig, enrolments: &[Enrolment]) -> Result<String> {
    let key = config.key()?;
    let hub = format!("  {{ user: {:?}, password: {:?} }}\n", config.user, config.password);
    let agents = enrolments.iter().map(|enrolment| {
        let [publish, subscribe] = agent_subjects(&enrolment.machine).map(|subjects| {
            let subjects: Vec<String> = subjects.iter().map(|s| format!("{s:?}")).collect();
            subjects.join(", ")
        });
        format!(
            "  {{ user: \"{}\", password: \"{}\", permissions: {{\n    publish: [{publish}]\n    \
             subscribe: [{subscribe}] }} }}\n",
            enrolment.user(),
            key.password(&enrolment.key)
        )
    });
    Ok(format!("users = [\n{hub}{}]\n", agents.collect::<String>()))
}

/// Replaces a file as a whole; owner and mode stay, because the server may run as another user.
fn replace(path: &Path, text: &str) -> Result<()> {
    let new = path.with_extension("new");
    // What a killed command left.
    let _ = fs::remove_file(&new);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    if let Ok(old) = File::open(path).and_then(|file| file.metadata()) {
        fchown(&file, Some(old.uid()), Some(old.gid()))?;
        file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o640))?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    Ok(fs::rename(&new, path)?)
}

/// Tells the server whose process id is in a file to read its configuration again. One that does not run
/// reads it when it starts.
fn reload(pid_file: &Path) -> Result<()> {
    let text = fs::read_to_string(pid_file).unwrap_or_default();
    let Some(pid) = text.trim().parse().ok().and_then(Pid::from_raw) else { return Ok(()) };
    let name = fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero()));
    if name.unwrap_or_default().trim() != SERVER {
        return Ok(());
    }
    kill_process(pid, Signal::HUP).context("cannot tell NATS about its users")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enrolment(byte: u8) -> Enrolment {
        Enrolment { key: [byte; 32], machine: crate::digits::hex(&[byte; 16]), host: "lab".into() }
    }

    fn config() -> HubConfig {
        let secret = Some("07".repeat(32));
        HubConfig { user: "hub".into(), password: "p\"".into(), secret, ..HubConfig::default() }
    }

    #[test]
    fn each_agent_has_its_own_subjects_and_no_other() {
        let text = users(&config(), &[enrolment(1), enrolment(2)]).expect("text");
        let own = text.split("user: ").nth(2).expect("the first agent");
        assert!(own.contains(&"01".repeat(16)) && !own.contains(&"02".repeat(16)), "{own}");
        assert!(text.contains("password: \"p\\\"\""), "{text}");
    }

    #[test]
    fn a_file_is_replaced_with_its_mode() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("users.conf");
        let config = HubConfig { nats_users: Some(path.clone()), ..config() };
        update(&config, &[]).expect("written");
        let mode = |path: &Path| fs::metadata(path).expect("a file").mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
        update(&config, &[enrolment(1)]).expect("written");
        assert_eq!(mode(&path), 0o640);
        assert!(fs::read_to_string(&path).expect("read").contains(&"01".repeat(16)));
    }
}
