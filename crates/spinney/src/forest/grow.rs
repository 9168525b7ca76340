//! From data and parameters to trees: what all trees share is prepared once, then each tree is grown on its own.

use std::ops::Range;
use std::sync::Arc;

use super::Forest;
use super::bootstrap::tree_key;
use super::draws::Draws;
use crate::config::{Criterion, ForestConfig, Sampling, TreeConfig};
use crate::control::Control;
use crate::data::{Matrix, Outputs, RowWeights, Targets};
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
    grower: Grower<'a>,
    /// What leaves are labelled from; without a projection, what splits are searched with too.
    y: SplitY<'a>,
    projection: Option<Plan<'a>>,
    outputs: Outputs,
    draws: Draws<'a, 't>,
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
        let (draws, overall) = Draws::new(x, y, row_weights, fit.sampling)?;
        let targets = SplitY::new(y)?;
        let projection = config.output_projection.as_ref().map(|projection| {
            let data = PlanData {
                y: &targets,
                n_outputs: y.outputs().width(),
                n_samples,
                rows: &draws.rows,
                weights: overall.as_deref(),
                seed: fit.seed,
                n_trees: fit.n_trees,
            };
            Plan::new(projection, &data, control)
        });
        let projection = projection.transpose()?;
        Ok(TrainingSet {
            grower: Grower::new(config, x, control)?,
            y: targets,
            projection,
            outputs: y.outputs(),
            draws,
            n_samples,
        })
    }

    /// Tree `index` of the fit: a function of (data, parameters, key).
    fn grow(&self, config: &TreeConfig, index: usize, key: Key, control: &Control) -> Result<Tree> {
        let draw = self.draws.of_tree(key)?;
        let (weights, units) = (draw.weights(), |row: usize| draw.units(row));
        let in_bag: Vec<u32>;
        let rows = if draw.takes_all() {
            &self.draws.rows
        } else {
            in_bag = draw.collected_rows()?;
            &in_bag
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
        let tree = structure.into_tree(leaves, weights.unit, self.grower.n_features(), self.outputs.clone(), criterion);
        if config.ccp_alpha > 0.0 { tree.pruned(config.ccp_alpha, control) } else { Ok(tree) }
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
        let rows = data.draws.of_tree(key)?.collected_rows()?;
        let start = std::time::Instant::now();
        let targets = plan.targets(key, index, &data.y, &rows, &control)?;
        seconds += start.elapsed().as_secs_f64();
        plan.take_back(targets);
    }
    Ok(seconds)
}
