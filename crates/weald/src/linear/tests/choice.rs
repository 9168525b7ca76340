//! Folds, held-out margins, choices and calibration, each against the obvious way to find them.

use ndarray::Array2;
use proptest::prelude::*;

use super::super::calibration::{Line, STEPS};
use super::super::held_out::counts::Point;
use super::super::source::Source;
use super::super::{Calibration, Candidate, Choice, Features, Grid, LinearConfig, LinearLoss};
use super::{Data, data, label_view, loss as losses};
use crate::control::Control;
use crate::data::{CellWeights, Dataset, LabelView, Matrix, Targets};
use crate::error::ErrorKind;

fn config() -> LinearConfig {
    LinearConfig::default().max_iter(9)
}

impl Data {
    fn choose_as(&self, grid: &Grid, x: &Matrix<'_>, n_threads: usize) -> Choice {
        let data = Dataset::new(x, label_view(&self.y)).sample_weight(&self.weights[..]);
        let data = data.y_weight(CellWeights::from(&self.unknown));
        let of_log_loss = *grid == Grid::of(LinearLoss::LogLoss);
        let loss = if of_log_loss { LinearLoss::LogLoss } else { LinearLoss::SquaredHinge };
        config().loss(loss).choose(data.view().control(&Control::with_threads(n_threads)), grid).unwrap()
    }

    fn choose_by(&self, loss: LinearLoss) -> Choice {
        self.choose_as(&Grid::of(loss), &Matrix::from(&self.x), 1)
    }

    /// The fold of each sample.
    fn folds(&self, n_folds: usize) -> Vec<u32> {
        let data = Dataset::new(&self.x, label_view(&self.y)).sample_weight(&self.weights[..]);
        let data = data.y_weight(CellWeights::from(&self.unknown));
        let control = Control::default();
        Source::with(&data, &control, |source| Ok(config().folds(source, n_folds, &control)?.of)).unwrap()
    }

    fn held_out(&self, config: &LinearConfig, n_folds: usize) -> Array2<f32> {
        let data = Dataset::new(&self.x, label_view(&self.y)).sample_weight(&self.weights[..]);
        let data = data.y_weight(CellWeights::from(&self.unknown));
        let control = Control::default();
        let fill = |source: &Source<'_>| {
            let folds = config.folds(source, n_folds, &control)?;
            let mut all = Array2::zeros(self.y.dim());
            for fold in 0..n_folds {
                config.each_held_out(source, &source.y, &folds, fold, &control, |rows, margins| {
                    for (&row, margins) in rows.iter().zip(margins.chunks_exact(self.y.ncols())) {
                        all.row_mut(row as usize).iter_mut().zip(margins).for_each(|(cell, &margin)| *cell = margin);
                    }
                    Ok(())
                })?;
            }
            Ok(all)
        };
        Source::with(&data, &Control::default(), fill).unwrap()
    }
}

/// A choice without the folds of its samples, which follow their order.
fn without_folds(choice: Choice) -> Choice {
    Choice { folds: Vec::new(), ..choice }
}

/// The loss of a line, cell by cell.
fn loss(line: (f64, f64), cells: &[(f64, f64, bool)]) -> f64 {
    let of_cell = |&(margin, weight, is_on): &(f64, f64, bool)| {
        let score = line.0 * margin + line.1;
        let away = if is_on { -score } else { score };
        weight * (away.max(0.0) + (-away.abs()).exp().ln_1p())
    };
    cells.iter().map(of_cell).sum()
}

