//! A record that may be published: what other people can compare with, and nothing else.
//!
//! Built from a list of what is allowed, never by removing what is not: a field that a later version
//! adds stays out until somebody allows it here. No serial number, host, path, command line, title or
//! other free text; the time to the day. Words are taken only if a program chose them (methods,
//! metrics, kinds of findings, units). Model and firmware are the drive's own words; they are taken if they
//! look like such and contain nothing that is private in the same record.

use record::{FindingKind, Metric, OriginKind, Run, State, TargetKind, Unit, VerdictKind};
use script::MethodInfo;
use serde_json::{Value, json};

use crate::beside;
use crate::error::{LabError, Result};
use crate::work;

/// Name and version of the schema of public records.
pub const SCHEMA: &str = "ssdyno.public/1";

/// Maximum length of a model or a firmware, characters: those of NVMe have 40 and 8.
const NAME_MAX: usize = 48;

/// Maximum digits in a row in the name of a metric: a size, a depth or a time, no serial number.
const DIGITS_MAX: usize = 7;

/// Shortest private text that is looked for in others; a shorter one is there by chance.
const PRIVATE_MIN: usize = 4;

/// Commands whose metrics are named by users, or whose target is no drive.
const UNPUBLISHED: [&str; 3] = ["command", "replicate", "iozone"];

/// The public part of a record. Fails if nothing in it can be compared: no model, a virtual drive, another
/// tool's results, or a run that did not end as planned.
pub fn public(run: &Run) -> Result<Value> {
    let refuse = |why: &str| Err(LabError::usage(format!("run {}: {why}", name(run))));
    if run.origin.as_ref().is_some_and(|origin| origin.kind != OriginKind::Published) {
        return refuse("results of another tool cannot be published: nothing was checked");
    }
    if run.origin.is_some() {
        return refuse("it is published already");
    }
    if !run.complete {
        return refuse("it was cut short");
    }
    if beside::drives(run).is_some() {
        return refuse("other drives were measured at the same time");
    }
    if !matches!(run.target.kind, TargetKind::Directory | TargetKind::File | TargetKind::Device) {
        return refuse("no real drive was measured");
    }
    let Ok(info) = work::description(&run.method) else {
        return refuse("a method of another version");
    };
    if UNPUBLISHED.contains(&info.name) {
        return refuse("its metrics are named by its user");
    }
    let private = private_texts(run);
    let drive = run.target.drive.as_ref();
    let Some(model) = drive.and_then(|drive| product_name(drive.model.as_deref()?, &private))
    else {
        return refuse("the model of its drive is unknown");
    };
    let metrics = run.metrics.iter().filter(|metric| is_ours(info, metric, &private));
    let metrics: Vec<Value> = metrics.map(metric_value).collect();
    if metrics.is_empty() {
        return refuse("nothing was measured");
    }
    let product = |text: Option<&String>| product_name(text?, &private);
    let state = Some(run.state_before).filter(|state| *state != State::Unknown);
    let state =
        state.filter(|state| State::ALL.contains(state)).map(|state| state.name().to_string());
    let filesystem = run.target.filesystem.as_ref().map(|filesystem| filesystem.kind.as_str());
    let findings = run.warnings.iter().map(|finding| &finding.kind);
    let findings = findings.filter(|kind| FindingKind::ALL.contains(kind)).map(FindingKind::name);
    let verdicts = run.verdicts.iter().map(|verdict| &verdict.kind);
    let verdicts = verdicts.filter(|kind| VerdictKind::ALL.contains(kind)).map(VerdictKind::name);
    Ok(json!({
        "schema": SCHEMA,
        "ssdyno": version(&run.environment.ssdyno),
        "method": info.name,
        "protocol": run.protocol,
        "day": day(&run.started),
        "drive": {
            "vendor": product(drive.and_then(|drive| drive.vendor.as_ref())),
            "model": model,
            "firmware": product(drive.and_then(|drive| drive.firmware.as_ref())),
            "bytes": drive.and_then(|drive| drive.bytes),
            "bus": drive.and_then(|drive| one_of(&drive.bus, &BUSES)),
        },
        "target": run.target.kind.name(),
        "file_system": filesystem.and_then(|kind| one_of(kind, &FILE_SYSTEMS)),
        "page_cache": run.target.direct.map(|direct| !direct),
        "state_before": state,
        "backend": run.environment.backend.as_deref().and_then(|name| one_of(name, &BACKENDS)),
        "kernel": run.environment.kernel.as_deref().and_then(kernel),
        "virtual_machine": run.environment.hypervisor.is_some(),
        "findings": findings.collect::<Vec<_>>(),
        "verdicts": verdicts.collect::<Vec<_>>(),
        "metrics": metrics,
    }))
}

const BUSES: [&str; 8] = ["nvme", "sata", "usb", "mmc", "sd", "ufs", "scsi", "virtio"];

