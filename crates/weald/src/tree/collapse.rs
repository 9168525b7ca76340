//! The tree that remains when splits are replaced by leaves, and the values of the new leaves.
//!
//! The input is a tree and the splits that become leaves, and the output is a tree in pre-order. A new leaf has the
//! value that growth would have given it: counts are sums of the counts of the leaves below it and therefore exact, and
//! means of numbers are the weighted means of these leaves, equal up to rounding. The median of all samples does not
//! follow from the medians of leaves: such trees are collapsed before their leaves have values (see
//! [`Structure::collapsed`]), or not at all. Sparse leaves remain sparse, because the table is built from stored cells.
//! O(n_nodes + stored cells), with one scratch array of the width of the outputs.

use std::ops::Range;

use super::growth::grow::Structure;
use super::leaves::LeafTableBuilder;
use super::{Node, Tree};
use crate::control::Control;
use crate::criterion::LeafValues;
use crate::data::Outputs;
use crate::error::{Error, Purpose, Result};

const PURPOSE: Purpose = Purpose("a pruned tree");

impl Tree {
    /// Returns whether leaves hold whole numbers of units and their total, and not means.
    fn holds_counts(&self) -> bool {
        !matches!(self.outputs(), Outputs::Real { .. }) && self.leaves.total(0).is_some()
    }

    /// Returns the end of the subtree of each node: the subtree of node i is `i..ends[i]`.
    pub(crate) fn subtree_ends(&self) -> Result<Vec<u32>> {
        ends_of(&self.nodes)
    }

    /// Returns the tree in which the splits selected by `is_leaf` are replaced by leaves. If one is below another, the
    /// upper one applies.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] if leaves are medians.
    pub(crate) fn collapsed(&self, is_leaf: impl Fn(usize) -> bool, control: &Control) -> Result<Tree> {
        if self.criterion.leaf_values() == LeafValues::Medians {
            let must = "be a criterion whose leaves are means, if splits of a fitted tree become leaves";
            return Err(Error::invalid("criterion", format!("{:?}", self.criterion), must));
        }
        let left = Left::new(&self.nodes, is_leaf)?;
        if left.kept.len() == self.n_nodes() {
            return self.try_clone();
        }
        let mut leaves = LeafSums::new(self)?;
        let mut pulse = control.pulse();
        for (nodes, below) in &left.leaves {
            pulse.after(leaves.push(self, nodes.clone(), below.clone())?)?;
        }
        let mut nodes = left.nodes;
        Ok(Tree {
            n_features: self.n_features,
            outputs: self.outputs.clone(),
            criterion: self.criterion,
            sets: self.sets.kept_by(&mut nodes)?,
            nodes,
            impurity: kept_of(&self.impurity, &left.kept)?,
            n_node_samples: kept_of(&self.n_node_samples, &left.kept)?,
            weighted_n_node_samples: kept_of(&self.weighted_n_node_samples, &left.kept)?,
            leaves: leaves.table.finish()?,
        })
    }
}

impl Structure {
    /// Returns the structure in which the selected splits are replaced by leaves, for a tree whose leaves do not have
    /// values yet. A new leaf has the samples of the leaves below it.
    pub(crate) fn collapsed(mut self, is_leaf: impl Fn(usize) -> bool, control: &Control) -> Result<Structure> {
        let left = Left::new(&self.nodes, is_leaf)?;
        let mut leaf_samples = PURPOSE.with_capacity(left.leaves.len())?;
        let mut pulse = control.pulse();
        for (_, below) in &left.leaves {
            // Samples are in the order of their leaves, from left to right.
            let samples = self.leaf_samples[below.start].start..self.leaf_samples[below.end - 1].end;
            if below.len() > 1 {
                self.order[samples.start as usize..samples.end as usize].sort_unstable();
            }
            pulse.after(samples.len())?;
            leaf_samples.push(samples);
        }
        let mut nodes = left.nodes;
        Ok(Structure {
            sets: self.sets.kept_by(&mut nodes)?,
            nodes,
            impurity: kept_of(&self.impurity, &left.kept)?,
            n_node_samples: kept_of(&self.n_node_samples, &left.kept)?,
            weight: kept_of(&self.weight, &left.kept)?,
            leaf_samples,
            order: self.order,
        })
    }
}

/// The nodes that remain when some splits become leaves.
#[derive(Debug)]
struct Left {
    /// The old numbers of the nodes that remain.
    kept: Vec<u32>,
    /// The remaining nodes, with the numbers of the new tree.
    nodes: Vec<Node>,
    /// For each new leaf, the old nodes of its subtree and the old leaves below it.
    leaves: Vec<(Range<usize>, Range<usize>)>,
}

