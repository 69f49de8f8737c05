//! Virtual drives.

#![forbid(unsafe_code)]

pub mod ftl;
