//! The state of the search of one node: the best cut so far, and the conditions for a better one.

use super::categories::Categories;
use super::constraint::CutSide;
use super::cut::Cut;
use super::monotonic::InRange;
use super::{MISSING_SIDES, Rules, SUBSETS, Split, Splitter, THRESHOLDS, Task, UNSEEN_SIDES};
use crate::control::Control;
use crate::criterion::NodeCriterion;
use crate::data::sort::SortMemory;
use crate::error::{Error, Result};
use crate::partition::decision::Side;
use crate::partition::lottery::Lottery;
use crate::partition::{Column, Entry, PlainColumn, Visitor};
use crate::rng::Key;

/// The state of the search of one node.
#[derive(Debug)]
pub(crate) struct Scan<'a, C: NodeCriterion> {
    pub(super) criterion: &'a mut C,
    pub(super) rules: &'a Rules,
    pub(super) lottery: &'a Lottery,
    pub(super) control: &'a Control,
    pub(super) thresholds: Key,
    key: Key,
    pub(super) n_samples: u32,
    pub(super) weight: f64,
    pub(super) best: Best,
    perfect_score: f64,
    /// Features with zeros and fewer entries than this cannot reach the best score.
    least_entries: u32,
    /// The largest score, of those that are nearly the best, of a cut that was not permitted since it was last set, and
    /// infinity if a criterion has no score for it; for sets of categories.
    pub(super) refused_score: f64,
    /// The decrease by chance of the feature that is searched, if it is one of categories, and zero otherwise.
    pub(super) by_chance: f64,
    pub(super) impurity: f64,
    pub(super) memory: ScanMemory<'a, C>,
    /// Whether the copied samples are those of the node.
    pub(super) has_copied: bool,
    /// The monotonic constraints, if there are any.
    pub(super) in_range: Option<InRange<'a>>,
    /// Why the search ended early, if it did.
    pub(super) failure: Option<Error>,
}

/// Memory that the scans of all nodes use.
#[derive(Debug)]
pub(crate) struct ScanMemory<'a, C: NodeCriterion> {
    /// The samples that a scan selects before it moves them.
    pub(super) picked: &'a mut Vec<u32>,
    /// Copies of samples.
    pub(super) copied: &'a mut Vec<C::Sample>,
    pub(super) sorting: &'a mut SortMemory,
    pub(super) categories: &'a mut Categories<C::Sum>,
}

/// The samples that a scan has moved: their number, and the side of the cut to which they belong.
#[derive(Debug)]
pub(super) struct MovedSide<'m, C: NodeCriterion> {
    pub(super) n: u32,
    pub(super) moved: &'m C::Moved,
    pub(super) side: Side,
}

impl<C: NodeCriterion> Clone for MovedSide<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: NodeCriterion> Copy for MovedSide<'_, C> {}

/// The best cut so far, and its score.
#[derive(Clone, Copy, Debug)]
pub(super) struct Best {
    pub(super) score: f64,
    cut: Option<Candidate>,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    feature: u32,
    cut: Cut,
}

impl Best {
    const NONE: Best = Best { score: f64::NEG_INFINITY, cut: None };

    /// Replaces the cut by another one whose score is not below, unless that loses the tie. Returns whether it is
    /// replaced.
    #[inline]
    pub(super) fn offer(&mut self, lottery: &Lottery, feature: u32, score: f64, cut: Cut) -> bool {
        let new = Candidate { feature, cut };
        if let Some(best) = self.cut.filter(|_| score == self.score)
            && !new.wins_tie(best, lottery)
        {
            return false;
        }
        *self = Best { score, cut: Some(new) };
        true
    }

    /// Takes over the best cut of another part of the search.
    pub(super) fn take_over(&mut self, other: Best, lottery: &Lottery) {
        if let Some(Candidate { feature, cut }) = other.cut.filter(|_| other.score >= self.score) {
            self.offer(lottery, feature, other.score, cut);
        }
    }
}

