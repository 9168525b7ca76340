//! What learners ask of a loss of one score besides its values.

use std::sync::Arc;

use super::line_search::LineSearch;
use super::newton::{Change, LeafTotals, Regularization, newton_step};
use super::rows::{RowLoss, RowSums};
use super::{Bounds, Domain, LineProblem, Link, Loss, ROWS};
use crate::control::Control;
use crate::data::train_y::RealTargets;
use crate::data::{Outputs, Weights};
use crate::error::{Result, try_collected};

/// How leaves and steps of a stage are found: their Newton steps, or where they hold mean negative gradients the steps
/// along these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeafRule {
    /// Negative gradients are the residuals y − f and all curvatures one: leaves that hold their means have a step of one,
    /// and the step along anything else is a quotient of sums.
    Residuals,
    /// Newton steps are made of sums over the rows of leaves, and held to [`ColumnLoss::bounds_of_change`]. Steps along means
    /// are searched with sums of the logistic loss over leaves, where that is done by Newton's method and scores are
    /// float32; else as below.
    LeafSums,
    /// Leaves are found one by one ([`ColumnLoss::leaf_value`]). Steps along means are searched over the rows, column by
    /// column or output by output.
    Search,
}

/// A loss of one score, with what follows from it. Where a loss says nothing, it is computed cell by cell from float64
/// scores, and searched column by column.
pub(crate) trait ColumnLoss: Loss {
    /// How leaves and steps are found.
    fn leaf_rule(&self) -> LeafRule {
        LeafRule::Search
    }

    /// Whether second derivatives may differ from row to row.
    fn has_curvature(&self) -> bool {
        false
    }

    /// The regularised Newton step along a line, or what stands for it: never a higher loss than at 0. By default the
    /// minimum where there is no curvature.
    fn newton_step(
        &self,
        problem: &LineProblem<'_>,
        regularization: Regularization,
        search: LineSearch,
    ) -> Result<f64> {
        newton_step(self, problem, regularization, search)
    }

    /// What a leaf adds to the scores of its rows, all of which move alike.
    fn leaf_value(&self, problem: &LineProblem<'_>, regularization: Regularization, search: LineSearch) -> Result<f64> {
        self.newton_step(problem, regularization, search)
    }

    /// What the loss over a leaf changes by when its rows move by `step`, as far as the sums of one column tell.
    fn bounds_of_change(&self, _leaf: LeafTotals<'_>, _step: f64) -> Change {
        Change::UNKNOWN
    }

    /// By how much the loss of a row changes when its score moves by `step`.
    fn change(&self, y: f64, score: f64, step: f64) -> f64 {
        self.value(y, score + step) - self.value(y, score)
    }

    /// What scores of these outputs mean: by default numbers themselves, and of labels and classes no probabilities.
    fn link(&self, outputs: &Outputs) -> Link {
        match outputs {
            Outputs::Real { .. } => Link::Identity,
            Outputs::Labels { .. } | Outputs::Classes { .. } => Link::Margin,
        }
    }

    /// Whether scores are kept in float32: for losses of labels and classes alone.
    fn has_float32_scores(&self) -> bool {
        false
    }

    /// Whether NaN in y is a cell that is not known, whose loss is zero.
    fn skips_unknown(&self) -> bool {
        false
    }

    /// Whether three and more classes of an output are judged together, by the softmax of their scores.
    fn has_softmax(&self) -> bool {
        false
    }

    /// [`Loss::start`] of a column of numbers.
    fn start_of(&self, column: &NumberColumn<'_>, control: &Control) -> Result<f64> {
        let y = try_collected(ROWS, column.values().map(|(y, _)| y))?;
        let weights = try_collected(ROWS, column.values().map(|(_, units)| column.weights.in_sums(units)))?;
        self.start(&y, &weights, control)
    }

    /// Sums over leaves of float32 scores: of losses whose leaves follow [`LeafRule::LeafSums`].
    fn sums_in_float32(&self) -> Option<Box<dyn RowSums<f32>>> {
        None
    }

    /// A kernel of rows of its own, of float32 scores.
    fn rows_in_float32(&self) -> Option<Box<dyn RowLoss<f32>>> {
        None
    }

    /// The same of float64 scores.
    fn rows_in_float64(&self) -> Option<Box<dyn RowLoss<f64>>> {
        None
    }
}

/// A column of numeric targets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberColumn<'a> {
    pub(crate) y: &'a RealTargets<'a>,
    pub(crate) column: usize,
    /// Of positive weight.
    pub(crate) rows: &'a [u32],
    pub(crate) weights: &'a Weights,
}

impl NumberColumn<'_> {
    /// y and weight, in units.
    pub(crate) fn values(&self) -> impl ExactSizeIterator<Item = (f64, u64)> + Clone {
        self.rows.iter().map(|&row| (self.y.of(row)[self.column], self.weights.units(row as usize)))
    }
}

/// A loss of the caller's.
impl Loss for Arc<dyn Loss> {
    fn domain(&self) -> Domain {
        self.as_ref().domain()
    }

    fn bounds(&self) -> Option<Bounds> {
        self.as_ref().bounds()
    }

    fn check(&self) -> Result<()> {
        self.as_ref().check()
    }

    fn value(&self, y: f64, score: f64) -> f64 {
        self.as_ref().value(y, score)
    }

    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        self.as_ref().negative_gradient(y, score)
    }

    fn curvature(&self, y: f64, score: f64) -> f64 {
        self.as_ref().curvature(y, score)
    }

    fn takes_blocks(&self) -> bool {
        self.as_ref().takes_blocks()
    }

    fn values(&self, y: &[f64], scores: &[f64], values: &mut [f64]) {
        self.as_ref().values(y, scores, values);
    }

    fn derivatives(&self, y: &[f64], scores: &[f64], negative_gradients: &mut [f64], curvatures: &mut [f64]) {
        self.as_ref().derivatives(y, scores, negative_gradients, curvatures);
    }

    fn start(&self, y: &[f64], weights: &[f64], control: &Control) -> Result<f64> {
        self.as_ref().start(y, weights, control)
    }

    fn step(&self, problem: &LineProblem<'_>, search: LineSearch) -> Result<f64> {
        self.as_ref().step(problem, search)
    }
}

impl ColumnLoss for Arc<dyn Loss> {
    fn has_curvature(&self) -> bool {
        true
    }
}
