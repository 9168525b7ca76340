//! Entropy, in bits, of classes and labels from counts of slots.
//!
//! With h(x) = x log₂ x, the weighted entropy of one side of weight W is h(W) − Σ_k h(m_k) for a class output and
//! h(W) − h(m_j) − h(W − m_j) for a label. Labels absent from a side contribute nothing, so a score costs the labels
//! present in the node, not the number of labels.

use super::slots::Slots;
use super::{Criterion, NodeStats, Units};
use crate::error::{Result, try_collected, try_filled, try_with_capacity};

const WHAT: &str = "the counts of a node";

/// Totals up to this have their x log₂ x looked up: 8 MB at most.
const TABLE: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Entropy<'a, U: Units> {
    y: &'a Slots<'a>,
    weights: &'a [U],
    /// h(0), h(1), …; empty when weights are not small integers.
    table: Vec<f64>,
    /// Weight of each slot in the node and in the moved side.
    total: Vec<f64>,
    moved: Vec<f64>,
    /// Slots with a total, rising: scores add in this order.
    present: Vec<u32>,
    weight: f64,
    node_entropy: f64,
}

impl<'a, U: Units> Entropy<'a, U> {
    /// `total_weight` is that of the root, in units.
    pub(crate) fn new(y: &'a Slots<'a>, weights: &'a [U], total_weight: f64) -> Result<Self> {
        let len = if total_weight < TABLE as f64 { total_weight as usize + 1 } else { 0 };
        Ok(Entropy {
            y,
            weights,
            table: try_collected(WHAT, (0..len).map(|x| x_log2_x(x as f64)))?,
            total: try_filled(WHAT, 0.0, y.width)?,
            moved: try_filled(WHAT, 0.0, y.width)?,
            present: try_with_capacity(WHAT, y.width)?,
            weight: 0.0,
            node_entropy: 0.0,
        })
    }

    fn h(&self, x: f64) -> f64 {
        self.table.get(x as usize).copied().unwrap_or_else(|| x_log2_x(x))
    }

    /// Weight × summed entropy of one side; `count` gives the weight of a slot in it.
    fn side(&self, weight: f64, count: impl Fn(usize) -> f64) -> f64 {
        let counts = self.present.iter().map(|&slot| count(slot as usize));
        let h_weight = self.h(weight);
        match self.y.n_class_outputs {
            Some(n) => n as f64 * h_weight - counts.map(|m| self.h(m)).sum::<f64>(),
            None => counts.map(|m| h_weight - self.h(m) - self.h(weight - m)).sum(),
        }
    }

    fn n_outputs(&self) -> f64 {
        self.y.n_class_outputs.unwrap_or(self.y.width) as f64
    }
}

fn x_log2_x(x: f64) -> f64 {
    if x > 0.0 { x * x.log2() } else { 0.0 }
}

impl<U: Units> Criterion for Entropy<'_, U> {
    type Memory = ();
    /// Weight moved.
    type Moved = f64;

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
        self.present.sort_unstable();
        let pure = self.present.iter().all(|&slot| self.total[slot as usize] == self.weight);
        self.node_entropy = if pure { 0.0 } else { self.side(self.weight, |slot| self.total[slot]) };
        let impurity = (self.node_entropy / self.weight / self.n_outputs()).max(0.0);
        Ok(NodeStats { weight: self.weight, impurity, pure })
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

    fn moved_weight(&self, moved: &f64) -> f64 {
        *moved
    }

    fn score(&self, moved: &f64) -> f64 {
        // Adding the two sides commutes, so mirrored cuts tie exactly.
        let moved_side = self.side(*moved, |slot| self.moved[slot]);
        let rest = self.side(self.weight - moved, |slot| self.total[slot] - self.moved[slot]);
        -(moved_side + rest)
    }

    fn decrease(&self, score: f64) -> f64 {
        ((self.node_entropy + score) / self.weight / self.n_outputs()).max(0.0)
    }
}
