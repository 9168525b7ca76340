//! X prepared for growth, once for all trees of a forest or all stages of boosting.

use std::sync::Arc;

use crate::control::Control;
use crate::criterion::Criterion;
use crate::data::Category;
use crate::data::bins::codes::LARGE;
use crate::data::bins::worker_bins::{bin_dense_of, bin_sparse_of};
use crate::data::bins::{MOST_BINS, bin_dense, bin_sparse};
use crate::data::train_y::TrainY;
use crate::data::weights::RowUnits;
use crate::data::{Bins, DenseColumns, FeatureSubset, Matrix, SparseColumns, SparseView};
use crate::error::{Error, ErrorKind, Purpose, Result};
use crate::exact::Total;
use crate::exact::reduce::{Reduce, Workers};
use crate::partition::dense::SortedOrder;
use crate::partition::lottery::Lottery;
use crate::partition::sorted_entries;
use crate::pool;
use crate::rng::Key;
use crate::split::constraint::{Constraints, LeafSizes};
use crate::split::cut::Gap;
use crate::split::dispatch::{SearchData, TrainX};
use crate::split::histogram::{Spare, SparseCells};
use crate::split::{Rules, Split, SplitSearch, Splitter};
use crate::tree::config::TreeConfig;
use crate::tree::constraints::MonotonicColumns;
use crate::tree::growth::grow::{Decode, Structure, grow};
use crate::tree::growth::subtrees::{self, Searches, grow_side_by_side};

/// The samples on which one tree is grown, and their weights.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    /// The samples of positive weight, in increasing order.
    rows: &'a [u32],
    pub(crate) units: RowUnits,
    /// Whether units are integer multiples of a sample (see `data::weights`).
    exact: bool,
    /// The weight one in the minimum weight of leaves, in units.
    pub(crate) of_one: f64,
    total: Total,
    largest: u64,
    pub(crate) workers: &'a Workers,
}

impl<'a> Sample<'a> {
    /// Makes a sample of the rows of X. `units` contains the weight of each of `n_samples` samples, which is zero
    /// outside `rows`; `of_one` is the weight one in these units, and `exact` whether they are not rounded (see
    /// `data::weights`); `y` is the targets on which the tree splits.
    pub(crate) fn new(
        rows: &'a [u32],
        n_samples: usize,
        units: impl Fn(usize) -> u64 + Sync,
        (of_one, exact): (f64, bool),
        y: &TrainY<'_>,
        workers: &'a Workers,
        n_threads: usize,
    ) -> Result<Self> {
        debug_assert!(rows.iter().all(|&row| units(row as usize) > 0), "every sample has a weight");
        let (narrow, of_blocks) = collected(n_samples, n_threads, &units, |units| units as u32)?;
        let total = Total::of_all(of_blocks.iter().map(|(total, _)| *total), workers)?;
        let largest = workers.max_of(of_blocks.iter().map(|(_, largest)| *largest).max().unwrap_or(0))?;
        let units = if fits_narrow(y, total)? {
            RowUnits::Narrow(narrow)
        } else {
            RowUnits::Wide(collected(n_samples, n_threads, &units, |units| units)?.0)
        };
        Ok(Sample { rows, units, exact, of_one, total, largest, workers })
    }
}

/// The minimum number of samples for each thread; it is set by hand.
const LEAST_IN_BLOCK: usize = 1 << 14;

/// The weight of each sample, and the total and the largest weight of blocks.
type Collected<T> = (Vec<T>, Vec<(u64, u64)>);

/// Returns the weight of each sample as another type.
fn collected<T: Copy + Default + Send>(
    n_samples: usize,
    n_threads: usize,
    units: &(impl Fn(usize) -> u64 + Sync),
    convert: impl Fn(u64) -> T + Sync,
) -> Result<Collected<T>> {
    const PURPOSE: Purpose = Purpose("the weights of a tree");
    let (n_threads, at_once) = pool::blocks(n_threads, n_samples, LEAST_IN_BLOCK);
    let mut all = PURPOSE.filled(T::default(), n_samples)?;
    let mut of_blocks = PURPOSE.filled((0u64, 0u64), n_samples.div_ceil(at_once.max(1)))?;
    pool::for_each(
        n_threads,
        all.chunks_mut(at_once).zip(&mut of_blocks).enumerate(),
        || Ok(()),
        |(), (block, (out, (total, largest)))| {
            for (out, row) in out.iter_mut().zip(block * at_once..) {
                let units = units(row);
                (*total, *largest) = (total.saturating_add(units), units.max(*largest));
                *out = convert(units);
            }
            Ok(())
        },
    )?;
    Ok((all, of_blocks))
}

