mod auto;
mod continued;
mod pruned;
mod search;
mod workers;

use ndarray::Array2;
use proptest::prelude::*;

use super::so_far::ScoresSoFar;
use super::*;
use crate::control::Control;
use crate::data::weights::tests::hostile_weights;
use crate::data::{Dataset, LabelView, Matrix, OutputScaling, Targets};
use crate::loss::LossKind;
use crate::projection::{NProjections, Projection, ProjectionMatrix};
use crate::rng::{Key, Stream};
use crate::testing::models;
use crate::tree::config::TreeConfig;

/// A small problem with few distinct values, so that ties are common.
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

    /// Returns the labels of some samples, which may be repeated.
    fn labels_of(&self, rows: &[usize]) -> Targets<'static> {
        let (mut ptr, mut labels) = (vec![0], Vec::new());
        for &i in rows {
            labels.extend_from_slice(&self.labels[self.ptr[i]..self.ptr[i + 1]]);
            ptr.push(labels.len());
        }
        Targets::Labels(LabelView::try_new(ptr, labels, self.numbers.ncols()).unwrap())
    }
}

/// Returns all losses; those with a loss for each output are for `d` outputs.
pub(super) fn kinds(d: usize) -> Vec<LossKind> {
    let quantiles = (0..d).map(|j| LossKind::quantile([0.2, 0.5, 0.9][j % 3])).collect();
    vec![
        LossKind::SquaredError,
        LossKind::AbsoluteError,
        LossKind::LogLoss,
        LossKind::Exponential,
        LossKind::Hinge,
        LossKind::huber(1.5),
        LossKind::quantile(0.7),
        LossKind::Poisson,
        LossKind::Gamma,
        LossKind::tweedie(1.4),
        LossKind::of_outputs(quantiles).unwrap(),
    ]
}

