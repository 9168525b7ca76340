use ndarray::{Array2, Axis};
use proptest::prelude::*;

use super::*;
use crate::Scorer;
use crate::control::Control;
use crate::data::{LabelView, Matrix};
use crate::error::{Error, ErrorKind};
use crate::forest::Forest;
use crate::testing::{models, naive};

fn bits(a: &Array2<f64>) -> Vec<u64> {
    a.iter().map(|v| v.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_layout_and_number_of_threads_gives_the_naive_bits(seed in 0u64..10_000, n in 0usize..90) {
        let forest = models::some_forest(seed);
        let rows = models::rows_with_missing(seed, n, forest.n_features);
        let expected = naive::predict(&forest, &rows.c_order, |_, _| true);
        for x in rows.layouts() {
            for n_threads in [1, 2, 8] {
                let control = Control::with_threads(n_threads);
                let got = forest.predict((&x, &control)).unwrap();
                prop_assert_eq!(got.dim(), expected.dim());
                prop_assert_eq!(bits(&got), bits(&expected));
            }
        }
    }

    #[test]
    fn many_trees_with_few_leaves_give_the_naive_bits(seed in 0u64..10_000, n in 25usize..150) {
        let outputs = models::some_outputs(seed / 5);
        let shape = models::Shape { n_features: 1 + seed as usize % 5, outputs, max_leaves: 36, unit: 1.0 };
        let forest = models::forest(seed, 24, &shape);
        let rows = models::rows_with_missing(seed, n, forest.n_features);
        let expected = naive::predict(&forest, &rows.c_order, |_, _| true);
        for x in rows.layouts() {
            for n_threads in [1, 2, 8] {
                let control = Control::with_threads(n_threads);
                prop_assert_eq!(bits(&forest.predict((&x, &control)).unwrap()), bits(&expected));
            }
        }
    }

    #[test]
    fn one_sample_is_scored_as_among_many(seed in 0u64..10_000, n_trees in 1usize..40) {
        let shape = models::Shape {
            n_features: seed as usize % 5,
            outputs: models::some_outputs(seed / 5),
            max_leaves: 30,
            unit: 1.0,
        };
        let mut forest = models::forest(seed, n_trees, &shape);
        if seed % 3 > 0 {
            // Without categories, so that many trees are walked at once.
            forest.trees.retain(|tree| tree.sets.is_empty());
        }
        let rows = models::rows_with_missing(seed, 9, forest.n_features);
        let expected = naive::predict(&forest, &rows.c_order, |_, _| true);
        if forest.trees.is_empty() {
            prop_assert!(Scorer::new(forest).is_err());
        } else {
            prop_assert_eq!(bits(&one_by_one(forest, &rows.c_order)), bits(&expected));
        }
    }

    #[test]
    fn leaves_and_paths_are_the_naive_ones(seed in 0u64..10_000, n in 1usize..60) {
        let forest = models::some_forest(seed);
        let rows = models::rows_with_missing(seed, n, forest.n_features);
        for (x, n_threads) in rows.layouts().into_iter().zip([1, 2, 1, 8, 1]) {
            let control = Control::with_threads(n_threads);
            let leaves = forest.apply((&x, &control)).unwrap();
            let paths = forest.decision_path((&x, &control)).unwrap();
            prop_assert_eq!(paths.ptr.len(), n + 1);
            for (i, row) in rows.c_order.rows().into_iter().enumerate() {
                let mut passed = Vec::new();
                for (t, tree) in forest.trees.iter().enumerate() {
                    let path = naive::path(tree, row);
                    prop_assert_eq!(leaves[[i, t]] as usize, *path.last().unwrap());
                    passed.extend(path.iter().map(|node| (paths.tree_offsets[t] + node) as u32));
                }
                prop_assert_eq!(&paths.nodes[paths.ptr[i]..paths.ptr[i + 1]], &passed[..]);
            }
        }
    }

    #[test]
    fn topk_is_the_head_of_a_full_sort(seed in 0u64..10_000, n in 1usize..40, k in 1usize..20) {
        let forest = models::some_forest(seed);
        let rows = models::rows_with_missing(seed, n, forest.n_features);
        let k = k.min(forest.outputs.width());
        let expected = naive::topk(&naive::predict(&forest, &rows.c_order, |_, _| true), k);
        for (x, n_threads) in rows.layouts().into_iter().zip([1, 2, 1, 8, 1]) {
            let best = forest.predict_topk((&x, &Control::with_threads(n_threads)), k).unwrap();
            for (i, expected) in expected.iter().enumerate() {
                let got: Vec<_> = best.indices.row(i).iter().copied().zip(best.scores.row(i).iter().copied()).collect();
                prop_assert_eq!(&got, expected);
            }
        }
    }

    #[test]
    fn excluded_columns_are_left_out_of_the_full_sort(seed in 0u64..10_000, n in 1usize..40, k in 1usize..20) {
        let forest = models::some_forest(seed);
        let rows = models::rows_with_missing(seed, n, forest.n_features);
        let width = forest.outputs.width();
        let k = k.min(width);
        let full = naive::topk(&naive::predict(&forest, &rows.c_order, |_, _| true), width);
        // Of each row about a third of the columns, of the last all; or the same of all rows.
        for n_excluding in [n, 1] {
            let is_excluded = |i: usize, c: usize| i == n - 1 || (seed as usize + 5 * i + 7 * c).is_multiple_of(3);
            let by_row: Vec<Vec<u32>> =
                (0..n_excluding).map(|i| (0..width).filter(|c| is_excluded(i, *c)).map(|c| c as u32).collect()).collect();
            let excluded = crate::testing::labels::listed(&by_row, width);
            for (x, n_threads) in rows.layouts().into_iter().zip([1, 2, 1, 8, 1]) {
                let control = Control::with_threads(n_threads);
                let best = forest.predict_topk_excluding((&x, &control), k, Some(&excluded)).unwrap();
                for (i, full) in full.iter().enumerate() {
                    let left = full.iter().filter(|(column, _)| !by_row[i.min(n_excluding - 1)].contains(column)).copied();
                    let expected: Vec<_> = left.chain(std::iter::repeat((TopK::NONE, f64::NEG_INFINITY))).take(k).collect();
                    let (indices, scores) = (best.indices.row(i), best.scores.row(i));
                    let got: Vec<_> = indices.iter().copied().zip(scores.iter().copied()).collect();
                    prop_assert_eq!(got, expected);
                }
            }
        }
    }

    #[test]
    fn sparse_predictions_are_those_of_the_whole_that_are_large_enough(
        seed in 0u64..10_000,
        n in 0usize..60,
        floor in prop_oneof![Just(0.0), 0.0..1.0f64],
    ) {
        let forest = models::some_forest(seed);
        let rows = models::rows_with_missing(seed, n, forest.n_features);
        let whole = naive::predict(&forest, &rows.c_order, |_, _| true);
        // A floor that some predictions meet is one of them.
        let floor = whole.iter().copied().find(|value| *value > floor).unwrap_or(floor);
        let expected = naive::at_least(&whole, floor);
        for (x, n_threads) in rows.layouts().into_iter().zip([1, 2, 1, 8, 1]) {
            let got = forest.predict_at_least((&x, &Control::with_threads(n_threads)), floor).unwrap();
            prop_assert_eq!(&got, &expected);
        }
    }
}

#[test]
fn a_tree_is_a_forest_of_one() {
    for seed in 0..40 {
        let forest = models::some_forest(seed);
        let rows = models::rows(seed, 30, forest.n_features);
        let tree = forest.tree(0);
        let one = Forest::from(Tree::clone(tree));
        for x in rows.layouts() {
            assert_eq!(tree.predict(&x), one.predict(&x));
            assert_eq!(tree.apply(&x).unwrap(), one.apply(&x).unwrap().index_axis(Axis(1), 0));
            assert_eq!(tree.decision_path(&x), one.decision_path(&x));
            assert_eq!(tree.predict_topk(&x, 1), one.predict_topk(&x, 1));
        }
    }
}

#[test]
fn many_samples_and_trees_cross_blocks_and_chunks() {
    for kind in [2, 5] {
        let outputs = models::some_outputs(kind);
        let shape = models::Shape { n_features: 5, outputs, max_leaves: 30, unit: 1.0 };
        let forest = models::forest(9, 150, &shape);
        let rows = models::rows_with_missing(9, 1200, 5);
        let expected = bits(&naive::predict(&forest, &rows.c_order, |_, _| true));
        for x in rows.layouts() {
            assert_eq!(bits(&forest.predict((&x, &Control::with_threads(2))).unwrap()), expected);
        }
    }
}

#[test]
fn what_the_callers_memory_held_does_not_matter() {
    for seed in 0..20 {
        let forest = models::some_forest(seed);
        let rows = models::rows(seed, 30, forest.n_features);
        for x in rows.layouts() {
            let expected = forest.predict(&x).unwrap();
            let mut out = vec![f64::NAN; expected.len()];
            forest.predict_into(&x, &mut out).unwrap();
            assert_eq!(out, expected.into_raw_vec_and_offset().0);
            out.push(0.0);
            let error = forest.predict_into(&x, &mut out).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Shape { what: "out", .. }));
        }
    }
}

