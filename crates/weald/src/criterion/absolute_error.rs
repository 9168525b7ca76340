//! The mean absolute deviation of numerical outputs from their weighted median, for any number of outputs.
//!
//! When a node is entered, the values of each output are sorted. The distinct values are the *places* of the output.
//! Two structures over the places determine the medians of both sides of every cut:
//!
//! * the weights and sums of the node up to each place, which are computed once;
//! * the weights and sums of the moved side, in a Fenwick tree (Fenwick, *A new data structure for cumulative frequency
//!   tables*, 1994): moving a sample and finding the place of a median take the logarithm of the number of places.
//!
//! The weights and sums of the rest up to a place are those of the node minus those of the moved side. Let c be the
//! median of a side, W and S its weight and sum, and W′ and S′ those below c. The side then deviates by (S − 2 S′) − c
//! (W − 2 W′). If the weight is divided evenly between two values, every c between them gives the same deviation, and
//! the lower value is used.
//!
//! Values are centred and rounded in each node, to a grid so fine that sums over samples have 62 bits, or 107 if
//! weights are rounded. Sums are exact, whatever their order, so that cuts with equal deviations tie.
//!
//! Several workers are not supported, because medians cannot be computed from sums of each worker's samples.
//!
//! The memory is about 44 bytes for each value of y, or 60 if weights are rounded.

use super::table::{CriterionKind, Decrease, LeafValues, NodeData, TakeStatistics, TargetKind, refused_where_masked};
use super::{Criterion, NodeCriterion, NodeStats, Units};
use crate::control::Control;
use crate::data::sort::sort_by;
use crate::data::train_y::{RealTargets, TrainY};
use crate::error::{ErrorKind, Purpose, Result};
use crate::exact::{FixedPoint, exponent_above};

/// The absolute error in the table of criteria.
pub(crate) struct DeviationFromMedians;

impl CriterionKind for DeviationFromMedians {
    const NAME: &'static str = "absolute_error";
    const DOMAIN: TargetKind = TargetKind::Numbers;
    const LEAVES: LeafValues = LeafValues::Medians;
    /// The medians of leaves do not determine the deviation of the samples of a node from their median.
    const DECREASE: Option<Decrease> = None;

    fn statistics<'a, U: Units, T: TakeStatistics<'a>>(data: &NodeData<'a, U>, taker: T) -> Result<T::Outcome> {
        match data.y {
            TrainY::Real(y) => taker.take(AbsoluteError::new(y, data.units, data.control)?),
            TrainY::MaskedReal(_) => Err(refused_where_masked(Criterion::AbsoluteError)),
            TrainY::SparseReal(_) | TrainY::Slots(_) | TrainY::MaskedSlots(_) => Err(data.refused_by::<Self>()),
        }
    }

    fn check(y: &TrainY<'_>, _: &[u32]) -> Result<()> {
        match y {
            TrainY::MaskedReal(_) => Err(refused_where_masked(Criterion::AbsoluteError)),
            // Other kinds of y raise an error when the parameters are checked.
            TrainY::Real(_) | TrainY::SparseReal(_) | TrainY::Slots(_) | TrainY::MaskedSlots(_) => Ok(()),
        }
    }
}

/// The weight of some samples, and weight × value of one output.
#[derive(Clone, Copy, Debug, Default)]
struct Part<U: Units> {
    weight: U,
    sum: U::Square,
}

impl<U: Units> Part<U> {
    #[inline]
    fn add(&mut self, weight: U, sum: U::Square) {
        self.weight += weight;
        self.sum = self.sum + sum;
    }
}

