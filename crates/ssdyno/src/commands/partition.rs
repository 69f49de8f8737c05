//! `ssdyno partition`: reads and judges the table of a drive, or plans and writes one.

use drive::partitions::{PartitionEntry, PartitionLayout, PartitionTable, PlannedPartition};
use lab::LabError;
use lab::partition::{Disc, NewVolume};
use report::table::{Align, Table, TableCell};
use report::{Ink, Style};
use serde::Serialize;
use workload::units;

use crate::cli::PartitionArgs;
use crate::failure::Result;
use crate::{present, screen};

/// Free space at the end of a drive that a plan mentions, bytes; arbitrary.
const WORTH_A_LINE: u64 = 1 << 30;

/// A table as JSON.
#[derive(Serialize)]
struct Shown<'a> {
    target: &'a str,
    bytes: u64,
    sector_bytes: u32,
    table: &'a PartitionTable,
    oddities: Vec<String>,
}

/// Shows the table, or writes one.
pub fn run(args: &PartitionArgs) -> Result {
    let layout =
        args.layout.as_deref().map(PartitionLayout::parse).transpose().map_err(LabError::from)?;
    let disc = Disc::plan(&args.target, args.destroy.clone(), args.sector)?;
    let Some(layout) = layout else {
        return if args.renumber { renumber(args, &disc) } else { show(args, &disc) };
    };
    let places = disc.lay_out(&layout)?;
    let volumes = if args.format { disc.file_systems(&places, args.lfau)? } else { Vec::new() };
    if args.dry_run {
        let text =
            if args.json { present::json(&places)? } else { plan_words(&disc, &places, &volumes) };
        return present::done(&text);
    }
    disc.check_writable()?;
    screen::say(plan_words(&disc, &places, &volumes).trim_end());
    if let Some(warning) = disc.write(&places, &volumes)? {
        screen::say(&format!("ssdyno: {warning}"));
    }
    show(args, &disc)
}

/// Renumbers the partitions in the order of the drive.
fn renumber(args: &PartitionArgs, disc: &Disc) -> Result {
    let Some(order) = disc.order()? else {
        screen::say("nothing to renumber: the partitions are already in order");
        return show(args, disc);
    };
    if !args.dry_run {
        disc.check_writable()?;
    }
    for (number, old) in (1..).zip(&order).filter(|(number, old)| number != *old) {
        screen::say(&format!("partition {old} becomes {number}"));
    }
    if !args.dry_run
        && let Some(warning) = disc.renumber()?
    {
        screen::say(&format!("ssdyno: {warning}"));
    }
    show(args, disc)
}

fn show(args: &PartitionArgs, disc: &Disc) -> Result {
    let table = disc.read()?;
    let oddities = table.oddities();
    let text = if args.json {
        let Disc { target, bytes, sector_bytes, .. } = disc;
        let (bytes, sector_bytes) = (*bytes, *sector_bytes);
        present::json(&Shown { target, bytes, sector_bytes, table: &table, oddities })?
    } else {
        words(disc, &table, &screen::style())
    };
    present::done(&text)
}

fn title(kind: &str, disc: &Disc) -> String {
    let (target, size) = (&disc.target, units::decimal(disc.bytes));
    let sector = units::binary(u64::from(disc.sector_bytes));
    format!("{target}   {kind}   {size}, sectors of {sector}")
}

fn words(disc: &Disc, table: &PartitionTable, style: &Style) -> String {
    use Align::{Left, Right};
    let kind = if table.kind == "gpt" { "GPT" } else { "MBR" };
    let mut text = style.paint(Ink::Strong, &title(kind, disc)) + "\n";
    let mut grid = Table::new(&[Right, Left, Left, Right, Right, Left, Left]).gap(2);
    for entry in &table.entries {
        let code = entry.kind.to_string();
        let code = if code.len() > 2 { code[..8].to_string() + ".." } else { code };
        let (ink, alignment) = alignment(entry);
        grid.row([
            TableCell::new(Ink::Plain, format!("  {}", entry.number)),
            TableCell::dim(code),
            TableCell::new(Ink::Plain, entry.kind.name().unwrap_or("unknown type")),
            TableCell::dim(format!("at {}", units::binary(entry.start))),
            TableCell::new(Ink::Plain, units::binary(entry.bytes)),
            TableCell::new(ink, alignment),
            TableCell::new(Ink::Plain, entry.name.clone().unwrap_or_default()),
        ]);
    }
    text += &grid.render(style);
    for oddity in table.oddities() {
        text += &format!("  {}\n", style.paint(Ink::Warn, &oddity));
    }
    text
}

fn alignment(entry: &PartitionEntry) -> (Ink, &'static str) {
    if entry.is_aligned(1 << 20) {
        (Ink::Good, "aligned to 1 MiB")
    } else if entry.is_aligned(4096) {
        (Ink::Good, "aligned to 4 KiB")
    } else {
        (Ink::Bad, "MISALIGNED: every 4 KiB write takes two pages")
    }
}

fn plan_words(disc: &Disc, places: &[PlannedPartition], volumes: &[NewVolume]) -> String {
    use Align::{Left, Right};
    let mut text = title("new MBR", disc) + "\n";
    let mut grid = Table::new(&[Right, Left, Left, Right, Right, Left]).gap(2);
    for (at, place) in places.iter().enumerate() {
        grid.row([
            TableCell::new(Ink::Plain, format!("  {}", place.number)),
            TableCell::dim(place.kind.to_string()),
            TableCell::new(Ink::Plain, place.purpose),
            TableCell::dim(format!("at {}", units::binary(place.start))),
            TableCell::new(Ink::Plain, units::binary(place.bytes)),
            TableCell::dim(volumes.get(at).and_then(NewVolume::in_words).unwrap_or_default()),
        ]);
    }
    text += &grid.render(&screen::style());
    let end = places.last().map_or(0, |p| p.start + p.bytes);
    text += &left_free(disc.bytes, end, disc.sector_bytes);
    text + &disc.destroys.as_deref().map_or_else(String::new, |what| format!("  lost: {what}\n"))
}

/// A line about the space behind `end`, the end of the last partition; empty if there is little.
fn left_free(bytes: u64, end: u64, sector_bytes: u32) -> String {
    let rest = bytes.saturating_sub(end);
    if rest < WORTH_A_LINE {
        return String::new();
    }
    let addressable = u64::from(u32::MAX) * u64::from(sector_bytes);
    let is_unreachable = addressable.saturating_sub(end) < WORTH_A_LINE;
    let reason = if is_unreachable { ": an MBR cannot address it" } else { "" };
    format!("  {} at the end stays free{reason}\n", units::binary(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_has_a_reason_only_beyond_the_last_address_of_an_mbr() {
        const GIB: u64 = 1 << 30;
        let table = [
            (8 * GIB, 2 * GIB, 512, Some(false)),
            (3072 * GIB, 2047 * GIB + (1 << 20), 512, Some(true)),
            (3072 * GIB, 1024 * GIB, 512, Some(false)),
            (3072 * GIB, 2048 * GIB, 4096, Some(false)),
            (8 * GIB, 8 * GIB - 1, 512, None),
        ];
        for (bytes, end, sector, beyond) in table {
            let line = left_free(bytes, end, sector);
            assert_eq!(!line.is_empty(), beyond.is_some(), "{line}");
            assert_eq!(line.contains("an MBR cannot"), beyond == Some(true), "{line}");
        }
        assert_eq!(left_free(8 * GIB, 2 * GIB, 512), "  6 GiB at the end stays free\n");
    }
}
