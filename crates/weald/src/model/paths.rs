//! The leaves that samples reach, and the nodes that they pass on the way.

use ndarray::Array2;

use super::{Additive, into_array};
use crate::control::Control;
use crate::data::Matrix;
use crate::error::{ErrorKind, Purpose, Result};
use crate::pool;
use crate::tree::traverse::path;

/// The nodes that each sample passes, as a CSR indicator matrix with one column for each node of each tree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecisionPath {
    /// The columns of sample i are `nodes[ptr[i]..ptr[i + 1]]`.
    pub ptr: Vec<usize>,
    /// Column indices: node j of tree t is column `tree_offsets[t] + j`. They are strictly increasing within a sample.
    pub nodes: Vec<u32>,
    /// The first column of each tree, followed by the total number of columns.
    pub tree_offsets: Vec<usize>,
}

impl Additive<'_> {
    /// Returns the node index of the leaf that each sample reaches in each tree, (n_samples, n_trees).
    pub(crate) fn apply(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<u32>> {
        let rows = self.rows(x, control)?;
        let (n, n_trees) = (rows.n_samples(), self.trees.len());
        let mut ids = Purpose("leaf indices").zeros(n, n_trees)?;
        // The leaves are the result itself, so that larger blocks need no more memory.
        let block = rows.block_rows(1, control.n_threads());
        pool::for_each(
            control.n_threads(),
            ids.chunks_mut(block * n_trees).enumerate(),
            || rows.scratch(),
            |scratch, (b, ids)| {
                control.check()?;
                let range = b * block..(b * block + block).min(n);
                rows.walk(range, &self.trees, scratch, ids);
                Ok(())
            },
        )?;
        Ok(into_array(ids, n, n_trees))
    }

    /// Returns the nodes that each sample passes in each tree.
    pub(crate) fn decision_path(&self, x: &Matrix<'_>, control: &Control) -> Result<DecisionPath> {
        let rows = self.rows(x, control)?;
        let n = rows.n_samples();
        let mut tree_offsets = vec![0];
        for tree in &self.trees {
            tree_offsets.push(tree_offsets[tree_offsets.len() - 1] + tree.n_nodes());
        }
        let limit = u32::MAX as usize;
        if tree_offsets[self.trees.len()] > limit {
            return Err(ErrorKind::TooMany { what: "nodes", limit }.into());
        }
        let block = rows.block_rows(self.trees.len(), control.n_threads());
        let blocks = pool::map(control.n_threads(), n.div_ceil(block), |b| {
            control.check()?;
            let range = b * block..(b * block + block).min(n);
            let (mut nodes, mut ends) = (Vec::new(), Purpose("decision paths").with_capacity(range.len())?);
            let mut grown = Ok(());
            rows.for_each(range, &mut rows.scratch()?, |row| {
                for (tree, &offset) in self.trees.iter().zip(&tree_offsets) {
                    path::<true>(tree, row, |node| {
                        // The capacity is doubled, as by a push, but the allocation may fail; then no more nodes are
                        // stored.
                        if grown.is_ok() && nodes.len() == nodes.capacity() {
                            let more = nodes.len().max(1 << 10);
                            grown = Purpose("decision paths").reserve(&mut nodes, more);
                        }
                        if grown.is_ok() {
                            nodes.push(offset as u32 + node);
                        }
                    });
                }
                ends.push(nodes.len());
            });
            grown.map(|()| (nodes, ends))
        })?;
        let n_passed = blocks.iter().map(|(nodes, _)| nodes.len()).sum();
        let mut nodes = Purpose("decision paths").with_capacity(n_passed)?;
        let mut ptr = Purpose("decision paths").with_capacity(n + 1)?;
        ptr.push(0);
        for (block, ends) in blocks {
            ptr.extend(ends.iter().map(|end| nodes.len() + end));
            nodes.extend(block);
        }
        Ok(DecisionPath { ptr, nodes, tree_offsets })
    }
}
