//! Weighted sums in float64 that do not depend on the order of their terms.

use super::lowest_bit;
use super::reduce::{Reduce, Workers};
use super::weighted_grid::{Rounding, WeightedPair};
use crate::error::Result;

/// Returns Σ w x. Terms are split into two parts on grids, each of which is summed exactly, so that the result does not
/// depend on the order. As long as weights are multiples of 1/64, or of a larger power of two, and their total is below
/// 2³¹ such multiples, a sample of weight 2 is equivalent to two samples. A sample of weight 0 is ignored, whatever its
/// term is. With finer weights, the products w x are split instead of the terms, so that the largest product, not the
/// largest term, determines the accuracy: the largest terms may be those of samples with very little weight.
pub(crate) fn weighted_sum(weights: &[f64], terms: &[f64]) -> f64 {
    let there = || weights.iter().zip(terms).filter(|(w, _)| **w > 0.0).map(|(&w, &x)| (w, x));
    let bound = there().fold(0.0, |bound: f64, (_, x)| if x.is_nan() { f64::NAN } else { bound.max(x.abs()) });
    if bound == 0.0 {
        return 0.0;
    }
    let largest = there().fold(0.0, |largest: f64, (w, x)| largest.max((w * x).abs()));
    if !bound.is_finite() || !largest.is_finite() || there().any(|(_, x)| x.is_nan()) {
        return there().map(|(w, x)| w * x).sum();
    }
    let [high, low] = sums_of_parts(there(), Rounding::of(weights).pair_for(bound, largest));
    high + low
}

/// Returns the sums of the two parts of the products.
fn sums_of_parts(terms: impl Iterator<Item = (f64, f64)>, grids: WeightedPair) -> [f64; 2] {
    terms.fold([0.0; 2], |[high, low], (w, x)| {
        let [more, rest] = grids.products(w, x);
        [high + more, low + rest]
    })
}

/// Returns the sum over the terms of all workers.
pub(crate) fn weighted_sum_of_all(weights: &[f64], terms: &[f64], workers: &Workers) -> Result<f64> {
    if workers.has_all_rows() {
        return Ok(weighted_sum(weights, terms));
    }
    let there = || weights.iter().zip(terms).filter(|(w, _)| **w > 0.0).map(|(&w, &x)| (w, x));
    let any = |is_such: fn(f64) -> bool| f64::from(u8::from(there().any(|(_, x)| is_such(x))));
    let most = |of: fn(f64, f64) -> f64| there().map(|(w, x)| of(w, x)).filter(|x| x.is_finite()).fold(0.0, f64::max);
    let finest = there().map(|(w, _)| -f64::from(lowest_bit(w))).fold(f64::NEG_INFINITY, f64::max);
    let mut found = [
        most(|_, x| x.abs()),
        most(|w, x| (w * x).abs()),
        most(|w, _| w),
        finest,
        any(f64::is_nan),
        any(|x| x == f64::INFINITY),
        any(|x| x == f64::NEG_INFINITY),
    ];
    workers.max(&mut found)?;
    let [bound, of_products, largest, finest, is_nan, is_above, is_below] = found;
    let [total, n] = workers.sums_of([weights.iter().sum(), there().count() as f64])?;
    if is_nan > 0.0 || is_above > 0.0 && is_below > 0.0 {
        return Ok(f64::NAN);
    }
    if is_above > 0.0 || is_below > 0.0 {
        return Ok(if is_above > 0.0 { f64::INFINITY } else { f64::NEG_INFINITY });
    }
    if bound == 0.0 {
        return Ok(0.0);
    }
    let rounding = Rounding::of_parts(-finest as i32, total, n, largest);
    let mut parts = sums_of_parts(there(), rounding.pair_for(bound, of_products));
    workers.sum(&mut parts)?;
    Ok(parts[0] + parts[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Weights;
    use crate::data::weights::tests::hostile_weights;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn weighted_sums_do_not_depend_on_order_repetition_or_zero_weights(
            rows in prop::collection::vec((0u8..4, -300f64..300.0, -1e3f64..1e3), 1..40), scale in prop::sample::select(vec![1.0, 0.25, 1024.0, 1048576.0, 1e9 * 1024.0]),
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
            // Terms keep at least 20 bits in each of two parts. The plain sum is rounded at each of its terms.
            let total: f64 = w.iter().sum();
            prop_assert!((sum - plain).abs() <= total * largest * 2f64.powi(-40), "{sum} {plain}");
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
            prop_assume!(matches!(Rounding::of(&w), Rounding::Products { .. }));
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
