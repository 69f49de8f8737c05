//! Records that come back as they were, whatever happens to the file in between.

mod keep_and_find;
mod migration;
mod mount;
mod samples;
mod state;
mod trouble;
