//! `ssdyno list`: the drives of this machine, their content, and the permissions on them. One line
//! per drive, or all known details with `--verbose`.

use drive::pci::BoundDrive;
use drive::{Below, BlockDevice, DeviceContent, Inside, Partition};
use lab::machine::{self, Listed};
use record::{DriveIdentity, Safety};
use report::table::{Align, Table, TableCell};
use report::{Ink, Style};
use workload::units;

use super::choice::Choice;
use super::recover;
use crate::cli::ListArgs;
use crate::failure::Result;
use crate::{present, screen};

/// Lists every drive, or the drives that contain a path.
pub fn run(args: &ListArgs) -> Result {
    let drives = match &args.path {
        None => machine::all_drives(),
        Some(path) => {
            machine::drives_under(path)?.into_iter().map(Box::new).map(Listed::Device).collect()
        }
    };
    if args.json {
        return present::done(&present::json(&drives)?);
    }
    let text = if args.verbose || args.path.is_some() {
        let style = screen::style();
        drives.iter().map(|drive| entry(drive, &style)).collect::<Vec<_>>().join("\n")
    } else {
        lines(&drives).render(&screen::uncut())
    };
    recover::mention(None);
    present::done(if drives.is_empty() { "no block devices found\n" } else { &text })
}

/// The drives that a run may read, to choose from.
pub fn choices() -> Vec<Choice> {
    let drives = machine::all_drives();
    let devices = drives.iter().filter_map(|listed| match listed {
        Listed::Device(device) if device.allowance.most.is_some() => Some(device),
        Listed::Device(_) | Listed::Bound(_) => None,
    });
    let choices = devices.filter_map(|device| {
        let id = &device.drive;
        let size = id.bytes.map_or_else(|| "unknown size".to_string(), units::decimal);
        let model = model(id).unwrap_or_else(|| "unknown model".to_string());
        Some(Choice::new(id.path.as_deref()?, format!("{model}, {size}: reads only")))
    });
    choices.collect()
}

/// The drives of this machine as a table.
pub fn overview() -> String {
    lines(&machine::all_drives()).render(&screen::uncut())
}

/// A line for each drive. If the table is too wide, the uses continue below.
fn lines(drives: &[Listed]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[Left, Right, Left, Left, Left, Left]).wrapping();
    table.heading(["drive", "size", "model", "link", "allowed", "used for"]);
    for listed in drives {
        let device = match listed {
            Listed::Device(device) => device,
            Listed::Bound(bound) => {
                table.row(bound_row(bound));
                continue;
            }
        };
        let id = &device.drive;
        table.row([
            TableCell::new(Ink::Strong, id.path.as_deref().unwrap_or(&id.name)),
            TableCell::from(id.bytes.map_or_else(|| "unknown".to_string(), units::decimal)),
            TableCell::from(model(id).unwrap_or_else(|| "unknown".to_string())),
            TableCell::from(link_now(id)),
            permission(device),
            TableCell::dim(uses(device)),
        ]);
    }
    table
}

/// The line for a drive detached from the kernel's driver.
fn bound_row(bound: &BoundDrive) -> [TableCell; 6] {
    let allowance = match bound.give_back {
        Some(_) => TableCell::new(Ink::Warn, "writes"),
        None => TableCell::new(Ink::Bad, "nothing"),
    };
    [
        TableCell::new(Ink::Strong, bound.target.as_str()),
        TableCell::from(bound.bytes.map_or("unknown".into(), units::decimal)),
        TableCell::from(bound.model.clone().unwrap_or_else(|| "unknown".into())),
        TableCell::from(bound.driver.clone().unwrap_or_else(|| "no driver".into())),
        allowance,
        TableCell::dim(returned_by(bound)),
    ]
}

/// The holder of a drive, and the command that returns it to the kernel.
fn returned_by(bound: &BoundDrive) -> String {
    let command = bound.give_back.as_ref().map(|command| format!(": {command} returns it"));
    format!("{}{}", bound.holder, command.unwrap_or_default())
}

fn entry(listed: &Listed, style: &Style) -> String {
    let bound = match listed {
        Listed::Device(device) => return block(device, style),
        Listed::Bound(bound) => bound,
    };
    let model = bound.model.as_deref().unwrap_or("unknown model");
    let serial = bound.serial.as_deref().unwrap_or("unknown");
    let target = &bound.target;
    format!("{target}  {model}, serial number {serial}\n  {}\n", returned_by(bound))
}

/// The link as currently negotiated, or the bus.
fn link_now(id: &DriveIdentity) -> String {
    let Some(link) = &id.link else { return id.bus.clone() };
    let current = link.now.clone().unwrap_or_else(|| id.bus.clone());
    if link.downgraded == Some(true) { format!("{current} DOWNGRADED") } else { current }
}