/// Fits a line by going down along the slope of the objective in small steps.
fn slowly(cells: &[(f64, f64, bool)], prior: (f64, f64)) -> (f64, f64) {
    let bend: f64 = cells.iter().map(|(margin, weight, _)| weight * (1.0 + margin * margin)).sum();
    let (mut line, step) = (prior, 1.0 / (1.0 + 0.25 * bend));
    for _ in 0..200_000 {
        let mut gradient = (line.0 - prior.0, line.1 - prior.1);
        for &(margin, weight, is_on) in cells {
            let p = 1.0 / (1.0 + (-(line.0 * margin + line.1)).exp());
            let change = weight * (p - f64::from(u8::from(is_on)));
            gradient = (gradient.0 + change * margin, gradient.1 + change);
        }
        line = ((line.0 - step * gradient.0).max(1e-3), line.1 - step * gradient.1);
        if gradient.0.abs().max(gradient.1.abs()) < 1e-9 {
            break;
        }
    }
    line
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn choices_do_not_depend_on_layouts_threads_or_order(data in data(), loss in losses()) {
        let (choice, grid) = (data.choose_by(loss), Grid::of(loss));
        let csr = data.csr();
        prop_assert_eq!(&data.choose_as(&grid, &csr, 3), &choice);
        if let Matrix::Csr(rows) = &csr {
            let csc = Matrix::Csc(rows.transposed().unwrap());
            prop_assert_eq!(&data.choose_as(&grid, &csc, 2), &choice);
        }
        let reversed: Vec<usize> = (0..data.x.nrows()).rev().collect();
        prop_assert_eq!(without_folds(data.rows(&reversed).choose_by(loss)), without_folds(choice));
    }

    #[test]
    fn folds_are_even(data in data(), n_folds in 2usize..5) {
        let folds = data.folds(n_folds);
        let knows = |i: usize| data.unknown.row(i).iter().any(|unknown| !unknown);
        let there = || (0..data.x.nrows()).filter(|&i| data.weights[i] > 0.0 && knows(i));
        let sizes: Vec<usize> = (0..n_folds).map(|fold| there().filter(|&i| folds[i] as usize == fold).count()).collect();
        let (least, most) = (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap());
        prop_assert!(most - least <= 1, "{:?}", sizes);
    }

    #[test]
    fn held_out_margins_are_those_of_fits_without_the_fold(mut data in data(), n_folds in 2usize..4) {
        data.unknown.fill(false);
        (data, _) = data.with_copies();
        let folds = data.folds(n_folds);
        for features in [Features::TfIdf, Features::Standardized] {
            let config = config().features(features).calibration(false);
            let found = data.held_out(&config, n_folds);
            for fold in 0..n_folds as u32 {
                let mut rest = data.clone();
                rest.weights.iter_mut().zip(&folds).filter(|(_, of)| **of == fold).for_each(|(w, _)| *w = 0.0);
                let expected = match rest.weights.iter().any(|w| *w > 0.0) {
                    true => rest.fit(&config).decision_function(&data.x).unwrap(),
                    false => Array2::from_elem(data.y.dim(), -1.0),
                };
                // Columns without samples are what they were before the fit, and not below all others as in a model.
                let expected = |i: usize, j: usize| if rest.has(j) { expected[[i, j]] } else { -1.0 };
                for i in (0..folds.len()).filter(|&i| folds[i] == fold) {
                    (0..data.y.ncols()).try_for_each(|j| {
                        prop_assert_eq!(found[[i, j]], expected(i, j));
                        Ok(())
                    })?;
                }
            }
        }
    }

    #[test]
    fn models_of_the_folds_of_a_choice_are_fits_without_the_fold(mut data in data(), chooses in any::<bool>(), calibrates in any::<bool>()) {
        data.unknown.fill(false);
        (data, _) = data.with_copies();
        let config = config().features(Features::TfIdf).calibration(calibrates);
        let pairs = Dataset::new(&data.x, label_view(&data.y)).sample_weight(&data.weights[..]);
        let grid = if chooses { Grid::default() } else { Grid::only(&config) };
        let choice = config.choose(&pairs, &grid).unwrap();
        let model = choice.fit(&pairs).unwrap();
        if !chooses {
            prop_assert_eq!(&model, &config.fit(&pairs).unwrap());
        }
        let found = choice.fold_models(&pairs).unwrap();
        prop_assert_eq!(&found.folds, &data.folds(3));
        prop_assert_eq!(found.models.len(), 3);
        let expected = choice.config.fold_models(&pairs, 3).unwrap().calibrated_as(&model);
        prop_assert_eq!(&found, &expected);
        let expected = data.held_out(&choice.config, 3);
        for (fold, of_fold) in (0u32..).zip(&found.models) {
            prop_assert_eq!(&of_fold.calibration, &model.calibration);
            let margins = of_fold.decision_function(&data.x).unwrap();
            for i in (0..data.y.nrows()).filter(|&i| found.folds[i] == fold) {
                prop_assert_eq!(margins.row(i), expected.row(i));
            }
        }
    }

    #[test]
    fn folds_have_all_parts_of_samples_whose_cells_have_several_weights(data in data(), turn in 0usize..3) {
        let factors = Array2::from_shape_fn(data.y.dim(), |(i, j)| {
            if data.unknown[[i, j]] { 0.0 } else { [0.5, 1.0, 3.0][(i + j + turn) % 3] }
        });
        let config = super::config().loss(LinearLoss::LogLoss).features(Features::Given);
        let pairs = Dataset::new(&data.x, label_view(&data.y)).y_weight(CellWeights::Dense(factors.view()));
        let found = config.fold_models(pairs.view().sample_weight(&data.weights[..]), 3);
        // An output may have no known cell.
        let Ok(found) = found else { return Ok(()) };
        prop_assert_eq!(found.folds.len(), data.y.nrows());
        for (fold, of_fold) in (0u32..).zip(&found.models) {
            let weight = |i: usize| if found.folds[i] == fold { 0.0 } else { data.weights[i] };
            let others: Vec<f64> = (0..data.y.nrows()).map(weight).collect();
            if let Ok(alone) = config.fit(pairs.view().sample_weight(&others[..])) {
                let margins = [of_fold, &alone].map(|model| model.decision_function(&data.x).unwrap());
                // Either fit ends within the tolerance of the solver.
                let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 0.05 * (1.0 + b.abs());
                // A fit lowers the margins of labels without samples, which models of folds do not.
                let has = |i: usize, j: usize| others[i] > 0.0 && data.y[[i, j]] && !data.unknown[[i, j]];
                for j in (0..data.y.ncols()).filter(|&j| (0..data.y.nrows()).any(|i| has(i, j))) {
                    let [of_fold, alone] = [0, 1].map(|model| margins[model].column(j));
                    prop_assert!(of_fold.iter().zip(alone).all(near), "{j} {margins:?}");
                }
            }
        }
    }

    #[test]
    fn the_best_candidate_is_chosen_by_the_loss_of_held_out_cells(mut data in data()) {
        data.unknown.fill(false);
        data.weights.iter_mut().for_each(|w| *w = w.min(3.0));
        let choice = data.choose_by(LinearLoss::SquaredHinge);
        let total: f64 = data.weights.iter().sum();
        let (n, d) = data.y.dim();
        for tried in &choice.candidates {
            let margins = data.held_out(&config().features(tried.features).c(tried.c), 3);
            // Margins of at least 128 are counted together.
            let margin = |i: usize, j: usize| f64::from(margins[[i, j]].clamp(-127.0, 127.0));
            let cell = |i: usize, j: usize| (margin(i, j), data.weights[i], data.y[[i, j]]);
            let column = |j: usize| (0..n).map(|i| cell(i, j)).collect::<Vec<_>>();
            let common = slowly(&(0..d).flat_map(column).collect::<Vec<_>>(), (2.0, 0.0));
            let expected = (0..d).map(|j| loss(slowly(&column(j), common), &column(j))).sum::<f64>() / total;
            // Margins are counted by steps of up to a thirty-second of their size, or of 2⁻⁵.
            prop_assert!((tried.loss - expected).abs() <= 0.05 * expected + 1e-3, "{:?} {}", tried, expected);
        }
        let is_chosen = |c: &&Candidate| c.features == choice.config.features && c.c == choice.config.c;
        let chosen = choice.candidates.iter().find(is_chosen).unwrap();
        prop_assert!(choice.candidates.iter().all(|tried| 0.99 * chosen.loss <= tried.loss));
    }

    #[test]
    fn lines_have_the_least_loss(
        cells in prop::collection::vec((-3.0f64..3.0, 0.1f64..3.0, any::<bool>()), 0..30),
    ) {
        let points = cells.iter().map(|&(margin, weight, is_on)| {
            let (off, on) = if is_on { (0.0, weight) } else { (weight, 0.0) };
            Point { margin, less: 0.0, off, on }
        });
        let points: Vec<Point> = points.collect();
        let line = Line::fitted(&points, LinearLoss::SquaredHinge.line(), LinearLoss::SquaredHinge.line(), STEPS);
        let best = slowly(&cells, (2.0, 0.0));
        let objective = |(slope, intercept): (f64, f64)| {
            loss((slope, intercept), &cells) + 0.5 * ((slope - 2.0).powi(2) + intercept * intercept)
        };
        // Both are at the minimum, which is flat.
        let found = objective((line.score(1.0) - line.score(0.0), line.score(0.0)));
        prop_assert!(found <= objective(best) + 1e-6, "{:?} {:?}", line, best);
        prop_assert!((line.loss(&points) - loss((line.score(1.0) - line.score(0.0), line.score(0.0)), &cells)).abs() < 1e-6);
    }

    #[test]
    fn columns_are_calibrated_by_their_held_out_cells(mut data in data()) {
        // With these weights, some columns have enough positives for a line of their own.
        data.weights.iter_mut().for_each(|w| *w = 4.0 * w.min(3.0));
        let model = data.fit(&config().calibration(true));
        let calibration = model.calibration().unwrap();
        let margins = data.held_out(&config(), 3);
        let (n, d) = data.y.dim();
        let known = |i: usize| (0..d).any(|j| !data.unknown[[i, j]]);
        let cells = |j: usize| {
            let (data, margins) = (&data, &margins);
            let rows = (0..n).filter(move |&i| !data.unknown[[i, j]] && known(i));
            rows.map(move |i| (f64::from(margins[[i, j]]), data.weights[i], data.y[[i, j]]))
        };
        let all: Vec<_> = (0..d).flat_map(cells).collect();
        let common = slowly(&all, (2.0, 0.0));
        for j in 0..d {
            let own: Vec<_> = cells(j).collect();
            let positives: f64 = own.iter().filter(|(.., is_on)| *is_on).map(|(_, weight, _)| weight).sum();
            // Columns with few positives have the line of all cells.
            let (cells, prior) = if positives < 20.0 { (&all, (2.0, 0.0)) } else { (&own, common) };
            let found = (f64::from(calibration.slopes()[j]), f64::from(calibration.intercepts()[j]));
            let objective = |line: (f64, f64)| {
                loss(line, cells) + 0.5 * ((line.0 - prior.0).powi(2) + (line.1 - prior.1).powi(2))
            };
            let (found, best) = (objective(found), objective(slowly(cells, prior)));
            // Margins are counted by steps of up to a thirty-second of their size, or of 2⁻⁵.
            prop_assert!(found <= best * 1.05 + 0.05, "{} {} {}", j, found, best);
        }
    }

    #[test]
    fn hostile_data_have_probabilities(data in data()) {
        let choice = data.choose_by(LinearLoss::SquaredHinge);
        let Calibration { slopes, intercepts } = choice.calibration.as_ref().unwrap();
        prop_assert!(slopes.iter().all(|slope| *slope > 0.0 && slope.is_finite()));
        prop_assert!(intercepts.iter().all(|intercept| intercept.is_finite()));
        let weighed = Dataset::new(&data.x, label_view(&data.y)).sample_weight(&data.weights[..]);
        let weighed = weighed.y_weight(CellWeights::from(&data.unknown));
        let model = choice.fit(&weighed).unwrap();
        prop_assert_eq!(model.calibration(), choice.calibration.as_ref());
        let expected = data.fit(&choice.config);
        prop_assert_eq!(model.intercepts(), expected.intercepts());
        let proba = model.predict(&data.x).unwrap();
        prop_assert!(proba.iter().all(|p| (0.0..=1.0).contains(p)));
    }
}