#[test]
fn groups_of_sparse_trees_keep_the_order_of_the_trees() {
    // Two chains exceed what is walked at once, small trees before, between and after them do not.
    let trees = [1, 70_000, 2, 3, 70_000, 1].map(models::chain);
    let csr = crate::SparseView::try_new(vec![0, 1, 2, 3], vec![0, 0, 0], vec![1.0, -1.5, -1e9], 1).unwrap();
    let (x, control) = (Matrix::Csr(csr), Control::default());
    let forest = Forest::merge(&trees.clone().map(Forest::from).iter().collect::<Vec<_>>()).unwrap();
    let leaves = forest.apply((&x, &control)).unwrap();
    for (t, tree) in trees.iter().enumerate() {
        assert_eq!(leaves.index_axis(Axis(1), t), tree.apply((&x, &control)).unwrap());
    }
}

#[test]
fn a_tree_may_be_a_long_chain() {
    const DEPTH: usize = 100_000;
    let forest = Forest::from(models::chain(DEPTH));
    let tree = forest.tree(0);
    let x = ndarray::arr2(&[[1.0], [-49_999.5], [-1e9]]);
    assert_eq!(tree.max_depth(), DEPTH);
    assert_eq!((tree.n_nodes(), tree.n_leaves()), (2 * DEPTH + 1, DEPTH + 1));
    let csr = crate::SparseView::try_new(vec![0, 1, 2, 3], vec![0, 0, 0], vec![1.0, -49_999.5, -1e9], 1).unwrap();
    for x in [Matrix::from(x.view()), Matrix::Csr(csr)] {
        let leaves = tree.apply(&x).unwrap();
        assert_eq!(leaves.to_vec(), [2 * DEPTH as u32, (2 * DEPTH - 50_000) as u32, DEPTH as u32]);
        let predicted = tree.predict(&x).unwrap();
        assert_eq!(predicted.sum_axis(Axis(1)).to_vec(), [1.0, 1.0, 1.0]);
        assert_eq!(tree.decision_path(&x).unwrap().nodes.len(), 2 + 50_002 + DEPTH + 1);
    }
    let value = tree.value().unwrap();
    assert_eq!(value[[0, 1, 1]], 50_000.0 / (DEPTH + 1) as f64);
}

