//! The feature lottery: which features a node examines, and in what order they count as drawn.
//!
//! The order is a keyed pseudo-random permutation of the features, computed both ways without any state: `feature(i)` is
//! the i-th drawn, `position(f)` tells when f is drawn. So a partitioner may meet the features in any order it likes
//! (and skip those that cannot vary) and the outcome is still a function of the key alone.
//!
//! The permutation is an unbalanced Feistel network on ⌈log₂ n⌉ bits whose rounds are pairwise independent
//! multiply-shift hashes (Dietzfelbinger 1996; why four such rounds are enough: Naor and Reingold 1999), walked until
//! it lands below n (less than two walks on average).

use crate::rng::Key;

const MAX_ROUNDS: usize = 10;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Lottery {
    n: u32,
    low_bits: u32,
    high_bits: u32,
    rounds: usize,
    multiply: [u64; MAX_ROUNDS],
    add: [u64; MAX_ROUNDS],
}

impl Lottery {
    pub(crate) fn new(key: Key, n_features: usize) -> Self {
        let n = n_features as u32;
        let bits = (32 - n.saturating_sub(1).leading_zeros()).max(2);
        // Hashes onto few bits mix little: small domains get more rounds.
        let rounds = if bits < 12 { MAX_ROUNDS } else { 4 };
        let mut lottery = Lottery {
            n,
            low_bits: bits / 2,
            high_bits: bits - bits / 2,
            rounds,
            multiply: [0; MAX_ROUNDS],
            add: [0; MAX_ROUNDS],
        };
        for r in 0..rounds {
            lottery.multiply[r] = key.child(2 * r as u64).bits();
            lottery.add[r] = key.child(2 * r as u64 + 1).bits();
        }
        lottery
    }

    fn hash(&self, round: usize, x: u32, bits: u32) -> u32 {
        (self.multiply[round].wrapping_mul(u64::from(x)).wrapping_add(self.add[round]) >> (64 - bits)) as u32
    }

    /// One turn of the permutation of `0..2^bits`, or of its inverse.
    fn turn(&self, x: u32, inverse: bool) -> u32 {
        let (mut low, mut high) = (x & ((1 << self.low_bits) - 1), x >> self.low_bits);
        for i in 0..self.rounds {
            let round = if inverse { self.rounds - 1 - i } else { i };
            if round % 2 == 0 {
                high ^= self.hash(round, low, self.high_bits);
            } else {
                low ^= self.hash(round, high, self.low_bits);
            }
        }
        high << self.low_bits | low
    }

    /// The feature drawn at `position`; both below the number of features.
    pub(crate) fn feature(&self, position: u32) -> u32 {
        let mut x = self.turn(position, false);
        while x >= self.n {
            x = self.turn(x, false);
        }
        x
    }

    /// When `feature` is drawn.
    pub(crate) fn position(&self, feature: u32) -> u32 {
        let mut x = self.turn(feature, true);
        while x >= self.n {
            x = self.turn(x, true);
        }
        x
    }

    pub(crate) fn n_features(&self) -> u32 {
        self.n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_drawn_once_and_position_is_the_inverse() {
        for n in [1usize, 2, 3, 4, 5, 7, 8, 30, 64, 1000, 4096, 5000] {
            let lottery = Lottery::new(Key::from_seed(n as u64), n);
            let mut drawn: Vec<u32> = (0..n as u32).map(|i| lottery.feature(i)).collect();
            assert!(drawn.iter().enumerate().all(|(i, &f)| lottery.position(f) == i as u32));
            drawn.sort_unstable();
            assert!(drawn.iter().enumerate().all(|(i, &f)| f == i as u32));
        }
    }

    /// χ² statistic of `counts` against equal shares of `total`.
    fn chi2(counts: &[u32], total: u32) -> f64 {
        let expected = f64::from(total) / counts.len() as f64;
        counts.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum()
    }

    #[test]
    fn ordered_pairs_and_triples_are_uniform_over_keys() {
        let n_keys = 40_000;
        for n in [3usize, 4, 5, 6, 9, 16, 30] {
            let mut pairs = vec![0u32; n * n];
            let mut triples = vec![0u32; n * n * n];
            for k in 0..n_keys {
                let lottery = Lottery::new(Key::from_seed(1).child(k), n);
                let [a, b, c] = [0, 1, 2].map(|i| lottery.feature(i) as usize);
                pairs[a * n + b] += 1;
                triples[(a * n + b) * n + c] += 1;
            }
            for (counts, cells) in [(pairs, n * (n - 1)), (triples, n * (n - 1) * (n - 2))] {
                let seen: Vec<u32> = counts.into_iter().filter(|&c| c > 0).collect();
                if cells > 6000 {
                    continue; // fewer than seven expected in a cell: χ² says little
                }
                assert_eq!(seen.len(), cells, "n = {n}: every ordered draw occurs");
                // Mean cells − 1, standard deviation √(2 (cells − 1)): six of them away is one in 10⁹.
                let df = (cells - 1) as f64;
                let z = (chi2(&seen, n_keys as u32) - df) / (2.0 * df).sqrt();
                assert!(z < 6.0, "n = {n}, {cells} cells: z = {z}");
            }
        }
    }

    #[test]
    fn inclusion_is_uniform_on_large_domains() {
        let (n, k, n_keys) = (5000usize, 70, 20_000u64);
        let mut counts = vec![0u32; n];
        let mut together = 0u32;
        for key in 0..n_keys {
            let lottery = Lottery::new(Key::from_seed(2).child(key), n);
            (0..k).for_each(|i| counts[lottery.feature(i) as usize] += 1);
            together += u32::from(lottery.position(17) < k && lottery.position(4321) < k);
        }
        let df = (n - 1) as f64;
        let z = (chi2(&counts, n_keys as u32 * k) - df) / (2.0 * df).sqrt();
        assert!(z.abs() < 6.0, "z = {z}");
        let expected = n_keys as f64 * (70.0 * 69.0) / (5000.0 * 4999.0);
        assert!((f64::from(together) - expected).abs() < 6.0 * expected.sqrt() + 1.0, "{together} against {expected}");
    }
}
