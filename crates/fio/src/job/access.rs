//! The access pattern of a job: direction, block sizes, order of offsets.

use workload::units::gcd;

use super::PerKind;

/// Direction, block sizes and order of offsets.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// `rw=`, `read` by default.
    pub rw: Rw,
    /// `rw=randread:8`: a random offset only for every 8th operation, while the others follow
    /// `sequencer`; 1 by default. No effect on sequential directions.
    pub random_every: u32,
    /// `rw=write:4k`: bytes skipped after each operation, negative to go backwards (`read:-8k`
    /// with `bs=4k`: each block below the last). No effect on random directions.
    pub sequence_add: i64,
    /// `rw_sequencer=`: the offsets of operations between two random ones.
    pub sequencer: Sequencer,
    /// `rwmixread=`: percent of operations that read, in a mix of reads and writes; 50 by default.
    pub mix_read_percent: u32,
    /// `bs`, `bsrange`, `bssplit`: sizes for each direction; 4096 by default.
    pub blocks: PerKind<Blocks>,
    /// `bs_is_seq_rand`: sequential operations have the sizes of reads, random ones those of
    /// writes, whatever their direction.
    pub bs_by_order: bool,
    /// `bs_unaligned`: sizes drawn from a range need not be multiples of its lower bound.
    pub bs_unaligned: bool,
    /// `blockalign=`: random offsets are multiples of this; the smallest block by default. For
    /// other values fio disables the random map, and so does this parser (`norandommap`).
    pub block_align: PerKind<u64>,
    /// `percentage_random=`: percent of the operations of a random direction that have a random
    /// offset, while the others follow the last one; 100 by default.
    pub percentage_random: PerKind<u32>,
    /// `norandommap`: random offsets may repeat before every block has been visited. Also true if
    /// fio implies it: with a non-uniform distribution or `blockalign`.
    pub norandommap: bool,
    /// `random_generator=lfsr`: every block is visited once even with `norandommap`.
    pub lfsr: bool,
    /// `random_distribution=`.
    pub distribution: Distribution,
    /// `random_sequence_stride`: each repetition of a sequence follows the one before.
    pub sequence_stride: bool,
    /// `randseed=`; passes then differ, as in fio.
    pub randseed: Option<u64>,
    /// `randrepeat`: every pass draws the same as the first; the default.
    pub passes_repeat: bool,
    /// `zonemode=strided` and its sizes, if given.
    pub zone: Option<StridedZone>,
    /// `sprandom` and its model of the drive, if given.
    pub sprandom: Option<Sprandom>,
}

/// `sprandom`: one pass over a file, in the course of which some blocks are written again, as many as
/// on a drive that has been written at random for long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sprandom {
    /// `spr_op=`: spare flash, as a share of the file; more than 0.
    pub spare: f64,
    /// `spr_num_regions=`: regions of the flash, at least 1.
    pub regions: u32,
    /// `spr_cs=`: bytes of the drive's cache, in which a block that is written again replaces the one
    /// before.
    pub cache_bytes: u64,
}

impl Default for Access {
    fn default() -> Access {
        Access {
            rw: Rw::Read,
            random_every: 1,
            sequence_add: 0,
            sequencer: Sequencer::Sequential,
            mix_read_percent: 50,
            blocks: PerKind::all(Blocks::Fixed(4096)),
            bs_by_order: false,
            bs_unaligned: false,
            block_align: PerKind::all(4096),
            percentage_random: PerKind::all(100),
            norandommap: false,
            lfsr: false,
            distribution: Distribution::Random,
            sequence_stride: false,
            randseed: None,
            passes_repeat: true,
            zone: None,
            sprandom: None,
        }
    }
}

impl Access {
    /// The seed of all draws; 0x89 by default.
    pub fn seed(&self) -> u64 {
        self.randseed.unwrap_or(0x89)
    }

    /// Whether every pass draws the same as the first.
    pub fn has_equal_passes(&self) -> bool {
        self.passes_repeat && self.randseed.is_none()
    }

    /// The smallest block of any direction, which fio uses to lay files out.
    pub fn min_bs(&self) -> u64 {
        self.blocks.each().map(Blocks::min).into_iter().min().unwrap_or(4096)
    }

    /// The largest block of any direction.
    pub fn max_bs(&self) -> u64 {
        self.blocks.each().map(Blocks::max).into_iter().max().unwrap_or(4096)
    }
}

/// `rw=`: direction, sequential or random.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rw {
    /// Sequential reads.
    #[default]
    Read,
    /// Sequential writes.
    Write,
    /// Sequential trims.
    Trim,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Random trims.
    RandTrim,
    /// Sequential, reads and writes mixed (`rw` or `readwrite`).
    ReadWrite,
    /// Random, reads and writes mixed.
    RandRw,
    /// Each block is trimmed, then written, sequentially.
    TrimWrite,
    /// Each block is trimmed, then written, at random.
    RandTrimWrite,
}