/// Samples of `n_columns` groups, each with words of its own and words of all.
fn groups(n: usize, n_columns: usize) -> (Array2<f32>, Array2<bool>) {
    let word = |i: usize, j: usize| (i * 7 + j * 13 + i * j).is_multiple_of(5) || j == i % n_columns;
    let x = Array2::from_shape_fn((n, n_columns + 3), |(i, j)| match j == n_columns + 2 {
        true => i as f32 / n as f32,
        false => f32::from(u8::from(word(i, j))),
    });
    let y = Array2::from_shape_fn((n, n_columns), |(i, j)| i % n_columns == j && i % 11 != 0);
    (x, y)
}

#[test]
fn rare_columns_are_in_the_training_part_of_each_fold() {
    let (x, mut y) = groups(60, 5);
    // Two samples have a column of their own.
    y.column_mut(4).fill(false);
    (y[[7, 4]], y[[23, 4]]) = (true, true);
    let data = Data { weights: vec![1.0; 60], unknown: Array2::from_elem(y.dim(), false), x, y };
    for n_folds in 2..6 {
        let folds = data.folds(n_folds);
        assert_ne!(folds[7], folds[23]);
    }
}

#[test]
fn rare_columns_of_very_many_share_a_calibration() {
    let n_columns = 2100;
    let (x, few) = groups(180, 6);
    let y =
        Array2::from_shape_fn((180, n_columns), |(i, j)| if j % 350 == 0 { few[[i, j / 350]] } else { i == j % 97 });
    let choose = |y: &Array2<bool>| {
        let choice = config().choose((&x, label_view(y)), &Grid::default()).unwrap();
        let calibration = choice.calibration.clone().unwrap();
        (choice, calibration)
    };
    let (choice, calibration) = choose(&y);
    assert_eq!(calibration.slopes().len(), n_columns);
    // The frequent columns have calibrations of their own, and most of the others have one in common.
    let common = |j: usize| calibration.slopes().iter().filter(|slope| **slope == calibration.slopes()[j]).count();
    assert!((0..6).all(|j| common(350 * j) < 10));
    assert!((0..n_columns).any(|j| common(j) > 1000));
    let reversed = y.select(ndarray::Axis(1), &(0..n_columns).rev().collect::<Vec<_>>());
    let (turned, of_turned) = choose(&reversed);
    assert_eq!(turned.config, choice.config);
    assert_eq!(turned.candidates, choice.candidates);
    assert_eq!(of_turned.slopes().iter().rev().collect::<Vec<_>>(), calibration.slopes().iter().collect::<Vec<_>>());
}

