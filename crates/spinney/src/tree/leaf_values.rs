//! What the leaves of a tree add to predictions, as the rows of a sparse matrix over nodes.

use super::Tree;
use crate::error::{Result, try_push, try_with_capacity};

const WHAT: &str = "the values of leaves";

/// Values of the leaves of a tree: node i has the columns and values from `ptr[i]` to `ptr[i + 1]`, columns rising; splits
/// have none.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LeafValues {
    /// Offsets of the nodes, n_nodes + 1 of them.
    pub ptr: Vec<usize>,
    /// Columns of predictions, node after node.
    pub columns: Vec<u32>,
    /// Values, none of which is zero.
    pub values: Vec<f64>,
}

impl Tree {
    /// What the leaf of each node adds to predictions where that is not zero, the numbers that prediction adds, to the bit.
    ///
    /// O(n_nodes + stored values), time and memory, whatever the number of columns; where leaves refer to rows of y, their
    /// values are computed from these.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn leaf_values(&self) -> Result<LeafValues> {
        let mut ptr = try_with_capacity(WHAT, self.n_nodes() + 1)?;
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        ptr.push(0);
        for node in &self.nodes {
            if node.is_leaf() {
                for (column, value) in self.leaves.value(node.right() as usize) {
                    try_push(WHAT, &mut columns, column)?;
                    try_push(WHAT, &mut values, value)?;
                }
            }
            ptr.push(values.len());
        }
        Ok(LeafValues { ptr, columns, values })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{models, naive};

    #[test]
    fn leaves_have_the_values_of_their_rows_and_splits_none() {
        for seed in 0..150 {
            let forest = models::some_forest(seed);
            let tree = forest.tree(0);
            let (found, dense) = (tree.leaf_values().unwrap(), naive::leaf_values(tree));
            assert_eq!(found.ptr.len(), tree.n_nodes() + 1);
            for (i, node) in tree.nodes().iter().enumerate() {
                let cells = found.ptr[i]..found.ptr[i + 1];
                if !node.is_leaf() {
                    assert!(cells.is_empty());
                    continue;
                }
                let columns = &found.columns[cells.clone()];
                assert!(columns.is_sorted_by(|a, b| a < b));
                let mut row = vec![0.0; dense.ncols()];
                columns.iter().zip(&found.values[cells]).for_each(|(&c, &v)| row[c as usize] = v);
                assert_eq!(row, dense.row(node.right() as usize).to_vec());
            }
        }
    }
}
