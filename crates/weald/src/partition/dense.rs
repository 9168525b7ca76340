//! Partitioners for dense X. Columns are gathered and sorted at each node, or sorted once and carried from node to
//! node.

use super::copied_columns::CopiedColumns;
use super::decision::Decision;
use super::permutation::Permutation;
use super::{Column, Entry, KnownConstants, Partitioner, PlainColumn, Span, Visitor, feature_at, order_matters};
use crate::control::Control;
use crate::data::DenseColumns;
use crate::data::sort::{SortMemory, sort_by_value_with};
use crate::error::{Purpose, Result};
use crate::partition::lottery::Lottery;
use crate::pool;

/// Gathers the values of the node's samples in each drawn column; in small nodes, from [`CopiedColumns`]. The cost is
/// drawn features × samples of the node.
#[derive(Debug)]
pub(crate) struct DensePartitioner<'a> {
    x: &'a DenseColumns<'a>,
    samples: Permutation,
    copies: CopiedColumns,
    constants: KnownConstants,
    buffer: Vec<Entry>,
    values: Vec<f32>,
    control: Control,
}

impl<'a> DensePartitioner<'a> {
    pub(crate) fn new(x: &'a DenseColumns<'a>, rows: &[u32], control: &Control) -> Result<Self> {
        Ok(DensePartitioner {
            x,
            samples: Permutation::one_way(rows, control)?,
            copies: CopiedColumns::new(rows.len(), x.n_features())?,
            constants: KnownConstants::new(x.n_features())?,
            // One of the two stays empty in most trees.
            buffer: Purpose("a column of X").with_capacity(rows.len())?,
            values: Purpose("a column of X").with_capacity(rows.len())?,
            control: control.clone(),
        })
    }
}

/// Returns the non-zero entries of a column in a node. `places` are those of the samples `rows` in the column.
fn gather<'b>(buffer: &'b mut [Entry], column: &[f32], places: &[u32], rows: &[u32]) -> &'b mut [Entry] {
    let buffer = &mut buffer[..rows.len()];
    let mut n = 0;
    for (&place, &row) in places.iter().zip(rows) {
        let value = column[place as usize];
        buffer[n] = Entry::new(value, row);
        n += usize::from(value != 0.0);
    }
    &mut buffer[..n]
}

impl Partitioner for DensePartitioner<'_> {
    fn root(&self) -> Span {
        Span { samples: 0..self.samples.len(), entries: 0..0 }
    }

    fn rows(&self, span: &Span) -> &[u32] {
        self.samples.rows(span.samples.clone())
    }

    fn visit(&mut self, span: &Span, lottery: &Lottery, n_drawn: u32, visitor: &mut impl Visitor) -> Result<()> {
        let rows = self.samples.rows(span.samples.clone());
        let is_copied = self.copies.hold(&span.samples);
        if is_copied {
            self.copies.count(rows.len() * n_drawn as usize);
        }
        let (copies, x) = (&self.copies, self.x);
        let places = if is_copied { copies.places(&span.samples) } else { rows };
        let as_drawn = order_matters(lottery, visitor);
        let mut found = false;
        for position in 0..lottery.n_positions() {
            if (position >= n_drawn && found) || visitor.is_over() {
                break;
            }
            let Some(feature) = feature_at(position, lottery, as_drawn) else { continue };
            if self.constants.contains(feature, &span.samples) {
                continue;
            }
            let column = if is_copied { copies.column(feature) } else { x.column(feature) };
            let range = if visitor.wants_entries() {
                None
            } else {
                self.values.clear();
                self.values.extend(places.iter().map(|&place| column[place as usize]));
                range_of(&self.values)
            };
            let varies = match range {
                Some((low, high)) => {
                    if low < high {
                        visitor.plain_column(PlainColumn { feature, values: &self.values, rows, range: (low, high) });
                    }
                    low < high
                }
                None => {
                    self.control.fill_up(&mut self.buffer, Entry::default(), rows.len())?;
                    let entries = gather(&mut self.buffer, column, places, rows);
                    let n_zeros = (rows.len() - entries.len()) as u32;
                    Column::varying(feature, entries, false, n_zeros).map(|column| visitor.column(column)).is_some()
                }
            };
            if varies {
                found = true;
            } else {
                self.constants.insert(feature, &span.samples);
            }
        }
        Ok(())
    }

    fn split_samples(&mut self, span: &Span, feature: u32, decision: Decision<'_>) -> u32 {
        let node = &span.samples;
        if !self.copies.hold(node) {
            self.copies.copy(node, self.samples.rows(node.clone()), self.x);
        }
        if self.copies.hold(node) {
            let (n_left, rows) = self.copies.split(node, feature, |value| !decision.goes_left(value));
            self.samples.reorder(node.clone(), rows);
            return node.start + n_left as u32;
        }
        let column = self.x.column(feature);
        self.samples.split(node.clone(), |row| !decision.goes_left(column[row as usize]))
    }
}

