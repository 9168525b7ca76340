//! The numbers of wrong classes and labels, counted exactly, column by column, of the nodes above the cells of the column.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ndarray::ArrayView2;

use super::{PURPOSE, RowsOfLeaves};
use crate::control::Control;
use crate::data::known::Known;
use crate::data::{LabelView, Weights};
use crate::error::{Error, Result};
use crate::tree::Tree;

/// The columns of leaves, which are labels or classes, and those of the validation samples.
#[derive(Debug)]
pub(super) enum LeafColumns<'y> {
    Labels(&'y LabelView<'y>),
    Classes {
        codes: ArrayView2<'y, u32>,
        /// The first column of each output.
        starts: Vec<u32>,
    },
}

impl<'y> LeafColumns<'y> {
    pub(super) fn of_classes(tree: &Tree, codes: ArrayView2<'y, u32>, n_classes: &[u32]) -> Result<Self> {
        let cells = (0..tree.n_leaves()).flat_map(|leaf| tree.leaves.cells(leaf));
        if let Some((_, bad)) = cells.into_iter().find(|(_, amount)| *amount < 0.0) {
            return Err(Error::invalid("a frequency of a class", bad, "be at least 0"));
        }
        let mut next = 0;
        let starts = n_classes.iter().map(|k| {
            next += k;
            next - k
        });
        Ok(LeafColumns::Classes { codes, starts: PURPOSE.collected(starts)? })
    }
}

/// The counts of one column of a leaf, and then of a subtree.
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

/// The cells of all leaves, each with its column and the node of its leaf, and the weights of the training samples and
/// the units of the validation samples of all nodes.
struct Cells {
    all: Vec<(u32, u32, Count)>,
    grown: Vec<f64>,
    units: Vec<u64>,
}

impl Cells {
    fn new(
        tree: &Tree,
        (columns, weights, known): (&LeafColumns<'_>, &Weights, Option<&Known>),
        rows: &RowsOfLeaves,
    ) -> Result<Self> {
        let n_nodes = tree.n_nodes();
        let (mut grown, mut units) = (PURPOSE.filled(0.0, n_nodes)?, PURPOSE.filled(0, n_nodes)?);
        let mut all = Vec::new();
        for (i, node) in tree.nodes.iter().enumerate().rev() {
            if !node.is_leaf() {
                let (left, right) = (i + 1, node.right() as usize);
                (grown[i], units[i]) = (grown[left] + grown[right], units[left] + units[right]);
                continue;
            }
            let (scale, of_leaf) = tree.leaf_scale(i);
            grown[i] = of_leaf;
            for (column, amount) in tree.leaves.cells(node.right() as usize) {
                PURPOSE.push(&mut all, (column, i as u32, Count { grown: amount * scale, ..Count::default() }))?;
            }
            for &row in rows.of(node.right() as usize) {
                let of_row = weights.units(row as usize);
                units[i] += of_row;
                if let Some(known) = known {
                    PURPOSE.grow(&mut all, known.n_outputs() - known.n_known(row))?;
                    known.each_masked(row, |output| {
                        let column = match columns {
                            LeafColumns::Labels(_) => output,
                            LeafColumns::Classes { starts, .. } => starts[output as usize],
                        };
                        all.push((column, i as u32, Count { unknown: of_row, ..Count::default() }));
                    });
                }
                let mut has =
                    |column| PURPOSE.push(&mut all, (column, i as u32, Count { held_out: of_row, ..Count::default() }));
                match columns {
                    LeafColumns::Labels(y) => {
                        let labels = &y.indices()[y.ptr()[row as usize]..y.ptr()[row as usize + 1]];
                        labels.iter().try_for_each(|&label| has(label))?;
                    }
                    LeafColumns::Classes { codes, starts } => {
                        for (o, (&start, &code)) in (0u32..).zip(starts.iter().zip(codes.row(row as usize))) {
                            if known.is_none_or(|known| known.is_known(row, o)) {
                                has(start + code)?;
                            }
                        }
                    }
                }
            }
        }
        all.sort_unstable_by_key(|&(column, node, _)| (column, Reverse(node)));
        Ok(Cells { all, grown, units })
    }
}

/// The counts of one column of the nodes that have some and whose parents are still to come.
struct Open {
    counts: Vec<Option<Count>>,
    nodes: BinaryHeap<u32>,
}

impl Open {
    fn add(&mut self, node: u32, count: Count) {
        match &mut self.counts[node as usize] {
            Some(sum) => {
                sum.grown += count.grown;
                sum.held_out += count.held_out;
                sum.unknown += count.unknown;
            }
            none => {
                *none = Some(count);
                self.nodes.push(node);
            }
        }
    }

    /// Removes the last node, to which nothing more is added.
    fn pop(&mut self) -> Option<(usize, Count)> {
        let node = self.nodes.pop()? as usize;
        Some((node, self.counts[node].take()?))
    }
}

/// Returns the weighted number of wrong classes or labels of each node as a leaf, in units.
pub(super) fn mistakes(
    tree: &Tree,
    of_rows: (&LeafColumns<'_>, &Weights, Option<&Known>),
    rows: &RowsOfLeaves,
    control: &Control,
) -> Result<Vec<i128>> {
    let Cells { all, grown, units } = Cells::new(tree, of_rows, rows)?;
    let starts = match of_rows.0 {
        LeafColumns::Labels(_) => &[][..],
        LeafColumns::Classes { starts, .. } => starts,
    };
    // Without any counts, no label is predicted, and all classes are wrong.
    let mut losses = PURPOSE.collected(units.iter().map(|&units| starts.len() as i128 * i128::from(units)))?;
    let mut parents = PURPOSE.filled(0u32, tree.n_nodes())?;
    for (i, node) in tree.nodes.iter().enumerate().filter(|(_, node)| !node.is_leaf()) {
        (parents[i + 1], parents[node.right() as usize]) = (i as u32, i as u32);
    }
    let nodes = BinaryHeap::from(PURPOSE.with_capacity(tree.n_nodes())?);
    let mut open = Open { counts: PURPOSE.filled(None, tree.n_nodes())?, nodes };
    // The most frequent class so far of the output: its weight, and the units of samples that have it.
    let mut most = PURPOSE.filled((0.0, 0u64), if starts.is_empty() { 0 } else { tree.n_nodes() })?;
    let (mut n_outputs, mut pulse) = (0, control.pulse());
    for cells in all.chunk_by(|a, b| a.0 == b.0) {
        let column = cells[0].0;
        let n_begun = starts.partition_point(|&start| start <= column);
        if n_begun > std::mem::replace(&mut n_outputs, n_begun) {
            most.fill((0.0, 0));
        }
        cells.iter().for_each(|&(_, node, count)| open.add(node, count));
        while let Some((node, count)) = open.pop() {
            if node > 0 {
                open.add(parents[node], count);
            }
            let Count { held_out, unknown, .. } = count;
            if starts.is_empty() {
                let is_predicted = 2.0 * count.grown > grown[node];
                losses[node] += i128::from(if is_predicted { units[node] - unknown - held_out } else { held_out });
            } else {
                losses[node] -= i128::from(unknown);
                let (most, right) = &mut most[node];
                // The first of equals, if that is one without weight, too.
                if count.grown > *most || starts[n_outputs - 1] == column {
                    losses[node] += i128::from(*right) - i128::from(held_out);
                    (*most, *right) = (count.grown, held_out);
                }
            }
            pulse.after(1)?;
        }
    }
    Ok(losses)
}
