//! The meaning of label weights, checked to the bit where nothing is rounded.

use super::stagewise::{linear, weighted_problem};
use crate::compress::{CompressConfig, CompressLoss, CompressMethod, CompressionPath};
use crate::control::Control;
use crate::data::{Dataset, LabelView, Outputs, Targets};
use crate::error::ErrorKind;
use crate::forest::Forest;
use crate::testing::labels;

/// Samples, some of which are held out, and a forest on three labels.
struct Labels {
    x: ndarray::Array2<f32>,
    of_rows: Vec<Vec<u32>>,
    forest: Forest,
}

fn labels(seed: u64) -> Labels {
    // The problem has four labels for such seeds.
    let seed = 3 * seed + 1;
    let p = weighted_problem(seed, 40, 2);
    let y = p.columns();
    let of_rows = y.rows().into_iter().map(|row| (0..3).filter(|&l| row[l as usize] > 0.0).collect()).collect();
    Labels { forest: p.forest(seed), x: p.x, of_rows }
}

impl Labels {
    /// Returns the path of the labels at these positions, which may be repeated.
    fn path(&self, config: &CompressConfig, places: &[u32]) -> CompressionPath {
        let has = |i: usize, at: usize| self.of_rows[i].contains(&places[at]);
        let y = Targets::Labels(labels::on((self.of_rows.len(), places.len()), has));
        // A path only uses the splits of a forest.
        let forest = Forest { outputs: Outputs::Labels { n_labels: places.len() }, ..self.forest.clone() };
        let (w, held): (Vec<f64>, Vec<f64>) =
            (0..40).map(|i| if i % 5 == 0 { (0.0, 1.5) } else { (1.0 + f64::from(i % 2), 0.0) }).unzip();
        config.path(&forest, Dataset::new(&self.x, y).sample_weight(&w[..]), Some(&held)).unwrap()
    }
}

fn configs() -> Vec<CompressConfig> {
    let stagewise = CompressMethod::Stagewise { step_size: 0.05, max_steps: Some(40) };
    let lasso = CompressMethod::Lasso { n_alphas: 10, eps: 0.05, tol: 1e-8, max_iter: 50_000 };
    let grow = CompressMethod::Grow { learning_rate: 0.5, max_nodes: 15, candidate_window: None };
    let methods = [(stagewise, false), (stagewise, true), (lasso, false), (lasso, true), (grow, false)];
    let losses = [CompressLoss::SquaredError, CompressLoss::LogLoss];
    let configs = methods.into_iter().flat_map(|(method, standardize)| {
        losses.map(|loss| CompressConfig::new(method).standardize(standardize).loss(loss))
    });
    configs.collect()
}

fn is_logistic_lasso(config: &CompressConfig) -> bool {
    matches!(config.method, CompressMethod::Lasso { .. }) && config.loss == CompressLoss::LogLoss
}

#[test]
fn a_label_of_weight_zero_has_no_effect() {
    for (seed, config) in (0..2).flat_map(|seed| configs().into_iter().map(move |config| (seed, config))) {
        let labels = labels(seed);
        // The quadratic models of the logistic loss have a minimum curvature, which applies to this label. The steps
        // may therefore differ, but they lead to the same solution.
        let exact = !is_logistic_lasso(&config);
        for (weights, of_two) in [(vec![3.0, 3.0, 0.0], None), (vec![1.0, 2.5, 0.0], Some(vec![1.0, 2.5]))] {
            let three = labels.path(&config.clone().output_weights(weights), &[0, 1, 2]);
            let two = labels.path(&config.clone().output_weights(of_two), &[0, 1]);
            assert_eq!(three.n_steps(), two.n_steps());
            assert_eq!(three.n_test_nodes(), two.n_test_nodes());
            let records = [three.l1_norm(), three.train_loss(), three.test_loss()];
            for (one, other) in records.into_iter().zip([two.l1_norm(), two.train_loss(), two.test_loss()]) {
                // Logistic descent ends at a gap of `tol`, 1e-8, so that scores (below) are accurate to its square
                // root.
                let near = |(a, b): (&f64, &f64)| if exact { a == b } else { (a - b).abs() <= 1e-6 * b.abs().max(1.0) };
                assert!(one.iter().zip(other).all(near), "{config:?} {one:?} {other:?}");
            }
            let last = two.n_steps();
            let (f, of_two) = (linear(&three, last, &labels.x), linear(&two, last, &labels.x));
            let start = three.intercept(0, &Control::default()).unwrap()[2];
            for (row, other) in f.rows().into_iter().zip(of_two.rows()) {
                assert!(row.iter().zip(other).all(|(a, b)| if exact { a == b } else { (a - b).abs() < 1e-4 }));
                assert_eq!(row[2], start);
            }
            assert!(start != 0.0);
        }
    }
}

