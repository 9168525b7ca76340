//! One sample is scored without memory of its own.

#![allow(clippy::unwrap_used, reason = "a test, helpers included")]

use std::sync::Arc;

use weald::ndarray::Array2;
use weald::{
    BoostConfig, Control, Criterion, Features, ForestConfig, LabelView, LinearConfig, LinearScorer, LossKind,
    OutputStrategy,
};

fn allocations(model: &weald::Additive<'_>, sample: &[f32]) -> u64 {
    let mut scores = vec![0.0; model.n_scores()];
    allocation_counter::measure(|| model.scores_of_sample(sample, &mut scores).unwrap()).count_total
}

#[test]
fn predicting_one_sample_allocates_nothing() {
    let x = Array2::from_shape_fn((60, 3), |(i, j)| ((7 * i + 5 * j) % 11) as f32);
    let y = Array2::from_shape_fn((60, 2), |(i, j)| f64::from(x[[i, j]]) - f64::from(x[[i, 2]]));
    let forest = ForestConfig::random_forest(Criterion::Variance).n_trees(20).fit((&x, &y)).unwrap();
    for sample in [[0.5, 1.5, 7.0], [f32::NAN, 1.5, 7.0]] {
        assert_eq!(allocations(&forest.additive().unwrap(), &sample), 0);
    }
    for strategy in [OutputStrategy::Joint, OutputStrategy::SingleTarget] {
        let config = BoostConfig::new(LossKind::SquaredError).n_estimators(20).strategy(strategy);
        let model = config.fit((&x, &y)).unwrap();
        assert_eq!(allocations(&model.additive().unwrap(), &[0.5, 1.5, 7.0]), 0);
    }
    // The measure sees what is allocated.
    assert!(allocation_counter::measure(|| drop(forest.additive().unwrap())).count_total > 0);
}

#[test]
fn linear_models_allocate_nothing_after_their_first_sample() {
    let x = Array2::from_shape_fn((60, 5), |(i, j)| ((7 * i + 5 * j) % 11) as f32);
    let labels: Vec<u32> = (0..60).collect();
    let y = LabelView::try_new((0..=60).collect::<Vec<_>>(), labels, 60).unwrap();
    for features in [Features::Given, Features::Normalized, Features::TfIdf] {
        let model = LinearConfig::default().features(features).fit((&x, y.clone())).unwrap();
        let scorer = LinearScorer::new(Arc::new(model)).unwrap();
        let mut scratch = scorer.scratch().unwrap();
        let (mut columns, mut values, mut scores) = ([0; 5], [0.0; 5], [0.0; 60]);
        let mut score = |sample: &[(u32, f32)]| {
            let found = allocation_counter::measure(|| {
                scorer.scores(sample.iter().copied(), &mut scratch, &mut scores).unwrap();
                scorer.topk(sample.iter().copied(), &mut scratch, &mut columns, &mut values).unwrap();
            });
            found.count_total
        };
        assert!(score(&[(0, 1.0), (1, 2.0), (2, 1.0), (3, 1.0), (4, 1.0)]) > 0);
        assert_eq!(score(&[(1, 3.0), (4, 2.0)]), 0);
    }
}
