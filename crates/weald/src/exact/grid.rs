//! Rounding to the multiples of a spacing, so that sums are exact in float64.

use std::ops::{Add, Sub};

use super::reduce::Largest;
use super::{PowerOfTwo, Total, exponent_above};

/// A type of floats that are rounded to a grid before they are added up in float64.
pub(crate) trait GridFloat: Largest + Add<Output = Self> + Sub<Output = Self> {
    /// The number of bits of the significand after the first.
    const FRACTION_BITS: i32;
    /// The maximum number of bits of a rounded number relative to its bound. The addition that rounds needs one bit.
    const MOST_BITS: i32 = Self::FRACTION_BITS - 1;
    /// Smaller bounds are replaced by this one, so that the spacing is a normal number.
    const LEAST_BOUND: f64;

    fn from_f64(x: f64) -> Self;
}

impl GridFloat for f32 {
    const FRACTION_BITS: i32 = 23;
    const LEAST_BOUND: f64 = 1e-30;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x as f32
    }
}

impl GridFloat for f64 {
    const FRACTION_BITS: i32 = 52;
    const LEAST_BOUND: f64 = 1e-290;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x
    }
}

/// The number of bits of sums in float64.
const BITS_OF_SUMS: i32 = Total::BITS as i32;
/// Weights that had to be rounded may have units that fill all these bits. Terms keep at least this many bits
/// nevertheless, and the sums are then rounded.
const FEWEST_BITS: i32 = 26;

/// The multiples of a power of two, the *spacing*. It is stored as a number at which floats are spaced by it: adding
/// this number and subtracting it again rounds to the nearest multiple, with ties to even, any number of less than half
/// its magnitude. The number zero rounds nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid<T = f64>(T);

impl<T: GridFloat> Grid<T> {
    /// Returns the grid with a spacing of 2^exponent. Near the ends of the range of float64, the spacing is coarser or
    /// finer than requested; sums overflow there, or are exact anyway.
    fn of_spacing(exponent: i32) -> Self {
        Grid(T::from_f64(1.5 * 2f64.powi((exponent + T::FRACTION_BITS).clamp(-1022, 1022))))
    }

    /// Returns the grid for |x| < `bound` whose spacing is 2^−bits times the power of two above the bound.
    pub(crate) fn with_bits(bound: f64, bits: i32) -> Self {
        if bound == 0.0 { Grid(T::from_f64(0.0)) } else { Grid::of_spacing(exponent_above(bound) - bits) }
    }

    /// Returns the grid for |x| ≤ `bound` with which sums of x times integer weights, up to `total` in total, are exact
    /// in any order. For float32 and up to 2³⁰ units, the spacing is 2⁻²² times the power of two at or above the
    /// bound. For float64, it is as small as possible if sums have 52 bits.
    pub(crate) fn for_sums(bound: f64, total: Total) -> Self {
        // The exponent of the power of two at or above x.
        let exponent_at = |x: f64| exponent_above(x) - i32::from(x.to_bits() << 12 == 0);
        let bits = BITS_OF_SUMS - exponent_at(total.as_f64().max(1.0));
        let bits = bits.clamp(FEWEST_BITS.min(T::MOST_BITS), T::MOST_BITS);
        if bound > 0.0 {
            Grid::of_spacing(exponent_at(bound.max(T::LEAST_BOUND)) - bits)
        } else {
            Grid(T::from_f64(0.0))
        }
    }

    /// Returns the nearest multiple of the spacing.
    #[inline(always)]
    pub(crate) fn round(self, x: T) -> T {
        (x + self.0) - self.0
    }
}

impl Grid {
    /// The grid of integers, for |x| < 2⁵¹.
    pub(crate) const WHOLE: Grid = Grid(1.5 * (1u64 << 52) as f64);

    /// Returns a grid and a finer one for the remainders of the first, which are at most half its spacing.
    pub(crate) fn pair(bound: f64, bits: i32) -> (Self, Self) {
        (Grid::with_bits(bound, bits), Grid::with_bits(bound * PowerOfTwo::new(-bits).value(), bits))
    }
}

/// Sums in 32 bits: the bits of numbers that have been shifted by the grid are added up modulo 2³².
impl Grid<f32> {
    /// The maximum number of terms of a sum. Each term has up to 2²² multiples of the spacing, so that the magnitude of
    /// the sum is at most 2³⁰.
    pub(crate) const TERMS_OF_BITS: usize = 1 << (30 - <f32 as GridFloat>::MOST_BITS);

