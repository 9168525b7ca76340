//! Conversion of floats to integers, and back.

use super::{PowerOfTwo, exponent_above};

/// Fixed-point numbers: a power of two by which numbers are multiplied before their fractions are dropped or rounded,
/// and its inverse. The products of integers with `bits` bits and weights with `b` bits have sums of `bits + b` bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FixedPoint {
    exponent: i32,
    up: PowerOfTwo,
    down: PowerOfTwo,
}

impl FixedPoint {
    /// The numbers are not scaled.
    pub(crate) const ONE: FixedPoint = FixedPoint { exponent: 0, up: PowerOfTwo::ONE, down: PowerOfTwo::ONE };

    /// Numbers up to `bound` in magnitude become numbers below 2^bits; `bound` must not be zero.
    pub(crate) fn with_bits(bound: f64, bits: i32) -> Self {
        FixedPoint::of_exponent(bits - exponent_above(bound))
    }

    /// The power of two is 2^exponent.
    pub(crate) fn of_exponent(exponent: i32) -> Self {
        FixedPoint { exponent, up: PowerOfTwo::new(exponent), down: PowerOfTwo::new(-exponent) }
    }

    pub(crate) fn exponent(self) -> i32 {
        self.exponent
    }

    /// Returns x in units of the last place, with a fraction.
    #[inline(always)]
    pub(crate) fn up(self, x: f64) -> f64 {
        self.up.times(x)
    }

    /// Returns the value of an integer, or of a mean of integers.
    #[inline(always)]
    pub(crate) fn down(self, whole: f64) -> f64 {
        self.down.times(whole)
    }

    /// Returns the power of two and its inverse, which are zero or infinite if they are out of range.
    pub(crate) fn values(self) -> (f64, f64) {
        (self.up.value(), self.down.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whole_numbers_have_the_bits_asked_for_and_lead_back(
            x in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL, below in 0.0f64..=1.0, bits in 0i32..120,
        ) {
            let fixed = FixedPoint::with_bits(x, bits);
            let (up, limit) = (fixed.up(x).abs(), 2f64.powi(bits));
            prop_assert!(up < limit && up >= limit / 2.0, "{x:e} {up:e}");
            prop_assert_eq!(fixed.down(fixed.up(x)), x);
            prop_assert!(fixed.up(x * below).abs() < limit);
            let (power, inverse) = fixed.values();
            prop_assert!(power * inverse == 1.0 || !power.is_normal() || !inverse.is_normal());
        }
    }
}
