//! What an entry of a directory is, on all systems.

/// What an entry of a directory is, as far as an output cares.
pub(crate) enum EntryKind {
    File,
    Link,
    /// A block device.
    Drive,
    Directory,
    /// A pipe or another device.
    Other,
}
