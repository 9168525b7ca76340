//! A partitioner for sparse X, with three ways to find a column's entries inside a node.
//!
//! The first two are in chapter 8 of the thesis, whose rule for switching between them is printed the wrong way round.
//! * *mapping*: read the column, and keep the samples that the permutation places in the node, in O(stored entries of
//!   the column) time;
//! * *binary search*: search each sample of the node in the column, in O(samples × log stored entries) time;
//! * *row gather*: read the node's rows and keep the entries of drawn features, for all columns at once, in O(stored
//!   entries of the node's rows) time.
//!
//! The columns are those of X, or contain only the samples of a node above this one: see [`super::nested`].

use std::ops::Range;

use super::decision::Decision;
use super::nested::NestedColumns;
use super::permutation::Permutation;
use super::stored_column::{Lookup, split_by_column};
use super::{BitSet, Column, Entry, KnownConstants, Partitioner, Span, Visitor};
use crate::control::Control;
use crate::data::SparseColumns;
use crate::elementary::{exp, log2};
use crate::error::{self, Purpose};
use crate::partition::lottery::{Lottery, NEVER};

/// Costs in nanoseconds, which are set by hand to reproduce the measurements of `benches/rust/extraction.rs`. They
/// affect only speed, because every way finds the same entries.
pub(super) mod cost {
    /// One application of the lottery's network: see [`Lottery::turns`](super::Lottery::turns).
    pub(crate) const TURN: f64 = 6.0;
    /// A drawn column, whatever its length: a jump to its place in memory.
    pub(crate) const COLUMN: f64 = 55.0;
    /// A drawn column if columns are those of a small node, which are in the cache.
    pub(crate) const NESTED_COLUMN: f64 = 15.0;
    /// One stored entry of a column, which is looked up in the mapping.
    pub(crate) const MAPPING: f64 = 1.0;
    /// One step of a binary search.
    pub(crate) const BISECTION: f64 = 2.4;
    /// An entry found in a column, including its sorting.
    pub(crate) const FOUND_IN_COLUMN: f64 = 12.0;
    /// A row, whatever its length.
    pub(crate) const ROW: f64 = 25.0;
    /// One stored entry of a row, which is looked up in the set of drawn features.
    pub(crate) const GATHER: f64 = 3.0;
    /// An entry found in a row, including its sorting by feature and value.
    pub(crate) const FOUND_IN_ROW: f64 = 40.0;
}

const PURPOSE: Purpose = Purpose("the entries of a node");

/// The number of columns that are requested from memory at once.
const BATCH: usize = 32;

/// The minimum number of stored entries of a column for which it is recorded that the column is constant.
const WORTH_KNOWING: u32 = 16;

/// Where the entries of a node's drawn columns come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The drawn columns, one by one.
    Columns,
    /// The node's rows: every stored feature is looked up in the set of drawn features.
    RowsBySet,
    /// The node's rows: for every stored feature, its position in the lottery is computed.
    RowsByPlace,
}

/// Choices that replace the cheapest ones, if they are set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Forced {
    pub(crate) way: Option<Way>,
    pub(crate) lookup: Option<Lookup>,
    /// Whether every node gets columns of its own.
    pub(crate) nests: Option<bool>,
}

/// Finds the entries of drawn columns at each node, in the way that is cheapest for the node.
#[derive(Debug)]
pub(crate) struct SparsePartitioner<'a> {
    x: &'a SparseColumns<'a>,
    samples: Permutation,
    n: u32,
    constants: KnownConstants,
    columns: NestedColumns<'a>,
    /// The features that the rows of some nodes store, while columns are those of all samples. Each of these nodes is
    /// inside the previous one. `spare` has sets that can be reused.
    presence: Vec<Presence>,
    spare: Vec<BitSet>,
    /// The number of features that the node visited last has drawn.
    n_drawn: u32,
    /// The entries of one column in one node, with room for all samples.
    buffer: Vec<Entry>,
    /// The features drawn at the current node. It is empty between nodes.
    drawn: BitSet,
    /// The (feature, entry) pairs of all entries found in the node's rows.
    found: Vec<(u32, Entry)>,
    /// The positions in the lottery of the features in the node's rows.
    places: Vec<u32>,
    goes_right: BitSet,
    #[cfg(any(test, feature = "bench-internals"))]
    pub(crate) forced: Forced,
}

