//! The feature lottery: which features a node examines, and the order in which they are drawn.
//!
//! The order is a keyed pseudo-random permutation of the features, which can be computed in both directions:
//! `feature(i)` is the i-th feature drawn, and `position(f)` is the position at which f is drawn. A partitioner may
//! therefore visit features in any order, and skip those that cannot vary, and the outcome depends only on the key.
//!
//! Up to 64 features are shuffled (Fisher–Yates). Of up to 4 096 features, only those that every node examines are
//! shuffled. The shuffle is undone before the next node. All later features, and all features if there are more, need
//! no memory: they are permuted by an unbalanced Feistel network on ⌈log₂ n⌉ bits, which is iterated until the result
//! is below n (less than two iterations on average). Its rounds are pairwise independent multiply-shift hashes
//! (Dietzfelbinger 1996). Four of them are sufficient on large domains (Naor and Reingold 1999). On small domains,
//! where the structure of such hashes would be visible, there are more rounds and a stronger hash.

use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::BitSet;
use crate::error::{Purpose, Result};
use crate::rng::{Key, Stream};

const ROUNDS: usize = 6;
const WEAK_ROUNDS: usize = 4;
/// The maximum number of features that are all shuffled.
const FEW: usize = 64;
/// The maximum number of features of which the first ones are shuffled. With more features, a shuffle does not fit into
/// the cache and the network is faster.
const MANY: usize = 4096;

/// The order in which the features of one node are drawn. A feature has a *position*, and some later positions are
/// void.
#[derive(Debug)]
pub(crate) struct Lottery {
    n: u32,
    /// The number of positions that come from the shuffle; they are the first ones.
    n_shuffled: u32,
    shuffle: Shuffle,
    /// The later positions. A position is void if the shuffle has already drawn its feature.
    network: OnceLock<Network>,
    key: Key,
    /// The minimum number of features that a node examines if it may examine all of them.
    n_drawn: u32,
    /// The features that the node may examine; `None`: all features. The positions of other features are void.
    among: Option<Arc<FeatureSet>>,
    /// The minimum number of positions that the node examines.
    n_examined: u32,
}

/// A set of features.
#[derive(Debug)]
pub(crate) struct FeatureSet {
    features: BitSet,
    n: u32,
}

impl FeatureSet {
    /// Creates a set of these features, some of which may be repeated, out of `n_features`.
    pub(crate) fn new(n_features: usize, features: impl Iterator<Item = u32>) -> Result<Self> {
        let mut set = FeatureSet { features: BitSet::new(n_features)?, n: 0 };
        for feature in features {
            set.n += u32::from(!set.features.contains(feature));
            set.features.insert(feature);
        }
        Ok(set)
    }

    pub(crate) fn len(&self) -> u32 {
        self.n
    }

    #[inline]
    pub(crate) fn contains(&self, feature: u32) -> bool {
        self.features.contains(feature)
    }
}

/// The position of features that are never drawn.
pub(crate) const NEVER: u32 = u32::MAX;

/// A permutation whose first places are drawn at random, when they are asked for: many nodes need only the first of
/// their features, or none.
///
/// Invariants: `feature[place[f]] == f`; features that are neither drawn nor swapped with a drawn place are in their
/// own places. Several threads may ask: a draw changes no place that is drawn, and no thread reads the others.
#[derive(Debug)]
struct Shuffle {
    feature: Vec<AtomicU16>,
    place: Vec<AtomicU16>,
    /// The place with which each drawn place was swapped.
    swaps: Vec<AtomicU16>,
    /// The number of places that have been drawn.
    n_drawn: AtomicUsize,
    stream: Mutex<Stream>,
}

/// The number of places that are drawn at once.
const AT_ONCE: usize = 8;

impl Shuffle {
    fn new(n: usize, n_drawn: usize) -> Result<Self> {
        const PURPOSE: Purpose = Purpose("the lottery of features");
        let identity = || PURPOSE.collected((0..n).map(|i| AtomicU16::new(i as u16)));
        Ok(Shuffle {
            feature: identity()?,
            place: identity()?,
            swaps: PURPOSE.collected((0..n_drawn).map(|_| AtomicU16::new(0)))?,
            n_drawn: AtomicUsize::new(0),
            stream: Mutex::new(Stream::new(Key::from_seed(0))),
        })
    }

