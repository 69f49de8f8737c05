//! The terminal's capabilities, from the environment: colour, width, characters.

use std::env;
use std::io::{IsTerminal, Write, stderr, stdout};

use report::Style;

use crate::interrupt;

/// Width if unknown, columns.
const WIDTH: usize = 100;

/// Minimum width of text that is wrapped, columns.
const WRAPPED_MIN: usize = 20;

/// The style of stdout. `NO_COLOR` and pipes get plain text.
pub fn style() -> Style {
    style_of(stdout().is_terminal())
}

/// The style of stderr, where progress is shown.
pub fn progress_style() -> Style {
    style_of(stderr().is_terminal())
}

fn style_of(terminal: bool) -> Style {
    let no_colour = env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let dumb = env::var("TERM").is_ok_and(|t| t == "dumb");
    Style { colour: terminal && !no_colour && !dumb, width: width(), unicode: unicode() }
}

/// [`style`], but piped text is never truncated, because a program reads it. `COLUMNS` overrides.
pub fn uncut() -> Style {
    let is_given = env::var("COLUMNS").is_ok_and(|c| c.parse::<usize>().is_ok());
    let width = if stdout().is_terminal() || is_given { width() } else { usize::MAX };
    Style { width, ..style() }
}

/// Prints one or several lines to stderr. A closed stderr is not an error.
pub fn say(line: &str) {
    let _limit = interrupt::OutputLimit::begin();
    let _ = writeln!(stderr(), "{}", emit::screen(line));
}

/// Prints a line to stderr; on a terminal, what exceeds its width continues below, indented by the
/// width of the label. A program gets one line.
pub fn say_wrapped(label: &str, text: &str) {
    let indent = label.chars().count();
    let room = width().saturating_sub(indent);
    let length = text.chars().count();
    if stderr().is_terminal() && length > room && room > WRAPPED_MIN {
        let separator = format!("\n{}", " ".repeat(indent));
        say(&format!("{label}{}", report::wrap(text, room).join(&separator)));
    } else {
        say(&format!("{label}{text}"));
    }
}

/// Width of the terminal, columns; `COLUMNS` overrides.
fn width() -> usize {
    let columns = env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    columns
        .or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
        .unwrap_or(WIDTH)
}

/// Height of the terminal, lines; `None` if stdout is not a terminal.
pub fn height() -> Option<u32> {
    let size = terminal_size::terminal_size().filter(|_| stdout().is_terminal());
    size.map(|(_, height)| u32::from(height.0))
}

/// Whether the locale uses UTF-8. Assumed without a locale, because most systems do.
fn unicode() -> bool {
    let locales = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| env::var(name).ok());
    let locales: Vec<String> = locales.filter(|v| !v.is_empty()).collect();
    locales.first().is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// Wraps text into lines of at most `width` characters.
pub fn wrap(text: &str, width: usize) -> String {
    report::wrap(text, width).join("\n")
}
