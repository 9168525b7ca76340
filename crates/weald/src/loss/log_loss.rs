//! The logistic loss log(1 + e^(−2yf)) with y = ±1 and P(y = 1) = 1 / (1 + e^(−2f)). The score is half the log-odds.

use super::column::{ColumnLoss, LeafRule};
use super::kernels::off_sums::OffSums;
use super::rows::log_loss_rows::LogLossRows;
use super::rows::{RowLoss, RowSums};
use super::steps::newton::{Change, ErrorOfSums, LeafTotals, self_concordant_bound};
use super::{Bounds, Domain, LineProblem, Link, Loss, half_log_odds};
use crate::control::Control;
use crate::data::Outputs;
use crate::elementary::{exp, exp_m1, ln, ln_1p};
use crate::error::Result;
use crate::loss::steps::line_search::newton_or_brent;
use crate::vectorised::vectorised;

/// The logistic loss.
#[derive(Clone, Copy, Debug)]
pub struct LogLoss;

/// Returns e^(−2|f|), at least the smallest normal number. Curvatures far away from 0 are rounded up, never to zero, so
/// that Newton steps stay finite and are certain to descend.
fn tail(score: f64) -> f64 {
    exp(-2.0 * score.abs()).max(f64::MIN_POSITIVE)
}

/// Returns P(y = 1) for a score.
pub(crate) fn probability(score: f64) -> f64 {
    let e = exp(-2.0 * score.abs());
    if score >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

impl Loss for LogLoss {
    fn link(&self, outputs: &Outputs) -> Link {
        Link::of_half_log_odds(outputs)
    }

    fn domain(&self) -> Domain {
        Domain::Signs
    }

    fn bounds(&self) -> Option<Bounds> {
        Some(Bounds { gradient: 2.0, curvature: 1.0 })
    }

    fn value(&self, y: f64, score: f64) -> f64 {
        let margin = y * score;
        (-2.0 * margin).max(0.0) + ln_1p(exp(-2.0 * margin.abs()))
    }

    /// Returns 2y / (1 + e^(2yf)).
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        let tail = tail(score);
        let numerator = if y * score >= 0.0 { tail } else { 1.0 };
        2.0 * y * numerator / (1.0 + tail)
    }

    /// Returns 4 P (1 − P).
    fn curvature(&self, _: f64, score: f64) -> f64 {
        let tail = tail(score);
        4.0 * tail / ((1.0 + tail) * (1.0 + tail))
    }

    /// Returns ½ log(W₊ / W₋), from the weights of the two classes. A class without weight counts as half a sample, or
    /// as a 64th of the total weight if that is less, so that constant labels have a finite start.
    fn start(&self, y: &[f64], weights: &[f64], _: &Control) -> Result<f64> {
        Ok(half_log_odds(y, weights))
    }

    /// Newton's method applies because |ℓ'''| ≤ 2 ℓ''.
    fn step(&self, problem: &LineProblem<'_>) -> Result<f64> {
        newton_or_brent(self, problem, 2.0 * problem.largest_direction(), false)
    }
}

/// Probabilities of scores and changes up to this magnitude are normal numbers, as are their products.
const FAR: f64 = 150.0;

/// Returns log(e^a + e^b), of which one may be zero.
fn log_of_sum(a: f64, b: f64) -> f64 {
    a.max(b) + ln_1p(exp(-(a - b).abs()))
}

/// Returns q(p) = log(1 + p (e^(2v) − 1)), the change of the loss of an absent label if its score moves by v; `off` is
/// 1 − p.
fn change_off(p: f64, off: f64, v: f64) -> f64 {
    if v.abs() > FAR {
        // The exponential would overflow or underflow.
        log_of_sum(ln(off), ln(p) + 2.0 * v)
    } else if v < 0.0 && p > 0.5 {
        // This avoids the cancellation in 1 − p (1 − e^(2v)), which may be small.
        ln(exp(2.0 * v) - off * exp_m1(2.0 * v))
    } else {
        ln_1p(p * exp_m1(2.0 * v))
    }
}

/// The accuracy of gradients and curvatures of samples, and of means of probabilities and of their squares, which are
/// computed from sums of terms that are rounded to a grid of 2⁻²¹.
const OF_MEANS: f64 = 1e-6;

/// Returns a mean of q, from the mean and the mean square of probabilities, and v.
type OfMeans = fn(f64, f64, f64) -> f64;

/// Returns the mean of q over probabilities with mean `m` and mean square `s` that are x or 0, for some x.
fn with_zeros(m: f64, s: f64, v: f64) -> f64 {
    if m == 0.0 { 0.0 } else { m * m / s * change_off(s / m, 1.0 - s / m, v) }
}

