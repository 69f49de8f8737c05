//! Where a record came from that no run of ssdyno left: another tool's output, or a publication.
//!
//! Such a record holds what was written there and nothing else. It has no plan, and what the tool
//! or the author did not write down is unknown.

use serde::{Deserialize, Serialize};

/// What kind of source it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OriginKind {
    /// The output of a tool, read by `ssdyno import`.
    Imported,
    /// Figures that somebody published.
    Published,
}

/// The source of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// What kind of source.
    pub kind: OriginKind,
    /// The tool that measured: `fio`, `iozone`, `CrystalDiskMark`; `null` where it was not told.
    pub tool: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The file that was read (`-`: standard input), or the publication.
    pub source: String,
    /// Where in it: `line 12`, `page 4`.
    pub place: Option<String>,
    /// The tool's command line or settings, as far as they were written down.
    pub command: Option<String>,
    /// Whether `started` of the record is when it was measured. Where `false` that is unknown, and
    /// `started` is when it was imported or published.
    pub start_known: bool,
}

impl Origin {
    /// The tool with its version, `fio 3.33`; `None` where it is not known.
    pub fn tool_name(&self) -> Option<String> {
        let tool = self.tool.as_ref()?;
        Some(self.version.as_ref().map_or_else(|| tool.clone(), |v| format!("{tool} {v}")))
    }
}
