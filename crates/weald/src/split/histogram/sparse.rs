//! The search on histograms for sparse X in bins (see [`super::cells`]) and numerical outputs, if nodes examine all
//! features.
//!
//! A histogram has the sums of each cell. The sums of zeros are those of the node minus those of a column's cells. The
//! cost of a node is therefore that of the entries of its smaller child plus the cells of X, however many entries a
//! column has. The cuts, their sums and the resolution of ties are bit for bit those of every other search.

use std::ops::Range;

use super::builder::{Counting, Histogram};
use super::cells::SparseCells;
use super::spare::{MOST_BYTES, PURPOSE, Spare, Unused};
use super::{BinnedSums, FEW_SAMPLES, debug_assert_rest, show_sums};
use crate::control::Control;
use crate::criterion::variance::Variance;
use crate::criterion::{NodeCriterion, Units};
use crate::data::category_of;
use crate::error::{Purpose, Result};
use crate::exact::reduce::{Part, Reduce};
use crate::partition::decision::{Decision, Side};
use crate::partition::lottery::Lottery;
use crate::partition::permutation::Permutation;
use crate::partition::stored_column::{StoredColumn, split_by_column};
use crate::partition::{BitSet, Column, Entry, Span, Visitor};
use crate::split::cut::Cut;
use crate::split::expand::Store;
use crate::split::scan::{MovedSide, Scan};
use crate::split::{Rules, Task};

/// Sorting an entry costs as much as reading this number of cells; it is set by hand.
const CELLS_PER_ENTRY: f64 = 8.0;

const ENTRIES: Purpose = Purpose("the entries of a node");

/// The number of rows, or columns, between two checks of the stop flag.
const PULSE: usize = 256;

/// The samples of one tree, and the cells of sparse X.
#[derive(Debug)]
pub(crate) struct SparseHistograms<'a> {
    x: &'a SparseCells,
    n: u32,
    /// The number of items of a sample.
    len: usize,
    samples: Permutation,
    goes_right: BitSet,
    control: Control,
    counting: Counting,
    unused: Unused<'a>,
    /// The maximum number of histograms of waiting nodes.
    n_places: usize,
    /// Nodes with fewer samples are sorted.
    pub(super) few_samples: u32,
    /// The cells and samples of a small node.
    found: Vec<u64>,
    entries: Vec<Entry>,
}

impl<'a> SparseHistograms<'a> {
    /// Nodes must examine all features, and the minimum number of samples of a leaf must not be smaller than that for
    /// which `x` was made.
    pub(crate) fn new<U: Units, M: BinnedSums>(
        x: &'a SparseCells,
        shared: &'a Spare,
        rows: &[u32],
        criterion: &Variance<'_, U, M>,
        rules: &Rules,
        control: Control,
    ) -> Result<Self> {
        let has_all_rows = criterion.workers().has_all_rows();
        debug_assert!(rules.n_drawn as usize == rules.n_features || !has_all_rows);
        let few_samples = x.n_cells() as f64 / (CELLS_PER_ENTRY * x.per_row().max(1.0));
        let histograms = SparseHistograms {
            x,
            n: rows.len() as u32,
            len: criterion.sample_len(),
            samples: Permutation::new(rows, x.by_column.n_minor(), &control)?,
            goes_right: BitSet::new(x.by_column.n_minor())?,
            counting: Counting::of_sparse(criterion.common_weight(rows)?, rules),
            control,
            unused: Unused::new(shared),
            n_places: 0,
            // Nodes are sorted only if one worker has all samples.
            few_samples: if has_all_rows { FEW_SAMPLES.max(few_samples as u32) } else { 0 },
            found: Vec::new(),
            entries: Vec::new(),
        };
        Ok(histograms.with_limit(MOST_BYTES))
    }

    /// Sets the maximum number of bytes of the histograms that are kept.
    pub(super) fn with_limit(mut self, most_bytes: usize) -> Self {
        let bytes = self.n_sums() * size_of::<f64>() + self.n_counts() * size_of::<u32>();
        self.n_places = most_bytes / bytes.max(1);
        self
    }

    fn n_counts(&self) -> usize {
        if let Counting::InBins = self.counting { self.x.n_cells() } else { 0 }
    }

    fn n_sums(&self) -> usize {
        self.x.n_cells() * self.len
    }

    fn is_small(&self, span: &Span) -> bool {
        span.n_samples() < self.few_samples
    }

