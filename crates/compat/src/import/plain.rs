//! Removes what terminals, editors and mailers add to every text, whatever its format: escape
//! sequences, byte order marks and other invisible characters, spaces that are not ASCII, and
//! carriage returns before a line feed.
//!
//! A carriage return elsewhere ends a line that the terminal then overwrote (a progress line); it
//! stays, as the end of that line. Prefixes of lines are in `dress.rs`.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

/// The text without what was added. Borrowed if nothing was.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| is_control(c) || c == '\r' || is_space(c) || is_invisible(c)) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => skip_escape(&mut letters),
            '\r' => {
                while letters.next_if_eq(&'\r').is_some() {}
                if letters.peek() != Some(&'\n') {
                    clean.push('\r');
                }
            }
            c if is_space(c) => clean.push(' '),
            c if is_control(c) || is_invisible(c) => {}
            c => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

/// Spaces of other widths, and those at which no line may break.
fn is_space(letter: char) -> bool {
    matches!(
        letter,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// Characters without width: marks of direction, of byte order, of possible breaks.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn is_control(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\n' | '\r' | '\t')
}

/// Skips a terminal's escape sequence after its first character (ECMA-48, 5.4 and 8.3.89).
fn skip_escape(letters: &mut Peekable<Chars<'_>>) {
    match letters.next_if(|c| !matches!(c, '\n' | '\r')) {
        // A control sequence ends with a letter or one of @[\]^_`{|}~.
        Some('[') => {
            while letters.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            letters.next_if(|c| matches!(c, '@'..='~'));
        }
        // A string for the terminal (its title, a link) ends with BEL or ESC \.
        Some(']' | 'P' | '_' | '^' | 'X') => {
            while letters.next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n' | '\r')).is_some() {}
            if letters.next_if_eq(&'\u{1b}').is_some() {
                letters.next_if_eq(&'\\');
            }
        }
        // A choice of character set has one more letter.
        Some('(' | ')' | '*' | '+') => {
            letters.next_if(|c| !matches!(c, '\n' | '\r'));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terminals_add_is_removed() {
        let link = "\u{1b}]8;;http://x\u{1b}\\read\u{1b}]8;;\u{7}";
        for (text, clean) in [
            ("a\r\nb\r\r\nc", "a\nb\nc"),
            ("\u{1b}[1;32mread\u{1b}[0m: 1", "read: 1"),
            ("\u{1b}(B\u{1b}[mread", "read"),
            (link, "read"),
            ("1\u{a0}048\u{202f}576\u{3000}o", "1 048 576 o"),
            ("\u{feff}a\u{200b}b\u{8}c\0", "abc"),
            ("eta 1s\reta 0s\rdone\n", "eta 1s\reta 0s\rdone\n"),
            ("\u{1b}[", ""),
            ("cut\u{1b}]0;title\nread", "cut\nread"),
        ] {
            assert_eq!(plain(text), clean, "{text:?}");
        }
        assert!(matches!(plain("\ta µs\n"), Cow::Borrowed(_)));
    }
}
