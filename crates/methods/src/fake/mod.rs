//! `fake`: is the capacity real? (f3)
//!
//! Writes stamped blocks at a few places (`layout.rs`) and then reads all of them. A stamp contains
//! the address it was written to, so a stamp at another address reveals the address bits that a
//! counterfeit drive ignores. `found.rs` evaluates the content. On a drive in use the places are
//! borrowed: their content is journaled and synced first, and restored however the run ends.

mod again;
mod answer;
mod found;
mod layout;
#[cfg(test)]
mod tests;
mod verdict;

use record::{FindingKind, IoErrors, Safety, Series, State, TargetKind, Unit};
use rig::{BlockDone, BlockRequest, BlockWay, Preparation};
use workload::stamp;
use workload::units::decimal;

use script::{
    Budget, Bulk, Common, Conclusion, MethodInfo, MetricInfo, Options, Result, ScratchUse, Session,
    admit,
};

use again::Rereads;
use found::{Capacity, Found};
use layout::{Layout, TestPlace};

/// Queue depth.
const DEPTH: u32 = 8;

/// Default duration in seconds, for a slow card of 32 GB.
const SECONDS: f64 = 120.0;

/// Maximum time for the test of a suspected cache, seconds: the middle places of a slow card.
const AGAIN_SECONDS: f64 = 60.0;

/// Makes the seed of the stamps differ from the seeds of other content of a run.
const SALT: u64 = 0x6661_6b65_2d63_6170;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "fake",
    summary: "is the capacity real",
    about: "Writes blocks stamped with their address and the seed of the run: at evenly \
            spaced addresses, over the last 256 MiB (at most a quarter), and then over the first bytes, as \
            many as the spacing (64 MiB on a card of 4 GB, at most 256 MiB). Then reads all of them in \
            the same order. A drive that ignores high address bits returns the stamps of other \
            addresses, whatever its real capacity; above 512 GiB, some capacities escape, and the \
            verdict gives the probability. A drive that drops data beyond its memory returns none, \
            unless it has a cache as large as that end; the answer gives that size. If only places \
            below others lost their content, they are written again, which pushes the others out of a \
            cache and not out of memory; if only the start kept its content, part of the end is. Reports the real capacity, and the probability of finding a drive on which 1% of \
            the places are bad. In a directory, a scratch file is written and read as a whole, \
            and so is a file of yours (with --destroy); that says nothing about the rest of the \
            drive. --size is allowed only in a directory: the file may then take all free space, \
            where other methods leave 10%, except on the root file system. A device requires \
            --borrow (its blocks are journaled first and restored) or --destroy.",
    safety: Safety::Borrows,
    seconds: SECONDS,
    writes: "480 MB on a card of 4 GB, at most 1.1 GB; all of a file",
    ignores: &[Common::Time, Common::Replicates],
    primary: &[CAPACITY.name],
    metrics: &[&[CAPACITY, TESTED, LOST, MISPLACED, CACHE, DETECTION]],
    run,
    answer: answer::answer,
    conclusion: Conclusion::Script,
    provokes: &[FindingKind::ContentLost],
    scratch: ScratchUse { fills: true, ..ScratchUse::USUAL },
    ..MethodInfo::EMPTY
};

/// Series of the shares of the content that came back, by address, and its maximum number of parts.
const MAP: &str = "fake-map";
const MAP_PARTS: u64 = 256;

const CAPACITY: MetricInfo = MetricInfo::bytes(
    "fake-capacity",
    "real capacity of the drive: as announced, or as the content shows, within the interval; \
         absent for a file",
);
const TESTED: MetricInfo = MetricInfo::bytes("fake-tested", "bytes written and read back");
const LOST: MetricInfo =
    MetricInfo::bytes("fake-lost", "of these, bytes with other content, or none");
const MISPLACED: MetricInfo =
    MetricInfo::bytes("fake-misplaced", "of these, bytes with the stamp of another address");
const CACHE: MetricInfo = MetricInfo::bytes(
    "fake-cache",
    "size of a cache that would hide a missing end of the drive; absent for a file",
);
const DETECTION: MetricInfo = MetricInfo::number(
    "fake-detection",
    "probability of finding a drive without a cache on which 1% of the places, anywhere, are \
         bad",
);

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let advice = match session.target().target.kind {
        TargetKind::File => "--destroy with its size allows overwriting all of it",
        _ => "--borrow restores everything; --destroy with its serial number allows overwriting",
    };
    admit(session.target(), Safety::Borrows, "fake writes to", advice)?;
    let layout = Layout::new(session.target(), options)?;
    let result = measure(session, &layout, options.seed ^ SALT);
    // A failure to restore data outweighs any earlier error.
    let restored = if layout.borrows {
        session.prepare("restore", Preparation::Restore).map(drop)
    } else {
        Ok(())
    };
    restored.and(result)
}

