//! The comparison of ticked records, each a side.

use lab::LabError;
use lab::compare::{self, CONFOUNDED, Side};
use report::comparison;
use store::Store;

use crate::frame::{Venue, version};

/// Most records that are compared at once.
pub const SIDES_MAX: usize = 8;

/// The page; fails if the records did unlike work or are too few.
pub fn page(venue: &Venue, store: &Store, numbers: &[i64]) -> Result<String, LabError> {
    if !(2..=SIDES_MAX).contains(&numbers.len()) {
        let text = format!("tick 2 to {SIDES_MAX} records to compare");
        return Err(LabError::new(lab::ErrorKind::Usage, text));
    }
    let sides = numbers.iter().map(|number| {
        let (run, _) = lab::kept(store, *number)?;
        let runs = vec![run];
        Ok(Side { repeats: compare::repeats(store, &runs)?, runs })
    });
    let sides: Vec<Side> = sides.collect::<Result<_, LabError>>()?;
    compare::check_alike(&sides)?;
    let comparisons = compare::compare(&sides, None)?;
    let titles = vec![String::new(); sides.len()];
    let view = compare::view(&titles, &sides, &comparisons, CONFOUNDED, false);
    Ok(comparison::linked_html(&view, version(), &venue.links()))
}