#[test]
fn wrong_input_is_refused_with_its_name() {
    let shape = models::Shape { n_features: 3, outputs: models::some_outputs(4), max_leaves: 9, unit: 1.0 };
    let forest = models::forest(1, 3, &shape);
    let control = Control::default();
    let narrow = Array2::<f32>::zeros((2, 2));
    let error = forest.predict(&narrow).unwrap_err();
    assert_eq!(error.to_string(), "each row of X must have length 3, got 2");
    for bad in [f32::NEG_INFINITY, f32::INFINITY] {
        let x = Array2::from_elem((2, 3), bad);
        let error = forest.apply(&x).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Invalid { what: "X", .. }));
    }
    let x = Array2::zeros((2, 3));
    let x = Matrix::from(x.view());
    for k in [0, 4] {
        assert!(matches!(forest.predict_topk(&x, k).unwrap_err().kind(), ErrorKind::Invalid { what: "k", .. }));
    }
    let excluded = |n: usize, width| LabelView::try_new(vec![0; n + 1], Vec::new(), width).unwrap();
    let error = forest.predict_topk_excluding(&x, 1, Some(&excluded(3, 3))).unwrap_err();
    assert_eq!(error.to_string(), "exclude must have length 2, got 3");
    let error = forest.predict_topk_excluding(&x, 1, Some(&excluded(2, 4))).unwrap_err();
    assert_eq!(error.to_string(), "each row of exclude must have length 3, got 4");
    for floor in [-0.1, f64::NAN] {
        let error = forest.predict_at_least(&x, floor).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Invalid { what: "min_score", .. }));
    }
    let empty = Forest { trees: Vec::new(), ..forest.clone() };
    assert!(matches!(empty.predict(&x).unwrap_err().kind(), ErrorKind::Invalid { .. }));
    control.stop();
    assert_eq!(forest.predict((&x, &control)).unwrap_err().kind(), &ErrorKind::Interrupted);
    assert_eq!(forest.predict_topk((&x, &control), 1).unwrap_err().kind(), &ErrorKind::Interrupted);
}

