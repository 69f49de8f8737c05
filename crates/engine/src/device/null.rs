//! The null device: operations complete without being carried out, so a run measures the
//! instrument.

use std::io;

use record::Finding;
use rig::BackendKind;
use workload::{Caching, Region};

use super::{Able, Device, DeviceError, IoAsk, UseBackend, arena};
use crate::backend::Null;
use crate::clock::Clock;

pub(crate) struct NullDevice;

impl NullDevice {
    pub(super) fn io<U: UseBackend>(
        &self,
        ask: &IoAsk<'_>,
        placed: io::Result<()>,
        user: U,
    ) -> U::Out {
        let arena = placed.and_then(|()| arena(ask, ask.workload.depth));
        user.with(arena.map(|arena| Null::new(ask.clock, arena)))
    }
}

impl Device for NullDevice {
    fn best_backend(&self, _clock: Clock) -> (BackendKind, Option<Finding>) {
        (BackendKind::Null, None)
    }

    fn backend(&self, _requested: BackendKind) -> BackendKind {
        BackendKind::Null
    }

    fn bypasses_cache(&self, _caching: Caching) -> bool {
        false
    }

    fn read(&self, _offset: u64, _buffer: &mut [u8]) -> Able<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, _region: Region) -> io::Result<()> {
        Ok(())
    }

    fn settle(&self, _everywhere: bool) -> Able<()> {
        Err(DeviceError::Absent("the null target is not a drive".into()))
    }
}
