//! From a path to the drive under it, on simulated machines.

use crate::common::Built;
use record::Safety;

const GB: u64 = 1_000_000_000;

fn disk(name: &str) -> String {
    format!("/sys/devices/virtual/block/{name}")
}

fn machine() -> Built {
    let built = Built::new();
    built.disk(&disk("sda"), "8:0", 100 * GB).disk(&disk("sdb"), "8:16", 100 * GB);
    built.partition(&disk("sda"), 1, "8:1", 1 << 20, GB).partition(
        &disk("sda"),
        2,
        "8:2",
        2 << 30,
        GB,
    );
    built.partition(&disk("sdb"), 1, "8:17", 1 << 20, GB);
    built.dir("/data");
    built
}

/// A device on top of others.
fn made_of(built: &Built, name: &str, number: &str, lower: &[&str]) {
    built.disk(&disk(name), number, 50 * GB);
    for below in lower {
        let to = built.path("/sys/class/block").join(below);
        assert!(to.exists(), "{below}");
        built.link(&format!("{}/slaves/{below}", disk(name)), &format!("/sys/class/block/{below}"));
    }
}

/// Layers, drive and counted devices.
fn found(built: &Built, path: &str) -> (Vec<String>, Option<String>, Vec<String>, bool) {
    let location = built.machine().locate(path.as_ref()).expect("it exists");
    (location.layers, location.drive.map(|d| d.name), location.disks, location.ram)
}

fn expected(
    layers: &[&str],
    drive: Option<&str>,
    disks: &[&str],
) -> (Vec<String>, Option<String>, Vec<String>, bool) {
    let owned = |all: &[&str]| all.iter().map(|s| s.to_string()).collect::<Vec<_>>();
    (owned(layers), drive.map(str::to_string), owned(disks), false)
}

#[test]
fn through_a_partition() {
    let built = machine();
    built.mounts(&["27 1 8:2 / / rw - ext4 /dev/sda2 rw"]);
    assert_eq!(found(&built, "/data"), expected(&["/dev/sda2"], Some("sda"), &["sda"]));
    let location = built.machine().locate("/data".as_ref()).expect("it exists");
    assert_eq!(
        (location.filesystem.kind.as_str(), location.filesystem.mount.as_str()),
        ("ext4", "/")
    );
}

#[test]
fn through_encryption_and_volumes() {
    let built = machine();
    made_of(&built, "dm-0", "252:0", &["sda2"]);
    made_of(&built, "dm-1", "252:1", &["dm-0"]);
    built.mounts(&["27 1 252:1 / / rw - ext4 /dev/mapper/vg-root rw"]);
    let layers = ["/dev/dm-1", "/dev/dm-0", "/dev/sda2"];
    assert_eq!(found(&built, "/data"), expected(&layers, Some("sda"), &["sda"]));
    assert_eq!(found(&built, "/dev/dm-0"), expected(&layers[1..], Some("sda"), &["sda"]));
    let list = built.list();
    let sda = list.iter().find(|d| d.drive.name == "sda").expect("listed");
    assert_eq!(
        sda.allowance.reason,
        "reads only: /dev/sda contains the root file system, and 3 more"
    );
}

#[test]
fn a_mirror_is_the_drive_and_its_members_are_counted() {
    let built = machine();
    made_of(&built, "md0", "9:0", &["sda2", "sdb1"]);
    made_of(&built, "dm-0", "252:0", &["md0"]);
    built.mounts(&["27 1 252:0 / / rw - ext4 /dev/mapper/root rw"]);
    assert_eq!(found(&built, "/data"), expected(&["/dev/dm-0"], Some("md0"), &["sda", "sdb"]));
}

#[test]
fn btrfs_leads_to_its_members() {
    let built = machine();
    built.mounts(&["27 1 0:40 /@ / rw - btrfs /dev/sda2 rw,subvolid=256"]);
    assert_eq!(found(&built, "/data"), expected(&["/dev/sda2"], Some("sda"), &["sda"]));
    built.file("/sys/fs/btrfs/0c9f/devices/sda2", []).file("/sys/fs/btrfs/0c9f/devices/sdb1", []);
    let both = ["/dev/sda2", "/dev/sdb1"];
    assert_eq!(found(&built, "/data"), expected(&both, None, &["sda", "sdb"]));
    let in_use = |name: &str| {
        let list = built.list();
        list.iter().find(|d| d.drive.name == name).map(|d| d.allowance.reason.clone())
    };
    assert_eq!(in_use("sdb").expect("listed"), "reads only: /dev/sdb1 is mounted at /");
}

