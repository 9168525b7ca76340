//! A partitioner for sparse X. Entries are sorted once by (feature, value) and carried from node to node.

use std::sync::{Mutex, MutexGuard};

use super::decision::Decision;
use super::dense::LEAST_TO_SORT;
use super::permutation::Permutation;
use super::stored_column::{StoredColumn, split_by_column};
use super::{BitSet, Column, Entry, Partitioner, Span, Visitor};
use crate::control::Control;
use crate::data::SparseView;
use crate::data::sort::sort_by_value;
use crate::error::{Purpose, Result};
use crate::partition::lottery::{Lottery, NEVER};
use crate::pool;

/// All entries of X, sorted by feature, then by value. They are computed once and shared by all trees. `features[i]` is
/// the feature of `entries[i]`.
#[derive(Debug)]
pub(crate) struct SortedOrder {
    features: Vec<u32>,
    entries: Vec<Entry>,
    /// Buffers of finished trees, which can be reused.
    spare: Mutex<Vec<Buffers>>,
}

/// The bytes of a stored value of X, with its feature.
pub(crate) const BYTES_OF_A_VALUE: usize = size_of::<u32>() + size_of::<Entry>();

/// The entries of one tree.
#[derive(Debug, Default)]
struct Buffers {
    features: Vec<u32>,
    entries: Vec<Entry>,
    /// The entries of the smaller side of a node.
    scratch: Vec<(u32, Entry)>,
}

impl SortedOrder {
    /// `x` holds columns.
    pub(crate) fn new(x: &SparseView<'_>, control: &Control) -> Result<Self> {
        let mut features: Vec<u32> = PURPOSE.with_capacity(x.values().len())?;
        let mut lengths: Vec<usize> = PURPOSE.with_capacity(x.n_major())?;
        for feature in 0..x.n_major() {
            control.check()?;
            let kept = x.slice(feature).1.iter().filter(|value| **value != 0.0).count();
            lengths.push(kept);
            features.resize(features.len() + kept, feature as u32);
        }
        let mut entries = control.filled(PURPOSE, Entry::new(0.0, 0), features.len())?;
        let mut rest = &mut entries[..];
        let columns = lengths.iter().enumerate().map(|(feature, &len)| (feature, rest.split_off_mut(..len)));
        let (n_threads, _) = pool::blocks(control.n_threads(), features.len(), LEAST_TO_SORT);
        pool::for_each(
            n_threads,
            columns,
            || Ok(()),
            |(), (feature, entries)| {
                control.check()?;
                let Some(entries) = entries else { return Ok(()) };
                let (rows, values) = x.slice(feature);
                let kept = rows.iter().zip(values).filter(|&(_, &value)| value != 0.0);
                entries.iter_mut().zip(kept).for_each(|(entry, (&row, &value))| *entry = Entry::new(value, row));
                sort_by_value(entries, control)
            },
        )?;
        Ok(SortedOrder { features, entries, spare: Mutex::default() })
    }

    /// Returns the entries of some features, which must be in increasing order and are renumbered.
    pub(crate) fn narrowed(&self, kept: &[u32], control: &Control) -> Result<Self> {
        let (mut features, mut entries) = (Vec::new(), Vec::new());
        for (new, &feature) in (0..).zip(kept) {
            control.check()?;
            let start = self.features.partition_point(|&f| f < feature);
            let len = self.features[start..].partition_point(|&f| f == feature);
            PURPOSE.extend(&mut entries, self.entries[start..start + len].iter().copied())?;
            PURPOSE.extend(&mut features, std::iter::repeat_n(new, len))?;
        }
        Ok(SortedOrder { features, entries, spare: Mutex::default() })
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Buffers>> {
        self.spare.lock().expect("nothing panics while the lock is held: it guards moves only")
    }

    /// Returns the entries of some samples, in the same order.
    fn of_rows(&self, samples: &Permutation, n: usize, n_samples: usize, control: &Control) -> Result<Buffers> {
        let spare = self.spare().pop();
        let mut buffers = spare.unwrap_or_default();
        let Buffers { features, entries, .. } = &mut buffers;
        features.clear();
        entries.clear();
        if n == n_samples {
            PURPOSE.reserve(features, self.features.len())?;
            PURPOSE.reserve(entries, self.entries.len())?;
            for piece in control.pieces(&self.features, 1) {
                features.extend_from_slice(piece?);
            }
            for piece in control.pieces(&self.entries, 1) {
                entries.extend_from_slice(piece?);
            }
            return Ok(buffers);
        }
        let root = 0..n as u32;
        let inside = |entry: &Entry| samples.contains(&root, entry.row());
        let mut stored = 0;
        for piece in control.pieces(&self.entries, 1) {
            stored += piece?.iter().filter(|e| inside(e)).count();
        }
        PURPOSE.reserve(features, stored)?;
        PURPOSE.reserve(entries, stored)?;
        let mut features_of = self.features.iter();
        for piece in control.pieces(&self.entries, 1) {
            let pairs = piece?.iter().zip(&mut features_of);
            for (&entry, &feature) in pairs.filter(|(e, _)| inside(e)) {
                features.push(feature);
                entries.push(entry);
            }
        }
        Ok(buffers)
    }
}

const PURPOSE: Purpose = Purpose("the sorted entries of X");

/// Holds all entries of a tree, sorted by feature, then by value, and splits them stably at each node. A node costs the
/// stored entries of its samples, nothing is sorted twice, and features that are zero in the whole node are never
/// visited.
///
/// Invariants: `features[i]` is the feature of `entries[i]`; every node that may still be searched owns a range in
/// which entries are in increasing order of (feature, value).
#[derive(Debug)]
pub(crate) struct SortedEntries<'a> {
    x: &'a SparseView<'a>,
    order: &'a SortedOrder,
    samples: Permutation,
    n: u32,
    buffers: Buffers,
    drawn: BitSet,
    goes_right: BitSet,
}

