//! Rows that a model is fitted to and tested on: their targets, weights, scores and losses.
//!
//! Scores of a row: one for each number and label, one for two classes, else one for each class. Numbers are scaled to unit
//! variance. For the squared error residuals are kept, for the logistic loss scores and their negative gradients: `width`
//! numbers a row, or twice that; labels stay sparse. Stagewise steps on many labels do without residuals (`engine::labels`):
//! then only losses are kept here.

use crate::boost::loss::log_loss::probability;
use crate::boost::loss::softmax;
use crate::boost::problem::{in_columns, is_binary, n_scores, starts};
use crate::compress::engine::NARROW;
use crate::compress::{CompressConfig, CompressLoss, CompressMethod};
use crate::control::Control;
use crate::data::{Outputs, Targets, Weights};
use crate::error::{Error, Result, try_collected, try_copied, try_filled, try_with_capacity};
use crate::forest::try_matrix;
use crate::split::dispatch::SplitY;

/// A path of a logistic loss ends when this share of the constant's loss is left, as in glmnet (Friedman, Hastie and
/// Tibshirani 2010): what separates all rows goes on for ever.
const LEAST_LOSS: f64 = 1e-3;

/// What scores mean, and what is lowered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Squared,
    /// Scores are half the log-odds of 0/1 columns.
    Logistic,
    /// Scores of the classes of each output, from the first column of one to that of the next.
    Softmax(Vec<usize>),
}

/// How held-out rows are judged.
#[derive(Clone, Debug, PartialEq)]
enum Judge {
    /// By what is lowered; numbers in their own units.
    Loss,
    /// By the share of outputs whose best class is wrong; one column: above a threshold is the second class.
    Binary(f64),
    Classes(Vec<usize>),
}

/// Targets, weights and scores.
#[derive(Clone, Debug)]
pub(crate) struct FitRows {
    pub(crate) width: usize,
    /// Rows of X that weigh something, in training or held out.
    pub(crate) ids: Vec<u32>,
    /// Training weights; 0 for rows held out.
    pub(crate) weight: Vec<f64>,
    pub(crate) total: f64,
    pub(crate) kind: Kind,
    /// Units of each column of scores.
    pub(crate) scale: Vec<f64>,
    /// Constants, in those units.
    pub(crate) start: Vec<f64>,
    /// Residuals, or scores.
    values: Vec<f64>,
    /// Negative gradients, where they are not `values`.
    gradients: Vec<f64>,
    /// Where a column is 1: columns `on[ptr[i]..ptr[i + 1]]` of row i. Empty for the squared error of numbers.
    ptr: Vec<usize>,
    on: Vec<u32>,
    held: Vec<f64>,
    held_total: f64,
    judge: Judge,
    /// Whether residuals are left to the caller; `values` is empty.
    pub(crate) implicit: bool,
    /// Divisor of the loss of a row.
    n_outputs: f64,
    /// Loss of each row as it is reported.
    losses: Vec<f64>,
    train_loss: f64,
    test_loss: f64,
}

const WHAT: &str = "residuals";

