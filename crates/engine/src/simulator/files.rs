//! Files on a virtual drive: regions allocated in the order in which jobs first name them.
//!
//! A file with the drive's own name is the whole drive. Laying out is a fill in virtual time,
//! including that of the whole drive, which is empty at first; removal is a discard. A virtual
//! drive has no user data, so no confirmation is needed.

use std::path::{Path, PathBuf};

use rig::{FilePlan, FileSeen, FileUse, Files, Result, RigError};
use workload::{Content, Region};

use super::Simulator;
use crate::backend::FileMap;
use crate::prepare::Prepare;

/// Alignment of files, bytes; the same as that of partitions.
const ALIGNMENT: u64 = 1 << 20;

/// The files on the drive.
#[derive(Debug, Default)]
pub(super) struct Regions {
    files: Vec<Laid>,
    /// Aligned end of the last file, where the next one begins.
    end: u64,
}

#[derive(Debug)]
struct Laid {
    path: PathBuf,
    region: Region,
    /// Whether it is the whole drive, named by its own name.
    whole: bool,
    /// Whether it must be filled before the jobs begin.
    wants_content: bool,
    /// Bytes laid out; `None`: the file does not exist.
    there: Option<u64>,
}

impl Regions {
    fn find(&self, path: &Path) -> Option<&Laid> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The positions of a job's files.
    pub(super) fn map(&self, files: &[FileUse]) -> Result<FileMap> {
        let starts = files.iter().map(|FileUse { path, .. }| {
            let file = self.find(path).ok_or_else(|| {
                RigError::Unsupported(format!("{} was not admitted", path.display()))
            })?;
            Ok(file.region.start)
        });
        Ok(FileMap { starts: starts.collect::<Result<_>>()?, place_bits: rig::place_bits(files) })
    }
}

impl Simulator {
    fn is_drive(&self, path: &Path) -> bool {
        path == Path::new(&self.info.target.spec)
    }

    fn place(&mut self, plan: &FilePlan) -> Result<()> {
        let whole = self.is_drive(&plan.path);
        let Regions { files, end } = &mut self.regions;
        let existing = files.iter_mut().find(|file| file.path == plan.path);
        let start =
            existing.as_ref().map_or(if whole { 0 } else { *end }, |file| file.region.start);
        let region = Region { start, bytes: plan.end };
        if region.end() > self.info.bytes {
            let text = format!(
                "{} ends at byte {}, but the virtual drive has {}",
                plan.path.display(),
                region.end(),
                self.info.bytes
            );
            return Err(RigError::Unsupported(text));
        }
        let wants_content = plan.content;
        match existing {
            Some(file) if file.region.bytes >= plan.end => file.wants_content |= wants_content,
            Some(file) => {
                let text = format!("{} would grow over the next file", file.path.display());
                return Err(RigError::Unsupported(text));
            }
            None => {
                let path = plan.path.clone();
                files.push(Laid { path, region, whole, wants_content, there: None });
                if !whole {
                    *end = region.end().next_multiple_of(ALIGNMENT);
                }
            }
        }
        Ok(())
    }
}

impl Files for Simulator {
    fn look(&mut self, path: &Path) -> Result<FileSeen> {
        if self.is_drive(path) {
            return Ok(FileSeen { device: true, bytes: Some(self.info.bytes), blank: true });
        }
        let bytes = self.regions.find(path).and_then(|file| file.there);
        Ok(FileSeen { device: false, bytes, blank: false })
    }

    fn room(&mut self, _directory: &Path) -> Result<u64> {
        Ok(self.info.bytes.saturating_sub(self.regions.end))
    }

    fn admit(&mut self, plans: &[FilePlan]) -> Result<Option<String>> {
        self.goes_on()?;
        plans.iter().try_for_each(|plan| self.place(plan))?;
        Ok(None)
    }

    fn lay_out(&mut self, seed: u64, progress: &mut dyn FnMut(&Path, u64) -> bool) -> Result<()> {
        for number in 0..self.regions.files.len() {
            let file = &self.regions.files[number];
            let (region, fills) = (file.region, file.wants_content && file.there.is_none());
            if file.there.is_some() || (file.whole && !fills) {
                continue;
            }
            if !progress(&file.path, region.bytes) {
                return Err(RigError::Interrupted);
            }
            if fills {
                let block = u64::from(self.info.logical_block_bytes.max(1));
                let bytes = region.bytes.next_multiple_of(block);
                self.fill(Region { bytes, ..region }, Content::Random, seed)?;
            }
            self.regions.files[number].there = Some(region.bytes);
        }
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> Result<()> {
        let Some(number) = self.regions.files.iter().position(|file| file.path == path) else {
            return Ok(());
        };
        let file = &mut self.regions.files[number];
        file.there = None;
        let region = file.region;
        self.discard(region).map(drop)
    }

    fn left(&self) -> Vec<(PathBuf, u64)> {
        let files = self.regions.files.iter().filter(|file| !file.whole);
        files.filter_map(|file| Some((file.path.clone(), file.there?))).collect()
    }
}
