//! The search over sets of categories of a feature that go left.
//!
//! A search adds up the targets of each category once (see [`CategorySums`]); from then on a category is a single
//! sample with these sums, however they were computed. Categories are put in order, and only the sets at the beginning
//! of this order are offered. With one output or two classes, the best of all sets is among those in the order of the
//! mean (Fisher 1958; Breiman et al. 1984, chapter 4). With several outputs, the order is that of the means along the
//! direction in which they differ most (Coppersmith, Hong and Hosking 1999), and if a node has at most [`FEW`]
//! categories, all sets are offered. Categories with equal means stay together, because a cut between them is no better
//! than the better one of the cuts around them. They are separated only if all means are equal, in the order of their
//! weights: such a cut gains nothing by itself, but cuts below it may (for example, if y is whether two features
//! differ). If the best of these sets is not permitted, the search goes on: see [`super::further_sets`]. For the
//! absolute error, either order is a heuristic: the best set need not be among those offered.
//!
//! The categories of one side are *listed*, and all others go right: those of the other side, those that the node did
//! not have during training, and missing values. The side with missing values is never listed. If there are no missing
//! values, a tree of its own lists the lighter side. In an ensemble the weights of the sides are the probabilities to be
//! the side of others: so its trees have the mean of the node for a category that they have not seen, while all trees
//! that follow the heavier side agree on one leaf, and are too sure of it.
//!
//! What the best set gains by chance is taken from the scores of all sets: see [`super::chance`].
//!
//! The cost is that of the entries, categories × log, and present outputs × categories for the scores. The direction
//! takes about ten times as much as the scores.

use super::chance::decrease_by_chance;
use super::cut::Cut;
use super::further_sets::FurtherSets;
use super::scan::{MovedSide, Scan};
use crate::control::Control;
use crate::criterion::{NodeCriterion, SideSum};
use crate::data::MOST_CATEGORIES;
use crate::data::sort::{sort_by, sort_by_value};
use crate::data::{Category, category_of};
use crate::elementary::Squared;
use crate::error::{Purpose, Result};
use crate::partition::decision::Side;
use crate::partition::{BitSet, Column, Entry, PlainColumn};
use crate::rng::Key;

/// Categories have no order, so it does not matter to which side a set belongs.
pub(super) const OF_SETS: Side = Side::Left;

/// The maximum number of categories for which all sets are offered, if one mean does not determine the order.
pub(super) const FEW: usize = 8;

/// The maximum number of steps towards the direction in which means differ most.
const MOST_STEPS: usize = 10;

/// The number of sets between two checks of the stop flag.
pub(super) const PULSE: usize = 256;

const PURPOSE: Purpose = Purpose("the categories of a node");

/// Memory for the categories of a feature in a node, which is reused for other features and nodes.
#[derive(Debug, Default)]
pub(crate) struct Categories<S> {
    pub(super) sums: CategorySums<S>,
    order: Order,
    /// The categories that the best cut lists, in increasing order, if it lists any.
    listed: Vec<Category>,
    /// The sums of the node without those of the categories that were added up.
    rest: Vec<(u32, S)>,
    /// For random sets: the categories in the node, as a list and as a set.
    present: Vec<Category>,
    is_present: BitSet,
}

impl<S: SideSum> Categories<S> {
    /// Allocates memory only if some features are categorical.
    pub(super) fn new(are_needed: bool) -> Result<Self> {
        let n_bits = if are_needed { MOST_CATEGORIES as usize + 1 } else { 0 };
        Ok(Categories { is_present: BitSet::new(n_bits)?, ..Categories::default() })
    }

    /// Returns the categories that the best cut lists, in increasing order, if it lists any.
    pub(super) fn listed(&self) -> &[Category] {
        &self.listed
    }
}

/// The sums of each category of a feature in a node.
#[derive(Debug, Default)]
pub(crate) struct CategorySums<S> {
    categories: Vec<Category>,
    pub(super) n: Vec<u32>,
    weight: Vec<S>,
    /// The non-zero sums with their numbers. Those of place i end at `ends[i]`.
    sums: Vec<(u32, S)>,
    ends: Vec<usize>,
    /// The place that belongs to missing values instead of a category.
    pub(super) missing: Option<usize>,
    /// The place of category 0, if it was added after the others.
    rest: Option<usize>,
}

