//! Minimisation along a line: Newton's method, Brent's method, weighted medians, and kinks of piecewise linear
//! functions.
//!
//! # Newton without values
//!
//! φ(ρ) is a sum of losses along a line, convex, with |φ'''| ≤ M φ'' (it is *self-concordant* in the general sense of
//! Bach, 2010). Then for a step of length Δ against the slope
//!
//! ```text
//! φ(ρ ± Δ) ≤ φ(ρ) − |φ'| Δ + φ'' Δ² ω(MΔ),   ω(t) = (e^t − t − 1) / t²
//! ```
//!
//! and the Δ that minimises the bound is ln(1 + M|φ'|/φ'') / M. This step needs no value of the loss, cannot increase
//! it, and cannot pass the minimum. Near the minimum, it equals Newton's step |φ'|/φ'' up to a relative error of
//! M|φ'|/2φ'', so that convergence is quadratic. Newton's own step decreases the bound while M|φ'|/φ'' ≤ 1.79, the
//! point where ω = 1; it is used instead under this condition, if it stays within the bracket of slopes seen so far.
//!
//! # Slopes
//!
//! A convex function has its minimum where its slope changes its sign, at a kink or not. Signs of slopes determine this
//! point to the last bit, while values determine only half of the digits. Losses that Newton's method cannot minimise
//! are searched in this way. If a direction separates labels, the slope never changes its sign, and the search follows
//! it until the slope has decreased to 10⁻⁸ of its value at ρ = 0.

use super::newton::CERTAIN;
use crate::control::Control;
use crate::data::sort::sort_by;
use crate::elementary::{ln_1p, power_of_two};
use crate::error::Result;
use crate::loss::{LARGEST_STEP, LineProblem, Loss};

/// A search ends when the relative error of the step is below this value.
const SEARCHED: f64 = 1e-7;
const MOST_ROUNDS: u32 = 100;
/// Up to this t = M|φ'|/φ'' the distance to the minimum after Newton's step is at most t |φ'|/φ'': from
/// |φ'(ρ+Δ)| ≤ φ'' (e^t − t − 1)/M and φ''(ρ+Δ) ≥ φ'' e^−t, with twice the leading term t²/2M for what follows.
const QUADRATIC: f64 = 0.25;

/// Newton's method with safeguards, which receives derivatives from the caller. No point has a higher loss than the
/// previous one.
#[derive(Clone, Copy, Debug)]
struct Newton {
    /// M ≥ |φ'''|/φ'': for the logistic loss 2·max|g|, for the exponential max|g|, 0 for squares.
    reach: f64,
    point: f64,
    /// The slope is negative below the first and positive above the second.
    bracket: (f64, f64),
}

impl Newton {
    fn new(reach: f64) -> Self {
        Newton { reach, point: 0.0, bracket: (-LARGEST_STEP, LARGEST_STEP) }
    }

    /// Moves on from a point with this slope and curvature, and returns whether the search has ended.
    fn step(&mut self, slope: f64, curvature: f64) -> bool {
        if slope == 0.0 || !slope.is_finite() || !curvature.is_finite() {
            return true;
        }
        let Newton { reach, point, bracket } = self;
        let end = if slope < 0.0 { &mut bracket.0 } else { &mut bracket.1 };
        *end = *point;
        // A curvature that underflowed is replaced by the smallest normal number, which makes the step shorter than the
        // true one.
        let newton = (slope.abs() / curvature.max(f64::MIN_POSITIVE)).min(f64::MAX);
        let t = (*reach * newton).min(f64::MAX);
        // For the smallest t, the quotient would be 0/0.
        let damped = if t < f64::EPSILON { newton } else { newton * (ln_1p(t) / t) };
        let at = |length: f64| (*point - slope.signum() * length).clamp(-LARGEST_STEP, LARGEST_STEP);
        let plain = at(newton);
        let is_plain = t <= CERTAIN && bracket.0 <= plain && plain <= bracket.1;
        let next = if is_plain { plain } else { at(damped) };
        let is_near = t <= QUADRATIC && t * newton <= SEARCHED * next.abs();
        let moved = next != *point;
        *point = next;
        is_near || !moved || next.abs() == LARGEST_STEP
    }
}

