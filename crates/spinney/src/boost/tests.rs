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
                if matches!(y, Targets::Classes { .. }) && matches!(kind, LossKind::LogLoss) {
                    continue;
                }
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
    fn low_rank_residuals_are_the_dense_ones(seed in 0u64..1000, n in 2usize..40, d in 2usize..6, share in 0.3f64..1.0) {
        let made = made(seed, n, 3, d);
        let x = Matrix::from(made.x.view());
        let phi = Array2::from_shape_fn((1, d), |(_, j)| 1.0 + j as f64);
        let config = BoostConfig {
            strategy: OutputStrategy::Projected {
                projection: Projection::Given(vec![ProjectionMatrix::from_dense(phi.view()).unwrap()]),
                n_projections: NProjections::Log,
                relabel: false,
            },
            n_estimators: 5,
            learning_rate: 0.5,
            subsample: share,
            seed,
            ..BoostConfig::new(LossKind::SquaredError)
        };
        let control = Control::default();
        let sparse = config.fit(&x, &made.labels(), None, None, &control).unwrap();
        let mut y = Array2::zeros((n, d));
        for i in 0..n {
            made.labels[made.ptr[i]..made.ptr[i + 1]].iter().for_each(|&j| y[[i, j as usize]] = 1.0);
        }
        let dense = config.fit(&x, &Targets::Real(y.view()), None, None, &control).unwrap();
        for (a, b) in sparse.train_score().iter().zip(dense.train_score()) {
            prop_assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }
}
