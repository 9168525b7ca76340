//! Minimisation of the logistic loss along a line, from sums over leaves.
//!
//! All samples of a leaf ℓ move by the same amount, δ = ρ g_ℓ. With p the probability of a sample to be on, and sums
//! over the leaf,
//!
//! ```text
//! Σ w p(δ)  ≈  Σ w p + H/4 · (E − 1) / (1 + κ (E − 1)),   E = e^(2δ),   H = 4 Σ w p (1 − p)
//! ```
//!
//! This is exact with κ = p if all samples of the leaf have the same score; in general it has the right value and slope
//! at δ = 0 and tails of the right shape. κ is the mean of p, weighted by p: 1 − H / 4Σwp (or the same of 1 − p, if
//! that is the smaller sum). The minimum of this *model* is found without the data, and is the next point at which the
//! data are evaluated.
//!
//! # Guarantees
//!
//! Points on the way may be anywhere. The point that is returned has no higher loss than 0, as shown by slopes alone:
//!
//! * the loss φ is convex: where the slope still has the sign that it has at 0, φ has fallen all the way;
//! * past the minimum at ρ, φ(0) ≥ φ(ρ) − |φ'| ρ + φ'' ρ² ω(−Mρ), ω(t) = (e^t − t − 1)/t², as |φ'''| ≤ M φ'' (see
//!   `line_search`), so φ(ρ) ≤ φ(0) if |φ'|/φ'' ≤ ρ ω(−Mρ);
//! * a last step of length Δ against the slope of such a point lowers φ further while Δ ω(MΔ) ≤ |φ'|/φ''.
//!
//! Lengths are in units of 1/max|g|: a length is the displacement of the leaf that moves most, and M is then 2.

use crate::elementary::exp_m1;
use crate::error::{Purpose, Result};
use crate::loss::LARGEST_STEP;
use crate::loss::kernels::vector::vectorised;
use crate::loss::rows::log_loss_rows::exp;

/// Relative error at which a step is accepted: its loss exceeds the minimum by 10⁻⁸ of what the step gains, far less
/// than what the learning rate gives away.
const SEARCHED: f64 = 1e-4;
/// Maximum number of evaluations; after them, the best guaranteed point is taken.
const MOST_ROUNDS: u32 = 40;
/// How far the model is initially followed at once: odds change by e⁸.
const TRUSTED: f64 = 4.0;
/// Number of rounds after which brackets are halved in every other round.
const LONG: u32 = 8;
/// The maximum of M|φ'|/φ'' for a last step.
const NEAR: f64 = 0.25;
/// Newton steps up to this length are as good as those of the model, which loses digits.
const TINY: f64 = 1.0 / 256.0;
/// Number of lanes in the sums of the model.
const LANES: usize = 8;

/// Σ w r and Σ w h of each leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafDerivatives<'a> {
    pub(crate) gradients: &'a [f64],
    pub(crate) curvatures: &'a [f64],
}

/// What stays the same along a line, for each leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafLine<'a> {
    /// The directions g.
    pub(crate) directions: &'a [f64],
    /// The total weight of the samples.
    pub(crate) weights: &'a [f64],
    /// The total weight of the samples that are on.
    pub(crate) on: &'a [f64],
}

/// The model of all leaves, in single precision: it proposes points, and decides nothing.
#[derive(Debug, Default)]
pub(crate) struct LeafModel {
    /// 2g / max|g| of each leaf.
    rates: Vec<f32>,
    /// gH / 2 max|g| of each leaf.
    sizes: Vec<f32>,
    /// κ of each leaf.
    bends: Vec<f32>,
}

/// Slope and curvature of the loss, with lengths in units of 1/max|g|.
#[derive(Clone, Copy, Debug)]
struct Slope {
    slope: f64,
    curvature: f64,
    /// A bound on the third derivative at this point.
    third: f64,
}

/// The state of a search.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Search {
    /// 1 / max|g|.
    scale: f64,
    /// The sign of the step. All lengths are measured in this direction; the slope at `near` still has the sign that it
    /// has at 0, the slope at `far` has the other one.
    ahead: f64,
    at: f64,
    near: f64,
    far: f64,
    end: f64,
    trusted: f64,
    round: u32,
}

