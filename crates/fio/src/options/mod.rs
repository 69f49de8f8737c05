//! Every option of fio, as data: its names, and whether it is supported, accepted or refused.
//!
//! The entry of a supported option contains the function that applies its value, so the table
//! cannot disagree with the behaviour. Other entries contain the reason shown to users.
//! `docs/fio.md` is generated from the table.

mod access;
mod content;
mod engines;
mod files;
mod idle;
mod job;
mod priority;
mod refused;
mod replay;
mod report;
mod run;
mod steady;

use super::draft::JobDraft;
use super::value::{Parsed, Value};

pub(crate) use engines::{ENGINE_OPTIONS, ENGINES, engine_option};
pub(crate) use job::cpu_list;
pub(crate) use priority::packed;

/// Applies a value to the draft of a job.
pub(crate) type Setter = fn(&mut JobDraft, &Value) -> Parsed<()>;

/// One option.
#[derive(Clone, Copy)]
pub(crate) struct OptionEntry {
    /// fio's name.
    pub name: &'static str,
    /// fio's other names for it.
    pub aliases: &'static [&'static str],
    /// Whether it may appear without a value.
    pub bare: bool,
    /// Whether it is supported, accepted or refused.
    pub standing: Standing<Setter>,
}

/// Whether an option, a command-line switch or an engine is supported, accepted or refused.
#[derive(Clone, Copy)]
pub(crate) enum Standing<S> {
    /// Has the same effect as in fio; the remark states any differences.
    Supported {
        /// Function that applies the value; for an engine, the engine to select.
        set: S,
        /// For the documentation.
        remark: &'static str,
    },
    /// Accepted without effect, with the reason.
    Idle(&'static str),
    /// An error, with the reason. Values that request nothing are accepted.
    Refused {
        /// The reason.
        why: &'static str,
        /// Values that request nothing.
        fine: &'static [&'static str],
    },
}

impl<S: Copy> Standing<S> {
    /// Supported, without a remark.
    pub const fn supported(set: S) -> Standing<S> {
        Standing::Supported { set, remark: "" }
    }

    /// Refused with any value.
    pub const fn refused(why: &'static str) -> Standing<S> {
        Standing::Refused { why, fine: &[] }
    }

    /// Adds a remark to a supported one.
    pub const fn says(self, remark: &'static str) -> Standing<S> {
        match self {
            Standing::Supported { set, .. } => Standing::Supported { set, remark },
            other => other,
        }
    }
}

/// A supported option.
const fn supported(
    name: &'static str,
    aliases: &'static [&'static str],
    set: Setter,
) -> OptionEntry {
    OptionEntry { name, aliases, bare: false, standing: Standing::supported(set) }
}

/// An option accepted without effect.
const fn idle(name: &'static str, why: &'static str) -> OptionEntry {
    OptionEntry { name, aliases: &[], bare: false, standing: Standing::Idle(why) }
}

/// An option refused unless its value requests nothing.
const fn refused(
    name: &'static str,
    fine: &'static [&'static str],
    why: &'static str,
) -> OptionEntry {
    OptionEntry { name, aliases: &[], bare: false, standing: Standing::Refused { why, fine } }
}

impl OptionEntry {
    /// Allows the option without a value.
    const fn bare(self) -> OptionEntry {
        OptionEntry { bare: true, ..self }
    }

    /// Adds other names.
    const fn also(self, aliases: &'static [&'static str]) -> OptionEntry {
        OptionEntry { aliases, ..self }
    }

    /// Adds a remark.
    const fn says(self, remark: &'static str) -> OptionEntry {
        OptionEntry { standing: self.standing.says(remark), ..self }
    }

    /// Whether `name` is one of its names.
    pub fn is(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// All options, in documentation order.
pub(crate) fn all() -> impl Iterator<Item = &'static OptionEntry> {
    let tables = [
        job::OPTIONS,
        access::OPTIONS,
        files::OPTIONS,
        run::OPTIONS,
        priority::OPTIONS,
        content::OPTIONS,
        report::OPTIONS,
        steady::OPTIONS,
        replay::OPTIONS,
        idle::OPTIONS,
        refused::OPTIONS,
    ];
    tables.into_iter().flatten()
}

/// The option with this name.
pub(crate) fn find(name: &str) -> Option<&'static OptionEntry> {
    all().find(|entry| entry.is(name))
}

/// The known option most similar to a misspelt one, if any is similar enough.
pub(crate) fn nearest(word: &str) -> Option<&'static str> {
    emit::nearest(word, all().flat_map(OptionEntry::names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = all().flat_map(OptionEntry::names).collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn misspelt_options_are_found() {
        assert_eq!(nearest("rwmixred"), Some("rwmixread"));
        assert_eq!(nearest("iodpeth"), Some("iodepth"));
        assert_eq!(nearest("blocksise"), Some("blocksize"));
        assert_eq!(nearest("xyzzy-plugh"), None);
        assert_eq!(nearest(""), None);
    }
}
