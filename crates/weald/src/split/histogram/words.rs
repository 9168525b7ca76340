//! Samples of one output in one word each: the weight in the high bits, weight × target in the low ones.
//!
//! Both are whole numbers (see [`crate::criterion::variance`]), so that sums of words are exact in any order, as sums of
//! pairs of floats are, as long as neither part overflows: the samples of a node are cut into *runs* for which Σ w and
//! Σ w |t| leave room for each other, and bins are added up after each. A bin of words takes half the memory, and one
//! addition of integers. If runs are too short to pay, samples are pairs of floats, for which every node has room.

use std::ops::Range;

use super::spare::PURPOSE;
use crate::control::Control;
use crate::criterion::variance::Bounds;
use crate::error::Result;
use crate::pool;
use crate::reuse::Buffer;
use crate::vectorised::vectorised;

/// The number of samples whose sums are known, of which runs are made.
const STEP: usize = 1 << 9;

/// The minimum mean number of samples of a run for which words pay: adding up 256 bins takes as long as some hundred
/// samples. It is set by hand.
const LEAST_RUN: usize = 1 << 9;

/// The samples of one node, in consecutive memory.
#[derive(Debug)]
pub(super) struct Gathered {
    node: Range<u32>,
    pairs: Buffer<[f64; 2]>,
    words: Buffer<u64>,
    /// The runs of words; empty if samples are pairs.
    ends: Vec<usize>,
    form: Form,
    /// Sums of magnitudes of the samples of each step.
    sizes: Vec<[f64; 2]>,
}

/// The samples of a node in the form in which they are added up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gatherings<'a> {
    Pairs(&'a [[f64; 2]]),
    Words(Words<'a>),
}

/// Samples in one word each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a> {
    pub(super) words: &'a [u64],
    /// The ends of runs.
    ends: &'a [usize],
    pub(super) form: Form,
}

/// The sums of the bins of a feature over several runs.
#[derive(Clone, Debug)]
pub(super) struct Wide {
    pub(super) weights: [i64; 256],
    pub(super) targets: [i64; 256],
}

impl Words<'_> {
    /// Calls `add` for the samples of each run, with the bins to which they are added. If there are several runs, bins
    /// are cleared before each, and their sums are returned.
    #[inline(always)]
    pub(super) fn in_runs<B: AsMut<[[u64; 256]]>>(
        self,
        bins: &mut B,
        mut add: impl FnMut(Range<usize>, &mut B),
    ) -> Result<Vec<Wide>> {
        let mut wide = Vec::new();
        let mut start = 0;
        for &end in self.ends {
            if self.ends.len() > 1 {
                bins.as_mut().fill([0; 256]);
            }
            add(start..end, bins);
            if self.ends.len() > 1 {
                if start == 0 {
                    wide = PURPOSE.filled(Wide { weights: [0; 256], targets: [0; 256] }, bins.as_mut().len())?;
                }
                wide.iter_mut().zip(bins.as_mut()).for_each(|(wide, bins)| wide.add(bins, self.form));
            }
            start = end;
        }
        Ok(wide)
    }
}

impl Wide {
    fn add(&mut self, bins: &[u64; 256], form: Form) {
        vectorised(
            #[inline(always)]
            || {
                for ((weight, target), &bin) in self.weights.iter_mut().zip(&mut self.targets).zip(bins) {
                    let [w, t] = form.pair(bin);
                    (*weight, *target) = (*weight + w, *target + t);
                }
            },
        );
    }
}

impl Gathered {
    pub(super) fn new(control: &Control) -> Result<Self> {
        let (pairs, words) = (control.buffer(PURPOSE, 0)?, control.buffer(PURPOSE, 0)?);
        let (ends, sizes) = (Vec::new(), Vec::new());
        Ok(Gathered { node: 0..0, pairs, words, ends, form: Form::default(), sizes })
    }

    /// Forgets the samples.
    pub(super) fn clear(&mut self) {
        self.node = 0..0;
    }

