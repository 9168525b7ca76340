//! Properties that results do not depend on, and degenerate inputs.

use ndarray::{Axis, array};

use super::*;
use crate::error::ErrorKind;
use crate::forest::Sampling;
use crate::model::TopK;
use crate::projection::{OutputProjection, Projection};

fn control() -> Control {
    Control::default()
}

fn bits(scores: &Array2<f64>) -> Vec<u64> {
    scores.iter().map(|v| v.to_bits()).collect()
}

/// Checks that all kinds of predictions of a forest agree with each other, for any layout and number of threads.
fn assert_readings_agree(forest: &CentroidForest, x: &Array2<f32>) -> Result<(), TestCaseError> {
    let whole = forest.predict((x, &control())).unwrap();
    let csr = sparse(x);
    let csc = csr.transposed().unwrap();
    let fortran = x.t().as_standard_layout().into_owned();
    let width = whole.ncols();
    let best = forest.predict_topk((x, &control()), width).unwrap();
    for x in [Matrix::Csr(csr), Matrix::Csc(csc), Matrix::Dense(fortran.t())] {
        for n_threads in [1, 3] {
            let control = Control::with_threads(n_threads);
            prop_assert_eq!(bits(&forest.predict((&x, &control)).unwrap()), bits(&whole));
            prop_assert_eq!(&forest.predict_topk((&x, &control), width).unwrap(), &best);
            let listed = forest.predict_at_least((&x, &control), 0.1).unwrap();
            for i in 0..whole.nrows() {
                let row = listed.ptr[i]..listed.ptr[i + 1];
                let expected = (0u32..).zip(whole.row(i)).filter(|(_, v)| **v >= 0.1);
                let found = listed.columns[row.clone()].iter().copied().zip(&listed.values[row]);
                prop_assert!(found.eq(expected));
            }
        }
    }
    for (i, row) in best.indices.rows().into_iter().enumerate() {
        for (j, &column) in row.iter().enumerate() {
            prop_assert_eq!(whole[[i, column as usize]].to_bits(), best.scores[[i, j]].to_bits());
        }
    }
    // A single sample takes another code path.
    for i in 0..whole.nrows() {
        let alone = forest.predict((x.index_axis(Axis(0), i).insert_axis(Axis(0)), &control())).unwrap();
        prop_assert_eq!(bits(&alone), whole.row(i).iter().map(|v| v.to_bits()).collect::<Vec<_>>());
    }
    Ok(())
}

