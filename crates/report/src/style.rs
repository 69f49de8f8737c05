//! Style of text on a screen: colour, width, characters.
//!
//! The caller decides (a terminal or a pipe, `NO_COLOR`, the locale) and passes a [`Style`]; the
//! environment is never read here. [`Style::paint`] makes external text [`emit::plain`], because a
//! model name must not move the cursor; the command passes the whole text through [`emit::screen`],
//! which also covers text that was not painted.

/// Capabilities of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Colours and weights, as ANSI sequences.
    pub colour: bool,
    /// Width in columns. Text is laid out for at least 40.
    pub width: usize,
    /// Whether non-ASCII characters may be used.
    pub unicode: bool,
}

impl Style {
    /// Plain ASCII text of 80 columns, for a pipe or a file.
    pub const PLAIN: Style = Style { colour: false, width: 80, unicode: false };

    /// The text in an ink, free of control characters.
    pub fn paint(&self, ink: Ink, text: &str) -> String {
        let text = emit::plain(text).into_owned();
        match (self.colour, ink.code()) {
            (true, Some(code)) if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text,
        }
    }

    /// [`Style::paint`] for text of several lines.
    pub fn paint_lines(&self, ink: Ink, text: &str) -> String {
        text.lines().map(|line| self.paint(ink, line)).collect::<Vec<_>>().join("\n")
    }

    /// The width used for layout.
    pub fn columns(&self) -> usize {
        self.width.max(40)
    }

    /// Selects one of two spellings: with or without non-ASCII characters.
    pub(crate) fn either<'a>(&self, unicode: &'a str, ascii: &'a str) -> &'a str {
        if self.unicode { unicode } else { ascii }
    }
}

/// Wraps text between words into lines of at most `width` characters; longer words are broken.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        for (i, part) in letters.chunks(width.max(1)).enumerate() {
            match lines.last_mut() {
                Some(line) if i == 0 && line.chars().count() + 1 + part.len() <= width => {
                    line.push(' ');
                    line.extend(part);
                }
                _ => lines.push(part.iter().collect()),
            }
        }
    }
    lines
}

/// Role of a piece of text, which determines its colour. Meaning never depends on colour alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ink {
    /// Nothing special.
    #[default]
    Plain,
    /// Less important: labels, intervals, units.
    Dim,
    /// An important number or name.
    Strong,
    /// All is well.
    Good,
    /// Not measured, but predicted by a virtual drive.
    Predicted,
    /// Needs caution.
    Warn,
    /// An error.
    Bad,
}

impl Ink {
    fn code(self) -> Option<&'static str> {
        match self {
            Ink::Plain => None,
            Ink::Dim => Some("2"),
            Ink::Strong => Some("1"),
            Ink::Good => Some("32"),
            Ink::Predicted => Some("36"),
            Ink::Warn => Some("33"),
            Ink::Bad => Some("1;31"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_used_only_if_requested() {
        let colour = Style { colour: true, ..Style::PLAIN };
        assert_eq!(colour.paint(Ink::Warn, "hot"), "\x1b[33mhot\x1b[0m");
        assert_eq!(colour.paint(Ink::Plain, "hot"), "hot");
        assert_eq!(Style::PLAIN.paint(Ink::Warn, "hot"), "hot");
    }

    #[test]
    fn wraps_between_words_and_breaks_only_long_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("", 4), Vec::<String>::new());
    }

    #[test]
    fn a_model_name_cannot_steer_the_terminal() {
        let painted = Style::PLAIN.paint(Ink::Plain, "ACME\x1b[2J\n\u{202e}evil\u{9b}");
        assert_eq!(painted, "ACME?[2J??evil?");
    }
}
