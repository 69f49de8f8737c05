//! The fuzz targets of this room: every parser of text that others wrote.

#[path = "icf.rs"]
mod icf;
#[path = "import.rs"]
mod import;
#[path = "iozone.rs"]
mod iozone;

/// Every parser of this room.
pub const TARGETS: &[fuzz::Target] = &[
    iozone::COMMAND_LINE,
    icf::ICF,
    import::OWN,
    import::FIO_JSON,
    import::FIO,
    import::IOZONE,
    import::DISKMARK,
    import::F3,
    import::HDPARM,
    import::FLASHBENCH,
    import::DD,
];
