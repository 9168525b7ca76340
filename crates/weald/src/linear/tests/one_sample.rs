//! One sample after another, against all samples at once.

use std::sync::Arc;

use ndarray::Array2;
use proptest::prelude::*;

use crate::Scorer;
use crate::control::Control;
use crate::data::Outputs;
use crate::linear::{Calibration, Features, LinearModel, Weights};
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
        let scorer = Scorer::new(Arc::clone(&model)).unwrap();
        let bits = |scores: &[f64]| scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>();
        for (i, row) in x.rows().into_iter().enumerate() {
            let row = row.to_vec();
            let all = (0u32..).zip(row.iter().copied());
            let (features, stored): (Vec<u32>, Vec<f32>) = all.filter(|(_, value)| *value != 0.0).unzip();
            // The memory is that of all samples, one after another.
            let (mut scores, mut of_stored) = (vec![f64::NAN; width], vec![f64::NAN; width]);
            scorer.scores(&row, &mut scores).unwrap();
            scorer.scores((&features, &stored), &mut of_stored).unwrap();
            prop_assert_eq!(bits(&scores), bits(&expected.row(i).to_vec()));
            prop_assert_eq!(bits(&scores), bits(&of_stored));
            let (columns, values): (Vec<u32>, Vec<f64>) =
                scorer.topk((&features, &stored), k).unwrap().into_iter().unzip();
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
fn rows_cost_less_than_lists_and_zeros_hardly_anything() {
    let mut listed = vec![0.0; 70];
    listed[..9].fill(1.0);
    let model = model(Features::Given, 64, &[vec![1.0; 70], listed], &[-1.0; 70], false);
    let scorer = Scorer::new(model).unwrap();
    let cost = |x: &[f32]| scorer.cost(x) - scorer.cost(&[]);
    assert_eq!([cost(&[1.0, 0.0]), cost(&[0.0, 1.0]), cost(&[1.0, 1.0])], [9, 10, 17]);
}
