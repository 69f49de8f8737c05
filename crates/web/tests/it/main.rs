//! The server as a browser and as an attacker reach it, and the site as files.

mod door;
mod samples;
mod served;
mod site;
