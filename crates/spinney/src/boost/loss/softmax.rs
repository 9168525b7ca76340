//! Classes against each other: K scores an output, P_k = e^(f_k) / Σ e^f, loss −log P_y.
//!
//! Unlike the other losses it is no sum over columns; so it has a row and a step of its own. The step is a vector ρ ∈ R^K,
//! the minimum of Σ w ℓ(y, f + ρ ∘ g) by Newton's method: with a Cholesky factor for few classes, else by conjugate
//! gradients on products with the Hessian, K numbers a row each; steps are halved until the loss falls.

use super::rows::Score;
use super::sums::{Rounding, bits_left, weighted_sum};
use super::{LARGEST_STEP, weight_of_absent};
use crate::error::{Result, try_collected, try_copied, try_filled};

/// What there is a number of for each class, or for each pair of few.
const CLASSES: &str = "the steps of classes";
/// Of more classes than these the Hessian is not written out: it costs K² a row.
const MOST_WHOLE: usize = 32;
/// Products with the Hessian for one step, and the share of the gradient that a step may leave of it.
const MOST_PRODUCTS: usize = 40;
const LEFT_OF_GRADIENT: f64 = 1e-3;
/// The search ends when the gradient has shrunk to this share, as that of separable directions does (see `line_search`):
/// by convexity no step of length Δ, in the sum of its parts, gains more than Δ times the largest part of the gradient.
const SEARCHED: f64 = 1e-8;
/// Or when a step promises less than this share of the loss, which values cannot tell.
const LOST: f64 = 1e-15;
/// Passes that move.
const MOST_ROUNDS: u32 = 50;
const MOST_HALVINGS: i32 = 40;
/// A step must gain this share of what its slope promises (Armijo).
const GAIN: f64 = 1e-4;

/// The loss of a row, and its negative gradients: onehot − p.
pub(crate) fn negative_gradients<T: Score>(class: usize, scores: &[T], out: &mut [T]) -> f64 {
    let most = largest(scores);
    let mut sum = 0.0;
    for (out, score) in out.iter_mut().zip(scores) {
        let e = (score.to_f64() - most).exp();
        *out = T::from_f64(e);
        sum += e;
    }
    // What is on is summed from the others: 1 − p would lose all digits of a small rest.
    let mut others = 0.0;
    for (k, out) in out.iter_mut().enumerate() {
        let p = (scores[k].to_f64() - most).exp() / sum;
        if k != class {
            others += p;
            *out = T::from_f64(-p);
        }
    }
    out[class] = T::from_f64(others.min(1.0));
    loss(class, scores)
}

/// The loss of a row: log(1 + Σ e^(f_k − f_y)) over the other classes, which keeps the digits of a small one.
pub(crate) fn loss<T: Score>(class: usize, scores: &[T]) -> f64 {
    let own = scores[class].to_f64();
    let others = || scores.iter().enumerate().filter(|(k, _)| *k != class).map(|(_, s)| s.to_f64());
    let most = others().fold(own, f64::max);
    let sum: f64 = others().map(|s| (s - most).exp()).sum();
    if most == own { sum.ln_1p() } else { most - own + (sum + (own - most).exp()).ln() }
}

/// P(class) of the scores of an output: e^f, divided by their sum.
pub(crate) fn probabilities(scores: &[f64], out: &mut [f64]) {
    let most = largest(scores);
    out.iter_mut().zip(scores).for_each(|(p, &f)| *p = (f - most).exp());
    let total: f64 = out.iter().sum();
    out.iter_mut().for_each(|p| *p /= total);
}

fn largest<T: Score>(scores: &[T]) -> f64 {
    scores.iter().fold(f64::NEG_INFINITY, |most, s| most.max(s.to_f64()))
}