#[test]
fn results_that_do_not_fit_memory_are_an_error() {
    let outputs = crate::Outputs::Labels { n_labels: usize::MAX / 4 };
    let mut tree = models::chain(1);
    (tree.outputs, tree.leaves.width) = (outputs.into(), usize::MAX / 4);
    let x = Array2::zeros((9, 1));
    let error = Forest::from(tree).predict(&x).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::OutOfMemory { .. }));
}

/// Scores of one sample after the other.
fn one_by_one(model: impl TryInto<Scorer, Error = Error>, x: &Array2<f32>) -> Array2<f64> {
    let scorer = Scorer::new(model).unwrap();
    let mut scores = Array2::from_elem((x.nrows(), scorer.n_scores()), f64::NAN);
    for (row, mut scores) in x.rows().into_iter().zip(scores.rows_mut()) {
        scorer.scores(&row.to_vec(), scores.as_slice_mut().unwrap()).unwrap();
    }
    scores
}

/// Scores and predictions by the formula, from what [`Additive`] shows to others.
fn by_formula(model: &Additive<'_>, x: &Array2<f32>) -> (Array2<f64>, Array2<f64>) {
    let tables: Vec<_> = model.trees().iter().map(|tree| naive::leaf_values(tree)).collect();
    let mut scores = Array2::zeros((x.nrows(), model.n_scores()));
    let mut predictions = Array2::zeros((x.nrows(), model.outputs().width()));
    for (i, row) in x.rows().into_iter().enumerate() {
        let mut sums = ndarray::Array1::zeros(model.n_scores());
        sums.iter_mut().zip(model.start()).for_each(|(sum, start)| *sum = *start);
        for ((tree, term), table) in model.trees().iter().zip(model.terms()).zip(&tables) {
            let leaf = table.row(tree.nodes[naive::apply(tree, row)].right() as usize);
            match term {
                Term::Leaf => sums += &leaf,
                Term::Column(column) => sums[column] += leaf[0],
                Term::RankOne(direction) => {
                    sums.iter_mut().zip(direction.factors()).for_each(|(sum, factor)| *sum += leaf[0] * factor);
                }
            }
        }
        sums.mapv_inplace(|sum| sum / model.divisor());
        let mut linked = vec![0.0; model.outputs().width()];
        model.link().apply(&model.outputs().class_starts().unwrap(), &sums.to_vec(), &mut linked);
        predictions.row_mut(i).assign(&ndarray::Array1::from(linked));
        scores.row_mut(i).assign(&sums);
    }
    (scores, predictions)
}

