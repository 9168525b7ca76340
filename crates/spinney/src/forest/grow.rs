//! From data and parameters to trees: what all trees share is prepared once, then each tree is grown on its own.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::{Forest, bootstrap};
use crate::config::{ForestConfig, Sampling, Splitter, TreeConfig};
use crate::control::Control;
use crate::criterion::slots::Slots;
use crate::criterion::variance::RealTargets;
use crate::data::{DenseColumns, Matrix, Outputs, SparseColumns, Targets, Weights};
use crate::error::{Error, Result, try_filled, try_with_capacity};
use crate::partition::dense::SortedOrder;
use crate::rng::Key;
use crate::split::Rules;
use crate::split::dispatch::{RowUnits, SearchData, SplitY, TrainX};
use crate::tree::{Tree, fill, grow};

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
        let outputs = y.outputs();
        self.check(&outputs)?;
        let data = TrainingSet::new(self, x, y, sample_weight, Sampling::All)?;
        data.grow(self, Sampling::All, Key::from_seed(self.seed), control)
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
        let outputs = y.outputs();
        self.tree.check(&outputs)?;
        if trees.is_empty() {
            return Err(Error::invalid("n_trees", trees.len(), "at least 1"));
        }
        let data = TrainingSet::new(&self.tree, x, y, sample_weight, self.sampling)?;
        let first = trees.start;
        let trees = crate::pool::map(control.n_threads(), trees.len(), |i| {
            let key = bootstrap::tree_key(self.seed, first + i);
            let tree = data.grow(&self.tree, self.sampling, key, control)?;
            control.one_more_done();
            Ok(Arc::new(tree))
        })?;
        Ok(Forest { n_features: x.n_features(), outputs, trees })
    }
}

/// What all trees of a forest share.
#[derive(Debug)]
struct TrainingSet<'a> {
    x: TrainX<'a>,
    y: SplitY<'a>,
    outputs: Outputs,
    weights: Weights,
    /// Rows of positive weight, rising.
    rows: Vec<u32>,
    n_samples: usize,
    n_features: usize,
}

/// Columns are carried down, sorted, when a node draws at least this share of the features; below it, sorting the drawn
/// columns of each node costs less than splitting all. Measured by `benches/rust/extraction.rs`.
const CARRY_SHARE: f64 = 0.3;

impl<'a> TrainingSet<'a> {
    fn new(
        config: &TreeConfig,
        x: &'a Matrix<'_>,
        y: &'a Targets<'_>,
        sample_weight: Option<&[f64]>,
        sampling: Sampling,
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
        let draws = match sampling {
            Sampling::Bootstrap(Some(draws)) => draws,
            _ => n_samples,
        };
        let weights = Weights::new(sample_weight, n_samples, draws)?;
        let rows: Vec<u32> = (0..n_samples as u32).filter(|&row| weights.units(row as usize) > 0).collect();
        match sampling {
            Sampling::WithoutReplacement(m) if m == 0 || m > rows.len() => {
                return Err(Error::invalid("max_samples", m, "from 1 to the number of samples of positive weight"));
            }
            Sampling::Bootstrap(Some(0)) => return Err(Error::invalid("max_samples", 0, "at least 1")),
            _ => {}
        }
        let drawn = config.max_features.resolve(n_features)?;
        let carry = config.carries_columns(x, drawn);
        Ok(TrainingSet {
            x: train_x(x, carry)?,
            y: split_y(y)?,
            outputs: y.outputs(),
            weights,
            rows,
            n_samples,
            n_features,
        })
    }

