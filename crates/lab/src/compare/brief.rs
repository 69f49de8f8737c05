//! The conclusion on a quantity in two or three words: the last column of a comparison's table. A
//! difference names the side with the larger figure, as the ratio does.

use serde::Serialize;

/// The conclusion on a quantity, in brief; in JSON, A and B are the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Brief {
    /// A rate of the first side is higher.
    #[serde(rename = "A faster")]
    FirstFaster,
    /// A rate of the second side is higher.
    #[serde(rename = "B faster")]
    SecondFaster,
    /// Another quantity of the first side is higher.
    #[serde(rename = "A higher")]
    FirstHigher,
    /// Another quantity of the second side is higher.
    #[serde(rename = "B higher")]
    SecondHigher,
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
    /// The words, with the names of the two sides.
    pub fn words(self, [first, second]: [&str; 2]) -> String {
        match self {
            Brief::FirstFaster => format!("{first} faster"),
            Brief::SecondFaster => format!("{second} faster"),
            Brief::FirstHigher => format!("{first} higher"),
            Brief::SecondHigher => format!("{second} higher"),
            Brief::Same => "same within 5%".into(),
            Brief::Inconclusive => "inconclusive".into(),
            Brief::Unknown => "unknown".into(),
            Brief::NoClaim => "no claim".into(),
            Brief::FromMemory => "from memory".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_words_about_a_and_b() {
        use Brief::*;
        for brief in [
            FirstFaster,
            SecondFaster,
            FirstHigher,
            SecondHigher,
            Same,
            Inconclusive,
            Unknown,
            NoClaim,
            FromMemory,
        ] {
            let json = serde_json::to_value(brief).expect("a text");
            assert_eq!(json.as_str(), Some(brief.words(["A", "B"]).as_str()));
        }
    }
}
