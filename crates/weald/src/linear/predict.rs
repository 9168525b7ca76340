//! Margins of samples, and their best columns.

use ndarray::Array2;

use super::LinearModel;
use super::calibration::probabilities;
use crate::centroid::Vectors;
use crate::control::Control;
use crate::data::targets::is_binary;
use crate::data::{Matrix, Outputs};
use crate::error::{Error, Purpose, Result};
use crate::model::{best_columns, into_array};
use crate::pool;

const PURPOSE: Purpose = Purpose("the margins of samples");

/// Margins that are computed before they are ranked: a block stays in the cache.
const BLOCK: usize = 1 << 18;

best_columns!(
    LinearModel,
    "Columns are ranked by their scores, half the log-odds: see [`LinearModel::predict_scores`]."
);

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
        self.of_margins(&x.into(), |_| (), control)
    }

    /// Returns the probabilities, (n_samples, n_columns), in float32: those that a sample has the label, or the second of two
    /// classes. For outputs with three or more classes, or for several outputs of classes, the probabilities of the
    /// classes of an output have the sum 1.
    ///
    /// Time is that of [`LinearModel::decision_function`], and an exponential for each column.
    ///
    /// # Errors
    /// The same as for [`LinearModel::decision_function`].
    pub fn predict_proba<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Array2<f32>> {
        let classes = match &self.outputs {
            Outputs::Classes { n_classes } if !is_binary(n_classes) => Some(self.outputs.class_starts()?),
            Outputs::Classes { .. } | Outputs::Labels { .. } | Outputs::Real { .. } => None,
        };
        let (calibration, classes) = (self.calibration.as_ref(), classes.as_deref());
        self.of_margins(&x.into(), |margins| probabilities(calibration, classes, margins), control)
    }

    fn of_margins(&self, x: &Matrix<'_>, finish: impl Fn(&mut [f32]) + Sync, control: &Control) -> Result<Array2<f32>> {
        let x = self.prepared(x, control)?;
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
                    finish(margins);
                }
                Ok(())
            },
        )?;
        Ok(into_array(margins, n, width))
    }

    pub(super) fn prepared(&self, x: &Matrix<'_>, control: &Control) -> Result<Vectors> {
        if x.n_features() != self.n_features {
            return Err(Error::shape("each row of X", self.n_features, x.n_features()));
        }
        self.features.prepare(x, self.idf(), control)
    }

    fn margins_of(&self, x: &Vectors, row: usize, margins: &mut [f32]) {
        margins.copy_from_slice(&self.weights.intercepts);
        let (features, values) = x.of(row as u32);
        self.weights.add(features, values, margins);
    }
}