/// The most that a run may do, in one word.
fn permission(device: &BlockDevice) -> TableCell {
    match device.allowance.most {
        None => TableCell::new(Ink::Bad, "nothing"),
        Some(Safety::Destroys) => TableCell::new(Ink::Warn, "writes"),
        Some(_) => TableCell::new(Ink::Good, "reads"),
    }
}

/// Mounts, swap and holders of the drive and its partitions, or else their contents; then the
/// backing file.
fn uses(device: &BlockDevice) -> String {
    let parts =
        || [&device.inside].into_iter().chain(device.partitions.iter().map(|part| &part.inside));
    let mut mounts: Vec<String> =
        parts().flat_map(|inside| &inside.mounts).map(|mount| mount.mount.clone()).collect();
    mounts.extend(parts().filter(|inside| inside.swap).map(|_| "swap".to_string()));
    mounts.extend(parts().flat_map(|inside| &inside.holders).cloned());
    if mounts.is_empty() {
        mounts.extend(parts().filter_map(|inside| inside.contents.as_ref()).flatten().map(content));
    }
    mounts.dedup();
    let file = device.backing_file.as_ref().map(|file| format!("backed by {file}"));
    mounts.into_iter().chain(file).collect::<Vec<_>>().join(", ")
}

fn block(device: &BlockDevice, style: &Style) -> String {
    let id = &device.drive;
    let mut text = title(device, style);
    let mut table = Table::new(&[Align::Left, Align::Left]).gap(2);
    let mut row = |label: &str, words: Vec<String>| {
        if !words.is_empty() {
            table.row([
                TableCell::dim(format!("  {label}")),
                TableCell::new(Ink::Plain, words.join("   ")),
            ]);
        }
    };
    for (label, words) in report::identity(id, style) {
        row(label, words);
    }
    row("on it", inside(&device.inside));
    for partition in &device.partitions {
        row(&partition.name, partition_words(partition));
    }
    if let Some(file) = &device.backing_file {
        row("backed by", vec![file.clone()]);
    }
    row("stands on", device.below.iter().map(place).collect());
    for use_ in &device.allowance.uses {
        row("in use", vec![use_.clone()]);
    }
    text += &table.render(style);
    text += &allowed(device, style);
    text
}

fn title(device: &BlockDevice, style: &Style) -> String {
    let id = &device.drive;
    let name = id.path.as_deref().unwrap_or(&id.name);
    let model = model(id).unwrap_or_else(|| "unknown model".to_string());
    let size = id.bytes.map_or_else(|| "unknown size".to_string(), sizes);
    let name = style.paint(Ink::Strong, name);
    format!("{name}   {}   {size}\n", style.paint(Ink::Strong, &model))
}

fn model(id: &DriveIdentity) -> Option<String> {
    let words: Vec<&str> =
        [id.vendor.as_deref(), id.model.as_deref()].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn sizes(bytes: u64) -> String {
    format!("{} ({})", units::decimal(bytes), units::binary(bytes))
}

/// A place below a device: `/dev/sda from 1 MiB, 8 MiB`.
fn place(place: &Below) -> String {
    let Below { name, start, bytes } = place;
    format!("{name} from {}, {}", units::binary(*start), units::binary(*bytes))
}

fn inside(inside: &Inside) -> Vec<String> {
    let mut words = match &inside.contents {
        None => vec!["contents unknown".to_string()],
        Some(found) => found.iter().map(content).collect(),
    };
    words.extend(inside.mounts.iter().map(|m| format!("mounted on {}", m.mount)));
    if inside.swap {
        words.push("used for swap".into());
    }
    words.extend(inside.holders.iter().map(|h| format!("held by {h}")));
    words
}

fn content(content: &DeviceContent) -> String {
    let label = content.label.as_ref().map(|label| format!(" '{label}'"));
    format!("{}{}", content.kind, label.unwrap_or_default())
}

fn partition_words(partition: &Partition) -> Vec<String> {
    let alignment = match (partition.aligned_1m, partition.aligned_4k) {
        (true, _) => "aligned to 1 MiB",
        (_, true) => "aligned to 4 KiB",
        _ => "MISALIGNED",
    };
    let mut words = vec![units::decimal(partition.bytes), alignment.to_string()];
    words.extend(partition.kind.and_then(|kind| kind.name()).map(|name| format!("type {name}")));
    words.extend(inside(&partition.inside));
    words
}

fn allowed(device: &BlockDevice, style: &Style) -> String {
    let ink = match device.allowance.most {
        None => Ink::Bad,
        Some(Safety::Destroys) => Ink::Warn,
        Some(_) => Ink::Good,
    };
    let mut text = format!("  {}\n", style.paint(ink, &device.allowance.reason));
    for partition in &device.partitions {
        if partition.allowance.reason != device.allowance.reason {
            let line = format!("{}: {}", partition.name, partition.allowance.reason);
            text += &format!("  {}\n", style.paint(Ink::Dim, &line));
        }
    }
    text
}
