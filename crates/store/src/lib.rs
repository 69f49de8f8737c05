//! Keep and find records in SQLite.
