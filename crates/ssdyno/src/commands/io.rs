//! `ssdyno io`: runs one workload, given by options.

use clap::Parser;
use lab::Work;
use lab::io::Io;

use super::session;
use crate::cli::{Cli, Command, IoArgs};
use crate::failure::Result;

/// Runs the workload and shows its record.
pub fn run(args: &IoArgs) -> Result {
    let io = Io::from(args);
    // Checked before the target is inspected, so that a mistake costs nothing.
    io.check()?;
    session::run(&args.on.target, &args.on.measure, &Work::io(&io))
}

/// Parses the options of a workload, as written in published documents.
pub fn read(words: &str) -> std::result::Result<Io, String> {
    let words = ["ssdyno", "io", "."].into_iter().chain(words.split_whitespace());
    match Cli::try_parse_from(words).map_err(|e| e.to_string())?.command {
        Command::Io(args) => Ok(Io::from(&*args)),
        _ => Err("no workload".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use lab::io::{Access, Burst};
    use workload::{BlockSizes, Pattern};

    use super::*;

    #[test]
    fn words_become_options() {
        let io = |words| read(words).expect("understood");
        let read = io("--rw randrw --mix 30 --bs 4k:60,64k:40 --depth 4 --size 1MiB");
        assert_eq!((read.rw, read.mix, read.depth), (Access::RandRw, 30, 4));
        assert_eq!(read.blocks, BlockSizes::Split(vec![(4096, 60), (65_536, 40)]));
        assert_eq!((read.size, read.time_ns, read.seed), (Some(1 << 20), None, 1));
        let burst = Burst { on_ns: 1_000_000_000, off_ns: 9_000_000_000 };
        assert_eq!(io("--burst 1s/9s").burst, Some(burst));
        assert_eq!(io("--hot 20/80").hot, Some(Pattern::hot_cold(0.2, 0.8)));
        let write = io("--rw write --no-flush --ops 5 --shift 512 --stride 1MiB");
        assert_eq!((write.rw, write.no_flush, write.ops), (Access::Write, true, Some(5)));
        assert_eq!((write.shift, write.stride), (512, Some(1 << 20)));
        assert!(super::read("--rw sideways").is_err());
    }
}
