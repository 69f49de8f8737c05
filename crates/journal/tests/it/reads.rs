//! Drives that return wrong bytes in some reads: no single read is believed, neither when blocks
//! are copied nor when they are compared.

use std::cell::Cell;
use std::io;

use journal::{BLOCK, Borrowed, Rereads, Storage};
use workload::Region;

/// A drive of one block, whose reads with these numbers each return another wrong byte.
struct Reader {
    wrong: &'static [u8],
    reads: Cell<u8>,
}

impl Reader {
    fn new(wrong: &'static [u8]) -> Reader {
        Reader { wrong, reads: Cell::new(0) }
    }
}

impl Storage for Reader {
    fn read_exact(&self, _offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let read = self.reads.replace(self.reads.get() + 1);
        buffer.fill(7);
        if self.wrong.contains(&read) {
            buffer[BLOCK / 2] = 100 + read;
        }
        Ok(())
    }

    fn write_all(&self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn forget(&self, _region: Region) -> io::Result<()> {
        Ok(())
    }
}

fn borrowed(drive: &Reader) -> Borrowed {
    Borrowed::read(drive, Region::first(BLOCK as u64)).expect("read")
}

#[test]
fn a_copy_is_steady_only_if_a_second_read_returns_the_same() {
    for (wrong, blocks) in [(&[][..], 0), (&[0], 1), (&[1], 1), (&[0, 1], 1), (&[2], 0)] {
        let drive = Reader::new(wrong);
        assert_eq!(borrowed(&drive).unsteady(&drive).expect("read"), blocks, "{wrong:?}");
    }
}

#[test]
fn a_block_is_compared_until_two_reads_agree_or_it_is_the_original() {
    // The wrong reads; the reads made; whether the block is unsteady, and whether it differs.
    let table: [(&[u8], u8, bool, bool); 4] = [
        (&[], 1, false, false),
        (&[0], 2, true, false),
        // Of three reads, two differ from each other.
        (&[0, 1], 3, true, false),
        (&[0, 1, 2, 3, 4, 5, 6, 7], 8, true, true),
    ];
    let original = borrowed(&Reader::new(&[]));
    for (wrong, reads, is_unsteady, differs) in table {
        let drive = Reader::new(wrong);
        let compared = original.compare(&drive, Rereads::UntilCertain, &mut |_| ());
        let compared = compared.expect("compared");
        assert_eq!(drive.reads.get(), reads, "{wrong:?}");
        assert_eq!(!compared.unsteady.is_empty(), is_unsteady, "{wrong:?}");
        // No two reads agreed on other bytes: it is restored, but not called different.
        assert_eq!(!compared.to_restore().is_empty(), differs, "{wrong:?}");
        assert!(compared.differing.is_empty(), "{wrong:?}");
    }
}
