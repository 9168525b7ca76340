//! Histograms, and how they are filled.

use std::ops::Range;

use super::bins::Drawn;
use super::debug_assert_rest;
use super::fill::{BinnedColumn, BinnedSums, GROUP, Samples, count, fill_any, fill_by_row, sum_over};
use super::spare::PURPOSE;
use super::words::{Gathered, Gatherings};
use crate::control::Control;
use crate::criterion::Units;
use crate::criterion::variance::{Bounds, Variance};
use crate::data::Codes;
use crate::data::bins::codes::CodeColumn;
use crate::error::Result;
use crate::exact::reduce::Reduce;
use crate::pool;
use crate::split::Rules;

/// The size in bytes of a histogram of some features, for nodes without a histogram of all features.
pub(super) const BATCH_BYTES: usize = 4 << 20;

/// The minimum number of additions, or of items of bins to be searched, for which several threads are used. A thread that
/// waits for work begins in the time of some thousand of them. It is set by hand.
pub(super) const MANY: usize = 1 << 14;

/// The minimum number of samples that a thread copies; it is set by hand.
const LEAST_TO_COPY: usize = 1 << 12;

/// If a node has one in more samples than these, its codes are read by rows: hardly two of them are in one line of a cache in
/// a column, and those of all features are in one line of a row. It is set by hand: 8 was slower with 1 000 000 × 50.
pub(super) const FAR: usize = 16;

/// How the samples of a side are counted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counting {
    /// They are not counted: each side needs only one sample, which every cut leaves.
    Not,
    /// All samples have the same weight, so they are counted by weight.
    ByWeight(f64),
    /// They are counted in each bin.
    InBins,
    /// They are counted in the bins of a feature when weights, of which this is the largest, do not tell whether a side has
    /// enough of them.
    OnDemand(f64),
}

impl Counting {
    /// `common` is the weight of all samples, if it is the same for all.
    pub(super) fn of(common: Option<f64>, rules: &Rules) -> Self {
        match common {
            _ if rules.constraints.leaf_sizes.min_samples <= 1 => Counting::Not,
            Some(weight) => Counting::ByWeight(weight),
            None => Counting::InBins,
        }
    }

    /// Like [`Counting::of`], for sparse X, where the zeros of a node are known only by their number. Whether category 0
    /// is among them is decided by this number.
    pub(super) fn of_sparse(common: Option<f64>, rules: &Rules) -> Self {
        match Counting::of(common, rules) {
            Counting::Not if rules.categories.is_some() => Counting::InBins,
            counting => counting,
        }
    }
}

impl Counting {
    /// Returns whether the node has no sample in a bin with this weight, and with this count if there is one.
    pub(super) fn is_empty(self, weight: f64, count: Option<&u32>) -> bool {
        match (self, count) {
            (Counting::InBins, Some(count)) => *count == 0,
            // Every sample has a positive weight, and weights are exact.
            (Counting::InBins | Counting::OnDemand(_) | Counting::Not | Counting::ByWeight(_), _) => weight == 0.0,
        }
    }

    /// Returns the number of samples of a bin with this weight, and with this count if there is one. It is one if
    /// samples are not counted.
    pub(super) fn n_samples(self, weight: f64, count: Option<&u32>) -> u32 {
        match self {
            Counting::Not => 1,
            Counting::ByWeight(each) => (weight / each) as u32,
            Counting::InBins | Counting::OnDemand(_) => count.copied().unwrap_or_default(),
        }
    }
}

/// The sums and counts of the bins of all features, or of some of them.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    pub(super) sums: Vec<f64>,
    pub(super) counts: Vec<u32>,
    /// The features whose bins are filled. The contents of the others are not specified.
    pub(super) is_filled: Vec<bool>,
    pub(super) frame: u32,
    /// Bounds of its sums.
    pub(super) bounds: Bounds,
}

impl Histogram {
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.sums[..]) + size_of_val(&self.counts[..])
    }
}

/// Fills histograms.
#[derive(Debug)]
pub(super) struct Builder<'a> {
    pub(super) x: &'a Codes<'a>,
    /// The number of items of a sample.
    pub(super) len: usize,
    pub(super) counting: Counting,
    pub(super) n_threads: usize,
    /// See [`MANY`].
    pub(super) many: usize,
    /// See [`FAR`].
    pub(super) far: usize,
    /// Copies of the samples of one node.
    pub(super) gathered: Gathered,
    /// A histogram of the features drawn last, for nodes without a histogram of their own.
    pub(super) batch: Histogram,
    /// The features that are to be filled, in increasing order.
    pub(super) missing: Vec<u32>,
}

