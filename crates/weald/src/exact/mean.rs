//! The weighted mean.

use std::ops::Range;

use super::FixedPoint;
use super::reduce::{Reduce, Workers};
use crate::error::{Purpose, Result};
use crate::pool;

/// The minimum number of samples for each thread; it is set by hand.
const LEAST_IN_BLOCK: usize = 1 << 13;

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

/// Like [`exact_mean_of_all`], for the values of `n` samples, of which `values` returns those of some. At most `n_threads`
/// threads sum them.
pub(crate) fn exact_mean_of_samples<I: Iterator<Item = (f64, u64)>>(
    n: usize,
    values: impl Fn(Range<usize>) -> I + Sync,
    workers: &Workers,
    n_threads: usize,
) -> Result<f64> {
    let ranges = pool::map_blocks(n_threads, n, LEAST_IN_BLOCK, |block| Ok(range_of(values(block))))?;
    let range = ranges.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    let range = workers.range(range)?;
    let Some(frame) = around(range) else { return Ok(range.0) };
    let sums = pool::map_blocks(n_threads, n, LEAST_IN_BLOCK, |block| Ok(frame.sums(values(block))))?;
    let mut sums = sums.into_iter().fold([0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    workers.sum(&mut sums)?;
    Ok(mean_of(range, Some(sums)))
}

/// Returns the means of many sets over the values of all workers; `values(i)` returns those of set i. This takes two
/// exchanges between workers.
pub(crate) fn exact_means_of_all<I: Iterator<Item = (f64, u64)> + Clone>(
    n_sets: usize,
    values: impl Fn(usize) -> I + Sync,
    workers: &Workers,
    n_threads: usize,
) -> Result<Vec<f64>> {
    const PURPOSE: Purpose = Purpose("the means of sets");
    if workers.has_all_rows() {
        return pool::map(n_threads, n_sets, |set| Ok(exact_mean(values(set))));
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
    // Comparisons, in contrast to `min`, are one operation.
    let wider = |(low, high), (y, _)| (if y < low { y } else { low }, if y > high { y } else { high });
    values.fold((f64::INFINITY, f64::NEG_INFINITY), wider)
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
    fn several_threads_find_the_mean_of_one() {
        let n = 3 * LEAST_IN_BLOCK + 5;
        let values: Vec<(f64, u64)> = (0..n).map(|i| ((i * i % 1013) as f64 / 7.0, (i % 3) as u64 + 1)).collect();
        for n in [0, 1, LEAST_IN_BLOCK, 2 * LEAST_IN_BLOCK + 1, n] {
            let of = |range: Range<usize>| values[..n][range].iter().copied();
            let expected = exact_mean(of(0..n));
            for n_threads in [1, 2, 3, 8] {
                let found = exact_mean_of_samples(n, of, &Workers::One, n_threads).unwrap();
                assert_eq!(found.to_bits(), expected.to_bits());
            }
        }
    }

    #[test]
    fn mean_of_extremes_does_not_overflow() {
        assert_eq!(exact_mean([(f64::MAX, 1), (-f64::MAX, 1)].into_iter()), 0.0);
        assert_eq!(exact_mean([(f64::MAX, 3)].into_iter()), f64::MAX);
    }
}
