//! The samples on which each tree is grown, and their weights: a function of the data, the weights and the key of the
//! tree.

use std::borrow::Cow;

use super::bootstrap::{Population, Urn};
use crate::control::Control;
use crate::data::known::Known;
use crate::data::row_weights::{balanced, product};
use crate::data::{ClassWeight, Matrix, RowWeights, Targets, Weights};
use crate::error::{Error, Purpose, Result};
use crate::forest::config::Sampling;
use crate::rng::Key;

/// The population that the trees of a forest draw from.
#[derive(Debug)]
pub(crate) struct Draws<'a, 't> {
    sampling: Sampling,
    /// The weight of one draw of each sample.
    weights: Weights,
    /// Present if class weights are balanced separately for each tree; `weights` then does not include class weights.
    rebalance: Option<Rebalance<'a, 't>>,
    urn: Urn,
    /// The samples of positive weight, in increasing order.
    pub(crate) rows: Vec<u32>,
    n_samples: usize,
}

/// The draws of one tree.
#[derive(Debug)]
pub(crate) struct Draw<'d, 'a, 't> {
    draws: &'d Draws<'a, 't>,
    /// How often each sample was drawn; `None` if each was drawn once.
    counts: Option<Vec<u32>>,
    own: Option<Weights>,
}

impl<'a, 't> Draws<'a, 't> {
    /// Also returns the weights of all samples, the products of sample and class weights; `None` if all are equal. x
    /// and y must be checked and of the same length; `known` are the known cells of y, if some are not.
    pub(crate) fn new<'w>(
        x: &Matrix<'_>,
        y: &'a Targets<'t>,
        known: Option<&'a Known>,
        row_weights: RowWeights<'w>,
        sampling: Sampling,
        control: &Control,
    ) -> Result<(Self, Option<Cow<'w, [f64]>>)> {
        let n_samples = x.n_samples();
        let sample_weight = row_weights.sample_weight;
        Weights::check(sample_weight, n_samples)?;
        let urn = Urn::new(&Population::new(x, Some(y), known, sample_weight), sampling, control)?;
        urn.check(sampling)?;
        let n_draws = urn.n_draws(sampling).max(urn.n_rows());
        // The weight of one draw of each sample.
        let once = match sample_weight {
            Some(_) if urn.holds_copies() => existing(sample_weight, row_weights.class_weight)?.map(Cow::Owned),
            others => others.map(Cow::Borrowed),
        };
        let (by_class, rebalance) = match row_weights.class_weight {
            ClassWeight::Equal => (None, false),
            ClassWeight::Rows(w) => (Some(Cow::Borrowed(class_weights_checked(w, sample_weight, n_samples)?)), false),
            ClassWeight::BalancedSubsample if sampling != Sampling::All => (None, true),
            ClassWeight::Balanced | ClassWeight::BalancedSubsample => {
                (Some(Cow::Owned(balanced(y, known, |row| sample_weight.map_or(1.0, |w| w[row]))?)), false)
            }
        };
        let overall = product(sample_weight, by_class.as_ref().map(copied).transpose()?)?;
        let base = product(once.as_deref(), by_class)?;
        let weights = Weights::new(base.as_deref(), n_samples, n_draws)?;
        drop(base);
        let rebalance = match rebalance {
            true => {
                let base = once.map(|w| copied(&w).map(Cow::into_owned)).transpose()?;
                Some(Rebalance { y, known, base, n_draws })
            }
            false => None,
        };
        let rows = urn.rows_rising(control)?;
        Ok((Draws { sampling, weights, rebalance, urn, rows, n_samples }, overall))
    }

    /// Returns whether weights are expressed as numbers of draws.
    pub(crate) fn holds_copies(&self) -> bool {
        self.urn.holds_copies()
    }

    /// Returns the draws of the tree with this key.
    pub(crate) fn of_tree(&self, tree: Key, control: &Control) -> Result<Draw<'_, 'a, 't>> {
        let counts = self.urn.draw(self.sampling, self.n_samples, tree, control)?;
        let count = |row: usize| counts.as_ref().map_or(1.0, |c| f64::from(c[row]));
        let own = self.rebalance.as_ref().map(|rebalance| rebalance.weights(count)).transpose()?;
        Ok(Draw { draws: self, counts, own })
    }
}

