//! The cuts between the bins of a feature of a node.

use std::cell::LazyCell;
use std::ops::Range;

use super::builder::{Counting, Histogram};
use super::fill::count;
use super::part::Part;
use super::{BinnedSums, show_sums};
use crate::criterion::Units;
use crate::criterion::moved_sums::AT_ONCE;
use crate::criterion::variance::Variance;
use crate::data::bins::codes::CodeColumn;
use crate::data::{Category, Codes};
use crate::partition::decision::Side;
use crate::split::cut::Cut;
use crate::split::scan::Scan;

/// A drawn feature of a node.
#[derive(Debug)]
pub(super) struct Drawn {
    pub(super) feature: u32,
    /// The place of its bins in the histogram.
    pub(super) bins: Range<usize>,
    /// Whether the last bin is that of missing values.
    pub(super) has_missing: bool,
    /// Whether there is a cut.
    pub(super) varies: bool,
}

/// A node whose bins are filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfNode<'a> {
    pub(super) histogram: &'a Histogram,
    pub(super) counting: Counting,
    pub(super) x: &'a Codes<'a>,
    pub(super) rows: &'a [u32],
}

impl OfNode<'_> {
    /// Counts the samples in the bins of a feature.
    fn counted(self, drawn: &Drawn) -> Vec<u32> {
        let mut counts = vec![0; drawn.bins.len()];
        match self.x.column(drawn.feature) {
            CodeColumn::Narrow(codes) => count(self.rows, codes, &mut counts),
            CodeColumn::Wide(codes) => count(self.rows, codes, &mut counts),
        }
        counts
    }
}

impl<U: Units, M: BinnedSums> Part<'_, '_, U, M> {
    /// Offers every cut between non-empty bins, in increasing order, and notes whether there is any.
    #[inline(always)]
    pub(super) fn best_bin(&mut self, drawn: &mut Drawn, node: OfNode<'_>) {
        let len = self.mover.sample_len();
        let bins = BinsOfNode {
            feature: drawn.feature,
            sums: &node.histogram.sums[drawn.bins.start * len..drawn.bins.end * len],
            counts: node.histogram.counts.get(drawn.bins.clone()).unwrap_or(&[]),
            n: drawn.bins.len(),
            counting: node.counting,
            counted: &LazyCell::new(|| node.counted(drawn)),
        };
        let varies = if !drawn.has_missing || self.mover.weight_of(bins.sums, bins.n - 1) == 0.0 {
            self.move_bins(&bins, None)
        } else {
            // On the right, missing values come after all bins; on the left, they come before them.
            let varies = self.move_bins(&bins, Some(Side::Right));
            self.move_bins(&bins, Some(Side::Left));
            varies
        };
        drawn.varies = varies;
    }

    /// Offers every cut between non-empty bins, with missing values, which are in the last bin, on one side. Returns
    /// whether there is any.
    #[inline(always)]
    fn move_bins<F: FnOnce() -> Vec<u32>>(&mut self, bins: &BinsOfNode<'_, F>, missing: Option<Side>) -> bool {
        let &BinsOfNode { feature, sums, counts, n, counting, counted } = bins;
        let (of_node, least) = (self.weight, self.rules.constraints.leaf_sizes.min_samples);
        let last = n - 1;
        let mut moved = self.mover.reset();
        let is_first = missing == Some(Side::Left);
        if is_first {
            self.mover.add(&mut moved, sums, last);
        }
        let n_bins = if is_first { last } else { n };
        let n_up_to =
            |counts: &[u32], at: usize| counts[..=at].iter().sum::<u32>() + if is_first { counts[last] } else { 0 };
        // Every sample has a positive weight. If all values are missing, there is no cut.
        let Some(mut at) = (0..n_bins).find(|&at| self.mover.weight_of(sums, at) != 0.0) else { return false };
        // From here on, the moved sums include those of bin `at`, which is the last one that is not empty.
        self.mover.add(&mut moved, sums, at);
        let (mut varies, mut next) = (false, at + 1);
        while next < n_bins {
            let n_skipped =
                if next + AT_ONCE <= n_bins { self.mover.skip(&mut moved, sums, next, self.best.score) } else { 0 };
            if n_skipped > 0 {
                if let Some(last) = (next..next + n_skipped).rev().find(|&bin| self.mover.weight_of(sums, bin) != 0.0) {
                    (varies, at) = (true, last);
                }
                next += n_skipped;
                continue;
            }
            for next in next..n_bins.min(next + AT_ONCE) {
                if self.mover.weight_of(sums, next) == 0.0 {
                    continue;
                }
                varies = true;
                let n_moved = |weight: f64| match counting {
                    Counting::Not => 1,
                    Counting::ByWeight(each) => (weight / each) as u32,
                    Counting::InBins => n_up_to(counts, at),
                    Counting::OnDemand(most) if weight.min(of_node - weight) >= f64::from(least) * most => least,
                    Counting::OnDemand(_) => n_up_to(counted, at),
                };
                let is_missing = missing.is_some() && next == last;
                let cut = || if is_missing { Cut::MISSING } else { Cut::between(at as f32, next as f32, missing) };
                self.offer(feature, (&moved, Side::Left), n_moved, cut);
                self.mover.add(&mut moved, sums, next);
                at = next;
            }
            next += AT_ONCE;
        }
        varies
    }
}

/// The bins of a feature in a node.
#[derive(Debug)]
struct BinsOfNode<'a, F> {
    feature: u32,
    sums: &'a [f64],
    counts: &'a [u32],
    n: usize,
    counting: Counting,
    /// The numbers of samples, if they are counted on demand.
    counted: &'a LazyCell<Vec<u32>, F>,
}

impl<U: Units, M: BinnedSums> Scan<'_, Variance<'_, U, M>> {
    /// Like [`Part::best_bin`], for a feature whose bins are categories.
    pub(super) fn best_subset_of_bins(&mut self, drawn: &mut Drawn, node: OfNode<'_>) {
        let (len, OfNode { histogram, counting, .. }) = (self.criterion.sample_len(), node);
        let counted = if let Counting::OnDemand(_) = counting { node.counted(drawn) } else { Vec::new() };
        self.with_categories(|scan, categories| {
            categories.sums.clear();
            let last = drawn.bins.len() - 1;
            for (code, bin) in drawn.bins.clone().enumerate() {
                let sums = &histogram.sums[bin * len..][..len];
                if sums[0] != 0.0 {
                    let category = (!drawn.has_missing || code < last).then_some(code as Category);
                    let count = counted.get(code).or_else(|| histogram.counts.get(bin));
                    let n = counting.n_samples(sums[0], count);
                    categories.sums.push(category, n, |visit| show_sums(sums, visit))?;
                }
            }
            drawn.varies = categories.sums.varies();
            scan.offer_subsets(drawn.feature, categories)
        });
    }
}
