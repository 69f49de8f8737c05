//! The key that identifies the runs of one drive on every machine.
//!
//! The best identifier wins: a world-wide name, EUI-64, NGUID or the CID of a card; then
//! manufacturer, model, serial number and size together. Some serial numbers are worthless because
//! many drives share them: placeholders of USB bridges and hypervisors. Such a drive is known only
//! by its machine and path. That key is weak, because another drive in the same slot has the same
//! one. A virtual drive is identified by its description, whatever name was used to request it.

use crate::{DriveIdentity, Target, TargetKind};

/// Minimum length of a usable serial number.
const SERIAL_MIN: usize = 4;

/// Prefixes of serial numbers that many devices share and that no rule below matches: the default
/// of SCSI target daemons, those of JMicron bridges and of Alcor and other card readers, and the
/// names that QEMU management tools give to the drives of every guest.
const SHARED: [&str; 14] = [
    "00000000",
    "BEAF1",
    "DD56419883",
    "152D00539000",
    "058F63666433",
    "058F63666471",
    "058F63666485",
    "20120501030900000",
    "2012062914345300",
    "DRIVESCSI",
    "DRIVEIDE",
    "DRIVESATA",
    "DRIVEVIRTIO",
    "0XDEADBEEF",
];

/// World-wide names that QEMU gives to every namespace: 52:54:00, zeros and the namespace number.
const QEMU_EUI: &str = "eui.525400000000";

/// The product name in the CID of every QEMU SD card: "QEMU!". Its serial number is also the same
/// everywhere.
const QEMU_CARD: &str = "51454d5521";

/// The key of a drive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HistoryKey {
    /// The key. Equal keys mean the same drive, unless they are weak.
    pub text: String,
    /// Whether it names a slot rather than a drive.
    pub weak: bool,
}

impl HistoryKey {
    /// The key of a target's drive; `None` if no drive is known. `machine` is the id of the machine
    /// that measured it.
    pub fn new(target: &Target, machine: Option<&str>) -> Option<HistoryKey> {
        let drive = target.drive.as_ref()?;
        if target.kind == TargetKind::Virtual {
            // Records of earlier versions lack the hash of its description.
            let description = drive.hardware_id.as_ref().unwrap_or(&target.spec);
            return Some(HistoryKey { text: format!("virtual/{description}"), weak: false });
        }
        let hardware = world_wide(drive).or_else(|| serial(drive));
        let weak = hardware.is_none();
        let text = hardware.unwrap_or_else(|| {
            let path = drive.path.as_deref().unwrap_or(&drive.name);
            format!("path/{}/{path}", machine.unwrap_or("unknown"))
        });
        Some(HistoryKey { text, weak })
    }
}

/// The world-wide name of the device.
fn world_wide(drive: &DriveIdentity) -> Option<String> {
    let id = drive.hardware_id.as_deref()?.trim().to_lowercase();
    if matches!(drive.bus.as_str(), "sd" | "mmc") {
        let is_real = is_telling(&id) && !id.contains(QEMU_CARD);
        return is_real.then(|| format!("cid.{id}"));
    }
    let (kind, rest) = id.split_once('.')?;
    let is_named = matches!(kind, "eui" | "naa" | "uuid") && is_telling(rest);
    (is_named && !id.starts_with(QEMU_EUI)).then_some(id)
}

/// Whether a hexadecimal identifier has more than two digits other than zero.
fn is_telling(hex: &str) -> bool {
    hex.chars().filter(|c| c.is_ascii_hexdigit() && *c != '0').count() > 2
}

/// Manufacturer, model, serial number and size; for NVMe also the namespace, because namespaces
/// share the serial number of their drive.
fn serial(drive: &DriveIdentity) -> Option<String> {
    let word = |text: &Option<String>| text.as_deref().unwrap_or_default().trim().to_string();
    let serial = word(&drive.serial);
    if is_worthless(&serial) {
        return None;
    }
    let bytes = drive.bytes.map_or(String::new(), |bytes| bytes.to_string());
    let namespace = drive.hardware_id.as_ref().filter(|_| drive.bus == "nvme");
    let parts = ["serial".to_string(), word(&drive.vendor), word(&drive.model), serial, bytes];
    let parts: Vec<String> = parts.into_iter().chain(namespace.cloned()).collect();
    Some(parts.join("/"))
}

/// Whether many drives share a serial number.
fn is_worthless(serial: &str) -> bool {
    let letters = serial.chars().filter(|c| c.is_ascii_alphanumeric());
    let text: String = letters.map(|c| c.to_ascii_uppercase()).collect();
    let mut kinds: Vec<char> = text.chars().collect();
    kinds.sort_unstable();
    kinds.dedup();
    let qemu = text.strip_prefix("QM").is_some_and(is_small_number);
    text.len() < SERIAL_MIN
        || kinds.len() <= 2
        || qemu
        || is_counting(&text)
        || SHARED.iter().any(|shared| text.starts_with(shared))
}