impl Builder<'_> {
    pub(super) fn bytes(&self, n_bins: usize) -> usize {
        let counts = if let Counting::InBins = self.counting { size_of::<u32>() } else { 0 };
        n_bins * (self.len * size_of::<f64>() + counts)
    }

    pub(super) fn histogram(&self, n_bins: usize) -> Result<Histogram> {
        let n_counts = if let Counting::InBins = self.counting { n_bins } else { 0 };
        let sums = PURPOSE.filled(0.0, n_bins.saturating_mul(self.len))?;
        Ok(Histogram { sums, counts: PURPOSE.filled(0, n_counts)?, ..Histogram::default() })
    }

    /// Returns the number of threads for this number of additions or items.
    pub(super) fn n_threads_for(&self, n: usize) -> usize {
        if n >= self.many { self.n_threads } else { 1 }
    }

    /// Returns the number of features of a batch.
    pub(super) fn n_at_once(&self) -> u32 {
        let mean = self.x.n_bins().div_ceil(self.x.n_features());
        let n = (BATCH_BYTES / self.bytes(mean)).next_multiple_of(GROUP);
        u32::try_from(n).unwrap_or(u32::MAX).max(1)
    }

    /// Fills the `drawn` features that the histogram does not have yet.
    pub(super) fn fill_whole<U: Units, M: BinnedSums>(
        &mut self,
        criterion: &Variance<'_, U, M>,
        rows: &[u32],
        node: &Range<u32>,
        drawn: &[Drawn],
        histogram: &mut Histogram,
        control: &Control,
    ) -> Result<()> {
        let mut missing = std::mem::take(&mut self.missing);
        missing.clear();
        PURPOSE.reserve(&mut missing, drawn.len())?;
        missing.extend(drawn.iter().map(|drawn| drawn.feature).filter(|&f| !histogram.is_filled[f as usize]));
        missing.sort_unstable();
        missing.iter().for_each(|&feature| histogram.is_filled[feature as usize] = true);
        let x = self.x;
        let places = missing.iter().map(|&feature| (feature, x.bins(feature)));
        let Histogram { sums, counts, bounds, .. } = histogram;
        let filled = self.fill(criterion, rows, node, places, (sums, counts, *bounds), control);
        self.missing = missing;
        filled
    }

    /// Fills the batch with the `drawn` features.
    pub(super) fn fill_batch<U: Units, M: BinnedSums>(
        &mut self,
        criterion: &Variance<'_, U, M>,
        rows: &[u32],
        node: &Range<u32>,
        drawn: &[Drawn],
        control: &Control,
    ) -> Result<()> {
        let n_bins = drawn.last().map_or(0, |drawn| drawn.bins.end);
        let mut batch = std::mem::take(&mut self.batch);
        if batch.sums.len() < n_bins * self.len {
            batch = self.histogram(n_bins)?;
        }
        let places = drawn.iter().map(|drawn| (drawn.feature, drawn.bins.clone()));
        let sums = (&mut batch.sums[..], &mut batch.counts[..], criterion.bounds());
        let filled = self.fill(criterion, rows, node, places, sums, control);
        self.batch = batch;
        filled
    }

    /// Subtracts the bins of the `drawn` features from those of `whole`.
    pub(super) fn take_away<M: BinnedSums>(
        &self,
        whole: &mut Histogram,
        part: &Histogram,
        drawn: &mut [Drawn],
    ) -> Result<()> {
        let (len, n_bins) = (self.len, drawn.iter().map(|drawn| drawn.bins.len()).sum::<usize>());
        let n_threads = self.n_threads_for(n_bins * len);
        drawn.sort_unstable_by_key(|drawn| drawn.bins.start);
        let (mut sums, mut counts) = (&mut whole.sums[..], &mut whole.counts[..]);
        let mut done = 0;
        let pieces = drawn.chunks(drawn.len().div_ceil(n_threads).max(1)).map(|drawn| {
            let (start, end) = (drawn[0].bins.start, drawn[drawn.len() - 1].bins.end);
            let own = after(&mut sums, (start - done) * len, (end - start) * len);
            let counted = if part.counts.is_empty() { &mut [] } else { after(&mut counts, start - done, end - start) };
            done = end;
            (drawn, start, own, counted)
        });
        pool::for_each(
            n_threads,
            pieces,
            || Ok(()),
            |(), (drawn, start, sums, counts)| {
                for Drawn { bins, .. } in drawn {
                    let own = bins.start - start..bins.end - start;
                    let sums = &mut sums[own.start * len..own.end * len];
                    M::take_away(sums, &part.sums[bins.start * len..bins.end * len], len);
                    debug_assert_rest(sums, len);
                    if !counts.is_empty() {
                        counts[own].iter_mut().zip(&part.counts[bins.clone()]).for_each(|(whole, part)| *whole -= part);
                    }
                }
                Ok(())
            },
        )
    }

    /// Fills features whose bins are at increasing places.
    pub(super) fn fill<U: Units, M: BinnedSums>(
        &mut self,
        criterion: &Variance<'_, U, M>,
        rows: &[u32],
        node: &Range<u32>,
        places: impl Iterator<Item = (u32, Range<usize>)>,
        (mut sums, mut counts, bounds): (&mut [f64], &mut [u32], Bounds),
        control: &Control,
    ) -> Result<()> {
        let x = self.x;
        let (mut columns, mut wide_columns) = (PURPOSE.with_capacity(places.size_hint().0)?, Vec::new());
        let has_counts = !counts.is_empty();
        let mut done = 0;
        for (feature, bins) in places {
            let (skipped, n) = (bins.start - done, bins.len());
            let sums = after(&mut sums, skipped * self.len, n * self.len);
            let counts = if has_counts { after(&mut counts, skipped, n) } else { &mut [] };
            match x.column(feature) {
                CodeColumn::Narrow(codes) => {
                    PURPOSE.push(&mut columns, BinnedColumn { codes, place: x.place(feature), sums, counts })?;
                }
                CodeColumn::Wide(codes) => {
                    PURPOSE.push(&mut wide_columns, BinnedColumn { codes, place: x.place(feature), sums, counts })?;
                }
            }
            done = bins.end;
        }
        let n_columns = columns.len() + wide_columns.len();
        if n_columns == 0 {
            return Ok(());
        }
        let n_threads = self.n_threads_for(rows.len() * self.len * n_columns);
        let table = criterion.samples();
        let gathered = if M::GATHERS {
            if !criterion.workers().has_all_rows() {
                // The samples of a worker in a node may all be in one child, whose frame differs from that of the node.
                self.gathered.clear();
            }
            let threads = (self.n_threads, self.many.min(LEAST_TO_COPY));
            self.gathered.of(table.as_chunks::<2>().0, rows, node, bounds, threads)?
        } else {
            Gatherings::Pairs(&[])
        };
        let samples = Samples { len: self.len, table, rows, gathered };
        let by_row = x.by_row().filter(|x| M::GATHERS && rows.len() * self.far < x.n_samples());
        let at_once = if by_row.is_some() { columns.len().div_ceil(n_threads).next_multiple_of(GROUP) } else { GROUP };
        pool::for_each(
            n_threads,
            columns.chunks_mut(at_once),
            || Ok(()),
            |(), columns| {
                control.check()?;
                match by_row {
                    Some(x) => fill_by_row(samples, columns, x)?,
                    None => M::fill(samples, columns)?,
                }
                columns.iter_mut().for_each(|column| count(rows, column.codes, column.counts));
                Ok(())
            },
        )?;
        pool::for_each(
            n_threads,
            wide_columns.iter_mut(),
            || Ok(()),
            |(), column| {
                control.check()?;
                fill_any(samples, std::slice::from_mut(column));
                count(rows, column.codes, column.counts);
                Ok(())
            },
        )?;
        sum_over(&mut columns, criterion.workers(), self.len, bounds)?;
        sum_over(&mut wide_columns, criterion.workers(), self.len, bounds)
    }
}

/// Takes a part of a slice: skips `n_skipped` items, and returns the next `n`.
fn after<'s, T>(slice: &mut &'s mut [T], n_skipped: usize, n: usize) -> &'s mut [T] {
    let (own, rest) = std::mem::take(slice)[n_skipped..].split_at_mut(n);
    *slice = rest;
    own
}