impl<S: SideSum> CategorySums<S> {
    pub(super) fn clear(&mut self) {
        self.categories.clear();
        self.n.clear();
        self.weight.clear();
        self.sums.clear();
        self.ends.clear();
        (self.missing, self.rest) = (None, None);
    }

    /// Adds `n` samples of a category, or of missing values. `show` passes their sums to its argument and returns their
    /// weight.
    pub(super) fn push(
        &mut self,
        category: Option<Category>,
        n: u32,
        show: impl FnOnce(&mut dyn FnMut(u32, S)) -> S,
    ) -> Result<()> {
        if category.is_none() {
            self.missing = Some(self.categories.len());
        }
        let sums = &mut self.sums;
        let mut outcome = Ok(());
        let weight = show(&mut |number, sum| {
            if sum != S::default() && outcome.is_ok() {
                outcome = PURPOSE.push(sums, (number, sum));
            }
        });
        outcome?;
        PURPOSE.push(&mut self.categories, category.unwrap_or_default())?;
        PURPOSE.push(&mut self.n, n)?;
        PURPOSE.push(&mut self.weight, weight)?;
        PURPOSE.push(&mut self.ends, self.sums.len())
    }

    /// Returns whether there is more than one place.
    pub(super) fn varies(&self) -> bool {
        self.categories.len() > 1
    }

    /// Returns the places of categories, in increasing order of categories, so that sums of floats over them are the
    /// same for every layout of X.
    fn places(&self) -> impl Iterator<Item = usize> + '_ {
        let others = (0..self.categories.len()).filter(|&at| Some(at) != self.missing && Some(at) != self.rest);
        self.rest.into_iter().chain(others)
    }

    fn of(&self, at: usize) -> &[(u32, S)] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.sums[start..self.ends[at]]
    }

    pub(super) fn move_to<C: NodeCriterion<Sum = S>>(&self, at: usize, criterion: &mut C, moved: &mut C::Moved) {
        criterion.move_side(moved, self.weight[at], self.of(at));
    }
}

/// The order of categories, and the data for computing it.
#[derive(Debug, Default)]
struct Order {
    /// The key of each category, which determines its position in the order.
    keys: Vec<f64>,
    /// The places of categories, in order.
    places: Vec<u32>,
    /// The end of each group of equal keys in `places`.
    group_ends: Vec<u32>,
    /// The numbers of the non-zero sums and, for each number, the mean, the direction, and the next direction.
    numbers: Vec<u32>,
    mean: Vec<f64>,
    direction: Vec<f64>,
    next: Vec<f64>,
    /// The part of the variation between the means that is along the direction, or one if there is a single mean.
    share: f64,
}

impl Order {
    /// Computes the order of the categories. `by_mean` is the number of the sum whose mean is the key, if there is one.
    fn find<S: SideSum>(
        &mut self,
        sums: &CategorySums<S>,
        by_mean: Option<u32>,
        unit: impl Fn(u32) -> Option<f64>,
        control: &Control,
    ) -> Result<()> {
        self.keys.clear();
        PURPOSE.reserve(&mut self.keys, sums.categories.len())?;
        self.share = 1.0;
        match by_mean {
            Some(number) => self.keys.extend((0..sums.categories.len()).map(|at| {
                let sum = sums.of(at).iter().find(|sum| sum.0 == number).map_or(0.0, |sum| sum.1.as_f64());
                sum / sums.weight[at].as_f64()
            })),
            None => self.find_keys_along_direction(sums, unit, control)?,
        }
        self.places.clear();
        PURPOSE.reserve(&mut self.places, sums.categories.len())?;
        self.places.extend(sums.places().map(|at| at as u32));
        let keys = &self.keys;
        let category = |at: u32| sums.categories[at as usize];
        let weight = |at: u32| sums.weight[at as usize].as_f64();
        let order = |&a: &u32, &b: &u32| {
            let by_key = keys[a as usize].total_cmp(&keys[b as usize]);
            by_key.then(weight(a).total_cmp(&weight(b))).then(category(a).cmp(&category(b)))
        };
        sort_by(&mut self.places, order, control)?;
        self.group_ends.clear();
        PURPOSE.reserve(&mut self.group_ends, self.places.len())?;
        let mut end = 0;
        let is_same = |a: u32, b: u32| keys[a as usize] == keys[b as usize];
        let are_all_same = self.places.windows(2).all(|pair| is_same(pair[0], pair[1]));
        for group in self.places.chunk_by(|&a, &b| !are_all_same && is_same(a, b)) {
            end += group.len() as u32;
            self.group_ends.push(end);
        }
        Ok(())
    }

