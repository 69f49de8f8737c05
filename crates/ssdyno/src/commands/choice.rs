//! Something to choose from a list.

/// The word for a command line, and what it means.
pub struct Choice {
    pub word: String,
    pub meaning: String,
}

impl Choice {
    pub fn new(word: impl Into<String>, meaning: impl Into<String>) -> Choice {
        Choice { word: word.into(), meaning: meaning.into() }
    }
}