fn some_rules() -> impl Strategy<Value = (Routing, f64, bool, CentroidPrecision)> {
    let routing = prop_oneof![
        Just(Routing::Nearest),
        Just(Routing::Shared { sharpness: 3.0, least: 0.2 }),
        Just(Routing::Shared { sharpness: 20.0, least: 0.01 }),
    ];
    let precision =
        prop_oneof![Just(CentroidPrecision::Nibble), Just(CentroidPrecision::Byte), Just(CentroidPrecision::Half)];
    (routing, prop_oneof![Just(0.0), Just(1.0)], any::<bool>(), precision)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn results_do_not_depend_on_layouts_or_threads(data in some_data(30), config in some_config(), rules in some_rules()) {
        let (routing, shrinkage, store_rows, precision) = rules;
        let config =
            config.routing(routing).leaf_shrinkage(shrinkage).store_rows(store_rows).centroid_precision(precision);
        let (x, y, weights) = (data.x(), data.y(), data.weights());
        let forest = fit(&config, &data);
        let csr = sparse(&x);
        let csc = csr.transposed().unwrap();
        let fortran = x.t().as_standard_layout().into_owned();
        for x in [Matrix::Csr(csr), Matrix::Csc(csc), Matrix::Dense(fortran.t())] {
            let found = config.fit(Dataset::new(x, y.view()).sample_weight(&weights[..]).control(&Control::with_threads(2)));
            prop_assert_eq!(&found.unwrap(), &forest);
        }
        assert_readings_agree(&forest, &x)?;
        #[cfg(feature = "model-files")]
        {
            let bytes = forest.to_bytes().unwrap();
            let loaded = CentroidForest::from_bytes(&bytes).unwrap();
            prop_assert_eq!(&loaded, &forest);
            prop_assert_eq!(loaded.to_bytes().unwrap(), bytes);
        }
        let values = config.clone().store_rows(!store_rows);
        prop_assert_eq!(
            bits(&fit(&values, &data).predict((&x, &control())).unwrap()),
            bits(&forest.predict((&x, &control())).unwrap())
        );
    }

    #[test]
    fn weights_are_counts(data in some_data(25), config in some_config(), rules in some_rules(), bootstrap in any::<bool>()) {
        // Drawn samples, and sequential steps of a refinement, depend on the number of samples.
        let config = config.sample_size(None).refinement(Refinement::None).normalize(true);
        let config = config.routing(rules.0).leaf_shrinkage(rules.1);
        let (x, weights) = (data.x(), data.weights());
        let repeated: Vec<usize> =
            (0..data.n()).flat_map(|row| std::iter::repeat_n(row, data.weights[row] as usize)).collect();
        let by_weight = fit(&config, &data);
        let by_rows = fit(&config, &data.at(&repeated));
        // The sample with the largest label is in both data sets, because all weights are positive.
        prop_assert_eq!(
            bits(&by_weight.predict((&x, &control())).unwrap()),
            bits(&by_rows.predict((&x, &control())).unwrap())
        );
        for (a, b) in by_weight.trees().iter().zip(by_rows.trees()) {
            prop_assert_eq!(&a.centroids, &b.centroids);
            prop_assert_eq!(&a.weighted_n_node_samples, &b.weighted_n_node_samples);
        }

        // A sample of weight zero has no effect, whatever its values are.
        let sampling = if bootstrap { Sampling::Bootstrap(None) } else { Sampling::All };
        let config = config.sampling(sampling).refinement(Refinement::Logistic { scale: 5.0, rate: 3.0 });
        let mut more = data.clone();
        more.x.insert(data.n() / 2, vec![7.0; data.x[0].len()]);
        more.labels.insert(data.n() / 2, vec![0]);
        more.unknown.insert(data.n() / 2, vec![]);
        let mut with_zero = weights.clone();
        with_zero.insert(data.n() / 2, 0.0);
        let x_more = more.x();
        let data_more = Dataset::new(&x_more, more.y()).sample_weight(&with_zero[..]);
        let (with, without) = (config.fit(data_more.view().control(&control())).unwrap(), fit(&config, &data));
        prop_assert_eq!(bits(&with.predict((&x, &control())).unwrap()), bits(&without.predict((&x, &control())).unwrap()));
        prop_assert_eq!(with.trees(), without.trees());
    }

    #[test]
    fn parts_are_merged_to_the_forest(data in some_data(25), config in some_config(), store_rows in any::<bool>()) {
        let config = config.store_rows(store_rows).leaf_shrinkage(1.0);
        let (x, weights) = (data.x(), data.weights());
        let labels = data.y();
        let fit_trees = |trees| {
            let data = Dataset::new(&x, labels.view()).sample_weight(&weights[..]);
            config.fit_trees(trees, data.view().control(&control())).unwrap()
        };
        let merged = CentroidForest::merge(&[&fit_trees(0..1), &fit_trees(1..3)]).unwrap();
        prop_assert_eq!(&merged, &fit(&config, &data));
        let other = config.clone().normalize(!config.normalize);
        prop_assert!(CentroidForest::merge(&[&merged, &fit(&other, &data)]).is_err());
        for precision in [CentroidPrecision::Nibble, CentroidPrecision::Byte, CentroidPrecision::Half] {
            let other = fit(&config.clone().centroid_precision(precision), &data);
            let is_same = precision == config.centroid_precision;
            prop_assert_eq!(CentroidForest::merge(&[&merged, &other]).is_ok(), is_same);
        }
    }

    #[test]
    fn classes_and_numbers_grow_too(
        data in some_data(30), config in some_config(), family in 0usize..4, n_columns in 1usize..4, store in any::<bool>(),
    ) {
        let n = data.n();
        let x = data.x();
        let number = |i: usize, j: usize| data.labels[i].iter().map(|&l| f64::from(l) - j as f64).sum::<f64>();
        let numbers = Array2::from_shape_fn((n, n_columns), |(i, j)| number(i, j) * [1.0, 1e9, 1e-9][j]);
        let codes = Array2::from_shape_fn((n, n_columns), |(i, j)| (data.labels[i].len() + j) as u32 % 3);
        let config = config.store_rows(store).leaf_shrinkage(1.0);
        let projection = |family| OutputProjection::new(family).n_projections(2);
        for (y, width) in [
            (Targets::Real(numbers.view()), n_columns),
            (Targets::classes(codes.view(), vec![3; n_columns]), 3 * n_columns),
            (Targets::Labels(data.y()), data.n_labels()),
        ] {
            let projection = match family {
                _ if matches!(y, Targets::Classes { .. }) && n_columns == 1 => None,
                0 => None,
                1 => Some(projection(Projection::Gaussian)),
                2 => Some(projection(Projection::Subsample { replacement: true })),
                _ => Some(projection(Projection::Rademacher { sparsity: crate::projection::Sparsity::Sqrt })),
            };
            let weights = vec![0.5; width];
            let weights = if family == 1 && !matches!(y, Targets::Classes { .. }) { Some(weights) } else { None };
            let config = config.clone().output_projection(projection).output_weights(weights);
            let forest = config.fit((&x, &y, &control())).unwrap();
            assert_readings_agree(&forest, &x)?;
            for tree in forest.trees() {
                prop_assert_eq!(tree.n_node_samples()[0] as usize, n);
                prop_assert_eq!(tree.leaves().width(), width);
            }
            #[cfg(feature = "model-files")]
            prop_assert_eq!(&CentroidForest::from_bytes(&forest.to_bytes().unwrap()).unwrap(), &forest);
        }
    }
}

