//! The tests: each a sequence of preparations and workloads, with its conclusions.
//!
//! A method is a script over a [`Session`], described by its [`MethodInfo`]. It sees the drive only
//! through [`rig::Rig`], so it cannot distinguish a real drive from a virtual one. Its cost is known
//! in advance because the same script runs on a planner ([`plan`]). Results go into an [`Outcome`]
//! step by step, so a run that is cut short keeps its measurements. Conclusions are small pure rules
//! in [`verdict`]; each may answer "unknown".

#![forbid(unsafe_code)]

mod align;
mod answer;
mod authentic;
mod by_hand;
mod capacity;
pub mod catalog;
mod causes;
mod cell;
mod cluster;
mod command;
mod curve;
mod digest;
mod error;
#[cfg(test)]
mod fake;
mod geometry;
mod heat;
mod iometer;
mod iozone;
mod lbaf;
mod mark;
mod method;
pub mod names;
mod options;
mod outcome;
mod phase;
mod planner;
mod power;
mod prepare;
#[cfg(test)]
mod promises;
mod quick;
mod restore;
mod schedule;
mod sdclass;
mod session;
mod snia;
mod speed;
mod states;
mod stream;
mod sustain;
mod test_region;
#[cfg(test)]
mod tests;
mod timed;
mod trim;
pub mod verdict;
mod wear;
#[doc(hidden)]
pub use wear::fuzzing;
mod whole;
mod zones;

pub use answer::of_record as answer;
pub use by_hand::{BY_HAND, STEP_METRICS, by_hand};
pub use causes::depends_on_results;
pub use cluster::{LIKE, Like};
pub use digest::Digest;
pub use error::MethodError;
pub use iometer::icf::{AccessLine, AccessSpec, IcfError, IcfJob, IcfScript, parse as parse_icf};
pub use iometer::{ICF, Icf};
pub use iozone::{
    Honest as IozoneHonest, IOZONE, Iozone, IozoneFigure, LATENCIES as IOZONE_LATENCIES,
    Latencies as IozoneLatencies, Row as IozoneRow, Trial as IozoneTrial, metric as iozone_metric,
    throughput_metric as iozone_throughput_metric,
};
pub use method::{MethodInfo, plan};
pub use options::{Common, Declared, Form, Given, Opt, Options, Value};
pub use outcome::Outcome;
pub use prepare::{PREPARE, Prepare};
pub use record::MetricInfo;
pub use restore::{BlockSource, IMAGE, Image, ImageBlock, ImageFile, Spent};
pub use session::{Budget, Bulk, Patience, Round, Session};
pub use verdict::Neighbour;

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
    &capacity::INFO,
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
pub fn find(name: &str) -> Result<&'static MethodInfo, MethodError> {
    catalog::find(ALL, name)
}