/// Returns the step of a loss with |ℓ'''| ≤ `reach`/max|g| · ℓ'': by Newton's method, and by Brent's method for the
/// remainder if the minimum is far away, or at once if curvatures are upper bounds, with which Newton's method ends before
/// the minimum.
pub(crate) fn newton_or_brent<L: Loss + ?Sized>(
    loss: &L,
    problem: &LineProblem<'_>,
    reach: f64,
    are_bounds: bool,
) -> Result<f64> {
    if reach == 0.0 {
        return Ok(0.0);
    }
    let slopes = Slopes::new(loss, problem)?;
    if slopes.is_separable {
        return problem.unless_worse(loss, slopes.end(SETTLED_PLACE)?);
    }
    if are_bounds {
        let step = brent(|step| problem.loss(loss, step), (-LARGEST_STEP, LARGEST_STEP))?;
        return problem.unless_worse(loss, step);
    }
    let mut newton = Newton::new(reach);
    let mut has_ended = false;
    for _ in 0..MOST_ROUNDS {
        let (slope, curvature) = problem.derivatives(loss, newton.point)?;
        has_ended = newton.step(slope, curvature);
        if has_ended {
            break;
        }
    }
    if !has_ended {
        let further = brent(|step| problem.loss(loss, step), newton.bracket)?;
        if problem.loss(loss, further)? < problem.loss(loss, newton.point)? {
            return problem.unless_worse(loss, further);
        }
    }
    problem.unless_worse(loss, newton.point)
}

/// Maximum number of halvings of a step that increases the loss: at a kink, no number of halvings may be sufficient.
const MOST_HALVINGS: i32 = 10;
/// Largest change of a score in a search: the largest magnitude of targets.
pub(crate) const LARGEST_MOVE: f64 = 1e150;
/// The search first changes a score by one, and then enlarges the step by this factor. Losses may overflow far away.
const FURTHER: f64 = 8.0;

/// Returns the step of any convex loss: by Newton steps, which are halved until the loss decreases. If these do not end at
/// a point with zero slope and positive curvature, it returns the point where the slope changes its sign.
pub(crate) fn minimise<L: Loss + ?Sized>(loss: &L, problem: &LineProblem<'_>) -> Result<f64> {
    let slopes = Slopes::as_far_as_it_falls(loss, problem)?;
    if slopes.first == 0.0 {
        return Ok(0.0);
    }
    if slopes.is_separable {
        return problem.unless_worse(loss, slopes.end(0.0)?);
    }
    let step = halved_newton(loss, problem, slopes.reach)?;
    let (slope, curvature) = problem.derivatives(loss, step)?;
    // Newton's step is negligible relative to `step`. At a kink, slopes are too large for that.
    let is_flat = slope == 0.0 || (curvature > 0.0 && slope.abs() <= SEARCHED * curvature * step.abs());
    if is_flat {
        return problem.unless_worse(loss, step);
    }
    let end = slopes.end(0.0)?;
    // The loss is compared because it may not be convex.
    problem.unless_worse(loss, if problem.loss(loss, end)? <= problem.loss(loss, step)? { end } else { step })
}

fn halved_newton<L: Loss + ?Sized>(loss: &L, problem: &LineProblem<'_>, reach: f64) -> Result<f64> {
    let (mut step, mut value) = (0.0f64, problem.loss(loss, 0.0)?);
    for _ in 0..MOST_ROUNDS {
        let (slope, curvature) = problem.derivatives(loss, step)?;
        if !(slope != 0.0 && curvature > 0.0 && slope.is_finite() && curvature.is_finite()) {
            break;
        }
        let whole = (step - slope / curvature).clamp(-reach, reach) - step;
        let lower = |halvings: i32| -> Result<Option<(f64, f64)>> {
            let next = step + whole * power_of_two(-halvings);
            let next_value = problem.loss(loss, next)?;
            Ok((next_value < value).then_some((next, next_value)))
        };
        let first = (0..MOST_HALVINGS).find_map(|halvings| lower(halvings).transpose());
        let Some((next, next_value)) = first.transpose()? else { break };
        let change = (next - step).abs();
        (step, value) = (next, next_value);
        if change <= SEARCHED * step.abs() {
            break;
        }
    }
    Ok(step)
}

/// The fraction of the slope at 0 at which the search along a separating direction ends.
const SETTLED: f64 = 1e-8;
/// Relative accuracy of the point at which the search along a separating direction ends.
const SETTLED_PLACE: f64 = 1e-3;