    /// Adds the samples of a node to a histogram, or subtracts them.
    fn move_rows<U: Units, M: BinnedSums, const ADD: bool>(
        &self,
        criterion: &Variance<'_, U, M>,
        histogram: &mut Histogram,
        span: &Span,
    ) {
        let len = self.len;
        let Histogram { sums, counts, .. } = histogram;
        for (i, &row) in self.samples.rows(span.samples.clone()).iter().enumerate() {
            if i.is_multiple_of(PULSE) && self.control.is_stopped() {
                return;
            }
            let (cells, sample) = (self.x.of_row(row), criterion.sums(criterion.samples(), row as usize));
            if let (&[weight, target], true) = (sample, len == 2) {
                let sums = sums.as_chunks_mut::<2>().0;
                for &cell in cells {
                    let sum = &mut sums[cell as usize];
                    *sum = if ADD { [sum[0] + weight, sum[1] + target] } else { [sum[0] - weight, sum[1] - target] };
                }
            } else {
                for &cell in cells {
                    let sum = &mut sums[cell as usize * len..][..len];
                    sum.iter_mut().zip(sample).for_each(|(sum, item)| *sum += if ADD { *item } else { -item });
                }
            }
            if !counts.is_empty() {
                for &cell in cells {
                    let count = &mut counts[cell as usize];
                    *count = if ADD { *count + 1 } else { *count - 1 };
                }
            }
        }
    }
}

impl SparseHistograms<'_> {
    /// Searches the features that a node draws, until one varies, as searches on entries do.
    fn search_drawn<U: Units, M: BinnedSums>(
        &self,
        scan: &mut Scan<'_, Variance<'_, U, M>>,
        histogram: &Histogram,
    ) -> Result<()> {
        let (lottery, mut found) = (scan.lottery, false);
        for next in 0..lottery.n_positions() {
            if next >= lottery.n_examined() && found || scan.is_over() {
                break;
            }
            let Some((feature, cells)) =
                lottery.feature(next).and_then(|feature| Some((feature, self.x.cells(feature)?)))
            else {
                continue;
            };
            let values = self.x.values(cells.clone());
            if scan.has_several(histogram, cells.clone()) {
                found = true;
                scan.best_cell(feature, values, histogram, cells, self.counting);
            }
        }
        Ok(())
    }
}

