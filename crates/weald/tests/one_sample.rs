//! One sample after another is scored as many at once, by models of all kinds, and with hardly any memory of its own.

#![allow(clippy::unwrap_used, reason = "a test, helpers included")]

use std::sync::Arc;

use weald::ndarray::{Array1, Array2, ArrayView1};
use weald::{
    BoostConfig, CentroidForestConfig, CompressConfig, Control, Criterion, ErrorKind, Features, Forest, ForestConfig,
    LabelTreeConfig, LabelView, LinearConfig, LossKind, Matrix, OutputStrategy, Scorer, SparseScores, Targets, TopK,
    TreeConfig,
};

const N_SAMPLES: usize = 60;
const N_FEATURES: usize = 7;
const N_LABELS: usize = 40;

/// Samples of which many values are zero.
fn x() -> Array2<f32> {
    Array2::from_shape_fn((N_SAMPLES, N_FEATURES), |(i, j)| ((7 * i + 5 * j + i * j) % 11).saturating_sub(6) as f32)
}

/// A scorer, and the predictions and best columns of its model for all samples.
type Case = (Scorer, Array2<f64>, TopK);

fn dense(found: &SparseScores) -> Array2<f64> {
    let mut all = Array2::zeros((N_SAMPLES, N_LABELS));
    for (i, ends) in found.ptr.windows(2).enumerate() {
        for at in ends[0]..ends[1] {
            all[[i, found.columns[at] as usize]] = found.values[at];
        }
    }
    all
}

fn cases() -> weald::Result<Vec<Case>> {
    let x = &x();
    let numbers = &Array2::from_shape_fn((N_SAMPLES, 3), |(i, j)| f64::from(x[[i, j]]) - f64::from(x[[i, 2]]));
    let codes = &Array2::from_shape_fn((N_SAMPLES, 2), |(i, j)| x[[i, j]] as u32 % 3);
    let classes = || Targets::classes(codes, [3, 3]);
    let two = &codes.mapv(|code| code % 2);
    let labels: Vec<u32> = (0..N_SAMPLES).map(|i| ((x[[i, 0]] + 6.0 * x[[i, 1]]) as u32 + i as u32 % 3) % 40).collect();
    let y = || LabelView::try_new((0..=N_SAMPLES).collect::<Vec<_>>(), labels.clone(), N_LABELS).unwrap();
    let k = 2;
    let mut cases = Vec::new();

    let tree = TreeConfig::new(Criterion::Variance).fit((x, numbers))?;
    let (predicted, best) = (tree.predict(x)?, tree.predict_topk(x, k)?);
    cases.push((Scorer::new(tree)?, predicted, best));

    let forest = ForestConfig::random_forest(Criterion::Gini).n_trees(9);
    let mut forests = vec![forest.fit((x, y()))?, forest.fit((x, classes()))?];
    forests.push(ForestConfig::extra_trees(Criterion::Variance).n_trees(3).fit((x, numbers))?);
    for forest in &forests {
        cases.push((Scorer::new(forest.clone())?, forest.predict(x)?, forest.predict_topk(x, k)?));
    }
    for y in [Targets::Labels(y()), classes(), Targets::classes(two, [2, 2])] {
        let control = Control::default();
        let path = CompressConfig::stagewise(0.1).path(&forest.fit((x, &y))?, (x, &y), None)?;
        let model = Arc::new(path.at_step(path.n_steps(), &control)?);
        cases.push((Scorer::new(Arc::clone(&model))?, model.predict(x)?, model.predict_topk(x, k)?));
    }

    let projected = BoostConfig::new(LossKind::LogLoss).strategy;
    for strategy in [OutputStrategy::Joint, OutputStrategy::SingleTarget, projected] {
        let boost = BoostConfig::new(LossKind::LogLoss).n_estimators(5).strategy(strategy);
        for y in [Targets::Labels(y()), classes(), Targets::classes(two, [2, 2])] {
            let model = boost.fit((x, y))?;
            let (predicted, best) = (model.predict(x)?, model.predict_topk(x, k)?);
            cases.push((Scorer::new(model)?, predicted, best));
        }
    }

    for features in [Features::Given, Features::Normalized, Features::TfIdf] {
        let linear = LinearConfig::default().features(features);
        for y in [Targets::Labels(y()), classes()] {
            let model = linear.fit((x, y))?;
            let (predicted, best) = (model.predict(x)?, model.predict_topk(x, k)?);
            cases.push((Scorer::new(model)?, predicted, best));
        }
        let model = LabelTreeConfig::default().max_leaf_labels(5).features(features).fit((x, y()))?;
        let (predicted, best) = (dense(&model.predict(x)?), model.predict_topk(x, k)?);
        cases.push((Scorer::new(model)?, predicted, best));
    }

    for y in [Targets::Labels(y()), classes(), Targets::from(numbers)] {
        let model = CentroidForestConfig::default().n_trees(4).max_leaf_samples(4).fit((x, y))?;
        let (predicted, best) = (model.predict(x)?, model.predict_topk(x, k)?);
        cases.push((Scorer::new(model)?, predicted, best));
    }
    Ok(cases)
}

fn stored(row: ArrayView1<'_, f32>) -> (Vec<u32>, Vec<f32>) {
    (0..).zip(row.iter().copied()).filter(|(_, value)| *value != 0.0).unzip()
}

