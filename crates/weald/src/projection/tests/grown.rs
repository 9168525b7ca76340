//! Trees with projections, compared with trees without.

use ndarray::Axis;
use proptest::prelude::*;

use super::*;
use crate::data::Dataset;
use crate::forest::Forest;
use crate::projection::{NProjections, OutputProjection, ProjectionMatrix, ProjectionScope};
use crate::testing::{models, naive};
use crate::tree::Tree;
use crate::{Criterion, ForestConfig, MaxFeatures, Sampling, Splitter, TreeConfig};

fn projected(family: Projection, q: usize) -> Option<OutputProjection> {
    Some(OutputProjection { n_projections: q.into(), ..OutputProjection::new(family) })
}

/// Returns a configuration with the criterion of projected trees, variance, which is also used for trees without a
/// projection.
fn config(family: Projection, q: usize, seed: u64) -> TreeConfig {
    TreeConfig {
        output_projection: projected(family, q),
        max_features: MaxFeatures::Count(2),
        seed,
        ..TreeConfig::new(Criterion::Variance)
    }
}

fn fit(config: &TreeConfig, x: &Array2<f32>, y: &Targets<'_>, w: Option<&[f64]>) -> Tree {
    config.fit(Dataset::new(x, y).sample_weight(w)).unwrap()
}

fn features(seed: u64, n: usize) -> Array2<f32> {
    let mut rng = Stream::new(Key::from_seed(seed ^ 77));
    Array2::from_shape_simple_fn((n, 4), || if rng.below(3) == 0 { 0.0 } else { rng.below(50) as f32 - 20.0 })
}

fn given(matrix: &ProjectionMatrix) -> Projection {
    Projection::Given(vec![matrix.clone()])
}

/// Compares the nodes, the bits of the impurities, and the weights of nodes, which do not depend on the kind of the
/// outputs.
fn assert_same_structure(a: &Tree, b: &Tree) {
    assert_eq!(a.nodes, b.nodes);
    assert_eq!(a.impurity, b.impurity);
    assert_eq!(a.weighted_n_node_samples, b.weighted_n_node_samples);
}

#[test]
fn the_identity_gives_the_tree_of_the_outputs_themselves() {
    for (seed, splitter) in [(1, Splitter::Best), (2, Splitter::Random), (3, Splitter::Best)] {
        let (x, targets) = (features(seed, 80), SomeTargets::new(seed, 80, 9));
        let identity = ProjectionMatrix::from_dense(Array2::eye(9).view()).unwrap();
        let (ptr, indices, values) = identity.csr();
        let sparse = ProjectionMatrix::from_csr(&ptr, &indices, &values, 9).unwrap();
        let plain = TreeConfig { splitter, output_projection: None, ..config(Projection::Gaussian, 1, seed) };
        let expected = fit(&plain, &x, &targets.real(), None);
        assert!(expected.n_nodes() > 20);
        for matrix in [&identity, &sparse] {
            let config = TreeConfig { output_projection: projected(given(matrix), 9), ..plain.clone() };
            assert_eq!(fit(&config, &x, &targets.real(), None), expected);
            // Trees on labels are the same as trees on these labels as numbers, but their leaves hold frequencies.
            let (labels, numbers) = targets.kinds().swap_remove(0);
            let (of_labels, of_numbers) =
                (fit(&config, &x, &labels, None), fit(&plain, &x, &Targets::Real(numbers.view()), None));
            assert_same_structure(&of_labels, &of_numbers);
            let difference = naive::leaf_values(&of_labels) - naive::leaf_values(&of_numbers);
            // Frequencies are quotients of counts, and means of numbers are rounded sums.
            assert!(difference.iter().all(|v| v.abs() < 1e-12));
        }
    }
}

#[test]
fn labels_grow_as_the_same_numerical_outputs_for_every_family() {
    let (x, targets) = (features(4, 60), SomeTargets::new(4, 60, 33));
    let (labels, numbers) = targets.kinds().swap_remove(0);
    for family in random_families() {
        let config = config(family, 6, 5);
        assert_same_structure(
            &fit(&config, &x, &labels, None),
            &fit(&config, &x, &Targets::Real(numbers.view()), None),
        );
    }
}

