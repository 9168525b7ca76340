//! e^x and e^x − 1.
//!
//! x = n ln 2 + r with |r| ≤ ½ ln 2, and e^r is its Taylor series up to r¹³, whose next term is below 5·10⁻¹⁸.

use super::LN_2;
use super::powers::power_of_two;

/// Adding this number rounds to an integer, which is then in the low bits.
const ROUND: f64 = 1.5 * (1u64 << 52) as f64;

/// 1/k!.
const C: [f64; 14] = {
    let mut c = [1.0; 14];
    let mut k = 1;
    while k < 14 {
        c[k] = c[k - 1] / k as f64;
        k += 1;
    }
    c
};

/// The exponent n, and e^r − 1 − r.
struct Reduced {
    /// n plus [`ROUND`].
    shifted: f64,
    r: f64,
    /// What r has lost when it was rounded.
    lost: f64,
    rest: f64,
}

impl Reduced {
    #[inline(always)]
    fn new(x: f64) -> Self {
        let shifted = x * std::f64::consts::LOG2_E + ROUND;
        let n = shifted - ROUND;
        let (high, low) = (x - n * LN_2[0], n * LN_2[1]);
        let r = high - low;
        // Terms are added in pairs, so that fewer operations have to wait for each other.
        let r2 = r * r;
        let r4 = r2 * r2;
        let first = (C[2] + C[3] * r) + (C[4] + C[5] * r) * r2;
        let last = ((C[6] + C[7] * r) + (C[8] + C[9] * r) * r2) + ((C[10] + C[11] * r) + (C[12] + C[13] * r) * r2) * r4;
        Reduced { shifted, r, lost: (high - r) - low, rest: r2 * (first + last * r4) }
    }

    /// Returns e^r · 2^n, which must be a normal number.
    #[inline(always)]
    fn exp(&self) -> f64 {
        let mantissa = 1.0 + (self.r + self.rest);
        f64::from_bits(mantissa.to_bits().wrapping_add(self.shifted.to_bits() << 52))
    }
}

/// The magnitude beyond which e^x or its inverse may not be a normal number.
const FAR: f64 = 700.0;

/// Returns e^x, with an error below 1 ulp.
#[inline]
pub fn exp(x: f64) -> f64 {
    if x.abs() <= FAR { Reduced::new(x).exp() } else { exp_of_far(x) }
}

#[cold]
#[inline(never)]
fn exp_of_far(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    // Beyond these, the result is infinite or zero.
    let reduced = Reduced::new(x.clamp(-746.0, 710.0));
    let n = reduced.shifted.to_bits() as i32;
    (1.0 + (reduced.r + reduced.rest)) * power_of_two(n / 2) * power_of_two(n - n / 2)
}

/// Returns e^x for x ≤ 0, bit for bit as [`exp`] down to −700. Below, it returns e^(−700), which is negligible compared
/// with 1 but not denormal.
#[inline(always)]
pub(crate) fn exp_of_negative(x: f64) -> f64 {
    Reduced::new(if x > -FAR { x } else { -FAR }).exp()
}

/// Returns e^x − 1, with an error below 2 ulp, also if it is small.
#[inline]
pub(crate) fn exp_m1(x: f64) -> f64 {
    /// From here on, the difference between e^x and e^x − 1, or between −1 and e^(−x) − 1, is below ½ ulp.
    const NEGLIGIBLE: f64 = 40.0;
    if x.abs() <= NEGLIGIBLE {
        let Reduced { shifted, r, lost, rest } = Reduced::new(x);
        let power = f64::from_bits(1f64.to_bits().wrapping_add(shifted.to_bits() << 52));
        return power * (r + (rest + (lost + lost * r))) + (power - 1.0);
    }
    if x < 0.0 { -1.0 } else { exp(x) }
}