#[test]
fn one_sample_is_scored_as_among_many() -> weald::Result<()> {
    let x = x();
    for (scorer, predicted, best) in cases()? {
        assert_eq!((scorer.n_features(), scorer.outputs().width()), (N_FEATURES, predicted.ncols()));
        let found = std::thread::scope(|scope| {
            // Clones share what they are made of, and threads share them.
            let halves = [0, 1].map(|half| (scorer.clone(), half)).map(|(scorer, half)| {
                let (x, best) = (&x, &best);
                scope.spawn(move || {
                    let mut found = Vec::new();
                    for i in (half..N_SAMPLES).step_by(2) {
                        let (row, sparse) = (x.row(i).to_vec(), stored(x.row(i)));
                        let mut of_all = Array1::from_elem(scorer.outputs().width(), f64::NAN);
                        let mut of_stored = vec![f64::NAN; of_all.len()];
                        scorer.predict(&row, of_all.as_slice_mut().unwrap()).unwrap();
                        scorer.predict((&sparse.0, &sparse.1), &mut of_stored).unwrap();
                        assert!(of_all.iter().eq(&of_stored));
                        let top = scorer.topk((&sparse.0, &sparse.1), 2).unwrap();
                        assert_eq!(top, scorer.topk(&row, 2).unwrap());
                        let expected = best.indices.row(i).into_iter().copied().zip(best.scores.row(i).to_vec());
                        assert!(top.into_iter().eq(expected));
                        found.push((i, of_all));
                    }
                    found
                })
            });
            halves.map(|half| half.join().unwrap())
        });
        for (i, of_row) in found.into_iter().flatten() {
            assert_eq!(of_row, predicted.row(i));
        }
    }
    Ok(())
}

#[test]
fn what_is_no_sample_is_an_error_that_changes_nothing() -> weald::Result<()> {
    for (scorer, predicted, _) in cases()? {
        let mut places = vec![7.0; predicted.ncols()];
        let mut kind = |features: &[u32], values: &[f32]| {
            let error = scorer.predict((features, values), &mut places).unwrap_err();
            assert!(scorer.topk((features, values), 1).is_err());
            assert!(places.iter().all(|place| *place == 7.0));
            error.kind().clone()
        };
        for features in [vec![7], vec![1, 0], vec![1, 1], vec![u32::MAX]] {
            assert!(matches!(kind(&features, &[1.0, 1.0][..features.len()]), ErrorKind::Invalid { .. }));
        }
        assert!(matches!(kind(&[0, 2], &[1.0, f32::INFINITY]), ErrorKind::Invalid { .. }));
        assert!(matches!(kind(&[0, 2], &[1.0]), ErrorKind::Shape { .. }));
        assert!(matches!(scorer.predict(&[1.0; 6], &mut places).unwrap_err().kind(), ErrorKind::Shape { .. }));
        assert!(matches!(scorer.scores(&[1.0; 7], &mut [0.0; 99]).unwrap_err().kind(), ErrorKind::Shape { .. }));
        assert!(matches!(scorer.predict(&[1.0; 7], &mut [0.0; 99]).unwrap_err().kind(), ErrorKind::Shape { .. }));
        for k in [0, 99] {
            assert!(matches!(scorer.topk(&[1.0; 7], k).unwrap_err().kind(), ErrorKind::Invalid { .. }));
        }
    }
    Ok(())
}

#[test]
fn missing_values_go_down_trees_and_are_errors_elsewhere() -> weald::Result<()> {
    let x = x().mapv(|value| if value == 2.0 { f32::NAN } else { value });
    let y = Array2::from_shape_fn((N_SAMPLES, 1), |(i, _)| i as f64);
    let forest = Arc::new(ForestConfig::random_forest(Criterion::Variance).n_trees(11).fit((&x, &y))?);
    let (scorer, mut found) = (Scorer::new(Arc::<Forest>::clone(&forest))?, [0.0]);
    for (row, expected) in x.rows().into_iter().zip(forest.predict(&x)?) {
        let (features, values) = stored(row);
        scorer.scores((&features, &values), &mut found)?;
        assert_eq!(found, [expected]);
    }
    let linear =
        LinearConfig::default().fit((Matrix::from(&self::x()), Targets::classes(&y.mapv(|y| y as u32 % 2), [2])))?;
    let scorer = Scorer::new(linear)?;
    assert!(matches!(scorer.predict(&[f32::NAN; 7], &mut [0.0; 2]).unwrap_err().kind(), ErrorKind::Invalid { .. }));
    Ok(())
}

#[test]
fn samples_after_the_first_allocate_the_list_of_trees_at_most() -> weald::Result<()> {
    for (scorer, predicted, _) in cases()? {
        let mut places = vec![0.0; predicted.ncols()];
        let mut allocations = |features: &[u32], values: &[f32]| {
            let found = allocation_counter::measure(|| scorer.predict((features, values), &mut places).unwrap());
            found.count_total
        };
        assert!(allocations(&[0, 1, 2, 3, 4, 5, 6], &[1.0; 7]) > 0);
        allocations(&[0, 1, 2, 3, 4, 5], &[4.0; 6]);
        assert!(allocations(&[1, 4], &[3.0, 2.0]) <= 1);
    }
    Ok(())
}