impl<'a, U: Units, M: BinnedSums> Store<Variance<'a, U, M>> for SparseHistograms<'_> {
    type Sums = Histogram;

    fn root(&self) -> Span {
        Span { samples: 0..self.n, entries: 0..0 }
    }

    fn rows(&self, span: &Span) -> &[u32] {
        self.samples.rows(span.samples.clone())
    }

    fn split_samples(&mut self, span: &Span, feature: u32, decision: Decision<'_>) -> u32 {
        let (rows, values) = self.x.by_column.slice(feature as usize);
        let column = StoredColumn::Whole(rows, values);
        split_by_column(column, &mut self.samples, span, decision, &mut self.goes_right)
    }

    fn fill(&mut self, criterion: &Variance<'a, U, M>, span: &Span) -> Result<Option<Histogram>> {
        if self.is_small(span) {
            return Ok(None);
        }
        let (n_sums, n_counts) = (self.n_sums(), self.n_counts());
        let used = self.unused.take();
        let used = used.filter(|used| used.sums.len() == n_sums && used.counts.len() == n_counts);
        let mut histogram = used.unwrap_or_default();
        histogram.sums.clear();
        PURPOSE.reserve(&mut histogram.sums, n_sums)?;
        histogram.sums.resize(n_sums, 0.0);
        histogram.counts.clear();
        PURPOSE.reserve(&mut histogram.counts, n_counts)?;
        histogram.counts.resize(n_counts, 0);
        histogram.frame = criterion.number_of_last_frame();
        self.move_rows::<_, _, true>(criterion, &mut histogram, span);
        if histogram.counts.is_empty() {
            criterion.workers().sum(&mut histogram.sums)?;
        } else {
            let parts = [Part::Floats(&mut histogram.sums), Part::Counts(&mut histogram.counts)];
            criterion.workers().sum_together(parts)?;
        }
        Ok(Some(histogram))
    }

    fn subtract(
        &mut self,
        criterion: &Variance<'a, U, M>,
        _: &Lottery,
        mut whole: Histogram,
        (smaller, part): (&Span, &mut Option<Histogram>),
        larger: &Span,
    ) -> Result<Option<Histogram>> {
        let of_smaller = match part {
            Some(part) => part.frame,
            None => criterion.number_of_frame(self.samples.rows(smaller.samples.clone()))?,
        };
        let frames = [of_smaller, criterion.number_of_last_frame()];
        if frames != [whole.frame; 2] || self.is_small(larger) {
            self.unused.give_back(whole)?;
            return Ok(None);
        }
        match part {
            Some(part) => {
                M::take_away(&mut whole.sums, &part.sums, self.len);
                whole.counts.iter_mut().zip(&part.counts).for_each(|(whole, part)| *whole -= part);
            }
            None if criterion.workers().has_all_rows() => self.move_rows::<_, _, false>(criterion, &mut whole, smaller),
            None => {
                self.unused.give_back(whole)?;
                return Ok(None);
            }
        }
        debug_assert_rest(&whole.sums, self.len);
        Ok(Some(whole))
    }

    fn most_kept(&self) -> usize {
        self.n_places
    }

    fn give_back(&mut self, histogram: Histogram) -> Result<()> {
        self.unused.give_back(histogram)
    }

    /// If there is no histogram, the sorted entries of the node are searched.
    fn search(
        &mut self,
        scan: &mut Scan<'_, Variance<'a, U, M>>,
        task: &Task,
        histogram: Option<&mut Histogram>,
    ) -> Result<()> {
        let x = self.x;
        if let (Some(histogram), true) = (&histogram, (scan.rules.n_drawn as usize) < scan.rules.n_features) {
            return self.search_drawn(scan, histogram);
        }
        if let Some(histogram) = histogram {
            for (i, (feature, cells)) in x.columns().enumerate() {
                if i.is_multiple_of(PULSE) && self.control.is_stopped() {
                    return Ok(());
                }
                if scan.lottery.allows(feature) {
                    scan.best_cell(feature, x.values(cells.clone()), histogram, cells, self.counting);
                }
            }
            return Ok(());
        }
        self.found.clear();
        for &row in self.samples.rows(task.span.samples.clone()) {
            let cells = x.of_row(row).iter().map(|&cell| u64::from(cell) << 32 | u64::from(row));
            ENTRIES.extend(&mut self.found, cells)?;
        }
        self.found.sort_unstable();
        let column_of = |found: u64| x.cell((found >> 32) as u32).0;
        for group in self.found.chunk_by(|&a, &b| column_of(a) == column_of(b)) {
            if (group.len() as u32) < scan.least_entries().min(task.span.n_samples()) {
                continue;
            }
            self.entries.clear();
            let entry = |&found: &u64| Entry::new(x.cell((found >> 32) as u32).1, found as u32);
            ENTRIES.extend(&mut self.entries, group.iter().map(entry))?;
            let n_zeros = task.span.n_samples() - group.len() as u32;
            let feature = x.feature(column_of(group[0]));
            if scan.lottery.allows(feature)
                && let Some(column) = Column::varying(feature, &mut self.entries, true, n_zeros)
            {
                scan.column(column);
            }
        }
        Ok(())
    }
}

impl<U: Units, M: BinnedSums> Scan<'_, Variance<'_, U, M>> {
    /// Returns whether a column with these cells varies in the node. The weight of the node that is not in the cells is
    /// that of zeros.
    fn has_several(&self, histogram: &Histogram, cells: Range<usize>) -> bool {
        let len = self.criterion.sample_len();
        let weights = || cells.clone().map(|cell| histogram.sums[cell * len]).filter(|weight| *weight != 0.0);
        let has_zeros = weights().sum::<f64>() < self.weight;
        weights().count() + usize::from(has_zeros) > 1
    }

    /// Offers every cut of a column. Its cells have increasing `values`, the last of which may be missing. The weight
    /// of the node that is not in the cells is that of zeros.
    fn best_cell(
        &mut self,
        feature: u32,
        values: &[f32],
        histogram: &Histogram,
        cells: Range<usize>,
        counting: Counting,
    ) {
        let len = self.criterion.sample_len();
        let sums = &histogram.sums[cells.start * len..cells.end * len];
        let weights = sums.iter().step_by(len);
        let weight: f64 = weights.sum();
        // A cut moves cells, never zeros.
        let sizes = self.rules.constraints.leaf_sizes;
        let is_light = match counting {
            Counting::ByWeight(each) => weight < each * f64::from(sizes.min_samples),
            Counting::Not | Counting::InBins => weight == 0.0,
        };
        if is_light || weight < sizes.min_weight {
            return;
        }
        let counts = histogram.counts.get(cells).unwrap_or(&[]);
        if self.rules.is_category(feature) {
            return self.best_subset_of_cells(feature, values, sums, counts, counting);
        }
        let n = values.len();
        let has_missing = values[n - 1].is_nan() && sums[(n - 1) * len] != 0.0;
        let missing = has_missing.then_some(Side::Right);
        let mut side = ColumnCells { feature, values, sums, counts, counting, missing, goes: Side::Right };
        let n_negative = if values[0] > 0.0 { 0 } else { values.partition_point(|&value| value < 0.0) };
        let zero = (weight < self.weight).then_some(0.0);
        // If there are no zeros, the cut between the signs is offered only by the positive side.
        let last_negative = || (0..n_negative).rev().find(|&i| sums[i * len] != 0.0).map(|i| values[i]);
        let below_positive = zero.or_else(last_negative);
        self.move_cells(&side, (n_negative..n).rev(), below_positive, None);
        self.move_cells(&side.going_left(), 0..n_negative, zero, None);
        if has_missing {
            // On the left, missing values are treated as the smallest. The cut between them and all others has been
            // offered already.
            side.missing = Some(Side::Left);
            self.move_cells(&side, (n_negative..n - 1).rev(), below_positive, None);
            self.move_cells(&side.going_left(), 0..n_negative, zero, Some(n - 1));
        }
    }

