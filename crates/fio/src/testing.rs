//! Test support: a small world, and values parsed in it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;

use super::World;
use super::value::Value;

/// A world with the given files and variables.
#[derive(Debug, Default)]
pub(crate) struct Small {
    pub files: HashMap<String, String>,
    pub env: HashMap<String, String>,
}

impl Small {
    /// A world with these files.
    pub fn with(files: &[(&str, &str)]) -> Small {
        let file = |(name, text): &(&str, &str)| (name.to_string(), text.to_string());
        Small { files: files.iter().map(file).collect(), env: HashMap::new() }
    }
}

impl World for Small {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let file = self.files.get(path).map(|text| text.clone().into_bytes());
        file.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned()
    }
}

/// Calls `f` with a value of the text, with `kb_base=1024`.
pub(crate) fn with_value<T>(text: &str, f: impl FnOnce(&Value) -> T) -> T {
    let notes = RefCell::default();
    f(&Value { text: Some(text), world: &Small::default(), kb: 1024, notes: &notes })
}
