//! Against Shapley values by their definition: sums over all sets of features.

use std::sync::Arc;

use ndarray::{Array2, Array3, ArrayView1, ArrayView2, Axis, Slice};
use proptest::prelude::*;

use crate::control::Control;
use crate::data::{Matrix, Outputs};
use crate::error::ErrorKind;
use crate::forest::Forest;
use crate::model::{Additive, Term};
use crate::testing::{models, naive};
use crate::tree::Tree;

/// Sums of scores of some trees with some features left open.
type Game<'g> = dyn Fn(u32) -> Vec<f64> + 'g;

/// What a tree tells of a row when the features that are not in `set` are open, by recursion.
fn told(
    tree: &Tree,
    leaves: &Array2<f64>,
    at: usize,
    row: ArrayView1<'_, f32>,
    set: u32,
    share: f64,
    sums: &mut [f64],
) {
    let node = &tree.nodes[at];
    if node.is_leaf() {
        let values = leaves.row(node.right() as usize);
        return sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += share * value);
    }
    let (left, right) = (at + 1, node.right() as usize);
    let mut below = |at: usize, share: f64| told(tree, leaves, at, row, set, share, sums);
    if set >> node.feature() & 1 == 1 {
        let goes_left = node.decision(&tree.sets).goes_left(row[node.feature() as usize]);
        return below(if goes_left { left } else { right }, share);
    }
    let weight = |at: usize| tree.weighted_n_node_samples[at];
    let both = weight(left) + weight(right);
    let of_left = if both > 0.0 { weight(left) / both } else { 0.5 };
    below(left, share * of_left);
    below(right, share * (1.0 - of_left));
}

/// The scores that values of the trees make.
fn added(model: &Additive<'_>, of_tree: impl Fn(&Tree, &Array2<f64>) -> Vec<f64>) -> Vec<f64> {
    let mut sums = vec![0.0; model.n_scores()];
    sums.iter_mut().zip(model.start()).for_each(|(sum, start)| *sum = *start);
    for (tree, term) in model.trees().iter().zip(model.terms()) {
        let values = of_tree(tree, &naive::leaf_values(tree));
        match term {
            Term::Leaf => sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value),
            Term::Column(column) => sums[column] += values[0],
            Term::RankOne(direction) => {
                sums.iter_mut().zip(direction.factors()).for_each(|(sum, factor)| *sum += values[0] * factor);
            }
        }
    }
    sums.into_iter().map(|sum| sum / model.divisor()).collect()
}

fn path_game(model: &Additive<'_>, row: ArrayView1<'_, f32>, set: u32) -> Vec<f64> {
    added(model, |tree, leaves| {
        let mut sums = vec![0.0; leaves.ncols()];
        told(tree, leaves, 0, row, set, 1.0, &mut sums);
        sums
    })
}

fn background_game(model: &Additive<'_>, row: ArrayView1<'_, f32>, background: &Array2<f32>, set: u32) -> Vec<f64> {
    let mut means = vec![0.0; model.n_scores()];
    for other in background.rows() {
        let mixed: ndarray::Array1<f32> =
            (0..row.len()).map(|j| if set >> j & 1 == 1 { row[j] } else { other[j] }).collect();
        let scores = added(model, |tree, leaves| {
            leaves.row(tree.nodes[naive::apply(tree, mixed.view())].right() as usize).to_vec()
        });
        means.iter_mut().zip(scores).for_each(|(mean, score)| *mean += score / background.nrows() as f64);
    }
    means
}

fn factorial(n: u32) -> f64 {
    (1..=n).map(f64::from).product()
}

/// Shapley values of a game of `p` players, (p, scores).
fn shapley(game: &Game<'_>, p: usize) -> Array2<f64> {
    let worth: Vec<Vec<f64>> = (0..1u32 << p).map(game).collect();
    Array2::from_shape_fn((p, worth[0].len()), |(j, o)| {
        let without = (0..1usize << p).filter(|set| set >> j & 1 == 0);
        let gains = without.map(|set| {
            let size = set.count_ones();
            let orders = factorial(size) * factorial(p as u32 - size - 1) / factorial(p as u32);
            orders * (worth[set | 1 << j][o] - worth[set][o])
        });
        gains.sum()
    })
}

