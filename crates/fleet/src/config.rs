//! How to reach the hub: a TOML file with addresses and passwords, mode 600.
//!
//! An agent's file has the address of NATS only. The hub's own also has PostgreSQL: agents never reach
//! it, and it can stay on the loopback of the hub.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The addresses of a hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubConfig {
    /// `nats://HOST:PORT`, or `tls://HOST:PORT`.
    pub nats: String,
    /// User of NATS.
    pub user: String,
    /// The user's password.
    pub password: String,
    /// The words of a connection to PostgreSQL, `host=... port=... user=... password=... dbname=...`;
    /// only for `collect`, `enrol` and `ask`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postgres: Option<String>,
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
        let text = toml::to_string(self).context("a hub's file")?;
        crate::private::write(path, text.as_bytes())
    }

    /// The connection to PostgreSQL; an error without one.
    pub fn postgres(&self) -> Result<&str> {
        self.postgres.as_deref().context(
            "this file has no 'postgres': it is an agent's; try: the file of the hub (--hub hub.toml)",
        )
    }
}
