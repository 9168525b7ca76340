//! Sums of the logistic loss over cells that are off, as far as leaves and steps need them: to the grid of `grid`, in whole
//! steps of it.
//!
//! With p the probability of being on, a cell that is off has the negative gradient −2p and the curvature 4p(1 − p); one
//! that is on has 2 more and the same. So cells are summed as if all were off, without looking, and twice the weight of
//! those that are on is added after.
//!
//! Loops are plain, to be compiled for the registers there are; nothing is fused, so the bits are those of any machine.

use super::grid::OnGrid;

/// Terms that are summed at most: of at most 2²² steps each, they stay below 2³¹.
pub(crate) const IN_A_SUM: usize = 256;

/// Columns whose rows are summed together.
pub(crate) const LANES: usize = 16;

/// Magic numbers that round gradients and curvatures (see [`OnGrid::magic`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grids {
    gradient: f32,
    curvature: f32,
}

impl Grids {
    /// For sums over rows of this weight in all.
    pub(crate) fn new(total_units: f64) -> Self {
        Grids { gradient: f32::magic(2.0, total_units), curvature: f32::magic(1.0, total_units) }
    }

    /// Sums of `n` terms, of gradients and of curvatures, from those of their bits.
    #[inline(always)]
    pub(crate) fn sums(self, n: usize, bits: (u32, u32)) -> (f64, f64) {
        let sum = |sum: u32, magic: f32| {
            // The last bit of the magic number is a step.
            let steps = sum.wrapping_sub(magic.to_bits().wrapping_mul(n as u32)) as i32;
            f64::from(steps) * f64::from(f32::from_bits(magic.to_bits() + 1) - magic)
        };
        (sum(bits.0, self.gradient), sum(bits.1, self.curvature))
    }
}

/// 2p and 4p(1 − p), to 4·10⁻⁷: p = E / (1 + E), E = e^(2f). Further out than |f| = 43 the grid sees no difference.
#[inline(always)]
#[expect(clippy::excessive_precision, reason = "as computed")]
pub(crate) fn off(score: f32) -> (f32, f32) {
    const FAR: f32 = 43.0;
    /// Adding it rounds to a whole number, which is then in the low bits.
    const ROUND: f32 = 1.5 * (1u32 << 23) as f32;
    /// 2^r = 1 + r P(r) to 9.2·10⁻⁸ for |r| ≤ ½, of least largest error.
    const P: [f32; 5] = [
        1.3264727252692713e-3,
        9.671512785858077e-3,
        5.5507337444716885e-2,
        2.4022242083110532e-1,
        6.931469775976777e-1,
    ];
    let score = if score > -FAR { score } else { -FAR };
    let score = if score < FAR { score } else { FAR };
    let x = score * (2.0 * std::f32::consts::LOG2_E);
    let shifted = x + ROUND;
    let r = x - (shifted - ROUND);
    let mantissa = ((((P[0] * r + P[1]) * r + P[2]) * r + P[3]) * r + P[4]) * r + 1.0;
    let odds = f32::from_bits(mantissa.to_bits().wrapping_add(shifted.to_bits() << 23));
    let root = 2.0 / (1.0 + odds);
    let gradient = odds * root;
    (gradient, gradient * root)
}

/// Adds the bits of a row's terms to those of each column; of whole lanes.
#[inline(always)]
pub(crate) fn add_row(scores: &[f32], steps: &[f32], grids: Grids, gradients: &mut [u32], curvatures: &mut [u32]) {
    let sums = gradients.as_chunks_mut().0.iter_mut().zip(curvatures.as_chunks_mut().0);
    let cells = scores.as_chunks().0.iter().zip(steps.as_chunks().0);
    cells.zip(sums).for_each(|((scores, steps), (gradients, curvatures))| {
        add_lanes(scores, steps, grids, gradients, curvatures);
    });
}

#[inline(always)]
fn add_lanes(
    scores: &[f32; LANES],
    steps: &[f32; LANES],
    grids: Grids,
    gradients: &mut [u32; LANES],
    curvatures: &mut [u32; LANES],
) {
    for lane in 0..LANES {
        let (gradient, curvature) = off(scores[lane] + steps[lane]);
        gradients[lane] = gradients[lane].wrapping_add((gradient + grids.gradient).to_bits());
        curvatures[lane] = curvatures[lane].wrapping_add((curvature + grids.curvature).to_bits());
    }
}

