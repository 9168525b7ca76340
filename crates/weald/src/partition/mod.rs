//! The samples of each node, and their order along a feature. A partitioner reads X and never y, and partitions samples
//! by a [`decision::Decision`].
//!
//! The *entries* of a feature in a node are its stored non-zero values, each with its sample. The other samples of the
//! node are its *zeros*, which are never visited. Missing values (NaN) are entries. A feature *varies* in a node if it
//! has two different values there, or a value and a missing one.
//!
//! | partitioner | entries of a column come from | cost of a node |
//! |---|---|---|
//! | [`dense::DensePartitioner`] | the values of the node's samples in a dense column, then sorted | drawn features × samples × log |
//! | [`dense::SortedColumns`] | lists sorted once, split stably at each node | all features × samples |
//! | [`sparse::SparsePartitioner`] | mapping, binary search or row gather, then sorted | see there |
//! | [`sorted_entries::SortedEntries`] | entries sorted once by (feature, value), split stably | stored entries of the samples |
//!
//! Sums over entries are exact (see [`crate::criterion`]), so every partitioner leads to the same tree.

pub(crate) mod category_sets;
mod copied_columns;
pub(crate) mod decision;
pub(crate) mod dense;
pub(crate) mod lottery;
mod nested;
pub(crate) mod permutation;
pub(crate) mod sorted_entries;
pub(crate) mod sparse;
pub(crate) mod stored_column;

use std::ops::Range;

pub(crate) use crate::data::sort::Entry;
use crate::error::{Purpose, Result};
use decision::Decision;
use lottery::Lottery;

/// The samples of a node, as a range of the permutation, and its entries if the partitioner carries them from node to
/// node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) samples: Range<u32>,
    pub(crate) entries: Range<usize>,
}

impl Span {
    pub(crate) fn n_samples(&self) -> u32 {
        self.samples.end - self.samples.start
    }

    /// Returns the two children, divided at `mid`, without entries.
    pub(crate) fn halves(&self, mid: u32) -> [Span; 2] {
        [self.samples.start..mid, mid..self.samples.end].map(|samples| Span { samples, entries: 0..0 })
    }
}

/// The values of a feature that varies in a node.
#[derive(Debug)]
pub(crate) struct Column<'a> {
    pub(crate) feature: u32,
    /// The entries, which may include zeros. Samples of the node without an entry are zeros.
    pub(crate) entries: &'a mut [Entry],
    pub(crate) sorted: bool,
    /// Number of samples of the node without an entry.
    pub(crate) n_zeros: u32,
}

impl<'a> Column<'a> {
    /// Returns the column if it varies in the node.
    #[inline]
    pub(crate) fn varying(feature: u32, entries: &'a mut [Entry], sorted: bool, n_zeros: u32) -> Option<Self> {
        let (first, last) = (entries.first()?.key(), entries.last()?.key());
        let varies = first != last
            || (n_zeros > 0 && first != Entry::ZERO_KEY)
            || (!sorted && entries.iter().any(|e| e.key() != first));
        varies.then_some(Column { feature, entries, sorted, n_zeros })
    }
}

/// The values of a dense feature that varies in a node and has no missing values there: `values[i]` is the value of
/// `rows[i]`.
#[derive(Debug)]
pub(crate) struct PlainColumn<'a> {
    pub(crate) feature: u32,
    pub(crate) values: &'a [f32],
    pub(crate) rows: &'a [u32],
    /// The smallest and the largest value.
    pub(crate) range: (f32, f32),
}

