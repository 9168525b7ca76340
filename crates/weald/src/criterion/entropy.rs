//! The entropy, in bits, of classes and labels from counts of slots.
//!
//! With h(x) = x log₂ x, the weighted entropy of a side of weight W is h(W) − Σ_k h(m_k) for a class output and h(W) −
//! h(m_j) − h(W − m_j) for a label. Labels that are absent from a side contribute nothing, so the cost of a score is
//! the number of labels present in the node, not the total number of labels.

use super::masked_counts::{EntropyOfClasses, EntropyOfLabels, MaskedCounts};
use super::table::{CriterionKind, Decrease, NodeData, SplitSums, TakeStatistics, TargetKind};
use super::{NodeCriterion, NodeStats, Units};
use crate::data::slots::Slots;
use crate::data::train_y::TrainY;
use crate::elementary::{log2, log2_of_normals};
use crate::error::{Purpose, Result};
use crate::exact::reduce::{Reduce, Workers};
use crate::exact::{Total, debug_assert_exact};

const PURPOSE: Purpose = Purpose("the counts of a node");

/// For total weights below this, x log₂ x is looked up in a table, which takes at most 8 MB.
const TABLE: usize = 1 << 20;

/// The entropy in the table of criteria.
pub(crate) struct ShannonEntropy;

impl CriterionKind for ShannonEntropy {
    const NAME: &'static str = "entropy";
    const DOMAIN: TargetKind = TargetKind::ClassesAndLabels;
    const DECREASE: Option<Decrease> = Some(ShannonEntropy::decrease);

    fn statistics<'a, U: Units, T: TakeStatistics<'a>>(data: &NodeData<'a, U>, taker: T) -> Result<T::Outcome> {
        match data.y {
            TrainY::Slots(y) => taker.take(Entropy::new(y, data.units, data.total, data.workers)?),
            TrainY::MaskedSlots(y) => match y.n_class_outputs() {
                Some(_) => taker.take(MaskedCounts::<U, EntropyOfClasses>::new(y, data.units, data.workers)?),
                None => taker.take(MaskedCounts::<U, EntropyOfLabels>::new(y, data.units, data.workers)?),
            },
            TrainY::Real(_) | TrainY::SparseReal(_) | TrainY::MaskedReal(_) => Err(data.refused_by::<Self>()),
        }
    }
}

impl ShannonEntropy {
    fn decrease(split: &SplitSums<'_>) -> f64 {
        let entropy = |p: f64| if p > 0.0 { -p * log2(p) } else { 0.0 };
        split.decrease_of(|output, total| {
            if split.are_labels {
                entropy(output[0] / total) + entropy(1.0 - output[0] / total)
            } else {
                output.iter().map(|s| entropy(s / total)).sum::<f64>()
            }
        })
    }
}

#[derive(Debug)]
pub(crate) struct Entropy<'a, U: Units> {
    y: &'a Slots<'a>,
    weights: &'a [U],
    workers: Workers,
    /// h(0), h(1), …; empty if the total weight is too large.
    table: Vec<f64>,
    /// The weight of each slot in the node and in the moved side.
    total: Vec<f64>,
    moved: Vec<f64>,
    /// The slots with a non-zero total, in increasing order, which is the order in which scores are added up.
    present: Vec<u32>,
    weight: f64,
    node_entropy: f64,
}

impl<'a, U: Units> Entropy<'a, U> {
    /// `of_root` is the weight of the root, in units.
    pub(crate) fn new(y: &'a Slots<'a>, weights: &'a [U], of_root: Total, workers: &Workers) -> Result<Self> {
        let len = usize::try_from(of_root.units()).map_or(0, |total| if total < TABLE { total + 1 } else { 0 });
        Ok(Entropy {
            y,
            weights,
            workers: workers.clone(),
            table: PURPOSE.collected((0..len).map(|x| x_log2_x([x as f64])[0]))?,
            total: PURPOSE.filled(0.0, y.width)?,
            moved: PURPOSE.filled(0.0, y.width)?,
            present: PURPOSE.with_capacity(y.width)?,
            weight: 0.0,
            node_entropy: 0.0,
        })
    }

    fn h(&self, x: [f64; 2]) -> [f64; 2] {
        match x.map(|x| self.table.get(x as usize)) {
            [Some(&first), Some(&second)] => [first, second],
            _ => x_log2_x(x),
        }
    }