/// Adds a row's terms times its weight.
#[inline(always)]
pub(crate) fn add_weighted_row(
    weight: f64,
    scores: &[f32],
    steps: &[f32],
    grids: Grids,
    gradients: &mut [f64],
    curvatures: &mut [f64],
) {
    let sums = gradients.iter_mut().zip(curvatures);
    for ((&score, &step), (gradients, curvatures)) in scores.iter().zip(steps).zip(sums) {
        let (gradient, curvature) = off(score + step);
        *gradients += weight * f64::from(OnGrid::round(gradient, grids.gradient));
        *curvatures += weight * f64::from(OnGrid::round(curvature, grids.curvature));
    }
}

/// Sums over at most [`IN_A_SUM`] cells of a column, all moved by `step`.
#[inline(always)]
pub(crate) fn of_column(scores: &[f32], step: f32, weights: Option<&[f64]>, grids: Grids) -> (f64, f64) {
    if let Some(weights) = weights {
        let (mut gradients, mut curvatures) = (0.0, 0.0);
        for (&score, weight) in scores.iter().zip(weights) {
            let (gradient, curvature) = off(score + step);
            gradients += weight * f64::from(OnGrid::round(gradient, grids.gradient));
            curvatures += weight * f64::from(OnGrid::round(curvature, grids.curvature));
        }
        return (gradients, curvatures);
    }
    let (mut gradients, mut curvatures) = (0u32, 0u32);
    for &score in scores {
        let (gradient, curvature) = off(score + step);
        gradients = gradients.wrapping_add((gradient + grids.gradient).to_bits());
        curvatures = curvatures.wrapping_add((curvature + grids.curvature).to_bits());
    }
    grids.sums(scores.len(), (gradients, curvatures))
}

#[cfg(test)]
mod tests {
    use super::super::super::vector::vectorised;
    use super::*;
    use crate::boost::loss::{LogLoss, Loss};
    use proptest::prelude::*;

    #[test]
    fn cells_are_those_of_the_loss() {
        for k in -500_000..=500_000 {
            let f = k as f32 * 1e-4;
            let (g, h) = off(f);
            let truth = (-LogLoss.negative_gradient(-1.0, f.into()), LogLoss.curvature(-1.0, f.into()));
            assert!((f64::from(g) - truth.0).abs() <= 5e-7, "{f} {g} {}", truth.0);
            assert!((f64::from(h) - truth.1).abs() <= 5e-7, "{f} {h} {}", truth.1);
        }
        assert_eq!((off(f32::MAX), off(0.0)), ((2.0, off(43.0).1), (1.0, 1.0)));
        assert!(off(f32::MIN).0 < 1e-30);
    }

    proptest! {
        #[test]
        fn sums_of_rows_and_columns_agree_to_the_bit_on_any_registers(
            rows in prop::collection::vec((-50f32..50.0, 1u8..4), 1..=IN_A_SUM), step in -2f32..2.0, total in 1f64..1e12,
        ) {
            let grids = Grids::new(total.max(1e3));
            let scores: Vec<f32> = rows.iter().map(|r| r.0).collect();
            let weights: Vec<f64> = rows.iter().map(|r| r.1.into()).collect();
            let sums = of_column(&scores, step, None, grids);
            prop_assert_eq!(sums, vectorised(#[inline(always)] || of_column(&scores, step, None, grids)));
            prop_assert_eq!(sums, of_column(&scores, step, Some(&vec![1.0; rows.len()]), grids));
            let weighted = of_column(&scores, step, Some(&weights), grids);
            // Columns that are all the same.
            let (mut g, mut h, mut wide) = ([0u32; 32], [0u32; 32], ([0f64; 3], [0f64; 3]));
            vectorised(#[inline(always)] || for (&score, &weight) in scores.iter().zip(&weights) {
                add_row(&[score; 32], &[step; 32], grids, &mut g, &mut h);
                add_weighted_row(weight, &[score; 3], &[step; 3], grids, &mut wide.0, &mut wide.1);
            });
            for (&g, &h) in g.iter().zip(&h) {
                prop_assert_eq!(sums, grids.sums(rows.len(), (g, h)));
            }
            prop_assert_eq!((vec![weighted.0; 3], vec![weighted.1; 3]), (wide.0.to_vec(), wide.1.to_vec()));
            let truth: f64 = scores.iter().map(|&f| -LogLoss.negative_gradient(-1.0, f64::from(f + step))).sum();
            let coarse = 2f64.powi(-21).max(total * 2f64.powi(-50));
            prop_assert!((sums.0 - truth).abs() <= rows.len() as f64 * (coarse + 5e-7), "{} {}", sums.0, truth);
        }
    }
}