/// The best constant scores of one output from the weights of its classes: logarithms of their shares, with mean zero. A
/// class without weight is taken for half a row, as for two classes.
pub(crate) fn start(class_weights: &[f64]) -> Result<Vec<f64>> {
    let total: f64 = class_weights.iter().sum();
    if total == 0.0 {
        return try_filled(CLASSES, 0.0, class_weights.len());
    }
    let of = |&w: &f64| (if w == 0.0 { weight_of_absent(total) } else { w }).ln();
    let mut logs = try_collected(CLASSES, class_weights.iter().map(of))?;
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    logs.iter_mut().for_each(|log| *log -= mean);
    Ok(logs)
}

/// What a weak model predicts for the K classes of an output.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Directions<'a> {
    /// One number a row, the same for every class.
    OneARow(&'a [f64]),
    /// K numbers a row.
    OneAClass(&'a [f64]),
}

/// Rows along which the steps of one output are searched together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SoftmaxProblem<'a> {
    pub(crate) n_classes: usize,
    /// Of each row.
    pub(crate) classes: &'a [u32],
    /// n × K.
    pub(crate) scores: &'a [f64],
    pub(crate) directions: Directions<'a>,
    pub(crate) weights: &'a [f64],
}

/// Derivatives by ρ.
struct Derivatives {
    gradient: Vec<f64>,
    /// K × K, of which the lower half is used; or its diagonal.
    curvature: Vec<f64>,
}

/// Grids that sums of a problem are taken on, so that they do not show the order of rows (see `sums`).
#[derive(Clone, Copy)]
struct Grid {
    /// No direction is larger.
    largest: f64,
    bits: i32,
}