#[derive(Debug)]
pub(crate) struct AbsoluteError<'a, U: Units> {
    y: &'a RealTargets<'a>,
    weights: &'a [U],
    control: Control,
    /// For each sample of the node and each output, the place of its value.
    places: Vec<u32>,
    /// The first place of each output of the node; the last element is the number of places.
    starts: Vec<usize>,
    /// The value of each place, in spacings of the node's grid.
    numbers: Vec<i64>,
    /// For the node: the weight and the sum of the output up to and including each place.
    up_to: Vec<Part<U>>,
    /// For the moved side: the Fenwick tree of each output over its places. Elements beyond those of the node are zero.
    moved: Vec<Part<U>>,
    /// The sum of each output in the moved side.
    moved_sums: Vec<U::Square>,
    /// The samples that were moved one by one.
    moved_rows: Vec<u32>,
    /// Whether groups of samples were moved in addition.
    has_moved_sides: bool,
    /// The values of one output while they are sorted, with their samples.
    sorted: Vec<(f64, u32)>,
    centers: Vec<f64>,
    weight: U,
    n_samples: u32,
    /// Converts the values of the node to its grid.
    grid: FixedPoint,
    /// Weight × deviation of the node, summed over outputs, in spacings.
    deviation: i128,
    /// The largest value minus the smallest value, summed over outputs, in spacings.
    spread: f64,
}

/// Returns the number of bits of values in a node of this weight. Their products with weights, and the sums of these,
/// have 62 bits or, if the weight alone takes half of them, 107.
fn bits_of_numbers(weight: f64) -> i32 {
    const MOST: i32 = 55;
    let left = 62 - exponent_above(weight);
    if left < 31 { MOST } else { left.min(MOST) }
}

impl<'a, U: Units> AbsoluteError<'a, U> {
    pub(crate) fn new(y: &'a RealTargets<'a>, weights: &'a [U], control: &Control) -> Result<Self> {
        const PURPOSE: Purpose = Purpose("the sorted targets of a node");
        let q = y.n_outputs;
        let limit = u32::MAX as usize;
        let n_cells = weights.len().checked_mul(q).filter(|n| n + q <= limit);
        let n_cells = n_cells.ok_or(ErrorKind::TooMany { what: "numbers in y with the absolute error", limit })?;
        Ok(AbsoluteError {
            y,
            weights,
            control: control.clone(),
            places: control.filled(PURPOSE, 0, n_cells)?,
            starts: PURPOSE.filled(0, q + 1)?,
            numbers: PURPOSE.with_capacity(n_cells)?,
            up_to: PURPOSE.with_capacity(n_cells)?,
            moved: control.filled(PURPOSE, Part::default(), n_cells)?,
            moved_sums: PURPOSE.filled(U::Square::default(), q)?,
            moved_rows: PURPOSE.with_capacity(weights.len())?,
            has_moved_sides: false,
            sorted: PURPOSE.with_capacity(weights.len())?,
            centers: PURPOSE.filled(0.0, q)?,
            weight: U::default(),
            n_samples: 0,
            grid: FixedPoint::ONE,
            deviation: 0,
            spread: 0.0,
        })
    }

    /// Moves all samples back.
    fn put_back(&mut self) {
        let q = self.y.n_outputs;
        let n_places = self.starts[q];
        if self.has_moved_sides || self.moved_rows.len() > self.n_samples as usize / 8 {
            self.moved[..n_places].fill(Part::default());
        } else {
            for &row in &self.moved_rows {
                let places = &self.places[row as usize * q..][..q];
                for (ends, &place) in self.starts.windows(2).zip(places) {
                    let tree = &mut self.moved[ends[0]..ends[1]];
                    // If a node of the tree is zero, the nodes above it have already been reset.
                    let mut at = place as usize - ends[0] + 1;
                    while let Some(part) = tree.get_mut(at - 1).filter(|part| part.weight > U::default()) {
                        *part = Part::default();
                        at += lowest_one(at);
                    }
                }
            }
        }
        self.moved_rows.clear();
        self.has_moved_sides = false;
        self.moved_sums.fill(U::Square::default());
    }

    /// Sets the centre of each output of these samples, and returns the largest distance from a centre.
    fn center(&mut self, rows: &[u32]) -> Result<f64> {
        let mut reach = 0f64;
        for (output, center) in self.centers.iter_mut().enumerate() {
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for piece in self.control.pieces(rows, 1) {
                for &row in piece? {
                    let number = self.y.of(row)[output];
                    (low, high) = (low.min(number), high.max(number));
                }
            }
            *center = if low == high { low } else { low / 2.0 + high / 2.0 };
            reach = reach.max(high - *center).max(*center - low);
        }
        Ok(reach)
    }

