//! Kinds of findings in a few words, for a list such as the reservations of a stamp. The full
//! sentence is the finding's own text; the meaning of a kind is [`FindingKind::meaning`].

use crate::FindingKind;

impl FindingKind {
    /// Its phrase in a list: `another program used the drive`; the name of a kind that this version
    /// does not know.
    pub fn phrase(&self) -> &str {
        match self {
            FindingKind::ServedFromRam => "reads came from memory",
            FindingKind::FailedOperations => "operations failed",
            FindingKind::NotDirect => "the page cache was involved",
            FindingKind::Punted => "kernel threads issued the I/O",
            FindingKind::UringLacks => "io_uring lacks features",
            FindingKind::GeneratorBound => "the processor set the pace",
            FindingKind::UnwrittenBlocksRead => "blocks never written were read",
            FindingKind::DepthIsAFiction => "the queue depth was not reached",
            FindingKind::Overloaded => "more operations were due than issued",
            FindingKind::TemperatureLimit => "stopped near the warning temperature",
            FindingKind::Throttled => "the drive throttled",
            FindingKind::StoodStill => "the run was paused",
            FindingKind::Stalled => "the drive stalled",
            FindingKind::SharedDrive => "another program used the drive",
            FindingKind::BackendFallback => "io_uring was not available",
            FindingKind::OrphansRemoved => "old scratch files were removed",
            FindingKind::NoHost => "no host, no host settings",
            FindingKind::NoAnswer => "the drive did not respond",
            FindingKind::SeriesThinned => "the time series is thinned",
            FindingKind::Carried => "measured elsewhere",
            FindingKind::Conflict => "another record has its id",
            FindingKind::DamagedRecord => "the stored record was changed",
            FindingKind::GuessedDrive => "parameters are guessed",
            FindingKind::CutShort => "the run was cut short",
            FindingKind::RunFailed => "the run failed",
            FindingKind::NotChecked => "not checked by ssdyno",
            FindingKind::OwnFioOutput => "imported from ssdyno fio's output",
            FindingKind::Governor => "the processor may run slowly",
            FindingKind::Load => "the machine was busy",
            FindingKind::VirtualMachine => "measured in a virtual machine",
            FindingKind::Clock => "the clock is coarse",
            FindingKind::OnBattery => "the machine ran on battery",
            FindingKind::BoardThrottled => "the board was throttled",
            FindingKind::NoIoUring => "io_uring is disabled",
            FindingKind::Memlock => "the memory lock limit is low",
            FindingKind::NotRoot => "not root",
            FindingKind::NoDeviceAccess => "no access to block devices",
            FindingKind::IoLimit => "a control group limits I/O",
            FindingKind::CpuLimit => "a control group limits processor time",
            FindingKind::LinkDowngraded => "the link is below its maximum",
            FindingKind::HotDrive => "the drive was hot",
            FindingKind::CpuStolen => "the hypervisor took processor time",
            FindingKind::Swapping => "the machine was swapping",
            FindingKind::CpuThrottled => "the processor was hot",
            FindingKind::OtherIo => "another program used the drive",
            FindingKind::CheckLeftOut => "a check was skipped",
            FindingKind::ReferencePublished => "the reference is a published one",
            FindingKind::CommandFailed => "the command failed",
            FindingKind::FirstRunCold => "the first run had a cold cache",
            FindingKind::NoDiscard => "no discards",
            FindingKind::DiscardNotSeen => "a discard had no visible effect",
            FindingKind::AlignmentForced => "the alignment was replaced",
            FindingKind::NotSteady => "no steady state was reached",
            FindingKind::NotSettled => "the temperature was still rising",
            FindingKind::RoundsCut => "fewer rounds than requested",
            FindingKind::ReadsOnly => "only reads were measured",
            FindingKind::ContentChanged => "restored content differs",
            FindingKind::RegionCut => "the test region is smaller than requested",
            FindingKind::RestCut => "the rest was too short",
            FindingKind::InsideCache => "the writes fit the cache",
            FindingKind::ContentLost => "content was lost",
            FindingKind::ZonesUnread => "some zones could not be read",
            FindingKind::RecordingCut => "a recording was cut off",
            FindingKind::VolumeDamaged => "the file system is inconsistent",
            FindingKind::CacheNotDropped => "the page cache was not dropped",
            FindingKind::LimitPassed => "a limit of the job file was exceeded",
            FindingKind::FioClat => "latencies are clat",
            FindingKind::FioMix => "reads and writes are one measurement",
            FindingKind::FioJobs => "results of several jobs",
            FindingKind::DdRecords => "records copied by dd",
            FindingKind::DdPass => "one pass of dd",
            FindingKind::BestOf => "best of several passes",
            FindingKind::PageCache => "the page cache was used",
            FindingKind::LaidOut => "the file had just been written",
            FindingKind::SharedTitle => "the title is that of its section",
            FindingKind::Other(name) => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_short_phrase_without_its_key() {
        for kind in FindingKind::ALL {
            let phrase = kind.phrase();
            assert!((5..=45).contains(&phrase.len()), "{phrase}");
            assert!(!phrase.ends_with('.') && phrase != kind.name(), "{phrase}");
        }
    }
}
