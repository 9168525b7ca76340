//! The one place where runtime tags become concrete types: partitioner × criterion.

use std::borrow::Cow;

use super::histogram::{Bins, Cells, HistogramSearch, Spare, SparseHistogramSearch};
use super::{NodeSearch, Rules, SplitSearch};
use crate::config::Criterion as Tag;
use crate::control::Control;
use crate::criterion::counts::{self, Gini};
use crate::criterion::entropy::Entropy;
use crate::criterion::slots::Slots;
use crate::criterion::variance::{self, RealTargets, Variance};
use crate::criterion::{Criterion, Units};
use crate::data::{Codes, DenseColumns, SparseColumns, SparseView, Targets};
use crate::error::{Result, try_with_capacity};
use crate::partition::sorted_entries::{self, SortedEntries};
use crate::partition::{Partitioner, dense, sparse};

/// X as growth uses it.
#[derive(Debug)]
pub(crate) enum TrainX<'a> {
    /// Columns gathered and sorted at each node.
    Dense(DenseColumns<'a>),
    /// Codes of bins, for histograms. Only for numbers.
    Binned(Codes, Spare),
    /// Columns sorted once and carried down.
    DenseSorted(DenseColumns<'a>, dense::SortedOrder),
    /// Entries found at each node.
    Sparse(SparseColumns<'a>),
    /// Entries sorted once and carried down. Needs columns only.
    SparseSorted(SparseView<'a>, sorted_entries::SortedOrder),
    /// Codes of bins, for histograms of all features. Only for numbers.
    SparseBinned(Cells, Spare),
}

/// y as criteria use it.
#[derive(Debug)]
pub(crate) enum SplitY<'a> {
    Slots(Slots<'a>),
    Real(RealTargets<'a>),
}

impl<'a> SplitY<'a> {
    /// Lent where the layout allows.
    pub(crate) fn new(y: &'a Targets<'_>) -> Result<Self> {
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
}

/// Units of each row in one tree: sample weight × times drawn.
#[derive(Debug)]
pub(crate) enum RowUnits {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

/// Everything that one tree is searched with.
#[derive(Debug)]
pub(crate) struct SearchData<'a> {
    pub(crate) x: &'a TrainX<'a>,
    pub(crate) y: &'a SplitY<'a>,
    pub(crate) units: &'a RowUnits,
    /// Units are whole multiples of samples (see `data::weights`).
    pub(crate) exact_weights: bool,
    /// Rows of positive weight, rising.
    pub(crate) rows: &'a [u32],
    pub(crate) criterion: Tag,
    pub(crate) rules: Rules,
    pub(crate) control: &'a Control,
}

impl<'a> SearchData<'a> {
    /// The search that fits the data.
    pub(crate) fn into_search(self) -> Result<Box<dyn SplitSearch + 'a>> {
        match self.units {
            RowUnits::Narrow(units) => self.with_units(units),
            RowUnits::Wide(units) => self.with_units(units),
        }
    }

    fn with_units<U: Units>(self, units: &'a [U]) -> Result<Box<dyn SplitSearch + 'a>> {
        let exact = self.exact_weights;
        match (self.y, self.criterion) {
            (SplitY::Slots(y), Tag::Gini | Tag::Variance) if y.n_class_outputs == Some(1) => {
                self.with_criterion(Gini::new(counts::One::new(y, units)?, y)?)
            }
            (SplitY::Slots(y), Tag::Gini | Tag::Variance) => {
                self.with_criterion(Gini::new(counts::Many::new(y, units), y)?)
            }
            (SplitY::Slots(y), Tag::Entropy) => {
                let total = self.rules.total_weight;
                self.with_criterion(Entropy::new(y, units, total)?)
            }
            (SplitY::Real(y), _) if y.n_outputs == 1 => {
                self.with_variance(Variance::new(y, units, exact, variance::One)?)
            }
            (SplitY::Real(y), _) => {
                self.with_variance(Variance::new(y, units, exact, variance::Many::new(y.n_outputs)?)?)
            }
        }
    }

    fn with_variance<U: Units, M: Bins + 'a>(self, variance: Variance<'a, U, M>) -> Result<Box<dyn SplitSearch + 'a>> {
        match self.x {
            TrainX::Binned(x, spare) => {
                Ok(Box::new(HistogramSearch::new(x, spare, self.rows, variance, self.rules, self.control.clone())?))
            }
            TrainX::SparseBinned(x, spare) => Ok(Box::new(SparseHistogramSearch::new(
                x,
                spare,
                self.rows,
                variance,
                self.rules,
                self.control.clone(),
            )?)),
            _ => self.with_criterion(variance),
        }
    }

    fn with_criterion<C: Criterion + 'a>(self, criterion: C) -> Result<Box<dyn SplitSearch + 'a>> {
        fn boxed<'a, P: Partitioner + 'a, C: Criterion + 'a>(
            p: P,
            c: C,
            (rules, control): (Rules, Control),
        ) -> Result<Box<dyn SplitSearch + 'a>> {
            Ok(Box::new(NodeSearch::new(p, c, rules, control)?))
        }
        let (rows, rules) = (self.rows, (self.rules, self.control.clone()));
        match self.x {
            TrainX::Dense(x) => boxed(dense::Columns::new(x, rows)?, criterion, rules),
            TrainX::Binned(..) | TrainX::SparseBinned(..) => unreachable!("see `Grower::binned`"),
            TrainX::DenseSorted(x, order) => boxed(dense::SortedColumns::new(x, order, rows)?, criterion, rules),
            TrainX::Sparse(x) => boxed(sparse::Columns::new(x, rows)?, criterion, rules),
            TrainX::SparseSorted(x, order) => boxed(SortedEntries::new(x, order, rows)?, criterion, rules),
        }
    }
}
