//! The interface of losses of one score that learners use, in addition to the values of losses.

use std::sync::Arc;

use super::rows::{RowLoss, RowSums};
use super::steps::newton::{Change, LeafTotals, Regularization, newton_step};
use super::{Bounds, Domain, LineProblem, Link, Loss, ROWS};
use crate::control::Control;
use crate::data::train_y::RealTargets;
use crate::data::{Outputs, Weights};
use crate::error::Result;

/// How the leaves and the steps of a stage are computed. Leaves are Newton steps or, if they hold mean negative
/// gradients, steps along these are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeafRule {
    /// Negative gradients are the residuals y − f, and all curvatures are one. Leaves that hold mean residuals have a
    /// step of one, and the step along anything else is a quotient of sums.
    Residuals,
    /// Newton steps are computed from sums over the samples of leaves, and are limited by
    /// [`ColumnLoss::bounds_of_change`]. Steps along means are searched with sums of the logistic loss over leaves, if
    /// Newton's method is used and scores are float32; otherwise as below.
    LeafSums,
    /// Leaves are computed one by one ([`ColumnLoss::leaf_value`]). Steps along means are searched over the samples,
    /// column by column or output by output.
    Search,
}

/// A loss of one score, with its properties. By default, it is computed cell by cell from float64 scores, and searched
/// column by column.
pub(crate) trait ColumnLoss: Loss {
    /// Returns how leaves and steps are computed.
    fn leaf_rule(&self) -> LeafRule {
        LeafRule::Search
    }

    /// Returns what trees are grown on that have this score alone. By default, it is the negative gradient.
    fn response(&self, y: f64, score: f64) -> f64 {
        self.negative_gradient(y, score)
    }

    /// Returns whether second derivatives may differ between samples.
    fn has_curvature(&self) -> bool {
        false
    }

    /// Returns the regularized Newton step along a line, or an equivalent step. The loss at the step is not above that
    /// at 0. By default, it is the minimum if there is no curvature.
    fn newton_step(&self, problem: &LineProblem<'_>, regularization: Regularization) -> Result<f64> {
        newton_step(self, problem, regularization, f64::INFINITY)
    }

    /// Returns what a leaf adds to the scores of its samples, which is the same for all of them.
    fn leaf_value(&self, problem: &LineProblem<'_>, regularization: Regularization) -> Result<f64> {
        self.newton_step(problem, regularization)
    }

    /// Returns bounds on the change of the loss over a leaf if the scores of its samples change by `step`, from the
    /// sums of one column.
    fn bounds_of_change(&self, _leaf: LeafTotals<'_>, _step: f64) -> Change {
        Change::UNKNOWN
    }

    /// Writes the second derivatives where the negative gradients have these values, and returns whether the ones
    /// determine the others; if not, nothing is written.
    fn curvatures_at(&self, _negative_gradients: &[f64], _curvatures: &mut [f64]) -> bool {
        false
    }

    /// Returns the change of the loss of a sample if its score changes by `step`.
    fn change(&self, y: f64, score: f64, step: f64) -> f64 {
        self.value(y, score + step) - self.value(y, score)
    }

    /// Returns whether scores are kept in float32. This is only for losses of labels and classes.
    fn has_float32_scores(&self) -> bool {
        false
    }

    /// Returns whether NaN in y is an unknown cell, whose loss is zero.
    fn skips_unknown(&self) -> bool {
        false
    }

    /// Returns whether the softmax is used for outputs with three or more classes.
    fn has_softmax(&self) -> bool {
        false
    }

    /// Returns [`Loss::start`] for a column of numerical targets.
    fn start_of(&self, column: &NumberColumn<'_>, control: &Control) -> Result<f64> {
        let y = ROWS.collected(column.values().map(|(y, _)| y))?;
        let weights = ROWS.collected(column.values().map(|(_, units)| column.weights.in_sums(units)))?;
        self.start(&y, &weights, control)
    }

    /// Returns the sums over leaves for float32 scores, for losses with [`LeafRule::LeafSums`].
    fn sums_in_float32(&self) -> Option<Box<dyn RowSums<f32>>> {
        None
    }

    /// Returns the loss's own kernel for rows of float32 scores, if there is one.
    fn rows_in_float32(&self) -> Option<Box<dyn RowLoss<f32>>> {
        None
    }

    /// Returns the loss's own kernel for rows of float64 scores, if there is one.
    fn rows_in_float64(&self) -> Option<Box<dyn RowLoss<f64>>> {
        None
    }
}

/// A column of numerical targets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberColumn<'a> {
    pub(crate) y: &'a RealTargets<'a>,
    pub(crate) column: usize,
    /// The samples of positive weight.
    pub(crate) rows: &'a [u32],
    pub(crate) weights: &'a Weights,
}

impl NumberColumn<'_> {
    /// Returns the targets, and their weights in units.
    pub(crate) fn values(&self) -> impl ExactSizeIterator<Item = (f64, u64)> + Clone {
        self.rows.iter().map(|&row| (self.y.of(row)[self.column], self.weights.units(row as usize)))
    }
}

/// Methods that call those of another loss.
macro_rules! forwarded {
    ($self:ident => $loss:expr; $(fn $name:ident($($argument:ident: $of:ty),*) $(-> $result:ty)?;)+) => { $(
        fn $name(&$self, $($argument: $of),*) $(-> $result)? {
            $loss.$name($($argument),*)
        }
    )+ };
}
pub(crate) use forwarded;

/// A loss that the caller provides.
impl Loss for Arc<dyn Loss> {
    forwarded! { self => self.as_ref();
        fn name() -> &str;
        fn link(outputs: &Outputs) -> Link;
        fn domain() -> Domain;
        fn bounds() -> Option<Bounds>;
        fn check() -> Result<()>;
        fn value(y: f64, score: f64) -> f64;
        fn negative_gradient(y: f64, score: f64) -> f64;
        fn curvature(y: f64, score: f64) -> f64;
        fn takes_blocks() -> bool;
        fn values(y: &[f64], scores: &[f64], values: &mut [f64]);
        fn derivatives(y: &[f64], scores: &[f64], negative_gradients: &mut [f64], curvatures: &mut [f64]);
        fn start(y: &[f64], weights: &[f64], control: &Control) -> Result<f64>;
        fn step(problem: &LineProblem<'_>) -> Result<f64>;
    }
}

impl ColumnLoss for Arc<dyn Loss> {
    fn has_curvature(&self) -> bool {
        true
    }
}
