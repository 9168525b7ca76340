mod choice;
mod log_loss;
mod one_sample;

use std::collections::BTreeSet;

use ndarray::{Array2, Axis};
use proptest::prelude::*;

use super::{Calibration, Features, LinearConfig, LinearLoss, LinearModel};
use crate::control::Control;
use crate::data::{CellWeights, Dataset, LabelView, Matrix, Targets, Weights};
use crate::error::ErrorKind;
use crate::testing::labels::{self, Labelled as Data};

fn label_view(y: &Array2<bool>) -> LabelView<'static> {
    labels::on(y.dim(), |i, j| y[[i, j]])
}

fn data() -> impl Strategy<Value = Data> {
    let value = prop_oneof![3 => Just(0.0f32), 3 => (1..4u8).prop_map(f32::from), 1 => -2.0f32..2.0];
    let weight = prop_oneof![1 => Just(0.0), 4 => (1..4u8).prop_map(f64::from), 1 => 1e-3..1e3];
    labels::labelled(20, value, weight)
}

fn loss() -> impl Strategy<Value = LinearLoss> {
    prop_oneof![Just(LinearLoss::SquaredHinge), Just(LinearLoss::LogLoss)]
}

fn config() -> LinearConfig {
    LinearConfig::default().min_weight(0.0).max_iter(2000).calibration(false)
}

impl Data {
    fn fit_as(&self, config: &LinearConfig, x: &Matrix<'_>, n_threads: usize) -> LinearModel {
        config.fit(self.data(x).control(&Control::with_threads(n_threads))).unwrap()
    }

    fn fit(&self, config: &LinearConfig) -> LinearModel {
        self.fit_as(config, &Matrix::from(&self.x), 1)
    }

    /// Returns whether a sample has a label.
    fn has(&self, label: usize) -> bool {
        let is_one = |i: usize| self.weights[i] > 0.0 && self.y[[i, label]] && !self.unknown[[i, label]];
        (0..self.x.nrows()).any(is_one)
    }

    fn columns(&self, columns: &[usize]) -> Data {
        let select = |a: &Array2<bool>| a.select(Axis(1), columns);
        Data { y: select(&self.y), unknown: select(&self.unknown), ..self.clone() }
    }
}

impl Data {
    /// Returns the data with small whole weights, and with as many copies of each sample instead.
    fn with_copies(mut self) -> (Data, Data) {
        self.weights.iter_mut().for_each(|w| *w = w.min(3.0).round());
        self.weights[0] = 1.0;
        let copies: Vec<usize> =
            (0..self.x.nrows()).flat_map(|i| std::iter::repeat_n(i, self.weights[i] as usize)).collect();
        let mut copied = self.rows(&copies);
        copied.weights.fill(1.0);
        (self, copied)
    }

    /// X of each feature minus its mean, divided by its standard deviation and the root of the number of features.
    fn standardized(&self) -> Array2<f64> {
        let total: f64 = self.weights.iter().sum();
        let mut x = self.x.mapv(f64::from);
        let width = (x.ncols() as f64).sqrt();
        for mut column in x.columns_mut() {
            let mean = column.iter().zip(&self.weights).map(|(x, w)| x * w).sum::<f64>() / total;
            let squares = column.iter().zip(&self.weights).map(|(x, w)| (x - mean).powi(2) * w);
            let deviation = (squares.sum::<f64>() / total).sqrt();
            column.mapv_inplace(|x| if deviation > 1e-9 { (x - mean) / deviation / width } else { 0.0 });
        }
        x
    }
}

/// Weights of a column for all features, and its intercept.
fn column(model: &LinearModel, column: usize) -> (Vec<f32>, f32) {
    let weight = |feature: usize| {
        let (columns, weights) = model.weights_of(feature);
        columns.iter().position(|&c| c as usize == column).map_or(0.0, |at| weights[at])
    };
    ((0..model.n_features()).map(weight).collect(), model.intercepts()[column])
}