impl Drop for SortedEntries<'_> {
    fn drop(&mut self) {
        let buffers = std::mem::take(&mut self.buffers);
        self.order.spare().push(buffers);
    }
}

impl<'a> SortedEntries<'a> {
    pub(crate) fn new(x: &'a SparseView<'a>, order: &'a SortedOrder, rows: &[u32], control: &Control) -> Result<Self> {
        let (n_features, n_samples) = (x.n_major(), x.n_minor());
        let samples = Permutation::new(rows, n_samples, control)?;
        Ok(SortedEntries {
            x,
            order,
            n: rows.len() as u32,
            buffers: order.of_rows(&samples, rows.len(), n_samples, control)?,
            samples,
            drawn: BitSet::new(n_features)?,
            goes_right: BitSet::new(n_samples)?,
        })
    }

    /// Passes to the visitor the varying columns of the features that `wanted` accepts, and returns whether there are
    /// any.
    #[inline]
    fn visit_groups(&mut self, span: &Span, wanted: impl Fn(&BitSet, u32) -> bool, visitor: &mut impl Visitor) -> bool {
        let n_samples = span.n_samples() as usize;
        let features = &self.buffers.features[span.entries.clone()];
        let entries = &mut self.buffers.entries[span.entries.clone()];
        let mut any = false;
        let mut start = 0;
        while let Some(&feature) = features.get(start) {
            // A group of at least `least` entries extends at least `least - 1` places further. If this group does not,
            // it is too short, and so are all groups that end before the group found at that place, whose start is then
            // searched backwards.
            let least = visitor.least_entries().min(span.n_samples()) as usize;
            if least > 1 {
                let Some(&reached) = features.get(start + least - 1) else { break };
                if reached != feature {
                    let before = features[start..start + least - 1].iter().rposition(|&f| f != reached);
                    start += 1 + before.expect("the first entry is of another feature");
                    continue;
                }
            }
            let len = 1 + features[start + 1..].iter().take_while(|&&f| f == feature).count();
            let group = start..start + len;
            start += len;
            if !wanted(&self.drawn, feature) {
                continue;
            }
            if let Some(column) = Column::varying(feature, &mut entries[group], true, (n_samples - len) as u32) {
                any = true;
                visitor.column(column);
            }
        }
        any
    }

