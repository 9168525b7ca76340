use ndarray::Array2;
use proptest::prelude::*;

use super::*;
use crate::control::Control;
use crate::data::{LabelView, Matrix, Targets};
use crate::projection::{NProjections, Projection, ProjectionMatrix};
use crate::rng::{Key, Stream};

/// A small problem: few distinct values, so that ties are common.
struct Made {
    x: Array2<f32>,
    numbers: Array2<f64>,
    ptr: Vec<usize>,
    labels: Vec<u32>,
    codes: Array2<u32>,
}

fn made(seed: u64, n: usize, p: usize, d: usize) -> Made {
    let mut stream = Stream::new(Key::from_seed(seed));
    let mut draw = |below: u64| stream.below(below) as f64;
    let x = Array2::from_shape_fn((n, p), |_| draw(7) as f32 - 3.0);
    let numbers = Array2::from_shape_fn((n, d), |(i, j)| f64::from(x[[i, j % p]]) * 2.0 + draw(5));
    let (mut ptr, mut labels) = (vec![0], Vec::new());
    for i in 0..n {
        labels.extend((0..d as u32).filter(|&j| numbers[[i, j as usize]] > 2.0));
        ptr.push(labels.len());
    }
    let codes = Array2::from_shape_fn((n, 1), |(i, _)| (numbers[[i, 0]].rem_euclid(3.0)) as u32);
    Made { x, numbers, ptr, labels, codes }
}

impl Made {
    fn labels(&self) -> Targets<'_> {
        Targets::Labels(LabelView::try_new(&*self.ptr, &*self.labels, self.numbers.ncols()).unwrap())
    }
}

