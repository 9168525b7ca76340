//! The contributions of the leaves of a tree to predictions, as a sparse matrix with one row for each node.

use super::Tree;
use crate::error::{Purpose, Result};

const PURPOSE: Purpose = Purpose("the values of leaves");

/// The values of the leaves of a tree, as a CSR matrix of shape (n_nodes, n_columns of predictions): node i has the
/// columns and values from `ptr[i]` to `ptr[i + 1]`, in increasing order of columns. Splits have none.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LeafValues {
    /// The offsets of the nodes, of length n_nodes + 1.
    pub ptr: Vec<usize>,
    /// The columns of predictions, one node after another.
    pub columns: Vec<u32>,
    /// The values, none of which is zero.
    pub values: Vec<f64>,
}

impl Tree {
    /// Returns the non-zero values that the leaf at each node adds to predictions. They are bit for bit the numbers
    /// that prediction adds.
    ///
    /// Time and memory are O(n_nodes + stored values), whatever the number of columns. If leaves refer to samples of y,
    /// their values are computed from these.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn leaf_values(&self) -> Result<LeafValues> {
        let mut ptr = PURPOSE.with_capacity(self.n_nodes() + 1)?;
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        ptr.push(0);
        for node in &self.nodes {
            if node.is_leaf() {
                for (column, value) in self.leaves.value(node.right() as usize) {
                    PURPOSE.push(&mut columns, column)?;
                    PURPOSE.push(&mut values, value)?;
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
    fn leaves_have_the_values_of_their_samples_and_splits_none() {
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
