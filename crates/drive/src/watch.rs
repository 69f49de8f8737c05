//! Counters and temperature of a drive during a measurement.
//!
//! The counters of `/sys/block/NAME/stat` (described in the kernel's Documentation/block/stat.rst)
//! cover all traffic of the device, including that of other users. The files are opened once and
//! reread at offset 0, because they are sampled ten times a second while latencies are measured. A
//! temperature reading costs the drive a command and is made at most once a second.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::node::{Node, SECTOR};
use crate::sensor;
use crate::stack::Stack;

/// Minimum interval between temperature readings. Each is an admin command on NVMe, an SCT command
/// on SATA.
const TEMPERATURE_EVERY: Duration = Duration::from_secs(1);

/// Completed requests of one direction. A device whose statistics are off (`queue/iostats`) counts
/// none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Their number.
    pub count: u64,
    /// Their times from the request of the block layer to its completion, milliseconds.
    pub time_ms: u64,
}

impl Requests {
    /// Requests since an earlier reading.
    pub fn since(self, before: Requests) -> Requests {
        Requests {
            count: self.count.saturating_sub(before.count),
            time_ms: self.time_ms.saturating_sub(before.time_ms),
        }
    }

    fn and(self, other: Requests) -> Requests {
        Requests { count: self.count + other.count, time_ms: self.time_ms + other.time_ms }
    }
}

/// Counters since the device appeared, summed over the watched devices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Bytes read from the device.
    pub read_bytes: u64,
    /// Bytes written to the device.
    pub written_bytes: u64,
    /// Bytes discarded; 0 on kernels before Linux 4.18, which do not count discards.
    pub discarded_bytes: u64,
    /// Milliseconds with at least one request in the device, at the resolution of the kernel's
    /// tick.
    pub busy_ms: u64,
    /// Milliseconds times requests in the device; its growth over one second is 1000 times the mean
    /// queue depth.
    pub weighted_ms: u64,
    /// Requests in the device now.
    pub in_flight: u64,
    /// Reads and writes.
    pub requests: [Requests; 2],
    /// Those of the target's own device, if it is a layer above the watched one.
    pub layer: Option<[Requests; 2]>,
    /// Temperature of the first device with a sensor, degrees Celsius, at most one second old.
    pub temperature_c: Option<f64>,
}

/// Watches the drives of a target.
#[derive(Debug, Default)]
pub struct Watch {
    counters: Vec<File>,
    /// Counters of the target's own device, if it is a layer above one watched device.
    layer: Option<File>,
    /// Device number, if it is one device.
    disk: Option<(u32, u32)>,
    sensor: Option<File>,
    temperature: Option<(Instant, Option<f64>)>,
}

impl Watch {
    /// Watches the disks of a stack, as far as they can be watched, and the device at its top.
    pub(crate) fn on(stack: &Stack) -> Watch {
        let disks = &*stack.disks;
        let top = stack.passed.last().map(Node::disk);
        let layer = top.filter(|top| disks.len() == 1 && !disks.contains(top));
        Watch {
            counters: disks
                .iter()
                .filter_map(|disk| File::open(disk.dir.join("stat")).ok())
                .collect(),
            layer: layer.and_then(|layer| File::open(layer.dir.join("stat")).ok()),
            disk: match disks {
                [disk] => disk.number().map(|number| (number.major, number.minor)),
                _ => None,
            },
            sensor: disks.iter().find_map(sensor::find).and_then(|s| File::open(s.input).ok()),
            temperature: None,
        }
    }

    /// A watch on no devices, for targets without a drive.
    pub fn nothing() -> Watch {
        Watch::default()
    }

    /// The device number, if one device is watched.
    pub fn disk(&self) -> Option<(u32, u32)> {
        self.disk
    }

    /// The current counters; `None` if no device is watched or one of them is gone.
    pub fn sample(&mut self) -> Option<Sample> {
        if self.counters.is_empty() {
            return None;
        }
        let mut sum = Sample::default();
        for file in &self.counters {
            sum = sum.and(read(file)?);
        }
        sum.layer = self.layer.as_ref().and_then(read).map(|sample| sample.requests);
        sum.temperature_c = self.temperature_c();
        Some(sum)
    }

    fn temperature_c(&mut self) -> Option<f64> {
        let file = self.sensor.as_ref()?;
        if let Some((measured_at, value)) = self.temperature
            && measured_at.elapsed() < TEMPERATURE_EVERY
        {
            return value;
        }
        let mut text = [0; 32];
        let length = file.read_at(&mut text, 0).unwrap_or(0);
        let value = text.get(..length).and_then(sensor::celsius);
        self.temperature = Some((Instant::now(), value));
        value
    }
}

impl Sample {
    /// The sum of both, without a layer and a temperature.
    pub(crate) fn and(self, other: Sample) -> Sample {
        Sample {
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
            discarded_bytes: self.discarded_bytes + other.discarded_bytes,
            busy_ms: self.busy_ms + other.busy_ms,
            weighted_ms: self.weighted_ms + other.weighted_ms,
            in_flight: self.in_flight + other.in_flight,
            requests: [0, 1].map(|side| self.requests[side].and(other.requests[side])),
            layer: None,
            temperature_c: None,
        }
    }
}

fn read(file: &File) -> Option<Sample> {
    let mut text = [0; 512];
    let length = file.read_at(&mut text, 0).ok()?;
    parse(text.get(..length)?)
}

/// One stat file: 11 fields, 15 with discards, 17 with flushes.
pub(crate) fn parse(text: &[u8]) -> Option<Sample> {
    let text = std::str::from_utf8(text).ok()?;
    let mut fields = [0u64; 17];
    let mut count = 0;
    for (field, value) in fields.iter_mut().zip(text.split_ascii_whitespace()) {
        *field = value.parse().ok()?;
        count += 1;
    }
    (count >= 11).then(|| Sample {
        read_bytes: fields[2].saturating_mul(SECTOR),
        written_bytes: fields[6].saturating_mul(SECTOR),
        discarded_bytes: fields[13].saturating_mul(SECTOR),
        busy_ms: fields[9],
        weighted_ms: fields[10],
        in_flight: fields[8],
        requests: [0, 4].map(|side| Requests { count: fields[side], time_ms: fields[side + 3] }),
        layer: None,
        temperature_c: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_match_the_kernel_format() {
        let text = b" 41119 8152 5842570 24798 24342 19378 3696360 3230 3 10096 30524 8984 0 789816 2460 3853 35\n";
        let sample = parse(text).expect("17 fields");
        assert_eq!(sample.read_bytes, 5_842_570 * 512);
        assert_eq!(sample.written_bytes, 3_696_360 * 512);
        assert_eq!(sample.discarded_bytes, 789_816 * 512);
        assert_eq!((sample.busy_ms, sample.weighted_ms, sample.in_flight), (10_096, 30_524, 3));
        let requests = [(41_119, 24_798), (24_342, 3230)];
        assert_eq!(sample.requests, requests.map(|(count, time_ms)| Requests { count, time_ms }));
        assert_eq!(parse(b"1 2 3 4 5 6 7 8 9 10 11").map(|s| s.discarded_bytes), Some(0));
        assert_eq!(parse(b"1 2 3"), None);
    }

    #[test]
    fn a_watch_without_devices_has_no_sample() {
        assert_eq!(Watch::nothing().sample(), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
            parse(&bytes);
        }
    }
}
