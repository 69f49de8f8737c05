//! The options of `stream`: the camera, and the file system that records it. Their values are
//! checked one by one here, and against the drive in `mod.rs`.

use std::time::Duration;

use fat::VolumeKind;
use workload::units::{binary_tight, parse_bytes, parse_duration, parse_rate};

use super::cameras;
use script::Opt;

pub(super) static RATE: Opt<Option<f64>> = Opt::value(
    "rate",
    "RATE",
    "the camera's rate: 2GB/s, 3200Mbit/s, or 24x12MB (frames); the maximum by default",
    |words| match parse_rate(words.first().map_or("", String::as_str)) {
        Ok(rate) => Ok(Some(rate)),
        Err(_) => Err("a rate with its unit: 400MB/s, 3200Mbit/s, or 24x12MB (frames)".into()),
    },
    || None,
);

pub(super) static CAMERA: Opt<Option<f64>> = Opt::value(
    "camera",
    "NAME",
    "the rate of a known camera: v30, cinema-raw-light, 4k24-prores-hq",
    |words| cameras::rate(words.first().map_or("", String::as_str)).map(Some),
    || None,
);

pub(super) static LENGTH: Opt<Option<Duration>> = Opt::value(
    "for",
    "TIME",
    "length of the recording, such as 2h (default: until the drive is full)",
    |words| match parse_duration(words.first().map_or("", String::as_str)) {
        Ok(time) if !time.is_zero() => Ok(Some(time)),
        _ => Err("a time above 0, such as 90s, 20m or 2h".into()),
    },
    || None,
);

pub(super) static BUFFER: Opt<u64> = Opt::value(
    "buffer",
    "BYTES",
    "the camera's buffer (default 64MiB)",
    |words| size(words, 1 << 10, 1 << 50),
    || 64 << 20,
);

pub(super) static FRAME: Opt<u64> = Opt::value(
    "frame",
    "BYTES",
    "size of a frame (default 1MiB)",
    |words| size(words, 4 << 10, 256 << 20),
    || 1 << 20,
);

pub(crate) static FS: Opt<VolumeKind> = Opt::value(
    "fs",
    "NAME",
    "file system made on a drive: exfat or fat32 (default exfat)",
    |words| match words {
        [name] if name == "exfat" => Ok(VolumeKind::Exfat),
        [name] if name == "fat32" => Ok(VolumeKind::Fat32),
        _ => Err("exfat or fat32".into()),
    },
    || VolumeKind::Exfat,
);

pub(super) static CLUSTER: Opt<Option<u32>> = Opt::value(
    "cluster",
    "BYTES",
    "cluster size of that file system (default 1MiB, FAT32 64KiB); must fit the drive",
    |words| match size(words, 512, 32 << 20) {
        Ok(bytes) if bytes.is_power_of_two() => Ok(Some(bytes as u32)),
        _ => Err("a power of two from 512 to 32MiB; on FAT32 to 64KiB".into()),
    },
    || None,
);

pub(super) static FILE_SIZE: Opt<u64> = Opt::value(
    "file",
    "BYTES",
    "size of a file (default 16GiB; less than 4GiB on FAT32)",
    |words| size(words, 16 << 20, 1 << 50),
    || 16 << 30,
);

pub(super) static CHECKPOINT: Opt<Option<u64>> = Opt::value(
    "checkpoint",
    "BYTES",
    "maximum bytes lost in a power cut (default: a whole file)",
    |words| size(words, 1 << 20, 1 << 50).map(Some),
    || None,
);

fn size(words: &[String], least: u64, most: u64) -> Result<u64, String> {
    let text = words.first().map_or("", String::as_str);
    let bytes = parse_bytes(text).ok().filter(|bytes| (least..=most).contains(bytes));
    bytes.ok_or_else(|| {
        format!("a size with its unit, from {} to {}", binary_tight(least), binary_tight(most))
    })
}
