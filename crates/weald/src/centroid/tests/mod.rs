//! Properties of centroid forests, and their comparison with a reference implementation.

mod laws;
mod twin;

use ndarray::Array2;
use proptest::prelude::*;

use super::*;
use crate::control::Control;
use crate::data::{Dataset, LabelView, Matrix, SparseView, Targets};
use twin::Data;

/// Samples with ties, repetitions, zeros of both signs and neighbouring numbers; some labels may have no sample.
fn some_data(max_rows: usize) -> impl Strategy<Value = Data> {
    let cell = prop_oneof![
        4 => Just(0.0f32),
        1 => Just(-0.0f32),
        3 => (1i8..4).prop_map(f32::from),
        1 => Just(-2.5f32),
        1 => Just(1e-30f32),
        1 => Just(1.0f32.next_up()),
    ];
    (1..=max_rows, 1usize..6, 1u32..7).prop_flat_map(move |(n, p, d)| {
        let row = prop::collection::vec(cell.clone(), p);
        let labels = prop::collection::btree_set(0..d, 0..=d as usize).prop_map(|set| set.into_iter().collect());
        let rows = prop::collection::vec((row, labels, 1u32..4), n);
        rows.prop_map(|rows| {
            let (mut x, mut labels, mut weights) = (Vec::new(), Vec::new(), Vec::new());
            for (row, of_row, weight) in rows {
                x.push(row);
                labels.push(of_row);
                weights.push(weight);
            }
            Data { x, labels, weights }
        })
    })
}

fn some_config() -> impl Strategy<Value = CentroidForestConfig> {
    let scopes = prop_oneof![Just(DirectionScope::Node), Just(DirectionScope::Tree), Just(DirectionScope::Forest)];
    let shape = (2usize..12, 1usize..5, 1usize..4, prop::option::of(1usize..4), prop::option::of(2usize..8));
    let space = (1usize..70, scopes, any::<bool>(), any::<bool>(), 0usize..4);
    let kept = (prop::option::of(1usize..4), prop_oneof![Just(0.0), Just(0.4)], prop_oneof![Just(1.0), Just(0.6)]);
    let precision = prop_oneof![Just(CentroidPrecision::Nibble), Just(CentroidPrecision::Byte)];
    let rules = (any::<bool>(), any::<bool>(), any::<bool>(), 0u64..1000, precision);
    (shape, space, kept, rules).prop_map(|(shape, space, kept, rules)| {
        let refinement = if rules.2 { Refinement::Logistic { scale: 5.0, rate: 3.0 } } else { Refinement::None };
        CentroidForestConfig::plain()
            .n_trees(3)
            .n_children(shape.0)
            .samples_per_child(shape.1)
            .max_leaf_samples(shape.2)
            .max_depth(shape.3)
            .sample_size(shape.4)
            .n_projections(space.0)
            .direction_scope(space.1)
            .clustering(if space.2 { Clustering::Spherical } else { Clustering::Euclidean })
            .center(space.3)
            .n_passes(space.4)
            .max_centroid_features(kept.0)
            .min_centroid_weight(kept.1)
            .max_features(kept.2)
            .normalize(rules.0)
            .idf(rules.1)
            .refinement(refinement)
            .seed(rules.3)
            .centroid_precision(rules.4)
    })
}

impl Data {
    fn n(&self) -> usize {
        self.x.len()
    }

    fn x(&self) -> Array2<f32> {
        Array2::from_shape_fn((self.n(), self.x[0].len()), |(i, j)| self.x[i][j])
    }

    fn n_labels(&self) -> usize {
        self.labels.iter().flatten().max().map_or(1, |&most| most as usize + 1)
    }

    fn y(&self) -> LabelView<'static> {
        let ptr: Vec<usize> = (0..=self.n()).map(|i| self.labels[..i].iter().map(Vec::len).sum()).collect();
        LabelView::try_new(ptr, self.labels.concat(), self.n_labels()).unwrap()
    }

    fn weights(&self) -> Vec<f64> {
        self.weights.iter().map(|&w| f64::from(w)).collect()
    }

    /// Returns the samples at these positions, with weight one.
    fn at(&self, rows: &[usize]) -> Data {
        Data {
            x: rows.iter().map(|&row| self.x[row].clone()).collect(),
            labels: rows.iter().map(|&row| self.labels[row].clone()).collect(),
            weights: vec![1; rows.len()],
        }
    }
}

fn fit(config: &CentroidForestConfig, data: &Data) -> CentroidForest {
    let (x, weights) = (data.x(), data.weights());
    config.fit(Dataset::new(&x, data.y()).sample_weight(&weights[..])).unwrap()
}

/// Returns X as a sparse matrix in which some zeros are stored.
fn sparse(x: &Array2<f32>) -> SparseView<'static> {
    let (mut ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in x.rows() {
        for (j, &v) in row.iter().enumerate().filter(|(j, v)| **v != 0.0 || j % 2 == 0) {
            columns.push(j as u32);
            values.push(v);
        }
        ptr.push(columns.len());
    }
    SparseView::try_new(ptr, columns, values, x.ncols()).unwrap()
}

/// Compares a tree with the reference, node by node.
fn assert_equal(tree: &CentroidTree, twin: &twin::Node, data: &Data) -> Result<(), TestCaseError> {
    let mut nodes = vec![twin];
    let mut node = 0;
    while node < nodes.len() {
        let own = nodes[node];
        prop_assert_eq!(tree.children(node), nodes.len()..nodes.len() + own.children.len());
        prop_assert_eq!(tree.n_node_samples()[node] as usize, own.rows.len());
        let weight: u32 = own.rows.iter().map(|&row| data.weights[row]).sum();
        prop_assert_eq!(tree.weighted_n_node_samples()[node], f64::from(weight));
        for (child, (centroid, below)) in tree.children(node).zip(&own.children) {
            prop_assert_eq!(&tree.centroid(child).unwrap(), centroid);
            nodes.push(below);
        }
        if own.children.is_empty() {
            let mut counts = vec![0u32; tree.leaves().width()];
            for &row in &own.rows {
                data.labels[row].iter().for_each(|&label| counts[label as usize] += data.weights[row]);
            }
            let share = |(label, &count): (usize, &u32)| (label as u32, f64::from(count) / f64::from(weight));
            let expected: Vec<(u32, f64)> =
                counts.iter().enumerate().filter(|(_, count)| **count > 0).map(share).collect();
            let leaf = tree.leaf_of[node] as usize;
            prop_assert_eq!(tree.leaves().value(leaf).collect::<Vec<_>>(), expected);
        }
        node += 1;
    }
    prop_assert_eq!(tree.n_nodes(), nodes.len());
    Ok(())
}

proptest! {
    #[test]
    fn trees_are_those_of_plain_loops(data in some_data(40), config in some_config()) {
        let forest = fit(&config, &data);
        for (t, tree) in forest.trees().iter().enumerate() {
            assert_equal(tree, &twin::grow(&config, &data, t), &data)?;
        }
    }
}
