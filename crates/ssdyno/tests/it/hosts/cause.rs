//! Causes of the host that slow a run down: how the shell sets each one and undoes it, which verdicts
//! name it, and why some cannot be set here.
//!
//! Control groups are those of version 1 where the machine has them, else of version 2.

use super::ground::{GROUP, Ground};

/// Severities of each cause, the mildest first.
pub const SEVERITIES: usize = 4;

/// A cause of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Busy,
    Nice,
    Quota,
    Throttle,
    Scheduler,
    Tags,
    LoopFile,
    Full,
    Fsync,
    Neighbour,
    Memory,
    Stops,
}

impl Kind {
    pub const ALL: [Kind; 12] = [
        Kind::Busy,
        Kind::Nice,
        Kind::Quota,
        Kind::Throttle,
        Kind::Scheduler,
        Kind::Tags,
        Kind::LoopFile,
        Kind::Full,
        Kind::Fsync,
        Kind::Neighbour,
        Kind::Memory,
        Kind::Stops,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Busy => "busy processes",
            Kind::Nice => "nice beside busy processes",
            Kind::Quota => "processor quota",
            Kind::Throttle => "I/O limit",
            Kind::Scheduler => "mq-deadline beside a writer",
            Kind::Tags => "few requests in the queue",
            Kind::LoopFile => "loop file",
            Kind::Full => "nearly full ext4",
            Kind::Fsync => "flush after every write",
            Kind::Neighbour => "neighbour on the drive",
            Kind::Memory => "memory limit",
            Kind::Stops => "SIGSTOP",
        }
    }

    /// The verdicts and warnings that name it. Empty if none does: then silence is all that can be
    /// expected.
    pub fn accepted(self) -> &'static [&'static str] {
        match self {
            Kind::Busy | Kind::Nice => &["CPU SHARED"],
            Kind::Quota => &["CPU QUOTA"],
            Kind::Throttle => &["IO LIMIT"],
            Kind::Scheduler => &["BLOCK QUEUE", "SATURATED BY OTHERS"],
            Kind::Tags => &["IO LIMIT", "BLOCK QUEUE"],
            Kind::LoopFile => &["LAYER"],
            Kind::Memory => &[],
            Kind::Full => &["FULL", "FILE SYSTEM"],
            Kind::Fsync => &["FLUSH", "FILE SYSTEM"],
            Kind::Neighbour => &["SATURATED BY OTHERS", "shared-drive"],
            Kind::Stops => &["stood-still"],
        }
    }

    /// Whether it is set on a loop device of its own, so that no other user of the drive notices.
    pub fn needs_loop(self) -> bool {
        matches!(self, Kind::Scheduler | Kind::Tags | Kind::LoopFile | Kind::Full | Kind::Neighbour)
    }

    /// Whether it takes processor time, for which the run must compete at its own priority.
    pub fn is_of_processor(self) -> bool {
        matches!(self, Kind::Busy | Kind::Nice | Kind::Quota)
    }
}

/// Causes that this machine cannot set without a guest, with the reason.
pub const ELSEWHERE: [(&str, &str); 5] = [
    ("dm-delay and dm-crypt", "the kernel has no device mapper"),
    ("limits of QEMU", "needs a guest"),
    ("USB without UAS", "needs a guest"),
    ("TRIM hidden by a bridge", "needs a guest"),
    ("stolen time", "needs a guest with hardware acceleration"),
];

/// A cause with its severity.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    pub kind: Kind,
    /// Below [`SEVERITIES`].
    pub severity: usize,
}

/// Keeps `count` processes busy on the processor of the run, each for a minute at most.
fn busy_processes(count: usize, nice: i32) -> (String, String) {
    let one = format!(
        "taskset -c $processor nice -n {nice} timeout 60 sh -c 'while :; do :; done' >&2 & \
         busy=\"$busy $!\"; "
    );
    (one.repeat(count), "kill $busy; ".into())
}

impl Cause {
    pub fn in_words(self) -> String {
        format!("{} ({} of {SEVERITIES})", self.kind.name(), self.severity + 1)
    }

