//! The file of a journal that belongs to another user: what is shown before anything is written
//! from it.

use drive::{Account, Machine, user_name};
use journal::{EarlierJournal, JournalDir};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Recovery;
use crate::error::{ErrorKind, LabError, Result};

/// The file of another user's journal, as it was read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JournalFile {
    pub path: String,
    /// The name of its owner, or the number of one without an account.
    pub owner: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The SHA-256 of its content in hexadecimal digits, as `sha256sum` prints it. Bytes after the
    /// last block are not part of it, and bytes that cannot be read count as zeros.
    pub sha256: String,
}

impl JournalFile {
    /// The file of an open journal. Its blocks are restored from the bytes described here, even if
    /// its owner changes the file meanwhile.
    pub(super) fn of_kept(kept: &EarlierJournal) -> Result<JournalFile> {
        let path = kept.path.display().to_string();
        let uid = kept.uid().map_err(|e| LabError::new(ErrorKind::Io, format!("{path}: {e}")))?;
        let content = kept.content();
        let hash = content.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part));
        let bytes = content.iter().map(|part| part.len() as u64).sum();
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(JournalFile { path, owner: user_name(uid), bytes, sha256 })
    }
}

impl Recovery {
    /// The journals to recover: this user's, or those of the user who was named.
    pub(super) fn place(&self) -> Result<JournalDir> {
        let Some(name) = &self.owner else {
            return Ok(JournalDir::of_user(self.journal.as_deref())?);
        };
        let account = account(name)?;
        JournalDir::of_account(&account, self.journal.as_deref()).ok_or_else(|| {
            let text = format!("user {} has no home directory with journals", account.name);
            LabError::usage(text).advise("the same with --journal DIR")
        })
    }
}

fn account(name: &str) -> Result<Account> {
    Machine::here()
        .account(name)
        .ok_or_else(|| LabError::usage(format!("no user is named '{name}'")))
}
