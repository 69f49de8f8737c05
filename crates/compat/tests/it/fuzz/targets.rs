//! The fuzz targets of this crate: every parser of foreign text.

#[path = "icf.rs"]
mod icf;
#[path = "import.rs"]
mod import;
#[path = "iozone.rs"]
mod iozone;

/// Every parser of this crate.
pub const TARGETS: &[fuzz::FuzzTarget] = &[
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
    import::FIO_TERSE,
    import::H2TESTW,
    import::SYSBENCH,
    import::IOPING,
    import::BONNIE,
    import::DISKSPD,
    import::DISKSPD_XML,
    import::ELBENCHO,
    import::ELBENCHO_TEXT,
    import::PASTE,
];
