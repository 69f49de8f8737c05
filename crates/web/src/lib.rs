//! The records as pages: a server on this machine alone (`ssdyno web`) and static files
//! (`ssdyno site`), from the same functions.
//!
//! Every page has one name in both forms and links by name only, so that a page neither knows nor
//! needs its address. `pages/` turns rows of the store into HTML, `server/` answers requests,
//! `site.rs` writes files. A program of its own, `ssdyno-web`, so that the command builds none of it.

#![forbid(unsafe_code)]

mod figures;
mod frame;
mod names;
mod pages;
mod server;
mod site;

pub use server::{ServeOptions, serve};
pub use site::{SiteCounts, write_site};
