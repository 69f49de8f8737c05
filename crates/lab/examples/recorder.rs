//! Metadata commands of a recording per GiB, compared with FatFs: `cargo xtask bench recorder`.
//!
//! The method `stream` counts our commands at the block interface of a virtual drive, over all of
//! it, and they must meet the goals. The numbers of FatFs and Linux are constants, counted once at
//! the same interface for sequential recordings.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::Simulator;
use model::DriveSpec;
use rig::Event;
use script::{Options, Session};

/// The drive of the recordings. FAT32 has its own capacity, because its allocation table grows with
/// the volume.
const DRIVE: &str = "samsung-980-pro-2t";
const FAT32_BYTES: &str = "64GiB";

/// Goals: metadata writes per GiB.
const EXFAT_WRITES_MAX: f64 = 0.19;
const FAT32_WRITES_MAX: f64 = 1.25;

/// Reads, writes and waiting calls per GiB of other writers.
const OTHERS: [(&str, &str, &str, &str); 3] = [
    ("FatFs, FAT32, clusters of 64 KiB", "386", "386", "257"),
    ("FatFs, exFAT, clusters of 1 MiB", "0.39", "0.44", "0.31"),
    ("Linux exfat, clusters of 1 MiB, O_DIRECT", "0", "38", "-"),
];

/// Reads, writes and waits per GiB of `stream`.
fn counted(overrides: &[(&str, &str)], fs: &str) -> Option<[f64; 3]> {
    let spec = DriveSpec::preset(DRIVE).ok()?.with_overrides(overrides).ok()?;
    let method = methods::find("stream").ok()?;
    let mut options = Options::default();
    let declared = method.options.iter().find(|option| option.name() == "fs")?;
    options.parse(*declared, &[fs.to_string()]).ok()?;
    let never = Arc::new(AtomicBool::new(false));
    let mut rig = Simulator::new(spec, "sim:drive", never, Box::new(|_: &Event| {}));
    let mut session = Session::new(&mut rig);
    session.run(method, &options).ok()?;
    let out = session.finish();
    let value = |statistic: &str| {
        let name = format!("stream-{fs}.{statistic}");
        out.metrics.iter().find(|metric| metric.name == name)?.value
    };
    Some([value("metadata-reads")?, value("metadata-writes")?, value("metadata-waits")?])
}

fn main() -> ExitCode {
    println!("| writer | metadata reads | metadata writes | calls that wait for metadata |");
    println!("|---|---|---|---|");
    for (writer, reads, writes, waits) in OTHERS {
        println!("| {writer} | {reads} | {writes} | {waits} |");
    }
    let fat32 = [("capacity", FAT32_BYTES)];
    let ours = [
        ("exFAT, clusters of 1 MiB", "exfat", &[][..], EXFAT_WRITES_MAX),
        ("FAT32, clusters of 64 KiB", "fat32", &fat32[..], FAT32_WRITES_MAX),
    ];
    let mut met = true;
    for (name, fs, overrides, most) in ours {
        let Some([reads, writes, waits]) = counted(overrides, fs) else {
            eprintln!("no recording to {fs}");
            return ExitCode::FAILURE;
        };
        met &= reads == 0.0 && writes <= most && waits == 0.0;
        println!(
            "| ssdyno, {name} | {reads} | {writes:.2} (at most {most}) | {waits:.2} (at most 0) |"
        );
    }
    println!("\nPer GiB recorded, without making and closing the volume.");
    println!(
        "FatFs and Linux were counted once, at the same interface, and are not counted again."
    );
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
