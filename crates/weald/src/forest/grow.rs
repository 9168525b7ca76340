//! Fits trees and forests: what all trees share is prepared once, then each tree is grown independently.

use std::ops::Range;
use std::sync::Arc;

use super::Forest;
use super::bootstrap::tree_key;
use super::draws::Draws;
use crate::control::Control;
use crate::criterion::{Criterion, LeafValues};
use crate::data::dataset::Names;
use crate::data::sparse_targets::SparseNumbers;
use crate::data::train_y::TrainY;
use crate::data::{Dataset, Matrix, Outputs, SparseTargets, Targets, Weights};
use crate::error::{Error, Purpose, Result};
use crate::exact::reduce::Workers;
use crate::forest::config::ForestConfig;
use crate::forest::config::Sampling;
use crate::pool;
use crate::projection::plan::{Plan, PlanData};
use crate::rng::Key;
use crate::rounds::side_by_side;
use crate::tree::config::TreeConfig;
use crate::tree::constraints::MonotonicColumns;
use crate::tree::growth::grower::{Grower, Sample, TreeTargets};
use crate::tree::{Tree, fill};

impl TreeConfig {
    /// Fits one tree to all samples, on the threads of the control. The upper nodes are grown on one thread, and the
    /// subtrees below them in parallel; with `max_leaf_nodes` or constraints, the whole tree is grown on one thread.
    ///
    /// `data` is a [`Dataset`] or a pair of X, (n_samples, n_features), and y. Dense X is copied once unless it is
    /// Fortran-contiguous; sparse X is copied once in the other orientation if growth needs it.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] or [`crate::ErrorKind::Shape`] if parameters or data are not valid,
    /// [`crate::ErrorKind::OutOfMemory`] when there is not enough memory, and [`crate::ErrorKind::Interrupted`] when
    /// its control is stopped.
    pub fn fit<'d>(&self, data: impl Into<Dataset<'d>>) -> Result<Tree> {
        let data = data.into();
        let control = &data.under();
        self.check(&data.outputs())?;
        let observed = data.observed()?;
        self.check_constraints(&data, observed.is_some())?;
        let data = data.with_observed(observed.as_ref());
        let restored = data.restored(self.criterion.takes_entries())?;
        let data = data.with_restored(restored.as_ref());
        let fit = Fit { sampling: Sampling::All, seed: self.seed, n_trees: 1, is_alone: true };
        pool::within(control.n_threads(), || {
            TrainingSet::new(self, &data, fit, control)?.grow(self, 0, Key::from_seed(self.seed), control)
        })
    }
}

impl ForestConfig {
    /// Fits the forest. Trees are grown on the threads of the control. See [`TreeConfig::fit`] about
    /// `data`.
    ///
    /// # Errors
    /// The same as for [`TreeConfig::fit`].
    pub fn fit<'d>(&self, data: impl Into<Dataset<'d>>) -> Result<Forest> {
        self.fit_trees(0..self.n_trees, data)
    }

    /// Fits some of the trees of the forest, those with the given indices. Parts that are fitted separately and then
    /// [merged](Forest::merge) in order are equal to the forest that is fitted at once.
    ///
    /// # Errors
    /// The same as for [`TreeConfig::fit`].
    pub fn fit_trees<'d>(&self, trees: Range<usize>, data: impl Into<Dataset<'d>>) -> Result<Forest> {
        let data = data.into();
        let control = &data.under();
        let outputs = data.outputs();
        self.tree.check(&outputs)?;
        let observed = data.observed()?;
        self.tree.check_constraints(&data, observed.is_some() && !self.separates(&outputs))?;
        let data = data.with_observed(observed.as_ref());
        if trees.is_empty() {
            return Err(Error::invalid("n_trees", trees.len(), "be at least 1"));
        }
        if self.separates(&outputs) {
            return self.fit_by_output(trees, &data, control);
        }
        let restored = data.restored(self.tree.criterion.takes_entries())?;
        let data = data.with_restored(restored.as_ref());
        let fit = Fit { sampling: self.sampling, seed: self.seed, n_trees: trees.len(), is_alone: false };
        let training_set = TrainingSet::new(&self.tree, &data, fit, control)?;
        let first = trees.start;
        let of_tree = control.shared_by(trees.len());
        let trees = side_by_side(trees.len(), control, |i| {
            let key = tree_key(self.seed, first + i);
            training_set.grow(&self.tree, i, key, &of_tree).map(Arc::new)
        })?;
        Ok(Forest { n_features: data.n_features(), outputs, trees, by_output: false })
    }
}

