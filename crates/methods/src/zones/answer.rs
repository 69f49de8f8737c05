//! The answer of `zones`: whether the drive is equally fast everywhere.

use super::{MAPPED, ORDERS, READ, SLOWEST, UNMAPPED_SHARE, WRITE, profile_name};
use crate::names::NOTHING_WRITTEN;
use record::Statistic::{FirstThird, LastTenth, Middle};
use record::{Answer, Axis, Better, Chart, Unit};
use script::Outcome;
use script::draft::{Draft, rate, times};
use script::whole::FILE_BYTES;

/// Address ranges whose speeds differ by less than this share count as equally fast.
const EVEN: f64 = 0.1;

/// The answer of `zones`: whether the drive is equally fast everywhere, and its slowest part.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "Is the drive equally fast everywhere?");
    let mean = draft.value(READ)?;
    let in_file = draft.value(FILE_BYTES).is_some();
    let of_file = if in_file { " of the file" } else { "" };
    let parts = [("first third", FirstThird), ("middle", Middle), ("last tenth", LastTenth)];
    let parts = parts.map(|(name, statistic)| (name, draft.part(READ, statistic)));
    let rates: Vec<(&str, f64)> = parts.iter().filter_map(|(n, r)| Some((*n, (*r)?))).collect();
    let slowest = rates.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
    let fastest = rates.iter().map(|(_, rate)| *rate).reduce(f64::max);
    let unwritten = draft.value(UNMAPPED_SHARE);
    let nothing = unwritten.is_some_and(|share| share > NOTHING_WRITTEN);
    let sentence = match (slowest, fastest) {
        (Some((part, slow)), Some(fast)) if slow < (1.0 - EVEN) * fast => {
            let factor = fast / slow;
            format!("The {part}{of_file} is {} slower", times(factor))
        }
        (Some((_, slow)), Some(fast)) => {
            let spread = 100.0 * (fast - slow) / (2.0 * mean);
            format!("Equally fast in all parts{of_file} (±{}%), {}", spread.ceil(), rate(mean))
        }
        _ => format!("Reads {} across all addresses{of_file}", rate(mean)),
    };
    let medium = if in_file { "file" } else { "drive" };
    let unwritten =
        unwritten.map(|share| format!("; {:.0}% of the {medium} holds no data.", 100.0 * share));
    let write_rate = draft.value(WRITE);
    let title = match write_rate {
        Some(_) if !in_file => "Read speed by address, before the writes",
        _ => "Read speed by address",
    };
    let chart = Chart::lines(title, Axis::Address, Unit::BytesPerSecond)
        .sources(ORDERS.map(profile_name).into_iter().zip(["sequential", "shuffled"]));
    let writes = Chart::lines("Write speed by address", Axis::Address, Unit::BytesPerSecond)
        .source(WRITE, "sequential writes");
    let draft = draft
        .tile("All addresses", READ, Better::Higher)
        .tile("First third", READ.with(FirstThird), Better::Higher)
        .tile("Middle", READ.with(Middle), Better::Higher)
        .tile("Last tenth", READ.with(LastTenth), Better::Higher)
        .tile("Slowest zone", SLOWEST, Better::Higher)
        .tile("Zones with data", MAPPED, Better::Higher)
        .chart(chart)
        .chart_of_column(writes);
    if nothing {
        let reads = rate(mean);
        return draft.say_of_others(match write_rate {
            Some(write_rate) => format!(
                "It held no data: reads at {reads} are not the flash's; then writes {}.",
                rate(write_rate)
            ),
            None => format!("It holds no data: {reads} is not the speed of the flash."),
        });
    }
    draft.say(sentence, unwritten)
}