/// Returns the smallest and the largest of at least one value, or `None` if one of them is missing. Eight minima and
/// maxima are kept at a time, so that the compiler can use vector registers.
fn range_of(values: &[f32]) -> Option<(f32, f32)> {
    // `f32::min` is slower, because it also handles NaN.
    let least = |a: f32, b: f32| if b < a { b } else { a };
    let largest = |a: f32, b: f32| if b > a { b } else { a };
    let (lanes, tail) = values.as_chunks::<8>();
    let (mut low, mut high, mut any_missing) = (values[0], values[0], false);
    if let [first, ..] = lanes {
        let (mut lows, mut highs, mut missing) = (*first, *first, [0; 8]);
        for lane in lanes {
            for k in 0..8 {
                missing[k] |= u32::from(lane[k].is_nan());
                lows[k] = least(lows[k], lane[k]);
                highs[k] = largest(highs[k], lane[k]);
            }
        }
        low = lows.into_iter().fold(low, least);
        high = highs.into_iter().fold(high, largest);
        any_missing = missing.into_iter().any(|missing| missing > 0);
    }
    for &value in tail {
        any_missing |= value.is_nan();
        low = least(low, value);
        high = largest(high, value);
    }
    (!any_missing).then_some((low, high))
}

/// The minimum number of values of all columns for which a further thread sorts columns; it is set by hand.
pub(super) const LEAST_TO_SORT: usize = if cfg!(test) { 1 } else { 1 << 14 };

/// All columns of the whole data set, sorted by value. They are computed once and shared by all trees of a forest.
#[derive(Debug)]
pub(crate) struct SortedOrder {
    entries: Vec<Entry>,
    n_samples: usize,
}

impl SortedOrder {
    pub(crate) fn new(x: &DenseColumns<'_>, control: &Control) -> Result<Self> {
        let (n, p) = (x.n_samples(), x.n_features());
        let mut entries = control.filled(Purpose("the sorted columns of X"), Entry::new(0.0, 0), n * p)?;
        let (n_threads, _) = pool::blocks(control.n_threads(), n * p, LEAST_TO_SORT);
        pool::for_each(
            n_threads,
            (0..p as u32).zip(entries.chunks_mut(n.max(1))),
            || Ok(SortMemory::default()),
            |memory, (feature, entries)| {
                control.check()?;
                for ((entry, &value), i) in entries.iter_mut().zip(x.column(feature)).zip(0..) {
                    *entry = Entry::new(value, i);
                }
                sort_by_value_with(entries, memory, control)
            },
        )?;
        Ok(SortedOrder { entries, n_samples: n })
    }

    fn column(&self, feature: u32) -> &[Entry] {
        &self.entries[feature as usize * self.n_samples..][..self.n_samples]
    }
}

