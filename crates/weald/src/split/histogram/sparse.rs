//! The search on histograms for sparse X in bins (see [`super::cells`]) and numerical outputs, if nodes examine all
//! features.
//!
//! A histogram has the sums of each cell. The sums of zeros are those of the node minus those of a column's cells. The
//! cost of a node is therefore that of the entries of its smaller child plus the cells of X, however many entries a
//! column has. The cuts, their sums and the resolution of ties are bit for bit those of every other search.

use std::ops::Range;

use super::builder::{Counting, Histogram, MANY};
use super::cells::SparseCells;
use super::columns::ColumnCells;
use super::part::PIECES;
use super::sent::sum_bins;
use super::spare::{MOST_BYTES, PURPOSE, Spare, Unused};
use super::{BinnedSums, FEW_SAMPLES, debug_assert_rest};
use crate::control::Control;
use crate::criterion::Units;
use crate::criterion::variance::Variance;
use crate::error::{Purpose, Result};
use crate::exact::reduce::Reduce;
use crate::partition::decision::Decision;
use crate::partition::lottery::Lottery;
use crate::partition::permutation::Permutation;
use crate::partition::stored_column::{StoredColumn, split_by_column};
use crate::partition::{BitSet, Column, Entry, Span, Visitor};
use crate::pool;
use crate::split::expand::Store;
use crate::split::scan::Scan;
use crate::split::{Rules, Task};

/// Sorting an entry costs as much as reading this number of cells; it is set by hand.
const CELLS_PER_ENTRY: f64 = 8.0;

/// The search of a column costs as much as this number of items of bins, besides those of its cells; it is set by hand.
const ITEMS_OF_A_COLUMN: usize = 8;

