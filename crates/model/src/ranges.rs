//! Permitted range and unit of every numeric parameter of a virtual drive.
//!
//! The ranges cover real drives by a wide margin, except for capacities above 16 TB. They exclude
//! typing errors, and values that would simulate for hours or overflow a clock. A test fails if a
//! parameter has no range here.

use toml::{Table, Value};
use workload::units;

/// Key, minimum, maximum and unit. Keys of list items have no index.
type Range = (&'static str, f64, f64, &'static str);

/// Maximum time of a single operation, us.
const LONGEST_US: f64 = 10e6;
/// Maximum rate, MB/s.
const FASTEST_MB_S: f64 = 1e6;
/// Minimum rate, MB/s, except for 0 where that means no limit.
const SLOWEST_MB_S: f64 = 0.001;
/// Maximum capacity, bytes.
const LARGEST: f64 = 1.6e13;

const RANGES: &[Range] = &[
    ("capacity", 1e6, LARGEST, "bytes"),
    ("op", 0.01, 10.0, ""),
    ("block_bytes", 512.0, 4096.0, "bytes"),
    ("formats", 512.0, 4096.0, "bytes"),
    ("seed", f64::MIN, f64::MAX, ""),
    ("host.command_us", 0.0, LONGEST_US, "us"),
    ("host.thread_us", 0.0, LONGEST_US, "us"),
    ("host.read_copy_mb_s", 0.0, FASTEST_MB_S, "MB/s"),
    ("host.write_copy_mb_s", 0.0, FASTEST_MB_S, "MB/s"),
    ("limit.iops", 0.0, 1e7, ""),
    ("limit.mb_s", 0.0, FASTEST_MB_S, "MB/s"),
    ("limit.burst_ops", 0.0, 1e7, ""),
    ("limit.burst_mb", 0.0, FASTEST_MB_S, "MB"),
    ("alias.real", 0.0, LARGEST, "bytes"),
    ("alias.cache", 0.0, 1e9, "bytes"),
    ("declared.allocation_unit", 0.0, 1e11, "bytes"),
    ("declared.preferred_erase", 0.0, 1e11, "bytes"),
    ("declared.write_granularity", 0.0, 1e11, "bytes"),
    ("declared.optimal_write", 0.0, 1e11, "bytes"),
    ("declared.discard_granularity", 0.0, 1e11, "bytes"),
    ("declared.discard_alignment", 0.0, 1e11, "bytes"),
    ("fault.every", 1.0, 4e9, ""),
    ("fault.after", 0.0, 4e9, ""),
    ("link.packet_bytes", 0.0, 4096.0, "bytes"),
    ("link.ceiling_mb_s", 0.0, FASTEST_MB_S, "MB/s"),
    ("link.turnaround_us", 0.0, LONGEST_US, "us"),
    ("link.transfer_bytes", 0.0, LARGEST, "bytes"),
    ("link.depth", 0.0, 65536.0, ""),
    ("command.cores", 1.0, 64.0, ""),
    ("command.read_us", 0.0, LONGEST_US, "us"),
    ("command.write_us", 0.0, LONGEST_US, "us"),
    ("command.latency_us", 0.0, LONGEST_US, "us"),
    ("command.flush_us", 0.0, LONGEST_US, "us"),
    ("command.flush_depth", 1.0, 64.0, ""),
    ("command.ahead_us", 0.0, LONGEST_US, "us"),
    ("command.sleep_after_ms", 0.0, 3.6e6, "ms"),
    ("command.wake_us", 0.0, LONGEST_US, "us"),
    ("buffer.size", 0.0, LARGEST, "bytes"),
    ("buffer.intake_mb_s", 0.0, FASTEST_MB_S, "MB/s"),
    ("buffer.combine", 0.0, 1e6, ""),
    ("buffer.read_cache", 0.0, 1e11, "bytes"),
    ("buffer.read_ahead", 0.0, 1e9, "bytes"),
    ("content.compression", 0.0, 1.0, ""),
    ("map.unit_bytes", 512.0, 1048576.0, "bytes"),
    ("map.rmw_us", 0.0, LONGEST_US, "us"),
    ("map.piece_us", 0.0, LONGEST_US, "us"),
    ("map.cache", 0.0, LARGEST, "bytes"),
    ("map.miss_us", 0.0, LONGEST_US, "us"),
    ("map.au", 4096.0, 1e9, "bytes"),
    ("map.cross_us", 0.0, LONGEST_US, "us"),
    ("map.page_cross_us", 0.0, LONGEST_US, "us"),
    ("map.open_aus", 1.0, 65536.0, ""),
    ("map.fat", 0.0, 1e9, "bytes"),
    ("slc.fixed", 0.0, LARGEST, "bytes"),
    ("slc.dynamic", 0.0, LARGEST, "bytes"),
    ("slc.keep", 0.0, LARGEST, "bytes"),
    ("slc.drain", 0.0, 0.9, ""),
    ("slc.reenter", 0.0, 1.0, ""),
    ("slc.fold_factor", 0.1, 100.0, ""),
    ("collect.superblock", 4096.0, 1e11, "bytes"),
    ("collect.idle_after_ms", 0.0, 3.6e6, "ms"),
    ("collect.idle_free", 0.0, 0.9, ""),
    ("discard.command_us", 0.0, LONGEST_US, "us"),
    ("discard.gib_us", 0.0, 60.0 * LONGEST_US, "us"),
    ("nand.dies", 1.0, 4096.0, ""),
    ("nand.channels", 1.0, 256.0, ""),
    ("nand.planes", 1.0, 16.0, ""),
    ("nand.page_bytes", 512.0, 1048576.0, "bytes"),
    ("nand.bits", 1.0, 5.0, ""),
    ("nand.read_us", 0.0, LONGEST_US, "us"),
    ("nand.program_us", 0.0, LONGEST_US, "us"),
    ("nand.erase_us", 0.0, LONGEST_US, "us"),
    ("nand.slc_read_us", 0.0, LONGEST_US, "us"),
    ("nand.slc_program_us", 0.0, LONGEST_US, "us"),
    ("nand.bus_mb_s", 1.0, 1e5, "MB/s"),
    ("nand.suspend_us", -1.0, LONGEST_US, "us"),
    ("nand.suspends", 0.0, 1e6, ""),
    ("wear.endurance", 1.0, 1e9, ""),
    ("wear.spares", 0.0, 0.5, ""),
    ("wear.level_lead", 0.0, 1e9, ""),
    ("wear.bad", 0.0, 0.3, ""),
    ("wear.used", 0.0, 2.0, ""),
    ("wear.retry", 0.0, 1.0, ""),
    ("heat.ambient_c", -60.0, 125.0, "degrees C"),
    ("heat.idle_w", 0.0, 100.0, "W"),
    ("heat.program_w", 0.0, 1000.0, "W per GB/s"),
    ("heat.read_w", 0.0, 1000.0, "W per GB/s"),
    ("heat.bare_c_per_w", 0.0, 1000.0, "degrees C per W"),
    ("heat.cooled_c_per_w", 0.0, 1000.0, "degrees C per W"),
    ("heat.bare_s", 0.001, 1e6, "s"),
    ("pause.every", 4096.0, LARGEST, "bytes"),
    ("pause.ms", 0.0, 1e4, "ms"),
    ("vary.amount", 0.0, 10.0, ""),
    ("vary.specimen", 0.0, 0.2, ""),
    ("vary.die", 0.0, 0.2, ""),
    ("vary.block", 0.0, 0.2, ""),
    ("vary.session", 0.0, 0.2, ""),
    ("vary.drift", 0.0, 0.2, ""),
    ("vary.drift_s", 0.1, 1e5, "s"),
    ("vary.retry", 0.0, 1.0, ""),
    ("vary.jitter_us", 0.0, 1e5, "us"),
    ("vary.session_seed", 0.0, f64::MAX, ""),
    ("heat.throttle.above_c", -60.0, 200.0, "degrees C"),
    ("heat.throttle.below_c", -60.0, 200.0, "degrees C"),
    ("heat.throttle.limit_mb_s", SLOWEST_MB_S, FASTEST_MB_S, "MB/s"),
    ("heat.throttle.write_mb_s", 0.0, FASTEST_MB_S, "MB/s"),
];

