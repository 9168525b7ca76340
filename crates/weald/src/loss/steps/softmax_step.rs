//! The step of the classes of one output: a vector ρ ∈ R^K, which minimizes Σ w ℓ(y, f + ρ ∘ g).
//!
//! It is computed by Newton's method. With few classes, this uses a Cholesky factorization; otherwise it uses conjugate
//! gradients on products with the Hessian, which take K numbers for each sample. Steps are halved until the loss
//! decreases.
//!
//! The cost is about ten passes with one exponential for each sample and class. Each pass computes the loss, the
//! gradient, and the diagonal or the whole of the Hessian. With many classes there are about ten products for each
//! pass, on the probabilities that the pass has stored.

use crate::cholesky;
use crate::control::Control;
use crate::elementary::power_of_two;
use crate::error::{Purpose, Result};
use crate::exact::{Rounding, WeightedGrid, WeightedPair, weighted_sum};
use crate::loss::LARGEST_STEP;
use crate::loss::kernels::exponentials::RowSums;
use crate::loss::kernels::float::Float;
use crate::loss::kernels::vector::{add, dot, vectorised};
use crate::loss::softmax::CLASSES;
use crate::pool;

/// With more classes than this, the Hessian is not computed explicitly, because it takes K² for each sample.
const MOST_WHOLE: usize = 32;
/// The number of cells of the samples that are summed together, and the minimum number of such samples; their sums are
/// stored.
const CHUNK_CELLS: usize = 1 << 16;
const LEAST_ROWS: usize = 64;
/// The maximum number of products with the Hessian for one step, and the fraction of the gradient that a step may
/// leave.
const MOST_PRODUCTS: usize = 40;
const LEFT_OF_GRADIENT: f64 = 1e-3;
/// The search ends when the gradient has decreased to this fraction, as for separable directions (see `line_search`).
/// By convexity, no step of length Δ, in the sum of its components, gains more than Δ times the largest component of
/// the gradient.
const SEARCHED: f64 = 1e-8;
/// The search also ends when the expected decrease is less than this fraction of the loss, which cannot be seen in
/// values.
const LOST: f64 = 1e-15;
/// The maximum number of passes that move.
const MOST_ROUNDS: u32 = 50;
const MOST_HALVINGS: i32 = 40;
/// A step must gain this fraction of the decrease that its slope predicts (Armijo).
const GAIN: f64 = 1e-4;

/// The samples along which the steps of the classes of one output are searched together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SoftmaxProblem<'a, T> {
    pub(crate) n_classes: usize,
    /// The class of each sample.
    pub(crate) classes: &'a [u32],
    /// The scores, n × K.
    pub(crate) scores: &'a [T],
    /// The predictions of the weak model for each leaf: K numbers, or one number for all classes.
    pub(crate) directions: &'a [f64],
    pub(crate) per_leaf: usize,
    /// The leaf of each sample.
    pub(crate) leaf_of: &'a [u32],
    pub(crate) weights: &'a [f64],
}

/// The loss at some ρ, and its derivatives by ρ.
struct Derivatives {
    value: f64,
    gradient: Vec<f64>,
    /// The Hessian, K × K, of which only the lower half is used, or its diagonal.
    curvature: Vec<f64>,
}

/// The grids of the sums of a problem, so that they do not depend on the order of samples (see `exact`).
#[derive(Clone, Copy)]
struct StepGrids {
    /// The grids of the gradient, in two parts.
    slopes: WeightedPair,
    squares: WeightedGrid,
    /// The largest magnitude of a direction.
    largest: f64,
    rounding: Rounding,
}

impl StepGrids {
    fn new(largest: f64, rounding: Rounding) -> Self {
        let squares = rounding.grid(2.0 * largest * largest);
        StepGrids { slopes: rounding.pair(largest), squares, largest, rounding }
    }
}

/// Data for each sample.
struct OfRows {
    losses: Vec<f64>,
    /// The probabilities, n × K, if there are many classes. They are used for products with the Hessian, which only
    /// determine a direction.
    shares: Vec<f32>,
}

