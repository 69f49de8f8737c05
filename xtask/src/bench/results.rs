//! Stores benchmark results in their sections of `benches/RESULTS.md`.

use std::fs;

use anyhow::{Context, Result};

use crate::run::{output, program, root};

const TITLE: &str = "# Measured\n\nBenchmark results, each with machine, date and command. The figures \
hold for that machine and for the code of that date; ratios are more portable than absolute numbers.\n";

/// Replaces the section with this name, or adds it.
pub fn write(part: &str, command: &str, text: &str) -> Result<()> {
    let path = root().join("benches/RESULTS.md");
    fs::create_dir_all(root().join("benches"))?;
    let old = fs::read_to_string(&path).unwrap_or_else(|_| TITLE.to_string());
    let heading = format!("\n## {part}\n");
    let body = format!("{heading}\n{}, `{command}`\n\n{}", machine()?, text.trim_end());
    let new = replaced(&old, &heading, &body);
    fs::write(&path, new).with_context(|| format!("cannot write {}", path.display()))?;
    println!("written to {}", path.display());
    Ok(())
}

/// Replaces the section under `heading` with `body`.
fn replaced(old: &str, heading: &str, body: &str) -> String {
    let (before, rest) = match old.split_once(heading) {
        Some((before, rest)) => (before, rest.find("\n## ").map_or("", |at| &rest[at..])),
        None => (old, ""),
    };
    format!("{}\n{body}\n{rest}", before.trim_end())
}

/// Processor, cores, kernel and date.
fn machine() -> Result<String> {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        info.lines().find(|l| l.starts_with("model name")).and_then(|l| l.split(':').nth(1));
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    let kernel = output(&mut program("uname", &["-r"]))?;
    let day = output(&mut program("date", &["+%F"]))?;
    let model = model.unwrap_or("unknown processor").trim();
    Ok(format!("{model}, {cores} cores, Linux {}, {}", kernel.trim(), day.trim()))
}

/// The median of the values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_and_its_neighbours_stay() {
        let old = "# T\n\n## a\n\nold a\n\n## b\n\nold b\n";
        let new = replaced(old, "\n## a\n", "\n## a\n\nnew a");
        assert_eq!(new, "# T\n\n## a\n\nnew a\n\n## b\n\nold b\n");
        assert_eq!(replaced("# T\n", "\n## a\n", "\n## a\n\nnew"), "# T\n\n## a\n\nnew\n");
    }
}
