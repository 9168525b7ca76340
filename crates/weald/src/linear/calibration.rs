//! Probabilities of margins: a logistic function with a slope and an intercept for each column.
//!
//! One line, slope · margin + intercept, is fitted to the held-out margins of all columns by log loss, and then one for each
//! column. Normal distributions of variance 1 around the common line, and around the line of the loss for that, keep
//! columns with few positives near the common line: half the squared distance is added to the loss. Columns with less than
//! a weight of [`POSITIVES`] have the common line. Their fits without a fold have seen far fewer samples of the column than
//! the model has, so that their margins say little about its margins.
//!
//! The classes of an output have lines that are fitted together: see `held_out::classes`.
//!
//! Sources: Platt, *Probabilistic outputs for support vector machines*, 1999; Lin, Lin and Weng, *A note on Platt's
//! probabilistic outputs for support vector machines*, 2007.

use std::cmp::Reverse;

use super::fit::n_blocks;
use super::held_out::HeldOut;
use super::held_out::counts::{Counts, Point};
use super::held_out::folds::Folds;
use super::loss::LinearLoss;
use super::source::{Cells, Source};
use super::{LinearConfig, LinearModel};
use crate::control::Control;
use crate::elementary::{exp, ln_1p, power_of_two};
use crate::error::{Purpose, Result};
use crate::pool;

const PURPOSE: Purpose = Purpose("the calibration of columns");

/// A slope and an intercept for each column: the probability of a margin m is 1 / (1 + exp(−(slope · m + intercept))).
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    pub(crate) slopes: Vec<f32>,
    pub(crate) intercepts: Vec<f32>,
}

impl Calibration {
    /// Returns the slope of each column, which is positive.
    pub fn slopes(&self) -> &[f32] {
        &self.slopes
    }

    /// Returns the intercept of each column.
    pub fn intercepts(&self) -> &[f32] {
        &self.intercepts
    }
}

/// A logistic function of the margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) slope: f64,
    pub(super) intercept: f64,
}

/// The least weight of held-out samples with a column for which it has a line of its own.
pub(super) const POSITIVES: f64 = 20.0;

/// Steps of Newton's method, of which a few are enough as a rule.
pub(super) const STEPS: usize = 50;

/// Larger margins have larger probabilities, whatever the samples say.
pub(super) const LEAST_SLOPE: f64 = 1e-3;

impl Line {
    pub(super) fn score(self, margin: f64) -> f64 {
        self.slope * margin + self.intercept
    }

    fn score_of(self, point: &Point) -> f64 {
        self.score(point.margin) - point.less
    }

    /// Returns the log loss of samples, times their weights.
    pub(super) fn loss(self, points: &[Point]) -> f64 {
        let of_point = |point: &Point| {
            let score = self.score_of(point);
            // ln(1 + e^score) and ln(1 + e^−score).
            let small = ln_1p(exp(-score.abs()));
            point.off * (score.max(0.0) + small) + point.on * ((-score).max(0.0) + small)
        };
        points.iter().map(of_point).sum()
    }