impl SoftmaxProblem<'_> {
    fn direction(&self, row: usize, class: usize) -> f64 {
        match self.directions {
            Directions::OneARow(g) => g[row],
            Directions::OneAClass(g) => g[row * self.n_classes + class],
        }
    }

    /// Scores of a row at ρ.
    fn moved(&self, row: usize, steps: &[f64], out: &mut [f64]) {
        let scores = &self.scores[row * self.n_classes..];
        for (k, out) in out.iter_mut().enumerate() {
            *out = scores[k] + steps[k] * self.direction(row, k);
        }
    }

    /// Rows that weigh something.
    fn rows(&self) -> impl Iterator<Item = (usize, f64)> {
        self.weights.iter().copied().enumerate().filter(|(_, w)| *w > 0.0)
    }

    /// Σ w ℓ at ρ. `terms` has room for one number a row.
    fn loss(&self, steps: &[f64], terms: &mut [f64]) -> Result<f64> {
        let mut scores = try_filled(CLASSES, 0.0, self.n_classes)?;
        for (row, _) in self.rows() {
            self.moved(row, steps, &mut scores);
            terms[row] = loss(self.classes[row] as usize, &scores);
        }
        Ok(weighted_sum(self.weights, terms))
    }

    fn derivatives(&self, steps: &[f64], grid: Grid) -> Result<Derivatives> {
        let k = self.n_classes;
        let is_whole = k <= MOST_WHOLE;
        let zeros = || try_filled(CLASSES, 0.0, k);
        let (mut scores, mut r, mut high, mut low) = (zeros()?, zeros()?, zeros()?, zeros()?);
        let mut curvature = try_filled(CLASSES, 0.0, if is_whole { k * k } else { k })?;
        let (coarse, fine) = Rounding::pair(grid.largest, grid.bits);
        let squares = Rounding::new(2.0 * grid.largest * grid.largest, grid.bits);
        for (row, w) in self.rows() {
            let class = self.classes[row] as usize;
            self.moved(row, steps, &mut scores);
            negative_gradients(class, &scores, &mut r);
            for a in 0..k {
                let g = self.direction(row, a);
                let slope = -g * r[a];
                let rounded = coarse.round(slope);
                high[a] += w * rounded;
                low[a] += w * fine.round(slope - rounded);
                // p and 1 − p, each without a loss of digits.
                let (p, q) = if a == class { (1.0 - r[a], r[a]) } else { (-r[a], 1.0 + r[a]) };
                if !is_whole {
                    curvature[a] += w * squares.round(g * g * p * q);
                    continue;
                }
                for b in 0..a {
                    let p_of_b = if b == class { 1.0 - r[b] } else { -r[b] };
                    curvature[a * k + b] -= w * squares.round(g * p * self.direction(row, b) * p_of_b);
                }
                curvature[a * k + a] += w * squares.round(g * g * p * q);
            }
        }
        high.iter_mut().zip(&low).for_each(|(h, l)| *h += l);
        Ok(Derivatives { gradient: high, curvature })
    }

    /// Σ w H v at ρ, with H = g gᵀ ∘ (diag(p) − p pᵀ) of each row.
    fn curvature_along(&self, steps: &[f64], v: &[f64], grid: Grid) -> Result<Vec<f64>> {
        let k = self.n_classes;
        let zeros = || try_filled(CLASSES, 0.0, k);
        let (mut scores, mut r, mut out) = (zeros()?, zeros()?, zeros()?);
        let rounding = Rounding::new(2.0 * grid.largest * grid.largest * most(v), grid.bits);
        for (row, w) in self.rows() {
            let class = self.classes[row] as usize;
            self.moved(row, steps, &mut scores);
            negative_gradients(class, &scores, &mut r);
            let p = |a: usize| if a == class { 1.0 - r[a] } else { -r[a] };
            let mean: f64 = (0..k).map(|a| p(a) * self.direction(row, a) * v[a]).sum();
            for (a, out) in out.iter_mut().enumerate() {
                let g = self.direction(row, a);
                *out += w * rounding.round(g * p(a) * (g * v[a] - mean));
            }
        }
        Ok(out)
    }

    /// −H⁻¹ gradient, roughly, by conjugate gradients with the diagonal as preconditioner; what is held stays.
    fn conjugate_descent(&self, here: &Derivatives, steps: &[f64], grid: Grid) -> Result<Vec<f64>> {
        let more = here.damping();
        let scaled =
            |r: &[f64]| try_collected(CLASSES, r.iter().zip(&here.curvature).map(|(r, d)| r / (d.max(0.0) + more)));
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let downhill = || try_collected(CLASSES, here.gradient.iter().map(|g| -g));
        let mut rest = downhill()?;
        let mut descent = try_filled(CLASSES, 0.0, rest.len())?;
        let mut along = scaled(&rest)?;
        let mut size = dot(&rest, &along);
        let least = LEFT_OF_GRADIENT * LEFT_OF_GRADIENT * size;
        for _ in 0..MOST_PRODUCTS {
            let mut bent = self.curvature_along(steps, &along, grid)?;
            for (i, bent) in bent.iter_mut().enumerate() {
                *bent = if here.gradient[i] == 0.0 { 0.0 } else { *bent + more * along[i] };
            }
            let curvature = dot(&along, &bent);
            if curvature.is_nan() || curvature <= 0.0 {
                break;
            }
            let length = size / curvature;
            for i in 0..rest.len() {
                descent[i] += length * along[i];
                rest[i] -= length * bent[i];
            }
            let next = scaled(&rest)?;
            let next_size = dot(&rest, &next);
            if next_size.is_nan() || next_size <= least {
                break;
            }
            along.iter_mut().zip(&next).for_each(|(a, n)| *a = n + next_size / size * *a);
            size = next_size;
        }
        if descent.iter().all(|&d| d == 0.0) { scaled(&downhill()?) } else { Ok(descent) }
    }

    /// arg min_ρ of the loss, |ρ| ≤ 1000. Each point on the way has a lower loss than the one before, and the first is 0.
    pub(crate) fn step(&self) -> Result<Vec<f64>> {
        let k = self.n_classes;
        let mut terms = try_filled("the losses of rows", 0.0, self.weights.len())?;
        let mut steps = try_filled(CLASSES, 0.0, k)?;
        let directions = self.rows().flat_map(|(row, _)| (0..k).map(move |class| self.direction(row, class).abs()));
        let largest = directions.fold(0.0, f64::max);
        let grid = Grid { largest, bits: bits_left(self.weights) };
        let mut value = self.loss(&steps, &mut terms)?;
        let mut least = 0.0;
        for round in 0..MOST_ROUNDS {
            let mut here = self.derivatives(&steps, grid)?;
            here.hold(&steps);
            let steepest = most(&here.gradient);
            if round == 0 {
                least = SEARCHED * steepest;
            }
            if steepest <= least {
                break;
            }
            let mut descent =
                if k <= MOST_WHOLE { here.descent()? } else { self.conjugate_descent(&here, &steps, grid)? };
            if matches!(self.directions, Directions::OneARow(_)) && most(&steps) < LARGEST_STEP {
                // One move of all classes along one direction changes nothing: only rounding would choose it.
                let mean = descent.iter().sum::<f64>() / k as f64;
                descent.iter_mut().for_each(|d| *d -= mean);
            }
            let whole: f64 = here.gradient.iter().zip(&descent).map(|(g, d)| -g * d).sum();
            let moved = |length: f64| {
                let moved = steps.iter().zip(&descent).map(|(s, d)| s + length * d);
                try_collected(CLASSES, moved.map(|s| s.clamp(-LARGEST_STEP, LARGEST_STEP)))
            };
            if whole <= LOST * value {
                // The root of what a value can tell is what a step can: the last one doubles the digits.
                let last = moved(1.0)?;
                if self.loss(&last, &mut terms)? <= value {
                    steps = last;
                }
                break;
            }
            let mut lower = |halvings| -> Result<Option<(Vec<f64>, f64)>> {
                let next = moved(0.5f64.powi(halvings))?;
                let promised: f64 =
                    (here.gradient.iter().zip(next.iter().zip(&steps))).map(|(g, (n, s))| g * (n - s)).sum();
                let next_value = self.loss(&next, &mut terms)?;
                Ok((next_value < value && next_value <= value + GAIN * promised).then_some((next, next_value)))
            };
            let first = (0..MOST_HALVINGS).find_map(|halvings| lower(halvings).transpose());
            let Some((next, next_value)) = first.transpose()? else { break };
            (steps, value) = (next, next_value);
        }
        Ok(steps)
    }
}

