//! `ssdyno partition`: the table of a drive, read and judged, or planned and written.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use drive::partitions::{self, Entry, Layout, LayoutError, Planned, Table};
use drive::{OpenRequest, Opened};
use record::{Safety, TargetKind};
use report::table::{Align, Cell, Table as Grid};
use report::{Ink, Style};
use rig::TargetInfo;
use serde::Serialize;
use workload::units;

use crate::cli::PartitionArgs;
use crate::failure::{CHECK_FAILED, Failure, IO, REFUSED, Result, USAGE};
use crate::{present, screen};

/// What is said of a table, for programs.
#[derive(Serialize)]
struct Told<'a> {
    target: &'a str,
    bytes: u64,
    sector_bytes: u32,
    table: &'a Table,
    oddities: Vec<String>,
}

/// A drive that has room for a table.
struct Disc {
    info: TargetInfo,
    sector: u32,
}

/// Shows the table, or writes one.
pub fn run(args: &PartitionArgs) -> Result {
    let layout = args.layout.as_deref().map(Layout::parse).transpose()?;
    let wants = if args.destroy.is_some() { Safety::Destroys } else { Safety::Reads };
    let request = OpenRequest { size: None, wants, destroy: args.destroy.clone() };
    let planned = drive::plan_open(&args.target, &request)?;
    let disc = disc(args, planned.info)?;
    let Some(layout) = layout else { return show(args, &disc) };
    let places = layout.plan(disc.info.bytes, disc.sector)?;
    if args.dry_run {
        let text = match args.json {
            true => present::json(&places)?,
            false => plan_words(&disc, &places, planned.destroys.as_deref()),
        };
        present::print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    if disc.info.allowed < Safety::Destroys {
        let text = format!("{} may only be read, and a new table loses all on it", args.target);
        let advice = "--destroy with its serial number, or else its size in bytes, gives it away";
        return Err(Failure::new(REFUSED, text).advise(advice));
    }
    screen::say(plan_words(&disc, &places, planned.destroys.as_deref()).trim_end());
    write(&args.target, &request, &disc, &places)?;
    show(args, &disc)
}

/// What can have a table: a whole drive, or an image.
fn disc(args: &PartitionArgs, info: TargetInfo) -> Result<Disc> {
    let target = &info.target;
    let sector = match (target.kind, args.sector) {
        (TargetKind::File, None) => 512,
        (TargetKind::File, Some(sector @ (512 | 1024 | 2048 | 4096))) => sector as u32,
        (TargetKind::File, Some(sector)) => {
            let text = format!("a sector has 512, 1024, 2048 or 4096 bytes, not {sector}");
            return Err(Failure::new(USAGE, text));
        }
        (TargetKind::Device, None) => info.logical_block_bytes,
        (TargetKind::Device, Some(_)) => {
            let text = format!("{} tells its sectors itself: --sector is for images", args.target);
            return Err(Failure::new(USAGE, text));
        }
        _ => {
            let text = format!("{} is no drive: a table is on a device or an image", args.target);
            return Err(Failure::new(USAGE, text).advise("ssdyno list"));
        }
    };
    if target.kind == TargetKind::Device && partitions::is_partition(&args.target) {
        let text = format!("{} is a partition, and a table is on a whole drive", args.target);
        return Err(Failure::new(USAGE, text).advise(format!("ssdyno list {}", args.target)));
    }
    Ok(Disc { info, sector })
}

fn show(args: &PartitionArgs, disc: &Disc) -> Result {
    let request = OpenRequest { size: None, wants: Safety::Reads, destroy: None };
    let opened = drive::open(&args.target, &request)?;
    let bytes = disc.info.bytes;
    let Some(table) = Table::read(&opened.file, bytes, disc.sector) else {
        let text = format!("{} has no partition table", args.target);
        return Err(Failure::new(CHECK_FAILED, text)
            .advise("--layout plans one: see ssdyno partition --help"));
    };
    let oddities = table.oddities();
    let text = match args.json {
        true => {
            let (target, sector_bytes) = (args.target.as_str(), disc.sector);
            present::json(&Told { target, bytes, sector_bytes, table: &table, oddities })?
        }
        false => words(&args.target, disc, &table, &screen::style()),
    };
    present::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn write(target: &str, request: &OpenRequest, disc: &Disc, places: &[Planned]) -> Result<()> {
    let failed = |e| Failure::new(IO, format!("cannot write the table of {target}: {e}"));
    let opened = drive::open(target, request)?;
    opened.guard.check_again()?;
    let drive = (disc.info.bytes, disc.sector);
    partitions::write(&opened.file, drive, places, signature()).map_err(failed)?;
    let Opened { info, guard, file, .. } = opened;
    // The kernel reads a table again only for one who holds the drive alone.
    drop((guard, file));
    if info.target.kind == TargetKind::Device
        && let Err(e) = partitions::reread(target)
    {
        screen::say(&format!("ssdyno: the table is written; the kernel has not read it yet: {e}"));
    }
    Ok(())
}

/// A number that no other disk is likely to have: by it systems tell disks apart.
fn signature() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_secs() as u32).rotate_left(16) ^ now.subsec_nanos() | 1
}

