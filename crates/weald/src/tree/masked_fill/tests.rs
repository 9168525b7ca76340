use ndarray::Array2;

use crate::data::{CellWeights, Dataset, LabelView};
#[cfg(feature = "model-files")]
use crate::forest::Forest;
use crate::rng::{Key, Stream};
use crate::tree::{Precision, Tree};
use crate::{Control, Criterion, TreeConfig};

/// Labels or numbers with unknown cells, and weights.
struct Cells {
    x: Array2<f32>,
    y: Array2<f64>,
    mask: Array2<bool>,
    weights: Vec<f64>,
}

/// Compares the leaves below a node, which has these samples, with means over its samples. Nodes above have the means
/// `above`.
fn check(tree: &Tree, cells: &Cells, node: usize, rows: &[usize], above: &[f64]) {
    let known = |column: usize| rows.iter().filter(move |row| !cells.mask[[**row, column]]);
    let values: Vec<f64> = (0..cells.y.ncols())
        .map(|column| {
            let weight: f64 = known(column).map(|&row| cells.weights[row]).sum();
            let sum: f64 = known(column).map(|&row| cells.weights[row] * cells.y[[row, column]]).sum();
            if weight > 0.0 { sum / weight } else { above[column] }
        })
        .collect();
    let at = &tree.nodes[node];
    if at.is_leaf() {
        let mut found = vec![0.0; values.len()];
        tree.leaves.add_to(at.right() as usize, &mut found);
        // Means of numbers are rounded otherwise than quotients of exact sums.
        assert!(found.iter().zip(&values).all(|(found, value)| (found - value).abs() <= 1e-14), "{found:?} {values:?}");
        check_leaf(tree, at.right() as usize, &found);
        return;
    }
    let is_left = |row: &usize| cells.x[[*row, at.feature() as usize]] <= at.threshold();
    let (left, right): (Vec<usize>, Vec<usize>) = rows.iter().partition(|row| is_left(row));
    check(tree, cells, node + 1, &left, &values);
    check(tree, cells, at.right() as usize, &right, &values);
}

/// Compares all ways to read a leaf with the values that it adds.
fn check_leaf(tree: &Tree, leaf: usize, values: &[f64]) {
    let zeros = || vec![0.0; values.len()];
    let (mut added, mut doubled, mut visited, mut each) = (zeros(), zeros(), zeros(), zeros());
    tree.leaves.add_to(leaf, &mut added);
    assert_eq!(added, values);
    tree.leaves.add_times(leaf, 2.0, &mut doubled);
    assert!(doubled.iter().zip(values).all(|(found, value)| *found == 2.0 * value));
    tree.leaves.visit(leaf, |column, value| {
        assert!(value != 0.0 && visited[column as usize] == 0.0);
        visited[column as usize] = value;
    });
    assert_eq!(visited, values);
    tree.leaves.add_each(std::iter::once(leaf), &mut each);
    assert_eq!(each, values);
    let listed: Vec<(u32, f64)> = tree.leaves.value(leaf).collect();
    let expected = (0u32..).zip(values.iter().copied()).filter(|(_, value)| *value != 0.0);
    assert_eq!(listed, expected.collect::<Vec<_>>());
}

fn cells(seed: u64, are_labels: bool) -> Cells {
    let mut stream = Stream::new(Key::from_seed(seed));
    let (n, q) = (60, [3, 9, 130][seed as usize % 3]);
    let unknown_of_ten = [1, 6, 9][seed as usize / 3 % 3];
    let on_of_ten = [1, 7][seed as usize / 9 % 2];
    // Each output is known somewhere.
    let mask = Array2::from_shape_fn((n, q), |(i, _)| i > 0 && stream.below(10) < unknown_of_ten);
    let number = |stream: &mut Stream| (stream.below(64) as f64 - 30.0) / 8.0;
    let y = Array2::from_shape_fn((n, q), |_| match are_labels {
        true => f64::from(stream.below(10) < on_of_ten),
        false => number(&mut stream),
    });
    let x = Array2::from_shape_fn((n, 2), |_| stream.below(1000) as f32);
    let weights: Vec<f64> = (0..n).map(|_| (1 + stream.below(3)) as f64).collect();
    Cells { x, y, mask, weights }
}