fn most(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |most, x| most.max(x.abs()))
}

impl Derivatives {
    /// Takes out steps that lie at their bound and would pass it: the others are searched as if these were constants.
    fn hold(&mut self, steps: &[f64]) {
        let k = steps.len();
        for (i, &step) in steps.iter().enumerate() {
            let is_held = step.abs() >= LARGEST_STEP && self.gradient[i] * step < 0.0;
            if !is_held {
                continue;
            }
            self.gradient[i] = 0.0;
            if self.curvature.len() == k * k {
                (0..k).for_each(|j| self.curvature[i.max(j) * k + i.min(j)] = 0.0);
            }
        }
    }

    /// Equal moves of all classes may change nothing, and far scores have no curvature. This much more of it keeps steps
    /// finite; it goes to 0 with the gradient.
    fn damping(&self) -> f64 {
        let k = self.gradient.len();
        let diagonal = |i: usize| if self.curvature.len() == k { self.curvature[i] } else { self.curvature[i * k + i] };
        1e-9 * (0..k).map(diagonal).fold(0.0, f64::max) + 1e-4 * most(&self.gradient)
    }

    /// −H⁻¹ gradient, H written out.
    fn descent(&self) -> Result<Vec<f64>> {
        let k = self.gradient.len();
        let more = self.damping();
        let by_diagonal = |i: usize| -self.gradient[i] / (2.0 * self.curvature[i * k + i].max(0.0) + more);
        let Some(mut descent) = cholesky_solve(&self.curvature, more, &self.gradient)? else {
            return try_collected(CLASSES, (0..k).map(by_diagonal));
        };
        descent.iter_mut().for_each(|x| *x = -*x);
        Ok(descent)
    }
}

