//! The values of the leaves if some cells of y are unknown.
//!
//! For each output, a leaf predicts the mean of its known cells; if it has none, the mean of the nearest node above
//! that has some; and if the tree has none, the mean of all samples of the fit. The columns are computed in two passes over the
//! nodes: an upward pass that finds which nodes have known cells, and a downward pass that finds the value that each leaf
//! takes. For numbers, this is done for one column after the other, and a mean is computed once for each node from which
//! a leaf takes it; for frequencies, see [`frequencies`]. O(known cells + nodes × columns), and for numbers also the
//! samples of the nodes from which leaves below take their values. Memory: O(nodes + stored values).
//!
//! Nodes may have any number of children. If a forest shrinks leaves towards their parents, the values of the parents
//! are computed too, and a leaf is shrunk by what it knows of each output: see [`Shrinkage`].
//!
//! Leaves that know little store what they share with others once, see [`records`]: this is decided by the first
//! columns.

mod frequencies;
mod records;
#[cfg(test)]
mod tests;

use std::ops::Range;

use records::{Leaves, Shared};

use super::growth::grow::Structure;
use super::leaves::{LeafTable, LeafTableBuilder};
use crate::control::Control;
use crate::data::masked::MaskedNumbers;
use crate::data::train_y::TrainY;
use crate::error::{Purpose, Result};
use crate::exact::exact_mean;

const PURPOSE: Purpose = Purpose("the values of leaves");

/// Computes the leaves of y with unknown cells, and the parents of leaves if these are shrunk. `units` returns the weight
/// of a sample.
pub(crate) fn values(
    nodes: &Nodes<'_>,
    y: &TrainY<'_>,
    units: impl Fn(u32) -> u64,
    control: &Control,
) -> Result<Tables> {
    match y {
        TrainY::MaskedSlots(y) => frequencies::frequencies(nodes, y, units, control),
        TrainY::MaskedReal(y) => means(nodes, y, units, control),
        TrainY::Slots(_) | TrainY::Real(_) | TrainY::SparseReal(_) => unreachable!("some cells are unknown"),
    }
}

/// Computes the leaves of a tree that tests features.
pub(super) fn of_structure(
    structure: &Structure,
    y: &TrainY<'_>,
    units: impl Fn(u32) -> u64,
    control: &Control,
) -> Result<LeafTable> {
    values(&Nodes::of_structure(structure)?, y, units, control).map(|tables| tables.leaves)
}

/// The values of the leaves, and of their parents if leaves are shrunk, in the order of the nodes.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) leaves: LeafTable,
    pub(crate) parents: Option<LeafTable>,
}

/// The nodes of a tree, while their columns are computed. A node comes after its parent.
#[derive(Debug)]
pub(crate) struct Nodes<'s> {
    /// The samples of all leaves.
    order: &'s [u32],
    /// The parent of each node; of the root, the root.
    parents: Vec<u32>,
    /// The samples of each node: a range of `order`.
    samples: Vec<Range<u32>>,
    /// The row of each node in the table of leaves, or [`NOBODY`].
    row_of: Vec<u32>,
    leaves: Vec<u32>,
    shrinkage: Option<Shrinkage>,
}

/// Leaves that are shrunk towards their parents.
///
/// A forest predicts (n · values of the leaf + a · values of its parent) / (n + a) for a leaf of weight n. If only
/// samples of weight k know an output, the leaf shall predict (k · value + a · value of the parent) / (k + a), as if it
/// had only these samples. So the leaf stores λ · value + (1 − λ) · value of the parent with
/// λ = k (n + a) / (n (k + a)), which is one if all samples know the output.
#[derive(Debug)]
struct Shrinkage {
    /// a, in units of the weights of samples.
    a: f64,
    /// The nodes that have a leaf among their children, in increasing order.
    parents: Vec<u32>,
    /// The weight of each node that is a leaf.
    weights: Vec<f64>,
}

impl Shrinkage {
    /// Returns the stored value of a leaf, given the weight of the samples that know it, which is not zero.
    #[inline(always)]
    fn shrunk(&self, leaf: usize, known: f64, own: f64, of_parent: f64) -> f64 {
        let n = self.weights[leaf];
        if known >= n {
            return own;
        }
        let share = ((known / n) * ((n + self.a) / (known + self.a))).min(1.0);
        share * own + (1.0 - share) * of_parent
    }
}