fn title(target: &str, kind: &str, disc: &Disc) -> String {
    let size = units::decimal(disc.info.bytes);
    format!("{target}   {kind}   {size}, sectors of {}", units::binary(u64::from(disc.sector)))
}

fn words(target: &str, disc: &Disc, table: &Table, style: &Style) -> String {
    use Align::{Left, Right};
    let kind = if table.kind == "gpt" { "GPT" } else { "MBR" };
    let mut text = style.paint(Ink::Strong, &title(target, kind, disc)) + "\n";
    let mut grid = Grid::new(&[Right, Left, Left, Right, Right, Left, Left]).gap(2);
    for entry in &table.entries {
        let code = entry.kind.to_string();
        let code = if code.len() > 2 { code[..8].to_string() + ".." } else { code };
        let (ink, alignment) = alignment(entry);
        grid.row([
            Cell::new(Ink::Plain, format!("  {}", entry.number)),
            Cell::dim(code),
            Cell::new(Ink::Plain, entry.kind.name().unwrap_or("unknown type")),
            Cell::dim(format!("at {}", units::binary(entry.start))),
            Cell::new(Ink::Plain, units::binary(entry.bytes)),
            Cell::new(ink, alignment),
            Cell::new(Ink::Plain, entry.name.clone().unwrap_or_default()),
        ]);
    }
    text += &grid.render(style);
    for oddity in table.oddities() {
        text += &format!("  {}\n", style.paint(Ink::Warn, &oddity));
    }
    text
}

fn alignment(entry: &Entry) -> (Ink, &'static str) {
    match () {
        () if entry.is_aligned(1 << 20) => (Ink::Good, "aligned to 1 MiB"),
        () if entry.is_aligned(4096) => (Ink::Good, "aligned to 4 KiB"),
        () => (Ink::Bad, "MISALIGNED: every 4 KiB write takes two pages"),
    }
}

fn plan_words(disc: &Disc, places: &[Planned], destroys: Option<&str>) -> String {
    use Align::{Left, Right};
    let mut text = title(&disc.info.target.spec, "new MBR", disc) + "\n";
    let mut grid = Grid::new(&[Right, Left, Left, Right, Right]).gap(2);
    for place in places {
        grid.row([
            Cell::new(Ink::Plain, format!("  {}", place.number)),
            Cell::dim(place.kind.to_string()),
            Cell::new(Ink::Plain, place.purpose),
            Cell::dim(format!("at {}", units::binary(place.start))),
            Cell::new(Ink::Plain, units::binary(place.bytes)),
        ]);
    }
    text += &grid.render(&screen::style());
    let end = places.last().map_or(0, |p| p.start + p.bytes);
    let left = disc.info.bytes.saturating_sub(end);
    if left >= 1 << 30 {
        text +=
            &format!("  {} at the end stay free: an MBR cannot count them\n", units::binary(left));
    }
    text + &destroys.map_or_else(String::new, |what| format!("  lost: {what}\n"))
}

impl From<LayoutError> for Failure {
    fn from(error: LayoutError) -> Failure {
        Failure::new(USAGE, error).advise("ssdyno partition --help")
    }
}