    /// Starts again with another key.
    fn restart(&mut self, key: Key) {
        // Only the drawn places and those with which they were swapped differ from the identity.
        for place in 0..std::mem::take(self.n_drawn.get_mut()) {
            for i in [place, usize::from(*self.swaps[place].get_mut())] {
                *self.feature[i].get_mut() = i as u16;
                *self.place[i].get_mut() = i as u16;
            }
        }
        self.stream = Mutex::new(Stream::new(key));
    }

    /// Returns the feature at a place that is drawn.
    #[inline]
    fn feature(&self, place: usize) -> u16 {
        if place >= self.n_drawn.load(Ordering::Acquire) {
            self.draw(self.swaps.len().min(place + AT_ONCE));
        }
        self.feature[place].load(Ordering::Relaxed)
    }

    /// Returns the place of a feature when all places are drawn.
    #[inline]
    fn place(&self, feature: usize) -> u16 {
        if self.n_drawn.load(Ordering::Acquire) < self.swaps.len() {
            self.draw(self.swaps.len());
        }
        self.place[feature].load(Ordering::Relaxed)
    }

    /// Draws the places up to `end`.
    fn draw(&self, end: usize) {
        const RELAXED: Ordering = Ordering::Relaxed;
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let (feature, place) = (&self.feature[..], &self.place[..]);
        for i in self.n_drawn.load(RELAXED)..end {
            let other = i + stream.below((feature.len() - i) as u64) as usize;
            let (here, there) = (feature[i].load(RELAXED), feature[other].load(RELAXED));
            feature[i].store(there, RELAXED);
            feature[other].store(here, RELAXED);
            place[usize::from(here)].store(other as u16, RELAXED);
            place[usize::from(there)].store(i as u16, RELAXED);
            self.swaps[i].store(other as u16, RELAXED);
        }
        self.n_drawn.fetch_max(end, Ordering::Release);
    }
}

/// Rounds come in pairs: the high half is combined with a hash of the low half, then the low half with a hash of the
/// high half.
#[derive(Clone, Copy, Debug, Default)]
struct Network {
    low_bits: u32,
    low_mask: u32,
    /// The shifts that leave as many upper bits of a hash as the low or the high half has.
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

impl Round {
    /// Returns a multiply-shift hash, which is mixed further if `STRONG`.
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
        let bits = bits_below(n);
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

    /// Applies the permutation of `0..2^bits` once, or its inverse.
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

/// Returns the number of bits of the numbers below n.
fn bits_below(n: u32) -> u32 {
    32 - n.saturating_sub(1).leading_zeros()
}

/// Domains with fewer bits use the stronger hash.
const STRONG_BELOW: u32 = 13;

impl Lottery {
    /// Creates the lottery for nodes that examine at least `n_drawn` features; the order depends on this number.
    pub(crate) fn new(key: Key, n_features: usize, n_drawn: u32) -> Result<Self> {
        let n_shuffled = match n_features {
            ..=FEW => n_features as u32,
            ..=MANY if n_drawn as usize <= n_features / 2 => n_drawn,
            _ => 0,
        };
        let shuffle = Shuffle::new(if n_shuffled > 0 { n_features } else { 0 }, n_shuffled as usize)?;
        let (n, network) = (n_features as u32, OnceLock::new());
        let mut lottery = Lottery { n, n_shuffled, shuffle, network, key, n_drawn, among: None, n_examined: n_drawn };
        lottery.restart(key, None);
        Ok(lottery)
    }

