//! Which run would determine a parameter that the records leave open.

use std::collections::BTreeMap;

use emit::shell_word;
use model::FigureLine;
use record::{MetricKey, Run, TargetKind};
use workload::OpKind;

/// Parameters that a fit can determine, with the methods whose runs determine them, the cheapest
/// first.
const DETERMINED_BY: [(&str, &[&str]); 13] = [
    ("command.latency_us", &["quick"]),
    ("command.read_us", &["quick"]),
    ("command.write_us", &["quick"]),
    ("nand.bus_mb_s", &["quick"]),
    ("nand.dies", &["quick"]),
    ("nand.read_us", &["quick"]),
    ("nand.slc_read_us", &["quick"]),
    ("nand.program_us", &["sustain"]),
    ("slc.dynamic", &["sustain"]),
    ("nand.slc_program_us", &["sustain"]),
    ("slc.drain", &["sustain"]),
    ("slc.fixed", &["sustain"]),
    ("op", &["states", "snia-iops"]),
];

/// A run that would determine parameters.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RunAdvice {
    /// Their keys.
    pub parameters: Vec<String>,
    /// The command, to paste.
    pub command: String,
}

/// What is missing, by the run that would determine it; and keys that the runs at hand could have
/// determined, but the drive's figures do not depend on them.
pub(super) fn advice(runs: &[Run], undetermined: &[FigureLine]) -> (Vec<RunAdvice>, Vec<String>) {
    let mut by_method: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut without_effect = Vec::new();
    for (key, methods) in DETERMINED_BY {
        if !undetermined.iter().any(|figure| figure.key == key) {
            continue;
        }
        match methods.iter().find(|method| !runs.iter().any(|run| is_whole(run, method))) {
            Some(method) => by_method.entry(*method).or_default().push(key.into()),
            None => without_effect.push(key.into()),
        }
    }
    let advice = runs.first().map(|run| {
        let advice = by_method
            .into_iter()
            .map(|(method, parameters)| RunAdvice { parameters, command: command(run, method) });
        advice.collect()
    });
    (advice.unwrap_or_default(), without_effect)
}

/// Whether it is a run of this method that wrote to the drive, as all of them must.
fn is_whole(run: &Run, method: &str) -> bool {
    let writes = |name: &str| MetricKey::parse(name).direction() == Some(OpKind::Write);
    run.method == method
        && (method != "quick" || run.metrics.iter().any(|metric| writes(&metric.name)))
}

/// The command on the drive of a run. All but `quick` need the whole drive, not a directory on it.
fn command(run: &Run, method: &str) -> String {
    let target = &run.target;
    let drive = target.drive.as_ref();
    let is_virtual = target.kind == TargetKind::Virtual;
    let is_directory = target.kind == TargetKind::Directory && method == "quick";
    let device = drive.and_then(|drive| drive.path.as_deref());
    let spec =
        if is_virtual || is_directory { &target.spec } else { device.unwrap_or(&target.spec) };
    let mut words = format!("ssdyno run {} -m {method}", shell_word(spec));
    if !is_virtual && !is_directory {
        // Without a serial number, the guard asks for the size.
        let serial = drive.and_then(|drive| drive.serial.clone());
        let bytes = drive.and_then(|drive| drive.bytes).map(|bytes| bytes.to_string());
        if let Some(confirmation) = serial.or(bytes) {
            words += &format!(" --destroy {}", shell_word(&confirmation));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use record::{DriveIdentity, Metric, Target, Unit};

    use super::*;

    fn figure(key: &str) -> FigureLine {
        let [value, from, source] = ["1", "guessed", ""].map(String::from);
        FigureLine { key: key.into(), value, from, source }
    }

    fn run(method: &str, kind: TargetKind, spec: &str) -> Run {
        let drive = DriveIdentity {
            path: Some("/dev/nvme0n1".into()),
            serial: Some("S6Z1".into()),
            ..DriveIdentity::default()
        };
        let target = Target { kind, spec: spec.into(), drive: Some(drive), ..Target::default() };
        let metric = Metric::single("rand-write-4KiB-q1", Unit::Iops, 1.0);
        Run { metrics: vec![metric], ..Run::new(method, target) }
    }

    #[test]
    fn the_command_is_that_of_the_drive() {
        let commands = |kind: TargetKind, spec: &str| -> Vec<String> {
            let undetermined = [figure("op"), figure("nand.dies"), figure("heat.ambient_c")];
            let (advice, _) = advice(&[run("sustain", kind, spec)], &undetermined);
            advice.into_iter().map(|advice| advice.command).collect()
        };
        assert_eq!(
            commands(TargetKind::Virtual, "sim:x?op=0.1"),
            ["ssdyno run 'sim:x?op=0.1' -m quick", "ssdyno run 'sim:x?op=0.1' -m states"]
        );
        let states = "ssdyno run /dev/nvme0n1 -m states --destroy S6Z1";
        assert_eq!(
            commands(TargetKind::Device, "/dev/nvme0n1"),
            ["ssdyno run /dev/nvme0n1 -m quick --destroy S6Z1", states]
        );
        assert_eq!(commands(TargetKind::Directory, "."), ["ssdyno run . -m quick", states]);
    }

    #[test]
    fn a_run_that_is_there_is_not_advised_again() {
        let undetermined = [figure("op"), figure("nand.slc_read_us")];
        let runs = ["quick", "states"].map(|method| run(method, TargetKind::Virtual, "sim:x"));
        let (next, without_effect) = advice(&runs, &undetermined);
        assert_eq!(next.len(), 1);
        assert_eq!(
            (next[0].parameters.as_slice(), without_effect.as_slice()),
            (["op".to_string()].as_slice(), ["nand.slc_read_us".to_string()].as_slice())
        );
        assert!(next[0].command.ends_with("-m snia-iops"), "{next:?}");
        // Reads alone determine no parameter of writes.
        let mut reads = run("quick", TargetKind::Device, "/dev/nvme0n1");
        reads.metrics.clear();
        let (next, _) = advice(&[reads], &[figure("command.write_us")]);
        assert!(next[0].command.contains("-m quick --destroy"), "{next:?}");
    }
}
