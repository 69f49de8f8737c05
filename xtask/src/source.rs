//! Source lines as the house rules see them: without strings and comments.

/// The line without strings and `//` comments. Multi-line strings are not tracked; a false positive
/// can be avoided by writing the string differently.
pub fn code_of(line: &str) -> String {
    let line = line.replace("'\"'", "' '").replace("\\\\", "").replace("\\\"", "");
    let outside: String = line.split('"').step_by(2).collect::<Vec<_>>().join("\"\"");
    outside.split("//").next().unwrap_or_default().to_string()
}

/// Whether a word occurs in a line of code, not as part of a longer one.
pub fn has_word(code: &str, word: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}
