//! The samples to which a model is fitted and on which it is tested: their targets, weights, scores and losses.
//!
//! A sample has one score for each numerical output and label, one for two classes, and otherwise one for each class.
//! Numerical outputs are scaled to unit variance. What is stored for a sample depends on the loss:
//!
//! | type | loss | stored for each sample |
//! |---|---|---|
//! | [`ResidualRows`] | the squared error | residuals, `width` numbers |
//! | [`LabelRows`] | the squared error of many labels that are all known, with stagewise steps | its labels: residuals follow from coefficients (`engine::labels`) |
//! | [`OddsRows`] | a logistic loss | scores and their negative gradients, twice `width` numbers |
//!
//! Labels and classes are stored sparsely in all of them. Labels with different weights have different units (`units`).
//! Unknown cells have a residual or gradient of zero, and are not counted (`unknown`).

mod labels;
mod odds;
mod on;
mod report;
mod residuals;
mod units;
mod unknown;

pub(crate) use labels::LabelRows;
pub(crate) use odds::OddsRows;
pub(crate) use residuals::ResidualRows;

use crate::compress::engine::NARROW;
use crate::compress::{CompressConfig, CompressLoss, CompressMethod};
use crate::control::Control;
use crate::data::known::Known;
use crate::data::targets::{in_columns, n_scores};
use crate::data::train_y::TrainY;
use crate::data::{Outputs, Targets, Weights};
use crate::error::{Error, Purpose, Result};
use crate::exact::{PowerOfTwo, exponent_above};
use ndarray::ArrayView2;
use odds::Odds;
use on::OnColumns;
use report::{Mistakes, Report};
use units::Units;
use unknown::Unknown;

const PURPOSE: Purpose = Purpose("residuals");

/// What all samples have, for any loss.
#[derive(Clone, Debug)]
pub(crate) struct CommonRows {
    /// The number of scores.
    pub(crate) width: usize,
    /// The samples of X with positive weight, in training or held out.
    pub(crate) ids: Vec<u32>,
    /// The training weights; 0 for held-out samples.
    pub(crate) weight: Vec<f64>,
    pub(crate) total: f64,
    /// The unit of each column of scores.
    pub(crate) scale: Vec<f64>,
    /// The constants, in those units.
    pub(crate) start: Vec<f64>,
    /// For each column, the root of the weight of its loss.
    pub(crate) root: Vec<f64>,
    report: Report,
}

impl CommonRows {
    fn new(config: &CompressConfig, y: &Targets<'_>, weight: Option<&[f64]>, held_out: Option<&[f64]>) -> Result<Self> {
        let n = y.n_samples();
        Weights::check(weight, n)?;
        check_held_out(held_out, n)?;
        let of = |w: Option<&[f64]>, absent: f64, i: u32| w.map_or(absent, |w| w[i as usize]);
        let held_of = |i: u32| of(held_out, 0.0, i);
        let weight_of = |i: u32| of(weight, 1.0, i);
        if (0..n as u32).any(|i| held_of(i) > 0.0 && weight_of(i) > 0.0) {
            return Err(Error::invalid(
                "held_out",
                "training samples",
                "have samples with a training weight of 0 only",
            ));
        }
        let mut ids = PURPOSE.with_capacity(n)?;
        ids.extend((0..n as u32).filter(|&i| weight_of(i) > 0.0 || held_of(i) > 0.0));
        let mut weight = PURPOSE.collected(ids.iter().map(|&i| weight_of(i)))?;
        let mut held = PURPOSE.collected(ids.iter().map(|&i| held_of(i)))?;
        let is_far = matches!(y, Targets::Real(y) if y.iter().any(|y| y.abs() > FAR_TARGETS));
        bring_near_one(&mut weight, is_far);
        bring_near_one(&mut held, is_far);
        let outputs = y.outputs();
        let width = n_scores(&outputs);
        let root = match config.output_factors().shares_of_labels_that_count(&outputs)? {
            Some(shares) => PURPOSE.collected(shares.iter().map(|share| share.sqrt()))?,
            None => PURPOSE.filled(1.0, width)?,
        };
        let n_outputs = match (&outputs, config.loss) {
            // The loss of an output of classes is not a sum over its columns.
            (Outputs::Classes { n_classes }, CompressLoss::LogLoss) => n_classes.len() as f64,
            _ => root.iter().map(|root| root * root).sum(),
        };
        Ok(CommonRows {
            width,
            total: weight.iter().sum(),
            scale: units::scales(&root)?,
            start: PURPOSE.filled(0.0, width)?,
            root,
            report: Report::new(held, n_outputs, Mistakes::of(&outputs, config.loss)?)?,
            ids,
            weight,
        })
    }

