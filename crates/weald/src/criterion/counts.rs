//! The Gini index of classes and labels from counts of slots, for sparse outputs.
//!
//! Let t_j be the weight of slot j in the node, m_j that in the moved side, and W the total weights. Minimizing the
//! weighted mean Gini index of the sides is equivalent to maximizing
//!
//!   Σ_j m_j² / W_m + Σ_j (t_j − m_j)² / W_r,
//!
//! for class outputs (the sum over outputs of 1 − Σ p²) and for labels (2p(1 − p) each, where the linear term is the
//! same for every cut). Expanding the second square leaves Σ t², Σ t m and Σ m². Moving a sample of weight w changes
//! them only in the slots of the sample, by w t_j and w (2 m_j + w). The cost is therefore the number of labels of the
//! sample, never the total number of labels.

use super::cells::CellsVariance;
use super::masked_counts::{GiniOfClasses, GiniOfLabels, MaskedCounts};
use super::table::{CriterionKind, Decrease, NodeData, SplitSums, TakeStatistics, TargetKind};
use super::{NodeCriterion, NodeStats, Units, least_weight, score_from};
use two_classes::GiniOfTwo;

use crate::data::slots::Slots;
use crate::data::train_y::TrainY;
use crate::elementary::Squared;
use crate::error::{Purpose, Result};
use crate::exact::debug_assert_exact;
use crate::exact::reduce::{Reduce, Workers};

pub(crate) mod two_classes;

/// The Gini index in the table of criteria.
pub(crate) struct GiniIndex;

impl CriterionKind for GiniIndex {
    const NAME: &'static str = "gini";
    const DOMAIN: TargetKind = TargetKind::ClassesAndLabels;
    const DECREASE: Option<Decrease> = Some(GiniIndex::decrease);
    /// The Gini index is a multiple of the variance of columns of 0 and 1.
    const PROJECTED: &'static [TargetKind] = &[TargetKind::ClassesAndLabels];

    fn statistics<'a, U: Units, T: TakeStatistics<'a>>(data: &NodeData<'a, U>, taker: T) -> Result<T::Outcome> {
        match data.y {
            TrainY::Slots(y) if y.n_class_outputs == Some(1) && y.width == 2 => {
                taker.take(GiniOfTwo::new(y, data.units, data.workers)?)
            }
            TrainY::Slots(y) if y.n_class_outputs == Some(1) => {
                taker.take(Gini::new(OneSlot::new(y, data.units)?, y, data.workers)?)
            }
            TrainY::Slots(y) => taker.take(Gini::new(ManySlots::new(y, data.units), y, data.workers)?),
            TrainY::MaskedSlots(y) => match y.n_class_outputs() {
                Some(_) => taker.take(MaskedCounts::<U, GiniOfClasses>::new(y, data.units, data.workers)?),
                None => taker.take(MaskedCounts::<U, GiniOfLabels>::new(y, data.units, data.workers)?),
            },
            TrainY::MaskedReal(y) if y.are_labels() => {
                let variance = CellsVariance::new(y, data.units, data.exact_weights, data.control)?;
                taker.take(variance.gini_of_labels())
            }
            TrainY::Real(_) | TrainY::SparseReal(_) | TrainY::MaskedReal(_) => Err(data.refused_by::<Self>()),
        }
    }
}

impl GiniIndex {
    fn decrease(split: &SplitSums<'_>) -> f64 {
        split.decrease_of(|output, total| {
            if split.are_labels {
                2.0 * (output[0] / total) * (1.0 - output[0] / total)
            } else {
                1.0 - output.iter().map(|s| (s / total).squared()).sum::<f64>()
            }
        })
    }
}

/// The slots and the weight of every sample, in a layout that suits the targets.
pub(crate) trait Occupancy<U: Units>: std::fmt::Debug {
    fn weight(&self, row: u32) -> U;
    fn for_each_slot(&self, row: u32, visit: impl FnMut(u32));
    /// See [`NodeCriterion::ordering_sum`].
    fn ordering_slot(&self) -> Option<u32>;
    /// Returns an upper bound on |e − r|² over samples, where e are the slots of a sample and r the frequencies of
    /// slots in the node. |r|² and the smallest r are given.
    fn reach(&self, square_share: f64, least_share: f64) -> f64;
}