#[test]
fn kinds_of_features_that_do_not_suit_x_are_not_tried() {
    let (x, y) = groups(60, 5);
    let kinds = |x: &Array2<f32>| {
        let choice = config().choose((x, label_view(&y)), &Grid::default()).unwrap();
        let mut kinds: Vec<Features> = choice.candidates.iter().map(|tried| tried.features).collect();
        kinds.dedup();
        kinds[..kinds.len().min(4)].to_vec()
    };
    let dense = x.mapv(|v| v + 1.0);
    let tried = kinds(&dense);
    assert!(tried.contains(&Features::Standardized) && !tried.contains(&Features::TfIdf));
    let wide = Array2::from_shape_fn((60, 200), |(i, j)| if j < 8 { x[[i, j]] } else { 0.0 });
    let tried = kinds(&wide);
    assert!(tried.contains(&Features::TfIdf) && !tried.contains(&Features::Standardized));
    assert!(tried.contains(&Features::Given));
    let large = wide.mapv(|v| v * 100.0);
    assert!(!kinds(&large).contains(&Features::Given));
    // One kind is taken whatever X is like.
    let grid = Grid { features: vec![Features::TfIdf], ..Grid::default() };
    let choice = config().choose((&dense, label_view(&y)), &grid).unwrap();
    assert_eq!(choice.config.features, Features::TfIdf);
}

