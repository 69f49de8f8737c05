//! The user's directories for files that outlive a run, as in the XDG base directory specification.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The directory that an XDG variable names, or its default in the home directory: for
/// `XDG_STATE_HOME`, `.local/state`. Without HOME, as in a system service, the home directory is
/// that of the user's account. `None` without either.
pub fn user_directory(variable: &str, in_home: &str) -> Option<PathBuf> {
    choose(env::var_os(variable), env::home_dir(), Path::new(in_home))
}

/// The specification requires relative paths to be ignored.
fn choose(named: Option<OsString>, home: Option<PathBuf>, in_home: &Path) -> Option<PathBuf> {
    let variable = named.map(PathBuf::from).filter(|dir| dir.is_absolute());
    variable.or_else(|| home.filter(|home| home.is_absolute()).map(|home| home.join(in_home)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_comes_first_then_home_and_relative_paths_are_ignored() {
        let path = |named: &str, home: &str| {
            let some = |text: &str| (text != "-").then(|| OsString::from(text));
            choose(some(named), some(home).map(PathBuf::from), Path::new(".local/share"))
        };
        assert_eq!(path("/d", "/h"), Some("/d".into()));
        assert_eq!(path("/d", "-"), Some("/d".into()));
        for unset in ["-", "", "relative"] {
            assert_eq!(path(unset, "/h"), Some("/h/.local/share".into()));
            assert_eq!(path(unset, unset), None);
        }
    }
}
