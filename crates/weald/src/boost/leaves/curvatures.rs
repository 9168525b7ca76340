//! Second derivatives of the samples of a tree.

use crate::boost::config::{BoostConfig, LeafEstimation};
use crate::boost::scores::one::{AT_ONCE, ColumnY, YMemory};
use crate::boost::scores::{Scored, Scores};
use crate::control::Control;
use crate::criterion::variance::BITS_OF_CURVATURES;
use crate::data::targets::LARGEST;
use crate::data::weights::EXACT_BITS;
use crate::error::{Purpose, Result};
use crate::exact::reduce::Reduce;
use crate::exact::{Shift, Total};
use crate::loss::column::ColumnLoss;
use crate::loss::kernels::float::Float;
use crate::loss::kernels::vector::largest;
use crate::pool;
use crate::reuse::Buffer;
use crate::vectorised::vectorised;

/// Second derivatives of the samples for the one score of a tree, as integer multiples of a share of the largest.
///
/// A tree that is grown on the ratios r / h, with samples weighted by h, has the splits with the largest G² / H: those
/// whose Newton steps lower the loss most (Chen and Guestrin, 2016, with λ = 0). Samples whose prediction is certain
/// therefore have little weight, which a rare class needs.
#[derive(Debug)]
pub(crate) struct Curvatures {
    units: Buffer<u32>,
    /// r / h of each sample.
    ratios: Buffer<f64>,
    /// How far the products of units of weight and units of curvature are shifted.
    shift: Shift,
}

const MOST_UNITS: u64 = 1 << BITS_OF_CURVATURES;

/// Products of units of weight and units of curvature are shifted until their total has at most this number of bits.
/// That each sample keeps at least one unit, for up to 2³² samples, then cannot bring the total to the limit.
const PRODUCT_BITS: u32 = Total::BITS - 1;

impl Curvatures {
    /// Returns r / h of each sample, to which the tree is grown.
    pub(crate) fn ratios(&self) -> &[f64] {
        &self.ratios
    }

    /// Returns the units of the second derivative of each sample.
    pub(crate) fn units(&self) -> &[u32] {
        &self.units
    }

    /// Returns the weight times the second derivative of a sample with this weight, in shifted units. Neither a product
    /// nor the sum of all overflows: the total of weights is below 2⁵², and a second derivative has at most 2¹² units.
    #[inline]
    pub(crate) fn parts(&self, row: usize, units: u64) -> u64 {
        self.shift.units(units * u64::from(self.units[row]))
    }

    /// Returns how much weight times second derivative a sample of this weight has, if its second derivative is the
    /// largest one, in shifted units.
    pub(crate) fn most_parts(&self, units: f64) -> f64 {
        self.shift.weight(MOST_UNITS as f64 * units)
    }
}