/// The features that the rows of a node store. All others are zero in the node and in every node below it.
#[derive(Debug)]
struct Presence {
    samples: Range<u32>,
    features: BitSet,
}

impl<'a> SparsePartitioner<'a> {
    pub(crate) fn new(x: &'a SparseColumns<'a>, rows: &[u32], control: &Control) -> error::Result<Self> {
        let (n_features, n_samples) = (x.by_column.n_major(), x.by_column.n_minor());
        Ok(SparsePartitioner {
            x,
            samples: Permutation::new(rows, n_samples, control)?,
            n: rows.len() as u32,
            constants: KnownConstants::new(n_features)?,
            columns: NestedColumns::new(x),
            presence: Vec::new(),
            spare: Vec::new(),
            n_drawn: 0,
            buffer: Purpose("a column of X").with_capacity(rows.len())?,
            drawn: BitSet::new(n_features)?,
            found: Vec::new(),
            places: Vec::new(),
            goes_right: BitSet::new(n_samples)?,
            #[cfg(any(test, feature = "bench-internals"))]
            forced: Forced::default(),
        })
    }

    /// Resets the state to that before the first node.
    #[cfg(feature = "bench-internals")]
    pub(crate) fn forget_constants(&mut self) -> error::Result<()> {
        self.constants = KnownConstants::new(self.x.by_column.n_major())?;
        self.columns.clear();
        self.presence.clear();
        Ok(())
    }

    /// Moves the samples for which `goes_right` holds behind the others.
    #[cfg(feature = "bench-internals")]
    pub(crate) fn split_rows(&mut self, span: &Span, goes_right: impl Fn(u32) -> bool) -> u32 {
        self.samples.split(span.samples.clone(), goes_right)
    }

    /// Returns the cheapest way if columns and rows have average lengths.
    pub(crate) fn cheapest(&self, n_node: u32, lottery: &Lottery, n_drawn: u32) -> Way {
        let n_features = f64::from(lottery.n_features());
        let per_column = f64::from(self.columns.n_samples()) * self.columns.per_row() / n_features;
        let jump = if self.columns.are_whole() { cost::COLUMN } else { cost::NESTED_COLUMN };
        let (n_node, n_drawn) = (f64::from(n_node), f64::from(n_drawn));
        let draw = lottery.turns() * cost::TURN;
        let stored = n_node * self.columns.per_row();
        let found = stored * n_drawn / n_features;
        // The approximate probability that none of the drawn features is stored in the node (Poisson). In this case,
        // further columns are drawn until one is, and the positions of the features in the rows are needed, too.
        let none = exp(-found);
        let bisection = cost::BISECTION * n_node * log2(per_column.max(2.0));
        let column = draw + jump + bisection.min(cost::MAPPING * per_column);
        let later = none * n_features / stored * (column + (lottery.later_turns() - lottery.turns()) * cost::TURN);
        let columns = n_drawn * column + later + found * cost::FOUND_IN_COLUMN;
        let rows = n_node * cost::ROW + found * cost::FOUND_IN_ROW;
        let places = stored * lottery.later_turns() * cost::TURN;
        let set = n_drawn * draw + stored * cost::GATHER + none * places;
        if columns < rows + set.min(places) {
            Way::Columns
        } else if set < places {
            Way::RowsBySet
        } else {
            Way::RowsByPlace
        }
    }

    #[cfg(any(test, feature = "bench-internals"))]
    fn forced(&self) -> Forced {
        self.forced
    }

    #[cfg(not(any(test, feature = "bench-internals")))]
    fn forced(&self) -> Forced {
        Forced::default()
    }

