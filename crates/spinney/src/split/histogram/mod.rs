//! The search by histograms, for dense X in bins (see [`crate::data::bins`]) and numbers; for sparse X see [`sparse`].
//!
//! A *histogram* holds for every bin of a feature the sum of the node's samples in it, each its weight and weight × rounded
//! target (see [`crate::criterion::variance`]). Scanning bins in place of samples meets the same cuts with the same sums,
//! so the outcome is that of every other search on the same codes, bit for bit.
//!
//! Sums are exact: the histogram of the larger child is that of its parent minus that of the smaller child, and no bit is
//! lost. Nodes that wait to be split keep theirs, up to a number of bytes; where there is none, or where one of the two
//! children has a frame of its own, a histogram is built from the samples. Small nodes have none: their samples are
//! sorted as elsewhere.
//!
//! Cost of a node: drawn features × (samples of the smaller child + bins).

mod builder;
mod cells;
mod fill;
mod sparse;
mod store;
#[cfg(test)]
mod tests;

use std::ops::Range;

use builder::{Builder, Counting, Histogram, MANY_CELLS};
pub(crate) use cells::Cells;
pub(crate) use fill::Bins;
pub(crate) use sparse::SparseHistogramSearch;
pub(crate) use store::Spare;
use store::{MOST_BYTES, Store, WHAT};

use super::best::codes_around;
use super::features::Lottery;
use super::{LOTTERY, Rules, Scan, Split, SplitSearch, Task, by_size};
use crate::control::Control;
use crate::criterion::variance::Variance;
use crate::criterion::{Criterion, Units};
use crate::data::Codes;
use crate::error::{Result, try_grow, try_reserve, try_with_capacity};
use crate::partition::permutation::Permutation;
use crate::partition::{Column, Entry, KnownConstants, Span, Visitor};
use crate::rng::Key;

/// Nodes of fewer samples than this share of the bins of a feature are sorted, and of so much more for each further output,
/// up to the last; set by hand after `benches/rust/histogram.rs`.
const FEW_SHARE: f64 = 0.4;
const FEW_SHARE_OF_OUTPUT: f64 = 0.2;
const MOST_FEW_SHARE: f64 = 2.0;

/// Nodes of fewer samples are sorted, whatever the bins.
const FEW_SAMPLES: u32 = 16;

#[derive(Debug)]
pub(crate) struct HistogramSearch<'a, U, M> {
    x: &'a Codes,
    n: u32,
    samples: Permutation,
    criterion: Variance<'a, U, M>,
    rules: Rules,
    control: Control,
    lottery: Lottery,
    constants: KnownConstants,
    builder: Builder<'a>,
    store: Store<'a>,
    /// Whether there are histograms of all features.
    is_whole: bool,
    few_samples: u32,
    entries: Vec<Entry>,
    picked: Vec<u32>,
}

impl<'a, U: Units, M: Bins> HistogramSearch<'a, U, M> {
    pub(crate) fn new(
        x: &'a Codes,
        shared: &'a Spare,
        rows: &[u32],
        criterion: Variance<'a, U, M>,
        rules: Rules,
        control: Control,
    ) -> Result<Self> {
        let counting = Counting::of(&criterion, rows, &rules);
        let share = FEW_SHARE + FEW_SHARE_OF_OUTPUT * (criterion.sample_len() - 2) as f64;
        let few_samples = share.min(MOST_FEW_SHARE) * x.n_bins() as f64 / x.n_features() as f64;
        let few_samples = FEW_SAMPLES.max(few_samples as u32);
        let builder = Builder {
            x,
            len: criterion.sample_len(),
            counting,
            n_threads: control.n_threads(),
            many_cells: MANY_CELLS,
            gathered: Vec::new(),
            gathered_of: 0..0,
            batch: Histogram::default(),
        };
        let search = HistogramSearch {
            x,
            n: rows.len() as u32,
            samples: Permutation::one_way(rows)?,
            criterion: criterion.without_distance(),
            lottery: Lottery::new(Key::from_seed(0), rules.n_features, rules.n_drawn)?,
            constants: KnownConstants::new(rules.n_features)?,
            rules,
            control,
            builder,
            store: Store::new(shared),
            is_whole: false,
            few_samples,
            entries: Vec::new(),
            picked: Vec::new(),
        };
        Ok(search.with_limit(MOST_BYTES))
    }

    /// The same with so many bytes for the histograms that are kept.
    fn with_limit(mut self, most_bytes: usize) -> Self {
        self.store.n_places = most_bytes / self.builder.bytes(self.x.n_bins()).max(1);
        self.is_whole = self.store.n_places > 0;
        self
    }

    fn may_split(&self, task: &Task) -> bool {
        self.rules.may_split(&task.stats, task.span.n_samples() as usize, task.depth)
    }

    fn frame(&self, span: &Span) -> u32 {
        self.criterion.frame_of(self.samples.rows(span.samples.clone())[0])
    }