impl<'a, T: Float, S: Scores<'a, T>> Scored<'a, T, S> {
    /// Returns the second derivatives of the samples of a tree, if it is grown for one score whose leaves take Newton
    /// steps with second derivatives that differ. Returns `None`, too, if these are too small to divide by, or ratios are
    /// larger than targets may be: all predictions are so certain that the largest second derivative is next to nothing
    /// beside a gradient. The tree is then grown on the negative gradients themselves, which are `targets`.
    pub(crate) fn curvatures(
        &self,
        config: &BoostConfig,
        rows: &[u32],
        targets: &[f64],
        control: &Control,
    ) -> Result<Option<Curvatures>> {
        let (data, weights) = (&self.data, &self.data.weights);
        let (Some(loss), Some(held), Some(y), LeafEstimation::Newton) =
            (data.loss.curved(), self.scores.held(), ColumnY::of(data), config.leaf_estimation)
        else {
            return Ok(None);
        };
        let n = data.n_samples;
        let (n_threads, at_once) =
            if loss.takes_blocks() { (1, n.max(1)) } else { pool::blocks(control.n_threads(), n, LEAST_IN_BLOCK) };
        // Before they are ratios, they are second derivatives.
        let (mut ratios, mut units) = (control.buffer::<f64>(PURPOSE, n)?, control.buffer::<u32>(PURPOSE, n)?);
        let mut of_blocks = PURPOSE.filled(0.0, n.div_ceil(at_once))?;
        let of_samples = OfSamples { loss, y, scores: &held.scores, targets };
        let mut rows_of = pool::rows_of_blocks(rows, at_once);
        pool::for_each(
            n_threads,
            ratios
                .chunks_mut(at_once)
                .zip(&mut of_blocks)
                .enumerate()
                .map(|(block, found)| (block, found, rows_of(block))),
            || Ok(Memory::default()),
            |memory, (block, (found, of_block), rows)| {
                of_samples.write(rows, block * at_once, found, memory, control)?;
                *of_block = largest(found, |h| h);
                Ok(())
            },
        )?;
        let most = |of_blocks: &[f64]| weights.workers().max_of(largest(of_blocks, |of_block| of_block));
        let of_most = most(&of_blocks)?;
        let value = of_most / MOST_UNITS as f64;
        if !value.is_normal() {
            return Ok(None);
        }
        let columns = ratios.chunks_mut(at_once).zip(units.chunks_mut(at_once)).zip(targets.chunks(at_once));
        pool::for_each(
            n_threads,
            columns.zip(&mut of_blocks),
            || Ok(()),
            |(), (((ratios, units), targets), of_block)| {
                vectorised(
                    #[inline(always)]
                    || {
                        for ((ratio, units), &r) in ratios.iter_mut().zip(units).zip(targets) {
                            *units = ((*ratio / of_most * MOST_UNITS as f64) as u32).max(1);
                            *ratio = r / (f64::from(*units) * value);
                        }
                    },
                );
                *of_block = largest(ratios, f64::abs);
                Ok(())
            },
        )?;
        if most(&of_blocks)? > LARGEST {
            return Ok(None);
        }
        let shift = if weights.exact {
            const { assert!(EXACT_BITS + BITS_OF_CURVATURES <= PRODUCT_BITS) };
            Shift::NONE
        } else {
            let part = |&row: &u32| weights.units(row as usize) * u64::from(units[row as usize]);
            Shift::to_bits(weights.workers().sum_of(rows.iter().map(part).sum())?, PRODUCT_BITS)
        };
        Ok(Some(Curvatures { units, ratios, shift }))
    }
}

/// What second derivatives are computed from.
struct OfSamples<'s, T> {
    loss: &'s dyn ColumnLoss,
    y: ColumnY<'s>,
    scores: &'s [T],
    targets: &'s [f64],
}

/// The columns of some samples.
#[derive(Default)]
struct Memory {
    y: YMemory,
    targets: Vec<f64>,
    curvatures: Vec<f64>,
}

impl<T: Float> OfSamples<'_, T> {
    /// Writes the second derivatives of `rows`, and zeros for other samples. `found` begins with sample `first`.
    fn write(
        &self,
        rows: &[u32],
        first: usize,
        found: &mut [f64],
        memory: &mut Memory,
        control: &Control,
    ) -> Result<()> {
        let OfSamples { loss, y, scores, targets } = *self;
        if rows.len() == found.len() && loss.curvatures_at(&targets[first..][..found.len()], found) {
            return Ok(());
        }
        found.fill(0.0);
        let off = loss.domain().off();
        for rows in rows.chunks(if loss.takes_blocks() { rows.len().max(1) } else { AT_ONCE }) {
            control.check()?;
            let Memory { y: of_y, targets: of_targets, curvatures } = &mut *memory;
            of_targets.clear();
            PURPOSE.extend(of_targets, rows.iter().map(|&row| targets[row as usize]))?;
            curvatures.clear();
            PURPOSE.extend(curvatures, std::iter::repeat_n(0.0, rows.len()))?;
            if !loss.curvatures_at(of_targets, curvatures) {
                let y = y.of_rows(rows, of_y)?;
                let score = |row: u32| scores[row as usize].to_f64();
                if loss.takes_blocks() {
                    let y = PURPOSE.collected((0..rows.len()).map(|i| y.number(i, off)))?;
                    let scores = PURPOSE.collected(rows.iter().map(|&row| score(row)))?;
                    loss.derivatives(&y, &scores, of_targets, curvatures);
                } else {
                    let each = curvatures.iter_mut().zip(rows).enumerate();
                    each.for_each(|(i, (h, &row))| *h = loss.curvature(y.number(i, off), score(row)));
                }
            }
            rows.iter().zip(&*curvatures).for_each(|(&row, &h)| found[row as usize - first] = h);
        }
        Ok(())
    }
}

/// The minimum number of samples for each thread; it is set by hand.
const LEAST_IN_BLOCK: usize = 1 << 12;

const PURPOSE: Purpose = Purpose("the second derivatives of a stage");
