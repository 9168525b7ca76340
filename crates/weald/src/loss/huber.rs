//! Huber's loss: ½r² for a residual r = y − f with |r| ≤ δ, and δ(|r| − δ/2) otherwise. Outliers have the same gradient
//! as targets at distance δ.
//!
//! Source: Huber, *Robust estimation of a location parameter* (1964).

use super::column::ColumnLoss;
use super::steps::newton::Regularization;
use super::{Bounds, Domain, LineProblem, Loss, LossKind, LossParameter};
use crate::error::Result;

/// Huber's loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Huber {
    /// The residual at which the loss changes from quadratic to linear, in units of y: finite and positive.
    pub delta: f64,
}

impl LossKind {
    /// Returns [`Huber`]'s loss, which is quadratic for residuals up to `delta`.
    pub fn huber(delta: f64) -> Self {
        LossKind::Huber(Huber { delta })
    }
}

impl Huber {
    pub(super) const PARAMETER: LossParameter = LossParameter {
        name: "delta",
        about: "Residual at which the loss changes from quadratic to linear. It is in units of y, and not a quantile of \
                the residuals.",
        default: 1.0,
        above: 0.0,
        below: f64::INFINITY,
        must: "be finite and positive",
    };
}

impl Loss for Huber {
    fn domain(&self) -> Domain {
        Domain::Numbers
    }

    fn bounds(&self) -> Option<Bounds> {
        Some(Bounds { gradient: self.delta, curvature: 1.0 })
    }

    fn check(&self) -> Result<()> {
        Self::PARAMETER.check(self.delta)
    }

    fn value(&self, y: f64, score: f64) -> f64 {
        let r = (y - score).abs();
        if r <= self.delta { 0.5 * r * r } else { self.delta * (r - 0.5 * self.delta) }
    }

    /// Returns y − f, clipped to [−δ, δ].
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        (y - score).max(-self.delta).min(self.delta)
    }

    fn curvature(&self, y: f64, score: f64) -> f64 {
        if (y - score).abs() <= self.delta { 1.0 } else { 0.0 }
    }
}

impl ColumnLoss for Huber {
    /// Returns the minimum, because the curvature reflects only the samples within δ.
    fn newton_step(&self, problem: &LineProblem<'_>, _: Regularization) -> Result<f64> {
        self.step(problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::loss::{AbsoluteError, SquaredError};
    use proptest::prelude::*;

    #[test]
    fn derivatives_are_those_of_the_value() {
        for delta in [0.1, 1.0, 30.0] {
            let loss = Huber { delta };
            // δ itself is excluded, because there is no second derivative there.
            for r in [-1e6, -31.0, -29.0, -1.01, -0.3, 0.0, 0.09, 0.11, 0.99, 29.5, 400.0] {
                let (y, h) = (2.5, 1e-5);
                let score = y - r;
                let difference = |f: &dyn Fn(f64) -> f64| (f(score + h) - f(score - h)) / (2.0 * h);
                // The tolerance covers the rounding of values, whose differences are divided by h.
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * (1.0 + loss.value(y, score));
                assert!(near(-difference(&|f| loss.value(y, f)), loss.negative_gradient(y, score)), "{delta} {r}");
                let curvature = -difference(&|f| loss.negative_gradient(y, f));
                assert!(near(curvature, loss.curvature(y, score)), "{delta} {r} {curvature}");
                let Bounds { gradient, curvature } = loss.bounds().unwrap();
                assert!(loss.negative_gradient(y, score).abs() <= gradient && loss.curvature(y, score) <= curvature);
            }
            // Both branches have the same value at δ.
            assert_eq!(loss.value(delta, 0.0), 0.5 * delta * delta);
        }
    }

    #[test]
    fn invalid_deltas_are_refused() {
        for delta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Huber { delta }.check().is_err(), "{delta}");
        }
        assert!(Huber::default().check().is_ok());
        assert!(matches!(LossKind::named("huber"), Some(LossKind::Huber(Huber { delta: 1.0 }))));
        assert_eq!(LossKind::huber(2.0).name(), "huber");
    }

    proptest! {
        #[test]
        fn starts_and_steps_are_the_best_of_a_fine_search(
            rows in prop::collection::vec((-9f64..9.0, -9f64..9.0, -2f64..2.0, 0u8..4), 1..25),
            delta in prop::sample::select(vec![0.05, 1.0, 4.0, 100.0]), scale in prop::sample::select(vec![1e-3, 1.0, 1e6]),
        ) {
            let loss = Huber { delta: delta * scale };
            let of = |part: fn(&(f64, f64, f64, u8)) -> f64| rows.iter().map(part).collect::<Vec<f64>>();
            let y: Vec<f64> = rows.iter().map(|r| r.0 * scale).collect();
            let scores: Vec<f64> = rows.iter().map(|r| r.1 * scale).collect();
            let (direction, weights) = (of(|r| r.2), of(|r| r.3.into()));
            let control = &crate::Control::default();
            let along = LineProblem { y: &y, scores: &scores, direction: &direction, weights: &weights, control };
            let (zeros, ones) = (vec![0.0; y.len()], vec![1.0; y.len()]);
            let constants = LineProblem { y: &y, scores: &zeros, direction: &ones, weights: &weights, control };
            let start = loss.start(&y, &weights, &Control::default()).unwrap();
            let step = loss.step(&along).unwrap();
            for (problem, found) in [(constants, start), (along, step)] {
                let value = |place: f64| problem.loss(&loss, place).unwrap();
                prop_assert!(value(found) <= value(0.0));
                // The loss is convex, so a point is the minimum if no step to either side decreases the loss.
                let fine = (1..=40).map(|k| 2f64.powi(-k) * (1.0 + found.abs())).flat_map(|h| [found - h, found + h]);
                let least = fine.map(value).fold(f64::INFINITY, f64::min);
                // The tolerance covers the rounding of sums of losses.
                prop_assert!(value(found) <= least * (1.0 + 1e-9) + 1e-12 * value(0.0), "{found} {} {least}", value(found));
            }
        }

        #[test]
        fn large_deltas_are_squares_and_small_ones_are_distances(y in -9f64..9.0, score in -9f64..9.0) {
            let squares = Huber { delta: 100.0 };
            prop_assert_eq!(squares.value(y, score), SquaredError.value(y, score));
            prop_assert_eq!(squares.negative_gradient(y, score), SquaredError.negative_gradient(y, score));
            let distances = Huber { delta: 1e-9 };
            // The value is δ (|r| − δ/2), which is smaller than δ |r| by δ²/2, and rounded.
            prop_assert!((distances.value(y, score) / 1e-9 - AbsoluteError.value(y, score)).abs() <= 1e-9);
        }
    }
}
