//! The bins of a node as workers send them.
//!
//! Those of several outputs are sent as they are. A bin of one output has a weight, a target, and a number of samples if
//! these are counted. All are whole numbers, and all workers know the same bounds of their sums over the node
//! ([`Bounds`]), so that they agree on how many bits each of them takes. Where a word has room for all of them, a bin is
//! one word: the target in the low bits, the weight above it, and the number above both. Weights or numbers that have no
//! room there share further words with those of other bins, as many as have room.
//!
//! The sum of the words of all workers is the word of the sums. Weights and numbers are not negative, so that their sums
//! over some of the workers are at most those of the node. Nor is |Σ w t| larger than Σ w |t| of the node, for which one
//! bit more is left because of the sign: a negative target borrows from the fields above it, and reading gives it back.
//! Thus no field reaches another. As all fields together have [`BITS`] bits at most, no sum of words leaves the range of
//! int64, in whatever order the workers are added.

use crate::criterion::variance::Bounds;
use crate::error::{Purpose, Result};
use crate::exact::reduce::{Part, Reduce, Workers, other_sums};

/// The bits of an int64 without its sign.
const BITS: u32 = 63;

const SENT: Purpose = Purpose("the sums of all workers");

/// Replaces bins of this worker, which have `len` sums each, by the sums over all workers. Bins without samples must be
/// zero. `counts` is empty if samples are not counted.
pub(super) fn sum_bins(
    workers: &Workers,
    bounds: Bounds,
    len: usize,
    (sums, counts): (&mut [f64], &mut [u32]),
) -> Result<()> {
    if workers.has_all_rows() {
        return Ok(());
    }
    if len != 2 {
        return match counts {
            [] => workers.sum(sums),
            counts => workers.sum_together([Part::Floats(sums), Part::Counts(counts)]),
        };
    }
    let layout = Layout::of(bounds, !counts.is_empty());
    let bins = sums.as_chunks_mut::<2>().0;
    let mut words = layout.written(bins, counts)?;
    workers.sum(&mut words)?;
    layout.read(&words, bins, counts);
    let within = |[weight, target]: &[f64; 2]| (0.0..=bounds.weight).contains(weight) && target.abs() <= bounds.target;
    let are_sums = bins.iter().all(within) && counts.iter().all(|&count| count <= bounds.n_samples);
    if are_sums { Ok(()) } else { Err(other_sums()) }
}

/// The bits of the fields of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    target: u32,
    weight: u32,
    /// The bits of a number of samples, or zero if samples are not counted.
    count: u32,
    /// Whether a word has the weight, too, and the number.
    has_weight: bool,
    has_count: bool,
}

impl Layout {
    fn of(bounds: Bounds, is_counted: bool) -> Self {
        // Bounds are below 2⁵⁴ unless the reduction returned sums that no worker has sent.
        let bits = |most: f64| (u64::BITS - (most.max(1.0) as u64).leading_zeros()).min(BITS - 1);
        let (target, weight) = (bits(bounds.target) + 1, bits(bounds.weight));
        let count = if is_counted { bits(bounds.n_samples.into()) } else { 0 };
        let has_weight = target + weight <= BITS;
        let has_count = is_counted && has_weight && target + weight + count <= BITS;
        Layout { target, weight, count, has_weight, has_count }
    }

    /// Returns the words of bins, followed by those of weights and numbers that have no room in them.
    fn written(self, bins: &[[f64; 2]], counts: &[u32]) -> Result<Vec<i64>> {
        let (of_weight, of_count) = (self.target, self.target + self.weight);
        let mut words = SENT.with_capacity(bins.len())?;
        words.extend(bins.iter().enumerate().map(|(i, &[weight, target])| {
            let count = if self.has_count { counts.get(i).map_or(0, |&count| i64::from(count) << of_count) } else { 0 };
            let weight = if self.has_weight { (weight as i64) << of_weight } else { 0 };
            (target as i64).wrapping_add(weight).wrapping_add(count)
        }));
        if !self.has_weight {
            pack(bins, self.weight, |bin| bin[0] as i64, &mut words)?;
        }
        if !self.has_count {
            pack(counts, self.count, |&count| i64::from(count), &mut words)?;
        }
        Ok(words)
    }

    /// Reads sums of what [`Layout::written`] has written. Other words are read as some numbers.
    fn read(self, words: &[i64], bins: &mut [[f64; 2]], counts: &mut [u32]) {
        let (own, mut rest) = words.split_at(bins.len());
        let n_left = u64::BITS - self.target;
        for (i, (&word, bin)) in own.iter().zip(&mut *bins).enumerate() {
            if !self.has_weight {
                bin[1] = word as f64;
                continue;
            }
            let target = word << n_left >> n_left;
            let above = word.wrapping_sub(target) >> self.target;
            let weight = if self.has_count { above & mask(self.weight) } else { above };
            *bin = [weight as f64, target as f64];
            if let (true, Some(count)) = (self.has_count, counts.get_mut(i)) {
                *count = (above >> self.weight) as u32;
            }
        }
        if !self.has_weight {
            rest = unpack(rest, self.weight, bins, |bin, weight| bin[0] = weight as f64);
        }
        if !self.has_count {
            unpack(rest, self.count, counts, |count, found| *count = found as u32);
        }
    }
}

fn mask(bits: u32) -> i64 {
    (1 << bits) - 1
}

