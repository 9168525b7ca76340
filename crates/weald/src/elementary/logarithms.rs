//! ln x and ln (1 + x).
//!
//! x = 2^k (1 + f) with √½ ≤ 1 + f < √2. With s = f / (2 + f), ln (1 + f) = 2 artanh s = f − ½f² + s (½f² + R), where R
//! approximates 2s²/3 + 2s⁴/5 + … by a polynomial with an error below 2⁻⁵⁸ (its coefficients are those of FreeBSD's
//! `log`, by Sun Microsystems).

use super::LN_2;

const R: [f64; 7] = [
    6.666_666_666_666_735e-1,
    3.999_999_999_940_942e-1,
    2.857_142_874_366_239e-1,
    2.222_219_843_214_978_4e-1,
    1.818_357_216_161_805e-1,
    1.531_383_769_920_937_3e-1,
    1.479_819_860_511_658_6e-1,
];

/// The parts of the logarithm of a number.
struct Parts {
    k: f64,
    f: f64,
    /// ½f².
    half: f64,
    /// s (½f² + R).
    rest: f64,
}

impl Parts {
    /// `x` must be normal and positive.
    #[inline(always)]
    fn new(x: f64) -> Self {
        const ONE: u64 = 1f64.to_bits();
        // 2⁵², whose low bits are an integer.
        const INTEGER: u64 = ((1u64 << 52) as f64).to_bits();
        let biased = x.to_bits().wrapping_add(ONE - std::f64::consts::FRAC_1_SQRT_2.to_bits()) >> 52;
        let k = f64::from_bits(biased | INTEGER) - ((1u64 << 52) + 1023) as f64;
        let f = f64::from_bits(x.to_bits().wrapping_add(ONE).wrapping_sub(biased << 52)) - 1.0;
        Parts::of_sum(k, f)
    }

    /// Returns those of 2^k (1 + f), for f between √½ − 1 and √2 − 1.
    #[inline(always)]
    fn of_sum(k: f64, f: f64) -> Self {
        let s = f / (2.0 + f);
        let s2 = s * s;
        let s4 = s2 * s2;
        let even = s4 * (R[1] + s4 * (R[3] + s4 * R[5]));
        let odd = s2 * (R[0] + s4 * (R[2] + s4 * (R[4] + s4 * R[6])));
        let half = 0.5 * f * f;
        Parts { k, f, half, rest: s * (half + (even + odd)) }
    }
}

/// Returns ln x for normal x > 0, bit for bit as [`ln`].
#[inline(always)]
pub(crate) fn ln_of_normal(x: f64) -> f64 {
    let Parts { k, f, half, rest } = Parts::new(x);
    k * LN_2[0] - ((half - (rest + k * LN_2[1])) - f)
}

/// Returns ln x, with an error below 1 ulp: −∞ for zero, NaN for negative numbers.
#[inline]
pub fn ln(x: f64) -> f64 {
    if is_normal(x) { ln_of_normal(x) } else { of_others(x, ln_of_normal, std::f64::consts::LN_2) }
}

/// Returns ln (1 + x), with an error below 1 ulp, also if it is small: −∞ for −1, NaN for smaller numbers. All bits are those
/// of the function of `libm`, which takes longer for small x.
#[inline]
pub fn ln_1p(x: f64) -> f64 {
    if (-0.29..0.41).contains(&x) {
        let Parts { f, half, rest, .. } = Parts::of_sum(0.0, x);
        return (rest - half) + f;
    }
    libm::log1p(x)
}

/// Returns log₂ x for x that are not normal or not positive.
#[cold]
#[inline(never)]
pub(super) fn log2_of_others(x: f64) -> f64 {
    of_others(x, super::log2, 1.0)
}

#[inline(always)]
pub(super) fn is_normal(x: f64) -> bool {
    (f64::MIN_POSITIVE..f64::INFINITY).contains(&x)
}

/// `log_of_2` is the logarithm of 2.
#[cold]
#[inline(never)]
fn of_others(x: f64, of_normal: impl Fn(f64) -> f64, log_of_2: f64) -> f64 {
    const UP: u32 = 54;
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x < 0.0 {
        f64::NAN
    } else if x < f64::MIN_POSITIVE {
        of_normal(x * (1u64 << UP) as f64) - f64::from(UP) * log_of_2
    } else {
        // Infinity and NaN.
        x
    }
}