    /// One tree: a function of (data, parameters, key).
    fn grow(&self, config: &TreeConfig, sampling: Sampling, key: Key, control: &Control) -> Result<Tree> {
        let counts = bootstrap::draw(sampling, &self.rows, self.n_samples, key);
        let count = |row: usize| counts.as_ref().map_or(1, |c| u64::from(c[row]));
        let units = |row: usize| self.weights.units(row) * count(row);
        let total: u64 = (0..self.n_samples).map(units).sum();
        let largest = (0..self.n_samples).map(units).max().unwrap_or(0);
        let in_bag: Vec<u32>;
        let rows = if counts.is_some() {
            in_bag = self.rows.iter().copied().filter(|&row| count(row as usize) > 0).collect();
            &in_bag
        } else {
            &self.rows
        };
        let row_units = if self.fits_narrow(total) {
            let mut narrow = try_filled("the weights of a tree", 0u32, self.n_samples)?;
            narrow.iter_mut().enumerate().for_each(|(row, u)| *u = units(row) as u32);
            RowUnits::Narrow(narrow)
        } else {
            let mut wide = try_filled("the weights of a tree", 0u64, self.n_samples)?;
            wide.iter_mut().enumerate().for_each(|(row, u)| *u = units(row));
            RowUnits::Wide(wide)
        };
        let search = SearchData {
            x: &self.x,
            y: &self.y,
            units: &row_units,
            exact_weights: self.weights.exact,
            rows,
            criterion: config.criterion,
            rules: self.rules(config, total as f64, largest as f64)?,
        };
        let structure = grow::grow(&mut *search.into_search()?, key.child(GROWTH), config.max_leaf_nodes, control)?;
        let leaves = fill::leaf_values(&structure, &self.y, &row_units, self.outputs.width())?;
        Ok(structure.into_tree(leaves, self.weights.unit, self.n_features, self.outputs.clone(), config.criterion))
    }

    /// Whether squares of slot totals, summed over the slots of a sample, fit 62 bits.
    fn fits_narrow(&self, total: u64) -> bool {
        let per_sample = match &self.y {
            SplitY::Real(_) => 1,
            SplitY::Slots(y) => y.most_in_a_row() as u128,
        };
        total < 1 << 31 && u128::from(total) * u128::from(total) * per_sample < 1 << 61
    }

    fn rules(&self, config: &TreeConfig, total_weight: f64, largest_weight: f64) -> Result<Rules> {
        Ok(Rules {
            splitter: config.splitter,
            max_depth: config.max_depth.unwrap_or(usize::MAX),
            min_samples_split: config.min_samples_split,
            min_samples_leaf: config.min_samples_leaf,
            min_weight_leaf: config.min_weight_fraction_leaf * total_weight,
            min_impurity_decrease: config.min_impurity_decrease,
            n_drawn: config.max_features.resolve(self.n_features)? as u32,
            n_features: self.n_features,
            total_weight,
            largest_weight,
        })
    }
}

/// Purpose of a tree's key.
const GROWTH: u64 = 1;

impl TreeConfig {
    /// Whether columns are sorted once and carried down. Random thresholds need no order, so only sparse columns gain
    /// from being carried: they are found at no cost.
    fn carries_columns(&self, x: &Matrix<'_>, n_drawn: usize) -> bool {
        let gains = self.splitter == Splitter::Best || !matches!(x, Matrix::Dense(_));
        gains && n_drawn as f64 >= CARRY_SHARE * x.n_features() as f64
    }
}

fn train_x<'a>(x: &'a Matrix<'_>, carry: bool) -> Result<TrainX<'a>> {
    Ok(match x {
        Matrix::Dense(x) => {
            let columns = DenseColumns::new(x.view())?;
            if carry {
                let order = SortedOrder::new(&columns)?;
                TrainX::DenseSorted(columns, order)
            } else {
                TrainX::Dense(columns)
            }
        }
        Matrix::Csc(x) if carry => TrainX::SparseSorted(x.view()),
        Matrix::Csr(x) if carry => TrainX::SparseSorted(x.transposed()?),
        Matrix::Csc(x) => TrainX::Sparse(SparseColumns { by_row: x.transposed()?, by_column: x.view() }),
        Matrix::Csr(x) => TrainX::Sparse(SparseColumns { by_column: x.transposed()?, by_row: x.view() }),
    })
}

fn split_y<'a>(y: &'a Targets<'_>) -> Result<SplitY<'a>> {
    if let Some(slots) = Slots::new(y)? {
        return Ok(SplitY::Slots(slots));
    }
    let Targets::Real(y) = y else { unreachable!("only numbers have no slots") };
    let values = match y.to_slice() {
        Some(values) => Cow::Borrowed(values),
        None => {
            let mut values = try_with_capacity("the targets", y.len())?;
            values.extend(y.iter().copied());
            Cow::Owned(values)
        }
    };
    Ok(SplitY::Real(RealTargets { values, n_outputs: y.ncols() }))
}