    /// Returns a column, if it varies in the node.
    fn column(&mut self, span: &Span, feature: u32) -> Option<Column<'_>> {
        let column = self.columns.column(feature);
        let lookup = self.forced().lookup.unwrap_or_else(|| Lookup::cheaper(column.len(), span.n_samples()));
        self.buffer.clear();
        let buffer = &mut self.buffer;
        column.extract(&self.samples, span, lookup, |entry| {
            if entry.key() != Entry::ZERO_KEY {
                buffer.push(entry);
            }
        });
        let n_zeros = span.n_samples() - self.buffer.len() as u32;
        Column::varying(feature, &mut self.buffer, false, n_zeros)
    }

    /// Returns whether all samples of the node store the same values. The first two usually show that they do not.
    fn is_one_row_repeated(&self, span: &Span) -> bool {
        let mut rows = self.samples.rows(span.samples.clone()).iter().map(|&row| self.x.by_row.slice(row as usize));
        rows.next().is_none_or(|first| rows.all(|row| row == first))
    }

    fn visit_columns(
        &mut self,
        span: &Span,
        lottery: &Lottery,
        n_drawn: u32,
        visitor: &mut impl Visitor,
    ) -> error::Result<()> {
        if self.columns.are_whole() {
            self.find_presence(span);
        }
        let mut found = false;
        for start in (0..n_drawn).step_by(BATCH) {
            let end = n_drawn.min(start + BATCH as u32);
            found |= self.visit_batch(span, lottery, start..end, false, visitor);
            if visitor.is_over() {
                return Ok(());
            }
        }
        if found {
            return Ok(());
        }
        let stored = f64::from(span.n_samples()) * self.columns.per_row();
        if stored < f64::from(lottery.n_features().saturating_sub(n_drawn)) {
            self.find_places(span, lottery)?;
            self.visit_first_place(span, lottery, n_drawn, visitor);
            return Ok(());
        }
        let mut start = n_drawn;
        while start < lottery.n_positions() && !visitor.is_over() {
            let end = lottery.n_positions().min(start + BATCH as u32);
            if self.visit_batch(span, lottery, start..end, true, visitor) {
                break;
            }
            start = end;
        }
        Ok(())
    }

    /// Passes to the visitor the columns drawn at `positions`, or only the first one that varies if `first` is true.
    /// Returns whether one varies.
    #[inline]
    fn visit_batch(
        &mut self,
        span: &Span,
        lottery: &Lottery,
        positions: Range<u32>,
        first: bool,
        visitor: &mut impl Visitor,
    ) -> bool {
        // Columns are far apart in memory. Requesting a batch of them at once lets the memory latencies overlap.
        let mut drawn = [0; BATCH];
        let mut n_drawn = 0;
        let mut touched = 0;
        // The presence is up to date only if columns are those of all samples.
        let presence = self.presence.last().filter(|_| self.columns.are_whole());
        for feature in positions.filter_map(|position| lottery.feature(position)) {
            // A feature that is not present, or has no entries, is zero in the whole node.
            if presence.is_none_or(|p| p.features.contains(feature))
                && let Some(row) = self.columns.column(feature).first_row()
            {
                drawn[n_drawn] = feature;
                n_drawn += 1;
                touched ^= row;
            }
        }
        std::hint::black_box(touched);
        let mut found = false;
        for &feature in &drawn[..n_drawn] {
            found |= self.visit_column(span, feature, visitor);
            if found && first {
                break;
            }
        }
        found
    }

    /// Updates the presence of features. Afterwards, the last one, if there is any, is that of a node that contains
    /// this node.
    fn find_presence(&mut self, span: &Span) {
        let Range { start, end } = span.samples;
        while self.presence.last().is_some_and(|p| start < p.samples.start || p.samples.end < end) {
            self.spare.extend(self.presence.pop().map(|p| p.features));
        }
        // Reading the node's rows pays if they cannot store most of the features, and if the last such node had many
        // more samples.
        let n = f64::from(span.n_samples());
        let n_last = self.presence.last().map_or(f64::INFINITY, |p| f64::from(p.samples.end - p.samples.start));
        let n_features = self.x.by_column.n_major();
        if n * self.columns.per_row() >= n_features as f64 || 4.0 * n > n_last {
            return;
        }
        // The presence affects only speed, so there is none if there is not enough memory.
        let spare = self.spare.pop().map_or_else(|| BitSet::new(n_features), Ok);
        let Ok(mut features) = spare else { return };
        features.clear();
        for &row in self.samples.rows(span.samples.clone()) {
            self.x.by_row.slice(row as usize).0.iter().for_each(|&feature| features.insert(feature));
        }
        self.presence.push(Presence { samples: span.samples.clone(), features });
    }

    /// Passes one column to the visitor if it varies and may matter. Returns whether it varies.
    #[inline]
    fn visit_column(&mut self, span: &Span, feature: u32, visitor: &mut impl Visitor) -> bool {
        let stored = self.columns.column(feature).len() as u32;
        if stored < visitor.least_entries().min(span.n_samples()) {
            // It may be constant, but then the visitor has already seen a column that varies.
            return true;
        }
        // Reading a short column costs less than looking up whether it is known to be constant.
        let known = stored >= WORTH_KNOWING;
        if known && self.constants.contains(feature, &span.samples) {
            return false;
        }
        match self.column(span, feature) {
            Some(column) => {
                visitor.column(column);
                true
            }
            None => {
                if known {
                    self.constants.insert(feature, &span.samples);
                }
                false
            }
        }
    }

    /// Passes to the visitor the drawn features of the node's rows. Their entries are found by looking up every stored
    /// feature in the set of drawn features.
    fn visit_rows_by_set(
        &mut self,
        span: &Span,
        lottery: &Lottery,
        n_drawn: u32,
        visitor: &mut impl Visitor,
    ) -> error::Result<()> {
        (0..n_drawn).filter_map(|i| lottery.feature(i)).for_each(|feature| self.drawn.insert(feature));
        self.found.clear();
        for &row in self.samples.rows(span.samples.clone()) {
            let (features, values) = self.x.by_row.slice(row as usize);
            PURPOSE.grow(&mut self.found, features.len())?;
            for (i, &feature) in features.iter().enumerate() {
                if self.drawn.contains(feature) && values[i] != 0.0 {
                    self.found.push((feature, Entry::new(values[i], row)));
                }
            }
        }
        self.drawn.clear();
        if !self.visit_found(span, visitor) {
            self.find_places(span, lottery)?;
            self.visit_first_place(span, lottery, n_drawn, visitor);
        }
        Ok(())
    }

    /// Passes to the visitor the drawn features of the node's rows. Their entries are found by the position in the
    /// lottery of every stored feature. The positions also show which feature is next if none of the drawn features
    /// varies, which is frequent in small nodes.
    fn visit_rows_by_place(
        &mut self,
        span: &Span,
        lottery: &Lottery,
        n_drawn: u32,
        visitor: &mut impl Visitor,
    ) -> error::Result<()> {
        self.find_places(span, lottery)?;
        self.found.clear();
        let mut places = self.places.iter();
        for &row in self.samples.rows(span.samples.clone()) {
            let (features, values) = self.x.by_row.slice(row as usize);
            PURPOSE.grow(&mut self.found, features.len())?;
            for ((&feature, &value), &place) in features.iter().zip(values).zip(places.by_ref().take(features.len())) {
                if place < n_drawn && value != 0.0 {
                    self.found.push((feature, Entry::new(value, row)));
                }
            }
        }
        if !self.visit_found(span, visitor) {
            self.visit_first_place(span, lottery, n_drawn, visitor);
        }
        Ok(())
    }

    /// Computes the positions in the lottery of all features stored in the node's rows, row by row.
    fn find_places(&mut self, span: &Span, lottery: &Lottery) -> error::Result<()> {
        self.places.clear();
        for &row in self.samples.rows(span.samples.clone()) {
            let features = self.x.by_row.slice(row as usize).0;
            PURPOSE.extend(&mut self.places, features.iter().map(|&feature| lottery.position(feature)))?;
        }
        Ok(())
    }

    /// Passes to the visitor the columns of the entries found, and returns whether one varies.
    fn visit_found(&mut self, span: &Span, visitor: &mut impl Visitor) -> bool {
        self.found.sort_unstable();
        let mut any = false;
        for group in self.found.chunk_by(|a, b| a.0 == b.0) {
            if (group.len() as u32) < visitor.least_entries().min(span.n_samples()) {
                any = true;
                continue;
            }
            self.buffer.clear();
            self.buffer.extend(group.iter().map(|(_, entry)| *entry));
            let n_zeros = span.n_samples() - group.len() as u32;
            if let Some(column) = Column::varying(group[0].0, &mut self.buffer, true, n_zeros) {
                any = true;
                visitor.column(column);
            }
        }
        any
    }

    /// Passes to the visitor the first feature that varies from position `n_drawn` on, if there is one. A feature that
    /// no row of the node stores is zero in all of them.
    fn visit_first_place(&mut self, span: &Span, lottery: &Lottery, n_drawn: u32, visitor: &mut impl Visitor) {
        let mut least = n_drawn;
        // The first one almost always varies, so searching the minimum repeatedly is faster than sorting.
        while let Some(&first) = self.places.iter().filter(|&&place| place >= least && place != NEVER).min() {
            if let Some(feature) = lottery.feature(first)
                && let Some(column) = self.column(span, feature)
            {
                return visitor.column(column);
            }
            least = first + 1;
        }
    }
}

