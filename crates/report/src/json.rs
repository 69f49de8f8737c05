//! The record itself as JSON. `docs/record.schema.json` describes it.

use record::Run;

/// The run as JSON, on one line or indented; without a final line break. Fails only if the record
/// contains a value that JSON cannot represent.
pub fn json(run: &Run, pretty: bool) -> serde_json::Result<String> {
    if pretty { serde_json::to_string_pretty(run) } else { serde_json::to_string(run) }
}
