//! The commands, one file each. Those that concern real drives alone are replaced by a refusal on
//! systems other than Linux.

pub mod array;
pub mod ask;
pub mod check;
mod choice;
pub mod compare;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
pub mod doctor;
pub mod drives;
pub mod export;
pub mod fio;
pub mod fit;
pub mod image;
pub mod import;
pub mod io;
pub mod iozone;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
pub mod list;
pub mod make;
pub mod manual;
pub mod methods;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
pub mod partition;
pub mod prepare;
pub mod protocol;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
pub mod recover;
pub mod replicate;
pub mod run;
pub mod runs;
mod session;
pub mod together;
pub mod web;
mod words;
