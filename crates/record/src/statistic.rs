//! The last word of a metric key: the statistic of its subject.
//!
//! All methods share these words. An unlisted word stays part of the subject's name, so any key
//! can be read. A method that emits a new word adds it here.

/// Declares the enum and its variants' words.
macro_rules! statistics {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// The statistic of a metric's subject. A key without one is the main figure.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Statistic {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Statistic {
            /// All of them.
            pub const ALL: &'static [Statistic] = &[$(Statistic::$variant),+];

            /// The word in keys.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Statistic::$variant => $name,)+
                }
            }

            /// The statistic of a word in keys.
            pub fn from_name(name: &str) -> Option<Statistic> {
                match name {
                    $($name => Some(Statistic::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

statistics! {
    // Operations.
    /// Median.
    P50 = "p50",
    /// 90th percentile.
    P90 = "p90",
    /// 99th percentile.
    P99 = "p99",
    /// 99.9th percentile.
    P999 = "p99.9",
    /// 99.99th percentile.
    P9999 = "p99.99",
    /// Smallest value.
    Min = "min",
    /// Largest value.
    Max = "max",
    /// Arithmetic mean.
    Mean = "mean",
    /// Operations per second.
    Iops = "iops",
    /// Bytes per second.
    Throughput = "throughput",
    /// Mean number of operations in flight.
    EffectiveDepth = "effective_depth",
    /// Processor time per operation, nanoseconds.
    CpuPerIo = "cpu_ns_per_io",
    /// Mean number of operations submitted in one call.
    BatchMean = "batch_mean",
    /// Operations issued after they were due.
    LateOps = "late_ops",
    /// Bytes whose content was checked.
    VerifiedBytes = "verified_bytes",

    // Where the time of an operation goes, means per operation.
    /// The service time that is split into parts.
    TimeTotal = "time-total",
    /// From the call until the block layer has the request.
    TimeHeld = "time-held",
    /// In the block layer, until the request is issued to the drive.
    TimeQueue = "time-queue",
    /// In the drive.
    TimeDrive = "time-drive",
    /// Added by the link.
    TimeLink = "time-link",
    /// In the layers between the target and the drive.
    TimeLayer = "time-layer",
    /// From the completion by the drive until it is seen.
    TimeCompletion = "time-completion",
    /// Waiting for a processor.
    TimeWaiting = "time-waiting",
    /// Processor time of this host.
    TimeHost = "time-host",
    /// In none of the parts.
    TimeUnexplained = "time-unexplained",

    // The same of the slowest operations.
    /// Their time that is split into parts.
    SlowTotal = "slow-total",
    /// From the call until the block layer has the request.
    SlowHeld = "slow-held",
    /// In the block layer, until the request is issued to the drive.
    SlowQueue = "slow-queue",
    /// In the drive.
    SlowDrive = "slow-drive",
    /// Added by the link.
    SlowLink = "slow-link",
    /// Processor time of this host.
    SlowHost = "slow-host",
    /// In none of the parts.
    SlowUnexplained = "slow-unexplained",

    // Comparisons and references.
    /// Ratio to the reference.
    Ratio = "ratio",
    /// The figure as measured by the old tool.
    Legacy = "legacy",
    /// The figure on the RAM disc.
    Ram = "ram",
    /// Bytes that stayed in the page cache.
    Cached = "cached",

    // Long writes and reads.
    /// Mean over the whole series.
    Average = "average",
    /// Mean of the slowest percent.
    WorstPercent = "worst-1%",
    /// Rate of the slowest part.
    Slowest = "slowest",
    /// Size of a cache, or the part of it that a rest recovered, bytes.
    Cache = "cache",
    /// Rate within the cache.
    Inside = "inside",
    /// Rate after the cache ended.
    After = "after",
    /// Rate after the cache relative to the rate of overwriting.
    Undershoot = "undershoot",
    /// First third of the addresses.
    FirstThird = "first-third",
    /// Addresses between the first third and the last tenth.
    Middle = "middle",
    /// Last tenth of the addresses.
    LastTenth = "last-tenth",
    /// Zones with data.
    Mapped = "mapped",
    /// Zones without data.
    Unmapped = "unmapped",
    /// Fraction of zones without data.
    UnmappedShare = "unmapped-share",
    /// Agreement of two orders.
    Agreement = "agreement",
    /// Time until the rate recovered.
    Recovery = "recovery",

    // Temperature.
    /// Highest temperature.
    Hottest = "hottest",
    /// Temperature at the start of the workload.
    Start = "start",
    /// Temperature at the end of the workload.
    End = "end",
    /// Rate while cold.
    Cold = "cold",
    /// Rate while hot.
    Hot = "hot",
    /// Time until the drive throttled.
    TimeToThrottle = "time-to-throttle",

    // Rounds.
    /// The best round, which was disturbed least.
    Undisturbed = "undisturbed",
    /// Value of the first round.
    FirstRound = "first-round",
    /// Mean over the first window that meets the SNIA PTS rule.
    Pts = "pts",
    /// Mean over the plateau.
    Plateau = "plateau",
    /// Last round of the first PTS-steady window.
    PtsRound = "pts-round",
    /// Last round of the plateau's window.
    PlateauRound = "plateau-round",

    // Commands to a drive, and discards.
    /// Time of a command, independent of its size.
    CommandTime = "command-time",
    /// Rate of the data alone.
    TransferRate = "transfer-rate",
    /// Fraction of blocks that read as zeros.
    Zeros = "zeros",
    /// Fraction of blocks that kept their content.
    Kept = "kept",

    // Programs.
    /// Elapsed time.
    Time = "time",
    /// Processor time in the program.
    User = "user",
    /// Processor time in the kernel.
    System = "system",
    /// Time of the subsequent sync.
    Sync = "sync",
    /// Largest resident memory, bytes.
    Memory = "memory",
    /// Bytes read by the program itself.
    OwnRead = "own-read",
    /// Bytes written by the program itself.
    OwnWritten = "own-written",
    /// Bytes read by the device.
    DeviceRead = "device-read",
    /// Bytes written by the device until the program ended.
    DeviceWritten = "device-written",
    /// Bytes written by the device, including the sync.
    DeviceWrittenSynced = "device-written-synced",
    /// Bytes discarded.
    DeviceDiscarded = "device-discarded",
    /// Mean queue depth of the device.
    DeviceDepth = "device-depth",
    /// Exit code; negative: the signal.
    Exit = "exit",

    // Recordings.
    /// Longest time without a completed frame while a frame was due.
    LongestStall = "longest-stall",
    /// Buffer size needed at a rate, bytes.
    Buffer = "buffer",
    /// Highest rate without lost frames.
    LosslessRate = "lossless-rate",
    /// Frames of a recording.
    Frames = "frames",
    /// Frames lost.
    LostFrames = "lost-frames",
    /// Reads of metadata per GiB.
    MetadataReads = "metadata-reads",
    /// Writes of metadata per GiB.
    MetadataWrites = "metadata-writes",
    /// Bytes of metadata per GiB.
    MetadataBytes = "metadata-bytes",
    /// Flushes per GiB.
    Flushes = "flushes",
    /// Times per GiB that data waited for metadata.
    MetadataWaits = "metadata-waits",

    // Published figures.
    /// Lower end of a published range.
    Lowest = "lowest",
    /// Upper end of a published range.
    Highest = "highest",
    /// A published lower bound.
    AtLeast = "at-least",
    /// A published upper bound.
    AtMost = "at-most",
}

impl Statistic {
    /// The percentiles in records, ascending.
    pub const PERCENTILES: [Statistic; 4] =
        [Statistic::P50, Statistic::P90, Statistic::P99, Statistic::P999];

    /// The fraction of values below a percentile, 0 to 1; `None` for other statistics.
    pub const fn quantile(self) -> Option<f64> {
        match self {
            Statistic::P50 => Some(0.5),
            Statistic::P90 => Some(0.9),
            Statistic::P99 => Some(0.99),
            Statistic::P999 => Some(0.999),
            Statistic::P9999 => Some(0.9999),
            _ => None,
        }
    }
}