/// Moves numbers into the domain of the loss.
fn in_domain(kind: &LossKind, numbers: &Array2<f64>) -> Array2<f64> {
    let domain = kind.as_loss().domain();
    let lowest = if domain.refuses(0.0).is_some() { 0.5 } else { 0.0 };
    numbers.mapv(|y| if domain.refuses(y).is_some() { lowest } else { y })
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

/// Sets the estimation of leaves: line searches, or Newton steps without or with regularization.
fn with_leaves(rule: usize, config: BoostConfig) -> BoostConfig {
    match rule {
        0 => BoostConfig { leaf_estimation: LeafEstimation::LineSearch, ..config },
        1 => BoostConfig { l2_regularization: 0.0, min_sum_hessian_in_leaf: 0.0, ..config },
        _ => BoostConfig { l2_regularization: 0.3, min_sum_hessian_in_leaf: 2.0, ..config },
    }
}

/// Sets the factors of outputs: none, numbers divided by their deviations, or scales and weights, one of which is zero.
/// Labels have none.
fn with_factors(rule: usize, y: &Targets<'_>, config: BoostConfig) -> BoostConfig {
    match (y, rule) {
        (Targets::Real(_), 1) => config.output_scaling(OutputScaling::Variance),
        (Targets::Real(y), 2) => {
            let d = y.ncols();
            let scales: Vec<f64> = (0..d).map(|j| 0.1 + 3.0 * j as f64).collect();
            let weights: Vec<f64> = (0..d).map(|j| ((j + 1) % 3) as f64).collect();
            config.output_scaling(scales).output_weights(weights)
        }
        _ => config,
    }
}

/// Draws a number of samples, and weights for them: none, or weights whose units are difficult to add.
fn weighted(n: std::ops::Range<usize>) -> impl Strategy<Value = (usize, Option<Vec<f64>>)> {
    n.prop_flat_map(|n| {
        let whole = prop::collection::vec((0f64..6.0).prop_map(|e| 10f64.powf(e).floor()), n);
        let some = prop_oneof![2 => hostile_weights(n), 1 => whole].prop_map(Some);
        (Just(n), prop_oneof![1 => Just(None), 2 => some])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn one_model_for_every_layout_whatever_the_weights(
        seed in 0u64..1000, (n, weights) in weighted(2..150), bins in 0usize..3, joint in any::<bool>(), least in any::<bool>(),
    ) {
        let rows = models::rows(seed, n, 4);
        let mut stream = Stream::new(Key::from_seed(seed));
        let new = rows.c_order.mapv(|x| x + stream.below(3) as f32 - 1.0);
        let numbers = Array2::from_shape_fn((n, 2), |(i, j)| f64::from(rows.c_order[[i, j]].clamp(0.1, 9.0)) + stream.below(3) as f64);
        let codes = numbers.mapv(|y| u32::from(y > 2.0));
        for loss in [LossKind::LogLoss, LossKind::Exponential, LossKind::Poisson, LossKind::SquaredError] {
            let y = match loss {
                LossKind::LogLoss | LossKind::Exponential => Targets::Classes { codes: codes.view(), n_classes: vec![2, 2] },
                _ => Targets::Real(numbers.view()),
            };
            let config = BoostConfig {
                strategy: if joint { OutputStrategy::Joint } else { OutputStrategy::SingleTarget },
                n_estimators: 4,
                max_bins: [None, Some(4), Some(255)][bins],
                ..BoostConfig::new(loss)
            };
            let config = if least { config } else { BoostConfig { tree: TreeConfig { min_weight_leaf: 0.0, ..config.tree }, ..config } };
            let mut first: Option<(Vec<u8>, Array2<f64>)> = None;
            for x in rows.layouts() {
                for n_threads in [1, 3] {
                    let control = Control::with_threads(n_threads);
                    let data = Dataset::new(x.view(), y.view());
                    let data = if let Some(w) = &weights { data.sample_weight(&w[..]) } else { data };
                    let model = config.fit((&data, &control)).unwrap();
                    let found = (model.to_bytes().unwrap(), model.predict_scores((&new, &control)).unwrap());
                    let first = first.get_or_insert_with(|| found.clone());
                    prop_assert!(*first == found, "{:?}", config.loss);
                    prop_assert_eq!(Boosted::from_bytes(&found.0).unwrap().to_bytes().unwrap(), found.0);
                }
            }
        }
    }

    #[test]
    fn at_learning_rate_one_the_training_loss_never_rises(
        seed in 0u64..1000, (n, weights) in weighted(2..40), d in 2usize..5, strategy in 0usize..6, narrow in any::<bool>(),
        rule in 0usize..3, factors in 0usize..3,
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
        for kind in kinds(d) {
            let domain = kind.as_loss().domain();
            let classes = Targets::Classes { codes: made.codes.view(), n_classes: vec![3] };
            let codes = made.codes.mapv(|code| code.min(1));
            let numbers = in_domain(&kind, &made.numbers);
            let mut ys = if domain.has_numbers() { vec![Targets::Real(numbers.view())] } else { vec![classes] };
            if domain.has_labels() && !matches!(kind, LossKind::OfOutputs(_)) {
                ys.push(made.labels());
                // Two classes have one score, of which there is no part to draw.
                if !matches!(strategy, OutputStrategy::Projected { projection: Projection::Subsample { .. }, .. }) {
                    ys.push(Targets::Classes { codes: codes.view(), n_classes: vec![2] });
                }
            }
            for y in ys {
                let config = with_factors(factors, &y, with_leaves(rule, config(kind.clone())));
                let data = Dataset::new(x.view(), y.view());
                let data = if let Some(w) = &weights { data.sample_weight(&w[..]) } else { data };
                let model = config.fit(&data).unwrap();
                let losses = model.train_score();
                // The scores of labels are in float32.
                prop_assert!(losses.windows(2).all(|w| w[1] <= w[0] + 1e-6 * (1.0 + w[0].abs())), "{kind:?} {losses:?}");
                prop_assert_eq!(model.n_stages(), 6);
                let scores = model.predict_scores(&x).unwrap();
                prop_assert!(scores.iter().all(|f| f.is_finite()));
                let found = config.mean_loss(&y, weights.as_deref(), None, Some(scores.view()), &control);
                // In the fit, the scores of labels are in float32.
                let (found, last) = (found.unwrap().unwrap(), losses[5]);
                prop_assert!((found - last).abs() <= 1e-5 * (1.0 + last.abs()), "{kind:?} {found} {last}");
            }
        }
    }

    #[test]
    fn parts_threads_stages_and_bytes_give_the_same_model(
        seed in 0u64..1000, n in 2usize..40, d in 1usize..5, strategy in 0usize..6, share in 0.4f64..1.4, rule in 0usize..3,
        factors in 0usize..3,
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
            let config = with_factors(factors, &y, with_leaves(rule, config));
            let validation = Dataset::new(&x, &y);
            let model = config.fitting().validation(&validation).fit((&x, &y)).unwrap();
            prop_assert_eq!(&config.fitting().validation(&validation).fit((&x, &y, &Control::with_threads(3))).unwrap(), &model);
            let part = BoostConfig { n_estimators: 2, ..config.clone() }.fitting().validation(&validation).fit((&x, &y)).unwrap();
            prop_assert_eq!(&part, &model.truncated(2).unwrap());
            prop_assert_eq!(&config.fitting().start_from(&part).validation(&validation).fit((&x, &y)).unwrap(), &model);
            for (held_out, whole) in [(Some(&validation), &model), (None, &config.fit((&x, &y)).unwrap())] {
                let mut so_far = ScoresSoFar::default();
                let mut go_on = |grown: Option<&Boosted>, n_estimators| {
                    let config = BoostConfig { n_estimators, ..config.clone() };
                    let fit = config.fitting().start_from(grown).so_far(&mut so_far);
                    let fit = if let Some(held_out) = held_out { fit.validation(held_out) } else { fit };
                    fit.fit((&x, &y)).unwrap()
                };
                let first = go_on(None, 2);
                let second = go_on(Some(&first), 4);
                prop_assert_eq!(&go_on(Some(&second), 4), &second);
                prop_assert_eq!(&go_on(Some(&second), 5), whole);
                // The scores after five stages are of no use after two.
                prop_assert_eq!(&go_on(Some(&first), 5), whole);
            }
            #[cfg(feature = "model-files")]
            {
                let bytes = model.to_bytes().unwrap();
                let loaded = Boosted::from_bytes(&bytes).unwrap();
                prop_assert_eq!(&loaded, &model);
                prop_assert_eq!(loaded.to_bytes().unwrap(), bytes);
            }
            let mut staged = model.staged_scores(&x).unwrap();
            for stage in 1..=5 {
                let after = staged.next_stage(&control).unwrap().unwrap().to_owned();
                let whole = model.truncated(stage).unwrap().predict_scores((&x, &Control::with_threads(2))).unwrap();
                prop_assert_eq!(after, whole);
            }
            prop_assert!(staged.next_stage(&control).unwrap().is_none());
            for (a, b) in model.train_score().iter().zip(model.validation_score()) {
                // The same losses, summed in another order.
                prop_assert!((a - b).abs() <= 1e-9 * a.abs() + 1e-12, "{a} {b}");
            }
        }
    }

    #[test]
    fn losses_out_of_bag_are_those_of_a_validation_set_of_the_samples_left_out(
        seed in 0u64..1000, n in 3usize..40, d in 2usize..5, strategy in 0usize..6, share in 0.2f64..0.9,
    ) {
        use crate::forest::bootstrap::{Population, Urn, tree_key};
        let made = made(seed, n, 3, d);
        let x = Matrix::from(made.x.view());
        let mut stream = Stream::new(Key::from_seed(seed));
        let mut weights: Vec<f64> = (0..n).map(|_| stream.below(3) as f64).collect();
        weights[0] = 1.0;
        let of_labels = Array2::from_shape_fn((n, d), |(i, j)| {
            f64::from(u8::from(made.labels[made.ptr[i]..made.ptr[i + 1]].contains(&(j as u32))))
        });
        for (loss, y, cells) in [
            (LossKind::SquaredError, Targets::Real(made.numbers.view()), &made.numbers),
            (LossKind::SquaredError, made.labels(), &of_labels),
            (LossKind::LogLoss, made.labels(), &of_labels),
        ] {
            let strategy = strategies()[strategy].clone();
            let config = BoostConfig { strategy, n_estimators: 4, seed, subsample: share, ..BoostConfig::new(loss) };
            let data = Dataset::new(&x, &y).sample_weight(&weights[..]);
            let model = config.fit(&data).unwrap();
            let sampling = config.sampling();
            let urn = Urn::new(&Population::new(&x, Some(&y), None, Some(&weights)), sampling, &Control::default()).unwrap();
            let outside = |stage: usize| -> Vec<f64> {
                let counts = urn.draw(sampling, n, tree_key(seed, stage), &Control::default()).unwrap().unwrap();
                weights.iter().zip(&counts).map(|(&w, &count)| w - f64::from(count)).collect()
            };
            prop_assert_eq!(model.oob_score().len(), if weights.iter().sum::<f64>() == 1.0 { 0 } else { 4 });
            for (stage, &found) in model.oob_score().iter().enumerate() {
                let left_out = outside(stage);
                let held = Dataset::new(&x, &y).sample_weight(&left_out[..]);
                let expected = config.fitting().validation(&held).fit(&data).unwrap().validation_score()[stage];
                // Sums of scores are rounded in two orders, and the scores of labels are in float32.
                prop_assert!((found - expected).abs() <= 1e-5 * (1e-3 + expected), "{found} {expected}");
            }
            let improvement = model.oob_improvement().unwrap();
            for (pair, &found) in model.oob_score().windows(2).zip(improvement.iter().skip(1)) {
                prop_assert_eq!(found, pair[0] - pair[1]);
            }
            if let (LossKind::SquaredError, [first, ..]) = (&config.loss, &*improvement) {
                let left_out = outside(0);
                let of_row = |i: usize| -> f64 { (0..d).map(|j| (cells[[i, j]] - model.start()[j]).powi(2)).sum() };
                let sum: f64 = (0..n).map(|i| left_out[i] * of_row(i)).sum();
                let before = sum / 2.0 / d as f64 / left_out.iter().sum::<f64>();
                let expected = before - model.oob_score()[0];
                // The start of labels is rounded to float32.
                prop_assert!((first - expected).abs() <= 1e-6 * (1e-3 + before), "{first} {expected}");
            }
        }
    }

    #[test]
    fn a_weight_of_two_is_two_samples_and_a_weight_of_zero_has_no_effect(
        seed in 0u64..1000, n in 2usize..25, d in 1usize..4, strategy in 0usize..6, rule in 0usize..3,
        factors in 0usize..3, share in 0.3f64..1.7,
    ) {
        // Two of one output cannot be drawn.
        let strategy = if d == 1 { strategy % 4 } else { strategy };
        let made = made(seed, n, 3, d);
        let mut stream = Stream::new(Key::from_seed(seed));
        let mut weights: Vec<f64> = (0..n).map(|_| stream.below(3) as f64).collect();
        weights[0] = 1.0;
        let rows: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
        let x = made.x.select(ndarray::Axis(0), &rows);
        let numbers = made.numbers.select(ndarray::Axis(0), &rows);
        let repeated_labels = made.labels_of(&rows);
        for kind in kinds(d) {
            let domain = kind.as_loss().domain();
            let (of_weighted, of_repeated) = (in_domain(&kind, &made.numbers), in_domain(&kind, &numbers));
            let (weighted, repeated) = if domain.has_numbers() {
                (Targets::Real(of_weighted.view()), Targets::Real(of_repeated.view()))
            } else {
                (made.labels(), repeated_labels.view())
            };
            let config = BoostConfig { strategy: strategies()[strategy].clone(), n_estimators: 4, seed, max_bins: Some(3), subsample: share.min(1.0), ..BoostConfig::new(kind) };
            let config = with_factors(factors, &weighted, with_leaves(rule, config));
            let a = config.fit(Dataset::new(&made.x, &weighted).sample_weight(&weights[..])).unwrap();
            let b = config.fit((&x, &repeated)).unwrap();
            prop_assert_eq!(a.step_sizes(), b.step_sizes());
            prop_assert_eq!(a.train_score(), b.train_score());
            prop_assert_eq!(a.oob_score(), b.oob_score());
            let scores = a.predict_scores(&made.x).unwrap();
            prop_assert_eq!(scores, b.predict_scores(&made.x).unwrap());
        }
    }
}

/// There are more columns than are copied at once, and more samples than are computed at once.
#[test]
fn laws_of_the_logistic_loss_hold_across_blocks_and_chunks() {
    let (n, d) = (5000, 150);
    let made = made(7, n, 3, d);
    let weights: Vec<f64> = (0..n).map(|i| [1.0, 2.0, 0.0, 1.0][i % 4]).collect();
    let rows: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
    let x = made.x.select(ndarray::Axis(0), &rows);
    let repeated = made.labels_of(&rows);
    let of = Control::with_threads;
    for (relabel, rule) in [(true, 0), (false, 0), (true, 1), (false, 1)] {
        let phi = Array2::from_shape_fn((1, d), |(_, j)| 1.0 - (j % 5) as f64 * 0.25);
        let projection = Projection::Given(vec![ProjectionMatrix::from_dense(phi.view()).unwrap()]);
        let config = BoostConfig {
            strategy: OutputStrategy::Projected { projection, n_projections: NProjections::Log, relabel },
            n_estimators: 3,
            ..BoostConfig::new(LossKind::LogLoss)
        };
        let config = with_leaves(rule, config);
        let fit = |control| {
            config.fit(Dataset::new(&made.x, made.labels()).sample_weight(&weights[..]).control(&control)).unwrap()
        };
        let weighted = fit(of(1));
        assert_eq!(weighted, fit(of(3)));
        let b = config.fit((&x, &repeated, &of(1))).unwrap();
        assert_eq!(weighted.step_sizes(), b.step_sizes());
        assert_eq!(weighted.train_score(), b.train_score());
        let scores = weighted.predict_scores((&made.x, &of(1))).unwrap();
        assert_eq!(scores, b.predict_scores((&made.x, &of(1))).unwrap());
    }
}

/// Every loop over samples, bins or nodes has enough of them to be divided among threads.
#[test]
fn several_threads_fit_many_samples_with_one_score_as_one_does() {
    let n = 40_000;
    let made = made(11, n, 4, 1);
    let weights: Vec<f64> = (0..n).map(|i| [1.0, 0.5, 0.0, 3.0][i % 4]).collect();
    for kind in [LossKind::SquaredError, LossKind::Poisson, LossKind::LogLoss] {
        let numbers = in_domain(&kind, &made.numbers);
        let y = if matches!(kind, LossKind::LogLoss) { made.labels() } else { Targets::Real(numbers.view()) };
        for (weights, subsample) in [(None, 1.0), (Some(&weights[..]), 1.0), (Some(&weights[..]), 0.6)] {
            let config =
                BoostConfig { n_estimators: 3, subsample, max_bins: Some(5), ..BoostConfig::new(kind.clone()) };
            let fit = |n_threads: usize| {
                let data = Dataset::new(&made.x, &y);
                let data = weights.map_or(data.clone(), |weights| data.sample_weight(weights));
                config.fit(data.control(&Control::with_threads(n_threads))).unwrap()
            };
            let one = fit(1);
            assert_eq!(fit(2), one);
            assert_eq!(fit(5), one);
        }
    }
}

#[test]
fn errors_name_invalid_regularization() {
    let made = made(1, 20, 3, 2);
    let fit = |config: BoostConfig| config.fit((&made.x, made.labels())).unwrap_err().to_string();
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let config = BoostConfig::new(LossKind::LogLoss);
        assert!(fit(config.clone().l2_regularization(bad)).contains("l2_regularization"));
        assert!(fit(config.min_sum_hessian_in_leaf(bad)).contains("min_sum_hessian_in_leaf"));
    }
}

/// A custom loss without second derivatives: each leaf is searched separately.
#[derive(Debug)]
struct Custom;

impl crate::loss::Loss for Custom {
    fn value(&self, y: f64, score: f64) -> f64 {
        (y - score).abs().max(2.0 * (y - score).abs() - 1.0)
    }

    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        let r = y - score;
        if r == 0.0 { 0.0 } else { r.signum() * if r.abs() > 1.0 { 2.0 } else { 1.0 } }
    }

    fn curvature(&self, _: f64, _: f64) -> f64 {
        0.0
    }
}

