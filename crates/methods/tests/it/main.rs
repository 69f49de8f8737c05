//! A complete method outside the room, and the parser of stamps on random inputs.

mod fuzz;
mod toy;
