//! The loss over all scores of a sample, in the form that a fit uses.

use std::ops::Range;

use super::column::{ColumnLoss, LeafRule, NumberColumn};
use super::kernels::float::Float;
use super::known_cells::{KnownCells, mean_of_columns};
use super::outputs::ColumnLosses;
use super::rows::softmax_rows::Softmax;
use super::rows::{Cells, RowLoss, RowSums, RowTargets, Weighed};
use super::steps::newton::{Change, LeafTotals, Regularization};
use super::{LineProblem, Link, LossKind, ROWS};
use crate::control::Control;
use crate::data::targets::is_binary;
use crate::data::train_y::{RealTargets, TrainY};
use crate::data::{Outputs, Weights};
use crate::error::{Purpose, Result};
use crate::exact::reduce::Reduce;

/// The loss over all scores of a sample. It is created once for a fit, from the loss and the outputs.
#[derive(Debug)]
pub(crate) enum WorkingLoss<'l> {
    /// A sum over columns.
    Columns(ColumnLosses<'l>),
    /// A sum over outputs, each of which uses the scores of its classes jointly.
    Classes(Softmax),
}

/// How the regularized Newton steps of leaves are computed.
pub(crate) enum NewtonLeaves<'l, T> {
    /// From sums over the samples of leaves.
    OfSums(Box<dyn RowSums<T> + 'l>),
    /// Leaf by leaf and column by column.
    OneByOne(ColumnLosses<'l>),
}

/// The samples along which the step of one column is searched, or the steps of the classes of one output jointly.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a, T> {
    /// Returns y of a sample, for all columns.
    pub(crate) y: &'a dyn Fn(usize) -> RowTargets<'a>,
    /// The scores of these columns, in row-major order.
    pub(crate) scores: &'a [T],
    /// The predictions of the weak model for each leaf: one number for each of these columns, or one for all of them.
    pub(crate) directions: &'a [f64],
    pub(crate) n_leaves: usize,
    /// The leaf of each sample.
    pub(crate) leaf_of: &'a [u32],
    pub(crate) weights: &'a [f64],
}

impl<T> Line<'_, T> {
    /// Returns the number of predictions for each leaf.
    pub(crate) fn per_leaf(&self) -> usize {
        self.directions.len() / self.n_leaves.max(1)
    }
}

impl<'l> WorkingLoss<'l> {
    /// With `each_alone`, each class of an output is distinguished from all others separately, without a joint loss.
    pub(crate) fn new(kind: &'l LossKind, outputs: &Outputs, each_alone: bool) -> Result<Self> {
        let losses = kind.as_columns();
        Ok(match outputs {
            Outputs::Classes { n_classes } if losses.first().has_softmax() && !each_alone && !is_binary(n_classes) => {
                WorkingLoss::Classes(Softmax::new(n_classes)?)
            }
            Outputs::Classes { .. } | Outputs::Labels { .. } | Outputs::Real { .. } => WorkingLoss::Columns(losses),
        })
    }