/// Checks every number of a description. An error consists of key and message.
pub(crate) fn check(spec: &Table) -> Result<(), (String, String)> {
    spec.iter().try_for_each(|(key, value)| check_at(key, value))
}

fn check_at(key: &str, value: &Value) -> Result<(), (String, String)> {
    let number = match value {
        Value::Integer(whole) => *whole as f64,
        Value::Float(float) => *float,
        Value::Array(items) => return items.iter().try_for_each(|item| check_at(key, item)),
        Value::Table(figure) if figure.contains_key("value") => {
            return figure.get("value").map_or(Ok(()), |value| check_at(key, value));
        }
        Value::Table(inner) => {
            return inner.iter().try_for_each(|(name, v)| check_at(&format!("{key}.{name}"), v));
        }
        _ => return Ok(()),
    };
    let Some((_, low, high, unit)) = RANGES.iter().find(|range| range.0 == key) else {
        return Err((key.into(), format!("{number} has no permitted range")));
    };
    if (*low..=*high).contains(&number) {
        if *unit == "MB/s" && number > 0.0 && number < SLOWEST_MB_S {
            let range = format!("{SLOWEST_MB_S} and {high} MB/s");
            return Err((key.into(), format!("{number} is neither 0 nor between {range}")));
        }
        return Ok(());
    }
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    if unit == " bytes" {
        let [low, high] = [low, high].map(|limit| size(*limit as u64));
        return Err((key.into(), format!("{number} bytes are not between {low} and {high}")));
    }
    // Use an exponent for huge numbers, instead of up to 300 digits.
    let number = if number.abs() < 1e15 { format!("{number}") } else { format!("{number:e}") };
    Err((key.into(), format!("{number} is not between {low} and {high}{unit}")))
}

