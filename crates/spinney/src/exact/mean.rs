//! The weighted mean of numbers.

use super::FixedPoint;
use super::reduce::{Reduce, Workers};

/// Weighted mean of values of positive weight, the same for every order: deviations from the middle of the range are
/// summed as 61-bit integers in 128 bits.
pub(crate) fn exact_mean(values: impl Iterator<Item = (f64, u64)> + Clone) -> f64 {
    exact_mean_of_all(values, &Workers::One)
}

/// The same over the values of all workers.
pub(crate) fn exact_mean_of_all(values: impl Iterator<Item = (f64, u64)> + Clone, workers: &Workers) -> f64 {
    let (low, high) =
        values.clone().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (y, _)| (low.min(y), high.max(y)));
    let (low, high) = workers.range((low, high));
    if low == high {
        return low;
    }
    let center = low / 2.0 + high / 2.0;
    let fixed = FixedPoint::with_bits((high - center).max(center - low), 61);
    let (mut sum, mut total) = (0i128, 0i128);
    for (y, units) in values {
        sum += i128::from(units) * i128::from(fixed.up(y - center) as i64);
        total += i128::from(units);
    }
    let mut sums = [sum, total];
    workers.sum(&mut sums);
    let [sum, total] = sums;
    let deviation = fixed.down(sum as f64 / total as f64);
    (center + deviation).clamp(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn mean_is_exact_and_blind_to_order_and_to_repeated_rows(
            values in prop::collection::vec((-1e6f64..1e6, 1u64..5), 1..40), tiny in any::<bool>(),
        ) {
            let scale = if tiny { f64::MIN_POSITIVE / 1e3 } else { 1.0 };
            let values: Vec<(f64, u64)> = values.into_iter().map(|(y, w)| (y * scale, w)).collect();
            let mean = exact_mean(values.iter().copied());
            let total: u64 = values.iter().map(|v| v.1).sum();
            let reach = values.iter().map(|v| v.0.abs()).fold(0.0, f64::max);
            let naive = values.iter().map(|&(y, w)| y / reach.max(f64::MIN_POSITIVE * 1e-10) * w as f64).sum::<f64>() / total as f64 * reach;
            prop_assert!((mean - naive).abs() <= 1e-13 * reach + 1e-320, "{mean:e} {naive:e}");
            let repeated = values.iter().rev().flat_map(|&(y, w)| (0..w).map(move |_| (y, 1)));
            prop_assert_eq!(mean.to_bits(), exact_mean(repeated).to_bits());
        }
    }

    #[test]
    fn mean_of_extremes_does_not_overflow() {
        assert_eq!(exact_mean([(f64::MAX, 1), (-f64::MAX, 1)].into_iter()), 0.0);
        assert_eq!(exact_mean([(f64::MAX, 3)].into_iter()), f64::MAX);
    }
}