/// A deviance of the user: Poisson's, and for labels the exponential loss, with a name and links.
#[derive(Debug)]
struct Named {
    of_labels: bool,
    link: Option<crate::loss::Link>,
}

impl crate::loss::Loss for Named {
    fn name(&self) -> &str {
        "of the user"
    }

    fn link(&self, outputs: &crate::Outputs) -> crate::loss::Link {
        let own = if self.of_labels { crate::loss::Link::of_half_log_odds(outputs) } else { crate::loss::Link::Log };
        self.link.unwrap_or(own)
    }

    fn value(&self, y: f64, score: f64) -> f64 {
        if self.of_labels { (-y * score).exp() } else { score.exp() - y * score }
    }

    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        if self.of_labels { y * (-y * score).exp() } else { y - score.exp() }
    }

    fn curvature(&self, y: f64, score: f64) -> f64 {
        if self.of_labels { (-y * score).exp() } else { score.exp() }
    }
}

#[test]
fn models_and_files_keep_the_name_and_the_link_of_a_loss_of_the_user() {
    use crate::loss::Link;
    let made = made(8, 50, 3, 3);
    let numbers = made.numbers.mapv(f64::abs);
    let classes = Targets::Classes { codes: made.codes.view(), n_classes: vec![3] };
    let all =
        [(Targets::Real(numbers.view()), Link::Log), (made.labels(), Link::Logistic), (classes, Link::OneAgainstRest)];
    for (y, link) in all {
        let of_labels = link != Link::Log;
        let config =
            |link| BoostConfig::new(LossKind::Custom(std::sync::Arc::new(Named { of_labels, link }))).n_estimators(3);
        let model = config(None).fit((&made.x, y.clone())).unwrap();
        assert_eq!((model.link(), model.loss_name()), (link, Some("of the user")));
        let found = model.predict(&made.x).unwrap();
        assert!(found.iter().all(|&p| p > 0.0 && (!of_labels || p < 1.0)));
        #[cfg(feature = "model-files")]
        {
            let again = Boosted::from_bytes(&model.to_bytes().unwrap()).unwrap();
            assert_eq!(again, model);
            assert_eq!(again.truncated(2).unwrap().loss_name(), Some("of the user"));
        }
        let wrong = if of_labels { [Link::Log, Link::Softmax] } else { [Link::Margin, Link::Logistic] };
        for link in wrong {
            let error = config(Some(link)).fit((&made.x, y.clone())).unwrap_err();
            assert!(error.to_string().contains("the link of the loss"), "{error}");
        }
    }
}

