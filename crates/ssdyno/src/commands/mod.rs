//! The commands, one file each.

pub mod compare;
pub mod doctor;
pub mod drives;
pub mod fio;
pub mod fit;
pub mod image;
pub mod import;
pub mod io;
pub mod iozone;
pub mod list;
pub mod manual;
pub mod methods;
pub mod partition;
pub mod prepare;
pub mod protocol;
pub mod recover;
pub mod replicate;
pub mod run;
pub mod runs;
mod session;
mod words;