#[test]
fn samples_out_of_bag_are_predicted_by_the_trees_that_did_not_draw_them() {
    let x = Array2::from_shape_fn((40, 6), |(i, j)| ((i * (j + 3)) % 7) as f32);
    let labels: Vec<Vec<u32>> = (0..40).map(|i| vec![i % 3]).collect();
    let data = Data {
        x: x.rows().into_iter().map(|row| row.to_vec()).collect(),
        unknown: vec![vec![]; 40],
        labels,
        weights: vec![1; 40],
    };
    let config = CentroidForestConfig::plain().n_trees(12).max_leaf_samples(2).sampling(Sampling::Bootstrap(None));
    let config = config.leaf_shrinkage(1.0).routing(Routing::Shared { sharpness: 5.0, least: 0.1 });
    let forest = fit(&config, &data);
    let weights = data.weights();
    let set = || Dataset::new(&x, data.y()).sample_weight(&weights[..]);
    let oob = forest.oob_predict(&config, (&set(), &control())).unwrap();
    let (matrix, y) = (Matrix::from(&x), Targets::Labels(data.y()));
    let population = crate::forest::bootstrap::Population::new(&matrix, Some(&y), None, Some(&weights));
    let urn = crate::forest::bootstrap::Urn::new(&population, config.sampling, &Control::default()).unwrap();
    let of_trees: Vec<Array2<f64>> = (0..12).map(|t| forest.only(t).predict((&x, &control())).unwrap()).collect();
    let draws: Vec<Vec<u32>> = (0..12u64)
        .map(|t| {
            let key = crate::forest::bootstrap::tree_key(0, t as usize);
            urn.draw(config.sampling, 40, key, &Control::default()).unwrap().unwrap()
        })
        .collect();
    for i in 0..40 {
        let unseen: Vec<usize> = (0..12).filter(|&t| draws[t][i] == 0).collect();
        assert_eq!(oob.n_trees[i] as usize, unseen.len());
        for c in 0..3 {
            let mean = unseen.iter().map(|&t| of_trees[t][[i, c]]).sum::<f64>() / unseen.len() as f64;
            // The sums of single trees are rounded before they are added.
            assert!(unseen.is_empty() || (oob.scores[[i, c]] - mean).abs() < 1e-12);
        }
    }
    let listed = forest.oob_at_least(&config, set().control(&Control::with_threads(2)), 0.0).unwrap();
    assert_eq!(listed.n_trees, oob.n_trees);
}

