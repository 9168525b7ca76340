//! The weighted mean.

use super::FixedPoint;
use super::reduce::{Reduce, Workers};
use crate::error::{Purpose, Result};

/// Returns the weighted mean of values with positive weights. It is the same for every order: deviations from the
/// middle of the range are converted to 61-bit integers, and summed in 128 bits.
pub(crate) fn exact_mean(values: impl Iterator<Item = (f64, u64)> + Clone) -> f64 {
    let range = range_of(values.clone());
    let sums = around(range).map(|frame| frame.sums(values));
    mean_of(range, sums)
}

/// Returns the mean over the values of all workers.
pub(crate) fn exact_mean_of_all(values: impl Iterator<Item = (f64, u64)> + Clone, workers: &Workers) -> Result<f64> {
    let range = workers.range(range_of(values.clone()))?;
    let mut sums = around(range).map(|frame| frame.sums(values));
    if let Some(sums) = &mut sums {
        workers.sum(sums)?;
    }
    Ok(mean_of(range, sums))
}

/// Returns the means of many sets over the values of all workers; `values(i)` returns those of set i. This takes two
/// exchanges between workers.
pub(crate) fn exact_means_of_all<I: Iterator<Item = (f64, u64)> + Clone>(
    n_sets: usize,
    values: impl Fn(usize) -> I,
    workers: &Workers,
) -> Result<Vec<f64>> {
    const PURPOSE: Purpose = Purpose("the means of sets");
    if workers.has_all_rows() {
        return PURPOSE.collected((0..n_sets).map(|set| exact_mean(values(set))));
    }
    let ranges = PURPOSE.collected((0..n_sets).map(|set| range_of(values(set))))?;
    let mut low = PURPOSE.collected(ranges.iter().map(|range| range.0))?;
    let mut high = PURPOSE.collected(ranges.iter().map(|range| range.1))?;
    workers.ranges(&mut low, &mut high)?;
    let range = |set: usize| (low[set], high[set]);
    let of_set = |set: usize| around(range(set)).map_or([0; 2], |frame| frame.sums(values(set)));
    let mut sums = PURPOSE.collected((0..n_sets).map(of_set))?;
    workers.sum(sums.as_flattened_mut())?;
    let sums_of = |set: usize| around(range(set)).map(|_| sums[set]);
    PURPOSE.collected((0..n_sets).map(|set| mean_of(range(set), sums_of(set))))
}

/// Returns the smallest and the largest value.
fn range_of(values: impl Iterator<Item = (f64, u64)>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (y, _)| (low.min(y), high.max(y)))
}

/// The scale on which the values of a range are summed.
struct Frame {
    center: f64,
    fixed: FixedPoint,
}

/// Returns `None` if all values are equal, or if there are none.
fn around((low, high): (f64, f64)) -> Option<Frame> {
    let center = low / 2.0 + high / 2.0;
    (low < high).then(|| Frame { center, fixed: FixedPoint::with_bits((high - center).max(center - low), 61) })
}

impl Frame {
    /// Returns Σ w (y − center) as a fixed-point number, and Σ w.
    fn sums(&self, values: impl Iterator<Item = (f64, u64)>) -> [i128; 2] {
        values.fold([0; 2], |[sum, total], (y, units)| {
            let fixed = i128::from(self.fixed.up(y - self.center) as i64);
            [sum + i128::from(units) * fixed, total + i128::from(units)]
        })
    }
}

/// Returns the mean from the sums over all values.
fn mean_of((low, high): (f64, f64), sums: Option<[i128; 2]>) -> f64 {
    let Some((Frame { center, fixed }, [sum, total])) = around((low, high)).zip(sums) else { return low };
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
            // The naive sum is rounded at each term; 1e-320 is a small multiple of the smallest number.
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