/// The objective of a column, written down as it is in the documentation.
fn objective(config: &LinearConfig, data: &Data, label: usize, w: &[f64], b: f64) -> f64 {
    let scaling = config.intercept_scaling;
    let regularisation = 0.5 * w.iter().map(|w| w * w).sum::<f64>() + 0.5 * ((b + 1.0) / scaling).powi(2);
    let loss = |i: usize| {
        let margin = data.x.row(i).iter().zip(w).map(|(&x, w)| f64::from(x) * w).sum::<f64>() + b;
        let y = if data.y[[i, label]] { 1.0 } else { -1.0 };
        let known = f64::from(u8::from(!data.unknown[[i, label]]));
        known * data.weights[i] * (1.0 - y * margin).max(0.0).powi(2)
    };
    regularisation + config.c * (0..data.x.nrows()).map(loss).sum::<f64>()
}

/// Minimises the objective of a column by steps of Newton's method for one coordinate at a time, until none gains.
fn slowly(config: &LinearConfig, data: &Data, label: usize) -> (Vec<f64>, f64) {
    let (mut w, mut b) = (vec![0.0; data.x.ncols()], -1.0);
    for _ in 0..3000 {
        for j in 0..=w.len() {
            let (mut slope, mut bend) = match j == w.len() {
                true => ((b + 1.0) / config.intercept_scaling.powi(2), 1.0 / config.intercept_scaling.powi(2)),
                false => (w[j], 1.0),
            };
            for (i, row) in data.x.rows().into_iter().enumerate() {
                let y = if data.y[[i, label]] { 1.0 } else { -1.0 };
                let margin = row.iter().zip(&w).map(|(&x, w)| f64::from(x) * w).sum::<f64>() + b;
                let x = if j == w.len() { 1.0 } else { f64::from(row[j]) };
                if y * margin < 1.0 && !data.unknown[[i, label]] {
                    let factor = 2.0 * config.c * data.weights[i];
                    slope -= factor * (1.0 - y * margin) * y * x;
                    bend += factor * x * x;
                }
            }
            // Without the whole step, the method may jump back and forth between two pieces of the loss.
            let step = 0.9 * slope / bend;
            if j == w.len() { b -= step } else { w[j] -= step }
        }
    }
    (w, b)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn weights_minimise_the_objective(mut data in data()) {
        let config = config().features(Features::Given).tol(1e-4);
        data.weights.iter_mut().for_each(|w| *w = w.clamp(0.0, 10.0));
        let model = data.fit(&config);
        prop_assert_eq!(model.n_unfinished(), 0);
        for label in (0..data.y.ncols()).filter(|&label| data.has(label)) {
            let (w, b) = column(&model, label);
            let w: Vec<f64> = w.into_iter().map(f64::from).collect();
            let ours = objective(&config, &data, label, &w, b.into());
            let (w, b) = slowly(&config, &data, label);
            let best = objective(&config, &data, label, &w, b);
            // Projected gradients of at most 1e-4 and margins in single precision: far below a thousandth.
            prop_assert!(ours <= best * 1.001 + 1e-4, "{} {} {}", label, ours, best);
        }
    }

    #[test]
    fn nothing_depends_on_layouts_threads_or_order(data in data(), seed in 0u64..9) {
        for config in [
            config().seed(seed).max_iter(9).calibration(true),
            config().features(Features::Standardized).max_iter(9),
            config().seed(seed).loss(LinearLoss::LogLoss).max_iter(9).calibration(true),
        ] {
            let model = data.fit(&config);
            let csr = data.csr();
            prop_assert_eq!(&data.fit_as(&config, &csr, 3), &model);
            if let Matrix::Csr(rows) = &csr {
                prop_assert_eq!(&data.fit_as(&config, &Matrix::Csc(rows.transposed().unwrap()), 2), &model);
            }
            let reversed: Vec<usize> = (0..data.x.nrows()).rev().collect();
            prop_assert_eq!(&data.rows(&reversed).fit(&config), &model);
        }
    }

    #[test]
    fn features_are_prepared_as_it_is_written(data in data()) {
        let (n, p) = data.x.dim();
        let total: f64 = data.weights.iter().sum();
        let lengths = |x: &Array2<f64>| {
            let lengths: Vec<f64> = x.rows().into_iter().map(|row| row.dot(&row).sqrt()).collect();
            Array2::from_shape_fn((n, p), |(i, j)| if lengths[i] > 0.0 { x[[i, j]] / lengths[i] } else { 0.0 })
        };
        let x = data.x.mapv(f64::from);
        let frequency = |j: usize| (0..n).filter(|&i| x[[i, j]] != 0.0).map(|i| data.weights[i]).sum::<f64>();
        let tfidf = Array2::from_shape_fn((n, p), |(i, j)| {
            x[[i, j]].signum() * (1.0 + x[[i, j]].abs()).ln() * (1.0 + ((1.0 + total) / (1.0 + frequency(j))).ln())
        });
        let weights = Weights::of_rows(Some(&data.weights), n).unwrap();
        let (units, control) = (|row: usize| weights.units(row), Control::default());
        let prepared = [
            (Features::Given, x.clone()),
            (Features::Normalized, lengths(&x)),
            (Features::TfIdf, lengths(&tfidf)),
            (Features::Standardized, data.standardized()),
        ];
        for (features, expected) in prepared {
            let learned = features.learn(&Matrix::from(&data.x), units, weights.unit, &control).unwrap();
            let found = learned.prepare(features, &Matrix::from(&data.x), &control).unwrap();
            for (i, expected) in expected.rows().into_iter().enumerate() {
                let (stored, values) = found.of(i as u32);
                for (j, expected) in (0u32..).zip(expected) {
                    let found = stored.iter().position(|f| *f == j).map_or(0.0, |at| values[at]);
                    // Single precision; deviations have 36 bits of the range, of which they may be a hundredth.
                    prop_assert!((f64::from(found) - expected).abs() < 1e-5, "{:?} {} {}", features, found, expected);
                }
            }
        }
    }

    #[test]
    fn weights_for_standardized_features_become_weights_for_features(mut data in data()) {
        data.weights.iter_mut().for_each(|w| *w = w.min(10.0));
        // A sample that knows no label does not count.
        data.unknown.fill(false);
        let config = config().tol(1e-4);
        let by_hand = Data { x: data.standardized().mapv(|v| v as f32), ..data.clone() };
        let expected = by_hand.fit(&config.clone().features(Features::Given));
        let expected = expected.decision_function(&by_hand.x).unwrap();
        let found = data.fit(&config.features(Features::Standardized));
        let found = found.decision_function(&data.x).unwrap();
        for (found, expected) in found.iter().zip(&expected) {
            // Both objectives are within a thousandth of the best one, and they bend by at least 1.
            prop_assert!((found - expected).abs() < 5e-2, "{} {}", found, expected);
        }
    }

    #[test]
    fn a_column_does_not_depend_on_the_others(data in data(), loss in loss()) {
        // Samples that are normalised may be equal then.
        let config = config().loss(loss).features(Features::Given).max_iter(7);
        let model = data.fit(&config);
        let d = data.y.ncols();
        let reversed: Vec<usize> = (0..d).rev().collect();
        let turned = data.columns(&reversed).fit(&config);
        let there: Vec<usize> = (0..data.x.nrows()).filter(|&i| data.weights[i] > 0.0).collect();
        let bits = |i: usize| data.x.row(i).iter().map(|v| (v + 0.0).to_bits()).collect::<Vec<_>>();
        let all_differ = there.iter().map(|&i| bits(i)).collect::<BTreeSet<_>>().len() == there.len();
        for label in 0..d {
            // Without samples that know no label, visits would have another order.
            if all_differ && there.iter().all(|&i| !data.unknown[[i, label]]) {
                let alone = column(&data.columns(&[label]).fit(&config), 0);
                prop_assert!(alone == column(&model, label) || !data.has(label));
            }
            prop_assert_eq!(column(&turned, d - 1 - label), column(&model, label));
        }
    }

    #[test]
    fn columns_without_samples_have_the_lowest_scores(data in data(), loss in loss(), calibrates in any::<bool>(), kind in 0usize..4) {
        let features = [Features::Given, Features::Normalized, Features::TfIdf, Features::Standardized][kind];
        let model = data.fit(&config().loss(loss).features(features).calibration(calibrates));
        let scores = model.predict_scores(&data.x).unwrap();
        for (i, scores) in scores.rows().into_iter().enumerate().filter(|(i, _)| data.weights[*i] > 0.0) {
            let data = &data;
            let of = |asked: bool| (0..scores.len()).filter(move |&j| data.has(j) == asked).map(|j| scores[j]);
            let (lowest, empty) = (of(true).fold(f64::INFINITY, f64::min), of(false).fold(f64::NEG_INFINITY, f64::max));
            prop_assert!(scores.iter().all(|score| score.is_finite()));
            prop_assert!(empty <= lowest, "{} {} {}", i, empty, lowest);
        }
    }

    #[test]
    fn weights_are_dropped_alike_in_any_unit_of_x(mut data in data(), exponent in -7i32..8, loss in loss()) {
        // In another unit, the same objective has another C and another scaling.
        let unit = 2f32.powi(exponent);
        data.x.mapv_inplace(|x| x * unit);
        let config = config().loss(loss).features(Features::Given).max_iter(5).intercept_scaling(unit.into());
        let config = config.c(0.3 / f64::from(unit).powi(2));
        let (all, fewer) = (data.fit(&config), data.fit(&config.clone().min_weight(0.1)));
        let is_known = |i: usize| (0..data.y.ncols()).any(|j| !data.unknown[[i, j]]);
        let (mut squares, mut total) = (0.0, 0.0);
        for (i, row) in data.x.rows().into_iter().enumerate().filter(|(i, _)| is_known(*i)) {
            let square = row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
            squares += square * data.weights[i];
            total += if square > 0.0 { data.weights[i] } else { 0.0 };
        }
        for label in 0..data.y.ncols() {
            let [(all, _), (fewer, _)] = [&all, &fewer].map(|model| column(model, label));
            let largest = all.iter().fold(0.0f64, |largest, &w| largest.max(w.abs().into()));
            let least = 0.1 * largest.min((total / squares).sqrt());
            for (&all, &found) in all.iter().zip(&fewer) {
                let size = f64::from(all.abs());
                prop_assert!(found == all || found == 0.0 && size < least * 1.0001, "{} {} {}", found, all, least);
                prop_assert!(found != 0.0 || all == 0.0 || size < least * 1.0001);
                prop_assert!(found == 0.0 || size > least * 0.9999);
            }
        }
    }

    #[test]
    fn models_of_some_columns_are_merged_to_the_model_of_all(data in data(), loss in loss(), cuts in (0usize..20, 0usize..20)) {
        let config = config().loss(loss).max_iter(7).calibration(true);
        let (y, x) = (label_view(&data.y), Matrix::from(&data.x));
        let all = Dataset::new(&x, y).sample_weight(&data.weights[..]).y_weight(CellWeights::from(&data.unknown));
        let d = data.y.ncols();
        let (a, b) = (cuts.0.min(cuts.1).min(d), cuts.0.max(cuts.1).min(d));
        let ranges = [0..a, a..b, b..d];
        let parts = ranges.clone().map(|range| config.fit_columns(&all, range).unwrap());
        let merged = LinearModel::merge(&[(&parts[0], 0..a), (&parts[1], a..b), (&parts[2], b..d)]).unwrap();
        prop_assert_eq!(&merged, &data.fit(&config));
        for (part, range) in parts.iter().zip(&ranges) {
            prop_assert!((0..d).all(|label| range.contains(&label) || column(part, label).0.iter().all(|w| *w == 0.0)));
        }
        prop_assert!(LinearModel::merge(&[]).is_err());
        prop_assert!(LinearModel::merge(&[(&parts[0], 0..a)]).is_err() || a == d);
        prop_assert!(LinearModel::merge(&[(&parts[0], 0..a), (&parts[0], 0..a), (&parts[2], a..d)]).is_err() || a == 0);
        prop_assert!(LinearModel::merge(&[(&parts[2], a..d), (&parts[0], 0..a)]).is_err() || a == 0 || a == d);
    }

    #[test]
    fn half_precision_rounds_each_weight_and_nothing_else(data in data(), loss in loss()) {
        for features in [Features::Given, Features::Standardized] {
            let config = config().loss(loss).features(features).max_iter(7);
            let (single, half) = (data.fit(&config), data.fit(&config.clone().half_precision(true)));
            for label in 0..data.y.ncols() {
                let ((weights, intercept), (rounded, of_rounded)) = (column(&single, label), column(&half, label));
                for (&weight, &rounded) in weights.iter().zip(&rounded) {
                    let is_normal = (2f32.powi(-14)..=65_504.0).contains(&weight.abs());
                    // Eleven significant bits; a bit pattern of float32 has 13 more.
                    let most = if is_normal { weight.abs() / 2048.0 } else { 0.0 };
                    prop_assert!((rounded - weight).abs() <= most, "{} {}", rounded, weight);
                    prop_assert!(!is_normal || rounded.to_bits() & 0x1FFF == 0, "{}", rounded);
                }
                // Intercepts of standardised features have the part of their means.
                prop_assert!(features == Features::Standardized || of_rounded == intercept);
            }
        }
    }

    #[test]
    fn weights_count_samples(data in data(), loss in loss()) {
        // Calibration holds out rows, of which copies are some of their own.
        let config = config().loss(loss).max_iter(7).calibration(false);
        let (data, copied) = data.with_copies();
        prop_assert_eq!(copied.fit(&config), data.fit(&config));
    }
}

