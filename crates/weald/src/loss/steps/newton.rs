//! Regularized Newton steps of the leaves of a tree: v = Σ w r / (Σ w h + λ) over the samples of a leaf, where r are
//! the negative gradients, h the second derivatives of the loss, and λ limits the steps of leaves with few samples
//! (Friedman, 2001; Chen and Guestrin, 2016).
//!
//! A step that increases the loss of its samples is halved until it does not. For convex losses this always succeeds,
//! because every step is against the slope. In most cases, sums show that the loss decreases, and no sample needs to be
//! read again: with |φ'''| ≤ M φ'' along the step (see `line_search`),
//!
//! ```text
//! φ(v) ≤ φ(0) − G v + H v² ω(M|v|),   ω(t) = (e^t − t − 1) / t²,   G = Σ w r,   H = Σ w h
//! ```
//!
//! which is not positive for G = v (H + λ) while ω ≤ 1 + λ/H. The losses of this crate with such sums have further
//! bounds ([`Change`]).

use crate::elementary::exp_m1;
use crate::error::{Purpose, Result};
use crate::loss::{LARGEST_STEP, LineProblem, Loss};

/// The regularization of steps that are computed from sums over samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Regularization {
    /// λ, which is added to curvatures.
    l2: f64,
    /// Leaves with a smaller curvature have a step of zero.
    least: f64,
}

impl Regularization {
    pub(crate) const NONE: Regularization = Regularization { l2: 0.0, least: 0.0 };

    /// Returns the regularization for sums with the given weights.
    pub(crate) fn new(l2: f64, least_curvature: f64) -> Self {
        Regularization { l2, least: least_curvature }
    }

    /// Returns the regularization for sums in units, each of which has this weight and counts as `counted` in sums.
    pub(crate) fn of_units(self, unit: f64, counted: f64) -> Self {
        Regularization { l2: self.l2 / unit * counted, least: self.least / unit * counted }
    }

    /// Returns the regularization for a step ρ along one number g for each leaf. Leaves then move by ρ g, and the
    /// penalty is λ Σ_l (ρ g_l)².
    pub(crate) fn along(self, values: &[f64]) -> Self {
        let squares: f64 = values.iter().map(|g| g * g).sum();
        Regularization { l2: self.l2 * squares, least: self.least * squares }
    }

    /// Returns G / (H + λ), or 0 if the curvature is zero or too small.
    #[inline]
    pub(crate) fn step(self, gradient: f64, curvature: f64) -> f64 {
        let whole = curvature + self.l2;
        if curvature >= self.least && whole > 0.0 { gradient / whole } else { 0.0 }
    }

    /// Returns the same step, limited to [`LARGEST_STEP`].
    #[inline]
    pub(crate) fn bounded_step(self, gradient: f64, curvature: f64) -> f64 {
        self.step(gradient, curvature).clamp(-LARGEST_STEP, LARGEST_STEP)
    }
}

/// Sums over the samples of a leaf, one for each of some columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafTotals<'a> {
    /// The weight of all samples.
    pub(crate) weight: f64,
    /// The weight of samples whose label is present, for each column.
    pub(crate) on: &'a [f64],
    /// G, the sums of negative gradients.
    pub(crate) gradients: &'a [f64],
    /// H, the sums of curvatures.
    pub(crate) curvatures: &'a [f64],
}

/// Bounds on the change of a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Change {
    pub(crate) const NONE: Change = Change { least: 0.0, most: 0.0 };
    pub(crate) const UNKNOWN: Change = Change { least: f64::NEG_INFINITY, most: f64::INFINITY };

    pub(crate) fn exactly(change: f64) -> Self {
        Change { least: change, most: change }
    }

    /// Returns the difference between the bounds.
    pub(crate) fn width(self) -> f64 {
        self.most - self.least
    }

    pub(crate) fn and(self, other: Change) -> Self {
        Change { least: self.least + other.least, most: self.most + other.most }
    }

    /// Returns whether the loss increases, or `None` if the bounds do not show it.
    pub(crate) fn rises(self) -> Option<bool> {
        if self.most <= 0.0 {
            Some(false)
        } else if self.least > 0.0 {
            Some(true)
        } else {
            None
        }
    }
}

/// The largest t with ω(t) ≤ 1, for which a Newton step is certain not to increase the loss.
pub(super) const CERTAIN: f64 = 1.79;