#[test]
fn leaves_of_a_loss_without_curvature_are_the_best_of_their_samples() {
    use crate::loss::Loss;
    let made = made(5, 60, 3, 2);
    let config = BoostConfig::new(LossKind::Custom(std::sync::Arc::new(Custom)))
        .strategy(OutputStrategy::Joint)
        .learning_rate(1.0)
        .n_estimators(1);
    let model = config.fit((&made.x, Targets::Real(made.numbers.view()))).unwrap();
    let scores = model.predict_scores(&made.x).unwrap();
    let losses = |by: f64, row: usize, j: usize| -> f64 {
        let same = |i: &usize| scores.row(*i) == scores.row(row);
        (0..60).filter(same).map(|i| Custom.value(made.numbers[[i, j]], scores[[i, j]] + by)).sum()
    };
    for row in 0..60 {
        for j in 0..2 {
            let best = losses(0.0, row, j);
            for by in [-1.0, -0.1, -1e-3, 1e-3, 0.1, 1.0] {
                // This is the minimum of a sum of at most 60 losses, all of which are rounded.
                assert!(losses(by, row, j) >= best - 1e-9, "{row} {j} {by}");
            }
        }
    }
}

/// A custom loss, computed cell by cell or in blocks.
#[derive(Debug)]
struct Own {
    kind: LossKind,
    in_blocks: bool,
    /// The number of calls for a single cell.
    n_single: std::sync::atomic::AtomicUsize,
}

