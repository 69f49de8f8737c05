//! iozone's command line as a fuzz target.

use compat::iozone::{IozoneRequest, parse};
use fuzz::{FuzzTarget, outcome};

/// Command lines, one word per line.
pub const COMMAND_LINE: FuzzTarget =
    FuzzTarget { name: "iozone-command-line", run: command_line, corpus: COMMAND_LINES };

fn command_line(input: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(input);
    let words: Vec<String> = text.lines().map(String::from).collect();
    match parse(&words) {
        Err(error) => outcome(&error.what),
        Ok(IozoneRequest::Answer(_) | IozoneRequest::Version(_)) => 1,
        Ok(IozoneRequest::Run(command)) => {
            let run = &command.run;
            let flags = [run.flush, run.sync, run.direct, run.once, command.excel];
            let flags = flags.iter().fold(0, |sum, flag| 2 * sum + u64::from(*flag));
            let tests = run.tests.iter().fold(0, |sum, test| sum | 1u64 << test);
            let figures = run.figures().len() as u64;
            2 + flags + 32 * tests + 8192 * (run.rows.len().min(16) as u64) + 262_144 * figures
        }
    }
}

const COMMAND_LINES: &[&str] = &[
    "-f\n/home/x/iozone.tst\n-e\n-o\n-a\n-s\n100M\n-r\n4k\n-i\n0\n-i\n1\n-i\n2\n",
    "-az\n-n\n16m\n-g\n2g\n-q\n16m\n-y\n4k\n-Rb\nout.xls\n-I\n-e\n",
    "-s100m\n-r4k\n-i0\n-i5\n-j\n3\n-+n\n-c\n-w\n-p\n-S\n512\n",
    "-t\n4\n-F\na\nb\n",
];