const PURPOSE: Purpose = Purpose("sample weights");

/// Returns 1 for samples of positive weight and 0 for others, if class weights would otherwise give the latter a
/// weight.
fn existing(sample_weight: Option<&[f64]>, class_weight: ClassWeight<'_>) -> Result<Option<Vec<f64>>> {
    match (sample_weight, class_weight) {
        (None, _) | (_, ClassWeight::Equal) => Ok(None),
        (Some(w), _) if w.iter().all(|&w| w > 0.0) => Ok(None),
        (Some(w), _) => PURPOSE.collected(w.iter().map(|&w| if w > 0.0 { 1.0 } else { 0.0 })).map(Some),
    }
}

/// Copies weights that are owned; borrowed weights are borrowed again.
fn copied<'w>(weights: &Cow<'w, [f64]>) -> Result<Cow<'w, [f64]>> {
    Ok(match weights {
        Cow::Borrowed(weights) => Cow::Borrowed(weights),
        Cow::Owned(weights) => Cow::Owned(PURPOSE.copied(weights)?),
    })
}

impl Draw<'_, '_, '_> {
    /// Returns the weight of one draw of each sample.
    pub(crate) fn weights(&self) -> &Weights {
        self.own.as_ref().unwrap_or(&self.draws.weights)
    }

    /// Returns the weight of a sample in the tree, in units: its weight times the number of draws.
    pub(crate) fn units(&self, row: usize) -> u64 {
        self.weights().units(row) * self.count(row)
    }

    /// Returns whether the tree has every sample of positive weight exactly once.
    pub(crate) fn takes_all(&self) -> bool {
        self.counts.is_none()
    }

    /// Returns the samples of the tree, in increasing order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        self.draws.rows.iter().copied().filter(|&row| self.count(row as usize) > 0)
    }

    /// Returns the samples of the tree as a vector.
    pub(crate) fn collected_rows(&self) -> Result<Vec<u32>> {
        let mut rows = Purpose("rows of a tree").with_capacity(self.rows().count())?;
        rows.extend(self.rows());
        Ok(rows)
    }

    /// Returns how often the tree has each sample; `None` if it has each sample of positive weight once.
    pub(crate) fn counts(&self) -> Option<&[u32]> {
        self.counts.as_deref()
    }

    fn count(&self, row: usize) -> u64 {
        self.counts.as_ref().map_or(1, |counts| u64::from(counts[row]))
    }
}

/// What is needed to balance the classes for one tree.
#[derive(Debug)]
struct Rebalance<'a, 't> {
    y: &'a Targets<'t>,
    known: Option<&'a Known>,
    /// The weight of one draw of each sample, without class weights.
    base: Option<Vec<f64>>,
    n_draws: usize,
}

impl Rebalance<'_, '_> {
    fn weights(&self, count: impl Fn(usize) -> f64) -> Result<Weights> {
        let base = |row: usize| self.base.as_ref().map_or(1.0, |w| w[row]);
        let factors = balanced(self.y, self.known, |row| base(row) * count(row))?;
        let weights = product(self.base.as_deref(), Some(factors.into()))?;
        Weights::new(weights.as_deref(), self.y.n_samples(), self.n_draws)
    }
}

fn class_weights_checked<'a>(w: &'a [f64], sample_weight: Option<&[f64]>, n_samples: usize) -> Result<&'a [f64]> {
    if w.len() != n_samples {
        return Err(Error::shape("class_weight", n_samples, w.len()));
    }
    let is_there = |row: usize| sample_weight.is_none_or(|s| s[row] > 0.0);
    match w.iter().enumerate().find(|&(row, &w)| is_there(row) && !(w.is_finite() && w > 0.0)) {
        Some((_, bad)) => Err(Error::invalid("class_weight", bad, "have finite, positive values")),
        None => Ok(w),
    }
}