impl Own {
    fn new(kind: &LossKind, in_blocks: bool) -> std::sync::Arc<Own> {
        std::sync::Arc::new(Own { kind: kind.clone(), in_blocks, n_single: Default::default() })
    }

    fn of_cell(&self) -> &dyn crate::loss::Loss {
        self.n_single.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.kind.as_loss()
    }
}

impl crate::loss::Loss for Own {
    fn domain(&self) -> crate::loss::Domain {
        self.kind.as_loss().domain()
    }

    fn value(&self, y: f64, score: f64) -> f64 {
        self.of_cell().value(y, score)
    }

    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        self.of_cell().negative_gradient(y, score)
    }

    fn curvature(&self, y: f64, score: f64) -> f64 {
        self.of_cell().curvature(y, score)
    }

    fn takes_blocks(&self) -> bool {
        self.in_blocks
    }

    fn values(&self, y: &[f64], scores: &[f64], values: &mut [f64]) {
        self.kind.as_loss().values(y, scores, values);
    }

    fn derivatives(&self, y: &[f64], scores: &[f64], negative_gradients: &mut [f64], curvatures: &mut [f64]) {
        self.kind.as_loss().derivatives(y, scores, negative_gradients, curvatures);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn losses_in_blocks_give_the_bits_of_losses_cell_by_cell(
        seed in 0u64..1000, n in 2usize..40, d in 1usize..5, strategy in 0usize..6, rule in 0usize..3, absent in 0usize..3,
    ) {
        let made = made(seed, n, 3, d);
        let strategy = &strategies()[strategy];
        prop_assume!(d > 1 || !matches!(strategy, OutputStrategy::Projected { projection: Projection::Subsample { .. }, .. }));
        let weights: Vec<f64> = (0..n).map(|i| if i % 3 == 2 && absent > 0 { 0.0 } else { 1.0 + (i % 2) as f64 }).collect();
        for kind in kinds(1) {
            let domain = kind.as_loss().domain();
            let numbers = in_domain(&kind, &made.numbers);
            let y = if domain.has_numbers() { Targets::Real(numbers.view()) } else { made.labels() };
            let fit = |own: std::sync::Arc<Own>| {
                let config = BoostConfig { strategy: strategy.clone(), n_estimators: 4, seed, ..BoostConfig::new(LossKind::Custom(own)) };
                let data = Dataset::new(&made.x, y.clone()).sample_weight(Some(&*weights));
                with_leaves(rule, config).fit(&data).unwrap()
            };
            let (cells, blocks) = (Own::new(&kind, false), Own::new(&kind, true));
            prop_assert_eq!(fit(cells.clone()), fit(blocks.clone()), "{:?}", kind);
            prop_assert_eq!(blocks.n_single.load(std::sync::atomic::Ordering::Relaxed), 0, "{:?}", kind);
            prop_assert!(cells.n_single.load(std::sync::atomic::Ordering::Relaxed) > 0);
        }
    }
}