#[test]
fn leaves_are_labelled_from_the_original_outputs() {
    let (x, targets) = (features(6, 70), SomeTargets::new(6, 70, 21));
    for (y, dense) in targets.kinds() {
        for family in families() {
            let tree = fit(&TreeConfig { max_depth: Some(3), ..config(family, 3, 1) }, &x, &y, None);
            assert_eq!(tree.criterion(), Criterion::Variance);
            assert_eq!(tree.outputs(), &y.outputs());
            let values = naive::leaf_values(&tree);
            let leaf_of: Vec<usize> =
                x.rows().into_iter().map(|row| tree.nodes[naive::apply(&tree, row)].right() as usize).collect();
            for leaf in 0..tree.n_leaves() {
                let rows: Vec<usize> = (0..70).filter(|&i| leaf_of[i] == leaf).collect();
                let mean = dense.select(Axis(0), &rows).mean_axis(Axis(0)).unwrap();
                // Means of up to 70 numbers, in another order.
                assert!((&mean - &values.row(leaf)).iter().all(|v| v.abs() < 1e-11));
            }
        }
    }
}

#[test]
fn a_tree_is_grown_on_exactly_what_its_seed_draws() {
    let (x, targets) = (features(7, 60), SomeTargets::new(7, 60, 40));
    let w: Vec<f64> = (0..60).map(|i| f64::from(i % 4)).collect();
    for (y, dense) in targets.kinds() {
        for family in families() {
            for w in [None, Some(w.as_slice())] {
                let config = config(family.clone(), 4, 19);
                let matrix = family.draw(dense.ncols(), 4, 19, Some(&y), w, &Control::default()).unwrap();
                let tree = fit(&config, &x, &y, w);
                let on_given = TreeConfig { output_projection: projected(given(&matrix), 4), ..config.clone() };
                assert_eq!(tree, fit(&on_given, &x, &y, w), "{family:?}");
                let dense_form = ProjectionMatrix::from_dense(matrix.dense().view()).unwrap();
                if !matches!(family, Projection::Hadamard) {
                    let on_dense = TreeConfig { output_projection: projected(given(&dense_form), 4), ..config.clone() };
                    assert_eq!(tree, fit(&on_dense, &x, &y, w), "{family:?}");
                }
                if !matches!(family, Projection::Pca) {
                    assert_ne!(tree.impurity, fit(&TreeConfig { seed: 20, ..config }, &x, &y, w).impurity);
                }
            }
        }
    }
}

#[test]
fn gini_of_labels_and_classes_means_the_same_projected() {
    let (x, targets) = (features(8, 50), SomeTargets::new(8, 50, 15));
    for y in [targets.labels(), targets.classes()] {
        let variance = config(Projection::Gaussian, 3, 2);
        let gini = TreeConfig { criterion: Criterion::Gini, ..variance.clone() };
        assert_eq!(fit(&gini, &x, &y, None), fit(&variance, &x, &y, None));
    }
}

fn forest(family: Projection, scope: ProjectionScope, sampling: Sampling) -> ForestConfig {
    let output_projection = projected(family, 4).map(|p| OutputProjection { scope, ..p });
    let tree = TreeConfig { output_projection, ..config(Projection::Gaussian, 1, 0) };
    ForestConfig { tree, n_trees: 5, sampling, seed: 31, by_output: false }
}

fn fit_forest(config: &ForestConfig, x: &Array2<f32>, y: &Targets<'_>) -> Forest {
    config.fit((x, y)).unwrap()
}

#[test]
fn trees_of_a_forest_share_a_projection_or_do_not() {
    let (x, targets) = (features(9, 60), SomeTargets::new(9, 60, 40));
    let y = targets.labels();
    for family in families() {
        let matrix = family.draw(40, 4, 31, Some(&y), None, &Control::default()).unwrap();
        let shared = fit_forest(&forest(family.clone(), ProjectionScope::Forest, Sampling::Bootstrap(None)), &x, &y);
        let expected = forest(given(&matrix), ProjectionScope::Tree, Sampling::Bootstrap(None));
        assert_eq!(shared, fit_forest(&expected, &x, &y), "{family:?}");
        let own = fit_forest(&forest(family.clone(), ProjectionScope::Tree, Sampling::All), &x, &y);
        let roots =
            own.trees().iter().map(|tree| tree.impurity()[0].to_bits()).collect::<std::collections::HashSet<_>>();
        // The impurity of the root is the variance of the projected outputs of all samples, for any features.
        assert_eq!(roots.len(), if family == Projection::Pca { 1 } else { 5 }, "{family:?}");
    }
}