/// What is computed before the trees are grown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub(super) sampling: Sampling,
    pub(super) seed: u64,
    pub(super) n_trees: usize,
    /// Whether there is one tree, and no ensemble that it is part of.
    pub(super) is_alone: bool,
}

/// The data that all trees of a forest share.
#[derive(Debug)]
pub(super) struct TrainingSet<'a, 't> {
    grower: Arc<Grower<'a>>,
    /// The targets from which the values of leaves are computed.
    y: TrainY<'a>,
    /// The targets from which splits are searched, possibly after a projection, if they differ from y: labels with
    /// their weights.
    weighted: Option<TrainY<'a>>,
    projection: Option<Plan<'a>>,
    outputs: Outputs,
    monotonic: Option<MonotonicColumns>,
    draws: Draws<'a, 't>,
    n_samples: usize,
}

impl<'a, 't> TrainingSet<'a, 't> {
    fn new(config: &'a TreeConfig, data: &'a Dataset<'t>, fit: Fit, control: &Control) -> Result<Self> {
        TrainingSet::with_grower(config, data, fit, None, control)
    }

    /// Like [`TrainingSet::new`], with a grower that others share, if it is given: that of the same X, parameters and
    /// weights.
    pub(super) fn with_grower(
        config: &'a TreeConfig,
        data: &'a Dataset<'t>,
        fit: Fit,
        grower: Option<Arc<Grower<'a>>>,
        control: &Control,
    ) -> Result<Self> {
        data.check(&Names::TRAINING)?;
        let (x, y, n_samples) = (data.x(), data.y(), data.n_samples());
        let (draws, overall) = Draws::new(x, y, data.known(), data.row_weights(), fit.sampling, control)?;
        let targets = match (data.known(), y) {
            (Some(known), Targets::Labels(_))
                if config.criterion == Criterion::Gini
                    && (known.has_factors() || known.are_few(&Weights::of_rows(overall.as_deref(), n_samples)?)) =>
            {
                data.labels_as_numbers(known, overall.as_deref())?
            }
            _ => data.train_y(overall.as_deref())?,
        };
        if data.known().is_some() && config.ccp_alpha > 0.0 {
            // The values of pruned leaves would be means of means.
            return Err(Error::invalid("ccp_alpha", config.ccp_alpha, "be 0 if y has masked cells"));
        }
        config.criterion.check_targets(&targets, &draws.rows)?;
        let grower = match grower {
            Some(grower) => grower,
            None => {
                let samples = (&draws.rows[..], overall.as_deref());
                let grower = grower_of(config, x, data.categories()?, samples, control)?;
                Arc::new(if fit.is_alone { grower.alone() } else { grower })
            }
        };
        let factors = config.output_factors();
        let factors = if factors.are_given() {
            factors.of(&targets, &draws.rows, &Weights::of_rows(overall.as_deref(), n_samples)?, control)?
        } else {
            None
        };
        let (targets, weighted) = match (factors, y, data.known()) {
            (None, ..) => (targets, None),
            (Some(factors), Targets::Labels(_), Some(known)) => {
                // Equal weights choose the splits of labels without weights, to the bit.
                let is_weighted = factors.iter().any(|&factor| factor != 1.0);
                let numbers = is_weighted.then(|| data.labels_as_numbers(known, overall.as_deref())).transpose()?;
                (targets, numbers.map(|numbers| numbers.times(factors)))
            }
            (Some(factors), Targets::Labels(y), None) => {
                let numbers = SparseNumbers::new(SparseTargets::of_labels(y)?);
                (targets, Some(TrainY::SparseReal(numbers.times(factors))))
            }
            (Some(factors), ..) => (targets.times(factors), None),
        };
        let projection = config.output_projection.as_ref().map(|projection| {
            let data = PlanData {
                y: weighted.as_ref().unwrap_or(&targets),
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
            grower,
            y: targets,
            weighted,
            projection,
            outputs: y.outputs(),
            monotonic: config.directions(&y.outputs())?,
            draws,
            n_samples,
        })
    }

    /// Grows tree `index` of the fit: a function of (data, parameters, key).
    pub(super) fn grow(&self, config: &TreeConfig, index: usize, key: Key, control: &Control) -> Result<Tree> {
        let draw = self.draws.of_tree(key, control)?;
        let (weights, units) = (draw.weights(), |row: usize| draw.units(row));
        let in_bag: Vec<u32>;
        let rows = if draw.takes_all() {
            &self.draws.rows
        } else {
            in_bag = draw.collected_rows()?;
            &in_bag
        };
        let searched = self.weighted.as_ref().unwrap_or(&self.y);
        let projected = self.projection.as_ref().map(|plan| plan.targets(key, index, searched, rows, control));
        let projected = projected.transpose()?.flatten();
        let projected = projected.map(TrainY::Real);
        let (split_y, criterion) = match &projected {
            Some(projected) => (projected, Criterion::OF_PROJECTIONS),
            None if self.weighted.is_some() => (searched, Criterion::OF_PROJECTIONS),
            None => (&self.y, config.criterion),
        };
        let sample = Sample::new(
            rows,
            self.n_samples,
            units,
            (weights.of_one(), weights.exact),
            split_y,
            weights.workers(),
            control.n_threads(),
        )?;
        let key = key.child(GROWTH);
        let monotonic = self.monotonic.as_ref();
        let targets = TreeTargets { y: split_y, criterion, monotonic };
        let structure = self.grower.structure(config, &targets, &sample, key, control)?;
        if let (Some(plan), Some(TrainY::Real(targets))) = (&self.projection, projected) {
            plan.take_back(targets);
        }
        // Unlike means and counts, the medians of an inner node cannot be computed from those of its leaves: the tree
        // is pruned before its leaves are computed.
        let is_pruned_first = config.ccp_alpha > 0.0 && criterion.leaf_values() == LeafValues::Medians;
        let structure = if is_pruned_first { structure.pruned(config.ccp_alpha, control)? } else { structure };
        let (units, width) = (&sample.units, self.outputs.width());
        let targets = TreeTargets { y: &self.y, criterion, monotonic };
        let leaves = fill::leaf_values(&structure, &targets, units, width, sample.workers, control)?;
        let tree = structure.into_tree(leaves, weights.unit, self.grower.n_features(), self.outputs.clone(), criterion);
        if config.ccp_alpha > 0.0 && !is_pruned_first { tree.pruned(config.ccp_alpha, control) } else { Ok(tree) }
    }
}

/// Returns what grows trees on X. Samples are given by their indices, those of positive weight, and the weights of all.
pub(super) fn grower_of<'a>(
    config: &TreeConfig,
    x: &'a Matrix<'_>,
    categories: Option<Vec<bool>>,
    (rows, weights): (&[u32], Option<&[f64]>),
    control: &Control,
) -> Result<Grower<'a>> {
    let units = units_of(rows, weights, x.n_samples(), config.max_bins.is_some())?;
    let of_trees = (x.n_features(), false);
    Grower::binned_of(&Workers::One, config, x, of_trees, config.max_bins, categories, |row| units[row], control)
}

