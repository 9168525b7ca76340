//! The Gini index and the entropy of classes and labels with unknown cells.
//!
//! Let W_tj be the weight of the known cells of output j in node t, and t_k the weight of its slot k. Every impurity
//! here is a sum over slots of a function of t_k and W_tj, and so is the score of a side: see [`SlotTerm`]. A side
//! without known cells of an output has no term for it. Moving a sample changes the counts of its slots, and the
//! weights of the outputs in which it differs from the majority of its outputs (see
//! [`Known`](crate::data::known::Known)), which are at most half of the outputs; if these are many, outputs are moved as
//! bits, many at a time (see [`outputs`]). The cost of a score is the number of slots that occur in the node. For labels
//! and the Gini index, most cuts are refused by a bound, which has one division for each label and computes several
//! labels at a time, and features that move few samples by another one, which has none (see [`bounds`]).
//!
//! The impurity of a node is the sum over outputs, divided by the weight of the node and by the mean number of known
//! cells of a sample at the root: see [`super::cells`].

mod bounds;
mod outputs;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use bounds::Bounds;
use outputs::{LANES, OutputWeights};

use super::{NodeCriterion, NodeStats, Units};
use crate::data::known::masked::MaskedSlots;
use crate::elementary::log2_of_normals;
use crate::error::{Purpose, Result};
use crate::exact::debug_assert_exact;
use crate::exact::reduce::{Reduce, Workers};

const PURPOSE: Purpose = Purpose("the counts of a node");

/// The contribution of a slot to the score of a side. The larger the sum, the less impure the sides.
pub(crate) trait SlotTerm: std::fmt::Debug {
    /// Returns the contribution of a slot of weight `count`, whose output has known cells of weight `weight`, which
    /// must be positive.
    fn term(count: f64, weight: f64) -> f64;
    /// Returns the sum of the contributions of a slot to two sides. It may be faster than two terms, with the same bits.
    #[inline]
    fn terms(counts: [f64; 2], weights: [f64; 2]) -> f64 {
        Self::term(counts[0], weights[0]) + Self::term(counts[1], weights[1])
    }
    /// Returns weight × impurity of an output plus its terms, for each output that has known cells, in units of terms.
    fn whole(counts: f64, weight: f64) -> f64;
    /// The impurity per unit of terms.
    const SCALE: f64;
    /// Whether terms are squares of counts of labels divided by weights, for which there are [`Bounds`].
    const HAS_BOUNDS: bool = false;
}

/// Σ m² / W for class outputs, because W (1 − Σ p²) = W − Σ m² / W.
#[derive(Debug)]
pub(crate) struct GiniOfClasses;

impl SlotTerm for GiniOfClasses {
    #[inline]
    fn term(count: f64, weight: f64) -> f64 {
        count * count / weight
    }

    fn whole(_: f64, weight: f64) -> f64 {
        weight
    }

    const SCALE: f64 = 1.0;
}

/// m² / W for labels, because W · 2 p (1 − p) = 2 (m − m² / W).
#[derive(Debug)]
pub(crate) struct GiniOfLabels;

impl SlotTerm for GiniOfLabels {
    #[inline]
    fn term(count: f64, weight: f64) -> f64 {
        count * count / weight
    }

    fn whole(counts: f64, _: f64) -> f64 {
        counts
    }

    const SCALE: f64 = 2.0;
    const HAS_BOUNDS: bool = true;
}

/// Σ m log₂ (m / W) for class outputs.
#[derive(Debug)]
pub(crate) struct EntropyOfClasses;

impl SlotTerm for EntropyOfClasses {
    #[inline]
    fn term(count: f64, weight: f64) -> f64 {
        x_log2_shares([count], [weight])[0]
    }

    #[inline]
    fn terms(counts: [f64; 2], weights: [f64; 2]) -> f64 {
        let [of_first, of_second] = x_log2_shares(counts, weights);
        of_first + of_second
    }

    fn whole(_: f64, _: f64) -> f64 {
        0.0
    }

    const SCALE: f64 = 1.0;
}

/// The sum of m log₂ (m / W) over the presence and the absence of a label.
#[derive(Debug)]
pub(crate) struct EntropyOfLabels;

