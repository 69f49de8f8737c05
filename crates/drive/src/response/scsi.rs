//! SCSI devices: INQUIRY and its vital product data, and sense data.
//!
//! Big-endian. Sources: SPC-4, 6.6 (INQUIRY), 7.8 (VPD), 4.5 (sense); SBC-3, 6.5 (block VPD).

use std::fmt;

use super::{bytes, hex, text};

/// INQUIRY for the standard data or a page of vital product data.
pub(crate) fn inquiry(page: Option<u8>, length: u8) -> [u8; 6] {
    [0x12, u8::from(page.is_some()), page.unwrap_or(0), 0, length, 0]
}

/// The standard INQUIRY data.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Inquiry {
    pub vendor: Option<String>,
    pub model: Option<String>,
    pub revision: Option<String>,
    /// Version, such as `SPC-3`.
    pub version: Option<&'static str>,
}

impl Inquiry {
    pub fn parse(data: &[u8]) -> Option<Inquiry> {
        Some(Inquiry {
            vendor: text(data.get(8..16)?),
            model: text(data.get(16..32)?),
            revision: text(data.get(32..36)?),
            version: match data.get(2)? {
                2 => Some("SCSI-2"),
                3 => Some("SPC"),
                4 => Some("SPC-2"),
                5 => Some("SPC-3"),
                6 => Some("SPC-4"),
                7 => Some("SPC-5"),
                _ => None,
            },
        })
    }
}

/// Content of a page of vital product data; `None` if the page is another.
fn content(page: &[u8], number: u8) -> Option<&[u8]> {
    let inside = page.get(4..)?;
    (page[1] == number).then_some(&inside[..declared(page)?.min(inside.len())])
}

/// The length of the content, as the page declares it.
fn declared(page: &[u8]) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes(bytes(page, 2)?)))
}

/// Unit serial number, page 80h. A truncated one is none, because the user confirms a drive with
/// it.
pub(crate) fn unit_serial(page: &[u8]) -> Option<String> {
    text(content(page, 0x80)?.get(..declared(page)?)?)
}

/// World-wide name of the unit, page 83h: NAA before EUI-64.
pub(crate) fn world_wide_name(page: &[u8]) -> Option<String> {
    let mut rest = content(page, 0x83)?;
    let mut names = Vec::new();
    while let [_, kind, _, length, ..] = *rest {
        let name = rest.get(4..4 + usize::from(length))?;
        // Bits 5:4 are the association: 0 is the unit.
        match (kind >> 4 & 3, kind & 15) {
            (0, 3) => names.push((0, format!("naa.{}", hex(name)))),
            (0, 2) => names.push((1, format!("eui.{}", hex(name)))),
            _ => {}
        }
        rest = &rest[4 + usize::from(length)..];
    }
    names.into_iter().min().map(|(_, name)| name)
}

/// Limits, page B0h. Lengths in logical blocks; 0: not reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    pub transfer_max: Option<u32>,
    pub transfer_optimal: Option<u32>,
    pub unmap_granularity: Option<u32>,
}

pub(crate) fn limits(page: &[u8]) -> Option<Limits> {
    let content = content(page, 0xb0)?;
    let u32_at = |at: usize| bytes(content, at).map(u32::from_be_bytes).filter(|n| *n != 0);
    Some(Limits {
        transfer_max: u32_at(4),
        transfer_optimal: u32_at(8),
        unmap_granularity: u32_at(24),
    })
}

/// Revolutions per minute, page B1h; 0: not rotating.
pub(crate) fn rotation(page: &[u8]) -> Option<u16> {
    match u16::from_be_bytes(bytes(content(page, 0xb1)?, 0)?) {
        1 => Some(0),
        rpm @ 0x401..=0xfffe => Some(rpm),
        _ => None,
    }
}

/// Discard methods, page B2h: `unmap, write same; thin; reads zeroes afterwards`.
pub(crate) fn provisioning(page: &[u8]) -> Option<String> {
    let inside = content(page, 0xb2)?;
    let (flags, kind) = (*inside.get(1)?, *inside.get(2)? & 7);
    let ways = [(0x80, "UNMAP"), (0x40, "WRITE SAME(16)"), (0x20, "WRITE SAME(10)")];
    let mut words: Vec<&str> =
        ways.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| *name).collect();
    if words.is_empty() {
        return Some("none".into());
    }
    words.extend(match kind {
        1 => Some("resource provisioned"),
        2 => Some("thin provisioned"),
        _ => None,
    });
    if flags >> 2 & 1 != 0 {
        words.push("reads zeroes afterwards");
    }
    Some(words.join(", "))
}

/// The command by which a drive takes discards, and the kernel's word for that mode of
/// provisioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DiscardWay {
    pub(crate) command: &'static str,
    pub(crate) mode: &'static str,
}