/// Smaller probabilities are set to zero: denormal float32 numbers would be slow, and they do not contribute.
const LEAST_SHARE: f64 = 1e-30;

/// The numbers for the classes of one sample.
struct Scratch {
    moved: Vec<f64>,
    shares: Vec<f64>,
    directions: Vec<f64>,
}

/// The partial sums of a chunk of samples.
struct Sums<'s> {
    /// The gradient, in two parts.
    high: &'s mut [f64],
    low: &'s mut [f64],
    curvature: &'s mut [f64],
}

impl<T: Float> SoftmaxProblem<'_, T> {
    /// Returns whether the Hessian is computed explicitly.
    fn is_whole(&self) -> bool {
        self.n_classes <= MOST_WHOLE
    }

    /// Returns the number of samples that are summed together, whatever the number of threads. The sums of these chunks
    /// are added up in their order.
    fn chunk_rows(&self) -> usize {
        (CHUNK_CELLS / self.n_classes).clamp(LEAST_ROWS, 1 << 13)
    }

    /// Returns the predictions of the weak model for the classes of a sample.
    #[inline(always)]
    fn directions<'d>(&'d self, row: usize, scratch: &'d mut [f64]) -> &'d [f64] {
        let of_leaf = &self.directions[self.leaf_of[row] as usize * self.per_leaf..][..self.per_leaf];
        if let &[one] = of_leaf {
            scratch.fill(one);
            return scratch;
        }
        of_leaf
    }

    /// Returns Σ w ℓ and its derivatives at ρ.
    fn derivatives(
        &self,
        steps: &[f64],
        of_rows: &mut OfRows,
        grids: StepGrids,
        control: &Control,
    ) -> Result<Derivatives> {
        let k = self.n_classes;
        let n_curvatures = if self.is_whole() { k * k } else { k };
        let (size, n) = (self.chunk_rows(), self.weights.len());
        let n_sums = 2 * k + n_curvatures;
        let mut sums = CLASSES.filled(0.0, n.div_ceil(size) * n_sums)?;
        let mut shares = of_rows.shares.chunks_mut(size * k);
        let chunks = of_rows.losses.chunks_mut(size).zip(sums.chunks_exact_mut(n_sums)).enumerate();
        let jobs = chunks.map(|(i, (losses, sums))| (i * size, losses, sums, shares.next().unwrap_or_default()));
        let zeros = || CLASSES.filled(0.0, k);
        let scratch = || Ok(Scratch { moved: zeros()?, shares: zeros()?, directions: zeros()? });
        pool::for_each(control.n_threads(), jobs, scratch, |scratch, (first, losses, sums, shares)| {
            control.check()?;
            let (high, sums) = sums.split_at_mut(k);
            let (low, curvature) = sums.split_at_mut(k);
            let mut sums = Sums { high, low, curvature };
            let mut shares = shares.chunks_exact_mut(k);
            vectorised(
                #[inline(always)]
                || {
                    for (row, loss) in (first..).zip(losses) {
                        let shares = shares.next().unwrap_or_default();
                        if self.weights[row] > 0.0 {
                            *loss = self.add_row(row, steps, grids, scratch, &mut sums, shares);
                        }
                    }
                },
            );
            Ok(())
        })?;
        let mut all = CLASSES.filled(0.0, n_sums)?;
        sums.chunks_exact(n_sums).for_each(|sums| add(&mut all, sums));
        let curvature = CLASSES.copied(&all[2 * k..])?;
        let (high, low) = all[..2 * k].split_at(k);
        let gradient = CLASSES.collected(high.iter().zip(low).map(|(high, low)| high + low))?;
        Ok(Derivatives { value: weighted_sum(self.weights, &of_rows.losses), gradient, curvature })
    }

    /// Adds the derivatives of a sample, and returns its loss.
    #[inline(always)]
    fn add_row(
        &self,
        row: usize,
        steps: &[f64],
        grids: StepGrids,
        scratch: &mut Scratch,
        sums: &mut Sums<'_>,
        shares: &mut [f32],
    ) -> f64 {
        let (k, class, w) = (self.n_classes, self.classes[row] as usize, self.weights[row]);
        let StepGrids { slopes, squares, .. } = grids;
        // These are plain loops over slices of equal length, which are compiled for the available registers.
        let (moved, p) = (&mut scratch.moved[..k], &mut scratch.shares[..k]);
        let g = &self.directions(row, &mut scratch.directions)[..k];
        let (scores, steps) = (&self.scores[row * k..][..k], &steps[..k]);
        for a in 0..k {
            moved[a] = scores[a].to_f64() + steps[a] * g[a];
        }
        let of_row = RowSums::write(class, moved, p);
        let inverse = of_row.inverse();
        let (high, low) = (&mut sums.high[..k], &mut sums.low[..k]);
        for a in 0..k {
            p[a] *= inverse;
            let [more, rest] = slopes.products(w, g[a] * p[a]);
            high[a] += more;
            low[a] += rest;
        }
        // 1 − p for the sample's class, without a loss of digits.
        let (on, off) = (of_row.own * inverse, (of_row.others * inverse).min(1.0));
        let [more, rest] = slopes.products(w, -g[class] * off);
        high[class] += more;
        low[class] += rest;
        if self.is_whole() {
            p[class] = on;
            for a in 0..k {
                let along = g[a] * p[a];
                let (others, g, p) = (&mut sums.curvature[a * k..][..=a], &g[..=a], &p[..=a]);
                for b in 0..a {
                    others[b] -= squares.product(w, along * (g[b] * p[b]));
                }
                let rest = if a == class { off } else { 1.0 - p[a] };
                others[a] += squares.product(w, g[a] * along * rest);
            }
        } else {
            let (curvature, shares) = (&mut sums.curvature[..k], &mut shares[..k]);
            for a in 0..k {
                curvature[a] += squares.product(w, g[a] * g[a] * p[a] * (1.0 - p[a]));
                shares[a] = if p[a] < LEAST_SHARE { 0.0 } else { p[a] as f32 };
            }
            curvature[class] += squares.product(w, g[class] * g[class] * on * off);
            shares[class] = on as f32;
        }
        of_row.loss()
    }

    /// Returns Σ w H v, with H = g gᵀ ∘ (diag(p) − p pᵀ) for each sample.
    fn curvature_along(&self, v: &[f64], shares: &[f32], grids: StepGrids, control: &Control) -> Result<Vec<f64>> {
        let k = self.n_classes;
        // Probabilities in float32 may add up to slightly more than 1.
        let grid = grids.rounding.grid(4.0 * grids.largest * grids.largest * most(v));
        let (size, n) = (self.chunk_rows(), self.weights.len());
        let mut sums = CLASSES.filled(0.0, n.div_ceil(size) * k)?;
        let jobs = shares.chunks(size * k).zip(sums.chunks_exact_mut(k)).enumerate();
        let zeros = || CLASSES.filled(0.0, k);
        let scratch = || Ok((zeros()?, zeros()?));
        pool::for_each(control.n_threads(), jobs, scratch, |(directions, apart), (chunk, (shares, sums))| {
            control.check()?;
            vectorised(
                #[inline(always)]
                || {
                    for (row, p) in (chunk * size..).zip(shares.chunks_exact(k)) {
                        let w = self.weights[row];
                        if w == 0.0 {
                            continue;
                        }
                        let g = &self.directions(row, directions)[..k];
                        let class = self.classes[row] as usize;
                        // Differences are taken from the sample's class, whose p may be close to 1, so that no digits
                        // are lost.
                        let own = g[class] * v[class];
                        let (apart, v, p, sums) = (&mut apart[..k], &v[..k], &p[..k], &mut sums[..k]);
                        for a in 0..k {
                            apart[a] = g[a] * v[a] - own;
                        }
                        let mean = dot(p, apart);
                        for a in 0..k {
                            sums[a] += grid.product(w, g[a] * f64::from(p[a]) * (apart[a] - mean));
                        }
                    }
                },
            );
            Ok(())
        })?;
        let mut all = zeros()?;
        sums.chunks_exact(k).for_each(|sums| add(&mut all, sums));
        Ok(all)
    }

    /// Returns an approximation of −H⁻¹ gradient by conjugate gradients, with the diagonal as preconditioner.
    /// Components that are held stay zero.
    fn conjugate_descent(
        &self,
        here: &Derivatives,
        shares: &[f32],
        grids: StepGrids,
        control: &Control,
    ) -> Result<Vec<f64>> {
        let more = here.damping();
        let scaled = |r: &[f64]| CLASSES.collected(r.iter().zip(&here.curvature).map(|(r, d)| r / (d.max(0.0) + more)));
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let downhill = || CLASSES.collected(here.gradient.iter().map(|g| -g));
        let mut rest = downhill()?;
        let mut descent = CLASSES.filled(0.0, rest.len())?;
        let mut along = scaled(&rest)?;
        let mut size = dot(&rest, &along);
        let least = LEFT_OF_GRADIENT * LEFT_OF_GRADIENT * size;
        for _ in 0..MOST_PRODUCTS {
            let mut bent = self.curvature_along(&along, shares, grids, control)?;
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

    /// Returns arg min_ρ of the loss with |ρ| ≤ 1000. Each point of the search has a lower loss than the previous one,
    /// and the first is 0. The bits are the same for any number of threads.
    pub(crate) fn step(&self, control: &Control) -> Result<Vec<f64>> {
        let (k, n) = (self.n_classes, self.weights.len());
        let mut steps = CLASSES.filled(0.0, k)?;
        let mut of_rows = OfRows {
            losses: control.filled(Purpose("the losses of rows"), 0.0, n)?,
            shares: control.filled(
                Purpose("the probabilities of classes"),
                0.0,
                if self.is_whole() { 0 } else { n * k },
            )?,
        };
        let grids = StepGrids::new(self.largest_direction(), Rounding::of(self.weights));
        let mut here = self.derivatives(&steps, &mut of_rows, grids, control)?;
        let mut least = None;
        for _ in 0..MOST_ROUNDS {
            here.hold(&steps);
            let steepest = most(&here.gradient);
            if steepest <= *least.get_or_insert(SEARCHED * steepest) {
                break;
            }
            let mut descent = if self.is_whole() {
                here.descent()?
            } else {
                self.conjugate_descent(&here, &of_rows.shares, grids, control)?
            };
            if self.per_leaf == 1 && most(&steps) < LARGEST_STEP {
                // Moving all classes by the same amount along one direction changes nothing, so that this component
                // would be determined only by rounding.
                let mean = descent.iter().sum::<f64>() / k as f64;
                descent.iter_mut().for_each(|d| *d -= mean);
            }
            let whole: f64 = here.gradient.iter().zip(&descent).map(|(g, d)| -g * d).sum();
            let moved = |length: f64| {
                let moved = steps.iter().zip(&descent).map(|(s, d)| s + length * d);
                CLASSES.collected(moved.map(|s| s.clamp(-LARGEST_STEP, LARGEST_STEP)))
            };
            if whole <= LOST * here.value {
                // Values determine a step only to half of their digits. The last step doubles the number of digits.
                let last = moved(1.0)?;
                if self.derivatives(&last, &mut of_rows, grids, control)?.value <= here.value {
                    steps = last;
                }
                break;
            }
            let mut lower = |halvings: i32| -> Result<Option<(Vec<f64>, Derivatives)>> {
                let next = moved(power_of_two(-halvings))?;
                let promised: f64 =
                    (here.gradient.iter().zip(next.iter().zip(&steps))).map(|(g, (n, s))| g * (n - s)).sum();
                let there = self.derivatives(&next, &mut of_rows, grids, control)?;
                let is_lower = there.value < here.value && there.value <= here.value + GAIN * promised;
                Ok(is_lower.then_some((next, there)))
            };
            let first = (0..MOST_HALVINGS).find_map(|halvings| lower(halvings).transpose());
            let Some(found) = first.transpose()? else { break };
            (steps, here) = found;
        }
        Ok(steps)
    }

    /// Returns max |g| over leaves with samples of positive weight.
    fn largest_direction(&self) -> f64 {
        let leaves = self.leaf_of.iter().zip(self.weights).filter(|(_, w)| **w > 0.0).map(|(&leaf, _)| leaf as usize);
        let (mut largest, mut last) = (0.0, usize::MAX);
        for leaf in leaves {
            if leaf != last {
                largest = f64::max(largest, most(&self.directions[leaf * self.per_leaf..][..self.per_leaf]));
                last = leaf;
            }
        }
        largest
    }
}

fn most(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |most, x| most.max(x.abs()))
}