    fn try_clone(&self) -> Result<Self> {
        Ok(CommonRows {
            ids: PURPOSE.copied(&self.ids)?,
            weight: PURPOSE.copied(&self.weight)?,
            scale: PURPOSE.copied(&self.scale)?,
            start: PURPOSE.copied(&self.start)?,
            root: PURPOSE.copied(&self.root)?,
            report: self.report.try_clone()?,
            ..*self
        })
    }

    fn units(&self) -> Units<'_> {
        Units { root: &self.root, scale: &self.scale }
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.ids.len()
    }

    /// Returns the samples of positive training weight.
    pub(crate) fn of_training(&self) -> Result<Vec<u32>> {
        let mut train = PURPOSE.with_capacity(self.n_rows())?;
        train.extend((0..self.n_rows() as u32).filter(|&i| self.is_training(i as usize)));
        Ok(train)
    }

    fn is_training(&self, row: usize) -> bool {
        self.weight[row] > 0.0
    }

    /// Returns the mean loss of training samples and that of held-out samples, which is NaN if there are none.
    pub(crate) fn losses(&self) -> (f64, f64) {
        self.report.means(self.total)
    }

    pub(crate) fn has_held_out(&self) -> bool {
        self.report.has_held_out()
    }
}

/// Returns an error if there is not one weight for each sample, or if a weight of held-out samples is negative or not
/// finite.
pub(crate) fn check_held_out(held_out: Option<&[f64]>, n_samples: usize) -> Result<()> {
    let Some(held) = held_out else { return Ok(()) };
    if held.len() != n_samples {
        return Err(Error::shape("held_out", n_samples, held.len()));
    }
    match held.iter().find(|v| !v.is_finite() || **v < 0.0) {
        Some(bad) => Err(Error::invalid("held_out", bad, "have finite values of at least 0")),
        None => Ok(()),
    }
}

/// Targets beyond this have squares that leave little room for weights.
const FAR_TARGETS: f64 = 1e100;

/// Weights are not scaled if the largest is between this power of two and its inverse: sums of them times residuals are
/// then normal float32, as scores of nodes are.
const NEAR: i32 = 40;

/// Multiplies weights that are far from one by a common power of two, which does not change the path; with very large
/// targets, so that their total is below one. Positive weights below 2^-40 of the largest are replaced by this value:
/// their share of the total weight is still less than the rounding errors of other nodes.
fn bring_near_one(weights: &mut [f64], is_far: bool) {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 {
        return;
    }
    let exponent = match exponent_above(largest) {
        above if is_far => above + exponent_above(weights.len() as f64),
        above if above.abs() > NEAR => above,
        _ => 0,
    };
    let least = PowerOfTwo::new(-exponent - 40).times(largest);
    weights.iter_mut().filter(|w| **w > 0.0).for_each(|w| *w = PowerOfTwo::new(-exponent).times(*w).max(least));
}

/// Samples with one kind of loss.
pub(crate) trait LossRows: std::fmt::Debug {
    fn rows(&self) -> &CommonRows;

    /// Writes what is stored for a sample whose predictions are `p`: its residuals or its scores.
    fn predicted(&self, row: usize, p: &[f64], out: &mut [f64]);

    /// Returns the reported loss of a sample, from its residuals or its scores.
    fn reported(&self, row: usize, values: &[f64]) -> f64;

    /// Returns a bound on the curvature of the loss of a sample along any direction, where the squared error is
    /// multiplied by one half.
    fn curvature(&self) -> f64;

    /// Returns whether the loss, which was `at_first` for the constant, has nearly vanished.
    fn fits_all(&self, at_first: f64) -> bool;

    /// Returns the mean loss of held-out samples for predictions of a forest (one row of predictions for each sample of
    /// X), in the same measure as [`CommonRows::losses`].
    fn loss_of_predictions(&self, predictions: ArrayView2<'_, f64>) -> Result<f64> {
        let (rows, width) = (self.rows(), self.rows().width);
        let (mut p, mut values) = (PURPOSE.filled(0.0, width)?, PURPOSE.filled(0.0, width)?);
        // If there is one score and two columns, it belongs to the second class.
        let first = if predictions.ncols() == 2 && width == 1 { 1 } else { 0 };
        let mut loss = 0.0;
        for (row, held) in rows.report.held_out() {
            let predicted = predictions.row(rows.ids[row] as usize);
            p.iter_mut().zip(predicted.iter().skip(first)).for_each(|(p, of_forest)| *p = *of_forest);
            self.predicted(row, &p, &mut values);
            loss += held * self.reported(row, &values);
        }
        Ok(rows.report.mean_of_held_out(loss))
    }
}