    /// Sets the keys to the means along the leading eigenvector of their weighted covariance. It is computed by the
    /// power method, starting from the category that contributes most to the covariance.
    fn find_keys_along_direction<S: SideSum>(
        &mut self,
        sums: &CategorySums<S>,
        unit: impl Fn(u32) -> Option<f64>,
        control: &Control,
    ) -> Result<()> {
        let value = |&(number, sum): &(u32, S)| Some((number, sum.as_f64() * unit(number)?));
        let of = |at: usize| sums.of(at).iter().filter_map(value);
        self.find_mean(sums, of)?;
        let Order { keys, numbers, mean, direction, next, share: share_along, .. } = self;
        let along = |direction: &[f64], i: usize| {
            let product: f64 = of(i).map(|(number, sum)| sum * direction[number as usize]).sum();
            product / sums.weight[i].as_f64()
        };
        let mean_square: f64 = numbers.iter().map(|&number| mean[number as usize].squared()).sum();
        let (mut first, mut variation) = ((None, 0.0), 0.0);
        for i in sums.places() {
            let weight = sums.weight[i].as_f64();
            let square: f64 = of(i).map(|(_, sum)| (sum / weight).squared()).sum();
            let share = weight * (square - 2.0 * along(mean, i) + mean_square);
            variation += share;
            if share > first.1 {
                first = (Some(i), share);
            }
        }
        let clear = |of_numbers: &mut [f64]| numbers.iter().for_each(|&number| of_numbers[number as usize] = 0.0);
        clear(direction);
        // If there is no such category, all means are equal, and so are the keys.
        if let (Some(i), _) = first {
            let weight = sums.weight[i].as_f64();
            of(i).for_each(|(number, sum)| direction[number as usize] = sum / weight);
            numbers.iter().for_each(|&number| direction[number as usize] -= mean[number as usize]);
        }
        for _ in 0..MOST_STEPS {
            control.check()?;
            let of_mean: f64 = numbers.iter().map(|&j| mean[j as usize] * direction[j as usize]).sum();
            clear(next);
            let mut total = 0.0;
            for i in sums.places() {
                let deviation = along(direction, i) - of_mean;
                total += deviation * sums.weight[i].as_f64();
                of(i).for_each(|(number, sum)| next[number as usize] += deviation * sum);
            }
            numbers.iter().for_each(|&j| next[j as usize] -= total * mean[j as usize]);
            let square = |v: &[f64]| numbers.iter().map(|&j| v[j as usize].squared()).sum::<f64>();
            let (length, product) =
                (square(next).sqrt(), numbers.iter().map(|&j| next[j as usize] * direction[j as usize]).sum::<f64>());
            // All means are equal up to rounding.
            if length <= f64::MIN_POSITIVE {
                break;
            }
            let is_there = product >= (1.0 - 1e-12) * length * square(direction).sqrt();
            numbers.iter().for_each(|&j| direction[j as usize] = next[j as usize] / length);
            if is_there {
                break;
            }
        }
        let of_mean: f64 = numbers.iter().map(|&j| mean[j as usize] * direction[j as usize]).sum();
        let square: f64 = numbers.iter().map(|&j| direction[j as usize].squared()).sum();
        let along_it = |at: usize| sums.weight[at].as_f64() * (along(direction, at) - of_mean).squared();
        let variation_along_it = sums.places().map(along_it).sum::<f64>() / square;
        if variation_along_it < variation {
            *share_along = variation_along_it / variation;
        }
        // Missing values have no place in the order.
        let key = |at: usize| if Some(at) == sums.missing { 0.0 } else { along(direction, at) };
        keys.extend((0..sums.categories.len()).map(key));
        // The memory is reset to zero for the next feature.
        for of_numbers in [mean, direction, next] {
            numbers.iter().for_each(|&number| of_numbers[number as usize] = 0.0);
        }
        Ok(())
    }

