//! Generates `docs/fio.md` from the parser's tables.

use super::examples;
use super::options::{self, ENGINE_OPTIONS, ENGINES, Standing};
use super::switches::SWITCHES;

const HEAD: &str = "\
# fio's options in `ssdyno fio`

`ssdyno fio` takes fio's command line and job files. The tables list every option of fio 3.42: *supported* options have fio's
effect; *accepted* options have none, because none is needed; *refused* options are errors with a reason, so that no run
measures something other than requested. `--warn-unsupported` drops refused options with a warning. A refused option is
accepted with a value that requests nothing. This page is generated from the parser's tables.

Values are read as in fio (`k` means 1024 and `kib` 1000 unless `kb_base=1000`; a time without a unit is seconds or
microseconds, depending on the option). Values that fio reads only partly are errors: `1.5g`, which is 1 byte to fio,
`60sec`, which is 60 microseconds, and `8kk`. A misspelt option is reported with the nearest one.

fio's options alone never allow a run to write to a device or to another program's file: that needs ssdyno's own options.

| ssdyno's own option | |
|---|---|
| `--destroy=SERIAL` | allows a device to be overwritten, named by its serial number, or a file, named by its size in bytes |
| `--overwrite-files` | allows every regular file that another program laid out (`dd`, bench-fio, ezfio) to be overwritten, never a device; `SSDYNO_OVERWRITE=DIR` in the environment allows it for those below a directory |
| `--no-iommu` | takes a `pci:` drive from the kernel although no IOMMU protects other memory from it (docs/safety.md) |
| `--as-is` | for scripts: the version in the text is fio's, and the remarks on the figures, which otherwise follow on stderr, are left out; buffers are in pages of the usual size rather than in huge ones, submission is timed apart, jobs that verify leave fio's state files, writes that `verify_only` leaves out count in the results, and seeds of jobs with `randrepeat=0` differ between runs. `SSDYNO_AS_IS=1` does the same, and so does running `ssdyno` through a link named `fio`. The record has everything (`ssdyno show`) |
| `--store=FILE` | the store for the record |
| `--prom=DIR` | also write the metrics to a textfile of node_exporter in a directory |
| `--title=TEXT` | a title for the record |
| `--note=TEXT` | a remark for the record |
| `--tag=NAME=VALUE` | a tag to group and filter by, as in board=mini-a; can be repeated |
| `--where=on` | follows requests in the kernel, as root, and keeps in the record where the time of single jobs goes; it costs processor time |
| `--dry-run` | shows the plan and stops |

The output has fio's layout: text, JSON with its order of keys, json+, terse lines, logs. fio has no field for what ssdyno adds;
in JSON it is in objects named `ssdyno`, which end the document and each job. Every percentile is printed, as in fio;
`ssdyno.thin` names those with fewer than ten samples beyond them.

Jobs run on virtual drives, too, in virtual time. `filename=sim:NAME` is the whole drive, `directory=sim:NAME` puts the files
of a job on it, as regions in order of mention. Such a value is taken whole, including colons; a file
named `sim` is `./sim`. Data that a job reads are laid out first. `verify` and `ioengine=mmap` are refused, as are two
drives in one plan; the page cache, priorities and placement have no effect, as a note says. With `sync=` each write costs a
flush, as in the kernel on a drive with a write cache.

`cargo xtask bench fio-against` draws command lines and job files at random, runs them with an installed fio and with
`ssdyno fio`, and compares operations, bytes, flushes, offsets, files, exit codes and the fields of the outputs. The few
deliberate differences are listed in `crates/ssdyno/tests/it/fio_against/reasons.rs`.
";

/// The whole page.
pub fn markdown() -> String {
    let mut page = HEAD.to_string();
    page += "\n## Command line\n\n| option | | |\n|---|---|---|\n";
    for switch in SWITCHES {
        page += &row(&format!("`--{}`", switch.name), switch.standing);
    }
    page += "\n## Options of jobs\n\n| option | | |\n|---|---|---|\n";
    let mut entries: Vec<_> = options::all().collect();
    entries.sort_by_key(|entry| entry.name);
    for entry in entries {
        page += &row(&quoted(entry.names()), entry.standing);
    }
    page += "\n## Engines\n\n| engine | | |\n|---|---|---|\n";
    for engine in ENGINES {
        page += &row(&quoted(engine.names.iter().copied()), engine.standing);
    }
    page += "\n## Options of engines and profiles\n";
    for group in ENGINE_OPTIONS {
        page += &format!("\n{}:\n\n| option | | |\n|---|---|---|\n", group.engines);
        for entry in group.entries {
            page += &row(&quoted(entry.names()), entry.standing);
        }
    }
    page + &examples::markdown()
}

fn row<S>(names: &str, standing: Standing<S>) -> String {
    match standing {
        Standing::Supported { remark, .. } => format!("| {names} | supported | {remark} |\n"),
        Standing::Idle(why) => format!("| {names} | accepted | {why} |\n"),
        Standing::Refused { why, fine: [] } => format!("| {names} | refused | {why} |\n"),
        Standing::Refused { why, fine } => {
            let fine = quoted(fine.iter().copied());
            format!("| {names} | refused | {why} ({fine} accepted) |\n")
        }
    }
}

fn quoted(names: impl Iterator<Item = &'static str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