#[test]
fn scores_of_deviances_are_logarithms_and_errors_name_targets_outside_their_domain() {
    let made = made(3, 30, 3, 2);
    let control = Control::default();
    for kind in [LossKind::Poisson, LossKind::Gamma, LossKind::tweedie(1.5)] {
        let numbers = in_domain(&kind, &made.numbers);
        let config = BoostConfig { n_estimators: 4, ..BoostConfig::new(kind.clone()) };
        let model = config.fit((&made.x, &numbers)).unwrap();
        let scores = model.predict_scores(&made.x).unwrap();
        assert_eq!(model.predict(&made.x).unwrap(), scores.mapv(crate::elementary::exp), "{kind:?}");
        assert_eq!(model.to_predictions(scores.view(), &control).unwrap(), scores.mapv(crate::elementary::exp));
        assert!(!model.has_probabilities());
        #[cfg(feature = "model-files")]
        {
            let bytes = model.to_bytes().unwrap();
            assert_eq!(Boosted::from_bytes(&bytes).unwrap(), model);
        }
        let mut outside = numbers.clone();
        outside[[4, 1]] = -1.0;
        let expected = format!(", got -1 with loss={:?}", kind.name());
        let message = config.fit((&made.x, &outside)).unwrap_err().to_string();
        assert!(message.starts_with("y must be ") && message.ends_with(&expected), "{message}");
        let held_out = Dataset::new(&made.x, &outside);
        let message = config.fitting().validation(held_out.view()).fit((&made.x, &numbers)).unwrap_err().to_string();
        let of_validation = message.starts_with("y of the validation set must be ");
        assert!(of_validation && message.ends_with(&expected), "{message}");
        let weights: Vec<f64> = (0..30).map(|row| if row == 4 { 0.0 } else { 1.0 }).collect();
        let weighted = held_out.sample_weight(&weights[..]);
        assert!(config.fitting().validation(&weighted).fit(&weighted).is_ok());
        let message = config.fit((&made.x, made.labels())).unwrap_err().to_string();
        assert!(message.contains("loss must be a classification loss"), "{message}");
    }
}

#[test]
fn losses_of_outputs_are_as_many_as_these_and_of_one_sort() {
    let made = made(3, 30, 3, 2);
    let refused = |losses: Vec<LossKind>| LossKind::of_outputs(losses).is_err();
    let nested = LossKind::of_outputs(vec![LossKind::Gamma]).unwrap();
    assert!(refused(vec![]) && refused(vec![LossKind::Poisson, LossKind::Gamma]) && refused(vec![nested]));
    let fit = |levels: &[f64], y: &Targets<'_>| {
        let losses = LossKind::of_outputs(levels.iter().map(|&q| LossKind::quantile(q)).collect()).unwrap();
        BoostConfig::new(losses).n_estimators(2).fit((&made.x, y))
    };
    let numbers = || Targets::Real(made.numbers.view());
    assert!(fit(&[0.2, 0.9], &numbers()).is_ok());
    for (levels, y) in [(&[0.2; 3][..], numbers()), (&[0.2], numbers()), (&[0.2; 2], made.labels())] {
        let message = fit(levels, &y).unwrap_err().to_string();
        assert!(message.contains("one loss for each numerical output"), "{message}");
    }
    let message = fit(&[0.2, 1.0], &numbers()).unwrap_err().to_string();
    assert_eq!(message, "quantile must be above 0 and below 1, got 1");
}

