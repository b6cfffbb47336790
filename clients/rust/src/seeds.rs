//! Everything random comes from a master seed by one rule, the same in any language; and
//! random numbers that the same seed gives again, on any machine.

use std::fmt::Display;

/// The seed that belongs to a path under a master seed.
///
/// An environment's seed in episode `i` of a run is `derive(run_seed, &[&"episode", &i])`, that of
/// agent `k` in it `derive(seats_master, &[&"seat", &i, &k])`, where the seats' master is the run's
/// `agents_seed` or, if it has none, `derive(run_seed, &[&"agents"])`.
pub fn derive(master: i64, path: &[&dyn Display]) -> i64 {
    let mut text = master.to_string();
    for part in path {
        text.push('/');
        text.push_str(&part.to_string());
    }
    let mut first = [0; 8];
    first.copy_from_slice(&sha256(text.as_bytes())[..8]);
    (u64::from_be_bytes(first) >> 1) as i64
}

/// SHA-256 (FIPS 180-4), whose constants are the first bits of roots of the first primes.
fn sha256(message: &[u8]) -> [u8; 32] {
    let mut state = [0u32; 8];
    let mut constants = [0u32; 64];
    let primes = (2u64..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0));
    for (place, prime) in primes.take(64).enumerate() {
        if place < 8 {
            state[place] = root_bits(prime, 2);
        }
        constants[place] = root_bits(prime, 3);
    }
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((8 * message.len() as u64).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut words = [0u32; 64];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = bytes
                .iter()
                .fold(0, |word, byte| word << 8 | u32::from(*byte));
        }
        for t in 16..64 {
            let (x, y) = (words[t - 15], words[t - 2]);
            let s0 = x.rotate_right(7) ^ x.rotate_right(18) ^ (x >> 3);
            let s1 = y.rotate_right(17) ^ y.rotate_right(19) ^ (y >> 10);
            words[t] = words[t - 16]
                .wrapping_add(s0)
                .wrapping_add(words[t - 7])
                .wrapping_add(s1);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for t in 0..64 {
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let first = h
                .wrapping_add(s1)
                .wrapping_add(choice)
                .wrapping_add(constants[t])
                .wrapping_add(words[t]);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let majority = (a & b) ^ (a & c) ^ (b & c);
            (h, g, f, e) = (g, f, e, d.wrapping_add(first));
            (d, c, b, a) = (c, b, a, first.wrapping_add(s0).wrapping_add(majority));
        }
        for (kept, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *kept = kept.wrapping_add(new);
        }
    }
    let mut digest = [0; 32];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

/// The first 32 bits behind the point of a prime's square or cube root.
fn root_bits(prime: u64, degree: u32) -> u32 {
    // The largest `root` with root^degree <= prime * 2^(32 * degree).
    let target = u128::from(prime) << (32 * degree);
    let (mut low, mut high) = (0u128, 1 << 37);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if middle.pow(degree) <= target {
            low = middle;
        } else {
            high = middle;
        }
    }
    low as u32
}

/// A small generator (SplitMix64): good for games and tests, of no use for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator; the same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An integer in 0 .. `n - 1`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A float from 0 up to, but not including, 1.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One of the elements, or nothing if there are none.
    pub fn choose<'a, T>(&mut self, elements: &'a [T]) -> Option<&'a T> {
        elements.get(self.below(elements.len() as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification() {
        assert_eq!(derive(1, &[&"episode", &0]), 4384949654484100906);
        assert_eq!(derive(7, &[&"seat", &1]), 2741667346559110548);
    }

    #[test]
    fn messages_of_several_blocks() {
        let hex = |bytes: &[u8]| {
            bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        let two = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert!(hex(&sha256(two)).starts_with("248d6a61d20638b8e5c026930c3e6039"));
        assert!(hex(&sha256(b"")).starts_with("e3b0c44298fc1c149afbf4c8996fb924"));
    }
}