    /// Assigns places to the samples of the node, output by output. The grid and the centres must be known.
    fn find_places(&mut self, rows: &[u32]) -> Result<()> {
        let q = self.y.n_outputs;
        self.numbers.clear();
        self.up_to.clear();
        self.spread = 0.0;
        for output in 0..q {
            let start = self.numbers.len();
            self.starts[output] = start;
            self.sorted.clear();
            // Adding zero converts −0.0 to zero, so that both are equal.
            self.sorted.extend(rows.iter().map(|&row| (self.y.of(row)[output] + 0.0, row)));
            sort_by(&mut self.sorted, |a, b| a.0.total_cmp(&b.0), &self.control)?;
            let mut up_to = Part::default();
            for run in self.sorted.chunk_by(|a, b| a.0 == b.0) {
                let place = self.numbers.len();
                let number = self.grid.up(run[0].0 - self.centers[output]) as i64;
                for &(_, row) in run {
                    let weight = self.weights[row as usize];
                    up_to.add(weight, weight.times_whole(number));
                    self.places[row as usize * q + output] = place as u32;
                }
                self.numbers.push(number);
                self.up_to.push(up_to);
            }
            self.spread += (self.numbers[self.numbers.len() - 1] - self.numbers[start]) as f64;
        }
        self.starts[q] = self.numbers.len();
        Ok(())
    }

    /// Returns the places of an output.
    fn range(&self, output: usize) -> std::ops::Range<usize> {
        self.starts[output]..self.starts[output + 1]
    }

    /// Returns weight × deviation of the node, summed over outputs.
    fn deviation_of_node(&self) -> i128 {
        let of_output = |output: usize| {
            let range = self.range(output);
            let (numbers, up_to) = (&self.numbers[range.clone()], &self.up_to[range]);
            let n_below = up_to.partition_point(|part| part.weight < self.weight - part.weight);
            let below = n_below.checked_sub(1).map_or(Part::default(), |last| up_to[last]);
            deviation(up_to[up_to.len() - 1], below, numbers[n_below]).into()
        };
        (0..self.y.n_outputs).map(of_output).sum()
    }

    /// Moves a weight at a place of an output.
    #[inline]
    fn move_at(&mut self, output: usize, place: usize, weight: U) {
        let sum = weight.times_whole(self.numbers[place]);
        self.moved_sums[output] = self.moved_sums[output] + sum;
        let start = self.starts[output];
        let tree = &mut self.moved[start..self.starts[output + 1]];
        let mut at = place - start + 1;
        while let Some(part) = tree.get_mut(at - 1) {
            part.add(weight, sum);
            at += lowest_one(at);
        }
    }

    /// Returns the weight that was moved at a place, in the tree of an output that starts at `start`.
    fn moved_at(&self, start: usize, place: usize) -> U {
        let at = place - start + 1;
        let mut weight = self.moved[place].weight;
        // These are the nodes whose ranges make up the rest of this node's range.
        let mut below = at - 1;
        while below > at - lowest_one(at) {
            weight = weight - self.moved[start + below - 1].weight;
            below -= lowest_one(below);
        }
        weight
    }
}

#[inline(always)]
fn lowest_one(at: usize) -> usize {
    at & at.wrapping_neg()
}

/// Returns weight × deviation of a side from its median `number`, from the totals of the side and those below the
/// median.
#[inline]
fn deviation<U: Units>(all: Part<U>, below: Part<U>, number: i64) -> U::Square {
    let above = (all.weight - below.weight) - below.weight;
    (all.sum - below.sum) - below.sum - above.times_whole(number)
}

/// Returns the number of places before the first place for which `is_before` is false, and the totals before this
/// place. `is_before` gets a place and the weight up to it.
#[inline]
fn descend<U: Units>(tree: &[Part<U>], is_before: impl Fn(usize, U) -> bool) -> (usize, Part<U>) {
    let (mut n_before, mut before) = (0, Part::<U>::default());
    let mut step = 1 << tree.len().ilog2();
    while step > 0 {
        if let Some(part) = tree.get(n_before + step - 1) {
            let mut up_to = before;
            up_to.add(part.weight, part.sum);
            if is_before(n_before + step - 1, up_to.weight) {
                (n_before, before) = (n_before + step, up_to);
            }
        }
        step /= 2;
    }
    (n_before, before)
}

