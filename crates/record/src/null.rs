//! Non-finite numbers (0/0, 1/0) are `null` in JSON and read back as NaN, so that one bad quotient
//! does not make the whole record unreadable.

use serde::{Deserialize, Deserializer};

/// For a field that should be a number.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// For a list of numbers.
pub(crate) fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let list = Vec::<Option<f64>>::deserialize(deserializer)?;
    Ok(list.into_iter().map(|n| n.unwrap_or(f64::NAN)).collect())
}
