//! The weighted standard deviation.

use super::reduce::{Reduce, Workers};
use super::{FixedPoint, Grid};
use crate::elementary::Squared;
use crate::error::Result;

/// The number of bits of a deviation. Weighted sums of squared deviations then need 2 · 36 + 52 of 127 bits.
const BITS: i32 = 36;

/// Returns the weighted standard deviation of values with positive weights. It is the same for every order: deviations
/// from the middle of the range are rounded to 36 bits, and sums of squares are integers. The result is exactly zero if
/// there are no values or if all are equal. Otherwise, both ends of the range are among the values, so that the result
/// has at least ten bits, whatever the weights are.
pub(crate) fn exact_deviation_of_all(
    values: impl Iterator<Item = (f64, u64)> + Clone,
    workers: &Workers,
) -> Result<f64> {
    let (low, high) =
        values.clone().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (y, _)| (low.min(y), high.max(y)));
    let (low, high) = workers.range((low, high))?;
    if low >= high {
        return Ok(0.0);
    }
    let center = low / 2.0 + high / 2.0;
    let reach = (high - center).max(center - low);
    let fixed = FixedPoint::with_bits(reach, BITS);
    let (mut total, mut sum, mut squares) = (0i128, 0i128, 0i128);
    for (y, units) in values {
        let (units, z) = (i128::from(units), i128::from(Grid::WHOLE.round(fixed.up(y - center)) as i64));
        total += units;
        sum += units * z;
        squares += units * z * z;
    }
    let mut sums = [total, sum, squares];
    workers.sum(&mut sums)?;
    let [total, sum, squares] = sums;
    // The squares are taken around the mean rounded down, which is an integer. The remainder of the mean is subtracted
    // afterwards.
    let (mean, rest) = (sum.div_euclid(total), sum.rem_euclid(total));
    let around = squares - 2 * mean * sum + mean * mean * total;
    let variance = around as f64 / total as f64 - (rest as f64 / total as f64).squared();
    Ok(fixed.down(variance.max(0.0).sqrt()).min(reach))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::reduce::tests::by_two;
    use proptest::prelude::*;

    fn alone(values: &[(f64, u64)]) -> f64 {
        exact_deviation_of_all(values.iter().copied(), &Workers::One).unwrap()
    }

    proptest! {
        #[test]
        fn it_is_blind_to_order_to_repeated_rows_and_to_workers(
            values in prop::collection::vec((-1e6f64..1e6, 1u64..5, any::<bool>()), 1..40),
            exponent in prop::sample::select(vec![0, -1060, 400]), away in prop::sample::select(vec![0.0, 1e9]),
        ) {
            let scale = 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
            let split = |worker: usize| {
                let own = values.iter().filter(move |v| v.2 == (worker == 0));
                own.map(|v| ((v.0 + away) * scale, v.1)).collect::<Vec<_>>()
            };
            let all = [split(0), split(1)].concat();
            let found = alone(&all);
            let repeated: Vec<_> = all.iter().rev().flat_map(|&(y, w)| (0..w).map(move |_| (y, 1))).collect();
            prop_assert_eq!(found.to_bits(), alone(&repeated).to_bits());
            for by_worker in by_two(|i, workers| exact_deviation_of_all(split(i).into_iter(), workers).unwrap()) {
                prop_assert_eq!(found.to_bits(), by_worker.to_bits());
            }
            let total: f64 = values.iter().map(|v| v.1 as f64).sum();
            let mean = values.iter().map(|v| v.0 * v.1 as f64).sum::<f64>() / total;
            let naive = (values.iter().map(|v| (v.0 - mean).powi(2) * v.1 as f64).sum::<f64>() / total).sqrt();
            // The tolerances are far above the spacing of 2⁻³⁶ of the range, which is up to 2·10⁶, and above the
            // spacing of float64 at 10⁹; the last term is for values near the smallest numbers.
            let tolerance = if away == 0.0 { 1e-4 } else { 1e-3 };
            prop_assert!((found - naive * scale).abs() <= tolerance * scale + 1e-320, "{found:e} {naive:e}");
        }
    }

    #[test]
    fn ends_of_a_range_are_never_lost() {
        assert_eq!(alone(&[]), 0.0);
        assert_eq!(alone(&[(0.1, 3), (0.1, 1)]), 0.0);
        assert_eq!(alone(&[(-f64::MAX, 1), (f64::MAX, 1)]), f64::MAX);
        // One unit at one end, and the largest number of units at the other: √(2⁻⁵¹) of the range.
        let found = alone(&[(0.0, (1 << 51) - 1), (1.0, 1)]);
        assert!((found * 2f64.powf(25.5) - 1.0).abs() < 1e-3, "{found}");
    }
}