fn measure(session: &mut Session<'_>, layout: &Layout, seed: u64) -> Result<()> {
    if layout.borrows {
        for place in &layout.places {
            session.prepare("borrow", Preparation::Borrow { region: place.region })?;
        }
    }
    session.step("fake-write", 0);
    if !layout.borrows && session.target().target.kind != TargetKind::Directory {
        session.set_state(State::Used);
    }
    for (index, place) in layout.places.iter().enumerate() {
        let bulk = [Bulk::once(BlockWay::Write, place.region)];
        session.transfer("fake-write", &bulk, |session| {
            let nothing = &mut (Found::default(), Rereads::default());
            transfer(session, place, BlockWay::Write, seed, nothing)
        })?;
        progress(session, "fake-write", index, layout);
    }
    session.flush()?;
    session.step("fake-read", 0);
    session.apply(Preparation::DropCaches)?;
    let mut results = (Found::default(), Rereads::default());
    for (index, place) in layout.places.iter().enumerate() {
        let bulk = [Bulk::once(BlockWay::Read, place.region)];
        session.transfer("fake-read", &bulk, |session| {
            transfer(session, place, BlockWay::Read, seed, &mut results)
        })?;
        progress(session, "fake-read", index, layout);
    }
    expose_cache(session, layout, seed, &mut results)?;
    let (contents, rereads) = results;
    session.doubt_reads("fake-read", rereads.seen);
    publish(session, layout, &contents);
    Ok(())
}

/// Tells a cache of the latest writes from memory, if the content suggests either: writes lost
/// places again, which pushes the oldest content out of a cache, and reads kept ones once more. Memory
/// keeps what it kept.
fn expose_cache(
    session: &mut Session<'_>,
    layout: &Layout,
    seed: u64,
    results: &mut (Found, Rereads),
) -> Result<()> {
    if layout.whole {
        return Ok(());
    }
    let middle: Vec<TestPlace> = layout.middle().copied().collect();
    let pushing = layout.pushing_out_low();
    assert!(middle.iter().map(|place| place.region.bytes).sum::<u64>() <= pushing.region.bytes);
    let low = TestPlace { region: layout.low(), chunk: layout::LARGE };
    let budget =
        Budget { seconds: AGAIN_SECONDS, bytes: pushing.region.bytes, ..Budget::default() };
    session.budget("fake-again", budget, |session| {
        // A plan has the larger of both.
        if session.plans() || results.0.is_lost(layout.low().end()..layout.top_start()) {
            // The start was written last, so a cache may hold it, too.
            results.0.renew(content_after_rewrite(session, &[pushing], &[low], seed)?);
            return Ok(());
        }
        let Some(suspicion) = results.0.suspicion(layout.top_start()) else { return Ok(()) };
        let starts = [&suspicion.lost, &suspicion.kept];
        let [lost_places, kept_places] = starts.map(|starts| -> Vec<TestPlace> {
            middle.iter().filter(|p| starts.contains(&p.region.start)).copied().collect()
        });
        let second_content = content_after_rewrite(session, &lost_places, &kept_places, seed)?;
        if !second_content.bad_places().is_empty() {
            // A cache that held one of them held all of them.
            results.0.lose(&suspicion.kept);
        }
        Ok(())
    })
}

/// Writes places again, and returns the content that others then have; none while planning.
fn content_after_rewrite(
    session: &mut Session<'_>,
    written: &[TestPlace],
    read: &[TestPlace],
    seed: u64,
) -> Result<Found> {
    session.transfer("fake-again", &each_once(BlockWay::Write, written), |session| {
        let nothing = &mut (Found::default(), Rereads::default());
        let mut places = written.iter();
        places.try_for_each(|place| transfer(session, place, BlockWay::Write, seed, nothing))
    })?;
    session.flush()?;
    session.apply(Preparation::DropCaches)?;
    let mut results = (Found::default(), Rereads::default());
    session.transfer("fake-again", &each_once(BlockWay::Read, read), |session| {
        let mut places = read.iter();
        places.try_for_each(|place| transfer(session, place, BlockWay::Read, seed, &mut results))
    })?;
    Ok(results.0)
}

fn each_once(way: BlockWay, places: &[TestPlace]) -> Vec<Bulk> {
    places.iter().map(|place| Bulk::once(way, place.region)).collect()
}

fn progress(session: &mut Session<'_>, name: &str, index: usize, layout: &Layout) {
    let share = (index + 1) as f64 / layout.places.len() as f64;
    session.progress(name, share);
}