impl Candidate {
    /// Resolves a tie: the feature drawn first wins, then the cut that comes first.
    #[cold]
    fn wins_tie(self, best: Candidate, lottery: &Lottery) -> bool {
        if self.feature == best.feature {
            self.cut.is_before(best.cut)
        } else {
            lottery.position(self.feature) < lottery.position(best.feature)
        }
    }
}

impl<C: NodeCriterion> Visitor for Scan<'_, C> {
    fn column(&mut self, column: Column<'_>) {
        match (self.rules.splitter, self.rules.is_category(column.feature)) {
            (Splitter::Best, false) => self.best_cut(column),
            (Splitter::Best, true) => self.best_subset(column),
            (Splitter::Random, false) => self.random_cut(column),
            (Splitter::Random, true) => self.random_subset(column),
        }
    }

    fn wants_entries(&self) -> bool {
        self.rules.splitter == Splitter::Best
    }

    fn plain_column(&mut self, column: PlainColumn<'_>) {
        if self.rules.is_category(column.feature) {
            self.random_plain_subset(column);
        } else {
            self.random_plain_cut(column);
        }
    }

    fn least_entries(&self) -> u32 {
        self.least_entries
    }

    fn may_be_over_early(&self) -> bool {
        self.perfect_score < f64::INFINITY
    }

    fn is_over(&self) -> bool {
        // Features drawn later lose ties, so they cannot improve on a perfect score.
        self.best.score >= self.perfect_score || self.control.is_stopped() || self.failure.is_some()
    }
}

impl<'a, C: NodeCriterion> Scan<'a, C> {
    /// Starts the search of a node that the criterion has entered.
    pub(super) fn new(
        criterion: &'a mut C,
        rules: &'a Rules,
        lottery: &'a Lottery,
        control: &'a Control,
        task: &Task,
        in_range: Option<InRange<'a>>,
        memory: ScanMemory<'a, C>,
    ) -> Self {
        // With two samples, all cuts are the same.
        let any_cut = task.stats.n == 2;
        let perfect_score = if any_cut { f64::MIN } else { criterion.perfect_score() };
        // Cuts move entries, never zeros. If some features are not drawn, all features that vary must be counted.
        let all_drawn = rules.n_drawn as usize >= rules.n_features && rules.splitter == Splitter::Best;
        let least_entries = if all_drawn { rules.constraints.leaf_sizes.min_samples } else { 0 };
        Scan {
            criterion,
            rules,
            lottery,
            control,
            thresholds: task.key.child(THRESHOLDS),
            key: task.key,
            n_samples: task.stats.n,
            weight: task.stats.weight,
            best: Best::NONE,
            perfect_score,
            least_entries,
            refused_score: f64::NEG_INFINITY,
            by_chance: 0.0,
            impurity: task.stats.impurity,
            memory,
            has_copied: false,
            in_range,
            failure: None,
        }
    }