/// Checks the predictions of forests on labels if the samples cannot be divided.
fn one_leaf(x: Array2<f32>, labels: Vec<Vec<u32>>) {
    let n = x.nrows();
    let data = Data {
        x: x.rows().into_iter().map(|row| row.to_vec()).collect(),
        unknown: vec![vec![]; n],
        labels,
        weights: vec![1; n],
    };
    let config = CentroidForestConfig::plain().n_trees(2).max_leaf_samples(1).leaf_shrinkage(1.0);
    for refinement in [Refinement::None, Refinement::Logistic { scale: 5.0, rate: 3.0 }] {
        let forest = fit(&config.clone().refinement(refinement), &data);
        assert!(forest.trees().iter().all(|tree| tree.n_nodes() == 1));
        let share = |label: u32| data.labels.iter().filter(|l| l.contains(&label)).count() as f64 / n as f64;
        let scores = forest.predict((&x, &control())).unwrap();
        scores.indexed_iter().for_each(|((_, label), &score)| assert_eq!(score, share(label as u32)));
    }
}

#[test]
fn nodes_that_cannot_be_divided_are_leaves() {
    one_leaf(array![[1.0, 2.0]], vec![vec![0, 1]]);
    one_leaf(Array2::from_shape_fn((30, 3), |(i, j)| (i * j) as f32), vec![vec![1]; 30]);
    one_leaf(Array2::from_shape_fn((30, 3), |(i, j)| (i * j) as f32), vec![vec![]; 30]);
    one_leaf(Array2::zeros((30, 3)), (0..30).map(|i| vec![i % 4]).collect());
    one_leaf(Array2::from_elem((30, 1), 2.5), (0..30).map(|i| vec![i % 4]).collect());
}

#[test]
fn one_feature_divides_by_its_sign() {
    let x = Array2::from_shape_fn((20, 1), |(i, _)| if i % 2 == 0 { 1.0 } else { -3.0 });
    let labels = (0..20).map(|i| vec![i % 2]).collect();
    let data = Data {
        x: x.rows().into_iter().map(|row| row.to_vec()).collect(),
        unknown: vec![vec![]; 20],
        labels,
        weights: vec![1; 20],
    };
    let forest = fit(&CentroidForestConfig::plain().n_trees(1).max_leaf_samples(1), &data);
    assert_eq!(forest.tree(0).n_leaves(), 2);
    assert_eq!(forest.predict((&x, &control())).unwrap()[[3, 1]], 1.0);
    let heaviest = forest.tree(0).heaviest_features(0, 3).unwrap();
    assert_eq!(heaviest.iter().map(|child| child[0].1.abs()).collect::<Vec<_>>(), [1.0, 1.0]);
    assert!(forest.tree(0).heaviest_features(3, 3).is_err());
}

#[test]
fn more_children_than_samples_and_very_many_labels() {
    let n = 200u32;
    let x = Array2::from_shape_fn((n as usize, 200), |(i, j)| if i == j { 1.0 } else { 0.0 });
    let indices: Vec<u32> = (0..n).flat_map(|i| [i, 70_000 - 1 - i]).collect();
    let y = LabelView::try_new((0..=n as usize).map(|i| 2 * i).collect::<Vec<_>>(), indices, 70_000).unwrap();
    let config = CentroidForestConfig::plain().n_trees(2).n_children(1000).max_leaf_samples(1);
    let forest = config.fit((&x, y, &Control::with_threads(2))).unwrap();
    // Each sample has its own leaf.
    assert_eq!(forest.tree(0).n_leaves(), 200);
    let best: TopK = forest.predict_topk((&x, &control()), 2).unwrap();
    assert_eq!(best.indices.row(7).to_vec(), [7, 69_992]);
}

