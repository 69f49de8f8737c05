//! Records for monitoring systems: a textfile for node_exporter (Prometheus), and InfluxDB's line
//! protocol.
//!
//! Prometheus wants base units in the names, so nanoseconds become seconds; in InfluxDB's lines the
//! unit is a tag. A value that is unknown is left out. Names and values of labels are foreign text:
//! each format has its own escapes, and characters that control a display are removed.

use std::fmt::Write;

use record::{Level, Metric, Run, Unit};

/// The name, the factor and the meaning of a unit in Prometheus.
fn gauge(unit: Unit) -> (&'static str, f64, &'static str) {
    match unit {
        Unit::BytesPerSecond => ("ssdyno_bytes_per_second", 1.0, "a rate in bytes"),
        Unit::Iops => ("ssdyno_operations_per_second", 1.0, "a rate in operations"),
        Unit::Nanoseconds => ("ssdyno_seconds", 1e-9, "a time"),
        Unit::Bytes => ("ssdyno_bytes", 1.0, "an amount of bytes"),
        Unit::Share => ("ssdyno_ratio", 1.0, "a fraction of a whole"),
        Unit::Celsius => ("ssdyno_celsius", 1.0, "a temperature"),
        Unit::Number | Unit::Other(_) => ("ssdyno_value", 1.0, "a pure number"),
    }
}

/// Names and values.
type LabelSet = Vec<(String, String)>;

/// The labels of a run, in a fixed order: names that stay the same, so that a series continues.
fn labels(run: &Run) -> LabelSet {
    let drive = run.target.drive.as_ref();
    let text = |value: Option<&String>| value.cloned().unwrap_or_default();
    let mut labels = vec![
        ("method".to_string(), run.method.clone()),
        ("host".into(), text(run.environment.host.as_ref())),
        ("target".into(), run.target.spec.clone()),
        ("model".into(), text(drive.and_then(|drive| drive.model.as_ref()))),
        ("serial".into(), text(drive.and_then(|drive| drive.serial.as_ref()))),
        ("firmware".into(), text(drive.and_then(|drive| drive.firmware.as_ref()))),
        ("title".into(), run.title().unwrap_or_default().to_string()),
    ];
    labels.extend(run.tags().map(|(name, value)| (format!("tag_{name}"), value.to_string())));
    labels.retain(|(_, value)| !value.is_empty());
    labels
}

/// The labels in braces, in Prometheus' form.
fn braces<'l>(labels: impl Iterator<Item = (&'l str, &'l str)>) -> String {
    let labels = labels.map(|(name, value)| {
        let name: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let value = emit::plain(value);
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    });
    labels.collect::<Vec<_>>().join(",")
}

/// The runs as one textfile of node_exporter, each with the time of its start in milliseconds since
/// 1970. Of two runs with equal labels (the same test of the same drive), only the later one is
/// written, since a series has one value.
pub fn prom<'r>(runs: impl IntoIterator<Item = (&'r Run, Option<i64>)>) -> String {
    let mut latest: Vec<(LabelSet, &Run, Option<i64>)> = Vec::new();
    for (run, started_ms) in runs {
        let labels = labels(run);
        match latest.iter_mut().find(|(other, ..)| *other == labels) {
            Some(entry) => *entry = (labels, run, started_ms),
            None => latest.push((labels, run, started_ms)),
        }
    }
    let mut families: Vec<(String, &str, Vec<String>)> = Vec::new();
    let mut add = |family: &str, meaning: &'static str, labels: String, value: f64| {
        let line = format!("{family}{{{labels}}} {value}");
        match families.iter_mut().find(|(name, ..)| name == family) {
            Some((_, _, lines)) => lines.push(line),
            None => families.push((family.to_string(), meaning, vec![line])),
        }
    };
    for (labels, run, started_ms) in &latest {
        let run_labels = || labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let complete = f64::from(u8::from(run.complete));
        add("ssdyno_run_complete", "1 if the run ended as planned", braces(run_labels()), complete);
        if let Some(ms) = started_ms {
            let meaning = "start of the run, since 1970";
            add("ssdyno_run_start_seconds", meaning, braces(run_labels()), *ms as f64 / 1e3);
        }
        let level = run.answer.as_ref().map(|answer| answer.stamp.level());
        if let Some(level) = level {
            let believable = f64::from(u8::from(level < Level::Bad));
            let meaning = "0 if something else than the drive was measured";
            add("ssdyno_run_of_drive", meaning, braces(run_labels()), believable);
        }
        for metric in &run.metrics {
            let (family, factor, meaning) = gauge(metric.unit);
            let values = [("", metric.value), ("_low", metric.low), ("_high", metric.high)];
            for (suffix, value) in values {
                let Some(value) = value.filter(|value| value.is_finite()) else { continue };
                let labels = braces(run_labels().chain([("metric", metric.name.as_str())]));
                add(&format!("{family}{suffix}"), meaning, labels, value * factor);
            }
        }
    }
    let mut text = String::new();
    for (family, meaning, lines) in families {
        let _ = writeln!(text, "# HELP {family} {meaning}\n# TYPE {family} gauge");
        for line in lines {
            text += &line;
            text.push('\n');
        }
    }
    text
}

