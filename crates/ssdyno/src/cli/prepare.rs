//! Arguments of `prepare`.

use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use record::State;
use workload::units;

use super::{TargetArgs, complete};

const EXAMPLES: &str = "\
Examples:
  ssdyno prepare /dev/sdb --to fresh --destroy=SERIAL
  ssdyno prepare /dev/nvme1n1 --to fresh --lbaf 4096 --destroy=SERIAL
  ssdyno prepare /dev/sdb --to used --destroy=SERIAL
  sudo ssdyno prepare /mnt --to trimmed      free space only; nothing is lost
  ssdyno prepare sim:samsung-980-pro-2t?capacity=8GiB --to used
  sudo ssdyno prepare pci:0000:01:00.0 --bind=SERIAL     until --unbind

States:
  fresh    everything discarded
  filled   written once in order
  used     filled, then written at random until the rate is steady
  trimmed  used, then everything discarded (in a directory, its free space)

Later runs start from the state in which the drive was left. A virtual drive
does not keep it: each run starts fresh, or as set by sim:NAME?state=used.";

/// Parser of the states accepted by `--to`.
fn state() -> impl TypedValueParser<Value = State> {
    let states = ["fresh", "filled", "used", "trimmed"];
    PossibleValuesParser::new(states).map(|name| State::named(&name))
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PrepareArgs {
    /// Desired state: fresh, filled, used or trimmed
    #[arg(
        long,
        value_parser = state(),
        value_name = "STATE",
        hide_possible_values = true,
        required_unless_present_any = ["bind", "unbind"]
    )]
    pub to: Option<State>,
    #[command(flatten)]
    pub driver: DriverArgs,
    #[command(flatten)]
    pub by: EraseArgs,
    /// Maximum time for ageing: 30s, 5m
    #[arg(long, help_heading = "Test", value_parser = units::parse_duration, value_name = "TIME")]
    pub time: Option<Duration>,
    #[command(flatten)]
    pub on: TargetArgs,
}

/// Driver binding of an NVMe drive (`pci:...`); its content is not changed.
#[derive(Debug, Args)]
#[group(multiple = false)]
#[group(conflicts_with_all = ["to", "EraseArgs", "time", "size", "no_iommu", "dry_run", "json"])]
#[command(next_help_heading = "Driver of a pci: target")]
pub struct DriverArgs {
    /// Detach the drive with this serial number from the kernel, ready for runs on pci:
    #[arg(long, value_name = "SERIAL", add = complete::confirmations())]
    pub bind: Option<String>,
    /// Return the drive to the kernel
    #[arg(long)]
    pub unbind: bool,
}

/// How the drive is erased first [default: by discarding].
#[derive(Debug, Args)]
#[group(multiple = false)]
#[command(next_help_heading = "Erase by")]
pub struct EraseArgs {
    /// A secure discard, which erases the blocks immediately
    #[arg(long)]
    pub secure: bool,
    /// Writing zeroes
    #[arg(long)]
    pub zero: bool,
    /// An NVMe format with blocks of this size: 512, 4096
    #[arg(long, value_name = "BYTES")]
    pub lbaf: Option<u32>,
    /// An NVMe sanitize
    #[arg(long)]
    pub sanitize: bool,
}
