//! `list` on simulated machines.

use crate::common::Built;
use record::Safety;

const GB: u64 = 1_000_000_000;

fn nvme_at(built: &Built, width: &str) {
    let function = "/sys/devices/pci0000:00/0000:00:1d.0/0000:01:00.0";
    let controller = format!("{function}/nvme/nvme0");
    let disk = format!("{controller}/nvme0n1");
    let mut config = vec![0u8; 256];
    config[0x34] = 0x70;
    config[0x70] = 0x10;
    config[0x78] = 1 << 5;
    built
        .disk(&disk, "259:0", 1000 * GB)
        .file(&format!("{function}/config"), config)
        .files(
            function,
            &[
                ("current_link_speed", "8.0 GT/s PCIe"),
                ("current_link_width", width),
                ("max_link_speed", "8.0 GT/s PCIe"),
                ("max_link_width", "4"),
            ],
        )
        .files(
            &controller,
            &[
                ("model", "ACME X1 1TB                             "),
                ("serial", "S6Z1NJ0W            "),
                ("firmware_rev", "4B2QEXM7"),
                ("transport", "pcie"),
            ],
        )
        .files(&format!("{controller}/hwmon3"), &[("temp1_input", "41850"), ("temp1_max", "81850")])
        .link(&format!("{disk}/device"), &controller)
        .link(&format!("{controller}/device"), function);
}

#[test]
fn an_nvme_drive_with_its_link_and_temperature() {
    let built = Built::new();
    nvme_at(&built, "4");
    let list = built.list();
    let drive = &list[0].drive;
    assert_eq!(drive.bus, "nvme");
    assert_eq!(drive.model.as_deref(), Some("ACME X1 1TB"));
    assert_eq!(drive.serial.as_deref(), Some("S6Z1NJ0W"));
    assert_eq!(drive.firmware.as_deref(), Some("4B2QEXM7"));
    assert_eq!(drive.bytes, Some(1000 * GB / 512 * 512));
    assert_eq!(drive.scheduler.as_deref(), Some("none"));
    assert_eq!(drive.write_cache, Some(true));
    let link = drive.link.as_ref().expect("a link");
    assert_eq!((link.kind.as_str(), link.now.as_deref()), ("pcie", Some("PCIe 3.0 x4")));
    assert_eq!(link.downgraded, Some(false));
    assert_eq!(link.ceiling_bytes_per_s.map(|c| (c / 1e6).round()), Some(3550.0));
    assert_eq!(drive.health.temperature_c, Some(41.85));
    assert_eq!(drive.health.temperature_warn_c, Some(81.85));
    let allowance = &list[0].allowance;
    assert_eq!(
        (allowance.most, allowance.confirm.as_deref()),
        (Some(Safety::Destroys), Some("S6Z1NJ0W"))
    );
}

#[test]
fn a_narrow_slot_is_a_downgraded_link_and_an_unreported_one_is_unknown() {
    let narrow = Built::new();
    nvme_at(&narrow, "1");
    let link = narrow.list()[0].drive.link.clone().expect("a link");
    assert_eq!(link.downgraded, Some(true));
    assert_eq!(
        (link.now.as_deref(), link.best.as_deref()),
        (Some("PCIe 3.0 x1"), Some("PCIe 3.0 x4"))
    );
    let unknown = Built::new();
    nvme_at(&unknown, "255");
    let link = unknown.list()[0].drive.link.clone().expect("a link");
    assert_eq!((link.now, link.downgraded, link.ceiling_bytes_per_s), (None, None, None));
}