#[test]
fn equal_samples_that_do_not_know_different_columns_have_an_order() {
    let x = ndarray::array![[2.0f32], [2.0], [1.0], [3.0], [0.0]];
    let mut y = Array2::from_elem((5, 3), false);
    (y[[0, 0]], y[[1, 0]], y[[2, 2]]) = (true, true, true);
    let mut unknown = Array2::from_elem((5, 3), false);
    // Both columns are unknown for a sample with X = 2, but only one has a sample.
    (unknown[[0, 2]], unknown[[1, 1]]) = (true, true);
    let data = Data { x, y, weights: vec![1.0; 5], unknown };
    for seed in 0..20 {
        let config = config().features(Features::Given).max_iter(3).seed(seed);
        let (model, turned) = (data.fit(&config), data.columns(&[2, 1, 0]).fit(&config));
        (0..3).for_each(|label| assert_eq!(column(&turned, 2 - label), column(&model, label)));
    }
}

#[test]
fn two_classes_are_one_column_and_more_are_several() {
    let x = ndarray::array![[1.0f32, 0.0], [0.0, 1.0], [1.0, 1.0]];
    for (n_classes, codes, n_columns) in [(2, [0, 1, 1], 1), (3, [0, 1, 2], 3)] {
        let codes = Array2::from_shape_vec((3, 1), codes.to_vec()).unwrap();
        let y = Targets::classes(codes.view(), vec![n_classes]);
        assert_eq!(LinearConfig::default().fit((&x, &y)).unwrap().n_columns(), n_columns);
    }
}