impl FitRows {
    pub(crate) fn new(
        config: &CompressConfig,
        y: &Targets<'_>,
        weight: Option<&[f64]>,
        held_out: Option<&[f64]>,
        control: &Control,
    ) -> Result<Self> {
        let n = y.n_samples();
        Weights::check(weight, n)?;
        if let Some(held) = held_out {
            if held.len() != n {
                return Err(Error::shape("held_out", n, held.len()));
            }
            if let Some(bad) = held.iter().find(|v| !v.is_finite() || **v < 0.0) {
                return Err(Error::invalid("held_out", bad, "finite numbers, none negative"));
            }
        }
        let of = |w: Option<&[f64]>, absent: f64, i: u32| w.map_or(absent, |w| w[i as usize]);
        let held_of = |i: u32| of(held_out, 0.0, i);
        let weight_of = |i: u32| of(weight, 1.0, i);
        if (0..n as u32).any(|i| held_of(i) > 0.0 && weight_of(i) > 0.0) {
            return Err(Error::invalid("held_out", "among the training rows", "rows of training weight 0"));
        }
        let outputs = y.outputs();
        let width = n_scores(&outputs);
        let mut ids = try_with_capacity(WHAT, n)?;
        ids.extend((0..n as u32).filter(|&i| weight_of(i) > 0.0 || held_of(i) > 0.0));
        let weight = try_collected(WHAT, ids.iter().map(|&i| weight_of(i)))?;
        let held = try_collected(WHAT, ids.iter().map(|&i| held_of(i)))?;
        let binary = matches!(&outputs, Outputs::Classes { n_classes } if is_binary(n_classes));
        let kind = match (&outputs, config.loss) {
            (_, CompressLoss::SquaredError) => Kind::Squared,
            (Outputs::Classes { n_classes }, _) if !binary => Kind::Softmax(starts(n_classes)?),
            _ => Kind::Logistic,
        };
        let judge = match &outputs {
            Outputs::Classes { .. } if binary => Judge::Binary(if kind == Kind::Squared { 0.5 } else { 0.0 }),
            Outputs::Classes { n_classes } => Judge::Classes(starts(n_classes)?),
            _ => Judge::Loss,
        };
        let implicit = matches!(config.method, CompressMethod::Stagewise { .. })
            && !config.standardize
            && kind == Kind::Squared
            && !matches!(outputs, Outputs::Real { .. })
            && width > NARROW
            && (judge == Judge::Loss || held.iter().all(|v| *v == 0.0));
        let n_values = if implicit { 0 } else { try_matrix::<()>(WHAT, ids.len(), width)?.len() };
        let n_outputs = match &kind {
            Kind::Softmax(starts) => starts.len() - 1,
            _ => width,
        };
        let mut this = FitRows {
            width,
            total: weight.iter().sum(),
            held_total: held.iter().sum(),
            kind,
            scale: try_filled(WHAT, 1.0, width)?,
            start: try_filled(WHAT, 0.0, width)?,
            values: control.try_filled(WHAT, 0.0, n_values)?,
            gradients: Vec::new(),
            ptr: Vec::new(),
            on: Vec::new(),
            judge,
            implicit,
            n_outputs: n_outputs as f64,
            losses: try_filled(WHAT, 0.0, ids.len())?,
            train_loss: 0.0,
            test_loss: 0.0,
            ids,
            weight,
            held,
        };
        let columns = in_columns(y)?;
        match SplitY::new(&columns)? {
            SplitY::Real(y) => {
                for (&id, values) in this.ids.iter().zip(this.values.chunks_exact_mut(width)) {
                    values.copy_from_slice(y.of(id));
                }
                this.start_numbers();
            }
            SplitY::Slots(y) => {
                let stored = this.ids.iter().map(|&id| y.of(id).len()).sum();
                this.on = try_with_capacity(WHAT, stored)?;
                this.ptr = try_with_capacity(WHAT, this.ids.len() + 1)?;
                this.ptr.push(0);
                for &id in &this.ids {
                    this.on.extend_from_slice(y.of(id));
                    this.ptr.push(this.on.len());
                }
                this.start_columns()?;
            }
        }
        if this.kind != Kind::Squared {
            this.gradients = control.try_filled(WHAT, 0.0, this.values.len())?;
        }
        for i in 0..this.n_rows() {
            this.refresh(i);
        }
        this.sum_losses();
        Ok(this)
    }

    fn start_numbers(&mut self) {
        let (width, n) = (self.width, self.n_rows());
        for column in 0..width {
            let at = |i: usize| i * width + column;
            let rows = || (0..n).filter(|&i| self.weight[i] > 0.0);
            // Differences from a value of the column: a constant column has exactly no variance.
            let some = rows().next().map_or(0.0, |i| self.values[at(i)]);
            let mean = rows().map(|i| self.weight[i] * (self.values[at(i)] - some)).sum::<f64>() / self.total;
            let square = |i: usize| (self.values[at(i)] - some - mean).powi(2);
            let variance = rows().map(|i| self.weight[i] * square(i)).sum::<f64>() / self.total;
            let scale = if variance > 0.0 { variance.sqrt() } else { 1.0 };
            for i in 0..n {
                self.values[at(i)] = (self.values[at(i)] - some - mean) / scale;
            }
            (self.scale[column], self.start[column]) = (scale, (some + mean) / scale);
        }
    }

