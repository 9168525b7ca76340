//! Weighted sums in float64 that do not depend on the order of their terms.

use super::reduce::{Reduce, Workers};
use super::{Grid, Total, exponent_above, lowest_bit};
use crate::error::Result;

const BITS_OF_SUMS: i32 = Total::BITS as i32;
/// Weights are counted in 64ths, as [`crate::data::weights`] stores them, or in finer units if they are finer. They are
/// never counted in coarser units, because four samples of weight 1 must be rounded like two of weight 2.
const UNIT: i32 = -6;
/// Terms keep at least this many bits in each part of a sum, which is enough for 2²⁶ samples.
const FEWEST_BITS: i32 = 20;
/// If weights leave fewer bits, sums cannot be exact, and terms keep this many bits.
const ROUNDED_BITS: i32 = 30;

/// Returns the number of bits that are left for a term when products of terms and weights are summed in float64: 52
/// minus the bits of the total weight.
pub(crate) fn bits_left(weights: &[f64]) -> i32 {
    bits_of_total(weights.iter().sum(), unit_of(weights))
}

/// Returns the exponent of the unit of which all weights are multiples.
fn unit_of(weights: &[f64]) -> i32 {
    weights.iter().filter(|&&w| w > 0.0).map(|&w| lowest_bit(w)).fold(UNIT, i32::min)
}

fn bits_of_total(total: f64, unit: i32) -> i32 {
    let bits = BITS_OF_SUMS - bits_of_units(total, unit);
    if bits >= FEWEST_BITS { bits } else { ROUNDED_BITS }
}

/// Returns the number of bits of a total weight in units.
fn bits_of_units(total: f64, unit: i32) -> i32 {
    if total == 0.0 { 0 } else { exponent_above(total) - unit }
}

/// Returns Σ w x. Terms are split into two parts on grids, each of which is summed exactly. As long as weights are
/// multiples of 1/64 and their total is below 2²⁶, the result does not depend on the order, a sample of weight 2 is
/// equivalent to two samples, and a sample of weight 0 is ignored, whatever its term is. With finer weights, the products
/// w x are split instead of the terms, so that the largest product, not the largest term, determines the accuracy: the
/// largest terms may be those of samples with very little weight. The result does not depend on the order either.
pub(crate) fn weighted_sum(weights: &[f64], terms: &[f64]) -> f64 {
    let there = || weights.iter().zip(terms).filter(|(w, _)| **w > 0.0).map(|(&w, &x)| (w, x));
    let bound = there().fold(0.0, |bound: f64, (_, x)| if x.is_nan() { f64::NAN } else { bound.max(x.abs()) });
    if bound == 0.0 {
        return 0.0;
    }
    if !bound.is_finite() || there().any(|(_, x)| x.is_nan()) {
        return there().map(|(w, x)| w * x).sum();
    }
    let (unit, total) = (unit_of(weights), weights.iter().sum());
    let [high, low] = if unit < UNIT && BITS_OF_SUMS - bits_of_units(total, unit) < FEWEST_BITS {
        sums_of_products(there())
    } else {
        sums_of_parts(there(), bound, bits_of_total(total, unit))
    };
    high + low
}

/// Returns the sums of the two parts of finite terms up to `bound` in magnitude.
fn sums_of_parts(terms: impl Iterator<Item = (f64, f64)>, bound: f64, bits: i32) -> [f64; 2] {
    let (coarse, fine) = Grid::pair(bound, bits);
    let (mut high, mut low) = (0.0, 0.0);
    for (w, x) in terms {
        let rounded = coarse.round(x);
        high += w * rounded;
        low += w * fine.round(x - rounded);
    }
    [high, low]
}

/// Returns the sums of the two parts of finite products, exactly.
fn sums_of_products(terms: impl Iterator<Item = (f64, f64)> + Clone) -> [f64; 2] {
    let products = terms.map(|(w, x)| (1.0, w * x));
    let (n, bound) = products.clone().fold((0.0, 0.0), |(n, bound): (f64, f64), (_, x)| (n + 1.0, bound.max(x.abs())));
    if bound.is_finite() {
        sums_of_parts(products, bound, BITS_OF_SUMS - exponent_above(n))
    } else {
        [products.map(|(_, x)| x).sum(), 0.0]
    }
}

