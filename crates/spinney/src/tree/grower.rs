//! X made ready for growth: prepared once, for all trees of a forest or all stages of boosting.

use crate::config::{Criterion, Splitter, TreeConfig};
use crate::control::Control;
use crate::data::bins::{MOST_BINS, bin_dense, bin_sparse};
use crate::data::{Bins, DenseColumns, Matrix, SparseColumns, SparseView};
use crate::error::{Error, Result, try_filled};
use crate::partition::dense::SortedOrder;
use crate::partition::sorted_entries;
use crate::rng::Key;
use crate::split::Rules;
use crate::split::best::{code_threshold, threshold_between};
use crate::split::dispatch::{RowUnits, SearchData, SplitY, TrainX};
use crate::tree::grow::{Structure, grow};

/// The rows that one tree is grown on, and what each weighs.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    /// Rows of positive weight, rising.
    rows: &'a [u32],
    pub(crate) units: RowUnits,
    /// Units are whole multiples of samples (see `data::weights`).
    exact: bool,
    total: u64,
    largest: u64,
}

impl<'a> Sample<'a> {
    /// `units` tells the weight of each of `n_samples` rows, zero outside `rows`; `y` is what the tree splits on.
    pub(crate) fn new(
        rows: &'a [u32],
        n_samples: usize,
        units: impl Fn(usize) -> u64,
        exact: bool,
        y: &SplitY<'_>,
    ) -> Result<Self> {
        let total = (0..n_samples).map(&units).sum();
        let largest = (0..n_samples).map(&units).max().unwrap_or(0);
        let units = if fits_narrow(y, total) {
            let mut narrow = try_filled("the weights of a tree", 0u32, n_samples)?;
            narrow.iter_mut().enumerate().for_each(|(row, u)| *u = units(row) as u32);
            RowUnits::Narrow(narrow)
        } else {
            let mut wide = try_filled("the weights of a tree", 0u64, n_samples)?;
            wide.iter_mut().enumerate().for_each(|(row, u)| *u = units(row));
            RowUnits::Wide(wide)
        };
        Ok(Sample { rows, units, exact, total, largest })
    }
}

/// X as growth uses it.
#[derive(Debug)]
pub(crate) struct Grower<'a> {
    x: TrainX<'a>,
    /// Set where `x` holds codes of bins.
    bins: Option<Bins>,
    n_features: usize,
}

/// Columns are carried down, sorted, when a node draws at least this share of the features; below it, sorting the drawn
/// columns of each node costs less than splitting all. `benches/rust/extraction.rs` finds them equal between 0.1 and 0.2.
const CARRY_SHARE: f64 = 0.2;

impl<'a> Grower<'a> {
    /// Brings `x`, which was checked, into the form that trees of this configuration want.
    pub(crate) fn new(config: &TreeConfig, x: &'a Matrix<'_>, control: &Control) -> Result<Self> {
        let n_drawn = config.max_features.resolve(x.n_features())?;
        Grower::arranged(x, config.carries_columns(x, n_drawn), control)
    }

    /// The same, with columns carried down or found at each node.
    pub(crate) fn arranged(x: &'a Matrix<'_>, carry: bool, control: &Control) -> Result<Self> {
        let n_features = x.n_features();
        let x = match x {
            Matrix::Dense(x) => {
                let columns = DenseColumns::new(x.view())?;
                if carry {
                    let order = SortedOrder::new(&columns, control)?;
                    TrainX::DenseSorted(columns, order)
                } else {
                    TrainX::Dense(columns)
                }
            }
            Matrix::Csc(x) if carry => sorted(x.view(), control)?,
            Matrix::Csr(x) if carry => sorted(x.transposed()?, control)?,
            Matrix::Csc(x) => TrainX::Sparse(SparseColumns { by_row: x.transposed()?, by_column: x.view() }),
            Matrix::Csr(x) => TrainX::Sparse(SparseColumns { by_column: x.transposed()?, by_row: x.view() }),
        };
        Ok(Grower { x, bins: None, n_features })
    }

