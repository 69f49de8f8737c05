//! The conclusion on a quantity in two or three words: the last column of a comparison's table.

use serde::Serialize;

/// The conclusion on a quantity, in brief; in JSON, B is the second side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Brief {
    /// A rate of the second side is higher.
    #[serde(rename = "B faster")]
    Faster,
    /// A rate of the second side is lower.
    #[serde(rename = "B slower")]
    Slower,
    /// Another quantity of the second side is higher.
    #[serde(rename = "B higher")]
    Higher,
    /// Another quantity of the second side is lower.
    #[serde(rename = "B lower")]
    Lower,
    /// The sides differ by less than the bound of equivalence.
    #[serde(rename = "same within 5%")]
    Same,
    /// The interval permits neither.
    #[serde(rename = "inconclusive")]
    Inconclusive,
    /// The spread between runs is unknown.
    #[serde(rename = "unknown")]
    Unknown,
    /// Not one of the quantities that claims are limited to.
    #[serde(rename = "no claim")]
    NoClaim,
    /// Read from memory on one side, which permits no claim about a drive.
    #[serde(rename = "from memory")]
    FromMemory,
}

impl Brief {
    /// The words about the second side.
    pub fn words(self) -> &'static str {
        match self {
            Brief::Faster => "faster",
            Brief::Slower => "slower",
            Brief::Higher => "higher",
            Brief::Lower => "lower",
            Brief::Same => "same within 5%",
            Brief::Inconclusive => "inconclusive",
            Brief::Unknown => "unknown",
            Brief::NoClaim => "no claim",
            Brief::FromMemory => "from memory",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_words_about_b() {
        use Brief::*;
        for brief in
            [Faster, Slower, Higher, Lower, Same, Inconclusive, Unknown, NoClaim, FromMemory]
        {
            let json = serde_json::to_value(brief).expect("a text");
            let words = json.as_str().expect("a text");
            assert_eq!(words.trim_start_matches("B "), brief.words());
        }
    }
}
