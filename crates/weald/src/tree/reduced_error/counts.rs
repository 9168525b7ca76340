//! The numbers of wrong classes and labels, counted exactly, with a map of the columns of each subtree.

use std::collections::HashMap;

use ndarray::ArrayView2;

use super::{PURPOSE, RowsOfLeaves};
use crate::control::Control;
use crate::data::known::Known;
use crate::data::{LabelView, Weights};
use crate::error::{Error, Result};
use crate::tree::Tree;

/// Returns the weighted number of wrong classes or labels of each node as a leaf, in units.
pub(super) fn mistakes(
    tree: &Tree,
    (columns, weights, known): (&LeafColumns<'_>, &Weights, Option<&Known>),
    rows: &RowsOfLeaves,
    control: &Control,
) -> Result<Vec<i128>> {
    let mut losses = PURPOSE.filled(0i128, tree.n_nodes())?;
    let mut stack: Vec<Counts> = Vec::new();
    let mut pulse = control.pulse();
    for (i, node) in tree.nodes.iter().enumerate().rev() {
        let (counts, n_steps) = if node.is_leaf() {
            let rows = rows.of(node.right() as usize);
            let counts = Counts::of_leaf(tree, i, (weights, known), rows, columns)?;
            let n_steps = counts.columns.len();
            (counts, n_steps)
        } else {
            const PROOF: &str = "two subtrees below every split";
            Counts::merged(stack.pop().expect(PROOF), stack.pop().expect(PROOF), columns)?
        };
        losses[i] = counts.mistakes(columns);
        PURPOSE.push(&mut stack, counts)?;
        pulse.after(1 + n_steps)?;
    }
    Ok(losses)
}

/// The columns of leaves, which are labels or classes, and those of the validation samples.
#[derive(Debug)]
pub(super) enum LeafColumns<'y> {
    Labels(&'y LabelView<'y>),
    Classes {
        codes: ArrayView2<'y, u32>,
        /// The first column of each output.
        starts: Vec<u32>,
        /// The output of each column.
        outputs: Vec<u32>,
    },
}

impl<'y> LeafColumns<'y> {
    pub(super) fn of_classes(tree: &Tree, codes: ArrayView2<'y, u32>, n_classes: &[u32]) -> Result<Self> {
        // The most frequent class is updated from the leaves up, which requires that sums never decrease.
        let cells = (0..tree.n_leaves()).flat_map(|leaf| tree.leaves.cells(leaf));
        if let Some((_, bad)) = cells.into_iter().find(|(_, amount)| *amount < 0.0) {
            return Err(Error::invalid("a frequency of a class", bad, "be at least 0"));
        }
        let mut starts = PURPOSE.with_capacity(n_classes.len())?;
        let mut outputs = PURPOSE.with_capacity(tree.leaves.width())?;
        for (o, &k) in (0u32..).zip(n_classes) {
            starts.push(outputs.len() as u32);
            outputs.resize(outputs.len() + k as usize, o);
        }
        Ok(LeafColumns::Classes { codes, starts, outputs })
    }

    fn n_outputs(&self) -> usize {
        match self {
            LeafColumns::Labels(y) => y.n_labels(),
            LeafColumns::Classes { starts, .. } => starts.len(),
        }
    }

    /// Returns the first column of an output.
    fn first_of(&self, output: u32) -> u32 {
        match self {
            LeafColumns::Labels(_) => output,
            LeafColumns::Classes { starts, .. } => starts[output as usize],
        }
    }

    /// Returns the first column of the output that has a column.
    fn first_beside(&self, column: u32) -> u32 {
        match self {
            LeafColumns::Labels(_) => column,
            LeafColumns::Classes { outputs, .. } => self.first_of(outputs[column as usize]),
        }
    }
}

/// The counts of one column of a subtree.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// The weight of the training samples that have it; a whole number if leaves hold counts.
    grown: f64,
    /// The units of the validation samples that have it.
    held_out: u64,
    /// The units of the validation samples for which the label is unknown; of classes, the first column of an output
    /// counts those without a known class.
    unknown: u64,
}

/// A subtree whose parent is still to come.
#[derive(Debug, Default)]
struct Counts {
    /// The columns that some sample has.
    columns: HashMap<u32, Count>,
    /// The weight of the training samples.
    grown: f64,
    /// The units of the validation samples, and of all their labels.
    units: u64,
    units_of_labels: i128,
    /// The predictions of the subtree as a leaf: its labels, or one column for each output.
    predicted: Vec<u32>,
}