/// A convex loss along a line, described by its slopes.
///
/// The line is *separable* if the loss of no sample increases along it, from 0 to the end in the direction of descent:
/// labels are separated, and a loss with an asymptote has its minimum at infinity. Almost all of the decrease happens
/// long before the bound on steps, so the search ends where the slope has decreased to 10⁻⁸ of its value at 0. The
/// remaining decrease is at most that slope times the rest of the line.
#[derive(Debug)]
struct Slopes<'p, L: ?Sized> {
    loss: &'p L,
    problem: &'p LineProblem<'p>,
    /// The slope at 0.
    first: f64,
    /// The largest distance from 0 that is searched.
    reach: f64,
    is_separable: bool,
}

impl<'p, L: Loss + ?Sized> Slopes<'p, L> {
    /// Describes the line up to [`LARGEST_STEP`].
    fn new(loss: &'p L, problem: &'p LineProblem<'p>) -> Result<Self> {
        let mut slopes = Slopes { loss, problem, first: 0.0, reach: LARGEST_STEP, is_separable: false };
        slopes.first = slopes.at(0.0)?;
        slopes.is_separable = slopes.is_separable()?;
        Ok(slopes)
    }

    /// Describes the line as far as necessary: it is extended while the loss still decreases at its end. A slope that
    /// is NaN, for example where a loss overflows, ends it.
    fn as_far_as_it_falls(loss: &'p L, problem: &'p LineProblem<'p>) -> Result<Self> {
        let mut slopes = Slopes { loss, problem, first: 0.0, reach: 0.0, is_separable: false };
        slopes.first = slopes.at(0.0)?;
        let largest = problem.largest_direction();
        slopes.reach = if largest > 0.0 { 1.0 / largest } else { 1.0 };
        slopes.is_separable = slopes.is_separable()?;
        while slopes.reach * FURTHER <= LARGEST_MOVE / largest && slopes.is_before(slopes.reach)? {
            slopes.reach *= FURTHER;
            slopes.is_separable = slopes.is_separable()?;
        }
        Ok(slopes)
    }

    fn is_separable(&self) -> Result<bool> {
        let last = -self.first.signum() * self.reach;
        if self.first == 0.0 {
            return Ok(false);
        }
        if self.loss.takes_blocks() {
            let gradients = self.problem.negative_gradients(self.loss, last)?;
            let rows = gradients.iter().zip(self.problem.direction).zip(self.problem.weights);
            return Ok(rows.filter(|(_, w)| **w > 0.0).all(|((gradient, g), _)| last * g * gradient >= 0.0));
        }
        let falls = |(y, f, g, _): (f64, f64, f64, f64)| last * g * self.loss.negative_gradient(y, f + last * g) >= 0.0;
        Ok(self.problem.moving().all(falls))
    }

    /// Returns whether the minimum, or the point where the search along a separable line ends, is further away than
    /// `length`.
    fn is_before(&self, length: f64) -> Result<bool> {
        let ahead = -self.first.signum();
        let enough = if self.is_separable { -SETTLED * self.first.abs() } else { 0.0 };
        Ok(ahead * self.at(ahead * length)? < enough)
    }

    fn at(&self, step: f64) -> Result<f64> {
        self.problem.slope(self.loss, step)
    }

    /// Returns the point where the slope changes its sign, or where the search along a separable line ends: to the last
    /// bit, or to a relative `tolerance`. Slopes increase, so that the point is found by bisection on the bits of
    /// floats, which have the order of the floats: 62 bisections find any point, however close to 0.
    fn end(&self, tolerance: f64) -> Result<f64> {
        // This includes NaN.
        if self.first == 0.0 || self.first.is_nan() {
            return Ok(0.0);
        }
        let ahead = -self.first.signum();
        let (mut low, mut high) = (0.0f64, self.reach);
        if self.is_before(high)? {
            return Ok(ahead * high);
        }
        while high - low > tolerance * high {
            let mid = f64::from_bits(low.to_bits().midpoint(high.to_bits()));
            if mid == low {
                break;
            }
            *(if self.is_before(mid)? { &mut low } else { &mut high }) = mid;
        }
        // The bracket has shrunk to two neighbouring floats, with a kink between them.
        let [near, far] = [low, high].map(|length| ahead * length);
        let value = |step| self.problem.loss(self.loss, step);
        Ok(if !self.is_separable && value(near)? < value(far)? { near } else { far })
    }
}

