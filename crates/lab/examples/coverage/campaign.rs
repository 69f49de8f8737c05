//! The same runs as campaigns for many machines, and the judgement of their records.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use analysis::LogQuantity;
use lab::drives;
use record::Run;

use crate::sample::{SESSIONS, cells, session_number, varied};

/// Writes a campaign for each session of these specimens; the runs of a campaign have one seed.
pub fn write(directory: &Path, presets: &[&str], specimens: u64) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(directory)?;
    for session in 1..=SESSIONS as u64 {
        let drives = (1..=specimens).flat_map(|specimen| {
            presets.iter().map(move |preset| {
                let pairs = varied(specimen, session).map(|(key, value)| format!("{key}={value}"));
                format!("  \"{preset}?{}\",\n", pairs.join("&"))
            })
        });
        let text = format!(
            "name = \"coverage-{session}\"\nmethods = [\"quick\"]\nseeds = \"{session}\"\npresets = [\n{}]\n\
             [options]\nsize = \"1GiB\"\n",
            drives.collect::<String>()
        );
        fs::write(directory.join(format!("session-{session}.toml")), text)?;
    }
    Ok(())
}

/// The primary cells of the sessions of a specimen.
pub type Sessions = Vec<BTreeMap<String, LogQuantity>>;

/// The cells in records, one a line: by preset, specimen and session. Only specimens with all sessions.
pub fn read(records: &Path) -> Result<Vec<(String, Sessions)>, Box<dyn Error>> {
    let mut specimens: BTreeMap<(String, u64), BTreeMap<u64, _>> = BTreeMap::new();
    for line in BufReader::new(File::open(records)?).lines() {
        let run = Run::parse(&line?)?;
        let Some((preset, specimen, session)) = drive_of(&run) else { continue };
        specimens.entry((preset, specimen)).or_default().insert(session, cells(run.metrics));
    }
    let whole = specimens.into_iter().filter(|(_, sessions)| sessions.len() == SESSIONS);
    Ok(whole.map(|((preset, _), sessions)| (preset, sessions.into_values().collect())).collect())
}

/// The preset, the specimen and the session of a run of these campaigns.
fn drive_of(run: &Run) -> Option<(String, u64, u64)> {
    let (preset, overrides) = run.target.spec.strip_prefix(drives::PREFIX)?.split_once('?')?;
    let number = |key: &str| {
        let value = overrides.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
        value?.parse::<u64>().ok()
    };
    let (specimen, number) = (number("seed")?, number("vary.session_seed")?);
    let session = (1..=SESSIONS as u64).find(|s| session_number(specimen, *s) == number)?;
    Some((preset.to_string(), specimen, session))
}
