//! Lengths of memory computed from sizes of drives and operations.
//!
//! A drive is larger than the address space of a 32-bit system, so its sizes are `u64`, and a
//! length of memory is made from them only here: too large is an error, never a wrapped length.

use std::io;

use workload::units::binary;

/// Bytes of `parts` parts of `each` bytes. Returns an error if they exceed the address space.
pub(crate) fn addressable(parts: u64, each: u64) -> io::Result<usize> {
    // No object is larger than half of the address space.
    let bytes = within(parts, each, isize::MAX as u64)?;
    usize::try_from(bytes).map_err(|_| too_large(bytes))
}

fn within(parts: u64, each: u64, most: u64) -> io::Result<u64> {
    let bytes = parts.saturating_mul(each);
    if bytes <= most { Ok(bytes) } else { Err(too_large(bytes)) }
}

fn too_large(bytes: u64) -> io::Error {
    let text = format!("{} of memory are needed, more than this system can address", binary(bytes));
    io::Error::new(io::ErrorKind::OutOfMemory, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of a 32-bit system's address space.
    const MOST: u64 = i32::MAX as u64;

    #[test]
    fn a_length_beyond_the_address_space_is_an_error_and_does_not_wrap() {
        assert_eq!(within(4, 4096, MOST).expect("small"), 16_384);
        // Modulo 2^32 this is 64 MiB.
        let error = within(260, 16 << 20, MOST).expect_err("4160 MiB");
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
        let text = error.to_string();
        assert!(text.starts_with("4160 MiB of memory are needed, more than this"), "{text}");
        assert!(within(1 << 40, 1 << 40, MOST).is_err());
        assert_eq!(addressable(3, 5).expect("small"), 15);
        assert!(addressable(1 << 40, 1 << 40).is_err());
    }
}