/// Ends a fit after a stage, and records the reports.
#[derive(Debug, Default)]
struct Until(usize, Vec<(usize, f64, Option<f64>, usize)>);

impl super::StageObserver for Until {
    fn after(&mut self, stage: &super::StageReport<'_>) -> std::ops::ControlFlow<()> {
        let rows = stage.validation_scores.map_or(0, |scores| scores.nrows());
        assert_eq!((stage.oob_loss, stage.oob_improvement), (None, None));
        self.1.push((stage.stage, stage.train_loss, stage.validation_loss, rows));
        assert_eq!(stage.model.n_stages(), stage.stage + 1);
        if stage.stage == self.0 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    }

    fn wants_scores(&self) -> bool {
        true
    }
}

#[test]
fn observers_see_every_stage_and_end_the_fit() {
    let made = made(3, 40, 3, 2);
    let data = || (&made.x, Targets::Real(made.numbers.view()));
    for strategy in [OutputStrategy::Joint, OutputStrategy::SingleTarget] {
        let config = BoostConfig::new(LossKind::SquaredError).n_estimators(9).strategy(strategy);
        let whole = config.fitting().validation(data()).fit(data()).unwrap();
        let mut until = Until(4, Vec::new());
        let held_out = Dataset::from(data());
        let model = config.fitting().validation(&held_out).observer(&mut until).fit(data()).unwrap();
        assert_eq!(model, whole.truncated(5).unwrap());
        for (stage, (at, train, validation, rows)) in until.1.into_iter().enumerate() {
            assert_eq!((at, rows), (stage, 40));
            assert_eq!((train, validation), (whole.train_score()[stage], Some(whole.validation_score()[stage])));
        }
        // Early stopping, for which no samples are held out here, does not matter to the leaves.
        let stopping = config.clone().n_iter_no_change(2);
        for config in [config, stopping] {
            assert_eq!(config.refit_leaves(&model, data()).unwrap().forest(), model.forest());
        }
    }
}

#[test]
fn a_part_of_a_fit_goes_on_from_the_scores_that_it_gets() {
    let made = made(5, 30, 3, 2);
    let data = || (&made.x, Targets::Real(made.numbers.view()));
    let held_out = Dataset::from(data());
    for strategy in [OutputStrategy::Joint, OutputStrategy::SingleTarget] {
        let config = BoostConfig::new(LossKind::SquaredError).strategy(strategy);
        let fit = |config: BoostConfig, grown: Option<&Boosted>, so_far: &mut ScoresSoFar| {
            config.fitting().start_from(grown).validation(&held_out).so_far(so_far).fit(data()).unwrap()
        };
        let mut so_far = ScoresSoFar::default();
        let first = fit(config.clone().n_estimators(2), None, &mut so_far);
        let whole = fit(config.clone().n_estimators(4), Some(&first), &mut so_far.clone());
        assert_eq!(whole, config.clone().n_estimators(4).fitting().validation(data()).fit(data()).unwrap());
    }
}

#[test]
fn losses_out_of_bag_are_there_where_every_stage_left_samples_out() {
    struct Improvements(Vec<(f64, f64)>);
    impl StageObserver for Improvements {
        fn after(&mut self, stage: &StageReport<'_>) -> std::ops::ControlFlow<()> {
            self.0.push((stage.oob_loss.unwrap(), stage.oob_improvement.unwrap()));
            std::ops::ControlFlow::Continue(())
        }
    }
    let made = made(5, 40, 3, 2);
    let data = || (&made.x, Targets::Real(made.numbers.view()));
    let config = |n, share| BoostConfig::new(LossKind::SquaredError).n_estimators(n).subsample(share);
    let mut seen = Improvements(Vec::new());
    let half = config(3, 0.5).fitting().observer(&mut seen).fit(data()).unwrap();
    let expected: Vec<_> = half.oob_score().iter().copied().zip(half.oob_improvement().unwrap()).collect();
    assert_eq!((seen.0.len(), seen.0), (3, expected));
    assert_eq!(half.truncated(2).unwrap().oob_improvement().unwrap(), half.oob_improvement().unwrap()[..2]);
    let all = config(3, 1.0).fit(data()).unwrap();
    let (x, y) = (made.x.select(ndarray::Axis(0), &[0]), made.numbers.select(ndarray::Axis(0), &[0]));
    let only = config(2, 0.5).fit((&x, &y));
    let refitted = config(3, 0.5).refit_leaves(&half, data()).unwrap();
    for without in [
        &all,
        &config(5, 0.5).fitting().start_from(&all).fit(data()).unwrap(),
        &config(5, 1.0).fitting().start_from(&half).fit(data()).unwrap(),
        &only.unwrap(),
        &refitted,
    ] {
        assert!(without.oob_score().is_empty());
        assert!(without.oob_improvement().unwrap().is_empty());
    }
}

