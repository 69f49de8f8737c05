//! The production code of a room, with strings and comments blanked.
//!
//! Lines and columns stay where they are, so a place in the code is a place in the file. Tests do not
//! count: modules marked `#[cfg(test)]` are blanked, and files of such modules are left out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::source::has_word;

/// A file without tests, strings and comments.
pub struct SourceFile {
    /// Below the project root.
    pub path: PathBuf,
    pub code: String,
}

impl SourceFile {
    /// The number of lines with code.
    pub fn count_lines(&self) -> usize {
        self.code.lines().filter(|line| !line.trim().is_empty()).count()
    }

    /// The line number of a byte of the code, from 1.
    pub fn line_number(&self, position: usize) -> usize {
        1 + self.code[..position].matches('\n').count()
    }
}

/// Reads all source files below a directory of `root`, without those that only tests have.
pub fn read(root: &Path, directory: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    let mut test_modules = BTreeSet::new();
    for path in rust_files(&root.join(directory))? {
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let path = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
        let mut code = blanked(&text);
        test_modules.extend(remove_tests(&mut code).iter().map(|name| children(&path).join(name)));
        files.push(SourceFile { path, code });
    }
    let is_test = |path: &Path| {
        path.with_extension("").ancestors().any(|module| test_modules.contains(module))
    };
    files.retain(|file| !is_test(&file.path));
    Ok(files)
}

/// The directory of the modules that a file declares.
fn children(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default();
    if ["lib", "main", "mod"].iter().any(|name| stem == *name) {
        path.parent().unwrap_or(path).to_path_buf()
    } else {
        path.with_extension("")
    }
}

fn rust_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Replaces everything inside comments, strings and characters by spaces.
fn blanked(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_word = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => quoted_length(rest),
            'r' if !is_word || code.ends_with('b') => raw_length(rest),
            '\'' => character_length(rest),
            _ => 0,
        };
        if length == 0 {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            code.extend(rest[..length].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    code
}

/// The length of a string literal, up to its closing quote.
fn quoted_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text[1..].find(|c| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    });
    end.map_or(text.len(), |end| end + 2)
}

/// The length of a raw string literal, or 0 if none begins here.
fn raw_length(text: &str) -> usize {
    let hashes = text[1..].chars().take_while(|c| *c == '#').count();
    let content = 2 + hashes;
    if !text[1 + hashes..].starts_with('"') {
        return 0;
    }
    let closing = format!("\"{}", "#".repeat(hashes));
    text[content..].find(&closing).map_or(text.len(), |end| content + end + closing.len())
}

/// The length of a character literal, or 0 for a lifetime.
fn character_length(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match characters.next() {
        Some((_, '\\')) => text[3..].find('\'').map_or(0, |end| end + 4),
        _ => characters.next().filter(|(_, c)| *c == '\'').map_or(0, |(end, _)| end + 1),
    }
}

/// Blanks the modules that only tests have; returns the names of those in files of their own.
fn remove_tests(code: &mut String) -> Vec<String> {
    let (mut names, mut lines) = (Vec::new(), Vec::new());
    let mut source = code.lines().peekable();
    while let Some(line) = source.next() {
        let indent = &line[..line.len() - line.trim_start().len()];
        let module = source.peek().and_then(|next| next.split_once("mod ")).map(|(_, name)| name);
        match module.filter(|_| is_for_tests(line)) {
            Some(name) if name.ends_with('{') => {
                let end = format!("{indent}}}");
                let length = 1 + source.by_ref().take_while(|line| *line != end).count();
                lines.extend(std::iter::repeat_n("", length + 1));
            }
            Some(name) => {
                names.push(name.trim_end_matches(';').to_string());
                lines.push("");
            }
            None => lines.push(line),
        }
    }
    *code = lines.join("\n");
    names
}

/// Whether an attribute limits what follows to tests.
fn is_for_tests(line: &str) -> bool {
    line.trim().starts_with("#[cfg(") && has_word(line, "test") && !line.contains("not(")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_comments_and_characters_are_blanked() {
        for (text, code) in [
            ("let a = 1; // let b", "let a = 1;         "),
            ("a /* b\nc */ d", "a     \n     d"),
            ("f(\"a \\\" b\") + 1", "f(        ) + 1"),
            ("f(r#\"a \" b\"#, br\"x\")", "f(          , b    )"),
            ("'a' + '\\'' + '\\u{1}' + x::<'a>()", "    +      +         + x::<'a>()"),
            ("\"\\\\\"; for", "    ; for"),
        ] {
            assert_eq!(blanked(text), code, "{text}");
        }
    }

    #[test]
    fn tests_are_removed_and_lines_keep_their_numbers() {
        let mut code = "a\n#[cfg(test)]\nmod tests {\n    b\n}\nc".to_string();
        assert_eq!(remove_tests(&mut code), Vec::<String>::new());
        assert_eq!(code, "a\n\n\n\n\nc");
        let mut code = "#[cfg(test)]\npub(crate) mod testing;\nc".to_string();
        assert_eq!(remove_tests(&mut code), ["testing"]);
        assert_eq!(code, "\npub(crate) mod testing;\nc");
        let mut code = "#[cfg(any(test, feature = \"\"))]\nmod testing;\nc".to_string();
        assert_eq!(remove_tests(&mut code), ["testing"]);
    }
}