impl Counts {
    fn of_leaf(
        tree: &Tree,
        i: usize,
        (weights, known): (&Weights, Option<&Known>),
        rows: &[u32],
        columns: &LeafColumns<'_>,
    ) -> Result<Self> {
        let (scale, grown) = tree.leaf_scale(i);
        let mut counts = Counts { grown, ..Counts::default() };
        for (column, amount) in tree.leaves.cells(tree.nodes[i].right() as usize) {
            counts.entry(column)?.grown = amount * scale;
        }
        for row in rows.iter().map(|&row| row as usize) {
            let units = weights.units(row);
            counts.units += units;
            if let Some(known) = known {
                reserve(&mut counts.columns, columns.n_outputs() - known.n_known(row as u32))?;
                known.each_masked(row as u32, |output| {
                    counts.columns.entry(columns.first_of(output)).or_default().unknown += units;
                });
            }
            match columns {
                LeafColumns::Classes { codes, starts, .. } => {
                    for (o, (&start, &code)) in (0u32..).zip(starts.iter().zip(codes.row(row))) {
                        if known.is_none_or(|known| known.is_known(row as u32, o)) {
                            counts.entry(start + code)?.held_out += units;
                        }
                    }
                }
                LeafColumns::Labels(y) => {
                    let labels = &y.indices()[y.ptr()[row]..y.ptr()[row + 1]];
                    counts.units_of_labels += i128::from(units) * labels.len() as i128;
                    for &label in labels {
                        counts.entry(label)?.held_out += units;
                    }
                }
            }
        }
        let all = PURPOSE.collected(counts.columns.keys().copied())?;
        counts.predicted = match columns {
            LeafColumns::Labels(_) => counts.of_majority(all),
            LeafColumns::Classes { starts, .. } => counts.largest(PURPOSE.copied(starts)?, &all, columns),
        };
        Ok(counts)
    }

    fn entry(&mut self, column: u32) -> Result<&mut Count> {
        reserve(&mut self.columns, 1)?;
        Ok(self.columns.entry(column).or_default())
    }

    /// Returns both subtrees as one, and the number of steps. The columns of the smaller map are added to the larger
    /// one.
    fn merged(a: Counts, b: Counts, columns: &LeafColumns<'_>) -> Result<(Counts, usize)> {
        let (mut large, small) = if a.columns.len() >= b.columns.len() { (a, b) } else { (b, a) };
        reserve(&mut large.columns, small.columns.len())?;
        let mut updated: Vec<u32> = PURPOSE.with_capacity(small.columns.len())?;
        for (column, count) in small.columns {
            let sum = large.columns.entry(column).or_default();
            *sum = Count {
                grown: sum.grown + count.grown,
                held_out: sum.held_out + count.held_out,
                unknown: sum.unknown + count.unknown,
            };
            if let LeafColumns::Classes { .. } = columns {
                updated.push(column);
            }
        }
        large.grown += small.grown;
        large.units += small.units;
        large.units_of_labels += small.units_of_labels;
        let mut predicted = std::mem::take(&mut large.predicted);
        let n_steps = updated.len() + predicted.len() + small.predicted.len();
        large.predicted = match columns {
            // A label with a majority in the whole subtree has one on at least one side.
            LeafColumns::Labels(_) => {
                PURPOSE.extend(&mut predicted, small.predicted)?;
                large.of_majority(predicted)
            }
            // Sums never decrease: a class that was not the most frequent one on the larger side can only become it if
            // its sum has increased.
            LeafColumns::Classes { .. } => large.largest(predicted, &updated, columns),
        };
        Ok((large, n_steps))
    }

    /// Returns the labels among `candidates` with a frequency above one half.
    fn of_majority(&self, mut candidates: Vec<u32>) -> Vec<u32> {
        candidates.sort_unstable();
        candidates.dedup();
        candidates.retain(|&label| 2.0 * self.grown_of(label) > self.grown);
        candidates
    }

    /// Returns, for each output, the column with the largest sum among `candidates` and the one in `largest`, the first
    /// of equals.
    fn largest(&self, mut largest: Vec<u32>, candidates: &[u32], columns: &LeafColumns<'_>) -> Vec<u32> {
        let LeafColumns::Classes { outputs, .. } = columns else { return largest };
        for &column in candidates {
            let best = &mut largest[outputs[column as usize] as usize];
            let (sum, best_sum) = (self.grown_of(column), self.grown_of(*best));
            if sum > best_sum || (sum == best_sum && column < *best) {
                *best = column;
            }
        }
        largest
    }

    fn grown_of(&self, column: u32) -> f64 {
        self.columns.get(&column).map_or(0.0, |count| count.grown)
    }

    fn mistakes(&self, columns: &LeafColumns<'_>) -> i128 {
        let count = |column: u32| self.columns.get(&column).copied().unwrap_or_default();
        let rights: i128 = self.predicted.iter().map(|&column| i128::from(count(column).held_out)).sum();
        let known = |&column: &u32| i128::from(self.units) - i128::from(count(columns.first_beside(column)).unknown);
        let all: i128 = self.predicted.iter().map(known).sum();
        match columns {
            LeafColumns::Classes { .. } => all - rights,
            // The labels that samples have and that are not predicted, and the predicted labels that samples do not
            // have.
            LeafColumns::Labels(_) => (self.units_of_labels - rights) + (all - rights),
        }
    }
}

fn reserve(map: &mut HashMap<u32, Count>, n: usize) -> Result<()> {
    let bytes = n.saturating_mul(size_of::<(u32, Count)>());
    map.try_reserve(n).map_err(|_| PURPOSE.missing::<u8>(bytes))
}