#[test]
fn samples_without_features_go_to_the_heaviest_cluster() {
    let x = array![[1f32, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]];
    let labels = vec![vec![0], vec![0], vec![0], vec![1], vec![1]];
    let data = Data {
        x: x.rows().into_iter().map(|row| row.to_vec()).collect(),
        unknown: vec![vec![]; 5],
        labels,
        weights: vec![1; 5],
    };
    let forest = fit(&CentroidForestConfig::plain().n_trees(1).max_leaf_samples(1), &data);
    let leaves = forest.apply((&x, &control())).unwrap();
    assert_eq!(leaves[[4, 0]], forest.tree(0).children(0).start as u32);
    assert_eq!(leaves[[4, 0]], leaves[[0, 0]]);
}

#[test]
fn bad_parameters_and_data_are_named() {
    let x = Array2::from_shape_fn((6, 2), |(i, j)| (i + j) as f32);
    let labels = LabelView::try_new(vec![0, 1, 2, 3, 4, 5, 6], vec![0, 1, 0, 1, 0, 1], 2).unwrap();
    let default = CentroidForestConfig::plain;
    let fault = |config: CentroidForestConfig, x: &Array2<f32>| match config
        .fit((x, labels.view(), &control()))
        .unwrap_err()
        .kind()
    {
        ErrorKind::Invalid { what, .. } | ErrorKind::Shape { what, .. } => *what,
        other => panic!("{other:?}"),
    };
    for (config, what) in [
        (default().n_trees(0), "n_trees"),
        (default().n_children(1), "n_children"),
        (default().n_children(1 << 20), "n_children"),
        (default().samples_per_child(0), "samples_per_child"),
        (default().max_leaf_samples(0), "max_leaf_samples"),
        (default().max_depth(0), "max_depth"),
        (default().sample_size(1), "sample_size"),
        (default().n_projections(0), "n_projections"),
        (default().max_centroid_features(0), "max_centroid_features"),
        (default().min_centroid_weight(1.0), "min_centroid_weight"),
        (default().max_features(0.0), "max_features"),
        (default().refinement(Refinement::Logistic { scale: 0.0, rate: 1.0 }), "refinement"),
        (default().routing(Routing::Shared { sharpness: f32::NAN, least: 0.2 }), "routing"),
        (default().routing(Routing::Shared { sharpness: 1.0, least: 0.001 }), "routing"),
        (default().leaf_shrinkage(f64::NAN), "leaf_shrinkage"),
        (default().output_weights(vec![1.0]), "output_weights"),
        (default().output_weights(vec![0.0, 0.0]), "output_weights"),
        (default().output_weights(vec![-1.0, 0.0]), "output_weights"),
    ] {
        assert_eq!(fault(config, &x), what);
    }
    for bad in [f32::NAN, f32::INFINITY] {
        let mut x = x.clone();
        x[[2, 1]] = bad;
        assert_eq!(fault(default(), &x), "X");
        let forest = default().n_trees(1).fit((&Array2::zeros((6, 2)), labels.view(), &control())).unwrap();
        assert!(forest.predict((&x, &control())).is_err());
    }
    let forest = default().n_trees(1).fit((&x, labels.view(), &control())).unwrap();
    let narrow = Array2::zeros((2, 1));
    let error = forest.predict((&narrow, &control())).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Shape { what: "each row of X", expected: 2, got: 1 });
    let stopped = control();
    stopped.stop();
    assert_eq!(default().fit((&x, labels.view(), &stopped)).unwrap_err().kind(), &ErrorKind::Interrupted);
}

