//! Names of virtual drives: `sim:NAME`, `sim:class=NAME&capacity=1TB`, `sim:./my-drive.toml`,
//! `sim:NAME?capacity=64GiB&op=0.15`.

use std::fs;

use model::{DriveSpec, FigureOrigin};
use record::State;

use crate::error::{LabError, Result};

/// Prefix of the names of virtual drives.
pub const PREFIX: &str = "sim:";

/// Planned work from this duration on may skip steady stretches, seconds. Shorter work takes a minute of
/// processor time at most.
const LONG_SECONDS: f64 = 600.0;

/// Beginning of the name of a drive that only its class describes.
const CLASS: &str = "class=";

/// The drive named by a target, in a session with this seed; `None` if the target is not a virtual
/// drive. It varies as its description specifies, or by a default: a drive whose operations all
/// take the same time would be misleading.
pub(crate) fn described(target: &str, session_seed: u64) -> Option<Result<DriveSpec>> {
    let spec = target.strip_prefix(PREFIX).map(parse)?;
    Some(spec.map(|spec| {
        let mut spec = varied(spec);
        if spec.vary.session_seed.from == FigureOrigin::Guessed {
            spec.vary.session_seed.value = session_seed;
        }
        spec
    }))
}

/// The drive with the variation of a run, unless its description sets another.
pub(crate) fn varied(mut spec: DriveSpec) -> DriveSpec {
    if spec.vary.amount.from == FigureOrigin::Guessed {
        spec.vary.amount.value = 1.0;
    }
    spec
}

/// The drive with this name, with or without the prefix.
pub(crate) fn named(name: &str) -> Result<DriveSpec> {
    parse(name.strip_prefix(PREFIX).unwrap_or(name))
}