/// Returns the weight of each sample in the bins of all trees, which is zero outside `rows`; nothing if there are no bins.
fn units_of(rows: &[u32], weights: Option<&[f64]>, n_samples: usize, has_bins: bool) -> Result<Vec<u64>> {
    if !has_bins {
        return Ok(Vec::new());
    }
    let weights = Weights::of_rows(weights, n_samples)?;
    let mut units = Purpose("the weights of samples in bins").filled(0, n_samples)?;
    rows.iter().for_each(|&row| units[row as usize] = weights.units(row as usize));
    Ok(units)
}

/// Purpose of the key of a tree.
const GROWTH: u64 = 1;

/// Measures the seconds to arrange X and to grow one tree, with the columns carried down the tree or gathered at each
/// node.
#[cfg(feature = "bench-internals")]
pub(crate) fn seconds_of_tree(config: &TreeConfig, data: &Dataset<'_>, carry: bool) -> Result<f64> {
    let control = Control::default();
    let fit = Fit { sampling: Sampling::All, seed: config.seed, n_trees: 1, is_alone: true };
    let mut training_set = TrainingSet::new(config, data, fit, &control)?;
    let start = std::time::Instant::now();
    training_set.grower = Grower::arranged(data.x(), carry, &control)?.with_categories(data.categories()?).into();
    std::hint::black_box(training_set.grow(config, 0, Key::from_seed(config.seed), &control)?);
    Ok(start.elapsed().as_secs_f64())
}