impl Left {
    fn new(old: &[Node], is_leaf: impl Fn(usize) -> bool) -> Result<Self> {
        let ends = ends_of(old)?;
        // The nodes that remain, and the position of each one among them.
        let mut kept: Vec<u32> = PURPOSE.with_capacity(old.len())?;
        let mut place = PURPOSE.filled(0u32, old.len())?;
        let mut i = 0;
        while i < old.len() {
            place[i] = kept.len() as u32;
            kept.push(i as u32);
            i = if is_leaf(i) { ends[i] as usize } else { i + 1 };
        }
        let mut nodes = PURPOSE.with_capacity(kept.len())?;
        let mut leaves: Vec<(Range<usize>, Range<usize>)> = PURPOSE.with_capacity(kept.len().div_ceil(2))?;
        let mut n_old_leaves = 0;
        for (at, &i) in kept.iter().enumerate() {
            let (i, node) = (i as usize, old[i as usize]);
            let next = kept.get(at + 1).map_or(old.len(), |&next| next as usize);
            if !node.is_leaf() && next == i + 1 {
                nodes.push(node.with_right(place[node.right() as usize]));
                continue;
            }
            // A tree of m nodes has (m + 1) / 2 leaves.
            let below = n_old_leaves..n_old_leaves + (ends[i] as usize - i).div_ceil(2);
            n_old_leaves = below.end;
            nodes.push(Node::leaf(leaves.len() as u32));
            leaves.push((i..ends[i] as usize, below));
        }
        Ok(Left { kept, nodes, leaves })
    }
}

/// Returns the ends of subtrees, see [`Tree::subtree_ends`].
fn ends_of(nodes: &[Node]) -> Result<Vec<u32>> {
    let mut ends = Purpose("the ends of subtrees").filled(0u32, nodes.len())?;
    for (i, node) in nodes.iter().enumerate().rev() {
        ends[i] = if node.is_leaf() { i as u32 + 1 } else { ends[node.right() as usize] };
    }
    Ok(ends)
}

fn kept_of<T: Copy>(values: &[T], kept: &[u32]) -> Result<Vec<T>> {
    PURPOSE.collected(kept.iter().map(|&i| values[i as usize]))
}

/// The leaves of the new tree, each computed from the old leaves below it.
#[derive(Debug)]
struct LeafSums {
    table: LeafTableBuilder,
    /// The columns that are non-zero in some leaf below the current leaf.
    touched: Vec<u32>,
    cells: Vec<(u32, u64)>,
    /// Invariant: all three are 0, or `UNSEEN`, for columns that are not in `touched`.
    counts: Vec<u64>,
    means: Vec<f64>,
    ranges: Vec<Seen>,
}

/// The non-zero values of a column in the leaves below.
#[derive(Clone, Copy, Debug)]
struct Seen {
    n_leaves: u32,
    low: f64,
    high: f64,
}

const UNSEEN: Seen = Seen { n_leaves: 0, low: f64::INFINITY, high: f64::NEG_INFINITY };

impl LeafSums {
    fn new(tree: &Tree) -> Result<Self> {
        const PURPOSE: Purpose = Purpose("the sums of leaves");
        let width = tree.leaves.width();
        // Either the first array or the other two are used.
        let (n_counts, n_means) = if tree.holds_counts() { (width, 0) } else { (0, width) };
        Ok(LeafSums {
            table: LeafTableBuilder::new(width),
            touched: Vec::new(),
            cells: Vec::new(),
            counts: PURPOSE.filled(0, n_counts)?,
            means: PURPOSE.filled(0.0, n_means)?,
            ranges: PURPOSE.filled(UNSEEN, n_means)?,
        })
    }

    /// Adds the next leaf, in place of `nodes` of `tree` with its `leaves`. Returns the number of steps.
    fn push(&mut self, tree: &Tree, nodes: Range<usize>, leaves: Range<usize>) -> Result<usize> {
        if tree.holds_counts() { self.push_counts(tree, leaves) } else { self.push_means(tree, nodes, leaves.len()) }
    }

    fn push_counts(&mut self, tree: &Tree, leaves: Range<usize>) -> Result<usize> {
        let (mut total, mut n_steps) = (0, 1);
        for leaf in leaves {
            total += tree.leaves.total(leaf).map_or(0, |total| total as u64);
            for (column, amount) in tree.leaves.cells(leaf) {
                let count = &mut self.counts[column as usize];
                if *count == 0 {
                    self.touched.push(column);
                }
                *count += amount as u64;
                n_steps += 1;
            }
        }
        self.touched.sort_unstable();
        self.cells.clear();
        self.cells.extend(self.touched.drain(..).map(|c| (c, std::mem::take(&mut self.counts[c as usize]))));
        self.table.push_counts(&self.cells, total)?;
        Ok(n_steps)
    }