    /// Returns the samples `rows` of a node. `table` has the weight and the weight × target of all samples, and `bounds` are
    /// those of the node or of one above it. The samples are copied by at most `n_threads` threads, each of which copies
    /// at least `least`.
    pub(super) fn of<'s>(
        &'s mut self,
        table: &'s [[f64; 2]],
        rows: &[u32],
        node: &Range<u32>,
        bounds: Bounds,
        (n_threads, least): (usize, usize),
    ) -> Result<Gatherings<'s>> {
        let (n, is_whole) = (rows.len(), rows.len() == table.len());
        if self.node != *node || rows.is_empty() {
            let (n_blocks, at_once) = pool::blocks(n_threads, n, least);
            let at_once = at_once.next_multiple_of(STEP);
            let form = Form::of([bounds.weight, bounds.target]);
            self.words.resize(PURPOSE, n)?;
            self.sizes.clear();
            PURPOSE.extend(&mut self.sizes, std::iter::repeat_n([0.0; 2], n.div_ceil(STEP)))?;
            let sizes = self.sizes.chunks_mut(at_once / STEP);
            pool::for_each(
                n_blocks,
                rows.chunks(at_once).zip(self.words.chunks_mut(at_once)).zip(sizes),
                || Ok(()),
                |(), ((rows, words), sizes)| {
                    let steps = rows.chunks(STEP).zip(words.chunks_mut(STEP));
                    steps.zip(sizes).for_each(|((rows, words), sizes)| *sizes = form.write(table, rows, words));
                    Ok(())
                },
            )?;
            self.form = form;
            form.cut(&self.sizes, n, &mut self.ends)?;
            if self.ends.is_empty() && !is_whole {
                self.pairs.resize(PURPOSE, n)?;
                pool::for_each(
                    n_blocks,
                    rows.chunks(at_once).zip(self.pairs.chunks_mut(at_once)),
                    || Ok(()),
                    |(), (rows, pairs)| {
                        pairs.iter_mut().zip(rows).for_each(|(pair, &row)| *pair = table[row as usize]);
                        Ok(())
                    },
                )?;
            }
            self.node = node.clone();
        }
        Ok(if !self.ends.is_empty() {
            Gatherings::Words(Words { words: &self.words, ends: &self.ends, form: self.form })
        } else if is_whole {
            Gatherings::Pairs(table)
        } else {
            Gatherings::Pairs(&self.pairs)
        })
    }
}

/// Returns the number of bits of a whole number.
fn bits(whole: f64) -> u32 {
    u64::BITS - (whole as u64).leading_zeros()
}

/// Returns Σ w and Σ w |t|, which are exact.
fn sizes(samples: &[[f64; 2]]) -> [f64; 2] {
    let add = |sums: [f64; 2], sample: &[f64; 2]| [sums[0] + sample[0], sums[1] + sample[1].abs()];
    // Four sums are independent of each other, so that no addition waits for the last one.
    let (fours, rest) = samples.as_chunks::<4>();
    let of_fours = fours.iter().fold([[0.0; 2]; 4], |sums, four| std::array::from_fn(|i| add(sums[i], &four[i])));
    of_fours.iter().chain(rest).fold([0.0; 2], add)
}

