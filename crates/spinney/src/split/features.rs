//! The feature lottery: which features a node examines, and in what order they count as drawn.
//!
//! The order is a keyed pseudo-random permutation of the features, computed both ways without any state: `feature(i)` is
//! the i-th drawn, `position(f)` tells when f is drawn. So a partitioner may meet the features in any order it likes
//! (and skip those that cannot vary) and the outcome is still a function of the key alone.
//!
//! Up to 64 features are shuffled in a table (Fisher–Yates) when first asked for. For more, the permutation is an unbalanced
//! Feistel network on ⌈log₂ n⌉ bits, walked until it lands below n (less than two walks on average). Its rounds are
//! pairwise independent multiply-shift hashes (Dietzfelbinger 1996), of which four are enough on large domains (Naor and
//! Reingold 1999); on small ones, where such hashes show their structure, there are more rounds and a stronger hash.

use std::cell::OnceCell;

use crate::rng::{Key, Stream};

const ROUNDS: usize = 6;
const WEAK_ROUNDS: usize = 4;
const TABLE: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Lottery {
    n: u32,
    key: Key,
    /// Of at most 64 features.
    table: OnceCell<Table>,
    network: Network,
}

/// `feature[position[f]] == f`.
#[derive(Clone, Debug)]
struct Table {
    feature: [u8; TABLE],
    position: [u8; TABLE],
}

/// Rounds come in pairs: the high half takes a hash of the low one, then the low half one of the high.
#[derive(Clone, Copy, Debug, Default)]
struct Network {
    low_bits: u32,
    low_mask: u32,
    /// Shifts that leave the upper bits of a hash: as many as the low or the high half has.
    to_low: u32,
    to_high: u32,
    strong: bool,
    rounds: [Round; ROUNDS],
}

#[derive(Clone, Copy, Debug, Default)]
struct Round {
    multiply: u64,
    add: u64,
}

impl Table {
    fn new(key: Key, n: usize) -> Self {
        let mut stream = Stream::new(key);
        let mut feature: [u8; TABLE] = std::array::from_fn(|i| i as u8);
        for i in (1..n).rev() {
            feature.swap(i, stream.below(i as u64 + 1) as usize);
        }
        let mut position = [0; TABLE];
        for (i, &f) in feature.iter().enumerate() {
            position[f as usize] = i as u8;
        }
        Table { feature, position }
    }
}

