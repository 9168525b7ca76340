//! The samples of a linear fit, in an order of their own.
//!
//! Samples are sorted by a hash of X, and equal samples become one with their total weight. Hence a fit does not depend on the
//! order of the samples, and a sample of weight two is the same as two samples. Samples with equal X are neighbours, in an order
//! that nothing may depend on, for it is that of the numbers of their columns: see `problem`. Features are numbered by their
//! frequency, so that the weights of frequent features stay in the innermost cache.

use std::cmp::{Ordering, Reverse};
use std::ops::Range;

use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::exact::exact_mean;
use crate::rng::{GOLDEN, mix};

const PURPOSE: Purpose = Purpose("the samples of a linear model");

/// Sparse rows: the items of row i, and for X their values, are `items[ptr[i]..ptr[i + 1]]`.
#[derive(Debug)]
pub(crate) struct Lists {
    pub(crate) ptr: Vec<usize>,
    pub(crate) items: Vec<u32>,
}

impl Lists {
    pub(crate) fn new() -> Result<Self> {
        let mut ptr = Vec::new();
        PURPOSE.push(&mut ptr, 0)?;
        Ok(Lists { ptr, items: Vec::new() })
    }

    pub(crate) fn push(&mut self, mut items: impl Iterator<Item = u32>) -> Result<()> {
        items.try_for_each(|item| PURPOSE.push(&mut self.items, item))?;
        PURPOSE.push(&mut self.ptr, self.items.len())
    }

    pub(crate) fn len(&self) -> usize {
        self.ptr.len() - 1
    }

    #[inline(always)]
    pub(crate) fn of(&self, row: usize) -> &[u32] {
        &self.items[self.ptr[row]..self.ptr[row + 1]]
    }
}

/// Returns the features with a frequency, the most frequent first and of equal ones the lower; replaces their frequencies
/// by their places among them.
fn by_frequency(frequency: &mut [u32]) -> Result<Vec<u32>> {
    let mut features = PURPOSE.with_capacity(frequency.iter().filter(|frequency| **frequency > 0).count())?;
    features.extend((0u32..).zip(&*frequency).filter(|(_, frequency)| **frequency > 0).map(|(feature, _)| feature));
    features.sort_unstable_by_key(|&feature| (Reverse(frequency[feature as usize]), feature));
    (0u32..).zip(&features).for_each(|(at, &feature)| frequency[feature as usize] = at);
    Ok(features)
}

/// The samples that a fit visits.
#[derive(Debug)]
pub(crate) struct Samples {
    /// The features of each sample, numbered by frequency, in the order of the features of X.
    x: Lists,
    values: Vec<f32>,
    /// The features of X that the samples have, by frequency: feature f of these samples is feature `features[f]` of X.
    pub(crate) features: Vec<u32>,
    /// The columns of y of which a sample is a positive one.
    pub(crate) positives: Lists,
    /// The columns of y whose value is unknown for a sample.
    pub(crate) unknown: Lists,
    /// The weight of each sample.
    pub(crate) weights: Vec<f64>,
    /// The root mean square of the lengths of the samples of the fit that have a length, and the length of the longest one.
    pub(super) length: f64,
    pub(super) longest: f64,
}

/// One sample as it is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Given<'s> {
    pub(super) features: &'s [u32],
    pub(super) values: &'s [f32],
    pub(super) positives: &'s [u32],
    pub(super) unknown: &'s [u32],
}

impl Given<'_> {
    /// Returns a hash of X, of which equal rows have the same in any layout.
    pub(super) fn hash_of_x(&self) -> u64 {
        let values = self.values.iter().map(|value| value.to_bits());
        let all = self.features.iter().copied().chain(values);
        let hash = all.fold(self.features.len() as u64, |hash, word| mix(hash ^ u64::from(word)).wrapping_mul(GOLDEN));
        // `mix` keeps 0, the hash of a sample without features, and a column would not tell that it has this sample.
        if hash == 0 { GOLDEN } else { hash }
    }

    fn cmp_x(&self, other: &Self) -> Ordering {
        fn bits(values: &[f32]) -> impl Iterator<Item = u32> {
            values.iter().map(|value| value.to_bits())
        }
        self.features.cmp(other.features).then_with(|| bits(self.values).cmp(bits(other.values)))
    }

    /// Orders samples with equal hashes by their content.
    fn cmp(&self, other: &Self) -> Ordering {
        let columns = |given: &Self| (given.positives, given.unknown);
        self.cmp_x(other).then_with(|| columns(self).cmp(&columns(other)))
    }
}

