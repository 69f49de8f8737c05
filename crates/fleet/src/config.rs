//! How to reach the hub: a TOML file with addresses and passwords, mode 600.
//!
//! An agent's file, which `enrol` prints, has the address of NATS, a user of its own there, and the key
//! with which the hub signs jobs. The hub's own file also has PostgreSQL: agents never reach it, and it
//! can stay on the loopback of the hub.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::digits::{hex, unhex};
use crate::hub_key::HubKey;
use crate::key::Enrolment;

/// The addresses of a hub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubConfig {
    /// `nats://HOST:PORT`, or `tls://HOST:PORT`.
    pub nats: String,
    /// User of NATS.
    pub user: String,
    /// The user's password.
    pub password: String,
    /// An agent's: the public key of the hub, 64 hexadecimal digits. Jobs that it did not sign are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hub_key: Option<String>,
    /// The hub's: 64 random hexadecimal digits, from which its key and the passwords of agents follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The hub's: the words of a connection to PostgreSQL,
    /// `host=... port=... user=... password=... dbname=...`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postgres: Option<String>,
    /// The hub's: the file with the users of NATS, which its configuration includes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nats_users: Option<PathBuf>,
    /// The hub's: the file in which NATS writes its process id, `pid_file` of its configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nats_pid: Option<PathBuf>,
}

impl HubConfig {
    /// Reads the file; it must not be readable for others.
    #[cfg(target_os = "linux")]
    pub fn read(path: &Path) -> Result<HubConfig> {
        let text = crate::private::read(path)?;
        toml::from_str(&text).with_context(|| format!("{}: not a hub's file", path.display()))
    }

    /// Writes the file with mode 600.
    #[cfg(target_os = "linux")]
    pub fn write(&self, path: &Path) -> Result<()> {
        crate::private::write(path, self.text()?.as_bytes())
    }

    /// The text of the file.
    pub fn text(&self) -> Result<String> {
        toml::to_string(self).context("a hub's file")
    }

    /// The connection to PostgreSQL; an error without one.
    pub fn postgres(&self) -> Result<&str> {
        self.postgres.as_deref().context(
            "this file has no 'postgres': it is an agent's; try: the file of the hub (--hub hub.toml)",
        )
    }

    /// The key of the hub; an error in the file of an agent.
    pub fn key(&self) -> Result<HubKey> {
        let digits = self.secret.as_deref().context(
            "this file has no 'secret'; try: the file of the hub, with 64 random hexadecimal digits",
        )?;
        let secret = unhex::<32>(digits).context("'secret' has 64 hexadecimal digits")?;
        Ok(HubKey::from_secret(secret))
    }

    /// The file for an enrolled agent.
    pub fn for_agent(&self, enrolment: &Enrolment) -> Result<HubConfig> {
        let key = self.key()?;
        Ok(HubConfig {
            nats: self.nats.clone(),
            user: enrolment.user(),
            password: key.password(&enrolment.key),
            hub_key: Some(hex(&key.public())),
            ..HubConfig::default()
        })
    }
}