/// Returns −G v + H v² ω(M|v|) from G v, H v² and M|v|.
pub(crate) fn self_concordant_bound(falls: f64, bends: f64, reach: f64) -> f64 {
    if reach <= CERTAIN && bends <= falls { bends - falls } else { bends * omega(reach) - falls }
}

/// Returns (e^t − t − 1) / t² for t ≥ 0. Near 0, the quotient loses its digits, and the first terms of the series are
/// precise.
fn omega(t: f64) -> f64 {
    if t < 1e-3 { 0.5 + t * (1.0 / 6.0 + t * (1.0 / 24.0 + t / 120.0)) } else { (exp_m1(t) - t) / (t * t) }
}

/// A step up to this length changes a loss by hardly more than the rounding of the float32 scores that it is added to, so
/// that errors of sums over samples do not matter.
const SHORT: f64 = 1.0 / 1024.0;

/// By how much the terms of a bound on a change may be wrong, because the derivatives of samples are rounded before they
/// are summed. Samples of much weight may have derivatives far below the error of rounding and thus sums of zero, and yet
/// oppose a long step that samples of little weight want.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ErrorOfSums {
    /// The error of G v.
    pub(crate) falls: f64,
    /// The error of H v².
    pub(crate) bends: f64,
    /// The error of an upper bound, in which the second is multiplied by ω.
    pub(crate) most: f64,
}

impl ErrorOfSums {
    /// Returns the errors for a leaf of this weight; `of_terms` is the error of the derivatives of a sample. `shares` is
    /// the number of times that H v² counts.
    pub(crate) fn new(weight: f64, of_terms: f64, steps: &[f64], shares: f64) -> Self {
        let longest = steps.iter().fold(0.0, |longest: f64, step| longest.max(step.abs()));
        if longest <= SHORT {
            return ErrorOfSums::default();
        }
        let of_leaf = weight * of_terms;
        let falls = of_leaf * steps.iter().map(|step| step.abs()).sum::<f64>();
        let bends = of_leaf * shares * steps.iter().map(|step| step * step).sum::<f64>();
        // The reach of the steps is at most twice the longest.
        let reach = 2.0 * longest;
        let most = falls + bends * if reach <= CERTAIN { 1.0 } else { omega(reach) };
        ErrorOfSums { falls, bends, most }
    }
}

/// The maximum number of halvings of a step. Convex losses need fewer.
const MOST_HALVINGS: u32 = 64;

/// Returns `step`, halved as long as it increases the loss.
pub(crate) fn halved(step: f64, mut raises: impl FnMut(f64) -> Result<bool>) -> Result<f64> {
    let mut steps = [step];
    halve_each(&mut steps, |_, steps, raised| {
        raised.push(raises(steps[0])?);
        Ok(())
    })?;
    Ok(steps[0])
}

/// Halves each of some steps as long as it increases its own loss. `raises` gets the indices of the remaining steps,
/// and appends for each whether it increases its loss.
pub(crate) fn halve_each(
    steps: &mut [f64],
    mut raises: impl FnMut(&[usize], &[f64], &mut Vec<bool>) -> Result<()>,
) -> Result<()> {
    const PURPOSE: Purpose = Purpose("the steps of a leaf");
    let mut left = PURPOSE.with_capacity(steps.len())?;
    left.extend((0..steps.len()).filter(|&i| steps[i] != 0.0));
    let mut raised = PURPOSE.with_capacity(steps.len())?;
    for _ in 0..MOST_HALVINGS {
        if left.is_empty() {
            return Ok(());
        }
        raised.clear();
        raises(&left, steps, &mut raised)?;
        let mut raised = raised.iter();
        left.retain(|&i| {
            let goes_on = raised.next().is_none_or(|&raised| raised);
            steps[i] *= if goes_on { 0.5 } else { 1.0 };
            goes_on && steps[i] != 0.0
        });
    }
    left.iter().for_each(|&i| steps[i] = 0.0);
    Ok(())
}

