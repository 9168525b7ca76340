//! From data and parameters to trees: what all trees share is prepared once, then each tree is grown on its own.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::Forest;
use super::bootstrap::{Urn, tree_key};
use crate::config::{Criterion, ForestConfig, Sampling, TreeConfig};
use crate::control::Control;
use crate::data::row_weights::{balanced, product};
use crate::data::{ClassWeight, Matrix, Outputs, RowWeights, Targets, Weights};
use crate::error::{Error, Result};
use crate::projection::plan::{Plan, PlanData};
use crate::rng::Key;
use crate::split::dispatch::SplitY;
use crate::tree::grower::{Grower, Sample};
use crate::tree::{Tree, fill};

impl TreeConfig {
    /// Grows one tree on all rows.
    ///
    /// `x` is (n_samples, n_features), `y` has as many rows, `sample_weight` one number for each. Dense x is copied once
    /// unless it is Fortran-contiguous; sparse x is copied once in the other orientation where growth needs it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] and [`crate::ErrorKind::Shape`] for bad parameters or data,
    /// [`crate::ErrorKind::OutOfMemory`], and [`crate::ErrorKind::Interrupted`] when `control` is stopped.
    pub fn fit(
        &self,
        x: &Matrix<'_>,
        y: &Targets<'_>,
        sample_weight: Option<&[f64]>,
        control: &Control,
    ) -> Result<Tree> {
        self.fit_weighted(x, y, sample_weight.into(), control)
    }

    /// As [`TreeConfig::fit`], with class weights.
    ///
    /// # Errors
    /// As [`TreeConfig::fit`].
    pub fn fit_weighted(
        &self,
        x: &Matrix<'_>,
        y: &Targets<'_>,
        weights: RowWeights<'_>,
        control: &Control,
    ) -> Result<Tree> {
        self.check(&y.outputs())?;
        let fit = Fit { sampling: Sampling::All, seed: self.seed, n_trees: 1 };
        let data = TrainingSet::new(self, x, y, weights, fit, control)?;
        data.grow(self, 0, Key::from_seed(self.seed), control)
    }
}

impl ForestConfig {
    /// Grows the forest. Arguments and errors as [`TreeConfig::fit`]; trees grow on `control.n_threads()` threads.
    pub fn fit(
        &self,
        x: &Matrix<'_>,
        y: &Targets<'_>,
        sample_weight: Option<&[f64]>,
        control: &Control,
    ) -> Result<Forest> {
        self.fit_trees(0..self.n_trees, x, y, sample_weight, control)
    }

    /// Grows some trees of the forest: parts grown apart, [merged](Forest::merge) in order, equal the forest grown at
    /// once.
    pub fn fit_trees(
        &self,
        trees: Range<usize>,
        x: &Matrix<'_>,
        y: &Targets<'_>,
        sample_weight: Option<&[f64]>,
        control: &Control,
    ) -> Result<Forest> {
        self.fit_trees_weighted(trees, x, y, sample_weight.into(), control)
    }

    /// As [`ForestConfig::fit_trees`], with class weights.
    ///
    /// # Errors
    /// As [`TreeConfig::fit`].
    pub fn fit_trees_weighted(
        &self,
        trees: Range<usize>,
        x: &Matrix<'_>,
        y: &Targets<'_>,
        weights: RowWeights<'_>,
        control: &Control,
    ) -> Result<Forest> {
        let outputs = y.outputs();
        self.tree.check(&outputs)?;
        if trees.is_empty() {
            return Err(Error::invalid("n_trees", trees.len(), "at least 1"));
        }
        let fit = Fit { sampling: self.sampling, seed: self.seed, n_trees: trees.len() };
        let data = TrainingSet::new(&self.tree, x, y, weights, fit, control)?;
        let first = trees.start;
        let trees = crate::pool::map(control.n_threads(), trees.len(), |i| {
            let key = tree_key(self.seed, first + i);
            let tree = data.grow(&self.tree, i, key, control)?;
            control.one_more_done();
            Ok(Arc::new(tree))
        })?;
        Ok(Forest { n_features: x.n_features(), outputs, trees })
    }
}