impl<'s> Nodes<'s> {
    /// Returns the nodes of a tree that tests features.
    fn of_structure(structure: &'s Structure) -> Result<Self> {
        let nodes = &structure.nodes;
        let mut parents = PURPOSE.filled(0u32, nodes.len())?;
        for (i, node) in nodes.iter().enumerate().filter(|(_, node)| !node.is_leaf()) {
            parents[i + 1] = i as u32;
            parents[node.right() as usize] = i as u32;
        }
        Nodes::new(parents, structure)
    }

    /// Returns the nodes of a tree whose leaves are, in this order, those of `structure`. A node comes after its parent,
    /// whose samples include its own.
    pub(crate) fn new(parents: Vec<u32>, structure: &'s Structure) -> Result<Self> {
        let n_nodes = parents.len();
        let mut is_inner = PURPOSE.filled(false, n_nodes)?;
        parents.iter().skip(1).for_each(|&parent| is_inner[parent as usize] = true);
        let mut row_of = PURPOSE.filled(NOBODY, n_nodes)?;
        // The range of an inner node grows by those of its children.
        let mut samples = PURPOSE.filled(Range { start: u32::MAX, end: 0 }, n_nodes)?;
        let mut leaves = PURPOSE.with_capacity(structure.leaf_samples.len())?;
        for (leaf, of_leaf) in (0..n_nodes).filter(|&node| !is_inner[node]).zip(&structure.leaf_samples) {
            row_of[leaf] = leaves.len() as u32;
            samples[leaf] = of_leaf.clone();
            leaves.push(leaf as u32);
        }
        for i in (1..n_nodes).rev() {
            let Range { start, end } = samples[i];
            let above = &mut samples[parents[i] as usize];
            *above = above.start.min(start)..above.end.max(end);
        }
        Ok(Nodes { order: &structure.order, parents, samples, row_of, leaves, shrinkage: None })
    }

    /// Shrinks leaves towards their parents as if these had `a` more samples, in units of the weights of samples, which
    /// `units` returns.
    pub(crate) fn shrunk(mut self, a: f64, units: impl Fn(u32) -> u64) -> Result<Self> {
        if self.len() == 1 {
            return Ok(self);
        }
        let mut weights = PURPOSE.filled(0.0, self.parents.len())?;
        let mut has_leaf = PURPOSE.filled(false, self.parents.len())?;
        for &leaf in &self.leaves {
            weights[leaf as usize] = self.rows(leaf as usize).iter().map(|&row| units(row)).sum::<u64>() as f64;
            has_leaf[self.parents[leaf as usize] as usize] = true;
        }
        let mut parents = Vec::new();
        for (node, _) in (0u32..).zip(&has_leaf).filter(|(_, has_leaf)| **has_leaf) {
            PURPOSE.push(&mut parents, node)?;
        }
        self.shrinkage = Some(Shrinkage { a: a.min(MOST_ADDED), parents, weights });
        Ok(self)
    }

    fn len(&self) -> usize {
        self.parents.len()
    }

    fn is_leaf(&self, node: usize) -> bool {
        self.row_of[node] != NOBODY
    }

