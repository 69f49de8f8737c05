//! Links in series between host and drive, such as a USB bridge on a host's port.
//!
//! A link carries data at its payload ceiling, half or full duplex, with a turn-around per transfer
//! if its protocol has one. Data pass through the chain without being stored (cut-through), so a
//! chain is as fast as its slowest link. A transfer reserves the link when its command arrives, not
//! when a full buffer admits it, so reads overtake waiting writes.
//!
//! Asserted at every transfer and completion: the time of a link and of a queue slot never runs
//! backwards.
//!
//! The ceiling of PCIe is lanes x rate x encoding x payload / (payload + 28), with 28 bytes of
//! header and framing per packet. Those of the other buses are measured.

use crate::spec::{DriveSpec, LinkSpec};

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Host to drive.
    In = 0,
    /// Drive to host.
    Out = 1,
}

#[derive(Clone, Debug)]
struct Link {
    ps_per_byte: u64,
    turnaround_ns: u64,
    transfer_bytes: u64,
    duplex: bool,
    free: [u64; 2],
}

#[derive(Clone, Debug)]
pub struct Links {
    links: Vec<Link>,
    /// Time at which each queue slot becomes free. Empty if outstanding commands are not limited.
    places: Vec<u64>,
    /// Time that transfers added to that of the drive so far, nanoseconds.
    added_ns: u64,
}

/// Returns the payload ceiling of a bus in bytes per second, whether it is full duplex, and the
/// maximum number of outstanding commands (0: no limit). `packet` is the PCIe payload size in
/// bytes; 0 selects 128 for generations 1 and 2, and 256 for later ones.
pub fn bus(name: &str, packet: u32) -> Option<(f64, bool, u32)> {
    if let Some(rest) = name.strip_prefix("pcie-") {
        let (generation, lanes) = rest.split_once('x')?;
        let lanes: u32 = lanes.parse().ok().filter(|l| (1..=16).contains(l))?;
        let (rate, encoding, usual) = match generation {
            "1" => (2.5e9, 0.8, 128),
            "2" => (5e9, 0.8, 128),
            "3" => (8e9, 128.0 / 130.0, 256),
            "4" => (16e9, 128.0 / 130.0, 256),
            "5" => (32e9, 128.0 / 130.0, 256),
            _ => return None,
        };
        let payload = f64::from(if packet == 0 { usual } else { packet });
        let share = payload / (payload + 28.0);
        return Some((f64::from(lanes) * rate * encoding / 8.0 * share, true, 0));
    }
    let (mb_s, depth) = match name {
        "none" => (1e6, 0),
        "sata-1" => (140.0, 32),
        "sata-2" => (280.0, 32),
        "sata-3" => (560.0, 32),
        "usb-1" => (1.0, 1),
        "usb-2" => (40.0, 1),
        "usb-3" => (430.0, 1),
        "usb-3-uas" => (460.0, 30),
        "usb-3.1-uas" => (1050.0, 30),
        "sd-default" => (12.5 * 0.88, 1),
        "sd-high" => (25.0 * 0.88, 1),
        "sd-sdr50" => (50.0 * 0.9, 1),
        "sd-ddr50" => (50.0 * 0.88, 1),
        "sd-sdr104" => (104.0 * 0.9, 1),
        "emmc-high" => (52.0 * 0.88, 1),
        "emmc-ddr" => (104.0 * 0.88, 1),
        "emmc-hs200" => (200.0 * 0.9, 1),
        "emmc-hs400" => (400.0 * 0.85, 1),
        _ => return None,
    };
    Some((mb_s * 1e6, false, depth))
}

/// The names known to [`bus`].
pub const BUSES: &str = "none, pcie-<1..5>x<lanes>, sata-<1..3>, usb-1, usb-2, usb-3, usb-3-uas, \
    usb-3.1-uas, sd-default, sd-high, sd-sdr50, sd-ddr50, sd-sdr104, emmc-high, emmc-ddr, \
    emmc-hs200, emmc-hs400";

impl LinkSpec {
    /// Returns the payload ceiling in bytes per second, whether the link is full duplex, and the
    /// depth.
    pub fn resolve(&self) -> Option<(f64, bool, u32)> {
        let (rate, duplex, depth) = bus(&self.bus, *self.packet_bytes)?;
        let rate = if *self.ceiling_mb_s > 0.0 { *self.ceiling_mb_s * 1e6 } else { rate };
        Some((rate, duplex, if *self.depth > 0 { *self.depth } else { depth }))
    }

    /// Payload rate of a long sequence of maximum-size transfers, including turn-arounds, in bytes
    /// per second.
    pub fn ceiling(&self) -> Option<f64> {
        let (rate, _, _) = self.resolve()?;
        let bytes = self.transfer_bytes.0 as f64;
        if bytes == 0.0 {
            return Some(rate);
        }
        Some(bytes / (bytes / rate + *self.turnaround_us / 1e6))
    }
}

impl DriveSpec {
    /// Payload ceiling of the whole chain in bytes per second; `None` without links.
    pub fn link_ceiling(&self) -> Option<f64> {
        self.link.iter().filter_map(LinkSpec::ceiling).reduce(f64::min)
    }
}