/// Returns the sum over the terms of all workers, whose weights are multiples of 1/64.
pub(crate) fn weighted_sum_of_all(weights: &[f64], terms: &[f64], workers: &Workers) -> Result<f64> {
    if workers.has_all_rows() {
        return Ok(weighted_sum(weights, terms));
    }
    let there = || weights.iter().zip(terms).filter(|(w, _)| **w > 0.0).map(|(&w, &x)| (w, x));
    let any = |is_such: fn(f64) -> bool| f64::from(u8::from(there().any(|(_, x)| is_such(x))));
    let finite = there().filter(|(_, x)| x.is_finite()).fold(0.0, |bound: f64, (_, x)| bound.max(x.abs()));
    let mut found = [finite, any(f64::is_nan), any(|x| x == f64::INFINITY), any(|x| x == f64::NEG_INFINITY)];
    workers.max(&mut found)?;
    let [bound, is_nan, is_above, is_below] = found;
    let total = workers.sum_of(weights.iter().sum::<f64>())?;
    if is_nan > 0.0 || is_above > 0.0 && is_below > 0.0 {
        return Ok(f64::NAN);
    }
    if is_above > 0.0 || is_below > 0.0 {
        return Ok(if is_above > 0.0 { f64::INFINITY } else { f64::NEG_INFINITY });
    }
    if bound == 0.0 {
        return Ok(0.0);
    }
    let mut parts = sums_of_parts(there(), bound, bits_of_total(total, UNIT));
    workers.sum(&mut parts)?;
    Ok(parts[0] + parts[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Weights;
    use crate::data::weights::tests::hostile_weights;
    use proptest::prelude::*;

    #[test]
    fn bits_are_counted_from_the_lowest_of_all_weights() {
        assert_eq!((bits_left(&[1.0; 4]), bits_left(&[2.0, 2.0]), bits_left(&[0.25, 0.75, 3.0])), (43, 43, 43));
        assert_eq!((bits_left(&[0.125; 8]), bits_left(&[1.0 / 128.0, 1.0])), (45, 44));
        assert_eq!((bits_left(&[0.1]), bits_left(&[0.0])), (ROUNDED_BITS, 52));
    }

    proptest! {
        #[test]
        fn neither_order_nor_repetition_nor_zero_weights_can_be_seen(
            rows in prop::collection::vec((0u8..4, -300f64..300.0, -1e3f64..1e3), 1..40), scale in prop::sample::select(vec![1.0, 0.25, 1024.0]),
            narrow in any::<bool>(),
        ) {
            let rows: Vec<(f64, f64)> = rows.into_iter()
                .map(|(w, e, m)| (f64::from(w) * scale, if narrow { m } else { m * 10f64.powf(e / 3.0) })).collect();
            let (w, x): (Vec<f64>, Vec<f64>) = rows.iter().copied().unzip();
            let sum = weighted_sum(&w, &x);
            let (w, x): (Vec<f64>, Vec<f64>) = rows.iter().rev()
                .flat_map(|&(w, x)| std::iter::repeat_n((scale, x), (w / scale) as usize)).unzip();
            prop_assert_eq!(sum.to_bits(), weighted_sum(&w, &x).to_bits());
            let largest = x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            let plain: f64 = w.iter().zip(&x).map(|(w, x)| w * x).sum();
            // The tolerance covers the rounding of the plain sum at each of its terms.
            prop_assert!((sum - plain).abs() <= 1e-13 * largest * scale * 40.0, "{sum} {plain}");
        }
    }

    proptest! {
        #[test]
        fn sums_with_hostile_weights_have_the_accuracy_of_the_largest_product_in_any_order(
            (w, x) in (1usize..40).prop_flat_map(|n| {
                let terms = prop::collection::vec((-1f64..1.0, 0f64..30.0).prop_map(|(m, e)| m * 10f64.powf(e)), n);
                (hostile_weights(n), terms)
            }),
        ) {
            let of = Weights::new(Some(&w), w.len(), w.len()).unwrap();
            let w: Vec<f64> = (0..w.len()).map(|i| of.in_sums(of.units(i))).collect();
            // Sums with whole weights, and few more, have the accuracy of the largest term.
            prop_assume!(unit_of(&w) < UNIT && bits_left(&w) == ROUNDED_BITS);
            let sum = weighted_sum(&w, &x);
            let reversed = |v: &[f64]| v.iter().rev().copied().collect::<Vec<_>>();
            prop_assert_eq!(sum.to_bits(), weighted_sum(&reversed(&w), &reversed(&x)).to_bits());
            let products = || w.iter().zip(&x).map(|(w, x)| w * x);
            let largest = products().fold(0.0, |largest: f64, x| largest.max(x.abs()));
            // The plain sum is rounded at each of its terms, and each product once.
            let plain: f64 = products().sum();
            prop_assert!((sum - plain).abs() <= largest * 40.0 * f64::EPSILON, "{sum:e} {plain:e} {largest:e}");
        }
    }

    #[test]
    fn hostile_terms_are_summed_all_the_same() {
        assert_eq!(weighted_sum(&[0.0, 1.0], &[f64::NAN, 2.0]), 2.0);
        assert!(weighted_sum(&[1.0, 1.0], &[f64::NAN, 2.0]).is_nan());
        assert_eq!(weighted_sum(&[1.0], &[f64::INFINITY]), f64::INFINITY);
        assert_eq!(weighted_sum(&[1.0, 1.0], &[1e307, 1e307]), 2e307);
        assert_eq!(weighted_sum(&[1.0, 1.0], &[5e-324, 5e-324]), 1e-323);
    }
}
