//! The values of the leaves if some cells of y are unknown.
//!
//! For each output, a leaf predicts the mean of its known cells; if it has none, the mean of the nearest node above
//! that has some; and if the tree has none, the mean of all samples of the fit. The columns are computed in two passes over the
//! nodes: an upward pass that finds which nodes have known cells, and a downward pass that finds the value that each leaf
//! takes. For numbers, this is done for one column after the other, and a mean is computed once for each node from which
//! a leaf takes it; for frequencies, see [`frequencies`]. O(known cells + nodes × columns), and for numbers also the
//! samples of the nodes from which leaves below take their values. Memory: O(nodes + stored values).
//!
//! Leaves that know little store what they share with others once, see [`records`]: this is decided by the first
//! columns.

mod frequencies;
mod records;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub(super) use frequencies::frequencies;

use records::{Leaves, Shared};

use super::grow::Structure;
use super::leaves::{LeafTable, LeafTableBuilder};
use crate::control::Control;
use crate::data::masked::MaskedNumbers;
use crate::error::{Purpose, Result};
use crate::exact::exact_mean;

const PURPOSE: Purpose = Purpose("the values of leaves");

/// The nodes of a tree, while their columns are computed.
#[derive(Debug)]
struct Nodes<'s> {
    structure: &'s Structure,
    parents: Vec<u32>,
    /// The samples of each node: a range of [`Structure::order`].
    samples: Vec<Range<u32>>,
    leaves: Vec<u32>,
}

impl<'s> Nodes<'s> {
    fn new(structure: &'s Structure) -> Result<Self> {
        let nodes = &structure.nodes;
        let mut parents = PURPOSE.filled(0u32, nodes.len())?;
        let mut samples = PURPOSE.filled(0..0, nodes.len())?;
        let mut leaves = PURPOSE.with_capacity(structure.leaf_samples.len())?;
        for (i, node) in nodes.iter().enumerate() {
            if node.is_leaf() {
                samples[i] = structure.leaf_samples[node.right() as usize].clone();
                leaves.push(i as u32);
            } else {
                parents[i + 1] = i as u32;
                parents[node.right() as usize] = i as u32;
            }
        }
        for (i, node) in nodes.iter().enumerate().rev().filter(|(_, node)| !node.is_leaf()) {
            samples[i] = samples[i + 1].start..samples[node.right() as usize].end;
        }
        Ok(Nodes { structure, parents, samples, leaves })
    }

    fn rows(&self, node: usize) -> &'s [u32] {
        let range = &self.samples[node];
        &self.structure.order[range.start as usize..range.end as usize]
    }

    /// Adds the numbers of leaves to the nodes above them.
    fn sum_up<T: Copy + std::ops::Add<Output = T>>(&self, of_nodes: &mut [T]) {
        for (i, node) in self.structure.nodes.iter().enumerate().rev().filter(|(_, node)| !node.is_leaf()) {
            of_nodes[i] = of_nodes[i + 1] + of_nodes[node.right() as usize];
        }
    }

    /// Finds for each node the nearest one, itself or above, that has known cells. `has` returns whether a node has
    /// some; if a node has some, then all nodes above it do.
    fn find_nearest(&self, has: impl Fn(usize) -> bool, nearest: &mut [u32]) {
        for i in 0..nearest.len() {
            nearest[i] = match i {
                _ if has(i) => i as u32,
                0 => NOBODY,
                _ => nearest[self.parents[i] as usize],
            };
        }
    }
}

const NOBODY: u32 = u32::MAX;

/// The start of each row, and the cells of all rows, as columns and values.
type ByRow = (Vec<usize>, Vec<(u32, f64)>);

/// Cells of the rows of a table, one column after the other.
#[derive(Debug)]
struct Columns {
    ptr: Vec<usize>,
    cells: Vec<(u32, f64)>,
}

impl Columns {
    fn new(width: usize) -> Result<Self> {
        let mut ptr = PURPOSE.with_capacity(width + 1)?;
        ptr.push(0);
        Ok(Columns { ptr, cells: Vec::new() })
    }

