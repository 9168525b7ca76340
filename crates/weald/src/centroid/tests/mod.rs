//! Properties of centroid forests, and their comparison with a reference implementation.

mod laws;
mod twin;
mod unknown;

use ndarray::Array2;
use proptest::prelude::*;

use super::*;
use crate::control::Control;
use crate::data::{CellWeights, Dataset, LabelView, Matrix, SparseView, Targets};
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
            Data { unknown: vec![Vec::new(); x.len()], x, labels, weights }
        })
    })
}

/// The same with unknown labels, of which a sample may have no others. The first sample knows all labels.
fn some_masked_data(max_rows: usize) -> impl Strategy<Value = Data> {
    let masked = |data: Data| {
        let unknown = prop::collection::btree_set(0..data.n_labels() as u32, 0..=data.n_labels());
        prop::collection::vec(unknown.prop_map(|set| set.into_iter().collect()), data.n()).prop_map(move |unknown| {
            let mut masked = Data { unknown, ..data.clone() };
            masked.unknown[0].clear();
            masked
        })
    };
    some_data(max_rows).prop_flat_map(masked)
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
        crate::testing::labels::listed(&self.labels, self.n_labels())
    }

    fn mask(&self) -> Array2<bool> {
        Array2::from_shape_fn((self.n(), self.n_labels()), |(i, j)| self.unknown[i].contains(&(j as u32)))
    }

    /// Returns the samples that know some label, and only the labels that they are known to have.
    fn observed(&self) -> Data {
        let known = |row: &usize| self.unknown[*row].len() < self.n_labels();
        let there: Vec<usize> = (0..self.n()).filter(known).collect();
        let mut observed = self.at(&there);
        observed.weights = there.iter().map(|&row| self.weights[row]).collect();
        for (labels, unknown) in observed.labels.iter_mut().zip(&observed.unknown) {
            labels.retain(|label| !unknown.contains(label));
        }
        observed
    }

    fn weights(&self) -> Vec<f64> {
        self.weights.iter().map(|&w| f64::from(w)).collect()
    }

    /// Returns the samples at these positions, with weight one.
    fn at(&self, rows: &[usize]) -> Data {
        Data {
            x: rows.iter().map(|&row| self.x[row].clone()).collect(),
            labels: rows.iter().map(|&row| self.labels[row].clone()).collect(),
            unknown: rows.iter().map(|&row| self.unknown[row].clone()).collect(),
            weights: vec![1; rows.len()],
        }
    }
}

fn fit(config: &CentroidForestConfig, data: &Data) -> CentroidForest {
    let (x, weights, mask) = (data.x(), data.weights(), data.mask());
    config.fit(Dataset::new(&x, data.y()).sample_weight(&weights[..]).y_weight(CellWeights::from(&mask))).unwrap()
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

/// Returns the frequency of each label among some samples that know it, or else its frequency above.
fn frequencies(data: &Data, rows: &[usize], above: &[f64]) -> Vec<f64> {
    let frequency = |(label, &above): (usize, &f64)| {
        let known = || rows.iter().filter(|row| !data.unknown[**row].contains(&(label as u32)));
        let weight: u32 = known().map(|&row| data.weights[row]).sum();
        let on = known().filter(|row| data.labels[**row].contains(&(label as u32)));
        let on: u32 = on.map(|&row| data.weights[row]).sum();
        if weight > 0 { f64::from(on) / f64::from(weight) } else { above }
    };
    above.iter().enumerate().map(frequency).collect()
}

/// Compares a tree with the reference, node by node. `data` has no sample without a known label.
fn assert_equal(tree: &CentroidTree, twin: &twin::Node, data: &Data) -> Result<(), TestCaseError> {
    let all: Vec<usize> = (0..data.n()).collect();
    let of_all = frequencies(data, &all, &vec![0.0; tree.leaves().width()]);
    let mut nodes = vec![twin];
    let mut values = vec![frequencies(data, &twin.rows, &of_all)];
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
            values.push(frequencies(data, &below.rows, &values[node]));
        }
        if own.children.is_empty() {
            let found = (0u32..).zip(values[node].iter().copied());
            let expected: Vec<(u32, f64)> = found.filter(|(_, value)| *value != 0.0).collect();
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

    #[test]
    fn trees_on_labels_that_are_partly_unknown_are_those_of_plain_loops(
        data in some_masked_data(40), config in some_config(), store_rows in any::<bool>(),
    ) {
        let (forest, observed) = (fit(&config.clone().store_rows(store_rows), &data), data.observed());
        for (t, tree) in forest.trees().iter().enumerate() {
            assert_equal(tree, &twin::grow(&config, &observed, t), &observed)?;
        }
    }
}
