//! Totals of weights in units, which bound all exact sums.

use super::exponent_above;
use super::reduce::Reduce;
use super::reduce::Workers;
use crate::error::{ErrorKind, Result};

/// The total of some units of weight, over all workers. It is below 2⁵², so that it, every sum of some of these units,
/// and every difference of such sums are integers that float64 represents. As a sample has at least one unit, a sum of
/// units is zero if and only if it is the sum of no sample.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Total(u64);

impl Total {
    /// The number of bits of a total.
    pub(crate) const BITS: u32 = 52;
    /// The number of bits of a total of weights that are not rounded: squares of counts fit 64 bits.
    pub(crate) const EXACT_BITS: u32 = 31;
    /// Totals are below this number.
    pub(crate) const LIMIT: u64 = 1 << Total::BITS;

    /// # Errors
    /// [`ErrorKind::TooMany`] for a total that is not below [`Total::LIMIT`].
    pub(crate) fn new(units: u64) -> Result<Self> {
        if units < Total::LIMIT { Ok(Total(units)) } else { Err(too_many()) }
    }

    /// Returns the total of the units of all workers; `units` are those of this worker.
    ///
    /// # Errors
    /// The same as for [`Total::new`], and the errors of `workers`.
    pub(crate) fn of_all(units: impl IntoIterator<Item = u64>, workers: &Workers) -> Result<Self> {
        let own = units.into_iter().try_fold(0u64, u64::checked_add).unwrap_or(Total::LIMIT);
        // A worker that is beyond the limit sends the limit, which the sum cannot wrap back from.
        Total::new(workers.sum_of(own.min(Total::LIMIT))?)
    }

    /// Returns the total of weights in units that were summed as floats.
    ///
    /// # Errors
    /// The same as for [`Total::new`].
    pub(crate) fn of_sum(units: f64) -> Result<Self> {
        debug_assert!(units >= 0.0 && units.fract() == 0.0, "a sum of units is whole: {units}");
        Total::new(units as u64)
    }

    pub(crate) fn units(self) -> u64 {
        self.0
    }

    pub(crate) fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Returns the smallest e with this total below 2^e.
    pub(crate) fn exponent_above(self) -> i32 {
        exponent_above(self.as_f64().max(1.0))
    }
}

fn too_many() -> crate::error::Error {
    ErrorKind::TooMany { what: "units of weight", limit: Total::LIMIT as usize - 1 }.into()
}

/// How far units are shifted to the right, so that their total stays within a number of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shift(u32);

impl Shift {
    pub(crate) const NONE: Shift = Shift(0);

    /// Returns the smallest shift that brings `total` below 2^bits.
    pub(crate) fn to_bits(total: u64, bits: u32) -> Self {
        Shift((u64::BITS - total.leading_zeros()).saturating_sub(bits))
    }

    /// Returns the shifted units of a sample. The low bits are dropped, but the sample keeps at least one unit. The
    /// total of many samples may thereby exceed the number of bits, by at most one unit for each sample.
    #[inline]
    pub(crate) fn units(self, units: u64) -> u64 {
        (units >> self.0).max(u64::from(units > 0))
    }

    /// Returns a weight in shifted units.
    pub(crate) fn weight(self, units: f64) -> f64 {
        units / (1u64 << self.0) as f64
    }
}

/// Checks, in builds with debug assertions, that a sum of integers is exact.
#[inline(always)]
pub(crate) fn debug_assert_exact(sum: f64) {
    debug_assert!(sum.fract() == 0.0 && sum.abs() <= Total::LIMIT as f64, "a sum that is not exact: {sum}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn totals_that_leave_52_bits_are_refused() {
        assert_eq!(Total::new(Total::LIMIT - 1).unwrap().units(), Total::LIMIT - 1);
        let of_all = |units: &[u64]| Total::of_all(units.iter().copied(), &Workers::One);
        assert_eq!(of_all(&[3, 0, 4]).unwrap().as_f64(), 7.0);
        for beyond in [&[Total::LIMIT][..], &[Total::LIMIT - 1, 1], &[u64::MAX, 1], &[u64::MAX; 3], &[1 << 63; 2]] {
            let error = of_all(beyond).unwrap_err();
            assert!(error.to_string().contains("units of weight"), "{error}");
        }
        assert!(Total::of_sum(Total::LIMIT as f64).is_err());
        assert!(Total::of_sum(f64::INFINITY.min(1e300)).is_err());
    }

    proptest! {
        #[test]
        fn shifts_are_the_smallest_and_lose_no_sample(
            units in prop::collection::vec(prop_oneof![Just(0u64), 1u64..5, any::<u64>().prop_map(|u| u >> 8)], 1..50),
            bits in 8u32..60,
        ) {
            let total: u64 = units.iter().sum();
            let shift = Shift::to_bits(total, bits);
            prop_assert!(total >> shift.0 < 1 << bits);
            prop_assert!(shift == Shift::NONE || total >> (shift.0 - 1) >= 1 << bits);
            let shifted: Vec<u64> = units.iter().map(|&units| shift.units(units)).collect();
            prop_assert!(units.iter().zip(&shifted).all(|(&units, &shifted)| (units > 0) == (shifted > 0)));
            prop_assert!(shifted.iter().sum::<u64>() < (1 << bits) + units.len() as u64);
            prop_assert_eq!(shift.weight(total as f64), total as f64 / 2f64.powi(shift.0 as i32));
        }
    }
}
