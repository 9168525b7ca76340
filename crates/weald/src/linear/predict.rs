//! Margins of samples, and their best columns.

use ndarray::Array2;

use super::LinearModel;
use crate::centroid::{Preparation, Vectors};
use crate::control::Control;
use crate::data::{LabelView, Matrix};
use crate::error::{Error, Purpose, Result};
use crate::model::{LabelScores, TopK, best_columns, check_topk, into_array, rank_rows};
use crate::pool;

const PURPOSE: Purpose = Purpose("the margins of samples");

/// Margins that are computed before they are ranked: a block stays in the cache.
const BLOCK: usize = 1 << 18;

best_columns!(LinearModel, "Columns are ranked by their margins.");

impl LinearModel {
    /// Returns the margins, (n_samples, n_columns): the weights of each column times X, plus its intercept. Positive ones
    /// say that a sample has the label.
    ///
    /// Time is that of the stored entries of X times the weights of their features.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`] or [`crate::ErrorKind::Invalid`] if X is not valid,
    /// [`crate::ErrorKind::OutOfMemory`] and [`crate::ErrorKind::Interrupted`].
    pub fn decision_function<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Array2<f32>> {
        let x = self.prepared(&x.into(), control)?;
        let (n, width) = (x.n_rows(), self.n_columns());
        let mut margins = PURPOSE.zeros(n, width)?;
        let at_once = (BLOCK / width).max(1);
        pool::for_each(
            control.n_threads(),
            margins.chunks_mut(at_once * width).enumerate(),
            || Ok(()),
            |(), (block, margins)| {
                for (row, margins) in (block * at_once..).zip(margins.chunks_exact_mut(width)) {
                    control.check()?;
                    self.margins_of(&x, row, margins);
                }
                Ok(())
            },
        )?;
        Ok(into_array(margins, n, width))
    }

    fn prepared(&self, x: &Matrix<'_>, control: &Control) -> Result<Vectors> {
        if x.n_features() != self.n_features {
            return Err(Error::shape("each row of X", self.n_features, x.n_features()));
        }
        Vectors::new(x, Preparation { normalize: self.normalize, idf: self.idf() }, control)
    }

    fn margins_of(&self, x: &Vectors, row: usize, margins: &mut [f32]) {
        margins.copy_from_slice(&self.weights.intercepts);
        let (features, values) = x.of(row as u32);
        self.weights.add(features, values, margins);
    }

    fn topk(&self, x: &Matrix<'_>, k: usize, excluded: Option<&LabelView<'_>>, control: &Control) -> Result<TopK> {
        let width = self.n_columns();
        check_topk((x.n_samples(), width), k, excluded)?;
        let margins = self.decision_function(x, control)?;
        rank_rows(&LabelScores::Single(margins.view()), k, excluded, control)
    }
}
