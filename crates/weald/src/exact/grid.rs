//! Rounding to the multiples of a spacing, so that sums are exact in float64.

use std::ops::{Add, Sub};

use super::reduce::Largest;
use super::{PowerOfTwo, exponent_above};
use crate::elementary::power_of_two;

/// A type of floats that are rounded to a grid before they are added up in float64.
pub(crate) trait GridFloat: Largest + Add<Output = Self> + Sub<Output = Self> + Into<f64> {
    /// The number of bits of the significand after the first.
    const FRACTION_BITS: i32;
    /// The maximum number of bits of a rounded number relative to its bound. The addition that rounds needs one bit.
    const MOST_BITS: i32 = Self::FRACTION_BITS - 1;
    /// The minimum number of bits to which terms of weighted sums are rounded.
    const FEWEST_BITS: i32;
    /// Smaller bounds are replaced by this one, so that the spacing is a normal number.
    const LEAST_BOUND: f64;

    const ZERO: Self;

    fn from_f64(x: f64) -> Self;
}

impl GridFloat for f32 {
    const FRACTION_BITS: i32 = 23;
    const FEWEST_BITS: i32 = Self::MOST_BITS;
    const LEAST_BOUND: f64 = 1e-30;
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x as f32
    }
}

impl GridFloat for f64 {
    const FRACTION_BITS: i32 = 52;
    const FEWEST_BITS: i32 = 21;
    const LEAST_BOUND: f64 = 1e-290;
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x
    }
}

/// The multiples of a power of two, the *spacing*. It is stored as a number at which floats are spaced by it: adding
/// this number and subtracting it again rounds to the nearest multiple, with ties to even, any number of less than half
/// its magnitude. The number zero rounds nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid<T = f64>(T);

impl<T: GridFloat> Grid<T> {
    /// The grid that rounds nothing.
    pub(crate) const NONE: Self = Grid(T::ZERO);

    /// Returns whether the grid rounds anything.
    #[inline(always)]
    pub(crate) fn rounds(self) -> bool {
        self.0 != T::ZERO
    }

    /// Returns the grid with a spacing of 2^exponent. Near the ends of the range of float64, the spacing is coarser or
    /// finer than requested; sums overflow there, or are exact anyway.
    pub(crate) fn of_spacing(exponent: i32) -> Self {
        Grid(T::from_f64(1.5 * power_of_two((exponent + T::FRACTION_BITS).clamp(-1022, 1022))))
    }

    /// Returns the grid for |x| < `bound` whose spacing is 2^−bits times the power of two above the bound.
    pub(crate) fn with_bits(bound: f64, bits: i32) -> Self {
        if bound == 0.0 { Grid::NONE } else { Grid::of_spacing(exponent_above(bound) - bits) }
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
    pub(crate) fn pair(bound: f64, bits: i32) -> [Self; 2] {
        [Grid::with_bits(bound, bits), Grid::with_bits(bound * PowerOfTwo::new(-bits).value(), bits)]
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

    proptest! {
        #[test]
        fn sums_of_bits_are_those_of_rounded_numbers(
            terms in prop::collection::vec(-1.0f32..=1.0, 1..=Grid::TERMS_OF_BITS), bound in prop::sample::select(vec![2.0, 1.0, 0.3, 1e6]), extreme in any::<bool>(),
        ) {
            let grid = Grid::<f32>::with_bits(bound, <f32 as GridFloat>::MOST_BITS);
            let terms: Vec<f32> = terms.iter().map(|x| if extreme { x.signum() } else { *x } * bound as f32).collect();
            let bits = terms.iter().fold(0u32, |sum, &x| sum.wrapping_add(grid.bits(x)));
            let sum: f64 = terms.iter().map(|&x| f64::from(grid.round(x))).sum();
            prop_assert_eq!(grid.sum_of_bits(terms.len(), bits), sum);
        }
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