    /// Adds a cell to the current column.
    fn push(&mut self, row: u32, value: f64) -> Result<()> {
        PURPOSE.push(&mut self.cells, (row, value))
    }

    /// Ends the current column.
    fn end(&mut self) {
        self.ptr.push(self.cells.len());
    }

    /// Returns the cells row by row, with the starts of rows. A counting sort keeps columns in increasing order.
    fn by_row(self, n_rows: usize) -> Result<ByRow> {
        let mut starts = PURPOSE.filled(0usize, n_rows + 1)?;
        self.cells.iter().for_each(|(row, _)| starts[*row as usize + 1] += 1);
        (0..n_rows).for_each(|row| starts[row + 1] += starts[row]);
        let mut next = PURPOSE.collected(starts.iter().copied())?;
        let mut by_row = PURPOSE.filled((0u32, 0.0), self.cells.len())?;
        for (column, range) in (0u32..).zip(self.ptr.windows(2)) {
            for &(row, value) in &self.cells[range[0]..range[1]] {
                by_row[next[row as usize]] = (column, value);
                next[row as usize] += 1;
            }
        }
        Ok((starts, by_row))
    }

    fn into_table(self, n_leaves: usize) -> Result<LeafTable> {
        let mut table = LeafTableBuilder::of_means(self.ptr.len() - 1);
        let (starts, by_leaf) = self.by_row(n_leaves)?;
        for range in starts.windows(2) {
            table.push_rounded(by_leaf[range[0]..range[1]].iter().copied())?;
        }
        table.finish()
    }
}

/// Computes the leaves for numerical outputs.
pub(super) fn means(
    structure: &Structure,
    y: &MaskedNumbers,
    units: impl Fn(u32) -> u64,
    control: &Control,
) -> Result<LeafTable> {
    let nodes = Nodes::new(structure)?;
    let n_nodes = structure.nodes.len();
    let mut n_known = PURPOSE.filled(0u32, n_nodes)?;
    let mut nearest = PURPOSE.filled(NOBODY, n_nodes)?;
    let mut mean_of = PURPOSE.filled(f64::NAN, n_nodes)?;
    let mut table = Leaves::Both(Shared::new(&nodes, y.n_outputs())?, Columns::new(y.n_outputs())?);
    for output in 0..y.n_outputs() {
        control.check()?;
        let is_known = |row: &&u32| !y.of(**row)[output].is_nan();
        for &leaf in &nodes.leaves {
            n_known[leaf as usize] = nodes.rows(leaf as usize).iter().filter(is_known).count() as u32;
        }
        nodes.sum_up(&mut n_known);
        nodes.find_nearest(|node| n_known[node] > 0, &mut nearest);
        mean_of.fill(f64::NAN);
        for &leaf in &nodes.leaves {
            let from = nearest[leaf as usize];
            if from != NOBODY && mean_of[from as usize].is_nan() {
                let cells = nodes.rows(from as usize).iter().filter(is_known);
                mean_of[from as usize] = exact_mean(cells.map(|&row| (y.of(row)[output], units(row))));
            }
        }
        // Nodes from which no leaf takes values have none.
        let value = |node: usize| match nearest[node] {
            NOBODY => y.means()[output],
            from => mean_of[from as usize],
        };
        if let Some(shared) = table.shared() {
            shared.push(&nodes, value, |node| n_known[node] > 0)?;
        }
        if let Some(columns) = table.apart() {
            for (leaf, value) in (0u32..).zip(nodes.leaves.iter().map(|&leaf| value(leaf as usize))) {
                if value != 0.0 {
                    columns.push(leaf, value)?;
                }
            }
            columns.end();
        }
        table = table.decided(&nodes, |columns| columns.cells.len());
    }
    match table {
        Leaves::Both(_, columns) | Leaves::Apart(columns) => columns.into_table(nodes.leaves.len()),
        Leaves::Shared(shared) => shared.into_table(&nodes),
    }
}
