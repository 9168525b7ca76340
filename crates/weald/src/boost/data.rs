//! What a stage reads: the samples with y, their weights and their loss, and means of the losses of samples.

use std::ops::Range;

use super::scores::Pass;
use super::scores::held::sweep;
use super::scores::table::TableMoves;
use crate::control::Control;
use crate::data::train_y::TrainY;
use crate::data::{Targets, Weights};
use crate::error::{Purpose, Result};
use crate::exact::exact_mean_of_samples;
use crate::exact::reduce::Reduce;
use crate::loss::kernels::float::Float;
use crate::loss::rows::{RowLoss, RowTargets};
use crate::loss::working::WorkingLoss;

/// The training or held-out samples: everything that stays the same while their scores change.
#[derive(Debug)]
pub(crate) struct Data<'a, T: Float> {
    /// y, a column for each score.
    pub(crate) y: TrainY<'a>,
    pub(crate) loss: &'a WorkingLoss<'a>,
    /// The loss of one sample.
    pub(crate) of_row: Box<dyn RowLoss<T> + 'a>,
    pub(crate) weights: Weights,
    pub(crate) n_samples: usize,
    pub(crate) width: usize,
    /// The weight of each score in the loss of a sample; `None` if all scores have the same weight.
    pub(crate) shares: Option<&'a [f64]>,
}

impl<'a, T: Float> Data<'a, T> {
    /// `y` must have `width` columns.
    pub(crate) fn new(
        y: &'a Targets<'_>,
        (loss, shares): (&'a WorkingLoss<'a>, Option<&'a [f64]>),
        weights: Weights,
        width: usize,
    ) -> Result<Self> {
        let (n_samples, y, of_row) = (y.n_samples(), TrainY::new(y)?, loss.rows(shares));
        Ok(Data { n_samples, y, loss, of_row, weights, width, shares })
    }

    /// Returns the mean loss of all samples by their scores, row-major; `None` if y is unknown for all of them.
    pub(crate) fn mean_loss(&self, scores: &mut [T], control: &Control) -> Result<Option<f64>> {
        let mut pass = Pass::of_losses(control);
        let (losses, _) = sweep::<T, TableMoves<T>>(self, scores, None, &mut pass)?;
        Ok(self.mean_losses(&losses, scores, &pass)?.all)
    }

    /// Returns the means of the losses of samples, of which `losses` has one for each sample and `scores` are the
    /// scores.
    pub(super) fn mean_losses(&self, losses: &[f64], scores: &[T], pass: &Pass<'_>) -> Result<Losses> {
        let (true, TrainY::Real(y)) = (self.loss.skips_unknown(), &self.y) else {
            let n_threads = pass.control.n_threads();
            let out_of_bag = self.out_of_bag_loss(|row| losses[row], pass.out_of_bag, n_threads)?;
            let all = self.mean_loss_in(|row| losses[row], &self.weights, |_| true, n_threads)?;
            return Ok(Losses { all: Some(all), out_of_bag });
        };
        let mean = |weights: &Weights, is_inside: &(dyn Fn(usize) -> bool + Sync)| {
            self.loss.mean_of_known(self.shares, (y, scores), weights, is_inside, pass.control)
        };
        let of_outside = |bag: OutOfBag<'_>| mean(bag.weights(&self.weights), &|row| bag.has(row));
        let out_of_bag = pass.out_of_bag.map(of_outside).transpose()?.flatten();
        Ok(Losses { all: mean(&self.weights, &|_| true)?, out_of_bag })
    }

    /// Returns the mean of the losses of the samples out of bag, all of whose cells must be known; `None` if there are
    /// no such samples.
    pub(crate) fn out_of_bag_loss(
        &self,
        loss: impl Fn(usize) -> f64 + Sync,
        out_of_bag: Option<OutOfBag<'_>>,
        n_threads: usize,
    ) -> Result<Option<f64>> {
        let Some(bag) = out_of_bag else { return Ok(None) };
        let weights = bag.weights(&self.weights);
        let units = (0..self.n_samples).filter(|&row| bag.has(row)).map(|row| i128::from(weights.units(row)));
        if weights.workers().sum_of(units.sum::<i128>())? == 0 {
            return Ok(None);
        }
        self.mean_loss_in(loss, weights, |row| bag.has(row), n_threads).map(Some)
    }

    /// Returns the weighted mean over these samples, divided by the number of scores of a sample.
    fn mean_loss_in(
        &self,
        loss: impl Fn(usize) -> f64 + Sync,
        weights: &Weights,
        is_inside: impl Fn(usize) -> bool + Sync,
        n_threads: usize,
    ) -> Result<f64> {
        let (loss, is_inside) = (&loss, &is_inside);
        let is_there = move |row: &usize| weights.units(*row) > 0 && is_inside(*row);
        let weighted = |rows: Range<usize>| rows.filter(is_there).map(|row| (loss(row), weights.units(row)));
        Ok(exact_mean_of_samples(self.n_samples, weighted, weights.workers(), n_threads)? / self.width as f64)
    }

    /// Returns those of `rows` of which some cell is known; `None` if this is true of all of them.
    pub(crate) fn known_rows(&self, rows: &[u32]) -> Result<Option<Vec<u32>>> {
        let TrainY::Real(y) = &self.y else { return Ok(None) };
        let is_known = |row: &u32| y.of(*row).iter().any(|y| !y.is_nan());
        if !self.loss.skips_unknown() || rows.iter().all(is_known) {
            return Ok(None);
        }
        let mut known = Purpose("the rows of a stage").with_capacity(rows.len())?;
        known.extend(rows.iter().copied().filter(is_known));
        Ok(Some(known))
    }

    pub(crate) fn row(&self, row: usize) -> RowTargets<'_> {
        RowTargets::new(&self.y, row as u32)
    }
}

/// The samples that a stage is not fitted to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OutOfBag<'b> {
    /// Those for which this is false.
    Rows(&'b [bool]),
    /// Copies of samples: these are the weights of those that were not drawn.
    Copies(&'b Weights),
}

impl<'b> OutOfBag<'b> {
    /// Returns the weights of the samples out of bag, of which `all` are the weights in the fit.
    fn weights<'w>(self, all: &'w Weights) -> &'w Weights
    where
        'b: 'w,
    {
        match self {
            OutOfBag::Rows(_) => all,
            OutOfBag::Copies(weights) => weights,
        }
    }

    /// Returns whether a sample, or a copy of it, is out of bag.
    fn has(self, row: usize) -> bool {
        match self {
            OutOfBag::Rows(in_bag) => !in_bag[row],
            OutOfBag::Copies(weights) => weights.units(row) > 0,
        }
    }
}

/// Losses of samples: the mean over the columns of scores of the weighted means over samples. If some cells of y are
/// unknown, the mean of a column is that of its known cells, and columns without a known cell do not count. If scores
/// have different weights, the mean over columns is weighted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Losses {
    /// The loss of all samples; `None` if y is unknown for all of them.
    pub(crate) all: Option<f64>,
    /// The loss of the samples that a stage is not fitted to; `None` if there are no such samples, or if y is unknown
    /// for all of them.
    pub(crate) out_of_bag: Option<f64>,
}
