//! Options of the access pattern: direction, sizes, order of offsets and zones.

use super::{OptionEntry, supported};
use crate::draft::JobDraft;
use crate::value::{
    Number, Parsed, Value, block, normal, pareto, parts, put, shares, signed, zipf,
};
use crate::{Distribution, Rw, Sequencer, ZoneBytes, ZonePercent};

/// Maximum number of blocks in a sequence, as in fio.
const IN_SEQUENCE_MAX: usize = 64;

pub(super) const OPTIONS: &[OptionEntry] = &[
    supported("rw", &["readwrite"], direction),
    supported("rw_sequencer", &[], |d, v| {
        let words = [("sequential", Sequencer::Sequential), ("identical", Sequencer::Identical)];
        put(&mut d.job.access.sequencer, v.word(&words)?)
    }),
    supported("rwmixread", &[], |d, v| put(&mut d.job.access.mix_read_percent, v.count32(0, 100)?)),
    supported("rwmixwrite", &[], |d, v| {
        put(&mut d.job.access.mix_read_percent, 100 - v.count32(0, 100)?)
    }),
    supported("bs", &["blocksize"], block_sizes),
    supported("bsrange", &["blocksize_range"], |d, v| {
        v.per_kind_commas(&mut d.range, |text| range(v, text).map(Some))
    }),
    supported("bssplit", &[], |d, v| v.per_kind_commas(&mut d.split, |text| shares(v, text))),
    supported("bs_is_seq_rand", &[], |d, v| put(&mut d.job.access.bs_by_order, v.flag()?)),
    supported("bs_unaligned", &["blocksize_unaligned"], |d, v| {
        put(&mut d.job.access.bs_unaligned, v.set()?)
    })
    .bare(),
    supported("ba", &["blockalign"], |d, v| {
        v.per_kind(&mut d.align, |text| block(v.size(text)?.bytes()?))
    }),
    supported("percentage_random", &[], |d, v| {
        v.per_kind(&mut d.job.access.percentage_random, |text| percent(v, text))
    }),
    supported("norandommap", &[], |d, v| {
        d.job.access.norandommap = v.set()?;
        put(&mut d.sprandom.norandommap, Some(d.job.access.norandommap))
    })
    .bare(),
    supported("random_generator", &[], |d, v| {
        let words = [("tausworthe", false), ("lfsr", true), ("tausworthe64", false)];
        d.job.access.lfsr = v.word(&words)?;
        put(&mut d.sprandom.lfsr, Some(d.job.access.lfsr))
    })
    .says("offsets have the same distribution as fio's, not the same order"),
    supported("random_distribution", &[], distribution),
    supported("randrepeat", &["allrandrepeat"], |d, v| {
        put(&mut d.job.access.passes_repeat, v.flag()?)
    })
    .says(
        "decides for passes of one run, unless `randseed` is given; with `--as-is` also for runs \
         without `verify` on real drives, which otherwise always repeat",
    ),
    supported("randseed", &[], |d, v| put(&mut d.job.access.randseed, Some(v.bytes()?))),
    supported("zonemode", &[], |d, v| {
        let zbd = "zbd: zoned block devices are not supported";
        d.zone.strided = match v.text()? {
            "none" => false,
            "strided" => true,
            "zbd" => return Err(zbd.into()),
            other => return Err(format!("'{other}' is not one of none, strided")),
        };
        Ok(())
    })
    .says("`none` and `strided`"),
    supported("random_sequence_stride", &[], |d, v| {
        put(&mut d.job.access.sequence_stride, v.flag()?)
    }),
    supported("sprandom", &[], |d, v| put(&mut d.sprandom.is_given, v.flag()?)),
    supported("spr_op", &[], |d, v| match v.text()?.parse() {
        Ok(share) if share > 0.0 && share <= 10.0 => put(&mut d.sprandom.model.spare, share),
        _ => Err(format!("'{}' is not a share of the file", v.text()?)),
    }),
    supported("spr_num_regions", &[], |d, v| {
        put(&mut d.sprandom.model.regions, v.count32(1, 1 << 20)?)
    }),
    supported("spr_cs", &[], |d, v| put(&mut d.sprandom.model.cache_bytes, v.bytes()?)),
    supported("zonesize", &[], |d, v| put(&mut d.zone.size, v.bytes()?)),
    supported("zonerange", &[], |d, v| put(&mut d.zone.range, v.bytes()?)),
    supported("zoneskip", &[], |d, v| put(&mut d.zone.skip, v.bytes()?)),
];

