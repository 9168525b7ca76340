//! One stage's leaves and step sizes: what its weak model predicts, and how far to go along it.
//!
//! Leaves that are labelled anew hold the mean negative gradient of every score, g; the step of score j minimises
//! Σ w ℓ(y, f + ρ_j g_j). Rows of a leaf share their g, so slopes and curvatures along it are sums over leaves of
//! g times leaf sums. Losses without such sums (medians, breakpoints, a user's own) are minimised column by column.

use super::columns::Columns;
use super::line_search::LineSearch;
use super::loss::rows::RowTargets;
use super::loss::softmax::{Directions, SoftmaxProblem};
use super::loss::{LineProblem, LossKind};
use super::state::{Data, Leaves, State};
use super::vector::Score;
use crate::control::Control;
use crate::error::{Result, try_filled, try_with_capacity};
use crate::pool;

/// What the weak model predicts for the rows of each leaf.
#[derive(Debug)]
pub(crate) enum Weak {
    /// A number for each score: a row of the table for each leaf.
    Table(Vec<f64>),
    /// One number.
    Scalars(Vec<f64>),
}

impl Weak {
    fn at(&self, leaf: usize, j: usize, width: usize) -> f64 {
        match self {
            Weak::Table(table) => table[leaf * width + j],
            Weak::Scalars(values) => values[leaf],
        }
    }
}

/// How steps are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Method {
    /// One after leaves are labelled with means; else a quotient of sums.
    SquaredError,
    /// Searched with sums over leaves, see `columns`.
    LogLoss,
    /// All scores at once.
    Softmax,
    /// Each column on its own.
    Columns,
}

/// A stage in the making.
pub(crate) struct Stage<'s, T: Score> {
    pub(crate) data: &'s Data<'s, T>,
    pub(crate) state: &'s State<T>,
    pub(crate) leaves: &'s Leaves<'s>,
    /// Bounds of the negative gradients.
    pub(crate) bounds: &'s [T],
    pub(crate) kind: &'s LossKind,
    pub(crate) method: Method,
    pub(crate) search: LineSearch,
    /// First column of each output of classes.
    pub(crate) starts: &'s [usize],
    pub(crate) control: &'s Control,
}

