//! The names of the pages: of files in a site, and of addresses on the server.

use xxhash_rust::xxh3::xxh3_64;

/// The list of records, the first page.
pub const RECORDS: &str = "index.html";
/// The drives and models with records.
pub const DRIVES: &str = "drives.html";
/// The drives of this machine; on the server only.
pub const MACHINE: &str = "machine.html";
/// Starts a run; on the server only.
pub const MEASURE: &str = "measure.html";
/// Compares records; on the server only.
pub const COMPARE: &str = "compare.html";

/// The name of a run, without its ending.
pub fn run(number: i64) -> String {
    format!("run-{number}")
}

/// The name of the page that shows a run in progress.
pub fn live(number: i64) -> String {
    format!("live-{number}")
}

/// The name of a drive's page, without its ending. The key itself may contain anything.
pub fn drive(key: &str) -> String {
    format!("drive-{:016x}", xxh3_64(key.as_bytes()))
}

/// The name of a model's page, without its ending.
pub fn model(model: &str) -> String {
    format!("model-{:016x}", xxh3_64(model.as_bytes()))
}

/// A page by its name, with the ending of its form.
pub fn html(name: &str) -> String {
    format!("{name}.html")
}

/// The number in a name such as `run-12`.
pub fn number(name: &str, kind: &str) -> Option<i64> {
    let digits = name.strip_prefix(kind)?.strip_prefix('-')?;
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_numbers_name_a_run() {
        assert_eq!(number("run-12", "run"), Some(12));
        for name in
            ["run-", "run-012", "run-+1", "run--1", "live-12", "run-1.", "run-99999999999999999999"]
        {
            assert_eq!(number(name, "run"), None, "{name}");
        }
    }
}
