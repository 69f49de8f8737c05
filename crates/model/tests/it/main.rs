//! Virtual drives: properties, published behaviour, oracles for whole traces, and overrides.

mod behaviour;
mod common;
mod fills;
mod fuzz;
mod leap;
mod nand;
mod oracles;
mod overrides;
mod predict;
mod properties;
mod seeds;
