//! Models that are continued, perhaps with other data: what they have stays as it is, and states of other models are
//! refused or not used.

use ndarray::{Array2, ArrayView2};

use crate::boost::so_far::ScoresSoFar;
use crate::boost::*;
use crate::control::Control;
use crate::data::{Dataset, Targets};
use crate::error::{ErrorKind, Result};
use crate::loss::LossKind;
use crate::projection::{NProjections, Projection};
use crate::rng::{Key, Stream};

const N: usize = 40;

/// Samples and positive numbers of three outputs, which are `shift` larger.
fn made(seed: u64, shift: f64) -> (Array2<f32>, Array2<f64>) {
    let mut stream = Stream::new(Key::from_seed(seed));
    let x = Array2::from_shape_simple_fn((N, 3), || stream.below(9) as f32);
    let y = Array2::from_shape_fn((N, 3), |(i, j)| f64::from(x[[i, j]]) + 1.0 + stream.below(4) as f64 + shift);
    (x, y)
}

fn strategies() -> [OutputStrategy; 4] {
    let projected = |relabel| OutputStrategy::Projected {
        projection: Projection::Gaussian,
        n_projections: NProjections::Count(1),
        relabel,
    };
    [OutputStrategy::SingleTarget, OutputStrategy::Joint, projected(true), projected(false)]
}

/// The half of the targets, by the first feature.
struct Halves<'m> {
    x: &'m Array2<f32>,
    model: Option<&'m Boosted>,
}

impl WeakLearner for Halves<'_> {
    fn model(&self) -> Option<&Boosted> {
        self.model
    }

    fn fit_predict(
        &mut self,
        stage: usize,
        rows: &[u32],
        targets: ArrayView2<'_, f64>,
        _: &[f64],
    ) -> Result<WeakPredictions> {
        let is_new = self.model.is_none_or(|model| stage >= model.n_stages());
        assert_eq!(is_new, !rows.is_empty());
        let train =
            Array2::from_shape_fn((N, targets.ncols()), |(i, j)| f64::from(self.x[[i, 0]]) - 4.0 + (stage * j) as f64);
        Ok(WeakPredictions { train, validation: None })
    }
}

#[test]
fn stages_and_constants_stay_where_a_model_is_continued_with_other_data() {
    let control = Control::default();
    let (x, y) = made(1, 0.0);
    let (_, others) = made(2, 50.0);
    let margins = Array2::from_shape_fn((N, 3), |(i, j)| ((i + j) % 3) as f64 * 0.1);
    for loss in
        [LossKind::SquaredError, LossKind::AbsoluteError, LossKind::huber(1.5), LossKind::Poisson, LossKind::Gamma]
    {
        for strategy in strategies() {
            for has_margins in [false, true] {
                let config = BoostConfig::new(loss.clone()).strategy(strategy.clone()).max_leaf_nodes(4);
                let first = config.clone().n_estimators(3).fit((&x, &y)).unwrap();
                let data = Dataset::new(&x, &others).base_margin(has_margins.then(|| margins.view()));
                let more = config.clone().n_estimators(5).fitting().start_from(&first).fit(&data).unwrap();
                assert_eq!(more.start(), first.start());
                let scores = |model: &Boosted| model.predict_scores(&x).unwrap();
                assert_eq!(scores(&more.truncated(3).unwrap()), scores(&first), "{loss:?} {strategy:?}");
                // The model predicts what its stages were fitted to.
                let found = if has_margins { scores(&more) + &margins } else { scores(&more) };
                let of_data = config.mean_loss(&others, None, None, Some(found.view()), &control).unwrap().unwrap();
                let said = *more.train_score().last().unwrap();
                assert!((said - of_data).abs() <= 1e-9 * of_data.abs(), "{loss:?} {strategy:?}: {said} {of_data}");
                // On the same data, the model is that of one fit.
                let whole = config.clone().n_estimators(5);
                assert_eq!(whole.fitting().start_from(&first).fit((&x, &y)).unwrap(), whole.fit((&x, &y)).unwrap());
            }
        }
    }
}

#[test]
fn stages_of_other_weak_models_stay_where_a_model_is_continued() {
    let control = Control::default();
    let (x, y) = made(1, 0.0);
    let (_, others) = made(2, 50.0);
    let [_, joint, _, rank_one] = strategies();
    for strategy in [joint, rank_one] {
        let config = BoostConfig::new(LossKind::SquaredError).strategy(strategy);
        let fit = |n_stages: usize, model: Option<&Boosted>, y: &Array2<f64>| {
            let targets = Targets::Real(y.view());
            let config = config.clone().n_estimators(n_stages);
            config.fit_with(&mut Halves { x: &x, model }, (N, 3), &targets, None, None, &control)
        };
        let first = fit(3, None, &y).unwrap();
        assert_eq!(fit(5, Some(&first), &y).unwrap(), fit(5, None, &y).unwrap());
        let more = fit(5, Some(&first), &others).unwrap();
        assert_eq!(more.start(), first.start());
        assert_eq!(more.truncated(3).unwrap(), first);
        assert!(fit(2, Some(&first), &y).is_err());
    }
}

#[test]
fn stages_of_another_learning_rate_are_refused() {
    let control = Control::default();
    let (x, y) = made(1, 0.0);
    for strategy in strategies() {
        let slow = BoostConfig::new(LossKind::SquaredError).strategy(strategy).n_estimators(3).max_leaf_nodes(4);
        let first = slow.fit((&x, &y)).unwrap();
        let fast = slow.clone().learning_rate(0.5).n_estimators(6);
        let refused = fast.fitting().start_from(&first).fit((&x, &y)).unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::Invalid { what: "learning_rate", .. }), "{refused}");
        // Leaves that are all fitted again have the new rate.
        let refitted = fast.refit_leaves(&first, (&x, &y)).unwrap();
        let scores = refitted.predict_scores(&x).unwrap();
        let of_data = fast.mean_loss(&y, None, None, Some(scores.view()), &control).unwrap().unwrap();
        assert!((refitted.train_score().last().unwrap() - of_data).abs() < 1e-9);
        assert_eq!(refitted.learning_rate(), 0.5);
    }
}

#[test]
fn scores_of_another_model_are_computed_again() {
    let (x, y) = made(1, 0.0);
    let (_, others) = made(2, 50.0);
    let held_out = Dataset::from((&x, &y));
    for strategy in [OutputStrategy::Joint, OutputStrategy::SingleTarget] {
        let config = BoostConfig::new(LossKind::SquaredError).strategy(strategy);
        let fit = |n_stages: usize, grown: Option<&Boosted>, so_far: &mut ScoresSoFar, y: &Array2<f64>| {
            let config = config.clone().n_estimators(n_stages);
            config.fitting().start_from(grown).validation(&held_out).so_far(so_far).fit((&x, y)).unwrap()
        };
        let mut so_far = ScoresSoFar::default();
        let first = fit(2, None, &mut so_far, &y);
        let whole = fit(4, Some(&first), &mut so_far.clone(), &y);
        let mut of_others = ScoresSoFar::default();
        fit(2, None, &mut of_others, &others);
        assert_eq!(fit(4, Some(&first), &mut of_others, &y), whole);
        // Those of the model itself are used.
        so_far.shift(1.0);
        assert_ne!(fit(4, Some(&first), &mut so_far, &y), whole);
    }
}
