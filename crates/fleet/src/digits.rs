//! Hashes and keys as hexadecimal digits.

use sha2::{Digest, Sha256};

/// SHA-256.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hexadecimal digits; `None` for another text or length.
pub fn unhex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let digits = digits.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
        let [high, low] = pair.map(|digit| (digit as char).to_digit(16));
        *byte = (high? * 16 + low?) as u8;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_read_as_they_were_written() {
        assert_eq!(unhex::<3>(&hex(&[0, 0x9f, 0xff])), Some([0, 0x9f, 0xff]));
        for wrong in ["", "00", "0000000", "00000g", "+00000", "\u{e9}\u{e9}\u{e9}"] {
            assert_eq!(unhex::<3>(wrong), None, "{wrong}");
        }
    }
}
