//! The figures that are usual for a drive: those of the virtual drive of its model, as shipped, or
//! the medians of its class. `quick` holds its cells against them.
//!
//! Simulating the model beside every run would double its time, so the figures are stored: those of
//! `quick` on every preset without variation. `tests/it/usual.rs` measures and writes them.

use std::collections::BTreeMap;

use methods::Usual;
use record::{Run, TargetKind};

use crate::drives::{self, PREFIX, VirtualDrive};
use crate::peers::is_model;

/// The rates of each preset, by metric.
const FIGURES: &str = include_str!("usual.toml");

/// A figure is low for its model below 1/1.15 of the usual one: drives of one model and their
/// sessions vary by less.
const MODEL_FACTOR: f64 = 1.15;

/// The same of a run with another size or duration: caches hold another part of it.
const OTHER_FACTOR: f64 = 1.5;

/// The same for a class, whose drives differ by as much among themselves.
const CLASS_FACTOR: f64 = 4.0;

/// Options of `quick` that change its figures.
const CHANGING: [&str; 2] = ["size", "time"];

type Figures = BTreeMap<String, BTreeMap<String, f64>>;

/// The usual figures for the drive of a run; `None` if its class is unknown.
pub(crate) fn usual(run: &Run) -> Option<Usual> {
    // A test parses them.
    let figures: Figures = toml::from_str(FIGURES).ok()?;
    let is_changed =
        run.options.iter().flatten().any(|(name, _)| CHANGING.contains(&name.as_str()));
    let factor_min = if is_changed { OTHER_FACTOR } else { MODEL_FACTOR };
    let presets = drives::presets().ok()?;
    if let Some(name) = model_of(run, &presets)
        && let Some(of_model) = figures.get(&name)
    {
        return Some(Usual { whose: "this model", factor_min, figures: of_model.clone() });
    }
    let class = class_of_run(run)?;
    let members = presets.iter().filter(|preset| class_of(preset) == Some(class));
    let members: Vec<_> = members.filter_map(|preset| figures.get(&preset.name)).collect();
    let names: Vec<&String> = members.first()?.keys().collect();
    let medians = names.into_iter().map(|name| {
        let values: Vec<f64> = members.iter().filter_map(|m| m.get(name).copied()).collect();
        (name.clone(), analysis::medians(&values, 1).pop().unwrap_or(0.0))
    });
    Some(Usual { whose: "this class", factor_min: CLASS_FACTOR, figures: medians.collect() })
}

/// The preset of a run's drive: that of a virtual drive without its overrides, or of the model.
fn model_of(run: &Run, presets: &[VirtualDrive]) -> Option<String> {
    if run.target.kind == TargetKind::Virtual {
        let name = run.target.spec.strip_prefix(PREFIX)?;
        return Some(name.split('?').next().unwrap_or(name).to_string());
    }
    let model = run.target.drive.as_ref()?.model.as_deref()?;
    presets.iter().find(|preset| is_model(model, &preset.model)).map(|p| p.name.clone())
}

/// The kind of a drive's link, which its class follows.
fn class_of_run(run: &Run) -> Option<&'static str> {
    let bus = run.target.drive.as_ref()?.bus.as_str();
    match bus {
        "nvme" | "sata" | "usb" | "sd" | "mmc" => class_of_bus(bus),
        _ => None,
    }
}

fn class_of(preset: &VirtualDrive) -> Option<&'static str> {
    class_of_bus(preset.links.first()?)
}

fn class_of_bus(bus: &str) -> Option<&'static str> {
    let classes =
        [("nvme", "nvme"), ("pcie", "nvme"), ("sata", "sata"), ("usb", "usb"), ("sd", "sd")];
    let class = classes.into_iter().find(|(prefix, _)| bus.starts_with(prefix));
    let class = class.map(|(_, class)| class);
    class.or((bus.starts_with("mmc") || bus.starts_with("emmc")).then_some("mmc"))
}

#[cfg(test)]
mod tests {
    use record::{DriveIdentity, Target};

    use super::*;

    #[test]
    fn every_preset_has_usual_figures_and_a_class() {
        let figures: Figures = toml::from_str(FIGURES).expect("well formed");
        let presets = drives::presets().expect("well formed");
        for preset in &presets {
            let cells = figures.get(&preset.name).map_or(0, BTreeMap::len);
            assert!(cells == 8, "{}: {cells} cells", preset.name);
            assert!(class_of(preset).is_some(), "{}: {:?}", preset.name, preset.links);
        }
        assert_eq!(figures.len(), presets.len());
    }

    #[test]
    fn a_drive_is_held_against_its_model_or_its_class() {
        let mut run = Run::new("quick", Target::default());
        run.target.kind = TargetKind::Virtual;
        run.target.spec = "sim:wd-sn580-1t?unit=16384".into();
        let of_model = usual(&run).expect("a preset");
        assert_eq!((of_model.whose, of_model.factor_min), ("this model", MODEL_FACTOR));
        run.options = Some(BTreeMap::from([("time".to_string(), "5 s".to_string())]));
        assert_eq!(usual(&run).map(|usual| usual.factor_min), Some(OTHER_FACTOR));
        run.target.kind = TargetKind::Device;
        let drive = |model: &str, bus: &str| DriveIdentity {
            model: Some(model.into()),
            bus: bus.into(),
            ..DriveIdentity::default()
        };
        let of_class = |run: &Run| usual(run).map(|usual| usual.whose);
        run.target.drive = Some(drive("ACME X1", "nvme"));
        assert_eq!(of_class(&run), Some("this class"));
        run.target.drive = Some(drive("QEMU", "virtio"));
        assert_eq!(of_class(&run), None);
    }
}
