//! Virtual drives.
