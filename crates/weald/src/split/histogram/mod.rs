//! The search on histograms, for dense X in bins (see [`crate::data::bins`]) and numerical outputs. For sparse X, see
//! [`sparse`].
//!
//! A *histogram* has, for every bin of a feature, the sum over the node's samples in it of their weights, and of weight
//! × rounded target (see [`crate::criterion::variance`]). Scanning bins instead of samples visits the same cuts with
//! the same sums, so that the result is bit for bit that of every other search on the same codes.
//!
//! While bins are filled, those of one output are one word each where that has room (see [`words`]). So are those that
//! workers send to each other (see [`sent`]). The samples of bins are counted only for cuts of which weights do not tell
//! whether both sides have enough of them (see [`builder::Counting`]).
//!
//! Sums are exact ([`Total`](crate::exact::Total)): the histogram of the larger child is that of its parent minus that
//! of the smaller child, and no bit is lost. A bin has no sample if and only if its weight is zero, because each sample
//! weighs at least one unit. Nodes that wait to be split keep their histograms, up to a number of bytes. If there is no histogram, or if
//! one of the two children has a frame of its own, it is built from the samples. Small nodes have none: their samples
//! are sorted as elsewhere.
//!
//! The cost of a node is drawn features × (samples of the smaller child + bins).
//!
//! Threads share one node at a time: blocks of its samples when these are moved, rounded, copied and summed, groups of
//! features when bins are filled and subtracted, and features in the search (see [`part`]). A loop is shared if it is
//! longer than it takes another thread to begin ([`builder::MANY`]). Sums are exact, and ties between features are
//! resolved as in any other order, so that the tree does not depend on the number of threads.

mod bins;
mod builder;
mod cells;
mod columns;
mod fill;
mod part;
mod sent;
mod spare;
mod sparse;
#[cfg(test)]
mod tests;
mod words;

use std::ops::Range;

use bins::{Drawn, OfNode};
use builder::{Builder, Counting, FAR, Histogram, MANY};
pub(crate) use cells::SparseCells;
pub(crate) use fill::BinnedSums;
use part::PIECES;
pub(crate) use spare::Spare;
use spare::{MOST_BYTES, PURPOSE, Unused};
pub(crate) use sparse::SparseHistograms;
use words::Gathered;

use super::coded::{scan_by_code, split_by_code};
use super::expand::Store;
use super::scan::Scan;
use super::{Rules, Task};
use crate::control::Control;
use crate::criterion::Units;
use crate::criterion::variance::{Bounds, Variance};
use crate::data::Codes;
use crate::error::Result;
use crate::exact::debug_assert_exact;
use crate::exact::reduce::Reduce;
use crate::loss::kernels::vector::vectorised;
use crate::partition::decision::Decision;
use crate::partition::lottery::Lottery;
use crate::partition::permutation::Permutation;
use crate::partition::{Entry, KnownConstants, Span, Visitor};

/// Nodes are sorted if their number of samples is less than this fraction of the number of bins of a feature. The
/// fraction increases for each further output, up to the last value. The values are set by hand from
/// `benches/rust/histogram.rs`.
const FEW_SHARE: f64 = 0.4;
const FEW_SHARE_OF_OUTPUT: f64 = 0.2;
const MOST_FEW_SHARE: f64 = 2.0;

/// Nodes with fewer samples are sorted, whatever the number of bins.
const FEW_SAMPLES: u32 = 16;

/// The samples of one tree, and the bins of dense X.
#[derive(Debug)]
pub(crate) struct Histograms<'a> {
    x: &'a Codes<'a>,
    n: u32,
    samples: Permutation,
    control: Control,
    /// The features known to be constant, if this worker has all samples. Otherwise ranges of samples do not identify
    /// nodes.
    constants: Option<KnownConstants>,
    builder: Builder<'a>,
    unused: Unused<'a>,
    /// The maximum number of histograms of waiting nodes. If it is zero, there are no histograms of all features.
    n_places: usize,
    few_samples: u32,
    drawn: Vec<Drawn>,
    entries: Vec<Entry>,
}

impl<'a> Histograms<'a> {
    pub(crate) fn new<U: Units, M: BinnedSums>(
        x: &'a Codes<'a>,
        shared: &'a Spare,
        rows: &[u32],
        criterion: &Variance<'_, U, M>,
        rules: &Rules,
        control: Control,
    ) -> Result<Self> {
        let common = criterion.common_weight(rows)?;
        let share = FEW_SHARE + FEW_SHARE_OF_OUTPUT * (criterion.sample_len() - 2) as f64;
        let few_samples = share.min(MOST_FEW_SHARE) * x.n_bins() as f64 / x.n_features() as f64;
        // Nodes are sorted only if one worker has all samples.
        let has_all_rows = criterion.workers().has_all_rows();
        let few_samples = if has_all_rows { FEW_SAMPLES.max(few_samples as u32) } else { 0 };
        let builder = Builder {
            x,
            len: criterion.sample_len(),
            counting: match Counting::of(common, rules) {
                Counting::InBins if has_all_rows => Counting::OnDemand(rules.largest_weight),
                counting => counting,
            },
            n_threads: control.n_threads(),
            many: MANY,
            far: FAR,
            gathered: Gathered::new(&control)?,
            batch: Histogram::default(),
            missing: Vec::new(),
        };
        let histograms = Histograms {
            x,
            n: rows.len() as u32,
            samples: Permutation::one_way(rows, &control)?,
            constants: has_all_rows.then(|| KnownConstants::new(rules.n_features)).transpose()?,
            control,
            builder,
            unused: Unused::new(shared),
            n_places: 0,
            few_samples,
            drawn: Vec::new(),
            entries: Vec::new(),
        };
        Ok(histograms.with_limit(MOST_BYTES))
    }