    /// Restarts the lottery with another key, among some of the features, in the same memory. The features that come
    /// first among these are drawn. Their number is that for all features, or all of them if there are fewer. If not
    /// all features may be drawn, this takes O(features) time.
    pub(crate) fn restart(&mut self, key: Key, among: Option<&Arc<FeatureSet>>) {
        self.key = key;
        self.network.take();
        self.shuffle.restart(key);
        self.among = among.map(Arc::clone);
        self.n_examined = self.n_drawn;
        if let Some(among) = among {
            let mut left = self.n_drawn.min(among.len());
            let mut positions = 0..self.n_positions();
            while left > 0
                && let Some(position) = positions.next()
            {
                left -= u32::from(self.feature(position).is_some());
            }
            self.n_examined = positions.start;
        }
    }

    /// Returns the minimum number of positions that the node examines. This includes void positions if the node may not
    /// examine all features.
    pub(crate) fn n_examined(&self) -> u32 {
        self.n_examined
    }

    /// Returns whether the node may examine a feature.
    #[inline]
    pub(crate) fn allows(&self, feature: u32) -> bool {
        self.among.as_ref().is_none_or(|among| among.contains(feature))
    }

    /// Returns whether the node examines all features.
    pub(crate) fn examines_all(&self) -> bool {
        self.among.is_none() && self.n_examined >= self.n
    }

    #[inline]
    fn network(&self) -> &Network {
        self.network.get_or_init(|| Network::new(self.key, self.n))
    }

    /// Returns the number of positions, including void ones.
    pub(crate) fn n_positions(&self) -> u32 {
        if self.n_shuffled == self.n { self.n } else { self.n_shuffled + self.n }
    }

    /// Returns the feature drawn at `position`, which must be below [`Lottery::n_positions`]. If all features may be
    /// drawn, the first positions, as many as every node examines, are not void.
    #[inline]
    pub(crate) fn feature(&self, position: u32) -> Option<u32> {
        self.of_all(position).filter(|&feature| self.allows(feature))
    }

    /// Returns the feature drawn at `position` among all features.
    #[inline]
    fn of_all(&self, position: u32) -> Option<u32> {
        if position < self.n_shuffled {
            return Some(self.shuffle.feature(position as usize).into());
        }
        let feature = self.network().walk::<false>(position - self.n_shuffled, self.n);
        let is_void = self.n_shuffled > 0 && u32::from(self.shuffle.place(feature as usize)) < self.n_shuffled;
        (!is_void).then_some(feature)
    }

    /// Returns the position at which `feature` is drawn, or [`NEVER`] if it may not be drawn.
    #[inline]
    pub(crate) fn position(&self, feature: u32) -> u32 {
        if !self.allows(feature) {
            return NEVER;
        }
        if self.n_shuffled > 0 {
            let place = self.shuffle.place(feature as usize).into();
            if place < self.n_shuffled {
                return place;
            }
        }
        self.n_shuffled + self.network().walk::<true>(feature, self.n)
    }

    /// Returns the cost of a draw, in applications of the network with weak rounds. The processor cannot predict
    /// whether there is a further iteration, so further iterations count three times.
    pub(crate) fn turns(&self) -> f64 {
        if self.n_shuffled > 0 {
            return 0.5;
        }
        self.later_turns()
    }

    /// Returns the cost of a draw after the shuffle.
    pub(crate) fn later_turns(&self) -> f64 {
        let further = u64::from(self.n).next_power_of_two() as f64 / f64::from(self.n) - 1.0;
        (1.0 + 3.0 * further) * if bits_below(self.n) < STRONG_BELOW { 2.5 } else { 1.0 }
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
        for (n, n_drawn) in [1usize, 2, 3, 4, 5, 7, 8, 30, 64, 65, 128, 1000, 4096, 5000, 70_000]
            .into_iter()
            .flat_map(|n| [1, n.isqrt(), n / 2, n].map(|n_drawn| (n, n_drawn.max(1) as u32)))
        {
            let mut lottery = Lottery::new(Key::from_seed(1), n, n_drawn).unwrap();
            lottery.restart(Key::from_seed(n as u64), None);
            let positions = 0..lottery.n_positions();
            let draws: Vec<(u32, u32)> = positions.filter_map(|i| lottery.feature(i).map(|f| (i, f))).collect();
            assert!((0..n_drawn).all(|i| draws[i as usize].0 == i), "one of the first positions is void");
            assert!(draws.iter().all(|&(i, f)| lottery.position(f) == i));
            let anew = Lottery::new(Key::from_seed(n as u64), n, n_drawn).unwrap();
            assert!(draws.iter().all(|&(i, f)| anew.feature(i) == Some(f)), "an earlier key is remembered");
            // Features are drawn when they are asked for, in whatever order that is.
            lottery.restart(Key::from_seed(2 * n as u64), None);
            lottery.feature(n_drawn / 2);
            lottery.restart(Key::from_seed(n as u64), None);
            assert!(draws.iter().rev().all(|&(i, f)| lottery.position(f) == i && lottery.feature(i) == Some(f)));
            let mut drawn: Vec<u32> = draws.into_iter().map(|d| d.1).collect();
            assert_eq!(drawn.len(), n);
            drawn.sort_unstable();
            assert!(drawn.iter().enumerate().all(|(i, &f)| f == i as u32));
        }
    }