/// What balancing classes for one tree needs.
#[derive(Debug)]
struct Rebalance<'a, 't> {
    y: &'a Targets<'t>,
    /// What a draw of each row weighs without its classes.
    base: Option<Vec<f64>>,
    n_draws: usize,
}

impl Rebalance<'_, '_> {
    fn weights(&self, count: impl Fn(usize) -> f64) -> Result<Weights> {
        let base = |row: usize| self.base.as_ref().map_or(1.0, |w| w[row]);
        let factors = balanced(self.y, |row| base(row) * count(row))?;
        let weights = product(self.base.as_deref(), Some(factors.into()));
        Weights::new(weights.as_deref(), self.y.n_samples(), self.n_draws)
    }
}

fn class_weights_checked<'a>(w: &'a [f64], sample_weight: Option<&[f64]>, n_samples: usize) -> Result<&'a [f64]> {
    if w.len() != n_samples {
        return Err(Error::shape("class_weight", n_samples, w.len()));
    }
    let is_there = |row: usize| sample_weight.is_none_or(|s| s[row] > 0.0);
    match w.iter().enumerate().find(|&(row, &w)| is_there(row) && !(w.is_finite() && w > 0.0)) {
        Some((_, bad)) => Err(Error::invalid("class_weight", bad, "finite, positive numbers")),
        None => Ok(w),
    }
}

/// What trees are grown together.
#[derive(Clone, Copy, Debug)]
struct Fit {
    sampling: Sampling,
    seed: u64,
    n_trees: usize,
}

/// What all trees of a forest share.
#[derive(Debug)]
struct TrainingSet<'a, 't> {
    fit: Fit,
    grower: Grower<'a>,
    /// What leaves are labelled from; without a projection, what splits are searched with too.
    y: SplitY<'a>,
    projection: Option<Plan<'a>>,
    outputs: Outputs,
    /// What a draw of each row weighs.
    weights: Weights,
    /// Set when classes are balanced anew for each tree; `weights` then lack them.
    rebalance: Option<Rebalance<'a, 't>>,
    urn: Urn,
    /// Rows of positive weight, rising.
    rows: Vec<u32>,
    n_samples: usize,
}

impl<'a, 't> TrainingSet<'a, 't> {
    fn new(
        config: &'a TreeConfig,
        x: &'a Matrix<'_>,
        y: &'a Targets<'t>,
        row_weights: RowWeights<'_>,
        fit: Fit,
        control: &Control,
    ) -> Result<Self> {
        let (n_samples, n_features) = (x.n_samples(), x.n_features());
        if n_samples == 0 {
            return Err(Error::invalid("X", "0 rows long", "at least one sample"));
        }
        if n_features == 0 {
            return Err(Error::invalid("X", "0 columns wide", "at least one feature"));
        }
        x.check()?;
        y.check(n_samples)?;
        let sample_weight = row_weights.sample_weight;
        Weights::check(sample_weight, n_samples)?;
        let sampling = fit.sampling;
        let urn = Urn::new(x, sample_weight, sampling)?;
        urn.check(sampling)?;
        let n_draws = urn.n_draws(sampling).max(urn.n_rows());
        // What a draw of each row weighs.
        let once = sample_weight.filter(|_| !urn.holds_copies());
        let (by_class, rebalance) = match row_weights.class_weight {
            ClassWeight::Equal => (None, false),
            ClassWeight::Rows(w) => (Some(Cow::Borrowed(class_weights_checked(w, sample_weight, n_samples)?)), false),
            ClassWeight::BalancedSubsample if sampling != Sampling::All => (None, true),
            ClassWeight::Balanced | ClassWeight::BalancedSubsample => {
                (Some(Cow::Owned(balanced(y, |row| sample_weight.map_or(1.0, |w| w[row]))?)), false)
            }
        };
        let overall = product(sample_weight, by_class.clone());
        let base = product(once, by_class);
        let weights = Weights::new(base.as_deref(), n_samples, n_draws)?;
        let rebalance = rebalance.then(|| Rebalance { y, base: once.map(<[f64]>::to_vec), n_draws });
        let rows = urn.rows_rising()?;
        let targets = SplitY::new(y)?;
        let projection = config.output_projection.as_ref().map(|projection| {
            let data = PlanData {
                y: &targets,
                n_outputs: y.outputs().width(),
                n_samples,
                rows: &rows,
                weights: overall.as_deref(),
                seed: fit.seed,
                n_trees: fit.n_trees,
            };
            Plan::new(projection, &data, control)
        });
        let projection = projection.transpose()?;
        Ok(TrainingSet {
            fit,
            grower: Grower::new(config, x, control)?,
            y: targets,
            projection,
            outputs: y.outputs(),
            weights,
            rebalance,
            urn,
            rows,
            n_samples,
        })
    }