    /// Sets the maximum number of bytes of the histograms that are kept.
    fn with_limit(mut self, most_bytes: usize) -> Self {
        self.n_places = most_bytes / self.builder.bytes(self.x.n_bins()).max(1);
        self
    }

    fn is_small(&self, span: &Span) -> bool {
        span.n_samples() < self.few_samples
    }

    /// Returns whether a feature is known to be constant in a node.
    fn is_constant(&self, feature: u32, node: &Range<u32>) -> bool {
        self.constants.as_ref().is_some_and(|constants| constants.contains(feature, node))
    }

    /// Draws the features at some positions, except those that are known to be constant in the node.
    fn draw(&mut self, lottery: &Lottery, positions: Range<u32>, node: &Range<u32>, in_whole: bool) -> Result<()> {
        self.drawn.clear();
        PURPOSE.grow(&mut self.drawn, positions.len())?;
        let mut end = 0;
        for feature in positions.filter_map(|position| lottery.feature(position)) {
            if self.is_constant(feature, node) {
                continue;
            }
            let of_x = self.x.bins(feature);
            let bins = if in_whole { of_x } else { end..end + of_x.len() };
            end = bins.end;
            let has_missing = self.x.missing(feature).is_some();
            self.drawn.push(Drawn { feature, bins, has_missing, varies: false });
        }
        Ok(())
    }

    /// Searches the drawn features of a small node, whose samples are sorted.
    fn sort_drawn<U: Units, M: BinnedSums>(
        &mut self,
        scan: &mut Scan<'_, Variance<'_, U, M>>,
        node: &Range<u32>,
    ) -> Result<()> {
        let rows = self.samples.rows(node.clone());
        for drawn in &mut self.drawn {
            drawn.varies = scan_by_code(scan, &mut self.entries, (self.x, drawn.feature), rows)?;
        }
        Ok(())
    }

    /// Returns a histogram in which no feature is filled, for samples in this frame with sums within these bounds.
    fn empty(&mut self, frame: u32, bounds: Bounds) -> Result<Histogram> {
        let bytes = self.builder.bytes(self.x.n_bins());
        let used = self.unused.take();
        // An earlier tree may have had other outputs.
        let used = used.filter(|used| used.bytes() == bytes && used.sums.len() == self.x.n_bins() * self.builder.len);
        let mut histogram = used.map_or_else(|| self.builder.histogram(self.x.n_bins()), Ok)?;
        histogram.is_filled.clear();
        PURPOSE.reserve(&mut histogram.is_filled, self.x.n_features())?;
        histogram.is_filled.resize(self.x.n_features(), false);
        (histogram.frame, histogram.bounds) = (frame, bounds);
        Ok(histogram)
    }
}

/// Checks, in builds with debug assertions, the weights of bins from which a part has been subtracted.
#[inline(always)]
fn debug_assert_rest(sums: &[f64], len: usize) {
    if cfg!(debug_assertions) {
        for weight in sums.iter().step_by(len) {
            debug_assert!(*weight >= 0.0, "a part that is not in the whole: {weight}");
            debug_assert_exact(*weight);
        }
    }
}

/// Passes the sums of a bin, each with its output, to `visit`, and returns their weight.
fn show_sums(sums: &[f64], visit: &mut dyn FnMut(u32, f64)) -> f64 {
    (0..).zip(&sums[1..]).for_each(|(output, &sum)| visit(output, sum));
    sums[0]
}