/// Writes stamps at a place, or reads and checks them.
fn transfer(
    session: &mut Session<'_>,
    place: &TestPlace,
    way: BlockWay,
    seed: u64,
    results: &mut (Found, Rereads),
) -> Result<()> {
    let depth = DEPTH.min(session.queue_depth()?);
    let (mut flight, mut completed) = (0, Vec::new());
    let mut offset = place.region.start;
    while offset < place.region.end() || flight > 0 {
        if offset < place.region.end() && flight < depth {
            let length = place.chunk.min(place.region.end() - offset);
            let mut bytes = vec![0; length as usize];
            if way == BlockWay::Write {
                stamp::write(&mut bytes, found::stamp(offset, seed), stamp::Layout::default());
            }
            let request = BlockRequest { tag: offset, way, offset, bytes };
            session.submit(request)?;
            (offset, flight) = (offset + length, flight + 1);
            continue;
        }
        session.poll(true, &mut completed)?;
        flight -= completed.len() as u32;
        completed.drain(..).try_for_each(|one| take(session, one, seed, results))?;
    }
    Ok(())
}

/// Records a completed request. A failed one is an error of the drive, and its content is lost.
fn take(
    session: &mut Session<'_>,
    one: BlockDone,
    seed: u64,
    (found, rereads): &mut (Found, Rereads),
) -> Result<()> {
    let BlockDone { mut request, result, .. } = one;
    match (&result, request.way) {
        (Ok(()), BlockWay::Read) => {
            rereads.settle(session, request.offset, &mut request.bytes, seed)?;
            found.add(request.offset, &request.bytes, seed);
        }
        (Ok(()), BlockWay::Write | BlockWay::Flush) => {}
        (Err(error), way) => {
            let op = if way == BlockWay::Read { "read" } else { "write" };
            session.add_errors(&IoErrors {
                first_offsets: vec![request.offset],
                ..IoErrors::new(op, rig::error_name(error), format!("fake-{op}"), 1)
            });
            if way == BlockWay::Read {
                let bytes = request.bytes.len() as u64;
                found.unreadable(workload::Region { start: request.offset, bytes });
            }
        }
    }
    Ok(())
}

/// What came back, by address: in parts as large as the spacing of the places, so that each has at
/// least one of them.
fn map(layout: &Layout, found: &Found) -> Series {
    let parts = layout.bytes.checked_div(layout.spacing).unwrap_or(MAP_PARTS).clamp(1, MAP_PARTS);
    let part_bytes = layout.bytes.div_ceil(parts).max(1);
    let mut series = Series::new(MAP, 0, 0);
    for (row, (start, held)) in found.by_part(part_bytes).into_iter().enumerate() {
        let shares = held.shares().map(Some);
        let end = (start + part_bytes).min(layout.bytes);
        let columns = [
            ("as written", Unit::Share, shares[0]),
            ("of another address", Unit::Share, shares[1]),
            ("lost", Unit::Share, shares[2]),
            ("position", Unit::Bytes, Some(start as f64)),
            ("end", Unit::Bytes, Some(end as f64)),
        ];
        series.push(row as u64 + 1, &columns);
    }
    series
}

fn publish(session: &mut Session<'_>, layout: &Layout, found: &Found) {
    let (sum, top) = (found.sum(), layout.top_start());
    let capacity = found.capacity(top);
    // Content that reads differently each time is neither kept nor lost.
    let is_known = capacity == Capacity::Real || !session.reads_differ();
    let ends = match capacity {
        _ if !is_known => None,
        // Addresses within a file say nothing about those of the drive.
        _ if layout.whole => None,
        Capacity::Real => Some((layout.bytes, layout.bytes)),
        Capacity::Wrapped(real) => real.map(|real| (real, real)),
        Capacity::Ends(low, high) => Some((low, high)),
        Capacity::Holes => None,
    };
    if let Some((low, high)) = ends {
        let value = low as f64 + (high - low) as f64 / 2.0;
        let metric = CAPACITY.single(value);
        session.put_metric(if low < high {
            metric.between(low as f64, high as f64, record::Covers::Resolution)
        } else {
            metric
        });
    }
    session.replace_series(map(layout, found));
    session.put(TESTED, Some((sum.kept + sum.misplaced + sum.lost) as f64));
    session.put(LOST, Some(sum.lost as f64));
    session.put(MISPLACED, Some(sum.misplaced as f64));
    session.put(DETECTION, Some(layout.detects(0.01)));
    session.put(CACHE, (!layout.whole).then_some(layout.top as f64));
    if capacity != Capacity::Real && is_known && !session.plans() {
        let text = format!(
            "{} of {} written did not come back",
            decimal(sum.lost + sum.misplaced),
            decimal(layout.written())
        );
        let finding = record::Finding::new(FindingKind::ContentLost, record::Level::Bad, text);
        session.note(finding.advise("copy your data from this drive, and do not trust it"));
    }
    let verdict = is_known.then(|| verdict::verdict(layout, found, capacity));
    session.conclude(verdict.into_iter().collect());
    session.checkpoint();
}
