//! Built-in hosts: the system between a program and a drive, for `sim:DRIVE?host=NAME`.
//!
//! The files of `drives/hosts/`, included at build time. They have the format of drives, but
//! contain only a name, a description, `[host]` and `[[link]]`.

/// A host's name and file content.
macro_rules! host {
    ($name:literal) => {
        ($name, include_str!(concat!("../drives/hosts/", $name, ".toml")))
    };
}

/// Names and file contents.
pub const HOSTS: &[(&str, &str)] = &[
    host!("cm4-linux"),
    host!("cm4-turing-pi"),
    host!("desktop-linux"),
    host!("open-firmware-usb"),
    host!("pi4-usb"),
    host!("pi5"),
    host!("riscos-cm4"),
    host!("riscos-cm4-32k"),
    host!("riscos-cm4-4k"),
    host!("riscos-cm4-emmc"),
    host!("riscos-cm4-other-driver"),
    host!("riscos-cm4-other-driver-32k"),
    host!("riscos-cm4-sata"),
    host!("riscos-cm4-sata-32k"),
    host!("windows-thread"),
];