fn sum(a: [f64; 2], b: &[f64; 2]) -> [f64; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

/// Next to these numbers, floats are whole, and the bits of a float are those of the number plus the difference: so whole
/// numbers up to 2⁵², and up to 2⁵¹ of any sign, are converted in any lane.
const NOT_NEGATIVE: f64 = (1u64 << 52) as f64;
const ANY_SIGN: f64 = 1.5 * NOT_NEGATIVE;

/// How a word is read: the number of low bits that are the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Form(u32);

impl Form {
    /// Returns the form for samples of at most these [`sizes`]: if they have no room, both parts lack the same number of
    /// bits.
    fn of(sums: [f64; 2]) -> Self {
        // The sign takes one bit.
        let (of_weight, of_target) = (bits(sums[0]), bits(sums[1]) + 1);
        Form(of_target - (of_weight + of_target).saturating_sub(u64::BITS) / 2)
    }

    /// Returns whether a sum of samples of these sizes has room in a word.
    fn has_room(self, sums: [f64; 2]) -> bool {
        bits(sums[0]) + self.0 <= u64::BITS && bits(sums[1]) < self.0
    }

    /// Writes the ends of runs of `n` samples, whose steps have these sizes, or none if these are too many.
    fn cut(self, sizes: &[[f64; 2]], n: usize, ends: &mut Vec<usize>) -> Result<()> {
        ends.clear();
        let mut run = [0.0; 2];
        for (step, of_step) in sizes.iter().enumerate() {
            let longer = sum(run, of_step);
            run = if self.has_room(longer) {
                longer
            } else {
                PURPOSE.push(ends, step * STEP)?;
                *of_step
            };
            if !self.has_room(run) || ends.len() * LEAST_RUN > n {
                ends.clear();
                return Ok(());
            }
        }
        PURPOSE.push(ends, n)
    }

    /// Writes the words of samples, and returns their [`sizes`].
    fn write(self, table: &[[f64; 2]], rows: &[u32], words: &mut [u64]) -> [f64; 2] {
        let mut pairs = [[0.0; 2]; STEP];
        let pairs = &mut pairs[..rows.len()];
        pairs.iter_mut().zip(rows).for_each(|(pair, &row)| *pair = table[row as usize]);
        vectorised(
            #[inline(always)]
            || words.iter_mut().zip(&*pairs).for_each(|(word, &pair)| *word = self.word(pair)),
        );
        sizes(pairs)
    }

    #[inline(always)]
    fn word(self, [weight, target]: [f64; 2]) -> u64 {
        let whole = |float: f64, zero: f64| (float + zero).to_bits().wrapping_sub(zero.to_bits());
        (whole(weight, NOT_NEGATIVE) << self.0).wrapping_add(whole(target, ANY_SIGN))
    }

    /// Returns the same as [`Form::pair`], as floats.
    #[inline(always)]
    pub(super) fn floats(self, word: u64) -> [f64; 2] {
        let float = |whole: i64, zero: f64| f64::from_bits(zero.to_bits().wrapping_add(whole as u64)) - zero;
        let [weight, target] = self.pair(word);
        [float(weight, NOT_NEGATIVE), float(target, ANY_SIGN)]
    }

    /// Returns the weight and the target of a sum of words.
    #[inline(always)]
    pub(super) fn pair(self, word: u64) -> [i64; 2] {
        let target = (word << (u64::BITS - self.0)) as i64 >> (u64::BITS - self.0);
        [(word.wrapping_sub(target as u64) >> self.0) as i64, target]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Samples whose sums are below 2⁵², in one run or several.
    fn samples() -> impl Strategy<Value = Vec<[f64; 2]>> {
        (1u32..30, 0u32..46, 1usize..5 * STEP).prop_flat_map(|(of_weight, of_target, n)| {
            let room = 51 - (n.ilog2() + 1);
            let (of_weight, of_target) = (of_weight.min(room), of_target.min(room));
            let (weight, target) = (1..=1u64 << of_weight, -(1i64 << of_target)..=1i64 << of_target);
            prop::collection::vec((weight, target).prop_map(|(w, t)| [w as f64, t as f64]), n)
        })
    }

    /// The ends of runs of samples, and their form.
    fn cut(samples: &[[f64; 2]]) -> (Vec<usize>, Form) {
        let sizes: Vec<_> = samples.chunks(STEP).map(sizes).collect();
        let (mut ends, form) = (Vec::new(), Form::of(sizes.iter().fold([0.0; 2], sum)));
        form.cut(&sizes, samples.len(), &mut ends).unwrap();
        (ends, form)
    }

    proptest! {
        #[test]
        fn sums_of_words_are_those_of_pairs(samples in samples(), seed in 0usize..100) {
            let (ends, form) = cut(&samples);
            let bin = |i: usize| (i * 7919 + seed) % 5 % 4;
            let mut pairs = [[0.0; 2]; 4];
            samples.iter().enumerate().for_each(|(i, sample)| pairs[bin(i)] = sum(pairs[bin(i)], sample));
            let words: Vec<u64> = samples.iter().map(|&sample| form.word(sample)).collect();
            let mut bins = [[0u64; 256]];
            let add = |run: Range<usize>, bins: &mut [[u64; 256]; 1]| {
                run.for_each(|i| bins[0][bin(i)] = bins[0][bin(i)].wrapping_add(words[i]));
            };
            let wide = Words { words: &words, ends: &ends, form }.in_runs(&mut bins, add).unwrap();
            let found: [[i64; 2]; 4] = std::array::from_fn(|bin| match wide.first() {
                Some(wide) => [wide.weights[bin], wide.targets[bin]],
                None => form.pair(bins[0][bin]),
            });
            for word in words {
                prop_assert_eq!(form.floats(word), form.pair(word).map(|part| part as f64));
            }
            prop_assert!(ends.is_empty() || pairs == found.map(|pair| pair.map(|part| part as f64)), "{:?} {:?}", form, ends);
        }
    }

    #[test]
    fn runs_are_cut_where_room_ends() {
        let (large, small) = ([1.0, (1u64 << 44) as f64], [1.0, -3.0]);
        assert_eq!(cut(&[small; 5]), (vec![5], Form(5)));
        assert_eq!(cut(&[large; 5]), (vec![5], Form(48)));
        assert_eq!(cut(&[]), (vec![0], Form(1)));
        // The sums of 3 072 samples have 12 and 48 bits, and a sign; or 12 and 51; or 16 and 51, four too many.
        let n = 6 * STEP;
        assert_eq!(cut(&vec![[1.0, (1u64 << 36) as f64]; n]), (vec![n], Form(49)));
        assert_eq!(cut(&vec![[1.0, (1u64 << 39) as f64]; n]), (vec![n], Form(52)));
        let each_step = (1..=6).map(|step| step * STEP).collect();
        assert_eq!(cut(&vec![[16.0, (1u64 << 39) as f64]; n]), (each_step, Form(50)));
        let heavy = [(1u64 << 20) as f64, (1u64 << 39) as f64];
        assert_eq!(cut(&vec![heavy; n]).0, Vec::<usize>::new());
        assert_eq!(cut(&[[(1u64 << 20) as f64, (1u64 << 44) as f64]]).0, Vec::<usize>::new());
        // The largest and the smallest sum of targets have one bit more than their magnitude.
        for sample in [[1.0, (1u64 << 51) as f64], [(1u64 << 11) as f64 - 1.0, -((1u64 << 51) as f64)]] {
            let (ends, form) = cut(&[sample]);
            let pair = form.pair(form.word(sample)).map(|part| part as f64);
            assert_eq!((ends, form, pair), (vec![1], Form(53), sample));
        }
    }
}