#[test]
fn probabilities_grow_with_margins_and_those_of_classes_have_the_sum_one() {
    let x = ndarray::array![[1.0f32, 0.0], [0.0, 1.0], [1.0, 1.0]];
    let codes = ndarray::array![[0u32, 1], [1, 0], [2, 1]];
    let y = Targets::classes(codes.view(), vec![3, 2]);
    let mut model = LinearConfig::default().c(10.0).fit((&x, &y)).unwrap();
    let margins = model.decision_function(&x).unwrap();
    for calibration in [None, Some(Calibration { slopes: vec![3.0; 5], intercepts: vec![-0.5; 5] })] {
        model.calibration = calibration;
        let proba = model.predict(&x).unwrap();
        for (margins, proba) in margins.rows().into_iter().zip(proba.rows()) {
            for output in [0..3, 3..5] {
                let (margins, proba) = (&margins.to_vec()[output.clone()], &proba.to_vec()[output]);
                assert!((proba.iter().sum::<f64>() - 1.0).abs() < 1e-6);
                for (a, b) in (0..margins.len()).flat_map(|a| (0..margins.len()).map(move |b| (a, b))) {
                    assert!(margins[a] >= margins[b] || proba[a] <= proba[b]);
                }
            }
        }
    }
    let labels = LinearConfig::default().fit((&x, label_view(&ndarray::array![[true], [false], [true]]))).unwrap();
    let calibration = labels.calibration().unwrap();
    let (slope, intercept) = (f64::from(calibration.slopes()[0]), f64::from(calibration.intercepts()[0]));
    let margins = labels.decision_function(&x).unwrap();
    let proba = labels.predict(&x).unwrap();
    let expected = |margin: f32| 1.0 / (1.0 + (-slope * f64::from(margin) - intercept).exp());
    // Margins are sums in single precision.
    assert!(margins.iter().zip(&proba).all(|(m, p)| (expected(*m) - p).abs() < 1e-5));
}

