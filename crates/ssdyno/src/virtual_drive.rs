//! `sim:NAME`, `sim:./my-drive.toml`, `sim:NAME?capacity=64GiB&op=0.15`: the description of a
//! virtual drive from what the user typed.

use std::fs;

use model::DriveSpec;

use crate::failure::{Failure, Result, USAGE};

/// Begins the name of every virtual drive.
pub const PREFIX: &str = "sim:";

/// The drive that `spec` names, or nothing when it names no virtual drive.
pub fn described(spec: &str) -> Option<Result<DriveSpec>> {
    spec.strip_prefix(PREFIX).map(parse)
}

fn parse(spec: &str) -> Result<DriveSpec> {
    let (name, query) = spec.split_once('?').unwrap_or((spec, ""));
    let base = if name.contains('/') || name.ends_with(".toml") {
        let cannot = |e| Failure::new(USAGE, format!("{name}: {e}"));
        DriveSpec::parse(name, &fs::read_to_string(name).map_err(cannot)?)
    } else {
        DriveSpec::preset(name)
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let wrong = || Failure::new(USAGE, format!("sim:{spec}: '{pair}' is not key=value"));
        pair.split_once('=').ok_or_else(wrong)
    });
    let pairs = pairs.collect::<Result<Vec<_>>>()?;
    let found = base.and_then(|base| base.with_overrides(&pairs));
    found.map_err(|e| Failure::new(USAGE, e).advise("ssdyno drives"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_files_and_overrides() {
        assert!(described("/dev/sda").is_none());
        let known = |spec: &str| described(spec).expect("virtual").map_err(|f| f.text());
        let drive = known("sim:samsung-970-pro-1t?capacity=64GiB").expect("a preset");
        assert_eq!(drive.capacity.0, 64 << 30);
        assert!(known("sim:samsung-970-pro-1t?capacity").is_err_and(|e| e.contains("key=value")));
        assert!(known("sim:no-such-drive").is_err_and(|e| e.contains("no such drive")));
        assert!(known("sim:./none.toml").is_err());
    }
}