    /// Tree `index` of the fit: a function of (data, parameters, key).
    fn grow(&self, config: &TreeConfig, index: usize, key: Key, control: &Control) -> Result<Tree> {
        let counts = self.urn.draw(self.fit.sampling, self.n_samples, key)?;
        let count = |row: usize| counts.as_ref().map_or(1, |c| u64::from(c[row]));
        let own = self.rebalance.as_ref().map(|rebalance| rebalance.weights(|row| count(row) as f64)).transpose()?;
        let weights = own.as_ref().unwrap_or(&self.weights);
        let units = |row: usize| weights.units(row) * count(row);
        let in_bag: Vec<u32>;
        let rows = if counts.is_some() {
            in_bag = self.rows.iter().copied().filter(|&row| count(row as usize) > 0).collect();
            &in_bag
        } else {
            &self.rows
        };
        let projected = self.projection.as_ref().map(|plan| plan.targets(key, index, &self.y, rows, control));
        let projected = projected.transpose()?;
        let projected = projected.map(SplitY::Real);
        let (split_y, criterion) = match &projected {
            Some(projected) => (projected, Criterion::Variance),
            None => (&self.y, config.criterion),
        };
        let sample = Sample::new(rows, self.n_samples, units, weights.exact, split_y)?;
        let key = key.child(GROWTH);
        let structure = self.grower.structure(config, split_y, criterion, &sample, key, control)?;
        if let (Some(plan), Some(SplitY::Real(targets))) = (&self.projection, projected) {
            plan.take_back(targets);
        }
        let leaves = fill::leaf_values(&structure, &self.y, &sample.units, self.outputs.width())?;
        Ok(structure.into_tree(leaves, weights.unit, self.grower.n_features(), self.outputs.clone(), criterion))
    }
}

/// Purpose of a tree's key.
const GROWTH: u64 = 1;

/// Seconds to arrange x and to grow one tree, with columns carried down or found at each node.
#[cfg(feature = "bench-internals")]
pub(crate) fn seconds_of_tree(config: &TreeConfig, x: &Matrix<'_>, y: &Targets<'_>, carry: bool) -> Result<f64> {
    let control = Control::default();
    let fit = Fit { sampling: Sampling::All, seed: config.seed, n_trees: 1 };
    let mut data = TrainingSet::new(config, x, y, None.into(), fit, &control)?;
    let start = std::time::Instant::now();
    data.grower = Grower::arranged(x, carry, &control)?;
    std::hint::black_box(data.grow(config, 0, Key::from_seed(config.seed), &control)?);
    Ok(start.elapsed().as_secs_f64())
}

/// Seconds that the trees of a forest take to draw their projections and to apply them; not those to grow.
#[cfg(feature = "bench-internals")]
pub(crate) fn seconds_of_projecting(config: &ForestConfig, x: &Matrix<'_>, y: &Targets<'_>) -> Result<f64> {
    let control = Control::default();
    let fit = Fit { sampling: config.sampling, seed: config.seed, n_trees: config.n_trees };
    let data = TrainingSet::new(&config.tree, x, y, None.into(), fit, &control)?;
    let Some(plan) = &data.projection else { return Ok(0.0) };
    let mut seconds = 0.0;
    for index in 0..config.n_trees {
        let key = tree_key(config.seed, index);
        let counts = data.urn.draw(config.sampling, data.n_samples, key)?;
        let is_in_bag = |row: &u32| counts.as_ref().is_none_or(|counts| counts[*row as usize] > 0);
        let rows: Vec<u32> = data.rows.iter().copied().filter(is_in_bag).collect();
        let start = std::time::Instant::now();
        let targets = plan.targets(key, index, &data.y, &rows, &control)?;
        seconds += start.elapsed().as_secs_f64();
        plan.take_back(targets);
    }
    Ok(seconds)
}