#[test]
fn bad_input_is_an_error() {
    let (x, y) = (ndarray::array![[1.0f32], [2.0]], ndarray::array![[true], [false]]);
    let what = |config: LinearConfig, x: &Array2<f32>| match config.fit((x, label_view(&y))).unwrap_err().kind() {
        ErrorKind::Invalid { what, .. } => *what,
        other => panic!("{other:?}"),
    };
    let config = LinearConfig::default;
    assert_eq!(what(config().c(0.0), &x), "C");
    assert_eq!(what(config().c(f64::NAN), &x), "C");
    assert_eq!(what(config().tol(-1.0), &x), "tol");
    assert_eq!(what(config().max_iter(0), &x), "max_iter");
    assert_eq!(what(config().intercept_scaling(-1.0), &x), "intercept_scaling");
    assert_eq!(what(config().min_weight(f64::INFINITY), &x), "min_weight");
    assert_eq!(what(config(), &ndarray::array![[f32::NAN], [1.0]]), "X");
    let numbers = ndarray::array![[1.0], [2.0]];
    assert!(matches!(config().fit((&x, &numbers)).unwrap_err().kind(), ErrorKind::Unsupported { what: "y", .. }));
    let labels = LabelView::try_new(vec![0, 1, 1], vec![0], 1).unwrap();
    let model = config().fit((&x, labels)).unwrap();
    let wide = ndarray::array![[1.0f32, 2.0]];
    assert!(model.decision_function(&wide).is_err());
}

#[test]
fn a_stopped_fit_is_interrupted() {
    let (x, y) = (ndarray::array![[1.0f32], [2.0]], ndarray::array![[true], [false]]);
    let control = Control::with_threads(2);
    control.stop();
    let stopped = LinearConfig::default().fit((&x, label_view(&y), &control));
    assert_eq!(stopped.unwrap_err().kind(), &ErrorKind::Interrupted);
}