impl SlotTerm for EntropyOfLabels {
    #[inline]
    fn term(count: f64, weight: f64) -> f64 {
        if count == 0.0 || count == weight {
            return 0.0;
        }
        let [present, absent] = x_log2_shares([count, weight - count], [weight; 2]);
        present + absent
    }

    fn whole(_: f64, _: f64) -> f64 {
        0.0
    }

    const SCALE: f64 = 1.0;
}

/// Returns x log₂ (x / W) of weights, which are integers.
#[inline]
fn x_log2_shares<const N: usize>(x: [f64; N], wholes: [f64; N]) -> [f64; N] {
    let logs: [f64; N] = log2_of_normals(std::array::from_fn(|i| if x[i] > 0.0 { x[i] / wholes[i] } else { 1.0 }));
    std::array::from_fn(|i| x[i] * logs[i])
}

/// A slot that occurs in the node.
#[derive(Clone, Copy, Debug)]
struct Present {
    slot: u32,
    /// The index of its output among those of present slots.
    output: u32,
    total: f64,
}

/// The place of slots and outputs that do not occur.
const ABSENT: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct MaskedCounts<'a, U, S> {
    y: &'a MaskedSlots<'a>,
    weights: &'a [U],
    workers: Workers,
    /// The weight of each slot in the node; zero between nodes.
    counts: Vec<f64>,
    /// For each output, the difference between the weight of its known cells and `mostly`; zero between nodes.
    more: Vec<f64>,
    /// The slots of the node, in increasing order, which is the order in which scores are added up, and their outputs.
    /// For labels with places of all outputs, these are all labels.
    present: Vec<Present>,
    outputs: OutputWeights<'a>,
    /// The place of each slot in `present`.
    place_of_slot: Vec<u32>,
    /// The weight of each slot, by place, padded with zeros.
    totals: Vec<f64>,
    /// The weights of the moved slots, by place, padded with zeros.
    moved: Vec<f64>,
    run: Vec<u32>,
    weight: f64,
    /// The weight of samples in which the majority of cells is known.
    mostly: f64,
    /// The score if no sample is moved.
    base: f64,
    bounds: Bounds,
    /// The largest number of slots of a sample.
    slots_of_a_sample: f64,
    /// The mean number of known cells of a sample; `None` until the root is entered.
    cells_of_a_sample: Option<f64>,
    impurity: PhantomData<S>,
}

/// The weights of the moved side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MovedWeights {
    all: f64,
    /// The weight of samples in which the majority of cells is known.
    mostly: f64,
}

impl<'a, U: Units, S: SlotTerm> MaskedCounts<'a, U, S> {
    pub(crate) fn new(y: &'a MaskedSlots<'a>, weights: &'a [U], workers: &Workers) -> Result<Self> {
        let (width, n_outputs) = (y.width(), y.known().n_outputs());
        Ok(MaskedCounts {
            y,
            weights,
            workers: workers.clone(),
            counts: PURPOSE.filled(0.0, width)?,
            more: PURPOSE.filled(0.0, n_outputs)?,
            present: PURPOSE.with_capacity(width)?,
            outputs: OutputWeights::new(y, width.min(n_outputs))?,
            place_of_slot: PURPOSE.filled(ABSENT, width)?,
            totals: PURPOSE.with_capacity(width + LANES)?,
            moved: PURPOSE.with_capacity(width + LANES)?,
            run: Vec::new(),
            weight: 0.0,
            mostly: 0.0,
            base: 0.0,
            bounds: Bounds::NONE,
            slots_of_a_sample: y.most_in_a_row() as f64,
            cells_of_a_sample: None,
            impurity: PhantomData,
        })
    }

    /// Clears the data of the previous node.
    fn clear(&mut self) {
        self.present.drain(..).for_each(|present| self.place_of_slot[present.slot as usize] = ABSENT);
        self.outputs.clear();
        self.totals.clear();
    }

    fn n_slots(&self) -> u32 {
        self.counts.len() as u32
    }

    fn n_cells(&self) -> f64 {
        self.weight * self.cells_of_a_sample.unwrap_or(1.0)
    }

    /// Moves the slots of a sample.
    #[inline]
    fn move_slots(&mut self, row: u32, w: f64) {
        for &slot in self.y.of(row) {
            self.moved[self.place_of_slot[slot as usize] as usize] += w;
        }
    }

