//! fio's example job files, for the tests that run them: unpacked from Debian's package below
//! target/. Installing the package is not enough, because small systems omit package documentation.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::packages;
use crate::run::{find, output, program, root};

/// The environment variable with the examples' directory.
pub const VARIABLE: &str = "SSDYNO_FIO_EXAMPLES";

const PACKAGE: &str = "fio-examples";
const PLACE: &str = "usr/share/doc/fio/examples";

/// The examples' directory, if they were downloaded before.
pub fn unpacked() -> Option<PathBuf> {
    let place = root().join("target").join(PACKAGE).join(PLACE);
    place.is_dir().then_some(place)
}

/// The examples' directory; downloads them if necessary.
pub fn place() -> Result<PathBuf> {
    if let Some(place) = unpacked() {
        return Ok(place);
    }
    let dir = root().join("target").join(PACKAGE);
    let place = dir.join(PLACE);
    ensure!(find("apt-get").is_some() && find("dpkg-deb").is_some(), "no apt-get on this machine");
    std::fs::create_dir_all(&dir)?;
    let download = || {
        let mut command = program("apt-get", &["-qq", "download", PACKAGE]);
        output(command.current_dir(&dir))
    };
    if download().is_err() {
        packages::update()?;
        download()?;
    }
    for entry in std::fs::read_dir(&dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            let (deb, dir) = (path.to_string_lossy(), dir.to_string_lossy());
            output(&mut program("dpkg-deb", &["--extract", &deb, &dir]))?;
        }
    }
    ensure!(place.is_dir(), "{PACKAGE} has no {PLACE}");
    Ok(place)
}
