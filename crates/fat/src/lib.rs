//! exFAT and FAT32 for a camera: mkfs, a preallocating recorder, a reader and a checker. Also makes
//! empty discs of FileCore, the file system of RISC OS.
//!
//! A recording never waits for metadata. Files are allocated as one run of clusters before their
//! data arrive, so the recorder knows the next sector without I/O. The caller writes the data
//! itself, and only metadata pass through this crate and [`SectorDrive`].
//!
//! No heap allocation, no dependency, no standard library. Long tables are written and checked in a
//! buffer supplied by the caller. Sources: "exFAT file system specification" (Microsoft, 2019) and
//! "FAT32 File System Specification" 1.03 (Microsoft, 2000).

#![warn(missing_docs)]
#![no_std]
#![forbid(unsafe_code)]

mod bytes;
mod cache;
mod check;
mod directory;
mod drive;
mod exfat;
mod fat32;
mod filecore;
mod layout;
mod mkfs;
mod name;
mod reader;
mod recorder;
mod table;

pub use check::{Problem, check, check_room};
pub use directory::DirectoryEntry;
pub use drive::{Error, SECTOR_BYTES_MAX, SectorDrive};
pub use filecore::{BOOT_BLOCK_AT, BOOT_BLOCK_BYTES, Filecore};
pub use layout::{VolumeKind, VolumeLayout};
pub use mkfs::{FormatParameters, mkfs};
pub use name::Name;
pub use reader::Volume;
pub use recorder::{Recorder, RecorderStep, Recording, SurvivingPart};