/// The targets with which splits are searched, or leaves are filled.
#[derive(Debug)]
pub(crate) struct TreeTargets<'y> {
    pub(crate) y: &'y TrainY<'y>,
    /// The criterion of the tree.
    pub(crate) criterion: Criterion,
    /// The monotonic constraints for the columns of `y`; `None` if there are none.
    pub(crate) monotonic: Option<&'y MonotonicColumns>,
}

/// X in the form that growth uses.
#[derive(Debug)]
pub(crate) struct Grower<'a> {
    x: TrainX<'a>,
    /// The bins, if `x` contains codes of bins.
    bins: Option<Arc<Bins>>,
    /// The number of features of X.
    n_features: usize,
    /// The features of a tree that `x` contains, in increasing order.
    features: FeatureSubset,
    /// Whether each feature of X is categorical; `None` if none is.
    categories: Option<Arc<[bool]>>,
    /// Whether there is one tree, and no ensemble that it is part of.
    is_alone: bool,
}

/// If a node draws at least this fraction of the features, columns are sorted once and carried down. Below it, sorting
/// the drawn columns at each node costs less than partitioning all columns. `benches/rust/extraction.rs` measures equal
/// times between 0.1 and 0.2.
const CARRY_SHARE: f64 = 0.2;

/// The share of a minimum weight that is enough if weights are rounded: six samples of weight 1/3 have weight 2, whether
/// their units are a little more or less.
const ENOUGH: f64 = 1.0 - 1.0 / (1u64 << 30) as f64;

impl<'a> Grower<'a> {
    /// Returns the grower with these categorical features. X must not be binned, because the categories must be known
    /// when it is.
    pub(crate) fn with_categories(self, categories: Option<Vec<bool>>) -> Self {
        debug_assert!(self.bins.is_none());
        Grower { categories: categories.map(Arc::from), ..self }
    }

    /// Returns the grower of one tree that is no part of an ensemble.
    pub(crate) fn alone(self) -> Self {
        Grower { is_alone: true, ..self }
    }

    /// Converts `x`, which must be validated, to columns that are either carried down or collected at each node.
    pub(crate) fn arranged(x: &'a Matrix<'_>, carry: bool, control: &Control) -> Result<Self> {
        let n_features = x.n_features();
        let x = match x {
            Matrix::Dense(x) => {
                let columns = DenseColumns::new(x.view(), control)?;
                if carry {
                    let order = SortedOrder::new(&columns, control)?;
                    TrainX::DenseSorted(columns, Arc::new(order))
                } else {
                    TrainX::Dense(columns)
                }
            }
            Matrix::Csc(x) if carry => sorted(x.view(), control)?,
            Matrix::Csr(x) if carry => sorted(x.try_transposed(control)?, control)?,
            Matrix::Csc(x) => TrainX::Sparse(SparseColumns { by_row: x.try_transposed(control)?, by_column: x.view() }),
            Matrix::Csr(x) => TrainX::Sparse(SparseColumns { by_column: x.try_transposed(control)?, by_row: x.view() }),
        };
        Ok(Grower { x, bins: None, n_features, features: FeatureSubset::default(), categories: None, is_alone: false })
    }

    /// Creates a grower for trees that use `n_of_tree` of the features (see [`Grower::of_drawn`]). With `max_bins`, the
    /// values of each numerical feature are put into at most this number of bins, and each category into one bin;
    /// `categories` are the categorical features. Bins are made from the samples with positive `units`, and trees may
    /// not be grown on others. Searches of dense `x` then use histograms, as do those of sparse `x` whose columns have
    /// few distinct codes, if nodes draw all features. Histograms require [`TrainY::Real`] in [`Grower::structure`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] for a number of bins outside 2 to 255, and with random thresholds.
    #[cfg(any(test, feature = "bench-internals"))]
    pub(crate) fn binned(
        config: &TreeConfig,
        x: &'a Matrix<'_>,
        n_of_tree: usize,
        max_bins: Option<usize>,
        categories: Option<Vec<bool>>,
        units: impl Fn(usize) -> u64 + Sync,
        control: &Control,
    ) -> Result<Self> {
        Grower::binned_of(&Workers::One, config, x, (n_of_tree, true), max_bins, categories, units, control)
    }

