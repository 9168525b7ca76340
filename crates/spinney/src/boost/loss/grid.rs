//! Gradients rounded to a grid, so that their sums are exact in float64.

use pulp::{Arch, Simd, WithSimd};

use super::rows::Score;
use crate::data::weights::exponent_above;

/// Numbers that a grid rounds.
pub(crate) trait OnGrid: Score {
    /// Bits of a rounded number below its bound: of the significand, one is for the addition that rounds.
    const BITS: i32;
    fn round(self, magic: Self) -> Self;
}

impl OnGrid for f32 {
    const BITS: i32 = 22;
    #[inline(always)]
    fn round(self, magic: f32) -> f32 {
        (self + magic) - magic
    }
}

impl OnGrid for f64 {
    const BITS: i32 = 51;
    #[inline(always)]
    fn round(self, magic: f64) -> f64 {
        (self + magic) - magic
    }
}

/// A grid for numbers of at most some size: sums of them times whole weights are exact, in any order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid<T> {
    /// In the binade of this number T is the grid.
    magic: T,
    arch: Arch,
}

impl<T: OnGrid> Grid<T> {
    /// For |x| ≤ `bound`, and whole weights of at most `total_units` in sum: steps of the power of two at or above the bound
    /// times 2^−22 for float32 up to 2³⁰ units; for float64 as fine as leaves 52 bits to the sum.
    pub(crate) fn new(bound: f64, total_units: f64) -> Self {
        // The power of two at or above.
        let log_above = |x: f64| exponent_above(x) - i32::from(x.to_bits() << 12 == 0);
        let bits = (52 - log_above(total_units.max(1.0))).clamp(1, T::BITS);
        // The least float32 of full precision is 2^−126: finer than any sum of gradients needs.
        let bound = if bound > 0.0 { bound.max(1e-30) } else { 0.0 };
        let magic = if bound == 0.0 { 0.0 } else { 1.5 * 2f64.powi((log_above(bound) - bits + T::BITS + 1).min(1022)) };
        Grid { magic: T::from_f64(magic), arch: Arch::new() }
    }

    /// The nearest multiple of the step.
    #[inline(always)]
    pub(crate) fn round(&self, x: T) -> T {
        x.round(self.magic)
    }

    /// Rounds a row in place.
    pub(crate) fn round_row(&self, row: &mut [T]) {
        self.arch.dispatch(RoundRow { magic: self.magic, row });
    }
}

struct RoundRow<'a, T> {
    magic: T,
    row: &'a mut [T],
}

impl<T: OnGrid> WithSimd for RoundRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.row.iter_mut().for_each(|x| *x = x.round(self.magic));
    }
}

struct AddRounded<'a, T> {
    magic: T,
    weight: f64,
    row: &'a [T],
    sums: &'a mut [f64],
}

impl<T: OnGrid> WithSimd for AddRounded<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (sum, x) in self.sums.iter_mut().zip(self.row) {
            *sum += self.weight * x.round(self.magic).to_f64();
        }
    }
}

/// `sums[j] += weight · rounded(row[j])`.
pub(crate) fn add_rounded<T: OnGrid>(grid: &Grid<T>, weight: f64, row: &[T], sums: &mut [f64]) {
    grid.arch.dispatch(AddRounded { magic: grid.magic, weight, row, sums });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sums<T: OnGrid>(rows: &[(u8, f64)], bound: f64) -> Result<(), TestCaseError> {
        let total: f64 = rows.iter().map(|r| f64::from(r.0)).sum();
        let grid = Grid::<T>::new(bound, total);
        let sum = |rows: &mut dyn Iterator<Item = (f64, f64)>| {
            let mut sums = [0.0];
            rows.for_each(|(w, x)| add_rounded(&grid, w, &[T::from_f64(x)], &mut sums));
            sums[0]
        };
        let whole = sum(&mut rows.iter().map(|&(w, x)| (f64::from(w), x)));
        let units = rows.iter().rev().flat_map(|&(w, x)| std::iter::repeat_n((1.0, x), w.into()));
        prop_assert_eq!(whole, sum(&mut units.collect::<Vec<_>>().into_iter()));
        for &(_, x) in rows {
            let mut row = [T::from_f64(x)];
            let rounded = grid.round(row[0]).to_f64();
            prop_assert!((rounded - row[0].to_f64()).abs() <= bound * 2f64.powi(-22), "{x} {rounded}");
            grid.round_row(&mut row);
            prop_assert_eq!(row[0].to_f64(), rounded);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn sums_are_exact_in_any_order(
            rows in prop::collection::vec((0u8..20, -1.0f64..=1.0, 0i32..12), 1..60), bound in prop::sample::select(vec![2.0, 1.0, 0.3, 1e6]),
        ) {
            let rows: Vec<_> = rows.into_iter().map(|(w, x, e)| (w, x * bound * 10f64.powi(-e))).collect();
            sums::<f32>(&rows, bound)?;
            sums::<f64>(&rows, bound)?;
        }
    }

    #[test]
    fn bounds_and_totals_of_any_size() {
        for bound in [0.0, 1e-30, 1.0, 2.0, 1e30] {
            for total in [0.0, 1.0, 1e9, 1e15] {
                let (a, b) = (Grid::<f32>::new(bound, total), Grid::<f64>::new(bound, total));
                for x in [-bound, 0.0, bound] {
                    assert!((f64::from(a.round(x as f32)) - x).abs() <= bound * 0.5, "{bound} {total}");
                    assert!((b.round(x) - x).abs() <= bound * 0.5, "{bound} {total}");
                }
            }
        }
        assert_eq!(Grid::<f64>::new(f64::MAX, 10.0).round(1.0), 0.0);
    }
}