/// Returns the Newton step along a line of a loss whose scores need not move by more than `reach`, halved until the loss
/// does not increase. If the line has no curvature, it returns the minimum.
pub(crate) fn newton_step<L: Loss + ?Sized>(
    loss: &L,
    problem: &LineProblem<'_>,
    regularization: Regularization,
    reach: f64,
) -> Result<f64> {
    let (slope, curvature) = problem.derivatives(loss, 0.0)?;
    if curvature == 0.0 && slope != 0.0 {
        return loss.step(problem);
    }
    let whole = regularization.step(-slope, curvature);
    if whole == 0.0 || !whole.is_finite() {
        return Ok(0.0);
    }
    let longest = reach / problem.largest_direction();
    let before = problem.loss(loss, 0.0)?;
    halved(whole.clamp(-longest, longest), |step| {
        let after = problem.loss(loss, step)?;
        Ok(after > before || after.is_nan())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::loss::column::ColumnLoss;
    use crate::loss::rows::softmax_rows::Softmax;
    use crate::loss::{AbsoluteError, Exponential, Hinge, Huber, LogLoss, SquaredError};
    use proptest::prelude::*;

    #[test]
    fn steps_are_shrunk_and_leaves_of_little_curvature_take_none() {
        let step = |l2, least, gradient, curvature| Regularization::new(l2, least).step(gradient, curvature);
        assert_eq!((step(1.0, 0.0, 6.0, 2.0), step(0.0, 0.0, 6.0, 2.0)), (2.0, 3.0));
        assert_eq!((step(1.0, 2.5, 6.0, 2.0), step(1.0, 2.0, 6.0, 2.0)), (0.0, 2.0));
        assert_eq!((step(0.0, 0.0, 6.0, 0.0), step(3.0, 0.0, 6.0, 0.0)), (0.0, 2.0));
        assert_eq!(Regularization::new(0.0, 0.0).bounded_step(-1.0, 1e-9), -LARGEST_STEP);
        // The units are quarters: four of them have the weight of one sample.
        let in_units = Regularization::new(1.0, 2.5).of_units(0.25, 1.0);
        assert_eq!((in_units.step(24.0, 8.0), in_units.step(24.0, 12.0)), (0.0, 1.5));
        assert_eq!(Regularization::new(1.0, 1e-3).of_units(f64::MIN_POSITIVE, 1.0).step(1.0, 1.0), 0.0);
    }

    proptest! {
        #[test]
        fn several_steps_are_halved_as_each_alone(
            steps in prop::collection::vec(prop_oneof![Just(0.0), -1e3..1e3f64, Just(1e-320)], 0..6),
            most in prop::collection::vec(prop_oneof![-1.0..1e3f64, 1e-30..1e-10f64], 6),
        ) {
            let raises = |i: usize, step: f64| step.abs() > most[i];
            let naive = |i: usize| {
                let tried = std::iter::successors(Some(steps[i]), |step| Some(0.5 * step));
                tried.take(MOST_HALVINGS as usize).find(|&step| step == 0.0 || !raises(i, step)).unwrap_or(0.0)
            };
            let mut together = steps.clone();
            halve_each(&mut together, |left, steps, raised| {
                raised.extend(left.iter().map(|&i| raises(i, steps[i])));
                Ok(())
            })
            .unwrap();
            for i in 0..steps.len() {
                prop_assert_eq!(halved(steps[i], |step| Ok(raises(i, step))).unwrap(), naive(i));
                prop_assert_eq!(together[i], naive(i));
            }
        }
    }

    #[test]
    fn omega_keeps_its_digits_near_zero() {
        for t in [0.0, 1e-9, 9.99e-4, 1.001e-3, 0.1, CERTAIN] {
            // The series is summed until its terms vanish.
            let series: f64 = (0..30).map(|k| (1..=k + 2).fold(1.0, |p, i| p / i as f64) * t.powi(k)).sum();
            // The plain form has twelve digits left at 10⁻³, where the series takes over.
            assert!((omega(t) - series).abs() <= 1e-9, "{t} {} {series}", omega(t));
        }
        assert!(omega(CERTAIN) <= 1.0 && omega(CERTAIN + 0.01) > 1.0);
    }

    #[test]
    fn changes_are_those_of_the_loss_however_far_scores_are() {
        let sizes = [0.0, 1e-3, 1.0, 100.0, 149.0, 151.0, 299.0, 301.0, 400.0, 1000.0, 3000.0];
        let numbers: Vec<f64> = sizes.iter().flat_map(|&size| [size, -size]).collect();
        for &score in &numbers {
            for &step in &numbers {
                // The plain change is a difference of rounded losses.
                let tolerance = 1e-14 * (1.0 + score.abs() + step.abs());
                for y in [1.0, -1.0] {
                    let (change, plain) =
                        (LogLoss.change(y, score, step), LogLoss.value(y, score + step) - LogLoss.value(y, score));
                    assert!((change - plain).abs() <= tolerance, "{y} {score} {step}: {change} {plain}");
                }
                for class in 0..3 {
                    let (scores, steps) = ([score, 0.0, -1.0], [step, 0.0, 2.0]);
                    let moved = [score + step, 0.0, 1.0];
                    let change = crate::loss::softmax::change(class, &scores, &steps);
                    let plain = crate::loss::softmax::loss(class, &moved) - crate::loss::softmax::loss(class, &scores);
                    assert!((change - plain).abs() <= 10.0 * tolerance, "{class} {score} {step}: {change} {plain}");
                }
            }
        }
    }

    #[test]
    fn sums_that_are_rounded_to_zero_prove_nothing_about_samples_of_much_weight() {
        // A sample of weight 10⁹ is absent with near certainty: its gradient and curvature are far below the grid of sums
        // in float32. A present sample of weight 1 wants a step up.
        let (heavy, score, step) = (1e9, -9.5, 10.0);
        let leaf = LeafTotals { weight: heavy + 1.0, on: &[1.0], gradients: &[1.0], curvatures: &[1.0] };
        let change = heavy * LogLoss.change(-1.0, score, step) + LogLoss.change(1.0, 0.0, step);
        assert!(change > 1e8);
        assert_eq!(LogLoss.bounds_of_change(leaf, 0.5 * step).rises(), None);
        assert!(LogLoss.bounds_of_change(leaf, step).most >= change);
        // No sample opposes steps in the direction of all labels.
        for (on, step) in [([0.0], -10.0), ([heavy], 10.0), ([0.0], -2e3), ([heavy], 2e3)] {
            let alike = LeafTotals { weight: heavy, on: &on, gradients: &[0.0], curvatures: &[0.0] };
            assert_eq!(LogLoss.bounds_of_change(alike, step).rises(), Some(false));
            assert_eq!(LogLoss.bounds_of_change(alike, -step).rises(), None);
            // The scores may be as near to zero as sums of zero allow, or far away.
            let (y, back) = (step.signum(), -step);
            let near = heavy * LogLoss.change(y, 8.0 * y, back);
            assert!(near > 0.0 && LogLoss.bounds_of_change(alike, back).most >= near, "{step}");
        }
        // The same of three classes.
        let (on, zeros) = ([heavy, 1.0, 0.0], [0.0; 3]);
        let leaf = LeafTotals { weight: heavy + 1.0, on: &on, gradients: &zeros, curvatures: &zeros };
        assert_eq!(Softmax::new(&[3]).unwrap().bounds_of_change(leaf, &[0.0, 10.0, 0.0]).rises(), None);
    }

    /// The samples of a leaf: y, score and weight.
    fn leaves(scale: f64) -> impl Strategy<Value = Vec<(bool, f64, u8)>> {
        prop::collection::vec((prop::bool::weighted(0.3), -scale..scale, 0u8..3), 1..20)
    }

    fn sums(rows: &[(bool, f64, u8)], of: impl Fn(f64, f64) -> f64) -> f64 {
        rows.iter().map(|&(on, f, w)| f64::from(w) * of(if on { 1.0 } else { -1.0 }, f)).sum()
    }

    proptest! {
        #[test]
        fn bounds_of_the_logistic_loss_hold_its_change(
            near in leaves(1.0), far in leaves(8.0), step in -12f64..12.0, alike in any::<bool>(),
        ) {
            for mut rows in [near, far] {
                if alike {
                    let f = rows[0].1;
                    rows.iter_mut().for_each(|row| row.1 = f);
                }
                let weight = sums(&rows, |_, _| 1.0);
                prop_assume!(weight > 0.0);
                let change = sums(&rows, |y, f| LogLoss.change(y, f, step));
                let plain = sums(&rows, |y, f| LogLoss.value(y, f + step) - LogLoss.value(y, f));
                // The plain change is a difference of losses that may be as large as the step.
                prop_assert!((change - plain).abs() <= 1e-12 * weight * (1.0 + step.abs()), "{change} {plain}");
                let of_leaf = LeafTotals {
                    weight,
                    on: &[sums(&rows, |y, _| f64::from(u8::from(y > 0.0)))],
                    gradients: &[sums(&rows, |y, f| LogLoss.negative_gradient(y, f))],
                    curvatures: &[sums(&rows, |y, f| LogLoss.curvature(y, f))],
                };
                let bounds = LogLoss.bounds_of_change(of_leaf, step);
                let rounding = 1e-12 * weight * (1.0 + step.abs());
                prop_assert!(bounds.least <= change + rounding && change <= bounds.most + rounding, "{bounds:?} {change}");
                // If all probabilities are equal, both bounds are tight, except for the allowance for rounding.
                if alike && step.abs() < 2.0 && rows[0].1.abs() < 1.0 && bounds.most > 0.0 {
                    prop_assert!(bounds.most - bounds.least <= 1e-3 * weight, "{bounds:?}");
                }
            }
        }

        #[test]
        fn bounds_of_softmax_hold_its_change(
            rows in prop::collection::vec((0usize..3, prop::array::uniform3(-3f64..3.0), 1u8..3), 1..20),
            steps in prop::array::uniform3(-4f64..4.0),
        ) {
            let (mut on, mut gradients, mut curvatures) = ([0.0; 3], [0.0; 3], [0.0; 3]);
            let (mut weight, mut change) = (0.0, 0.0);
            for (class, scores, w) in &rows {
                let w = f64::from(*w);
                let mut p = [0.0; 3];
                crate::loss::softmax::probabilities(scores, &mut p);
                for k in 0..3 {
                    let is_on = f64::from(u8::from(k == *class));
                    on[k] += w * is_on;
                    gradients[k] += w * (is_on - p[k]);
                    curvatures[k] += w * p[k] * (1.0 - p[k]);
                }
                weight += w;
                let moved = [0, 1, 2].map(|k| scores[k] + steps[k]);
                let of_row = crate::loss::softmax::change(*class, scores, &steps);
                let plain = crate::loss::softmax::loss(*class, &moved) - crate::loss::softmax::loss(*class, scores);
                // The plain change is a difference of rounded losses.
                prop_assert!((of_row - plain).abs() <= 1e-12);
                change += w * of_row;
            }
            let of_leaf = LeafTotals { weight, on: &on, gradients: &gradients, curvatures: &curvatures };
            let softmax = Softmax::new(&[3]).unwrap();
            let bounds = softmax.bounds_of_change(of_leaf, &steps);
            // Bounds and changes are rounded sums.
            prop_assert!(bounds.least <= change + 1e-9 && change <= bounds.most + 1e-9, "{bounds:?} {change}");
        }

        #[test]
        fn newton_steps_never_raise_the_loss_and_are_halved_no_more_than_that(
            rows in leaves(4.0), l2 in prop::sample::select(vec![0.0, 0.5, 20.0]), g in prop::sample::select(vec![1.0, -0.3, 4.0]),
        ) {
            let (y, scores): (Vec<f64>, Vec<f64>) = rows.iter().map(|r| (if r.0 { 1.0 } else { -1.0 }, r.1)).unzip();
            let weights: Vec<f64> = rows.iter().map(|r| r.2.into()).collect();
            let direction = vec![g; y.len()];
            let control = &Control::default();
            let line = LineProblem { y: &y, scores: &scores, direction: &direction, weights: &weights, control };
            let regularization = Regularization::new(l2, 0.0);
            let losses: [&dyn ColumnLoss; 6] =
                [&LogLoss, &Exponential, &Hinge, &SquaredError, &AbsoluteError, &Huber { delta: 1.0 }];
            for loss in losses {
                let step = loss.newton_step(&line, regularization).unwrap();
                let at = |step| line.loss(loss, step).unwrap();
                prop_assert!(at(step) <= at(0.0), "{loss:?} {step}");
                let (slope, curvature) = line.derivatives(loss, 0.0).unwrap();
                let is_newton = curvature > 0.0 && !format!("{loss:?}").starts_with("Huber");
                if is_newton {
                    let whole = regularization.step(-slope, curvature);
                    let halvings = (whole / step).log2();
                    prop_assert!(whole == step || halvings.fract() == 0.0 && halvings > 0.0, "{loss:?} {whole} {step}");
                    prop_assert!(whole == step || at(2.0 * step) > at(0.0), "{loss:?} {whole} {step}");
                }
            }
        }
    }

    #[test]
    fn leaves_of_the_absolute_error_are_medians_however_far() {
        let (y, scores, weights) = ([1e7, 3e7, -5.0, 2e7], [0.0; 4], [1.0, 1.0, 1.0, 2.0]);
        let control = &Control::default();
        let line = LineProblem { y: &y, scores: &scores, direction: &[1.0; 4], weights: &weights, control };
        let leaf = |loss: &dyn ColumnLoss| loss.leaf_value(&line, Regularization::new(9.0, 9.0));
        assert_eq!(leaf(&AbsoluteError).unwrap(), 2e7);
        // If δ is far below the residuals, the leaf is a median.
        assert!((leaf(&Huber { delta: 1e-3 }).unwrap() - 2e7).abs() <= 1.0);
    }
}