impl<T: Score> Stage<'_, T> {
    /// Labels the leaves with mean negative gradients, and finds the steps.
    pub(crate) fn relabel(&self) -> Result<(Weak, Vec<f64>)> {
        let width = self.data.width;
        let mut table = try_filled("the leaves of a stage", 0.0, self.leaves.len() * width)?;
        if self.by_leaves() {
            let steps = self.columns()?.steps(None, &mut table)?;
            return Ok((Weak::Table(table), steps));
        }
        self.state.leaf_sums(self.data, self.leaves, self.bounds, self.control, |leaf, sums| {
            let weight = self.leaves.weights[leaf];
            let g = &mut table[leaf * width..][..width];
            g.iter_mut().zip(sums).for_each(|(g, sum)| *g = sum / weight);
        })?;
        let weak = Weak::Table(table);
        let steps = self.steps_along(&weak)?;
        Ok((weak, steps))
    }

    /// Finds the steps along one number for each leaf.
    pub(crate) fn along(&self, values: Vec<f64>) -> Result<(Weak, Vec<f64>)> {
        let steps = if self.by_leaves() {
            self.columns()?.steps(Some(&values), &mut [])?
        } else if self.method == Method::SquaredError {
            let mut products = try_filled("the steps of a stage", 0.0, self.data.width)?;
            self.state.leaf_sums(self.data, self.leaves, self.bounds, self.control, |leaf, sums| {
                let g = values[leaf];
                products.iter_mut().zip(sums).for_each(|(product, sum)| *product += g * sum);
            })?;
            let square: f64 = values.iter().zip(&self.leaves.weights).map(|(g, w)| g * g * w).sum();
            products.iter_mut().for_each(|product| *product = if square > 0.0 { *product / square } else { 0.0 });
            products
        } else {
            let weak = Weak::Scalars(values);
            let steps = self.steps_along(&weak)?;
            return Ok((weak, steps));
        };
        Ok((Weak::Scalars(values), steps))
    }

    /// Whether steps are searched with sums over leaves.
    fn by_leaves(&self) -> bool {
        self.method == Method::LogLoss && self.search == LineSearch::Newton
    }

    fn columns(&self) -> Result<Columns<'_, T>> {
        let scores = T::narrow(&self.state.scores).expect("scores of the logistic loss are float32");
        Columns::new(self.data, scores, self.leaves, self.control)
    }

    /// Finds the steps along what any weak model predicts, each row its own leaf.
    pub(crate) fn steps_along(&self, weak: &Weak) -> Result<Vec<f64>> {
        match (self.method, weak) {
            (Method::SquaredError, Weak::Table(table)) => {
                let width = self.data.width;
                let mut steps = try_filled("the steps of a stage", 0.0, width)?;
                for row in table.chunks_exact(width) {
                    steps.iter_mut().zip(row).filter(|(_, g)| **g != 0.0).for_each(|(step, _)| *step = 1.0);
                }
                Ok(steps)
            }
            (Method::Softmax, _) => self.softmax_steps(weak),
            _ => self.column_steps(weak),
        }
    }

    /// The rows of the stage, leaf by leaf.
    fn rows(&self) -> impl Iterator<Item = (usize, u32)> {
        (0..self.leaves.len()).flat_map(|leaf| self.leaves.rows(leaf).iter().map(move |&row| (leaf, row)))
    }

    fn column_steps(&self, weak: &Weak) -> Result<Vec<f64>> {
        let width = self.data.width;
        let n: usize = (0..self.leaves.len()).map(|leaf| self.leaves.rows(leaf).len()).sum();
        let loss = self.kind.as_loss();
        let off = self.kind.y_of_off();
        pool::map(self.control.n_threads(), width, |j| {
            self.control.check()?;
            const WHAT: &str = "a column of scores";
            let mut y = try_filled(WHAT, 0.0, n)?;
            let mut scores = try_filled(WHAT, 0.0, n)?;
            let mut direction = try_filled(WHAT, 0.0, n)?;
            let mut weights = try_filled(WHAT, 0.0, n)?;
            for (at, (leaf, row)) in self.rows().enumerate() {
                let row = row as usize;
                y[at] = match self.data.row(row) {
                    RowTargets::Numbers(y) => y[j],
                    RowTargets::On(columns) => {
                        if columns.binary_search(&(j as u32)).is_ok() {
                            1.0
                        } else {
                            off
                        }
                    }
                };
                scores[at] = self.state.scores[row * width + j].to_f64();
                direction[at] = weak.at(leaf, j, width);
                weights[at] = self.data.weights.units(row) as f64 * self.data.weights.unit;
            }
            if direction.iter().all(|g| *g == 0.0) {
                return Ok(0.0);
            }
            let problem = LineProblem { y: &y, scores: &scores, direction: &direction, weights: &weights };
            loss.step(&problem, self.search)
        })
    }

    /// Each output of classes on its own, its classes together.
    fn softmax_steps(&self, weak: &Weak) -> Result<Vec<f64>> {
        const WHAT: &str = "scores of classes";
        let width = self.data.width;
        let n: usize = (0..self.leaves.len()).map(|leaf| self.leaves.rows(leaf).len()).sum();
        let of_outputs = pool::map(self.control.n_threads(), self.starts.len() - 1, |output| {
            self.control.check()?;
            let columns = self.starts[output]..self.starts[output + 1];
            let k = columns.len();
            let mut classes = try_filled(WHAT, 0, n)?;
            let mut weights = try_filled(WHAT, 0.0, n)?;
            let mut scores = try_filled(WHAT, 0.0, n * k)?;
            let per_row = if matches!(weak, Weak::Table(_)) { k } else { 1 };
            let mut directions = try_filled(WHAT, 0.0, n * per_row)?;
            for (at, (leaf, row)) in self.rows().enumerate() {
                let row = row as usize;
                let RowTargets::On(on) = self.data.row(row) else { unreachable!("classes are columns that are on") };
                classes[at] = on[output] - columns.start as u32;
                weights[at] = self.data.weights.units(row) as f64 * self.data.weights.unit;
                let from = &self.state.scores[row * width..][columns.clone()];
                scores[at * k..][..k].iter_mut().zip(from).for_each(|(to, score)| *to = score.to_f64());
                match weak {
                    Weak::Table(table) => {
                        directions[at * k..][..k].copy_from_slice(&table[leaf * width..][columns.clone()]);
                    }
                    Weak::Scalars(values) => directions[at] = values[leaf],
                }
            }
            let directions = match weak {
                Weak::Table(_) => Directions::OneAClass(&directions),
                Weak::Scalars(_) => Directions::OneARow(&directions),
            };
            let problem =
                SoftmaxProblem { n_classes: k, classes: &classes, scores: &scores, directions, weights: &weights };
            problem.step()
        })?;
        let mut steps = try_with_capacity(WHAT, width)?;
        of_outputs.iter().for_each(|of_output| steps.extend_from_slice(of_output));
        Ok(steps)
    }
}
