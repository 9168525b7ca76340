//! Margins of samples, and their best columns.

use ndarray::Array2;

use super::LinearModel;
use crate::centroid::Vectors;
use crate::control::Control;
use crate::data::{Matrix, Query};
use crate::error::{Error, Purpose, Result};
use crate::model::{best_columns, into_array};
use crate::pool;

const PURPOSE: Purpose = Purpose("the margins of samples");

/// Margins that are computed before they are ranked: a block stays in the cache.
const BLOCK: usize = 1 << 18;

best_columns!(LinearModel, "Columns are ranked by their scores: see [`LinearModel::predict_scores`].");

impl LinearModel {
    /// Returns the margins, (n_samples, n_columns): the weights of each column times X, plus its intercept. Positive ones
    /// say that a sample has the label.
    ///
    /// Time is that of the stored entries of X times the weights of their features.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`] or [`crate::ErrorKind::Invalid`] if X is not valid,
    /// [`crate::ErrorKind::OutOfMemory`] and [`crate::ErrorKind::Interrupted`].
    pub fn decision_function<'x>(&self, x: impl Into<Query<'x>>) -> Result<Array2<f32>> {
        let Query { x, control } = &x.into();
        let x = self.prepared(x, control)?;
        let (n, width) = (x.n_rows(), self.n_columns());
        let mut margins = PURPOSE.zeros(n, width)?;
        self.fill_margins(&x, |row| row as u32, &mut margins, control)?;
        Ok(into_array(margins, n, width))
    }

    /// Writes the margins of samples, of which `row` returns the number in X.
    pub(super) fn fill_margins(
        &self,
        x: &Vectors,
        row: impl Fn(usize) -> u32 + Sync,
        margins: &mut [f32],
        control: &Control,
    ) -> Result<()> {
        let width = self.n_columns();
        let at_once = (BLOCK / width).max(1);
        pool::for_each(
            control.n_threads(),
            margins.chunks_mut(at_once * width).enumerate(),
            || Ok(()),
            |(), (block, margins)| {
                for (at, margins) in (block * at_once..).zip(margins.chunks_exact_mut(width)) {
                    control.check()?;
                    margins.copy_from_slice(&self.weights.intercepts);
                    let (features, values) = x.of(row(at));
                    self.weights.add(features, values, margins);
                }
                Ok(())
            },
        )
    }

    /// Returns the probabilities, in float64, that the scores of [`LinearModel::predict_scores`] mean: those of
    /// [`LinearModel::to_predictions`].
    ///
    /// # Errors
    /// The same as for [`LinearModel::decision_function`].
    pub fn predict<'x>(&self, x: impl Into<Query<'x>>) -> Result<Array2<f64>> {
        let Query { x, control } = &x.into();
        self.to_predictions(self.predict_scores((x, control))?.view(), control)
    }

    pub(super) fn prepared(&self, x: &Matrix<'_>, control: &Control) -> Result<Vectors> {
        if x.n_features() != self.n_features {
            return Err(Error::shape("each row of X", self.n_features, x.n_features()));
        }
        self.features.prepare(x, self.idf(), control)
    }
}