    /// Returns the same loss over the known cells of y, for which `losses` were created: see [`KnownCells::of`]. The
    /// targets must be numbers, with NaN for unknown cells.
    pub(crate) fn of_known(self, losses: &'l [KnownCells<'l>]) -> Self {
        match (self, losses) {
            (WorkingLoss::Classes(softmax), _) => WorkingLoss::Classes(softmax.of_known()),
            (WorkingLoss::Columns(_), [one]) => WorkingLoss::Columns(ColumnLosses::One(one)),
            (WorkingLoss::Columns(_), each) => WorkingLoss::Columns(ColumnLosses::EachKnown(each)),
        }
    }

    /// Returns the losses of columns, if the loss is a sum over columns.
    pub(crate) fn columns(&self) -> Option<ColumnLosses<'l>> {
        match self {
            WorkingLoss::Columns(losses) => Some(*losses),
            WorkingLoss::Classes(_) => None,
        }
    }

    /// Returns whether NaN in y is an unknown cell.
    pub(crate) fn skips_unknown(&self) -> bool {
        match self {
            WorkingLoss::Columns(losses) => losses.first().skips_unknown(),
            WorkingLoss::Classes(softmax) => softmax.skips_unknown(),
        }
    }

    /// Returns the mean over columns of the losses of their known cells, for the samples that are inside: see
    /// [`mean_of_columns`].
    pub(crate) fn mean_of_known<T: Float>(
        &self,
        shares: Option<&[f64]>,
        (y, scores): (&RealTargets<'_>, &[T]),
        weights: &Weights,
        is_inside: impl Fn(usize) -> bool + Sync,
        control: &Control,
    ) -> Result<Option<f64>> {
        match self {
            WorkingLoss::Columns(losses) => mean_of_columns((*losses, shares), y, scores, weights, is_inside, control),
            WorkingLoss::Classes(softmax) => softmax.mean_of_known(y, scores, weights, is_inside, control),
        }
    }

    /// Returns the loss of a column that is boosted separately, or `None` if it is the same for all columns.
    pub(crate) fn of_column(&self, column: usize) -> Option<Self> {
        match self {
            WorkingLoss::Columns(losses @ (ColumnLosses::Each(_) | ColumnLosses::EachKnown(_))) => {
                Some(WorkingLoss::Columns(ColumnLosses::One(losses.of(column))))
            }
            WorkingLoss::Columns(ColumnLosses::One(_)) | WorkingLoss::Classes(_) => None,
        }
    }

    /// Returns the link.
    pub(crate) fn link(&self, outputs: &Outputs) -> Link {
        match self {
            WorkingLoss::Columns(losses) => losses.first().link(outputs),
            WorkingLoss::Classes(_) => Link::Softmax,
        }
    }

    /// Returns whether scores are kept in float32.
    pub(crate) fn has_float32_scores(&self) -> bool {
        match self {
            WorkingLoss::Columns(losses) => losses.first().has_float32_scores(),
            WorkingLoss::Classes(_) => true,
        }
    }

    /// Returns how leaves and steps are computed.
    pub(crate) fn leaf_rule(&self) -> LeafRule {
        match self {
            WorkingLoss::Columns(losses) => losses.first().leaf_rule(),
            WorkingLoss::Classes(_) => LeafRule::Search,
        }
    }

    /// Returns the loss of the first score, if its second derivatives differ between samples.
    pub(crate) fn curved(&self) -> Option<&dyn ColumnLoss> {
        match self {
            WorkingLoss::Columns(losses) => Some(losses.first()).filter(|loss| loss.has_curvature()),
            WorkingLoss::Classes(_) => None,
        }
    }

    /// Returns how the Newton steps of leaves are computed.
    pub(crate) fn newton_leaves<T: Float>(&self) -> NewtonLeaves<'_, T> {
        match self {
            WorkingLoss::Columns(losses @ ColumnLosses::One(loss)) => match T::sums(*loss) {
                Some(sums) => NewtonLeaves::OfSums(sums),
                None => NewtonLeaves::OneByOne(*losses),
            },
            WorkingLoss::Columns(losses @ (ColumnLosses::Each(_) | ColumnLosses::EachKnown(_))) => {
                NewtonLeaves::OneByOne(*losses)
            }
            WorkingLoss::Classes(softmax) => NewtonLeaves::OfSums(Box::new(softmax.clone())),
        }
    }

    /// Computes the Newton steps of the columns of a line from sums over the samples of a leaf.
    pub(crate) fn newton_steps(&self, leaf: LeafTotals<'_>, regularization: Regularization, steps: &mut [f64]) {
        match self {
            WorkingLoss::Columns(_) => {
                let sums = leaf.gradients.iter().zip(leaf.curvatures);
                let step = |(&gradient, &curvature): (&f64, &f64)| regularization.bounded_step(gradient, curvature);
                steps.iter_mut().zip(sums.map(step)).for_each(|(to, step)| *to = step);
            }
            WorkingLoss::Classes(_) => Softmax::newton_steps(leaf, regularization, steps),
        }
    }

    /// Returns bounds on the change of the loss over a leaf if the scores of a line move by `steps`, from sums.
    pub(crate) fn bounds_of_change(&self, line: usize, leaf: LeafTotals<'_>, steps: &[f64]) -> Change {
        match self {
            WorkingLoss::Columns(losses) => {
                let loss = losses.of(line);
                steps.iter().fold(Change::NONE, |sum, &step| sum.and(loss.bounds_of_change(leaf, step)))
            }
            WorkingLoss::Classes(softmax) => softmax.bounds_of_change(leaf, steps),
        }
    }

    /// Returns the change of the loss of a sample if its scores of a line move by `steps`.
    pub(crate) fn change<T: Float>(&self, line: usize, y: RowTargets<'_>, scores: &[T], steps: &[f64]) -> f64 {
        match self {
            WorkingLoss::Columns(losses) => {
                let loss = losses.of(line);
                let y = y.of_column(line, loss.domain().off());
                scores.iter().zip(steps).map(|(score, &step)| loss.change(y, score.to_f64(), step)).sum()
            }
            WorkingLoss::Classes(softmax) => softmax.change(y, line, scores, steps),
        }
    }

    /// Returns the fastest kernel for rows. `shares` are those of labels that do not count the same in the loss.
    pub(crate) fn rows<'s, T: Float>(&'s self, shares: Option<&'s [f64]>) -> Box<dyn RowLoss<T> + 's> {
        // Labels have one loss for all columns.
        debug_assert!(shares.is_none() || matches!(self, WorkingLoss::Columns(ColumnLosses::One(_))));
        match self {
            WorkingLoss::Columns(losses) => {
                let cells = Cells { losses: *losses, shares };
                let kernel = if let ColumnLosses::One(loss) = losses { T::kernel(*loss) } else { None };
                match (kernel, shares) {
                    (Some(kernel), None) => kernel,
                    (Some(kernel), Some(shares)) => Box::new(Weighed { kernel, cells, shares }),
                    (None, _) => Box::new(cells),
                }
            }
            WorkingLoss::Classes(softmax) => Box::new(softmax),
        }
    }

    /// Returns the constants with the smallest loss, one for each of `width` columns; `rows` are the samples of
    /// positive weight.
    pub(crate) fn start(
        &self,
        y: &TrainY<'_>,
        width: usize,
        rows: &[u32],
        weights: &Weights,
        control: &Control,
    ) -> Result<Vec<f64>> {
        const PURPOSE: Purpose = Purpose("the constants that boosting starts from");
        let units = |row: u32| weights.units(row as usize);
        let of_units = |units: u64| weights.in_sums(units);
        if let (WorkingLoss::Columns(losses), TrainY::Real(y)) = (self, y) {
            let start = |column| losses.of(column).start_of(&NumberColumn { y, column, rows, weights }, control);
            return PURPOSE.results((0..width).map(start));
        }
        let mut on = PURPOSE.filled(0u64, width)?;
        rows.iter().for_each(|&row| RowTargets::new(y, row).each_on(|j| on[j] += units(row)));
        weights.workers().sum(&mut on)?;
        match self {
            WorkingLoss::Columns(losses) => {
                let loss = losses.first();
                let total: u64 = weights.workers().sum_of(rows.iter().map(|&row| units(row)).sum())?;
                let labels = [loss.domain().off(), 1.0];
                let start = |&on: &u64| loss.start(&labels, &[of_units(total - on), of_units(on)], control);
                PURPOSE.results(on.iter().map(start))
            }
            WorkingLoss::Classes(softmax) => {
                let of_classes = PURPOSE.collected(on.iter().map(|&on| of_units(on)))?;
                let mut all = PURPOSE.with_capacity(width)?;
                for output in 0..softmax.n_outputs() {
                    PURPOSE.extend(&mut all, softmax.start(output, &of_classes)?)?;
                }
                Ok(all)
            }
        }
    }

    /// Returns the number of searches for the steps of `width` columns.
    pub(crate) fn n_lines(&self, width: usize) -> usize {
        match self {
            WorkingLoss::Columns(_) => width,
            WorkingLoss::Classes(softmax) => softmax.n_outputs(),
        }
    }

    /// Returns the columns whose steps are searched jointly.
    pub(crate) fn columns_of(&self, line: usize) -> Range<usize> {
        match self {
            WorkingLoss::Columns(_) => line..line + 1,
            WorkingLoss::Classes(softmax) => softmax.columns(line),
        }
    }

    /// Returns the steps of these columns.
    pub(crate) fn steps_of<T: Float>(&self, line: usize, rows: &Line<'_, T>, control: &Control) -> Result<Vec<f64>> {
        match self {
            WorkingLoss::Columns(losses) => {
                let (loss, weights) = (losses.of(line), rows.weights);
                let direction = rows.leaf_of.iter().map(|&leaf| rows.directions[leaf as usize]);
                let direction = ROWS.collected(direction)?;
                let mut step = 0.0;
                if direction.iter().any(|g| *g != 0.0) {
                    let off = loss.domain().off();
                    let y = ROWS.collected((0..weights.len()).map(|at| (rows.y)(at).of_column(line, off)))?;
                    let scores = ROWS.collected(rows.scores.iter().map(|score| score.to_f64()))?;
                    let problem = LineProblem { y: &y, scores: &scores, direction: &direction, weights, control };
                    step = loss.step(&problem)?;
                }
                ROWS.filled(step, 1)
            }
            WorkingLoss::Classes(softmax) => softmax.step(line, rows, control),
        }
    }
}
