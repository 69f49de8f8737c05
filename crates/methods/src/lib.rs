//! The tests: each a sequence of preparations and workloads, and what is concluded from them.
//!
//! A [`Method`] sees the drive only through [`rig::Rig`], so none knows a real drive from a virtual
//! one. It says what it costs before it begins ([`Method::plan`]) and leaves what it found in an
//! [`Outcome`], step by step, so that a run that is cut short keeps what it measured. Conclusions
//! are small pure rules in [`verdict`]; each may answer that it does not know.

#![forbid(unsafe_code)]

mod align;
mod authentic;
mod by_hand;
mod cell;
mod command;
mod digest;
#[cfg(test)]
mod fake;
mod ground;
mod heat;
mod iozone;
mod lbaf;
mod mark;
mod method;
mod outcome;
mod prepare;
mod quick;
mod schedule;
mod session;
mod snia;
mod speed;
mod states;
mod sustain;
#[cfg(test)]
mod tests;
mod trim;
pub mod verdict;
mod whole;
mod zones;

use strsim::levenshtein;

pub use by_hand::by_hand;
pub use digest::Digest;
pub use iozone::{Figure as IozoneFigure, Iozone, Row as IozoneRow, metric as iozone_metric};
pub use method::{Method, MethodError, MethodInfo, Options, Reference};
pub use outcome::Outcome;
pub use prepare::Prepare;

/// See [`all`].
static ALL: &[&dyn Method] = &[
    &quick::Quick,
    &authentic::Authentic,
    &sustain::Sustain,
    &states::StatesMethod,
    &trim::TrimMethod,
    &zones::Zones,
    &align::Align,
    &heat::HeatMethod,
    &speed::Speed,
    &lbaf::Lbaf,
    &mark::Mark,
    &command::Command,
    &iozone::IozoneMethod,
    &snia::IOPS,
    &snia::THROUGHPUT,
    &snia::LATENCY,
    &snia::WSAT,
    &snia::HIR,
    &snia::XSR,
    &snia::DIRTH,
];

/// Every method, the default one first.
pub fn all() -> &'static [&'static dyn Method] {
    ALL
}

/// The method of that name; the error lists the names there are and suggests the nearest.
pub fn find(name: &str) -> Result<&'static dyn Method, MethodError> {
    let names = || all().iter().map(|m| m.info().name);
    all().iter().copied().find(|m| m.info().name == name).ok_or_else(|| MethodError::Unknown {
        name: name.to_string(),
        nearest: nearest(name, names()),
        known: names().collect::<Vec<_>>().join(", "),
    })
}

/// The name that a slip of a few keys could have turned into `wrong`.
fn nearest(wrong: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let wrong = wrong.to_lowercase();
    let scored = names.map(|name| (levenshtein(&wrong, name), name));
    scored.min().filter(|(edits, name)| *edits <= name.len() / 2).map(|(_, name)| name)
}
