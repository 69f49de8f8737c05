//! flashbench: the tables of `-a` (read times before, on and after boundaries), and of `--open-au`
//! and `--find-fat` (rates by block size, one column per erase block tried).

use record::{MetricKey, Run, Unit, size_word};

use super::found::{put, run};
use super::lines::{ImportError, Lines, number, size, time_ns};

/// Column labels of `-a`, and ssdyno's names for them.
const TIMES: [(&str, &str); 4] =
    [("pre ", "before"), ("on ", "on"), ("post ", "behind"), ("diff ", "difference")];

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| is_aligned(line) || rates(line).is_some())
}

fn is_aligned(line: &str) -> bool {
    line.trim_start().starts_with("align ") && line.contains("pre ") && line.contains("diff ")
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let mut run = run("flashbench", "flashbench", None, lines.number());
    while let Some(line) = lines.peek() {
        if is_aligned(line) {
            lines.next();
            boundary(&mut run, line).ok_or_else(|| lines.wrong("not a row of flashbench -a"))?;
        } else if let Some((block, rates)) = rates(line) {
            lines.next();
            for (i, rate) in rates.iter().enumerate() {
                let size = size_word(block);
                let key = match rates.len() {
                    1 => MetricKey::of_words(&[&"flashbench-rate", &size]),
                    _ => MetricKey::of_words(&[&"flashbench-rate", &size, &(i + 1)]),
                };
                put(&mut run, key, Unit::BytesPerSecond, *rate);
            }
        } else {
            break;
        }
    }
    Ok(vec![run])
}

/// `align 4194304  pre 1.2ms  on 1.6ms  post 1.1ms  diff 425µs`: a boundary and its four times.
fn boundary(run: &mut Run, line: &str) -> Option<()> {
    let (bytes, _) = number(line.trim_start().strip_prefix("align ")?)?;
    let boundary = MetricKey::of_words(&[&"boundary", &size_word(bytes as u64)]).to_string();
    for (word, name) in TIMES {
        let ns = line.split_once(word).and_then(|(_, rest)| time_ns(rest))?;
        // A negative difference is noise, and not a valid metric.
        put(run, MetricKey::parse(name).within(&boundary), Unit::Nanoseconds, ns);
    }
    Some(())
}

/// `4MiB    8.79M/s  8.8M/s`: block size and rates. The rates' prefixes are decimal.
fn rates(line: &str) -> Option<(u64, Vec<f64>)> {
    let mut words = line.split_whitespace();
    let block = words.next()?;
    let bytes = block.ends_with('B').then(|| size(block)).flatten()?;
    let rates: Option<Vec<f64>> = words
        .map(|word| {
            let (value, unit) = number(word.strip_suffix("/s")?)?;
            let scale = match unit {
                "" => 1.0,
                "K" => 1e3,
                "M" => 1e6,
                "G" => 1e9,
                _ => return None,
            };
            Some(value * scale)
        })
        .collect();
    rates.filter(|rates| !rates.is_empty()).map(|rates| (bytes, rates))
}