    /// Like `best_cell`, for a feature whose cells are categories and possibly missing values.
    fn best_subset_of_cells(&mut self, feature: u32, values: &[f32], sums: &[f64], counts: &[u32], counting: Counting) {
        let len = self.criterion.sample_len();
        self.with_categories(|scan, categories| {
            categories.sums.clear();
            // Samples are counted, because some features are categorical.
            let mut n_rest = scan.n_samples;
            for (i, (&value, sums)) in values.iter().zip(sums.chunks_exact(len)).enumerate() {
                if !counting.is_empty(sums[0], counts.get(i)) {
                    let n = counting.n_samples(sums[0], counts.get(i));
                    n_rest -= n;
                    categories.sums.push(category_of(value), n, |visit| show_sums(sums, visit))?;
                }
            }
            scan.add_rest(categories, n_rest)?;
            scan.offer_subsets(feature, categories)
        });
    }

    /// Moves cells from the outermost inwards and offers the cut after each non-empty cell. `inner` is the value in the
    /// node after the last cell, if there is one. The cell `before` the first is on the side of the moved cells in
    /// every cut.
    #[inline]
    fn move_cells(
        &mut self,
        side: &ColumnCells<'_>,
        cells: impl Iterator<Item = usize>,
        inner: Option<f32>,
        before: Option<usize>,
    ) {
        let mut moved = self.criterion.reset();
        let mut outer = None;
        let mut n_moved = 0;
        if let Some(cell) = before {
            let sums = self.criterion.sums(side.sums, cell);
            self.criterion.move_sums(&mut moved, sums);
            n_moved = side.counts.get(cell).copied().unwrap_or(0);
        }
        for cell in cells {
            // Every sample has a positive weight.
            let sums = self.criterion.sums(side.sums, cell);
            if sums[0] == 0.0 {
                continue;
            }
            if let Some(outer) = outer {
                self.offer_cells(side, &moved, n_moved, (outer, side.values[cell]));
            }
            self.criterion.move_sums(&mut moved, sums);
            n_moved += side.counts.get(cell).copied().unwrap_or(0);
            outer = Some(side.values[cell]);
        }
        if let (Some(outer), Some(inner)) = (outer, inner) {
            self.offer_cells(side, &moved, n_moved, (outer, inner));
        }
    }

    #[inline]
    fn offer_cells(&mut self, side: &ColumnCells<'_>, moved: &M::Local, n_counted: u32, (outer, inner): (f32, f32)) {
        if let Some(score) = self.criterion.score_from(moved, self.best_score) {
            let n_moved = match side.counting {
                Counting::Not => 1,
                Counting::ByWeight(weight) => (self.criterion.moved_weight(moved) / weight) as u32,
                Counting::InBins => n_counted,
            };
            let moved = MovedSide { n: n_moved, moved, side: side.goes };
            self.offer_score(side.feature, moved, score, || Cut::between(outer, inner, side.missing));
        }
    }
}

/// The cells of a column in a node.
#[derive(Clone, Copy, Debug)]
struct ColumnCells<'a> {
    feature: u32,
    values: &'a [f32],
    sums: &'a [f64],
    counts: &'a [u32],
    counting: Counting,
    /// The side of missing values, if there are any.
    missing: Option<Side>,
    /// The side to which the moved cells go.
    goes: Side,
}

impl ColumnCells<'_> {
    /// Returns the same cells with the left side for moved cells.
    fn going_left(self) -> Self {
        ColumnCells { goes: Side::Left, ..self }
    }
}