    /// Adds up the score of no cut, and returns whether the node is pure, and its impurity.
    fn summarize(&mut self) -> (bool, f64) {
        let (mut pure, mut whole, mut counted) = (true, 0.0, None);
        (self.base, self.bounds) = (0.0, Bounds::NONE);
        for present in self.present.iter().filter(|present| present.total > 0.0) {
            let (total, of_output) = (present.total, self.outputs.of_node[present.output as usize]);
            pure &= total == of_output;
            self.base += S::term(total, of_output);
            // An output of classes is counted at the first of its slots.
            let is_first = counted.replace(present.output) != Some(present.output);
            whole += if is_first { S::whole(total, of_output) } else { 0.0 };
            if S::HAS_BOUNDS {
                self.bounds.add(total, of_output);
            }
        }
        if S::HAS_BOUNDS {
            self.bounds.finish(self.weight, self.present.len());
        }
        (pure, if pure { 0.0 } else { ((whole - self.base) * S::SCALE / self.n_cells()).max(0.0) })
    }
}

impl<U: Units, S: SlotTerm> NodeCriterion for MaskedCounts<'_, U, S> {
    type Memory = ();
    type Moved = MovedWeights;
    type Sample = ();

    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats> {
        self.clear();
        let known = self.y.known();
        let (mut weight, mut cells) = (0.0, 0i128);
        for &row in rows {
            let w = self.weights[row as usize].to_f64();
            weight += w;
            cells += i128::from(w as u64) * known.n_known(row) as i128;
            self.y.of(row).iter().for_each(|&slot| self.counts[slot as usize] += w);
        }
        let mostly = self.outputs.add_all(rows, self.weights, &mut self.more);
        self.workers.sum(&mut self.counts)?;
        self.workers.sum(&mut self.more)?;
        let [weight, mostly] = self.workers.sums_of([weight, mostly])?;
        [weight, mostly].into_iter().chain(self.counts.iter().copied()).for_each(debug_assert_exact);
        (self.weight, self.mostly) = (weight, mostly);
        // Over all outputs, the sum may have more bits than a sum of weights.
        let cells = self.workers.sum_of(cells)?;
        self.cells_of_a_sample.get_or_insert(cells as f64 / weight);
        let (y, counts) = (self.y, &mut self.counts);
        let mut last = None;
        let slots = (0u32..).zip(&*counts).filter(|(_, total)| **total > 0.0).map(|(slot, _)| slot);
        let present = slots.map(|slot| y.output(slot)).filter(|&output| last.replace(output) != Some(output));
        let has_all = self.outputs.enter(present, rows, |output| mostly + self.more[output as usize])?;
        let all_labels = has_all && y.n_class_outputs().is_none();
        for (slot, total) in (0u32..).zip(counts) {
            if *total > 0.0 || all_labels {
                let total = std::mem::take(total);
                self.place_of_slot[slot as usize] = self.present.len() as u32;
                self.present.push(Present { slot, output: self.outputs.place(y.output(slot)), total });
                self.totals.push(total);
            }
        }
        self.totals.resize(self.present.len().next_multiple_of(LANES), 0.0);
        self.more.fill(0.0);
        let (pure, impurity) = self.summarize();
        Ok(NodeStats { n: self.workers.sum_of(rows.len() as u32)?, weight, impurity, pure })
    }

    fn reset(&mut self) -> MovedWeights {
        // The capacity is sufficient for all slots and outputs.
        self.moved.clear();
        self.moved.resize(self.totals.len(), 0.0);
        self.outputs.reset();
        MovedWeights::default()
    }

    #[inline]
    fn move_sample(&mut self, moved: &mut MovedWeights, row: u32) {
        let w = self.weights[row as usize].to_f64();
        moved.all += w;
        moved.mostly += if self.outputs.move_one(row, w) { w } else { 0.0 };
        self.move_slots(row, w);
    }

    const LONG_RUN: usize = 4;

    #[inline]
    fn move_run<R: Copy>(&mut self, moved: &mut MovedWeights, run: &[R], row_of: impl Fn(R) -> u32) {
        if self.y.bits().is_none() {
            return run.iter().for_each(|&sample| self.move_sample(moved, row_of(sample)));
        }
        self.run.clear();
        self.run.extend(run.iter().map(|&sample| row_of(sample)));
        let run = std::mem::take(&mut self.run);
        for &row in &run {
            let w = self.weights[row as usize].to_f64();
            moved.all += w;
            self.move_slots(row, w);
        }
        moved.mostly += self.outputs.move_all(&run, self.weights);
        self.run = run;
    }

    fn cost(&self) -> usize {
        // Samples are moved in runs, or all outputs are scored after each.
        (self.outputs.outputs.len() + self.present.len()) / 4
    }

    #[inline]
    fn moved_weight(&self, moved: &MovedWeights) -> f64 {
        moved.all
    }

    fn score(&self, moved: &MovedWeights) -> f64 {
        let mut score = 0.0;
        for (present, &count) in self.present.iter().zip(&self.moved) {
            let place = present.output as usize;
            let weight = moved.mostly + self.outputs.moved[place];
            let rest = self.outputs.of_node[place] - weight;
            score += match (weight > 0.0, rest > 0.0) {
                (true, true) => S::terms([count, present.total - count], [weight, rest]),
                (true, false) => S::term(count, weight),
                (false, true) => S::term(present.total - count, rest),
                (false, false) => 0.0,
            };
        }
        score
    }

    #[inline]
    fn is_below(&self, moved: &MovedWeights, floor: f64) -> bool {
        let cells = [&self.totals, &self.outputs.of_node, &self.moved, &self.outputs.moved];
        S::HAS_BOUNDS && self.bounds.is_below(floor, self.base, moved.mostly, cells.map(Vec::as_slice))
    }

    fn score_from(&self, moved: &MovedWeights, floor: f64) -> Option<f64> {
        if self.is_below(moved, floor) {
            return None;
        }
        let score = self.score(moved);
        (score >= floor).then_some(score)
    }

    fn perfect_score(&self) -> f64 {
        if S::HAS_BOUNDS { self.bounds.perfect_score() } else { f64::INFINITY }
    }

    fn least_moved_weight(&self, score: f64) -> f64 {
        if S::HAS_BOUNDS { self.bounds.least_moved_weight(score, self.base, self.slots_of_a_sample) } else { 0.0 }
    }

    type Sum = f64;

    /// The sums are the counts of slots, followed by the differences of outputs, followed by the weight of samples in
    /// which the majority of cells is known.
    fn moved_sums(&self, moved: &MovedWeights, mut visit: impl FnMut(u32, f64)) -> f64 {
        let (n_slots, n_outputs) = (self.n_slots(), self.more.len() as u32);
        self.present.iter().zip(&self.moved).for_each(|(present, &count)| visit(present.slot, count));
        let outputs = self.outputs.outputs.iter().zip(&self.outputs.moved);
        outputs.for_each(|(output, &more)| visit(n_slots + output, more));
        visit(n_slots + n_outputs, moved.mostly);
        moved.all
    }

    fn node_sums(&self, mut visit: impl FnMut(u32, f64)) -> f64 {
        let (n_slots, n_outputs) = (self.n_slots(), self.more.len() as u32);
        self.present.iter().for_each(|present| visit(present.slot, present.total));
        let outputs = self.outputs.outputs.iter().zip(&self.outputs.of_node);
        outputs.for_each(|(output, weight)| visit(n_slots + output, weight - self.mostly));
        visit(n_slots + n_outputs, self.mostly);
        self.weight
    }

    fn move_side(&mut self, moved: &mut MovedWeights, weight: f64, sums: &[(u32, f64)]) {
        let (n_slots, n_outputs) = (self.n_slots(), self.more.len() as u32);
        moved.all += weight;
        for &(number, sum) in sums {
            if number < n_slots {
                self.moved[self.place_of_slot[number as usize] as usize] += sum;
            } else if number < n_slots + n_outputs {
                let place = self.outputs.place(number - n_slots) as usize;
                self.outputs.moved[place] += sum;
            } else {
                moved.mostly += sum;
            }
        }
    }

    /// Outputs whose cells are known in different samples have no common mean.
    fn ordering_sum(&self) -> Option<u32> {
        None
    }

    fn ordering_unit(&self, number: u32) -> Option<f64> {
        (number < self.n_slots()).then_some(1.0)
    }

    fn score_without_gain(&self) -> f64 {
        self.base
    }

    fn decrease(&self, score: f64) -> f64 {
        ((score - self.base) * S::SCALE / self.n_cells()).max(0.0)
    }
}
