//! Kinds of findings and verdicts. These enums are the only place where their names are spelled.
//!
//! A record contains the name; code decides by kind. Names are stable: they can be added, but never
//! renamed or removed. A name unknown to this version, from a later version or another tool,
//! becomes `Other` and is written back unchanged.

/// Declares an enum of named kinds; with `word` it is `Copy` and ordered, with `phrased` each kind
/// also has a phrase. The doc comment of a kind is also its user-visible meaning.
macro_rules! kinds {
    (
        phrased
        $(#[doc = $about:literal])+
        $kind:ident {
            $($(#[doc = $meaning:literal])+ $variant:ident = $name:literal => $phrase:literal,)+
        }
    ) => {
        $crate::kind::named! {
            [] String;
            $(#[doc = $about])+
            $kind { $($(#[doc = $meaning])+ $variant = $name,)+ }
        }

        impl $kind {
            /// Its phrase in a list, such as the reservations of a stamp: `another program used the
            /// drive`; the name of a kind that this version does not know.
            pub fn phrase(&self) -> &str {
                match self {
                    $($kind::$variant => $phrase,)+
                    $kind::Other(name) => name,
                }
            }
        }
    };
    (word $($rest:tt)+) => { $crate::kind::named! { [Copy, PartialOrd, Ord] $crate::Word; $($rest)+ } };
    ($($rest:tt)+) => { $crate::kind::named! { [] String; $($rest)+ } };
}

/// The enum itself, with the type that holds unknown names.
macro_rules! named {
    (
        [$($derived:ident),*] $text:ty;
        $(#[doc = $about:literal])+
        $kind:ident {
            $($(#[doc = $meaning:literal])+ $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq, Hash, $($derived),*)]
        pub enum $kind {
            $($(#[doc = $meaning])+ $variant,)+
            /// A name that this version does not know.
            Other($text),
        }

        impl $kind {
            /// All kinds except [`Self::Other`].
            pub const ALL: &'static [$kind] = &[$($kind::$variant),+];

            /// Its name in records.
            pub fn name(&self) -> &str {
                match self {
                    $($kind::$variant => $name,)+
                    $kind::Other(name) => name,
                }
            }

            /// The kind of that name; [`Self::Other`] for unknown names.
            pub fn named(name: &str) -> $kind {
                let kind = $kind::ALL.iter().find(|kind| kind.name() == name);
                kind.cloned().unwrap_or_else(|| $kind::Other(name.into()))
            }

            /// Its meaning in one sentence; empty for [`Self::Other`].
            pub fn meaning(&self) -> &'static str {
                match self {
                    $($kind::$variant => concat!($($meaning),+).trim_ascii(),)+
                    $kind::Other(_) => "",
                }
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $kind {
            type Err = std::convert::Infallible;

            fn from_str(name: &str) -> Result<$kind, Self::Err> {
                Ok($kind::named(name))
            }
        }

        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$kind, D::Error> {
                let name: String = serde::Deserialize::deserialize(deserializer)?;
                Ok($kind::named(&name))
            }
        }
    };
}

pub(crate) use {kinds, named};

kinds! {
    phrased
    /// The kind of a finding. Names are kebab-case. After the arrow: its phrase in a list.
    FindingKind {
        // Raised by the engine about one measurement.
        /// The bytes read came from memory.
        ServedFromRam = "served-from-ram" => "reads came from memory",
        /// Operations failed; the figures cover only the successful ones.
        FailedOperations = "failed-operations" => "operations failed",
        /// The file system does not support O_DIRECT, so the page cache was involved.
        NotDirect = "not-direct" => "the page cache was involved",
        /// The kernel handed operations to its worker threads.
        Punted = "punted" => "kernel threads issued the I/O",
        /// The kernel's io_uring lacks features.
        UringLacks = "uring-lacks" => "io_uring lacks features",
        /// The processor set the pace, not the drive.
        GeneratorBound = "generator-bound" => "the processor set the pace",
        /// Reads covered blocks that were never written or contain zeros.
        UnwrittenBlocksRead = "unwritten-blocks-read" => "blocks never written were read",
        /// The backend permits only a lower queue depth than requested.
        DepthIsAFiction = "depth-is-a-fiction" => "the queue depth was not reached",
        /// The arrival rate was too high: some operations were never issued.
        Overloaded = "overloaded" => "more operations were due than issued",
        /// The workload was stopped near the drive's warning temperature.
        TemperatureLimit = "temperature-limit" => "stopped near the warning temperature",
        /// The drive became slower above its warning temperature.
        Throttled = "throttled" => "the drive throttled",
        /// The process was stopped, or the machine suspended, during a workload.
        StoodStill = "stood-still" => "the run was paused",
        /// The drive completed nothing for a while although operations were in flight.
        Stalled = "stalled" => "the drive stalled",
        /// Something else used the drive during the measurement.
        SharedDrive = "shared-drive" => "another program used the drive",
        /// io_uring is not available; another backend was used.
        BackendFallback = "backend-fallback" => "io_uring was not available",
        /// Scratch files of earlier runs were removed.
        OrphansRemoved = "orphans-removed" => "old scratch files were removed",
        /// A virtual drive has no host, so host settings had no effect.
        NoHost = "no-host" => "no host, no host settings",
        /// A virtual drive did not time every operation.
        SteadySkipped = "steady-skipped" => "steady stretches skipped",
        /// The drive did not respond.
        NoAnswer = "no-answer" => "the drive did not respond",
        /// The workload was long, so each row of its series covers several intervals.
        SeriesThinned = "series-thinned" => "the time series is thinned",

        // Raised by `lab` about a stored record.
        /// Measured by ssdyno on another machine, or read from an export.
        Carried = "carried" => "measured elsewhere",
        /// Another record with the same id has different content: one of them was changed.
        Conflict = "conflict" => "another record has its id",
        /// The content differs from the stored original.
        DamagedRecord = "damaged-record" => "the stored record was changed",

        /// Main figures of a virtual drive depend on guessed parameters.
        GuessedDrive = "guessed-drive" => "parameters are guessed",
        /// The run ended early: its figures cover only part of it.
        CutShort = "cut-short" => "the run was cut short",
        /// The run failed: its figures do not answer the question.
        RunFailed = "run-failed" => "the run failed",
        /// Another program measured these figures, without ssdyno's checks.
        NotChecked = "not-checked" => "not checked by ssdyno",
        /// These figures were imported from the output of `ssdyno fio`; the file can have been
        /// edited.
        OwnFioOutput = "own-fio-output" => "imported from ssdyno fio's output",

        // Raised by `drive` about the machine.
        /// The frequency governor does not keep the processor at full speed.
        Governor = "governor" => "the processor may run slowly",
        /// The machine is busy with other work.
        Load = "load" => "the machine was busy",
        /// This is a virtual machine: its host may cache and delay I/O.
        VirtualMachine = "virtual-machine" => "measured in a virtual machine",
        /// The clock is coarse or slow to read.
        Clock = "clock" => "the clock is coarse",
        /// The machine is running on battery.
        OnBattery = "on-battery" => "the machine ran on battery",
        /// The board is throttled by heat or by its power supply.
        BoardThrottled = "board-throttled" => "the board was throttled",
        /// io_uring is disabled on this machine.
        NoIoUring = "no-io-uring" => "io_uring is disabled",
        /// The limit on locked memory is low.
        Memlock = "memlock" => "the memory lock limit is low",
        /// Some information needs root.
        NotRoot = "not-root" => "not root",
        /// This user cannot open block devices.
        NoDeviceAccess = "no-device-access" => "no access to block devices",
        /// A control group limits I/O.
        IoLimit = "io-limit" => "a control group limits I/O",
        /// A control group limits processor time.
        CpuLimit = "cpu-limit" => "a control group limits processor time",
        /// The link is slower or narrower than the drive supports.
        LinkDowngraded = "link-downgraded" => "the link is below its maximum",
        /// The drive is already hot.
        HotDrive = "hot-drive" => "the drive was hot",
        /// The bridge offers UAS, but the kernel sends it one command at a time.
        UasUnused = "uas-unused" => "the bridge's UAS is not used",
        /// The drive takes discards, but the kernel or a bridge does not pass them on.
        DiscardHidden = "discard-hidden" => "discards do not reach the drive",
        /// The file system added requests to those of the workload.
        FileSystemAdds = "file-system-adds" => "the file system added requests",
        /// The hypervisor took processor time away.
        CpuStolen = "cpu-stolen" => "the hypervisor took processor time",
        /// The machine is swapping.
        Swapping = "swapping" => "the machine was swapping",
        /// The processor is throttled by heat.
        CpuThrottled = "cpu-throttled" => "the processor was hot",
        /// Another program used the drive.
        OtherIo = "other-io" => "another program used the drive",

        // Raised by methods.
        /// A check could not tell: its measurements were too few or scattered too much.
        Inconclusive = "inconclusive" => "a check could not tell",
        /// A check was skipped.
        CheckLeftOut = "check-left-out" => "a check was skipped",
        /// A published reference was used instead of a measured one.
        ReferencePublished = "reference-published" => "the reference is a published one",
        /// The command failed.
        CommandFailed = "command-failed" => "the command failed",
        /// The first run of a command had a cold cache; later runs had a warm one.
        FirstRunCold = "first-run-cold" => "the first run had a cold cache",
        /// The target does not support discards.
        NoDiscard = "no-discard" => "no discards",
        /// The freed blocks of a file could not be read on the drive.
        BlocksNotRead = "blocks-not-read" => "the blocks could not be read on the drive",
        /// A discard had no visible effect.
        DiscardNotSeen = "discard-not-seen" => "a discard had no visible effect",
        /// A file stood for the drive: the file system decided where its blocks lie.
        MeasuredInFile = "measured-in-file" => "measured in a file",
        /// The requested alignment was replaced.
        AlignmentForced = "alignment-forced" => "the alignment was replaced",
        /// The rounds did not reach a steady state.
        NotSteady = "not-steady" => "no steady state was reached",
        /// The temperature was still rising at the end.
        NotSettled = "not-settled" => "the temperature was still rising",
        /// The time limit allowed fewer replicates than requested.
        RoundsCut = "rounds-cut" => "fewer replicates than requested",
        /// Writes are not allowed on this target: only reads were measured.
        ReadsOnly = "reads-only" => "only reads were measured",
        /// Blocks returned different bytes each time they were read.
        ReadsDiffer = "reads-differ" => "reads returned different bytes",
        /// Restored content differs from the original.
        ContentChanged = "content-changed" => "restored content differs",
        /// The test region is smaller than requested.
        RegionCut = "region-cut" => "the test region is smaller than requested",
        /// The drive's rest was too short to tell rested data from fresh data.
        RestCut = "rest-cut" => "the rest was too short",
        /// The writes fit the write cache of most drives: they do not show a sustained rate.
        InsideCache = "inside-cache" => "the writes fit the cache",
        /// The rate changed within a workload: its mean is of neither level.
        RateChanged = "rate-changed" => "the mean is of neither rate",
        /// Written content was not read back.
        ContentLost = "content-lost" => "content was lost",
        /// Some zones could not be read.
        ZonesUnread = "zones-unread" => "some zones could not be read",
        /// A recording was cut off; the text says how much of it is kept.
        RecordingCut = "recording-cut" => "a recording was cut off",
        /// A file system is inconsistent after a recording.
        VolumeDamaged = "volume-damaged" => "the file system is inconsistent",
        /// The page cache could not be dropped.
        CacheNotDropped = "cache-not-dropped" => "the page cache was not dropped",

        // Raised by fio job files and by imports of other tools' results.
        /// A limit of the job file was exceeded.
        LimitPassed = "limit-passed" => "a limit of the job file was exceeded",
        /// Latencies are fio's clat, from submission to completion.
        FioClat = "clat" => "latencies are clat",
        /// Reads and writes of a fixed mix are one measurement.
        FioMix = "mix" => "reads and writes are one measurement",
        /// The record holds the results of several jobs of one run.
        FioJobs = "jobs" => "results of several jobs",
        /// Number of records that dd copied.
        DdRecords = "records" => "records copied by dd",
        /// One pass of dd, possibly through memory.
        DdPass = "dd" => "one pass of dd",
        /// Each value is the best of several passes, not their mean.
        BestOf = "best-of" => "best of several passes",
        /// Buffered I/O: repeated reads may have come from memory.
        PageCache = "page-cache" => "the page cache was used",
        /// The file was written just before the workload, which changes the state of the drive.
        LaidOut = "laid-out" => "the file had just been written",
        /// The title is that of the other results in its section of the text.
        SharedTitle = "shared-title" => "the title is that of its section",
    }
}

kinds! {
    /// The kind of a verdict. Names are in capitals.
    VerdictKind {
        /// No rule found the cause; the text lists the causes ruled out and those left open.
        Undetermined = "UNDETERMINED",
        /// Memory served reads.
        Ram = "RAM",
        /// Reads came from the drive, not from memory.
        Drive = "DRIVE",
        /// Reads left this virtual machine; which layer served them is unknown.
        Guest = "GUEST",
        /// A flush is too fast to be real, or flushes take a noticeable part of the time of writes.
        Flush = "FLUSH",
        /// A flush takes long enough to be real.
        FlushPlausible = "FLUSH PLAUSIBLE",
        /// The order of durable writes affects their speed, so they cost more than a flush.
        NotFlush = "NOT FLUSH",
        /// The drive writes compressible data faster.
        Compressible = "COMPRESSIBLE",
        /// Content does not affect the speed.
        Incompressible = "INCOMPRESSIBLE",
        /// The drive serves small working sets from a cache.
        DeviceCache = "DEVICE CACHE",
        /// No read cache is visible at depth 1.
        NoDeviceCache = "NO DEVICE CACHE",
        /// The drive caches only part of its mapping table, and random reads beyond it take longer.
        MapCache = "MAP CACHE",
        /// No reads wait for a part of the mapping table.
        NoMapCache = "NO MAP CACHE",
        /// The link is the limit.
        Link = "LINK",
        /// The link is not the limit.
        LinkFree = "LINK FREE",
        /// The link is slower or narrower than the drive supports.
        LinkDowngraded = "LINK DOWNGRADED",
        /// Drives of several models reach the same rate on this port: the host is the limit.
        HostCeiling = "HOST CEILING",
        /// The link is as fast as the drive allows.
        LinkFull = "LINK FULL",
        /// The queue was not kept full.
        Depth = "DEPTH",
        /// The queue was kept full.
        DepthKept = "DEPTH KEPT",
        /// The processor is the limit.
        Cpu = "CPU",
        /// The processor is not the limit.
        CpuFree = "CPU FREE",
        /// Threads waited for a processor: other work ran there.
        CpuShared = "CPU SHARED",
        /// A control group's quota kept threads off the processor.
        CpuQuota = "CPU QUOTA",
        /// A control group limits the I/O.
        IoLimit = "IO LIMIT",
        /// Something below this machine, such as a provider, limits the rate.
        RateLimit = "RATE LIMIT",
        /// The drive completed nothing at all for part of the time.
        Stall = "STALL",
        /// Other programs kept the drive busy.
        SaturatedByOthers = "SATURATED BY OTHERS",
        /// A small random write makes the drive rewrite a larger unit.
        MappingUnit = "MAPPING UNIT",
        /// The drive executes only a few commands at a time.
        DeviceDepth = "DEVICE DEPTH",
        /// The drive's flash (dies and channels) is the limit, not its link or commands.
        FlashBound = "FLASH BOUND",
        /// The controller accepts bytes at one rate, regardless of their order and of the fill of
        /// its buffer.
        Controller = "CONTROLLER",
        /// A card or stick can keep few blocks open; writes spread over more of them cost copies.
        OpenBlocks = "OPEN BLOCKS",
        /// A USB bridge accepts one command at a time.
        Usb = "USB",
        /// The first command after a rest wakes the drive.
        PowerState = "POWER STATE",
        /// The drive is worn or reports errors, and retries reads.
        Wear = "WEAR",
        /// Time passes before the block layer has a request: in the file system and the kernel.
        FileSystem = "FILE SYSTEM",
        /// Time passes in a layer between the target and the drive: encryption, a volume, an array.
        Layer = "LAYER",
        /// Requests wait in the block layer's queue for its scheduler.
        BlockQueue = "BLOCK QUEUE",
        /// Time passes after the drive has completed a request, until the thread sees it.
        Completion = "COMPLETION",
        /// The drive slowed down because of heat, or approached its warning temperature.
        Heat = "HEAT",
        /// Temperature did not slow the drive down.
        Cool = "COOL",
        /// The drive did not slow down; its temperature is unknown.
        NoSlowdown = "NO SLOWDOWN",
        /// The file system is nearly full.
        Full = "FULL",
        /// The file system has free space.
        Room = "ROOM",
        /// In a fixed mix, the write figure follows from the read figure.
        MixDetermined = "MIX-DETERMINED",
        /// No workload mixes reads and writes.
        NoMix = "NO MIX",
        /// Writes were fast until a cache was full.
        CacheEnd = "CACHE END",
        /// The write speed did not drop.
        NoCacheEnd = "NO CACHE END",
        /// A full drive writes more slowly than a fresh one.
        Untrimmed = "UNTRIMMED",
        /// A full drive writes as fast as a fresh one.
        FullIsFast = "FULL IS FAST",
        /// Discards make a full drive as fast as a fresh one.
        DiscardRestores = "DISCARD RESTORES",
        /// Discards restore part of the speed.
        DiscardRestoresPartly = "DISCARD RESTORES PARTLY",
        /// Discards do not restore the speed.
        DiscardDoesNotRestore = "DISCARD DOES NOT RESTORE",
        /// Discards have an effect on the drive.
        TrimWorks = "TRIM WORKS",
        /// Discards are refused or have no visible effect.
        NoTrim = "NO TRIM",
        /// Misaligned writes are slower.
        Misaligned = "MISALIGNED",
        /// Misaligned writes are as fast as aligned ones.
        AlignmentIsFree = "ALIGNMENT IS FREE",
        /// A steady state was reached.
        Steady = "STEADY",
        /// Steady by the SNIA PTS rule, but not a plateau.
        PtsSteadyOnly = "PTS-STEADY ONLY",
        /// No steady state was reached.
        NotSteady = "NOT STEADY",
        /// The number that Open Firmware's `.speed` would print.
        Speed = "SPEED",
        /// The speed depends on the address.
        PlaceMatters = "PLACE MATTERS",
        /// The speed is the same at the start, middle and end of the drive.
        SameEverywhere = "SAME EVERYWHERE",
        /// Most of the time goes to commands, not to their data.
        PerCommand = "PER-COMMAND",
        /// Most of the time goes to data, not to commands.
        DataBound = "DATA-BOUND",
        /// As far as tested, the advertised capacity is real.
        CapacityReal = "CAPACITY REAL",
        /// The drive advertises more bytes than it has.
        Aliasing = "ALIASING",
        /// The drive loses content at some addresses.
        ContentLost = "CONTENT LOST",
        /// The drive, its reader or its cable returns different bytes each time a block is read.
        ReadsDiffer = "READS DIFFER",
        /// The source of an image is slower than the processor and the drive.
        Source = "SOURCE",
        /// The drive writes an image more slowly than its source and the processor supply it.
        Writes = "WRITES",
        /// All written data were read back: the drive endured the amount.
        Endured = "ENDURED",
        /// The first access after a rest takes as long as any other.
        NoPowerState = "NO POWER STATE",
        /// The size of pages and erase blocks, and the number of open ones.
        Geometry = "GEOMETRY",
        /// The speed classes that a card meets on this host.
        Grade = "GRADE",
        /// The load up to which the drive keeps up.
        Knee = "KNEE",
        /// The scores of RISCOSMark.
        Mark = "MARK",
        /// The time of a command.
        Command = "COMMAND",
        /// The command failed.
        Failed = "FAILED",
        /// Erasing left none of the sampled content.
        Erased = "ERASED",
        /// Erasing left some of the sampled content.
        NotErased = "NOT ERASED",
        /// Free space was discarded.
        Trimmed = "TRIMMED",
        /// f3's finding (imported): whether the capacity is real.
        F3 = "F3",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_of_the_same_form() {
        let findings: HashSet<_> = FindingKind::ALL.iter().map(FindingKind::name).collect();
        assert_eq!(findings.len(), FindingKind::ALL.len());
        let kebab = |c: char| c.is_ascii_lowercase() || c == '-';
        assert!(findings.iter().all(|name| name.chars().all(kebab)));
        let verdicts: HashSet<_> = VerdictKind::ALL.iter().map(VerdictKind::name).collect();
        assert_eq!(verdicts.len(), VerdictKind::ALL.len());
        let capitals =
            |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-' || c == ' ';
        assert!(verdicts.iter().all(|name| name.chars().all(capitals)));
    }

    #[test]
    fn each_kind_has_a_sentence_for_readers() {
        let meanings = FindingKind::ALL.iter().map(FindingKind::meaning);
        for meaning in meanings.chain(VerdictKind::ALL.iter().map(VerdictKind::meaning)) {
            assert!(meaning.ends_with('.') && !meaning.starts_with(' '), "{meaning:?}");
        }
    }

    #[test]
    fn every_kind_has_a_short_phrase_without_its_key() {
        for kind in FindingKind::ALL {
            let phrase = kind.phrase();
            assert!((5..=45).contains(&phrase.len()), "{phrase}");
            assert!(!phrase.ends_with('.') && phrase != kind.name(), "{phrase}");
        }
    }

    #[test]
    fn known_names_are_kinds_and_unknown_ones_round_trip() {
        let read = |name: &str| -> FindingKind {
            serde_json::from_value(serde_json::json!(name)).expect("any name is a kind")
        };
        for kind in FindingKind::ALL {
            assert_eq!((&read(kind.name()), kind.to_string()), (kind, kind.name().to_string()));
        }
        let later = read("from-a-later-version");
        assert_eq!(later, FindingKind::Other("from-a-later-version".into()));
        assert_eq!(serde_json::to_value(&later).expect("a name"), "from-a-later-version");
        let verdict: VerdictKind = serde_json::from_str("\"HEAT\"").expect("a kind");
        assert_eq!((verdict, VerdictKind::Heat.meaning().is_empty()), (VerdictKind::Heat, false));
    }
}
