//! Cross-validation, and its errors.

use ndarray::{Array2, array};

use super::stagewise::problem;
use crate::compress::{CompressConfig, CompressLoss, CompressMethod};
use crate::control::Control;
use crate::criterion::Criterion;
use crate::data::{Dataset, Matrix, RowWeights, Targets};
use crate::error::ErrorKind;
use crate::folds::Split;
use crate::forest::config::ForestConfig;

fn folds(n: u32, k: u32) -> Vec<Split> {
    let fold = |f: u32| {
        let (test, train) = (0..n).partition(|row| row % k == f);
        Split { train, held_out: test }
    };
    (0..k).map(fold).collect()
}

#[test]
fn folds_are_paths_of_forests_grown_on_their_samples_alone() {
    for kind in 0..6 {
        let p = problem(30 + kind, 40, kind);
        let x = Matrix::from(p.x.view());
        let criterion = if kind % 3 == 0 { Criterion::Variance } else { Criterion::Gini };
        let grow = ForestConfig { n_trees: 3, seed: 5, ..ForestConfig::random_forest(criterion) };
        let loss = if kind >= 3 && kind % 3 != 0 { CompressLoss::LogLoss } else { CompressLoss::SquaredError };
        let lasso = CompressMethod::Lasso { n_alphas: 6, eps: 0.05, tol: 1e-5, max_iter: 1000 };
        let stagewise = CompressMethod::Stagewise { step_size: 0.1, max_steps: Some(30) };
        let forests = CompressMethod::Grow { learning_rate: 0.5, max_nodes: 12, candidate_window: None };
        for method in [lasso, stagewise, forests] {
            let config = CompressConfig { loss, ..CompressConfig::new(method) };
            let folds = folds(40, 3);
            let run = |n_threads| {
                let control = Control::with_threads(n_threads);
                config
                    .cross_validate(
                        &grow,
                        Dataset::new(&x, p.y()).weights(RowWeights::from(Some(&p.weight[..]))).control(&control),
                        &folds,
                    )
                    .unwrap()
            };
            let found = run(1);
            assert_eq!(found, run(3));
            assert_eq!(found.test_loss.dim(), (3, found.l1_norms.len()));
            for (f, fold) in folds.iter().enumerate() {
                let of = |rows: &[u32]| {
                    let mut w = vec![0.0; 40];
                    rows.iter().for_each(|&row| w[row as usize] = p.weight[row as usize]);
                    w
                };
                let (train, test) = (of(&fold.train), of(&fold.held_out));
                let forest = grow.fit(Dataset::new(&x, p.y()).sample_weight(&train[..])).unwrap();
                let path =
                    config.path(&forest, Dataset::new(&x, p.y()).sample_weight(&train[..]), Some(&test)).unwrap();
                for s in 0..found.l1_norms.len() {
                    let last = s.min(path.n_steps());
                    assert_eq!(found.test_loss[[f, s]], path.test_loss()[last]);
                    assert_eq!(found.n_test_nodes[[f, s]], path.n_test_nodes()[last] as f64);
                }
                if kind == 0 {
                    let predictions = forest.predict(&x).unwrap();
                    let y = p.columns();
                    let mut square = 0.0;
                    for (i, w) in test.iter().enumerate() {
                        square += w * (0..y.ncols()).map(|c| (y[[i, c]] - predictions[[i, c]]).powi(2)).sum::<f64>();
                    }
                    square /= test.iter().sum::<f64>() * y.ncols() as f64;
                    // Sums over the samples of a fold, in another order.
                    assert!((found.full_forest_loss[f] - square).abs() < 1e-9 * square.max(1.0));
                }
            }
        }
    }
}

