//! How often margins were right: the weight of samples with and without a column, by their margin.
//!
//! Margins are counted by their sign, their exponent and the first five bits behind it, so by steps of a thirty-second to
//! a sixty-fourth of their size. Counts are integers, which do not depend on the order of samples or on threads.

use crate::control::Control;
use crate::data::Weights;
use crate::error::{Purpose, Result};
use crate::linear::source::Cells;
use crate::pool;

const PURPOSE: Purpose = Purpose("the margins of held-out samples");

/// Bits of float32 that are dropped.
const DROPPED: u32 = 23 - 5;
/// Margins below 2⁻⁵ in magnitude are counted together, and so are those of at least 2⁷.
const FIRST: u32 = (127 - 5) << 5;
const LAST: u32 = ((127 + 7) << 5) - 1;
/// The number of places of positive margins.
const HALF: usize = (LAST - FIRST + 1) as usize;
const PLACES: usize = 2 * HALF;
/// Columns whose counts are filled together.
const TOGETHER: usize = 16;

/// A margin, what its score is less by, and the weight of samples that do not have the column and of those that have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::linear) struct Point {
    pub(in crate::linear) margin: f64,
    pub(in crate::linear) less: f64,
    pub(in crate::linear) off: f64,
    pub(in crate::linear) on: f64,
}

/// The counts of columns.
#[derive(Debug)]
pub(in crate::linear) struct Counts {
    /// For each column, the units of samples that do not have it by the place of their margin, and of those that have it.
    units: Vec<u64>,
}

fn place(margin: f32) -> usize {
    let size = ((margin.abs().to_bits() >> DROPPED).clamp(FIRST, LAST) - FIRST) as usize;
    if margin.is_sign_negative() { HALF + size } else { size }
}

/// Returns the middle of the margins of a place.
fn margin_at(place: usize) -> f64 {
    let size = match (place % HALF) as u32 {
        0 => f32::from_bits(FIRST << DROPPED) / 2.0,
        size => f32::from_bits(((FIRST + size) << DROPPED) + (1 << (DROPPED - 1))),
    };
    f64::from(if place < HALF { size } else { -size })
}

impl Counts {
    pub(in crate::linear) fn new(n_columns: usize) -> Result<Self> {
        Ok(Counts { units: PURPOSE.filled(0, n_columns * 2 * PLACES)? })
    }

    /// Counts the margins of samples, (rows, n_columns).
    pub(in crate::linear) fn add(
        &mut self,
        y: &Cells,
        weights: &Weights,
        rows: &[u32],
        margins: &[f32],
        control: &Control,
    ) -> Result<()> {
        let width = y.n_columns;
        pool::for_each(
            control.n_threads(),
            self.units.chunks_mut(TOGETHER * 2 * PLACES).enumerate(),
            || Ok(()),
            |(), (block, units)| {
                control.check()?;
                let columns = block * TOGETHER..((block + 1) * TOGETHER).min(width);
                let within = |all: &'_ [u32]| {
                    let at = |column: usize| all.partition_point(|&j| (j as usize) < column);
                    at(columns.start)..at(columns.end)
                };
                for (&row, margins) in rows.iter().zip(margins.chunks_exact(width)) {
                    let weight = weights.units(row as usize);
                    if weight == 0 {
                        continue;
                    }
                    for (units, &margin) in units.chunks_exact_mut(2 * PLACES).zip(&margins[columns.clone()]) {
                        units[place(margin)] += weight;
                    }
                    let positives = y.positives.of(row as usize);
                    for &column in &positives[within(positives)] {
                        let first = (column as usize - columns.start) * 2 * PLACES + place(margins[column as usize]);
                        units[first] -= weight;
                        units[first + PLACES] += weight;
                    }
                    let unknown = y.unknown_of(row as usize);
                    for &column in &unknown[within(unknown)] {
                        units[(column as usize - columns.start) * 2 * PLACES + place(margins[column as usize])] -=
                            weight;
                    }
                }
                Ok(())
            },
        )
    }

    /// Returns the counts of a column, times `unit`, where there are any.
    pub(in crate::linear) fn of_column(&self, column: usize, unit: f64) -> Result<Vec<Point>> {
        let (off, on) = self.units[column * 2 * PLACES..(column + 1) * 2 * PLACES].split_at(PLACES);
        points(|place| (off[place] as f64 * unit, on[place] as f64 * unit))
    }

    /// Returns the counts of all columns together, times `unit`. Those that stand for more count `factor` times.
    pub(in crate::linear) fn together(
        &self,
        stands_for_more: impl Fn(usize) -> bool,
        factor: f64,
        unit: f64,
    ) -> Result<Vec<Point>> {
        // A total of units has 52 bits, those of all columns may have more than fit a float.
        let mut totals = PURPOSE.filled([0u128; 4], PLACES)?;
        for (column, units) in self.units.chunks_exact(2 * PLACES).enumerate() {
            let (off, on) = units.split_at(PLACES);
            let first = if stands_for_more(column) { 2 } else { 0 };
            for (totals, (&off, &on)) in totals.iter_mut().zip(off.iter().zip(on)) {
                totals[first] += u128::from(off);
                totals[first + 1] += u128::from(on);
            }
        }
        points(|place| {
            let weight = |at: usize| (totals[place][at] as f64 + totals[place][at + 2] as f64 * factor) * unit;
            (weight(0), weight(1))
        })
    }
}

fn points(weights: impl Fn(usize) -> (f64, f64)) -> Result<Vec<Point>> {
    let mut found = Vec::new();
    for place in 0..PLACES {
        let (off, on) = weights(place);
        if off > 0.0 || on > 0.0 {
            PURPOSE.push(&mut found, Point { margin: margin_at(place), less: 0.0, off, on })?;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_near_the_margins_that_are_counted_there() {
        for margin in [0.0, 1e-9, 0.04, 0.3, 1.0, 1.01, -0.7, -5.0, 100.0, -127.0] {
            let middle = margin_at(place(margin)) as f32;
            assert!((middle - margin).abs() <= (margin.abs() / 64.0).max(1.0 / 32.0), "{margin} {middle}");
        }
        assert_eq!(place(f32::INFINITY), HALF - 1);
        assert_eq!(place(f32::NEG_INFINITY), PLACES - 1);
        assert!(place(f32::NAN) < PLACES);
        let mut margins: Vec<f64> = (0..PLACES).map(margin_at).collect();
        margins.sort_by(f64::total_cmp);
        margins.dedup();
        assert_eq!(margins.len(), PLACES);
    }
}
