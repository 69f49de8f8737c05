//! Show a record: terminal, HTML with charts, Markdown, JSON, CSV.
