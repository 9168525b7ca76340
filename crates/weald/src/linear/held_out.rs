//! Margins of samples that a fit did not see.

use ndarray::Array2;

use super::LinearConfig;
use super::features::Features;
use super::folds::Folds;
use super::source::{Cells, Source};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Purpose, Result};
use crate::model::into_array;
use crate::rng::Key;

const PURPOSE: Purpose = Purpose("the margins of held-out samples");

/// Purpose of the key of folds.
const FOLDS: u64 = u64::from_be_bytes(*b"linfolds");

/// Margins that are in memory at once.
const CELLS: usize = 1 << 22;

/// The result of [`LinearConfig::held_out`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HeldOut {
    /// The margins of all samples, (n_samples, n_columns) in float32, each by the fit to the samples of the other folds.
    pub margins: Array2<f32>,
    /// The fold of each sample, below the number of folds.
    pub folds: Vec<u32>,
}

impl LinearConfig {
    /// Returns the margins of all samples, each by the fit to the samples of the other folds, in the order of the samples
    /// and of the columns of [`LinearConfig::fit_controlled`], and the folds.
    ///
    /// Samples with equal X are in the same fold. Folds depend on the content of samples and on the seed, not on their
    /// order, and rare columns are spread over the folds. The number of different samples should be at least `n_folds`:
    /// a fit without samples has no weights, and all its margins are −1.
    ///
    /// Time is that of `n_folds` fits.
    ///
    /// # Errors
    /// The same as for [`LinearConfig::fit_controlled`], and [`crate::ErrorKind::Invalid`] if there are fewer than two
    /// folds.
    pub fn held_out<'d>(&self, data: impl Into<Dataset<'d>>, n_folds: usize, control: &Control) -> Result<HeldOut> {
        self.check()?;
        Source::with(&data.into(), |source| {
            let folds = self.folds(source, n_folds, control)?;
            let (n, width) = (source.n_samples(), source.y.n_columns);
            let mut all = PURPOSE.zeros(n, width)?;
            for fold in 0..n_folds {
                self.each_held_out(source, &source.y, &folds, fold, control, |rows, margins| {
                    for (&row, margins) in rows.iter().zip(margins.chunks_exact(width)) {
                        all[row as usize * width..][..width].copy_from_slice(margins);
                    }
                    Ok(())
                })?;
            }
            Ok(HeldOut { margins: into_array(all, n, width), folds: folds.of })
        })
    }

    pub(super) fn folds(&self, source: &Source<'_>, n_folds: usize, control: &Control) -> Result<Folds> {
        if !(2..=1 << 20).contains(&n_folds) {
            return Err(Error::invalid("n_folds", n_folds, "be between 2 and 1048576"));
        }
        let x = Features::Given.prepare(source.x, None, control)?;
        Folds::new(source, &x, &source.y, n_folds, Key::from_seed(self.seed).child(FOLDS), control)
    }

    /// Fits columns of y without the samples of a fold, and calls `visit` with these samples and their margins, some
    /// samples at a time.
    pub(super) fn each_held_out(
        &self,
        source: &Source<'_>,
        y: &Cells,
        folds: &Folds,
        fold: usize,
        control: &Control,
        mut visit: impl FnMut(&[u32], &[f32]) -> Result<()>,
    ) -> Result<()> {
        let rows = folds.rows(fold)?;
        if rows.is_empty() {
            return Ok(());
        }
        let model = self.fit_on(source, y, &(0..y.n_columns), |row| folds.of[row] as usize != fold, control)?;
        let x = model.prepared(source.x, control)?;
        let at_once = (CELLS / y.n_columns).max(1);
        let mut margins = PURPOSE.filled(0f32, at_once.min(rows.len()) * y.n_columns)?;
        for rows in rows.chunks(at_once) {
            let margins = &mut margins[..rows.len() * y.n_columns];
            model.fill_margins(&x, |at| rows[at], margins, control)?;
            visit(rows, margins)?;
        }
        Ok(())
    }
}
