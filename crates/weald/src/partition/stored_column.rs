//! The entries of one sparse column, and the search of those that are in a node.

use super::decision::Decision;
use super::permutation::Permutation;
use super::sparse::cost;
use super::{BitSet, Entry, Span};

/// How a column's entries inside a node are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// For every stored entry, the mapping says whether its sample is in the node.
    Mapping,
    /// Every sample of the node is searched in the column.
    Bisection,
}

impl Lookup {
    /// Returns the cheaper of both.
    #[inline]
    pub(super) fn cheaper(n_stored: usize, n_node: u32) -> Self {
        let halvings = f64::from(usize::BITS - n_stored.leading_zeros());
        if f64::from(n_node) * halvings * cost::BISECTION < n_stored as f64 * cost::MAPPING {
            Lookup::Bisection
        } else {
            Lookup::Mapping
        }
    }
}

/// The entries of one column, with samples in increasing order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoredColumn<'a> {
    /// The column as X stores it.
    Whole(&'a [u32], &'a [f32]),
    /// The entries of the samples of some node.
    Cut(&'a [Entry]),
}

impl StoredColumn<'_> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            StoredColumn::Whole(rows, _) => rows.len(),
            StoredColumn::Cut(entries) => entries.len(),
        }
    }

    #[inline]
    pub(super) fn first_row(&self) -> Option<u32> {
        match self {
            StoredColumn::Whole(rows, _) => rows.first().copied(),
            StoredColumn::Cut(entries) => entries.first().map(|e| e.row()),
        }
    }

    /// Passes every entry in the node to `keep`.
    #[inline]
    pub(super) fn extract(self, samples: &Permutation, span: &Span, lookup: Lookup, mut keep: impl FnMut(Entry)) {
        let is_inside = |row| samples.contains(&span.samples, row);
        match (self, lookup) {
            (StoredColumn::Whole(rows, values), Lookup::Mapping) => {
                let inside = rows.iter().zip(values).filter(|(row, _)| is_inside(**row));
                inside.for_each(|(&row, &value)| keep(Entry::new(value, row)));
            }
            (StoredColumn::Cut(entries), Lookup::Mapping) => {
                entries.iter().filter(|e| is_inside(e.row())).for_each(|&entry| keep(entry));
            }
            (StoredColumn::Whole(rows, values), Lookup::Bisection) => {
                let find = |from: usize, row| rows[from..].binary_search(&row);
                bisect(samples.rows(span.samples.clone()), find, |i| keep(Entry::new(values[i], rows[i])));
            }
            (StoredColumn::Cut(entries), Lookup::Bisection) => {
                let find = |from: usize, row| entries[from..].binary_search_by_key(&row, |e| e.row());
                bisect(samples.rows(span.samples.clone()), find, |i| keep(entries[i]));
            }
        }
    }
}

/// Searches each of `rows`, which are in increasing order, from where the last search ended. Passes the places of those
/// found to `keep`.
#[inline]
fn bisect(rows: &[u32], find: impl Fn(usize, u32) -> Result<usize, usize>, mut keep: impl FnMut(usize)) {
    let mut from = 0;
    for &row in rows {
        match find(from, row) {
            Ok(i) => {
                keep(from + i);
                from += i + 1;
            }
            Err(i) => from += i,
        }
    }
}

/// Splits the samples of a node by one sparse column. Only the entries that go to the other side than zeros are marked;
/// `marked` is empty before and after the call.
pub(crate) fn split_by_column(
    column: StoredColumn<'_>,
    samples: &mut Permutation,
    span: &Span,
    decision: Decision<'_>,
    marked: &mut BitSet,
) -> u32 {
    let zeros_go_left = decision.goes_left(0.0);
    let lookup = Lookup::cheaper(column.len(), span.n_samples());
    column.extract(samples, span, lookup, |entry| {
        if decision.goes_left(entry.value()) != zeros_go_left {
            marked.insert(entry.row());
        }
    });
    let mid = samples.split(span.samples.clone(), |row| marked.contains(row) == zeros_go_left);
    let others = if zeros_go_left { mid..span.samples.end } else { span.samples.start..mid };
    samples.rows(others).iter().for_each(|&row| marked.remove(row));
    mid
}