/// Measures the seconds that the trees of a forest take to draw their projections and to apply them, without the
/// growth.
#[cfg(feature = "bench-internals")]
pub(crate) fn seconds_of_projecting(config: &ForestConfig, data: &Dataset<'_>) -> Result<f64> {
    let control = Control::default();
    let fit = Fit { sampling: config.sampling, seed: config.seed, n_trees: config.n_trees, is_alone: false };
    let training_set = TrainingSet::new(&config.tree, data, fit, &control)?;
    let Some(plan) = &training_set.projection else { return Ok(0.0) };
    let mut seconds = 0.0;
    for index in 0..config.n_trees {
        let key = tree_key(config.seed, index);
        let rows = training_set.draws.of_tree(key, &control)?.collected_rows()?;
        let start = std::time::Instant::now();
        let targets = plan.targets(key, index, &training_set.y, &rows, &control)?;
        seconds += start.elapsed().as_secs_f64();
        targets.into_iter().for_each(|targets| plan.take_back(targets));
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis};
    use proptest::prelude::*;

    use super::*;
    use crate::data::OutputScaling;
    use crate::projection::{OutputProjection, Projection};
    use crate::rng::Stream;
    use crate::testing::{grown, models};

    fn projections(d: usize) -> Vec<Option<OutputProjection>> {
        let with = |projection| Some(OutputProjection::new(projection).n_projections(d.min(2)));
        vec![None, with(Projection::Gaussian), with(Projection::Hadamard), with(Projection::Pca)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn structures_are_those_of_multiplied_targets_and_leaves_have_the_targets(
            seed in 0u64..10_000, n in 2usize..60, d in 1usize..4, projection in 0usize..4, random in any::<bool>(),
        ) {
            let mut stream = Stream::new(Key::from_seed(seed));
            let x = models::rows(seed, n, 3).c_order;
            let y = Array2::from_shape_simple_fn((n, d), || stream.below(20) as f64 / 3.0);
            let weights: Vec<f64> = (0..n).map(|i| if i == 0 { 1.0 } else { stream.below(3) as f64 }).collect();
            let scales: Vec<f64> = (0..d).map(|_| [1e-3, 0.7, 1.0, 30.0][stream.below(4) as usize]).collect();
            let of_outputs: Vec<f64> =
                (0..d).map(|j| (j as f64 + stream.below(3) as f64).max(f64::from(j == 0))).collect();
            let total: f64 = of_outputs.iter().map(|w| w / of_outputs.iter().copied().fold(0.0, f64::max)).sum();
            let largest = of_outputs.iter().copied().fold(0.0, f64::max);
            let factor = |j: usize| (of_outputs[j] / largest * d as f64 / total).sqrt() / scales[j];
            let multiplied = Array2::from_shape_fn((n, d), |(i, j)| y[[i, j]] * factor(j));
            let of_kind = if random { ForestConfig::extra_trees } else { ForestConfig::random_forest };
            // A bootstrap would draw samples by their values, which differ.
            let config = of_kind(Criterion::Variance).n_trees(3).seed(seed).sampling(Sampling::All);
            let config = config.output_projection(projections(d)[projection].clone());
            let given = config.clone().output_scaling(scales.clone()).output_weights(of_outputs.clone());
            let scaled = given.fit(Dataset::new(&x, &y).sample_weight(&weights[..])).unwrap();
            let plain = config.fit(Dataset::new(&x, &multiplied).sample_weight(&weights[..])).unwrap();
            for (a, b) in scaled.trees().iter().zip(plain.trees()) {
                prop_assert_eq!(&a.nodes, &b.nodes);
                prop_assert_eq!((&a.impurity, &a.n_node_samples), (&b.impurity, &b.n_node_samples));
            }
            let (of_scaled, of_plain) = (scaled.predict(&x).unwrap(), plain.predict(&x).unwrap());
            for ((i, j), value) in of_scaled.indexed_iter() {
                // Products are rounded. They are means of about ten numbers below 7.
                let expected = of_plain[[i, j]] / factor(j);
                prop_assert!(factor(j) == 0.0 || (value - expected).abs() < 1e-12, "{value} {expected}");
            }

            // Deviations only depend on samples and weights: the forest of repeated samples is the same.
            let rule = config.output_scaling(OutputScaling::Variance);
            let rows: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
            let by_weight = rule.fit(Dataset::new(&x, &y).sample_weight(&weights[..])).unwrap();
            let (x_rows, y_rows) = (x.select(Axis(0), &rows), y.select(Axis(0), &rows));
            let repeated = rule.fit((&x_rows, &y_rows, &Control::with_threads(2))).unwrap();
            for (a, b) in by_weight.trees().iter().zip(repeated.trees()) {
                prop_assert_eq!(&a.nodes, &b.nodes);
                prop_assert_eq!(&a.impurity, &b.impurity);
            }
        }
    }

    /// With at most 40 samples, each value has a bin.
    #[test]
    fn forests_on_as_many_bins_as_values_are_exact_for_every_kind_of_targets() {
        for seed in 0..300 {
            let exact = grown::Problem::new(seed, 1.0);
            let mut binned = exact.clone();
            binned.config.tree.max_bins = Some(255 - seed as usize % 200);
            for (a, b) in exact.fit().trees().iter().zip(binned.fit().trees()) {
                assert_eq!((&a.nodes, &a.impurity), (&b.nodes, &b.impurity), "{seed}");
                assert_eq!((&a.leaves, &a.n_node_samples), (&b.leaves, &b.n_node_samples), "{seed}");
            }
        }
    }

    #[test]
    fn bins_that_are_not_supported_are_refused() {
        let (x, y) = (Array2::<f32>::zeros((4, 1)), Array2::<f64>::zeros((4, 1)));
        let best = ForestConfig::random_forest(Criterion::Variance);
        let random = ForestConfig::extra_trees(Criterion::Variance);
        for (config, max_bins) in [(&best, 1), (&best, 256), (&random, 255)] {
            let error = config.clone().max_bins(max_bins).fit((&x, &y)).unwrap_err().to_string();
            assert!(error.contains("max_bins"), "{error}");
        }
        let mut boosted = crate::BoostConfig::new(crate::LossKind::SquaredError);
        boosted.tree.max_bins = Some(9);
        assert!(boosted.fit((&x, &y)).unwrap_err().to_string().contains("tree.max_bins"));
    }

    #[test]
    fn what_has_no_factors_refuses_them() {
        let (x, y) = (Array2::<f32>::zeros((4, 1)), Array2::from_shape_fn((4, 2), |(i, j)| (i + j) as f64));
        let labels = crate::data::LabelView::try_new(vec![0, 1, 1, 2, 2], vec![0, 1], 2).unwrap();
        let poisson = TreeConfig::new(Criterion::Poisson).output_weights(vec![1.0, 2.0]);
        assert!(poisson.fit((&x, &y)).is_err());
        assert!(TreeConfig::new(Criterion::Gini).output_scaling(OutputScaling::Variance).fit((&x, labels)).is_err());
        assert!(TreeConfig::new(Criterion::Variance).output_scaling(vec![1.0]).fit((&x, &y)).is_err());
        assert!(TreeConfig::new(Criterion::Variance).output_scaling(vec![1.0, 2.0]).fit((&x, &y)).is_ok());
    }
}
