//! From data and parameters to trees: what all trees share is prepared once, then each tree is grown on its own.

use std::ops::Range;
use std::sync::Arc;

use super::Forest;
use super::bootstrap::tree_key;
use super::draws::Draws;
use crate::control::Control;
use crate::criterion::Criterion;
use crate::data::dataset::Names;
use crate::data::train_y::TrainY;
use crate::data::{Dataset, Outputs};
use crate::error::{Error, Result};
use crate::forest::config::ForestConfig;
use crate::forest::config::Sampling;
use crate::projection::plan::{Plan, PlanData};
use crate::rng::Key;
use crate::rounds::side_by_side;
use crate::tree::config::TreeConfig;
use crate::tree::grower::{Grower, Sample};
use crate::tree::{Tree, fill};

impl TreeConfig {
    /// Grows one tree on all rows.
    ///
    /// `data` is a [`Dataset`] or a pair of X, (n_samples, n_features), and y. Dense X is copied once unless it is
    /// Fortran-contiguous; sparse X is copied once in the other orientation where growth needs it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] and [`crate::ErrorKind::Shape`] for bad parameters or data,
    /// [`crate::ErrorKind::OutOfMemory`], and [`crate::ErrorKind::Interrupted`] when `control` is stopped.
    pub fn fit<'d>(&self, data: impl Into<Dataset<'d>>, control: &Control) -> Result<Tree> {
        let data = data.into();
        self.check(&data.outputs())?;
        let observed = data.observed()?;
        let data = data.with_observed(observed.as_ref());
        let fit = Fit { sampling: Sampling::All, seed: self.seed, n_trees: 1 };
        TrainingSet::new(self, &data, fit, control)?.grow(self, 0, Key::from_seed(self.seed), control)
    }
}

impl ForestConfig {
    /// Grows the forest. Data and errors as [`TreeConfig::fit`]; trees grow on `control.n_threads()` threads.
    ///
    /// # Errors
    /// As [`TreeConfig::fit`].
    pub fn fit<'d>(&self, data: impl Into<Dataset<'d>>, control: &Control) -> Result<Forest> {
        self.fit_trees(0..self.n_trees, data, control)
    }

    /// Grows some trees of the forest: parts grown apart, [merged](Forest::merge) in order, equal the forest grown at
    /// once.
    ///
    /// # Errors
    /// As [`TreeConfig::fit`].
    pub fn fit_trees<'d>(
        &self,
        trees: Range<usize>,
        data: impl Into<Dataset<'d>>,
        control: &Control,
    ) -> Result<Forest> {
        let data = data.into();
        let outputs = data.outputs();
        self.tree.check(&outputs)?;
        let observed = data.observed()?;
        let data = data.with_observed(observed.as_ref());
        if trees.is_empty() {
            return Err(Error::invalid("n_trees", trees.len(), "at least 1"));
        }
        let fit = Fit { sampling: self.sampling, seed: self.seed, n_trees: trees.len() };
        let training_set = TrainingSet::new(&self.tree, &data, fit, control)?;
        let first = trees.start;
        let trees = side_by_side(trees.len(), control, |i| {
            let key = tree_key(self.seed, first + i);
            training_set.grow(&self.tree, i, key, control).map(Arc::new)
        })?;
        Ok(Forest { n_features: data.n_features(), outputs, trees })
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
    y: TrainY<'a>,
    projection: Option<Plan<'a>>,
    outputs: Outputs,
    draws: Draws<'a, 't>,
    n_samples: usize,
}

impl<'a, 't> TrainingSet<'a, 't> {
    fn new(config: &'a TreeConfig, data: &'a Dataset<'t>, fit: Fit, control: &Control) -> Result<Self> {
        data.check(&Names::TRAINING)?;
        let (x, y, n_samples) = (data.x(), data.y(), data.n_samples());
        let (draws, overall) = Draws::new(x, y, data.row_weights(), fit.sampling)?;
        let targets = data.train_y(overall.as_deref())?;
        if data.known().is_some() && config.ccp_alpha > 0.0 {
            // Pruned leaves would have means of means.
            return Err(Error::invalid("ccp_alpha", config.ccp_alpha, "0 where cells of y are masked"));
        }
        config.criterion.check_targets(&targets, &draws.rows)?;
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
            grower: Grower::new(config, x, control)?.with_categories(data.categories()?),
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
        let projected = projected.map(TrainY::Real);
        let (split_y, criterion) = match &projected {
            Some(projected) => (projected, Criterion::OF_PROJECTIONS),
            None => (&self.y, config.criterion),
        };
        let sample = Sample::new(rows, self.n_samples, units, weights.exact, split_y, weights.workers())?;
        let key = key.child(GROWTH);
        let structure = self.grower.structure(config, split_y, criterion, &sample, key, control)?;
        if let (Some(plan), Some(TrainY::Real(targets))) = (&self.projection, projected) {
            plan.take_back(targets);
        }
        let (units, width) = (&sample.units, self.outputs.width());
        let leaves = fill::leaf_values(&structure, &self.y, units, width, sample.workers, control)?;
        let tree = structure.into_tree(leaves, weights.unit, self.grower.n_features(), self.outputs.clone(), criterion);
        if config.ccp_alpha > 0.0 { tree.pruned(config.ccp_alpha, control) } else { Ok(tree) }
    }
}

/// Purpose of a tree's key.
const GROWTH: u64 = 1;

/// Seconds to arrange x and to grow one tree, with columns carried down or found at each node.
#[cfg(feature = "bench-internals")]
pub(crate) fn seconds_of_tree(config: &TreeConfig, data: &Dataset<'_>, carry: bool) -> Result<f64> {
    let control = Control::default();
    let fit = Fit { sampling: Sampling::All, seed: config.seed, n_trees: 1 };
    let mut training_set = TrainingSet::new(config, data, fit, &control)?;
    let start = std::time::Instant::now();
    training_set.grower = Grower::arranged(data.x(), carry, &control)?.with_categories(data.categories()?);
    std::hint::black_box(training_set.grow(config, 0, Key::from_seed(config.seed), &control)?);
    Ok(start.elapsed().as_secs_f64())
}

/// Seconds that the trees of a forest take to draw their projections and to apply them; not those to grow.
#[cfg(feature = "bench-internals")]
pub(crate) fn seconds_of_projecting(config: &ForestConfig, data: &Dataset<'_>) -> Result<f64> {
    let control = Control::default();
    let fit = Fit { sampling: config.sampling, seed: config.seed, n_trees: config.n_trees };
    let training_set = TrainingSet::new(&config.tree, data, fit, &control)?;
    let Some(plan) = &training_set.projection else { return Ok(0.0) };
    let mut seconds = 0.0;
    for index in 0..config.n_trees {
        let key = tree_key(config.seed, index);
        let rows = training_set.draws.of_tree(key)?.collected_rows()?;
        let start = std::time::Instant::now();
        let targets = plan.targets(key, index, &training_set.y, &rows, &control)?;
        seconds += start.elapsed().as_secs_f64();
        plan.take_back(targets);
    }
    Ok(seconds)
}