    /// Returns the split with the best cut, if it is good enough.
    pub(super) fn outcome(self, task: &Task) -> Result<Option<Split>> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        let Some(best) = self.best.cut else { return Ok(None) };
        let decrease = self.criterion.decrease(self.best.score);
        let split = Split { feature: best.feature, cut: best.cut, decrease };
        Ok(self.rules.accepts_decrease(&task.stats, decrease).then_some(split))
    }

    /// Returns the index of the best cut so far among the sets of categories of a feature, if it is one of them.
    pub(super) fn best_subset_of(&self, feature: u32) -> Option<u32> {
        self.best.cut.filter(|best| best.feature == feature)?.cut.subset()
    }

    /// Returns whether a side of this weight is listed, if no value is missing. Values that the node has not seen then go
    /// to the other side.
    pub(super) fn is_listed(&self, feature: u32, weight: f64) -> bool {
        let lighter = weight.min(self.weight - weight);
        let chance = || self.key.child(UNSEEN_SIDES).uniform(feature.into());
        let lists_lighter = self.rules.is_alone || lighter <= chance() * self.weight;
        (weight == lighter) == lists_lighter
    }

    /// Returns the key for random sets of categories of a feature.
    pub(super) fn subsets_key(&self, feature: u32) -> Key {
        self.key.child(SUBSETS).child(feature.into())
    }

    /// Accepts the cut between moved and rest if it satisfies the constraints on both sides and is better than the best
    /// so far. `cut` is called only in this case.
    #[inline]
    pub(super) fn offer(&mut self, feature: u32, side: MovedSide<'_, C>, cut: impl FnOnce() -> Cut) {
        if self.criterion.is_below(side.moved, self.nearly_best()) {
            return;
        }
        let score = self.score_beyond_chance(self.criterion.score(side.moved));
        if score >= self.best.score {
            self.offer_score(feature, side, score, cut);
        } else if score.is_nan() {
            self.refused_score = f64::INFINITY;
        } else if self.is_nearly_best(score) && !self.admits(feature, side) {
            self.refused_score = self.refused_score.max(score);
        }
    }

    /// Returns whether a score is at least the best, if the rounding of both may be to its disadvantage.
    pub(super) fn is_nearly_best(&self, score: f64) -> bool {
        score >= self.nearly_best()
    }

    fn nearly_best(&self) -> f64 {
        self.best.score - 1e-9 * self.best.score.abs()
    }

    /// Like [`Scan::offer`], for a score that is known and is not below the best.
    pub(super) fn offer_score(&mut self, feature: u32, side: MovedSide<'_, C>, score: f64, cut: impl FnOnce() -> Cut) {
        if !self.admits(feature, side) {
            self.refused_score = self.refused_score.max(score);
            return;
        }
        let is_better = score > self.best.score;
        let wins = self.best.offer(self.lottery, feature, score, cut());
        if is_better {
            let least = (self.criterion.least_moved_weight(score) / self.rules.largest_weight) as u32;
            self.least_entries = self.least_entries.max(least);
        }
        if let (Some(in_range), true) = (&mut self.in_range, wins) {
            in_range.keep();
        }
    }

    /// Returns whether both sides of the cut satisfy the constraints.
    #[inline]
    fn admits(&mut self, feature: u32, MovedSide { n, moved, side }: MovedSide<'_, C>) -> bool {
        let weight = self.criterion.moved_weight(moved);
        debug_assert!(weight >= 1.0 && self.weight - weight >= 1.0, "a side without samples");
        let rest = CutSide { n: self.n_samples - n, weight: self.weight - weight };
        self.rules.constraints.admit([CutSide { n, weight }, rest])
            && match &mut self.in_range {
                None => true,
                Some(in_range) => in_range.admits(feature, side, |column| self.criterion.side_means(moved, column)),
            }
    }

    /// Returns whether cuts need the sums of their sides in addition to the score.
    #[inline]
    pub(super) fn needs_sums(&self) -> bool {
        self.in_range.is_some()
    }

    /// Returns the side for missing values of a feature with a random threshold, which is drawn at random.
    pub(super) fn missing_side(&self, feature: u32) -> Side {
        let goes_left = self.key.child(MISSING_SIDES).uniform(u64::from(feature)) < 0.5;
        if goes_left { Side::Left } else { Side::Right }
    }

    /// Returns the entries of a sorted column with negative values, and those with positive or missing values.
    #[inline]
    pub(super) fn nonzero(entries: &[Entry]) -> (&[Entry], &[Entry]) {
        if entries.first().is_some_and(|e| e.key() > Entry::ZERO_KEY) {
            return (&[], entries);
        }
        let negative = entries.partition_point(|e| e.key() < Entry::ZERO_KEY);
        let (negative, rest) = entries.split_at(negative);
        // Most columns with entries of both signs have no zeros.
        if rest.first().is_none_or(|e| e.key() != Entry::ZERO_KEY) {
            return (negative, rest);
        }
        (negative, &rest[rest.partition_point(|e| e.key() == Entry::ZERO_KEY)..])
    }
}