/// Lengths are in units of the mean weight: those of three labels of equal weight are multiplied by √(2/3).
#[test]
fn a_label_of_weight_two_is_the_label_twice() {
    let unit = (2.0f64 / 3.0).sqrt();
    for (seed, config) in (0..2).flat_map(|seed| configs().into_iter().map(move |config| (seed, config))) {
        let labels = labels(seed);
        let mut shorter = config.clone().output_weights(vec![2.0, 1.0]);
        if let CompressMethod::Stagewise { step_size, max_steps } = config.method {
            shorter.method = CompressMethod::Stagewise { step_size: unit * step_size, max_steps };
        }
        let (twice, weighted) = (labels.path(&config, &[0, 0, 1]), labels.path(&shorter, &[0, 1]));
        // Sums are rounded differently, directions are in float32, and nodes that only differ by rounding may be chosen
        // in another order, with the same decrease of the loss.
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-5 * b.abs().max(1e-3);
        assert_eq!(twice.n_steps(), weighted.n_steps(), "{config:?}");
        for step in 0..=twice.n_steps() {
            assert!(close(weighted.l1_norm()[step], unit * twice.l1_norm()[step]), "{seed} {config:?} {step}");
            assert!(close(weighted.train_loss()[step], twice.train_loss()[step]), "{seed} {config:?} {step}");
            assert!(close(weighted.test_loss()[step], twice.test_loss()[step]), "{seed} {config:?} {step}");
        }
    }
}

#[test]
fn equal_weights_have_no_effect() {
    let labels = labels(0);
    for config in configs() {
        let plain = labels.path(&config, &[0, 1, 2]);
        let weighted = labels.path(&config.output_weights(vec![0.3; 3]), &[0, 1, 2]);
        assert_eq!(weighted.l1_norm(), plain.l1_norm());
        assert_eq!(weighted.train_loss(), plain.train_loss());
        assert_eq!(weighted.test_loss(), plain.test_loss());
        assert_eq!(linear(&weighted, plain.n_steps(), &labels.x), linear(&plain, plain.n_steps(), &labels.x));
    }
}

#[test]
fn errors_name_invalid_weights() {
    let labels = labels(0);
    let y = Targets::Labels(LabelView::try_new(vec![0; 41], vec![], 3).unwrap());
    let forest = Forest { outputs: Outputs::Labels { n_labels: 3 }, ..labels.forest.clone() };
    for weights in [vec![1.0; 2], vec![1.0, -1.0, 1.0], vec![0.0; 3], vec![f64::NAN, 1.0, 1.0]] {
        let config = CompressConfig::stagewise(0.1).output_weights(weights);
        let error = config.path(&forest, (&labels.x, &y), None).map(|_| ()).unwrap_err();
        let named = match error.kind() {
            ErrorKind::Invalid { what, .. } | ErrorKind::Shape { what, .. } => *what == "output_weights",
            _ => false,
        };
        assert!(named, "{error}");
    }
}