/// Samples whose negative gradients are stored.
pub(crate) trait Gradients: LossRows {
    /// Returns the negative gradient of a sample: for the squared error, its residual.
    fn gradient(&self, row: usize) -> &[f64];

    /// Adds weight × negative gradient of a sample.
    fn add_gradient(&self, row: usize, sums: &mut [f64]) {
        let w = self.rows().weight[row];
        sums.iter_mut().zip(self.gradient(row)).for_each(|(s, g)| *s += w * g);
    }

    /// Adds `amount · direction` to the scores of a sample. Returns the change of its loss, and writes that of its
    /// negative gradient to `change`.
    fn shift(&mut self, row: usize, amount: f64, direction: &[f64], change: &mut [f64]) -> f64;

    /// Computes the losses of all samples anew.
    fn recount(&mut self);

    fn try_clone(&self) -> Result<Self>
    where
        Self: Sized;
}

/// Samples with any kind of loss.
#[derive(Debug)]
pub(crate) enum FitRows {
    Kept(KeptRows),
    Labels(LabelRows),
}

/// Samples whose negative gradients are stored, with either kind of loss.
#[derive(Clone, Debug)]
pub(crate) enum KeptRows {
    Residuals(ResidualRows),
    Odds(OddsRows),
}

impl FitRows {
    pub(crate) fn new(
        config: &CompressConfig,
        y: &Targets<'_>,
        weight: Option<&[f64]>,
        held_out: Option<&[f64]>,
        known: Option<&Known>,
        control: &Control,
    ) -> Result<Self> {
        let mut rows = CommonRows::new(config, y, weight, held_out)?;
        let unknown = Unknown::new(&mut rows, known, &y.outputs(), config.loss)?;
        let columns = in_columns(y)?;
        let kept = match (TrainY::new(&columns)?, config.loss) {
            // Other losses are not supported for numerical outputs: see `CompressConfig::check`.
            (TrainY::Real(y), CompressLoss::SquaredError | CompressLoss::LogLoss) => {
                KeptRows::Residuals(ResidualRows::of_numbers(rows, &y, unknown, control)?)
            }
            (TrainY::Slots(y), CompressLoss::SquaredError) => {
                let on = OnColumns::new(&y, &rows.ids)?;
                let may_imply = config.may_imply_residuals() && !unknown.is_any();
                if may_imply && rows.width > NARROW && !rows.report.counts_mistakes() {
                    return Ok(FitRows::Labels(LabelRows::new(rows, on)?));
                }
                KeptRows::Residuals(ResidualRows::of_columns(rows, on, unknown, control)?)
            }
            (TrainY::SparseReal(_) | TrainY::MaskedSlots(_) | TrainY::MaskedReal(_), _) => {
                unreachable!("y has no masked or sparse form here, and `known` has the known cells")
            }
            (TrainY::Slots(slots), CompressLoss::LogLoss) => {
                let on = OnColumns::new(&slots, &rows.ids)?;
                KeptRows::Odds(OddsRows::new(rows, on, Odds::of(&y.outputs())?, unknown, control)?)
            }
        };
        Ok(FitRows::Kept(kept))
    }

    pub(crate) fn rows(&self) -> &CommonRows {
        match self {
            FitRows::Kept(kept) => kept.rows(),
            FitRows::Labels(rows) => rows.rows(),
        }
    }

    /// Returns the samples with stored residuals.
    pub(crate) fn kept(self, control: &Control) -> Result<KeptRows> {
        match self {
            FitRows::Kept(kept) => Ok(kept),
            FitRows::Labels(rows) => Ok(KeptRows::Residuals(rows.written_out(control)?)),
        }
    }

    /// See [`LossRows::loss_of_predictions`].
    pub(crate) fn loss_of_predictions(&self, predictions: ArrayView2<'_, f64>) -> Result<f64> {
        match self {
            FitRows::Kept(KeptRows::Residuals(rows)) => rows.loss_of_predictions(predictions),
            FitRows::Kept(KeptRows::Odds(rows)) => rows.loss_of_predictions(predictions),
            FitRows::Labels(rows) => rows.loss_of_predictions(predictions),
        }
    }
}

impl KeptRows {
    pub(crate) fn rows(&self) -> &CommonRows {
        match self {
            KeptRows::Residuals(rows) => rows.rows(),
            KeptRows::Odds(rows) => rows.rows(),
        }
    }
}

impl CompressConfig {
    /// Returns whether each step moves only the samples of one node, and all by the same amount: residuals then follow
    /// from coefficients.
    fn may_imply_residuals(&self) -> bool {
        match self.method {
            CompressMethod::Stagewise { .. } => !self.standardize,
            CompressMethod::Lasso { .. } | CompressMethod::Grow { .. } => false,
        }
    }
}
