//! Partitioners for dense X. Columns are gathered and sorted at each node, or sorted once and carried from node to
//! node.

use super::decision::Decision;
use super::permutation::Permutation;
use super::{Column, Entry, KnownConstants, Partitioner, PlainColumn, Span, Visitor};
use crate::control::Control;
use crate::data::DenseColumns;
use crate::data::sort::sort_by_value;
use crate::error::{Purpose, Result};
use crate::partition::lottery::Lottery;

/// Gathers the values of the node's samples in each drawn column. The cost is drawn features × samples of the node.
#[derive(Debug)]
pub(crate) struct DensePartitioner<'a> {
    x: &'a DenseColumns<'a>,
    samples: Permutation,
    constants: KnownConstants,
    buffer: Vec<Entry>,
    values: Vec<f32>,
}

impl<'a> DensePartitioner<'a> {
    pub(crate) fn new(x: &'a DenseColumns<'a>, rows: &[u32], control: &Control) -> Result<Self> {
        Ok(DensePartitioner {
            x,
            samples: Permutation::new(rows, x.n_samples(), control)?,
            constants: KnownConstants::new(x.n_features())?,
            buffer: control.filled(Purpose("a column of X"), Entry::default(), rows.len())?,
            values: Purpose("a column of X").with_capacity(rows.len())?,
        })
    }

    /// Returns the non-zero entries of a column among `rows`.
    fn gather<'b>(buffer: &'b mut [Entry], column: &[f32], rows: &[u32]) -> &'b mut [Entry] {
        let mut n = 0;
        for &row in rows {
            let value = column[row as usize];
            buffer[n] = Entry::new(value, row);
            n += usize::from(value != 0.0);
        }
        &mut buffer[..n]
    }
}

impl Partitioner for DensePartitioner<'_> {
    fn root(&self) -> Span {
        Span { samples: 0..self.buffer.len() as u32, entries: 0..0 }
    }

    fn rows(&self, span: &Span) -> &[u32] {
        self.samples.rows(span.samples.clone())
    }

    fn visit(&mut self, span: &Span, lottery: &Lottery, n_drawn: u32, visitor: &mut impl Visitor) -> Result<()> {
        let rows = self.samples.rows(span.samples.clone());
        let mut found = false;
        for position in 0..lottery.n_positions() {
            if (position >= n_drawn && found) || visitor.is_over() {
                break;
            }
            let Some(feature) = lottery.feature(position) else { continue };
            if self.constants.contains(feature, &span.samples) {
                continue;
            }
            let column = self.x.column(feature);
            let range = if visitor.wants_entries() {
                None
            } else {
                self.values.clear();
                self.values.extend(rows.iter().map(|&row| column[row as usize]));
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
                    let entries = DensePartitioner::gather(&mut self.buffer, column, rows);
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
        let column = self.x.column(feature);
        self.samples.split(span.samples.clone(), |row| !decision.goes_left(column[row as usize]))
    }
}

/// Returns the smallest and the largest of at least one value, or `None` if one of them is missing. Eight minima and
/// maxima are kept at a time, so that the compiler can use vector registers.
fn range_of(values: &[f32]) -> Option<(f32, f32)> {
    if values.iter().fold(false, |any, value| any | value.is_nan()) {
        return None;
    }
    // `f32::min` is slower, because it also handles NaN.
    let least = |a: f32, b: f32| if b < a { b } else { a };
    let largest = |a: f32, b: f32| if b > a { b } else { a };
    let (lanes, tail) = values.as_chunks::<8>();
    let (mut low, mut high) = (values[0], values[0]);
    if let [first, lanes @ ..] = lanes {
        let (mut lows, mut highs) = (*first, *first);
        for lane in lanes {
            lows = std::array::from_fn(|k| least(lows[k], lane[k]));
            highs = std::array::from_fn(|k| largest(highs[k], lane[k]));
        }
        low = lows.into_iter().fold(low, least);
        high = highs.into_iter().fold(high, largest);
    }
    Some((tail.iter().copied().fold(low, least), tail.iter().copied().fold(high, largest)))
}

/// All columns of the whole data set, sorted by value. They are computed once and shared by all trees of a forest.
#[derive(Debug)]
pub(crate) struct SortedOrder {
    entries: Vec<Entry>,
    n_samples: usize,
}

impl SortedOrder {
    pub(crate) fn new(x: &DenseColumns<'_>, control: &Control) -> Result<Self> {
        let (n, p) = (x.n_samples(), x.n_features());
        let mut entries = Purpose("the sorted columns of X").with_capacity(n * p)?;
        for feature in 0..p as u32 {
            control.check()?;
            let start = entries.len();
            entries.extend(x.column(feature).iter().enumerate().map(|(i, &v)| Entry::new(v, i as u32)));
            sort_by_value(&mut entries[start..], control)?;
        }
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
            samples: Permutation::new(rows, order.n_samples, control)?,
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
        let mut found = false;
        for position in 0..lottery.n_positions() {
            if (position >= n_drawn && found) || visitor.is_over() {
                break;
            }
            let Some(feature) = lottery.feature(position) else { continue };
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
        for &row in self.samples.rows(span.samples.clone()) {
            goes_right[row as usize] = !decision.goes_left(column[row as usize]);
        }
        self.samples.split(span.samples.clone(), |row| goes_right[row as usize])
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
