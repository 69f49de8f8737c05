//! Packing of histograms: sparse buckets as varints.
//!
//! ```text
//! name, op (texts)   flag: 1 with response time   service   response
//! histogram:  number of buckets, sum, minimum, maximum, then for each bucket: step, count
//! ```
//!
//! A step is the distance from the previous bucket: 1 in a dense stretch. With its count, that is
//! two or three bytes per bucket before deflate; as JSON it would be fourteen. HdrHistogram's
//! format is not usable: its buckets differ, so edges, minimum, maximum and sum would change, and
//! with them the record's hash.

use record::{Histogram, LatencyProfile};

use crate::pack::{Packed, Torn, put_text, put_varint};

pub(crate) fn pack(latencies: &[LatencyProfile]) -> Vec<u8> {
    let mut packed = Vec::new();
    for LatencyProfile { name, op, service, response } in latencies {
        put_text(&mut packed, name);
        put_text(&mut packed, op);
        packed.push(u8::from(response.is_some()));
        [Some(service), response.as_ref()]
            .into_iter()
            .flatten()
            .for_each(|h| put_histogram(&mut packed, h));
    }
    packed
}

/// Unpacks the profiles; an error names the affected profile.
pub(crate) fn unpack(data: &[u8]) -> Result<Vec<LatencyProfile>, Torn> {
    let mut packed = Packed(data);
    let mut profiles = Vec::new();
    while !packed.is_empty() {
        let name = packed.text()?.to_string();
        let op = packed.text()?.to_string();
        let with_name = |torn: Torn| torn.within(format_args!("'{name}' {op}"));
        let with_response = packed.take(1).map_err(with_name)?[0] != 0;
        let service = histogram(&mut packed).map_err(with_name)?;
        let response = with_response.then(|| histogram(&mut packed)).transpose();
        let response = response.map_err(with_name)?;
        profiles.push(LatencyProfile { name, op, service, response });
    }
    Ok(profiles)
}

fn put_histogram(out: &mut Vec<u8>, histogram: &Histogram) {
    put_varint(out, histogram.buckets().count() as u128);
    put_varint(out, histogram.sum());
    put_varint(out, histogram.min().unwrap_or(0).into());
    put_varint(out, histogram.max().unwrap_or(0).into());
    let mut last_index = 0;
    for (low, _, count) in histogram.buckets() {
        let index = Histogram::bucket_of(low);
        put_varint(out, (index - last_index) as u128);
        put_varint(out, count.into());
        last_index = index;
    }
}

fn histogram(packed: &mut Packed<'_>) -> Result<Histogram, Torn> {
    let count = packed.number()?;
    let sum = packed.varint()?;
    let (min, max) = (packed.number()?, packed.number()?);
    let mut buckets = Vec::new();
    let mut index = 0;
    for _ in 0..count {
        let step = usize::try_from(packed.number()?).unwrap_or(usize::MAX);
        index = usize::saturating_add(index, step);
        let edge = Histogram::lower_edge(index).ok_or_else(|| Torn::new("no such bucket"))?;
        buckets.push((edge, packed.number()?));
    }
    let [min, max] = [min, max].map(|value| (count > 0).then_some(value));
    Histogram::from_parts(buckets, sum, min, max).map_err(Torn::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn profile(values: &[u64]) -> LatencyProfile {
        let mut service = Histogram::default();
        values.iter().for_each(|&value| service.record(value));
        let response = values.first().map(|_| service.clone());
        LatencyProfile { name: "é".into(), op: "read".into(), service, response }
    }

    proptest! {
        #[test]
        fn histograms_round_trip_exactly(values: Vec<u64>, close in prop::collection::vec(0u64..5000, 0..50)) {
            let all = [profile(&values), profile(&close), profile(&[])];
            prop_assert_eq!(unpack(&pack(&all)), Ok(all.to_vec()));
        }

        #[test]
        fn changed_bytes_are_an_error_or_a_histogram(at: prop::sample::Index, to: u8) {
            let mut data = pack(&[profile(&[1, 70, 5000, 5001, 1 << 40])]);
            let at = at.index(data.len());
            data[at] = to;
            for profile in unpack(&data).unwrap_or_default() {
                let (min, max) = (profile.service.min(), profile.service.max());
                let median = profile.service.quantile(0.5);
                prop_assert!(min <= median && median <= max);
            }
        }
    }

    #[test]
    fn an_error_names_the_profile() {
        let mut data = pack(&[profile(&[5, 9])]);
        // The maximum, after name, op, flag, number of buckets, sum and minimum.
        data[12] = 4;
        let error = unpack(&data).map(drop).expect_err("5 above 4").to_string();
        assert_eq!(error, "'é' read: minimum and maximum are not in its buckets");
    }
}
