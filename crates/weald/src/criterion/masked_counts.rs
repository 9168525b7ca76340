//! The Gini index and the entropy of classes and labels with unknown cells.
//!
//! Let W_tj be the weight of the known cells of output j in node t, and t_k the weight of its slot k. Every impurity
//! here is a sum over slots of a function of t_k and W_tj, and so is the score of a side: see [`SlotTerm`]. A side
//! without known cells of an output has no term for it. Moving a sample changes the counts of its slots, and the
//! weights of the outputs in which it differs from the majority of its outputs (see
//! [`Known`](crate::data::known::Known)), which are at most half of the outputs. The cost of a score is the number of
//! slots that occur in the node.
//!
//! The impurity of a node is the sum over outputs, divided by the weight of the node and by the mean number of known
//! cells of a sample at the root: see [`super::masked_variance`].

use std::marker::PhantomData;

use super::{NodeCriterion, NodeStats, Units};
use crate::data::masked::MaskedSlots;
use crate::error::{Purpose, Result};
use crate::exact::debug_assert_exact;
use crate::exact::reduce::{Reduce, Workers};

const PURPOSE: Purpose = Purpose("the counts of a node");

/// The contribution of a slot to the score of a side. The larger the sum, the less impure the sides.
pub(crate) trait SlotTerm: std::fmt::Debug {
    /// Returns the contribution of a slot of weight `count`, whose output has known cells of weight `weight`, which
    /// must be positive.
    fn term(count: f64, weight: f64) -> f64;
    /// Returns weight × impurity of an output plus its terms, for each output that has known cells, in units of terms.
    fn whole(counts: f64, weight: f64) -> f64;
    /// The impurity per unit of terms.
    const SCALE: f64;
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
}

/// Σ m log₂ (m / W) for class outputs.
#[derive(Debug)]
pub(crate) struct EntropyOfClasses;

impl SlotTerm for EntropyOfClasses {
    fn term(count: f64, weight: f64) -> f64 {
        x_log2_share(count, weight)
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
    fn term(count: f64, weight: f64) -> f64 {
        x_log2_share(count, weight) + x_log2_share(weight - count, weight)
    }

    fn whole(_: f64, _: f64) -> f64 {
        0.0
    }

    const SCALE: f64 = 1.0;
}

fn x_log2_share(x: f64, whole: f64) -> f64 {
    if x > 0.0 { x * (x / whole).log2() } else { 0.0 }
}

/// A slot that occurs in the node.
#[derive(Clone, Copy, Debug)]
struct Present {
    slot: u32,
    /// The index of its output among those of present slots.
    output: u32,
    total: f64,
}

/// An output with a slot that occurs in the node.
#[derive(Clone, Copy, Debug)]
struct PresentOutput {
    output: u32,
    /// The weight of its known cells.
    weight: f64,
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
    present: Vec<Present>,
    outputs: Vec<PresentOutput>,
    /// The place of each slot in `present` and of each output in `outputs`.
    place_of_slot: Vec<u32>,
    place_of_output: Vec<u32>,
    /// For the moved side, by place: the weights of slots, and the differences of outputs.
    moved: Vec<f64>,
    moved_more: Vec<f64>,
    weight: f64,
    /// The weight of samples in which the majority of cells is known.
    mostly: f64,
    /// The score if no sample is moved.
    base: f64,
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
    pub(crate) fn new(y: &'a MaskedSlots<'a>, weights: &'a [U]) -> Result<Self> {
        let (width, n_outputs) = (y.width(), y.known().n_outputs());
        let most_outputs = width.min(n_outputs);
        Ok(MaskedCounts {
            y,
            weights,
            workers: Workers::One,
            counts: PURPOSE.filled(0.0, width)?,
            more: PURPOSE.filled(0.0, n_outputs)?,
            present: PURPOSE.with_capacity(width)?,
            outputs: PURPOSE.with_capacity(most_outputs)?,
            place_of_slot: PURPOSE.filled(ABSENT, width)?,
            place_of_output: PURPOSE.filled(ABSENT, n_outputs)?,
            moved: PURPOSE.with_capacity(width)?,
            moved_more: PURPOSE.with_capacity(most_outputs)?,
            weight: 0.0,
            mostly: 0.0,
            base: 0.0,
            cells_of_a_sample: None,
            impurity: PhantomData,
        })
    }

    /// Returns the criterion with the samples of `workers`.
    pub(crate) fn with_workers(self, workers: &Workers) -> Self {
        MaskedCounts { workers: workers.clone(), ..self }
    }

    /// Clears the data of the previous node.
    fn clear(&mut self) {
        self.present.drain(..).for_each(|present| self.place_of_slot[present.slot as usize] = ABSENT);
        self.outputs.drain(..).for_each(|output| self.place_of_output[output.output as usize] = ABSENT);
    }

    fn n_slots(&self) -> u32 {
        self.counts.len() as u32
    }

