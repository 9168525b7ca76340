//! How much labels count in all losses, as units of their scores.
//!
//! A label that counts m times has scores √m times as large in the path as in the model. The squares of its residuals then
//! count m times, and the lengths of coefficients are those of m labels that are all the same; the curvature of the loss
//! is that of a label that counts once, so that steps have the closed forms of before. A label that counts for nothing
//! keeps its constant: no gradient ever moves its scores.

use super::WHAT;
use crate::error::{Result, try_collected};

/// √m of each column of scores. Multiplying by one changes no bit: those of numbers and classes, and of labels that
/// count the same, are all one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units<'r> {
    pub(super) root: &'r [f64],
    /// What scores of the path are multiplied by, to be those of the model.
    pub(super) scale: &'r [f64],
}

/// Those of one column.
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
    /// m: how often the label counts.
    pub(super) fn weight(self) -> f64 {
        self.root * self.root
    }

    /// The score of the model, from that of the path.
    pub(super) fn score(self, of_path: f64) -> f64 {
        self.scale * of_path
    }

    /// The score of the path, from that of the model.
    pub(super) fn of_path(self, score: f64) -> f64 {
        score / self.scale
    }

    /// The curvature of the weighted loss along the score of the path, from that of the loss along the score of the model:
    /// m of the one, 1/m of the square of the other.
    pub(super) fn curvature(self, curvature: f64) -> f64 {
        if self.root > 0.0 { curvature } else { 0.0 }
    }
}

/// 1/√m of each column; 1 where a label counts for nothing.
pub(super) fn scales(root: &[f64]) -> Result<Vec<f64>> {
    try_collected(WHAT, root.iter().map(|&root| if root > 0.0 { 1.0 / root } else { 1.0 }))
}
