//! A section as written: what a job file and a command line have in common before its options are
//! understood.

/// Options under one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// Its name; none for what stands before the first `--name`.
    pub name: Option<String>,
    /// Where it begins: `file:line`, or `command line`.
    pub place: String,
    /// Whether it is the first of a job file that is not the first: then it waits for all before.
    pub stonewall: bool,
    /// Its options in the order given.
    pub options: Vec<Given>,
}

impl Section {
    /// Whether it holds what all sections behind it begin with. fio looks at six letters.
    pub fn global(&self) -> bool {
        self.name.as_ref().is_none_or(|name| name.starts_with("global"))
    }
}

/// One option as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// `file:line`, or `command line`.
    pub place: String,
    /// Its name.
    pub name: String,
    /// What stands behind the `=`; none for an option alone.
    pub value: Option<String>,
}

impl Given {
    /// As it was written, cut short if long.
    pub fn shown(&self) -> String {
        let text = match &self.value {
            Some(value) => format!("{}={value}", self.name),
            None => self.name.clone(),
        };
        match text.char_indices().nth(80) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        }
    }
}
