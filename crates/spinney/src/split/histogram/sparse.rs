//! The search by histograms for sparse X in bins (see [`super::cells`]) and numbers, where nodes examine all features.
//!
//! A histogram holds the sums of each cell; zeros are the node minus the cells of a column. So a node costs the entries of
//! its smaller child and the cells of X, however many entries a column has. The cuts, their sums and ties are those of every
//! other search, bit for bit.

use std::ops::Range;

use super::builder::{Counting, Histogram};
use super::cells::Cells;
use super::store::{MOST_BYTES, Spare, Store, WHAT};
use super::{Bins, FEW_SAMPLES, LOTTERY, Lottery, Rules, Scan, Split, SplitSearch, Task, by_size};
use crate::control::Control;
use crate::criterion::variance::Variance;
use crate::criterion::{Criterion, Units};
use crate::error::{Result, try_extend, try_reserve};
use crate::partition::permutation::Permutation;
use crate::partition::sparse::{StoredColumn, split_by_column};
use crate::partition::{BitSet, Column, Entry, Span, Visitor};
use crate::rng::Key;

/// Sorting an entry costs as much as looking at so many cells; set by hand.
const CELLS_PER_ENTRY: f64 = 8.0;

const ENTRIES: &str = "the entries of a node";

/// Rows, or columns, between two looks at the control.
const PULSE: usize = 256;

#[derive(Debug)]
pub(crate) struct SparseHistogramSearch<'a, U, M> {
    x: &'a Cells,
    n: u32,
    samples: Permutation,
    goes_right: BitSet,
    criterion: Variance<'a, U, M>,
    rules: Rules,
    control: Control,
    lottery: Lottery,
    counting: Counting,
    store: Store<'a>,
    /// Nodes of fewer samples are sorted.
    pub(super) few_samples: u32,
    /// Cells and rows of a small node.
    found: Vec<u64>,
    entries: Vec<Entry>,
    picked: Vec<u32>,
}

impl<'a, U: Units, M: Bins> SparseHistogramSearch<'a, U, M> {
    /// Nodes examine all features, and no fewer samples a leaf than `x` was made for.
    pub(crate) fn new(
        x: &'a Cells,
        shared: &'a Spare,
        rows: &[u32],
        criterion: Variance<'a, U, M>,
        rules: Rules,
        control: Control,
    ) -> Result<Self> {
        debug_assert!(rules.n_drawn as usize == rules.n_features);
        let few_samples = x.n_cells() as f64 / (CELLS_PER_ENTRY * x.per_row().max(1.0));
        let search = SparseHistogramSearch {
            x,
            n: rows.len() as u32,
            samples: Permutation::new(rows, x.by_column.n_minor())?,
            goes_right: BitSet::new(x.by_column.n_minor())?,
            counting: Counting::of(&criterion, rows, &rules),
            criterion: criterion.without_distance(),
            lottery: Lottery::new(Key::from_seed(0), rules.n_features, rules.n_drawn)?,
            rules,
            control,
            store: Store::new(shared),
            few_samples: FEW_SAMPLES.max(few_samples as u32),
            found: Vec::new(),
            entries: Vec::new(),
            picked: Vec::new(),
        };
        Ok(search.with_limit(MOST_BYTES))
    }

    /// The same with so many bytes for the histograms that are kept.
    pub(super) fn with_limit(mut self, most_bytes: usize) -> Self {
        self.store.n_places = most_bytes / self.bytes().max(1);
        self
    }

    fn n_counts(&self) -> usize {
        if let Counting::InBins = self.counting { self.x.n_cells() } else { 0 }
    }

    fn n_sums(&self) -> usize {
        self.x.n_cells() * self.criterion.sample_len()
    }

    fn bytes(&self) -> usize {
        self.n_sums() * size_of::<f64>() + self.n_counts() * size_of::<u32>()
    }

    fn may_split(&self, task: &Task) -> bool {
        self.rules.may_split(&task.stats, task.span.n_samples() as usize, task.depth)
    }

    fn is_small(&self, span: &Span) -> bool {
        span.n_samples() < self.few_samples
    }

    fn frame(&self, span: &Span) -> u32 {
        self.criterion.frame_of(self.samples.rows(span.samples.clone())[0])
    }