/// A visitor of the features of a node. By default, it gets the entries of all features.
pub(crate) trait Visitor {
    fn column(&mut self, column: Column<'_>);

    /// Returns whether the visitor needs entries, which can be sorted. Otherwise, dense features without missing values
    /// are passed to [`Visitor::plain_column`] without sorting.
    fn wants_entries(&self) -> bool {
        true
    }

    /// Visits a dense feature without missing values. By default, it is ignored.
    fn plain_column(&mut self, _column: PlainColumn<'_>) {}

    /// Returns a number of entries: features with zeros and fewer entries than this cannot change the result any more.
    fn least_entries(&self) -> u32 {
        0
    }

    /// Returns whether no feature drawn later can change the result.
    fn is_over(&self) -> bool {
        false
    }

    /// Returns whether [`Visitor::is_over`] may become true before the last feature. Otherwise, features that are all
    /// examined need not be drawn.
    fn may_be_over_early(&self) -> bool {
        true
    }
}

/// Returns the feature that a node examines at `position`: that of the lottery or, if the node examines all features and
/// their order has no effect, the feature of this number, so that none is drawn.
#[inline]
pub(crate) fn feature_at(position: u32, lottery: &Lottery, as_drawn: bool) -> Option<u32> {
    if as_drawn { lottery.feature(position) } else { Some(position) }
}

/// Returns whether the order in which a node examines its features can affect how many it examines.
pub(crate) fn order_matters(lottery: &Lottery, visitor: &impl Visitor) -> bool {
    visitor.may_be_over_early() || !lottery.examines_all()
}

/// The samples and features of the nodes of one tree.
pub(crate) trait Partitioner {
    fn root(&self) -> Span;

    /// Returns the samples of the node, in increasing order.
    fn rows(&self, span: &Span) -> &[u32];

    /// Passes to `visitor` every feature that varies among the first `n_drawn` features of the lottery. If none of them
    /// varies, it passes the first later one that does, if there is one. Each is passed once, in any order. Features
    /// with zeros and fewer entries than the visitor asks for may be skipped.
    fn visit(&mut self, span: &Span, lottery: &Lottery, n_drawn: u32, visitor: &mut impl Visitor) -> Result<()>;

    /// Moves the samples that go right behind the others, and returns the position of the first.
    fn split_samples(&mut self, span: &Span, feature: u32, decision: Decision<'_>) -> u32;

    /// Whether the entries of features are carried from node to node. If so, [`Partitioner::split_columns`] is called
    /// after every [`Partitioner::split_samples`] of a node that has a child to be searched.
    const CARRIES_COLUMNS: bool = false;

    /// Partitions the carried entries for the children that will be searched, and returns both children.
    fn split_columns(&mut self, span: &Span, mid: u32, _searched: [bool; 2]) -> Result<[Span; 2]> {
        Ok(span.halves(mid))
    }
}

/// Ranges of samples in which features are known to be constant. The whole subtree inherits them.
///
/// A range of the permutation always contains the samples of one node, however they are ordered inside it. One range
/// for each feature is therefore sufficient: a newer range overwrites an older one, which costs time but does not
/// change results.
#[derive(Debug)]
pub(crate) struct KnownConstants {
    ranges: Vec<(u32, u32)>,
}

impl KnownConstants {
    pub(crate) fn new(n_features: usize) -> Result<Self> {
        Ok(KnownConstants { ranges: Purpose("the features known to be constant").filled((0, 0), n_features)? })
    }

    pub(crate) fn contains(&self, feature: u32, node: &Range<u32>) -> bool {
        let (start, end) = self.ranges[feature as usize];
        start <= node.start && node.end <= end
    }

    pub(crate) fn insert(&mut self, feature: u32, node: &Range<u32>) {
        self.ranges[feature as usize] = (node.start, node.end);
    }
}

/// A set of samples or features.
#[derive(Debug, Default)]
pub(crate) struct BitSet(Vec<u64>);

impl BitSet {
    pub(crate) fn new(len: usize) -> Result<Self> {
        Ok(BitSet(Purpose("a set of rows or features").filled(0, len.div_ceil(64))?))
    }

    pub(crate) fn insert(&mut self, i: u32) {
        self.0[i as usize / 64] |= 1 << (i % 64);
    }

    pub(crate) fn remove(&mut self, i: u32) {
        self.0[i as usize / 64] &= !(1 << (i % 64));
    }

    pub(crate) fn contains(&self, i: u32) -> bool {
        self.0[i as usize / 64] >> (i % 64) & 1 == 1
    }

    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }
}
