//! The values of the leaves if some cells of y are unknown.
//!
//! For each output, a leaf predicts the mean of its known cells; if it has none, the mean of the nearest node above
//! that has some; and if the tree has none, the mean of all samples of the fit. The columns are computed one after the
//! other, each in two passes over the nodes: an upward pass that finds which nodes have known cells, and a downward
//! pass that finds the node from which each leaf takes its value. A mean is computed once for each node from which a
//! leaf takes it. O(known cells + nodes × columns), and for numbers also the samples of the nodes from which leaves
//! below take their values. Memory: O(nodes + stored values).

use std::ops::Range;

use super::grow::Structure;
use super::leaves::{LeafTable, LeafTableBuilder};
use crate::control::Control;
use crate::data::masked::{MaskedNumbers, MaskedSlots};
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

/// The non-zero values of leaves, one column after the other.
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

    /// Adds the next column, given its value in each leaf.
    fn push(&mut self, values: impl Iterator<Item = f64>) -> Result<()> {
        for cell in (0u32..).zip(values).filter(|(_, value)| *value != 0.0) {
            PURPOSE.push(&mut self.cells, cell)?;
        }
        self.ptr.push(self.cells.len());
        Ok(())
    }

    fn into_table(self, n_leaves: usize) -> Result<LeafTable> {
        let width = self.ptr.len() - 1;
        // A counting sort groups the values by leaf and keeps the columns in increasing order.
        let mut ends = PURPOSE.filled(0usize, n_leaves + 1)?;
        self.cells.iter().for_each(|(leaf, _)| ends[*leaf as usize + 1] += 1);
        (0..n_leaves).for_each(|leaf| ends[leaf + 1] += ends[leaf]);
        let starts = ends;
        let mut next = PURPOSE.collected(starts.iter().copied())?;
        let mut by_leaf = PURPOSE.filled((0u32, 0.0), self.cells.len())?;
        for (column, range) in (0u32..).zip(self.ptr.windows(2)) {
            for &(leaf, value) in &self.cells[range[0]..range[1]] {
                by_leaf[next[leaf as usize]] = (column, value);
                next[leaf as usize] += 1;
            }
        }
        let mut table = LeafTableBuilder::of_means(width);
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
    let mut columns = Columns::new(y.n_outputs())?;
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
        let value = |&leaf: &u32| match nearest[leaf as usize] {
            NOBODY => y.means()[output],
            from => mean_of[from as usize],
        };
        columns.push(nodes.leaves.iter().map(value))?;
    }
    columns.into_table(nodes.leaves.len())
}

/// Computes the leaves for classes and labels: frequencies, from weights in units.
pub(super) fn frequencies(
    structure: &Structure,
    y: &MaskedSlots<'_>,
    units: impl Fn(u32) -> u64,
    control: &Control,
) -> Result<LeafTable> {
    let nodes = Nodes::new(structure)?;
    let (n_nodes, width, n_outputs) = (structure.nodes.len(), y.width(), y.known().n_outputs());
    // The units that each leaf has of each slot, and of each output a correction to `mostly`, the units of samples of
    // which the majority of outputs is known. Both are pairs (node of the leaf, units), one column after the other.
    let mut mostly = PURPOSE.filled(0i64, n_nodes)?;
    let (mut of_slots, mut of_outputs) = (ByColumn::new(width)?, ByColumn::new(n_outputs)?);
    for count in [true, false] {
        for &leaf in &nodes.leaves {
            for &row in nodes.rows(leaf as usize) {
                let (is_mostly, listed) = y.known().of(row);
                if count {
                    of_slots.count(y.of(row));
                    of_outputs.count(listed);
                    continue;
                }
                let units = units(row) as i64;
                mostly[leaf as usize] += if is_mostly { units } else { 0 };
                of_slots.put(y.of(row), leaf, units);
                of_outputs.put(listed, leaf, if is_mostly { -units } else { units });
            }
        }
        if count {
            of_slots.make_room()?;
            of_outputs.make_room()?;
        }
    }
    let (mut weights, mut counts) = (PURPOSE.filled(0i64, n_nodes)?, PURPOSE.filled(0i64, n_nodes)?);
    let mut nearest = PURPOSE.filled(NOBODY, n_nodes)?;
    let mut columns = Columns::new(width)?;
    let mut output = None;
    for slot in 0..width as u32 {
        control.check()?;
        // The slots of an output are adjacent.
        if output != Some(y.output(slot)) {
            output = Some(y.output(slot));
            weights.copy_from_slice(&mostly);
            of_outputs.of(y.output(slot)).for_each(|(leaf, units)| weights[leaf as usize] += units);
            nodes.sum_up(&mut weights);
            nodes.find_nearest(|node| weights[node] > 0, &mut nearest);
        }
        counts.fill(0);
        of_slots.of(slot).for_each(|(leaf, units)| counts[leaf as usize] += units);
        nodes.sum_up(&mut counts);
        let value = |&leaf: &u32| match nearest[leaf as usize] {
            NOBODY => y.means()[slot as usize],
            from => counts[from as usize] as f64 / weights[from as usize] as f64,
        };
        columns.push(nodes.leaves.iter().map(value))?;
    }
    columns.into_table(nodes.leaves.len())
}

/// The units of leaves, one column after the other. Cells are first counted and then stored.
#[derive(Debug)]
struct ByColumn {
    /// Before the cells are stored, the start of each column; afterwards, its end.
    ends: Vec<usize>,
    starts: Vec<usize>,
    cells: Vec<(u32, i64)>,
}

impl ByColumn {
    fn new(n_columns: usize) -> Result<Self> {
        Ok(ByColumn { ends: PURPOSE.filled(0, n_columns)?, starts: Vec::new(), cells: Vec::new() })
    }

    fn count(&mut self, columns: &[u32]) {
        columns.iter().for_each(|&column| self.ends[column as usize] += 1);
    }

    fn make_room(&mut self) -> Result<()> {
        let mut n_cells = 0;
        for end in &mut self.ends {
            n_cells += std::mem::replace(end, n_cells);
        }
        PURPOSE.extend(&mut self.starts, self.ends.iter().copied())?;
        self.cells = PURPOSE.filled((0, 0), n_cells)?;
        Ok(())
    }

    fn put(&mut self, columns: &[u32], leaf: u32, units: i64) {
        for &column in columns {
            let end = &mut self.ends[column as usize];
            self.cells[*end] = (leaf, units);
            *end += 1;
        }
    }

    fn of(&self, column: u32) -> impl Iterator<Item = (u32, i64)> + '_ {
        self.cells[self.starts[column as usize]..self.ends[column as usize]].iter().copied()
    }
}