/// With multipath, a drive is below a subsystem; the path device is hidden and has the counters
/// that the head lacks.
#[test]
fn an_nvme_drive_with_multipath() {
    let built = Built::new();
    let function = "/sys/devices/pci0000:00/0000:01:00.0";
    let controller = format!("{function}/nvme/nvme0");
    let subsystem = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0";
    let head = format!("{subsystem}/nvme0n1");
    let path = format!("{controller}/nvme0c0n1");
    built
        .disk(&head, "259:1", 500 * GB)
        .disk(&path, "259:0", 500 * GB)
        .files(&path, &[("hidden", "1")])
        .files(subsystem, &[("model", "ACME Twin"), ("serial", "T1"), ("firmware_rev", "1")])
        .files(&controller, &[("transport", "pcie"), ("model", "ACME Twin"), ("serial", "T1")])
        .link(&format!("{path}/device"), &controller)
        .files(&format!("{controller}/hwmon1"), &[("temp1_input", "30000")])
        .files(function, &[("current_link_speed", "16.0 GT/s PCIe"), ("current_link_width", "4")])
        .link(&format!("{head}/device"), subsystem)
        .link(&format!("{subsystem}/nvme0"), &controller)
        .link(&format!("{controller}/device"), function)
        .dir("/data")
        .mounts(&["30 1 259:1 / /data rw - xfs /dev/nvme0n1 rw"]);
    let list = built.list();
    assert_eq!(list.len(), 1, "the hidden path is not a drive");
    let drive = &list[0].drive;
    assert_eq!((drive.name.as_str(), drive.serial.as_deref()), ("nvme0n1", Some("T1")));
    assert_eq!(drive.health.temperature_c, Some(30.0));
    let link = drive.link.clone().expect("a link");
    assert_eq!((link.now.as_deref(), link.best), (Some("PCIe 4.0 x4"), None));
    let location = built.machine().locate("/data".as_ref()).expect("mounted");
    assert_eq!(location.disks, ["nvme0c0n1"]);
    let bytes = drive.bytes.expect("sized");
    let key = drive::DriveKey {
        path: "/dev/nvme7n1".into(),
        model: Some("ACME Twin".into()),
        serial: Some("T1".into()),
        disk_bytes: bytes,
        start: None,
        bytes,
        backing_file: None,
        nsid: None,
    };
    assert_eq!(built.machine().find(&key), ["/dev/nvme0n1"], "not also its hidden path");
}

#[test]
fn a_sata_drive_is_identified_by_its_identify_data() {
    let built = Built::new();
    let port = "/sys/devices/pci0000:00/0000:00:17.0/ata3";
    let device = format!("{port}/host2/target2:0:0/2:0:0:0");
    let disk = format!("{device}/block/sda");
    let mut page = vec![0u8; 60 + 512];
    let mut put = |word: usize, text: &str| {
        for (i, byte) in text.bytes().enumerate() {
            page[60 + 2 * word + (i ^ 1)] = byte;
        }
    };
    put(10, "      S3YAMPLE42");
    put(23, "M3CR046 ");
    put(27, "ACME CT1000MX500SSD1 with a long name   ");
    page[60 + 152] = 0x0e;
    built
        .disk(&disk, "8:0", 1000 * GB)
        .files(&device, &[("vendor", "ATA     "), ("model", "ACME CT1000MX500"), ("rev", "046 ")])
        .file(&format!("{device}/vpd_pg89"), page)
        .file(&format!("{device}/vpd_pg80"), b"\0\x80\0\x04S3YA")
        .files(&format!("{device}/hwmon/hwmon2"), &[("temp1_input", "33000")])
        .files("/sys/class/ata_link/link3", &[("sata_spd", "3.0 Gbps")])
        .link(&format!("{disk}/device"), &device);
    let drive = &built.list()[0].drive;
    assert_eq!((drive.bus.as_str(), drive.vendor.as_deref()), ("sata", None));
    assert_eq!(drive.model.as_deref(), Some("ACME CT1000MX500SSD1 with a long name"));
    assert_eq!(drive.serial.as_deref(), Some("S3YAMPLE42"));
    assert_eq!(drive.firmware.as_deref(), Some("M3CR046"));
    assert_eq!(drive.health.temperature_c, Some(33.0));
    let link = drive.link.clone().expect("a link");
    assert_eq!(
        (link.now.as_deref(), link.best.as_deref()),
        (Some("SATA 3 Gb/s"), Some("SATA 6 Gb/s"))
    );
    assert_eq!((link.downgraded, link.ceiling_bytes_per_s), (Some(true), Some(280e6)));
}

#[test]
fn a_usb_stick_in_a_slow_port() {
    let built = Built::new();
    let usb = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2";
    let interface = format!("{usb}/1-2:1.0");
    let device = format!("{interface}/host4/target4:0:0/4:0:0:0");
    let disk = format!("{device}/block/sdb");
    // Header, then the SuperSpeed capability.
    let bos = [5, 0x0f, 15, 0, 1, 10, 0x10, 0x03, 0, 0x0e, 0, 1, 10, 0xff, 7];
    built
        .disk(&disk, "8:16", 32 * GB)
        .files(&disk, &[("removable", "1")])
        .files(usb, &[("idVendor", "0781"), ("idProduct", "5581"), ("speed", "480")])
        .files(usb, &[("manufacturer", "ACME"), ("product", "Ultra"), ("serial", "4C530001")])
        .file(&format!("{usb}/bos_descriptors"), bos)
        .files(&interface, &[("bInterfaceNumber", "00")])
        .link(&format!("{interface}/driver"), "/sys/bus/usb/drivers/usb-storage")
        .dir("/sys/bus/usb/drivers/usb-storage")
        .files(&device, &[("vendor", "ACME"), ("model", "Ultra 32"), ("rev", "1.00")])
        .link(&format!("{disk}/device"), &device);
    let list = built.list();
    let drive = &list[0].drive;
    assert!(list[0].removable);
    assert_eq!((drive.bus.as_str(), drive.serial.as_deref()), ("usb", Some("4C530001")));
    assert_eq!((drive.vendor.as_deref(), drive.model.as_deref()), (Some("ACME"), Some("Ultra 32")));
    let link = drive.link.clone().expect("a link");
    assert_eq!(link.now.as_deref(), Some("USB 480 Mb/s, usb-storage"));
    assert_eq!((link.best.as_deref(), link.downgraded), (Some("USB 5 Gb/s"), Some(true)));
}