/// Interaction values of a game, (p, p), of one score.
fn interactions(game: &Game<'_>, p: usize, o: usize) -> Array2<f64> {
    let worth: Vec<f64> = (0..1u32 << p).map(|set| game(set)[o]).collect();
    let mut found = Array2::from_shape_fn((p, p), |(i, j)| {
        let without = (0..1usize << p).filter(|set| set >> i & 1 == 0 && set >> j & 1 == 0 && i != j);
        let gains = without.map(|set| {
            let size = set.count_ones();
            let orders = factorial(size) * factorial(p as u32 - size - 2) / (2.0 * factorial(p as u32 - 1));
            let (with_i, with_j) = (set | 1 << i, set | 1 << j);
            orders * (worth[with_i | with_j] - worth[with_i] - worth[with_j] + worth[set])
        });
        gains.sum()
    });
    let values = shapley(game, p);
    for i in 0..p {
        found[[i, i]] = values[[i, o]] - found.row(i).sum();
    }
    found
}

/// Sums over some thousand sets of numbers up to `scale`, each some units in the last place.
fn near<D: ndarray::Dimension>(found: &ndarray::Array<f64, D>, expected: &ndarray::Array<f64, D>, scale: f64) -> bool {
    found.shape() == expected.shape()
        && found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-12 * scale.max(1.0))
}

fn scale(model: &Additive<'_>) -> f64 {
    added(model, |_, leaves| leaves.map_axis(Axis(0), |c| c.iter().fold(0.0, |m, v| f64::max(m, v.abs()))).to_vec())
        .into_iter()
        .fold(0.0, |largest, sum| f64::max(largest, sum.abs()))
}

fn some_rows(x: &Array2<f32>, from: usize, to: usize) -> ArrayView2<'_, f32> {
    x.slice_axis(Axis(0), Slice::from(from..to))
}

fn of_output(values: &Array3<f64>, row: usize, output: usize) -> ArrayView1<'_, f64> {
    values.index_axis(Axis(0), row).index_axis_move(Axis(1), output)
}

/// A forest some of whose nodes have no training weight.
fn without_some_weights(mut forest: Forest, seed: u64) -> Forest {
    if seed.is_multiple_of(3) {
        for tree in &mut forest.trees {
            let mut lighter = Tree::clone(tree);
            let nodes = lighter.weighted_n_node_samples.iter_mut().enumerate();
            nodes.filter(|(i, _)| (i + seed as usize) % 5 == 1).for_each(|(_, weight)| *weight = 0.0);
            *tree = Arc::new(lighter);
        }
    }
    forest
}

fn assert_is_shapley(model: &Additive<'_>, rows: &models::Rows, background: Option<&Array2<f32>>) {
    let (x, p, control) = (&rows.c_order, model.n_features(), Control::default());
    let scale = scale(model);
    let background_of = || background.map(|b| Matrix::from(b.view()));
    let found = model.shap_values((x, &control), background_of(), None).unwrap();
    let base = model.shap_base_values(background_of(), None, &control).unwrap();
    for (i, row) in x.rows().into_iter().enumerate() {
        let game = |set| match background {
            None => path_game(model, row, set),
            Some(background) => background_game(model, row, background, set),
        };
        assert!(near(&found.index_axis(Axis(0), i).to_owned(), &shapley(&game, p), scale), "row {i}");
        let (nothing, all) = (game(0), game(u32::MAX));
        for o in 0..model.n_scores() {
            let sum = base[o] + of_output(&found, i, o).sum();
            // The base value and the values of some features are added, each as exact as `near` says.
            assert!((sum - all[o]).abs() <= 1e-11 * scale.max(1.0), "additivity: {sum} {}", all[o]);
            let zero_cover = model.trees().iter().any(|tree| tree.weighted_n_node_samples.contains(&0.0));
            // The mean by leaves and the mean by splits differ where weights of nodes are no sums.
            assert!(zero_cover || (base[o] - nothing[o]).abs() <= 1e-12 * scale.max(1.0));
        }
        let o = i % model.n_scores();
        let of_row = model.shap_interaction_values((some_rows(x, i, i + 1), &control), background_of(), o).unwrap();
        assert!(near(&of_row.index_axis(Axis(0), 0).to_owned(), &interactions(&game, p, o), scale), "row {i}");
    }
}