#[test]
fn an_overlay_leads_to_its_upper_directory() {
    let built = machine();
    built.dir("/upper").mounts(&[
        "27 1 8:2 / /upper rw - ext4 /dev/sda2 rw",
        "28 1 0:50 / /data rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/upper,workdir=/w",
    ]);
    assert_eq!(found(&built, "/data"), expected(&["/upper", "/dev/sda2"], Some("sda"), &["sda"]));
}

/// In a container, the upper directory is a path of the host.
#[test]
fn an_overlay_whose_upper_directory_is_not_visible_has_no_layers() {
    let built = machine();
    let options = "rw,lowerdir=/l/A:/l/B,upperdir=/var/lib/docker/X/diff,workdir=/w";
    let root = format!("28 1 0:50 / / rw - overlay overlay {options}");
    built.mounts(&[&root]);
    assert_eq!(found(&built, "/data"), expected(&[], None, &[]));
    // A volume of the container.
    built.mounts(&[&root, "29 28 8:2 /vol /data rw - ext4 /dev/sda2 rw"]);
    assert_eq!(found(&built, "/data"), expected(&["/dev/sda2"], Some("sda"), &["sda"]));
    // Without a node of the drive.
    built.mounts(&[&root, "29 28 0:40 /vol /data rw - btrfs /dev/sda2 rw"]);
    std::fs::remove_file(built.path("/dev/sda2")).expect("there");
    assert_eq!(found(&built, "/data"), expected(&["/dev/sda2"], Some("sda"), &["sda"]));
}

/// docs/safety.md: a journal is "on another drive and not in memory".
#[test]
fn a_directory_on_an_unknown_drive_may_be_on_any_drive_in_use() {
    use drive::Separation::{Elsewhere, Memory, SameDrive, Unknown};
    let built = machine();
    made_of(&built, "dm-0", "252:0", &["sda2"]);
    let overlay = "overlay overlay rw,upperdir=/var/lib/docker/X/diff";
    for (kind, partition, volume, disk) in [
        ("ext4 /dev/sda1 rw", SameDrive, SameDrive, SameDrive),
        ("nfs4 server:/export rw", Elsewhere, Elsewhere, Elsewhere),
        ("tmpfs tmpfs rw", Memory, Memory, Memory),
        // A drive granted exclusively has no file system in use, one of its partitions may.
        ("zfs tank/home rw", Unknown, Unknown, Elsewhere),
        (overlay, Unknown, Unknown, Elsewhere),
    ] {
        let number = if kind.starts_with("ext4") { "8:1" } else { "0:60" };
        built.mounts(&[&format!("27 1 {number} / / rw - {kind}")]);
        let of = |device: &str| {
            let found = built.machine().separation("/data".as_ref(), device.as_ref());
            found.expect("both exist")
        };
        let all = [of("/dev/sda2"), of("/dev/dm-0"), of("/dev/sda")];
        assert_eq!(all, [partition, volume, disk], "{kind}");
        let other = if kind.starts_with("ext4") { Elsewhere } else { disk };
        assert_eq!(of("/dev/sdb"), other, "{kind}");
    }
}

#[test]
fn a_namespace_may_share_its_drive_with_an_unknown_file_system() {
    let built = machine();
    let controller = "/sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0";
    built.files(controller, &[("model", "ACME Twin"), ("serial", "T1")]);
    let namespace = |number: u32| {
        let disk = format!("{controller}/nvme0n{number}");
        built.disk(&disk, &format!("259:{number}"), 100 * GB);
        built.files(&disk, &[("nsid", &number.to_string())]);
        built.link(&format!("{disk}/device"), controller);
    };
    namespace(1);
    built.mounts(&["27 1 0:60 / / rw - zfs tank/home rw"]);
    let separation = || {
        let device = "/dev/nvme0n1".as_ref();
        built.machine().separation("/data".as_ref(), device).expect("both exist")
    };
    assert_eq!(separation(), drive::Separation::Elsewhere);
    namespace(2);
    assert_eq!(separation(), drive::Separation::Unknown);

    // Equal namespaces are different devices.
    let key = |number| drive::DriveKey {
        path: String::new(),
        model: Some("ACME Twin".into()),
        serial: Some("T1".into()),
        disk_bytes: 100 * GB / 512 * 512,
        start: None,
        bytes: 100 * GB / 512 * 512,
        backing_file: None,
        nsid: number,
    };
    assert_eq!(built.machine().find(&key(Some(2))), ["/dev/nvme0n2"]);
    assert!(!key(Some(1)).overlaps(&key(Some(2))) && !key(Some(1)).is(&key(Some(2))));
    // A journal of an earlier version may be of any.
    assert_eq!(built.machine().find(&key(None)), ["/dev/nvme0n1", "/dev/nvme0n2"]);
    assert!(key(None).overlaps(&key(Some(2))));
}