impl Round {
    /// A multiply-shift hash, mixed further if `STRONG`.
    #[inline]
    fn hash<const STRONG: bool>(self, x: u32, shift: u32) -> u32 {
        let mut h = self.multiply.wrapping_mul(u64::from(x)).wrapping_add(self.add);
        if STRONG {
            h = (h ^ (h >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            h = (h ^ (h >> 29)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        }
        (h >> shift) as u32
    }
}

impl Network {
    fn new(key: Key, n: u32) -> Self {
        let bits = 32 - n.saturating_sub(1).leading_zeros();
        let rounds = std::array::from_fn(|r| Round {
            multiply: key.child(2 * r as u64).bits(),
            add: key.child(2 * r as u64 + 1).bits(),
        });
        let low_bits = bits / 2;
        Network {
            low_bits,
            low_mask: (1 << low_bits) - 1,
            to_low: 64 - low_bits,
            to_high: 64 - (bits - low_bits),
            strong: bits < STRONG_BELOW,
            rounds,
        }
    }

    /// One turn of the permutation of `0..2^bits`, or of its inverse.
    #[inline]
    fn turn<const STRONG: bool, const INVERSE: bool>(&self, x: u32) -> u32 {
        let (mut low, mut high) = (x & self.low_mask, x >> self.low_bits);
        let n_pairs = if STRONG { ROUNDS / 2 } else { WEAK_ROUNDS / 2 };
        for i in 0..n_pairs {
            let pair = if INVERSE { n_pairs - 1 - i } else { i };
            let (first, second) = (self.rounds[2 * pair], self.rounds[2 * pair + 1]);
            if INVERSE {
                low ^= second.hash::<STRONG>(high, self.to_low);
                high ^= first.hash::<STRONG>(low, self.to_high);
            } else {
                high ^= first.hash::<STRONG>(low, self.to_high);
                low ^= second.hash::<STRONG>(high, self.to_low);
            }
        }
        high << self.low_bits | low
    }

    #[inline]
    fn walk<const INVERSE: bool>(&self, mut x: u32, n: u32) -> u32 {
        loop {
            x = if self.strong { self.turn::<true, INVERSE>(x) } else { self.turn::<false, INVERSE>(x) };
            if x < n {
                return x;
            }
        }
    }
}

/// Domains of fewer bits get the stronger hash.
const STRONG_BELOW: u32 = 13;

impl Lottery {
    pub(crate) fn new(key: Key, n_features: usize) -> Self {
        let n = n_features as u32;
        let network = if n_features > TABLE { Network::new(key, n) } else { Network::default() };
        Lottery { n, key, table: OnceCell::new(), network }
    }

    fn table(&self) -> &Table {
        self.table.get_or_init(|| Table::new(self.key, self.n as usize))
    }

    /// The feature drawn at `position`; both below the number of features.
    #[inline]
    pub(crate) fn feature(&self, position: u32) -> u32 {
        if self.n as usize <= TABLE {
            u32::from(self.table().feature[position as usize])
        } else {
            self.network.walk::<false>(position, self.n)
        }
    }

    /// When `feature` is drawn.
    #[inline]
    pub(crate) fn position(&self, feature: u32) -> u32 {
        if self.n as usize <= TABLE {
            u32::from(self.table().position[feature as usize])
        } else {
            self.network.walk::<true>(feature, self.n)
        }
    }

    /// What a draw costs, in turns of the network with weak rounds. A walk that goes on is not foreseen by the processor:
    /// its further turns count three times.
    pub(crate) fn turns(&self) -> f64 {
        if self.n as usize <= TABLE {
            return 0.5;
        }
        let further = u64::from(self.n).next_power_of_two() as f64 / f64::from(self.n) - 1.0;
        (1.0 + 3.0 * further) * if self.network.strong { 2.5 } else { 1.0 }
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
        for n in [1usize, 2, 3, 4, 5, 7, 8, 30, 64, 65, 128, 1000, 4096, 5000, 70_000] {
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

    /// Standard deviations by which the counts of ordered draws leave uniformity.
    fn excess(n: usize, drawn: usize, cells: usize, n_keys: u64) -> f64 {
        let mut counts = std::collections::HashMap::<Vec<u32>, u32>::new();
        for k in 0..n_keys {
            let lottery = Lottery::new(Key::from_seed(1).child(k), n);
            *counts.entry((0..drawn as u32).map(|i| lottery.feature(i)).collect()).or_default() += 1;
        }
        let mut counts: Vec<u32> = counts.into_values().collect();
        assert!(counts.len() <= cells);
        counts.resize(cells, 0);
        // χ² has mean cells − 1 and standard deviation √(2 (cells − 1)).
        let df = (cells - 1) as f64;
        (chi2(&counts, n_keys as u32) - df) / (2.0 * df).sqrt()
    }

    #[test]
    fn ordered_pairs_and_triples_are_uniform_over_keys() {
        for n in [2usize, 3, 4, 5, 9, 16, 30] {
            let triple = excess(n, 3.min(n), n * (n - 1) * (n - 2).max(1), 200_000);
            assert!(triple < 6.0, "triples of {n}: {triple}");
        }
        for n in [65usize, 100, 128, 129, 200, 500] {
            let pair = excess(n, 2, n * (n - 1), 400_000);
            assert!(pair < 6.0, "pairs of {n}: {pair}");
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