/// x with (A + more·I) x = b, for a symmetric A given by its lower half; `None` unless that is positive definite.
fn cholesky_solve(a: &[f64], more: f64, b: &[f64]) -> Result<Option<Vec<f64>>> {
    let n = b.len();
    let mut l = try_copied(CLASSES, a)?;
    for j in 0..n {
        for i in j..n {
            let dot: f64 = (0..j).map(|m| l[i * n + m] * l[j * n + m]).sum();
            let rest = l[i * n + j] - dot + if i == j { more } else { 0.0 };
            l[i * n + j] = if i == j { rest.sqrt() } else { rest / l[j * n + j] };
        }
        // The root of a negative number is NaN.
        if !(l[j * n + j] > 0.0 && l[j * n + j].is_finite()) {
            return Ok(None);
        }
    }
    let mut x = try_copied(CLASSES, b)?;
    for i in 0..n {
        x[i] = (x[i] - (0..i).map(|m| l[i * n + m] * x[m]).sum::<f64>()) / l[i * n + i];
    }
    for i in (0..n).rev() {
        x[i] = (x[i] - (i + 1..n).map(|m| l[m * n + i] * x[m]).sum::<f64>()) / l[i * n + i];
    }
    Ok(Some(x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boost::line_search::LineSearch;
    use crate::boost::loss::{LineProblem, LogLoss, Loss};
    use proptest::prelude::*;

    #[test]
    fn starts_are_log_shares_with_mean_zero() {
        let found = start(&[30.0, 10.0, 0.0, 60.0]).unwrap();
        assert!(found.iter().sum::<f64>().abs() < 1e-12);
        assert!((found[0] - found[1] - 3f64.ln()).abs() < 1e-12);
        assert!((found[1] - found[2] - 20f64.ln()).abs() < 1e-12);
        assert_eq!(start(&[0.0; 3]).unwrap(), [0.0; 3]);
    }

    #[test]
    fn gradients_are_those_of_the_loss_and_far_scores_are_finite() {
        for scores in [[0.1, -0.4, 1.3], [20.0, -3.0, 0.0], [1e3, -1e3, 999.0]] {
            for class in 0..3 {
                let mut r = [0.0; 3];
                let value = negative_gradients(class, &scores, &mut r);
                assert_eq!(value, loss(class, &scores));
                assert!(value.is_finite() && value >= 0.0 && r.iter().sum::<f64>().abs() < 1e-15);
                for k in 0..3 {
                    let h = 1e-5;
                    let at = |d: f64| {
                        let mut s = scores;
                        s[k] += d;
                        loss(class, &s)
                    };
                    assert!(((at(-h) - at(h)) / (2.0 * h) - r[k]).abs() < 1e-7, "{scores:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn steps_are_stationary_never_worse_and_blind_to_order(
            rows in prop::collection::vec((0u32..4, prop::array::uniform4(-1f64..1.0), prop::array::uniform4(-2f64..2.0), 0u8..3), 1..30),
            scale in prop::sample::select(vec![0.0, 1.0, 5.0, 1000.0]), one in any::<bool>(), wide in any::<bool>(),
        ) {
            // With many classes that never occur the Hessian is not written out.
            let k = if wide { MOST_WHOLE + 2 } else { 4 };
            let pad = |x: &[f64; 4], scale: f64| -> Vec<f64> { (0..k).map(|j| if j < 4 { x[j] * scale } else { 0.0 }).collect() };
            let build = |rows: &[(u32, [f64; 4], [f64; 4], f64)]| {
                let classes: Vec<u32> = rows.iter().map(|r| r.0).collect();
                let scores: Vec<f64> = rows.iter().flat_map(|r| pad(&r.1, scale)).collect();
                let many: Vec<f64> = rows.iter().flat_map(|r| pad(&r.2, 1.0)).collect();
                let single: Vec<f64> = rows.iter().map(|r| r.2[0]).collect();
                let weights: Vec<f64> = rows.iter().map(|r| r.3).collect();
                let directions = if one { Directions::OneARow(&single) } else { Directions::OneAClass(&many) };
                let problem = SoftmaxProblem { n_classes: k, classes: &classes, scores: &scores, directions, weights: &weights };
                let step = problem.step().unwrap();
                let loss = |steps: &[f64]| problem.loss(steps, &mut vec![0.0; weights.len()]).unwrap();
                let probe = |at: usize, by: f64| { let mut s = step.clone(); s[at] = (s[at] + by).clamp(-1000.0, 1000.0); loss(&s) };
                let lowest = (0..4).flat_map(|at| [-1.0, -1e-2, 1e-2, 1.0].map(|by| probe(at, by))).fold(f64::INFINITY, f64::min);
                (loss(&vec![0.0; k]), loss(&step), lowest, step)
            };
            let whole: Vec<_> = rows.iter().map(|r| (r.0, r.1, r.2, f64::from(r.3))).collect();
            let (before, after, lowest, step) = build(&whole);
            prop_assert!(after <= before && step.iter().all(|s| s.abs() <= LARGEST_STEP));
            // A probe is 1 away at most, in one part: it gains less than the gradient, 10⁻⁸ of the first.
            let first: f64 = whole.iter().map(|r| r.3 * r.2.iter().fold(0.0, |most: f64, g| most.max(g.abs()))).sum();
            if scale <= 5.0 {
                prop_assert!(after <= lowest + SEARCHED * first + 1e-12 * before, "{after} {lowest} of {before} at {step:?}");
            }
            let repeated: Vec<_> = rows.iter().rev().flat_map(|r| std::iter::repeat_n((r.0, r.1, r.2, 1.0), r.3.into())).collect();
            prop_assert_eq!(step, build(&repeated).3);
        }

        #[test]
        fn two_classes_are_the_logistic_loss(rows in prop::collection::vec((any::<bool>(), -2f64..2.0, -1f64..1.0), 12..40)) {
            // With f = (−s, s) and g = (−d, d) the logistic step moves both classes alike; the coupled one may do better.
            let (mut y, mut s, mut d, mut scores, mut g) = (vec![], vec![], vec![], vec![], vec![]);
            for &(positive, f, direction) in &rows {
                y.push(if positive { 1.0 } else { -1.0 });
                s.push(f);
                d.push(direction);
                scores.extend([-f, f]);
                g.extend([-direction, direction]);
            }
            let weights = vec![1.0; y.len()];
            let classes: Vec<u32> = rows.iter().map(|r| r.0.into()).collect();
            let step = LogLoss.step(&LineProblem { y: &y, scores: &s, direction: &d, weights: &weights }, LineSearch::Newton).unwrap();
            let problem = SoftmaxProblem { n_classes: 2, classes: &classes, scores: &scores, directions: Directions::OneAClass(&g), weights: &weights };
            let logistic = LineProblem { y: &y, scores: &s, direction: &d, weights: &weights }.loss(&LogLoss, step).unwrap();
            // A logarithm of a sum less a score: rounded in units of the scores, not of what is left.
            let rounding = 1e-12 * (logistic + step.abs().max(1.0));
            let loss = |steps: &[f64]| problem.loss(steps, &mut vec![0.0; weights.len()]).unwrap();
            prop_assert!((loss(&[step, step]) - logistic).abs() <= rounding);
            let found = problem.step().unwrap();
            prop_assert!(loss(&found) <= loss(&[0.0, 0.0]));
            // Only the sum of both steps counts. Where labels are separable the minimum is at infinity and has no place: the
            // search ends where the gradient has shrunk to its share.
            if step.abs() < 5.0 {
                prop_assert!((0.5 * (found[0] + found[1]) - step).abs() <= 1e-3 * (1.0 + step.abs()), "{found:?} {step}");
            }
        }
    }
}
