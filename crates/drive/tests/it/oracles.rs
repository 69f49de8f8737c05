//! Comparison with lsblk, blkid and findmnt on this machine.

use std::collections::BTreeMap;

use crate::common::kernel::{Loop, Mounted, or_skip, run};
use drive::{list, locate};
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// Devices by name as listed by lsblk, with its tree flattened. Loop devices of concurrent tests
/// appear and disappear, so only `names` are kept.
fn lsblk(names: &[&str]) -> Result<BTreeMap<String, Value>, String> {
    let columns = "NAME,SIZE,LOG-SEC,PHY-SEC,ROTA,RO,SERIAL,SCHED,DISC-MAX,START,RM,MOUNTPOINTS";
    let text = run("lsblk", &["-J", "-b", "-o", columns])?;
    let tree: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let mut flat = BTreeMap::new();
    let mut rest: Vec<Value> = tree["blockdevices"].as_array().cloned().unwrap_or_default();
    while let Some(device) = rest.pop() {
        rest.extend(device["children"].as_array().cloned().unwrap_or_default());
        let name = device["name"].as_str().unwrap_or_default().to_string();
        if names.contains(&name.as_str()) {
            flat.insert(name, device);
        }
    }
    Ok(flat)
}

#[test]
fn lsblk_agrees_on_the_drives_of_this_machine() {
    let devices = list();
    let real = devices.iter().filter(|d| d.drive.bus != "loop").collect::<Vec<_>>();
    let names: Vec<&str> = real.iter().map(|d| d.drive.name.as_str()).collect();
    let reported = or_skip!(lsblk(&names));
    for device in real {
        let drive = &device.drive;
        let theirs = &reported[&drive.name];
        let same =
            |field: &str, ours: Option<u64>| assert_eq!(theirs[field].as_u64(), ours, "{field}");
        same("size", drive.bytes);
        same("log-sec", drive.logical_block_bytes.map(u64::from));
        same("phy-sec", drive.physical_block_bytes.map(u64::from));
        same("disc-max", drive.discard_max_bytes);
        assert_eq!(theirs["rota"].as_bool(), drive.rotational);
        assert_eq!(theirs["ro"].as_bool(), drive.read_only);
        assert_eq!(theirs["rm"].as_bool(), Some(device.removable));
        if let Some(scheduler) = theirs["sched"].as_str() {
            assert_eq!(Some(scheduler), drive.scheduler.as_deref());
        }
        // lsblk gets serial numbers from udev, which may not be running.
        if let Some(serial) = theirs["serial"].as_str() {
            assert_eq!(Some(serial), drive.serial.as_deref());
        }
    }
}

#[test]
fn lsblk_agrees_on_partitions_and_mounts() {
    let device = or_skip!(Loop::partitioned(24 * MIB, &[(2048, 32768), (34816 + 63, 8192)]));
    let (first, second) = (format!("{}p1", device.name()), format!("{}p2", device.name()));
    or_skip!(run("mkfs.ext4", &["-q", "-L", "label", &format!("/dev/{first}")]));
    let mounted = or_skip!(Mounted::new(&format!("/dev/{first}"), "ro"));
    let reported = or_skip!(lsblk(&[&first, &second]));
    let devices = list();
    let ours = devices.iter().find(|d| d.drive.name == device.name()).expect("listed");
    assert_eq!(ours.backing_file.as_deref(), device.image.to_str());
    for part in &ours.partitions {
        let theirs = &reported[&part.name];
        assert_eq!(theirs["size"].as_u64(), Some(part.bytes));
        assert_eq!(theirs["start"].as_u64(), Some(part.start / 512));
        let points: Vec<&str> = theirs["mountpoints"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mounts: Vec<&str> = part.inside.mounts.iter().map(|m| m.mount.as_str()).collect();
        assert_eq!(points, mounts);
    }
    let [aligned, odd] = ours.partitions.as_slice() else { panic!("two partitions") };
    assert!(aligned.aligned_1m && !odd.aligned_4k);
    assert_eq!(aligned.inside.mounts[0].mount, mounted.text());
}

#[test]
fn blkid_agrees_on_the_contents_of_a_device() {
    let kinds: [(&[&str], u64); 10] = [
        (&["mkfs.ext2", "-q", "-L", "two"], 16 * MIB),
        (&["mkfs.ext3", "-q"], 16 * MIB),
        (&["mkfs.ext4", "-q", "-L", "four"], 16 * MIB),
        (&["mkfs.xfs", "-q", "-L", "x"], 320 * MIB),
        (&["mkfs.btrfs", "-q", "-L", "b"], 128 * MIB),
        (&["mkfs.vfat", "-F", "16", "-n", "CARD"], 32 * MIB),
        (&["mkfs.vfat", "-F", "32"], 64 * MIB),
        (&["mkfs.exfat"], 32 * MIB),
        (&["mkswap", "-L", "s"], 16 * MIB),
        (&["true"], 16 * MIB),
    ];
    for (mkfs, bytes) in kinds {
        let device = match Loop::with(bytes, mkfs) {
            Ok(device) => device,
            Err(why) => {
                eprintln!("skipped {}: {why}", mkfs[0]);
                continue;
            }
        };
        let tag = |tag: &str| run("blkid", &["-p", "-o", "value", "-s", tag, &device.path]).ok();
        let reported = |name: &str| tag(name).filter(|value| !value.is_empty());
        let devices = list();
        let ours = devices.iter().find(|d| d.drive.name == device.name()).expect("listed");
        let contents = ours.inside.contents.clone().expect("readable");
        let kind = contents.first().map(|c| c.kind.clone());
        assert!(contents.len() <= 1, "{contents:?}");
        assert_eq!(kind, reported("TYPE"), "{mkfs:?}");
        let label = contents.first().and_then(|c| c.label.clone());
        assert_eq!(label, reported("LABEL"), "{mkfs:?}");
    }
}

#[test]
fn findmnt_agrees_on_the_file_system_of_a_path() {
    for path in ["/", "/tmp", "/dev/shm", "/proc", env!("CARGO_MANIFEST_DIR")] {
        let reported = or_skip!(run("findmnt", &["-J", "-T", path, "-o", "TARGET,SOURCE,FSTYPE"]));
        let reported: Value = serde_json::from_str(&reported).expect("JSON");
        let theirs = &reported["filesystems"][0];
        let location = locate(path).expect("it exists");
        assert_eq!(theirs["target"].as_str(), Some(location.filesystem.mount.as_str()), "{path}");
        assert_eq!(theirs["fstype"].as_str(), Some(location.filesystem.kind.as_str()), "{path}");
    }
}
