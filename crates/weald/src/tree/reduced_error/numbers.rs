//! Squared errors of numbers, in chunks of columns, from residuals about each node's own value, so that the difference
//! between two nodes is not lost by rounding if the numbers are large.

use std::ops::Range;

use ndarray::ArrayView2;

use super::{PURPOSE, RowsOfLeaves};
use crate::control::Control;
use crate::data::Weights;
use crate::data::known::Known;
use crate::error::Result;
use crate::tree::Tree;

/// The number of values and residuals on the stack for one chunk of columns: 32 MiB, and half as much for weights.
const STACK_NUMBERS: usize = 1 << 22;
/// The numbers of each column on the stack: values, residuals and weights.
const PARTS: usize = 3;
/// The minimum number of columns of a chunk.
const FEWEST_COLUMNS: usize = 8;

/// The numbers and weights of the validation samples, and which numbers are known; `None`: all.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldOutNumbers<'y> {
    pub(super) y: ArrayView2<'y, f64>,
    pub(super) weights: &'y Weights,
    pub(super) known: Option<&'y Known>,
}

/// Returns the weighted squared error of each node as a leaf, in units.
pub(super) fn squared_errors(
    tree: &Tree,
    held_out: HeldOutNumbers<'_>,
    rows: &RowsOfLeaves,
    control: &Control,
) -> Result<Vec<f64>> {
    let n_outputs = tree.leaves.width();
    let mut losses = PURPOSE.filled(0.0, tree.n_nodes())?;
    // Each leaf adds an entry to the stack, and each split removes one.
    let (mut height, mut highest) = (0usize, 0);
    for node in tree.nodes.iter().rev() {
        height = if node.is_leaf() { height + 1 } else { height - 1 };
        highest = highest.max(height);
    }
    let n_columns = (STACK_NUMBERS / (2 * highest)).max(FEWEST_COLUMNS).min(n_outputs);
    for first in (0..n_outputs).step_by(n_columns) {
        let columns = first..(first + n_columns).min(n_outputs);
        let stack = PURPOSE.with_capacity(PARTS * columns.len() * highest)?;
        let mut chunk = Residuals { columns, stack, entries: PURPOSE.with_capacity(highest)? };
        let mut pulse = control.pulse();
        for (i, node) in tree.nodes.iter().enumerate().rev() {
            let n_rows = if node.is_leaf() {
                let rows = rows.of(node.right() as usize);
                chunk.push_leaf(tree, i, held_out, rows)?;
                rows.len()
            } else {
                chunk.merge();
                0
            };
            losses[i] += chunk.entries.last().map_or(0.0, |entry| entry.loss);
            pulse.after((2 + n_rows) * chunk.columns.len())?;
        }
    }
    Ok(losses)
}

/// The subtrees whose parents are still to come: the value of each one as a leaf, and the residuals of its samples
/// about this value.
#[derive(Debug)]
struct Residuals {
    columns: Range<usize>,
    /// For each entry, the values of the columns, then the weighted sums of their residuals, and then the weights of
    /// the validation samples whose number is known.
    stack: Vec<f64>,
    entries: Vec<Subtree>,
}

#[derive(Clone, Copy, Debug)]
struct Subtree {
    /// The weight of the training samples.
    grown: f64,
    /// The weighted sum of squared residuals.
    loss: f64,
}

impl Residuals {
    fn push_leaf(&mut self, tree: &Tree, i: usize, held_out: HeldOutNumbers<'_>, rows: &[u32]) -> Result<()> {
        let (k, at) = (self.columns.len(), self.stack.len());
        PURPOSE.resize(&mut self.stack, at + PARTS * k, 0.0)?;
        let (values, residuals, weights) = parts_of(&mut self.stack[at..], k);
        for (column, value) in tree.leaves.value(tree.nodes[i].right() as usize) {
            if self.columns.contains(&(column as usize)) {
                values[column as usize - self.columns.start] = value;
            }
        }
        let mut entry = Subtree { grown: tree.weighted_n_node_samples[i], loss: 0.0 };
        for &row in rows {
            let weight = held_out.weights.units(row as usize) as f64;
            for (j, column) in self.columns.clone().enumerate() {
                if held_out.known.is_some_and(|known| !known.is_known(row, column as u32)) {
                    continue;
                }
                let residual = held_out.y[[row as usize, column]] - values[j];
                weights[j] += weight;
                residuals[j] += weight * residual;
                entry.loss += weight * residual * residual;
            }
        }
        PURPOSE.push(&mut self.entries, entry)
    }

    /// Merges the two subtrees on top of the stack, of which the left one is above.
    fn merge(&mut self) {
        const PROOF: &str = "two subtrees below every split";
        let (left, right) = (self.entries.pop().expect(PROOF), self.entries.pop().expect(PROOF));
        let k = self.columns.len();
        let left_at = self.stack.len() - PARTS * k;
        let (below, on_top) = self.stack.split_at_mut(left_at);
        let (left_values, left_residuals, left_weights) = parts_of(on_top, k);
        let (values, residuals, weights) = parts_of(&mut below[left_at - PARTS * k..], k);
        let mut entry = Subtree { grown: left.grown + right.grown, loss: left.loss + right.loss };
        let share = left.grown / entry.grown;
        for j in 0..k {
            let value = values[j] + (left_values[j] - values[j]) * share;
            // About a value that is smaller by δ, each residual increases by δ, and its square by 2δ · residual + δ².
            let (by_left, by_right) = (left_values[j] - value, values[j] - value);
            entry.loss += by_left * (2.0 * left_residuals[j] + by_left * left_weights[j]);
            entry.loss += by_right * (2.0 * residuals[j] + by_right * weights[j]);
            residuals[j] += left_residuals[j] + by_left * left_weights[j] + by_right * weights[j];
            weights[j] += left_weights[j];
            values[j] = value;
        }
        self.entries.push(entry);
        self.stack.truncate(left_at);
    }
}

/// Returns the values, the residuals and the weights of an entry of `k` columns.
fn parts_of(entry: &mut [f64], k: usize) -> (&mut [f64], &mut [f64], &mut [f64]) {
    let (values, rest) = entry.split_at_mut(k);
    let (residuals, weights) = rest.split_at_mut(k);
    (values, residuals, weights)
}