impl<'a, U: Units, M: BinnedSums> Store<Variance<'a, U, M>> for Histograms<'_> {
    type Sums = Histogram;

    fn root(&self) -> Span {
        Span { samples: 0..self.n, entries: 0..0 }
    }

    fn rows(&self, span: &Span) -> &[u32] {
        self.samples.rows(span.samples.clone())
    }

    fn split_samples(&mut self, span: &Span, feature: u32, decision: Decision<'_>) -> Result<u32> {
        split_by_code(&mut self.samples, span, (self.x, feature), decision, self.control.n_threads())
    }

    /// No feature is filled yet: the search fills the features that it draws.
    fn fill(&mut self, criterion: &Variance<'a, U, M>, span: &Span) -> Result<Option<Histogram>> {
        if self.n_places == 0 || self.is_small(span) {
            return Ok(None);
        }
        self.empty(criterion.number_of_last_frame(), criterion.bounds()).map(Some)
    }

    /// Computes the features that the search of the larger child draws. Features that the smaller child does not have
    /// yet are filled first.
    fn subtract(
        &mut self,
        criterion: &Variance<'a, U, M>,
        lottery: &Lottery,
        (mut whole, taken): (Histogram, bool),
        (smaller, part): (&Span, &mut Option<Histogram>),
        larger: &Span,
    ) -> Result<Option<Histogram>> {
        debug_assert!(!taken);
        let of_smaller = match part {
            Some(part) => part.frame,
            None => criterion.number_of_frame(self.samples.rows(smaller.samples.clone()))?,
        };
        let frames = [of_smaller, criterion.number_of_last_frame()];
        if frames != [whole.frame; 2] || self.is_small(larger) {
            self.unused.give_back(whole)?;
            return Ok(None);
        }
        let part = match part {
            Some(part) => part,
            // The bounds of all samples hold for the smaller child.
            None => part.insert(self.empty(whole.frame, whole.bounds)?),
        };
        self.draw(lottery, 0..lottery.n_examined(), &larger.samples, true)?;
        self.drawn.retain(|drawn| whole.is_filled[drawn.feature as usize]);
        let rows = self.samples.rows(smaller.samples.clone());
        self.builder.fill_whole(criterion, rows, &smaller.samples, &self.drawn, part, &self.control)?;
        whole.bounds = criterion.bounds();
        whole.is_filled.fill(false);
        self.drawn.iter().for_each(|drawn| whole.is_filled[drawn.feature as usize] = true);
        self.builder.take_away::<M>(&mut whole, part, &mut self.drawn)?;
        Ok(Some(whole))
    }

    fn most_kept(&self) -> usize {
        self.n_places
    }

    fn give_back(&mut self, histogram: Histogram) -> Result<()> {
        self.unused.give_back(histogram)
    }

    /// Bins that the histogram does not have yet are filled.
    fn search(
        &mut self,
        scan: &mut Scan<'_, Variance<'a, U, M>>,
        task: &Task,
        mut histogram: Option<&mut Histogram>,
    ) -> Result<()> {
        let (lottery, n_drawn, node) = (scan.lottery, scan.lottery.n_examined(), &task.span.samples);
        let is_small = self.is_small(&task.span);
        let n_at_once = if histogram.is_some() { n_drawn } else { self.builder.n_at_once() };
        let (mut found, mut next) = (false, 0);
        while next < lottery.n_positions() && !(next >= n_drawn && found) && !scan.is_over() {
            // Later features are drawn one by one, until one varies.
            let end = if next < n_drawn { n_drawn.min(next + n_at_once) } else { next + 1 };
            self.draw(lottery, next..end, node, histogram.is_some())?;
            next = end;
            if is_small {
                self.sort_drawn(scan, node)?;
            } else {
                let rows = self.samples.rows(node.clone());
                let histogram = match &mut histogram {
                    Some(histogram) => {
                        self.builder.fill_whole(scan.criterion, rows, node, &self.drawn, histogram, &self.control)?;
                        &**histogram
                    }
                    None => {
                        self.builder.fill_batch(scan.criterion, rows, node, &self.drawn, &self.control)?;
                        &self.builder.batch
                    }
                };
                search_bins(scan, &mut self.drawn, (histogram, rows), &self.builder)?;
            }
            for drawn in &self.drawn {
                if drawn.varies {
                    found = true;
                } else if let Some(constants) = &mut self.constants {
                    constants.insert(drawn.feature, node);
                }
            }
        }
        Ok(())
    }
}

/// Searches the drawn features of a node with these samples, whose bins are filled.
fn search_bins<U: Units, M: BinnedSums>(
    scan: &mut Scan<'_, Variance<'_, U, M>>,
    drawn: &mut [Drawn],
    (histogram, rows): (&Histogram, &[u32]),
    builder: &Builder<'_>,
) -> Result<()> {
    let rules = scan.rules;
    let of_node = OfNode { histogram, counting: builder.counting, x: builder.x, rows };
    if rules.categories.is_some() {
        for drawn in drawn.iter_mut().filter(|drawn| rules.is_category(drawn.feature)) {
            scan.best_subset_of_bins(drawn, of_node);
        }
    }
    let n_items = drawn.iter().map(|drawn| drawn.bins.len()).sum::<usize>() * builder.len;
    let n_threads = builder.n_threads_for(n_items);
    scan.in_parts(n_threads, drawn.chunks_mut(drawn.len().div_ceil(PIECES * n_threads).max(1)), |part, drawn| {
        vectorised(
            #[inline(always)]
            || {
                for drawn in drawn.iter_mut().filter(|drawn| !rules.is_category(drawn.feature)) {
                    part.best_bin(drawn, of_node);
                }
            },
        );
    })
}
