//! Describes a virtual drive from a maker's data sheet and a class, for drives without a preset.
//!
//! A sheet gives limits ("up to"), and a limit becomes a limit of the part that sets it: operations
//! per second that of the controller's cores, sequential rates those of the link and of the
//! controller's intake, a rate after the cache that of the flash. Read times, sizes of pages and
//! everything else that a sheet does not give are those of the class. The dies are counted: one for
//! 32 GB, as in drives of 256 Gbit planes.

use std::fs;
use std::path::Path;

use model::{DriveSpec, Figure, FigureLine, FigureOrigin, Size};
use serde::Deserialize;

use crate::error::{LabError, Result};
use crate::fit;

/// Bytes of a die with two planes of 256 Gbit.
const DIE_BYTES: f64 = 32e9;

/// A maker's data sheet, as in a file. Rates are decimal MB/s.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sheet {
    /// One of the classes of `drives/classes`.
    pub class: String,
    /// Capacity visible to the host.
    pub capacity: Size,
    /// Manufacturer's model name.
    #[serde(default)]
    pub model: String,
    /// Sequential reads and writes, in the cache.
    pub read_mb_s: Option<f64>,
    pub write_mb_s: Option<f64>,
    /// Random reads and writes of 4 KiB at high depth, per second.
    pub read_iops: Option<f64>,
    pub write_iops: Option<f64>,
    /// Size of the SLC cache.
    pub slc: Option<Size>,
    /// Sequential writes after the cache.
    pub after_cache_mb_s: Option<f64>,
    /// Bits per cell.
    pub bits: Option<u32>,
    /// Whether the write buffer survives a power cut.
    pub power_loss_protection: Option<bool>,
}

/// A description made from a sheet.
#[derive(Clone, Debug)]
pub struct SheetDrive {
    /// Parameters that the sheet determined.
    pub decided: Vec<FigureLine>,
    /// Keys of the parameters that rest on the class, and of those that are guesses for any drive.
    pub of_class: Vec<String>,
    pub guessed: Vec<String>,
    /// Entries that the sheet does not have and that would determine more.
    pub missing: Vec<&'static str>,
    /// The description as the text of a file.
    pub toml: String,
}

/// What a sheet must have, and what else it can say.
pub const NEEDS: &str = "a sheet needs at least: class = \"NAME\" and capacity = \"1TB\"; it may have \
                         model, read_mb_s, write_mb_s, read_iops, write_iops, slc, after_cache_mb_s, \
                         bits, power_loss_protection";

