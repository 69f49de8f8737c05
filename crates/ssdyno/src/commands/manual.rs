//! Completions and manual pages, generated from the command line's own description.

use std::path::Path;
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_complete::env::Shells;
use clap_mangen::Man;

use crate::cli::Cli;
use crate::failure::{Failure, Result, USAGE};
use crate::present;

/// Sections at the end of every page, in roff.
const SECTIONS: &str = r#".SH "EXIT STATUS"
.TP
0
Done; every check passed.
.TP
1
A check failed: wrong content was read, \fBfake\fR found a false capacity, a command failed, a
journal remains, or a published figure was missed.
.TP
2
Bad usage.
.TP
3
Refused for safety: nothing was written.
.TP
4
An I/O error on the target or on a file of the user.
.TP
130
Ended by Ctrl\-C, SIGTERM or SIGHUP; the record contains the part that was measured.
.SH FILES
.TP
.I $XDG_DATA_HOME/ssdyno/runs.sqlite
The records; ~/.local/share if the variable is not set. \fB\-\-store\fR names another file.
.TP
.I $XDG_DATA_HOME/ssdyno/reports/
A page for every run.
.TP
.I $XDG_STATE_HOME/ssdyno/journal/
Copies of borrowed blocks during a run; ~/.local/state if the variable is not set.
.TP
.I .ssdyno\-scratch\-*
A scratch file on a file system without unnamed files. The next run removes it.
.SH ENVIRONMENT
.TP
.B COLUMNS
The width of the output, including to a pipe.
.TP
.B NO_COLOR
Any value but an empty one: no colour.
.TP
.BR LC_ALL ", " LC_CTYPE ", " LANG
A locale without UTF\-8 gets ASCII.
.TP
.BR XDG_DATA_HOME ", " XDG_STATE_HOME
See FILES.
"#;

/// Prints the script through which a shell requests completions from this program.
pub fn completions(shell: Shell) -> Result {
    let name = shell.to_string();
    let builtins = Shells::builtins();
    let completer = builtins.completer(&name);
    let completer =
        completer.ok_or_else(|| Failure::new(USAGE, format!("no completions for {name}")))?;
    let mut text = Vec::new();
    if shell == Shell::Bash {
        // Bash splits words at colons, but virtual drives are called sim:NAME.
        text.extend_from_slice(b"COMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n");
    }
    completer.write_registration("COMPLETE", "ssdyno", "ssdyno", "ssdyno", &mut text)?;
    present::done(&String::from_utf8_lossy(&text))
}

/// Prints the manual page, or writes a page for the program and every command into a directory.
pub fn man(directory: Option<&Path>) -> Result {
    let mut command = Cli::command();
    command.build();
    let Some(directory) = directory else {
        return present::done(&String::from_utf8_lossy(&page(&command)?));
    };
    emit::Directory::create(directory, 0o777).map_err(|e| Failure::cannot_write(directory, &e))?;
    write_pages(&command, directory)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a command and those of its subcommands: `ssdyno-drives-fit.1`.
fn write_pages(command: &Command, directory: &Path) -> Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let path = directory.join(format!("{name}.1"));
    emit::replace(&path, page(command)?).map_err(|e| Failure::cannot_write(&path, &e))?;
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    commands.into_iter().try_for_each(|command| write_pages(command, directory))
}

fn page(command: &Command) -> Result<Vec<u8>> {
    let (mut text, man) = (Vec::new(), Man::new(command.clone()));
    man.render(&mut text)?;
    // clap's generator has no name for the text after the options; it begins with the examples.
    let text = String::from_utf8_lossy(&text).replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n");
    Ok([text.as_bytes(), SECTIONS.as_bytes()].concat())
}
