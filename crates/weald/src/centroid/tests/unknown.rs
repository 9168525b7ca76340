//! Forests on y with unknown cells: their values by plain loops, and what results do not depend on.

use super::*;
use crate::error::ErrorKind;
use crate::forest::Sampling;
use crate::projection::{OutputProjection, Projection};
use crate::rng::{Key, Stream};

fn control() -> Control {
    Control::default()
}

fn bits(scores: &Array2<f64>) -> Vec<u64> {
    scores.iter().map(|v| v.to_bits()).collect()
}

/// y of one of three kinds.
enum Y {
    Labels(LabelView<'static>),
    Numbers(Array2<f64>),
    Classes(Array2<u32>),
}

impl Y {
    fn view(&self) -> Targets<'_> {
        match self {
            Y::Labels(y) => Targets::Labels(y.view()),
            Y::Numbers(y) => Targets::from(y),
            Y::Classes(y) => Targets::classes(y.view(), vec![3; y.ncols()]),
        }
    }
}

/// y of three kinds, made of the labels of samples, and the columns of predictions with the output of each.
fn kinds(data: &Data) -> Vec<(Y, Array2<f64>, Vec<usize>)> {
    let (n, d) = (data.n(), data.n_labels());
    let has = |i: usize, j: usize| data.labels[i].contains(&(j as u32));
    let on = Array2::from_shape_fn((n, d), |(i, j)| f64::from(u8::from(has(i, j))));
    let numbers = Array2::from_shape_fn((n, d), |(i, j)| on[[i, j]] * 3.5 + (i % 3) as f64 - 7.0);
    let codes = Array2::from_shape_fn((n, d), |(i, j)| (u32::from(has(i, j)) + i as u32) % 3);
    let of_classes = Array2::from_shape_fn((n, 3 * d), |(i, j)| f64::from(u8::from(codes[[i, j / 3]] == j as u32 % 3)));
    vec![
        (Y::Labels(data.y()), on, (0..d).collect()),
        (Y::Numbers(numbers.clone()), numbers, (0..d).collect()),
        (Y::Classes(codes), of_classes, (0..3 * d).map(|j| j / 3).collect()),
    ]
}