impl Sheet {
    /// Reads a sheet from a file.
    pub fn read(path: &Path) -> Result<Sheet> {
        let file = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|e| LabError::usage(format!("{file}: {e}")))?;
        Sheet::parse(&file, &text)
    }

    fn parse(file: &str, text: &str) -> Result<Sheet> {
        toml::from_str(text).map_err(|e| {
            let error = LabError::usage(format!("{file}: {}", e.message().trim()));
            error.advise(NEEDS)
        })
    }

    /// The drive of the sheet, named `name`.
    pub fn drive(&self, file: &str, name: &str) -> Result<SheetDrive> {
        let mut spec = DriveSpec::from_class(&self.class).map_err(LabError::usage)?;
        spec.name = name.into();
        spec.model = if self.model.is_empty() { name.into() } else { self.model.clone() };
        spec.about = format!("From the data sheet {file} and the class {}.", self.class);
        self.put_sizes(&mut spec, file);
        self.put_limits(&mut spec, file);
        let figures = spec.figures();
        let [of_class, guessed] = ["class", "guessed"].map(|origin| {
            let matching = figures.iter().filter(|figure| figure.from == origin);
            matching.map(|figure| figure.key.clone()).collect::<Vec<_>>()
        });
        let decided = figures.iter().filter(|figure| figure.from == "sheet").cloned().collect();
        let toml = fit::description(&spec);
        // A mistake shows here, not when the file is used.
        DriveSpec::parse(name, &toml).map_err(LabError::usage)?;
        Ok(SheetDrive { decided, of_class, guessed, missing: self.missing(), toml })
    }

    fn put_sizes(&self, spec: &mut DriveSpec, file: &str) {
        let source = |entry: &str| format!("{file}: {entry}");
        put(&mut spec.capacity, self.capacity, &source("capacity"));
        if spec.nand.dies.from == FigureOrigin::Guessed {
            let dies = (self.capacity.0 as f64 / DIE_BYTES).round().max(1.0) as u32;
            put(&mut spec.nand.dies, dies, &source("capacity, a die for 32 GB"));
        }
        if let Some(bits) = self.bits {
            put(&mut spec.nand.bits, bits, &source("bits"));
        }
        if let Some(slc) = self.slc {
            put(&mut spec.slc.dynamic, slc, &source("slc"));
        }
        if let Some(protected) = self.power_loss_protection {
            put(&mut spec.buffer.protected, protected, &source("power_loss_protection"));
        }
    }

    fn put_limits(&self, spec: &mut DriveSpec, file: &str) {
        let source = |entry: &str| format!("{file}: {entry}");
        let command = &mut spec.command;
        if let Some(iops) = self.read_iops {
            put(&mut command.read_us, core_us(iops, *command.cores), &source("read_iops"));
        }
        if let Some(iops) = self.write_iops {
            put(&mut command.write_us, core_us(iops, *command.cores), &source("write_iops"));
        }
        if let (Some(rate), Some(link)) = (self.read_mb_s, spec.link.last_mut()) {
            let usual = model::bus(&link.bus, *link.packet_bytes)
                .map(|(bytes_per_s, ..)| bytes_per_s / 1e6);
            if usual.is_none_or(|usual| rate < usual) {
                put(&mut link.ceiling_mb_s, rate, &source("read_mb_s"));
            }
        }
        if let Some(rate) = self.write_mb_s {
            put(&mut spec.buffer.intake_mb_s, rate, &source("write_mb_s"));
        }
        if let Some(rate) = self.after_cache_mb_s {
            let nand = &mut spec.nand;
            let row = f64::from(*nand.dies * *nand.planes * *nand.page_bytes);
            let program_us = row * f64::from(*nand.bits) / rate.max(1e-3);
            put(&mut nand.program_us, program_us, &source("after_cache_mb_s"));
        }
    }

    fn missing(&self) -> Vec<&'static str> {
        let entries = [
            ("read_mb_s", self.read_mb_s.is_some()),
            ("write_mb_s", self.write_mb_s.is_some()),
            ("read_iops", self.read_iops.is_some()),
            ("write_iops", self.write_iops.is_some()),
            ("slc", self.slc.is_some()),
            ("after_cache_mb_s", self.after_cache_mb_s.is_some()),
            ("bits", self.bits.is_some()),
            ("power_loss_protection", self.power_loss_protection.is_some()),
        ];
        entries.iter().filter(|(_, is_there)| !is_there).map(|(entry, _)| *entry).collect()
    }
}

fn core_us(iops: f64, cores: u32) -> f64 {
    f64::from(cores.max(1)) * 1e6 / iops.max(1.0)
}

fn put<T>(figure: &mut Figure<T>, value: T, source: &str) {
    *figure = Figure { value, from: FigureOrigin::Sheet, source: source.to_string() };
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHEET: &str = "class = \"pcie4-8ch\"\ncapacity = \"2TB\"\nmodel = \"X1\"\n\
                         read_mb_s = 5000\nread_iops = 500_000\nslc = \"100GB\"\n\
                         after_cache_mb_s = 1500\nbits = 3\n";

    #[test]
    fn a_sheet_sets_limits_and_leaves_the_rest_to_the_class() {
        let made = Sheet::parse("x1.toml", SHEET)
            .expect("a sheet")
            .drive("x1.toml", "x1")
            .expect("a drive");
        let spec = DriveSpec::parse("x1", &made.toml).expect("a description");
        assert_eq!((spec.capacity.0, *spec.nand.dies), (2_000_000_000_000, 63));
        assert_eq!((*spec.command.read_us, spec.slc.dynamic.0), (8.0, 100_000_000_000));
        assert_eq!(*spec.link[0].ceiling_mb_s, 5000.0);
        assert_eq!(spec.command.read_us.from, FigureOrigin::Sheet);
        assert!(made.of_class.contains(&"nand.read_us".to_string()), "{:?}", made.of_class);
        assert_eq!(made.missing, ["write_mb_s", "write_iops", "power_loss_protection"]);
    }

    #[test]
    fn a_sheet_without_class_or_capacity_is_told_what_it_needs() {
        for text in
            ["capacity = \"1TB\"", "class = \"sata-tlc\"", "class = \"sata-tlc\"\ncolour = 1"]
        {
            let error = Sheet::parse("x.toml", text).expect_err("incomplete");
            assert_eq!(error.advice(), Some(NEEDS), "{text}");
        }
        let text = "class = \"sata-tlcs\"\ncapacity = \"1TB\"";
        let error = Sheet::parse("x.toml", text)
            .expect("a sheet")
            .drive("x.toml", "x")
            .expect_err("no class");
        assert!(error.to_string().contains("did you mean 'sata-tlc'?"), "{error}");
    }
}
