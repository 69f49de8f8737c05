//! The page of a screen: a column of labels, with wrapped text next to it.

use crate::style::{Ink, Style, wrap};

/// Width of the labels, and indentation of their text.
const INDENT: usize = 9;

/// Blanks between items on a line.
const ITEM_GAP: &str = "  ";

pub(super) struct Page<'a> {
    pub(super) style: &'a Style,
    text: String,
    /// The last label written, which is not repeated on the next line.
    label: &'static str,
}

impl<'a> Page<'a> {
    pub(super) fn new(style: &'a Style) -> Page<'a> {
        Page { style, text: String::new(), label: "" }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Columns to the right of the labels.
    pub(super) fn text_width(&self) -> usize {
        self.style.columns() - INDENT
    }

    /// An empty line, but never two in a row.
    pub(super) fn blank(&mut self) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
        self.label = "";
    }

    /// Pieces of a title, wrapped.
    pub(super) fn title(&mut self, pieces: &[(Ink, String)]) {
        let style = self.style;
        let widths: Vec<usize> = pieces.iter().map(|p| p.1.chars().count()).collect();
        let mut width_used = 0;
        for ((ink, piece), width) in pieces.iter().zip(widths) {
            if width_used > 0 && width_used + 3 + width > style.columns() {
                self.text.push('\n');
                width_used = 0;
            }
            let gap = if width_used > 0 { "   " } else { "" };
            self.text.push_str(gap);
            self.text.push_str(&style.paint(*ink, piece));
            width_used += gap.len() + width;
        }
        self.text.push('\n');
    }

    /// Items next to a label; lines break between items if possible.
    pub(super) fn items(&mut self, label: &'static str, items: &[String]) {
        let width = self.text_width();
        let mut lines: Vec<String> = Vec::new();
        for item in items {
            let item_width = ITEM_GAP.len() + item.chars().count();
            match lines.last_mut() {
                Some(line) if line.chars().count() + item_width <= width => {
                    line.push_str(ITEM_GAP);
                    line.push_str(item);
                }
                _ => lines.extend(wrap(item, width)),
            }
        }
        lines.iter().for_each(|line| self.line(label, Ink::Plain, line));
    }

    /// Wrapped text next to a label; lines after the first are indented by two.
    pub(super) fn labelled(&mut self, label: &'static str, ink: Ink, text: &str) {
        for (i, line) in wrap(text, self.text_width() - 2).iter().enumerate() {
            let indent = if i > 0 { "  " } else { "" };
            self.line(label, ink, &format!("{indent}{line}"));
        }
    }

    /// Wrapped text below the last item.
    pub(super) fn indented_text(&mut self, ink: Ink, text: &str) {
        for line in wrap(text, self.text_width() - 2) {
            let line = format!("  {}", self.style.paint(ink, &line));
            self.push(self.label, &line);
        }
    }

    /// Wrapped text from the left edge.
    pub(super) fn plain(&mut self, ink: Ink, text: &str) {
        for line in wrap(text, self.style.columns()) {
            let line = self.style.paint(ink, &line);
            self.text.push_str(&line);
            self.text.push('\n');
        }
        self.label = "";
    }

    /// One verbatim line next to a label.
    pub(super) fn raw(&mut self, label: &'static str, line: &str) {
        self.push(label, line);
    }

    /// Verbatim lines from the left edge.
    pub(super) fn block(&mut self, lines: &str) {
        self.text.push_str(lines);
        self.label = "";
    }

    fn line(&mut self, label: &'static str, ink: Ink, text: &str) {
        let text = self.style.paint(ink, text);
        self.push(label, &text);
    }

    fn push(&mut self, label: &'static str, painted: &str) {
        let text_of_label = if label == self.label { "" } else { label };
        let blanks = " ".repeat(INDENT - text_of_label.len());
        let label_text = self.style.paint(Ink::Dim, text_of_label);
        self.text.push_str(&format!("{label_text}{blanks}{painted}\n"));
        self.label = label;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_written_once() {
        let style = Style::PLAIN;
        let mut page = Page::new(&style);
        page.labelled("why", Ink::Plain, "one");
        page.labelled("why", Ink::Plain, "two");
        page.blank();
        page.labelled("why", Ink::Plain, "three");
        assert_eq!(page.finish(), "why      one\n         two\n\nwhy      three\n");
    }
}
