//! Pruned models, beside the procedure of the definition.

use ndarray::Array2;

use crate::boost::model::Combine;
use crate::boost::*;
use crate::control::Control;
use crate::data::{Dataset, LabelView, Targets};
use crate::loss::LossKind;
use crate::projection::{NProjections, Projection};
use crate::rng::{Key, Stream};
use crate::tree::Tree;
use proptest::prelude::*;

const N: usize = 60;

fn strategies() -> [OutputStrategy; 4] {
    let projected = |relabel| OutputStrategy::Projected {
        projection: Projection::Gaussian,
        n_projections: NProjections::Count(1),
        relabel,
    };
    [OutputStrategy::SingleTarget, OutputStrategy::Joint, projected(true), projected(false)]
}

/// Samples of three labels.
fn made(seed: u64) -> (Array2<f32>, Vec<Vec<u32>>) {
    let mut stream = Stream::new(Key::from_seed(seed));
    let x = Array2::from_shape_simple_fn((N, 3), || stream.below(9) as f32);
    let y = (0..N).map(|i| {
        let noise = stream.below(512);
        (0..3).filter(|&j| (x[[i, j as usize]] > 3.0 + j as f32) != ((noise >> (3 * j)) & 7 == 0)).collect()
    });
    let y = y.collect();
    (x, y)
}

fn labels(y: &[Vec<u32>]) -> LabelView<'static> {
    let mut ptr = vec![0];
    y.iter().for_each(|row| ptr.push(ptr[ptr.len() - 1] + row.len()));
    LabelView::try_new(ptr, y.concat(), 3).unwrap()
}

/// Returns the leaves below a node, if these splits are leaves.
fn leaves_below(tree: &Tree, is_leaf: &[bool], i: usize) -> Vec<usize> {
    if is_leaf[i] || tree.nodes[i].is_leaf() {
        return vec![i];
    }
    let right = leaves_below(tree, is_leaf, tree.nodes[i].right() as usize);
    [leaves_below(tree, is_leaf, i + 1), right].concat()
}

/// Returns what a leaf in place of a node costs: over the original leaves below, the weighted squared distances from
/// their mean.
fn cost(model: &Boosted, t: usize, i: usize) -> f64 {
    let tree = &model.trees[t];
    let of_leaf = |&leaf: &usize| {
        let mut values = vec![0.0; tree.leaves.width()];
        tree.leaves.add_to(tree.nodes[leaf].right() as usize, &mut values);
        let moves = if model.combine == Combine::RankOne {
            model.step_sizes.of_stage(t, model.width).map(|step| step * values[0]).collect()
        } else {
            values
        };
        (tree.weighted_n_node_samples[leaf], moves)
    };
    let leaves: Vec<(f64, Vec<f64>)> =
        leaves_below(tree, &vec![false; tree.n_nodes()], i).iter().map(of_leaf).collect();
    let total: f64 = leaves.iter().map(|(w, _)| w).sum();
    let width = leaves[0].1.len();
    let mean: Vec<f64> = (0..width).map(|c| leaves.iter().map(|(w, v)| w * v[c]).sum::<f64>() / total).collect();
    let distance = |v: &[f64]| v.iter().zip(&mean).map(|(v, m)| (v - m) * (v - m)).sum::<f64>();
    leaves.iter().map(|(w, v)| w * distance(v)).sum()
}