/// `00001`: QEMU numbers the drives of each guest.
fn is_small_number(text: &str) -> bool {
    text.parse::<u32>().is_ok_and(|n| n < 1000)
}

/// `0123456789AB`, `ABCDEF0123456789`: each digit follows the one before, with at most one
/// exception.
fn is_counting(text: &str) -> bool {
    const ORDER: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let letters: Vec<char> = text.chars().collect();
    let steps = letters.windows(2).filter(|pair| match (pair[0], pair[1]) {
        ('9' | 'F' | 'Z', '0') => false,
        (a, b) => ORDER.find(a).zip(ORDER.find(b)).is_none_or(|(a, b)| b != a + 1),
    });
    letters.len() >= 6 && steps.count() <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(bus: &str, hardware_id: &str, serial: &str) -> Target {
        let some = |text: &str| (text != "-").then(|| text.to_string());
        let drive = DriveIdentity {
            name: "sda".into(),
            path: Some("/dev/sda".into()),
            bus: bus.into(),
            vendor: Some("ACME".into()),
            model: Some("X1 ".into()),
            serial: some(serial),
            hardware_id: some(hardware_id),
            bytes: Some(1000),
            ..DriveIdentity::default()
        };
        Target {
            spec: "/dev/sda".into(),
            kind: TargetKind::Device,
            drive: Some(drive),
            ..Target::default()
        }
    }

    fn key(bus: &str, hardware_id: &str, serial: &str) -> String {
        let key = HistoryKey::new(&target(bus, hardware_id, serial), Some("m1")).expect("a drive");
        format!("{}{}", if key.weak { "weak " } else { "" }, key.text)
    }

    #[test]
    fn the_best_identifier_wins() {
        assert_eq!(key("nvme", "eui.0025385B71B0A1C2", "S1X9"), "eui.0025385b71b0a1c2");
        assert_eq!(key("sata", "naa.5002538e40a1b2c3", "S1X9"), "naa.5002538e40a1b2c3");
        assert_eq!(key("sd", "03534453433634478012345678014a00", "-").get(..8), Some("cid.0353"));
        assert_eq!(key("sata", "t10.ATA     X1", "S1X9"), "serial/ACME/X1/S1X9/1000");
        assert_eq!(key("usb", "152d:0578", "4C530001"), "serial/ACME/X1/4C530001/1000");
        let one = key("nvme", "nvme.1b36-53-51-00000001", "S1X9");
        assert_ne!(one, key("nvme", "nvme.1b36-53-51-00000002", "S1X9"), "two namespaces");
    }

    #[test]
    fn a_shared_identifier_is_weak() {
        for id in ["-", "eui.0000000000000000", "naa.5000000000000000", "eui.5254000000000001"] {
            assert_eq!(key("nvme", id, "-"), "weak path/m1//dev/sda", "{id}");
        }
        let card = key("sd", "aa585951454d552101deadbeef006219", "0xdeadbeef");
        assert!(card.starts_with("weak "), "{card}");
        let null = Target { drive: None, ..target("x", "-", "-") };
        assert_eq!(HistoryKey::new(&null, None), None);
    }

    #[test]
    fn worthless_serial_numbers_are_known() {
        let worthless = [
            "",
            "0",
            "    ",
            "000000000000",
            "FFFFFFFF",
            "0000000000000001",
            "QM00001",
            "QM00013",
            "123456789ABC",
            "0123456789ABCDEF",
            "ABCDEF0123456789",
            "012345678901",
            "1234567890",
            "DD56419883891",
            "beaf11",
            "152D00539000",
            "058F63666485",
            "----",
            "drive-scsi0",
        ];
        for serial in worthless {
            assert!(is_worthless(serial), "{serial}");
        }
        let good = [
            "S6Z1NJ0W",
            "WD-WXE1A23B4567",
            "4C530001120523108563",
            "VB1a2b3c4d-5e6f7a8b",
            "QM1234567",
            "2J4120012345",
            "PHLJ912300KK1P0FGN",
            "1230987",
        ];
        for serial in good {
            assert!(!is_worthless(serial), "{serial}");
        }
    }

    #[test]
    fn a_virtual_drive_is_the_same_everywhere() {
        let mut target = target("virtual", "-", "-");
        (target.kind, target.spec) = (TargetKind::Virtual, "sim:x25m?seed=7".into());
        let key = HistoryKey::new(&target, None).expect("a drive");
        assert_eq!((key.text.as_str(), key.weak), ("virtual/sim:x25m?seed=7", false));
        let drive = target.drive.as_mut().expect("a drive");
        drive.hardware_id = Some("virtual.0123456789abcdef".into());
        let key = HistoryKey::new(&target, Some("m1")).expect("a drive");
        assert_eq!(key.text, "virtual/virtual.0123456789abcdef");
    }
}