/// Appends the values of items, as many of them in a word as there is room for.
fn pack<T>(items: &[T], bits: u32, value: impl Fn(&T) -> i64, words: &mut Vec<i64>) -> Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    let shared = items.chunks((BITS / bits) as usize);
    SENT.extend(words, shared.map(|items| items.iter().rev().fold(0, |word, item| word << bits | value(item))))
}

/// Reads what [`pack`] has written, and returns the words that follow.
fn unpack<'w, T>(words: &'w [i64], bits: u32, items: &mut [T], set: impl Fn(&mut T, i64)) -> &'w [i64] {
    if items.is_empty() {
        return words;
    }
    let shared = items.chunks_mut((BITS / bits) as usize);
    let (own, others) = words.split_at(shared.len());
    for (items, &word) in shared.zip(own) {
        for (i, item) in (0..).zip(items) {
            set(item, word >> (i * bits) & mask(bits));
        }
    }
    others
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A sample: its worker, bin, weight and weight × target.
    type Sample = (usize, usize, u64, i64);

    const N_BINS: usize = 7;

    /// Samples of up to five workers, whose sums have any number of bits up to 52. Often one bin has all of them, with
    /// targets of one sign, so that its fields are as large as they can be.
    fn samples() -> impl Strategy<Value = Vec<Sample>> {
        (0u32..47, 0u32..47, any::<bool>(), 1usize..N_BINS).prop_flat_map(
            |(of_weight, of_target, has_one_sign, bins)| {
                let (weight, target) = (1u64 << of_weight, 1i64 << of_target);
                let weight = prop_oneof![Just(weight), 1..=weight];
                let target = prop_oneof![Just(target), Just(-target), -target..=target];
                let target = target.prop_map(move |target| if has_one_sign { -target.abs() } else { target });
                prop::collection::vec((0usize..5, 0..bins, weight, target), 1..40)
            },
        )
    }

    /// Returns the bins and counts of some samples.
    fn binned<'s>(samples: impl Iterator<Item = &'s Sample>, is_counted: bool) -> (Vec<[f64; 2]>, Vec<u32>) {
        let (mut bins, mut counts) = (vec![[0.0; 2]; N_BINS], vec![0; if is_counted { N_BINS } else { 0 }]);
        for &(_, bin, weight, target) in samples {
            bins[bin] = [bins[bin][0] + weight as f64, bins[bin][1] + target as f64];
            counts.get_mut(bin).into_iter().for_each(|count| *count += 1);
        }
        (bins, counts)
    }

    fn bounds(samples: &[Sample], slack: f64) -> Bounds {
        let weight = samples.iter().map(|sample| sample.2).sum::<u64>() as f64;
        let target = samples.iter().map(|sample| sample.3.unsigned_abs()).sum::<u64>() as f64;
        Bounds { weight, target: target * slack, n_samples: samples.len() as u32 }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn sums_of_words_are_words_of_sums(samples in samples(), is_counted in any::<bool>(), slack in 1.0f64..2.0) {
            let layout = Layout::of(bounds(&samples, slack), is_counted);
            let mut words = vec![0i64; 0];
            for worker in 0..5 {
                let own = samples.iter().filter(|sample| sample.0 == worker);
                let (bins, counts) = binned(own, is_counted);
                let sent = layout.written(&bins, &counts).unwrap();
                words.resize(sent.len(), 0);
                // No sum leaves the range of int64.
                words.iter_mut().zip(sent).for_each(|(word, sent)| *word = word.checked_add(sent).unwrap());
            }
            let (mut bins, mut counts) = (vec![[f64::NAN; 2]; N_BINS], vec![99; if is_counted { N_BINS } else { 0 }]);
            layout.read(&words, &mut bins, &mut counts);
            prop_assert_eq!((bins, counts), binned(samples.iter(), is_counted), "{:?}", layout);
        }

        #[test]
        fn words_that_no_worker_sent_are_read_without_panic(
            samples in samples(), is_counted in any::<bool>(), word in any::<i64>(),
        ) {
            let layout = Layout::of(bounds(&samples, 1.0), is_counted);
            let (mut bins, mut counts) = binned(samples.iter(), is_counted);
            let mut words = layout.written(&bins, &counts).unwrap();
            words.fill(word);
            layout.read(&words, &mut bins, &mut counts);
        }
    }

    #[test]
    fn fields_share_a_word_where_it_has_room() {
        let n_words = |weight: u32, target: u32, counts: &[u32]| {
            let bounds = Bounds {
                weight: (1u64 << weight) as f64 - 1.0,
                target: (1u64 << target) as f64 - 1.0,
                n_samples: (1 << 10) - 1,
            };
            Layout::of(bounds, !counts.is_empty()).written(&[[1.0, -1.0]; 60], counts).unwrap().len()
        };
        assert_eq!(n_words(20, 42, &[]), 60);
        assert_eq!(n_words(12, 50, &[]), 60);
        // Three weights of 21 bits share a word, and five of 12 bits.
        assert_eq!(n_words(21, 42, &[]), 60 + 20);
        assert_eq!(n_words(12, 51, &[]), 60 + 12);
        assert_eq!(n_words(33, 30, &[]), 60 + 60);
        // So do six counts of ten bits.
        assert_eq!(n_words(20, 32, &[1; 60]), 60);
        assert_eq!(n_words(20, 33, &[1; 60]), 60 + 10);
        assert_eq!(n_words(21, 42, &[1; 60]), 60 + 20 + 10);
    }
}
