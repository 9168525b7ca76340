//! The logistic losses, with stored scores and negative gradients of every sample.

use super::on::OnColumns;
use super::residuals::zeros;
use super::units::{Unit, Units};
use super::unknown::{Unknown, UnknownOfRow};
use super::{CommonRows, Gradients, LossRows, PURPOSE};
use crate::control::Control;
use crate::data::Outputs;
use crate::data::targets::{is_binary, starts};
use crate::elementary::ln;
use crate::error::Result;
use crate::loss::{LogLoss, Loss, softmax};

/// The path of a logistic loss ends when this share of the loss of the constant is left, as in glmnet (Friedman, Hastie
/// and Tibshirani 2010): if the samples are separable, the path would never end.
const LEAST_LOSS: f64 = 1e-3;

/// The minimum probability for the loss of a forest: a frequency of 0 belongs to a sample that was not seen in
/// training.
const LEAST: f64 = 1e-15;

/// The meaning of scores.
#[derive(Clone, Debug)]
pub(super) enum Odds {
    /// Half the log-odds of labels, or of the second of two classes.
    Labels,
    /// Scores of the classes of each output, from its first column to that of the next.
    Classes { starts: Vec<usize> },
}

impl Odds {
    pub(super) fn of(outputs: &Outputs) -> Result<Self> {
        match outputs {
            Outputs::Classes { n_classes } if !is_binary(n_classes) => Ok(Odds::Classes { starts: starts(n_classes)? }),
            Outputs::Classes { .. } | Outputs::Labels { .. } | Outputs::Real { .. } => Ok(Odds::Labels),
        }
    }

    /// Sets the best constants, from the weight that is on in each column, and that for which the column is known.
    fn start(&self, on: &[f64], known: &[f64], rows: &mut CommonRows, control: &Control) -> Result<()> {
        match self {
            Odds::Labels => {
                for (column, (&on, &total)) in on.iter().zip(known).enumerate() {
                    let off = (total - on).max(0.0);
                    let start = LogLoss.start(&[-1.0, 1.0], &[off, on], control)?;
                    rows.start[column] = rows.units().of(column).of_path(start);
                }
            }
            Odds::Classes { starts } => {
                for part in parts(starts) {
                    rows.start[part.clone()].copy_from_slice(&softmax::start(&on[part])?);
                }
            }
        }
        Ok(())
    }

    /// Writes the negative gradients of a sample; returns its loss.
    fn gradients(
        &self,
        scores: &[f64],
        on: &[u32],
        unknown: UnknownOfRow<'_>,
        units: Units<'_>,
        out: &mut [f64],
    ) -> f64 {
        match self {
            Odds::Labels => {
                for ((g, &f), unit) in out.iter_mut().zip(scores).zip(units.each()) {
                    *g = unit.root * LogLoss.negative_gradient(OFF, unit.score(f));
                }
                for &c in on {
                    let (c, unit) = (c as usize, units.of(c as usize));
                    out[c] = unit.root * LogLoss.negative_gradient(ON, unit.score(scores[c]));
                }
                unknown.clear(out);
                self.loss(scores, on, unknown, units)
            }
            Odds::Classes { starts } => {
                let mut loss = 0.0;
                for (part, class) in parts(starts).zip(classes(starts, on)) {
                    if !unknown.is_known(part.start) {
                        out[part].fill(0.0);
                        continue;
                    }
                    loss += softmax::negative_gradients(class, &scores[part.clone()], &mut out[part]);
                }
                loss
            }
        }
    }

    /// Returns the loss of a sample. `on` must not have unknown labels.
    fn loss(&self, scores: &[f64], on: &[u32], unknown: UnknownOfRow<'_>, units: Units<'_>) -> f64 {
        match self {
            Odds::Labels => {
                // ℓ(1, f) = ℓ(−1, f) − 2f.
                let of_units = scores.iter().zip(units.each()).enumerate().filter(|(c, _)| unknown.is_known(*c));
                let off: f64 = of_units.map(|(_, (&f, unit))| unit.weight() * LogLoss.value(OFF, unit.score(f))).sum();
                let of_on = |unit: Unit, f: f64| unit.weight() * 2.0 * unit.score(f);
                off - on.iter().map(|&c| of_on(units.of(c as usize), scores[c as usize])).sum::<f64>()
            }
            Odds::Classes { starts } => {
                let known = parts(starts).zip(classes(starts, on)).filter(|(part, _)| unknown.is_known(part.start));
                known.map(|(part, class)| softmax::loss(class, &scores[part])).sum()
            }
        }
    }
}

/// y of a label that is off, and of one that is on.
const OFF: f64 = -1.0;
const ON: f64 = 1.0;

/// Returns the columns of each output.
fn parts(starts: &[usize]) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    starts.windows(2).map(|s| s[0]..s[1])
}

/// Returns the class of each output, from the columns that are on.
fn classes<'a>(starts: &'a [usize], on: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
    on.iter().zip(starts).map(|(&c, start)| c as usize - start)
}

/// The samples, their scores and negative gradients.
#[derive(Clone, Debug)]
pub(crate) struct OddsRows {
    rows: CommonRows,
    odds: Odds,
    /// Scores and gradients, sample after sample.
    scores: Vec<f64>,
    gradients: Vec<f64>,
    /// The loss of each sample.
    lowered: Vec<f64>,
    on: OnColumns,
    /// Gradients of unknown cells stay zero. Their scores move, and have no effect.
    unknown: Unknown,
}