impl Partitioner for SparsePartitioner<'_> {
    fn root(&self) -> Span {
        Span { samples: 0..self.n, entries: 0..0 }
    }

    fn rows(&self, span: &Span) -> &[u32] {
        self.samples.rows(span.samples.clone())
    }

    fn visit(&mut self, span: &Span, lottery: &Lottery, n_drawn: u32, visitor: &mut impl Visitor) -> error::Result<()> {
        if self.is_one_row_repeated(span) {
            return Ok(());
        }
        self.n_drawn = n_drawn;
        self.columns.leave(span);
        match self.forced().way.unwrap_or_else(|| self.cheapest(span.n_samples(), lottery, n_drawn)) {
            Way::Columns => self.visit_columns(span, lottery, n_drawn, visitor),
            Way::RowsBySet => self.visit_rows_by_set(span, lottery, n_drawn, visitor),
            Way::RowsByPlace => self.visit_rows_by_place(span, lottery, n_drawn, visitor),
        }
    }

    fn split_samples(&mut self, span: &Span, feature: u32, decision: Decision<'_>) -> u32 {
        self.columns.leave(span);
        // Both children will be searched, and all nodes below them.
        let is_worth = || self.columns.are_worth_cutting(span.n_samples(), self.n_drawn);
        if self.forced().nests.unwrap_or_else(is_worth) {
            self.columns.cut(span, &self.samples);
        }
        let column = self.columns.column(feature);
        let halvings = log2(self.columns.per_row() + 2.0);
        if f64::from(span.n_samples()) * halvings * cost::BISECTION < column.len() as f64 * cost::MAPPING {
            // The node has few samples, each of which is looked up in its own row.
            let by_row = &self.x.by_row;
            return self.samples.split(span.samples.clone(), |row| {
                let (features, values) = by_row.slice(row as usize);
                !decision.goes_left(features.binary_search(&feature).map_or(0.0, |i| values[i]))
            });
        }
        split_by_column(column, &mut self.samples, span, decision, &mut self.goes_right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SparseView;
    use crate::rng::Key;

    #[derive(Default)]
    struct Seen(Vec<u32>);

    impl Visitor for Seen {
        fn column(&mut self, column: Column<'_>) {
            self.0.push(column.feature);
        }
    }

    /// Feature 0 separates the samples. Each side stores features that the other does not.
    #[test]
    fn presence_in_one_part_is_not_taken_for_that_of_another_with_cut_columns() {
        let (n, p) = (64u32, 600);
        let features = |row: u32| if row < n / 2 { vec![1 + row] } else { vec![0, 100 + row, 200 + row % 7] };
        let (mut ptr, mut indices) = (vec![0], vec![]);
        for row in 0..n {
            indices.extend(features(row));
            ptr.push(indices.len());
        }
        let values = vec![1.0f32; indices.len()];
        let by_row = SparseView::try_new(ptr, indices, values, p).unwrap();
        let x = SparseColumns { by_column: by_row.transposed().unwrap(), by_row };
        let rows: Vec<u32> = (0..n).collect();
        let mut columns = SparsePartitioner::new(&x, &rows, &Control::default()).unwrap();
        columns.forced.way = Some(Way::Columns);
        let lottery = Lottery::new(Key::from_seed(0), p, p as u32).unwrap();
        let visit = |columns: &mut SparsePartitioner<'_>, samples: Range<u32>| {
            let mut seen = Seen::default();
            columns.visit(&Span { samples, entries: 0..0 }, &lottery, p as u32, &mut seen).unwrap();
            seen.0.sort_unstable();
            seen.0
        };
        let whole = Span { samples: 0..n, entries: 0..0 };
        let mid = columns.split_samples(&whole, 0, Decision::at_most(0.5));
        assert_eq!(mid, n / 2);
        assert_eq!(visit(&mut columns, 0..mid), (1..=mid).collect::<Vec<u32>>());
        columns.forced.nests = Some(true);
        let mid = columns.split_samples(&Span { samples: mid..n, entries: 0..0 }, 203, Decision::at_most(0.5));
        let with_203: Vec<u32> = (n / 2..n).filter(|row| row % 7 == 3).map(|row| 100 + row).collect();
        assert_eq!(visit(&mut columns, mid..n), with_203);
    }
}