    fn push_means(&mut self, tree: &Tree, nodes: Range<usize>, n_leaves: usize) -> Result<usize> {
        let total: f64 =
            nodes.clone().filter(|&i| tree.nodes[i].is_leaf()).map(|i| tree.weighted_n_node_samples[i]).sum();
        let mut n_steps = self.means.len();
        for i in nodes.filter(|&i| tree.nodes[i].is_leaf()) {
            let share = if n_leaves == 1 { 1.0 } else { tree.weighted_n_node_samples[i] / total };
            for (column, value) in tree.leaves.value(tree.nodes[i].right() as usize) {
                let seen = &mut self.ranges[column as usize];
                if seen.n_leaves == 0 {
                    self.touched.push(column);
                }
                *seen = Seen { n_leaves: seen.n_leaves + 1, low: seen.low.min(value), high: seen.high.max(value) };
                self.means[column as usize] += share * value;
                n_steps += 1;
            }
        }
        for &column in &self.touched {
            // If all leaves have the same value, the result is this value, whatever the rounding of the shares.
            let seen = std::mem::replace(&mut self.ranges[column as usize], UNSEEN);
            let zero = if (seen.n_leaves as usize) < n_leaves { 0.0 } else { seen.low };
            let mean = &mut self.means[column as usize];
            *mean = mean.clamp(seen.low.min(zero), seen.high.max(zero));
        }
        self.table.push_means(&self.means)?;
        self.touched.drain(..).for_each(|column| self.means[column as usize] = 0.0);
        Ok(n_steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{models, naive};

    #[test]
    fn new_leaves_have_the_values_of_the_nodes_they_replace_and_samples_reach_them() {
        for seed in 0..150u64 {
            let forest = models::some_forest(seed);
            let tree = forest.tree(0);
            let chosen = |i: usize| (i as u64 * 31 + seed).is_multiple_of(5) && !tree.nodes[i].is_leaf();
            let pruned = tree.collapsed(chosen, &Control::default()).unwrap();
            let (old_value, value) = (tree.value().unwrap(), pruned.value().unwrap());
            let rows = models::rows(seed, 40, tree.n_features);
            for row in rows.c_order.rows() {
                // The path in the old tree ends at the first node that becomes a leaf.
                let mut path = naive::path(tree, row);
                if let Some(at) = path.iter().position(|&i| chosen(i)) {
                    path.truncate(at + 1);
                }
                let new_path = naive::path(&pruned, row);
                assert_eq!(path.len(), new_path.len());
                for (&old, &new) in path.iter().zip(&new_path) {
                    assert_eq!(tree.impurity[old], pruned.impurity[new]);
                    assert_eq!(tree.n_node_samples[old], pruned.n_node_samples[new]);
                    assert_eq!(tree.weighted_n_node_samples[old], pruned.weighted_n_node_samples[new]);
                    let (a, b) = (old_value.index_axis(ndarray::Axis(0), old), value.index_axis(ndarray::Axis(0), new));
                    // Counts are whole numbers; the means of the nodes below are added in another order.
                    let exact = tree.holds_counts();
                    assert!(a.iter().zip(&b).all(|(a, b)| if exact { a == b } else { (a - b).abs() < 1e-12 }));
                }
            }
            // Reading a model file checks the structure.
            #[cfg(feature = "model-files")]
            {
                use crate::forest::Forest;
                let forest = Forest::from(pruned);
                assert_eq!(Forest::from_bytes(&forest.to_bytes().unwrap()).unwrap(), forest);
            }
        }
    }

    #[test]
    fn equal_leaves_give_their_exact_value_and_sparse_tables_stay_sparse() {
        let mut tree = models::chain(6);
        tree.outputs = crate::data::Outputs::Real { n_outputs: 300 }.into();
        tree.weighted_n_node_samples = (0..13).map(|i| 0.1 * f64::from(i) + 0.3).collect();
        let mut builder = LeafTableBuilder::new(300);
        let mut means = vec![0.0; 300];
        means[7] = 0.1;
        (0..7).for_each(|_| builder.push_means(&means).unwrap());
        tree.leaves = builder.finish().unwrap();
        let stump = tree.collapsed(|i| i == 0, &Control::default()).unwrap();
        assert!(stump.leaves.is_sparse());
        assert_eq!(stump.leaves.value(0).collect::<Vec<_>>(), [(7, 0.1)]);
        assert_eq!((stump.n_nodes(), stump.n_leaves()), (1, 1));
        let same = tree.collapsed(|_| false, &Control::default()).unwrap();
        assert_eq!(same, tree);
    }
}