    /// Computes the mean of all categories, and the numbers for which it may differ from zero.
    fn find_mean<S: SideSum, I: Iterator<Item = (u32, f64)>>(
        &mut self,
        sums: &CategorySums<S>,
        of: impl Fn(usize) -> I,
    ) -> Result<()> {
        let total: f64 = sums.places().map(|at| sums.weight[at].as_f64()).sum();
        self.numbers.clear();
        for at in sums.places() {
            for (number, sum) in of(at) {
                let width = number as usize + 1;
                for of_numbers in [&mut self.mean, &mut self.direction, &mut self.next] {
                    if of_numbers.len() < width {
                        PURPOSE.reserve(of_numbers, width - of_numbers.len())?;
                        of_numbers.resize(width, 0.0);
                    }
                }
                // The number is marked until the numbers are sorted.
                if self.next[number as usize] == 0.0 {
                    self.next[number as usize] = 1.0;
                    PURPOSE.push(&mut self.numbers, number)?;
                }
                self.mean[number as usize] += sum / total;
            }
        }
        self.numbers.sort_unstable();
        self.numbers.iter().for_each(|&number| self.next[number as usize] = 0.0);
        Ok(())
    }
}

impl<C: NodeCriterion> Scan<'_, C> {
    /// Offers sets of the categories of a column. As elsewhere, zeros are never visited: their sums are those of the
    /// node minus those of all others.
    pub(super) fn best_subset(&mut self, column: Column<'_>) {
        self.with_categories(|scan, categories| {
            if !column.sorted {
                sort_by_value(column.entries, scan.control)?;
            }
            let Categories { sums, .. } = categories;
            sums.clear();
            let mut n_rest = scan.n_samples;
            for run in column.entries.chunk_by(|a, b| a.key() == b.key()) {
                if run[0].key() == Entry::ZERO_KEY && column.n_zeros > 0 {
                    continue;
                }
                n_rest -= run.len() as u32;
                let mut moved = scan.criterion.reset();
                if !scan.move_long_run(&mut moved, run, Entry::row) {
                    return Ok(());
                }
                let category = category_of(run[0].value());
                sums.push(category, run.len() as u32, |visit| scan.criterion.moved_sums(&moved, visit))?;
            }
            scan.add_rest(categories, n_rest)?;
            scan.offer_subsets(column.feature, categories)
        });
    }

    /// Calls `work` with the memory for categories. If the search is interrupted or runs out of memory, its result is
    /// meaningless.
    pub(super) fn with_categories(&mut self, work: impl FnOnce(&mut Self, &mut Categories<C::Sum>) -> Result<()>) {
        let mut categories = std::mem::take(self.memory.categories);
        if let Err(error) = work(self, &mut categories) {
            self.failure.get_or_insert(error);
        }
        *self.memory.categories = categories;
    }

    /// Adds category 0, for the `n` samples of the node that are in none of the categories added so far, if there are
    /// any.
    pub(super) fn add_rest(&mut self, categories: &mut Categories<C::Sum>, n: u32) -> Result<()> {
        if n == 0 {
            return Ok(());
        }
        let Categories { sums, rest, .. } = categories;
        let mut moved = self.criterion.reset();
        (0..sums.categories.len()).for_each(|at| sums.move_to(at, self.criterion, &mut moved));
        rest.clear();
        let mut outcome = Ok(());
        let whole = self.criterion.node_sums(|number, sum| {
            if outcome.is_ok() {
                outcome = PURPOSE.push(rest, (number, sum));
            }
        });
        outcome?;
        rest.sort_unstable_by_key(|sum| sum.0);
        let taken = self.criterion.moved_sums(&moved, |number, sum| {
            if let Ok(at) = rest.binary_search_by_key(&number, |sum| sum.0) {
                rest[at].1 = rest[at].1 - sum;
            }
        });
        sums.rest = Some(sums.categories.len());
        sums.push(Some(0), n, |visit| {
            rest.iter().for_each(|&(number, sum)| visit(number, sum));
            whole - taken
        })
    }

    /// Offers sets of the categories that were added.
    pub(super) fn offer_subsets(&mut self, feature: u32, categories: &mut Categories<C::Sum>) -> Result<()> {
        let Categories { sums, order, .. } = categories;
        if !sums.varies() {
            return Ok(());
        }
        let by_mean = self.criterion.ordering_sum();
        order.find(sums, by_mean, |number| self.criterion.ordering_unit(number), self.control)?;
        let sets = Sets { order, are_few: by_mean.is_none() && order.places.len() <= FEW };
        let further = FurtherSets::of(order.places.len());
        self.refused_score = f64::NEG_INFINITY;
        let n = self.weight / self.rules.of_one;
        self.by_chance = decrease_by_chance(order.places.len(), order.share, self.impurity, n);
        // Missing values are on the side that is not moved, then on the side that is moved, and then they are moved
        // alone.
        self.offer_sets(feature, sums, &sets, false)?;
        if let Some(missing) = sums.missing {
            self.offer_sets(feature, sums, &sets, true)?;
            let mut moved = self.criterion.reset();
            sums.move_to(missing, self.criterion, &mut moved);
            let moved = MovedSide { n: sums.n[missing], moved: &moved, side: OF_SETS };
            self.offer(feature, moved, || Cut::of_subset(2 * sets.len(), true));
        }
        // Whether the search goes on must not depend on the order in which features are scanned, which is that of columns
        // in sparse X: no set may be left out that is better than all features only by rounding.
        if by_mean.is_some() && self.is_nearly_best(self.refused_score) {
            let of_places = (&sets.order.places[..], further);
            let first = 2 * sets.len() + 1;
            self.offer_further_sets(feature, sums, of_places, false, first)?;
            if sums.missing.is_some() {
                self.offer_further_sets(feature, sums, of_places, true, first + further.len())?;
            }
        }
        self.by_chance = 0.0;
        if let Some(place) = self.best_subset_of(feature) {
            let listed = &mut categories.listed;
            listed.clear();
            PURPOSE.reserve(listed, sets.order.places.len())?;
            let n_sets = sets.len();
            // The sets, each without and with missing values; missing values alone; and the further sets likewise.
            let (moved, moves_missing): (Box<dyn Fn(usize) -> bool>, bool) = match place.checked_sub(2 * n_sets) {
                None => (Box::new(|at| sets.contains(place % n_sets, at)), place >= n_sets),
                Some(0) => (Box::new(|_| false), true),
                Some(after) => {
                    let set = after - 1;
                    (Box::new(move |at| further.contains(set % further.len(), at)), set >= further.len())
                }
            };
            let weight = |at: usize| sums.weight[sets.order.places[at] as usize].as_f64();
            let n = sets.order.places.len();
            let lists_moved = match sums.missing {
                Some(_) => !moves_missing,
                None => self.is_listed(feature, (0..n).filter(|&at| moved(at)).map(weight).sum()),
            };
            let of_side = (0..n).filter(|&at| moved(at) == lists_moved);
            listed.extend(of_side.map(|at| sums.categories[sets.order.places[at] as usize]));
            listed.sort_unstable();
        }
        Ok(())
    }

    /// Offers all sets, with missing values moved or not.
    fn offer_sets(
        &mut self,
        feature: u32,
        sums: &CategorySums<C::Sum>,
        sets: &Sets<'_>,
        moves_missing: bool,
    ) -> Result<()> {
        let mut moved = self.criterion.reset();
        let (mut n_moved, mut at) = (0, 0);
        for set in 0..sets.len() {
            if (set as usize).is_multiple_of(PULSE) {
                self.control.check()?;
            }
            if sets.are_few {
                // The set is built from scratch, because it has at most eight places.
                (moved, n_moved, at) = (self.criterion.reset(), 0, 0);
            }
            if let (Some(missing), true, 0) = (sums.missing, moves_missing, at) {
                sums.move_to(missing, self.criterion, &mut moved);
                n_moved += sums.n[missing];
            }
            let end = sets.end(set);
            for place in (at..end).filter(|&at| sets.contains(set, at)).map(|at| sets.order.places[at] as usize) {
                sums.move_to(place, self.criterion, &mut moved);
                n_moved += sums.n[place];
            }
            at = end;
            let place = if moves_missing { sets.len() + set } else { set };
            let moved = MovedSide { n: n_moved, moved: &moved, side: OF_SETS };
            self.offer(feature, moved, || Cut::of_subset(place, sums.missing.is_some()));
        }
        Ok(())
    }

    /// Offers one set of categories, drawn uniformly among those that are neither empty nor complete. Only the
    /// categories are sorted, so that the cost is O(entries).
    pub(super) fn random_subset(&mut self, column: Column<'_>) {
        let cells = column.entries.iter().map(|e| (e.value(), e.row()));
        self.offer_random_subset(column.feature, column.n_zeros > 0, cells);
    }

    /// Like [`Scan::random_subset`], for a dense column without missing values.
    pub(super) fn random_plain_subset(&mut self, column: PlainColumn<'_>) {
        let cells = column.values.iter().copied().zip(column.rows.iter().copied());
        self.offer_random_subset(column.feature, false, cells);
    }

    fn offer_random_subset(
        &mut self,
        feature: u32,
        has_zeros: bool,
        cells: impl ExactSizeIterator<Item = (f32, u32)> + Clone,
    ) {
        let key = self.subsets_key(feature);
        self.with_categories(|scan, Categories { present, is_present, listed, .. }| {
            present.clear();
            let mut has_missing = false;
            let zero = has_zeros.then_some(0.0);
            for value in cells.clone().map(|(value, _)| value).chain(zero) {
                match category_of(value) {
                    Some(category) if !is_present.contains(category.into()) => {
                        is_present.insert(category.into());
                        PURPOSE.push(present, category)?;
                    }
                    Some(_) => {}
                    None => has_missing = true,
                }
            }
            present.iter().for_each(|&category| is_present.remove(category.into()));
            present.sort_unstable();
            let drawn = DrawnSet::new(key, present, has_missing);
            let moves_drawn = !drawn.contains(0.0);
            let is_moved = |value| drawn.contains(value) == moves_drawn;
            let weight_moved = scan.offer_moved(feature, is_moved, cells, (Cut::of_subset(0, has_missing), OF_SETS));
            if scan.best_subset_of(feature).is_none() {
                return Ok(());
            }
            let weight_drawn = if moves_drawn { weight_moved } else { scan.weight - weight_moved };
            let lists_drawn = has_missing || scan.is_listed(feature, weight_drawn);
            listed.clear();
            PURPOSE.reserve(listed, present.len())?;
            listed.extend(present.iter().filter(|&&category| drawn.contains(category.into()) == lists_drawn));
            Ok(())
        });
    }
}