#[test]
fn a_unit_serial_number_confirms_if_it_is_whole_and_from_its_own_page() {
    for (page, confirm) in [
        (&b"\0\x80\0\x06 S3YA\0"[..], "S3YA"),
        (b"\0\x80\0\x06S3\x1bYA ", "S3\u{fffd}YA"),
        (b"\0\x80\0\x06S3YA", "32000000000"),
        (b"\0\x83\0\x06 S3YA\0", "32000000000"),
    ] {
        let built = Built::new();
        let device = "/sys/devices/pci0000:00/0000:00:17.0/host4/target4:0:0/4:0:0:0";
        let disk = format!("{device}/block/sdb");
        built
            .disk(&disk, "8:16", 32 * GB)
            .file(&format!("{device}/vpd_pg80"), page)
            .link(&format!("{disk}/device"), device);
        assert_eq!(built.list()[0].allowance.confirm.as_deref(), Some(confirm), "{page:?}");
    }
}

#[test]
fn an_sd_card_and_an_emmc() {
    let built = Built::new();
    for (host, card, disk, number, kind) in [
        ("mmc0", "mmc0:aaaa", "mmcblk0", "179:0", "SD"),
        ("mmc1", "mmc1:0001", "mmcblk1", "179:8", "MMC"),
    ] {
        let device = format!("/sys/devices/platform/soc/mmc_host/{host}/{card}");
        let disk = format!("{device}/block/{disk}");
        built
            .disk(&disk, number, 64 * GB)
            .files(&device, &[("type", kind), ("name", "SC64G"), ("manfid", "0x000003")])
            .files(&device, &[("serial", "0x1234abcd"), ("hwrev", "0x8"), ("fwrev", "0x0")])
            .link(&format!("{disk}/device"), &device);
    }
    let ios = "clock:\t\t50000000 Hz\nbus width:\t2 (4 bits)\ntiming spec:\t2 (sd high-speed)\n";
    built.file("/sys/kernel/debug/mmc0/ios", ios);
    built.disk(
        "/sys/devices/platform/soc/mmc_host/mmc1/mmc1:0001/block/mmcblk1boot0",
        "179:16",
        GB,
    );
    let card = "/sys/devices/platform/soc/mmc_host/mmc1/mmc1:0001";
    built.link(&format!("{card}/mmcblk1boot0/device"), &format!("{card}/block/mmcblk1"));
    let list = built.list();
    let of = |name: &str| list.iter().find(|d| d.drive.name == name).map(|d| &d.drive).expect(name);
    let sd = of("mmcblk0");
    assert_eq!((sd.bus.as_str(), sd.vendor.as_deref()), ("sd", Some("SanDisk")));
    assert_eq!(
        (sd.serial.as_deref(), sd.firmware.as_deref()),
        (Some("0x1234abcd"), Some("0x8/0x0"))
    );
    let link = sd.link.clone().expect("a link");
    assert_eq!(link.now.as_deref(), Some("sd high-speed, 50 MHz x4"));
    assert_eq!(link.ceiling_bytes_per_s, Some(25e6));
    let emmc = of("mmcblk1");
    assert_eq!((emmc.bus.as_str(), emmc.firmware.as_deref()), ("mmc", Some("0x0")));
    assert_eq!(emmc.link.clone().and_then(|link| link.now), None, "no debugfs");
    let boot = of("mmcblk1boot0");
    assert_eq!(boot.bus, "mmc");
    let missing = ["EXT_CSD: needs root and a mounted debugfs"];
    assert_eq!((emmc.missing.as_slice(), boot.missing.len()), (&missing.map(String::from)[..], 0));
}

