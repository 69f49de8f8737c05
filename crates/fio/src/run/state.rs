//! How far the writes of a verifying job got, in the format of fio's state files, so that a later job
//! checks no more than was written (`verify_state_save`, `verify_state_load`).
//!
//! A file is a header (version, length, checksum) and the state of one clone, all little-endian:
//! depth, number of writes, number of the clone, generator (unused here), name, and the numbers of
//! the writes that were in flight and of those that failed.

use std::path::{Path, PathBuf};

use super::RunError;
use crate::Job;

/// The version of fio 3.42.
const VERSION: u64 = 7;
/// Size of the header, bytes.
const HEADER: usize = 24;
/// Size of a state before its list, bytes.
const FIXED: usize = 144;
/// Place and size of the name in it.
const NAME: std::ops::Range<usize> = 80..144;
/// An entry of the list that stands for no write.
const NO_WRITE: u64 = u64::MAX;

/// The state of one clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VerifyState {
    /// Number of writes, in all loops.
    writes: u64,
    /// Numbers of the writes that were in flight, from 0.
    in_flight: Vec<u64>,
    /// Numbers of those that failed, ascending.
    pub failed: Vec<u64>,
}

impl VerifyState {
    /// The state after so many writes, none of which failed.
    pub(crate) fn complete(writes: u64) -> VerifyState {
        VerifyState { writes, ..VerifyState::default() }
    }

    /// The number of writes before the first that may not have been carried out.
    pub(super) fn writes_done(&self) -> u64 {
        self.in_flight.iter().copied().min().unwrap_or(u64::MAX).min(self.writes)
    }

    /// Reads the state of a clone with this number in its plan and this queue depth.
    pub(super) fn load(job: &Job, serial: u64, directory: &Path) -> Result<VerifyState, RunError> {
        let path = path(&job.name, serial, directory);
        let refused = |why: String| {
            let text = format!("{}: verify_state_load: {}: {why}", job.origin, path.display());
            RunError::usage(text, "first the job that writes, with verify_state_save=1")
        };
        let bytes = std::fs::read(&path).map_err(|error| refused(error.to_string()))?;
        VerifyState::parse(&bytes, job.queue.depth).map_err(|why| refused(why.into()))
    }

    /// Reads the content of a file. The list has `depth` writes in flight, then those that failed.
    fn parse(bytes: &[u8], depth: u32) -> Result<VerifyState, &'static str> {
        let state = bytes.get(HEADER..).ok_or("is too short")?;
        if word(bytes, 0) != VERSION {
            return Err("has another version than that of fio 3.42");
        }
        if word(bytes, 8) != state.len() as u64 || state.len() < FIXED {
            return Err("has another length than it says");
        }
        if word(bytes, 16) != u64::from(crc32c(state)) {
            return Err("is damaged: its checksum differs");
        }
        let numbers = state[FIXED..].chunks_exact(8).map(|number| word(number, 0));
        let (in_flight, failed): (Vec<_>, Vec<_>) =
            (0u32..).zip(numbers).partition(|(place, _)| *place < depth);
        let [in_flight, failed] = [in_flight, failed].map(|list| {
            let numbers = list.into_iter().map(|(_, number)| number);
            let mut numbers: Vec<_> = numbers.filter(|number| *number != NO_WRITE).collect();
            numbers.sort_unstable();
            numbers
        });
        Ok(VerifyState { writes: word(state, 8), in_flight, failed })
    }

    /// The content of a file of a clone that has nothing in flight.
    pub(crate) fn to_bytes(&self, name: &str, serial: u64, depth: u32) -> Vec<u8> {
        let mut state = vec![0; FIXED];
        let entries = depth + self.failed.len() as u32;
        state[..4].copy_from_slice(&entries.to_le_bytes());
        state[8..16].copy_from_slice(&self.writes.to_le_bytes());
        state[16..24].copy_from_slice(&serial.to_le_bytes());
        let length = name.len().min(NAME.len() - 1);
        state[NAME][..length].copy_from_slice(&name.as_bytes()[..length]);
        let none = (0..depth).map(|_| NO_WRITE);
        none.chain(self.failed.iter().copied()).for_each(|n| state.extend(n.to_le_bytes()));
        let header = [VERSION, state.len() as u64, u64::from(crc32c(&state))];
        let header = header.into_iter().flat_map(u64::to_le_bytes);
        header.chain(state.iter().copied()).collect()
    }
}

/// fio's name of a state file.
pub(crate) fn path(name: &str, serial: u64, directory: &Path) -> PathBuf {
    directory.join(format!("local-{}-{serial}-verify.state", name.replace('/', ".")))
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// CRC-32C (Castagnoli) without the usual inversion of the result, as in fio. Bit by bit: a state is
/// short.
fn crc32c(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_of_fio_is_read() {
        // The header and the numbers of a file that fio 3.42 wrote: 32 writes of the job `a/b`.
        let mut state = vec![0; 152];
        (state[0], state[8]) = (1, 32);
        let generator = [0x5b, 0xcb, 0xa8, 0xa4, 0x9a, 0xaa, 0x2c, 0xeb, 0x30, 0xe2, 0x5e, 0x48];
        state[32..44].copy_from_slice(&generator);
        state[80..83].copy_from_slice(b"a/b");
        state[144..].fill(0xff);
        let mut file = vec![0; 24];
        (file[0], file[8]) = (7, 152);
        file[16..20].copy_from_slice(&[0x8a, 0x11, 0xf2, 0x16]);
        file.extend(state);
        let state = VerifyState::parse(&file, 1).expect("read");
        assert_eq!((state.writes_done(), &state.failed[..]), (32, &[][..]));
        file[30] = 1;
        assert!(VerifyState::parse(&file, 1).is_err());
    }

    #[test]
    fn a_state_is_read_as_written() {
        let state = VerifyState { writes: 77, in_flight: Vec::new(), failed: vec![3, 9] };
        let bytes = state.to_bytes("a job with a name", 2, 16);
        assert_eq!(bytes.len(), HEADER + FIXED + 18 * 8);
        assert_eq!(VerifyState::parse(&bytes, 16), Ok(state));
        assert!(VerifyState::parse(&bytes[..20], 16).is_err());
        assert!(VerifyState::parse(&bytes[..60], 16).is_err());
    }

    #[test]
    fn nothing_after_a_write_in_flight_is_known() {
        let state = VerifyState { writes: 9, in_flight: vec![5, 7], failed: Vec::new() };
        assert_eq!(state.writes_done(), 5);
    }
}