/// The next step of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// The sums at this point.
    At(f64),
    /// Nothing: this is the point of least loss, as far as it is searched, |ρ| ≤ 1000.
    Done(f64),
}

impl Search {
    /// Begins a search at 0, where the sums are `sums`; [`Self::next`] must be called with these first.
    pub(crate) fn new(line: LeafLine<'_>, sums: LeafDerivatives<'_>) -> Self {
        let largest = line.directions.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
        let (scale, end) = (1.0 / largest, LARGEST_STEP * largest);
        let ahead = -line.slope(scale, sums).slope.signum();
        Search { scale, ahead, at: 0.0, near: 0.0, far: end, end, trusted: TRUSTED, round: 0 }
    }

    fn step(&self, length: f64) -> f64 {
        (self.ahead * length * self.scale).clamp(-LARGEST_STEP, LARGEST_STEP)
    }

    /// Continues from `sums`, which must be those of the point that was asked for last.
    pub(crate) fn next(&mut self, line: LeafLine<'_>, model: &mut LeafModel, sums: LeafDerivatives<'_>) -> Next {
        if !self.scale.is_finite() {
            return Next::Done(0.0);
        }
        self.round += 1;
        let (round, at) = (self.round, self.at);
        if round > MOST_ROUNDS {
            return Next::Done(self.step(self.near));
        }
        let here = line.slope(self.scale, sums);
        let slope = here.slope * self.ahead;
        if slope == 0.0 || !slope.is_finite() || !here.curvature.is_finite() {
            return Next::Done(self.step(at));
        }
        *(if slope < 0.0 { &mut self.near } else { &mut self.far }) = at;
        let (near, far) = (self.near, self.far);
        let newton = slope.abs() / here.curvature.max(f64::MIN_POSITIVE);
        let moved = if newton <= TINY {
            newton
        } else {
            model.take(&line, self.scale, sums);
            model.least(here, self.trusted)
        };
        let next = (at - slope.signum() * moved).clamp(near, far);
        let is_certain = slope < 0.0 || newton <= at * omega(-2.0 * at);
        let is_near = 2.0 * newton <= NEAR && moved <= 1.5 * newton;
        // The error of the Newton step is less than this times e^(2Δ), and that of the model is less than that of the
        // Newton step.
        let error = 0.5 * here.third / here.curvature * newton * newton;
        if is_near && is_certain && error <= SEARCHED * next {
            return Next::Done(self.step(next));
        }
        // A point of the model outside the bracket of slopes is wrong.
        let is_out = (next == near && at > near) || (next == far && far < self.end);
        let is_long = round >= LONG && round % 2 == 0 && far < self.end;
        let next = if is_out || is_long { 0.5 * (near + far) } else { next };
        if next == at || next == near {
            return Next::Done(self.step(near));
        }
        // If the samples are separated, the loss has no minimum: the steps towards it grow slowly at first, and end
        // where gradients are too small to be summed.
        if round > 1 {
            self.trusted *= 2.0;
        }
        self.at = next;
        Next::At(self.step(next))
    }
}

impl LeafLine<'_> {
    fn slope(&self, scale: f64, sums: LeafDerivatives<'_>) -> Slope {
        let mut all = Slope { slope: 0.0, curvature: 0.0, third: 0.0 };
        for ((g, gradient), curvature) in self.directions.iter().zip(sums.gradients).zip(sums.curvatures) {
            let u = g * scale;
            let h = u * u * curvature;
            all.slope -= u * gradient;
            all.curvature += h;
            all.third += 2.0 * u.abs() * h;
        }
        all
    }
}

/// Returns (e^t − t − 1) / t² for t ≤ 0.
fn omega(t: f64) -> f64 {
    // Near 0 the quotient loses its digits. It is convex and decreases to the left, so that its tangent is a lower
    // bound.
    if t > -1e-3 { 0.5 + t / 6.0 } else { (exp_m1(t) - t) / (t * t) }
}

impl LeafModel {
    /// Allocates memory for `n` leaves.
    pub(crate) fn with_leaves(n: usize) -> Result<Self> {
        let room = || Purpose("the leaves of a stage").with_capacity(n.next_multiple_of(LANES));
        Ok(LeafModel { rates: room()?, sizes: room()?, bends: room()? })
    }