impl OddsRows {
    pub(super) fn new(
        mut rows: CommonRows,
        on: OnColumns,
        odds: Odds,
        unknown: Unknown,
        control: &Control,
    ) -> Result<Self> {
        let width = rows.width;
        let (of_on, of_known) = (on.weights(&rows.weight, width, &unknown)?, unknown.weights_of_known(&rows)?);
        odds.start(&of_on, &of_known, &mut rows, control)?;
        let (mut scores, mut gradients) = (zeros(&rows, control)?, zeros(&rows, control)?);
        let mut lowered = PURPOSE.filled(0.0, rows.n_rows())?;
        for (row, (f, g)) in scores.chunks_exact_mut(width).zip(gradients.chunks_exact_mut(width)).enumerate() {
            f.copy_from_slice(&rows.start);
            lowered[row] = odds.gradients(f, on.of(row), unknown.of(row, width), rows.units(), g);
        }
        let mut this = OddsRows { rows, odds, scores, gradients, lowered, on, unknown };
        this.recount();
        Ok(this)
    }

    fn scores(&self, row: usize) -> &[f64] {
        &self.scores[row * self.rows.width..(row + 1) * self.rows.width]
    }

    /// Adds weight × curvature of the loss along each score of a sample, at least as large as a step needs to descend
    /// near the end: for softmax, twice the diagonal.
    pub(crate) fn add_curvatures(&self, row: usize, weight: f64, sums: &mut [f64]) {
        match &self.odds {
            Odds::Labels => {
                let scores = self.scores(row).iter().zip(self.rows.units().each());
                for (sum, (&f, unit)) in sums.iter_mut().zip(scores) {
                    *sum += weight * unit.curvature(LogLoss.curvature(OFF, unit.score(f)));
                }
            }
            Odds::Classes { .. } => {
                let on = self.on.of(row);
                for (c, (sum, &g)) in sums.iter_mut().zip(self.gradient(row)).enumerate() {
                    // p and 1 − p, each without loss of digits.
                    let (p, rest) = if on.contains(&(c as u32)) { (1.0 - g, g) } else { (-g, 1.0 + g) };
                    *sum += 2.0 * weight * p * rest;
                }
            }
        }
    }
}

impl LossRows for OddsRows {
    fn rows(&self) -> &CommonRows {
        &self.rows
    }

    fn predicted(&self, _: usize, p: &[f64], out: &mut [f64]) {
        for ((f, p), unit) in out.iter_mut().zip(p).zip(self.rows.units().each()) {
            *f = match self.odds {
                Odds::Labels => unit.of_path(0.5 * ln(p.max(LEAST) / (1.0 - p).max(LEAST))),
                Odds::Classes { .. } => ln(p.max(LEAST)),
            };
        }
    }

    fn reported(&self, row: usize, scores: &[f64]) -> f64 {
        let (on, unknown) = (self.on.of(row), self.unknown.of(row, self.rows.width));
        let sum = match &self.rows.report.mistakes {
            Some(mistakes) if !self.rows.is_training(row) => mistakes.count(|c| scores[c], on, unknown),
            Some(_) | None => self.odds.loss(scores, on, unknown, self.rows.units()),
        };
        sum / self.rows.report.n_outputs_of(row)
    }

    fn curvature(&self) -> f64 {
        match self.odds {
            Odds::Labels => 1.0,
            Odds::Classes { .. } => 0.5,
        }
    }

    fn fits_all(&self, at_first: f64) -> bool {
        self.rows.losses().0 <= LEAST_LOSS * at_first
    }
}

impl Gradients for OddsRows {
    #[inline]
    fn gradient(&self, row: usize) -> &[f64] {
        &self.gradients[row * self.rows.width..(row + 1) * self.rows.width]
    }

    fn shift(&mut self, row: usize, amount: f64, direction: &[f64], change: &mut [f64]) -> f64 {
        let range = row * self.rows.width..(row + 1) * self.rows.width;
        let (scores, gradients) = (&mut self.scores[range.clone()], &mut self.gradients[range]);
        let (on, unknown) = (self.on.of(row), self.unknown.of(row, self.rows.width));
        scores.iter_mut().zip(direction).for_each(|(f, u)| *f += amount * u);
        change.copy_from_slice(gradients);
        let after = self.odds.gradients(scores, on, unknown, self.rows.units(), gradients);
        let before = std::mem::replace(&mut self.lowered[row], after);
        change.iter_mut().zip(&*gradients).for_each(|(c, g)| *c = g - *c);
        let reported = match &self.rows.report.mistakes {
            Some(mistakes) if !self.rows.is_training(row) => mistakes.count(|c| scores[c], on, unknown),
            Some(_) | None => after,
        };
        let divisor = self.rows.report.n_outputs_of(row);
        self.rows.report.set(row, self.rows.weight[row], reported / divisor);
        after - before
    }

    fn recount(&mut self) {
        self.rows.report.clear();
        for row in 0..self.rows.n_rows() {
            let loss = self.reported(row, self.scores(row));
            self.rows.report.put(row, self.rows.weight[row], loss);
        }
    }

    fn try_clone(&self) -> Result<Self> {
        Ok(OddsRows {
            rows: self.rows.try_clone()?,
            odds: self.odds.clone(),
            scores: PURPOSE.copied(&self.scores)?,
            gradients: PURPOSE.copied(&self.gradients)?,
            lowered: PURPOSE.copied(&self.lowered)?,
            on: self.on.try_clone()?,
            unknown: self.unknown.try_clone()?,
        })
    }
}