/// How a drive takes discards by its page of logical block provisioning; `None` if it does not.
pub(crate) fn takes_discards(page: &[u8]) -> Option<DiscardWay> {
    let flags = *content(page, 0xb2)?.get(1)?;
    let ways = [
        (0x80, "UNMAP", "unmap"),
        (0x40, "WRITE SAME(16)", "writesame_16"),
        (0x20, "WRITE SAME(10)", "writesame_10"),
    ];
    let way = ways.into_iter().find(|(bit, ..)| flags & bit != 0);
    way.map(|(_, command, mode)| DiscardWay { command, mode })
}

/// The reason for refusing a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sense {
    pub key: u8,
    pub code: u8,
    pub qualifier: u8,
}

impl Sense {
    pub fn parse(data: &[u8]) -> Option<Sense> {
        let (key, code, qualifier) = match data.first()? & 0x7f {
            0x70 | 0x71 => (2, 12, 13),
            0x72 | 0x73 => (1, 2, 3),
            _ => return None,
        };
        Some(Sense {
            key: data.get(key)? & 15,
            code: *data.get(code)?,
            qualifier: *data.get(qualifier)?,
        })
    }
}

impl fmt::Display for Sense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sense { key, code, qualifier } = self;
        let words = match (key, code) {
            (5, 0x20) => "the command is not supported",
            (5, _) => "the request is invalid",
            (2, _) => "the device is not ready",
            (3, _) => "a medium error",
            (4, _) => "a hardware error",
            (7, _) => "the device is write protected",
            (0xb, _) => "the command was aborted",
            _ => "an error",
        };
        write!(f, "{words} (sense {key:02x}/{code:02x}/{qualifier:02x})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn standard_data() {
        let mut data = [0; 36];
        data[2] = 6;
        data[8..36].copy_from_slice(b"ACME    Stick 32        1.0 ");
        let inquiry = Inquiry::parse(&data[..]).expect("whole");
        assert_eq!(inquiry.vendor.as_deref(), Some("ACME"));
        assert_eq!(inquiry.version, Some("SPC-4"));
        assert_eq!(Inquiry::parse(&data[..20]), None);
    }

    #[test]
    fn pages_of_vital_product_data() {
        assert_eq!(unit_serial(b"\0\x80\0\x06  S3Y \0").as_deref(), Some("S3Y"));
        assert_eq!(unit_serial(b"\0\x83\0\x06  S3Y \0"), None, "another page");
        assert_eq!(unit_serial(b"\0\x80\0\x06  S3Y"), None, "a page cut short");
        let names = b"\0\x83\0\x18\x02\x01\0\x04ACME\x01\x03\0\x08\x50\x01\x02\x03\x04\x05\x06\x07";
        assert_eq!(world_wide_name(names).as_deref(), Some("naa.5001020304050607"));
        let mut page = vec![0, 0xb0, 0, 60];
        page.extend([0; 60]);
        page[12..16].copy_from_slice(&128u32.to_be_bytes());
        page[28..32].copy_from_slice(&8u32.to_be_bytes());
        let found = limits(&page).expect("limits");
        assert_eq!((found.transfer_optimal, found.unmap_granularity), (Some(128), Some(8)));
        assert_eq!(rotation(&[0, 0xb1, 0, 4, 0, 1, 0, 0]), Some(0));
        let thin = provisioning(&[0, 0xb2, 0, 4, 0, 0xc4, 2, 0]);
        assert_eq!(
            thin.as_deref(),
            Some("UNMAP, WRITE SAME(16), thin provisioned, reads zeroes afterwards")
        );
    }

    #[test]
    fn a_stick_without_ata() {
        let mut fixed = [0; 18];
        (fixed[0], fixed[2], fixed[12]) = (0x70, 5, 0x20);
        let descriptor = [0x72, 5, 0x20, 0];
        for data in [&fixed[..], &descriptor[..]] {
            let sense = Sense::parse(data).expect("sense");
            assert_eq!(sense, Sense { key: 5, code: 0x20, qualifier: 0 });
            assert_eq!(sense.to_string(), "the command is not supported (sense 05/20/00)");
        }
        assert_eq!(Sense::parse(&[]), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(mut data in prop::collection::vec(any::<u8>(), 0..300)) {
            for page in [0x80, 0x83, 0xb0, 0xb1, 0xb2] {
                if let Some(number) = data.get_mut(1) {
                    *number = page;
                }
                let _ = (unit_serial(&data), world_wide_name(&data), limits(&data));
                let _ = (rotation(&data), provisioning(&data));
            }
            let _ = (Inquiry::parse(&data), Sense::parse(&data));
        }
    }
}