impl Rw {
    pub fn reads(self) -> bool {
        matches!(self, Rw::Read | Rw::RandRead | Rw::ReadWrite | Rw::RandRw)
    }

    pub fn writes(self) -> bool {
        !matches!(self, Rw::Read | Rw::RandRead | Rw::Trim | Rw::RandTrim)
    }

    pub fn trims(self) -> bool {
        matches!(self, Rw::Trim | Rw::RandTrim | Rw::TrimWrite | Rw::RandTrimWrite)
    }

    /// Whether offsets are random.
    pub fn random(self) -> bool {
        matches!(self, Rw::RandRead | Rw::RandWrite | Rw::RandTrim | Rw::RandRw | Rw::RandTrimWrite)
    }

    /// As fio prints it: `rw` for mixed sequential.
    pub fn name(self) -> &'static str {
        match self {
            Rw::Read => "read",
            Rw::Write => "write",
            Rw::Trim => "trim",
            Rw::RandRead => "randread",
            Rw::RandWrite => "randwrite",
            Rw::RandTrim => "randtrim",
            Rw::ReadWrite => "rw",
            Rw::RandRw => "randrw",
            Rw::TrimWrite => "trimwrite",
            Rw::RandTrimWrite => "randtrimwrite",
        }
    }
}

/// `rw_sequencer=`: offsets of operations between two random ones (with `random_every`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sequencer {
    /// Continue ascending.
    #[default]
    Sequential,
    /// Repeat the offset.
    Identical,
}

/// Sizes of operations in one direction, bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// Always this.
    Fixed(u64),
    /// `bsrange=`: drawn as `min + max * u` with `u` in 0..1, rounded down to a multiple of `min`
    /// (unless `bs_unaligned`) and limited to `max`; so sizes above `max` fold onto it.
    Range { min: u64, max: u64 },
    /// `bssplit=`: sizes with their percentages, smallest percentage first, as in fio. A share of 0
    /// is never used, and the last share is extended to 100. Sizes are rounded down to a multiple
    /// of the smallest (unless `bs_unaligned`).
    Split(Vec<Share>),
}

impl Blocks {
    pub fn min(&self) -> u64 {
        match self {
            Blocks::Fixed(bytes) => *bytes,
            Blocks::Range { min, .. } => *min,
            Blocks::Split(shares) => shares.iter().map(|s| s.bytes).min().unwrap_or(0),
        }
    }

    /// The greatest common divisor of all sizes, if they are aligned.
    pub fn step(&self) -> u64 {
        match self {
            Blocks::Fixed(_) | Blocks::Split(_) => self.min(),
            Blocks::Range { min, max } => gcd(*min, *max),
        }
    }

    pub fn max(&self) -> u64 {
        match self {
            Blocks::Fixed(bytes) => *bytes,
            Blocks::Range { max, .. } => *max,
            Blocks::Split(shares) => shares.iter().map(|s| s.bytes).max().unwrap_or(0),
        }
    }
}

/// One size of a `bssplit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Size, bytes.
    pub bytes: u64,
    /// Percent of operations.
    pub percent: u32,
}

/// `random_distribution=`: popularity of offsets.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Distribution {
    /// Uniform.
    #[default]
    Random,
    /// `zipf:theta[:center]`.
    Zipf(Spread),
    /// `pareto:power[:center]`, power above 0 and below 1.
    Pareto(Spread),
    /// `normal:deviation[:center]`, deviation in percent of the file.
    Normal(Spread),
    /// `zoned:access%/size%:...`, by direction.
    Zoned(PerKind<Vec<ZonePercent>>),
    /// `zoned_abs:access%/bytes:...`, by direction.
    ZonedAbs(PerKind<Vec<ZoneBytes>>),
    /// `sequence:2,0,1`: these blocks, repeated.
    Sequence(Vec<u32>),
}

/// Parameters of a distribution around a centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Theta, power or deviation.
    pub value: f64,
    /// Position of the most popular offset of `zipf` and `pareto`, 0 to 1 of the file. As in fio,
    /// the other offsets, and all those of `normal`, are scattered in any case and only shifted by
    /// it; without a centre, the most popular offset of `zipf` and `pareto` is random.
    pub center: Option<f64>,
}

/// A zone as a share of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZonePercent {
    /// Percent of accesses.
    pub access_percent: u32,
    /// Percent of the file, one zone after the other.
    pub size_percent: u32,
}

/// A zone with a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneBytes {
    /// Percent of accesses.
    pub access_percent: u32,
    /// Bytes, one zone after the other; 0 for the rest of the file.
    pub bytes: u64,
}

/// `zonemode=strided`: I/O stays within the `range` bytes of a zone until `size` bytes have been
/// moved, then continues in the next zone, which begins `range + skip` bytes further on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StridedZone {
    /// `zonesize=`: bytes moved in each zone.
    pub size: u64,
    /// `zonerange=`: bytes of a zone in use; the zone size by default.
    pub range: u64,
    /// `zoneskip=`: bytes skipped between zones.
    pub skip: u64,
}