    /// Creates a grower for one of `workers`. If several workers share the samples, all searches use histograms, with the
    /// bins of all samples. Without `histograms`, trees may have any criterion, and searches read the codes of bins.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] for a number of bins outside 2 to 255, with random thresholds, and if there are
    /// several workers and no bins; [`crate::ErrorKind::Unsupported`] for categories if there are several workers.
    #[expect(clippy::too_many_arguments, reason = "the parameters of `binned`")]
    pub(crate) fn binned_of(
        workers: &Workers,
        config: &TreeConfig,
        x: &'a Matrix<'_>,
        (n_of_tree, histograms): (usize, bool),
        max_bins: Option<usize>,
        categories: Option<Vec<bool>>,
        units: impl Fn(usize) -> u64 + Sync,
        control: &Control,
    ) -> Result<Self> {
        let n_features = x.n_features();
        let n_drawn = config.max_features.resolve(n_of_tree)?;
        let carry = config.carries_columns(matches!(x, Matrix::Dense(_)), n_drawn, n_of_tree);
        if !workers.has_all_rows() && max_bins.is_none() {
            return Err(Error::invalid("max_bins", "none", "be between 2 and 255 if samples are spread over workers"));
        }
        if !workers.has_all_rows() && categories.is_some() {
            return Err(Error::unsupported("categories", "if samples are spread over workers"));
        }
        let Some(max_bins) = max_bins else {
            return Ok(Grower::arranged(x, carry, control)?.with_categories(categories));
        };
        check_bins(max_bins, config.splitter)?;
        let has_all_rows = workers.has_all_rows();
        let by_column;
        let by_column = match x {
            Matrix::Dense(x) => {
                let x = DenseColumns::new(x.view(), control)?;
                let (bins, codes) = match has_all_rows {
                    true => bin_dense(&x, max_bins, categories.as_deref(), units, control)?,
                    false => bin_dense_of(workers, &x, max_bins, units, control)?,
                };
                let codes = codes.with_rows(if histograms { LARGE } else { 0 }, control)?;
                return Ok(Grower::coded(TrainX::Binned(codes, Spare::default()), bins, n_features, categories));
            }
            Matrix::Csc(x) => x,
            Matrix::Csr(x) => {
                by_column = x.try_transposed(control)?;
                &by_column
            }
        };
        if !has_all_rows {
            let (bins, codes, cells) = bin_sparse_of(workers, by_column, max_bins, units, control)?;
            let cells = SparseCells::of_all(codes, |feature| Ok(&cells[feature]), control)?;
            return Ok(Grower::coded(TrainX::SparseBinned(cells, Spare::default()), bins, n_features, None));
        }
        let (bins, codes) = bin_sparse(by_column, max_bins, categories.as_deref(), units, control)?;
        let x = if histograms && n_drawn == n_of_tree {
            match SparseCells::try_new(codes, config.min_samples_leaf, control)? {
                Ok(cells) => TrainX::SparseBinned(cells, Spare::default()),
                Err(codes) => sorted(codes, control)?,
            }
        } else if carry {
            sorted(codes, control)?
        } else {
            TrainX::Sparse(SparseColumns::of(codes, control)?)
        };
        Ok(Grower::coded(x, bins, n_features, categories))
    }

    fn coded(x: TrainX<'a>, bins: Bins, n_features: usize, categories: Option<Vec<bool>>) -> Self {
        let categories = categories.map(Arc::from);
        let features = FeatureSubset::default();
        Grower { x, bins: Some(Arc::new(bins)), n_features, features, categories, is_alone: false }
    }

    pub(crate) fn n_features(&self) -> usize {
        self.n_features
    }

