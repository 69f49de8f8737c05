//! Foreign text, stripped of characters that control its display, or quoted for a shell.

use std::borrow::Cow;

/// Replaces every character that [`controls_display`] with `?`; the result is one line.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.contains(controls_display) {
        text.chars().map(|c| if controls_display(c) { '?' } else { c }).collect()
    } else {
        Cow::Borrowed(text)
    }
}

/// Escapes every character of JSON that [`controls_display`], except line feeds between values. All
/// others occur only inside strings, where an escape is equivalent.
pub fn json(text: &str) -> Cow<'_, str> {
    let unescaped = |c: char| c == '\n' || !controls_display(c);
    let is_printable = |byte: u8| matches!(byte, b'\n' | b' '..=b'~');
    if text.bytes().all(is_printable) || text.chars().all(unescaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if unescaped(c) {
            escaped.push(c)
        } else {
            let units = c.encode_utf16(&mut [0; 2]).to_vec();
            escaped.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    Cow::Owned(escaped)
}

/// Sanitizes multi-line text for a terminal. Line feeds, tabs and the codes of the styles and
/// colours that ssdyno itself uses stay. Everything else that [`controls_display`] becomes `?`.
pub fn screen(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| !matches!(c, '\n' | '\t') && controls_display(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown_text = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(position) = rest.find(controls_display) {
        shown_text.push_str(&rest[..position]);
        let length = kept(&rest[position..]);
        shown_text.push_str(&rest[position..position + length]);
        rest = &rest[position + length..];
        if length == 0 {
            shown_text.push('?');
            rest = rest.split_at(rest.chars().next().map_or(0, char::len_utf8)).1;
        }
    }
    shown_text.push_str(rest);
    Cow::Owned(shown_text)
}

/// Length of the permitted control sequence at the start of a text.
fn kept(text: &str) -> usize {
    /// The codes of `report::Style`: reset, bold, dim, green, yellow, bold red.
    const OWN: [&str; 6] = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[1;31m"];
    if text.starts_with(['\n', '\t']) {
        return 1;
    }
    OWN.iter().find(|code| text.starts_with(**code)).map_or(0, |code| code.len())
}

/// Whether a character affects the text around it: escape sequences, line breaks, direction
/// overrides and invisible marks.
pub fn controls_display(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{61c}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A word, quoted if a shell might split or interpret it.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    if !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./:=,%@+".contains(c)) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
    }
}

/// A message without the `(os error N)` that the standard library appends to the system's text,
/// which already says the same in words.
pub fn without_error_number(text: &str) -> String {
    const NUMBER: &str = " (os error ";
    let mut parts = text.split(NUMBER);
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| match part.split_once(')') {
        Some((number, rest)) if number.parse::<i32>().is_ok() => text + rest,
        _ => text + NUMBER + part,
    })
}

/// Maximum line length in bytes: the user may pass a whole file as an argument by mistake.
const LINE_MAX: usize = 600;

/// Joins the lines of a message into one, without the numbers of system errors. Elides the middle
/// of a very long message, because the cause is at its end.
pub fn one_line(text: &str) -> String {
    let lines = text.lines().map(|l| without_error_number(l).trim().to_string());
    let lines = lines.filter(|l| !l.is_empty());
    let line = plain(&lines.collect::<Vec<_>>().join("; ")).into_owned();
    if line.len() <= LINE_MAX {
        return line;
    }
    let tail = line.ceil_char_boundary(line.len() - LINE_MAX / 2);
    format!("{} ... {}", &line[..line.floor_char_boundary(LINE_MAX / 2)], &line[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_error_has_words_and_no_number() {
        let gone = std::io::Error::from_raw_os_error(2);
        let text = format!("cannot read a.json: {gone}, as before");
        let words = "cannot read a.json: No such file or directory, as before";
        assert_eq!(without_error_number(&text), words);
        let other = "b (os error x) c (os error 5";
        assert_eq!(without_error_number(other), other);
    }

    #[test]
    fn foreign_text_cannot_control_its_display() {
        let hostile = "ACME\x1b[2J\n\u{202e}evil\u{9b}\u{7f}\u{feff}";
        assert_eq!(plain(hostile), "ACME?[2J??evil???");
        assert!(matches!(plain("an ordinary name, \u{fc}"), Cow::Borrowed(_)));
    }

    #[test]
    fn escaped_json_is_equivalent() {
        let text = "{\"a\":\"\u{9b}2J\u{202e}\u{e0041}\"}\n";
        assert_eq!(json(text), "{\"a\":\"\\u009b2J\\u202e\\udb40\\udc41\"}\n");
        assert!(matches!(json("{}\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_quoted_word_can_be_typed_again() {
        assert_eq!(shell_word("--size=1GiB"), "--size=1GiB");
        assert_eq!(shell_word("my drive's"), r"'my drive'\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn screen_text_keeps_only_line_feeds_and_ssdynos_own_styles() {
        let text =
            "\x1b[1mrun\x1b[0m\n\x1b]0;title\x07\x1b[31mred\x1b[8m\r\x1b[\x1b[1;31mbad\x1b[0m";
        let kept = "\x1b[1mrun\x1b[0m\n?]0;title??[31mred?[8m??[\x1b[1;31mbad\x1b[0m";
        assert_eq!(screen(text), kept);
        assert!(matches!(screen("two\nlines"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_long_line_is_cut_to_a_screen_and_keeps_its_cause() {
        let line = one_line(&format!("cannot read {}: too long", "\u{e9}".repeat(50_000)));
        assert!(line.len() < LINE_MAX + 10, "{}", line.len());
        assert!(line.starts_with("cannot read ") && line.ends_with(": too long"));
    }
}