    /// Returns the χ² statistic of `counts` against equal shares of `total`.
    fn chi2(counts: &[u32], total: u32) -> f64 {
        let expected = f64::from(total) / counts.len() as f64;
        counts.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum()
    }

    /// Returns the deviation of the counts of ordered draws from uniformity, in standard deviations.
    fn excess(n: usize, n_drawn: u32, drawn: usize, cells: usize, n_keys: u64) -> f64 {
        let mut counts = std::collections::HashMap::<Vec<u32>, u32>::new();
        for k in 0..n_keys {
            let lottery = Lottery::new(Key::from_seed(1).child(k), n, n_drawn).unwrap();
            let draws = (0..lottery.n_positions()).filter_map(|i| lottery.feature(i));
            *counts.entry(draws.take(drawn).collect()).or_default() += 1;
        }
        let mut counts: Vec<u32> = counts.into_values().collect();
        assert!(counts.len() <= cells);
        counts.resize(cells, 0);
        // χ² has the mean cells − 1 and the standard deviation √(2 (cells − 1)).
        let df = (cells - 1) as f64;
        (chi2(&counts, n_keys as u32) - df) / (2.0 * df).sqrt()
    }

    #[test]
    fn ordered_pairs_and_triples_are_uniform_over_keys() {
        for n in [2usize, 3, 4, 5, 9, 16, 30] {
            let triple = excess(n, n as u32, 3.min(n), n * (n - 1) * (n - 2).max(1), 200_000);
            assert!(triple < 6.0, "triples of {n}: {triple}");
        }
        for n in [65usize, 100, 128, 129, 200, 500] {
            // Both draws come from the network, both come from the shuffle, or one comes from each.
            for n_drawn in [n as u32, 2, 1] {
                let pair = excess(n, n_drawn, 2, n * (n - 1), 400_000);
                assert!(pair < 6.0, "pairs of {n}, {n_drawn} drawn: {pair}");
            }
        }
    }

    #[test]
    fn inclusion_is_uniform_on_large_domains() {
        let (n, k, n_keys) = (5000usize, 70, 20_000u64);
        let mut counts = vec![0u32; n];
        let mut together = 0u32;
        for key in 0..n_keys {
            let lottery = Lottery::new(Key::from_seed(2).child(key), n, k).unwrap();
            (0..k).filter_map(|i| lottery.feature(i)).for_each(|feature| counts[feature as usize] += 1);
            together += u32::from(lottery.position(17) < k && lottery.position(4321) < k);
        }
        let df = (n - 1) as f64;
        let z = (chi2(&counts, n_keys as u32 * k) - df) / (2.0 * df).sqrt();
        // The tolerance is six standard deviations of a statistic that is nearly normal.
        assert!(z.abs() < 6.0, "z = {z}");
        let expected = n_keys as f64 * (70.0 * 69.0) / (5000.0 * 4999.0);
        // The tolerance is six standard deviations of a count that is nearly Poisson distributed.
        assert!((f64::from(together) - expected).abs() < 6.0 * expected.sqrt() + 1.0, "{together} against {expected}");
    }
}