    /// The histogram of a node that is worth one.
    fn filled(&mut self, span: &Span) -> Result<Option<Histogram>> {
        if self.is_small(span) {
            return Ok(None);
        }
        let (n_sums, n_counts) = (self.n_sums(), self.n_counts());
        let used = self.store.unused();
        let used = used.filter(|used| used.sums.len() == n_sums && used.counts.len() == n_counts);
        let mut histogram = used.unwrap_or_default();
        histogram.sums.clear();
        try_reserve(WHAT, &mut histogram.sums, n_sums)?;
        histogram.sums.resize(n_sums, 0.0);
        histogram.counts.clear();
        try_reserve(WHAT, &mut histogram.counts, n_counts)?;
        histogram.counts.resize(n_counts, 0);
        histogram.frame = self.frame(span);
        self.move_rows::<true>(&mut histogram, span);
        Ok(Some(histogram))
    }

    /// Adds the rows of a node, or takes them away.
    fn move_rows<const ADD: bool>(&self, histogram: &mut Histogram, span: &Span) {
        let len = self.criterion.sample_len();
        let Histogram { sums, counts, .. } = histogram;
        for (i, &row) in self.samples.rows(span.samples.clone()).iter().enumerate() {
            if i.is_multiple_of(PULSE) && self.control.is_stopped() {
                return;
            }
            let (cells, sample) = (self.x.of_row(row), self.criterion.sums(self.criterion.samples(), row as usize));
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

    /// Takes the smaller child out of its parent's histogram.
    fn take_away(&self, whole: &mut Histogram, smaller: &Span, part: Option<&Histogram>) {
        match part {
            Some(part) => {
                M::take_away(&mut whole.sums, &part.sums, self.criterion.sample_len());
                whole.counts.iter_mut().zip(&part.counts).for_each(|(whole, part)| *whole -= part);
            }
            None => self.move_rows::<false>(whole, smaller),
        }
    }

    /// Searches the node that the criterion has entered; remembers it if it will be split.
    fn find_split(&mut self, task: &mut Task, histogram: Option<&Histogram>) -> Result<()> {
        task.split = self.search(task, histogram)?;
        if task.split.is_some() {
            task.memory = Some(self.store.wait(|memory| self.criterion.remember(memory))?);
        }
        Ok(())
    }

    /// Best split of the node that the criterion has entered; of its sorted entries where there is no histogram.
    fn search(&mut self, task: &Task, histogram: Option<&Histogram>) -> Result<Option<Split>> {
        self.lottery.restart(task.key.child(LOTTERY));
        let (lottery, rules, x) = (&self.lottery, &self.rules, self.x);
        let mut scan = Scan::new(&mut self.criterion, rules, lottery, &self.control, task, &mut self.picked);
        if let Some(histogram) = histogram {
            for (i, (feature, cells)) in x.columns().enumerate() {
                if i.is_multiple_of(PULSE) && self.control.is_stopped() {
                    return Ok(None);
                }
                scan.best_cell(feature, x.values(cells.clone()), histogram, cells, self.counting);
            }
            return Ok(scan.outcome(rules, task));
        }
        self.found.clear();
        for &row in self.samples.rows(task.span.samples.clone()) {
            let cells = x.of_row(row).iter().map(|&cell| u64::from(cell) << 32 | u64::from(row));
            try_extend(ENTRIES, &mut self.found, cells)?;
        }
        self.found.sort_unstable();
        let column_of = |found: u64| x.cell((found >> 32) as u32).0;
        for group in self.found.chunk_by(|&a, &b| column_of(a) == column_of(b)) {
            if (group.len() as u32) < scan.least_entries().min(task.span.n_samples()) {
                continue;
            }
            self.entries.clear();
            let entry = |&found: &u64| Entry::new(x.cell((found >> 32) as u32).1, found as u32);
            try_extend(ENTRIES, &mut self.entries, group.iter().map(entry))?;
            let n_zeros = task.span.n_samples() - group.len() as u32;
            let feature = x.feature(column_of(group[0]));
            if let Some(column) = Column::varying(feature, &mut self.entries, true, n_zeros) {
                scan.column(column);
            }
        }
        Ok(scan.outcome(rules, task))
    }
}

impl<U: Units, M: Bins> SplitSearch for SparseHistogramSearch<'_, U, M> {
    fn root(&mut self, key: Key) -> Result<Task> {
        let span = Span { samples: 0..self.n, entries: 0..0 };
        let stats = self.criterion.enter(self.samples.rows(span.samples.clone()))?;
        let mut task = Task::new(span, 0, key, stats, None);
        if self.may_split(&task) {
            let histogram = self.filled(&task.span)?;
            self.find_split(&mut task, histogram.as_ref())?;
            self.store.keep(&task, self.rules.max_depth, histogram)?;
        }
        Ok(task)
    }

    fn expand(&mut self, parent: &Task, split: &Split, search: bool) -> Result<[Task; 2]> {
        let (rows, values) = self.x.by_column.slice(split.feature as usize);
        let column = StoredColumn::Whole(rows, values);
        let mid = split_by_column(column, &mut self.samples, &parent.span, split.threshold, &mut self.goes_right);
        let mut children = parent.children([parent.span.samples.start..mid, mid..parent.span.samples.end]);
        let (smaller, larger) = by_size(&children);
        let place = parent.memory.expect("a node that has a split was kept");
        let whole = self.store.take(place);

        let rows = self.samples.rows(children[smaller].span.samples.clone());
        children[smaller].stats = self.criterion.enter(rows)?;
        let mut part = None;
        if search && self.may_split(&children[smaller]) {
            part = self.filled(&children[smaller].span)?;
            self.find_split(&mut children[smaller], part.as_ref())?;
        }
        let rows = self.samples.rows(children[larger].span.samples.clone());
        children[larger].stats = match self.store.memory(place) {
            Some(memory) => self.criterion.enter_rest(memory, rows),
            None => self.criterion.enter(rows),
        }?;
        self.store.free(place)?;
        if search && self.may_split(&children[larger]) {
            let frames = [0, 1].map(|side: usize| self.frame(&children[side].span));
            let is_small = self.is_small(&children[larger].span);
            let histogram = match whole {
                Some(mut whole) if frames == [whole.frame; 2] && !is_small => {
                    self.take_away(&mut whole, &children[smaller].span, part.as_ref());
                    Some(whole)
                }
                whole => {
                    whole.map_or(Ok(()), |whole| self.store.give_back(whole))?;
                    self.filled(&children[larger].span)?
                }
            };
            self.find_split(&mut children[larger], histogram.as_ref())?;
            self.store.keep(&children[larger], self.rules.max_depth, histogram)?;
        } else if let Some(whole) = whole {
            self.store.give_back(whole)?;
        }
        self.store.keep(&children[smaller], self.rules.max_depth, part)?;
        Ok(children)
    }

    fn rows(&self, span: &Span) -> &[u32] {
        self.samples.rows(span.samples.clone())
    }
}

impl<U: Units, M: Bins> Scan<'_, Variance<'_, U, M>> {
    /// Offers every cut of a column: its cells have rising `values`, and what they lack of the node are zeros.
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
        let is_light = match counting {
            Counting::ByWeight(each) => weight < each * f64::from(self.min_samples_leaf),
            _ => weight == 0.0,
        };
        if is_light || weight < self.min_weight_leaf {
            return;
        }
        let counts = histogram.counts.get(cells).unwrap_or(&[]);
        let side = Side { feature, values, sums, counts, counting };
        let n_negative = if values[0] > 0.0 { 0 } else { values.partition_point(|&value| value < 0.0) };
        let zero = (weight < self.weight).then_some(0.0);
        // Without zeros the cut between the signs is offered by the positive side alone.
        let last_negative = || (0..n_negative).rev().find(|&i| sums[i * len] != 0.0).map(|i| values[i]);
        self.move_cells(&side, (n_negative..values.len()).rev(), zero.or_else(last_negative));
        self.move_cells(&side, 0..n_negative, zero);
    }

    /// Moves cells from the outermost inwards and offers the cut after each that is not empty. `inner` is the value in the
    /// node that comes after the last one, if any.
    #[inline]
    fn move_cells(&mut self, side: &Side<'_>, cells: impl Iterator<Item = usize>, inner: Option<f32>) {
        let mut moved = self.criterion.reset();
        let mut outer = None;
        let mut n_moved = 0;
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
    fn offer_cells(&mut self, side: &Side<'_>, moved: &M::Local, n_counted: u32, (outer, inner): (f32, f32)) {
        if let Some(score) = self.criterion.score_from(moved, self.best_score) {
            let n_moved = match side.counting {
                Counting::Not => 1,
                Counting::ByWeight(weight) => (self.criterion.moved_weight(moved) / weight) as u32,
                Counting::InBins => n_counted,
            };
            let between = self.between;
            self.offer_score(side.feature, n_moved, moved, score, || between(outer, inner));
        }
    }
}

/// The cells of a column in a node.
#[derive(Clone, Copy, Debug)]
struct Side<'a> {
    feature: u32,
    values: &'a [f32],
    sums: &'a [f64],
    counts: &'a [u32],
    counting: Counting,
}