/// Brent's `localmin` (Algorithms for Minimization without Derivatives, 1973, chapter 5): returns a minimum of a
/// unimodal function between two bounds, to about half the digits of its position, which is all that values can
/// determine.
pub(crate) fn brent(mut f: impl FnMut(f64) -> Result<f64>, (mut low, mut high): (f64, f64)) -> Result<f64> {
    const GOLDEN: f64 = 0.381_966_011_250_105_1;
    /// Square root of the rounding error of values.
    const RELATIVE: f64 = 1.5e-8;
    /// Absolute tolerance, so that searches near 0 end: golden sections alone need 130 iterations from 2000 down to it.
    const ABSOLUTE: f64 = 1e-24;
    let mut best = low + GOLDEN * (high - low);
    let (mut second, mut third) = (best, best);
    let mut f_best = f(best)?;
    let (mut f_second, mut f_third) = (f_best, f_best);
    let (mut step, mut before) = (0.0f64, 0.0f64);
    for _ in 0..300 {
        let mid = 0.5 * (low + high);
        let tolerance = RELATIVE * best.abs() + ABSOLUTE;
        if (best - mid).abs() <= 2.0 * tolerance - 0.5 * (high - low) {
            break;
        }
        let parabola = (before.abs() > tolerance).then(|| {
            let r = (best - second) * (f_best - f_third);
            let q = (best - third) * (f_best - f_second);
            let p = (best - third) * q - (best - second) * r;
            -p / (2.0 * (q - r))
        });
        let is_inside = |&p: &f64| p.abs() < (0.5 * before).abs() && low < best + p && best + p < high;
        if let Some(p) = parabola.filter(is_inside) {
            (before, step) = (step, p);
            let place = best + step;
            if place - low < 2.0 * tolerance || high - place < 2.0 * tolerance {
                step = if best < mid { tolerance } else { -tolerance };
            }
        } else {
            before = if best < mid { high - best } else { low - best };
            step = GOLDEN * before;
        }
        let place = best + if step.abs() >= tolerance { step } else { tolerance.copysign(step) };
        let value = f(place)?;
        if value <= f_best {
            *(if place < best { &mut high } else { &mut low }) = best;
            (third, f_third, second, f_second, best, f_best) = (second, f_second, best, f_best, place, value);
        } else {
            *(if place < best { &mut low } else { &mut high }) = place;
            if value <= f_second || second == best {
                (third, f_third, second, f_second) = (second, f_second, place, value);
            } else if value <= f_third || third == best || third == second {
                (third, f_third) = (place, value);
            }
        }
    }
    // The search never evaluates the bounds themselves, which are the minima of monotone functions.
    for end in [low, high] {
        let value = f(end)?;
        if value < f_best {
            (best, f_best) = (end, value);
        }
    }
    Ok(best)
}

/// Returns the smallest value such that a weight of at least `least` is at or below it, or 0 if there are no pairs. If
/// the total weight is smaller, it is the largest value. Sorts the pairs (value, weight).
pub(crate) fn first_with_weight(least: f64, pairs: &mut [(f64, f64)], control: &Control) -> Result<f64> {
    sort_by(pairs, |a, b| a.0.total_cmp(&b.0), control)?;
    let mut below = 0.0;
    let found = pairs.iter().filter(|(_, w)| *w > 0.0).find(|(_, w)| {
        below += w;
        below >= least
    });
    Ok(found.or(pairs.iter().rfind(|(_, w)| *w > 0.0)).map_or(0.0, |p| p.0))
}

/// A point where the slope of a piecewise linear function increases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kink {
    pub(crate) at: f64,
    /// The increase of the slope, at least 0.
    pub(crate) bend: f64,
}