    fn take(&mut self, line: &LeafLine<'_>, scale: f64, sums: LeafDerivatives<'_>) {
        let n = line.directions.len().next_multiple_of(LANES);
        for of_leaves in [&mut self.rates, &mut self.sizes, &mut self.bends] {
            of_leaves.clear();
            // Leaves that do not move fill the last lanes.
            of_leaves.resize(n, 0.0);
        }
        for (leaf, g) in line.directions.iter().enumerate() {
            let (u, quarter) = (g * scale, 0.25 * sums.curvatures[leaf]);
            let on = line.on[leaf] - 0.5 * sums.gradients[leaf];
            let off = line.weights[leaf] - on;
            let bend = if on <= off {
                1.0 - quarter / on.max(f64::MIN_POSITIVE)
            } else {
                quarter / off.max(f64::MIN_POSITIVE)
            };
            self.rates[leaf] = (2.0 * u) as f32;
            self.sizes[leaf] = (2.0 * u * quarter) as f32;
            self.bends[leaf] = bend.clamp(0.0, 1.0) as f32;
        }
    }

    /// Returns by how much the slope and the curvature of the model change over the distance `by`.
    fn at(&self, by: f64) -> (f64, f64) {
        vectorised(
            #[inline(always)]
            || {
                let by = by as f32;
                let (rates, sizes, bends) = (
                    self.rates.as_chunks::<LANES>().0,
                    self.sizes.as_chunks::<LANES>().0,
                    self.bends.as_chunks::<LANES>().0,
                );
                let (mut slopes, mut curvatures) = ([0.0f32; LANES], [0.0f32; LANES]);
                for ((rates, sizes), bends) in rates.iter().zip(sizes).zip(bends) {
                    for lane in 0..LANES {
                        let odds = exp((rates[lane] * by).clamp(-80.0, 80.0));
                        let quotient = 1.0 / (1.0 + bends[lane] * (odds - 1.0));
                        slopes[lane] += sizes[lane] * (odds - 1.0) * quotient;
                        curvatures[lane] += sizes[lane] * rates[lane] * odds * quotient * quotient;
                    }
                }
                let sum = |lanes: [f32; LANES]| lanes.iter().copied().map(f64::from).sum();
                (sum(slopes), sum(curvatures))
            },
        )
    }

