//! The tests: each a sequence of preparations and workloads, with its conclusions.
//!
//! A method has a file or a folder of its own: its description ([`MethodInfo`]), its script and its
//! answer. What scripts are written in is the crate `script`; what the measurements mean is for the
//! crate `rules`.

#![forbid(unsafe_code)]

mod align;
mod answer;
mod authentic;
mod by_hand;
mod causes;
mod cluster;
mod command;
mod curve;
mod fake;
#[cfg(test)]
mod flips;
mod geometry;
mod heat;
mod iometer;
mod iozone;
mod lbaf;
mod mark;
pub mod names;
mod power;
mod prepare;
#[cfg(test)]
mod promises;
mod quick;
mod restore;
mod sdclass;
mod snia;
mod speed;
mod states;
mod stream;
mod sustain;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod trim;
mod wear;
#[cfg(test)]
mod whole_drive_tests;
#[doc(hidden)]
pub use wear::fuzzing;
mod zones;

pub use answer::{answer_against, of_record as answer};
pub use by_hand::{BY_HAND, STEP_METRICS, by_hand};
pub use causes::depends_on_results;
pub use cluster::{LIKE, Like};
pub use iometer::icf::{AccessLine, AccessSpec, IcfError, IcfJob, IcfScript, parse as parse_icf};
pub use iometer::{ICF, Icf};
pub use iozone::{
    Honest as IozoneHonest, IOZONE, Iozone, IozoneFigure, LATENCIES as IOZONE_LATENCIES,
    Latencies as IozoneLatencies, Row as IozoneRow, Trial as IozoneTrial, metric as iozone_metric,
    throughput_metric as iozone_throughput_metric,
};
pub use prepare::{PREPARE, Prepare};
pub use quick::{Usual, UsualFigure, gains as usual_gains};
pub use restore::{BlockSource, IMAGE, Image, ImageBlock, ImageFile, Spent};

use script::{MethodInfo, Result};

/// All methods, the default one first.
pub static ALL: &[&MethodInfo] = &[
    &quick::INFO,
    &authentic::INFO,
    &sustain::INFO,
    &states::INFO,
    &trim::INFO,
    &zones::INFO,
    &align::INFO,
    &heat::INFO,
    &curve::INFO,
    &speed::INFO,
    &fake::INFO,
    &sdclass::INFO,
    &geometry::INFO,
    &power::INFO,
    &wear::INFO,
    &restore::INFO,
    &lbaf::INFO,
    &stream::INFO,
    &cluster::INFO,
    &mark::INFO,
    &command::INFO,
    &iozone::INFO,
    &iometer::INFO,
    &snia::IOPS,
    &snia::THROUGHPUT,
    &snia::LATENCY,
    &snia::WSAT,
    &snia::HIR,
    &snia::XSR,
    &snia::DIRTH,
];

/// The method with this name; the error lists the known names and suggests the nearest.
pub fn find(name: &str) -> Result<&'static MethodInfo> {
    script::catalog::find(ALL, name)
}