impl Derivatives {
    /// Removes steps that are at their bound and would exceed it. The others are searched as if these were constants.
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

    /// Moving all classes by the same amount may change nothing, and scores far away have no curvature. Adding this
    /// value to the curvature keeps steps finite; it decreases to 0 with the gradient.
    fn damping(&self) -> f64 {
        let k = self.gradient.len();
        let diagonal = |i: usize| if self.curvature.len() == k { self.curvature[i] } else { self.curvature[i * k + i] };
        1e-9 * (0..k).map(diagonal).fold(0.0, f64::max) + 1e-4 * most(&self.gradient)
    }

    /// Returns −H⁻¹ gradient, if H is computed explicitly.
    fn descent(&self) -> Result<Vec<f64>> {
        let k = self.gradient.len();
        let more = self.damping();
        let by_diagonal = |i: usize| -self.gradient[i] / (2.0 * self.curvature[i * k + i].max(0.0) + more);
        let Some(mut descent) = cholesky::solve(&self.curvature, more, &self.gradient)? else {
            return CLASSES.collected((0..k).map(by_diagonal));
        };
        descent.iter_mut().for_each(|x| *x = -*x);
        Ok(descent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::softmax::loss;
    use crate::loss::{LineProblem, LogLoss, Loss};
    use proptest::prelude::*;

    /// Returns Σ w ℓ at ρ, computed sample by sample.
    fn loss_at(problem: &SoftmaxProblem<'_, f64>, steps: &[f64]) -> f64 {
        let k = problem.n_classes;
        let of_row = |row: usize| {
            let g = &problem.directions[problem.leaf_of[row] as usize * problem.per_leaf..];
            let moved: Vec<f64> =
                (0..k).map(|a| problem.scores[row * k + a] + steps[a] * g[a % problem.per_leaf]).collect();
            loss(problem.classes[row] as usize, &moved)
        };
        let terms: Vec<f64> = (0..problem.weights.len()).map(of_row).collect();
        weighted_sum(problem.weights, &terms)
    }

    proptest! {
        #[test]
        fn steps_are_stationary_never_worse_and_blind_to_order(
            rows in prop::collection::vec((0u32..4, prop::array::uniform4(-1f64..1.0), prop::array::uniform4(-2f64..2.0), 0u8..3), 1..30),
            scale in prop::sample::select(vec![0.0, 1.0, 5.0, 1000.0]), one in any::<bool>(), wide in any::<bool>(),
        ) {
            // If there are many classes, most of which never occur, the Hessian is not computed explicitly.
            let k = if wide { MOST_WHOLE + 2 } else { 4 };
            let pad = |x: &[f64; 4], scale: f64| -> Vec<f64> { (0..k).map(|j| if j < 4 { x[j] * scale } else { 0.0 }).collect() };
            let build = |rows: &[(u32, [f64; 4], [f64; 4], f64)]| {
                let classes: Vec<u32> = rows.iter().map(|r| r.0).collect();
                let scores: Vec<f64> = rows.iter().flat_map(|r| pad(&r.1, scale)).collect();
                let many: Vec<f64> = rows.iter().flat_map(|r| pad(&r.2, 1.0)).collect();
                let single: Vec<f64> = rows.iter().map(|r| r.2[0]).collect();
                let weights: Vec<f64> = rows.iter().map(|r| r.3).collect();
                let (directions, per_leaf) = if one { (&single, 1) } else { (&many, k) };
                let leaf_of: Vec<u32> = (0..rows.len() as u32).collect();
                let problem = SoftmaxProblem {
                    n_classes: k, classes: &classes, scores: &scores, directions, per_leaf, leaf_of: &leaf_of, weights: &weights,
                };
                let step = problem.step(&Control::default()).unwrap();
                let loss = |steps: &[f64]| loss_at(&problem, steps);
                let probe = |at: usize, by: f64| { let mut s = step.clone(); s[at] = (s[at] + by).clamp(-1000.0, 1000.0); loss(&s) };
                let lowest = (0..4).flat_map(|at| [-1.0, -1e-2, 1e-2, 1.0].map(|by| probe(at, by))).fold(f64::INFINITY, f64::min);
                (loss(&vec![0.0; k]), loss(&step), lowest, step)
            };
            let whole: Vec<_> = rows.iter().map(|r| (r.0, r.1, r.2, f64::from(r.3))).collect();
            let (before, after, lowest, step) = build(&whole);
            prop_assert!(after <= before && step.iter().all(|s| s.abs() <= LARGEST_STEP));
            // A probe moves one component by at most 1, so it gains less than the gradient, which is 10⁻⁸ of the first
            // one.
            let first: f64 = whole.iter().map(|r| r.3 * r.2.iter().fold(0.0, |most: f64, g| most.max(g.abs()))).sum();
            if scale <= 5.0 {
                prop_assert!(after <= lowest + SEARCHED * first + 1e-12 * before, "{after} {lowest} of {before} at {step:?}");
            }
            let repeated: Vec<_> = rows.iter().rev().flat_map(|r| std::iter::repeat_n((r.0, r.1, r.2, 1.0), r.3.into())).collect();
            prop_assert_eq!(step, build(&repeated).3);
        }

        #[test]
        fn two_classes_are_the_logistic_loss(rows in prop::collection::vec((any::<bool>(), -2f64..2.0, -1f64..1.0), 12..40)) {
            // With f = (−s, s) and g = (−d, d), the logistic step moves both classes by the same amount. The joint step
            // may be better.
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
            let step = LogLoss.step(&LineProblem { y: &y, scores: &s, direction: &d, weights: &weights, control: &Control::default() }).unwrap();
            let leaf_of: Vec<u32> = (0..rows.len() as u32).collect();
            let problem = SoftmaxProblem {
                n_classes: 2, classes: &classes, scores: &scores, directions: &g, per_leaf: 2, leaf_of: &leaf_of, weights: &weights,
            };
            let logistic = LineProblem { y: &y, scores: &s, direction: &d, weights: &weights, control: &Control::default() }.loss(&LogLoss, step).unwrap();
            // A logarithm of a sum minus a score is rounded in units of the scores, not of the difference.
            let rounding = 1e-12 * (logistic + step.abs().max(1.0));
            let loss = |steps: &[f64]| loss_at(&problem, steps);
            prop_assert!((loss(&[step, step]) - logistic).abs() <= rounding);
            let found = problem.step(&Control::default()).unwrap();
            prop_assert!(loss(&found) <= loss(&[0.0, 0.0]));
            // Only the sum of both steps matters. If labels are separable, the minimum is at infinity, and the search
            // ends where the gradient has decreased to its fraction.
            if step.abs() < 5.0 {
                // The loss is flat at the minimum, so that a step is determined only to the root of the remaining loss.
                prop_assert!((0.5 * (found[0] + found[1]) - step).abs() <= 1e-3 * (1.0 + step.abs()), "{found:?} {step}");
            }
        }
    }
}