#[test]
fn given_matrices_go_to_their_trees() {
    let (x, targets) = (features(10, 60), SomeTargets::new(10, 60, 40));
    let y = targets.real();
    let matrices: Vec<ProjectionMatrix> = (0..5)
        .map(|seed| Projection::Gaussian.draw(40, 2 + seed, seed as u64, None, None, &Control::default()).unwrap())
        .collect();
    let mut each = forest(Projection::Given(matrices.clone()), ProjectionScope::Tree, Sampling::Bootstrap(None));
    let log = |p: OutputProjection| OutputProjection { n_projections: NProjections::Log, ..p };
    each.tree.output_projection = each.tree.output_projection.map(log);
    let whole = fit_forest(&each, &x, &y);
    for (i, matrix) in matrices.iter().enumerate() {
        let mut one = each.clone();
        one.tree.output_projection = projected(given(matrix), 2 + i);
        let alone = one.fit_trees(i..i + 1, (&x, &y)).unwrap();
        assert_eq!(alone.tree(0), whole.tree(i));
    }
}

#[test]
fn results_do_not_depend_on_threads_layouts_or_parts() {
    let rows = models::rows(11, 90, 6);
    let targets = SomeTargets::new(11, 90, 70);
    for (y, _) in targets.kinds() {
        for family in families() {
            for scope in [ProjectionScope::Tree, ProjectionScope::Forest] {
                let config = forest(family.clone(), scope, Sampling::Bootstrap(None));
                let whole = fit_forest(&config, &rows.c_order, &y);
                for x in rows.layouts() {
                    for n_threads in [1, 2] {
                        let control = Control::with_threads(n_threads);
                        assert_eq!(config.fit((&x, &y, &control)).unwrap(), whole, "{family:?}");
                    }
                }
                let part = |trees| config.fit_trees(trees, (&rows.c_order, &y)).unwrap();
                assert_eq!(Forest::merge(&[&part(0..2), &part(2..5)]).unwrap(), whole);
            }
        }
    }
}

#[test]
fn weights_count_samples() {
    let (x, targets) = (features(12, 50), SomeTargets::new(12, 50, 70));
    let w: Vec<f64> = (0..50).map(|i| f64::from((i * 7) % 3)).collect();
    let repeated: Vec<usize> =
        [1, 2].into_iter().flat_map(|times| (0..50).filter(move |i| (i * 7) % 3 >= times)).collect();
    let kept: Vec<usize> = (0..50).filter(|i| (i * 7) % 3 > 0).collect();
    let kept_w: Vec<f64> = kept.iter().map(|&i| w[i]).collect();
    let select = |rows: &[usize]| SomeTargets {
        labels: rows.iter().map(|&i| targets.labels[i].clone()).collect(),
        codes: targets.codes.select(Axis(0), rows),
        n_classes: targets.n_classes.clone(),
        real: targets.real.select(Axis(0), rows),
    };
    let (twice, without) = (select(&repeated), select(&kept));
    for kind in 0..3 {
        for family in families() {
            let config = config(family.clone(), 5, 3);
            let weighted = fit(&config, &x, &targets.kinds()[kind].0, Some(&w));
            let removed = fit(&config, &x.select(Axis(0), &kept), &without.kinds()[kind].0, Some(&kept_w));
            assert_eq!(weighted, removed, "{family:?}");
            let counted = fit(&config, &x.select(Axis(0), &repeated), &twice.kinds()[kind].0, None);
            assert_same_structure(&weighted, &counted);
            assert_eq!(naive::leaf_values(&weighted), naive::leaf_values(&counted), "{family:?}");
        }
    }
}

#[test]
fn weights_of_any_size_and_single_outputs_grow() {
    let x = features(13, 40);
    let w: Vec<f64> = (0..40).map(|i| 0.1 + 1e9 * f64::from(i % 5)).collect();
    let y = Array2::from_shape_fn((40, 1), |(i, _)| (i % 7) as f64);
    let labels = crate::testing::labels::on((40, 1), |i, _| i % 2 == 1);
    for family in families() {
        for y in [Targets::Real(y.view()), Targets::Labels(labels.clone())] {
            for w in [None, Some(w.as_slice())] {
                assert!(fit(&config(family.clone(), 1, 1), &x, &y, w).n_nodes() > 3, "{family:?}");
            }
        }
    }
    // There are more projections than outputs, which only some families allow.
    for family in [Projection::Gaussian, Projection::Rademacher { sparsity: Sparsity::Factor(2.0) }] {
        let tree = fit(&config(family, 9, 1), &x, &Targets::Real(y.view()), None);
        assert!(tree.n_nodes() > 3);
    }
}

#[test]
fn outputs_that_never_vary_give_a_single_leaf() {
    let x = features(14, 30);
    let nothing = Targets::Labels(crate::testing::labels::on((30, 12), |_, _| false));
    let constant = Array2::from_elem((30, 12), 3.25);
    for family in families() {
        for y in [&nothing, &Targets::Real(constant.view())] {
            let tree = fit(&config(family.clone(), 3, 1), &x, y, None);
            assert_eq!((tree.n_nodes(), tree.impurity()[0]), (1, 0.0), "{family:?}");
        }
    }
}