    /// Returns the grower of a tree with `n_of_tree` features, drawn without replacement, or `None` if that is all
    /// features: then the tree uses this grower. The cost of a tree, including the arrangement of sparse X, is
    /// proportional to its features.
    pub(crate) fn of_drawn(
        &self,
        config: &TreeConfig,
        n_of_tree: usize,
        key: Key,
        control: &Control,
    ) -> Result<Option<Grower<'_>>> {
        if n_of_tree >= self.n_features {
            return Ok(None);
        }
        let lottery = Lottery::new(key, self.n_features, n_of_tree as u32)?;
        let mut features = Purpose("the features of a tree").with_capacity(n_of_tree)?;
        features.extend((0..n_of_tree as u32).filter_map(|position| lottery.feature(position)));
        features.sort_unstable();
        let x = self.x.narrowed(&features, config.min_samples_leaf, control)?;
        let features = self.features.narrowed(&features)?;
        let (bins, categories) = (self.bins.clone(), self.categories.clone());
        Ok(Some(Grower { x, bins, n_features: self.n_features, features, categories, is_alone: self.is_alone }))
    }

    /// Returns for each feature in `x` whether it is categorical.
    fn held_categories(&self) -> Result<Option<Arc<[bool]>>> {
        Ok(match (&self.categories, self.features.numbers()) {
            (Some(of_all), Some(features)) => {
                let held = features.iter().map(|&feature| of_all[feature as usize]);
                Some(Purpose("the kinds of features").collected(held)?.into())
            }
            (of_all, _) => of_all.clone(),
        })
    }

    /// Returns the number of features in `x`.
    fn n_held(&self) -> usize {
        self.features.numbers().map_or(self.n_features, <[u32]>::len)
    }

    /// Grows the structure of one tree, as a function of (data, parameters, key).
    pub(crate) fn structure(
        &self,
        config: &TreeConfig,
        targets: &TreeTargets<'_>,
        sample: &Sample<'_>,
        key: Key,
        control: &Control,
    ) -> Result<Structure> {
        let rules = self.rules(config, targets.monotonic, sample)?;
        let searches = TreeSearches { x: &self.x, targets, sample, rules, control };
        let mut structure = match self.subtrees_apart(config, targets, sample, control) {
            Some(until) => grow_side_by_side(&searches, sample.rows, self, key, until, control)?,
            None => grow(&mut *searches.of(sample.rows)?, self, key, config.max_leaf_nodes, control)?,
        };
        if self.features.numbers().is_some() {
            let splits = structure.nodes.iter_mut().filter(|node| !node.is_leaf());
            splits.for_each(|node| node.set_feature(self.features.in_x(node.feature())));
        }
        Ok(structure)
    }

    /// Returns the number of samples of the largest subtrees that are grown in parallel, or `None` if one thread grows
    /// the tree. Histograms use threads of their own, best-first growth is sequential, and nodes with constraints pass
    /// these on to the nodes below.
    fn subtrees_apart(
        &self,
        config: &TreeConfig,
        targets: &TreeTargets<'_>,
        sample: &Sample<'_>,
        control: &Control,
    ) -> Option<u32> {
        let is_free =
            config.max_leaf_nodes.is_none() && config.monotonic_cst.is_none() && config.interaction_cst.is_none();
        let has_histograms = self.x.keeps_histograms(targets.criterion, targets.y);
        let can_be = is_free && !has_histograms && sample.workers.has_all_rows();
        subtrees::largest(sample.rows.len(), control.n_threads()).filter(|_| can_be)
    }

    fn rules(&self, config: &TreeConfig, monotonic: Option<&MonotonicColumns>, sample: &Sample<'_>) -> Result<Rules> {
        let total_weight = sample.total.as_f64();
        let of_one = if sample.exact { sample.of_one } else { sample.of_one * ENOUGH };
        Ok(Rules {
            splitter: config.splitter,
            max_depth: config.max_depth.unwrap_or(usize::MAX),
            min_samples_split: config.min_samples_split,
            constraints: Constraints {
                leaf_sizes: LeafSizes {
                    min_samples: u32::try_from(config.min_samples_leaf).unwrap_or(u32::MAX),
                    min_weight: (config.min_weight_fraction_leaf * total_weight).max(config.min_weight_leaf * of_one),
                },
                monotonic: monotonic.map(|columns| columns.held(&self.features)).transpose()?.map(Arc::new),
                interactions: config.groups(&self.features, self.n_held())?,
            },
            min_impurity_decrease: config.min_impurity_decrease,
            n_drawn: config.max_features.resolve(self.n_held())? as u32,
            n_features: self.n_held(),
            categories: self.held_categories()?,
            is_alone: self.is_alone,
            total: sample.total,
            largest_weight: sample.largest as f64,
            of_one: sample.of_one,
        })
    }
}