    /// Returns the varying feature that is drawn first.
    fn earliest(&mut self, span: &Span, lottery: &Lottery) -> Option<u32> {
        struct Earliest<'a>(&'a Lottery, Option<u32>);
        impl Visitor for Earliest<'_> {
            fn column(&mut self, column: Column<'_>) {
                let at = self.0.position(column.feature);
                self.1 = Some(self.1.map_or(at, |earliest| earliest.min(at)));
            }
        }
        let mut earliest = Earliest(lottery, None);
        self.visit_groups(span, |_, _| true, &mut earliest);
        earliest.1.filter(|&at| at != NEVER).and_then(|at| lottery.feature(at))
    }

    /// Moves the entries of marked samples behind the others, and returns the number of the others. Meanwhile, the side
    /// with fewer samples is kept in the scratch buffer.
    fn separate(&mut self, span: &Span, marked: &BitSet, mid: u32) -> Result<usize> {
        let features = &mut self.buffers.features[span.entries.clone()];
        let entries = &mut self.buffers.entries[span.entries.clone()];
        self.buffers.scratch.clear();
        if span.samples.end - mid <= mid - span.samples.start {
            let mut kept = 0;
            for i in 0..entries.len() {
                let (feature, entry) = (features[i], entries[i]);
                if marked.contains(entry.row()) {
                    PURPOSE.push(&mut self.buffers.scratch, (feature, entry))?;
                } else {
                    features[kept] = feature;
                    entries[kept] = entry;
                    kept += 1;
                }
            }
            for (i, &(feature, entry)) in self.buffers.scratch.iter().enumerate() {
                features[kept + i] = feature;
                entries[kept + i] = entry;
            }
            Ok(kept)
        } else {
            // When going backwards, the places just below `kept` are free.
            let mut kept = entries.len();
            for i in (0..entries.len()).rev() {
                let (feature, entry) = (features[i], entries[i]);
                if marked.contains(entry.row()) {
                    kept -= 1;
                    features[kept] = feature;
                    entries[kept] = entry;
                } else {
                    PURPOSE.push(&mut self.buffers.scratch, (feature, entry))?;
                }
            }
            for (i, &(feature, entry)) in self.buffers.scratch.iter().rev().enumerate() {
                features[i] = feature;
                entries[i] = entry;
            }
            Ok(kept)
        }
    }

    /// Moves the entries of samples for which `goes` does not hold to the front, and returns their number.
    fn compact(&mut self, span: &Span, goes: impl Fn(u32) -> bool) -> usize {
        let features = &mut self.buffers.features[span.entries.clone()];
        let entries = &mut self.buffers.entries[span.entries.clone()][..features.len()];
        // Often only few entries go. Nothing moves before the first of them.
        let first = entries.iter().position(|e| goes(e.row())).unwrap_or(entries.len());
        let mut kept = first;
        for i in first..features.len() {
            let (feature, entry) = (features[i], entries[i]);
            features[kept] = feature;
            entries[kept] = entry;
            kept += usize::from(!goes(entry.row()));
        }
        kept
    }
}

impl Partitioner for SortedEntries<'_> {
    fn root(&self) -> Span {
        Span { samples: 0..self.n, entries: 0..self.buffers.entries.len() }
    }

    fn rows(&self, span: &Span) -> &[u32] {
        self.samples.rows(span.samples.clone())
    }

    fn visit(&mut self, span: &Span, lottery: &Lottery, n_drawn: u32, visitor: &mut impl Visitor) -> Result<()> {
        if lottery.examines_all() {
            self.visit_groups(span, |_, _| true, visitor);
            return Ok(());
        }
        (0..n_drawn).filter_map(|i| lottery.feature(i)).for_each(|feature| self.drawn.insert(feature));
        let any = self.visit_groups(span, |drawn, feature| drawn.contains(feature), visitor);
        self.drawn.clear();
        if !any && let Some(earliest) = self.earliest(span, lottery) {
            self.visit_groups(span, |_, feature| feature == earliest, visitor);
        }
        Ok(())
    }

    fn split_samples(&mut self, span: &Span, feature: u32, decision: Decision<'_>) -> u32 {
        let (rows, values) = self.x.slice(feature as usize);
        let column = StoredColumn::Whole(rows, values);
        split_by_column(column, &mut self.samples, span, decision, &mut self.goes_right)
    }

    const CARRIES_COLUMNS: bool = true;

    fn split_columns(&mut self, span: &Span, mid: u32, searched: [bool; 2]) -> Result<[Span; 2]> {
        let sides = [span.samples.start..mid, mid..span.samples.end];
        let right = sides[1].clone();
        let mut marked = std::mem::take(&mut self.goes_right);
        self.samples.rows(right.clone()).iter().for_each(|&row| marked.insert(row));
        let spans = match searched {
            // The entries of a leaf are not needed any more, and are overwritten.
            [true, false] | [false, true] => {
                let [stays_left, _] = searched;
                let n = self.compact(span, |row| marked.contains(row) == stays_left);
                let kept = span.entries.start..span.entries.start + n;
                let gone = kept.end..kept.end;
                if stays_left { [kept, gone] } else { [gone, kept] }
            }
            [true, true] | [false, false] => {
                let n_left = self.separate(span, &marked, mid)?;
                let cut = span.entries.start + n_left;
                [span.entries.start..cut, cut..span.entries.end]
            }
        };
        self.samples.rows(right).iter().for_each(|&row| marked.remove(row));
        self.goes_right = marked;
        let [left, right] = spans;
        let [left_samples, right_samples] = sides;
        Ok([Span { samples: left_samples, entries: left }, Span { samples: right_samples, entries: right }])
    }
}
