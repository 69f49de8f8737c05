//! Dates for finding runs, as typed by users.

use std::ops::Range;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::StoreError;

/// The time span of a date. `2026-11-21` is that day in the local time zone. With a time, such as
/// `2026-11-21T14:30` in local time or with an offset, it is that moment (start and end are equal).
pub fn day(text: &str) -> Result<Range<Timestamp>, StoreError> {
    day_in(text, TimeZone::system())
}

fn day_in(text: &str, zone: TimeZone) -> Result<Range<Timestamp>, StoreError> {
    let date_error = |_| StoreError::Date(text.to_string());
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment..moment);
    }
    let start: DateTime = text.parse().map_err(date_error)?;
    let length = if text.contains(['T', 't', ' ']) { 0.days() } else { 1.day() };
    let end = start.checked_add(length).map_err(date_error)?;
    let [start, end] = [start, end]
        .map(|time| time.to_zoned_datetime(zone.clone()).map(|zoned| zoned.timestamp()));
    Ok(start.map_err(date_error)?..end.map_err(date_error)?)
}

/// A record's `started`, in milliseconds since 1970.
pub(crate) fn milliseconds(started: &str) -> Result<i64, StoreError> {
    let moment: Result<Timestamp, _> = started.parse();
    Ok(moment
        .map_err(|e| StoreError::Unfit(format!("its start '{started}' is not a time: {e}")))?
        .as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_and_times_are_moments() {
        let hours = |text: &str| {
            let range = day_in(text, TimeZone::fixed(jiff::tz::offset(1))).expect("a date");
            (range.start.to_string(), (range.end - range.start).as_secs() / 3600)
        };
        assert_eq!(hours("2026-11-21"), ("2026-11-20T23:00:00Z".into(), 24));
        for moment in ["2026-11-21T14:30", "2026-11-21 14:30:00", "2026-11-21T15:30:00+02:00"] {
            assert_eq!(hours(moment), ("2026-11-21T13:30:00Z".into(), 0), "{moment}");
        }
    }

    #[test]
    fn invalid_dates_are_quoted() {
        for text in ["", "yesterday", "2026-13-01", "21.11.2026", "2026-11-21T25:30"] {
            let error = day_in(text, TimeZone::UTC).map(|_| ()).expect_err(text);
            assert!(error.to_string().contains(&format!("'{text}'")), "{error}");
        }
    }
}