/// The virtual drives whose name a target begins with that is no path: `sim:sd-150x` for `sd-150x`.
pub(crate) fn meant(target: &str) -> Option<String> {
    let name = target.split('?').next().filter(|name| !name.is_empty() && !name.contains('/'))?;
    let presets = DriveSpec::presets().filter(|known| known.starts_with(name));
    let names: Vec<String> = presets.map(|known| format!("{PREFIX}{known}")).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The state in which a virtual drive begins: `sim:NAME?state=used`; fresh by default.
pub(crate) fn initial_state(target: &str) -> State {
    let state = query(target).split('&').filter_map(|pair| pair.strip_prefix("state=")).next_back();
    state.map_or(State::Fresh, State::named)
}

/// Whether work that is planned to take so many seconds skips steady stretches on a virtual drive: long
/// work on `sim:NAME?skip=on`.
pub(crate) fn skips(target: &str, planned_seconds: f64) -> bool {
    planned_seconds >= LONG_SECONDS && query(target).split('&').any(|pair| pair == "skip=on")
}

/// The keys and values of a target's name.
fn query(target: &str) -> &str {
    let separator = if target.contains(CLASS) { ['?', '&'] } else { ['?'; 2] };
    target.split_once(separator).map_or("", |(_, query)| query)
}

/// Refuses a word that does not name a state in which a drive can begin.
fn check_state(word: &str) -> Result<()> {
    let states = [State::Fresh, State::Filled, State::Used, State::Trimmed];
    if states.contains(&State::named(word)) {
        return Ok(());
    }
    let text = format!("no state '{word}'; known: fresh, filled, used, trimmed");
    Err(LabError::usage(text).advise("?state=used"))
}

fn parse(spec: &str) -> Result<DriveSpec> {
    let separator = if spec.starts_with(CLASS) { ['?', '&'] } else { ['?'; 2] };
    let (name, query) = spec.split_once(separator).unwrap_or((spec, ""));
    let in_file = name.contains('/') || name.ends_with(".toml");
    let base = if let Some(class) = name.strip_prefix(CLASS) {
        DriveSpec::from_class(class).map_err(|e| LabError::usage(e).advise("ssdyno drives"))
    } else if in_file {
        let text = fs::read_to_string(name).map_err(|e| LabError::usage(format!("{name}: {e}")));
        DriveSpec::parse(name, &text?).map_err(LabError::usage)
    } else {
        DriveSpec::preset(name).map_err(|e| LabError::usage(e).advise("ssdyno drives"))
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        pair.split_once('=')
            .ok_or_else(|| LabError::usage(format!("{PREFIX}{spec}: '{pair}' is not key=value")))
    });
    let mut pairs = pairs.collect::<Result<Vec<_>>>()?;
    let states = pairs.iter().filter(|(key, _)| *key == "state");
    states.map(|(_, word)| check_state(word)).collect::<Result<Vec<_>>>()?;
    // A state and a way to simulate belong to the run, not to the drive's description.
    pairs.retain(|(key, value)| {
        *key != "state" && !(*key == "skip" && ["on", "off"].contains(value))
    });
    base?.with_overrides(&pairs).map_err(|e| {
        let advice = (!in_file).then(|| format!("ssdyno drives show {name}"));
        LabError::usage(e).advise_if(advice)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_without_its_prefix_is_recognised() {
        assert_eq!(meant("sd-150x").as_deref(), Some("sim:sd-150x"));
        let several = meant("samsung-980-pro").expect("two capacities");
        assert_eq!(several, "sim:samsung-980-pro-1t, sim:samsung-980-pro-2t");
        for target in ["", "no-such-drive", "./sd-150x", "?op=0.1"] {
            assert_eq!(meant(target), None, "{target}");
        }
    }

    #[test]
    fn names_files_and_overrides() {
        assert!(described("/dev/sda", 1).is_none());
        let known = |spec: &str| described(spec, 7).expect("virtual").map_err(|e| e.to_string());
        let drive = known("sim:samsung-970-pro-1t?capacity=64GiB").expect("a preset");
        assert_eq!(drive.capacity.0, 64 << 30);
        assert_eq!((*drive.vary.amount, *drive.vary.session_seed), (1.0, 7));
        let bare = known("sim:samsung-970-pro-1t?vary=0&vary.session_seed=2").expect("a preset");
        assert_eq!((*bare.vary.amount, *bare.vary.session_seed), (0.0, 2));
        let named = named("samsung-970-pro-1t?capacity=64GiB").expect("a preset");
        assert_eq!((named.capacity.0, *named.vary.amount), (64 << 30, 0.0));
        assert!(known("sim:samsung-970-pro-1t?capacity").is_err_and(|e| e.contains("key=value")));
        assert!(known("sim:no-such-drive").is_err_and(|e| e.contains("no such drive")));
        assert!(known("sim:./none.toml").is_err());
        let of_class = known("sim:class=sd-a1&capacity=8GB").expect("a class");
        assert_eq!((of_class.capacity.0, &*of_class.class), (8_000_000_000, "sd-a1"));
        assert!(known("sim:class=sd-a9").is_err_and(|e| e.contains("did you mean 'sd-a1'?")));
        let advice = |spec: &str| {
            let error = described(spec, 7).expect("virtual").expect_err("an error");
            error.advice().map(String::from)
        };
        let parameters = Some("ssdyno drives show samsung-970-pro-1t".into());
        assert_eq!(advice("sim:samsung-970-pro-1t?capacity=1GiB&colour=red"), parameters);
        assert_eq!(advice("sim:no-such-drive?colour=red"), Some("ssdyno drives".into()));
        assert!(known("sim:samsung-970-pro-1t?state=used").is_ok());
        assert!(known("sim:samsung-970-pro-1t?state=old").is_err_and(|e| e.contains("no state")));
        assert_eq!(initial_state("sim:a?capacity=1GiB&state=used"), State::Used);
        assert_eq!(initial_state("sim:a?capacity=1GiB"), State::Fresh);
    }
}
