//! Rates of known cameras and recorders, for `--camera`.

use workload::units::parse_rate;

/// A rate under a name.
struct Known {
    name: &'static str,
    /// As its source states it.
    rate: &'static str,
}

/// Rates that do not depend on frames per second.
///
/// `v30`, `v60`, `v90`: the minimum of the SD Association's video speed classes, which a camera may
/// demand. `hd-prores-hq`: ProRes 422 HQ at 1920x1080 and 29.97 frames per second (Apple, ProRes white
/// paper). `cinema-raw-light`: Canon C200 (slashCAM, first look at the C200, formats). `document-001`:
/// the recorder of document 001.
const FIXED: [Known; 6] = [
    Known { name: "v30", rate: "30MB/s" },
    Known { name: "v60", rate: "60MB/s" },
    Known { name: "v90", rate: "90MB/s" },
    Known { name: "hd-prores-hq", rate: "220Mbit/s" },
    Known { name: "cinema-raw-light", rate: "1Gbit/s" },
    Known { name: "document-001", rate: "2GB/s" },
];

/// ProRes at 4096 x 2160 and 24 frames per second (RED, V-RAPTOR operation guide 955-0225, file
/// formats). Every frame has the same target size, so that the rate is proportional to the frames per
/// second, of which that camera records up to 120.
const PRORES_4K24: [Known; 4] = [
    Known { name: "422", rate: "503Mbit/s" },
    Known { name: "hq", rate: "754Mbit/s" },
    Known { name: "4444", rate: "1131Mbit/s" },
    Known { name: "xq", rate: "1697Mbit/s" },
];
const PRORES_FRAMES: f64 = 24.0;
const PRORES_FRAMES_MAX: u32 = 120;

/// The rate of a known camera, bytes per second; `4k60-prores-hq` is ProRes 422 HQ at 60 frames per
/// second. The error lists the names.
pub(super) fn rate(name: &str) -> Result<f64, String> {
    fixed(name).or_else(|| prores(name)).ok_or_else(names)
}

fn fixed(name: &str) -> Option<f64> {
    parse_rate(FIXED.iter().find(|known| known.name == name)?.rate).ok()
}

fn prores(name: &str) -> Option<f64> {
    let (frames, kind) = name.strip_prefix("4k")?.split_once("-prores-")?;
    let frames: u32 = frames.parse().ok().filter(|n| (1..=PRORES_FRAMES_MAX).contains(n))?;
    let codec = PRORES_4K24.iter().find(|known| known.name == kind)?;
    Some(parse_rate(codec.rate).ok()? * f64::from(frames) / PRORES_FRAMES)
}

fn names() -> String {
    let fixed: Vec<&str> = FIXED.iter().map(|known| known.name).collect();
    let kinds: Vec<&str> = PRORES_4K24.iter().map(|known| known.name).collect();
    let (fixed, kinds) = (fixed.join(", "), kinds.join("|"));
    format!("one of {fixed}, or 4kFRAMES-prores-{kinds} such as 4k24-prores-hq")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_cameras_have_rates_and_others_get_the_list() {
        assert_eq!(rate("v30"), Ok(30e6));
        assert_eq!(rate("4k24-prores-hq"), Ok(754e6 / 8.0));
        assert_eq!(rate("4k60-prores-hq"), Ok(754e6 / 8.0 * 2.5));
        for Known { name, .. } in &FIXED {
            assert!(rate(name).is_ok_and(|rate| rate > 1e6), "{name}");
        }
        for name in ["", "v31", "4k-prores-hq", "4k240-prores-hq", "4k24-prores-lt"] {
            let listed = rate(name).expect_err("unknown");
            assert!(listed.contains("v90") && listed.contains("4444"), "{listed}");
        }
    }
}
