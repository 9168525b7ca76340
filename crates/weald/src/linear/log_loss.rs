//! Dual coordinate descent for sixteen columns at a time: logistic regression with L2, one against the rest.
//!
//! For each column, minimise ½ ‖w‖² + ½ ((b − b₀) / s)² + C Σᵢ cᵢ ln(1 + exp(−yᵢ mᵢ)), with the margins mᵢ = w · xᵢ + b,
//! the weights cᵢ of samples, the scaling s of the intercept b, and the log-odds b₀ of the column. Each sample has a dual
//! variable 0 < αᵢ < C cᵢ, with w = Σ αᵢ yᵢ xᵢ and b = b₀ + s² Σ αᵢ yᵢ. At the optimum αᵢ = C cᵢ σ(−yᵢ mᵢ), where σ is the
//! logistic function. So αᵢ is stored as the margin uᵢ that it stands for, αᵢ = C cᵢ σ(−uᵢ): it is inside its bounds, has all
//! its digits near both of them, and no logarithm is needed.
//!
//! A step sets one variable to its optimum for the others, where the margin z that the sample will have is the one that its
//! variable stands for: z = yᵢ mᵢ + q (σ(−z) − σ(−uᵢ)), q = C cᵢ (‖xᵢ‖² + s²). The difference of the two sides grows with
//! z and bends once, at 0. Newton's method starts at yᵢ mᵢ and never goes beyond 0 to the side where the solution is not;
//! from the side of 0 it then comes nearer with every step, one or two of which suffice as a rule.
//!
//! The duality gap is the sum over samples of C cᵢ times the relative entropy of σ(−uᵢ) and σ(−yᵢ mᵢ), which is at most
//! C cᵢ (σ(−uᵢ) − σ(−yᵢ mᵢ)) (yᵢ mᵢ − uᵢ). The loss of the samples is at least Σ C cᵢ σ(−yᵢ mᵢ). A column is finished when
//! the former sum is at most `tol` times the latter. If what a pass over all samples found before each step says so, the next
//! pass takes no steps and finds the sums of weights that stay the same. Samples with a tenth of an equal part in the gap or
//! less are left out of the passes until the others are finished, or for ten passes.
//!
//! Sources: Yu, Huang and Lin, *Dual coordinate descent methods for logistic regression and maximum entropy models*, 2011;
//! the rest is that of `solve`.

use super::problem::Problem;
use super::solve::{Block, Columns, LANES, Lanes, Row, larger, ones};
use crate::control::Control;
use crate::elementary::power_of_two;
use crate::error::Result;
use crate::exact::exponent_above;

/// The margin of a dual variable of about 0. Beyond it, σ is constant.
pub(super) const FAR: f32 = 80.0;

