//! Reference implementations, as short as possible.

use ndarray::{Array2, ArrayView1};

use crate::forest::Forest;
use crate::model::SparseScores;
use crate::tree::Tree;

/// Returns the nodes on the path of sample `row`.
pub(crate) fn path(tree: &Tree, row: ArrayView1<'_, f32>) -> Vec<usize> {
    fn walk(tree: &Tree, row: ArrayView1<'_, f32>, at: usize, passed: &mut Vec<usize>) {
        passed.push(at);
        let node = tree.nodes[at];
        if !node.is_leaf() {
            let goes_left = node.decision(&tree.sets).goes_left(row[node.feature() as usize]);
            walk(tree, row, if goes_left { at + 1 } else { node.right() as usize }, passed);
        }
    }
    let mut passed = Vec::new();
    walk(tree, row, 0, &mut passed);
    passed
}

pub(crate) fn apply(tree: &Tree, row: ArrayView1<'_, f32>) -> usize {
    *path(tree, row).last().unwrap()
}

/// Returns the values of all leaves, of shape (n_leaves, width).
pub(crate) fn leaf_values(tree: &Tree) -> Array2<f64> {
    let mut values = Array2::zeros((tree.n_leaves(), tree.leaves.width()));
    for leaf in 0..tree.n_leaves() {
        tree.leaves.value(leaf).for_each(|(column, v)| values[[leaf, column as usize]] = v);
    }
    values
}

/// Returns the means over the trees for which `votes(sample, tree)` is true, or NaN if there are none.
pub(crate) fn predict(forest: &Forest, x: &Array2<f32>, votes: impl Fn(usize, usize) -> bool) -> Array2<f64> {
    let tables: Vec<_> = forest.trees.iter().map(|tree| leaf_values(tree)).collect();
    let mut out = Array2::zeros((x.nrows(), forest.outputs.width()));
    for (i, mut out) in out.rows_mut().into_iter().enumerate() {
        let mut n = 0;
        for (t, tree) in forest.trees.iter().enumerate().filter(|(t, _)| votes(i, *t)) {
            out += &tables[t].row(tree.nodes[apply(tree, x.row(i))].right() as usize);
            n += 1;
        }
        out.mapv_inplace(|v| v / f64::from(n));
    }
    out
}

/// Returns the standard deviations over the trees for which `votes(sample, tree)` is true; 0 if there is one or none.
pub(crate) fn spread(forest: &Forest, x: &Array2<f32>, votes: impl Fn(usize, usize) -> bool) -> Array2<f64> {
    let means = predict(forest, x, &votes);
    let of_trees: Vec<_> = (0..forest.n_trees()).map(|t| predict(&forest.only(t), x, |_, _| true)).collect();
    Array2::from_shape_fn(means.dim(), |(i, j)| {
        let own: Vec<f64> = (0..of_trees.len()).filter(|&t| votes(i, t)).map(|t| of_trees[t][[i, j]]).collect();
        let squares = own.iter().map(|value| (value - means[[i, j]]).powi(2));
        (squares.fold(0.0, |a, b| a + b) / (own.len() as f64 - 1.0).max(1.0)).sqrt()
    })
}

/// Returns the entries of dense predictions that are positive and at least `floor`.
pub(crate) fn at_least(scores: &Array2<f64>, floor: f64) -> SparseScores {
    let mut found = SparseScores { ptr: vec![0], columns: Vec::new(), values: Vec::new() };
    for row in scores.rows() {
        for (column, &value) in (0..).zip(row).filter(|(_, value)| **value > 0.0 && **value >= floor) {
            found.columns.push(column);
            found.values.push(value);
        }
        found.ptr.push(found.columns.len());
    }
    found
}

/// Returns the best k columns of each row of dense predictions.
pub(crate) fn topk(scores: &Array2<f64>, k: usize) -> Vec<Vec<(u32, f64)>> {
    let best = |row: ArrayView1<'_, f64>| {
        let mut columns: Vec<(u32, f64)> = (0..).zip(row.iter().copied()).collect();
        columns.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
        columns.truncate(k);
        columns
    };
    scores.rows().into_iter().map(best).collect()
}