const FILE_SYSTEMS: [&str; 14] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "vfat", "exfat", "ntfs3", "fuseblk",
    "overlay", "bcachefs", "tmpfs",
];

const BACKENDS: [&str; 5] = ["uring", "aio", "psync", "mmap", "nvme"];

fn one_of(text: &str, words: &[&'static str]) -> Option<&'static str> {
    words.iter().copied().find(|word| *word == text)
}

fn name(run: &Run) -> String {
    run.number.map_or_else(|| run.id.clone(), |number| number.to_string())
}

/// `2026-11-21`, if the time begins so.
fn day(started: &str) -> Option<&str> {
    let day = started.get(..10)?;
    day.parse::<jiff::civil::Date>().ok().map(|_| day)
}

/// Numbers and dots at the start of a version: `6.1` of `6.1.0-9-amd64-of-somebody`.
fn kernel(release: &str) -> Option<String> {
    let mut parts = release.split('.').map(|part| part.parse::<u16>());
    Some(format!("{}.{}", parts.next()?.ok()?, parts.next()?.ok()?))
}

fn version(text: &str) -> Option<String> {
    let parts: Vec<u16> = text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    Some(parts.iter().map(u16::to_string).collect::<Vec<_>>().join("."))
}

/// The texts of a record that identify a drive, a machine, a person or a place, in lower case.
fn private_texts(run: &Run) -> Vec<String> {
    let (target, machine) = (&run.target, &run.environment);
    let drive = target.drive.as_ref();
    let of_place = [Some(&target.spec), target.path.as_ref(), machine.host.as_ref()];
    let of_drive = drive.map(|drive| {
        [drive.serial.as_ref(), drive.hardware_id.as_ref(), drive.path.as_ref(), Some(&drive.name)]
    });
    let details = drive.into_iter().flat_map(|drive| &drive.details).map(|detail| &detail.value);
    let filesystem = target.filesystem.as_ref();
    let mounts = filesystem.map(|filesystem| [Some(&filesystem.mount), filesystem.source.as_ref()]);
    let labels = run.labels.as_ref();
    let texts = of_place
        .into_iter()
        .chain(of_drive.into_iter().flatten())
        .chain(mounts.into_iter().flatten());
    let texts = texts.chain([machine.machine_id.as_ref(), Some(&run.id)]).flatten().chain(details);
    let labels = labels
        .into_iter()
        .flat_map(|labels| labels.title.iter().chain(&labels.note).chain(labels.tags.values()));
    let words = texts.chain(labels).flat_map(|text| text.split(['/', ' ', ',', ':']));
    let words = words.map(|word| word.trim().to_lowercase());
    words.filter(|word| word.len() >= PRIVATE_MIN).collect()
}

fn is_private(text: &str, private: &[String]) -> bool {
    let text = text.to_lowercase();
    private.iter().any(|word| text.contains(word.as_str()))
}

/// A vendor, a model or a firmware, if it looks like one and has nothing private in it.
fn product_name(text: &str, private: &[String]) -> Option<String> {
    let text = text.trim();
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || " ._+-()/".contains(c));
    let is_short = !text.is_empty() && text.chars().count() <= NAME_MAX;
    (is_plain && is_short && !is_private(text, private)).then(|| text.to_string())
}

/// Whether a metric's name was composed by ssdyno: it is declared, and has no place for a word of the
/// user's or of a drive's.
fn is_ours(info: &MethodInfo, metric: &Metric, private: &[String]) -> bool {
    let Some(declaration) = info.declaration(&metric.key()) else { return false };
    let is_free = ["{job}", "{step}"].iter().any(|place| declaration.name.contains(place));
    let mut digits = metric.name.split(|c: char| !c.is_ascii_digit()).map(str::len);
    let is_plain = metric.name.chars().all(|c| c.is_ascii_alphanumeric() || "._+-%".contains(c));
    !is_free
        && is_plain
        && digits.all(|length| length <= DIGITS_MAX)
        && !is_private(&metric.name, private)
        && Unit::ALL.contains(&metric.unit)
}

fn metric_value(metric: &Metric) -> Value {
    let Metric { name, unit, value, low, high, n, .. } = metric;
    json!({
        "name": name, "unit": unit.name(), "value": value, "low": low, "high": high, "n": n,
        "covers": metric.covers.as_ref().filter(|covers| record::Covers::ALL.contains(covers)).map(record::Covers::name),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::published;

    fn measured() -> Run {
        let mut run = published::find("pub:003/m225-fresh").expect("published");
        let metrics = ["seq-read-1MiB-q8", "seq-read-1MiB-q1", "rand-read-4KiB-q32.p99"];
        run.metrics =
            metrics.iter().map(|name| Metric::single(*name, Unit::BytesPerSecond, 1.0)).collect();
        run.metrics[2].unit = Unit::Nanoseconds;
        run.origin = None;
        run.complete = true;
        run.method = "quick".into();
        run.started = "2026-11-21T14:30:00+01:00".into();
        run.target.kind = TargetKind::Device;
        run.target.spec = "/dev/sdq".into();
        let drive = run.target.drive.get_or_insert_with(Default::default);
        drive.model = Some("X1 Pro".into());
        drive.firmware = Some("FW01".into());
        drive.serial = Some("S6Z1NJ0W".into());
        drive.path = Some("/dev/sdq".into());
        drive.hardware_id = Some("naa.5002538".into());
        drive.details = vec![record::Detail { name: "a".into(), value: "detail".into() }];
        run.environment.host = Some("workshop".into());
        run.environment.machine_id = Some("0123456789abcdef".into());
        run.environment.kernel = Some("6.1.0-9-amd64".into());
        run.environment.ssdyno = "0.1.0".into();
        run.target.filesystem = Some(record::FileSystem {
            kind: "ext4".into(),
            mount: "/mnt/disk".into(),
            source: Some("/dev/sdq1".into()),
            options: Some("rw".into()),
            ..record::FileSystem::default()
        });
        let tags: BTreeMap<String, String> = [("board".to_string(), "mini".to_string())].into();
        let (title, note) = (Some("my title".into()), Some("my note".into()));
        run.labels = Some(record::Labels { title, note, tags });
        run.options = Some([("time".to_string(), "10s".to_string())].into());
        run
    }

    #[test]
    fn a_public_record_has_what_can_be_compared() {
        let value = public(&measured()).expect("public");
        assert_eq!(value["drive"]["model"], "X1 Pro");
        assert_eq!((&value["day"], &value["kernel"]), (&"2026-11-21".into(), &"6.1".into()));
        assert_eq!(value["metrics"].as_array().map(Vec::len), Some(3));
        let text = value.to_string();
        for private in ["S6Z1NJ0W", "workshop", "sdq", "naa", "14:30", "title", "mini", "10s"] {
            assert!(!text.contains(private), "{private}: {text}");
        }
        let mut run = measured();
        run.target.kind = TargetKind::Virtual;
        assert!(public(&run).expect_err("virtual").to_string().contains("no real drive"));
        let mut run = measured();
        // A bridge that repeats the serial number in the model.
        run.target.drive.as_mut().expect("a drive").model = Some("USB s6z1nj0w".into());
        assert!(public(&run).expect_err("private").to_string().contains("model"));
    }

    /// Changes texts of a JSON value: `secret` replaces them, or is put before, after or into them.
    fn taint(value: &mut Value, field: &str, secret: &str, draw: &mut Xoshiro256PlusPlus) {
        match value {
            // The drive's own words, of which only a repetition of something private can be told.
            Value::String(_) if matches!(field, "model" | "firmware" | "vendor") => {}
            Value::String(text) => {
                let half = text.floor_char_boundary(text.len() / 2);
                *text = match draw.next_u32() % 12 {
                    0 => secret.to_string(),
                    1 => format!("{text}{secret}"),
                    2 => format!("{secret}{text}"),
                    3 => format!("{}{secret}{}", &text[..half], &text[half..]),
                    4 => format!("{text}-{secret}"),
                    _ => return,
                };
            }
            Value::Array(items) => {
                items.iter_mut().for_each(|item| taint(item, field, secret, draw))
            }
            Value::Object(fields) => {
                for (name, item) in fields.iter_mut() {
                    taint(item, name, secret, draw);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn ten_thousand_tainted_records_publish_no_secret() {
        let base = serde_json::to_value(measured()).expect("plain data");
        let mut draw = Xoshiro256PlusPlus::seed_from_u64(46);
        let (mut published, mut metrics) = (0, 0);
        for i in 0..10_000u64 {
            let digits = draw.next_u64();
            let secret = match i % 3 {
                0 => format!("S{digits:X}"),
                1 => format!("{}", digits | 1 << 63),
                _ => format!("secret-{}", digits % 1000),
            };
            let mut value = base.clone();
            taint(&mut value, "", &secret, &mut draw);
            // The serial number, and sometimes the model or the firmware repeats it.
            let drive = &mut value["target"]["drive"];
            drive["serial"] = secret.as_str().into();
            let field = ["model", "firmware", "vendor", "other"][(draw.next_u32() % 4) as usize];
            drive[field] = format!("X1 {}", secret.to_lowercase()).into();
            let Ok(run) = serde_json::from_value::<Run>(value) else { continue };
            let Ok(public) = public(&run) else { continue };
            published += 1;
            metrics += public["metrics"].as_array().map_or(0, Vec::len);
            let text = public.to_string().to_lowercase();
            assert!(!text.contains(&secret.to_lowercase()), "record {i}, {secret}: {text}");
            assert!(!text.contains(&secret.to_lowercase().replace('-', "")), "record {i}: {text}");
        }
        assert!(published > 1000 && metrics > published, "{published} records, {metrics} metrics");
    }
}
