//! Parsers of texts from other tools: random inputs, and pastes with common damage.

mod fuzz;
mod paste;