impl<U: Units> NodeCriterion for AbsoluteError<'_, U> {
    type Memory = ();
    /// The moved weight.
    type Moved = U;
    type Sample = ();

    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats> {
        self.put_back();
        self.n_samples = rows.len() as u32;
        self.weight = U::default();
        rows.iter().for_each(|&row| self.weight += self.weights[row as usize]);
        let (n, weight) = (self.n_samples, self.weight.to_f64());
        let reach = self.center(rows)?;
        if reach == 0.0 {
            return Ok(NodeStats { n, weight, impurity: 0.0, pure: true });
        }
        self.grid = FixedPoint::with_bits(reach, bits_of_numbers(weight));
        self.find_places(rows)?;
        self.deviation = self.deviation_of_node();
        Ok(NodeStats { n, weight, impurity: self.decrease(self.deviation as f64), pure: false })
    }

    fn reset(&mut self) -> U {
        self.put_back();
        U::default()
    }

    #[inline]
    fn move_sample(&mut self, moved: &mut U, row: u32) {
        let weight = self.weights[row as usize];
        *moved += weight;
        self.moved_rows.push(row);
        let q = self.y.n_outputs;
        for output in 0..q {
            self.move_at(output, self.places[row as usize * q + output] as usize, weight);
        }
    }

    fn cost(&self) -> usize {
        3 * self.y.n_outputs * (self.n_samples.max(2).ilog2() as usize)
    }

    fn moved_weight(&self, moved: &U) -> f64 {
        moved.to_f64()
    }

    /// Returns the decrease of the deviation.
    fn score(&self, moved: &U) -> f64 {
        let weight = *moved;
        let rest = self.weight - weight;
        let mut sides = 0i128;
        for (output, &sum) in self.moved_sums.iter().enumerate() {
            let range = self.range(output);
            let (tree, up_to) = (&self.moved[range.clone()], &self.up_to[range.clone()]);
            let numbers = &self.numbers[range];
            let (n_below, below) = descend(tree, |_, up_to| up_to < weight - up_to);
            sides += deviation(Part { weight, sum }, below, numbers[n_below]).into();

            let is_below = |place: usize, moved: U| {
                let up_to = up_to[place].weight - moved;
                up_to < rest - up_to
            };
            let (n_below, moved_below) = descend(tree, is_below);
            let below = n_below.checked_sub(1).map_or(Part::default(), |last| up_to[last]);
            let below = Part { weight: below.weight - moved_below.weight, sum: below.sum - moved_below.sum };
            let all = Part { weight: rest, sum: up_to[up_to.len() - 1].sum - sum };
            sides += deviation(all, below, numbers[n_below]).into();
        }
        (self.deviation - sides) as f64
    }

    /// Returns the score of two sides without deviations.
    fn perfect_score(&self) -> f64 {
        self.deviation as f64
    }

    /// With r the median of the rest, the moved side deviates from r by at most its weight times the spread. No
    /// decrease is larger than this, because the node deviates least from its own median.
    fn least_moved_weight(&self, score: f64) -> f64 {
        // The margin covers the rounding of the score.
        if score > 0.0 { score / self.spread * (1.0 - 1e-9) } else { 0.0 }
    }

    type Sum = i128;

    /// The sums are those of each output, followed by the weights of places.
    fn moved_sums(&self, moved: &U, mut visit: impl FnMut(u32, i128)) -> i128 {
        (0..).zip(&self.moved_sums).for_each(|(output, &sum)| visit(output, sum.into()));
        let q = self.y.n_outputs;
        if self.has_moved_sides {
            for output in 0..q {
                let range = self.range(output);
                range.clone().for_each(|place| {
                    visit((q + place) as u32, self.moved_at(range.start, place).to_f64() as i128);
                });
            }
        } else {
            for &row in &self.moved_rows {
                let weight = self.weights[row as usize].to_f64() as i128;
                self.places[row as usize * q..][..q].iter().for_each(|&place| visit(q as u32 + place, weight));
            }
        }
        moved.to_f64() as i128
    }

    fn node_sums(&self, mut visit: impl FnMut(u32, i128)) -> i128 {
        let q = self.y.n_outputs;
        for output in 0..q {
            let up_to = &self.up_to[self.range(output)];
            visit(output as u32, up_to[up_to.len() - 1].sum.into());
            let mut before = U::default();
            for (place, part) in self.range(output).zip(up_to) {
                visit((q + place) as u32, (part.weight - before).to_f64() as i128);
                before = part.weight;
            }
        }
        self.weight.to_f64() as i128
    }

    fn move_side(&mut self, moved: &mut U, weight: i128, sums: &[(u32, i128)]) {
        self.has_moved_sides = true;
        *moved += U::of_whole(weight);
        let q = self.y.n_outputs;
        // The sums of outputs follow from the weights.
        for &(number, weight) in sums.iter().filter(|(number, _)| *number as usize >= q) {
            let place = number as usize - q;
            let output = self.starts.partition_point(|&start| start <= place) - 1;
            self.move_at(output, place, U::of_whole(weight));
        }
    }

    /// This is a heuristic: for deviations from medians, no order of categories determines the best set.
    fn ordering_sum(&self) -> Option<u32> {
        (self.y.n_outputs == 1).then_some(0)
    }

    fn ordering_unit(&self, number: u32) -> Option<f64> {
        (number < self.y.n_outputs as u32).then_some(1.0)
    }

    fn score_without_gain(&self) -> f64 {
        0.0
    }

    fn decrease(&self, score: f64) -> f64 {
        self.grid.down(score / self.weight.to_f64() / self.y.n_outputs as f64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the deviation of values from the best of them, weighted and summed over outputs.
    fn naive(y: &RealTargets<'_>, units: &[u32], rows: &[u32]) -> f64 {
        let of_output = |output: usize| {
            let from = |c: f64| -> f64 {
                rows.iter().map(|&row| f64::from(units[row as usize]) * (y.of(row)[output] - c).abs()).sum()
            };
            rows.iter().map(|&row| from(y.of(row)[output])).fold(f64::INFINITY, f64::min)
        };
        (0..y.n_outputs).map(of_output).sum()
    }

    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => (-3i8..4).prop_map(f64::from),
            2 => -1e3f64..1e3,
            1 => prop::sample::select(vec![0.1, 0.2, 0.3, -0.0, 1e12, 1e12 + 1.0, -1e6, 1e-12, 5e-324]),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn every_cut_of_every_node_falls_by_as_much_as_plain_loops_find(
            (q, cells) in (1usize..4, 2usize..14)
                .prop_flat_map(|(q, n)| (Just(q), prop::collection::vec((prop::collection::vec(number(), q), 1u32..4), n))),
            // Whether each sample is in a node, and the order in which samples are moved.
            nodes in prop::collection::vec(prop::collection::vec((any::<bool>(), any::<u8>()), 14), 1..4),
        ) {
            let n = cells.len();
            let units: Vec<u32> = cells.iter().map(|cell| cell.1).collect();
            let wide: Vec<u64> = units.iter().map(|&units| units.into()).collect();
            let values: Vec<f64> = cells.iter().flat_map(|cell| cell.0.iter().copied()).collect();
            let y = RealTargets::new(values, q).unwrap();
            let mut criterion = AbsoluteError::new(&y, &units, &Control::default()).unwrap();
            let mut of_wide = AbsoluteError::new(&y, &wide, &Control::default()).unwrap();
            for node in &nodes {
                let mut rows: Vec<u32> = (0..n as u32).filter(|&row| row < 2 || node[row as usize].0).collect();
                let stats = criterion.enter(&rows).unwrap();
                prop_assert_eq!(stats, of_wide.enter(&rows).unwrap());
                let weight: f64 = rows.iter().map(|&row| f64::from(units[row as usize])).sum();
                let deviation = naive(&y, &units, &rows);
                prop_assert_eq!((stats.n as usize, stats.weight), (rows.len(), weight));
                prop_assert_eq!(stats.pure, rows.iter().all(|&row| y.of(row) == y.of(rows[0])));
                // The tolerance covers plain sums of a few values, in each step of which the largest value has an error
                // of half a unit in the last place, and means of the smallest numbers.
                let largest = rows.iter().flat_map(|&row| y.of(row)).fold(0.0, |most: f64, y| most.max(y.abs()));
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * weight * largest + 1e-320;
                prop_assert!(near(stats.impurity * weight * q as f64, deviation), "{} {deviation}", stats.impurity);
                if stats.pure {
                    continue;
                }
                rows.sort_by_key(|&row| node[row as usize].1);
                // Some cuts are followed by a reset. Samples are moved back one by one, or all at once.
                for n_moved in [1, rows.len() / 2, rows.len() - 1] {
                    let (mut moved, mut moved_wide) = (criterion.reset(), of_wide.reset());
                    for (i, &row) in rows[..n_moved].iter().enumerate() {
                        criterion.move_sample(&mut moved, row);
                        of_wide.move_sample(&mut moved_wide, row);
                        let score = criterion.score(&moved);
                        prop_assert_eq!(score, of_wide.score(&moved_wide));
                        let sides = naive(&y, &units, &rows[..=i]) + naive(&y, &units, &rows[i + 1..]);
                        let decrease = criterion.decrease(score);
                        prop_assert!(near(decrease * weight * q as f64, deviation - sides), "{decrease} {sides}");
                        prop_assert!(decrease >= 0.0 && score <= criterion.perfect_score());
                        prop_assert!(sides > 0.0 || score == criterion.perfect_score());
                        prop_assert!(criterion.least_moved_weight(score) <= criterion.moved_weight(&moved));
                    }
                    // The same side is moved as two categories.
                    let score = criterion.score(&moved);
                    let (first, second) = rows[..n_moved].split_at(n_moved / 2);
                    let parts = [first, second].map(|part| {
                        let mut moved = criterion.reset();
                        part.iter().for_each(|&row| criterion.move_sample(&mut moved, row));
                        let mut sums = Vec::new();
                        let weight = criterion.moved_sums(&moved, |number, sum| sums.push((number, sum)));
                        (weight, sums)
                    });
                    let mut moved = criterion.reset();
                    parts.iter().for_each(|(weight, sums)| criterion.move_side(&mut moved, *weight, sums));
                    prop_assert_eq!(criterion.score(&moved), score);
                    // The sums that are visited are those of the moved samples, and the rest has the remaining sums of
                    // the node.
                    let n_numbers = q + criterion.numbers.len();
                    let added = |parts: &[(u32, i128)]| {
                        let mut sums = vec![0; n_numbers];
                        parts.iter().for_each(|&(number, sum)| sums[number as usize] += sum);
                        sums
                    };
                    let (mut told, mut whole) = (Vec::new(), Vec::new());
                    criterion.moved_sums(&moved, |number, sum| told.push((number, sum)));
                    prop_assert_eq!(added(&told), added(&[&parts[0].1[..], &parts[1].1].concat()));
                    criterion.node_sums(|number, sum| whole.push((number, sum)));
                    let mut rest = criterion.reset();
                    rows[n_moved..].iter().for_each(|&row| criterion.move_sample(&mut rest, row));
                    prop_assert_eq!(criterion.score(&rest), score);
                    let mut of_rest = Vec::new();
                    criterion.moved_sums(&rest, |number, sum| of_rest.push((number, sum)));
                    prop_assert_eq!(added(&whole), added(&[told, of_rest].concat()));
                }
            }
        }
    }

    #[test]
    fn unknown_cells_and_more_numbers_than_places_are_refused() {
        let y = RealTargets::new(Vec::new(), 1 << 20).unwrap();
        let error = AbsoluteError::new(&y, &[1u32; 1 << 12], &Control::default()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TooMany { .. }), "{error}");
        assert_eq!(
            refused_where_masked(Criterion::AbsoluteError).to_string(),
            "criterion must be Variance if y has masked cells, got AbsoluteError"
        );
    }
}