    fn rows(&self, node: usize) -> &'s [u32] {
        let range = &self.samples[node];
        &self.order[range.start as usize..range.end as usize]
    }

    /// Returns the nodes that have a leaf among their children, if leaves are shrunk.
    fn leaf_parents(&self) -> &[u32] {
        self.shrinkage.as_ref().map_or(&[], |shrinkage| &shrinkage.parents)
    }

    /// Adds the numbers of leaves to the nodes above them, whose numbers are replaced.
    fn sum_up(&self, of_nodes: &mut [u32]) {
        (0..self.len()).filter(|&node| !self.is_leaf(node)).for_each(|node| of_nodes[node] = 0);
        (1..self.len()).rev().for_each(|node| of_nodes[self.parents[node] as usize] += of_nodes[node]);
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

/// The largest weight of additional samples, in units: with more, a leaf has the values of its parent in any case.
const MOST_ADDED: f64 = 1e300;

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

    /// Adds a column with the values of these nodes, of which each has a row.
    fn push_all(&mut self, of_rows: &[u32], value: impl Fn(usize) -> f64) -> Result<()> {
        for (row, value) in (0u32..).zip(of_rows.iter().map(|&node| value(node as usize))) {
            if value != 0.0 {
                self.push(row, value)?;
            }
        }
        self.end();
        Ok(())
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

    fn into_table(self, n_rows: usize) -> Result<LeafTable> {
        let mut table = LeafTableBuilder::of_means(self.ptr.len() - 1);
        let (starts, by_row) = self.by_row(n_rows)?;
        for range in starts.windows(2) {
            table.push_rounded(by_row[range[0]..range[1]].iter().copied())?;
        }
        table.finish()
    }
}

/// Computes the tables for numerical outputs.
fn means(nodes: &Nodes<'_>, y: &MaskedNumbers, units: impl Fn(u32) -> u64, control: &Control) -> Result<Tables> {
    let n_nodes = nodes.len();
    let mut n_known = PURPOSE.filled(0u32, n_nodes)?;
    let mut nearest = PURPOSE.filled(NOBODY, n_nodes)?;
    let mut mean_of = PURPOSE.filled(f64::NAN, n_nodes)?;
    let mut shrunk = PURPOSE.filled(0.0, n_nodes)?;
    let mut table = Leaves::Both(Shared::new(nodes, y.n_outputs())?, Columns::new(y.n_outputs())?);
    let mut of_parents = nodes.shrinkage.is_some().then(|| Columns::new(y.n_outputs())).transpose()?;
    for output in 0..y.n_outputs() {
        control.check()?;
        let is_known = |row: &&u32| !y.of(**row)[output].is_nan();
        for &leaf in &nodes.leaves {
            n_known[leaf as usize] = nodes.rows(leaf as usize).iter().filter(is_known).count() as u32;
        }
        nodes.sum_up(&mut n_known);
        nodes.find_nearest(|node| n_known[node] > 0, &mut nearest);
        mean_of.fill(f64::NAN);
        for &node in nodes.leaves.iter().chain(nodes.leaf_parents()) {
            let from = nearest[node as usize];
            if from != NOBODY && mean_of[from as usize].is_nan() {
                let cells = nodes.rows(from as usize).iter().filter(is_known);
                mean_of[from as usize] = exact_mean(cells.map(|&row| (y.of(row)[output], units(row))));
            }
        }
        // Nodes from which no leaf takes values have none.
        let mean = |node: usize| match nearest[node] {
            NOBODY => y.means()[output],
            from => mean_of[from as usize],
        };
        if let Some(shrinkage) = &nodes.shrinkage {
            for &leaf in nodes.leaves.iter().filter(|&&leaf| n_known[leaf as usize] > 0) {
                let cells = nodes.rows(leaf as usize).iter().filter(is_known);
                let known = cells.map(|&row| units(row)).sum::<u64>() as f64;
                let (leaf, above) = (leaf as usize, nodes.parents[leaf as usize] as usize);
                shrunk[leaf] = shrinkage.shrunk(leaf, known, mean(leaf), mean(above));
            }
        }
        let value = |node: usize| match n_known[node] > 0 && nodes.shrinkage.is_some() && nodes.is_leaf(node) {
            true => shrunk[node],
            false => mean(node),
        };
        if let Some(columns) = &mut of_parents {
            columns.push_all(nodes.leaf_parents(), mean)?;
        }
        if let Some(shared) = table.shared() {
            shared.push(nodes, value, |node| n_known[node] > 0)?;
        }
        if let Some(columns) = table.apart() {
            columns.push_all(&nodes.leaves, value)?;
        }
        table = table.decided(nodes, |columns| columns.cells.len());
    }
    let leaves = match table {
        Leaves::Both(_, columns) | Leaves::Apart(columns) => columns.into_table(nodes.leaves.len())?,
        Leaves::Shared(shared) => shared.into_table(nodes)?,
    };
    let parents = of_parents.map(|columns| columns.into_table(nodes.leaf_parents().len())).transpose()?;
    Ok(Tables { leaves, parents })
}
