//! Names and metrics of the SNIA tests, for their scripts and their answers.

use record::{MetricInfo, MetricKey};

pub(super) mod iops {
    use super::MetricInfo;

    pub const NAME: &str = "snia-iops";
    pub const CELLS: MetricInfo = MetricInfo::iops(
        "snia-iops-{size}-r{reads}",
        "random blocks of this size with this percentage of reads, in rounds",
    );
}

pub(super) mod throughput {
    use super::MetricInfo;

    pub const NAME: &str = "snia-throughput";
    pub const CELLS: MetricInfo = MetricInfo::rate(
        "snia-throughput-{size}-r{reads}",
        "sequential blocks of this size, all reads or all writes, in rounds",
    );
}

pub(super) mod latency {
    use super::{MetricInfo, MetricKey};

    pub const NAME: &str = "snia-latency";
    pub const CELLS: MetricInfo = MetricInfo::ns(
        "snia-latency-{size}-r{reads}",
        "mean service time of random blocks of this size with this percentage of reads, at queue \
         depth 1, in rounds",
    );
    /// The writes whose latencies are kept.
    pub fn distribution() -> MetricKey {
        MetricKey::of_words(&[&NAME, &"distribution"])
    }
}

pub(super) mod wsat {
    use super::MetricInfo;

    pub const NAME: &str = "snia-wsat";
    pub const CELLS: MetricInfo =
        MetricInfo::iops("snia-wsat-{size}-r0", "random writes until they saturate the drive");
}

pub(super) mod hir {
    use super::MetricInfo;

    pub const NAME: &str = "snia-hir";
    pub const STEADY: MetricInfo = MetricInfo::iops(
        "snia-hir-steady",
        "random 4 KiB writes without a wait, in rounds until steady",
    );
    pub const WAIT: MetricInfo =
        MetricInfo::iops("snia-hir-wait-{time}", "5 s of writes followed by this wait, 36 times");
    pub const THEN_NONE: MetricInfo = MetricInfo::iops(
        "snia-hir-wait-{time}-then-none",
        "as many writes without a wait, after that",
    );
}

pub(super) mod xsr {
    use super::MetricInfo;

    pub const NAME: &str = "snia-xsr";
    pub const PARTS: MetricInfo = MetricInfo::rate(
        "snia-xsr-{sequential-before,random,sequential-after}",
        "average rate of each of the three parts",
    );
    pub const PARTS_END: MetricInfo = MetricInfo::rate(
        "snia-xsr-{sequential-before,random,sequential-after}.end",
        "rate in the last tenth of the part",
    );
    pub const RECOVERY: MetricInfo = MetricInfo::ns(
        "snia-xsr-sequential-after.recovery",
        "time until the last part reaches 95% of the rate that the first had at its end",
    );
    pub const BEFORE: MetricInfo = PARTS.named("snia-xsr-sequential-before");
    pub const RANDOM: MetricInfo = PARTS.named("snia-xsr-random");
    pub const AFTER: MetricInfo = PARTS.named("snia-xsr-sequential-after");
}

pub(super) mod dirth {
    use super::MetricInfo;

    pub const NAME: &str = "snia-dirth";
    pub const STEADY: MetricInfo = MetricInfo::iops(
        "snia-dirth-steady",
        "32 jobs at queue depth 32 each, in rounds until steady",
    );
    pub const CELLS: MetricInfo = MetricInfo::iops(
        "snia-dirth-t{jobs}-q{depth}",
        "this number of jobs at this queue depth each, 49 intensities of demand",
    );
    pub const RESPONSE: MetricInfo =
        MetricInfo::ns("snia-dirth-t{jobs}-q{depth}.response", "mean response time of these");
}