/// `rw=randrw`, optionally followed by `:8` or `:4k`.
fn direction(d: &mut JobDraft, v: &Value) -> Parsed<()> {
    let words = [
        ("read", Rw::Read),
        ("write", Rw::Write),
        ("trim", Rw::Trim),
        ("randread", Rw::RandRead),
        ("randwrite", Rw::RandWrite),
        ("randtrim", Rw::RandTrim),
        ("rw", Rw::ReadWrite),
        ("readwrite", Rw::ReadWrite),
        ("randrw", Rw::RandRw),
        ("trimwrite", Rw::TrimWrite),
        ("randtrimwrite", Rw::RandTrimWrite),
    ];
    let access = &mut d.job.access;
    access.rw = v.word(&words)?;
    (access.random_every, access.sequence_add) = (1, 0);
    match v.after_colon() {
        None => {}
        Some(text) if access.rw.random() => {
            access.random_every = match v.size(text)?.bytes()? {
                every @ 1..=0xffff_ffff => every as u32,
                every => return Err(format!("a random offset every {every} operations")),
            }
        }
        Some(text) => access.sequence_add = signed(v, text)?,
    }
    Ok(())
}

fn block_sizes(d: &mut JobDraft, v: &Value) -> Parsed<()> {
    let text = v.text()?;
    if !text.contains([',', ':', '(']) && parts(text).len() > 1 {
        let note = format!(
            "'{text}' gives two sizes, one for reads and one for writes and trims, as in fio; a \
             range is bsrange={text}"
        );
        v.notes.borrow_mut().push(note);
    }
    v.per_kind(&mut d.bs, |text| block(v.size(text)?.bytes()?))
}

/// `1k-4k`, in either order.
fn range(v: &Value, text: &str) -> Parsed<(u64, u64)> {
    let Some((low, high)) = text.split_once('-').or_else(|| text.split_once(':')) else {
        return Err(format!("'{text}' is not a range; write for example 1k-4k"));
    };
    let (low, high) = (block(v.size(low)?.bytes()?)?, block(v.size(high)?.bytes()?)?);
    Ok((low.min(high), low.max(high)))
}

fn percent(v: &Value, text: &str) -> Parsed<u32> {
    match v.size(text)? {
        Number::Plain(percent @ 0..=100) => Ok(percent as u32),
        Number::Percent(percent) => Ok(percent),
        Number::Plain(other) => Err(format!("{other} is not within 0 to 100")),
    }
}

fn distribution(d: &mut JobDraft, v: &Value) -> Parsed<()> {
    let parameters = v.after_colon();
    let zones = || v_with(v, parameters.ok_or("needs its zones, for example zoned:60/10:40/90")?);
    d.job.access.distribution = match v.text()?.split(':').next().unwrap_or_default() {
        "random" => Distribution::Random,
        "zipf" => Distribution::Zipf(zipf(parameters)?),
        "pareto" => Distribution::Pareto(pareto(parameters)?),
        "normal" => Distribution::Normal(normal(parameters)?),
        "zoned" => {
            let mut kinds = crate::PerKind::default();
            zones()?.per_kind_commas(&mut kinds, ZonePercent::list)?;
            Distribution::Zoned(kinds)
        }
        "zoned_abs" => {
            let mut kinds = crate::PerKind::default();
            zones()?.per_kind_commas(&mut kinds, |text| ZoneBytes::list(v, text))?;
            Distribution::ZonedAbs(kinds)
        }
        "sequence" => Distribution::Sequence(sequence(parameters.unwrap_or_default())?),
        other => {
            let names = "random, zipf, pareto, normal, zoned, zoned_abs, sequence";
            return Err(format!("'{other}' is not one of {names}"));
        }
    };
    Ok(())
}

/// `2,0,1`.
fn sequence(text: &str) -> Parsed<Vec<u32>> {
    let numbers = text.split(',').map(|part| {
        let number = part.trim().parse::<u32>();
        number.map_err(|_| format!("sequence: '{part}' is not the number of a block"))
    });
    let places = numbers.collect::<Parsed<Vec<_>>>()?;
    match places.len() {
        1..=IN_SEQUENCE_MAX => Ok(places),
        many => Err(format!("sequence: {many} blocks are more than {IN_SEQUENCE_MAX}")),
    }
}

/// The same value with another text.
fn v_with<'a>(v: &Value<'a>, text: &'a str) -> Parsed<Value<'a>> {
    Ok(Value { text: Some(text), ..*v })
}