    fn start_columns(&mut self) -> Result<()> {
        let mut on = try_filled(WHAT, 0.0, self.width)?;
        for i in 0..self.n_rows() {
            self.on[self.ptr[i]..self.ptr[i + 1]].iter().for_each(|&c| on[c as usize] += self.weight[i]);
        }
        // A class without weight counts as half a row of the mean weight.
        let half = 0.5 * self.total / self.weight.iter().filter(|w| **w > 0.0).count() as f64;
        let clipped = |w: f64| if w > 0.0 { w } else { half };
        match &self.kind {
            Kind::Squared => self.start.iter_mut().zip(&on).for_each(|(b, on)| *b = on / self.total),
            Kind::Logistic => {
                let half_log_odds = |on: f64| 0.5 * (clipped(on) / clipped(self.total - on)).ln();
                self.start.iter_mut().zip(&on).for_each(|(b, &on)| *b = half_log_odds(on));
            }
            Kind::Softmax(starts) => {
                for range in starts.windows(2).map(|s| s[0]..s[1]) {
                    let start = &mut self.start[range.clone()];
                    start.iter_mut().zip(&on[range]).for_each(|(b, &on)| *b = clipped(on).ln());
                    let mean = start.iter().sum::<f64>() / start.len().max(1) as f64;
                    start.iter_mut().for_each(|b| *b -= mean);
                }
            }
        }
        let squared = self.kind == Kind::Squared;
        for (i, values) in self.values.chunks_exact_mut(self.width).enumerate() {
            if squared {
                values.iter_mut().zip(&self.start).for_each(|(v, b)| *v = -b);
                self.on[self.ptr[i]..self.ptr[i + 1]].iter().for_each(|&c| values[c as usize] += 1.0);
            } else {
                values.copy_from_slice(&self.start);
            }
        }
        Ok(())
    }

    pub(crate) fn try_clone(&self) -> Result<Self> {
        Ok(FitRows {
            ids: try_copied(WHAT, &self.ids)?,
            weight: try_copied(WHAT, &self.weight)?,
            kind: self.kind.clone(),
            scale: try_copied(WHAT, &self.scale)?,
            start: try_copied(WHAT, &self.start)?,
            values: try_copied(WHAT, &self.values)?,
            gradients: try_copied(WHAT, &self.gradients)?,
            ptr: try_copied(WHAT, &self.ptr)?,
            on: try_copied(WHAT, &self.on)?,
            held: try_copied(WHAT, &self.held)?,
            judge: self.judge.clone(),
            losses: try_copied(WHAT, &self.losses)?,
            ..*self
        })
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.ids.len()
    }

    /// Rows of positive training weight.
    pub(crate) fn of_training(&self) -> Result<Vec<u32>> {
        let mut train = try_with_capacity(WHAT, self.n_rows())?;
        train.extend((0..self.n_rows() as u32).filter(|&i| self.weight[i as usize] > 0.0));
        Ok(train)
    }

    /// Columns that are 1 in a row of labels or classes.
    pub(crate) fn on(&self, row: usize) -> &[u32] {
        &self.on[self.ptr[row]..self.ptr[row + 1]]
    }

    /// Negative gradient of a row: its residual, for the squared error.
    pub(crate) fn gradient(&self, row: usize) -> &[f64] {
        let all = if self.kind == Kind::Squared { &self.values } else { &self.gradients };
        &all[row * self.width..(row + 1) * self.width]
    }

    /// A bound on the curvature of the loss of a row along any direction; the squared error is halved for it.
    pub(crate) fn curvature(&self) -> f64 {
        match self.kind {
            Kind::Squared | Kind::Logistic => 1.0,
            Kind::Softmax(_) => 0.5,
        }
    }

    /// Adds weight × curvature of the loss along each score of a row, no less than what a step by them needs to descend near
    /// the end: twice the diagonal for softmax.
    pub(crate) fn add_curvatures(&self, row: usize, weight: f64, sums: &mut [f64]) {
        let scores = &self.values[row * self.width..(row + 1) * self.width];
        let gradients = self.gradient(row);
        let on = &self.on[self.ptr.get(row).copied().unwrap_or(0)..self.ptr.get(row + 1).copied().unwrap_or(0)];
        match &self.kind {
            Kind::Squared => sums.iter_mut().for_each(|s| *s += weight),
            Kind::Logistic => {
                let curvature = |f: f64| 4.0 * probability(f) * probability(-f);
                sums.iter_mut().zip(scores).for_each(|(s, &f)| *s += weight * curvature(f));
            }
            Kind::Softmax(_) => {
                let mut add = |c: usize, p: f64| sums[c] += 2.0 * weight * p * (1.0 - p);
                gradients
                    .iter()
                    .enumerate()
                    .for_each(|(c, &g)| add(c, if on.contains(&(c as u32)) { 1.0 - g } else { -g }));
            }
        }
    }

    /// Mean loss of training rows, and of those held out: NaN without any.
    pub(crate) fn losses(&self) -> (f64, f64) {
        (self.train_loss / self.total, if self.held_total > 0.0 { self.test_loss / self.held_total } else { f64::NAN })
    }