/// Returns what a tree predicts for the samples that it was grown on: the mean of each column over the samples of the
/// leaf that know it, and a more samples like those of its parent.
fn by_hand(
    tree: &CentroidTree,
    leaf_of: &[u32],
    cells: (&Array2<bool>, &Array2<f64>, &[usize]),
    w: &[f64],
    a: f64,
) -> Array2<f64> {
    let (mask, y, output_of) = cells;
    let mut parent = vec![0; tree.n_nodes()];
    (0..tree.n_nodes()).for_each(|node| parent[tree.children(node)].fill(node));
    let is_below = |mut node: usize, above: usize| {
        while node > above {
            node = parent[node];
        }
        node == above
    };
    // The weight of the samples of a node that know a column, and its value.
    let known = |node: usize, column: usize| {
        let rows = (0..w.len()).filter(|&i| is_below(leaf_of[i] as usize, node) && !mask[[i, output_of[column]]]);
        let (weight, sum) = rows.fold((0.0, 0.0), |(weight, sum), i| (weight + w[i], sum + w[i] * y[[i, column]]));
        (weight, sum / weight)
    };
    let value = |mut node: usize, column: usize| loop {
        let (weight, value) = known(node, column);
        if weight > 0.0 {
            return value;
        }
        node = parent[node];
    };
    Array2::from_shape_fn((w.len(), y.ncols()), |(i, column)| {
        let leaf = leaf_of[i] as usize;
        if leaf == 0 {
            return value(0, column);
        }
        let weight = known(leaf, column).0;
        if weight + a == 0.0 {
            return value(leaf, column);
        }
        (weight * value(leaf, column) + a * value(parent[leaf], column)) / (weight + a)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn leaves_and_their_shrinkage_count_what_is_known(
        data in some_masked_data(30), config in some_config(), a in prop_oneof![Just(0.0), Just(0.5), Just(3.0)],
        family in 0usize..3,
    ) {
        let (x, weights, mask) = (data.x(), data.weights(), data.mask());
        for (kind, columns, output_of) in kinds(&data) {
            let y = kind.view();
            let projection = match family {
                0 => None,
                // One output of classes does not support projections.
                _ if matches!(y, Targets::Classes { .. }) && data.n_labels() == 1 => None,
                1 => Some(OutputProjection::new(Projection::Gaussian).n_projections(2)),
                _ => Some(OutputProjection::new(Projection::Subsample { replacement: true }).n_projections(2)),
            };
            let is_of_classes = matches!(y, Targets::Classes { .. });
            let of_outputs = (family != 1 && !is_of_classes).then(|| (1..=columns.ncols()).map(|j| j as f64).collect::<Vec<_>>());
            let config = config.clone().leaf_shrinkage(a).output_projection(projection).output_weights(of_outputs);
            let dataset = || Dataset::new(&x, &y).sample_weight(&weights[..]).y_weight(CellWeights::from(&mask));
            let forest = config.fit(dataset().control(&control())).unwrap();
            // Samples without a known cell have no weight.
            let there: Vec<f64> = (0..data.n()).map(|i| if mask.row(i).iter().all(|masked| *masked) { 0.0 } else { weights[i] }).collect();
            let leaves = forest.apply((&x, &control())).unwrap();
            for (t, tree) in forest.trees().iter().enumerate() {
                let expected = by_hand(tree, &leaves.column(t).to_vec(), (&mask, &columns, &output_of), &there, a);
                let found = forest.only(t).predict((&x, &control())).unwrap();
                for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    // The sums of both are rounded in another order; values are below 8.
                    prop_assert!((found - expected).abs() < 1e-12, "{at}: {found} {expected}");
                }
            }
            // Layouts, threads, files, parts, and what stands under the mask.
            let csr = sparse(&x);
            for (matrix, n_threads) in [(Matrix::Csc(csr.transposed().unwrap()), 1), (Matrix::Csr(csr), 2)] {
                let other = Dataset::new(matrix, &y).sample_weight(&weights[..]).y_weight(CellWeights::from(&mask));
                prop_assert_eq!(&config.fit(other.control(&Control::with_threads(n_threads))).unwrap(), &forest);
            }
            let parts = [0..1, 1..3].map(|trees| config.fit_trees(trees, dataset().control(&control())).unwrap());
            prop_assert_eq!(&CentroidForest::merge(&[&parts[0], &parts[1]]).unwrap(), &forest);
            #[cfg(feature = "model-files")]
            {
                let bytes = forest.to_bytes().unwrap();
                let loaded = CentroidForest::from_bytes(&bytes).unwrap();
                prop_assert_eq!(&loaded, &forest);
                prop_assert_eq!(loaded.to_bytes().unwrap(), bytes);
            }
            if let Targets::Real(numbers) = &y {
                let hidden = Array2::from_shape_fn(numbers.dim(), |at| if mask[at] { f64::NAN } else { numbers[at] });
                let other = Dataset::new(&x, &hidden).sample_weight(&weights[..]).y_weight(CellWeights::from(&mask));
                prop_assert_eq!(&config.fit((&other, &control())).unwrap(), &forest);
            }
        }
    }

    #[test]
    fn samples_that_know_nothing_are_absent_and_weights_are_counts(
        data in some_masked_data(25), config in some_config(), a in prop_oneof![Just(0.0), Just(0.5)], bootstrap in any::<bool>(),
    ) {
        let x = data.x();
        let config = config.leaf_shrinkage(a).normalize(true);
        let sampling = if bootstrap { Sampling::Bootstrap(None) } else { Sampling::All };
        let drawn = config.clone().sampling(sampling);
        let there: Vec<usize> = (0..data.n()).filter(|&row| data.unknown[row].len() < data.n_labels()).collect();
        let mut left = data.at(&there);
        left.weights = there.iter().map(|&row| data.weights[row]).collect();
        // The first sample knows all labels and stays; the number of labels may be that of a sample that goes.
        prop_assume!(left.n_labels() == data.n_labels());
        let (with, without) = (fit(&drawn, &data), fit(&drawn, &left));
        prop_assert_eq!(with.trees(), without.trees());
        let config = config.sample_size(None).refinement(Refinement::None);
        let repeated: Vec<usize> =
            (0..data.n()).flat_map(|row| std::iter::repeat_n(row, data.weights[row] as usize)).collect();
        let (by_weight, by_rows) = (fit(&config, &data), fit(&config, &data.at(&repeated)));
        prop_assert_eq!(
            bits(&by_weight.predict((&x, &control())).unwrap()),
            bits(&by_rows.predict((&x, &control())).unwrap())
        );
    }

    #[test]
    fn a_mask_that_hides_nothing_changes_no_bit(data in some_data(25), config in some_config(), store_rows in any::<bool>()) {
        let config = config.store_rows(store_rows).leaf_shrinkage(0.5);
        let (x, weights) = (data.x(), data.weights());
        let plain = config.fit(Dataset::new(&x, data.y()).sample_weight(&weights[..])).unwrap();
        prop_assert_eq!(&fit(&config, &data), &plain);
        // A sample of weight zero may hide what it likes.
        let (mut more, mut with_zero) = (data.clone(), weights.clone());
        more.x.push(vec![7.0; data.x[0].len()]);
        more.labels.push(vec![0]);
        more.unknown.push(vec![0]);
        with_zero.push(0.0);
        let (x_more, mask) = (more.x(), more.mask());
        let set = Dataset::new(&x_more, more.y()).sample_weight(&with_zero[..]).y_weight(CellWeights::from(&mask));
        let with_zero = config.fit(set).unwrap();
        prop_assert_eq!(with_zero.trees(), plain.trees());
    }
}

/// Many labels of which few are known: leaves share what they take from the nodes above.
#[test]
fn leaves_that_know_little_share_values() {
    let (n, d) = (300, 120u32);
    let mut stream = Stream::new(Key::from_seed(0));
    let x = Array2::from_shape_fn((n, 12), |_| if stream.below(2) == 0 { 0.0 } else { stream.below(10) as f32 });
    let mut drawn = |share: u64| -> Vec<Vec<u32>> {
        (0..n).map(|_| (0..d).filter(|_| stream.below(20) < share).collect()).collect()
    };
    let labels = drawn(5);
    let mut unknown = drawn(19);
    unknown[0].clear();
    let x_rows = x.rows().into_iter().map(|row| row.to_vec()).collect();
    let data = Data { x: x_rows, labels, unknown, weights: vec![1; n] };
    let config = CentroidForestConfig::default().n_trees(3).max_leaf_samples(2).samples_per_child(1);
    let (forest, apart) = (fit(&config, &data), fit(&config.clone().leaf_shrinkage(0.0), &data));
    for forest in [&forest, &apart] {
        assert!(forest.trees().iter().all(|tree| tree.n_leaves() > 20 && tree.leaves().records().is_some()));
        #[cfg(feature = "model-files")]
        {
            let bytes = forest.to_bytes().unwrap();
            assert_eq!(&CentroidForest::from_bytes(&bytes).unwrap(), forest);
            for at in (0..bytes.len()).step_by(7) {
                let mut broken = bytes.clone();
                broken[at] ^= 1 << (at % 8);
                if let Ok(model) = CentroidForest::from_bytes(&broken)
                    && model.n_features() == 12
                {
                    assert!(model.predict((&x, &control())).unwrap().iter().all(|v| v.is_finite()));
                }
            }
        }
    }
    let scores = forest.predict((&x, &control())).unwrap();
    assert!(scores.iter().all(|v| (0.0..=1.0 + 1e-12).contains(v)));
    assert_ne!(bits(&scores), bits(&apart.predict((&x, &control())).unwrap()));
}

#[test]
fn what_is_known_of_no_sample_and_masks_of_other_shapes_are_named() {
    let x = Array2::from_shape_fn((6, 2), |(i, j)| (i + j) as f32);
    let labels = LabelView::try_new(vec![0, 1, 2, 3, 4, 5, 6], vec![0, 1, 0, 1, 0, 1], 2).unwrap();
    let config = CentroidForestConfig::plain().n_trees(1);
    for mask in [Array2::from_shape_fn((6, 2), |(_, j)| j == 1), Array2::from_elem((6, 3), true)] {
        let data = Dataset::new(&x, labels.view()).y_weight(CellWeights::from(&mask));
        let error = config.fit((&data, &control())).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Invalid { what: "y_weight", .. }), "{error:?}");
    }
}