#[test]
fn forests_boosted_and_compressed_models_are_readings_of_one_formula() {
    use crate::{
        BoostConfig, CompressConfig, CompressLoss, CompressMethod, LossKind, NProjections, OutputStrategy, Projection,
        Targets,
    };
    let control = Control::default();
    let rows = models::rows(3, 60, 4);
    let x = Matrix::from(rows.c_order.view());
    let codes = |k: u32| Array2::from_shape_fn((60, 2), move |(i, j)| ((i + 3 * j) as u32 * 7 / 5) % k);
    let (two, three) = (codes(2).column(0).to_owned().insert_axis(Axis(1)), codes(3));
    let rank_one = OutputStrategy::Projected {
        projection: Projection::Gaussian,
        n_projections: NProjections::Count(1),
        relabel: false,
    };
    let problems = [
        Targets::Classes { codes: two.view(), n_classes: vec![2] },
        Targets::Classes { codes: three.view(), n_classes: vec![3, 3] },
    ];
    for y in &problems {
        let forest = crate::ForestConfig { n_trees: 7, ..crate::ForestConfig::extra_trees(crate::Criterion::Gini) };
        let forest = forest.fit((&x, y)).unwrap();
        let (scores, predictions) = by_formula(&forest.additive().unwrap(), &rows.c_order);
        assert_eq!(forest.predict(&x).unwrap(), scores);
        assert_eq!(one_by_one(forest.clone(), &rows.c_order), scores);
        assert_eq!(scores, predictions);

        for strategy in [OutputStrategy::SingleTarget, OutputStrategy::Joint, rank_one.clone()] {
            let config = BoostConfig { strategy, n_estimators: 5, ..BoostConfig::new(LossKind::LogLoss) };
            let model = config.fit((&x, y)).unwrap();
            let (scores, predictions) = by_formula(&model.additive().unwrap(), &rows.c_order);
            assert_eq!(one_by_one(model.clone(), &rows.c_order), scores);
            for x in rows.layouts() {
                assert_eq!(model.predict_scores(&x).unwrap(), scores);
                assert_eq!(model.predict(&x).unwrap(), predictions);
                let mut staged = model.staged_scores(&x).unwrap();
                let mut last = None;
                while let Some(scores) = staged.next_stage(&control).unwrap() {
                    last = Some(scores.to_owned());
                }
                assert_eq!(last.unwrap(), scores);
                let best = model.predict_topk(&x, 1).unwrap();
                let expected = naive::topk(&scores, 1);
                assert!(expected.iter().zip(best.indices.column(0)).all(|(expected, index)| expected[0].0 == *index));
            }
        }

        let method = CompressMethod::Stagewise { step_size: 0.1, max_steps: Some(20) };
        let config = CompressConfig { loss: CompressLoss::LogLoss, method, ..CompressConfig::stagewise(0.1) };
        let path = config.path(&forest, (&x, y), None).unwrap();
        let model = path.at_step(path.n_steps(), &control).unwrap();
        let (scores, predictions) = by_formula(&model.additive().unwrap(), &rows.c_order);
        assert_eq!(one_by_one(model.clone(), &rows.c_order), scores);
        assert_eq!(model.predict_scores(&x).unwrap(), scores);
        assert_eq!(model.predict(&x).unwrap(), predictions);
        let best = model.predict_topk(&x, 2).unwrap();
        for (i, expected) in naive::topk(&predictions, 2).into_iter().enumerate() {
            let got: Vec<_> = best.indices.row(i).iter().copied().zip(best.scores.row(i).iter().copied()).collect();
            assert_eq!(got, expected);
        }
    }
}