/// Returns the minimum nearest to 0, within ±1000, of a convex piecewise linear function whose slope is `first_slope`,
/// at most 0, before all kinks, and at least 0 after them. Sorts the kinks.
pub(crate) fn piecewise_linear_minimum(first_slope: f64, kinks: &mut [Kink], control: &Control) -> Result<f64> {
    sort_by(kinks, |a, b| a.at.total_cmp(&b.at), control)?;
    // Invariant: the slope is negative below `low`, and `slope` from there to the next kink.
    let (mut slope, mut low, mut high) = (first_slope, f64::NEG_INFINITY, f64::INFINITY);
    for kink in kinks.iter().filter(|k| k.bend > 0.0) {
        let is_falling = slope < 0.0;
        slope += kink.bend;
        if is_falling {
            low = kink.at;
        }
        if !is_falling || slope > 0.0 {
            high = kink.at;
            break;
        }
    }
    Ok(0f64.max(low).min(high).clamp(-LARGEST_STEP, LARGEST_STEP))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Exponential, LogLoss};
    use proptest::prelude::*;

    type Line = Vec<(f64, f64, f64)>;

    fn columns(line: &Line) -> (Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>) {
        let of = |f: fn(&(f64, f64, f64)) -> f64| line.iter().map(f).collect();
        (of(|r| r.0), of(|r| r.1), of(|r| r.2), of(|_| 1.0))
    }

    fn line(scale: f64) -> impl Strategy<Value = Line> {
        let row = (prop::sample::select(vec![-1.0, 1.0]), -scale..scale, -2f64..2.0);
        prop::collection::vec(row, 0..20)
    }

    proptest! {
        #[test]
        fn newton_never_rises(line in line(3.0), far in line(1e3)) {
            for (loss, reach) in [(&LogLoss as &dyn Loss, 2.0), (&Exponential, 1.0)] {
                for line in [&line, &far] {
                    let (y, f, g, w) = columns(line);
                    let problem = LineProblem { y: &y, scores: &f, direction: &g, weights: &w, control: &Control::default() };
                    let mut newton = Newton::new(reach * problem.largest_direction());
                    // Rounding of a score f + ρg, by |f| ε, changes its loss by a relative error of `reach` times as
                    // much.
                    let largest = f.iter().fold(0.0, |most: f64, f| most.max(f.abs()));
                    let noise = 1e-14 + 4.0 * reach * largest * f64::EPSILON;
                    let mut value = problem.loss(loss, 0.0).unwrap();
                    for _ in 0..MOST_ROUNDS {
                        let (slope, curvature) = problem.derivatives(loss, newton.point).unwrap();
                        let has_ended = newton.step(slope, curvature);
                        let next = problem.loss(loss, newton.point).unwrap();
                        // Losses below the smallest normal number have few digits.
                        prop_assert!(next <= value * (1.0 + noise) + f64::MIN_POSITIVE, "{value} then {next}");
                        value = next;
                        if has_ended {
                            break;
                        }
                    }
                }
            }
        }

        #[test]
        fn medians_have_half_of_the_weight_on_either_side(pairs in prop::collection::vec((-3i8..4, 0u8..4), 0..20)) {
            let mut floats: Vec<(f64, f64)> = pairs.iter().map(|&(v, w)| (v.into(), w.into())).collect();
            let half = 0.5 * floats.iter().map(|p| p.1).sum::<f64>();
            let median = first_with_weight(half, &mut floats, &Control::default()).unwrap();
            let mut all: Vec<i8> = pairs.iter().flat_map(|&(v, w)| std::iter::repeat_n(v, w.into())).collect();
            all.sort_unstable();
            prop_assert_eq!(median, all.get(all.len().saturating_sub(1) / 2).map_or(0.0, |&v| v.into()));
        }
    }

    #[test]
    fn squares_are_searched_in_one_round() {
        for (slope, curvature, expected) in [(-6.0, 3.0, 2.0), (0.0, 1.0, 0.0), (1.0, 0.0, -LARGEST_STEP)] {
            let mut newton = Newton::new(0.0);
            assert!(newton.step(slope, curvature));
            assert_eq!(newton.point, expected);
        }
    }

    #[test]
    fn brent_finds_minima_inside_and_at_the_bounds() {
        for at in [0.0, 1e-9, -0.3, 700.0, 1000.0, -1000.0, 5000.0] {
            let found = brent(|x| Ok((x - at).abs().powf(1.5)), (-1000.0, 1000.0)).unwrap();
            let expected = at.clamp(-1000.0, 1000.0);
            // Brent's search ends at a bracket with a relative width of about 1e-7.
            assert!((found - expected).abs() <= 1e-7 * expected.abs() + 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn kinks_give_the_minimum_nearest_to_zero() {
        let least = |first: f64, kinks: &[(f64, f64)]| {
            let mut kinks: Vec<Kink> = kinks.iter().map(|&(at, bend)| Kink { at, bend }).collect();
            piecewise_linear_minimum(first, &mut kinks, &Control::default()).unwrap()
        };
        assert_eq!(least(-1.0, &[(2.0, 2.0)]), 2.0);
        assert_eq!(least(-1.0, &[(3.0, 1.0), (-2.0, 1.0)]), 0.0);
        assert_eq!(least(-1.0, &[(3.0, 1.0), (2.0, 1.0)]), 2.0);
        assert_eq!(least(-2.0, &[(-3.0, 1.0), (-2.0, 1.0), (-1.0, 1.0)]), -1.0);
        assert_eq!((least(0.0, &[(-1.0, 1.0)]), least(0.0, &[(1.0, 1.0)]), least(0.0, &[])), (-1.0, 0.0, 0.0));
        assert_eq!(least(-1.0, &[(1e6, 1.0)]), LARGEST_STEP);
    }
}
