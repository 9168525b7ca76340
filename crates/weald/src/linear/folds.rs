//! Folds of samples that depend on what samples are, not on where they stand.

use std::cmp::Ordering;

use super::samples::Given;
use super::source::{Cells, Source};
use crate::centroid::Vectors;
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::rng::{Key, mix};

const PURPOSE: Purpose = Purpose("the folds of samples");

/// A fold for each sample. Samples with equal X are in the same fold, so that none is held out while it is fitted.
#[derive(Debug)]
pub(super) struct Folds {
    /// The fold of each sample.
    pub(super) of: Vec<u32>,
    pub(super) n_folds: usize,
    /// The number of samples of positive weight that differ in X.
    pub(super) n_distinct: usize,
    /// A number for each column that tells which samples have it.
    pub(super) fingerprints: Vec<u64>,
}

impl Folds {
    /// Deals the samples of `x`, which are those of `source` as they are given. Samples are ordered by their rarest column
    /// and then by a hash, and dealt one after another: a column that k different samples have has between
    /// ⌊k / n_folds⌋ and ⌈k / n_folds⌉ of them in each fold, if it is the rarest column of these samples. Columns and
    /// samples are told apart by hashes of their content, so that their order does not matter.
    pub(super) fn new(
        source: &Source<'_>,
        x: &Vectors,
        y: &Cells,
        n_folds: usize,
        key: Key,
        control: &Control,
    ) -> Result<Self> {
        let n = source.n_samples();
        let mut pulse = control.pulse();
        let mut order: Vec<(u64, u32)> = PURPOSE.with_capacity(n)?;
        for row in 0..n as u32 {
            let (features, values) = x.of(row);
            pulse.after(features.len())?;
            order.push((Given { features, values, positives: &[], unknown: &[] }.hash_of_x(), row));
        }
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| by_content(x, a.1, b.1)).then(a.1.cmp(&b.1)));
        control.check()?;

        // Groups of samples with equal X, and their columns.
        let is_same = |a: &(u64, u32), b: &(u64, u32)| a.0 == b.0 && by_content(x, a.1, b.1).is_eq();
        let (mut frequency, mut fingerprints) =
            (PURPOSE.filled(0u32, y.n_columns)?, PURPOSE.filled(0u64, y.n_columns)?);
        let mut columns = Vec::new();
        let mut columns_of = |group: &[(u64, u32)]| -> Result<(bool, Vec<u32>)> {
            columns.clear();
            let mut counts = false;
            for &(_, row) in group.iter().filter(|(_, row)| source.weights.units(*row as usize) > 0) {
                counts = true;
                PURPOSE.extend(&mut columns, y.positives.of(row as usize).iter().copied())?;
            }
            columns.sort_unstable();
            columns.dedup();
            Ok((counts, PURPOSE.copied(&columns)?))
        };
        for group in order.chunk_by(is_same) {
            for column in columns_of(group)?.1 {
                frequency[column as usize] += 1;
                fingerprints[column as usize] = fingerprints[column as usize].wrapping_add(mix(group[0].0));
            }
        }
        let shuffled = |hash: u64| mix(hash ^ key.bits());
        let mut of = PURPOSE.filled(0u32, n)?;
        let mut groups = Vec::new();
        for group in order.chunk_by(is_same) {
            let hash = group[0].0;
            let (counts, columns) = columns_of(group)?;
            if counts {
                let rarest = columns.iter().map(|&j| (frequency[j as usize], fingerprints[j as usize])).min();
                PURPOSE.push(&mut groups, (rarest.unwrap_or((u32::MAX, 0)), shuffled(hash), group))?;
            } else {
                let fold = (shuffled(hash) % n_folds as u64) as u32;
                group.iter().for_each(|&(_, row)| of[row as usize] = fold);
            }
        }
        // The sort is stable, and groups with equal hashes are in the order of their content.
        groups.sort_by_key(|&(rarest, hash, _)| (rarest, hash));
        for (at, (_, _, group)) in groups.iter().enumerate() {
            group.iter().for_each(|&(_, row)| of[row as usize] = (at % n_folds) as u32);
        }
        Ok(Folds { of, n_folds, n_distinct: groups.len(), fingerprints })
    }

    /// Returns the samples of a fold, in increasing order.
    pub(super) fn rows(&self, fold: usize) -> Result<Vec<u32>> {
        let mut rows = Vec::new();
        let in_fold = (0u32..).zip(&self.of).filter(|(_, of)| **of as usize == fold);
        in_fold.map(|(row, _)| row).try_for_each(|row| PURPOSE.push(&mut rows, row))?;
        Ok(rows)
    }

    /// Returns how many folds have at least `n` different samples together.
    pub(super) fn with_samples(&self, n: usize) -> usize {
        let of_fold = (self.n_distinct / self.n_folds).max(1);
        n.div_ceil(of_fold).clamp(1, self.n_folds)
    }
}

fn by_content(x: &Vectors, a: u32, b: u32) -> Ordering {
    let ((features, values), (of_b, values_of_b)) = (x.of(a), x.of(b));
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    features.cmp(of_b).then_with(|| bits(values).cmp(&bits(values_of_b)))
}