/// Returns e^x for −[`FAR`] ≤ x ≤ 0 with a relative error of at most 2·10⁻⁷, and e^(−[`FAR`]) below: x = n ln 2 + r with
/// |r| ≤ ½ ln 2, and e^r is its Taylor series up to r⁷, whose next term is below 10⁻⁸. It has the same bits on any machine.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    /// Adding this number rounds to an integer, which is then in the low bits.
    const ROUND: f32 = 1.5 * (1u32 << 23) as f32;
    /// ln 2 in two parts. The products of the first part with integers below 2⁹ are exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    /// 1/k!.
    const C: [f32; 8] = {
        let mut c = [1.0; 8];
        let mut k = 1;
        while k < 8 {
            c[k] = c[k - 1] / k as f32;
            k += 1;
        }
        c
    };
    let x = larger(x, -FAR);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN_2[0]) - n * LN_2[1];
    let r2 = r * r;
    let low = (C[2] + C[3] * r) + (C[4] + C[5] * r) * r2;
    let high = (C[6] + C[7] * r) * (r2 * r2);
    let mantissa = 1.0 + (r + r2 * (low + high));
    f32::from_bits(mantissa.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// Returns σ(−z) and σ(z), each with all its digits.
#[inline(always)]
pub(super) fn sides(z: f32) -> (f32, f32) {
    let small = exp(-z.abs());
    let most = 1.0 / (1.0 + small);
    let least = small * most;
    if z >= 0.0 { (least, most) } else { (most, least) }
}

/// Newton's method ends with a step of at most this, or after so many steps. The next step would be some square of it: with
/// errors of a thousandth, equal samples of large weight push each other to and fro, and a column never finishes.
const NEAR: f32 = 1e-3;
const MOST_STEPS: usize = 100;

/// Above this, single precision does not hold what a step needs: the sample stays as it is, and the column unfinished.
const TOO_LONG: f32 = 1e30;

/// The exponent of the largest strength if a sample is too long. The penalty is small beside the loss, and yet columns are
/// finished as a rule: they are not with strengths of some thousands, where single precision does not hold small changes.
const STRONG: i32 = 7;

/// All samples are looked at in one of so many passes at least: with a `tol` that single precision does not reach, the others
/// never finish.
const OFTEN: u64 = 10;

/// Samples whose part in the gap is this many times below what is allowed for each are left out.
const FEW: f64 = 10.0;

/// Returns the power of two by which the strengths of all samples are multiplied, for the strength and the length of each,
/// which is its strength times its square: one, unless a sample would be [`TOO_LONG`] by its strength.
pub(super) fn scale_of_strengths(of_samples: impl Iterator<Item = [f64; 2]>) -> f64 {
    let [strength, length] = of_samples.fold([0.0; 2], |[strength, length], of_sample| {
        [f64::max(strength, of_sample[0]), f64::max(length, of_sample[1])]
    });
    if length <= f64::from(TOO_LONG) { 1.0 } else { power_of_two((STRONG - exponent_above(strength)).min(0)) }
}

/// What a pass found for each column.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    /// An upper bound of the duality gap, and a lower bound of the loss.
    gaps: [f64; LANES],
    losses: [f64; LANES],
}

