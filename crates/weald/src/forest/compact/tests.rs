use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;
use crate::testing::grown::{Problem, Y};
use crate::testing::{models, naive};

const SCALES: [f64; 6] = [1.0, 1e-310, 1e149, 3e5, 1e-7, 1e-200];

/// Returns the predictions and the best columns of a forest for the same samples in every layout, as bits.
fn results(forest: &Forest, seed: u64, n_threads: usize) -> Vec<Vec<u64>> {
    let rows = models::rows(seed, 40, forest.n_features);
    let control = Control::with_threads(n_threads);
    let bits = |values: ndarray::Array2<f64>| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let k = forest.outputs.width().min(3);
    let all = rows.layouts().into_iter().flat_map(|x| {
        let best = forest.predict_topk((&x, &control), k).unwrap();
        let places = best.indices.iter().map(|&c| c.into()).collect();
        [bits(forest.predict((&x, &control)).unwrap()), bits(best.scores), places]
    });
    all.collect()
}

/// Returns the largest change of a value of a leaf in each tree, computed from dense tables.
fn naive_changes(a: &Forest, b: &Forest) -> Vec<f64> {
    let change = |(a, b): (&Arc<Tree>, &Arc<Tree>)| {
        let (a, b) = (naive::leaf_values(a), naive::leaf_values(b));
        a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    a.trees.iter().zip(&b.trees).map(change).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn leaves_of_rows_predict_the_same_bits(seed in 0u64..100_000, scale in 0usize..6) {
        let problem = Problem::new(seed, SCALES[scale]);
        let forest = problem.fit();
        let compact = problem.with_rows(&forest).unwrap();
        prop_assert!(compact.trees.iter().all(|tree| tree.leaves.has_rows()));
        let first = compact.trees[0].leaves.stored_rows().unwrap();
        prop_assert!(compact.trees.iter().all(|tree| Arc::ptr_eq(tree.leaves.stored_rows().unwrap(), first)));
        for n_threads in [1, 2] {
            prop_assert_eq!(results(&compact, seed, n_threads), results(&forest, seed, n_threads));
        }
        prop_assert_eq!(forest.largest_change(&compact, &Control::default()).unwrap(), 0.0);
        for (a, b) in forest.trees.iter().zip(&compact.trees) {
            prop_assert_eq!(a.value().unwrap(), b.value().unwrap());
        }
        // Leaves can be replaced by samples again, and the model file is reproduced.
        prop_assert_eq!(&problem.with_rows(&compact).unwrap(), &compact);
        let bytes = compact.to_bytes().unwrap();
        let loaded = Forest::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&loaded, &compact);
        prop_assert_eq!(loaded.to_bytes().unwrap(), bytes);
        prop_assert_eq!(results(&loaded, seed, 1), results(&forest, seed, 1));
    }

    #[test]
    fn fewer_bits_stay_within_the_bound(seed in 0u64..100_000, scale in 0usize..6, rows in any::<bool>()) {
        let problem = Problem::new(seed, SCALES[scale]);
        let forest = problem.fit();
        let forest = if rows { problem.with_rows(&forest).unwrap() } else { forest };
        let control = Control::default();
        for (precision, bound) in [(Precision::Half, 2f64.powi(-11)), (Precision::Single, 2f64.powi(-24))] {
            let compact = forest.with_precision(precision, &control).unwrap();
            let mut changes = Vec::new();
            for (old, new) in forest.trees.iter().zip(&compact.trees) {
                prop_assert_eq!(&old.nodes, &new.nodes);
                let (a, b) = (naive::leaf_values(old), naive::leaf_values(new));
                // If leaves refer to samples, the bound is relative to the largest magnitude of the column of y.
                let largest = |column: usize| match &problem.y {
                    Y::Real(y) if rows => y.column(column).iter().fold(0.0, |m: f64, v| m.max(v.abs())),
                    _ => a.column(column).iter().fold(0.0, |m: f64, v| m.max(v.abs())),
                };
                let mut change = 0.0f64;
                for ((leaf, column), &value) in a.indexed_iter() {
                    let difference = (value - b[[leaf, column]]).abs();
                    change = change.max(difference);
                    // Without stored samples the bound holds exactly; with stored samples, values are means of rounded
                    // numbers.
                    let slack = if rows { 1.0 + 1e-12 } else { 1.0 };
                    prop_assert!(difference <= slack * bound * largest(column), "{} {}", value, b[[leaf, column]]);
                }
                changes.push(change);
                for (a, b) in old.impurity.iter().zip(&new.impurity) {
                    // Impurities are in float16, with 11 bits.
                    prop_assert!((a - b).abs() <= 2f64.powi(-11) * forest_impurity(&forest), "{} {}", a, b);
                }
            }
            let expected = changes.iter().sum::<f64>() / changes.len() as f64;
            prop_assert_eq!(forest.largest_change(&compact, &control).unwrap(), expected);
            let x = &problem.x;
            let (a, b) = (forest.predict(x).unwrap(), compact.predict(x).unwrap());
            for (a, b) in a.iter().zip(&b) {
                // Means over the trees are rounded, at least to the smallest positive number.
                prop_assert!((a - b).abs() <= expected + 1e-14 * a.abs() + 5e-323);
            }
            prop_assert_eq!(compact.with_precision(precision, &control).unwrap().to_bytes(), compact.to_bytes());
            let loaded = Forest::from_bytes(&compact.to_bytes().unwrap()).unwrap();
            prop_assert_eq!(&loaded, &compact);
            prop_assert_eq!(results(&compact, seed, 1), results(&loaded, seed, 2));
        }
    }

    #[test]
    fn numbers_of_eight_bits_stay_within_the_bound(seed in 0u64..100_000, scale in 0usize..6, rows in any::<bool>()) {
        let problem = Problem::new(seed, SCALES[scale]);
        let forest = problem.fit();
        let forest = if rows { problem.with_rows(&forest).unwrap() } else { forest };
        let control = Control::default();
        let Y::Real(_) = problem.y else {
            let error = forest.with_precision(Precision::Byte, &control).unwrap_err();
            let is_refused = matches!(error.kind(), ErrorKind::Invalid { what: "precision", .. });
            prop_assert!(is_refused);
            return Ok(());
        };
        let compact = forest.with_precision(Precision::Byte, &control).unwrap();
        for (old, new) in forest.trees.iter().zip(&compact.trees) {
            let (a, b) = (naive::leaf_values(old), naive::leaf_values(new));
            for (a, b) in a.rows().into_iter().zip(b.rows()) {
                let largest = if rows { f64::INFINITY } else { a.iter().fold(0.0, |m: f64, v| m.max(v.abs())) };
                // The steps are at most the largest value divided by 127.
                prop_assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= largest / 127.0), "{a} {b}");
            }
            prop_assert!(rows || new.leaves.n_bytes() <= old.leaves.n_bytes() + 8 * old.n_leaves());
        }
        let change = forest.largest_change(&compact, &control).unwrap();
        let (a, b) = (forest.predict(&problem.x).unwrap(), compact.predict(&problem.x).unwrap());
        for (a, b) in a.iter().zip(&b) {
            // The tolerance is the same as above.
            prop_assert!((a - b).abs() <= change + 1e-14 * a.abs() + 5e-323);
        }
        prop_assert_eq!(&compact.with_precision(Precision::Byte, &control).unwrap(), &compact);
        let bytes = compact.to_bytes().unwrap();
        let loaded = Forest::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&loaded, &compact);
        prop_assert_eq!(loaded.to_bytes().unwrap(), bytes);
        prop_assert_eq!(results(&compact, seed, 1), results(&loaded, seed, 2));
        // The model file may also contain trees of other forms, whose numbers are floats.
        let merged = Forest::merge(&[&compact, &forest]).unwrap();
        prop_assert_eq!(&Forest::from_bytes(&merged.to_bytes().unwrap()).unwrap(), &merged);
    }

    #[test]
    fn top_k_keeps_the_largest_and_the_first_of_equals(seed in 0u64..100_000, k in 1usize..8) {
        let problem = Problem::new(seed, 1.0);
        let forest = problem.fit();
        let control = Control::default();
        if let Y::Real(_) = problem.y {
            prop_assert!(forest.with_top_k(k, &control).is_err());
            return Ok(());
        }
        let groups = match &problem.y {
            Y::Classes(_, n_classes) if n_classes.len() == 2 => vec![0..2, 2..6],
            _ => std::iter::once(0..forest.outputs.width()).collect(),
        };
        // Leaves with counts, with frequencies and with samples.
        let narrow = forest.with_precision(Precision::Half, &control).unwrap();
        for forest in [&forest, &narrow, &problem.with_rows(&forest).unwrap()] {
            let compact = forest.with_top_k(k, &control).unwrap();
            for (old, new) in forest.trees.iter().zip(&compact.trees) {
                let mut expected = naive::leaf_values(old);
                for mut leaf in expected.rows_mut() {
                    for group in &groups {
                        let mut order: Vec<usize> = group.clone().collect();
                        order.sort_by(|&a, &b| leaf[b].partial_cmp(&leaf[a]).unwrap().then(a.cmp(&b)));
                        order.iter().skip(k).for_each(|&column| leaf[column] = 0.0);
                    }
                }
                prop_assert_eq!(naive::leaf_values(new), expected);
            }
            let changes = naive_changes(forest, &compact);
            let change = forest.largest_change(&compact, &control).unwrap();
            prop_assert_eq!(change, changes.iter().sum::<f64>() / changes.len() as f64);
            prop_assert_eq!(&Forest::from_bytes(&compact.to_bytes().unwrap()).unwrap(), &compact);
        }
    }
}

