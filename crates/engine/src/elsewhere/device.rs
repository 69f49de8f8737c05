//! The devices of systems other than Linux: none. What remains is what the sampler knows of a
//! device, which on a virtual drive it never has.

/// Completed requests of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requests {
    /// Their number.
    pub count: u64,
    /// Their times, milliseconds.
    pub time_ms: u64,
}

impl Requests {
    /// Requests since an earlier reading.
    pub(crate) fn since(self, before: Requests) -> Requests {
        Requests { count: self.count - before.count, time_ms: self.time_ms - before.time_ms }
    }
}

/// Counters of a device.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// Bytes read from the device.
    pub read_bytes: u64,
    /// Bytes written to the device.
    pub written_bytes: u64,
    /// Bytes discarded.
    pub discarded_bytes: u64,
    /// Milliseconds with at least one request in the device.
    pub busy_ms: u64,
    /// Milliseconds times requests in the device.
    pub weighted_ms: u64,
    /// Requests in the device now.
    pub in_flight: u64,
    /// Reads and writes.
    pub requests: [Requests; 2],
    /// Those of a layer above it.
    pub layer: Option<[Requests; 2]>,
    /// Temperature, degrees Celsius.
    pub temperature_c: Option<f64>,
}

/// A device that can be watched.
pub(crate) trait Device {
    /// Its counters and temperature.
    fn watch(&self) -> Option<Sample>;

    /// Whether the kernel counts its reads for this process.
    fn is_read_by_kernel(&self) -> bool;
}

/// The processor quota of this process: none is known.
pub(crate) struct CpuQuota;

impl CpuQuota {
    /// The quota of this process.
    pub(crate) fn of_this_process() -> &'static CpuQuota {
        &CpuQuota
    }

    /// Counters of the time for which it throttled this process, nanoseconds.
    pub(crate) fn throttled_ns(&self) -> Vec<u64> {
        Vec::new()
    }

    /// The time for which it throttled this process since these counters, nanoseconds.
    pub(crate) fn since(&self, _before: &[u64]) -> u64 {
        0
    }
}