fn strategies() -> Vec<OutputStrategy> {
    let projected = |projection, q, relabel| OutputStrategy::Projected {
        projection,
        n_projections: NProjections::Count(q),
        relabel,
    };
    vec![
        OutputStrategy::SingleTarget,
        OutputStrategy::Joint,
        projected(Projection::Gaussian, 1, true),
        projected(Projection::Gaussian, 1, false),
        projected(Projection::Subsample { replacement: false }, 2, true),
        projected(Projection::Subsample { replacement: false }, 1, false),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn at_learning_rate_one_the_training_loss_never_rises(
        seed in 0u64..1000, n in 2usize..40, d in 2usize..5, strategy in 0usize..6, narrow in any::<bool>(),
    ) {
        let made = made(seed, n, 3, d);
        let x = Matrix::from(made.x.view());
        let strategy = &strategies()[strategy];
        let control = Control::default();
        let config = |loss| BoostConfig {
            strategy: strategy.clone(),
            learning_rate: 1.0,
            n_estimators: 6,
            max_bins: narrow.then_some(3),
            seed,
            ..BoostConfig::new(loss)
        };
        let kinds = [LossKind::SquaredError, LossKind::AbsoluteError, LossKind::LogLoss, LossKind::Exponential, LossKind::Hinge];
        for kind in kinds {
            let is_number = matches!(kind, LossKind::SquaredError | LossKind::AbsoluteError);
            let classes = Targets::Classes { codes: made.codes.view(), n_classes: vec![3] };
            let ys = if is_number { vec![Targets::Real(made.numbers.view()), made.labels()] } else { vec![made.labels(), classes] };
            for y in ys {
                let model = config(kind.clone()).fit(&x, &y, None, None, &control).unwrap();
                let losses = model.train_score();
                // Scores of labels are float32.
                prop_assert!(losses.windows(2).all(|w| w[1] <= w[0] + 1e-6 * (1.0 + w[0].abs())), "{kind:?} {losses:?}");
                prop_assert_eq!(model.n_stages(), 6);
                let scores = model.predict_scores(&x, &control).unwrap();
                prop_assert!(scores.iter().all(|f| f.is_finite()));
            }
        }
    }

    #[test]
    fn parts_threads_stages_and_bytes_give_the_same_model(
        seed in 0u64..1000, n in 2usize..40, d in 1usize..5, strategy in 0usize..6, share in 0.4f64..1.4,
    ) {
        let made = made(seed, n, 3, d);
        let x = Matrix::from(made.x.view());
        let control = Control::default();
        let strategy = match strategies()[strategy].clone() {
            OutputStrategy::Projected { projection: Projection::Subsample { .. }, relabel, .. } if d == 1 => {
                OutputStrategy::Projected { projection: Projection::Gaussian, n_projections: NProjections::Count(1), relabel }
            }
            other => other,
        };
        for (loss, y) in [(LossKind::SquaredError, Targets::Real(made.numbers.view())), (LossKind::LogLoss, made.labels())] {
            let config = BoostConfig { strategy: strategy.clone(), n_estimators: 5, seed, subsample: share.min(1.0), ..BoostConfig::new(loss) };
            let validation = Validation { x: x.view(), y: y.view(), sample_weight: None };
            let model = config.fit(&x, &y, None, Some(&validation), &control).unwrap();
            prop_assert_eq!(&config.fit(&x, &y, None, Some(&validation), &Control::with_threads(3)).unwrap(), &model);
            let part = BoostConfig { n_estimators: 2, ..config.clone() }.fit(&x, &y, None, Some(&validation), &control).unwrap();
            prop_assert_eq!(&part, &model.truncated(2).unwrap());
            prop_assert_eq!(&config.fit_more(&part, &x, &y, None, Some(&validation), &control).unwrap(), &model);
            let bytes = model.to_bytes().unwrap();
            let loaded = Boosted::from_bytes(&bytes).unwrap();
            prop_assert_eq!(&loaded, &model);
            prop_assert_eq!(loaded.to_bytes().unwrap(), bytes);
            let mut staged = model.staged_scores(&x).unwrap();
            for stage in 1..=5 {
                let after = staged.next_stage(&control).unwrap().unwrap().to_owned();
                let whole = model.truncated(stage).unwrap().predict_scores(&x, &Control::with_threads(2)).unwrap();
                prop_assert_eq!(after, whole);
            }
            prop_assert!(staged.next_stage(&control).unwrap().is_none());
            for (a, b) in model.train_score().iter().zip(model.validation_score()) {
                prop_assert!((a - b).abs() <= 1e-9 * a.abs() + 1e-12, "{a} {b}");
            }
        }
    }

    #[test]
    fn a_weight_of_two_is_two_rows_and_a_weight_of_zero_is_none(seed in 0u64..1000, n in 2usize..25, d in 1usize..4, strategy in 0usize..4) {
        let made = made(seed, n, 3, d);
        let mut stream = Stream::new(Key::from_seed(seed));
        let mut weights: Vec<f64> = (0..n).map(|_| stream.below(3) as f64).collect();
        weights[0] = 1.0;
        let rows: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
        let x = made.x.select(ndarray::Axis(0), &rows);
        let numbers = made.numbers.select(ndarray::Axis(0), &rows);
        let (mut ptr, mut labels) = (vec![0], Vec::new());
        for &i in &rows {
            labels.extend_from_slice(&made.labels[made.ptr[i]..made.ptr[i + 1]]);
            ptr.push(labels.len());
        }
        let repeated_labels = Targets::Labels(LabelView::try_new(ptr, labels, d).unwrap());
        let control = Control::default();
        let kinds = [LossKind::SquaredError, LossKind::AbsoluteError, LossKind::LogLoss, LossKind::Exponential, LossKind::Hinge];
        for kind in kinds {
            let is_number = matches!(kind, LossKind::SquaredError | LossKind::AbsoluteError);
            let (weighted, repeated) = if is_number {
                (Targets::Real(made.numbers.view()), Targets::Real(numbers.view()))
            } else {
                (made.labels(), repeated_labels.view())
            };
            let config = BoostConfig { strategy: strategies()[strategy].clone(), n_estimators: 4, seed, max_bins: Some(3), ..BoostConfig::new(kind) };
            let a = config.fit(&made.x.view().into(), &weighted, Some(&weights), None, &control).unwrap();
            let b = config.fit(&x.view().into(), &repeated, None, None, &control).unwrap();
            prop_assert_eq!(a.step_sizes(), b.step_sizes());
            prop_assert_eq!(a.train_score(), b.train_score());
            let scores = a.predict_scores(&made.x.view().into(), &control).unwrap();
            prop_assert_eq!(scores, b.predict_scores(&made.x.view().into(), &control).unwrap());
        }
    }
}

/// More columns than are copied at once, and more rows than are computed at once.
#[test]
fn laws_of_the_logistic_loss_hold_across_blocks_and_chunks() {
    let (n, d) = (5000, 150);
    let made = made(7, n, 3, d);
    let weights: Vec<f64> = (0..n).map(|i| [1.0, 2.0, 0.0, 1.0][i % 4]).collect();
    let rows: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
    let x = made.x.select(ndarray::Axis(0), &rows);
    let (mut ptr, mut labels) = (vec![0], Vec::new());
    for &i in &rows {
        labels.extend_from_slice(&made.labels[made.ptr[i]..made.ptr[i + 1]]);
        ptr.push(labels.len());
    }
    let repeated = Targets::Labels(LabelView::try_new(ptr, labels, d).unwrap());
    let of = Control::with_threads;
    for relabel in [true, false] {
        let phi = Array2::from_shape_fn((1, d), |(_, j)| 1.0 - (j % 5) as f64 * 0.25);
        let projection = Projection::Given(vec![ProjectionMatrix::from_dense(phi.view()).unwrap()]);
        let config = BoostConfig {
            strategy: OutputStrategy::Projected { projection, n_projections: NProjections::Log, relabel },
            n_estimators: 3,
            ..BoostConfig::new(LossKind::LogLoss)
        };
        let fit = |control| config.fit(&made.x.view().into(), &made.labels(), Some(&weights), None, &control).unwrap();
        let weighted = fit(of(1));
        assert_eq!(weighted, fit(of(3)));
        let b = config.fit(&x.view().into(), &repeated, None, None, &of(1)).unwrap();
        assert_eq!(weighted.step_sizes(), b.step_sizes());
        assert_eq!(weighted.train_score(), b.train_score());
        let scores = weighted.predict_scores(&made.x.view().into(), &of(1)).unwrap();
        assert_eq!(scores, b.predict_scores(&made.x.view().into(), &of(1)).unwrap());
    }
}