fn dense(parts: &[crate::model::SparseScores], n: usize, p: usize) -> Array3<f64> {
    let mut all = Array3::zeros((n, p, parts.len()));
    for (o, part) in parts.iter().enumerate() {
        for i in 0..n {
            for at in part.ptr[i]..part.ptr[i + 1] {
                assert!(part.values[at] != 0.0 && (at == part.ptr[i] || part.columns[at - 1] < part.columns[at]));
                all[[i, part.columns[at] as usize, o]] = part.values[at];
            }
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn values_are_those_of_the_definition(seed in 0u64..3000, n in 0usize..12) {
        let forest = models::some_forest(seed);
        // The definition is slow: narrow outputs, and those of many in few trees.
        let forest = if forest.outputs.width() > 12 { Forest { trees: forest.trees[..1].to_vec(), ..forest } } else { forest };
        let rows = models::rows_with_missing(seed, n.min(if forest.outputs.width() > 12 { 2 } else { 12 }), forest.n_features());
        assert_is_shapley(&forest.additive().unwrap(), &rows, None);
    }

    #[test]
    fn nodes_without_weight_and_features_tested_again_are_no_exception(seed in 0u64..3000) {
        let shape = models::Shape {
            n_features: 1 + seed as usize % 4, outputs: models::some_outputs(seed % 5), max_leaves: 40, unit: 1.0,
        };
        let forest = without_some_weights(models::forest(seed, 1 + seed as usize % 3, &shape), 3 * (seed / 3));
        // Values alone: sums to the mean are only those of weights that add up.
        let model = forest.additive().unwrap();
        let rows = models::rows_with_missing(seed, 3, forest.n_features());
        let found = model.shap_values(&rows.c_order, None, None).unwrap();
        for (i, row) in rows.c_order.rows().into_iter().enumerate() {
            let expected = shapley(&|set| path_game(&model, row, set), forest.n_features());
            prop_assert!(near(&found.index_axis(Axis(0), i).to_owned(), &expected, scale(&model)));
        }
    }

    #[test]
    fn values_against_a_background_are_those_of_the_definition(seed in 0u64..3000, n in 0usize..5, n_others in 1usize..5) {
        let forest = models::some_forest(seed);
        let forest = if forest.outputs.width() > 12 { Forest { trees: forest.trees[..1].to_vec(), ..forest } } else { forest };
        let rows = models::rows_with_missing(seed, n, forest.n_features());
        let others = models::rows_with_missing(seed + 1, n_others, forest.n_features());
        assert_is_shapley(&forest.additive().unwrap(), &rows, Some(&others.c_order));
    }

    #[test]
    fn layouts_threads_and_sparse_results_do_not_change_a_bit(seed in 0u64..3000, n in 0usize..40, against in any::<bool>()) {
        let forest = models::some_forest(seed);
        let model = forest.additive().unwrap();
        let (p, width) = (forest.n_features(), forest.outputs.width());
        let rows = models::rows_with_missing(seed, n, p);
        let others = models::rows_with_missing(seed + 1, 3, p);
        let background = |layout: usize| against.then(|| others.layouts().swap_remove(layout));
        let some: Vec<usize> = (0..width).rev().step_by(2).take(1 + seed as usize % 7).collect();
        let find = |x: &Matrix<'_>, layout, threads| {
            model.shap_values((x.clone(), &Control::with_threads(threads)), background(layout), Some(&some)).unwrap()
        };
        let found = find(&rows.layouts()[0], 0, 1);
        prop_assert_eq!(found.dim(), (n, p, some.len()));
        let all = model.shap_values(&rows.c_order, background(0), None).unwrap();
        prop_assert!(near(&found, &all.select(Axis(2), &some), scale(&model)));
        for (layout, x) in rows.layouts().iter().enumerate() {
            for threads in [1, 3] {
                prop_assert_eq!(&find(x, layout, threads), &found);
                let control = Control::with_threads(threads);
                let sparse = model.shap_values_sparse((x.clone(), &control), background(layout), Some(&some)).unwrap();
                prop_assert_eq!(&dense(&sparse, n, p), &found);
            }
        }
        // A row on its own has the same values.
        for i in 0..n.min(3) {
            let one = some_rows(&rows.c_order, i, i + 1);
            let one = model.shap_values(one, background(0), Some(&some)).unwrap();
            prop_assert_eq!(one.index_axis(Axis(0), 0), found.index_axis(Axis(0), i));
        }
    }
}

#[test]
fn boosted_and_compressed_models_have_shapley_values_of_their_scores() {
    use crate::{
        BoostConfig, CompressConfig, CompressLoss, CompressMethod, LossKind, NProjections, OutputStrategy, Projection,
        Targets,
    };
    let control = Control::default();
    let rows = models::rows(3, 60, 4);
    let x = Matrix::from(rows.c_order.view());
    let few = models::rows(5, 9, 4);
    let codes = Array2::from_shape_fn((60, 2), |(i, j)| ((i + 3 * j) as u32 * 7 / 5) % 3);
    let y = Targets::Classes { codes: codes.view(), n_classes: vec![3, 3] };
    let rank_one = OutputStrategy::Projected {
        projection: Projection::Gaussian,
        n_projections: NProjections::Count(1),
        relabel: false,
    };
    for strategy in [OutputStrategy::SingleTarget, OutputStrategy::Joint, rank_one] {
        let config = BoostConfig { strategy, n_estimators: 3, ..BoostConfig::new(LossKind::LogLoss) };
        let model = config.fit((&x, &y)).unwrap();
        assert_is_shapley(&model.additive().unwrap(), &few, None);
        assert_is_shapley(&model.additive().unwrap(), &few, Some(&models::rows(6, 3, 4).c_order));
    }
    let forest = crate::ForestConfig { n_trees: 4, ..crate::ForestConfig::extra_trees(crate::Criterion::Gini) };
    let forest = forest.fit((&x, &y)).unwrap();
    let method = CompressMethod::Stagewise { step_size: 0.1, max_steps: Some(20) };
    let config = CompressConfig { loss: CompressLoss::LogLoss, method, ..CompressConfig::stagewise(0.1) };
    let path = config.path(&forest, (&x, &y), None).unwrap();
    let model = path.at_step(path.n_steps(), &control).unwrap();
    assert_is_shapley(&model.additive().unwrap(), &few, None);
}

/// A chain of splits on as many features, each of which sends a share of `tail` to a leaf.
fn comb(depth: usize, width: usize, tail: f64) -> Tree {
    let mut tree = models::chain(depth);
    tree.n_features = depth;
    tree.outputs = Arc::new(Outputs::Real { n_outputs: width });
    let mut leaves = crate::tree::leaves::LeafTableBuilder::new(width);
    for leaf in 0..=depth {
        leaves.push_means(&(0..width).map(|o| ((leaf * 7 + o * 3) % 11) as f64 - 5.0).collect::<Vec<_>>()).unwrap();
    }
    tree.leaves = leaves.finish().unwrap();
    let mut weight = 1e12;
    for split in 0..depth {
        let right = tree.nodes[split].right() as usize;
        tree.nodes[split].set_feature((split * 7 % depth) as u32);
        tree.nodes[split].set_threshold(0.0);
        tree.weighted_n_node_samples[split] = weight;
        tree.weighted_n_node_samples[right] = weight * tail;
        weight *= 1.0 - tail;
    }
    tree.weighted_n_node_samples[depth] = weight;
    tree
}

#[test]
fn values_add_up_three_hundred_splits_deep() {
    for (depth, tail, width) in [(300, 0.5, 1), (300, 0.01, 1), (300, 0.99, 2), (300, 0.1, 7), (1000, 0.003, 1)] {
        let forest = Forest::from(comb(depth, width, tail));
        let model = forest.additive().unwrap();
        let x = Array2::from_shape_fn((20, depth), |(i, j)| match i {
            0 => -1.0,
            1 => 1.0,
            _ => {
                if (i * 31 + j * 17) % (i + 2) < 2 {
                    1.0
                } else {
                    -1.0
                }
            }
        });
        let control = Control::default();
        let found = model.shap_values(&x, None, None).unwrap();
        let base = model.shap_base_values(None, None, &control).unwrap();
        let scores = forest.predict(&x).unwrap();
        let against = model.shap_values(&x, Some(some_rows(&x, 0, 5).into()), None).unwrap();
        let of_background = scores.slice_axis(Axis(0), Slice::from(..5)).mean_axis(Axis(0)).unwrap();
        for ((i, o), score) in scores.indexed_iter() {
            let sum = base[o] + of_output(&found, i, o).sum();
            // Values up to 5, each a sum over some hundred leaves of products of some hundred rounded factors.
            assert!((sum - score).abs() < 1e-11, "{depth} {tail}: {sum} {score}");
            assert!(of_output(&found, i, o).iter().all(|value| value.abs() < 11.0));
            let sum = of_background[o] + of_output(&against, i, o).sum();
            assert!((sum - score).abs() < 1e-11, "{depth} {tail}, against a background: {sum} {score}");
        }
    }
}

#[test]
fn inputs_that_do_not_fit_are_errors() {
    let shape = models::Shape { n_features: 3, outputs: Outputs::Real { n_outputs: 2 }, max_leaves: 9, unit: 1.0 };
    let forest = models::forest(1, 2, &shape);
    let model = forest.additive().unwrap();
    let control = Control::default();
    let x = Array2::<f32>::zeros((2, 3));
    let kind = |x: &Array2<f32>, background: Option<Matrix<'_>>, outputs: Option<&[usize]>| {
        model.shap_values(x, background, outputs).unwrap_err().to_string()
    };
    let (narrow, none) = (Array2::zeros((2, 2)), Array2::<f32>::zeros((0, 3)));
    assert_eq!(kind(&narrow, None, None), "each row of X must have length 3, got 2");
    assert_eq!(kind(&x, Some(narrow.view().into()), None), "each row of background must have length 3, got 2");
    assert_eq!(kind(&x, Some(none.view().into()), None), "background must have at least one sample, got 0 samples");
    assert_eq!(kind(&x, None, Some(&[2])), "outputs must be below the number of scores, got 2");
    assert_eq!(kind(&x, None, Some(&[1, 1])), "outputs must name each score once, got 1, twice");
    assert_eq!(model.shap_values(&x, None, Some(&[])).unwrap().dim(), (2, 3, 0));
    assert!(model.shap_interaction_values(&x, None, 2).is_err());
    control.stop();
    assert_eq!(model.shap_values((&x, &control), None, None).unwrap_err().kind(), &ErrorKind::Interrupted);
    let wide = crate::Outputs::Labels { n_labels: usize::MAX / 4 };
    let mut tree = models::chain(1);
    (tree.outputs, tree.leaves.width) = (wide.into(), usize::MAX / 4);
    let forest = Forest::from(tree);
    let error = forest.additive().unwrap().shap_values(Array2::zeros((9, 1)).view(), None, None);
    assert!(matches!(error.unwrap_err().kind(), ErrorKind::OutOfMemory { .. }));
}
