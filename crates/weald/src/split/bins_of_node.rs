//! The samples of a node, added up for each bin of one feature.

use super::cut::Cut;
use super::scan::{MovedSide, Scan};
use crate::criterion::{CopiedSample, NodeCriterion};
use crate::partition::decision::Side;

/// The sums of the samples of each bin, which are zero between two features.
#[derive(Debug)]
pub(super) struct BinsOfNode<S> {
    sums: [S; 1 << u8::BITS],
    /// The number of samples of each bin, if samples are counted.
    counts: [u32; 1 << u8::BITS],
    is_counted: bool,
    /// The bins that have samples.
    occupied: Places,
}

/// A set of bins.
#[derive(Clone, Copy, Debug, Default)]
struct Places([u64; 4]);

impl Places {
    fn without(mut self, place: u8) -> Self {
        self.0[usize::from(place / 64)] &= !(1 << (place % 64));
        self
    }

    fn contains(self, place: u8) -> bool {
        self.0[usize::from(place / 64)] >> (place % 64) & 1 == 1
    }

    /// Returns the bins in increasing order.
    #[inline]
    fn rising(self) -> impl Iterator<Item = u8> {
        let mut words = [0u8, 64, 128, 192].into_iter().zip(self.0);
        let (mut first, mut word) = (0, 0);
        std::iter::from_fn(move || {
            while word == 0 {
                (first, word) = words.next()?;
            }
            let place = first + word.trailing_zeros() as u8;
            word &= word - 1;
            Some(place)
        })
    }
}

impl<S: Copy + Default> Default for BinsOfNode<S> {
    fn default() -> Self {
        let sums = [S::default(); 1 << u8::BITS];
        BinsOfNode { sums, counts: [0; 1 << u8::BITS], is_counted: false, occupied: Places::default() }
    }
}

impl<S: Copy + Default> BinsOfNode<S> {
    /// Adds the samples of a node, whose numbers are `rows`, to their bins.
    pub(super) fn fill<M>(&mut self, codes: &[u8], rows: &[u32], samples: &[S], counts: bool)
    where
        S: CopiedSample<M>,
    {
        for (&row, &sample) in rows.iter().zip(samples) {
            self.sums[usize::from(codes[row as usize])].add(sample);
        }
        for (word, sums) in self.occupied.0.iter_mut().zip(self.sums.as_chunks::<64>().0) {
            *word = sums.iter().rev().fold(0, |word, sum| word << 1 | u64::from(sum.has_weight()));
        }
        self.is_counted = counts;
        if counts {
            rows.iter().for_each(|&row| self.counts[usize::from(codes[row as usize])] += 1);
        }
    }

    /// Returns the number of bins that have samples.
    pub(super) fn n_occupied(&self) -> u32 {
        self.occupied.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Removes all samples.
    pub(super) fn clear(&mut self) {
        for place in std::mem::take(&mut self.occupied).rising() {
            self.sums[usize::from(place)] = S::default();
            self.counts[usize::from(place)] = 0;
        }
    }

    /// Moves the samples of a bin, and adds their number, or one if they are not counted.
    #[inline]
    fn move_to<M>(&self, place: u8, moved: &mut M, n_moved: &mut u32)
    where
        S: CopiedSample<M>,
    {
        S::move_sum(moved, self.sums[usize::from(place)]);
        *n_moved += if self.is_counted { self.counts[usize::from(place)] } else { 1 };
    }
}

impl<C: NodeCriterion> Scan<'_, C> {
    /// Offers every cut between bins that have samples. Bin `missing`, if there is one, is that of missing values: it is
    /// on the right of every cut and, if it has samples, also on the left.
    pub(super) fn best_bin(&mut self, feature: u32, bins: &BinsOfNode<C::Sample>, missing: Option<usize>) {
        match missing.map(|place| place as u8).filter(|&place| bins.occupied.contains(place)) {
            None => self.move_bins(feature, bins, None),
            Some(missing) => {
                self.move_bins(feature, bins, Some((missing, Side::Right)));
                self.move_bins(feature, bins, Some((missing, Side::Left)));
            }
        }
    }

    /// Moves bins to the left in increasing order, and offers the cut after each but the last. `missing` is the bin of
    /// missing values and their side.
    #[inline]
    fn move_bins(&mut self, feature: u32, bins: &BinsOfNode<C::Sample>, missing: Option<(u8, Side)>) {
        let (mut moved, mut n, mut occupied) = (self.criterion.reset(), 0, bins.occupied);
        if let Some((missing, Side::Left)) = missing {
            bins.move_to(missing, &mut moved, &mut n);
            occupied = occupied.without(missing);
        }
        let mut places = occupied.rising();
        let Some(mut at) = places.next() else { return };
        bins.move_to(at, &mut moved, &mut n);
        for next in places {
            if let Some(score) = self.criterion.score_from(&moved, self.best.score) {
                let (low, side) = (f32::from(at), missing.map(|(_, side)| side));
                // Missing values are in the last bin.
                let high = if missing == Some((next, Side::Right)) { f32::NAN } else { f32::from(next) };
                let of_left = MovedSide { n, moved: &moved, side: Side::Left };
                self.offer_score(feature, of_left, score, || Cut::between(low, high, side));
            }
            bins.move_to(next, &mut moved, &mut n);
            at = next;
        }
    }
}
