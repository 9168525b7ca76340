//! Gradients rounded to a grid, so that their sums are exact in float64.

use super::rows::Score;
use crate::data::weights::exponent_above;

/// Weights that are rounded have units that fill all 52 bits. Terms keep this many all the same, and the sums are rounded.
const FEWEST_BITS: i32 = 26;

/// Numbers that a grid rounds: of a *magic* number's binade, by adding it and taking it away again.
pub(crate) trait OnGrid: Score {
    /// Bits of a rounded number below its bound: of the significand, one is for the addition that rounds.
    const BITS: i32;
    /// Bounds below are taken for this one, whose grid has steps of full precision.
    const LEAST: f64;

    /// The nearest multiple of the grid's step.
    fn round(self, magic: Self) -> Self;

    /// What rounds |x| ≤ `bound` so that sums of such numbers times whole weights, of at most `total_units`, are exact in
    /// any order: steps of the power of two at or above the bound times 2^−22 for float32 up to 2³⁰ units; for float64
    /// as fine as leaves 52 bits to the sum.
    fn magic(bound: f64, total_units: f64) -> Self {
        // The power of two at or above.
        let log_above = |x: f64| exponent_above(x) - i32::from(x.to_bits() << 12 == 0);
        let bits = (52 - log_above(total_units.max(1.0))).clamp(FEWEST_BITS.min(Self::BITS), Self::BITS);
        let bound = if bound > 0.0 { bound.max(Self::LEAST) } else { 0.0 };
        let exponent = if bound == 0.0 { return Self::from_f64(0.0) } else { log_above(bound) - bits + Self::BITS + 1 };
        Self::from_f64(1.5 * 2f64.powi(exponent.min(1022)))
    }
}

impl OnGrid for f32 {
    const BITS: i32 = 22;
    const LEAST: f64 = 1e-30;
    #[inline(always)]
    fn round(self, magic: f32) -> f32 {
        (self + magic) - magic
    }
}

impl OnGrid for f64 {
    const BITS: i32 = 51;
    const LEAST: f64 = 1e-290;
    #[inline(always)]
    fn round(self, magic: f64) -> f64 {
        (self + magic) - magic
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sums<T: OnGrid>(rows: &[(u8, f64)], bound: f64) -> Result<(), TestCaseError> {
        let total: f64 = rows.iter().map(|r| f64::from(r.0)).sum();
        let magic = T::magic(bound, total);
        let sum = |rows: &mut dyn Iterator<Item = (f64, f64)>| {
            let mut sums = [0.0];
            rows.for_each(|(w, x)| sums[0] += w * T::from_f64(x).round(magic).to_f64());
            sums[0]
        };
        let whole = sum(&mut rows.iter().map(|&(w, x)| (f64::from(w), x)));
        let units = rows.iter().rev().flat_map(|&(w, x)| std::iter::repeat_n((1.0, x), w.into()));
        prop_assert_eq!(whole, sum(&mut units.collect::<Vec<_>>().into_iter()));
        for &(_, x) in rows {
            let x = T::from_f64(x);
            let rounded = x.round(magic).to_f64();
            prop_assert!((rounded - x.to_f64()).abs() <= bound * 2f64.powi(-22), "{x:?} {rounded}");
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
                let (a, b) = (f32::magic(bound, total), f64::magic(bound, total));
                for x in [-bound, 0.0, bound] {
                    assert!((f64::from(OnGrid::round(x as f32, a)) - x).abs() <= bound * 0.5, "{bound} {total}");
                    assert!((OnGrid::round(x, b) - x).abs() <= bound * 0.5, "{bound} {total}");
                }
            }
        }
        assert_eq!(OnGrid::round(1.0, f64::magic(f64::MAX, 10.0)), 0.0);
    }
}
