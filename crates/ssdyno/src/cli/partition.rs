//! Arguments of `partition`.

use clap::{ArgGroup, Args};
use workload::units;

const EXAMPLES: &str = "\
Examples:
  ssdyno partition /dev/sdb             the table, with names and alignment
  ssdyno partition disc.img --sector 4096
  ssdyno partition /dev/sdb --layout loader,filecore=110G,fat32=20G,ext4 --dry-run
  ssdyno partition /dev/sdb --layout loader,filecore=110G,fat32=20G,ext4 --destroy=SERIAL
  ssdyno partition /dev/sdb --layout loader,filecore=110G,ext4 --format --lfau 32K --destroy=SERIAL
  ssdyno partition /dev/sdb --renumber --destroy=SERIAL

A layout is up to four of loader, filecore, fat32, fat16, exfat, ntfs, ext4, linux and swap, in
their order on the drive; one without a size takes the rest, or 512 MiB for loader. The table is
an MBR.
--format makes empty file systems on loader, fat32, exfat and filecore (E+), and on no others.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("new_table").args(["layout", "renumber"]))]
pub struct PartitionArgs {
    /// Whole block device, or an image of one
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// Write a new table; everything on the drive is lost
    #[arg(long, value_name = "PARTITIONS")]
    pub layout: Option<String>,
    /// Make empty file systems: FAT32, exFAT, FileCore E+
    #[arg(long, requires = "layout")]
    pub format: bool,
    /// FileCore's allocation unit [default: the smallest that Linux and old RISC OS can read]
    #[arg(long, value_parser = units::parse_bytes, value_name = "SIZE", requires = "format")]
    pub lfau: Option<u64>,
    /// Number the partitions of an MBR in their order on the drive; no data are lost
    #[arg(long, conflicts_with = "layout")]
    pub renumber: bool,
    /// Permit writing the table: the drive's serial number, or its size in bytes if it has none
    #[arg(long, value_name = "SERIAL", requires = "new_table")]
    pub destroy: Option<String>,
    /// Show the new table, then stop
    #[arg(long, requires = "new_table")]
    pub dry_run: bool,
    /// Sector size of an image [default: 512]
    #[arg(long, value_parser = units::parse_bytes, value_name = "SIZE")]
    pub sector: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
