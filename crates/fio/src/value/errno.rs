//! Error names, for `ignore_error=`.

use rig::errno;

use super::Parsed;

/// The number of an error reported by the rig, by name or as `error 95`. Other words mean a short
/// transfer.
pub(crate) fn errno_of(text: &str) -> i32 {
    let number = text.strip_prefix("error ").unwrap_or(text);
    number_of(number).unwrap_or(errno::EIO)
}

/// The number of an error given by name or number.
pub(crate) fn number_of(text: &str) -> Parsed<i32> {
    let text = text.trim();
    // Two names of one number; others can be given by number.
    let name = if text == "EWOULDBLOCK" { "EAGAIN" } else { text };
    if let Some((number, _)) = errno::ALL.iter().find(|(_, common)| *common == name) {
        return Ok(*number);
    }
    let number = match text.strip_prefix("0x") {
        Some(digits) => i32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    match number {
        Some(number @ 1..=4095) => Ok(number),
        _ => Err(format!("'{text}' is not the name of a known error; give its number")),
    }
}
