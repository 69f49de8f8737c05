//! Properties that drives report in sysfs, on simulated machines.

use crate::common::Built;
use record::DriveIdentity;

const GB: u64 = 1_000_000_000;

fn detail<'a>(drive: &'a DriveIdentity, name: &str) -> &'a str {
    let found = drive.details.iter().find(|d| d.name == name);
    found.map(|d| d.value.as_str()).unwrap_or_else(|| panic!("no {name}: {:?}", drive.details))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn card(built: &Built, host: &str, card: &str, disk: &str, kind: &str) -> String {
    let device = format!("/sys/devices/platform/soc/mmc_host/{host}/{card}");
    let disk = format!("{device}/block/{disk}");
    let number = if kind == "SD" { "179:0" } else { "179:8" };
    built
        .disk(&disk, number, 64 * GB)
        .files(&device, &[("type", kind)])
        .link(&format!("{disk}/device"), &device);
    device
}

/// The SD card of the fourth document: maker 3, OEM SD, SU04G, revision 8.0, of June 2009.
#[test]
fn the_registers_of_an_sd_card() {
    let built = Built::new();
    let device = card(&built, "mmc0", "mmc0:aaaa", "mmcblk0", "SD");
    let cid = "0353445355303447802e550112009601";
    let csd = (1u128 << 126 | 7_579 << 48).to_be_bytes();
    let mut ssr = [0u8; 64];
    (ssr[8], ssr[10]) = (2, 0x90);
    built.files(&device, &[("cid", cid), ("csd", &hex(&csd)), ("ssr", &hex(&ssr))]);
    let drive = &built.list()[0].drive;
    assert_eq!(drive.hardware_id.as_deref(), Some(cid));
    assert_eq!(detail(drive, "manufacturer"), "0x03 (SanDisk)");
    assert_eq!((detail(drive, "OEM"), detail(drive, "name")), ("SD", "SU04G"));
    assert_eq!((detail(drive, "revision"), detail(drive, "date")), ("8.0", "2009-06"));
    assert_eq!(detail(drive, "serial"), "0x2e550112");
    // (7579 + 1) x 512 KiB.
    assert_eq!(detail(drive, "kind"), "SDHC or SDXC of 3.97 GB (3974103040 bytes)");
    assert_eq!(
        (detail(drive, "speed classes"), detail(drive, "allocation unit")),
        ("class 4", "4 MiB")
    );
    assert_eq!(drive.missing, Vec::<String>::new());
    assert_eq!(
        (drive.declared.allocation_unit, drive.declared.preferred_erase),
        (Some(4 << 20), None)
    );
}

#[test]
fn sizes_declared_in_sysfs() {
    let built = Built::new();
    let device = card(&built, "mmc0", "mmc0:aaaa", "mmcblk0", "SD");
    let disk = format!("{device}/block/mmcblk0");
    built.files(&device, &[("preferred_erase_size", "8388608")]);
    built.files(&disk, &[("discard_alignment", "512")]);
    let granularity = |bytes| {
        built.files(&format!("{disk}/queue"), &[("discard_granularity", bytes)]);
        built.list()[0].drive.declared.clone()
    };
    let declared = granularity("4194304");
    assert_eq!(declared.preferred_erase, Some(8 << 20));
    assert_eq!(
        (declared.discard_granularity, declared.discard_alignment),
        (Some(4 << 20), Some(512))
    );
    // A drive without discards has no discard granularity and no discard alignment.
    let declared = granularity("0");
    assert_eq!((declared.discard_granularity, declared.discard_alignment), (None, None));
}

#[test]
fn the_life_of_an_emmc_with_and_without_root() {
    let built = Built::new();
    let device = card(&built, "mmc1", "mmc1:0001", "mmcblk1", "MMC");
    let cid = "150100424a4e45345207891234567100";
    built.files(&device, &[("cid", cid), ("life_time", "0x02 0x01"), ("pre_eol_info", "0x02")]);
    let drive = built.list()[0].drive.clone();
    assert_eq!(drive.health.wear_percent, Some(20.0));
    assert_eq!(drive.health.warnings, ["80% of the spare blocks are used up"]);
    assert_eq!(drive.missing, ["EXT_CSD: needs root and a mounted debugfs"]);
    assert_eq!(detail(&drive, "manufacturer"), "0x15 (Samsung)");
    let mut ext_csd = [0u8; 512];
    ext_csd[192] = 8;
    ext_csd[249..253].copy_from_slice(&512u32.to_le_bytes());
    built.file("/sys/kernel/debug/mmc1/mmc1:0001/ext_csd", hex(&ext_csd));
    let drive = &built.list()[0].drive;
    assert_eq!((detail(drive, "version"), detail(drive, "cache")), ("eMMC 5.1", "64 KiB"));
    assert_eq!(detail(drive, "date"), "2014-07", "years count from 2013 since version 4.41");
    assert!(drive.missing.is_empty());
}

#[test]
fn a_sata_drive_reports_trim_and_sectors() {
    let built = Built::new();
    let port = "/sys/devices/pci0000:00/0000:00:17.0/ata3";
    let device = format!("{port}/host2/target2:0:0/2:0:0:0");
    let disk = format!("{device}/block/sda");
    let mut page = vec![0u8; 60 + 512];
    for (word, value) in [(69, 0x4020u16), (105, 8), (106, 0x6003), (169, 1), (217, 1)] {
        page[60 + 2 * word..][..2].copy_from_slice(&value.to_le_bytes());
    }
    built
        .disk(&disk, "8:0", 1000 * GB)
        .file(&format!("{device}/vpd_pg89"), page)
        .files(&device, &[("wwid", "naa.5002538e40a1b2c3")])
        .link(&format!("{disk}/device"), &device);
    let drive = &built.list()[0].drive;
    assert_eq!(detail(drive, "rotation"), "none");
    assert_eq!(detail(drive, "TRIM"), "reads zeroes afterwards (RZAT), 512 ranges per command");
    assert_eq!(detail(drive, "sectors"), "512 B in 4096 B");
    assert_eq!(drive.hardware_id.as_deref(), Some("naa.5002538e40a1b2c3"));
}

#[test]
fn a_usb_drive_is_identified_by_vendor_and_product() {
    let built = Built::new();
    let usb = "/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1";
    let interface = format!("{usb}/2-1:1.0");
    let device = format!("{interface}/host4/target4:0:0/4:0:0:0");
    let disk = format!("{device}/block/sdb");
    built
        .disk(&disk, "8:16", 32 * GB)
        .files(usb, &[("idVendor", "0781"), ("idProduct", "5581"), ("speed", "5000")])
        .files(usb, &[("version", " 3.20")])
        .files(&interface, &[("bInterfaceNumber", "00")])
        .link(&format!("{interface}/driver"), "/sys/bus/usb/drivers/uas")
        .dir("/sys/bus/usb/drivers/uas")
        .file(&format!("{device}/vpd_pgb2"), [0, 0xb2, 0, 4, 0, 0x80, 2, 0])
        .link(&format!("{disk}/device"), &device);
    let drive = &built.list()[0].drive;
    assert_eq!(drive.hardware_id.as_deref(), Some("0781:5581"));
    assert_eq!((detail(drive, "version"), detail(drive, "transport")), ("USB 3.20", "UAS"));
    assert_eq!(detail(drive, "discard"), "UNMAP, thin provisioned");
}