    /// Returns what `x` adds to a sum of bits.
    #[inline(always)]
    pub(crate) fn bits(self, x: f32) -> u32 {
        (x + self.0).to_bits()
    }

    /// Returns the sum of `n` rounded numbers from the sum of their bits.
    #[inline(always)]
    pub(crate) fn sum_of_bits(self, n: usize, bits: u32) -> f64 {
        // The spacing is the value of the last bit of the shift.
        let multiples = bits.wrapping_sub(self.0.to_bits().wrapping_mul(n as u32)) as i32;
        f64::from(multiples) * f64::from(f32::from_bits(self.0.to_bits() + 1) - self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sums<T: GridFloat + Into<f64>>(rows: &[(u8, f64)], bound: f64) -> Result<(), TestCaseError> {
        let total: f64 = rows.iter().map(|r| f64::from(r.0)).sum();
        let grid = Grid::<T>::for_sums(bound, Total::of_sum(total).unwrap());
        let rounded = |x: f64| -> f64 { grid.round(T::from_f64(x)).into() };
        let sum = |rows: &mut dyn Iterator<Item = (f64, f64)>| {
            let mut sums = [0.0];
            rows.for_each(|(w, x)| sums[0] += w * rounded(x));
            sums[0]
        };
        let whole = sum(&mut rows.iter().map(|&(w, x)| (f64::from(w), x)));
        let units = rows.iter().rev().flat_map(|&(w, x)| std::iter::repeat_n((1.0, x), w.into()));
        prop_assert_eq!(whole, sum(&mut units.collect::<Vec<_>>().into_iter()));
        for &(_, x) in rows {
            let x: f64 = T::from_f64(x).into();
            // The tolerance is half a spacing of a float32 grid, which has at least 21 bits below the bound.
            prop_assert!((rounded(x) - x).abs() <= bound * 2f64.powi(-22), "{x:?} {}", rounded(x));
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

        #[test]
        fn sums_of_bits_are_those_of_rounded_numbers(
            terms in prop::collection::vec(-1.0f32..=1.0, 1..=Grid::TERMS_OF_BITS), bound in prop::sample::select(vec![2.0, 1.0, 0.3, 1e6]), extreme in any::<bool>(),
        ) {
            let grid = Grid::<f32>::for_sums(bound, Total::new(terms.len() as u64).unwrap());
            let terms: Vec<f32> = terms.iter().map(|x| if extreme { x.signum() } else { *x } * bound as f32).collect();
            let bits = terms.iter().fold(0u32, |sum, &x| sum.wrapping_add(grid.bits(x)));
            let sum: f64 = terms.iter().map(|&x| f64::from(grid.round(x))).sum();
            prop_assert_eq!(grid.sum_of_bits(terms.len(), bits), sum);
        }
    }

    #[test]
    fn bounds_and_totals_of_any_size() {
        for bound in [0.0, 1e-30, 1.0, 2.0, 1e30] {
            for total in [0, 1, 1_000_000_000, 1_000_000_000_000_000, Total::LIMIT - 1] {
                let total = Total::new(total).unwrap();
                let (a, b) = (Grid::<f32>::for_sums(bound, total), Grid::<f64>::for_sums(bound, total));
                for x in [-bound, 0.0, bound] {
                    // Even the coarsest grid represents the bound up to a factor of two.
                    assert!((f64::from(a.round(x as f32)) - x).abs() <= bound * 0.5, "{bound} {total:?}");
                    assert!((b.round(x) - x).abs() <= bound * 0.5, "{bound} {total:?}");
                }
            }
        }
        assert_eq!(Grid::<f64>::for_sums(f64::MAX, Total::new(10).unwrap()).round(1.0), 0.0);
    }

    #[test]
    fn whole_numbers_are_the_nearest() {
        let cases = [
            (0.5, 0.0),
            (1.5, 2.0),
            (-2.5, -2.0),
            (2.51, 3.0),
            (-0.49, 0.0),
            (2f64.powi(51) - 1.0, 2f64.powi(51) - 1.0),
        ];
        for (x, nearest) in cases {
            assert_eq!(Grid::WHOLE.round(x), nearest, "{x}");
        }
    }
}
