//! Fuzz targets of this crate: descriptions of virtual drives and their overrides.

use fuzz::{FuzzTarget, outcome};
use model::DriveSpec;

/// Every parser of this crate.
pub const TARGETS: &[FuzzTarget] = &[PRESET, OVERRIDES];

/// Description files.
const PRESET: FuzzTarget = FuzzTarget { name: "preset", run: preset, corpus: PRESETS };

/// Overrides, one `KEY=VALUE` per line.
const OVERRIDES: FuzzTarget =
    FuzzTarget { name: "preset-overrides", run: overrides, corpus: OVERRIDE };

fn preset(input: &[u8]) -> u64 {
    match DriveSpec::parse("x.toml", &String::from_utf8_lossy(input)) {
        Ok(_) => 1,
        Err(error) => outcome(&error.to_string()),
    }
}

fn overrides(input: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(input);
    let pairs: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('=')).collect();
    let spec = DriveSpec::preset("usb-16k").expect("a preset");
    match spec.with_overrides(&pairs) {
        Ok(_) => 1,
        Err(error) => outcome(&error.to_string()),
    }
}

const PRESETS: &[&str] = &[
    include_str!("../../../drives/usb-16k.toml"),
    include_str!("../../../drives/samsung-970-evo-plus-250.toml"),
    include_str!("../../../drives/sd-class2.toml"),
    "capacity = 8e9\nseed = 7\n[[link]]\nbus = \"usb-2\"\nturnaround_us = 10\n",
];

const OVERRIDE: &[&str] = &[
    "capacity=8GiB\nseed=4\nnand.read_us=50\n",
    "link.0.turnaround_us=12.5\nhost.command_us=3\nheat.ambient_c=-5\n",
    "map.unit_bytes=4096\nslc.fixed=10%\nbuffer.size=1M\n",
];