#[test]
fn margins_are_only_for_boosting_and_have_a_column_for_each_score() {
    let made = made(3, 40, 3, 2);
    let zeros = Array2::<f64>::zeros((40, 2));
    let config = BoostConfig::new(LossKind::SquaredError).n_estimators(2);
    let started = Dataset::new(&made.x, Targets::Real(made.numbers.view())).base_margin(zeros.view());
    assert_eq!(config.fit(&started).unwrap().start(), [0.0, 0.0]);
    let narrow = zeros.slice_axis(ndarray::Axis(1), (0..1).into());
    let refused = Dataset::new(&made.x, Targets::Real(made.numbers.view())).base_margin(narrow);
    let message = config.fit(&refused).unwrap_err().to_string();
    assert!(message.contains("base_margin must have shape (n_samples, n_scores), got shape (40, 1)"), "{message}");
    let forest = crate::ForestConfig::random_forest(crate::Criterion::Variance);
    let message = forest.fit(&started).unwrap_err().to_string();
    assert!(message.contains("only boosting starts from margins"), "{message}");
}

#[test]
fn smaller_leaves_change_scores_by_no_more_than_they_say() {
    use crate::tree::Precision;
    let control = Control::default();
    for (seed, strategy) in (0..).zip(strategies()) {
        let made = made(seed, 60, 3, 4);
        let config = BoostConfig { n_estimators: 7, strategy, ..BoostConfig::new(LossKind::SquaredError) };
        let model = config.fit((&made.x, &made.numbers)).unwrap();
        let scores = model.predict_scores(&made.x).unwrap();
        let check = |small: &Boosted, most: f64| {
            let change = model.largest_change(small, &control).unwrap();
            assert!(change <= most, "{change} {most}");
            let found = small.predict_scores(&made.x).unwrap();
            let largest = (&found - &scores).iter().fold(0.0f64, |largest, v| largest.max(v.abs()));
            // The tolerance is for the rounding of sums of seven terms.
            assert!(largest <= change + 1e-12, "{largest} {change}");
            #[cfg(feature = "model-files")]
            assert_eq!(&Boosted::from_bytes(&small.to_bytes().unwrap()).unwrap(), small);
            largest
        };
        let same = model.without_small_values(0.0, &control).unwrap();
        assert_eq!(same.predict_scores(&made.x).unwrap(), scores);
        let is_rank_one = model.combine == super::model::Combine::RankOne;
        // The bound is a rounded sum over seven stages.
        let left_out = check(&model.without_small_values(0.5, &control).unwrap(), 0.5 + 1e-12);
        assert_eq!(left_out == 0.0, is_rank_one);
        for precision in [Precision::Byte, Precision::Half, Precision::Single] {
            let small = model.with_precision(precision, &control).unwrap();
            check(&small, if precision == Precision::Byte { 1.0 } else { 1e-2 });
            check(&small.without_small_values(0.1, &control).unwrap(), 1.2);
        }
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(model.without_small_values(bad, &control).is_err());
        }
        assert!(model.largest_change(&model.truncated(3).unwrap(), &control).is_err());
    }
}

/// Fits that diverge end with an error that names the learning rate; all others give models that can be read.
#[test]
fn a_fit_that_diverges_names_the_learning_rate() {
    let made = made(3, 40, 2, 3);
    let mut n_refused = 0;
    for kind in kinds(3) {
        let numbers = in_domain(&kind, &made.numbers);
        for strategy in strategies() {
            for rate in [2.0, 5.0, 1e10, 1e300] {
                let config = BoostConfig::new(kind.clone()).strategy(strategy.clone()).n_estimators(30);
                let config = config.learning_rate(rate).max_leaf_nodes(5);
                match config.fit((&made.x, &Targets::Real(numbers.view()))) {
                    Ok(model) => {
                        assert!(model.train_score().iter().all(|loss| loss.is_finite()));
                        #[cfg(feature = "model-files")]
                        assert_eq!(Boosted::from_bytes(&model.to_bytes().unwrap()).unwrap(), model);
                    }
                    Err(error) => {
                        // Losses of labels alone are refused for numerical outputs.
                        let text = error.to_string();
                        n_refused += usize::from(text.contains("learning_rate must be lower"));
                        assert!(text.contains("learning_rate must be lower") || text.contains("loss"), "{text}");
                    }
                }
            }
        }
    }
    assert!(n_refused > 20, "{n_refused}");
}

#[test]
fn margins_whose_loss_overflows_are_refused() {
    let made = made(3, 20, 2, 1);
    let y = Targets::Real(made.numbers.view());
    let far = Array2::from_elem((20, 1), 1e200);
    let data = Dataset::new(&made.x, &y).base_margin(far.view());
    let error = BoostConfig::new(LossKind::SquaredError).n_estimators(2).fit(data).unwrap_err();
    assert!(error.to_string().contains("base_margin"), "{error}");
}
