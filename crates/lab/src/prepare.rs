//! Preparations: runs that bring a drive into a state.

use std::path::Path;

use methods::{PREPARE, Prepare};
use record::State;
use rig::Erase;
use script::Options;

use crate::request::TargetRequest;
use crate::work::Work;

/// Size of the scratch file for trimming a directory, bytes. It stays empty.
const SCRATCH_BYTES: u64 = 1 << 20;

impl TargetRequest {
    /// The target for a preparation. In a directory, only the free space is trimmed.
    #[must_use]
    pub fn to_prepare(self) -> TargetRequest {
        if Path::new(&self.spec).is_dir() {
            TargetRequest { size: Some(SCRATCH_BYTES), ..self }
        } else {
            self
        }
    }
}

impl<'a> Work<'a> {
    /// Brings the drive into a state, after erasing it with the given method.
    pub fn prepare(to: State, by: Erase, options: &'a Options) -> Work<'a> {
        let prepare = Prepare { to, by };
        Work::new(&PREPARE, move |session| Ok(prepare.run(session, options)?))
    }
}
