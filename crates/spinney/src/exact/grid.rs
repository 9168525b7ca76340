//! Rounding to the multiples of a spacing, so that sums are exact in float64.

use std::ops::{Add, Sub};

use super::reduce::Largest;
use super::{PowerOfTwo, exponent_above};

/// A float whose numbers are rounded to a grid before they are added up in float64.
pub(crate) trait GridFloat: Largest + Add<Output = Self> + Sub<Output = Self> {
    /// Bits of the significand behind its first.
    const FRACTION_BITS: i32;
    /// Bits of a rounded number below its bound, at most: the addition that rounds takes one.
    const MOST_BITS: i32 = Self::FRACTION_BITS - 1;
    /// Bounds below are taken for this one, whose grid has a spacing of full precision.
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

/// Bits that sums in float64 have.
const BITS_OF_SUMS: i32 = 52;
/// Weights that are rounded have units that fill all of them. Terms keep this many all the same, and the sums are rounded.
const FEWEST_BITS: i32 = 26;

/// The multiples of a power of two, the *spacing*. Held as a number in whose binade the float has no other values: to add it
/// and take it away again rounds to the nearest multiple, ties to even, whatever is below half of it. Zero rounds nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid<T = f64>(T);

impl<T: GridFloat> Grid<T> {
    /// Multiples of 2^exponent. Near the ends of the range of float64 the spacing is coarser or finer than asked: sums there
    /// overflow or are exact as they are.
    fn of_spacing(exponent: i32) -> Self {
        Grid(T::from_f64(1.5 * 2f64.powi((exponent + T::FRACTION_BITS).clamp(-1022, 1022))))
    }

    /// For |x| < `bound`: multiples of 2^−bits of the power of two above it.
    pub(crate) fn with_bits(bound: f64, bits: i32) -> Self {
        if bound == 0.0 { Grid(T::from_f64(0.0)) } else { Grid::of_spacing(exponent_above(bound) - bits) }
    }

    /// For |x| ≤ `bound`, so that sums of such numbers times whole weights, of at most `total_units`, are exact in any order:
    /// multiples of the power of two at or above the bound times 2^−22 for float32 up to 2³⁰ units; for float64 as fine as
    /// leaves 52 bits to the sum.
    pub(crate) fn for_sums(bound: f64, total_units: f64) -> Self {
        // The exponent of the power of two at or above.
        let exponent_at = |x: f64| exponent_above(x) - i32::from(x.to_bits() << 12 == 0);
        let bits = BITS_OF_SUMS - exponent_at(total_units.max(1.0));
        let bits = bits.clamp(FEWEST_BITS.min(T::MOST_BITS), T::MOST_BITS);
        if bound > 0.0 {
            Grid::of_spacing(exponent_at(bound.max(T::LEAST_BOUND)) - bits)
        } else {
            Grid(T::from_f64(0.0))
        }
    }

    /// The nearest multiple of the spacing.
    #[inline(always)]
    pub(crate) fn round(self, x: T) -> T {
        (x + self.0) - self.0
    }
}

impl Grid {
    /// Whole numbers: for |x| < 2⁵¹.
    pub(crate) const WHOLE: Grid = Grid(1.5 * (1u64 << 52) as f64);

    /// A grid, and one for what the first leaves of a number: at most half its spacing.
    pub(crate) fn pair(bound: f64, bits: i32) -> (Self, Self) {
        (Grid::with_bits(bound, bits), Grid::with_bits(bound * PowerOfTwo::new(-bits).value(), bits))
    }
}

/// Sums in 32 bits: rounded numbers are added up by the bits of what they are shifted to, modulo 2³².
impl Grid<f32> {
    /// Terms of one sum, at most: each has up to 2²² multiples of the spacing, so all together stay below 2³¹.
    pub(crate) const TERMS_OF_BITS: usize = 1 << (30 - <f32 as GridFloat>::MOST_BITS);

    /// What `x` adds to a sum of bits.
    #[inline(always)]
    pub(crate) fn bits(self, x: f32) -> u32 {
        (x + self.0).to_bits()
    }

    /// The sum of `n` rounded numbers from that of their bits.
    #[inline(always)]
    pub(crate) fn sum_of_bits(self, n: usize, bits: u32) -> f64 {
        // The last bit of the shift is the spacing.
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
        let grid = Grid::<T>::for_sums(bound, total);
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
            // Half a unit of a grid of float32, which has 21 bits of the bound at least.
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
            let grid = Grid::<f32>::for_sums(bound, terms.len() as f64);
            let terms: Vec<f32> = terms.iter().map(|x| if extreme { x.signum() } else { *x } * bound as f32).collect();
            let bits = terms.iter().fold(0u32, |sum, &x| sum.wrapping_add(grid.bits(x)));
            let sum: f64 = terms.iter().map(|&x| f64::from(grid.round(x))).sum();
            prop_assert_eq!(grid.sum_of_bits(terms.len(), bits), sum);
        }
    }

    #[test]
    fn bounds_and_totals_of_any_size() {
        for bound in [0.0, 1e-30, 1.0, 2.0, 1e30] {
            for total in [0.0, 1.0, 1e9, 1e15] {
                let (a, b) = (Grid::<f32>::for_sums(bound, total), Grid::<f64>::for_sums(bound, total));
                for x in [-bound, 0.0, bound] {
                    // However coarse the grid, it has the bound itself to half of it.
                    assert!((f64::from(a.round(x as f32)) - x).abs() <= bound * 0.5, "{bound} {total}");
                    assert!((b.round(x) - x).abs() <= bound * 0.5, "{bound} {total}");
                }
            }
        }
        assert_eq!(Grid::<f64>::for_sums(f64::MAX, 10.0).round(1.0), 0.0);
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
