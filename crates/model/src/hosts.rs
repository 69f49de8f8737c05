//! Built-in hosts: what stands between a program and any drive, for `sim:DRIVE?host=NAME`.
//!
//! The files of `drives/hosts/`, included at build time. They are written as drives are, but hold
//! only `[host]` and `[[link]]`.

/// The host in a file.
macro_rules! host {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../drives/hosts/", $name, ".toml")))
    };
}

/// Names and file contents.
pub const HOSTS: &[(&str, &str)] = &[
    host!("open-firmware-usb"),
    host!("riscos-cm4"),
    host!("riscos-cm4-32k"),
    host!("riscos-cm4-4k"),
    host!("riscos-cm4-other-driver"),
    host!("riscos-cm4-other-driver-32k"),
    host!("riscos-cm4-sata"),
    host!("riscos-cm4-sata-32k"),
];
