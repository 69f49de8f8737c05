//! The outputs of records: text, screens and pages, and the schema of their JSON.

mod common;
mod fuzz;
mod html;
mod schema;
mod terminal;
mod text;