    /// Whether hardly anything is left of a logistic loss that was `at_first`.
    pub(crate) fn fits_all(&self, at_first: f64) -> bool {
        self.kind != Kind::Squared && self.losses().0 <= LEAST_LOSS * at_first
    }

    pub(crate) fn has_held_out(&self) -> bool {
        self.held_total > 0.0
    }

    /// Adds `amount · direction` to the scores of a row. Returns what that adds to the loss of the row, and writes to
    /// `change` what it adds to the negative gradient.
    pub(crate) fn shift(&mut self, row: usize, amount: f64, direction: &[f64], change: &mut [f64]) -> f64 {
        let range = row * self.width..(row + 1) * self.width;
        if self.kind == Kind::Squared {
            let mut squares = 0.0;
            for ((r, u), change) in self.values[range].iter_mut().zip(direction).zip(&mut *change) {
                let next = *r - amount * u;
                // (r + δ)² − r², without the loss of digits.
                squares += (next - *r) * (next + *r);
                *change = next - *r;
                *r = next;
            }
            self.judge_again(row, Some(squares));
            return squares / 2.0;
        }
        let before = self.loss_of(row);
        self.values[range.clone()].iter_mut().zip(direction).for_each(|(f, u)| *f += amount * u);
        change.copy_from_slice(&self.gradients[range.clone()]);
        self.refresh(row);
        change.iter_mut().zip(&self.gradients[range]).for_each(|(c, g)| *c = g - *c);
        self.judge_again(row, None);
        self.loss_of(row) - before
    }

    /// Tells of a row without kept residuals by how much the sum of their squares has risen. Returns what that adds to the
    /// loss of the row.
    pub(crate) fn add_squares(&mut self, row: usize, squares: f64) -> f64 {
        self.judge_again(row, Some(squares));
        squares / 2.0
    }

    /// Residuals of all rows, of the squared error. Losses are as they were until [`FitRows::recount`].
    pub(crate) fn residuals_mut(&mut self) -> &mut [f64] {
        debug_assert!(self.kind == Kind::Squared);
        &mut self.values
    }

    /// Losses of all rows anew.
    pub(crate) fn recount(&mut self) {
        self.sum_losses();
    }

    /// Negative gradients of the logistic losses from scores.
    fn refresh(&mut self, row: usize) {
        let range = row * self.width..(row + 1) * self.width;
        let on = &self.on[self.ptr.get(row).copied().unwrap_or(0)..self.ptr.get(row + 1).copied().unwrap_or(0)];
        match &self.kind {
            Kind::Squared => {}
            Kind::Logistic => {
                let (scores, gradients) = (&self.values[range.clone()], &mut self.gradients[range]);
                gradients.iter_mut().zip(scores).for_each(|(g, &f)| *g = -2.0 * probability(f));
                on.iter().for_each(|&c| gradients[c as usize] = 2.0 * probability(-scores[c as usize]));
            }
            Kind::Softmax(starts) => {
                let (scores, gradients) = (&self.values[range.clone()], &mut self.gradients[range]);
                for part in starts.windows(2).map(|s| s[0]..s[1]) {
                    softmax::probabilities(&scores[part.clone()], &mut gradients[part]);
                }
                gradients.iter_mut().for_each(|g| *g = -*g);
                on.iter().for_each(|&c| gradients[c as usize] += 1.0);
            }
        }
    }

    /// What is lowered, of one row.
    fn loss_of(&self, row: usize) -> f64 {
        let values = &self.values[row * self.width..(row + 1) * self.width];
        match &self.kind {
            Kind::Squared => values.iter().map(|r| r * r).sum::<f64>() / 2.0,
            Kind::Logistic => {
                // log(1 + e^(2f)), less 2f where the column is 1.
                let off: f64 = values.iter().map(|&f| softplus(2.0 * f)).sum();
                let on = &self.on[self.ptr[row]..self.ptr[row + 1]];
                off - on.iter().map(|&c| 2.0 * values[c as usize]).sum::<f64>()
            }
            Kind::Softmax(starts) => {
                let mut loss = 0.0;
                for (part, &c) in starts.windows(2).map(|s| s[0]..s[1]).zip(&self.on[self.ptr[row]..]) {
                    let largest = values[part.clone()].iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let sum: f64 = values[part].iter().map(|&f| (f - largest).exp()).sum();
                    loss += largest + sum.ln() - values[c as usize];
                }
                loss
            }
        }
    }

