//! Compares the flash of the presets with published timings of similar flash.

use model::DriveSpec;

use crate::common::is_addressable;

fn presets() -> impl Iterator<Item = DriveSpec> {
    let names = DriveSpec::presets().filter(|name| is_addressable(name));
    names.map(|name| DriveSpec::preset(name).expect("a preset is read"))
}

/// Program rate of a die at full density, MB/s.
fn die_rate(spec: &DriveSpec) -> f64 {
    let nand = &spec.nand;
    let unit = *nand.planes * *nand.page_bytes * *nand.bits;
    f64::from(unit) / *nand.program_us
}

/// 8, 16 and 32 dies write 0.4, 0.9 and 1.7 GB/s, so each programs 50 to 56 MB/s.
#[test]
fn evo_plus_dies_program_at_their_known_rate() {
    let mut dies = Vec::new();
    for spec in presets().filter(|spec| spec.name.starts_with("samsung-970-evo-plus")) {
        let rate = die_rate(&spec);
        assert!((49.5..=56.5).contains(&rate), "{}: {rate:.1} MB/s a die", spec.name);
        dies.push(*spec.nand.dies);
    }
    dies.sort_unstable();
    assert_eq!(dies, [8, 16, 32]);
}

/// A preset without flash figures has typical TLC.
#[test]
fn undescribed_flash_is_typical_tlc() {
    let spec = DriveSpec::default();
    assert_eq!(*spec.nand.bits, 3);
    assert!((561.0..=937.0).contains(&*spec.nand.program_us));
    assert!((32.0..=58.0).contains(&*spec.nand.read_us));
    assert!((57.0..=184.0).contains(&die_rate(&spec)));
    assert_eq!(*spec.nand.slc_program_us, 75.0);
    assert!((4.0..=20.0).contains(&*spec.nand.slc_read_us));
}

/// Sense and erase times are within the published ranges. Program times only have to give a
/// plausible rate: if only the rate of a drive is known, they are fitted to it with a guessed
/// number of dies.
#[test]
fn flash_timings_of_presets_are_realistic() {
    for spec in presets() {
        let (name, nand) = (&spec.name, &spec.nand);
        assert!((2.0..=150.0).contains(&*nand.read_us), "{name}: {}", *nand.read_us);
        assert!((1000.0..=10_000.0).contains(&*nand.erase_us), "{name}: {}", *nand.erase_us);
        let rate = die_rate(&spec);
        assert!((0.1..=184.0).contains(&rate), "{name}: {rate:.1} MB/s a die");
    }
}
