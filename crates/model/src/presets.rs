//! Built-in presets: the files of `drives/`, included at build time.

/// The preset in a file.
macro_rules! preset {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../drives/", $name, ".toml")))
    };
}

/// Names and file contents.
pub const PRESETS: &[(&str, &str)] = &[
    preset!("bx500-on-usb2"),
    preset!("cm4-emmc-32"),
    preset!("crucial-bx100-120"),
    preset!("crucial-bx500-240"),
    preset!("crucial-bx500-500"),
    preset!("crucial-c300-256"),
    preset!("crucial-mx200-250"),
    preset!("crucial-mx500-1t"),
    preset!("crucial-mx500-250"),
    preset!("crucial-p2-500"),
    preset!("crucial-p2-500-qlc"),
    preset!("dramless-hmb-1t"),
    preset!("indilinx-m225-64"),
    preset!("integral-512-g3"),
    preset!("kingspec-nxm-256"),
    preset!("lexar-nm800-pro-2t"),
    preset!("nvme-on-cm4"),
    preset!("qlc-1t"),
    preset!("sabrent-512-on-usb2"),
    preset!("sabrent-rocket-4-plus-2t"),
    preset!("sabrent-sb1342-512"),
    preset!("sabrent-sb2130-1t"),
    preset!("samsung-970-evo-plus-1t"),
    preset!("samsung-970-evo-plus-250"),
    preset!("samsung-970-evo-plus-500"),
    preset!("samsung-970-pro-1t"),
    preset!("samsung-980-1t"),
    preset!("samsung-980-pro-1t"),
    preset!("samsung-980-pro-2t"),
    preset!("sandisk-128"),
    preset!("sandisk-240"),
    preset!("sata-ssd-on-cm4"),
    preset!("sd-150x"),
    preset!("sd-class2"),
    preset!("ssstc-256-on-cm4"),
    preset!("usb-16k"),
    preset!("v-series-240"),
    preset!("wd-sn530-256"),
    preset!("wd-sn580-1t"),
    preset!("xpg-atom-50-1t"),
];
