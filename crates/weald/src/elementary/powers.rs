//! Squares and powers of two.

/// Products of a number with itself.
pub(crate) trait Squared {
    fn squared(self) -> Self;
}

impl Squared for f64 {
    #[inline(always)]
    fn squared(self) -> f64 {
        self * self
    }
}

/// Returns 2^e, which is zero or infinite if it is out of range.
#[inline]
pub(crate) const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(match exponent {
        ..-1074 => 0,
        -1074..-1022 => 1 << (exponent + 1074),
        -1022..1024 => ((exponent + 1023) as u64) << 52,
        1024.. => return f64::INFINITY,
    })
}