/// A histogram of a thread costs as much as [`MANY`] additions for each of this number of sums; it is set by hand.
const SUMS_OF_A_THREAD: usize = 1 << 12;

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
    /// Room for the histograms of threads.
    parts: Vec<Histogram>,
    /// The maximum number of histograms of waiting nodes.
    n_places: usize,
    /// Nodes with fewer samples are sorted.
    pub(super) few_samples: u32,
    /// See [`MANY`].
    pub(super) many: usize,
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
            parts: Vec::new(),
            n_places: 0,
            // Nodes are sorted only if one worker has all samples.
            few_samples: if has_all_rows { FEW_SAMPLES.max(few_samples as u32) } else { 0 },
            many: MANY,
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

    /// Returns a histogram of zeros.
    fn empty(&mut self) -> Result<Histogram> {
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
        Ok(histogram)
    }

    /// Adds the samples of a node to a histogram, or subtracts them. If there are many, threads share them, and all but
    /// one have a histogram of their own, which is added afterwards.
    fn move_rows<U: Units, M: BinnedSums, const ADD: bool>(
        &mut self,
        criterion: &Variance<'_, U, M>,
        histogram: &mut Histogram,
        span: &Span,
    ) -> Result<()> {
        let least = self.many * (1 + self.n_sums() / SUMS_OF_A_THREAD) / (self.x.per_row() as usize * self.len).max(1);
        let (n_blocks, at_once) = pool::blocks(self.control.n_threads(), span.samples.len(), least);
        if n_blocks < 2 {
            self.move_block::<_, _, ADD>(criterion, histogram, self.samples.rows(span.samples.clone()));
            return Ok(());
        }
        let mut parts = std::mem::take(&mut self.parts);
        PURPOSE.push(&mut parts, std::mem::take(histogram))?;
        for _ in 1..n_blocks {
            PURPOSE.push(&mut parts, self.empty()?)?;
        }
        let rows = self.samples.rows(span.samples.clone());
        pool::for_each(
            n_blocks,
            rows.chunks(at_once).zip(&mut parts).enumerate(),
            || Ok(()),
            |(), (block, (rows, part))| {
                if ADD || block > 0 {
                    self.move_block::<_, _, true>(criterion, part, rows);
                } else {
                    self.move_block::<_, _, false>(criterion, part, rows);
                }
                Ok(())
            },
        )?;
        *histogram = parts.swap_remove(0);
        for part in parts.drain(..) {
            if ADD {
                histogram.sums.iter_mut().zip(&part.sums).for_each(|(whole, part)| *whole += part);
                histogram.counts.iter_mut().zip(&part.counts).for_each(|(whole, part)| *whole += part);
            } else {
                M::take_away(&mut histogram.sums, &part.sums, self.len);
                histogram.counts.iter_mut().zip(&part.counts).for_each(|(whole, part)| *whole -= part);
            }
            self.unused.give_back(part)?;
        }
        self.parts = parts;
        Ok(())
    }

    /// Adds or subtracts some samples.
    fn move_block<U: Units, M: BinnedSums, const ADD: bool>(
        &self,
        criterion: &Variance<'_, U, M>,
        histogram: &mut Histogram,
        rows: &[u32],
    ) {
        let len = self.len;
        let Histogram { sums, counts, .. } = histogram;
        for (i, &row) in rows.iter().enumerate() {
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
            let column = lottery.feature(next).and_then(|feature| Some((feature, self.x.cells(feature)?)));
            let Some(column) = column else { continue };
            let column = ColumnCells::new(column, self.x, histogram, self.counting, self.len);
            if column.has_several(scan.weight) {
                found = true;
                scan.in_parts(1, std::iter::once(()), |part, ()| part.best_cell(&column))?;
            }
        }
        Ok(())
    }

    /// Searches all features.
    fn search_cells<U: Units, M: BinnedSums>(
        &self,
        scan: &mut Scan<'_, Variance<'_, U, M>>,
        histogram: &Histogram,
    ) -> Result<()> {
        let (x, lottery, rules) = (self.x, scan.lottery, scan.rules);
        let columns = |columns: Range<usize>| {
            let allowed = x.columns(columns).filter(|(feature, _)| lottery.allows(*feature));
            allowed.map(|column| (column.0, ColumnCells::new(column, x, histogram, self.counting, self.len)))
        };
        if rules.categories.is_some() {
            for (_, column) in columns(0..x.n_columns()).filter(|(feature, _)| rules.is_category(*feature)) {
                scan.best_subset_of_cells(&column);
            }
        }
        let n_items = histogram.sums.len() + ITEMS_OF_A_COLUMN * x.n_columns();
        let n_threads = if n_items >= self.many { self.control.n_threads() } else { 1 };
        let at_once = PULSE.min(x.n_columns().div_ceil(PIECES * n_threads)).max(1);
        let pieces = (0..x.n_columns().div_ceil(at_once)).map(|i| i * at_once..x.n_columns().min((i + 1) * at_once));
        scan.in_parts(n_threads, pieces, |part, piece| {
            if !self.control.is_stopped() {
                let columns = columns(piece).filter(|(feature, _)| !rules.is_category(*feature));
                columns.for_each(|(_, column)| part.best_cell(&column));
            }
        })
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

    fn split_samples(&mut self, span: &Span, feature: u32, decision: Decision<'_>) -> Result<u32> {
        let (rows, values) = self.x.by_column.slice(feature as usize);
        let column = StoredColumn::Whole(rows, values);
        Ok(split_by_column(column, &mut self.samples, span, decision, &mut self.goes_right))
    }

    fn fill(&mut self, criterion: &Variance<'a, U, M>, span: &Span) -> Result<Option<Histogram>> {
        if self.is_small(span) {
            return Ok(None);
        }
        let mut histogram = self.empty()?;
        histogram.frame = criterion.number_of_last_frame();
        self.move_rows::<_, _, true>(criterion, &mut histogram, span)?;
        let bins = (&mut histogram.sums[..], &mut histogram.counts[..]);
        sum_bins(criterion.workers(), criterion.bounds(), self.len, bins)?;
        Ok(Some(histogram))
    }

    fn take_away(
        &mut self,
        criterion: &Variance<'a, U, M>,
        whole: &mut Histogram,
        smaller: &Span,
        larger: &Span,
    ) -> Result<bool> {
        let cost = f64::from(smaller.n_samples()) * self.x.per_row();
        let pays = cost <= self.x.n_cells() as f64 && !self.is_small(larger) && criterion.workers().has_all_rows();
        if pays {
            self.move_rows::<_, _, false>(criterion, whole, smaller)?;
        }
        Ok(pays)
    }

    fn subtract(
        &mut self,
        criterion: &Variance<'a, U, M>,
        _: &Lottery,
        (mut whole, taken): (Histogram, bool),
        (smaller, part): (&Span, &mut Option<Histogram>),
        larger: &Span,
    ) -> Result<Option<Histogram>> {
        let of_smaller = match part {
            _ if taken => whole.frame,
            Some(part) => part.frame,
            None => criterion.number_of_frame(self.samples.rows(smaller.samples.clone()))?,
        };
        let frames = [of_smaller, criterion.number_of_last_frame()];
        if frames != [whole.frame; 2] || self.is_small(larger) {
            self.unused.give_back(whole)?;
            return Ok(None);
        }
        match part {
            _ if taken => {}
            Some(part) => {
                M::take_away(&mut whole.sums, &part.sums, self.len);
                whole.counts.iter_mut().zip(&part.counts).for_each(|(whole, part)| *whole -= part);
            }
            None if criterion.workers().has_all_rows() => {
                self.move_rows::<_, _, false>(criterion, &mut whole, smaller)?;
            }
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
            return self.search_cells(scan, histogram);
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
