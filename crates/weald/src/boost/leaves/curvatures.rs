//! Second derivatives of the samples of a tree.

use crate::boost::config::{BoostConfig, LeafEstimation};
use crate::boost::scores::one::{AT_ONCE, ColumnY, YMemory};
use crate::boost::scores::{Scored, Scores};
use crate::control::Control;
use crate::data::targets::LARGEST;
use crate::data::weights::EXACT_BITS;
use crate::error::{Purpose, Result};
use crate::exact::reduce::{Reduce, Workers};
use crate::exact::{Shift, Total};
use crate::loss::kernels::float::Float;
use crate::pool;
use crate::reuse::Buffer;

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

/// The number of bits of the units of the largest second derivative, and thereby the resolution for those of other
/// samples.
const UNIT_BITS: u32 = 12;
const MOST_UNITS: u64 = 1 << UNIT_BITS;

/// Products of units of weight and units of curvature are shifted until their total has at most this number of bits.
/// That each sample keeps at least one unit, for up to 2³² samples, then cannot bring the total to the limit.
const PRODUCT_BITS: u32 = Total::BITS - 1;

impl Curvatures {
    /// Returns r / h of each sample, to which the tree is grown.
    pub(crate) fn ratios(&self) -> &[f64] {
        &self.ratios
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

/// Returns r / h of each sample: multiplied by the units, it is r again. Returns `None` if a ratio is larger than targets
/// may be: all predictions are so certain that the largest second derivative is next to nothing beside a gradient.
fn ratios(
    targets: &[f64],
    units: &[u32],
    value: f64,
    workers: &Workers,
    control: &Control,
) -> Result<Option<Buffer<f64>>> {
    const PURPOSE: Purpose = Purpose("the targets of a stage");
    let mut ratios = control.buffer(PURPOSE, targets.len())?;
    let (n_threads, at_once) = blocks(targets.len(), control);
    let mut largest = PURPOSE.filled(0.0, targets.len().div_ceil(at_once))?;
    let columns = targets.chunks(at_once).zip(units.chunks(at_once)).zip(ratios.chunks_mut(at_once));
    pool::for_each(
        n_threads,
        columns.zip(&mut largest),
        || Ok(()),
        |(), (((targets, units), ratios), largest)| {
            for ((ratio, &r), &units) in ratios.iter_mut().zip(targets).zip(units) {
                *ratio = r / (f64::from(units) * value);
                *largest = ratio.abs().max(*largest);
            }
            Ok(())
        },
    )?;
    let largest = workers.max_of(largest.into_iter().fold(0.0, f64::max))?;
    Ok((largest <= LARGEST).then_some(ratios))
}

impl<'a, T: Float, S: Scores<'a, T>> Scored<'a, T, S> {
    /// Returns the second derivatives of the samples of a tree, if it is grown for one score whose leaves take Newton
    /// steps with second derivatives that differ. Returns `None`, too, if these are too small to divide by; the tree is
    /// then grown on the negative gradients themselves, which are `targets`.
    pub(crate) fn curvatures(
        &self,
        config: &BoostConfig,
        rows: &[u32],
        targets: &[f64],
        control: &Control,
    ) -> Result<Option<Curvatures>> {
        let data = &self.data;
        let (Some(loss), Some(held), Some(y), LeafEstimation::Newton) =
            (data.loss.curved(), self.scores.held(), ColumnY::of(data), config.leaf_estimation)
        else {
            return Ok(None);
        };
        let off = loss.domain().off();
        let mut found = control.buffer::<f64>(PURPOSE, data.n_samples)?;
        let (n_threads, at_once) = blocks(data.n_samples, control);
        let score = |row: u32| held.scores[row as usize].to_f64();
        if loss.takes_blocks() {
            let mut memory = YMemory::default();
            let y = y.of_rows(rows, &mut memory)?;
            let y = PURPOSE.collected((0..rows.len()).map(|i| y.number(i, off)))?;
            let scores = PURPOSE.collected(rows.iter().map(|&row| score(row)))?;
            let (mut gradients, mut curvatures) = (PURPOSE.filled(0.0, y.len())?, PURPOSE.filled(0.0, y.len())?);
            loss.derivatives(&y, &scores, &mut gradients, &mut curvatures);
            found.fill(0.0);
            rows.iter().zip(curvatures).for_each(|(&row, curvature)| found[row as usize] = curvature);
        } else {
            let mut rows_of = pool::rows_of_blocks(rows, at_once);
            let blocks = found.chunks_mut(at_once).enumerate().map(|(block, found)| (block, found, rows_of(block)));
            pool::for_each(
                n_threads,
                blocks,
                || Ok(YMemory::default()),
                |memory, (block, found, rows)| {
                    if rows.len() < found.len() {
                        found.fill(0.0);
                    }
                    for rows in rows.chunks(AT_ONCE) {
                        control.check()?;
                        let y = y.of_rows(rows, memory)?;
                        for (i, &row) in rows.iter().enumerate() {
                            found[row as usize - block * at_once] = loss.curvature(y.number(i, off), score(row));
                        }
                    }
                    Ok(())
                },
            )?;
        }
        let largest = data.weights.workers().max_of(found.iter().copied().fold(0.0, f64::max))?;
        let value = largest / MOST_UNITS as f64;
        if !value.is_normal() {
            return Ok(None);
        }
        let mut units = control.buffer::<u32>(PURPOSE, data.n_samples)?;
        let columns = found.chunks(at_once).zip(units.chunks_mut(at_once));
        pool::for_each(
            n_threads,
            columns,
            || Ok(()),
            |(), (found, units)| {
                for (units, h) in units.iter_mut().zip(found) {
                    *units = ((h / largest * MOST_UNITS as f64) as u32).max(1);
                }
                Ok(())
            },
        )?;
        let weights = &data.weights;
        let Some(ratios) = ratios(targets, &units, value, weights.workers(), control)? else { return Ok(None) };
        let shift = if weights.exact {
            const { assert!(EXACT_BITS + UNIT_BITS <= PRODUCT_BITS) };
            Shift::NONE
        } else {
            let part = |&row: &u32| weights.units(row as usize) * u64::from(units[row as usize]);
            Shift::to_bits(weights.workers().sum_of(rows.iter().map(part).sum())?, PRODUCT_BITS)
        };
        Ok(Some(Curvatures { units, ratios, shift }))
    }
}

/// The minimum number of samples for each thread; it is set by hand.
const LEAST_IN_BLOCK: usize = 1 << 12;

/// Returns the number of threads, and the number of samples for each.
fn blocks(n_samples: usize, control: &Control) -> (usize, usize) {
    pool::blocks(control.n_threads(), n_samples, LEAST_IN_BLOCK)
}

const PURPOSE: Purpose = Purpose("the second derivatives of a stage");
