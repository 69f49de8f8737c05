//! Packing of series: one blob per piece, with numbers in the order that deflate compresses best.
//!
//! A piece contains its points, then its columns one after another:
//!
//! ```text
//! step of t_ns x points (varints)     then for each column: name, unit (texts)   f64 x points
//! ```
//!
//! The doubles of a column are stored by byte position: the lowest byte of each, ..., then the
//! highest. The last digits of rates are random, but signs and exponents are alike and compress
//! well when adjacent: for the series of a `quick` run on a disk, deflate leaves 38%, compared with
//! 50% in the usual order. `null` is a NaN, which is never a measured value; so is an infinite value.

use std::ops::Range;

use record::{Column, Series, Unit};

use crate::pack::{Packed, Torn, put_text, put_varint};

/// Packs the times and columns of some points of a series. Name, replicate and start have their own
/// database columns.
pub(crate) fn pack(series: &Series, points: Range<usize>) -> Vec<u8> {
    let mut packed = Vec::with_capacity((1 + series.columns.len()) * (points.len() * 8 + 32));
    let mut last_t = 0u64;
    for t in &series.t_ns[points.clone()] {
        // Times ascend; otherwise the step wraps around and back.
        put_varint(&mut packed, t.wrapping_sub(last_t).into());
        last_t = *t;
    }
    for column in &series.columns {
        put_text(&mut packed, &column.name);
        put_text(&mut packed, column.unit.name());
        let numbers = points.clone().map(|i| {
            let number = column.values.get(i).copied().flatten().filter(|v| v.is_finite());
            number.unwrap_or(f64::NAN).to_le_bytes()
        });
        let numbers: Vec<[u8; 8]> = numbers.collect();
        (0..8).for_each(|plane| packed.extend(numbers.iter().map(|bytes| bytes[plane])));
    }
    packed
}

/// Appends a packed piece of `points` points to `series`. Missing columns are `null`.
pub(crate) fn unpack_onto(series: &mut Series, points: usize, data: &[u8]) -> Result<(), Torn> {
    if points > data.len() {
        return Err(Torn::new("more points than bytes"));
    }
    let past = series.t_ns.len();
    let mut packed = Packed(data);
    let mut t = 0u64;
    for _ in 0..points {
        t = t.wrapping_add(packed.number()?);
        series.t_ns.push(t);
    }
    while !packed.is_empty() {
        let name = packed.text()?;
        let unit = Unit::named(packed.text()?);
        let planes = packed.take(8 * points)?;
        let value = |i| f64::from_le_bytes(std::array::from_fn(|plane| planes[plane * points + i]));
        if (0..points).any(|i| value(i).is_infinite()) {
            return Err(Torn::new(format_args!("{name}: a non-finite value")));
        }
        let column = column_of(series, name, unit);
        column.values.resize(past, None);
        column.values.extend((0..points).map(|i| Some(value(i)).filter(|v| !v.is_nan())));
    }
    for column in &mut series.columns {
        column.values.resize(past + points, None);
    }
    assert_grown(series, past + points);
    Ok(())
}

/// Asserts that a series has only grown: as many values of each column as times.
fn assert_grown(series: &Series, points: usize) {
    let lengths = series.columns.iter().map(|column| column.values.len());
    let is_whole = lengths.chain([series.t_ns.len()]).all(|length| length == points);
    assert!(is_whole, "{}: not {points} times and values of each column", series.name);
}

fn column_of<'a>(series: &'a mut Series, name: &str, unit: Unit) -> &'a mut Column {
    let index = series.columns.iter().position(|c| c.name == name);
    let index = index.unwrap_or_else(|| {
        series.columns.push(Column { name: name.to_string(), unit, values: Vec::new() });
        series.columns.len() - 1
    });
    &mut series.columns[index]
}

/// Packs values, for replicates of metrics.
pub(crate) fn pack_values(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub(crate) fn unpack_values(data: &[u8]) -> Result<Vec<f64>, Torn> {
    let (values, rest) = data.as_chunks();
    match rest {
        [] => Ok(values.iter().copied().map(f64::from_le_bytes).collect()),
        _ => Err(Torn::new("half a value")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a: not 2 times and values of each column")]
    fn a_column_that_lost_a_value_is_our_own_error() {
        let mut series = Series::new("a", 0, 0);
        series.push(1, &[("rate", Unit::BytesPerSecond, Some(1.0))]);
        series.push(2, &[("rate", Unit::BytesPerSecond, Some(2.0))]);
        series.columns[0].values.truncate(1);
        assert_grown(&series, 2);
    }

    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn joined_pieces_equal_the_pushed_series(
            points in vec(btree_map("[a-c]", any::<Option<f64>>(), 0..3), 0..40),
            cut in 0usize..40,
        ) {
            let clean = |v: &Option<f64>| v.filter(|v| !v.is_nan());
            let mut whole = Series::new("x", 0, 7);
            let mut pieces = [whole.clone(), whole.clone()];
            for (i, point) in points.iter().enumerate() {
                let value = |(n, v)| (String::as_str(n), Unit::Iops, clean(v));
                let values: Vec<_> = point.iter().map(value).collect();
                whole.push(i as u64, &values);
                pieces[usize::from(i >= cut)].push(i as u64, &values);
            }
            let mut read = Series::new("x", 0, 7);
            for piece in pieces {
                let points = piece.t_ns.len();
                unpack_onto(&mut read, points, &pack(&piece, 0..points)).expect("own blob");
            }
            prop_assert_eq!(read, whole);
        }

        #[test]
        fn foreign_bytes_are_rejected_safely(data: Vec<u8>, points in 0usize..20) {
            let _ = unpack_onto(&mut Series::default(), points, &data);
            let _ = unpack_values(&data);
        }
    }

    #[test]
    fn an_infinite_value_is_packed_as_unknown() {
        let mut series = Series::new("x", 0, 0);
        for (t, value) in [1.5, f64::INFINITY, f64::NEG_INFINITY].into_iter().enumerate() {
            series.push(t as u64, &[("read", Unit::BytesPerSecond, Some(value))]);
        }
        let mut read = Series::new("x", 0, 0);
        unpack_onto(&mut read, 3, &pack(&series, 0..3)).expect("own blob");
        assert_eq!(read.columns[0].values, [Some(1.5), None, None]);
    }

    #[test]
    fn a_truncated_blob_is_detected() {
        let mut series = Series::new("x", 0, 0);
        series.push(1, &[("read", Unit::BytesPerSecond, Some(1.5))]);
        let data = pack(&series, 0..1);
        for length in (2..data.len()).chain(0..1) {
            assert!(unpack_onto(&mut Series::default(), 1, &data[..length]).is_err(), "{length}");
        }
    }
}
