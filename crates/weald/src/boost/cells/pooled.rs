//! The targets of the tree of a stage: the known cells of each sample, pooled over the outputs of a combination.
//!
//! With the negative gradients r, the curvatures h, the factors w of weights and the combination φ, a sample has the
//! target Σ φ w r / Σ |φ| w h over its known cells, and Σ |φ| w h times its weight as its weight. Its split gains are
//! those of Newton steps along signs of φ. Samples without a cell of the combination have no weight.

use super::columns::{CellColumns, CellUnits};
use crate::data::targets::LARGEST;
use crate::error::{Purpose, Result};
use crate::exact::Total;

const PURPOSE: Purpose = Purpose("the targets of a stage");

/// The number of bits of the largest |φ| h, and thereby the resolution of the others.
const UNIT_BITS: u32 = 12;

/// Totals have at most this number of bits, after which each sample may still be rounded up to one unit.
const TOTAL_BITS: u32 = Total::BITS - 1;

/// The targets and weights of the samples.
#[derive(Debug)]
pub(super) struct Pooled {
    /// The targets; zero for samples without weight.
    pub(super) targets: Vec<f64>,
    /// The weights, in units.
    pub(super) parts: Vec<u64>,
    /// The weight of a cell with the largest |φ| h and factor and weight one.
    pub(super) of_one: f64,
    /// Whether weights are not rounded.
    pub(super) exact: bool,
}

/// The sums of a sample, and the largest number that divides the factors of all its cells.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    combined: f64,
    parts: u64,
    divisor: u64,
}

impl Pooled {
    /// Pools the cells of `n_samples` samples by a combination φ, which has a number for each column.
    pub(super) fn new(cells: &CellColumns<'_>, phi: &[f64], units: CellUnits<'_>, n_samples: usize) -> Result<Self> {
        Self::relative(cells, phi, units, n_samples, true)
    }

    /// `is_curved` is false if curvatures are next to nothing beside gradients, and are taken as one.
    fn relative(
        cells: &CellColumns<'_>,
        phi: &[f64],
        units: CellUnits<'_>,
        n_samples: usize,
        is_curved: bool,
    ) -> Result<Self> {
        let columns = || phi.iter().enumerate().filter(|(_, phi)| **phi != 0.0);
        let is_curved = is_curved && !cells.curvatures.is_empty();
        let bound = |column: usize| if is_curved { cells.bounds[column][1] } else { 1.0 };
        let of_columns = || columns().map(|(column, phi)| phi.abs() * bound(column));
        let largest = of_columns().fold(0.0, f64::max);
        if !largest.is_normal() && is_curved {
            return Self::relative(cells, phi, units, n_samples, false);
        }
        let are_alike = !is_curved && of_columns().all(|of_column| of_column == largest);
        let one = if are_alike { 1 } else { 1 << UNIT_BITS };
        let divisor_of_one = u64::from(units.factors.is_none());
        let mut sums = PURPOSE.filled(Sums { divisor: divisor_of_one, ..Sums::default() }, n_samples)?;
        if let Some(factors) = units.factors {
            for cell in columns().flat_map(|(column, _)| cells.of(column)) {
                let sums = &mut sums[cells.rows[cell] as usize];
                sums.divisor = divisor(sums.divisor, factors.alone.units(cell));
            }
        }
        for (column, &phi) in columns() {
            for cell in cells.of(column) {
                let sums = &mut sums[cells.rows[cell] as usize];
                let factor = units.factors.map_or(1, |factors| factors.alone.units(cell) / sums.divisor);
                let curvature = if is_curved { cells.curvatures[cell] } else { 1.0 };
                let part = if are_alike { 1 } else { ((phi.abs() * curvature / largest * one as f64) as u64).max(1) };
                sums.parts += factor * part;
                sums.combined += phi * cells.gradients[cell] * factor as f64;
            }
        }
        let whole =
            |row: usize, sums: &Sums| u128::from(units.of_row(row)) * u128::from(sums.divisor) * u128::from(sums.parts);
        let total: u128 = sums.iter().enumerate().map(|(row, sums)| whole(row, sums)).sum();
        let shift = (u128::BITS - total.leading_zeros()).saturating_sub(TOTAL_BITS);
        let (mut targets, mut parts) = (PURPOSE.filled(0.0, n_samples)?, PURPOSE.filled(0u64, n_samples)?);
        for (row, sums) in sums.iter().enumerate() {
            let whole = whole(row, sums);
            if whole > 0 {
                parts[row] = ((whole >> shift) as u64).max(1);
                targets[row] = sums.combined / (sums.parts as f64 * (largest / one as f64));
            }
        }
        if is_curved && targets.iter().any(|target| target.abs() > LARGEST) {
            return Self::relative(cells, phi, units, n_samples, false);
        }
        let of_factor = units.factors.map_or(1.0, |factors| factors.alone.of_one());
        let of_one = one as f64 * of_factor * units.rows.of_one() / (1u128 << shift) as f64;
        let exact = units.rows.exact && units.factors.is_none_or(|factors| factors.alone.exact) && shift == 0;
        Ok(Pooled { targets, parts, of_one, exact })
    }
}

/// Returns the largest number that divides both, of which the first one may be zero.
fn divisor(mut a: u64, mut b: u64) -> u64 {
    while a != 0 {
        (a, b) = (b % a, a);
    }
    b
}