    /// A histogram in which nothing is filled, for a node that is worth one.
    fn empty(&mut self, span: &Span) -> Result<Option<Histogram>> {
        if !self.is_whole || span.n_samples() < self.few_samples {
            return Ok(None);
        }
        self.take_empty(self.frame(span)).map(Some)
    }

    fn take_empty(&mut self, frame: u32) -> Result<Histogram> {
        let bytes = self.builder.bytes(self.x.n_bins());
        let used = self.store.unused();
        // An earlier tree may have had other outputs.
        let used = used.filter(|used| used.bytes() == bytes && used.sums.len() == self.x.n_bins() * self.builder.len);
        let mut histogram = used.map_or_else(|| self.builder.histogram(self.x.n_bins()), Ok)?;
        histogram.is_filled.clear();
        try_reserve(WHAT, &mut histogram.is_filled, self.x.n_features())?;
        histogram.is_filled.resize(self.x.n_features(), false);
        histogram.frame = frame;
        Ok(histogram)
    }

    /// Searches the node that the criterion has entered; keeps what its children can use, if it will be split.
    fn find_split(&mut self, task: &mut Task, histogram: &mut Option<Histogram>) -> Result<()> {
        task.split = self.search(task, histogram.as_mut())?;
        if task.split.is_some() {
            task.memory = Some(self.store.wait(|memory| self.criterion.remember(memory))?);
        }
        Ok(())
    }

    /// Best split of the node that the criterion has entered. Bins that the histogram lacks are filled.
    fn search(&mut self, task: &Task, mut histogram: Option<&mut Histogram>) -> Result<Option<Split>> {
        self.lottery.restart(task.key.child(LOTTERY));
        let (lottery, rules, node) = (&self.lottery, &self.rules, &task.span.samples);
        let rows = self.samples.rows(node.clone());
        let is_small = task.span.n_samples() < self.few_samples;
        let mut scan = Scan::new(&mut self.criterion, rules, lottery, &self.control, task, &mut self.picked);
        let n_at_once = if histogram.is_some() { rules.n_drawn } else { self.builder.n_at_once() };
        let (mut found, mut next) = (false, 0);
        let mut drawn = Vec::new();
        while next < lottery.n_positions() && !(next >= rules.n_drawn && found) && !scan.is_over() {
            // Later ones are drawn one by one, until one varies.
            let end = if next < rules.n_drawn { rules.n_drawn.min(next + n_at_once) } else { next + 1 };
            drawn.clear();
            try_grow(WHAT, &mut drawn, (end - next) as usize)?;
            drawn.extend((next..end).filter_map(|position| lottery.feature(position)));
            drawn.retain(|&feature| !self.constants.contains(feature, node));
            next = end;
            if !is_small {
                match &mut histogram {
                    Some(histogram) => {
                        self.builder.fill_whole(scan.criterion, rows, node, &drawn, histogram, &self.control)
                    }
                    None => self.builder.fill_batch(scan.criterion, rows, node, &drawn, &self.control),
                }?;
            }
            let mut start = 0;
            for &feature in &drawn {
                let varies = if is_small {
                    gather(&mut self.entries, self.x.column(feature), rows);
                    let n_zeros = (rows.len() - self.entries.len()) as u32;
                    let column = Column::varying(feature, &mut self.entries, false, n_zeros);
                    column.map(|column| scan.best_cut(column)).is_some()
                } else {
                    let bins = self.x.bins(feature);
                    let (histogram, bins) = match &histogram {
                        Some(histogram) => (&**histogram, bins),
                        None => (&self.builder.batch, start..start + bins.len()),
                    };
                    start = bins.end;
                    scan.best_bin(feature, histogram, bins, self.builder.counting)
                };
                if varies {
                    found = true;
                } else {
                    self.constants.insert(feature, node);
                }
            }
        }
        Ok(scan.outcome(rules, task))
    }

    /// The histogram of the larger child, as far as it is the parent's minus the smaller one's, for the features that its
    /// search draws. What the smaller one lacks is filled.
    fn rest(
        &mut self,
        mut whole: Histogram,
        smaller: &Span,
        part: &mut Option<Histogram>,
        larger: &Task,
    ) -> Result<Histogram> {
        if part.is_none() {
            *part = Some(self.take_empty(whole.frame)?);
        }
        let part = part.as_mut().expect("made above");
        self.lottery.restart(larger.key.child(LOTTERY));
        let drawn = (0..self.rules.n_drawn).filter_map(|position| self.lottery.feature(position));
        let is_wanted = |feature: &u32| {
            whole.is_filled[*feature as usize] && !self.constants.contains(*feature, &larger.span.samples)
        };
        let mut wanted: Vec<u32> = try_with_capacity(WHAT, self.rules.n_drawn as usize)?;
        wanted.extend(drawn.filter(is_wanted));
        let rows = self.samples.rows(smaller.samples.clone());
        self.builder.fill_whole(&self.criterion, rows, &smaller.samples, &wanted, part, &self.control)?;
        whole.is_filled.fill(false);
        for feature in wanted {
            let bins = self.x.bins(feature);
            let sums = bins.start * self.builder.len..bins.end * self.builder.len;
            M::take_away(&mut whole.sums[sums.clone()], &part.sums[sums], self.builder.len);
            if let Counting::InBins = self.builder.counting {
                let pairs = whole.counts[bins.clone()].iter_mut().zip(&part.counts[bins]);
                pairs.for_each(|(whole, part)| *whole -= part);
            }
            whole.is_filled[feature as usize] = true;
        }
        Ok(whole)
    }
}

