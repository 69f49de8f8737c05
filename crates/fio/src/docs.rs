//! `docs/fio.md`, made from the tables that the parser works by.

use super::examples;
use super::options::{self, ENGINE_OPTIONS, ENGINES, Entry, Standing};
use super::switches::{Asked, SWITCHES};

const HEAD: &str = "\
# What `ssdyno fio` understands

`ssdyno fio` takes fio's command line and job files. This table has every option of fio 3.42: *served* does what it does in
fio; *accepted* has no effect, because none is missed; *refused* is an error that names the option and says why, so that no
run measures something else than was asked for. `--warn-unsupported` leaves refused options out with a warning. A refused
option is accepted with a value that asks for nothing. The page is made from the parser's own tables.

Values are read as fio reads them (`k` counts 1024 and `kib` 1000 unless `kb_base=1000`; a time without a unit is seconds or
microseconds as in fio), but what fio would read in part is an error: `1.5g`, which fio takes for 1 byte, `60sec`, which it
takes for 60 microseconds, `8kk`. A slip in a name is told with the nearest option.

fio's words alone do not let a run write to a device: that takes ssdyno's own `--destroy`.
";

/// The page.
pub fn markdown() -> String {
    let mut page = HEAD.to_string();
    page += "\n## Command line\n\n| option | | |\n|---|---|---|\n";
    for switch in SWITCHES {
        let (standing, text) = match switch.asked {
            Asked::Served { remark, .. } => ("served", remark),
            Asked::Idle(why) => ("accepted", why),
            Asked::Refused(why) => ("refused", why),
        };
        page += &row(&format!("`--{}`", switch.name), standing, text);
    }
    page += "\n## Options of jobs\n\n| option | | |\n|---|---|---|\n";
    let mut entries: Vec<_> = options::all().collect();
    entries.sort_by_key(|entry| entry.name);
    entries.into_iter().for_each(|entry| page += &entry_row(entry));
    page += "\n## Engines\n\n| engine | | |\n|---|---|---|\n";
    for engine in ENGINES {
        let standing = if engine.engine.is_some() { "served" } else { "refused" };
        page += &row(&quoted(engine.names.iter().copied()), standing, engine.remark);
    }
    page += "\n## Options of engines and profiles\n";
    for group in ENGINE_OPTIONS {
        page += &format!("\n{}:\n\n| option | | |\n|---|---|---|\n", group.engines);
        group.entries.iter().for_each(|entry| page += &entry_row(entry));
    }
    page + &examples::markdown()
}

fn entry_row(entry: &Entry) -> String {
    let names = quoted(entry.names());
    match entry.standing {
        Standing::Served { remark, .. } => row(&names, "served", remark),
        Standing::Idle(why) => row(&names, "accepted", why),
        Standing::Refused { why, fine: [] } => row(&names, "refused", why),
        Standing::Refused { why, fine } => {
            row(&names, "refused", &format!("{why} ({} accepted)", quoted(fine.iter().copied())))
        }
    }
}

fn row(names: &str, standing: &str, text: &str) -> String {
    format!("| {names} | {standing} | {text} |\n")
}

fn quoted(names: impl Iterator<Item = &'static str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
