//! Searches for the number of stages, beside fits of each fold.

use std::ops::ControlFlow;

use ndarray::{Array2, Axis};

use crate::boost::{BoostConfig, OutputStrategy, Search, SearchObserver, StageReport, StageSearch};
use crate::control::Control;
use crate::data::{CellWeights, Dataset, LabelView, Matrix, SparseView, Targets};
use crate::error::ErrorKind;
use crate::folds::{Split, splits};
use crate::loss::LossKind;
use crate::rounds::Unobserved;

fn data(n: usize) -> (Array2<f32>, Array2<f64>) {
    let x = Array2::from_shape_fn((n, 3), |(i, j)| ((i * (7 + 4 * j)) % 13) as f32);
    let y = Array2::from_shape_fn((n, 2), |(i, j)| f64::from(x[[i, j]]) + ((i * 31) % 17) as f64 / 4.0);
    (x, y)
}

fn few(loss: LossKind, n_estimators: usize) -> BoostConfig {
    BoostConfig::new(loss).strategy(OutputStrategy::SingleTarget).n_estimators(n_estimators).max_leaf_nodes(5)
}

/// The weighted mean over the folds of the losses of separate fits, without exact sums.
fn by_fits(config: &BoostConfig, data: &Dataset<'_>, folds: &[Split], weights: &[f64]) -> Vec<f64> {
    let (mut means, mut total) = (vec![0.0; config.n_estimators], 0.0);
    for Split { train, held_out } in folds {
        let of = |rows: &[u32]| {
            let weight = |row| if rows.contains(&row) { weights[row as usize] } else { 0.0 };
            (0..weights.len() as u32).map(weight).collect::<Vec<_>>()
        };
        let (of_train, of_held) = (of(train), of(held_out));
        let (train, held) = (data.view().sample_weight(&of_train[..]), data.view().sample_weight(&of_held[..]));
        let model = config.fitting().validation(&held).fit(&train).unwrap();
        let weight: f64 = of_held.iter().sum();
        means.iter_mut().zip(model.validation_score()).for_each(|(mean, loss)| *mean += weight * loss);
        total += weight;
    }
    means.into_iter().map(|mean| mean / total).collect()
}

#[test]
fn means_are_those_of_separate_fits() {
    let (x, y) = data(60);
    let weights: Vec<f64> = (0..60).map(|i| f64::from([1u8, 2, 0, 1, 3][i % 5]) / 2.0).collect();
    let codes = y.column(0).mapv(|v| u32::from(v > 8.0)).insert_axis(Axis(1));
    let control = Control::default();
    for (targets, loss) in
        [(Targets::from(&y), LossKind::SquaredError), (Targets::classes(&codes, [2]), LossKind::LogLoss)]
    {
        let data = Dataset::new(&x, targets).sample_weight(&weights[..]);
        let folds = splits(&data, 3, 1, &control).unwrap();
        let config = few(loss, 70);
        let expected = by_fits(&config, &data, &folds, &weights);
        let search = StageSearch { folds: &folds, ..StageSearch::default() };
        let found = config.search(&data, &search, &mut Unobserved).unwrap();
        assert_eq!(found.held_out.len(), 70);
        // Another order of additions.
        assert!(found.held_out.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs()));
        let best = (0..70).min_by(|&a, &b| found.held_out[a].total_cmp(&found.held_out[b])).unwrap();
        assert_eq!(found.n_stages, best + 1);
        // With patience, the search ends so many stages after the best one so far, and finds the same means until then.
        let patient = config.clone().n_iter_no_change(6).tol(0.0);
        let ended = patient.search(&data, &search, &mut Unobserved).unwrap();
        let end = (7..70).find(|&n| {
            let least = |of: &[f64]| of.iter().copied().fold(f64::INFINITY, f64::min);
            least(&found.held_out[n - 6..n]) > least(&found.held_out[..n - 6])
        });
        assert_eq!(ended.held_out, found.held_out[..end.unwrap_or(70)]);
        // A larger share of the best number of stages makes it wait longer.
        let share = StageSearch { patience_share: 100.0, ..search.clone() };
        assert_eq!(patient.search(&data, &share, &mut Unobserved).unwrap().held_out, found.held_out);
    }
}

#[test]
fn unknown_cells_count_by_their_number() {
    let (x, y) = data(40);
    let mask = Array2::from_shape_fn((40, 2), |(i, j)| (i + 3 * j) % 4 == 0);
    let data = Dataset::new(&x, &y).y_weight(CellWeights::from(&mask));
    let control = Control::default();
    let folds = splits(&data, 2, 0, &control).unwrap();
    let config = few(LossKind::SquaredError, 5);
    let search = StageSearch { folds: &folds, ..StageSearch::default() };
    let found = config.search(&data, &search, &mut Unobserved).unwrap();
    let (mut sum, mut total) = (0.0, 0.0);
    for Split { train, held_out } in &folds {
        let of = |rows: &[u32]| (0..40).map(|row| f64::from(u8::from(rows.contains(&row)))).collect::<Vec<_>>();
        let (of_train, of_held) = (of(train), of(held_out));
        let (train, held) = (data.view().sample_weight(&of_train[..]), data.view().sample_weight(&of_held[..]));
        let model = config.fitting().validation(&held).fit(&train).unwrap();
        let n_known = held_out.iter().map(|&row| mask.row(row as usize).iter().filter(|m| !**m).count() as f64);
        let n_known = n_known.sum::<f64>();
        (sum, total) = (sum + n_known * model.validation_score()[4], total + n_known);
    }
    assert!((found.held_out[4] - sum / total).abs() < 1e-12 * found.held_out[4], "another order of additions");
}