/// Carries every column, sorted, from node to node, and splits it stably at each node, so that nothing is sorted twice.
///
/// Invariant: for every feature j and every node, `lists[j * n..][samples of the node]` holds the samples of the node,
/// sorted by the value of j.
#[derive(Debug)]
pub(crate) struct SortedColumns<'a> {
    x: &'a DenseColumns<'a>,
    samples: Permutation,
    n: usize,
    lists: Vec<Entry>,
    scratch: Vec<Entry>,
    goes_right: Vec<bool>,
    control: Control,
}

impl<'a> SortedColumns<'a> {
    pub(crate) fn new(x: &'a DenseColumns<'a>, order: &SortedOrder, rows: &[u32], control: &Control) -> Result<Self> {
        let mut lists = Purpose("the sorted columns of a tree").with_capacity(rows.len() * x.n_features())?;
        let columns = (0..x.n_features() as u32).map(|feature| order.column(x.place(feature)));
        if rows.len() == x.n_samples() {
            for column in columns {
                for piece in control.pieces(column, 1) {
                    lists.extend_from_slice(piece?);
                }
            }
        } else {
            let mut inside = Purpose("the rows of a tree").filled(false, x.n_samples())?;
            rows.iter().for_each(|&row| inside[row as usize] = true);
            for column in columns {
                for piece in control.pieces(column, 1) {
                    lists.extend(piece?.iter().filter(|e| inside[e.row() as usize]));
                }
            }
        }
        Ok(SortedColumns {
            x,
            samples: Permutation::one_way(rows, control)?,
            n: rows.len(),
            lists,
            scratch: control.filled(Purpose("a column of X"), Entry::default(), rows.len())?,
            goes_right: Purpose("the sides of samples").filled(false, order.n_samples)?,
            control: control.clone(),
        })
    }
}

impl Partitioner for SortedColumns<'_> {
    fn root(&self) -> Span {
        Span { samples: 0..self.n as u32, entries: 0..0 }
    }

    fn rows(&self, span: &Span) -> &[u32] {
        self.samples.rows(span.samples.clone())
    }

    fn visit(&mut self, span: &Span, lottery: &Lottery, n_drawn: u32, visitor: &mut impl Visitor) -> Result<()> {
        let as_drawn = order_matters(lottery, visitor);
        let mut found = false;
        for position in 0..lottery.n_positions() {
            if (position >= n_drawn && found) || visitor.is_over() {
                break;
            }
            let Some(feature) = feature_at(position, lottery, as_drawn) else { continue };
            let start = feature as usize * self.n;
            let list = &mut self.lists[start + span.samples.start as usize..start + span.samples.end as usize];
            if let Some(column) = Column::varying(feature, list, true, 0) {
                found = true;
                visitor.column(column);
            }
        }
        Ok(())
    }

    fn split_samples(&mut self, span: &Span, feature: u32, decision: Decision<'_>) -> u32 {
        let column = self.x.column(feature);
        let goes_right = &mut self.goes_right;
        self.samples.split(span.samples.clone(), |row| {
            let is_right = !decision.goes_left(column[row as usize]);
            goes_right[row as usize] = is_right;
            is_right
        })
    }

    const CARRIES_COLUMNS: bool = true;

    fn split_columns(&mut self, span: &Span, mid: u32, _searched: [bool; 2]) -> Result<[Span; 2]> {
        for list in self.lists.chunks_exact_mut(self.n) {
            self.control.check()?;
            let list = &mut list[span.samples.start as usize..span.samples.end as usize];
            let scratch = &mut self.scratch[..list.len()];
            let (mut n_left, mut n_right) = (0, 0);
            for i in 0..list.len() {
                let entry = list[i];
                let right = self.goes_right[entry.row() as usize];
                list[n_left] = entry;
                scratch[n_right] = entry;
                n_left += usize::from(!right);
                n_right += usize::from(right);
            }
            list[n_left..].copy_from_slice(&scratch[..n_right]);
        }
        Ok(span.halves(mid))
    }
}
