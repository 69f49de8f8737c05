//! What the user permits a run to do to the files that its jobs name.

use std::path::{Path, PathBuf};

/// The user's permissions for the files of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Serial numbers and sizes of targets whose data may be destroyed (`--destroy`).
    pub destroy: Vec<String>,
    /// Whether every regular file may be overwritten (`--overwrite-files`). Devices stay protected.
    pub overwrite_files: bool,
    /// The directory whose regular files may be overwritten (`SSDYNO_OVERWRITE`), at any depth.
    pub overwrite_below: Option<PathBuf>,
    /// Whether a drive without an IOMMU may be detached from the kernel (`--no-iommu`).
    pub no_iommu: bool,
}

impl Permissions {
    /// Whether an existing regular file may be overwritten, whatever program made it.
    pub(crate) fn overwrites(&self, file: &Path) -> bool {
        self.overwrite_files
            || self.overwrite_below.as_ref().is_some_and(|directory| is_below(file, directory))
    }
}

/// Whether an existing file is in a directory, or below it. Links count where they lead.
fn is_below(file: &Path, directory: &Path) -> bool {
    let real_paths = [file, directory].map(|path| path.canonicalize());
    matches!(&real_paths, [Ok(file), Ok(directory)] if file.starts_with(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_the_directory_may_be_overwritten() {
        let place = tempfile::tempdir().expect("a directory");
        let [inner, outer, link] = ["d/e/inner", "outer", "d/link"].map(|n| place.path().join(n));
        std::fs::create_dir_all(place.path().join("d/e")).expect("a directory");
        for file in [&inner, &outer] {
            std::fs::write(file, "x").expect("a file");
        }
        std::os::unix::fs::symlink(&outer, &link).expect("a link");
        let below = Some(place.path().join("d"));
        let permissions = Permissions { overwrite_below: below, ..Permissions::default() };
        assert!(permissions.overwrites(&inner));
        assert!(!permissions.overwrites(&outer));
        assert!(!permissions.overwrites(&link), "a link leads out");
        assert!(!Permissions::default().overwrites(&inner));
    }
}