fn forest_impurity(forest: &Forest) -> f64 {
    forest.trees.iter().flat_map(|tree| &tree.impurity).copied().fold(0.0, f64::max)
}

/// Returns a problem with sixty samples of labels, most of which every tree draws, and with whole sample weights.
fn plain_problem(sampling: Sampling) -> Problem {
    let n = 60;
    let mut problem = Problem::new(4, 1.0);
    problem.x = ndarray::Array2::from_shape_fn((n, 3), |(i, j)| ((i * 7 + j * 13) % 61) as f32);
    problem.y = Y::Labels((0..=n).collect(), (0..n as u32).map(|i| i % 3).collect(), 3);
    problem.sample_weight = Some((0..n).map(|i| (1 + i % 3) as f64).collect());
    problem.class_weight = crate::ClassWeight::Equal;
    problem.config.sampling = sampling;
    problem.config.tree.max_leaf_nodes = Some(20);
    problem
}

#[test]
fn data_that_do_not_reproduce_the_leaves_are_refused() {
    for sampling in [Sampling::All, Sampling::Bootstrap(None)] {
        let problem = plain_problem(sampling);
        let forest = problem.fit();
        assert!(problem.with_rows(&forest).is_ok());
        let refused = |change: &dyn Fn(&mut Problem)| {
            let mut other = problem.clone();
            change(&mut other);
            let error = other.with_rows(&forest).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Invalid { what: "data", .. }), "{error}");
        };
        refused(&|p| p.y = Y::Labels((0..=60).collect(), (0..60u32).map(|i| (i + 1) % 3).collect(), 3));
        refused(&|p| p.x.mapv_inplace(|v| 60.0 - v));
        refused(&|p| p.sample_weight = None);
        refused(&|p| p.class_weight = crate::ClassWeight::Balanced);
        refused(&|p| p.config.sampling = Sampling::Bootstrap(Some(11)));
        if sampling != Sampling::All {
            refused(&|p| p.config.seed += 1);
        }
    }
}