#[test]
fn projected_forests_are_saved_and_merge_with_their_kind_only() {
    let (x, targets) = (features(15, 60), SomeTargets::new(15, 60, 20));
    for (y, _) in targets.kinds() {
        let config = forest(Projection::Gaussian, ProjectionScope::Tree, Sampling::Bootstrap(None));
        let projected = fit_forest(&config, &x, &y);
        #[cfg(feature = "model-files")]
        assert_eq!(Forest::from_bytes(&projected.to_bytes().unwrap()).unwrap(), projected);
        let numeric = matches!(y, Targets::Real(_));
        let criterion = if numeric { Criterion::Variance } else { Criterion::Gini };
        let plain = fit_forest(&ForestConfig { n_trees: 2, ..ForestConfig::extra_trees(criterion) }, &x, &y);
        assert_eq!(Forest::merge(&[&projected, &plain]).is_ok(), numeric);
    }
}

/// Returns Σ w |y − mean|² / Σ w.
fn variance(y: &Array2<f64>, rows: &[usize], w: &[f64]) -> f64 {
    let total: f64 = rows.iter().map(|&i| w[i]).sum();
    let mean = rows.iter().fold(ndarray::Array1::<f64>::zeros(y.ncols()), |sum, &i| sum + &y.row(i) * w[i]) / total;
    rows.iter().map(|&i| w[i] * (&y.row(i) - &mean).mapv(|v| v * v).sum()).sum::<f64>() / total
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Thesis, ch. 5: bounds on the squared distances of all pairs also hold for the variance of every node.
    #[test]
    fn variances_of_nodes_are_kept_as_well_as_distances(seed in any::<u64>(), q in 5usize..60) {
        let n = 25;
        let (x, targets) = (features(seed, n), SomeTargets::new(seed, n, 50));
        let w: Vec<f64> = (0..n).map(|i| (1 + (seed as usize >> 3 ^ i) % 4) as f64).collect();
        for family in [Projection::Gaussian, Projection::Rademacher { sparsity: Sparsity::Factor(3.0) }] {
            let matrix = family.draw(50, q, seed, None, None, &Control::default()).unwrap();
            let z = targets.real.dot(&matrix.dense().t());
            let distance = |y: &Array2<f64>, i, j| (&y.row(i) - &y.row(j)).mapv(|v| v * v).sum();
            let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
            let apart = pairs.filter(|&(i, j)| distance(&targets.real, i, j) > 0.0);
            let eps = apart.map(|(i, j)| (distance(&z, i, j) / distance(&targets.real, i, j) - 1.0).abs()).fold(0.0, f64::max);
            prop_assert!(eps > 0.0);
            let tree = fit(&config(family, q, seed), &x, &targets.real(), Some(&w));
            let paths: Vec<Vec<usize>> = x.rows().into_iter().map(|row| naive::path(&tree, row)).collect();
            for node in 0..tree.n_nodes() {
                let rows: Vec<usize> = (0..n).filter(|&i| paths[i].contains(&node)).collect();
                let (original, stored) = (variance(&targets.real, &rows, &w), tree.impurity()[node] * q as f64);
                // Naive variances are rounded sums of projected outputs, which are also rounded (here and below).
                prop_assert!((stored - variance(&z, &rows, &w)).abs() <= 1e-9 * (1.0 + stored));
                prop_assert!((stored - original).abs() <= eps * original * (1.0 + 1e-9) + 1e-9, "{} {} {}", stored, original, eps);
            }
        }
    }
}

#[test]
fn orthonormal_projections_of_full_width_keep_every_split() {
    let (x, targets) = (features(16, 60), SomeTargets::new(16, 60, 16));
    let rotation = Projection::Hadamard.draw(16, 16, 1, None, None, &Control::default()).unwrap();
    let plain = TreeConfig { output_projection: None, max_depth: Some(4), ..config(Projection::Gaussian, 1, 4) };
    let rotated = TreeConfig { output_projection: projected(given(&rotation), 16), ..plain.clone() };
    let (a, b) = (fit(&plain, &x, &targets.real(), None), fit(&rotated, &x, &targets.real(), None));
    assert_eq!(a.nodes, b.nodes);
    // Rotated outputs are rounded sums of 16 products.
    assert!(a.impurity.iter().zip(&b.impurity).all(|(a, b)| (a - b).abs() < 1e-9 * a.max(1.0)));
}
