//! Sets of categories that are searched if the best set in the order of the means is not permitted.
//!
//! With one output or two classes, no set is better than the best of those at the beginning of the order of the means.
//! If the sizes of leaves, or the criterion, forbid that one, the best permitted set may be any other. The search then
//! goes on, unless a cut that it already has is better than every set of the feature can be:
//!
//! | categories in the node | sets |
//! |---|---|
//! | at most [`FEW`] | all of them, so that the best permitted one is found |
//! | at most [`MANY`] | the beginnings of the order, with one category anywhere in it added or left out |
//! | more | the beginnings of the order, which may separate equal means |

use std::ops::Range;

use super::categories::{CategorySums, FEW, OF_SETS, PULSE};
use super::cut::Cut;
use super::scan::{MovedSide, Scan};
use crate::criterion::NodeCriterion;
use crate::error::Result;

/// The maximum number of categories for which sets that differ by one category are searched. Their number is twice its
/// square.
const MANY: usize = 64;

/// The sets, numbered from 0. Some numbers have the same set, or one that is not a set.
#[derive(Clone, Copy, Debug)]
pub(super) enum FurtherSets {
    /// Those whose bits are set in the number plus one. They never contain the last of this number of categories.
    All(usize),
    /// A beginning of the order of this number of categories, in or out of which one category is taken.
    WithOneMoved(usize),
    /// The beginnings of the order of this number of categories.
    Beginnings(usize),
}

impl FurtherSets {
    pub(super) fn of(n_categories: usize) -> Self {
        match n_categories {
            0..=FEW => FurtherSets::All(n_categories),
            _ if n_categories <= MANY => FurtherSets::WithOneMoved(n_categories),
            _ => FurtherSets::Beginnings(n_categories),
        }
    }

    /// Returns the number of numbers.
    pub(super) fn len(self) -> u32 {
        match self {
            FurtherSets::All(n) => (1 << (n - 1)) - 1,
            FurtherSets::WithOneMoved(n) => 2 * (n * n) as u32,
            FurtherSets::Beginnings(n) => n as u32,
        }
    }

    /// Returns whether a set has the category at a place of the order.
    pub(super) fn contains(self, set: u32, at: usize) -> bool {
        match self {
            FurtherSets::All(_) => (set + 1) >> at & 1 == 1,
            FurtherSets::WithOneMoved(n) => {
                let (pass, end) = (set as usize / n, set as usize % n);
                if at == pass / 2 { is_in(pass) } else { at < end }
            }
            FurtherSets::Beginnings(_) => at < set as usize,
        }
    }

    /// Returns the places of the order among which are the categories that a set has and the set before it in its pass
    /// does not have.
    fn added(self, set: u32) -> Range<usize> {
        match self {
            FurtherSets::All(n) => 0..n,
            FurtherSets::WithOneMoved(n) => match (set as usize / n / 2, set as usize % n) {
                (moved, 0) => moved..moved + 1,
                (moved, end) if end - 1 == moved => 0..0,
                (_, end) => end - 1..end,
            },
            FurtherSets::Beginnings(_) => (set as usize).saturating_sub(1)..set as usize,
        }
    }

    /// Returns the sets in passes, in each of which the sets grow: the numbers of the sets.
    fn passes(self) -> impl Iterator<Item = Range<u32>> {
        let per_pass = match self {
            FurtherSets::All(_) => 1,
            FurtherSets::WithOneMoved(n) | FurtherSets::Beginnings(n) => n as u32,
        };
        (0..self.len()).step_by(per_pass as usize).map(move |first| first..first + per_pass)
    }
}

/// Returns whether the category that a pass moves is in its sets.
fn is_in(pass: usize) -> bool {
    pass.is_multiple_of(2)
}

impl<C: NodeCriterion> Scan<'_, C> {
    /// Offers all these sets of the categories at `places`, with missing values moved or not. Their numbers start at
    /// `first`.
    pub(super) fn offer_further_sets(
        &mut self,
        feature: u32,
        sums: &CategorySums<C::Sum>,
        (places, sets): (&[u32], FurtherSets),
        moves_missing: bool,
        first: u32,
    ) -> Result<()> {
        for (pass, numbers) in sets.passes().enumerate() {
            if pass.is_multiple_of(PULSE / places.len().min(PULSE)) {
                self.control.check()?;
            }
            let mut moved = self.criterion.reset();
            let (mut n_moved, mut n_categories) = (0, 0);
            if let (Some(missing), true) = (sums.missing, moves_missing) {
                sums.move_to(missing, self.criterion, &mut moved);
                n_moved += sums.n[missing];
            }
            for set in numbers {
                for at in sets.added(set).filter(|&at| sets.contains(set, at)) {
                    let place = places[at] as usize;
                    sums.move_to(place, self.criterion, &mut moved);
                    n_moved += sums.n[place];
                    n_categories += 1;
                }
                if (1..places.len()).contains(&n_categories) {
                    let moved = MovedSide { n: n_moved, moved: &moved, side: OF_SETS };
                    self.offer(feature, moved, || Cut::of_subset(first + set, sums.missing.is_some()));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns each set as a list of places, as it is built in its pass.
    fn built(sets: FurtherSets) -> Vec<Vec<usize>> {
        let mut all = Vec::new();
        for numbers in sets.passes() {
            let mut set = Vec::new();
            for number in numbers {
                set.extend(sets.added(number).filter(|&at| sets.contains(number, at)));
                set.sort_unstable();
                all.push(set.clone());
            }
        }
        all
    }

    #[test]
    fn sets_have_the_categories_that_their_numbers_tell() {
        for n in 1..12 {
            for sets in [FurtherSets::All(n), FurtherSets::WithOneMoved(n), FurtherSets::Beginnings(n)] {
                let built = built(sets);
                assert_eq!(built.len() as u32, sets.len());
                for (number, set) in (0..).zip(built) {
                    assert_eq!(set, (0..n).filter(|&at| sets.contains(number, at)).collect::<Vec<_>>(), "{sets:?}");
                }
            }
        }
    }

    #[test]
    fn few_categories_have_all_sets_and_many_those_that_differ_by_one() {
        let proper = |sets: FurtherSets, n: usize| -> BTreeSet<Vec<usize>> {
            built(sets).into_iter().filter(|set| (1..n).contains(&set.len())).collect()
        };
        assert!(matches!(FurtherSets::of(FEW), FurtherSets::All(_)));
        // A set and the others are the same cut: one of the two is listed.
        assert_eq!(proper(FurtherSets::All(5), 5).len(), (1 << 4) - 1);
        assert!(matches!(FurtherSets::of(MANY), FurtherSets::WithOneMoved(_)));
        let mut expected = BTreeSet::new();
        for (end, moved) in (0..9).flat_map(|end| (0..9).map(move |moved| (end, moved))) {
            for is_in in [false, true] {
                expected.insert((0..9).filter(|&at| if at == moved { is_in } else { at < end }).collect::<Vec<_>>());
            }
        }
        expected.retain(|set| (1..9).contains(&set.len()));
        assert_eq!(proper(FurtherSets::WithOneMoved(9), 9), expected);
        assert!(matches!(FurtherSets::of(MANY + 1), FurtherSets::Beginnings(_)));
    }
}
