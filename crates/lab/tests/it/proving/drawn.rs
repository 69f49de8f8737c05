//! Drives drawn at random: a preset with up to three overrides, as a user would write them.
//!
//! A range covers what drives on sale had, and somewhat more. It is narrower than what a description
//! permits, which would mostly yield drives that no quick run can measure.

use fuzz::Random;
use model::{DriveSpec, MapKind};

/// Maximum number of overrides.
const OVERRIDES_MAX: usize = 3;

/// Attempts to find a valid drive before one without overrides is taken.
const ATTEMPTS: usize = 50;

/// Share of the drives that are presets without overrides, as long as there are enough presets.
const SHIPPED_SHARE: f64 = 0.28;

/// A drive, its specimen and its session.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    pub preset: &'static str,
    pub overrides: Vec<(&'static str, String)>,
    /// Seed of the specimen.
    pub specimen: u64,
    /// Seed of the session.
    pub session: u64,
}

/// Drives on which a parameter has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    All,
    /// Drives that map pages.
    Page,
    /// Cards and sticks.
    Card,
}

/// Values of a parameter.
enum Values {
    /// Log-uniform between two limits, with two significant digits.
    Between(f64, f64),
    /// The same, as whole numbers.
    Whole(f64, f64),
    /// Sizes in powers of two, bytes.
    Size(u64, u64),
    OneOf(&'static [&'static str]),
}

use On::{All, Card, Page};
use Values::{Between, OneOf, Size, Whole};

const FAST_BUSES: &[&str] = &[
    "pcie-1x1",
    "pcie-2x1",
    "pcie-2x2",
    "pcie-3x2",
    "sata-1",
    "sata-2",
    "sata-3",
    "usb-2",
    "usb-3",
    "usb-3-uas",
];

/// Parameters that can be overridden.
static PARAMETERS: [(&str, On, Values); 40] = [
    ("link", Page, OneOf(FAST_BUSES)),
    ("link", Card, OneOf(&["usb-2", "usb-3", "sd-default", "sd-high"])),
    ("depth", All, OneOf(&["1", "2", "4", "8", "16", "32"])),
    ("turnaround", All, Between(20.0, 2000.0)),
    ("host", All, Between(5.0, 2000.0)),
    ("command.cores", All, Whole(1.0, 8.0)),
    ("command.read_us", All, Between(1.0, 200.0)),
    ("command.write_us", All, Between(1.0, 200.0)),
    ("command.latency_us", All, Between(2.0, 1000.0)),
    ("command.flush_us", All, Between(50.0, 50_000.0)),
    ("wake", All, Between(200.0, 20_000.0)),
    ("buffer", All, Size(128 << 10, 64 << 20)),
    ("buffer.intake_mb_s", All, Between(50.0, 3000.0)),
    ("buffer.combine", All, Whole(1.0, 64.0)),
    ("read_cache", All, Size(1 << 20, 256 << 20)),
    ("unit", All, OneOf(&["8192", "16384", "32768", "65536"])),
    ("map.rmw_us", All, Between(10.0, 500.0)),
    ("map.piece_us", Page, Between(0.5, 100.0)),
    ("map_cache", Page, Size(64 << 10, 4 << 20)),
    ("map.miss_us", Page, Between(20.0, 200.0)),
    ("open_aus", Card, Whole(1.0, 16.0)),
    ("map.au", Card, Size(512 << 10, 8 << 20)),
    ("map.cross_us", Card, Between(20.0, 500.0)),
    ("map.random_in_au", Card, OneOf(&["true", "false"])),
    ("slc", Page, Size(256 << 20, 8 << 30)),
    ("drain", Page, Between(0.05, 0.9)),
    ("slc.first", Page, OneOf(&["true"])),
    ("slc.idle_fold", Page, OneOf(&["false"])),
    ("op", All, Between(0.03, 0.5)),
    ("nand.dies", All, OneOf(&["1", "2", "4", "8", "16", "32"])),
    ("nand.channels", All, OneOf(&["1", "2", "4", "8", "16"])),
    ("nand.planes", All, OneOf(&["1", "2", "4"])),
    ("nand.read_us", All, Between(10.0, 8000.0)),
    ("nand.program_us", All, Between(150.0, 10_000.0)),
    ("nand.slc_read_us", Page, Between(8.0, 500.0)),
    ("nand.slc_program_us", Page, Between(30.0, 2000.0)),
    ("nand.bus_mb_s", All, Between(20.0, 2400.0)),
    ("nand.suspend_us", Page, OneOf(&["-1", "5", "100"])),
    ("wear", All, Between(0.5, 2.0)),
    ("temperature", All, Between(20.0, 110.0)),
];

