//! A random permutation of `0..n` without memory: a four-round Feistel network on the smallest
//! power of two that is at least `n` (and at least 4), repeated while the result is out of range
//! (for `n` above 1, at most two passes on average).
//!
//! A bitmap of visited blocks costs more per address, grows with the drive and is slow to find the
//! last free blocks. The network costs a few nanoseconds per address throughout. It shuffles well
//! enough for a benchmark, but is not cryptographically secure.

/// A permutation of `0..len`.
#[derive(Clone, Debug)]
pub struct Permutation {
    len: u64,
    low_bits: u32,
    /// Of the low and of the high half.
    masks: [u64; 2],
    keys: [u64; 4],
}

impl Permutation {
    /// The permutation of `0..len` for `seed`. `len` is at least 1.
    pub fn new(len: u64, seed: u64) -> Permutation {
        let len = len.max(1);
        let bits = (64 - (len - 1).leading_zeros()).max(2);
        let mut key = seed ^ 0x9e37_79b9_7f4a_7c15;
        let keys = [(); 4].map(|()| {
            key = mix(fold(key.wrapping_add(0x9e37_79b9_7f4a_7c15)));
            fold(key)
        });
        let low_bits = bits / 2;
        let masks = [low_bits, bits - low_bits].map(|bits| (1 << bits) - 1);
        Permutation { len, low_bits, masks, keys }
    }

    /// Length of the permuted range.
    #[expect(clippy::len_without_is_empty, reason = "a permutation is never empty")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The number at position `index`, which must be below `len`.
    #[inline]
    pub fn get(&self, index: u64) -> u64 {
        let mut x = index;
        loop {
            x = self.shuffle(x);
            if x < self.len {
                return x;
            }
        }
    }

    /// One pass through the network, over the full power of two.
    #[inline]
    fn shuffle(&self, x: u64) -> u64 {
        let Permutation { low_bits, masks: [low_mask, high_mask], .. } = *self;
        let (mut low, mut high) = (x & low_mask, x >> low_bits);
        low ^= mix(high ^ self.keys[0]) & low_mask;
        high ^= mix(low ^ self.keys[1]) & high_mask;
        low ^= mix(high ^ self.keys[2]) & low_mask;
        high ^= mix(low ^ self.keys[3]) & high_mask;
        high << low_bits | low
    }
}

/// The first step of a short invertible 64-bit mix. A half of the network has at most 32 bits, so
/// it only affects the keys, and is applied to them in advance.
fn fold(x: u64) -> u64 {
    x ^ x >> 32
}

/// The rest of the mix, with a constant of MurmurHash3's finalizer.
#[inline]
fn mix(x: u64) -> u64 {
    let x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^ x >> 29
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn visits_every_number_once(len in 1u64..5000, seed: u64) {
            let order = Permutation::new(len, seed);
            let mut seen = vec![false; len as usize];
            for i in 0..len {
                let x = order.get(i) as usize;
                prop_assert!(!seen[x]);
                seen[x] = true;
            }
        }

        #[test]
        fn stays_inside_at_any_size(len in 1u64..u64::MAX / 2, index: u64, seed: u64) {
            let order = Permutation::new(len, seed);
            prop_assert!(order.get(index % len) < len);
        }
    }

    /// Neighbours in the order must be far apart in address. In a random order the mean distance is
    /// a third of the length; a weak network shows up as runs.
    #[test]
    fn is_random_enough() {
        let len = 1 << 20;
        let order = Permutation::new(len, 7);
        let jump: u64 = (1..len).map(|i| order.get(i).abs_diff(order.get(i - 1))).sum();
        let mean = jump as f64 / (len - 1) as f64 / len as f64;
        assert!((mean - 1.0 / 3.0).abs() < 0.002, "mean jump {mean} of the length");
        let runs = (1..len).filter(|&i| order.get(i) == order.get(i - 1) + 1).count();
        assert!(runs < 10, "{runs} sequential neighbours");
    }
}