impl Links {
    /// Creates the chain of a description. Links with an unknown bus have already been rejected.
    pub fn new(specs: &[LinkSpec]) -> Links {
        let mut depth = 0;
        let mut links = Vec::new();
        for spec in specs {
            let Some((rate, duplex, places)) = spec.resolve() else { continue };
            links.push(Link {
                ps_per_byte: (1e12 / rate).round() as u64,
                turnaround_ns: (*spec.turnaround_us * 1e3) as u64,
                transfer_bytes: spec.transfer_bytes.0,
                duplex,
                free: [0; 2],
            });
            depth = if depth == 0 || places == 0 { depth.max(places) } else { depth.min(places) };
        }
        Links { links, places: vec![0; depth as usize], added_ns: 0 }
    }

    /// Returns the time at which a command that arrives at `at` gets a queue slot, and the slot.
    #[inline]
    pub fn enter(&self, at: u64) -> (u64, usize) {
        let place = self.places.iter().copied().zip(0..).min();
        place.map_or((at, 0), |(free, place)| (at.max(free), place))
    }

    /// Releases the slot of a completed command.
    #[inline]
    pub fn leave(&mut self, place: usize, done: u64) {
        if let Some(free) = self.places.get_mut(place) {
            advance(free, done);
        }
    }

    /// Transfers `bytes`; the first one is available at `first`, the last one at `last`.
    /// Returns the arrival time of the last.
    #[inline]
    pub fn carry(&mut self, way: Way, first: u64, last: u64, bytes: u64) -> u64 {
        let (mut begin, mut end) = (first, last);
        for link in &mut self.links {
            let time = link.time(bytes);
            let free = &mut link.free[if link.duplex { way as usize } else { 0 }];
            begin = begin.max(*free);
            end = end.max(begin + time);
            advance(free, begin + time);
        }
        self.added_ns += end - last;
        end
    }

    /// Time that all transfers so far added after their last byte was available, nanoseconds.
    #[inline]
    pub fn added_ns(&self) -> u64 {
        self.added_ns
    }

    /// Transfer time of `bytes` on the slowest link when all are idle.
    #[inline]
    pub fn time(&self, bytes: u64) -> u64 {
        self.links.iter().map(|link| link.time(bytes)).max().unwrap_or(0)
    }
}

/// Moves the time at which a link or a queue slot becomes free.
#[inline]
fn advance(free: &mut u64, time: u64) {
    assert!(time >= *free, "the time of a link runs from {free} back to {time}");
    *free = time;
}

impl Link {
    #[inline]
    fn time(&self, bytes: u64) -> u64 {
        let data = bytes * self.ps_per_byte / 1000;
        if self.turnaround_ns == 0 {
            return data;
        }
        let transfers =
            if self.transfer_bytes == 0 { 1 } else { bytes.div_ceil(self.transfer_bytes) };
        data + transfers.max(1) * self.turnaround_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figure;

    fn ceiling(name: &str) -> f64 {
        bus(name, 0).expect("known").0 / 1e6
    }

    #[test]
    fn ceilings_are_the_known_ones() {
        let figures = [
            ("pcie-2x1", 410.0, 0.01),
            ("pcie-3x4", 3550.0, 0.01),
            ("pcie-4x4", 7100.0, 0.01),
            ("sata-3", 560.0, 0.01),
            ("usb-2", 40.0, 0.08),
        ];
        for (name, mb_s, tolerance) in figures {
            assert!((ceiling(name) / mb_s - 1.0).abs() < tolerance, "{name}: {}", ceiling(name));
        }
    }

    #[test]
    fn three_transactions_for_16_kib_are_6_4_mb_per_s() {
        let spec = LinkSpec {
            bus: Figure::guess("usb-2".into()),
            turnaround_us: Figure::guess(2150.0),
            transfer_bytes: Figure::guess(crate::figure::Size(16 << 10)),
            ..LinkSpec::default()
        };
        let rate = spec.ceiling().expect("known") / 1e6;
        assert!((rate - 6.4).abs() < 0.05, "{rate}");
    }

    #[test]
    fn a_chain_is_as_fast_as_its_slowest_link() {
        let link = |name: &str| LinkSpec { bus: Figure::guess(name.into()), ..LinkSpec::default() };
        let mut links = Links::new(&[link("pcie-2x1"), link("pcie-3x4")]);
        let done = (0..1000).fold(0, |_, _| links.carry(Way::Out, 0, 0, 128 << 10));
        let rate = 1000.0 * f64::from(128 << 10) / done as f64 * 1e3;
        assert!((rate - ceiling("pcie-2x1")).abs() < 1.0, "{rate} MB/s");
    }

    #[test]
    #[should_panic(expected = "runs from 500 back to 499")]
    fn the_time_of_a_queue_slot_never_runs_backwards() {
        let mut links = Links { links: Vec::new(), places: vec![0], added_ns: 0 };
        [500, 500, 499].into_iter().for_each(|done| links.leave(0, done));
    }
}