    /// Returns weight × summed entropy of a side. `count` returns the weight of a slot in it.
    fn side(&self, weight: f64, count: impl Fn(usize) -> f64) -> f64 {
        let [h_weight, _] = self.h([weight, 0.0]);
        match self.y.n_class_outputs {
            Some(n) => {
                let mut sum = 0.0;
                let (pairs, last) = self.present.as_chunks();
                for pair in pairs {
                    let [first, second] = self.h(pair.map(|slot| count(slot as usize)));
                    sum = (sum + first) + second;
                }
                for &slot in last {
                    sum += self.h([count(slot as usize), 0.0])[0];
                }
                n as f64 * h_weight - sum
            }
            None => {
                let of_label = |&slot: &u32| {
                    let m = count(slot as usize);
                    let [present, absent] = self.h([m, weight - m]);
                    h_weight - present - absent
                };
                self.present.iter().map(of_label).sum()
            }
        }
    }

    fn n_outputs(&self) -> f64 {
        self.y.n_class_outputs.unwrap_or(self.y.width) as f64
    }
}

/// Returns x log₂ x of weights, which are integers.
#[inline]
fn x_log2_x<const N: usize>(x: [f64; N]) -> [f64; N] {
    let logs = log2_of_normals(x.map(|x| x.max(1.0)));
    std::array::from_fn(|i| x[i] * logs[i])
}

impl<U: Units> NodeCriterion for Entropy<'_, U> {
    type Memory = ();
    /// The moved weight.
    type Moved = f64;
    type Sample = ();

    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats> {
        for slot in self.present.drain(..) {
            self.total[slot as usize] = 0.0;
            self.moved[slot as usize] = 0.0;
        }
        self.weight = 0.0;
        for &row in rows {
            let w = self.weights[row as usize].to_f64();
            self.weight += w;
            for &slot in self.y.of(row) {
                let total = &mut self.total[slot as usize];
                if *total == 0.0 {
                    self.present.push(slot);
                }
                *total += w;
            }
        }
        self.workers.sum_sparse(&mut self.total, &mut self.present)?;
        let n = self.workers.sum_of(rows.len() as u32)?;
        self.weight = self.workers.sum_of(self.weight)?;
        debug_assert_exact(self.weight);
        self.present.sort_unstable();
        let pure = self.present.iter().all(|&slot| self.total[slot as usize] == self.weight);
        self.node_entropy = if pure { 0.0 } else { self.side(self.weight, |slot| self.total[slot]) };
        let impurity = (self.node_entropy / self.weight / self.n_outputs()).max(0.0);
        Ok(NodeStats { n, weight: self.weight, impurity, pure })
    }

    fn reset(&mut self) -> f64 {
        for &slot in &self.present {
            self.moved[slot as usize] = 0.0;
        }
        0.0
    }

    fn move_sample(&mut self, moved: &mut f64, row: u32) {
        let w = self.weights[row as usize].to_f64();
        *moved += w;
        for &slot in self.y.of(row) {
            self.moved[slot as usize] += w;
        }
    }

    fn cost(&self) -> usize {
        self.present.len()
    }

    fn moved_weight(&self, moved: &f64) -> f64 {
        *moved
    }

    fn score(&self, moved: &f64) -> f64 {
        // The sum of the two sides is commutative, so that mirrored cuts tie exactly.
        let moved_side = self.side(*moved, |slot| self.moved[slot]);
        let rest = self.side(self.weight - moved, |slot| self.total[slot] - self.moved[slot]);
        -(moved_side + rest)
    }

    type Sum = f64;

    fn moved_sums(&self, moved: &f64, mut visit: impl FnMut(u32, f64)) -> f64 {
        self.present.iter().for_each(|&slot| visit(slot, self.moved[slot as usize]));
        *moved
    }

    fn node_sums(&self, mut visit: impl FnMut(u32, f64)) -> f64 {
        self.present.iter().for_each(|&slot| visit(slot, self.total[slot as usize]));
        self.weight
    }

    fn move_side(&mut self, moved: &mut f64, weight: f64, sums: &[(u32, f64)]) {
        *moved += weight;
        sums.iter().for_each(|&(slot, sum)| self.moved[slot as usize] += sum);
    }

    fn ordering_sum(&self) -> Option<u32> {
        self.y.ordering_slot()
    }

    fn score_without_gain(&self) -> f64 {
        -self.node_entropy
    }

    fn decrease(&self, score: f64) -> f64 {
        ((self.node_entropy + score) / self.weight / self.n_outputs()).max(0.0)
    }
}