fn fitted(cells: &Cells, are_labels: bool) -> Tree {
    let mask = || CellWeights::from(&cells.mask);
    if !are_labels {
        let data = Dataset::new(&cells.x, &cells.y).y_weight(mask()).sample_weight(&cells.weights[..]);
        return TreeConfig::new(Criterion::Variance).fit(data).unwrap();
    }
    let (n, q) = cells.y.dim();
    let on = |row: usize| (0..q as u32).filter(move |&column| cells.y[[row, column as usize]] == 1.0);
    let lists: Vec<Vec<u32>> = (0..n).map(|row| on(row).collect()).collect();
    let ptr: Vec<usize> = (0..=n).map(|end| lists[..end].iter().map(Vec::len).sum()).collect();
    let labels = LabelView::try_new(ptr, lists.concat(), q).unwrap();
    let data = Dataset::new(&cells.x, labels).y_weight(mask()).sample_weight(&cells.weights[..]);
    TreeConfig::new(Criterion::Gini).fit(data).unwrap()
}

#[test]
fn leaves_have_the_means_of_the_nearest_node_with_known_cells() {
    for are_labels in [false, true] {
        let (mut n_dense, mut n_sparse, mut n_shared, mut n_deep) = (0, 0, 0, 0);
        for seed in 0..18 {
            let cells = cells(seed, are_labels);
            let tree = fitted(&cells, are_labels);
            n_deep += usize::from(tree.n_leaves() > 2);
            check(&tree, &cells, 0, &(0..cells.x.nrows()).collect::<Vec<_>>(), &[]);
            match (tree.leaves.records().is_some(), tree.leaves.is_sparse()) {
                (true, _) => n_shared += 1,
                (false, true) => n_sparse += 1,
                (false, false) => n_dense += 1,
            }
            // Narrower numbers stay shared, and change by as much as float16 allows.
            let narrow = tree.leaves.narrowed(Precision::Half).unwrap();
            assert_eq!(narrow.records().is_some(), tree.leaves.records().is_some());
            assert!(narrow.n_bytes() <= tree.leaves.n_bytes());
            assert!(tree.leaves.largest_change(&narrow) <= 8.0 / 2048.0);
            assert!(tree.leaves.narrowed(Precision::Byte).unwrap().n_bytes() <= tree.leaves.n_bytes());
            assert_eq!(tree.leaves.try_clone().unwrap(), tree.leaves);
            #[cfg(feature = "model-files")]
            for leaves in [tree.leaves.clone(), narrow] {
                let forest = Forest::from(tree.with_leaves(leaves).unwrap());
                let bytes = forest.to_bytes().unwrap();
                let read = Forest::from_bytes(&bytes).unwrap();
                assert_eq!(read, forest);
                assert_eq!(read.to_bytes().unwrap(), bytes);
            }
        }
        // Where nearly nothing is known, a tree may have one leaf.
        let n_sparse_of_labels = if are_labels { n_sparse } else { 9 };
        assert!(n_dense > 1 && n_sparse_of_labels > 0 && n_shared > 0, "{n_dense} {n_sparse} {n_shared}");
        assert!(n_deep > 12, "{n_deep}");
    }
}

#[test]
fn smaller_trees_and_leaves_of_fewer_columns_have_the_values_of_leaves_that_share_values() {
    let of = |seed: u64| {
        let are_labels = seed.is_multiple_of(2);
        (are_labels, fitted(&cells(seed, are_labels), are_labels))
    };
    let shared: Vec<(bool, Tree)> = (0..36).map(of).filter(|(_, tree)| tree.leaves.records().is_some()).collect();
    assert!(shared.len() > 1);
    for (are_labels, tree) in shared {
        let pruned = tree.collapsed(|i| i > 0 && i.is_multiple_of(3), &Control::default()).unwrap();
        let values = pruned.leaf_values().unwrap();
        assert_eq!(values.ptr.len(), pruned.n_nodes() + 1);
        if are_labels {
            let best = tree.leaves.top_k(2, std::slice::from_ref(&(0..tree.leaves.width() as u32))).unwrap();
            assert!((0..tree.n_leaves()).all(|leaf| best.value(leaf).count() <= 2));
        } else {
            let large = tree.leaves.without_small(1.0).unwrap();
            let expected = |leaf| tree.leaves.value(leaf).filter(|(_, value)| value.abs() > 1.0);
            assert!((0..tree.n_leaves()).all(|leaf| large.value(leaf).eq(expected(leaf))));
        }
    }
}