#[test]
fn errors_name_invalid_arguments() {
    let x: Array2<f32> = array![[0.0], [1.0], [2.0], [3.0]];
    let y = array![[0.0], [1.0], [0.0], [2.0]];
    let (x, y) = (Matrix::from(x.view()), Targets::Real(y.view()));
    let grow = ForestConfig { n_trees: 2, ..ForestConfig::extra_trees(Criterion::Variance) };
    let forest = grow.fit((&x, &y)).unwrap();
    let good = CompressConfig::stagewise(0.01);
    let path = |config: CompressConfig| config.path(&forest, (&x, &y), None).map(|_| ()).unwrap_err();
    let named = |error: crate::Error, name: &str| {
        let (ErrorKind::Invalid { what, .. } | ErrorKind::Unsupported { what, .. }) = error.kind() else {
            panic!("{error}")
        };
        assert_eq!(*what, name, "{error}");
    };
    named(path(CompressConfig::stagewise(0.0)), "step_size");
    named(path(CompressConfig::stagewise(f64::NAN)), "step_size");
    named(path(CompressConfig { loss: CompressLoss::LogLoss, ..good.clone() }), "loss");
    let lasso =
        |n_alphas, eps, tol, max_iter| CompressConfig::new(CompressMethod::Lasso { n_alphas, eps, tol, max_iter });
    named(path(lasso(0, 0.1, 0.1, 1)), "n_alphas");
    named(path(lasso(5, 1.0, 0.1, 1)), "eps");
    named(path(lasso(5, 0.1, 0.0, 1)), "tol");
    named(path(lasso(5, 0.1, 0.1, 0)), "max_iter");
    let grown = |learning_rate, candidate_window| {
        CompressConfig::new(CompressMethod::Grow { learning_rate, max_nodes: 3, candidate_window })
    };
    named(path(grown(1.5, None)), "learning_rate");
    named(path(grown(0.5, Some(0))), "candidate_window");
    named(path(CompressConfig { standardize: true, ..grown(0.5, None) }), "standardize");
    named(path(good.clone().output_weights(vec![1.0])), "output_weights");

    let other = array![[0u32], [1], [0], [1]];
    let other = Targets::Classes { codes: other.view(), n_classes: vec![2] };
    named(good.path(&forest, (&x, &other), None).map(|_| ()).unwrap_err(), "forest");
    let wide: Array2<f32> = Array2::zeros((4, 2));
    let error = good.path(&forest, (&wide, &y), None).map(|_| ()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape { what: "each row of X", .. }));
    let held = [1.0; 4];
    named(good.path(&forest, (&x, &y), Some(&held)).map(|_| ()).unwrap_err(), "held_out");

    let path = good.path(&forest, (&x, &y), None).unwrap();
    named(path.at(-1.0, &Control::default()).unwrap_err(), "l1_norm");
    named(path.at(f64::NAN, &Control::default()).unwrap_err(), "l1_norm");
    named(path.at_step(path.n_steps() + 1, &Control::default()).unwrap_err(), "step");

    let run = |folds: &[Split]| {
        good.cross_validate(&grow, Dataset::new(&x, &y).weights(RowWeights::default()), folds).unwrap_err()
    };
    let fold = |train: &[u32], test: &[u32]| Split { train: train.to_vec(), held_out: test.to_vec() };
    named(run(&[fold(&[0, 1], &[2])]), "folds");
    named(run(&[fold(&[0, 1], &[1]), fold(&[1], &[0])]), "folds");
    named(run(&[fold(&[0, 1], &[9]), fold(&[1], &[0])]), "folds");
    named(run(&[fold(&[0, 1], &[]), fold(&[1], &[0])]), "folds");

    let stopped = Control::default();
    stopped.stop();
    let error = good.path(&forest, (&x, &y, &stopped), None).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Interrupted);
}

#[test]
fn budgets_end_paths_one_step_later() {
    let p = problem(3, 60, 0);
    let forest = p.forest(3);
    let x = Matrix::from(p.x.view());
    let config = CompressConfig::stagewise(0.01);
    let whole = config.path(&forest, (&x, &p.y()), None).unwrap();
    let cut = config.max_test_nodes(5).path(&forest, (&x, &p.y()), None).unwrap();
    let n = cut.n_test_nodes();
    assert_eq!(n, &whole.n_test_nodes()[..n.len()]);
    assert!(n[n.len() - 1] > 5 && n[n.len() - 2] <= 5);
}

#[test]
fn chains_of_many_splits_are_compressed_by_loops() {
    let depth = 60_000;
    let forest = crate::Forest::from(crate::testing::models::chain(depth));
    let x = Array2::from_shape_fn((50, 1), |(i, _)| -(i as f32 * 1000.0) - 0.5);
    let y = Targets::Labels(crate::testing::labels::on((50, 2), |i, j| i % 2 == j));
    let method = CompressMethod::Stagewise { step_size: 0.2, max_steps: Some(40) };
    let path = CompressConfig::new(method).path(&forest, (&x, &y), None).unwrap();
    let model = path.at_step(path.n_steps(), &Control::default()).unwrap();
    assert_eq!(model.n_test_nodes(), path.n_test_nodes()[path.n_steps()]);
    let scores = model.predict_scores(&x).unwrap();
    assert!(scores.iter().all(|s| s.is_finite()));
}