/// One class output. The weight and the slot of a sample are stored together, so that one load reads both.
#[derive(Debug)]
pub(crate) struct OneSlot<U> {
    of_rows: Vec<(U, u32)>,
    n_classes: usize,
}

impl<U: Units> OneSlot<U> {
    pub(crate) fn new(y: &Slots<'_>, weights: &[U]) -> Result<Self> {
        let of_rows = weights.iter().enumerate().map(|(row, &w)| (w, y.of(row as u32)[0]));
        Ok(OneSlot { of_rows: Purpose("the classes of samples").collected(of_rows)?, n_classes: y.width })
    }
}

impl<U: Units> Occupancy<U> for OneSlot<U> {
    #[inline]
    fn weight(&self, row: u32) -> U {
        self.of_rows[row as usize].0
    }

    #[inline]
    fn for_each_slot(&self, row: u32, mut visit: impl FnMut(u32)) {
        visit(self.of_rows[row as usize].1);
    }

    fn ordering_slot(&self) -> Option<u32> {
        (self.n_classes == 2).then_some(1)
    }

    fn reach(&self, square_share: f64, least_share: f64) -> f64 {
        1.0 - 2.0 * least_share + square_share
    }
}

/// Any number of labels or class outputs.
#[derive(Debug)]
pub(crate) struct ManySlots<'a, U> {
    y: &'a Slots<'a>,
    weights: &'a [U],
    most_in_a_row: f64,
}

impl<'a, U: Units> ManySlots<'a, U> {
    pub(crate) fn new(y: &'a Slots<'a>, weights: &'a [U]) -> Self {
        ManySlots { y, weights, most_in_a_row: y.most_in_a_row() as f64 }
    }
}

impl<U: Units> Occupancy<U> for ManySlots<'_, U> {
    #[inline]
    fn weight(&self, row: u32) -> U {
        self.weights[row as usize]
    }

    #[inline]
    fn for_each_slot(&self, row: u32, visit: impl FnMut(u32)) {
        self.y.of(row).iter().copied().for_each(visit);
    }

    fn ordering_slot(&self) -> Option<u32> {
        self.y.ordering_slot()
    }

    fn reach(&self, square_share: f64, _: f64) -> f64 {
        self.most_in_a_row + square_share
    }
}

#[derive(Debug)]
pub(crate) struct Gini<U: Units, Y> {
    y: Y,
    workers: Workers,
    /// The number of samples of the node.
    n: u32,
    /// The weight of each slot in the node, and in the moved side.
    total: Vec<U>,
    moved: Vec<U>,
    /// The slots with a non-zero total.
    present: Vec<u32>,
    /// The number of slots of the samples of the node, counted with repetitions.
    n_cells: usize,
    /// The slots with a moved weight. They are not recorded if there are so few slots that clearing all of them is
    /// faster.
    touched: Vec<u32>,
    few_slots: bool,
    /// The maximum number of slots of a sample.
    slots_of_a_sample: usize,
    weight: U,
    /// Σ t².
    squares: U::Square,
    /// Σ t. Since m_j <= M, Σ m_j² / M <= Σ m_j on both sides, with equality (and without rounding) if they are pure.
    occupied: f64,
    /// See [`Occupancy::reach`].
    reach: f64,
    /// The impurity per unit of Σ p²: two for a label and one for a class output, divided by the number of outputs.
    scale: f64,
}

const FEW_SLOTS: usize = 32;

const PURPOSE: Purpose = Purpose("the counts of a node");

impl<U: Units, Y: Occupancy<U>> Gini<U, Y> {
    /// `slots` determines the meaning of the slots of `y`.
    pub(crate) fn new(y: Y, slots: &Slots<'_>, workers: &Workers) -> Result<Self> {
        let few_slots = slots.width <= FEW_SLOTS;
        Ok(Gini {
            y,
            workers: workers.clone(),
            n: 0,
            total: PURPOSE.filled(U::default(), slots.width)?,
            moved: PURPOSE.filled(U::default(), slots.width)?,
            present: PURPOSE.with_capacity(slots.width)?,
            n_cells: 0,
            touched: PURPOSE.with_capacity(if few_slots { 0 } else { slots.width })?,
            few_slots,
            slots_of_a_sample: slots.most_in_a_row(),
            weight: U::default(),
            squares: U::Square::default(),
            occupied: 0.0,
            reach: 0.0,
            scale: match slots.n_class_outputs {
                Some(n) => 1.0 / n as f64,
                None => 2.0 / slots.width as f64,
            },
        })
    }

