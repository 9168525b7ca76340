//! Sums of the logistic loss over absent labels, for leaves and steps. Each term is rounded to a grid.
//!
//! Let p be the probability that a label is present. An absent label has the negative gradient −2p and the curvature
//! 4p(1 − p); a present one has a gradient that is larger by 2, and the same curvature. Cells are therefore summed as
//! if all labels were absent, without reading y, and twice the weight of the present ones is added afterwards.
//!
//! The loops are plain, so that they are compiled for the available registers. There are no fused operations, so that
//! the bits are the same on any machine.

use super::vector::vectorised;
use crate::error::{Purpose, Result};
use crate::exact::{Grid, Total, WeightedGrid};
use crate::loss::rows::{LeafRows, RowSums};

/// The maximum number of terms of a sum.
pub(crate) const IN_A_SUM: usize = Grid::TERMS_OF_BITS;

/// The number of columns that are summed together.
const LANES: usize = 16;

/// The number of rows that are read at the same time.
const TOGETHER: usize = 4;

/// The grids of gradients and curvatures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grids {
    gradient: WeightedGrid<f32>,
    curvature: WeightedGrid<f32>,
}

/// The grids for sums of terms of weight one, by their bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitGrids {
    gradient: Grid<f32>,
    curvature: Grid<f32>,
}

impl Grids {
    /// Returns the grids for sums over samples with this total weight.
    pub(crate) fn new(total: Total) -> Self {
        Grids { gradient: WeightedGrid::for_sums(2.0, total), curvature: WeightedGrid::for_sums(1.0, total) }
    }

    /// Returns the grids for sums of bits, if terms are rounded, not products.
    #[inline(always)]
    pub(crate) fn of_bits(self) -> Option<BitGrids> {
        Some(BitGrids { gradient: self.gradient.rounded_terms()?, curvature: self.curvature.rounded_terms()? })
    }
}

impl BitGrids {
    /// Returns the sums of `n` gradients and of `n` curvatures from the sums of their bits.
    #[inline(always)]
    pub(crate) fn sums(self, n: usize, bits: (u32, u32)) -> (f64, f64) {
        (self.gradient.sum_of_bits(n, bits.0), self.curvature.sum_of_bits(n, bits.1))
    }
}