/// Draws drives, of which the first are presets as shipped.
pub fn draw(count: usize, seed: u64) -> Vec<Drawn> {
    let mut random = Random::new(seed);
    let mut presets: Vec<&'static str> = DriveSpec::presets().collect();
    for i in (1..presets.len()).rev() {
        presets.swap(i, random.below(i + 1));
    }
    let shipped = ((count as f64 * SHIPPED_SHARE).ceil() as usize).min(presets.len());
    (0..count)
        .map(|i| {
            let preset = presets.get(i).filter(|_| i < shipped).copied();
            let (specimen, session) = (1 + random.below(1 << 20), 1 + random.below(1 << 20));
            Drawn {
                overrides: Vec::new(),
                preset: preset.unwrap_or_else(|| presets[random.below(presets.len())]),
                specimen: specimen as u64,
                session: session as u64,
            }
            .overridden(
                if preset.is_some() { 0 } else { 1 + random.below(OVERRIDES_MAX) },
                &mut random,
            )
        })
        .collect()
}

impl Drawn {
    /// The same drive with so many random overrides that its description permits.
    fn overridden(self, count: usize, random: &mut Random) -> Drawn {
        let kind = *DriveSpec::preset(self.preset).expect("a preset").map.kind;
        let on = if kind == MapKind::Au { Card } else { Page };
        for _ in 0..ATTEMPTS {
            let mut overrides: Vec<(&'static str, String)> = Vec::new();
            while overrides.len() < count {
                let (key, only, values) = &PARAMETERS[random.below(PARAMETERS.len())];
                if (*only == All || *only == on) && overrides.iter().all(|(other, _)| other != key)
                {
                    overrides.push((*key, values.draw(random)));
                }
            }
            let drawn = Drawn { overrides, ..self.clone() };
            if drawn.described().is_ok() {
                return drawn;
            }
        }
        self
    }

    fn described(&self) -> Result<DriveSpec, model::SpecError> {
        let pairs = self.overrides.iter().map(|(key, value)| (*key, value.as_str()));
        DriveSpec::preset(self.preset)?.with_overrides(&pairs.collect::<Vec<_>>())
    }

    /// The description, as a run sees it.
    pub fn spec(&self) -> DriveSpec {
        let mut spec = self.described().expect("drawn drives are valid");
        spec.seed.value = self.specimen;
        (spec.vary.amount.value, spec.vary.session_seed.value) = (1.0, self.session);
        spec
    }

    /// The target as a user writes it.
    pub fn target(&self) -> String {
        let pairs = self.overrides.iter().map(|(key, value)| format!("{key}={value}&"));
        let pairs: String = pairs.collect();
        format!("sim:{}?{pairs}seed={}", self.preset, self.specimen)
    }

    /// The command that repeats the run.
    pub fn command(&self) -> String {
        format!("ssdyno run '{}' --seed {}", self.target(), self.session)
    }

    /// The same specimen and session of the preset without overrides.
    pub fn as_shipped(&self) -> Drawn {
        Drawn { overrides: Vec::new(), ..self.clone() }
    }
}

impl Values {
    fn draw(&self, random: &mut Random) -> String {
        let mut share = || random.below(1 << 30) as f64 / f64::from(1 << 30);
        let mut between = |low: f64, high: f64| low * libm::pow(high / low, share());
        match *self {
            Between(low, high) => {
                let value = between(low, high);
                let digit = libm::pow(10.0, 1.0 - libm::floor(libm::log10(value)));
                format!("{}", (value * digit).round() / digit)
            }
            Whole(low, high) => format!("{:.0}", between(low, high)),
            Size(low, high) => {
                let octaves = (high / low).ilog2() as usize;
                (low << random.below(octaves + 1)).to_string()
            }
            OneOf(words) => words[random.below(words.len())].to_string(),
        }
    }
}
