//! Partition tables: written by us and read by sfdisk, and the reverse.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{Loop, MIB, Place, or_skip, root, tool};

const LAYOUT: &str = "loader,filecore=1G,fat32=300M,ext4";

/// The table as read by sfdisk: number, first sector, sectors and type of each partition.
fn sfdisk(path: &str) -> Result<Vec<(u64, u64, u64, String)>, String> {
    let listed = tool("sfdisk", &["--json", path])?;
    let listed: Value = serde_json::from_str(&listed).map_err(|e| e.to_string())?;
    let rows = listed["partitiontable"]["partitions"].as_array().cloned().unwrap_or_default();
    let number = |row: &Value, field: &str| row[field].as_u64().unwrap_or(0);
    let row = |(i, row): (usize, &Value)| {
        let kind = row["type"].as_str().unwrap_or_default().to_string();
        (i as u64 + 1, number(row, "start"), number(row, "size"), kind)
    };
    Ok(rows.iter().enumerate().map(row).collect())
}

/// The same table as read by us.
fn ours(place: &Place, args: &[&str], sector: u64) -> Vec<(u64, u64, u64, String)> {
    let listed = place.ssdyno(&[&["partition", "--json"], args].concat()).good().json();
    let rows = listed["table"]["entries"].as_array().cloned().unwrap_or_default();
    let number = |row: &Value, field: &str| row[field].as_u64().unwrap_or(0);
    let row = |row: &Value| {
        let code = row["type"]["code"].as_str().unwrap_or_default();
        // sfdisk prints a byte without leading zeros.
        let kind = if code.len() == 2 { code.trim_start_matches('0') } else { code }.to_string();
        (number(row, "number"), number(row, "start") / sector, number(row, "bytes") / sector, kind)
    };
    rows.iter().map(row).collect()
}

#[test]
fn sfdisk_reads_what_we_write_on_an_image() {
    for sector in [512, 4096] {
        let place = Place::new();
        let image = place.file("image", 3 << 30);
        let size = sector.to_string();
        let write = ["partition", &image, "--layout", LAYOUT, "--sector", &size];
        place.ssdyno(&write).refuses(3, "may only be read");
        place.ssdyno(&[&write[..], &["--dry-run"]].concat()).good();
        place.ssdyno(&["partition", &image]).refuses(1, "no partition table");
        place.ssdyno(&[&write[..], &["--destroy=1"]].concat()).refuses(3, "not the size");
        place.ssdyno(&[&write[..], &["--destroy=3221225472"]].concat()).good();
        let read = ours(&place, &[&image, "--sector", &size], sector);
        let kinds: Vec<&str> = read.iter().map(|r| r.3.as_str()).collect();
        assert_eq!(kinds, ["c", "ad", "c", "83"]);
        assert!(read.iter().all(|r| r.1 * sector % MIB == 0));
        // sfdisk assumes 512-byte sectors for an image; devices report theirs.
        if sector == 512 {
            assert_eq!(or_skip!(sfdisk(&image)), read);
            or_skip!(tool("sfdisk", &["--verify", &image]));
        }
    }
}

#[test]
fn partitions_are_renumbered_in_the_order_of_the_drive() {
    let place = Place::new();
    let image = place.file("image", 3 << 30);
    let write = ["partition", &image, "--layout", LAYOUT, "--destroy=3221225472"];
    place.ssdyno(&write).good();
    let before = ours(&place, &[&image], 512);
    // Swaps the first two entries of the table.
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&image).expect("ours");
    let mut entries = [0; 32];
    file.read_exact_at(&mut entries, 446).expect("read");
    entries.rotate_left(16);
    file.write_all_at(&entries, 446).expect("written");
    assert_ne!(ours(&place, &[&image], 512), before);
    place.ssdyno(&["partition", &image, "--renumber"]).refuses(3, "may only be read");
    place.ssdyno(&["partition", &image, "--renumber", "--dry-run"]).good();
    assert_ne!(ours(&place, &[&image], 512), before, "a dry run");
    let done = place.ssdyno(&["partition", &image, "--renumber", "--destroy=3221225472"]).good();
    assert!(done.err.contains("partition 2 becomes 1"), "{}", done.err);
    assert_eq!(ours(&place, &[&image], 512), before);
    let again = place.ssdyno(&["partition", &image, "--renumber", "--destroy=3221225472"]).good();
    assert!(again.err.contains("nothing to renumber"), "{}", again.err);
    let both = place.ssdyno(&["partition", &image, "--renumber", "--layout", "ext4"]);
    assert_eq!(both.code, 2, "{both:?}");
}

#[test]
fn a_device_is_partitioned_on_its_own_sectors() {
    or_skip!(root());
    for sector in [512, 4096] {
        let device = or_skip!(Loop::new(3 << 30, "", &["-b", &sector.to_string()]));
        let place = Place::new();
        let write = ["partition", &device.path, "--layout", LAYOUT];
        place.ssdyno(&write).refuses(3, "may only be read");
        assert_eq!(device.written(), 0);
        place.ssdyno(&[&write[..], &["--destroy=3221225472"]].concat()).good();
        let read = ours(&place, &[&device.path], sector);
        assert_eq!(or_skip!(sfdisk(&device.path)), read);
        assert!(device.written() > 0);
    }
}

#[test]
fn we_read_what_sfdisk_writes() {
    let tables = [
        "label: dos\n2048,32768,b\n40960,,5\n43008,20480,83\n65536,20480,82\n",
        "label: gpt\n2048,32768,U\n,,L\n",
        "label: dos\n63,10017,7\n20480,8192,ad\n10240,4096,83\n",
    ];
    for table in tables {
        let place = Place::new();
        let image = place.file("image", 128 * MIB);
        let child = Command::new("sfdisk").args(["-q", &image]).stdin(Stdio::piped()).spawn();
        let mut child = or_skip!(child.map_err(|e| format!("sfdisk: {e}")));
        let mut input = child.stdin.take().expect("piped");
        input.write_all(table.as_bytes()).expect("read by sfdisk");
        drop(input);
        assert!(child.wait().expect("it ends").success());
        let places = |rows: Vec<(u64, u64, u64, String)>| rows.into_iter().map(|r| (r.1, r.2, r.3));
        let theirs: Vec<_> = places(or_skip!(sfdisk(&image))).collect();
        let read: Vec<_> = places(ours(&place, &[&image], 512)).collect();
        assert_eq!(theirs, read, "{table}");
    }
    let place = Place::new();
    place.ssdyno(&["partition", "."]).refuses(2, "is not a drive");
    let image = place.file("image", 128 * MIB);
    place
        .ssdyno(&["partition", &image, "--layout", "floppy"])
        .refuses(2, "not a kind of partition");
    place.ssdyno(&["partition", &image, "--layout", "ext4=1G"]).refuses(2, "the drive has 128 MiB");
}
