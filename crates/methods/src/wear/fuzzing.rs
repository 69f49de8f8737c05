//! The parser of stamps that a resumed run reads from a drive, for the fuzz target of this room.
//! Not used by runs.

use workload::stamp::{Layout as Stamps, SECTOR, Stamp, write};

use super::found::{Class, Stamped};
use super::layout::{BLOCK, Layout, stamp};
use super::resume::number_of;

/// The drive of the target: eight blocks of static data and two halves of four.
const LAYOUT: Layout = Layout { blocks: 16, fixed: 8, half: 4 };

/// Parses a block that begins with a sector stamped with the first three words of the input, then
/// overwritten with the rest of it. Describes the number found and the content.
pub fn wear_block(input: &[u8]) -> String {
    let [offset, sequence, run] = [0, 1, 2].map(|index| {
        let bytes = input.get(index * 8..index * 8 + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    });
    let seed = LAYOUT.seed(run);
    let mut block = vec![0; BLOCK as usize];
    for (index, sector) in block.chunks_exact_mut(SECTOR).enumerate() {
        let offset = offset.wrapping_add((index * SECTOR) as u64);
        write(sector, Stamp { offset, sequence, seed }, Stamps::default());
    }
    let rest = input.get(24..).unwrap_or_default();
    let length = rest.len().min(block.len());
    for (byte, change) in block.iter_mut().zip(&rest[..length]) {
        *byte ^= change;
    }
    let block_offset = offset % (LAYOUT.blocks * BLOCK) / BLOCK * BLOCK;
    let Some(number) = number_of(&LAYOUT, &Stamped::read(&block, block_offset, seed), block_offset)
    else {
        return "no number".into();
    };
    let class = Class::from_bytes(&block, stamp(&LAYOUT, number, seed));
    let Some(pass) = LAYOUT.pass(number) else { return format!("static {class:?}") };
    let numbers = LAYOUT.numbers(pass);
    assert!(numbers.contains(&number) && LAYOUT.region(pass).end() <= LAYOUT.bytes());
    let first = if pass == 0 { "first" } else { "later" };
    format!("cycled {first} {class:?} {}", number + 1 == numbers.end)
}
