//! The only place where runtime parameters are mapped to concrete types: a storage of X and the statistics of a
//! criterion.

use std::sync::Arc;

use super::coded::CodedNodes;
use super::entries::Entries;
use super::expand::{NodeSearch, Store};
use super::histogram::{BinnedSums, Histograms, Spare, SparseCells, SparseHistograms};
use super::{Rules, SplitSearch};
use crate::control::Control;
use crate::criterion::variance::{AnyVariance, Variance};
use crate::criterion::{Criterion, NodeCriterion, NodeData, TakeStatistics, Units};
use crate::data::train_y::TrainY;
use crate::data::weights::RowUnits;
use crate::data::{Codes, DenseColumns, SparseColumns, SparseView};
use crate::error::{Error, Result};
use crate::exact::reduce::Workers;
use crate::partition::sorted_entries::{self, SortedEntries};
use crate::partition::{dense, sparse};

/// X in the form that growth uses.
#[derive(Debug)]
pub(crate) enum TrainX<'a> {
    /// Columns that are gathered and sorted at each node.
    Dense(DenseColumns<'a>),
    /// Codes of bins: for histograms with the variance of numerical outputs, and added up or sorted at each node with
    /// other criteria.
    Binned(Codes<'a>, Spare),
    /// Columns that are sorted once and carried from node to node.
    DenseSorted(DenseColumns<'a>, Arc<dense::SortedOrder>),
    /// Entries that are found at each node.
    Sparse(SparseColumns<'a>),
    /// Entries that are sorted once and carried from node to node. Only columns are needed.
    SparseSorted(SparseView<'a>, sorted_entries::SortedOrder),
    /// Codes of bins, for histograms of all features. Only for numerical outputs.
    SparseBinned(SparseCells, Spare),
}

impl TrainX<'_> {
    /// Returns whether a search with this criterion keeps histograms of nodes, rather than read the samples of a node
    /// alone.
    pub(crate) fn keeps_histograms(&self, criterion: Criterion, y: &TrainY<'_>) -> bool {
        match self {
            TrainX::Dense(_) | TrainX::DenseSorted(..) | TrainX::Sparse(_) | TrainX::SparseSorted(..) => false,
            TrainX::Binned(..) | TrainX::SparseBinned(..) => {
                criterion == Criterion::Variance && matches!(y, TrainY::Real(_))
            }
        }
    }

    /// Returns X with some features, which must be in increasing order and are renumbered. Dense X is borrowed; sparse
    /// X is copied, in O(stored entries of these features) time. For `least_entries`, see [`SparseCells::try_new`].
    pub(crate) fn narrowed(&self, features: &[u32], least_entries: usize, control: &Control) -> Result<TrainX<'_>> {
        Ok(match self {
            TrainX::Dense(x) => TrainX::Dense(x.narrowed(features)?),
            TrainX::Binned(x, _) => TrainX::Binned(x.narrowed(features)?, Spare::default()),
            TrainX::DenseSorted(x, order) => TrainX::DenseSorted(x.narrowed(features)?, Arc::clone(order)),
            TrainX::Sparse(x) => TrainX::Sparse(SparseColumns::of(x.by_column.narrowed(features, control)?, control)?),
            TrainX::SparseSorted(x, order) => {
                TrainX::SparseSorted(x.narrowed(features, control)?, order.narrowed(features, control)?)
            }
            TrainX::SparseBinned(x, _) => {
                TrainX::SparseBinned(x.narrowed(features, least_entries, control)?, Spare::default())
            }
        })
    }
}

/// All data for the search of one tree.
#[derive(Debug)]
pub(crate) struct SearchData<'a> {
    pub(crate) x: &'a TrainX<'a>,
    pub(crate) y: &'a TrainY<'a>,
    pub(crate) units: &'a RowUnits,
    /// Units are integer multiples of samples (see `data::weights`).
    pub(crate) exact_weights: bool,
    /// The samples of positive weight, in increasing order.
    pub(crate) rows: &'a [u32],
    pub(crate) criterion: Criterion,
    pub(crate) rules: Rules,
    pub(crate) control: &'a Control,
    pub(crate) workers: &'a Workers,
}

impl<'a> SearchData<'a> {
    /// Returns the search for these data.
    pub(crate) fn into_search(self) -> Result<Box<dyn SplitSearch + 'a>> {
        match self.units {
            RowUnits::Narrow(units) => self.with_units(units),
            RowUnits::Wide(units) => self.with_units(units),
        }
    }

    fn with_units<U: Units>(self, units: &'a [U]) -> Result<Box<dyn SplitSearch + 'a>> {
        let (y, exact_weights, total) = (self.y, self.exact_weights, self.rules.total);
        let (workers, control) = (self.workers, self.control);
        self.criterion.statistics(&NodeData { y, units, exact_weights, total, workers, control }, self)
    }

    fn with_variance<U: Units, M: BinnedSums + 'a>(
        self,
        variance: Variance<'a, U, M>,
    ) -> Result<Box<dyn SplitSearch + 'a>> {
        match self.x {
            TrainX::Binned(x, spare) => {
                let store = Histograms::new(x, spare, self.rows, &variance, &self.rules, self.control.clone())?;
                self.with_store(store, variance.without_distance())
            }
            TrainX::SparseBinned(x, spare) => {
                let store = SparseHistograms::new(x, spare, self.rows, &variance, &self.rules, self.control.clone())?;
                self.with_store(store, variance.without_distance())
            }
            TrainX::Dense(_) | TrainX::DenseSorted(..) | TrainX::Sparse(_) | TrainX::SparseSorted(..) => {
                self.take(variance)
            }
        }
    }

    fn with_store<S: Store<C> + 'a, C: NodeCriterion + 'a>(
        self,
        store: S,
        criterion: C,
    ) -> Result<Box<dyn SplitSearch + 'a>> {
        let mut search = NodeSearch::new(store, criterion, self.rules, self.control.clone())?;
        search.set_workers(self.workers);
        Ok(Box::new(search))
    }
}

impl<'a> TakeStatistics<'a> for SearchData<'a> {
    type Outcome = Box<dyn SplitSearch + 'a>;

    fn take<C: NodeCriterion + 'a>(self, criterion: C) -> Result<Box<dyn SplitSearch + 'a>> {
        let (rows, control) = (self.rows, self.control);
        match self.x {
            TrainX::Dense(x) => self.with_store(Entries(dense::DensePartitioner::new(x, rows, control)?), criterion),
            TrainX::Binned(x, _) => self.with_store(CodedNodes::<C::Sample>::new(x, rows, control)?, criterion),
            TrainX::DenseSorted(x, order) => {
                self.with_store(Entries(dense::SortedColumns::new(x, order, rows, control)?), criterion)
            }
            TrainX::Sparse(x) => self.with_store(Entries(sparse::SparsePartitioner::new(x, rows, control)?), criterion),
            TrainX::SparseSorted(x, order) => {
                self.with_store(Entries(SortedEntries::new(x, order, rows, control)?), criterion)
            }
            TrainX::SparseBinned(..) => Err(Error::unsupported("max_bins", "with other criteria than Variance")),
        }
    }

    fn take_variance<U: Units>(self, variance: AnyVariance<'a, U>) -> Result<Box<dyn SplitSearch + 'a>> {
        match variance {
            AnyVariance::One(variance) => self.with_variance(variance),
            AnyVariance::Many(variance) => self.with_variance(variance),
        }
    }
}