#[test]
fn a_loop_device_leads_to_its_backing_file() {
    let built = machine();
    built
        .disk(&disk("loop3"), "7:3", GB)
        .file(&format!("{}/loop/backing_file", disk("loop3")), "/images/card.img\n")
        .file("/images/card.img", [])
        .dir("/mnt")
        .mounts(&[
            "27 1 8:2 / / rw - ext4 /dev/sda2 rw",
            "28 27 7:3 / /mnt rw - vfat /dev/loop3 rw",
        ]);
    let layers = ["/dev/loop3", "/images/card.img", "/dev/sda2"];
    assert_eq!(found(&built, "/mnt"), expected(&layers, Some("sda"), &["sda"]));
}

#[test]
fn a_loop_device_over_memory_is_memory() {
    let built = machine();
    built
        .disk(&disk("loop3"), "7:3", GB)
        .file(&format!("{}/loop/backing_file", disk("loop3")), "/shm/card.img\n")
        .file("/shm/card.img", [])
        .dir("/mnt")
        .mounts(&[
            "26 1 0:25 / /shm rw - tmpfs tmpfs rw",
            "28 1 7:3 / /mnt rw - vfat /dev/loop3 rw",
        ]);
    let (layers, drive, disks, ram) = found(&built, "/mnt");
    assert_eq!((layers.len(), drive.as_deref(), ram), (0, Some("loop3"), true));
    assert_eq!(disks, ["loop3"]);
    assert_eq!(found(&built, "/shm"), (vec![], None, vec![], true));
}

#[test]
fn network_and_vanished_devices_have_no_drive() {
    let built = machine();
    built.mounts(&["27 1 0:60 / / rw - nfs4 server:/export rw"]);
    assert_eq!(found(&built, "/data"), expected(&[], None, &[]));
    built.mounts(&["27 1 99:9 / / rw - ext4 /dev/gone rw"]);
    assert_eq!(found(&built, "/data"), expected(&[], None, &[]));
}

#[test]
fn a_loop_device_over_itself_ends() {
    let built = machine();
    built
        .disk(&disk("loop3"), "7:3", GB)
        .file(&format!("{}/loop/backing_file", disk("loop3")), "/data/card.img\n")
        .file("/data/card.img", [])
        .mounts(&["27 1 7:3 / /data rw - ext4 /dev/loop3 rw"]);
    let (_, drive, disks, _) = found(&built, "/data");
    assert_eq!((drive.as_deref(), disks.as_slice()), (Some("loop3"), &["loop3".to_string()][..]));
}

#[test]
fn holders_of_a_drive_prevent_overwriting() {
    for (holder, number, own, words) in [
        ("dm-0", "252:0", Some("vg-home"), "held by dm-0 (vg-home)"),
        ("md0", "9:0", None, "held by md0"),
        ("bcache0", "250:0", None, "held by bcache0"),
    ] {
        let built = machine();
        made_of(&built, holder, number, &["sdb1"]);
        built.dir(&format!("{}/sdb1/holders/{holder}", disk("sdb")));
        if let Some(own) = own {
            built.file(&format!("{}/dm/name", disk(holder)), own);
        }
        built.mounts(&["27 1 8:2 / / rw - ext4 /dev/sda2 rw"]);
        let list = built.list();
        let sdb = list.iter().find(|d| d.drive.name == "sdb").expect("listed");
        let expected = format!("reads only: /dev/sdb1 is {words}");
        assert_eq!(sdb.allowance.reason, expected);
        assert_eq!(sdb.partitions[0].allowance.reason, expected, "the partition");
        assert_eq!((sdb.allowance.most, &sdb.allowance.confirm), (Some(Safety::Reads), &None));
    }
}

/// No link of the kernel leads to a cache without a device on it.
#[test]
fn a_cache_of_bcache_is_in_use() {
    let built = machine();
    built.dir(&format!("{}/sdb1/bcache/set", disk("sdb")));
    let list = built.list();
    let sdb = list.iter().find(|d| d.drive.name == "sdb").expect("listed");
    assert_eq!(sdb.allowance.reason, "reads only: /dev/sdb1 is a cache of bcache");
}
