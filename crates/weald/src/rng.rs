//! Random numbers as a function of (seed, tree, node, feature). No generator is shared, so results depend neither on
//! the number of threads nor on the order in which nodes or features are visited.
//!
//! The mixing function is the finaliser of SplitMix64 (Steele, Lea, Flood 2014). The tests below contain test vectors:
//! a change of any of them changes every model and must be stated in the changelog.

mod normal;

/// A 64-bit key, from which streams of random numbers and child keys are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(u64);

pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// An odd factor with well spread bits (Steele and Vigna 2022, multipliers of linear congruential generators).
const CHILD: u64 = 0xD134_2543_DE82_EF95;

impl Key {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Key(mix(seed.wrapping_add(GOLDEN)))
    }

    /// Returns an independent key for part `index` of this one: a tree of a forest, a child of a node, or a purpose.
    pub(crate) fn child(self, index: u64) -> Self {
        // Without the factor, child j of seed i would be child i of seed j: forests of small seeds would share trees.
        Key(mix(self.0.wrapping_mul(CHILD) ^ mix(index.wrapping_add(GOLDEN))))
    }

    /// Returns a number that is uniform in [0, 1), with 53 random bits, for item `index`.
    pub(crate) fn uniform(self, index: u64) -> f64 {
        (self.child(index).0 >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }
}

/// A sequential stream, for draws whose number is not known in advance.
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

    /// Returns an integer that is uniform in `0..n`, without bias (Lemire 2019, with rejection). `n` must be at least
    /// 1.
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn streams_are_splitmix64() {
        // The first outputs of the reference implementation for state 0.
        let mut stream = Stream::new(Key(0));
        let expected = [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F];
        assert_eq!([stream.next_u64(), stream.next_u64(), stream.next_u64()], expected);
    }

    #[test]
    fn keys_are_pinned() {
        // These numbers were computed from the definitions above, independently of this code.
        let seeds = [0, 1, u64::MAX].map(|seed| Key::from_seed(seed).bits());
        assert_eq!(seeds, [0xE220_A839_7B1D_CDAF, 0x910A_2DEC_8902_5CC1, 0xE4D9_7177_1B65_2C20]);
        let children = [0, 1, u64::MAX].map(|index| Key::from_seed(0).child(index).bits());
        assert_eq!(children, [0x659C_3A2B_0E24_B375, 0x8C52_3DAC_D9EF_B7A0, 0x191C_39BF_8EA1_3B8C]);
        assert_eq!(Key::from_seed(42).child(7).child(3).bits(), 0xC6D1_057E_745C_5A73);
        assert_eq!(Key::from_seed(5).uniform(9), 6360920504152308.0 / (1u64 << 53) as f64);
        let mut stream = Stream::new(Key::from_seed(1));
        let below: Vec<u64> = (0..12).map(|_| stream.below(10)).collect();
        assert_eq!(below, [3, 9, 0, 7, 2, 7, 6, 2, 1, 2, 6, 9]);
        assert_eq!(stream.below(3 << 61), 5420926564988454572);
    }

    #[test]
    fn small_seeds_and_indices_share_no_key() {
        let mut seen = HashSet::new();
        for seed in 0..300 {
            assert!(seen.insert(Key::from_seed(seed).bits()));
            assert!((0..300).all(|index| seen.insert(Key::from_seed(seed).child(index).bits())));
        }
    }

    #[test]
    fn draws_below_n_are_uniform() {
        for n in [1u64, 2, 3, 10, 1000] {
            let mut stream = Stream::new(Key::from_seed(n));
            let mut counts = vec![0.0; n as usize];
            let draws = 100 * n;
            (0..draws).for_each(|_| counts[stream.below(n) as usize] += 1.0);
            let chi_square: f64 = counts.iter().map(|c: &f64| (c - 100.0).powi(2) / 100.0).sum();
            assert!(chi_square < n as f64 + 6.0 * (2.0 * n as f64).sqrt(), "{n}: {chi_square}");
        }
        // For 3 · 2⁶², multiplication without rejection would draw every third value one and a half times too often.
        let n = 3u64 << 62;
        let mut stream = Stream::new(Key::from_seed(1));
        let thirds: f64 = (0..30_000).map(|_| if stream.below(n).is_multiple_of(3) { 1.0 } else { 0.0 }).sum();
        // Six standard deviations of a binomial count.
        assert!((thirds - 10_000.0).abs() < 6.0 * (30_000.0f64 * 2.0 / 9.0).sqrt(), "{thirds}");
    }

    #[test]
    fn uniforms_fill_the_unit_interval() {
        let key = Key::from_seed(3);
        let draws: Vec<f64> = (0..20_000).map(|i| key.uniform(i)).collect();
        assert!(draws.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        // Six standard deviations of a mean of uniform numbers.
        assert!((mean - 0.5).abs() < 6.0 * (1.0 / 12.0f64 / draws.len() as f64).sqrt());
    }
}
