//! log₂ x, for one number or two at a time, by a table of logarithms.
//!
//! x = 2^k z with z between 0.7 and 1.42. This range is cut into 128 intervals, each with a number c near its middle, such
//! that 1/c is a multiple of 2⁻⁹; in the interval around 1, c = 1. With r = z/c − 1, whose magnitude is below 0.006, log₂ x
//! = k + log₂ c + log₂ (1 + r), and the last is its Taylor series up to r⁷. Without error, r is the sum of a number of at
//! most 24 bits and a small one. The first part of log₂ c is a multiple of 2⁻⁴², so that its sum with k is exact. Where
//! log₂ x is near zero, k and log₂ c are zero, and no digits cancel.
//!
//! Two numbers take less than twice the time of one, because a processor computes them together.

use super::logarithms::{is_normal, log2_of_others};

/// 2^INTERVALS is the number of intervals.
const INTERVALS: u32 = 7;

/// The distance of intervals, in units of the last place of z.
const STEP: u64 = 1 << (52 - INTERVALS);

/// The interval around 1.
const OF_ONE: u64 = 75;

/// The bits of the least z, which is half a step below the middle of the first interval.
const LEAST: u64 = 1f64.to_bits() - OF_ONE * STEP - STEP / 2;

#[repr(align(32))]
struct Row {
    /// 1/c.
    inverse: f64,
    /// log₂ c, in two parts.
    log: [f64; 2],
}

type Table = [Row; 1 << INTERVALS];

static TABLE: Table = {
    /// 2 log₂ e in units of 2⁻¹¹⁰.
    const UNIT: i128 = 3_745_450_464_315_769_697_161_631_365_097_757;
    let mut rows = [const { Row { inverse: 0.0, log: [0.0; 2] } }; 1 << INTERVALS];
    let mut number = 0;
    while number < rows.len() {
        let middle = f64::from_bits(LEAST + STEP / 2 + number as u64 * STEP);
        let inverse = (512.0 / middle + 0.5) as i128;
        // ln c = 2 artanh s with s = (512 − 512/c) / (512 + 512/c), whose magnitude is below 0.18.
        let (above, below) = (512 - inverse, 512 + inverse);
        let mut power = UNIT * above / below;
        let mut sum = 0;
        let mut n = 1;
        while n < 50 {
            sum += power / n;
            power = power * (above * above) / (below * below);
            n += 2;
        }
        let high = (sum + (1 << 67)) >> 68;
        let low = sum - (high << 68);
        let log = [high as f64 / (1u64 << 42) as f64, low as f64 / (1u128 << 110) as f64];
        rows[number] = Row { inverse: inverse as f64 / 512.0, log };
        number += 1;
    }
    rows
};

/// The factors of r², r³, … in the series of log₂ (1 + r).
const C: [f64; 6] = {
    let mut c = [0.0; 6];
    let mut n = 2;
    while n < 8 {
        c[n - 2] = if n % 2 == 0 { -std::f64::consts::LOG2_E } else { std::f64::consts::LOG2_E } / n as f64;
        n += 1;
    }
    c
};

/// Returns log₂ (1 + r) − r log₂ e.
#[inline(always)]
fn rest(r: f64) -> f64 {
    let r2 = r * r;
    r2 * ((C[0] + C[1] * r) + r2 * ((C[2] + C[3] * r) + r2 * (C[4] + C[5] * r)))
}

/// Some numbers, in parts.
struct Reduced<const N: usize> {
    k: [i32; N],
    inverse: [f64; N],
    log: [[f64; 2]; N],
    /// z, as a sum.
    z: [[f64; 2]; N],
}

impl<const N: usize> Reduced<N> {
    /// `x` must be normal and positive.
    #[inline(always)]
    fn new(x: [f64; N]) -> Self {
        let mut reduced = Reduced { k: [0; N], inverse: [0.0; N], log: [[0.0; 2]; N], z: [[0.0; 2]; N] };
        for (i, x) in x.into_iter().enumerate() {
            let above = x.to_bits().wrapping_sub(LEAST);
            let row = &TABLE[(above >> (52 - INTERVALS)) as usize % TABLE.len()];
            let z = x.to_bits().wrapping_sub(above & (0xfff << 52));
            // The nearest number of 21 bits.
            let high = f64::from_bits((z + (1 << 31)) & !0xffff_ffff);
            reduced.k[i] = (above as i64 >> 52) as i32;
            (reduced.inverse[i], reduced.log[i]) = (row.inverse, row.log);
            reduced.z[i] = [high, f64::from_bits(z) - high];
        }
        reduced
    }

    /// Returns the two parts of r.
    #[inline(always)]
    fn r(&self, i: usize) -> [f64; 2] {
        [self.z[i][0] * self.inverse[i] - 1.0, self.z[i][1] * self.inverse[i]]
    }
}

/// Returns log₂ x for normal x > 0, bit for bit as [`log2`].
#[inline(always)]
pub(crate) fn log2_of_normals<const N: usize>(x: [f64; N]) -> [f64; N] {
    /// log₂ e in two parts, the first of which has 22 bits.
    const PARTS: [f64; 2] = [1.442_695_040_721_446_3, 1.675_171_316_488_651_2e-10];
    let reduced = Reduced::new(x);
    let mut logs = [0.0; N];
    for (i, log) in logs.iter_mut().enumerate() {
        let ([high, low], of_c) = (reduced.r(i), reduced.log[i]);
        // Both are exact.
        let (whole, product) = (f64::from(reduced.k[i]) + of_c[0], high * PARTS[0]);
        let sum = whole + product;
        let small = low * std::f64::consts::LOG2_E + (high * PARTS[1] + of_c[1]);
        *log = sum + (((whole - sum) + product) + (small + rest(high + low)));
    }
    logs
}

/// Returns log₂ x, with an error below 1.2 ulp, and none for powers of two: −∞ for zero, NaN for negative numbers.
#[inline]
pub(crate) fn log2(x: f64) -> f64 {
    if is_normal(x) { log2_of_normals([x])[0] } else { log2_of_others(x) }
}