/// Entries of some rows, their codes as values; zeros left out.
fn gather(entries: &mut Vec<Entry>, codes: &[u8], rows: &[u32]) {
    entries.clear();
    let coded = rows.iter().map(|&row| (codes[row as usize], row)).filter(|&(code, _)| code != 0);
    entries.extend(coded.map(|(code, row)| Entry::new(f32::from(code), row)));
}

impl<U: Units, M: Bins> SplitSearch for HistogramSearch<'_, U, M> {
    fn root(&mut self, key: Key) -> Result<Task> {
        let span = Span { samples: 0..self.n, entries: 0..0 };
        let stats = self.criterion.enter(self.samples.rows(span.samples.clone()))?;
        let mut task = Task::new(span, 0, key, stats, None);
        if self.may_split(&task) {
            let mut histogram = self.empty(&task.span)?;
            self.find_split(&mut task, &mut histogram)?;
            self.store.keep(&task, self.rules.max_depth, histogram)?;
        }
        Ok(task)
    }

    fn expand(&mut self, parent: &Task, split: &Split, search: bool) -> Result<[Task; 2]> {
        let (column, last) = (self.x.column(split.feature), codes_around(split.threshold).0 as u8);
        let mid = self.samples.split(parent.span.samples.clone(), |row| column[row as usize] > last);
        let mut children = parent.children([parent.span.samples.start..mid, mid..parent.span.samples.end]);
        let (smaller, larger) = by_size(&children);
        let place = parent.memory.expect("a node that has a split was kept");
        let whole = self.store.take(place);

        let rows = self.samples.rows(children[smaller].span.samples.clone());
        children[smaller].stats = self.criterion.enter(rows)?;
        let mut part = None;
        if search && self.may_split(&children[smaller]) {
            part = self.empty(&children[smaller].span)?;
            self.find_split(&mut children[smaller], &mut part)?;
        }
        let rows = self.samples.rows(children[larger].span.samples.clone());
        children[larger].stats = match self.store.memory(place) {
            Some(memory) => self.criterion.enter_rest(memory, rows),
            None => self.criterion.enter(rows),
        }?;
        self.store.free(place)?;
        if search && self.may_split(&children[larger]) {
            let frames = [0, 1].map(|side: usize| self.frame(&children[side].span));
            let is_small = children[larger].span.n_samples() < self.few_samples;
            let mut histogram = match whole {
                Some(whole) if frames == [whole.frame; 2] && !is_small => {
                    Some(self.rest(whole, &children[smaller].span, &mut part, &children[larger])?)
                }
                whole => {
                    whole.map_or(Ok(()), |whole| self.store.give_back(whole))?;
                    self.empty(&children[larger].span)?
                }
            };
            self.find_split(&mut children[larger], &mut histogram)?;
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
    /// Offers every cut between bins that are not empty, the lowest first; returns whether there is any.
    fn best_bin(&mut self, feature: u32, histogram: &Histogram, bins: Range<usize>, counting: Counting) -> bool {
        let len = self.criterion.sample_len();
        let sums = &histogram.sums[bins.start * len..bins.end * len];
        let mut at = 0;
        // Every sample has a positive weight.
        while self.criterion.sums(sums, at)[0] == 0.0 {
            at += 1;
        }
        let mut moved = self.criterion.reset();
        let mut varies = false;
        for next in at + 1..bins.len() {
            if self.criterion.sums(sums, next)[0] == 0.0 {
                continue;
            }
            varies = true;
            let inner = self.criterion.sums(sums, at);
            self.criterion.move_sums(&mut moved, inner);
            if let Some(score) = self.criterion.score_from(&moved, self.best_score) {
                let n_moved = match counting {
                    Counting::Not => 1,
                    Counting::ByWeight(weight) => (self.criterion.moved_weight(&moved) / weight) as u32,
                    Counting::InBins => histogram.counts[bins.start..=bins.start + at].iter().sum(),
                };
                let between = self.between;
                self.offer_score(feature, n_moved, &moved, score, || between(at as f32, next as f32));
            }
            at = next;
        }
        varies
    }
}