/// Rows of weight zero are no rows, for y of every kind and X in every layout.
#[test]
fn folds_that_are_copied_give_the_bits_of_samples_of_weight_zero() {
    let (x, y) = data(50);
    let weights: Vec<f64> = (0..50).map(|i| f64::from([1u8, 2, 0, 1, 3][i % 5]) / 4.0).collect();
    let mask = Array2::from_shape_fn((50, 2), |(i, j)| (i + 3 * j) % 4 == 0);
    let margins = y.mapv(|v| v / 3.0);
    let codes = y.column(0).mapv(|v| (v / 6.0) as u32).insert_axis(Axis(1));
    let on = |i: usize| (0..5u32).filter(move |&j| (i * 5 + j as usize * 3) % 7 < 2);
    let ptr: Vec<usize> = (0..=50).map(|n| (0..n).map(|i| on(i).count()).sum()).collect();
    let labels = LabelView::try_new(ptr, (0..50).flat_map(on).collect::<Vec<_>>(), 5).unwrap();
    let stored = |i: usize| (0..3).filter(|&j| x[[i, j]] != 0.0).map(|j| (j as u32, x[[i, j]])).collect::<Vec<_>>();
    let (columns, values): (Vec<u32>, Vec<f32>) = (0..50).flat_map(stored).unzip();
    let ptr: Vec<usize> = (0..=50).map(|n| (0..n).map(|i| stored(i).len()).sum()).collect();
    let csr = SparseView::try_new(ptr, columns, values, 3).unwrap();
    let csc = csr.transposed().unwrap();
    let control = Control::default();
    let mut of_kinds = Vec::new();
    for x in [Matrix::from(&x), Matrix::Csr(csr.view()), Matrix::Csc(csc.view())] {
        let all = Dataset::new(x.view(), &y).sample_weight(&weights[..]);
        let kinds = [
            (all.view(), LossKind::SquaredError),
            (all.view().y_weight(CellWeights::from(&mask)), LossKind::SquaredError),
            (all.view().base_margin(margins.view()), LossKind::SquaredError),
            (Dataset::new(x.view(), Targets::classes(&codes, [4])).sample_weight(&weights[..]), LossKind::LogLoss),
            (Dataset::new(x.view(), labels.view()).sample_weight(&weights[..]), LossKind::LogLoss),
        ];
        let found = kinds.map(|(data, loss)| {
            let folds = splits(&data, 3, 1, &control).unwrap();
            let search = StageSearch { folds: &folds, ..StageSearch::default() };
            let config = few(loss, 40).subsample(0.7);
            let found = config.search(&data, &search, &mut Unobserved).unwrap();
            let weighted = config.searched(&data, &search, 0, &mut Unobserved, &control).unwrap();
            assert_eq!((&weighted.train, &weighted.held_out), (&found.train, &found.held_out));
            found.held_out
        });
        of_kinds.push(found);
    }
    assert!(of_kinds.iter().all(|found| *found == of_kinds[0]), "any layout");
}

/// Scores stages by their number, and keeps what it is told.
struct Watching(Vec<(usize, usize)>, Option<usize>);

impl SearchObserver for Watching {
    fn after(&mut self, so_far: &Search) -> ControlFlow<()> {
        if self.1 == Some(so_far.train.len()) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn scores(&self) -> bool {
        true
    }

    fn score(&mut self, fold: usize, report: &StageReport<'_>) -> ControlFlow<(), f64> {
        assert_eq!(report.validation_scores.unwrap().nrows(), 15);
        self.0.push((fold, report.stage));
        ControlFlow::Continue(-((report.stage as f64) - 9.0).abs())
    }
}

#[test]
fn scores_decide_and_observers_end_the_search() {
    let (x, y) = data(30);
    let (data, control) = (Dataset::new(&x, &y), Control::default());
    let folds = splits(&data, 2, 0, &control).unwrap();
    let search = StageSearch { folds: &folds, ..StageSearch::default() };
    let config = few(LossKind::SquaredError, 20);
    let mut all = Watching(Vec::new(), None);
    let found = config.search((&data, &control), &search, &mut all).unwrap();
    assert_eq!((found.n_stages, found.scores.len(), all.0.len()), (10, 20, 40));
    assert_eq!(all.0[20..22], [(1, 0), (1, 1)]);
    let found = config.search((&data, &control), &search, &mut Watching(Vec::new(), Some(4))).unwrap();
    assert_eq!((found.train.len(), found.held_out.len(), found.n_stages), (4, 4, 4));
    let none = config.search((&data, &control), &StageSearch::default(), &mut Unobserved).unwrap_err();
    assert!(matches!(none.kind(), ErrorKind::Invalid { what: "folds", .. }));
}
