//! Files of an overlay: the file of a layer that has the bytes.
//!
//! The kernel reports an overlay's file by a number of the overlay, so the layers are searched for
//! its name, and a name is believed only if the kernel's numbers and the size confirm it.
//! Source: the kernel's `Documentation/filesystems/overlayfs.rst`.

use std::path::{Path, PathBuf};

use super::region::FileNumber;
use super::spaces::Space;
use crate::machine::{DevNumber, Machine};
use crate::mounts::Mount;

/// Maximum number of overlays on each other; the kernel permits two.
const DEPTH_MAX: usize = 4;

/// Whether a file with this number may belong to an overlay. Some overlays number their files by
/// devices that no mount names.
pub(crate) fn may_contain(spaces: &[Space], file: FileNumber) -> bool {
    let number = DevNumber::from_dev(file.device);
    let mut mounts = spaces.iter().flat_map(|space| &space.mounts.0);
    match mounts.clone().find(|mount| mount.dev == number) {
        Some(mount) => mount.kind == "overlay",
        None => number.major == 0 && mounts.any(|mount| mount.kind == "overlay"),
    }
}

/// The file of a layer behind the overlay's file with this path and number; `None` if not found.
pub(crate) fn layer_file(
    machine: &Machine,
    spaces: &[Space],
    path: &Path,
    file: FileNumber,
) -> Option<FileNumber> {
    (0..DEPTH_MAX)
        .try_fold((path.to_path_buf(), file), |(path, file), depth| {
            if may_contain(spaces, file) {
                below(machine, spaces, &path, file)
            } else {
                (depth > 0).then_some((path, file))
            }
        })
        .map(|(_, file)| file)
}

/// The path and number of the file one layer below.
fn below(
    machine: &Machine,
    spaces: &[Space],
    path: &Path,
    file: FileNumber,
) -> Option<(PathBuf, FileNumber)> {
    spaces.iter().find_map(|space| {
        let meta = space.path(machine, path).metadata().ok()?;
        let mount = space.mounts.covering(path).filter(|mount| mount.kind == "overlay")?;
        if FileNumber::from_metadata(&meta) != file {
            return None;
        }
        let name = path.strip_prefix(&mount.point).ok()?;
        let name = Path::new(mount.root.trim_start_matches('/')).join(name);
        let in_layers = layers(mount).into_iter().map(|layer| layer.join(&name));
        let mut candidates = in_layers.flat_map(|path| {
            let metas = spaces.iter().filter_map(move |space| {
                Some((path.clone(), space.path(machine, &path).metadata().ok()?))
            });
            metas.collect::<Vec<_>>()
        });
        let (path, meta) =
            candidates.find(|(_, layer)| layer.is_file() && layer.len() == meta.len())?;
        Some((path, FileNumber::from_metadata(&meta)))
    })
}

/// The directories of an overlay, the one that receives writes first.
fn layers(mount: &Mount) -> Vec<PathBuf> {
    let lower_dirs = mount.option("lowerdir").unwrap_or_default().split(':');
    let dirs = mount.option("upperdir").into_iter().chain(lower_dirs);
    dirs.filter(|dir| dir.starts_with('/')).map(PathBuf::from).collect()
}