    fn n_cells(&self) -> f64 {
        self.weight * self.cells_of_a_sample.unwrap_or(1.0)
    }
}

impl<U: Units, S: SlotTerm> NodeCriterion for MaskedCounts<'_, U, S> {
    type Memory = ();
    type Moved = MovedWeights;
    type Sample = ();

    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats> {
        self.clear();
        let known = self.y.known();
        let (mut weight, mut mostly, mut cells) = (0.0, 0.0, 0i128);
        for &row in rows {
            let w = self.weights[row as usize].to_f64();
            weight += w;
            cells += w as i128 * known.n_known(row) as i128;
            let (is_mostly, listed) = known.of(row);
            mostly += if is_mostly { w } else { 0.0 };
            let more = if is_mostly { -w } else { w };
            listed.iter().for_each(|&output| self.more[output as usize] += more);
            self.y.of(row).iter().for_each(|&slot| self.counts[slot as usize] += w);
        }
        self.workers.sum(&mut self.counts)?;
        self.workers.sum(&mut self.more)?;
        let [weight, mostly] = self.workers.sums_of([weight, mostly])?;
        [weight, mostly].into_iter().chain(self.counts.iter().copied()).for_each(debug_assert_exact);
        (self.weight, self.mostly) = (weight, mostly);
        // Over all outputs, the sum may have more bits than a sum of weights.
        let cells = self.workers.sum_of(cells)?;
        self.cells_of_a_sample.get_or_insert(cells as f64 / weight);
        let (mut pure, mut whole) = (true, 0.0);
        self.base = 0.0;
        for (slot, total) in (0u32..).zip(&mut self.counts).filter(|(_, total)| **total > 0.0) {
            let total = std::mem::take(total);
            let output = self.y.output(slot);
            let of_output = mostly + self.more[output as usize];
            let place = &mut self.place_of_output[output as usize];
            // An output of classes is counted at the first of its slots.
            let is_first = *place == ABSENT;
            if is_first {
                *place = self.outputs.len() as u32;
                self.outputs.push(PresentOutput { output, weight: of_output });
            }
            self.place_of_slot[slot as usize] = self.present.len() as u32;
            self.present.push(Present { slot, output: *place, total });
            pure &= total == of_output;
            self.base += S::term(total, of_output);
            whole += if is_first { S::whole(total, of_output) } else { 0.0 };
        }
        self.more.fill(0.0);
        let impurity = if pure { 0.0 } else { ((whole - self.base) * S::SCALE / self.n_cells()).max(0.0) };
        Ok(NodeStats { n: self.workers.sum_of(rows.len() as u32)?, weight, impurity, pure })
    }

    fn reset(&mut self) -> MovedWeights {
        // The capacity is sufficient for all slots and outputs.
        self.moved.clear();
        self.moved.resize(self.present.len(), 0.0);
        self.moved_more.clear();
        self.moved_more.resize(self.outputs.len(), 0.0);
        MovedWeights::default()
    }

    #[inline]
    fn move_sample(&mut self, moved: &mut MovedWeights, row: u32) {
        let w = self.weights[row as usize].to_f64();
        let (is_mostly, listed) = self.y.known().of(row);
        moved.all += w;
        moved.mostly += if is_mostly { w } else { 0.0 };
        let more = if is_mostly { -w } else { w };
        for &output in listed {
            if let Some(moved) = self.moved_more.get_mut(self.place_of_output[output as usize] as usize) {
                *moved += more;
            }
        }
        for &slot in self.y.of(row) {
            self.moved[self.place_of_slot[slot as usize] as usize] += w;
        }
    }

    fn cost(&self) -> usize {
        self.y.known().n_outputs() / 2 + self.present.len()
    }

    #[inline]
    fn moved_weight(&self, moved: &MovedWeights) -> f64 {
        moved.all
    }

    fn score(&self, moved: &MovedWeights) -> f64 {
        let mut score = 0.0;
        for (present, &count) in self.present.iter().zip(&self.moved) {
            let place = present.output as usize;
            let weight = moved.mostly + self.moved_more[place];
            let rest = self.outputs[place].weight - weight;
            let of_moved = if weight > 0.0 { S::term(count, weight) } else { 0.0 };
            let of_rest = if rest > 0.0 { S::term(present.total - count, rest) } else { 0.0 };
            score += of_moved + of_rest;
        }
        score
    }

    type Sum = f64;

    /// The sums are the counts of slots, followed by the differences of outputs, followed by the weight of samples in
    /// which the majority of cells is known.
    fn moved_sums(&self, moved: &MovedWeights, mut visit: impl FnMut(u32, f64)) -> f64 {
        let (n_slots, n_outputs) = (self.n_slots(), self.more.len() as u32);
        self.present.iter().zip(&self.moved).for_each(|(present, &count)| visit(present.slot, count));
        self.outputs.iter().zip(&self.moved_more).for_each(|(output, &more)| visit(n_slots + output.output, more));
        visit(n_slots + n_outputs, moved.mostly);
        moved.all
    }

    fn node_sums(&self, mut visit: impl FnMut(u32, f64)) -> f64 {
        let (n_slots, n_outputs) = (self.n_slots(), self.more.len() as u32);
        self.present.iter().for_each(|present| visit(present.slot, present.total));
        self.outputs.iter().for_each(|output| visit(n_slots + output.output, output.weight - self.mostly));
        visit(n_slots + n_outputs, self.mostly);
        self.weight
    }

    fn move_side(&mut self, moved: &mut MovedWeights, weight: f64, sums: &[(u32, f64)]) {
        let n_slots = self.n_slots();
        moved.all += weight;
        for &(number, sum) in sums {
            let number = number as usize;
            if let Some(&place) = self.place_of_slot.get(number) {
                self.moved[place as usize] += sum;
            } else if let Some(&place) = self.place_of_output.get(number - n_slots as usize) {
                self.moved_more[place as usize] += sum;
            } else {
                moved.mostly += sum;
            }
        }
    }

    /// Outputs whose cells are known in different samples have no common mean.
    fn ordering_sum(&self) -> Option<u32> {
        None
    }

    fn n_ordering_sums(&self) -> u32 {
        self.n_slots()
    }

    fn decrease(&self, score: f64) -> f64 {
        ((score - self.base) * S::SCALE / self.n_cells()).max(0.0)
    }
}