#[test]
fn virtio_and_memory_drives() {
    let built = Built::new();
    let virtio = "/sys/devices/pci0000:00/0000:00:02.0/virtio1";
    let disk = format!("{virtio}/block/vda");
    built
        .disk(&disk, "254:0", 10 * GB)
        .files(&disk, &[("serial", "vol-1")])
        .files(virtio, &[("vendor", "0x1af4")])
        .link(&format!("{disk}/device"), virtio)
        .disk("/sys/devices/virtual/block/zram0", "253:0", GB)
        .disk("/sys/devices/virtual/block/zram1", "253:1", 0)
        .disk("/sys/devices/virtual/block/loop7", "7:7", 0);
    let list = built.list();
    let names: Vec<_> =
        list.iter().map(|d| (d.drive.name.as_str(), d.drive.bus.as_str())).collect();
    assert_eq!(names, [("vda", "virtio"), ("zram0", "zram")], "empty devices are omitted");
    assert_eq!(
        (list[0].drive.serial.as_deref(), list[0].drive.vendor.clone()),
        (Some("vol-1"), None)
    );
    assert!(!list[0].drive.ram && list[1].drive.ram);
    assert_eq!(list[1].allowance.confirm.as_deref(), Some("1000000000"), "no serial number");
}

#[test]
fn partitions_with_alignment_and_contents() {
    let built = Built::new();
    let disk = "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
    let mut image = vec![0u8; 4 << 20];
    image[510..512].copy_from_slice(b"\x55\xaa");
    image[446 + 4] = 0x83;
    image[446 + 8..446 + 16].copy_from_slice(&[63, 0, 0, 0, 0, 8, 0, 0]);
    image[63 * 512 + 0x438..][..2].copy_from_slice(b"\x53\xef");
    image[63 * 512 + 0x478..][..4].copy_from_slice(b"data");
    built
        .disk(disk, "8:0", 4 << 20)
        .file("/dev/sda", image)
        .partition(disk, 1, "8:1", 63 * 512, 1 << 20)
        .partition(disk, 2, "8:2", 2 << 20, 1 << 20);
    let device = &built.list()[0];
    let kinds = |inside: &drive::Inside| {
        let found = inside.contents.clone().expect("readable");
        found.into_iter().map(|c| c.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&device.inside), ["mbr"]);
    let [old, new] = device.partitions.as_slice() else { panic!("two partitions") };
    assert_eq!(
        (old.number, old.start, old.aligned_4k, old.aligned_1m),
        (1, 63 * 512, false, false)
    );
    assert_eq!((new.name.as_str(), new.aligned_4k, new.aligned_1m), ("sda2", true, true));
    assert_eq!(kinds(&old.inside), ["ext2"]);
    assert_eq!(kinds(&new.inside), Vec::<String>::new());
}

#[test]
fn devices_in_use_are_read_only() {
    let built = Built::new();
    let disk = |name: &str| format!("/sys/devices/virtual/block/{name}");
    for (name, minor) in [("sda", 0), ("sdb", 16), ("sdc", 32), ("sdd", 48), ("sde", 64)] {
        built.disk(&disk(name), &format!("8:{minor}"), 8 * GB);
    }
    built
        .partition(&disk("sda"), 2, "8:2", 1 << 20, GB)
        .partition(&disk("sda"), 3, "8:3", 2 << 30, GB)
        .partition(&disk("sdb"), 1, "8:17", 1 << 20, GB)
        .disk(&disk("dm-0"), "252:0", GB)
        .files(&disk("dm-0"), &[("dm/name", "vg-home")])
        .link(&format!("{}/holders/dm-0", disk("sdc")), &disk("dm-0"))
        .disk(&disk("loop0"), "7:0", 8 * GB)
        .file(&format!("{}/loop/backing_file", disk("loop0")), "/dev/sdd\n")
        .files(&disk("sde"), &[("ro", "1")])
        .file("/proc/swaps", "Filename Type Size Used Priority\n/dev/sdb1 partition 1 0 -2\n")
        .mounts(&["27 1 8:2 / / rw - ext4 /dev/sda2 rw"]);
    let list = built.list();
    let of = |name: &str| {
        let device = list.iter().find(|d| d.drive.name == name).expect(name);
        (device.allowance.most, device.allowance.reason.clone())
    };
    let reads = |reason: &str| (Some(Safety::Reads), format!("reads only: {reason}"));
    assert_eq!(of("sda"), reads("/dev/sda2 is mounted at /"));
    assert_eq!(of("sdb"), reads("/dev/sdb1 is swap"));
    assert_eq!(of("sdc"), reads("/dev/sdc is held by dm-0 (vg-home)"));
    assert_eq!(of("sdd"), reads("/dev/sdd is held by loop0"));
    assert_eq!(of("sde"), reads("it is read-only"));
    let partitions = &list.iter().find(|d| d.drive.name == "sda").expect("sda").partitions;
    assert_eq!(partitions[0].allowance.most, Some(Safety::Reads));
    assert_eq!(partitions[1].allowance.most, Some(Safety::Destroys), "next to the root partition");
}