    /// Returns the sums of squares of both sides, and their weights.
    #[inline]
    fn sides(&self, sums: &Sums<U>) -> ([f64; 2], [f64; 2]) {
        let moved = sums.weight.to_f64();
        let rest_squares = self.squares + sums.squares - sums.products - sums.products;
        let squares = [sums.squares, rest_squares].map(U::square_to_f64);
        (squares, [moved, self.weight.to_f64() - moved])
    }

    /// Computes the statistics of a node from its totals.
    fn summarize(&mut self, n: u32, weight: U) -> NodeStats {
        debug_assert!(n > 0 && weight > U::default(), "every sample has a weight");
        debug_assert_exact(weight.to_f64());
        (self.n, self.weight) = (n, weight);
        self.squares = U::Square::default();
        let mut pure = true;
        // Σ t, which is exact. Together with Σ t², it determines the impurity.
        let mut occupied = 0u64;
        let mut least = weight.to_f64();
        for &slot in &self.present {
            let total = self.total[slot as usize];
            pure &= total == weight;
            self.squares = self.squares + total.times(total);
            occupied += total.to_f64() as u64;
            least = least.min(total.to_f64());
        }
        self.occupied = occupied as f64;
        let w = weight.to_f64();
        let square_share = U::square_to_f64(self.squares) / (w * w);
        self.reach = self.y.reach(square_share, least / w);
        let impurity = if pure { 0.0 } else { (occupied as f64 / w - square_share) * self.scale };
        NodeStats { n, weight: w, impurity: impurity.max(0.0), pure }
    }
}

/// The totals of a node.
#[derive(Debug, Default)]
pub(crate) struct Memory<U> {
    n: u32,
    totals: Vec<(u32, U)>,
    weight: U,
    n_cells: usize,
}

/// A node is remembered if its samples have this many times more slots than there are different slots.
const WORTHWHILE: usize = 3;

/// Sums over the moved side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums<U: Units> {
    weight: U,
    /// Σ m².
    squares: U::Square,
    /// Σ t m.
    products: U::Square,
}

impl<U: Units> Sums<U> {
    /// Moves the weight `w` of a slot that has the moved weight `moved` so far.
    #[inline]
    fn add(&mut self, w: U, total: U, moved: &mut U) {
        let before = *moved;
        *moved += w;
        // w (2 m + w) = w (m before + m after).
        let mut around = before;
        around += *moved;
        self.squares = self.squares + w.times(around);
        self.products = self.products + w.times(total);
    }
}

impl<U: Units, Y: Occupancy<U>> NodeCriterion for Gini<U, Y> {
    type Memory = Memory<U>;
    type Moved = Sums<U>;
    type Sample = ();

    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats> {
        self.reset();
        for slot in self.present.drain(..) {
            self.total[slot as usize] = U::default();
        }
        let mut weight = U::default();
        self.n_cells = 0;
        for &row in rows {
            let w = self.y.weight(row);
            weight += w;
            self.y.for_each_slot(row, |slot| {
                let total = &mut self.total[slot as usize];
                if *total == U::default() {
                    self.present.push(slot);
                }
                *total += w;
                self.n_cells += 1;
            });
        }
        let Gini { workers, total, present, n_cells, .. } = self;
        workers.sum_sparse(total, present)?;
        *n_cells = workers.sum_of(*n_cells as u64)? as usize;
        let (n, weight) = (workers.sum_of(rows.len() as u32)?, workers.sum_of(weight)?);
        Ok(self.summarize(n, weight))
    }

    fn remember(&self, memory: &mut Memory<U>) -> Result<bool> {
        if self.n_cells < WORTHWHILE * self.present.len() {
            return Ok(false);
        }
        memory.n_cells = self.n_cells;
        (memory.n, memory.weight) = (self.n, self.weight);
        memory.totals.clear();
        let totals = self.present.iter().map(|&slot| (slot, self.total[slot as usize]));
        Purpose("the waiting nodes of a tree").extend(&mut memory.totals, totals)?;
        Ok(true)
    }

    fn enter_rest(&mut self, whole: &Memory<U>, _: &[u32]) -> Result<NodeStats> {
        self.reset();
        self.n_cells = whole.n_cells - self.n_cells;
        self.present.clear();
        for &(slot, total) in &whole.totals {
            let rest = total - self.total[slot as usize];
            self.total[slot as usize] = rest;
            if rest != U::default() {
                self.present.push(slot);
            }
        }
        Ok(self.summarize(whole.n - self.n, whole.weight - self.weight))
    }