/// The data that the searches of one tree share.
#[derive(Debug)]
struct TreeSearches<'a> {
    x: &'a TrainX<'a>,
    targets: &'a TreeTargets<'a>,
    sample: &'a Sample<'a>,
    rules: Rules,
    control: &'a Control,
}

impl Searches for TreeSearches<'_> {
    fn of<'s>(&'s self, rows: &'s [u32]) -> Result<Box<dyn SplitSearch + 's>> {
        let search = SearchData {
            x: self.x,
            y: self.targets.y,
            units: &self.sample.units,
            exact_weights: self.sample.exact,
            rows,
            criterion: self.targets.criterion,
            rules: self.rules.clone(),
            control: self.control,
            workers: self.sample.workers,
        };
        search.into_search()
    }
}

impl Decode for Grower<'_> {
    fn threshold(&self, split: &Split) -> f32 {
        split.cut.threshold(|gap: Gap| match &self.bins {
            None => gap,
            Some(bins) => {
                let (low, high) = bins.values_between(self.features.in_x(split.feature), gap.low, gap.high);
                Gap { low, high }
            }
        })
    }

    fn categories(&self, feature: u32, codes: &[Category], out: &mut Vec<Category>) -> Result<()> {
        const PURPOSE: Purpose = Purpose("the categories of a split");
        match &self.bins {
            None => PURPOSE.extend(out, codes.iter().copied()),
            Some(bins) => {
                let feature = self.features.in_x(feature);
                PURPOSE.extend(out, codes.iter().map(|&code| bins.category(feature, code)))
            }
        }
    }
}

/// Returns an error for a number of bins that is not accepted, or bins that are not supported.
fn check_bins(max_bins: usize, splitter: Splitter) -> Result<()> {
    if !(2..=MOST_BINS).contains(&max_bins) {
        return Err(Error::invalid("max_bins", max_bins, "be between 2 and 255, or none"));
    }
    if splitter != Splitter::Best {
        return Err(Error::unsupported("max_bins", "with random thresholds"));
    }
    Ok(())
}

/// Sorts sparse columns that are carried down.
fn sorted<'a>(by_column: SparseView<'a>, control: &Control) -> Result<TrainX<'a>> {
    let order = sorted_entries::SortedOrder::new(&by_column, control)?;
    Ok(TrainX::SparseSorted(by_column, order))
}

/// Returns whether the squares of slot totals, summed over the slots of a sample, fit in 62 bits.
///
/// # Errors
/// [`ErrorKind::TooMany`] if they do not fit in 126 bits either.
fn fits_narrow(y: &TrainY<'_>, total: Total) -> Result<bool> {
    let per_sample = match y {
        TrainY::Real(_) | TrainY::SparseReal(_) | TrainY::MaskedReal(_) | TrainY::MaskedSlots(_) => 1,
        TrainY::Slots(y) => y.most_in_a_row() as u128,
    };
    let square = u128::from(total.units()) * u128::from(total.units());
    if square.checked_mul(per_sample).is_none_or(|squares| squares >= 1 << 125) {
        // This takes millions of labels of one sample, and weights that had to be rounded.
        return Err(ErrorKind::TooMany { what: "labels of a sample", limit: ((1 << 125) / square) as usize }.into());
    }
    Ok(total.units() < 1 << 31 && square * per_sample < 1 << 61)
}

impl TreeConfig {
    /// Returns whether columns are sorted once and carried down. Random thresholds do not need sorted values, so only
    /// sparse columns benefit from being carried: their entries are then found at no cost.
    pub(crate) fn carries_columns(&self, is_dense: bool, n_drawn: usize, n_features: usize) -> bool {
        let gains = self.splitter == Splitter::Best || !is_dense;
        gains && n_drawn as f64 >= CARRY_SHARE * n_features as f64
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis};