/// A limit in the unit in which it is round.
fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(1024) { units::binary(bytes) } else { units::decimal(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DriveSpec;

    /// A drive with a link, a throttle step and a pause, which has every parameter.
    fn complete() -> Table {
        let text = "[[link]]\nbus = \"usb-2\"\n\
                    [[heat.throttle]]\nabove_c = 80\nbelow_c = 77\nlimit_mb_s = 100\n\
                    [[pause]]\nevery = \"1MiB\"\nms = 1\n";
        Table::try_from(DriveSpec::parse("x.toml", text).expect("well formed")).expect("a table")
    }

    /// The keys of all numbers, without list indexes.
    fn numbers(prefix: &str, table: &Table, keys: &mut Vec<String>) {
        for (name, value) in table {
            let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            match value {
                Value::Table(t) if t.contains_key("value") => {
                    let number = t.get("value").is_some_and(|v| v.is_integer() || v.is_float());
                    keys.extend(number.then_some(key));
                }
                Value::Table(inner) => numbers(&key, inner, keys),
                Value::Array(items) if items.iter().all(Value::is_table) => {
                    let tables = items.iter().filter_map(Value::as_table);
                    tables.for_each(|inner| numbers(&key, inner, keys));
                }
                Value::Array(_) => keys.push(key),
                _ => {}
            }
        }
    }

    #[test]
    fn every_number_has_a_range_and_every_range_a_number() {
        let mut keys = Vec::new();
        numbers("", &complete(), &mut keys);
        keys.sort();
        let mut known: Vec<_> = RANGES.iter().map(|range| range.0.to_string()).collect();
        known.sort();
        assert_eq!(keys, known);
    }

    #[test]
    fn absurd_values_are_named_with_line_key_and_unit() {
        let error = |text: &str| DriveSpec::parse("x.toml", text).expect_err("absurd").to_string();
        for value in ["nan", "inf", "-inf", "1e308", "-5"] {
            let text = error(&format!("[nand]\nbits = 3\nread_us = {value}\n"));
            assert!(text.starts_with("x.toml:3: nand.read_us: "), "{text}");
            assert!(text.ends_with(" is not between 0 and 10000000 us"), "{text}");
            assert!(text.len() < 80, "{text}");
        }
        let text = error("[[link]]\nbus = \"usb-2\"\nturnaround_us = 4294967296\n");
        let expected = "4294967296 is not between 0 and 10000000 us";
        assert_eq!(text, format!("x.toml:3: link.turnaround_us: {expected}"));
    }

    #[test]
    fn a_rate_near_0_is_refused_where_0_means_no_limit() {
        let host = ["host.read_copy_mb_s", "host.write_copy_mb_s"];
        for key in [host[0], host[1], "buffer.intake_mb_s", "link.0.ceiling_mb_s"] {
            let drive = DriveSpec::preset("samsung-980-pro-1t").expect("a preset");
            let with = |rate| drive.with_overrides(&[(key, rate)]).map_err(|e| e.message);
            let expected = "0.000000001 is neither 0 nor between 0.001 and 1000000 MB/s";
            assert_eq!(with("1e-9").expect_err("too slow"), expected, "{key}");
            assert!(with("0").is_ok() && with("0.001").is_ok(), "{key}");
        }
    }
}