    #[inline]
    fn reset(&mut self) -> Sums<U> {
        if self.few_slots {
            self.moved.fill(U::default());
        } else {
            for slot in self.touched.drain(..) {
                self.moved[slot as usize] = U::default();
            }
        }
        Sums::default()
    }

    #[inline]
    fn move_sample(&mut self, sums: &mut Sums<U>, row: u32) {
        let w = self.y.weight(row);
        sums.weight += w;
        self.y.for_each_slot(row, |slot| {
            let moved = &mut self.moved[slot as usize];
            if !self.few_slots && *moved == U::default() {
                self.touched.push(slot);
            }
            sums.add(w, self.total[slot as usize], moved);
        });
    }

    const LONG_RUN: usize = 24;

    #[inline]
    fn move_run<R: Copy>(&mut self, sums: &mut Sums<U>, run: &[R], row_of: impl Fn(R) -> u32) {
        if !self.few_slots {
            return run.iter().for_each(|&sample| self.move_sample(sums, row_of(sample)));
        }
        for &sample in run {
            let row = row_of(sample);
            let w = self.y.weight(row);
            sums.weight += w;
            self.y.for_each_slot(row, |slot| self.moved[slot as usize] += w);
        }
        // With few slots, computing both sums again costs less than updating them sample by sample.
        (sums.squares, sums.products) = Default::default();
        for (&moved, &total) in self.moved.iter().zip(&self.total) {
            sums.squares = sums.squares + moved.times(moved);
            sums.products = sums.products + moved.times(total);
        }
    }

    fn cost(&self) -> usize {
        self.slots_of_a_sample
    }

    #[inline]
    fn moved_weight(&self, sums: &Sums<U>) -> f64 {
        sums.weight.to_f64()
    }

    #[inline]
    fn score(&self, sums: &Sums<U>) -> f64 {
        let ([moved, rest], [moved_weight, rest_weight]) = self.sides(sums);
        moved / moved_weight + rest / rest_weight
    }

    #[inline]
    fn score_from(&self, sums: &Sums<U>, floor: f64) -> Option<f64> {
        let (squares, weights) = self.sides(sums);
        score_from(floor, squares, weights)
    }

    #[inline]
    fn move_one(&mut self, row: u32) -> Sums<U> {
        let w = self.y.weight(row);
        let mut sums = Sums { weight: w, ..Sums::default() };
        self.y.for_each_slot(row, |slot| sums.add(w, self.total[slot as usize], &mut U::default()));
        sums
    }

    fn perfect_score(&self) -> f64 {
        self.occupied
    }

    fn least_moved_weight(&self, score: f64) -> f64 {
        let w = self.weight.to_f64();
        least_weight(score, U::square_to_f64(self.squares) / w, w, self.reach)
    }

    type Sum = U;

    fn moved_sums(&self, sums: &Sums<U>, mut visit: impl FnMut(u32, U)) -> U {
        if self.few_slots {
            (0..).zip(&self.moved).for_each(|(slot, &moved)| visit(slot, moved));
        } else {
            self.touched.iter().for_each(|&slot| visit(slot, self.moved[slot as usize]));
        }
        sums.weight
    }

    fn node_sums(&self, mut visit: impl FnMut(u32, U)) -> U {
        self.present.iter().for_each(|&slot| visit(slot, self.total[slot as usize]));
        self.weight
    }

    fn move_side(&mut self, moved: &mut Sums<U>, weight: U, sums: &[(u32, U)]) {
        moved.weight += weight;
        for &(slot, sum) in sums {
            let before = &mut self.moved[slot as usize];
            if !self.few_slots && *before == U::default() {
                self.touched.push(slot);
            }
            moved.add(sum, self.total[slot as usize], before);
        }
    }

    fn ordering_sum(&self) -> Option<u32> {
        self.y.ordering_slot()
    }

    fn score_without_gain(&self) -> f64 {
        U::square_to_f64(self.squares) / self.weight.to_f64()
    }

    fn decrease(&self, score: f64) -> f64 {
        let w = self.weight.to_f64();
        ((score - self.score_without_gain()) / w * self.scale).max(0.0)
    }
}
