//! Who is in a node, and in what order along a feature. A partitioner sees x and never y, and parts samples by a
//! [`decision::Decision`].
//!
//! Vocabulary: the *entries* of a column in a node are its stored values that are not zero, each with its row; the other
//! samples of the node are its *zeros*, which nobody visits. Values that are missing (NaN) are entries. A feature *varies*
//! in a node when it has two values there, or a value and a missing one.
//!
//! | partitioner | entries of a column come from | cost of a node |
//! |---|---|---|
//! | [`dense::DensePartitioner`] | the node's rows in a dense column, then sorted | drawn features × samples × log |
//! | [`dense::SortedColumns`] | lists sorted once, split stably at each node | all features × samples |
//! | [`sparse::SparsePartitioner`] | mapping, binary search or row gather, then sorted | see there |
//! | [`sorted_entries::SortedEntries`] | entries sorted once by (feature, value), split stably | stored entries of the samples |
//!
//! Sums over entries are exact (see [`crate::criterion`]), so every partitioner leads to the same tree.

pub(crate) mod category_sets;
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
use crate::error::{Result, try_filled};
use decision::Decision;
use lottery::Lottery;

/// A node's samples (a range of the permutation), and its entries where a partitioner carries them down.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) samples: Range<u32>,
    pub(crate) entries: Range<usize>,
}

impl Span {
    pub(crate) fn n_samples(&self) -> u32 {
        self.samples.end - self.samples.start
    }

    /// The children whose samples meet at `mid`, without entries.
    pub(crate) fn halves(&self, mid: u32) -> [Span; 2] {
        [self.samples.start..mid, mid..self.samples.end].map(|samples| Span { samples, entries: 0..0 })
    }
}

/// One feature in one node, where it varies.
#[derive(Debug)]
pub(crate) struct Column<'a> {
    pub(crate) feature: u32,
    /// Entries; may hold zeros too. Samples of the node that are not listed are zeros.
    pub(crate) entries: &'a mut [Entry],
    pub(crate) sorted: bool,
    /// Samples of the node that are not listed.
    pub(crate) n_zeros: u32,
}

impl<'a> Column<'a> {
    /// The column, if it varies.
    #[inline]
    pub(crate) fn varying(feature: u32, entries: &'a mut [Entry], sorted: bool, n_zeros: u32) -> Option<Self> {
        let (first, last) = (entries.first()?.key(), entries.last()?.key());
        let varies = first != last
            || (n_zeros > 0 && first != Entry::ZERO_KEY)
            || (!sorted && entries.iter().any(|e| e.key() != first));
        varies.then_some(Column { feature, entries, sorted, n_zeros })
    }
}

/// The values of one dense feature in one node, where it varies and none is missing: `values[i]` is that of `rows[i]`.
#[derive(Debug)]
pub(crate) struct PlainColumn<'a> {
    pub(crate) feature: u32,
    pub(crate) values: &'a [f32],
    pub(crate) rows: &'a [u32],
    /// Least and largest value.
    pub(crate) range: (f32, f32),
}

/// What looks at the columns of a node; by default at the entries of all.
pub(crate) trait Visitor {
    fn column(&mut self, column: Column<'_>);

    /// Whether entries are wanted, to be sorted; otherwise dense columns come as they are, to [`Visitor::plain_column`],
    /// but for those with missing values.
    fn wants_entries(&self) -> bool {
        true
    }

    /// By default not looked at.
    fn plain_column(&mut self, _column: PlainColumn<'_>) {}

    /// Columns with zeros and fewer entries cannot matter any more.
    fn least_entries(&self) -> u32 {
        0
    }

    /// Whether no feature drawn later can matter any more.
    fn is_over(&self) -> bool {
        false
    }
}

/// Sample ids and columns of the nodes of one tree.
pub(crate) trait Partitioner {
    fn root(&self) -> Span;

    /// Samples of the node, rising.
    fn rows(&self, span: &Span) -> &[u32];

    /// Shows `visit` every feature that varies among the first `n_drawn` of the lottery; if none does, the first later
    /// one that does, if any. In any order, each once.
    /// Columns with zeros and fewer entries than the visitor asks for may be left out.
    fn visit(&mut self, span: &Span, lottery: &Lottery, n_drawn: u32, visitor: &mut impl Visitor) -> Result<()>;

    /// Moves the samples that go right behind the others; returns where they start.
    fn split_samples(&mut self, span: &Span, feature: u32, decision: Decision<'_>) -> u32;

    /// Whether columns are carried from node to node: then [`Partitioner::split_columns`] follows every
    /// [`Partitioner::split_samples`] of a node that has a child to be searched.
    const CARRIES_COLUMNS: bool = false;

    /// Splits what is carried, for the children that will be searched; returns both children.
    fn split_columns(&mut self, span: &Span, mid: u32, _searched: [bool; 2]) -> Result<[Span; 2]> {
        Ok(span.halves(mid))
    }
}

/// Ranges of samples inside which features are known to be constant, inherited by the whole subtree.
///
/// A range of the permutation always holds the samples of one node, whatever happens inside it, so one range for each
/// feature is enough: a newer one overwrites an older one, which costs time and never truth.
#[derive(Debug)]
pub(crate) struct KnownConstants {
    ranges: Vec<(u32, u32)>,
}

impl KnownConstants {
    pub(crate) fn new(n_features: usize) -> Result<Self> {
        Ok(KnownConstants { ranges: try_filled("the features known to be constant", (0, 0), n_features)? })
    }

    pub(crate) fn contains(&self, feature: u32, node: &Range<u32>) -> bool {
        let (start, end) = self.ranges[feature as usize];
        start <= node.start && node.end <= end
    }

    pub(crate) fn insert(&mut self, feature: u32, node: &Range<u32>) {
        self.ranges[feature as usize] = (node.start, node.end);
    }
}

/// A set of rows or features.
#[derive(Debug, Default)]
pub(crate) struct BitSet(Vec<u64>);

impl BitSet {
    pub(crate) fn new(len: usize) -> Result<Self> {
        Ok(BitSet(try_filled("a set of rows or features", 0, len.div_ceil(64))?))
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
