//! The samples of a linear fit, in an order of their own.
//!
//! Samples are sorted by a hash of their content, and equal samples become one with their total weight. Hence a fit does
//! not depend on the order of the samples, and a sample of weight two is the same as two samples. Columns have no numbers
//! in the hash, so that their order does not count either, unless two of them have the same X and different samples. Features are numbered
//! by their frequency, so that the weights of frequent features stay in the innermost cache.

use std::cmp::{Ordering, Reverse};

use crate::control::Control;
use crate::error::{Purpose, Result};
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

    /// Orders samples with equal hashes by their content.
    fn cmp(&self, other: &Self) -> Ordering {
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let lists =
            (self.features, self.positives, self.unknown).cmp(&(other.features, other.positives, other.unknown));
        lists.then_with(|| bits(self.values).cmp(&bits(other.values)))
    }
}

/// Returns a number for each column that tells by which samples it is listed, but not how often or in what order, and
/// that does not depend on the number of the column.
pub(crate) fn fingerprints<'s>(
    n_columns: usize,
    samples: impl Iterator<Item = (u64, &'s [u32])>,
    control: &Control,
) -> Result<Vec<u64>> {
    let mut listed = Vec::new();
    let mut pulse = control.pulse();
    for (hash, columns) in samples {
        pulse.after(columns.len())?;
        PURPOSE.extend(&mut listed, columns.iter().map(|&column| (column, hash)))?;
    }
    listed.sort_unstable();
    listed.dedup();
    control.check()?;
    let mut found = PURPOSE.filled(GOLDEN, n_columns)?;
    listed.iter().for_each(|&(column, hash)| found[column as usize] = found[column as usize].wrapping_add(mix(hash)));
    Ok(found)
}

impl Samples {
    /// Takes `n` samples, of which `of` returns one, `units` the weight as a multiple of `unit`. Samples of weight zero
    /// are left out.
    pub(super) fn new<'s>(
        (n, n_features, n_columns): (usize, usize, usize),
        of: impl Fn(usize) -> Given<'s>,
        units: impl Fn(usize) -> u64,
        unit: f64,
        control: &Control,
    ) -> Result<Self> {
        let mut pulse = control.pulse();
        let mut frequency = PURPOSE.filled(0u32, n_features)?;
        let mut there: Vec<(u64, u32)> = PURPOSE.with_capacity(n)?;
        for i in (0..n).filter(|&i| units(i) > 0) {
            let given = of(i);
            pulse.after(given.features.len())?;
            there.push((given.hash_of_x(), i as u32));
        }
        let listed = |of_sample: fn(Given<'s>) -> &'s [u32]| {
            fingerprints(n_columns, there.iter().map(|&(hash, i)| (hash, of_sample(of(i as usize)))), control)
        };
        let mut columns = listed(|given| given.positives)?;
        let unknown = listed(|given| given.unknown)?;
        columns.iter_mut().zip(unknown).for_each(|(to, unknown)| *to = to.wrapping_add(mix(unknown)));
        let sum = |columns: &[u32], of: &[u64]| {
            columns.iter().map(|&column| mix(of[column as usize])).fold(0, u64::wrapping_add)
        };
        let mut order: Vec<(u64, u64, u32)> = PURPOSE.with_capacity(there.len())?;
        order.extend(there.iter().map(|&(hash, i)| {
            let given = of(i as usize);
            (hash, mix(sum(given.positives, &columns)) ^ sum(given.unknown, &columns), i)
        }));
        drop(there);
        order.sort_unstable_by(|a, b| {
            let by_content = || of(a.2 as usize).cmp(&of(b.2 as usize));
            (a.0, a.1).cmp(&(b.0, b.1)).then_with(by_content).then(a.2.cmp(&b.2))
        });
        control.check()?;
        // Equal samples are neighbours now; the first of them has their total weight.
        let mut totals: Vec<(u32, u64)> = PURPOSE.with_capacity(order.len())?;
        let mut last = None;
        for (of_x, of_y, i) in order {
            match totals.last_mut() {
                Some((first, total)) if last == Some((of_x, of_y)) && of(*first as usize) == of(i as usize) => {
                    *total += units(i as usize);
                }
                _ => totals.push((i, units(i as usize))),
            }
            last = Some((of_x, of_y));
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
        Ok(Samples { x, values, features, positives, unknown, weights })
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