    /// Returns the line with the least loss plus half its squared distance from `prior`, by at most so many steps of
    /// Newton's method from `line` on.
    pub(super) fn fitted(points: &[Point], prior: Line, mut line: Line, n_steps: usize) -> Line {
        let objective = |line: Line| {
            let (slope, intercept) = (line.slope - prior.slope, line.intercept - prior.intercept);
            line.loss(points) + 0.5 * (slope * slope + intercept * intercept)
        };
        let mut least = objective(line);
        for _ in 0..n_steps {
            let (mut slope, mut intercept) = (line.slope - prior.slope, line.intercept - prior.intercept);
            let (mut of_slope, mut of_both, mut of_intercept) = (1.0, 0.0, 1.0);
            for point in points {
                let p = 1.0 / (1.0 + exp(-line.score_of(point)));
                let gradient = (point.on + point.off) * p - point.on;
                let bend = (point.on + point.off) * p * (1.0 - p);
                slope += gradient * point.margin;
                intercept += gradient;
                of_slope += bend * point.margin * point.margin;
                of_both += bend * point.margin;
                of_intercept += bend;
            }
            let determinant = of_slope * of_intercept - of_both * of_both;
            let mut step = (
                (of_intercept * slope - of_both * intercept) / determinant,
                (of_slope * intercept - of_both * slope) / determinant,
            );
            if line.slope <= LEAST_SLOPE && step.0 > 0.0 {
                step = (0.0, intercept / of_intercept);
            }
            let moved = (0..40).map(|halvings| power_of_two(-halvings)).find_map(|part| {
                let slope = (line.slope - part * step.0).max(LEAST_SLOPE);
                let moved = Line { slope, intercept: line.intercept - part * step.1 };
                let value = objective(moved);
                (value < least).then_some((moved, value))
            });
            let Some((moved, value)) = moved else { break };
            let gain = least - value;
            (line, least) = (moved, value);
            if gain <= 1e-12 * least {
                break;
            }
        }
        line
    }
}

/// Columns that stand for all columns, if there are many.
#[derive(Debug)]
pub(super) struct Looked {
    /// `None`: all columns.
    columns: Option<Vec<u32>>,
    /// Whether each of them stands for `factor` columns.
    stands_for_more: Vec<bool>,
    factor: f64,
    /// Columns that are equal to the last of the frequent ones: the calibration of that one is theirs.
    equal: Vec<u32>,
    last: usize,
    /// The line where no samples say anything else.
    start: Line,
}

impl Looked {
    /// Up to `most` columns, all are looked at; of more, as many: half of them the most frequent ones, and half of them
    /// spread over the others by frequency.
    pub(super) fn new(source: &Source<'_>, folds: &Folds, most: usize, loss: LinearLoss) -> Result<Self> {
        let (y, start) = (&source.y, loss.line());
        if y.n_columns <= most {
            let stands_for_more = PURPOSE.filled(false, y.n_columns)?;
            return Ok(Looked { columns: None, stands_for_more, factor: 1.0, equal: Vec::new(), last: 0, start });
        }
        let totals = y.totals(&source.weights)?;
        let mut order = PURPOSE.collected(0..y.n_columns as u32)?;
        let key = |column: u32| (Reverse(totals[column as usize]), folds.fingerprints[column as usize]);
        order.sort_by_key(|&column| key(column));
        let (n_frequent, n_spread) = (most / 2, most - most / 2);
        let rest = y.n_columns - n_frequent;
        let spread = |at: usize| n_frequent + (2 * at + 1) * rest / (2 * n_spread);
        let mut columns = PURPOSE.with_capacity(most)?;
        columns.extend(order[..n_frequent].iter().map(|&column| (column, false)));
        columns.extend((0..n_spread).map(|at| (order[spread(at)], true)));
        columns.sort_unstable();
        let n_equal = order[n_frequent..].partition_point(|&column| key(column) == key(order[n_frequent - 1]));
        Ok(Looked {
            columns: Some(PURPOSE.collected(columns.iter().map(|(column, _)| *column))?),
            stands_for_more: PURPOSE.collected(columns.iter().map(|(_, more)| *more))?,
            factor: rest as f64 / n_spread as f64,
            equal: PURPOSE.copied(&order[n_frequent..n_frequent + n_equal])?,
            last: columns.partition_point(|&(column, _)| column < order[n_frequent - 1]),
            start,
        })
    }

    /// Returns these columns of y, if they are not all of them.
    pub(super) fn of(&self, y: &Cells) -> Result<Option<Cells>> {
        self.columns.as_ref().map(|columns| y.narrowed(columns)).transpose()
    }

