//! The tests, one file each, on rig and analysis alone.
