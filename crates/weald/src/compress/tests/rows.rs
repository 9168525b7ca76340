//! The start of paths.

use ndarray::{Array2, array};

use crate::compress::{CompressConfig, CompressLoss};
use crate::control::Control;
use crate::criterion::Criterion;
use crate::data::{LabelView, Matrix, Targets};
use crate::forest::config::ForestConfig;
use crate::loss::{LogLoss, Loss, softmax};

fn intercept(y: &Targets<'_>) -> Vec<f64> {
    let x = Array2::from_shape_fn((y.n_samples(), 1), |(i, _)| i as f32);
    let (x, control) = (Matrix::from(x.view()), Control::default());
    let forest = ForestConfig { n_trees: 2, ..ForestConfig::extra_trees(Criterion::Gini) };
    let forest = forest.fit((&x, y, &control)).unwrap();
    let config = CompressConfig { loss: CompressLoss::LogLoss, ..CompressConfig::stagewise(0.1) };
    config.path(&forest, (&x, y, &control), None).unwrap().intercept(0, &control).unwrap()
}

#[test]
fn labels_and_classes_without_weight_start_where_boosting_starts() {
    // Of three labels, the first belongs to all samples, the second to none, and the third to half of the samples.
    let labels = LabelView::try_new(vec![0, 2, 4, 5, 6], vec![0, 2, 0, 2, 0, 0], 3).unwrap();
    let expected = [4.0, 0.0, 2.0].map(|on| LogLoss.start(&[-1.0, 1.0], &[4.0 - on, on], &Control::default()).unwrap());
    assert_eq!(intercept(&Targets::Labels(labels)), expected);
    // Two logarithms of the same number.
    assert!((expected[0] - 0.5 * 64f64.ln()).abs() < 1e-15);

    let codes = array![[0], [2], [2], [2]];
    let expected = softmax::start(&[1.0, 0.0, 3.0]).unwrap();
    assert_eq!(intercept(&Targets::Classes { codes: codes.view(), n_classes: vec![3] }), expected);
}