/// Returns the mean of q over probabilities with mean `m` and mean square `s` that are x or 1, for some x.
fn with_ones(m: f64, s: f64, v: f64) -> f64 {
    // The mean and the mean square of 1 − p.
    let (rest, square) = (1.0 - m, 1.0 - 2.0 * m + s);
    if rest == 0.0 || square <= 0.0 {
        return 2.0 * v;
    }
    let (left, share) = (square / rest, rest * rest / square);
    share * change_off(1.0 - left, left, v) + (1.0 - share) * 2.0 * v
}

impl ColumnLoss for LogLoss {
    fn has_curvature(&self) -> bool {
        true
    }

    /// A step down cannot raise the loss of absent labels, nor a step up that of present ones. The other bounds are
    /// computed from the slope and the curvature at 0 or, if this does not show that the loss decreases,
    /// from the mean and the mean square of the probabilities of the leaf. The third derivative of q by p has the sign
    /// of v. Of all distributions with this mean and this mean square, those on 0 and one more point have the smallest
    /// mean of q, and those on 1 and one more point have the largest, if v > 0 (Chebyshev and Markov; Karlin and
    /// Studden, 1966). If v < 0, it is the other way round.
    fn bounds_of_change(&self, leaf: LeafTotals<'_>, step: f64) -> Change {
        let LeafTotals { weight, on: &[on], gradients: &[gradient], curvatures: &[curvature] } = leaf else {
            return Change::UNKNOWN;
        };
        let (falls, bends, reach) = (gradient * step, curvature * step * step, 2.0 * step.abs());
        let error = ErrorOfSums::new(weight, OF_MEANS, &[step], 1.0);
        let opposed = if step < 0.0 { on } else { weight - on };
        let most = (self_concordant_bound(falls, bends, reach) + error.most).min(reach * opposed);
        if most <= 0.0 {
            // ω is convex, so its tangent at 0 is a lower bound.
            let bends = (bends - error.bends).max(0.0);
            return Change { least: bends * (0.5 - reach / 6.0).max(0.0) - falls - error.falls, most };
        }
        // If all labels were absent, the gradients of cells would be −2p, and the curvatures 4p(1 − p).
        let mean = (on - 0.5 * gradient) / weight;
        let spread = 0.25 * curvature / weight;
        let (to_least, to_most): (OfMeans, OfMeans) =
            if step > 0.0 { (with_zeros, with_ones) } else { (with_ones, with_zeros) };
        // q is concave: the more probabilities differ, the smaller is its mean. The mean of p (1 − p) is the difference of
        // the mean and the mean square, whose errors are not independent.
        let near = |mean_of: OfMeans, spread: f64| {
            [mean - OF_MEANS, mean + OF_MEANS].map(|m| {
                let m = m.clamp(0.0, 1.0);
                weight * mean_of(m, (m - spread).clamp(m * m, m), step) - 2.0 * step * on
            })
        };
        let (least, other) = (near(to_least, spread - OF_MEANS), near(to_most, spread + OF_MEANS));
        Change { least: least[0].min(least[1]), most: other[0].max(other[1]).min(most) }
    }

    fn change(&self, y: f64, score: f64, step: f64) -> f64 {
        if score.abs() > FAR || step.abs() > FAR {
            // The exponentials would underflow. The difference of losses of this size loses few digits.
            return self.value(y, score + step) - self.value(y, score);
        }
        let on = if y > 0.0 { 2.0 * step } else { 0.0 };
        change_off(probability(score), probability(-score), step) - on
    }

    /// With |r| = 2 (1 − P) of a present label, 4 P (1 − P) is |r| (2 − |r|).
    fn curvatures_at(&self, negative_gradients: &[f64], curvatures: &mut [f64]) -> bool {
        vectorised(
            #[inline(always)]
            || {
                let cells = curvatures.iter_mut().zip(negative_gradients);
                cells.for_each(|(h, r)| *h = r.abs() * (2.0 - r.abs()));
            },
        );
        true
    }

    fn leaf_rule(&self) -> LeafRule {
        LeafRule::LeafSums
    }

    fn has_float32_scores(&self) -> bool {
        true
    }

    fn has_softmax(&self) -> bool {
        true
    }

    fn sums_in_float32(&self) -> Option<Box<dyn RowSums<f32>>> {
        Some(Box::new(OffSums))
    }

    fn rows_in_float32(&self) -> Option<Box<dyn RowLoss<f32>>> {
        Some(Box::new(LogLossRows::new()))
    }
}