    /// Loss of a row as it is reported.
    fn reported(&self, row: usize) -> f64 {
        if self.implicit {
            // Asked for before the first step alone.
            let on = self.on(row).iter().map(|&c| 1.0 - 2.0 * self.start[c as usize]).sum::<f64>();
            return (self.start.iter().map(|b| b * b).sum::<f64>() + on) / self.n_outputs;
        }
        let values = &self.values[row * self.width..(row + 1) * self.width];
        let is_test = self.weight[row] == 0.0;
        let score = |c: usize| match self.kind {
            // Scores from residuals.
            Kind::Squared => {
                let on = self.on[self.ptr[row]..self.ptr[row + 1]].contains(&(c as u32));
                f64::from(u8::from(on)) - values[c]
            }
            _ => values[c],
        };
        match &self.judge {
            Judge::Binary(threshold) if is_test => {
                let on = self.ptr[row] < self.ptr[row + 1];
                f64::from(u8::from((score(0) > *threshold) != on))
            }
            Judge::Classes(starts) if is_test => {
                let mut wrong = 0;
                for (part, &c) in starts.windows(2).map(|s| s[0]..s[1]).zip(&self.on[self.ptr[row]..]) {
                    // The first of the best.
                    let best = part.clone().fold(part.start, |best, c| if score(c) > score(best) { c } else { best });
                    wrong += usize::from(best != c as usize);
                }
                wrong as f64 / (starts.len() - 1) as f64
            }
            _ if self.kind == Kind::Squared => {
                values.iter().zip(&self.scale).map(|(r, s)| (r * s).powi(2)).sum::<f64>() / self.n_outputs
            }
            _ => self.loss_of(row) / self.n_outputs,
        }
    }

    /// Reports the loss of a row anew; `squares`: how much the sum of its squares has risen.
    fn judge_again(&mut self, row: usize, squares: Option<f64>) {
        let (w, v) = (self.weight[row], self.held[row]);
        // In training, squares of columns in the same units follow from how much they rise.
        let added = match squares {
            Some(squares) if self.width == 1 && w > 0.0 => squares * self.scale[0] * self.scale[0],
            Some(squares) if !self.ptr.is_empty() && (w > 0.0 || self.judge == Judge::Loss) => squares / self.n_outputs,
            _ => {
                let loss = self.reported(row);
                let added = loss - self.losses[row];
                self.losses[row] = loss;
                added
            }
        };
        self.train_loss += w * added;
        self.test_loss += v * added;
    }

    fn sum_losses(&mut self) {
        (self.train_loss, self.test_loss) = (0.0, 0.0);
        for i in 0..self.n_rows() {
            self.losses[i] = self.reported(i);
            self.train_loss += self.weight[i] * self.losses[i];
            self.test_loss += self.held[i] * self.losses[i];
        }
    }

    /// Mean loss of rows held out by predictions of a forest (one row of predictions for each of all rows of X), in the
    /// measure of [`FitRows::losses`].
    pub(crate) fn loss_of_predictions(&mut self, predictions: ndarray::ArrayView2<'_, f64>) -> Result<f64> {
        if std::mem::take(&mut self.implicit) {
            self.values = try_matrix(WHAT, self.n_rows(), self.width)?;
        }
        let (width, n_columns) = (self.width, predictions.ncols());
        for i in 0..self.n_rows() {
            let p = predictions.row(self.ids[i] as usize);
            for c in 0..width {
                // The second class of two.
                let p = p[if n_columns == 2 && width == 1 { 1 } else { c }];
                let at = i * width + c;
                self.values[at] = match &self.kind {
                    Kind::Squared if self.ptr.is_empty() => {
                        let y = self.values[at] + self.start[c];
                        y - p / self.scale[c]
                    }
                    Kind::Squared => {
                        let on = self.on[self.ptr[i]..self.ptr[i + 1]].contains(&(c as u32));
                        f64::from(u8::from(on)) - p
                    }
                    // Probabilities of 0 are those of a row that has not been seen.
                    Kind::Logistic => 0.5 * (p.max(LEAST) / (1.0 - p).max(LEAST)).ln(),
                    Kind::Softmax(_) => p.max(LEAST).ln(),
                };
            }
        }
        self.sum_losses();
        Ok(self.losses().1)
    }
}

/// Least probability by which a forest is judged.
const LEAST: f64 = 1e-15;

/// log(1 + e^f).
fn softplus(f: f64) -> f64 {
    f.max(0.0) + (-f.abs()).exp().ln_1p()
}
