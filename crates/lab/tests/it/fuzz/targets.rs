//! Fuzz targets of this crate: documents of published experiments, protocols and their answers, and
//! drive images.

use fuzz::{FuzzTarget, outcome};
use lab::{image, protocol, replicate};

/// Every parser of this crate.
pub const TARGETS: &[FuzzTarget] = &[PUBLISHED, IMAGE, PROTOCOL, ANSWERS];

/// Each line is an offset and bytes in hexadecimal.
const IMAGE: FuzzTarget = FuzzTarget { name: "image", run: image, corpus: IMAGES };

/// Parses a header and one record. An invalid header is replaced by a valid one, so that the record
/// is parsed anyway.
fn image(input: &[u8]) -> u64 {
    let bytes = fuzz::bytes(input, 1 << 16);
    let good = image::Head { block_bytes: 4096, bytes: 3 * 4096 };
    let (head, found) = match image::head(&bytes) {
        Ok(head) => (head, 1),
        Err(error) => (good, outcome(&error.to_string()) << 8),
    };
    let rest = bytes.get(40..).unwrap_or_default();
    let number = u64::from(rest.first().copied().unwrap_or(0) % 4);
    let record = image::record(rest, &head, number, 40);
    let stored = rest.get(24..).unwrap_or_default();
    found
        ^ match record.and_then(|record| record.content(stored)) {
            Ok(content) => 2 + content.len() as u64 % 5,
            Err(error) => outcome(&error.to_string()),
        }
}

const IMAGES: &[&str] = &[
    "0 737364796e6f20696d61676500000001\n16 0010000000000000\n24 0010000000000000\n40 00\n",
    "40 0100000000000000\n48 03000000\n52 00000000\n",
    "40 0200000000000000\n48 02000000\n52 00100000\n4200 01\n",
    "40 00\n48 01000000\n52 08000000\n64 6360000000\n",
];

/// User-supplied documents.
const PUBLISHED: FuzzTarget = FuzzTarget { name: "published", run: published, corpus: DOCUMENTS };

fn published(input: &[u8]) -> u64 {
    match replicate::parse("x.toml", &String::from_utf8_lossy(input)) {
        Ok(document) => 1 + document.figures.len().min(5) as u64,
        Err(error) => outcome(&error.to_string()),
    }
}

const DOCUMENTS: &[&str] = &[
    include_str!("../../../../../published/004.toml"),
    include_str!("../../../../../published/001.toml"),
];

/// User-supplied protocols.
const PROTOCOL: FuzzTarget = FuzzTarget { name: "protocol", run: steps, corpus: PROTOCOLS };

fn steps(input: &[u8]) -> u64 {
    match protocol::parse("x.toml", &String::from_utf8_lossy(input)) {
        Ok(protocol) => 1 + u64::from(protocol.measurements().min(5)),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains('\n'), "one line: {text}");
            outcome(&text)
        }
    }
}

const PROTOCOLS: &[&str] = &[
    include_str!("../../../../../protocols/board-against-board.toml"),
    include_str!("../../../../../protocols/state-bars.toml"),
];

/// Answers to the questions of a protocol, from a file of the user (`--answers`).
const ANSWERS: FuzzTarget = FuzzTarget { name: "answers", run: answers, corpus: ANSWER_FILES };

fn answers(input: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(input);
    let protocol = protocol::parse("x.toml", PROTOCOLS[0]).expect("a bundled protocol");
    match protocol::Answers::parse("x.toml", &text, &protocol) {
        Ok(answers) => 1 + answers.answer("memory-a").len().min(5) as u64,
        Err(error) => outcome(&error.to_string()),
    }
}

const ANSWER_FILES: &[&str] = &[
    "on-a = ''\nboard-a = 'A'\nmemory-a = '4 GB'\ncooling-a = 'none'\n\
     on-b = ''\nboard-b = 'B'\nmemory-b = '8 GB'\ncooling-b = 'fan'\n",
    "board-a = \"A\"\nmemory-a = \"\"\n",
];
