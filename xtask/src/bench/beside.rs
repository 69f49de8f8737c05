//! `cargo xtask bench beside`: the findings of `geometry` and flashbench, and of `fake` and f3, on
//! the same drives in the guest, with the reasons for differences.
//!
//! Source of the reasons: the tools' source code, read in 2026-11.

use std::fmt::Write as _;

use anyhow::Result;

use super::{Effort, Outcome};
use crate::guest;

/// Our method and their tool.
const PAIRS: [(&str, &str); 3] =
    [("geometry", "flashbench"), ("fake", "f3probe"), ("fake", "f3read")];

/// Devices of the guest script, by name.
const DEVICES: [(&str, &str); 6] = [
    ("sd", "SD card"),
    ("usb", "USB stick"),
    ("nvme", "NVMe drive"),
    ("wrap", "stick whose second half aliases the first"),
    ("hole", "stick whose second half keeps nothing"),
    ("hole-mounted", "the same, with exFAT, mounted"),
];

/// The reasons for differences, and the limits of both.
const REASONS: &str = include_str!("beside.md");

const SCRIPT: &str = "guest/benches/beside.sh";

/// Runs the guest; its findings side by side.
pub fn run(_effort: Effort) -> Result<Outcome> {
    if let Some(why) = guest::missing_for(SCRIPT)? {
        return Ok(Outcome::Skipped(why));
    }
    let said = guest::script(SCRIPT, None)?;
    println!("{said}");
    Ok(Outcome::Ran { met: true, text: format!("{}\n{REASONS}", table(&said)) })
}

/// Formats a row for each pair that ran on a device.
fn table(said: &str) -> String {
    let finding = |device: &str, tool: &str| {
        let begin = format!("finding {device} {tool} ");
        said.lines().find_map(|line| line.strip_prefix(&begin))
    };
    let mut table = String::from("| device | | ours | | theirs |\n|---|---|---|---|---|\n");
    for (ours, theirs) in PAIRS {
        for (device, name) in DEVICES {
            if let (Some(our), Some(their)) = (finding(device, ours), finding(device, theirs)) {
                let their = their.trim();
                writeln!(table, "| {name} | {ours} | {our} | {theirs} | {their} |")
                    .unwrap_or_default();
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_a_device_are_side_by_side() {
        let said = "ok\nfinding usb fake real.\nfinding usb f3probe is the real thing \nfinding sd fake x\n";
        let table = table(said);
        assert!(table.ends_with("| USB stick | fake | real. | f3probe | is the real thing |\n"));
        assert_eq!(table.lines().count(), 3);
    }
}
