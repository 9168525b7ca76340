//! The folds of a linear fit: those of [`crate::folds`], and which of them are enough.

use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::folds::Dealing;
use crate::linear::source::Source;
use crate::rng::mix;

const PURPOSE: Purpose = Purpose("the folds of samples");

/// A fold for each sample.
#[derive(Debug)]
pub(in crate::linear) struct Folds {
    /// The fold of each sample of the data.
    pub(in crate::linear) of: Vec<u32>,
    pub(in crate::linear) n_folds: usize,
    /// The number of samples of positive weight with a known cell of y.
    n_units: usize,
    /// The number of each of them, which decides where it is dealt.
    pub(in crate::linear) keys: Vec<u64>,
    /// A number for each column that tells which samples have it.
    pub(in crate::linear) fingerprints: Vec<u64>,
}

impl Folds {
    pub(in crate::linear) fn new(source: &Source<'_>, n_folds: usize, seed: u64, control: &Control) -> Result<Self> {
        let dealing = Dealing::new(source.data, seed, control)?;
        let mut fingerprints = PURPOSE.filled(0u64, source.y.n_columns)?;
        for row in (0..source.n_samples()).filter(|&row| source.weights.units(row) > 0) {
            for &column in source.y.positives.of(row) {
                let which = &mut fingerprints[column as usize];
                *which = which.wrapping_add(mix(dealing.hashes[source.sample_of(row)]));
            }
        }
        Ok(Folds { of: dealing.folds(n_folds)?, n_folds, n_units: dealing.n_units(), keys: dealing.keys, fingerprints })
    }

    /// Returns the samples of a fold, in increasing order.
    pub(in crate::linear) fn rows(&self, source: &Source<'_>, fold: usize) -> Result<Vec<u32>> {
        let mut rows = Vec::new();
        let in_fold = (0..source.n_samples()).filter(|&row| self.of[source.sample_of(row)] as usize == fold);
        in_fold.map(|row| row as u32).try_for_each(|row| PURPOSE.push(&mut rows, row))?;
        Ok(rows)
    }

    /// Returns how many folds have at least `n` samples together.
    pub(in crate::linear) fn with_samples(&self, n: usize) -> usize {
        let of_fold = (self.n_units / self.n_folds).max(1);
        n.div_ceil(of_fold).clamp(1, self.n_folds)
    }
}