impl Block {
    /// Fits `n_columns` columns, after [`Block::start`].
    pub(super) fn solve_log_loss(&mut self, problem: &Problem<'_>, n_columns: usize, control: &Control) -> Result<()> {
        let all = Columns::MAX >> (LANES - n_columns);
        let everyone = [-1.0; LANES];
        self.pass_of_log_loss(problem, 0, [all, 0], everyone, control)?;
        self.active.copy_from_slice(&self.known);

        let (tol, n) = (problem.config.tol, problem.n_visits() as f64);
        // The columns of which no samples are left out, those among them whose weights stay in the next pass, and the part in
        // the gap below which a sample is left out.
        let (mut unfinished, mut whole, mut resting, mut bound) = (all, all, 0, everyone);
        let mut losses = [0.0; LANES];
        for pass in 1..=problem.config.max_iter as u64 {
            let found = self.pass_of_log_loss(problem, pass, [unfinished, resting], bound, control)?;
            self.n_passes = pass as usize;
            let mut looked_again: Columns = 0;
            let still = unfinished;
            for lane in (0..n_columns).filter(|lane| still >> lane & 1 != 0) {
                let bit = 1 << lane;
                if whole & bit != 0 {
                    losses[lane] = found.losses[lane];
                }
                let allowed = tol * losses[lane];
                // What is not a number is not finished.
                let is_near = found.gaps[lane] <= allowed;
                if is_near && resting & bit != 0 {
                    unfinished &= !bit;
                    self.is_finished[lane] = true;
                } else if is_near && whole & bit != 0 {
                    resting |= bit;
                    bound[lane] = -1.0;
                } else if is_near || pass % OFTEN == 0 {
                    looked_again |= bit;
                    whole |= bit;
                    resting &= !bit;
                    bound[lane] = -1.0;
                } else {
                    whole &= !bit;
                    resting &= !bit;
                    bound[lane] = (allowed / (FEW * n)) as f32;
                }
            }
            if looked_again != 0 {
                self.active.iter_mut().zip(&self.known).for_each(|(to, known)| *to |= known & looked_again);
            }
            if unfinished == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Visits all samples that are active for one of the `unfinished` columns; weights of `resting` ones stay the same. Those
    /// whose part in the gap is at most the `bound` of a column become inactive for it.
    fn pass_of_log_loss(
        &mut self,
        problem: &Problem<'_>,
        pass: u64,
        [unfinished, resting]: [Columns; 2],
        bound: Lanes,
        control: &Control,
    ) -> Result<Found> {
        self.set_order(problem.key.child(pass), unfinished);
        let scaling = (problem.config.intercept_scaling * problem.config.intercept_scaling) as f32;
        let mut found = Found::default();
        let mut pulse = control.pulse();
        for &i in &self.order {
            let i = i as usize;
            let (features, values) = problem.x(i);
            pulse.after(features.len() * LANES)?;
            let mut products = [0.0; LANES];
            for (&feature, &value) in features.iter().zip(values) {
                let Row(weights) = &self.weights[feature as usize];
                (0..LANES).for_each(|k| products[k] += value * weights[k]);
            }

            let on = self.active[i] & unfinished;
            let (is_on, is_positive) = (ones(on), ones(self.positive[i]));
            let [strength, reach] = problem.numbers(i, &self.shared);
            let mut moves = ones(on & !resting);
            (0..LANES).for_each(|k| moves[k] = if reach[k] <= TOO_LONG { moves[k] } else { 0.0 });
            let Row(duals) = &mut self.duals[i];
            let (mut signs, mut margins, mut shares) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
            for k in 0..LANES {
                signs[k] = 2.0 * is_positive[k] - 1.0;
                margins[k] = signs[k] * (self.intercepts[k] + products[k]);
                shares[k] = sides(duals[k]).0;
            }
            let solved = solved(&margins, &shares, &reach, &moves);
            let (mut changes, mut parts, mut losses, mut staying) =
                ([0.0; LANES], [0.0; LANES], [0.0; LANES], [0.0; LANES]);
            for k in 0..LANES {
                let of_margin = sides(margins[k]).0;
                parts[k] = is_on[k] * strength[k] * (shares[k] - of_margin) * (margins[k] - duals[k]);
                losses[k] = is_on[k] * strength[k] * of_margin;
                let next = if moves[k] != 0.0 { solved[k] } else { duals[k] };
                changes[k] = moves[k] * strength[k] * (sides(next).0 - shares[k]) * signs[k];
                duals[k] = next;
                staying[k] = if parts[k] > bound[k] { is_on[k] } else { 0.0 };
            }
            let staying = (0..LANES).fold(0, |bits, k| bits | Columns::from(staying[k] != 0.0) << k);
            self.active[i] = self.active[i] & !unfinished | staying;
            for k in 0..LANES {
                found.gaps[k] += f64::from(parts[k]);
                found.losses[k] += f64::from(losses[k]);
            }
            for (&feature, &value) in features.iter().zip(values) {
                let Row(weights) = &mut self.weights[feature as usize];
                (0..LANES).for_each(|k| weights[k] += value * changes[k]);
            }
            (0..LANES).for_each(|k| self.intercepts[k] += scaling * changes[k]);
        }
        Ok(found)
    }
}

/// Returns the margins z = m + q (σ(−z) − share) for the margins m, the shares and the q of a sample, in the columns that move.
/// What is found for a column does not depend on the others.
#[inline(always)]
pub(super) fn solved(margins: &Lanes, shares: &Lanes, reach: &Lanes, moves: &Lanes) -> Lanes {
    let (mut z, mut going) = (*margins, *moves);
    for _ in 0..MOST_STEPS {
        for k in 0..LANES {
            let (off, on) = sides(z[k]);
            let difference = (z[k] - margins[k]) - reach[k] * (off - shares[k]);
            let next = z[k] - difference / (1.0 + reach[k] * (off * on));
            let is_above = margins[k] + reach[k] * (0.5 - shares[k]) > 0.0;
            let next = if (next > 0.0) == is_above { next } else { 0.0 };
            let step = (next - z[k]).abs();
            z[k] = if going[k] != 0.0 { next } else { z[k] };
            going[k] = if step > NEAR { going[k] } else { 0.0 };
        }
        if going.iter().all(|going| *going == 0.0) {
            break;
        }
    }
    z
}