/// Returns which splits are leaves after the weakest of all trees have become leaves, one after the other.
fn naive(model: &Boosted, n_test_nodes: usize) -> Vec<Vec<bool>> {
    let costs: Vec<Vec<f64>> =
        (0..model.trees.len()).map(|t| (0..model.trees[t].n_nodes()).map(|i| cost(model, t, i)).collect()).collect();
    let mut is_leaf: Vec<Vec<bool>> = model.trees.iter().map(|tree| vec![false; tree.n_nodes()]).collect();
    loop {
        let splits = |is_leaf: &[Vec<bool>]| -> Vec<(usize, usize)> {
            let mut found = Vec::new();
            for (t, tree) in model.trees.iter().enumerate() {
                let mut todo = vec![0];
                while let Some(i) = todo.pop() {
                    if !tree.nodes[i].is_leaf() && !is_leaf[t][i] {
                        found.push((t, i));
                        todo.extend([tree.nodes[i].right() as usize, i + 1]);
                    }
                }
            }
            found
        };
        let there = splits(&is_leaf);
        if there.len() <= n_test_nodes {
            return is_leaf;
        }
        let link = |&(t, i): &(usize, usize)| {
            let below = leaves_below(&model.trees[t], &is_leaf[t], i);
            (costs[t][i] - below.iter().map(|&leaf| costs[t][leaf]).sum::<f64>()) / (below.len() - 1) as f64
        };
        let (t, i) = *there.iter().min_by(|a, b| link(a).total_cmp(&link(b))).unwrap();
        is_leaf[t][i] = true;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_weakest_splits_of_all_trees_become_leaves(seed in any::<u64>(), strategy in 0usize..4, share in 1usize..9) {
        let (x, y) = made(seed);
        let strategy = strategies()[strategy].clone();
        let config = BoostConfig::new(LossKind::LogLoss).strategy(strategy).n_estimators(5).learning_rate(0.5);
        let config = config.min_weight_leaf(1.0).l2_regularization(0.1);
        let model = config.fit((&x, labels(&y))).unwrap();
        let n = (model.n_test_nodes() * share / 9).max(1);
        let pruned = config.prune(&model, (&x, labels(&y)), n).unwrap();
        prop_assert!(pruned.n_test_nodes() <= n && pruned.n_test_nodes() > 0);
        let expected = naive(&model, n);
        let n_left = |t: usize| leaves_below(&model.trees[t], &expected[t], 0).len() - 1;
        // Single targets: the trees of each score, without the leaves among them.
        let n_columns = if model.combine == Combine::Columns { 3 } else { 1 };
        for column in 0..n_columns {
            let left: Vec<usize> = (0..model.trees.len()).filter(|t| t % n_columns == column).map(n_left).filter(|n| *n > 0).collect();
            let of_column = pruned.trees.iter().skip(column).step_by(n_columns).map(|tree| tree.n_nodes() / 2);
            prop_assert_eq!(of_column.filter(|n| *n > 0).collect::<Vec<_>>(), left);
        }
    }
}

#[test]
fn all_splits_once_are_the_refit_and_more_turns_fit_better() {
    let (x, y) = made(3);
    let control = Control::default();
    for strategy in strategies() {
        let config = BoostConfig::new(LossKind::LogLoss).strategy(strategy).n_estimators(6);
        let config = config.min_weight_leaf(1.0).l2_regularization(0.1);
        let model = config.fit((&x, labels(&y))).unwrap();
        let data = || Dataset::from((&x, labels(&y)));
        let all = config.prune(&model, data(), usize::MAX).unwrap();
        let refitted = config.refit_leaves(&model, data()).unwrap();
        assert_eq!(all.train_score(), refitted.train_score());
        assert_eq!(all.predict(&x).unwrap(), refitted.predict(&x).unwrap());
        let longer = config.clone().n_estimators(18).prune(&model, data(), usize::MAX).unwrap();
        assert_eq!(longer.n_stages(), 6);
        assert!(longer.train_score()[5] < all.train_score()[5]);
        // What the folded leaves predict has the loss of the last turn.
        let scores = longer.predict_scores(&x).unwrap();
        let y = Targets::Labels(labels(&y));
        let loss = config.mean_loss(&y, None, None, Some(scores.view()), &control).unwrap().unwrap();
        assert!((loss - longer.train_score()[5]).abs() < 1e-6, "{loss} {}", longer.train_score()[5]);
    }
}

#[test]
fn units_of_numerical_outputs_do_not_matter() {
    let (x, _) = made(5);
    let mut stream = Stream::new(Key::from_seed(1));
    let y = Array2::from_shape_fn((N, 3), |(i, j)| f64::from(x[[i, j]]) + stream.below(5) as f64);
    for strategy in [OutputStrategy::SingleTarget, OutputStrategy::Joint] {
        let config = BoostConfig::new(LossKind::SquaredError).strategy(strategy).n_estimators(4);
        let config = config.min_weight_leaf(1.0).l2_regularization(0.0);
        let sizes = |unit: f64| {
            let mut y = y.clone();
            y.column_mut(1).mapv_inplace(|v| v * unit);
            let model = BoostConfig { ..config.clone() }.fit((&x, &y)).unwrap();
            let pruned = config.prune(&model, (&x, &y), model.n_test_nodes() / 3).unwrap();
            pruned.trees.iter().map(|tree| tree.n_nodes()).collect::<Vec<_>>()
        };
        // Joint trees split by the sums of all outputs: only separate ones are the same in any unit.
        if config.strategy == OutputStrategy::SingleTarget {
            let expected = sizes(1.0);
            for exponent in [-400, -40, 40, 400] {
                assert_eq!(sizes(2f64.powi(exponent)), expected, "2^{exponent}");
            }
        }
        assert!(sizes(2f64.powi(300)).len() > 1);
    }
}
