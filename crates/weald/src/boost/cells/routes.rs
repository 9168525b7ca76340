//! The leaves of all samples in the tree of a stage, most of which it was not grown on.

use crate::control::Control;
use crate::data::{Matrix, SparseView};
use crate::error::{Purpose, Result};
use crate::tree::Tree;
use crate::tree::rows::Rows;

const PURPOSE: Purpose = Purpose("the leaves of rows");

/// X in the form in which its samples are sent down a tree.
#[derive(Debug)]
pub(super) enum Routes<'x> {
    Dense(Rows<'x>),
    /// By column.
    Sparse(SparseView<'x>),
}

impl<'x> Routes<'x> {
    pub(super) fn new(x: &'x Matrix<'x>, control: &Control) -> Result<Self> {
        Ok(match x {
            Matrix::Dense(_) => Routes::Dense(Rows::new(x, x.n_features(), control)?),
            Matrix::Csc(x) => Routes::Sparse(x.view()),
            Matrix::Csr(x) => Routes::Sparse(x.try_transposed(control)?),
        })
    }

    /// Returns the leaf of each sample.
    ///
    /// Of sparse X, only the entries of columns that the tree tests are read. The child that zeros go to has the place
    /// of its parent, and the other one a new place, to which the entries that go there are moved.
    pub(super) fn leaves(&self, tree: &Tree, control: &Control) -> Result<Vec<u32>> {
        let by_column = match self {
            Routes::Dense(rows) => return rows.leaves(tree, control),
            Routes::Sparse(by_column) => by_column,
        };
        let mut place_of = PURPOSE.filled(0u32, by_column.n_minor())?;
        let mut of_nodes = PURPOSE.filled(0u32, tree.n_nodes())?;
        let mut leaf_at = PURPOSE.filled(0u32, tree.n_leaves())?;
        let mut n_places = 1;
        for (i, node) in tree.nodes().iter().enumerate() {
            let here = of_nodes[i];
            if node.is_leaf() {
                leaf_at[here as usize] = node.right();
                continue;
            }
            control.check()?;
            let decision = tree.decision(i);
            let zeros_go_left = decision.goes_left(0.0);
            let (left, right) = if zeros_go_left { (here, n_places) } else { (n_places, here) };
            (of_nodes[i + 1], of_nodes[node.right() as usize]) = (left, right);
            let (rows, values) = by_column.slice(node.feature() as usize);
            for (&row, &value) in rows.iter().zip(values) {
                let place = &mut place_of[row as usize];
                if *place == here && decision.goes_left(value) != zeros_go_left {
                    *place = n_places;
                }
            }
            n_places += 1;
        }
        place_of.iter_mut().for_each(|place| *place = leaf_at[*place as usize]);
        Ok(place_of)
    }
}