/// The sets that are offered, numbered from 0. A set consists of the first groups of the order. If there are few
/// categories, it consists of those whose bits are set in the number of the set plus one, and never contains the last
/// one.
#[derive(Debug)]
struct Sets<'a> {
    order: &'a Order,
    are_few: bool,
}

impl Sets<'_> {
    fn len(&self) -> u32 {
        let Order { places, group_ends, .. } = self.order;
        if self.are_few { (1 << (places.len() - 1)) - 1 } else { group_ends.len() as u32 - 1 }
    }

    /// Returns the end of a set in the order.
    fn end(&self, set: u32) -> usize {
        if self.are_few { self.order.places.len() } else { self.order.group_ends[set as usize] as usize }
    }

    /// Returns whether the category at a place of the order is in a set.
    fn contains(&self, set: u32, at: usize) -> bool {
        if self.are_few { (set + 1) >> at & 1 == 1 } else { at < self.end(set) }
    }
}

/// A random set of categories.
#[derive(Clone, Copy, Debug)]
struct DrawnSet {
    key: Key,
    /// The only category, if there are missing values besides it.
    only: Option<Category>,
}

impl DrawnSet {
    /// Draws a set of some of `present`, which must be in increasing order, but not all of them. If there are missing
    /// values, it may contain all of them, because missing values are on the other side.
    fn new(key: Key, present: &[Category], has_missing: bool) -> Self {
        if let ([only], true) = (present, has_missing) {
            return DrawnSet { key, only: Some(*only) };
        }
        // This takes two attempts on average with two categories, and fewer with more.
        let mut attempts = (0..).map(|attempt| DrawnSet { key: key.child(attempt), only: None });
        let is_proper = |drawn: &DrawnSet| {
            let n_drawn = present.iter().filter(|&&category| drawn.contains(category.into())).count();
            // If missing values are on the other side, the set of all categories is proper, too.
            (1..present.len() + usize::from(has_missing)).contains(&n_drawn)
        };
        attempts.find(is_proper).unwrap_or(DrawnSet { key, only: present.first().copied() })
    }

    /// Returns whether the set contains a value. It never contains missing values.
    fn contains(&self, value: f32) -> bool {
        category_of(value).is_some_and(|category| match self.only {
            Some(only) => category == only,
            None => self.key.uniform(category.into()) < 0.5,
        })
    }
}
