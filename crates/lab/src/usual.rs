//! The figures that are usual for a drive: those of the virtual drive of its model, as shipped, or
//! the medians of its class. `quick` holds its cells against them.
//!
//! Simulating the model beside every run would double its time, so the figures are stored: those of
//! `quick` and the durable writes of `iozone` on every preset without variation. `tests/it/usual.rs`
//! measures and writes them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use methods::{Usual, UsualFigure};
use record::{MetricKey, Run, Target, TargetKind};
use serde::Deserialize;

use crate::drives::PREFIX;
use crate::model_name::is_model;
use crate::spread;

/// What is known about each preset. To parse the presets themselves takes ten times as long, in every
/// run.
const FIGURES: &str = include_str!("usual.toml");

/// A figure is low for its model below 1/1.15 of the usual one: drives of one model vary by less.
const MODEL_FACTOR: f64 = 1.15;

/// It is also lower than by so many standard deviations between runs: all rounds of a run share what
/// differs from run to run.
const DEVIATIONS: f64 = 3.0;

/// The same of a run with another size or duration: caches hold another part of it.
const OTHER_FACTOR: f64 = 1.5;

/// Options of `quick` that change its figures.
const CHANGING: [&str; 2] = ["size", "time"];

/// The rates of a preset, by metric: eight of `quick` and two of durable writes.
pub(crate) type Figures = BTreeMap<String, f64>;

/// The figures of the preset of this name.
pub(crate) fn of_preset(name: &str) -> Option<Figures> {
    models().get(name).map(|model| model.figures.clone())
}

/// Classes of drives that a link of no known kind, as that of a virtual machine, may lead to. Cards and
/// sticks are named by their links.
const INNER: [&str; 2] = ["nvme", "sata"];

/// The figures of all presets of the target's class or, if that is unknown, of the inner ones.
pub(crate) fn of_class(target: &Target) -> Vec<Figures> {
    let class = class_of_target(target);
    let members = models().values().filter(|model| match class {
        Some(_) => class_of_bus(&model.bus) == class,
        None => class_of_bus(&model.bus).is_some_and(|class| INNER.contains(&class)),
    });
    members.map(|model| model.figures.clone()).collect()
}

/// The preset of the drive with this model number.
pub(crate) fn preset_of(model: &str) -> Option<&'static str> {
    models().iter().find(|(_, known)| is_model(model, &known.drive)).map(|(name, _)| &**name)
}

/// What is known about every preset, by name; parsed once in a process. A test parses it too.
fn models() -> &'static BTreeMap<String, Model> {
    static MODELS: OnceLock<BTreeMap<String, Model>> = OnceLock::new();
    MODELS.get_or_init(|| toml::from_str(FIGURES).unwrap_or_default())
}

/// What is known about a model.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    /// The drive that the preset models.
    drive: String,
    /// The bus next to the host.
    bus: String,
    figures: Figures,
    /// What the rates would gain without the causes that the rules named.
    #[serde(default)]
    gains: BTreeMap<String, BTreeMap<String, f64>>,
}

/// The usual figures for the drive of a run; `None` if its class is unknown.
pub(crate) fn usual(run: &Run) -> Option<Usual> {
    let is_changed =
        run.options.iter().flatten().any(|(name, _)| CHANGING.contains(&name.as_str()));
    let factor_min = |metric: &str| {
        let spread = spread::prior_of_metric(run, &MetricKey::parse(metric));
        let least = if is_changed { OTHER_FACTOR } else { MODEL_FACTOR };
        least.max(libm::exp(DEVIATIONS * spread))
    };
    if let Some(model) = preset_of_run(run).and_then(|name| models().get(name)) {
        let figures = model.figures.keys().filter_map(|metric| {
            Some((metric.clone(), usual_figure(&[model], metric, factor_min(metric))?))
        });
        return Some(Usual { whose: "this model", figures: figures.collect() });
    }
    let class = class_of_target(&run.target)?;
    let members = models().values().filter(|model| class_of_bus(&model.bus) == Some(class));
    let members: Vec<&Model> = members.collect();
    let figures = members.first()?.figures.keys().filter_map(|metric| {
        Some((metric.clone(), usual_figure(&members, metric, factor_min(metric))?))
    });
    Some(Usual { whose: "this class", figures: figures.collect() })
}

/// The median of the models' figures. A figure is low if it is this factor below all of them:
/// drives of one class differ by far more than those of one model.
fn usual_figure(models: &[&Model], metric: &str, factor_min: f64) -> Option<UsualFigure> {
    let values: Vec<f64> = models.iter().filter_map(|m| m.figures.get(metric).copied()).collect();
    let value = analysis::medians(&values, 1).pop()?;
    let lowest = values.iter().copied().fold(value, f64::min);
    let mut by_kind: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (kind, gain) in models.iter().filter_map(|model| model.gains.get(metric)).flatten() {
        by_kind.entry(kind.clone()).or_default().push(*gain);
    }
    // A cause is usual if most of them have it.
    let gains = by_kind.into_iter().filter(|(_, gains)| 2 * gains.len() > models.len());
    let gains = gains.filter_map(|(kind, gains)| Some((kind, analysis::medians(&gains, 1).pop()?)));
    Some(UsualFigure { value, factor_min: factor_min * value / lowest, gains: gains.collect() })
}