/// The metrics of a run as lines of InfluxDB's protocol, with the time of its start in nanoseconds;
/// without one, the server sets the time of arrival.
pub fn influx(run: &Run, started_ms: Option<i64>) -> String {
    let time = started_ms.map_or(String::new(), |ms| format!(" {ms}000000"));
    let mut text = String::new();
    for metric in &run.metrics {
        let Metric { name, unit, value, low, high, n, .. } = metric;
        let values = [("value", value), ("low", low), ("high", high)].into_iter();
        let fields = values.filter_map(|(name, value)| {
            Some(format!("{name}={}", value.filter(|value| value.is_finite())?))
        });
        let fields = fields.collect::<Vec<_>>();
        if fields.is_empty() {
            continue;
        }
        text += "ssdyno";
        let run_labels = labels(run).into_iter();
        let metric_labels =
            [("metric".to_string(), name.clone()), ("unit".into(), unit.name().into())];
        for (name, value) in run_labels.chain(metric_labels) {
            let _ = write!(text, ",{}={}", escape(&name), escape(&value));
        }
        let _ = writeln!(text, " {},n={n}i{time}", fields.join(","));
    }
    text
}

fn escape(text: &str) -> String {
    let text = emit::plain(text).replace(['\n', '\r'], " ");
    let text = text.replace('\\', "/");
    text.replace(',', "\\,").replace('=', "\\=").replace(' ', "\\ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        let mut run = Run { complete: true, ..Run::new("quick", record::Target::default()) };
        run.target.spec = "/dev/sd\"a\\ b,c=d\n".into();
        let tags = [("board".to_string(), "mini a".to_string())].into();
        run.labels = Some(record::Labels { tags, ..record::Labels::default() });
        run.metrics = vec![
            Metric::single("seq-read-1MiB-q8", Unit::BytesPerSecond, 5e8),
            Metric::single("rand-read-4KiB-q1.p99", Unit::Nanoseconds, 91_000.0),
            Metric { value: None, ..Metric::single("unknown", Unit::Iops, 1.0) },
        ];
        run
    }

    /// A reader of the exposition format, strict about escapes: names, labels and value of each line.
    fn parsed(text: &str) -> Vec<(String, LabelSet, f64)> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let samples = lines.map(|line| {
            let (name, rest) = line.split_once('{').expect("labels");
            let (mut labels, mut chars) = (Vec::new(), rest.chars());
            loop {
                let label: String = chars.by_ref().take_while(|c| *c != '=').collect();
                assert_eq!(chars.next(), Some('"'), "{line}");
                let mut value = String::new();
                loop {
                    match chars.next().expect("a closing quote") {
                        '"' => break,
                        '\\' => value.push(match chars.next().expect("an escape") {
                            'n' => '\n',
                            c @ ('"' | '\\') => c,
                            c => panic!("\\{c} in {line}"),
                        }),
                        c => value.push(c),
                    }
                }
                labels.push((label, value));
                match chars.next() {
                    Some(',') => {}
                    Some('}') => break,
                    other => panic!("{other:?} in {line}"),
                }
            }
            let value: f64 = chars.as_str().trim().parse().expect("a number");
            (name.to_string(), labels, value)
        });
        samples.collect()
    }

    #[test]
    fn a_textfile_has_base_units_and_one_help_a_family() {
        let run = run();
        let text = prom([(&run, Some(1_700_000_000_500)), (&run, Some(1_700_000_001_500))]);
        let samples = parsed(&text);
        let value = |family: &str| {
            let mut samples = samples.iter().filter(|(name, ..)| name == family);
            let value = samples.next().map(|(_, _, value)| *value);
            assert!(samples.next().is_none(), "{family} twice: {text}");
            value
        };
        assert_eq!(value("ssdyno_bytes_per_second"), Some(5e8));
        assert!(value("ssdyno_seconds").is_some_and(|s| (s - 91e-6).abs() < 1e-12));
        assert_eq!(value("ssdyno_run_start_seconds"), Some(1_700_000_001.5));
        assert_eq!(value("ssdyno_operations_per_second"), None);
        let label = |name: &str| samples[0].1.iter().find(|(n, _)| n == name).map(|(_, v)| v);
        assert_eq!(label("tag_board").map(String::as_str), Some("mini a"));
        assert!(label("target").is_some_and(|target| target.starts_with("/dev/sd\"a\\ b,c=d")));
        let helps: Vec<&str> = text.lines().filter(|line| line.starts_with("# HELP")).collect();
        let mut distinct = helps.clone();
        distinct.dedup();
        assert_eq!(helps, distinct);
    }

    #[test]
    fn lines_for_influx_have_their_separators_escaped() {
        let text = influx(&run(), Some(1_700_000_000_500));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        let target = "target=/dev/sd\"a/\\ b\\,c\\=d";
        assert!(
            lines[0].starts_with("ssdyno,method=quick,") && lines[0].contains(target),
            "{text}"
        );
        assert!(lines[0].ends_with("unit=B/s value=500000000,n=1i 1700000000500000000"), "{text}");
        assert!(influx(&run(), None).lines().all(|line| line.ends_with("n=1i")));
    }
}