#[test]
fn classes_are_chosen_and_calibrated_as_well() {
    let (x, _) = groups(90, 3);
    for (n_classes, width) in [(2, 1), (3, 3)] {
        let codes = Array2::from_shape_fn((90, 1), |(i, _)| (i % 3).min(n_classes as usize - 1) as u32);
        let y = Targets::classes(codes.view(), vec![n_classes]);
        let choice = config().choose((&x, &y), &Grid::default()).unwrap();
        let model = choice.fit((&x, &y)).unwrap();
        let proba = model.predict(&x).unwrap();
        let n_classes = n_classes as usize;
        assert_eq!((proba.dim(), model.calibration().unwrap().slopes().len()), ((90, n_classes), width));
        let is_right = |i: usize| (0..n_classes).all(|j| proba[[i, j]] <= proba[[i, codes[[i, 0]] as usize]]);
        // The most frequent class has 60 samples, or 30 of three.
        assert!((0..90).filter(|&i| is_right(i)).count() > 60);
    }
}

#[test]
fn bad_grids_are_errors() {
    let (x, y) = groups(9, 3);
    let what = |grid: Grid| match config().choose((&x, label_view(&y)), &grid).unwrap_err().kind() {
        ErrorKind::Invalid { what, .. } => *what,
        other => panic!("{other:?}"),
    };
    assert_eq!(what(Grid { features: vec![], ..Grid::default() }), "features");
    assert_eq!(what(Grid { c: vec![], ..Grid::default() }), "C");
    assert_eq!(what(Grid { c: vec![1.0, -1.0], ..Grid::default() }), "C");
    assert_eq!(what(Grid { n_folds: 1, ..Grid::default() }), "n_folds");
    let held_out = config().fold_models((&x, label_view(&y)), 0);
    assert!(matches!(held_out.unwrap_err().kind(), ErrorKind::Invalid { what: "n_folds", .. }));
    let control = Control::default();
    control.stop();
    let stopped = config().choose((&x, label_view(&y), &control), &Grid::default());
    assert_eq!(stopped.unwrap_err().kind(), &ErrorKind::Interrupted);
    let one = LabelView::try_new(vec![0, 1], vec![0], 1).unwrap();
    let alone = ndarray::array![[1.0f32, 2.0]];
    let choice = config().choose((&x, label_view(&y)), &Grid::default()).unwrap();
    let fewer = choice.fold_models((&alone, one.clone()));
    assert!(matches!(fewer.unwrap_err().kind(), ErrorKind::Shape { what: "X", .. }));
    assert!(config().choose((&alone, one), &Grid::default()).is_ok());
}
