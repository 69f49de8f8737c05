//! iozone's letters: the help text, and those that are known but not supported.

pub(super) const HELP: &str = "\
Runs iozone's tests, prints its table, and marks the figures that can be trusted.

Usage: ssdyno iozone [OPTION]...

  -a            sweep files of 64 KiB to 512 MiB and records of 4 KiB to 16 MiB
  -s, -r SIZE   file and record size: a number of KiB, or 100m, 2g; repeatable
  -i N          test, repeatable: 0 write/rewrite, 1 read/reread, 2 random,
                3 backward read, 4 record rewrite, 5 strided read, 6 fwrite, 7 fread
  -e            include the flush in the time of writes
  -o            every write durable when it returns (O_SYNC)
  -I            bypass the page cache (O_DIRECT)
  -B            map the file into memory; leaves out streams
  -f FILE       location: a scratch file in FILE's directory, FILE itself is not touched;
                or a device, or sim:NAME
  -n -g -y -q   minimum and maximum file size, minimum and maximum record size of -a
  -z            small records for large files too
  -j N          distance of strided reads, in records
  -R            repeat every figure in a block for a spreadsheet
  -b FILE       a spreadsheet of the results: .csv is text, any other name Excel's format
  -O, -N        operations per second, or microseconds per operation, instead of KiB/s
  -t N          N processes at once, each with its own part; -l, -u: from so many to so many
  -Q            files of the offset and latency of every write and read: wol.dat, rol.dat, ...
  -w            keep the file given with -f; tests that only read read an earlier one
  -U DIR        drop the page cache before every test, instead of remounting DIR
  -H N, -k N    N operations in flight
  -+n           no retests
  -v            the version of iozone whose options and table these are

docs/iozone.md lists the options that have no effect or are not supported, with the reasons.
";

/// The answer to `-v`: iozone's first lines, with the version of Debian's package.
pub(super) const VERSION: &str = "       'Iozone' Filesystem Benchmark Program
 
        Version $Revision: 3.489 $
\tCompiled for 64 bit mode.
 
        ssdyno in its place
";

/// Known but unsupported letters with a value, and the alternative.
pub(super) const REFUSED_VALUES: &[(char, &str, &str)] = &[
    ('V', "checking a pattern", "ssdyno io DIR --rw randwrite --verify"),
    ('d', "delays between threads", "ssdyno io DIR --rate IOPS"),
    ('J', "delays before operations", "ssdyno io DIR --rate IOPS"),
    ('P', "binding to processors", "ssdyno io DIR --pin"),
    ('X', "telemetry of writes", "ssdyno fio with a job of the same pattern"),
    ('Y', "telemetry of reads", "ssdyno fio with a job of the same pattern"),
];

/// Known but unsupported letters without a value.
pub(super) const REFUSED: &[(char, &str, &str)] = &[
    ('D', "msync of mmap", "ssdyno fio --ioengine=mmap ..."),
    ('G', "msync of mmap", "ssdyno fio --ioengine=mmap ..."),
    ('Z', "mixing mmap and file I/O", "ssdyno fio --ioengine=mmap ..."),
    ('E', "separate pread and pwrite tests", "-i 0 -i 1: all calls are pread and pwrite"),
    ('K', "jitter", "ssdyno io DIR --rate IOPS --poisson"),
    ('W', "locking the file", "omit it"),
    ('m', "several buffers", "omit it"),
];