    use super::*;
    use crate::data::Targets;
    use crate::rng::Stream;
    use crate::testing::models;
    use crate::tree::config::MaxFeatures;

    fn grown(
        config: &TreeConfig,
        x: &Matrix<'_>,
        y: &Array2<f64>,
        units: &[u64],
        max_bins: Option<usize>,
        control: &Control,
    ) -> Structure {
        let targets = Targets::Real(y.view());
        let y = TrainY::new(&targets).unwrap();
        let rows: Vec<u32> = (0..units.len() as u32).filter(|&row| units[row as usize] > 0).collect();
        let grower = Grower::binned(config, x, x.n_features(), max_bins, None, |row| units[row], control).unwrap();
        let sample = Sample::new(&rows, units.len(), |row| units[row], (1.0, true), &y, &Workers::One, 1).unwrap();
        let targets = TreeTargets { y: &y, criterion: Criterion::Variance, monotonic: None };
        let grow = || grower.structure(config, &targets, &sample, Key::from_seed(3), control).unwrap();
        let first = grow();
        // The second tree is grown in memory that was used before.
        assert_eq!(first.nodes, grow().nodes);
        first
    }

    #[test]
    fn results_do_not_depend_on_layouts_threads_or_repeated_samples() {
        for seed in 0..30u64 {
            let mut stream = Stream::new(Key::from_seed(seed));
            let (n, p, q) = (150, 6, 1 + seed as usize % 3);
            let rows = models::rows(seed, n, p);
            let c_order = Array2::from_shape_fn((n, p), |(i, j)| rows.c_order[[i, j]] * (1 + i % 40) as f32);
            let y = Array2::from_shape_simple_fn((n, q), || stream.below(1000) as f64 / 9.0);
            let units: Vec<u64> = (0..n).map(|_| stream.below(3)).collect();
            let config = TreeConfig {
                max_features: if seed % 3 == 0 { MaxFeatures::Count(2) } else { MaxFeatures::All },
                max_leaf_nodes: (seed % 2 == 0).then_some(10),
                max_depth: (seed % 4 == 1).then_some(4),
                ..TreeConfig::new(Criterion::Variance)
            };
            for max_bins in [None, Some(2), Some(30), Some(255)] {
                let control = Control::default();
                let dense = grown(&config, &c_order.view().into(), &y, &units, max_bins, &control);
                let same = |other: &Structure, what: &str| {
                    assert_eq!(dense.nodes, other.nodes, "{what}, {seed}");
                    assert_eq!((&dense.impurity, &dense.weight), (&other.impurity, &other.weight), "{what}, {seed}");
                };
                assert!(dense.nodes.len() > 5);
                let by_row = csr(&c_order);
                let by_column = by_row.transposed().unwrap();
                same(&grown(&config, &Matrix::Csr(by_row), &y, &units, max_bins, &control), "csr");
                same(&grown(&config, &Matrix::Csc(by_column), &y, &units, max_bins, &control), "csc");
                let two = Control::with_threads(2);
                same(&grown(&config, &c_order.view().into(), &y, &units, max_bins, &two), "threads");
                let times: Vec<usize> = (0..n).flat_map(|row| vec![row; units[row] as usize]).collect();
                let (x_times, y_times) = (c_order.select(Axis(0), &times), y.select(Axis(0), &times));
                let ones = vec![1; times.len()];
                same(&grown(&config, &x_times.view().into(), &y_times, &ones, max_bins, &control), "repeated");
            }
        }
    }