impl Samples {
    /// Takes `n` samples, of which `of` returns one, `units` the weight as a multiple of `unit`. Samples of weight zero
    /// are left out.
    pub(super) fn new<'s>(
        (n, n_features): (usize, usize),
        of: impl Fn(usize) -> Given<'s>,
        units: impl Fn(usize) -> u64,
        unit: f64,
        control: &Control,
    ) -> Result<Self> {
        let mut pulse = control.pulse();
        let mut frequency = PURPOSE.filled(0u32, n_features)?;
        let mut order: Vec<(u64, u32)> = PURPOSE.with_capacity(n)?;
        let mut squares: Vec<(f64, u64)> = PURPOSE.with_capacity(n)?;
        for i in (0..n).filter(|&i| units(i) > 0) {
            let given = of(i);
            pulse.after(given.features.len())?;
            order.push((given.hash_of_x(), i as u32));
            squares.push((given.values.iter().map(|&value| f64::from(value) * f64::from(value)).sum(), units(i)));
        }
        let with_length = squares.iter().copied().filter(|(square, _)| *square > 0.0);
        let longest = squares.iter().fold(0.0, |longest, (square, _)| f64::max(longest, *square)).sqrt();
        let length = if longest > 0.0 { exact_mean(with_length).sqrt() } else { 0.0 };
        drop(squares);
        order.sort_unstable_by(|a, b| {
            let by_content = || of(a.1 as usize).cmp(&of(b.1 as usize));
            a.0.cmp(&b.0).then_with(by_content).then(a.1.cmp(&b.1))
        });
        control.check()?;
        // Equal samples are neighbours now; the first of them has their total weight.
        let mut totals: Vec<(u32, u64)> = PURPOSE.with_capacity(order.len())?;
        let mut last = None;
        for (hash, i) in order {
            match totals.last_mut() {
                Some((first, total)) if last == Some(hash) && of(*first as usize) == of(i as usize) => {
                    *total += units(i as usize);
                }
                _ => totals.push((i, units(i as usize))),
            }
            last = Some(hash);
        }
        for &(i, _) in &totals {
            of(i as usize).features.iter().for_each(|&feature| frequency[feature as usize] += 1);
        }
        let features = by_frequency(&mut frequency)?;
        // The frequencies have become places.
        let place = frequency;

        let mut samples = Samples {
            x: Lists::new()?,
            values: Vec::new(),
            features,
            positives: Lists::new()?,
            unknown: Lists::new()?,
            weights: PURPOSE.with_capacity(totals.len())?,
            length,
            longest,
        };
        for (i, total) in totals {
            let given = of(i as usize);
            pulse.after(given.features.len())?;
            samples.x.push(given.features.iter().map(|&feature| place[feature as usize]))?;
            PURPOSE.extend(&mut samples.values, given.values.iter().copied())?;
            samples.positives.push(given.positives.iter().copied())?;
            samples.unknown.push(given.unknown.iter().copied())?;
            samples.weights.push(total as f64 * unit);
        }
        Ok(samples)
    }

    /// Returns some of these samples, in increasing order, as those of other columns: with other `positives` and
    /// `unknown` columns. Only the features that they have are left, so that a fit to them takes no more memory or time
    /// than their entries.
    pub(crate) fn subset(&self, rows: &[u32], positives: Lists, unknown: Lists) -> Result<Self> {
        let mut place = PURPOSE.zeros(1, self.n_features())?;
        let entries = || rows.iter().flat_map(|&row| self.x.of(row as usize));
        entries().for_each(|&feature| place[feature as usize] += 1);
        let mut features = by_frequency(&mut place)?;
        features.iter_mut().for_each(|feature| *feature = self.features[*feature as usize]);
        let n_stored = self.n_stored(rows);
        let mut x = Lists { ptr: PURPOSE.with_capacity(rows.len() + 1)?, items: PURPOSE.with_capacity(n_stored)? };
        let mut values = PURPOSE.with_capacity(n_stored)?;
        x.ptr.push(0);
        for &row in rows {
            let (features, of_row) = self.x(row as usize);
            x.items.extend(features.iter().map(|&feature| place[feature as usize]));
            values.extend_from_slice(of_row);
            x.ptr.push(x.items.len());
        }
        let weights = PURPOSE.collected(rows.iter().map(|&row| self.weights[row as usize]))?;
        let Samples { length, longest, .. } = *self;
        Ok(Samples { x, values, features, positives, unknown, weights, length, longest })
    }

    /// Returns the samples with each X, which are neighbours and differ in y.
    pub(crate) fn groups(&self) -> impl Iterator<Item = Range<usize>> {
        let mut end = 0;
        std::iter::from_fn(move || {
            let start = end;
            end += 1;
            while end < self.len() && self.x(end) == self.x(start) {
                end += 1;
            }
            (start < self.len()).then_some(start..end)
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.weights.len()
    }

    pub(crate) fn n_features(&self) -> usize {
        self.features.len()
    }

    /// Returns the number of entries of all samples.
    pub(crate) fn n_entries(&self) -> usize {
        self.values.len()
    }

    /// Returns the number of entries of some samples.
    pub(crate) fn n_stored(&self, rows: &[u32]) -> usize {
        rows.iter().map(|&row| self.x.of(row as usize).len()).sum()
    }

    /// Returns the features of a sample, numbered by frequency, and their values.
    #[inline(always)]
    pub(crate) fn x(&self, sample: usize) -> (&[u32], &[f32]) {
        (self.x.of(sample), &self.values[self.x.ptr[sample]..self.x.ptr[sample + 1]])
    }
}