/// Returns 2p and 4p(1 − p), with an error of at most 4·10⁻⁷: p = E / (1 + E), E = e^(2f). Beyond |f| = 43, differences
/// are below the grid.
#[inline(always)]
#[expect(clippy::excessive_precision, reason = "as computed")]
pub(crate) fn off(score: f32) -> (f32, f32) {
    const FAR: f32 = 43.0;
    /// Adding this number rounds to an integer, which is then in the low bits.
    const ROUND: f32 = 1.5 * (1u32 << 23) as f32;
    /// 2^r = 1 + r P(r) with an error of at most 9.2·10⁻⁸ for |r| ≤ ½. The coefficients minimize the largest error.
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

/// Sums over the samples of leaves, at the current scores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OffSums;

impl RowSums<f32> for OffSums {
    fn add(&self, rows: &LeafRows<'_, f32>, gradients: &mut [f64], curvatures: &mut [f64]) -> Result<()> {
        let grids = Grids::new(rows.total);
        let mut lanes = Lanes::new(if gradients.len() < LANES { 0 } else { gradients.len() })?;
        for ids in rows.ids.chunks(IN_A_SUM) {
            let piece = LeafRows { ids, ..*rows };
            let of_bits = grids.of_bits().filter(|_| piece.are_units());
            vectorised(
                #[inline(always)]
                || match (of_bits, gradients.len()) {
                    (Some(of_bits), LANES..) => lanes.add(&piece, of_bits, gradients, curvatures),
                    _ => add_weighted(&piece, grids, gradients, curvatures),
                },
            );
        }
        // The sums are those of absent labels; present ones have 2 more.
        gradients.iter_mut().for_each(|gradient| *gradient = -*gradient);
        for &row in rows.ids {
            let more = 2.0 * rows.units(row) as f64;
            rows.y(row).each_on(|j| gradients[j] += more);
        }
        Ok(())
    }
}

/// Adds samples multiplied by their weights.
#[inline(always)]
fn add_weighted(rows: &LeafRows<'_, f32>, grids: Grids, gradients: &mut [f64], curvatures: &mut [f64]) {
    for &row in rows.ids {
        let weight = rows.units(row) as f64;
        let sums = gradients.iter_mut().zip(curvatures.iter_mut());
        for (&score, (gradient, curvature)) in rows.scores(row).iter().zip(sums) {
            add_cell(weight, score, grids, gradient, curvature);
        }
    }
}

/// The bits of the sums of a piece, padded to complete lanes.
struct Lanes {
    gradients: Vec<u32>,
    curvatures: Vec<u32>,
}

impl Lanes {
    fn new(width: usize) -> Result<Self> {
        const PURPOSE: Purpose = Purpose("sums of gradients");
        let bits = || PURPOSE.filled(0u32, width.next_multiple_of(LANES));
        Ok(Lanes { gradients: bits()?, curvatures: bits()? })
    }

    /// Adds at most [`IN_A_SUM`] samples of weight one.
    #[inline(always)]
    fn add(&mut self, rows: &LeafRows<'_, f32>, grids: BitGrids, gradients: &mut [f64], curvatures: &mut [f64]) {
        let Lanes { gradients: of_gradients, curvatures: of_curvatures } = self;
        of_gradients.fill(0);
        of_curvatures.fill(0);
        let whole = gradients.len() - gradients.len() % LANES;
        // Rows are far apart in memory. Several of them are read at the same time, so that their latencies overlap.
        let (together, others) = rows.ids.as_chunks::<TOGETHER>();
        for ids in together {
            let scores = ids.map(|row| &rows.scores(row)[..whole]);
            add_rows(scores, grids, of_gradients, of_curvatures);
        }
        for &row in others {
            add_rows([&rows.scores(row)[..whole]], grids, of_gradients, of_curvatures);
        }
        if whole < gradients.len() {
            for &row in rows.ids {
                let rest = &rows.scores(row)[whole..];
                let mut last = [0.0; LANES];
                last[..rest.len()].copy_from_slice(rest);
                add_rows([&last], grids, &mut of_gradients[whole..], &mut of_curvatures[whole..]);
            }
        }
        let sums = gradients.iter_mut().zip(curvatures);
        for ((&r, &h), (gradient, curvature)) in of_gradients.iter().zip(&*of_curvatures).zip(sums) {
            let (r, h) = grids.sums(rows.ids.len(), (r, h));
            *gradient += r;
            *curvature += h;
        }
    }
}

/// Adds a cell's terms multiplied by its weight.
#[inline(always)]
fn add_cell(weight: f64, score: f32, grids: Grids, gradient: &mut f64, curvature: &mut f64) {
    let (r, h) = off(score);
    *gradient += grids.gradient.product(weight, r);
    *curvature += grids.curvature.product(weight, h);
}

/// Adds the bits of the terms of some rows to those of each column, for complete lanes.
#[inline(always)]
fn add_rows<const K: usize>(rows: [&[f32]; K], grids: BitGrids, gradients: &mut [u32], curvatures: &mut [u32]) {
    let sums = gradients.as_chunks_mut().0.iter_mut().zip(curvatures.as_chunks_mut().0);
    let n = rows[0].len() / LANES;
    let rows = rows.map(|scores| &scores.as_chunks().0[..n]);
    for (i, (gradients, curvatures)) in sums.take(n).enumerate() {
        for scores in &rows {
            add_lanes(&scores[i], grids, gradients, curvatures);
        }
    }
}

#[inline(always)]
fn add_lanes(scores: &[f32; LANES], grids: BitGrids, gradients: &mut [u32; LANES], curvatures: &mut [u32; LANES]) {
    for lane in 0..LANES {
        let (gradient, curvature) = off(scores[lane]);
        gradients[lane] = gradients[lane].wrapping_add(grids.gradient.bits(gradient));
        curvatures[lane] = curvatures[lane].wrapping_add(grids.curvature.bits(curvature));
    }
}

/// Returns the sums over cells of a column, all of which are moved by `step`.
#[inline(always)]
pub(crate) fn of_weighted_column(scores: &[f32], step: f32, weights: &[f64], grids: Grids) -> (f64, f64) {
    let (mut gradient, mut curvature) = (0.0, 0.0);
    scores.iter().zip(weights).for_each(|(&score, &weight)| {
        add_cell(weight, score + step, grids, &mut gradient, &mut curvature);
    });
    (gradient, curvature)
}

/// The same for at most [`IN_A_SUM`] cells of weight one.
#[inline(always)]
pub(crate) fn of_column(scores: &[f32], step: f32, grids: BitGrids) -> (f64, f64) {
    let (mut gradients, mut curvatures) = (0u32, 0u32);
    for &score in scores {
        let (gradient, curvature) = off(score + step);
        gradients = gradients.wrapping_add(grids.gradient.bits(gradient));
        curvatures = curvatures.wrapping_add(grids.curvature.bits(curvature));
    }
    grids.sums(scores.len(), (gradients, curvatures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::slots::Slots;
    use crate::data::train_y::TrainY;
    use crate::data::{LabelView, Targets};
    use crate::loss::{LogLoss, Loss};
    use crate::rng::{Key, Stream};
    use proptest::prelude::*;

    #[test]
    fn cells_are_those_of_the_loss() {
        for k in -500_000..=500_000 {
            let f = k as f32 * 1e-4;
            let (g, h) = off(f);
            let truth = (-LogLoss.negative_gradient(-1.0, f.into()), LogLoss.curvature(-1.0, f.into()));
            // Gradients and curvatures are float32 numbers up to 2, after some rounding errors of 6e-8 each.
            assert!((f64::from(g) - truth.0).abs() <= 5e-7, "{f} {g} {}", truth.0);
            assert!((f64::from(h) - truth.1).abs() <= 5e-7, "{f} {h} {}", truth.1);
        }
        assert_eq!((off(f32::MAX), off(0.0)), ((2.0, off(43.0).1), (1.0, 1.0)));
        assert!(off(f32::MIN).0 < 1e-30);
    }

    proptest! {
        #[test]
        fn sums_of_rows_and_columns_agree_to_the_bit_on_any_registers(
            rows in prop::collection::vec((-50f32..50.0, 1u8..4), 1..=IN_A_SUM), step in -2f32..2.0, total in 1u64..1 << 30,
        ) {
            let grids = Grids::new(Total::new(total.max(1000)).unwrap());
            let of_bits = grids.of_bits().unwrap();
            let scores: Vec<f32> = rows.iter().map(|r| r.0).collect();
            let weights: Vec<f64> = rows.iter().map(|r| r.1.into()).collect();
            let sums = of_column(&scores, step, of_bits);
            prop_assert_eq!(sums, vectorised(#[inline(always)] || of_column(&scores, step, of_bits)));
            prop_assert_eq!(sums, of_weighted_column(&scores, step, &vec![1.0; rows.len()], grids));
            let weighted = of_weighted_column(&scores, step, &weights, grids);
            // All columns are the same.
            let (mut g, mut h, mut wide) = ([0u32; 32], [0u32; 32], (0f64, 0f64));
            vectorised(#[inline(always)] || for (&score, &weight) in scores.iter().zip(&weights) {
                add_rows([&[score + step; 32]], of_bits, &mut g, &mut h);
                add_cell(weight, score + step, grids, &mut wide.0, &mut wide.1);
            });
            for (&g, &h) in g.iter().zip(&h) {
                prop_assert_eq!(sums, of_bits.sums(rows.len(), (g, h)));
            }
            prop_assert_eq!(weighted, wide);
            let truth: f64 = scores.iter().map(|&f| -LogLoss.negative_gradient(-1.0, f64::from(f + step))).sum();
            let coarse = 2f64.powi(-21);
            // Each sample is rounded to the grid, and its float32 gradient has the error of the test above.
            prop_assert!((sums.0 - truth).abs() <= rows.len() as f64 * (coarse + 5e-7), "{} {}", sums.0, truth);
        }

        #[test]
        fn sums_of_leaves_are_those_of_their_columns(
            n in 1usize..600, width in 1usize..40, weights in 0u8..3, seed in 0u64..1000,
        ) {
            let mut stream = Stream::new(Key::from_seed(seed));
            let scores: Vec<f32> = (0..n * width).map(|_| stream.below(1000) as f32 / 100.0 - 5.0).collect();
            let on: Vec<Vec<u32>> = (0..n).map(|_| (0..width as u32).filter(|_| stream.below(4) == 0).collect()).collect();
            let weights: Vec<u64> = (0..n).map(|_| match weights {
                0 => 1,
                1 => stream.below(4),
                _ => if stream.below(2) == 0 { 1 } else { stream.below(1 << 42) },
            }).collect();
            let ids: Vec<u32> = (0..n as u32).rev().collect();
            let total = Total::new(weights.iter().sum::<u64>().max(1)).unwrap();
            let ptr: Vec<usize> = (0..=n).map(|i| on[..i].iter().map(Vec::len).sum()).collect();
            let labels = on.concat();
            let labels = Targets::Labels(LabelView::try_new(&ptr[..], &labels[..], width).unwrap());
            let y = TrainY::Slots(Slots::new(&labels).unwrap().unwrap());
            let units = weights.iter().any(|&weight| weight != 1).then_some(&weights[..]);
            let rows = LeafRows { ids: &ids, y: &y, scores: &scores, width, units, total };
            let (mut gradients, mut curvatures) = (vec![0.0; width], vec![0.0; width]);
            OffSums.add(&rows, &mut gradients, &mut curvatures).unwrap();
            for j in 0..width {
                let (mut gradient, mut curvature) = (0.0, 0.0);
                for i in 0..n {
                    let weight = weights[i] as f64;
                    let (r, h) = of_weighted_column(&[scores[i * width + j]], 0.0, &[weight], Grids::new(total));
                    let on = if on[i].contains(&(j as u32)) { 2.0 } else { 0.0 };
                    gradient += weight * on - r;
                    curvature += h;
                }
                prop_assert_eq!((gradients[j], curvatures[j]), (gradient, curvature));
            }
        }
    }
}