    /// Returns the line that columns have in common, and the line of each of these columns with its loss. Columns with less
    /// than a weight of `positives` have the common line.
    fn lines(&self, counts: &Counts, unit: f64, positives: f64, control: &Control) -> Result<(Line, Vec<(Line, f64)>)> {
        let all = counts.together(|column| self.stands_for_more[column], self.factor, unit)?;
        let common = Line::fitted(&all, self.start, self.start, STEPS);
        let lines = pool::map(control.n_threads(), self.stands_for_more.len(), |column| {
            control.check()?;
            let points = counts.of_column(column, unit)?;
            let is_rare = points.iter().map(|point| point.on).sum::<f64>() < positives;
            let line = if is_rare { common } else { Line::fitted(&points, common, common, STEPS) };
            Ok((line, line.loss(&points)))
        })?;
        Ok((common, lines))
    }

    /// Returns the loss of the lines of all columns, each with a total of weights of `weight`, for weight one. It is
    /// rounded to 2⁻⁴⁰, so that its sum does not depend on the order of columns.
    pub(super) fn loss(&self, counts: &Counts, unit: f64, weight: f64, control: &Control) -> Result<f64> {
        let (_, lines) = self.lines(counts, unit, 0.0, control)?;
        let grid = power_of_two(40);
        let of_column = |(&more, &(_, loss)): (&bool, &(Line, f64))| {
            let loss = (loss / weight * if more { self.factor } else { 1.0 } * grid).round();
            loss as i128
        };
        let total: i128 = self.stands_for_more.iter().zip(&lines).map(of_column).sum();
        Ok(total as f64 / grid)
    }

    /// Returns the calibration of all columns.
    pub(super) fn calibration(&self, found: &HeldOut, source: &Source<'_>, control: &Control) -> Result<Calibration> {
        if let Some(classes) = &found.classes {
            let lines = classes.lines(source, self.start, control)?;
            return Ok(Calibration {
                slopes: PURPOSE.collected(lines.iter().map(|line| line.slope as f32))?,
                intercepts: PURPOSE.collected(lines.iter().map(|line| line.intercept as f32))?,
            });
        }
        let n_columns = source.y.n_columns;
        let (common, lines) = self.lines(&found.counts, source.weights.unit, POSITIVES, control)?;
        let mut calibration = Calibration {
            slopes: PURPOSE.filled(common.slope as f32, n_columns)?,
            intercepts: PURPOSE.filled(common.intercept as f32, n_columns)?,
        };
        // Columns that stand for others have the line that the others have.
        for (at, (line, _)) in lines.iter().enumerate().filter(|(at, _)| !self.stands_for_more[*at]) {
            let column = self.columns.as_ref().map_or(at, |columns| columns[at] as usize);
            calibration.slopes[column] = line.slope as f32;
            calibration.intercepts[column] = line.intercept as f32;
        }
        for &column in &self.equal {
            calibration.slopes[column as usize] = lines[self.last].0.slope as f32;
            calibration.intercepts[column as usize] = lines[self.last].0.intercept as f32;
        }
        Ok(calibration)
    }
}

/// Calibration counts the margins of as many folds as have this number of samples.
pub(super) const ENOUGH: usize = 20_000;

/// Of more columns than these, some have a calibration in common.
pub(super) const CALIBRATED: usize = 2048;

impl LinearConfig {
    /// The number of folds of calibration.
    pub(super) const N_FOLDS: usize = 3;

    /// Returns the calibration of all columns by held-out samples, and the models without each of the folds that it counts,
    /// if they have all columns.
    pub(super) fn calibrated(
        &self,
        source: &Source<'_>,
        folds: &Folds,
        control: &Control,
    ) -> Result<(Calibration, Vec<LinearModel>)> {
        let looked = Looked::new(source, folds, CALIBRATED, self.loss)?;
        let narrowed = looked.of(&source.y)?;
        let y = narrowed.as_ref().unwrap_or(&source.y);
        let mut found = HeldOut::new(source, y, folds)?;
        let enough = 0..folds.with_samples(ENOUGH);
        control.expect(n_blocks(y.n_columns) * enough.end);
        found.add(self, (source, y), (folds, enough), control)?;
        if narrowed.is_some() {
            found.models.clear();
        }
        Ok((looked.calibration(&found, source, control)?, found.models))
    }
}