#[test]
fn targets_of_any_size_do_not_overflow() {
    let x = array![[f32::MAX, 0.0], [f32::MAX, f32::MIN_POSITIVE], [-f32::MAX, 1.0], [1e-45, 0.0], [0.0, 3.0]];
    let y = array![[1e149, 1.0], [-1e149, 2.0], [0.0, -1e-300], [5e-324, 0.0], [1e3, 1e3]];
    let clusterings = [Clustering::Spherical, Clustering::Euclidean];
    for (normalize, center, clustering) in [(true, false), (true, true), (false, false), (false, true)]
        .iter()
        .flat_map(|&(n, c)| clusterings.map(|k| (n, c, k)))
    {
        for refinement in [Refinement::None, Refinement::Logistic { scale: 5.0, rate: 1000.0 }] {
            let config = CentroidForestConfig::plain().n_trees(3).max_leaf_samples(1).idf(true);
            let config = config.normalize(normalize).center(center).clustering(clustering).refinement(refinement);
            let forest = config.fit((&x, &y, &control())).unwrap();
            assert!(forest.predict((&x, &control())).unwrap().iter().all(|v| v.is_finite()));
            assert!(
                forest.trees().iter().all(|tree| tree
                    .centroid(tree.n_nodes() - 1)
                    .unwrap()
                    .iter()
                    .all(|(_, w)| w.is_finite()))
            );
        }
    }
}

#[cfg(feature = "model-files")]
#[test]
fn no_byte_of_a_file_is_trusted() {
    let x = Array2::from_shape_fn((30, 5), |(i, j)| ((i * (j + 3)) % 4) as f32);
    let labels = (0..30).map(|i| if i % 5 == 0 { vec![] } else { vec![i % 3, 3 + i % 2] }).collect();
    let data = Data {
        x: x.rows().into_iter().map(|row| row.to_vec()).collect(),
        unknown: vec![vec![]; 30],
        labels,
        weights: vec![1; 30],
    };
    let config = CentroidForestConfig::default().n_trees(2).n_children(3).max_leaf_samples(2).samples_per_child(1);
    for (store_rows, precision) in
        [(false, CentroidPrecision::Byte), (true, CentroidPrecision::Half), (true, CentroidPrecision::Nibble)]
    {
        let forest = fit(&config.clone().store_rows(store_rows).centroid_precision(precision), &data);
        assert!(forest.tree(0).n_nodes() > 3 && forest.tree(0).parents.is_some());
        let bytes = forest.to_bytes().unwrap();
        assert!(crate::Forest::from_bytes(&bytes).is_err());
        assert_eq!(CentroidForest::from_bytes(&bytes).unwrap(), forest);
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 1 << (at % 8);
            if let Ok(model) = CentroidForest::from_bytes(&broken)
                && model.n_features() <= 10_000
            {
                let rows = Array2::from_shape_fn((3, model.n_features()), |(i, j)| (i + j) as f32);
                let scores = model.predict((&rows, &control())).unwrap();
                assert!(scores.iter().all(|v| v.is_finite()));
            }
            assert!(CentroidForest::from_bytes(&bytes[..at]).is_err());
        }
    }
}

/// Leaves are shrunk towards means that are weighted with the weights of leaves, whose products with y may overflow.
#[test]
fn shrunk_leaves_are_finite_for_weights_and_y_of_any_size() {
    let x = Array2::from_shape_fn((30, 3), |(i, j)| ((i * (j + 2)) % 7) as f32);
    let y = Array2::from_shape_fn((30, 2), |(i, j)| ((i + j) % 5) as f64 * 1e100);
    let config = CentroidForestConfig::default().n_trees(3).max_leaf_samples(3).store_rows(false);
    for unit in [2f64.powi(980), 1.0, 2f64.powi(-1000)] {
        let weights: Vec<f64> = (0..30).map(|i| f64::from(1 + i % 3) * unit).collect();
        let data = Dataset::new(&x, Targets::Real(y.view())).sample_weight(&weights[..]);
        let forest = config.clone().leaf_shrinkage(0.5 * unit).fit((&data, &control())).unwrap();
        assert!(forest.trees().iter().any(|tree| tree.n_nodes() > 1));
        assert!(forest.predict((&x, &control())).unwrap().iter().all(|v| (0.0..=4e100).contains(v)));
        #[cfg(feature = "model-files")]
        assert_eq!(CentroidForest::from_bytes(&forest.to_bytes().unwrap()).unwrap(), forest);
    }
}
