//! The record itself as JSON. `docs/record.schema.json` describes it.

use record::Run;

/// The run as JSON, on one line or indented for people; no line break at its end. Fails only if the
/// record holds what JSON cannot.
pub fn json(run: &Run, pretty: bool) -> serde_json::Result<String> {
    if pretty { serde_json::to_string_pretty(run) } else { serde_json::to_string(run) }
}