    /// Returns the distance to the minimum of the model, against the slope, at most `trusted`.
    fn least(&self, here: Slope, trusted: f64) -> f64 {
        const ENOUGH: f64 = 1e-3;
        let back = -here.slope.signum();
        let (mut low, mut high) = (0.0, trusted);
        let mut x = (here.slope.abs() / here.curvature.max(f64::MIN_POSITIVE)).min(trusted);
        for _ in 0..30 {
            let (change, curvature) = self.at(back * x);
            // Negative before the minimum.
            let slope = (here.slope + change) * back;
            if slope < 0.0 && x == trusted {
                return trusted;
            }
            *(if slope < 0.0 { &mut low } else { &mut high }) = x;
            let newton = x - slope / curvature;
            let next = if newton > low && newton < high {
                newton
            } else if slope < 0.0 && high == trusted {
                trusted
            } else {
                0.5 * (low + high)
            };
            let moved = (next - x).abs();
            x = next;
            if moved <= ENOUGH * x {
                break;
            }
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::loss::{LineProblem, LogLoss, Loss};
    use proptest::prelude::*;

    /// The leaves: g, and y and the score of each sample.
    type Leaves = Vec<(f64, Vec<(bool, f64)>)>;

    fn leaves(scale: f64, rare: u32) -> impl Strategy<Value = Leaves> {
        let row = (prop::sample::select((0..=rare).map(|i| i == 0).collect::<Vec<_>>()), -scale..scale);
        prop::collection::vec((-2f64..2.0, prop::collection::vec(row, 1..12)), 1..10)
    }

    /// Returns the step, the best step, the losses at 0 and at both steps, and the number of evaluations.
    fn search(leaves: &Leaves) -> (f64, f64, [f64; 3], u32) {
        let rows =
            || leaves.iter().flat_map(|(g, rows)| rows.iter().map(move |&(y, f)| (if y { 1.0 } else { -1.0 }, f, *g)));
        let of = |part: fn((f64, f64, f64)) -> f64| rows().map(part).collect::<Vec<f64>>();
        let (y, scores, direction) = (of(|r| r.0), of(|r| r.1), of(|r| r.2));
        let weights = vec![1.0; y.len()];
        let problem = LineProblem {
            y: &y,
            scores: &scores,
            direction: &direction,
            weights: &weights,
            control: &Control::default(),
        };
        let evaluate = |point: f64| -> (Vec<f64>, Vec<f64>) {
            leaves
                .iter()
                .map(|(g, rows)| {
                    let at = |&(y, f): &(bool, f64)| (if y { 1.0 } else { -1.0 }, f + point * g);
                    let rows = || rows.iter().map(at);
                    let gradient: f64 = rows().map(|(y, f)| LogLoss.negative_gradient(y, f)).sum();
                    (gradient, rows().map(|(y, f)| LogLoss.curvature(y, f)).sum::<f64>())
                })
                .unzip()
        };
        let directions: Vec<f64> = leaves.iter().map(|l| l.0).collect();
        let of_leaves: Vec<f64> = leaves.iter().map(|l| l.1.len() as f64).collect();
        let on: Vec<f64> = leaves.iter().map(|l| l.1.iter().filter(|r| r.0).count() as f64).collect();
        let line = LeafLine { directions: &directions, weights: &of_leaves, on: &on };
        fn sums_of((gradients, curvatures): &(Vec<f64>, Vec<f64>)) -> LeafDerivatives<'_> {
            LeafDerivatives { gradients, curvatures }
        }
        let (mut sums, mut rounds) = (evaluate(0.0), 0);
        let (mut search, mut model) = (Search::new(line, sums_of(&sums)), LeafModel::default());
        let step = loop {
            match search.next(line, &mut model, sums_of(&sums)) {
                Next::Done(step) => break step,
                Next::At(point) => sums = evaluate(point),
            }
            rounds += 1;
        };
        let (step, best) = (step, LogLoss.step(&problem).unwrap());
        (step, best, [0.0, step, best].map(|step| problem.loss(&LogLoss, step).unwrap()), rounds)
    }

    proptest! {
        #[test]
        fn the_end_is_never_worse_than_the_start(near in leaves(3.0, 1), rare in leaves(6.0, 8), far in leaves(1e3, 2)) {
            for leaves in [near, rare, far] {
                let (step, _, [start, end, _], rounds) = search(&leaves);
                // Gradients below the smallest normal number are replaced by it, so that losses of this size are not
                // significant.
                prop_assert!(end <= start * (1.0 + 1e-14) + 1e-300, "{start:e} {end:e}");
                prop_assert!(rounds <= MOST_ROUNDS && step.abs() <= LARGEST_STEP);
            }
        }

        #[test]
        fn the_end_is_near_the_minimum(near in leaves(3.0, 1), rare in leaves(6.0, 8)) {
            for leaves in [near, rare] {
                let (step, best, _, _) = search(&leaves);
                // If all samples improve by steps of the same sign, there is no minimum, and the line search stops
                // anywhere.
                let wants = |up: bool| leaves.iter().any(|(g, rows)| *g != 0.0 && rows.iter().any(|r| r.0 == (up == (*g > 0.0))));
                if best.abs() < 5.0 && wants(true) && wants(false) {
                    // The search of leaves ends at this relative error of the step, and the line search at a much
                    // smaller one.
                    prop_assert!((step - best).abs() <= 2.0 * SEARCHED * best.abs() + 1e-9, "{step} {best}");
                }
            }
        }
    }

    #[test]
    fn samples_with_equal_scores_need_one_evaluation() {
        // Of 9 and 99 samples with the same score, one each is positive: the model is exact.
        let leaf = |g, n| (g, (0..n).map(|i| (i == 0, -2.0)).collect::<Vec<_>>());
        let (step, best, _, rounds) = search(&vec![leaf(0.18, 9), leaf(-0.02, 99)]);
        assert!((step - best).abs() <= 1e-4 * best.abs() && rounds <= 1, "{step} {best} {rounds}");
    }
}
