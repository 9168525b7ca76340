//! Samples and bins of one output in one word each: the weight in the high bits, weight × target in the low ones.
//!
//! Both are whole numbers (see [`crate::criterion::variance`]), so that sums of words are exact in any order, as sums of
//! pairs of floats are. A bin takes half the memory, and one addition of integers. Three forms of samples are tried, in
//! this order:
//!
//! 1. Weight and target share a word, if Σ w and Σ w |t| over the node leave room for each other.
//! 2. The word is the target, if the node has all samples of X and these have the same weight: then the weight of a bin
//!    is known from the number of samples that have its code.
//! 3. Pairs of floats, for which every node has room.

use std::ops::Range;

use super::spare::PURPOSE;
use crate::control::Control;
use crate::error::Result;
use crate::pool;
use crate::reuse::Buffer;

/// How a word is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// There are no words.
    #[default]
    Pairs,
    /// The low bits, of this number, are the target.
    Shared(u32),
    /// The word is the target.
    Target,
}

/// The samples of one node, in consecutive memory.
#[derive(Debug)]
pub(super) struct Gathered {
    node: Range<u32>,
    pairs: Buffer<[f64; 2]>,
    /// What each copied weight is larger by; see [`Gatherings::Counted`].
    unit: Option<f64>,
    words: Buffer<u64>,
    form: Form,
    /// Sums of magnitudes of the samples of each thread.
    sizes: Vec<[f64; 2]>,
}

/// The samples of a node in the form in which they are added up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gatherings<'a> {
    Pairs(&'a [[f64; 2]]),
    /// Pairs whose weights are larger by this power of two, which is above the weight of the node: the sum of a bin tells
    /// the number of its samples, too.
    Counted(&'a [[f64; 2]], f64),
    Words(&'a [u64], Form),
}

impl Gathered {
    pub(super) fn new(control: &Control) -> Result<Self> {
        let (pairs, words) = (control.buffer(PURPOSE, 0)?, control.buffer(PURPOSE, 0)?);
        Ok(Gathered { node: 0..0, pairs, unit: None, words, form: Form::default(), sizes: Vec::new() })
    }

    /// Forgets the samples.
    pub(super) fn clear(&mut self) {
        self.node = 0..0;
    }

    /// Returns the samples `rows` of a node. `table` has the weight and the weight × target of all samples;
    /// `knows_weights` says whether the weights of the bins of all samples are known, and `counts` whether the samples of
    /// bins are counted. The samples are copied by at most `n_threads` threads, each of which copies at least `least`.
    pub(super) fn of<'s>(
        &'s mut self,
        table: &'s [[f64; 2]],
        rows: &[u32],
        node: &Range<u32>,
        (knows_weights, counts): (bool, bool),
        (n_threads, least): (usize, usize),
    ) -> Result<Gatherings<'s>> {
        let (n, is_whole) = (rows.len(), rows.len() == table.len());
        if self.node != *node || rows.is_empty() {
            let (n_blocks, at_once) = pool::blocks(n_threads, n, least);
            let sums = &mut self.sizes;
            sums.clear();
            PURPOSE.reserve(sums, n_blocks)?;
            sums.resize(n_blocks, [0.0; 2]);
            if is_whole && !counts {
                pool::for_each(
                    n_blocks,
                    table.chunks(at_once).zip(sums.iter_mut()),
                    || Ok(()),
                    |(), (pairs, sums)| {
                        *sums = sizes(pairs);
                        Ok(())
                    },
                )?;
            } else {
                self.pairs.resize(PURPOSE, n)?;
                let blocks = rows.chunks(at_once).zip(self.pairs.chunks_mut(at_once)).zip(sums.iter_mut());
                pool::for_each(
                    n_blocks,
                    blocks,
                    || Ok(()),
                    |(), ((rows, pairs), sums)| {
                        pairs.iter_mut().zip(rows).for_each(|(pair, &row)| *pair = table[row as usize]);
                        *sums = sizes(pairs);
                        Ok(())
                    },
                )?;
            }
            let sums = sums.iter().fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
            self.unit = if counts { unit_of_counts(sums[0], n) } else { None };
            self.form = if self.unit.is_some() { Form::Pairs } else { Form::of(sums, knows_weights && is_whole) };
            if let Some(unit) = self.unit {
                pool::for_each(
                    n_blocks,
                    self.pairs.chunks_mut(at_once),
                    || Ok(()),
                    |(), pairs| {
                        pairs.iter_mut().for_each(|pair| pair[0] += unit);
                        Ok(())
                    },
                )?;
            }
            if self.form != Form::Pairs {
                self.words.resize(PURPOSE, n)?;
                let (form, pairs) = (self.form, if is_whole { table } else { &self.pairs });
                let blocks = pairs.chunks(at_once).zip(self.words.chunks_mut(at_once));
                pool::for_each(
                    n_blocks,
                    blocks,
                    || Ok(()),
                    |(), (pairs, words)| {
                        words.iter_mut().zip(pairs).for_each(|(word, pair)| *word = form.word(*pair));
                        Ok(())
                    },
                )?;
            }
            self.node = node.clone();
        }
        if let Some(unit) = self.unit {
            return Ok(Gatherings::Counted(&self.pairs, unit));
        }
        Ok(match self.form {
            Form::Pairs if is_whole => Gatherings::Pairs(table),
            Form::Pairs => Gatherings::Pairs(&self.pairs),
            form => Gatherings::Words(&self.words, form),
        })
    }
}

