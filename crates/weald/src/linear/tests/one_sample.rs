//! One sample after another, against all samples at once.

use std::sync::Arc;

use ndarray::Array2;
use proptest::prelude::*;

use crate::control::Control;
use crate::data::Outputs;
use crate::error::ErrorKind;
use crate::linear::{Calibration, Features, LinearModel, LinearScorer, Weights};
use crate::loss::Link;

/// A model of labels whose features have weights for none, some or all of them, with hostile numbers.
fn model(features: Features, width: usize, cells: &[Vec<f32>], intercepts: &[f32], calibrates: bool) -> LinearModel {
    let (mut ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for of_feature in cells {
        let there = (0u32..).zip(&of_feature[..width]).filter(|(_, weight)| **weight != 0.0);
        for (column, &weight) in there {
            columns.push(column);
            values.push(weight);
        }
        ptr.push(columns.len());
    }
    let line =
        |at: usize| (0..width).map(move |column| [1.5, -0.25, 2.0, 0.0][(column + at) % 4]).collect::<Vec<f32>>();
    let idf = || Arc::new((0..cells.len()).map(|j| 0.5 + j as f32).collect());
    let intercepts = intercepts[..width].to_vec();
    let model = LinearModel {
        n_features: cells.len(),
        outputs: Outputs::Labels { n_labels: width },
        features,
        idf: (features == Features::TfIdf).then(idf),
        weights: Weights { ptr, columns, values, intercepts, n_unfinished: 0, n_iter: 0 },
        calibration: calibrates.then(|| Calibration { slopes: line(0), intercepts: line(1) }),
    };
    model.checked().unwrap()
}

fn weight() -> impl Strategy<Value = f32> {
    prop_oneof![2 => Just(0.0f32), 3 => -2.0f32..2.0, 1 => prop::sample::select(vec![1e-45f32, -1e-45, f32::MAX, f32::MIN])]
}

fn cells() -> impl Strategy<Value = Vec<Vec<f32>>> {
    // Features of most columns, of few, and of none.
    let few = (0usize..70, -2.0f32..2.0).prop_map(|(at, weight)| {
        let mut cells = vec![0.0; 70];
        cells[at] = weight;
        cells
    });
    prop::collection::vec(prop_oneof![prop::collection::vec(weight(), 70), few, Just(vec![0.0; 70])], 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn scores_and_best_columns_are_those_of_many_samples(
        features in prop::sample::select(vec![Features::Given, Features::Normalized, Features::TfIdf]),
        width in prop::sample::select(vec![1usize, 5, 31, 32, 33, 70]),
        cells in cells(),
        intercept in prop::sample::select(vec![0.0f32, -0.0, -1.0]),
        calibrates in any::<bool>(),
        x in prop::collection::vec(prop::collection::vec(weight(), 6), 1..6),
    ) {
        let mut intercepts = vec![-1.0; 70];
        intercepts[0] = intercept;
        let model = Arc::new(model(features, width, &cells, &intercepts, calibrates));
        let n_features = cells.len();
        let x = Array2::from_shape_fn((x.len(), n_features), |(i, j)| x[i][j % 6]);
        let control = Control::default();
        let expected = model.predict_scores(&x).unwrap();
        let k = width.div_ceil(2);
        let best = model.predict_topk(&x, k).unwrap();
        let scorer = LinearScorer::new(Arc::clone(&model)).unwrap();
        // The memory is that of all samples, one after another.
        let mut scratch = scorer.scratch().unwrap();
        let bits = |scores: &[f64]| scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>();
        for (i, row) in x.rows().into_iter().enumerate() {
            let all = (0u32..).zip(row.iter().copied());
            let stored: Vec<(u32, f32)> = all.clone().filter(|(_, value)| *value != 0.0).collect();
            let (mut scores, mut of_stored) = (vec![f64::NAN; width], vec![f64::NAN; width]);
            scorer.scores(all, &mut scratch, &mut scores).unwrap();
            scorer.scores(stored.iter().copied(), &mut scratch, &mut of_stored).unwrap();
            prop_assert_eq!(bits(&scores), bits(&expected.row(i).to_vec()));
            prop_assert_eq!(bits(&scores), bits(&of_stored));
            let (mut columns, mut values) = (vec![0; k], vec![f64::NAN; k]);
            scorer.topk(stored.iter().copied(), &mut scratch, &mut columns, &mut values).unwrap();
            prop_assert!(best.indices.row(i).iter().eq(&columns));
            let probabilities: Vec<f64> = values.iter().map(|score| Link::Logistic.of_score(*score)).collect();
            let ranked: Vec<f64> = columns.iter().map(|&column| expected[[i, column as usize]]).collect();
            prop_assert_eq!(bits(&values), bits(&ranked));
            let found = model.to_predictions(expected.view(), &control).unwrap();
            let of_columns: Vec<f64> = columns.iter().map(|&column| found[[i, column as usize]]).collect();
            prop_assert_eq!(bits(&probabilities), bits(&of_columns));
        }
    }
}

#[test]
fn what_is_no_sample_is_an_error_that_changes_nothing() {
    let model = model(Features::Given, 40, &[vec![1.0; 70], vec![0.0; 70], vec![2.0; 70]], &[-1.0; 70], false);
    let scorer = LinearScorer::new(Arc::new(model)).unwrap();
    let mut scratch = scorer.scratch().unwrap();
    let mut scores = [7.0; 40];
    for sample in [
        vec![(3, 1.0)],
        vec![(1, 1.0), (0, 1.0)],
        vec![(1, 1.0), (1, 1.0)],
        vec![(0, f32::NAN)],
        vec![(0, 1.0), (2, f32::INFINITY)],
        vec![(u32::MAX, 1.0)],
    ] {
        let found = scorer.scores(sample.into_iter(), &mut scratch, &mut scores).unwrap_err();
        assert!(matches!(found.kind(), ErrorKind::Invalid { .. }), "{found}");
    }
    let one = [(0, 1.0)].into_iter();
    for (columns, n_scores) in [(41, 41), (3, 2), (2, 3)] {
        let (mut columns, mut values) = (vec![9; columns], vec![7.0; n_scores]);
        let found = scorer.topk(one.clone(), &mut scratch, &mut columns, &mut values).unwrap_err();
        assert!(matches!(found.kind(), ErrorKind::Shape { .. }), "{found}");
        assert!(columns.iter().all(|column| *column == 9) && values.iter().all(|value| *value == 7.0));
    }
    let found = scorer.scores(one.clone(), &mut scratch, &mut scores[..39]).unwrap_err();
    assert!(matches!(found.kind(), ErrorKind::Shape { .. }), "{found}");
    assert_eq!(scores, [7.0; 40]);
    scorer.topk(one.clone(), &mut scratch, &mut [], &mut []).unwrap();
    scorer.scores(one, &mut scratch, &mut scores).unwrap();
    assert_eq!(scores, [0.0; 40]);
}

#[test]
fn scratch_of_another_model_is_refused() {
    let weights = |n_features: usize| vec![vec![1.0; 70]; n_features];
    let scorer = |(n_features, width): (usize, usize)| {
        LinearScorer::new(Arc::new(model(Features::Given, width, &weights(n_features), &[-1.0; 70], false))).unwrap()
    };
    let shapes = [(3, 40), (3, 7), (3, 70), (2, 40), (5, 40)];
    for of_model in shapes {
        for of_scratch in shapes {
            let (scorer, mut scratch) = (scorer(of_model), scorer(of_scratch).scratch().unwrap());
            let mut scores = vec![9.0; of_model.1];
            let (mut columns, mut best) = ([99; 2], [9.0; 2]);
            let sample = || [(0, 1.0), (1, 2.0)].into_iter();
            let found = [
                scorer.scores(sample(), &mut scratch, &mut scores),
                scorer.topk(sample(), &mut scratch, &mut columns, &mut best),
            ];
            for found in found {
                assert_eq!(found.is_ok(), of_model == of_scratch, "{of_model:?} {of_scratch:?}");
                let Err(refused) = found else { continue };
                assert!(matches!(refused.kind(), ErrorKind::Shape { .. }), "{refused}");
                assert!(scores.iter().chain(&best).all(|score| *score == 9.0) && columns == [99; 2]);
            }
        }
    }
}

#[test]
fn rows_cost_less_than_lists_and_unknown_features_nothing() {
    let mut listed = vec![0.0; 70];
    listed[..9].fill(1.0);
    let model = model(Features::Given, 64, &[vec![1.0; 70], listed], &[-1.0; 70], false);
    let scorer = LinearScorer::new(Arc::new(model)).unwrap();
    let cost = |features: &[u32]| scorer.cost(features.iter().copied()) - scorer.cost(std::iter::empty());
    assert_eq!([cost(&[0]), cost(&[1]), cost(&[0, 1]), cost(&[5])], [8, 9, 17, 0]);
}
