//! The values of the leaves if some cells of y are unknown.
//!
//! For each output, a leaf predicts the mean of its known cells; if it has none, the mean of the nearest node above
//! that has some; and if the tree has none, the mean of all samples of the fit. For numbers, one column after the other
//! is computed from its different sets of known cells, of which a column with c cells has at most 2 c − 1, whatever the
//! number of nodes: see [`sets`]. Memory: O(nodes + known cells + stored values). For frequencies, see [`frequencies`]:
//! O(known cells + nodes × columns).
//!
//! Nodes may have any number of children. If a forest shrinks leaves towards their parents, the values of the parents
//! are computed too, and a leaf is shrunk by what it knows of each output: see [`Shrinkage`].
//!
//! Leaves that know little store what they share with others once, see [`records`]: this is decided by the first
//! columns.

mod frequencies;
mod records;
mod sets;
#[cfg(test)]
mod tests;

use std::ops::Range;

use records::{Leaves, Shared};
use sets::Paths;

use super::growth::grow::Structure;
use super::leaves::{LeafTable, LeafTableBuilder};
use crate::control::Control;
use crate::data::known::masked::MaskedNumbers;
use crate::data::train_y::TrainY;
use crate::error::{Purpose, Result};

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
    let mut leaves = PURPOSE.copied(&nodes.leaves)?;
    leaves.sort_unstable_by_key(|&leaf| nodes.samples[leaf as usize].start);
    let rows = leaves.iter().flat_map(|&leaf| nodes.rows(leaf as usize).iter().map(move |&row| (leaf, row)));
    let columns = y.cells().by_column(rows, &y.cells().units(&units)?, &units)?;
    let mut paths = Paths::new(nodes)?;
    let n_children = PURPOSE.copied(&paths.n_children)?;
    // The mean of each set of cells, and the last stored value above the leaves that have a part of it.
    let mut of_sets: Vec<(f64, f64)> = Vec::new();
    let (mut of_nodes, mut shrunk) = (PURPOSE.filled(f64::NAN, nodes.len())?, Vec::new());
    let mut table = Leaves::Both(Shared::new(nodes, y.n_outputs())?, Columns::new(y.n_outputs())?);
    let mut of_parents = nodes.shrinkage.is_some().then(|| Columns::new(y.n_outputs())).transpose()?;
    for output in 0..y.n_outputs() {
        control.check()?;
        let known = columns.of(output);
        let sets = paths.sets(known.iter().map(|cell| cell.number))?;
        of_sets.clear();
        shrunk.clear();
        PURPOSE.reserve(&mut of_sets, sets.len())?;
        let mut stored = table.shared().map(|shared| &mut shared.columns);
        if let (Some(stored), true) = (&mut stored, sets.is_empty() && y.means()[output] != 0.0) {
            stored.push(0, y.means()[output])?;
        }
        for set in sets {
            let (is_leaf, cells) = (nodes.is_leaf(set.node as usize), &known[set.start..set.end]);
            let mean = y.mean(cells);
            let (of_above, mut passed) = set.above(&of_sets).unwrap_or((mean, 0.0));
            let mut keep = |node: u32, value: f64| match &mut stored {
                Some(stored) if value != std::mem::replace(&mut passed, value) => stored.push(node, value),
                Some(_) | None => Ok(()),
            };
            // A leaf without cells takes the value of a node of the path.
            if set.top != set.node || !is_leaf && set.n_children < n_children[set.node as usize] {
                keep(set.top, mean)?;
            }
            if let (Some(shrinkage), true) = (&nodes.shrinkage, is_leaf) {
                let weight = cells.iter().map(|cell| cell.units).sum::<u64>() as f64;
                let of_parent = if set.top == set.node { of_above } else { mean };
                PURPOSE.push(&mut shrunk, (set.node, shrinkage.shrunk(set.node as usize, weight, mean, of_parent)))?;
            }
            if is_leaf {
                keep(set.node, if nodes.shrinkage.is_some() { shrunk[shrunk.len() - 1].1 } else { mean })?;
            }
            of_sets.push((mean, passed));
        }
        if let Some(stored) = stored {
            stored.end();
        }
        if table.apart().is_some() || of_parents.is_some() {
            of_nodes.fill(f64::NAN);
            of_nodes[0] = y.means()[output];
            sets.iter().zip(&of_sets).for_each(|(set, of_set)| of_nodes[set.top as usize] = of_set.0);
            for i in 1..nodes.len() {
                if of_nodes[i].is_nan() {
                    of_nodes[i] = of_nodes[nodes.parents[i] as usize];
                }
            }
            if let Some(columns) = &mut of_parents {
                columns.push_all(nodes.leaf_parents(), |node| of_nodes[node])?;
            }
            shrunk.iter().for_each(|&(leaf, value)| of_nodes[leaf as usize] = value);
        }
        if let Some(columns) = table.apart() {
            columns.push_all(&nodes.leaves, |node| of_nodes[node])?;
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
