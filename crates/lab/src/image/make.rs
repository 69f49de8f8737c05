//! `ssdyno image make`: reads a file or a drive from end to end and writes an image.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use emit::Replacement;
use serde::Serialize;
use workload::units::decimal;

use super::format::{BLOCK, Head, MAGIC, stored};
use crate::error::{ErrorKind, LabError, Result};
use crate::real;

/// The size of a source is a multiple of this, like that of a target.
const SECTOR: u64 = 512;

/// Number of blocks between two looks at the free space.
const BLOCKS_PER_LOOK: u64 = 16;

/// A completed image.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Made {
    /// Bytes of the source.
    pub bytes: u64,
    pub image_bytes: u64,
    /// Number of blocks in the image.
    pub blocks: u64,
}

/// Makes an image of a file or a block device, which is only read. The image appears once it is
/// complete. `goes_on` is called before every block with the bytes read so far and the total; if it
/// returns `false`, no image remains.
pub fn make(
    source: &Path,
    image: &Path,
    goes_on: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Made> {
    let name = source.display();
    let io_error = |error: std::io::Error| LabError::new(ErrorKind::Io, format!("{name}: {error}"));
    let mut file = File::open(source).map_err(io_error)?;
    let kind = file.metadata().map_err(io_error)?.file_type();
    if !kind.is_file() && !real::is_block_device(kind) {
        let text = format!("{name} is neither a file nor a block device");
        return Err(LabError::usage(text).advise("a file or a drive with the content to restore"));
    }
    let bytes = file.seek(SeekFrom::End(0)).map_err(io_error)?;
    file.seek(SeekFrom::Start(0)).map_err(io_error)?;
    if bytes == 0 || !bytes.is_multiple_of(SECTOR) {
        let text = match bytes {
            0 => format!("{name} is empty"),
            _ => format!("{name} has {}, not a whole number of sectors", decimal(bytes)),
        };
        return Err(LabError::usage(text).advise("a source whose size is a multiple of 512 bytes"));
    }
    let head = Head { block_bytes: BLOCK, bytes };
    let unwritten =
        |e: std::io::Error| LabError::new(ErrorKind::Io, format!("{}: {e}", image.display()));
    // Not a pipe or a device: the image takes space.
    let is_file = image.symlink_metadata().map_or(true, |meta| meta.is_file());
    let mut replacement = Replacement::renew(image, &MAGIC).map_err(unwritten)?;
    replacement.write_all(&head.to_bytes()).map_err(unwritten)?;
    let mut image_bytes = head.to_bytes().len() as u64;
    for block in 0..head.blocks() {
        let (offset, length) = head.place(block);
        if !goes_on(offset, bytes) {
            let text = format!("interrupted: no image of {name} was made");
            return Err(LabError::new(ErrorKind::Interrupted, text));
        }
        if is_file && block.is_multiple_of(BLOCKS_PER_LOOK) {
            check_room(image)?;
        }
        let mut content = vec![0; length];
        file.read_exact(&mut content).map_err(|error| {
            let text = format!("{name}: the block of {length} bytes at byte {offset}: {error}");
            LabError::new(ErrorKind::Io, text)
        })?;
        let record = stored(block, &content);
        replacement.write_all(&record).map_err(unwritten)?;
        image_bytes += record.len() as u64;
    }
    replacement.finish().map_err(unwritten)?;
    Ok(Made { bytes, image_bytes, blocks: head.blocks() })
}

/// Checks that the blocks up to the next look leave enough of the file system free. How well they
/// will compress is unknown, so the size of the image cannot be checked first.
fn check_room(image: &Path) -> Result<()> {
    let directory = emit::directory_of(image);
    if real::room(directory)? >= BLOCKS_PER_LOOK * u64::from(BLOCK) {
        return Ok(());
    }
    let text = format!(
        "{}: no room for the rest of the image, and none was made: 10% of the file system stays \
         free, at least 64 MiB and at most 8 GiB",
        image.display()
    );
    Err(LabError::new(ErrorKind::Refused, text).advise("a name in another directory"))
}
