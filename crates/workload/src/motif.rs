//! A pattern that fills every write from its first byte and can contain the write's offset.
//!
//! Unlike stamps, it can be checked by any program that knows the pattern, but it cannot
//! distinguish an older write from a newer one.

use serde::{Deserialize, Serialize};

/// Bytes repeated over a write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Motif {
    /// The bytes; empty: zeros. Those at `offsets_at` are overwritten.
    pub bytes: Vec<u8>,
    /// Positions at which the write's offset is stored, as eight little-endian bytes truncated at
    /// the end of `bytes`.
    pub offsets_at: Vec<usize>,
    /// Distance after which the pattern starts again, with the offset of that place in the write's
    /// file, bytes; 0: it does not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restart_bytes: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Motif {
    /// Fills part of a write: the part begins `skipped` bytes into the write, and the write begins
    /// at offset `start` of its file.
    pub fn paint(&self, part: &mut [u8], skipped: u64, start: u64) {
        for (from, bytes, skipped, start) in self.pieces(part.len(), skipped, start) {
            self.paint_piece(&mut part[from..from + bytes], skipped, start);
        }
    }

    fn paint_piece(&self, part: &mut [u8], skipped: u64, start: u64) {
        let round = self.filled(start);
        let phase = (skipped % round.len() as u64) as usize;
        let (head, rest) = part.split_at_mut((round.len() - phase).min(part.len()));
        head.copy_from_slice(&round[phase..phase + head.len()]);
        for piece in rest.chunks_mut(round.len()) {
            piece.copy_from_slice(&round[..piece.len()]);
        }
    }

    /// The pieces of a part between the places at which the pattern starts again: position in the
    /// part, length, distance from the last such place, and its offset in the file.
    fn pieces(
        &self,
        length: usize,
        skipped: u64,
        start: u64,
    ) -> impl Iterator<Item = (usize, usize, u64, u64)> {
        let step = if self.restart_bytes == 0 { u64::MAX } else { self.restart_bytes };
        let mut position = 0;
        std::iter::from_fn(move || {
            let (rest, place) = (length - position, skipped + position as u64);
            let distance = place % step;
            let bytes = (step - distance).min(rest as u64) as usize;
            let piece = (position, bytes, distance, start.wrapping_add(place - distance));
            position += bytes;
            (bytes > 0).then_some(piece)
        })
    }

    /// Position of the first byte that differs from [`Motif::paint`].
    pub fn differs(&self, part: &[u8], skipped: u64, start: u64) -> Option<usize> {
        self.pieces(part.len(), skipped, start).find_map(|(from, bytes, skipped, start)| {
            let position = self.piece_differs(&part[from..from + bytes], skipped, start)?;
            Some(from + position)
        })
    }

    fn piece_differs(&self, part: &[u8], skipped: u64, start: u64) -> Option<usize> {
        let round = self.filled(start);
        let phase = (skipped % round.len() as u64) as usize;
        let (head, rest) = part.split_at((round.len() - phase).min(part.len()));
        if head != &round[phase..phase + head.len()] {
            return first_difference(head, &round[phase..]);
        }
        let mut position = head.len();
        for piece in rest.chunks(round.len()) {
            if piece != &round[..piece.len()] {
                return first_difference(piece, &round).map(|i| position + i);
            }
            position += piece.len();
        }
        None
    }

    /// The bytes with the offset filled in.
    fn filled(&self, start: u64) -> Vec<u8> {
        let mut bytes = if self.bytes.is_empty() { vec![0] } else { self.bytes.clone() };
        for at in &self.offsets_at {
            for (byte, value) in bytes.iter_mut().skip(*at).zip(start.to_le_bytes()) {
                *byte = value;
            }
        }
        bytes
    }
}

fn first_difference(found: &[u8], expected: &[u8]) -> Option<usize> {
    found.iter().zip(expected).position(|(found, expected)| found != expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_offset_is_stored_in_every_repetition() {
        let mut motif =
            Motif { bytes: b"ab--------".to_vec(), offsets_at: vec![2], restart_bytes: 0 };
        let mut write = [0; 25];
        motif.paint(&mut write, 0, 0x1000);
        assert_eq!(write[..12], *b"ab\0\x10\0\0\0\0\0\0ab");
        assert_eq!(write[20..], *b"ab\0\x10\0");
        motif.restart_bytes = 12;
        motif.paint(&mut write, 0, 0x1000);
        assert_eq!(write[10..20], *b"abab\x0c\x10\0\0\0\0");
    }

    proptest! {
        #[test]
        fn parts_make_the_whole_and_any_changed_byte_is_found(
            bytes in prop::collection::vec(any::<u8>(), 1..40),
            place in prop::collection::vec(0usize..40, 0..2),
            cut in 0usize..200,
            change in 0usize..200,
            restart_bytes in 0u64..70,
        ) {
            let motif = Motif { bytes, offsets_at: place, restart_bytes };
            let (mut whole, mut parts) = ([0; 200], [0; 200]);
            motif.paint(&mut whole, 0, 77);
            motif.paint(&mut parts[..cut], 0, 77);
            motif.paint(&mut parts[cut..], cut as u64, 77);
            prop_assert_eq!(whole, parts);
            prop_assert_eq!(motif.differs(&whole[cut..], cut as u64, 77), None);
            whole[change] ^= 4;
            prop_assert_eq!(motif.differs(&whole, 0, 77), Some(change));
        }
    }
}