/// Returns a power of two above this weight of `n` samples, if a sum of weights that are all larger by it is exact.
fn unit_of_counts(weight: f64, n: usize) -> Option<f64> {
    let bits = |whole: u64| u64::BITS - whole.leading_zeros();
    let (of_weight, of_count) = (bits(weight as u64), bits(n as u64));
    (of_weight + of_count < f64::MANTISSA_DIGITS).then_some((1u64 << of_weight) as f64)
}

/// Returns Σ w and Σ w |t|, which are exact.
fn sizes(samples: &[[f64; 2]]) -> [f64; 2] {
    let add = |sums: [f64; 2], sample: &[f64; 2]| [sums[0] + sample[0], sums[1] + sample[1].abs()];
    // Four sums are independent of each other, so that no addition waits for the last one.
    let (fours, rest) = samples.as_chunks::<4>();
    let of_fours = fours.iter().fold([[0.0; 2]; 4], |sums, four| std::array::from_fn(|i| add(sums[i], &four[i])));
    of_fours.iter().chain(rest).fold([0.0; 2], add)
}

impl Form {
    /// Returns the form for samples of these [`sizes`]. `knows_weights` says whether the weights of bins are known.
    fn of(sums: [f64; 2], knows_weights: bool) -> Self {
        // Both are exact, and below 2⁵² (`Total`). The sign takes one bit.
        let bits = |sum: f64| u64::BITS - (sum as u64).leading_zeros();
        let of_target = bits(sums[1]) + 1;
        if bits(sums[0]) + of_target <= u64::BITS {
            Form::Shared(of_target)
        } else if knows_weights {
            Form::Target
        } else {
            Form::Pairs
        }
    }

    #[inline]
    fn word(self, [weight, target]: [f64; 2]) -> u64 {
        let target = target as i64 as u64;
        match self {
            Form::Shared(bits) => ((weight as u64) << bits).wrapping_add(target),
            Form::Target | Form::Pairs => target,
        }
    }

    /// Returns the weight and the target of a sum of words; `weight` is the weight if it is not in the word.
    #[inline]
    pub(super) fn pair(self, word: u64, weight: f64) -> [f64; 2] {
        match self {
            Form::Shared(bits) => {
                let target = (word << (u64::BITS - bits)) as i64 >> (u64::BITS - bits);
                [(word.wrapping_sub(target as u64) >> bits) as f64, target as f64]
            }
            Form::Target | Form::Pairs => [weight, word as i64 as f64],
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Samples whose sums are below 2⁵², some of them large enough for each form.
    fn samples() -> impl Strategy<Value = Vec<[f64; 2]>> {
        (1u32..30, 0u32..46).prop_flat_map(|(of_weight, of_target)| {
            let (weight, target) =
                (1..=1u64 << of_weight.min(50 - of_target), -(1i64 << of_target)..=1i64 << of_target);
            prop::collection::vec((weight, target).prop_map(|(w, t)| [w as f64, t as f64]), 1..40)
        })
    }

    fn form(samples: &[[f64; 2]], knows_weights: bool) -> Form {
        Form::of(sizes(samples), knows_weights)
    }

    proptest! {
        #[test]
        fn sums_of_words_are_those_of_pairs(samples in samples(), bins in prop::collection::vec(0usize..4, 40)) {
            let form = form(&samples, true);
            let (mut pairs, mut words) = ([[0.0; 2]; 4], [0u64; 4]);
            for (sample, bin) in samples.iter().zip(bins) {
                pairs[bin] = [pairs[bin][0] + sample[0], pairs[bin][1] + sample[1]];
                words[bin] = words[bin].wrapping_add(form.word(*sample));
            }
            for (pair, word) in pairs.into_iter().zip(words) {
                prop_assert_eq!(form.pair(word, pair[0]), pair, "{:?}", form);
            }
        }
    }

    #[test]
    fn weights_that_tell_the_number_of_samples_are_exact() {
        let largest = (1u64 << f64::MANTISSA_DIGITS) as f64;
        for (weight, n) in [(1.0, 1), (5.0, 3), (4096.0, 1), (1e6, 1 << 20), ((1u64 << 31) as f64, (1 << 20) - 1)] {
            let unit = unit_of_counts(weight, n).unwrap();
            let whole = unit * n as f64 + weight;
            assert!(unit > weight && whole < largest, "{weight} {n}");
            assert_eq!(((whole / unit) as usize, whole - n as f64 * unit), (n, weight));
        }
        assert_eq!(unit_of_counts((1u64 << 31) as f64, 1 << 20), None);
        assert_eq!(unit_of_counts((1u64 << 51) as f64, 2), None);
    }

    #[test]
    fn forms_are_chosen_by_room() {
        let (large, small) = ([1.0, (1u64 << 44) as f64], [1.0, -3.0]);
        assert_eq!(form(&[small; 5], false), Form::Shared(5));
        assert_eq!(form(&[large; 5], false), Form::Shared(48));
        let heavy = [(1u64 << 20) as f64, (1u64 << 44) as f64];
        assert_eq!(form(&[heavy], false), Form::Pairs);
        assert_eq!(form(&[heavy], true), Form::Target);
        // The largest and the smallest sum of targets have one bit more than their magnitude.
        for sample in [[1.0, (1u64 << 51) as f64], [(1u64 << 11) as f64 - 1.0, -((1u64 << 51) as f64)]] {
            let form = form(&[sample], false);
            assert_eq!((form, form.pair(form.word(sample), 0.0)), (Form::Shared(53), sample));
        }
    }
}