    /// Shell commands that set it, and those that undo it.
    pub fn commands(self, ground: &Ground) -> (String, String) {
        let Ground { queue, number, other, .. } = ground;
        let remove_group = |controller: &str| {
            format!(
                "for i in $(seq 100); do rmdir /sys/fs/cgroup/{controller}/{GROUP} \
                 /sys/fs/cgroup/{GROUP} 2>/dev/null; test -d /sys/fs/cgroup/{controller}/{GROUP} \
                 || test -d /sys/fs/cgroup/{GROUP} || break; sleep .1; done; "
            )
        };
        let group = |controller: &str, old: String, new: String| {
            let set = format!(
                "if [ -d /sys/fs/cgroup/{controller} ]; then cd /sys/fs/cgroup/{controller} && \
                 mkdir -p {GROUP} && cd {GROUP} && {old}; else cd /sys/fs/cgroup && mkdir -p {GROUP} \
                 && cd {GROUP} && {new}; fi || exit 1; cd /; "
            );
            (set, remove_group(controller))
        };
        match self.kind {
            Kind::Busy => busy_processes(self.severity + 1, -15),
            Kind::Nice => busy_processes(1 + self.severity % 2, -10),
            Kind::Quota => {
                let us = [60_000, 40_000, 20_000, 10_000][self.severity];
                let old = format!("echo {us} > cpu.cfs_quota_us");
                group("cpu", old, format!("echo {us} 100000 > cpu.max"))
            }
            Kind::Throttle => {
                let (old, new, most) = [
                    ("read_bps", "rbps", 20_000_000),
                    ("read_iops", "riops", 2000),
                    ("read_bps", "rbps", 2_000_000),
                    ("read_iops", "riops", 300),
                ][self.severity];
                let old = format!("echo {number} {most} > blkio.throttle.{old}_device");
                group("blkio", old, format!("echo {number} {new}={most} > io.max"))
            }
            Kind::Memory => {
                let bytes = [72 << 20, 64 << 20, 56 << 20, 48 << 20][self.severity];
                let old = format!("echo {bytes} > memory.limit_in_bytes");
                group("memory", old, format!("echo {bytes} > memory.max"))
            }
            Kind::Scheduler => {
                let (writer, end) = neighbour(other, "randwrite", [1, 4, 16, 32][self.severity]);
                let set = format!("echo mq-deadline > {queue}/scheduler || exit 1; {writer}");
                (set, end + &format!("echo none > {queue}/scheduler; "))
            }
            Kind::Tags => {
                let most = [16, 8, 4, 4][self.severity];
                let set = format!(
                    "tags=$(cat {queue}/nr_requests); echo {most} > {queue}/nr_requests || exit 1; "
                );
                (set, format!("echo $tags > {queue}/nr_requests; "))
            }
            Kind::Full => {
                let share = [50, 65, 75, 80][self.severity];
                let set = format!(
                    "fallocate -l $(($(stat -f -c '%a * %S' {other}) * {share} / 100)) \
                     {other}/full || exit 1; "
                );
                (set, format!("rm -f {other}/full; "))
            }
            Kind::Neighbour => {
                let depth = [4, 16, 32, 128][self.severity];
                neighbour(other, ["randread", "randwrite"][self.severity % 2], depth)
            }
            Kind::LoopFile | Kind::Fsync | Kind::Stops => Default::default(),
        }
    }

    /// Shell commands with which the run begins, before it replaces its shell.
    pub fn prologue(self) -> String {
        let join = |controller: &str| {
            format!(
                "for g in /sys/fs/cgroup/{controller}/{GROUP} /sys/fs/cgroup/{GROUP}; do \
                 test ! -d $g || echo $$ > $g/cgroup.procs; done; "
            )
        };
        match self.kind {
            Kind::Nice => format!("renice -n {} $$ >/dev/null; ", [-5, 0, 5, 10][self.severity]),
            Kind::Quota => join("cpu"),
            Kind::Throttle => join("blkio"),
            Kind::Memory => join("memory"),
            Kind::Stops => {
                let (stopped, running) =
                    [(".1", ".4"), (".2", ".3"), (".3", ".2"), (".4", ".2")][self.severity];
                format!(
                    "run=$$; (sleep .4; for i in $(seq 20); do kill -STOP $run || break; \
                     sleep {stopped}; kill -CONT $run; sleep {running}; done) >/dev/null 2>&1 & "
                )
            }
            _ => String::new(),
        }
    }

    /// Options of `ssdyno io` that are part of it.
    pub fn options(self) -> &'static str {
        match self.kind {
            Kind::Fsync => {
                ["--flush-every 64", "--flush-every 16", "--flush-every 4", "--flush-every 1"]
                    [self.severity]
            }
            _ => "",
        }
    }
}

/// A process of this program with a load of its own in a directory.
fn neighbour(directory: &str, rw: &str, depth: u32) -> (String, String) {
    let load = format!(
        "timeout 60 $ssdyno io {directory} --rw {rw} --bs 64k --depth {depth} --size 32MiB \
         --time 50s --quiet --store $store >&2 & load=$!; sleep 1; "
    );
    (load, "kill $load; wait $load; ".into())
}
