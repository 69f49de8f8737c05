//! Source of a record that was not made by an ssdyno run: another tool's output, or a publication.
//!
//! The record contains only information from the source. It has no plan, and missing information is
//! unknown.

use serde::{Deserialize, Serialize};

use crate::kind::kinds;

kinds! { word
    /// Kind of source.
    OriginKind {
        /// The output of a tool, read by `ssdyno import`.
        Imported = "imported",
        /// Published figures.
        Published = "published",
    }
}

/// The source of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Kind of source.
    pub kind: OriginKind,
    /// The measuring tool: `fio`, `iozone`, `CrystalDiskMark`; `null` if unknown.
    pub tool: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The file that was read (`-`: standard input), or the publication.
    pub source: String,
    /// Position in the source: `line 12`, `page 4`.
    pub place: Option<String>,
    /// The user's name for it: the names of fio's jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool's command line or settings, if known.
    pub command: Option<String>,
    /// Whether the record's `started` is the time of the measurement. If `false`, that time is
    /// unknown, and `started` is the time of import or publication.
    pub start_known: bool,
}

/// The tool of results that `ssdyno fio` printed.
pub const OWN_FIO: &str = "ssdyno fio";

impl Origin {
    /// A file that was read, of which nothing else is known but perhaps the measuring tool.
    pub fn imported(tool: Option<&str>, source: impl Into<String>) -> Origin {
        Origin {
            kind: OriginKind::Imported,
            tool: tool.map(String::from),
            version: None,
            source: source.into(),
            place: None,
            title: None,
            command: None,
            start_known: false,
        }
    }

    /// Whether the source says that `ssdyno fio` printed it. Anyone can write such a file.
    pub fn is_own_fio(&self) -> bool {
        self.tool.as_deref() == Some(OWN_FIO)
    }

    /// The tool with its version, `fio 3.33`; `None` if unknown.
    pub fn tool_name(&self) -> Option<String> {
        let tool = self.tool.as_ref()?;
        Some(self.version.as_ref().map_or_else(|| tool.clone(), |v| format!("{tool} {v}")))
    }
}
