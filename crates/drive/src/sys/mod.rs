//! System calls of block devices that no library wraps. The only place of this room with `unsafe`.

#![allow(unsafe_code)]

mod table;

pub(crate) use table::reread_partitions;
