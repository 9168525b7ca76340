//! The weights of labels in all losses, expressed as units of their scores.
//!
//! A label of weight m has scores √m times as large in the path as in the model. The squares of its residuals then have
//! weight m, and the lengths of coefficients are those of m identical labels. The curvature of the loss is that of a
//! label of weight one, so that steps have the same closed forms. A label of weight zero keeps its constant: no
//! gradient ever moves its scores.

use super::PURPOSE;
use crate::error::Result;

/// √m of each column of scores. Multiplying by one changes no bit: for numerical outputs, classes, and labels with
/// equal weights, all are one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units<'r> {
    pub(super) root: &'r [f64],
    /// The factors that convert scores of the path to those of the model.
    pub(super) scale: &'r [f64],
}

/// The unit of one column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) root: f64,
    scale: f64,
}

impl<'r> Units<'r> {
    pub(super) fn of(self, column: usize) -> Unit {
        Unit { root: self.root[column], scale: self.scale[column] }
    }

    pub(super) fn each(self) -> impl Iterator<Item = Unit> + 'r {
        self.root.iter().zip(self.scale).map(|(&root, &scale)| Unit { root, scale })
    }
}

impl Unit {
    /// Returns m, the weight of the label.
    pub(super) fn weight(self) -> f64 {
        self.root * self.root
    }

    /// Converts a score of the path to one of the model.
    pub(super) fn score(self, of_path: f64) -> f64 {
        self.scale * of_path
    }

    /// Converts a score of the model to one of the path.
    pub(super) fn of_path(self, score: f64) -> f64 {
        score / self.scale
    }

    /// Converts the curvature of the loss along the score of the model to that of the weighted loss along the score of
    /// the path: a factor m for the weight, and 1/m for the square of the unit.
    pub(super) fn curvature(self, curvature: f64) -> f64 {
        if self.root > 0.0 { curvature } else { 0.0 }
    }
}

/// Returns 1/√m of each column; 1 if the weight is zero.
pub(super) fn scales(root: &[f64]) -> Result<Vec<f64>> {
    PURPOSE.collected(root.iter().map(|&root| if root > 0.0 { 1.0 / root } else { 1.0 }))
}
