//! The slowest parts of the suite, so that a test that takes minutes is noticed on its first day.
//!
//! A part is a test binary, a case in the guest or on bare metal, the build of the tests, or a step
//! without any. Parts run side by side, so their sum exceeds the time of the step.

/// A part of the suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// For example, `drive tests/it/main.rs`.
    pub name: String,
    /// Wall-clock time.
    pub seconds: f64,
}

/// The test binaries in a `cargo test` output, in order.
pub fn of_cargo(output: &str) -> Vec<Part> {
    let (mut parts, mut room, mut binary) = (Vec::new(), "", String::new());
    for line in output.lines() {
        if let Some(running) = line.trim_start().strip_prefix("Running ") {
            let (source, path) = running.split_once(" (").unwrap_or((running, ""));
            // cargo runs the unit tests of a package before the files of its tests/.
            let unit = source.strip_prefix("unittests ");
            if unit.is_some() {
                room = named(path);
            }
            binary = format!("{room} {}", unit.map_or(source, |_| "unit tests"));
        } else if let Some(name) = line.trim_start().strip_prefix("Doc-tests ") {
            binary = format!("{name} documentation");
        } else if let Some(seconds) = finished(line) {
            parts.push(Part { name: binary.clone(), seconds });
        }
    }
    parts
}

/// The binary's name: `journal` for `target/debug/deps/journal-0123456789abcdef)`.
fn named(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.rsplit_once('-').map_or(file, |(name, _)| name)
}

/// The time in `test result: ok. 3 passed; ...; finished in 0.12s`.
fn finished(line: &str) -> Option<f64> {
    line.strip_prefix("test result: ")?
        .rsplit_once("finished in ")?
        .1
        .strip_suffix('s')?
        .parse()
        .ok()
}

/// The ten slowest parts, slowest first, one per line.
pub fn slowest(mut parts: Vec<Part>) -> String {
    parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let line = |part: &Part| format!("{:>9.1} s   {}\n", part.seconds, part.name);
    parts.iter().take(10).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, seconds: f64) -> Part {
        Part { name: name.into(), seconds }
    }

    #[test]
    fn binaries_are_named_by_room_and_file() {
        let output = "\
   Compiling drive v0.1.0
     Running unittests src/lib.rs (target/debug/deps/drive-0f3a)

test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s
     Running tests/devices.rs (target/debug/deps/devices-11ab)
test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 61.50s
   Doc-tests rig
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2.00s
";
        let expected = [
            part("drive unit tests", 0.12),
            part("drive tests/devices.rs", 61.5),
            part("rig documentation", 2.0),
        ];
        assert_eq!(of_cargo(output), expected);
    }

    #[test]
    fn the_ten_slowest_are_listed_slowest_first() {
        let parts = (0..12).map(|i| part(&format!("part {i}"), f64::from(i))).collect();
        let lines = slowest(parts);
        let lines: Vec<_> = lines.lines().collect();
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[0], "     11.0 s   part 11");
        assert_eq!(lines[9], "      2.0 s   part 2");
    }
}