    /// As [`Grower::new`], with the values of each feature in at most `max_bins` bins, if any. They are made from the rows
    /// that have `units`; others may not be grown on. Dense `x` is searched by histograms, which are of numbers:
    /// [`Grower::structure`] wants [`SplitY::Real`] then.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] for a number of bins outside 2 to 255, and with random thresholds.
    pub(crate) fn binned(
        config: &TreeConfig,
        x: &'a Matrix<'_>,
        max_bins: Option<usize>,
        units: impl Fn(usize) -> u64 + Sync,
        control: &Control,
    ) -> Result<Self> {
        let Some(max_bins) = max_bins else { return Grower::new(config, x, control) };
        if !(2..=MOST_BINS).contains(&max_bins) {
            return Err(Error::invalid("max_bins", max_bins, "2 to 255, or none"));
        }
        if config.splitter != Splitter::Best {
            return Err(Error::invalid("max_bins", max_bins, "none with random thresholds"));
        }
        let n_features = x.n_features();
        let carry = config.carries_columns(x, config.max_features.resolve(n_features)?);
        let by_column;
        let by_column = match x {
            Matrix::Dense(x) => {
                let (bins, codes) = bin_dense(&DenseColumns::new(x.view())?, max_bins, units, control)?;
                return Ok(Grower { x: TrainX::Binned(codes), bins: Some(bins), n_features });
            }
            Matrix::Csc(x) => x,
            Matrix::Csr(x) => {
                by_column = x.transposed()?;
                &by_column
            }
        };
        let (bins, codes) = bin_sparse(by_column, max_bins, units, control)?;
        let x = if carry {
            sorted(codes, control)?
        } else {
            TrainX::Sparse(SparseColumns { by_row: codes.transposed()?, by_column: codes })
        };
        Ok(Grower { x, bins: Some(bins), n_features })
    }

    pub(crate) fn n_features(&self) -> usize {
        self.n_features
    }

    /// Grows the structure of one tree: a function of (data, parameters, key).
    pub(crate) fn structure(
        &self,
        config: &TreeConfig,
        y: &SplitY<'_>,
        criterion: Criterion,
        sample: &Sample<'_>,
        key: Key,
        control: &Control,
    ) -> Result<Structure> {
        let search = SearchData {
            x: &self.x,
            y,
            units: &sample.units,
            exact_weights: sample.exact,
            rows: sample.rows,
            criterion,
            rules: self.rules(config, sample)?,
            control,
        };
        let mut structure = grow(&mut *search.into_search()?, key, config.max_leaf_nodes, control)?;
        if let Some(bins) = &self.bins {
            structure.decode(bins);
        }
        Ok(structure)
    }

    fn rules(&self, config: &TreeConfig, sample: &Sample<'_>) -> Result<Rules> {
        let total_weight = sample.total as f64;
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
            largest_weight: sample.largest as f64,
            between: if self.bins.is_some() { code_threshold } else { threshold_between },
        })
    }
}

/// Sparse columns to be carried down.
fn sorted<'a>(by_column: SparseView<'a>, control: &Control) -> Result<TrainX<'a>> {
    let order = sorted_entries::SortedOrder::new(&by_column, control)?;
    Ok(TrainX::SparseSorted(by_column, order))
}

/// Whether squares of slot totals, summed over the slots of a sample, fit 62 bits.
fn fits_narrow(y: &SplitY<'_>, total: u64) -> bool {
    let per_sample = match y {
        SplitY::Real(_) => 1,
        SplitY::Slots(y) => y.most_in_a_row() as u128,
    };
    total < 1 << 31 && u128::from(total) * u128::from(total) * per_sample < 1 << 61
}

impl TreeConfig {
    /// Whether columns are sorted once and carried down. Random thresholds need no order, so only sparse columns gain
    /// from being carried: they are found at no cost.
    pub(crate) fn carries_columns(&self, x: &Matrix<'_>, n_drawn: usize) -> bool {
        let gains = self.splitter == Splitter::Best || !matches!(x, Matrix::Dense(_));
        gains && n_drawn as f64 >= CARRY_SHARE * x.n_features() as f64
    }
}
