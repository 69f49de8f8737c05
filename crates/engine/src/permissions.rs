//! What the user permits a run to do to the files that its jobs name.

/// The user's permissions for the files of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Serial numbers and sizes of targets whose data may be destroyed (`--destroy`).
    pub destroy: Vec<String>,
    /// Whether every regular file may be overwritten (`--overwrite-files`). Devices stay protected.
    pub overwrite_files: bool,
    /// Whether a drive without an IOMMU may be detached from the kernel (`--no-iommu`).
    pub no_iommu: bool,
}