/// The preset of a run's drive: that of a virtual drive without its overrides, or of the model.
fn preset_of_run(run: &Run) -> Option<&str> {
    if run.target.kind == TargetKind::Virtual {
        let name = run.target.spec.strip_prefix(PREFIX)?;
        return Some(name.split('?').next().unwrap_or(name));
    }
    preset_of(run.target.drive.as_ref()?.model.as_deref()?)
}

/// The kind of a drive's link, which its class follows.
fn class_of_target(target: &Target) -> Option<&'static str> {
    let drive = target.drive.as_ref()?;
    match drive.bus.as_str() {
        bus @ ("nvme" | "sata" | "usb" | "sd" | "mmc") => class_of_bus(bus),
        "virtual" => class_of_bus(drive.link.as_ref()?.now.as_deref()?),
        _ => None,
    }
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
    use record::{DriveIdentity, Link};

    use super::*;
    use crate::drives;

    #[test]
    fn every_preset_has_usual_figures_and_a_class() {
        let presets = drives::presets().expect("well formed");
        for preset in presets {
            let model = &models()[&preset.name];
            let advice = "SSDYNO_WRITE_USUAL=none cargo test writes what needs no measurement";
            assert_eq!((&model.drive, &model.bus), (&preset.model, &preset.links[0]), "{advice}");
            let cells = model.figures.len();
            // A drive that holds no file of 100 MiB has no durable writes.
            assert!(
                cells == 10 || cells == 8 && preset.bytes < 110 << 20,
                "{}: {cells} cells",
                preset.name
            );
            assert!(class_of_bus(&model.bus).is_some(), "{}: {}", preset.name, model.bus);
        }
        assert_eq!(models().len(), presets.len());
    }

    #[test]
    fn a_drive_is_held_against_its_model_or_its_class() {
        let mut run = Run::new("quick", Target::default());
        run.target.kind = TargetKind::Virtual;
        run.target.spec = "sim:wd-sn580-1t?unit=16384".into();
        let usual_of = |run: &Run| {
            let usual = usual(run).expect("a preset");
            (usual.whose, usual.figures["seq-read-1MiB-q8"].factor_min)
        };
        assert_eq!(usual_of(&run), ("this model", MODEL_FACTOR));
        run.options = Some(BTreeMap::from([("time".to_string(), "5 s".to_string())]));
        assert_eq!(usual_of(&run), ("this model", OTHER_FACTOR));
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

    /// Which blocks of a card are open differs from run to run, and with it single random writes, by
    /// 12% (`spread`): twice as much is no loss.
    #[test]
    fn a_figure_that_differs_between_runs_is_low_beyond_that() {
        let mut run = Run::new("quick", Target::default());
        run.target.kind = TargetKind::Virtual;
        run.target.spec = "sim:sd-class2-late".into();
        run.target.drive = Some(DriveIdentity {
            bus: "virtual".into(),
            link: Some(Link { now: Some("sd-hs".into()), ..Link::default() }),
            ..DriveIdentity::default()
        });
        let usual = usual(&run).expect("a preset");
        let factor = |metric: &str| usual.figures[metric].factor_min;
        assert_eq!(factor("rand-read-4KiB-q1"), MODEL_FACTOR);
        assert_eq!(factor("rand-write-4KiB-q32"), MODEL_FACTOR);
        assert!((1.4..1.5).contains(&factor("rand-write-4KiB-q1")));
    }

    fn model(rate: f64, gain: Option<f64>) -> Model {
        let gains = gain.map(|gain| BTreeMap::from([("OPEN BLOCKS".to_string(), gain)]));
        let of_metric = |gains| BTreeMap::from([("a".to_string(), gains)]);
        Model {
            drive: String::new(),
            bus: "nvme".into(),
            figures: BTreeMap::from([("a".to_string(), rate)]),
            gains: gains.map_or_else(BTreeMap::new, of_metric),
        }
    }

    /// A drive as slow as the slowest of its class is not slow for its class.
    #[test]
    fn a_figure_is_low_for_a_class_if_it_is_below_all_of_it() {
        let class = [model(10.0, None), model(40.0, Some(3.0)), model(90.0, Some(5.0))];
        let class: Vec<&Model> = class.iter().collect();
        let figure = usual_figure(&class, "a", 1.2).expect("figures");
        assert_eq!((figure.value, figure.factor_min), (40.0, 1.2 * 4.0));
        assert_eq!(figure.gains["OPEN BLOCKS"], 4.0);
        let few = usual_figure(&class[..2], "a", 1.2).expect("figures");
        assert!(few.gains.is_empty(), "half of them are not most");
        assert_eq!(usual_figure(&class, "b", 1.2), None);
    }
}
