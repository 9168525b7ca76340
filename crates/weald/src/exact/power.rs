//! Powers of two that neither overflow nor underflow, and the exponents of numbers.

use crate::elementary::power_of_two;

/// 2^e as a product of two factors that are finite and normal, for |e| ≤ 2 000. The power itself may be out of the
/// range of float64 even if its product with a number is not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PowerOfTwo(f64, f64);

impl PowerOfTwo {
    pub(crate) const ONE: PowerOfTwo = PowerOfTwo(1.0, 1.0);

    pub(crate) fn new(exponent: i32) -> Self {
        PowerOfTwo(power_of_two(exponent / 2), power_of_two(exponent - exponent / 2))
    }

    /// Returns x · 2^e.
    #[inline(always)]
    pub(crate) fn times(self, x: f64) -> f64 {
        x * self.0 * self.1
    }

    /// Returns the power itself, which is zero or infinite if it is out of range.
    pub(crate) fn value(self) -> f64 {
        self.0 * self.1
    }
}

/// Returns the smallest e with |x| < 2^e, for finite x ≠ 0.
pub(crate) fn exponent_above(x: f64) -> i32 {
    let bits = x.abs().to_bits();
    let biased = (bits >> 52) as i32;
    if biased > 0 { biased - 1022 } else { -1010 - bits.leading_zeros() as i32 }
}

/// Returns the largest e such that x is a multiple of 2^e, for finite x ≠ 0.
pub(crate) fn lowest_bit(x: f64) -> i32 {
    let bits = x.to_bits();
    let (biased, mantissa) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (exponent, whole) = if biased == 0 { (-1074, mantissa) } else { (biased - 1075, mantissa | 1 << 52) };
    exponent + whole.trailing_zeros() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_the_least_above() {
        for x in [1.0, 1.5, 2.0, 0.75, 1e300, f64::MAX, f64::MIN_POSITIVE, 1e-310, 3e-320, 5e-324] {
            let e = exponent_above(x);
            assert_eq!(e, exponent_above(-x));
            assert!(e == 1024 || x < PowerOfTwo::new(e).value(), "{x} {e}");
            assert!(x >= PowerOfTwo::new(e - 1).value(), "{x} {e}");
        }
    }

    #[test]
    fn lowest_bits_are_the_largest_powers_that_divide() {
        for (x, e) in [(1.0, 0), (-12.0, 2), (0.375, -3), (f64::MAX, 971), (5e-324, -1074), (f64::MIN_POSITIVE, -1022)]
        {
            assert_eq!(lowest_bit(x), e, "{x}");
        }
    }

    #[test]
    fn powers_beyond_the_range_bring_numbers_back_into_it() {
        assert_eq!(PowerOfTwo::new(2000).times(PowerOfTwo::new(-1074).value()), PowerOfTwo::new(926).value());
        assert_eq!(PowerOfTwo::new(-1074).value(), 5e-324);
        assert_eq!(PowerOfTwo::new(1024).value(), f64::INFINITY);
        assert_eq!(PowerOfTwo::ONE.times(3.0), 3.0);
    }
}