    #[test]
    fn a_tree_of_drawn_features_is_that_of_x_without_the_others() {
        for seed in 0..40u64 {
            let mut stream = Stream::new(Key::from_seed(seed));
            let (n, p, q) = (120, 7, 1 + seed as usize % 3);
            let n_of_tree = 1 + seed as usize % p;
            let rows = models::rows(seed, n, p);
            let c_order = Array2::from_shape_fn((n, p), |(i, j)| rows.c_order[[i, j]] * (1 + i % 30) as f32);
            let y = Array2::from_shape_simple_fn((n, q), || stream.below(1000) as f64 / 9.0);
            let targets = Targets::Real(y.view());
            let y = TrainY::new(&targets).unwrap();
            let units: Vec<u64> = (0..n).map(|_| stream.below(3)).collect();
            let rows: Vec<u32> = (0..n as u32).filter(|&row| units[row as usize] > 0).collect();
            let sample = Sample::new(&rows, n, |row| units[row], (1.0, true), &y, &Workers::One, 1).unwrap();
            let config = TreeConfig {
                max_features: if seed % 3 == 0 { MaxFeatures::Fraction(0.5) } else { MaxFeatures::All },
                max_leaf_nodes: (seed % 2 == 0).then_some(10),
                min_samples_leaf: 1 + seed as usize % 4,
                ..TreeConfig::new(Criterion::Variance)
            };
            let (control, key) = (Control::default(), Key::from_seed(3));
            let structure = |grower: &Grower<'_>| {
                let targets = TreeTargets { y: &y, criterion: Criterion::Variance, monotonic: None };
                let grow = || grower.structure(&config, &targets, &sample, key, &control).unwrap();
                let first = grow();
                // The second tree is grown in memory that was used before.
                assert_eq!(first.nodes, grow().nodes);
                first
            };
            let by_row = csr(&c_order);
            let by_column = by_row.transposed().unwrap();
            let layouts = [c_order.view().into(), Matrix::Csr(by_row), Matrix::Csc(by_column)];
            for (x, max_bins) in layouts.iter().flat_map(|x| [None, Some(2), Some(30), Some(255)].map(|bins| (x, bins)))
            {
                let units = |row: usize| units[row];
                let whole = Grower::binned(&config, x, n_of_tree, max_bins, None, units, &control).unwrap();
                let Some(drawn) = whole.of_drawn(&config, n_of_tree, Key::from_seed(seed), &control).unwrap() else {
                    assert_eq!(n_of_tree, p);
                    continue;
                };
                let features = drawn.features.numbers().unwrap();
                assert!(features.len() == n_of_tree && features.is_sorted_by(|a, b| a < b));
                let columns: Vec<usize> = features.iter().map(|&feature| feature as usize).collect();
                let alone = c_order.select(Axis(1), &columns);
                let alone = alone.view().into();
                let naive = Grower::binned(&config, &alone, n_of_tree, max_bins, None, units, &control).unwrap();
                let mut expected = structure(&naive);
                for node in expected.nodes.iter_mut().filter(|node| !node.is_leaf()) {
                    node.set_feature(features[node.feature() as usize]);
                }
                let found = structure(&drawn);
                assert_eq!(found.nodes, expected.nodes, "{seed}, {max_bins:?}");
                assert_eq!((&found.impurity, &found.order), (&expected.impurity, &expected.order), "{seed}");
            }
        }
    }

    fn csr(x: &Array2<f32>) -> SparseView<'static> {
        let (mut ptr, mut indices, mut values) = (vec![0], vec![], vec![]);
        for row in x.rows() {
            for (j, &v) in row.iter().enumerate().filter(|(j, v)| **v != 0.0 || j % 2 == 0) {
                indices.push(j as u32);
                values.push(v);
            }
            ptr.push(indices.len());
        }
        SparseView::try_new(ptr, indices, values, x.ncols()).unwrap()
    }

    #[test]
    fn bins_are_refused_if_they_are_not_supported() {
        let x = Array2::<f32>::zeros((3, 2));
        let x = x.view().into();
        let control = Control::default();
        let best = TreeConfig::new(Criterion::Variance);
        let random = TreeConfig { splitter: Splitter::Random, ..best.clone() };
        for (config, max_bins) in [(&best, 0), (&best, 1), (&best, 256), (&random, 255)] {
            let error = Grower::binned(config, &x, 2, Some(max_bins), None, |_| 1, &control).unwrap_err();
            let (crate::ErrorKind::Invalid { what, .. } | crate::ErrorKind::Unsupported { what, .. }) = error.kind()
            else {
                panic!("{error}")
            };
            assert_eq!(*what, "max_bins");
        }
        Grower::binned(&random, &x, 2, None, None, |_| 1, &control).unwrap();
        control.stop();
        let error = Grower::binned(&best, &x, 2, Some(2), None, |_| 1, &control).unwrap_err();
        assert_eq!(error.kind(), &crate::ErrorKind::Interrupted);
    }
}
