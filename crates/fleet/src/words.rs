//! The words of a job: what each may be, so that none reaches beyond a drive.

/// Methods that start programs or read files of the user's.
const METHODS_REFUSED: [&str; 3] = ["command", "iometer", "restore"];

/// Maximum length of an id, a target or a value, bytes.
const WORD_MAX: usize = 200;

/// Prefix of virtual drives.
pub const VIRTUAL: &str = "sim:";

/// Checks the name of a method, and that it stays on the drive.
pub fn check_method(name: &str) -> Result<(), String> {
    check_word("method", name, "-")?;
    if METHODS_REFUSED.contains(&name) {
        return Err(format!("method {name} is not for other machines"));
    }
    Ok(())
}

pub fn check_word(what: &str, word: &str, signs: &str) -> Result<(), String> {
    let is_word = word.chars().all(|c| c.is_ascii_alphanumeric() || signs.contains(c));
    if word.is_empty() || word.len() > WORD_MAX || !is_word || word.starts_with(['-', '.']) {
        return Err(format!("{what} '{}' is not a word", emit::plain(word)));
    }
    Ok(())
}

/// A virtual drive by its name, or an absolute path.
pub fn check_target(target: &str) -> Result<(), String> {
    let names_file = target.contains('/') || target.contains(".toml");
    let is_named = if target.starts_with(VIRTUAL) { !names_file } else { target.starts_with('/') };
    if is_named && is_printable(target) {
        return Ok(());
    }
    Err(format!("'{}' is neither sim:NAME nor an absolute path", emit::plain(target)))
}

pub fn is_printable(text: &str) -> bool {
    !text.is_empty() && text.len() <= WORD_MAX && !text.chars().any(char::is_control)
}