#[test]
fn data_of_another_shape_are_refused_by_name() {
    let problem = plain_problem(Sampling::All);
    let forest = problem.fit();
    let fails = |change: &dyn Fn(&mut Problem)| {
        let mut other = problem.clone();
        change(&mut other);
        other.with_rows(&forest).unwrap_err().kind().clone()
    };
    let narrow = fails(&|p| p.x = p.x.slice_axis(ndarray::Axis(1), (..2).into()).to_owned());
    assert!(matches!(narrow, ErrorKind::Shape { what: "each row of X", expected: 3, got: 2 }), "{narrow:?}");
    let short = fails(&|p| p.x = p.x.slice_axis(ndarray::Axis(0), (..59).into()).to_owned());
    assert!(matches!(short, ErrorKind::Shape { .. }), "{short:?}");
    let wide = fails(&|p| p.y = Y::Labels((0..=60).collect(), (0..60u32).map(|i| i % 3).collect(), 4));
    assert!(matches!(wide, ErrorKind::Invalid { what: "y", .. }), "{wide:?}");
    let weights = fails(&|p| p.sample_weight = Some(vec![1.0; 3]));
    assert!(matches!(weights, ErrorKind::Shape { what: "sample_weight", .. }), "{weights:?}");
}

#[test]
fn bad_arguments_and_stops_are_errors() {
    let (labels, numbers) = (models::some_forest(29), models::some_forest(7));
    let control = Control::default();
    assert!(matches!(labels.outputs, Outputs::Labels { .. }) && matches!(numbers.outputs, Outputs::Real { .. }));
    for error in [labels.with_top_k(0, &control), numbers.with_top_k(1, &control)] {
        let kind = error.unwrap_err().kind().clone();
        assert!(matches!(
            kind,
            ErrorKind::Invalid { what: "top_k", .. } | ErrorKind::Unsupported { what: "top_k", .. }
        ));
    }
    assert!(labels.largest_change(&numbers, &control).is_err());
    control.stop();
    assert_eq!(labels.with_top_k(1, &control).unwrap_err().kind(), &ErrorKind::Interrupted);
    assert_eq!(numbers.with_precision(Precision::Half, &control).unwrap_err().kind(), &ErrorKind::Interrupted);
    assert_eq!(numbers.largest_change(&numbers, &control).unwrap_err().kind(), &ErrorKind::Interrupted);
}

#[test]
fn trees_of_several_sets_of_samples_and_of_none_share_a_file() {
    for kind in [1, 5] {
        let mut problem = Problem::new(kind, 70_000.0);
        let plain = problem.fit();
        let one = problem.with_rows(&plain).unwrap();
        problem.config.seed += 6;
        let other = problem.with_rows(&problem.fit()).unwrap();
        let narrow = one.with_precision(Precision::Half, &Control::default()).unwrap();
        let all = Forest::merge(&[&one, &plain, &other, &narrow, &one]).unwrap();
        let bytes = all.to_bytes().unwrap();
        let loaded = Forest::from_bytes(&bytes).unwrap();
        assert_eq!(loaded, all);
        assert_eq!(loaded.to_bytes().unwrap(), bytes);
        assert_eq!(results(&loaded, kind, 1), results(&all, kind, 2));
    }
}
