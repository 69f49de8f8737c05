//! Names of PCI functions: `pci:0000:00:05.0`, and `pci:0000:00:05.0/2` for the second namespace.

use std::fmt;
use std::str::FromStr;

use crate::error::DriveError;

/// Prefix of targets that name a PCI function.
pub const PREFIX: &str = "pci:";

/// Domain, bus, device and function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Address {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

/// A target: a function, with an optional namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    pub address: Address,
    pub nsid: Option<u32>,
}

impl Spec {
    /// Parses `pci:0000:00:05.0`, with or without the domain or a namespace.
    pub fn parse(spec: &str) -> Result<Spec, DriveError> {
        let unknown = || DriveError::NotFound {
            path: spec.into(),
            what: "not an address of a PCI function".into(),
            hint: Some("pci:0000:00:05.0, as shown by lspci -D and ssdyno list".into()),
        };
        let name = spec.strip_prefix(PREFIX).ok_or_else(unknown)?;
        let (address, nsid) = match name.split_once('/') {
            None => (name, None),
            Some((address, nsid)) => {
                let number = nsid.parse().ok().filter(|nsid| *nsid > 0);
                (address, Some(number.ok_or_else(unknown)?))
            }
        };
        Ok(Spec { address: address.parse().map_err(|()| unknown())?, nsid })
    }
}

impl FromStr for Address {
    type Err = ();

    fn from_str(text: &str) -> Result<Address, ()> {
        let (rest, function) = text.rsplit_once('.').ok_or(())?;
        let (rest, device) = rest.rsplit_once(':').ok_or(())?;
        let (domain, bus) = rest.rsplit_once(':').unwrap_or(("0000", rest));
        let (device, function) = (parse_hex(device, 2)?, parse_hex(function, 1)?);
        // Domains made by the kernel, as for the drives behind Intel VMD, begin at 0x10000.
        let digits = domain.len().clamp(4, 8);
        if device > 31 || function > 7 {
            return Err(());
        }
        Ok(Address {
            domain: parse_hex(domain, digits)?,
            bus: parse_hex(bus, 2)? as u8,
            device: device as u8,
            function: function as u8,
        })
    }
}

fn parse_hex(text: &str, digits: usize) -> Result<u32, ()> {
    let fits = text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit());
    fits.then(|| u32::from_str_radix(text, 16).ok()).flatten().ok_or(())
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { domain, bus, device, function } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_address_may_omit_its_domain_and_name_a_namespace() {
        let shown = |spec| Spec::parse(spec).map(|s| (s.address.to_string(), s.nsid)).ok();
        assert_eq!(shown("pci:00:05.0"), Some(("0000:00:05.0".into(), None)));
        assert_eq!(shown("pci:0001:AF:1f.7/2"), Some(("0001:af:1f.7".into(), Some(2))));
        assert_eq!(shown("pci:10000:e1:00.0/1"), Some(("10000:e1:00.0".into(), Some(1))), "VMD");
        for bad in ["pci:000:00:05.0", "pci:123456789:00:05.0", "pci::00:05.0"] {
            assert_eq!(shown(bad), None, "{bad}");
        }
        for bad in ["pci:", "pci:5", "pci:00:05", "pci:00:20.0", "pci:00:05.8", "00:05.0"] {
            assert_eq!(shown(bad), None, "{bad}");
        }
        for bad in ["pci:00:05.0/", "pci:00:05.0/0", "pci:00:05.0/x", "pci:../../x:05.0"] {
            assert_eq!(shown(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text: String) {
            let _ = Spec::parse(&format!("pci:{text}"));
        }
    }
}
