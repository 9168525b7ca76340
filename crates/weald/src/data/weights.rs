//! Sample weights as exact integers.
//!
//! Sums of floats depend on the order of addition. Here, every weight is an integer multiple of a *unit*, so that sums
//! of weights and of class counts are exact, whatever the order, and the same for every layout of X and number of
//! threads. A sample of weight 2 is then equivalent to two samples, and a sample of weight 0 has no effect.

use std::ops::Range;

use crate::elementary::power_of_two;
use crate::error::{Error, Purpose, Result};
use crate::exact::reduce::{Reduce, Workers};
use crate::exact::{PowerOfTwo, Total, exponent_above, lowest_bit};

/// The weights of all samples, in units.
#[derive(Debug)]
pub(crate) struct Weights {
    /// The units of each sample; `None` if every sample weighs one unit.
    units: Option<Vec<u64>>,
    /// The weight of one unit: a power of two. If the total weight would exceed the largest float64, the unit is scaled
    /// down so that the total stays below 2¹⁰²⁴.
    pub(crate) unit: f64,
    /// The weight of a unit in sums of weights times terms. It equals `unit`, unless weights are so far from one that
    /// such sums could leave the range of float64. Then it is a power of two that brings the largest weight just below
    /// one.
    sum_unit: f64,
    /// Whether all weights are exact multiples of the unit; otherwise they were rounded to it.
    pub(crate) exact: bool,
    /// The workers among which the samples are distributed; these weights are those of one worker.
    workers: Workers,
}

/// Total units of exact weights have this number of bits: squares of counts fit 64 bits.
pub(crate) const EXACT_BITS: u32 = Total::EXACT_BITS;
const EXACT_TOTAL: f64 = (1u64 << EXACT_BITS) as f64;
/// Total units of rounded weights stay below the limit of [`Total`]: sums of units are exact as float64.
const ROUNDED_TOTAL: f64 = Total::LIMIT as f64;
/// Extra low bits that exact weights may have below one: 1/64, as products with targets share 52 bits.
const MAX_FRACTION_BITS: i32 = 6;
/// The least positive float64 is 2⁻¹⁰⁷⁴: a finer unit has no weight of its own.
const MOST_BITS: i32 = 1074;
/// A unit has at most this weight: fewer than 2⁵² of them are below 2¹⁰²⁴.
const LARGEST_UNIT: f64 = two_to(972);
/// Units between this weight and its inverse count as they are in sums of weights times terms.
const FAR: f64 = two_to(600);

const PURPOSE: Purpose = Purpose("sample weights");

impl Weights {
    /// Returns the weight one in units.
    pub(crate) fn of_one(&self) -> f64 {
        (1.0 / self.unit).min(f64::MAX)
    }

    pub(crate) fn try_clone(&self) -> Result<Self> {
        let units = self.units.as_ref().map(|units| PURPOSE.copied(units)).transpose()?;
        Ok(Weights { units, workers: self.workers.clone(), ..*self })
    }

    /// Returns other weights in the same unit. None may be above those of `self`.
    pub(crate) fn with_units(&self, units: Vec<u64>) -> Self {
        Weights { units: Some(units), workers: self.workers.clone(), ..*self }
    }

    /// Converts `weights` to units. `draws` is the largest total number of times that samples are drawn for one tree
    /// (the number of samples without bootstrap).
    pub(crate) fn new(weights: Option<&[f64]>, n_samples: usize, draws: usize) -> Result<Self> {
        Weights::of_one_of(&Workers::One, weights, n_samples, draws)
    }

    /// Like [`Weights::new`], for the samples of one of several workers. All workers determine the same unit.
    pub(crate) fn of_one_of(
        workers: &Workers,
        weights: Option<&[f64]>,
        n_samples: usize,
        draws: usize,
    ) -> Result<Self> {
        let Some(w) = weights else {
            let exact = (workers.sum_of(draws as u64)? as f64) < EXACT_TOTAL;
            return Ok(Weights { units: None, unit: 1.0, sum_unit: 1.0, exact, workers: workers.clone() });
        };
        Weights::check_numbers(Some(w), n_samples)?;
        let largest = workers.max_of(w.iter().copied().fold(0.0, f64::max))?;
        if largest == 0.0 {
            return Err(without_any());
        }
        // Samples of weight zero are not counted: removing them does not change a model.
        let draws = draws.max(w.iter().filter(|&&w| w > 0.0).count());
        let draws = workers.sum_of(draws as u64)? as f64;
        // The largest power of two of which all weights are integer multiples.
        let common = w.iter().filter(|&&w| w > 0.0).map(|&w| lowest_bit(w)).min();
        // A worker without samples of positive weight does not influence the unit.
        let common = -workers.max_of(common.map_or(f64::NEG_INFINITY, |common| -f64::from(common)))? as i32;
        let multiples = |exponent: i32| -> Result<Self> {
            let (scale, unit) = (PowerOfTwo::new(-exponent), PowerOfTwo::new(exponent).value());
            let units = PURPOSE.collected(w.iter().map(|&w| scale.times(w) as u64))?;
            Weights::of_units(units, unit, true, workers)
        };
        let fit = |exponent: i32| PowerOfTwo::new(-exponent).times(largest) * draws < EXACT_TOTAL;
        if let Some(bits) = (0..=MAX_FRACTION_BITS).find(|&bits| fit(-bits) && -bits <= common) {
            return multiples(-bits);
        }
        // Multiples of a power of two that is far from one are as exact as those of one near it.
        if common > 0 && fit(common) {
            return multiples(common);
        }
        // The power of two that puts the largest possible total just below the limit. A positive weight keeps at least
        // one unit, so that no sample is lost. The largest weight is below a power of two, and is not rounded up to it:
        // the total would then be the limit.
        let bits = exponent_above(ROUNDED_TOTAL / draws) - 1;
        let (exponent, most) = ((bits - exponent_above(largest)).min(MOST_BITS), (1 << bits) - 1);
        let to_units =
            |&w: &f64| if w == 0.0 { 0 } else { (PowerOfTwo::new(exponent).times(w).round() as u64).clamp(1, most) };
        let units = PURPOSE.collected(w.iter().map(to_units))?;
        Weights::of_units(units, PowerOfTwo::new(-exponent).value(), false, workers)
    }

    fn of_units(units: Vec<u64>, unit: f64, exact: bool, workers: &Workers) -> Result<Self> {
        Total::of_all(units.iter().copied(), workers)?;
        let largest = workers.max_of(units.iter().copied().max().unwrap_or(0))? as f64;
        let sum_unit = if (1.0 / FAR..=FAR).contains(&unit) { unit } else { power_of_two(-exponent_above(largest)) };
        let unit = unit.min(LARGEST_UNIT);
        Ok(Weights { units: Some(units), unit, sum_unit, exact, workers: workers.clone() })
    }

    /// Returns the weights for a fit that uses every sample once, except samples of weight zero.
    pub(crate) fn of_rows(weights: Option<&[f64]>, n_samples: usize) -> Result<Self> {
        Weights::of_rows_of(&Workers::One, weights, n_samples)
    }

    /// Like [`Weights::of_rows`], for the samples of one of several workers.
    pub(crate) fn of_rows_of(workers: &Workers, weights: Option<&[f64]>, n_samples: usize) -> Result<Self> {
        let n_positive = weights.map_or(n_samples, |w| w.iter().filter(|&&w| w > 0.0).count());
        Weights::of_one_of(workers, weights, n_samples, n_positive)
    }

    /// Returns an error if the number of weights is wrong, if a weight is negative or not finite, or if none is
    /// positive.
    pub(crate) fn check(weights: Option<&[f64]>, n_samples: usize) -> Result<()> {
        Weights::check_numbers(weights, n_samples)?;
        if weights.is_some_and(|w| w.iter().all(|&w| w == 0.0)) { Err(without_any()) } else { Ok(()) }
    }

    /// Like [`Weights::check`], but allows that no weight is positive, as for one of several workers.
    pub(crate) fn check_numbers(weights: Option<&[f64]>, n_samples: usize) -> Result<()> {
        let Some(w) = weights else { return Ok(()) };
        if w.len() != n_samples {
            return Err(Error::shape("sample_weight", n_samples, w.len()));
        }
        if let Some(bad) = w.iter().find(|w| !w.is_finite() || **w < 0.0) {
            return Err(Error::invalid("sample_weight", bad, "have finite values of at least 0"));
        }
        Ok(())
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    pub(crate) fn units(&self, row: usize) -> u64 {
        self.units.as_ref().map_or(1, |u| u[row])
    }

    /// Returns the total weight of some samples, in units.
    pub(crate) fn total(&self, rows: &[u32]) -> u64 {
        let total = |units: &Vec<u64>| rows.iter().map(|&row| units[row as usize]).sum();
        self.units.as_ref().map_or(rows.len() as u64, total)
    }

    /// Returns the weights of consecutive samples, in units; `None` if every sample weighs one unit.
    pub(crate) fn of_rows_in(&self, rows: Range<usize>) -> Option<&[u64]> {
        self.units.as_ref().map(|units| &units[rows])
    }

    /// Returns the weight of `units` units in sums of weights times terms.
    pub(crate) fn in_sums(&self, units: u64) -> f64 {
        units as f64 * self.sum_unit
    }
}

fn without_any() -> Error {
    Error::invalid("sample_weight", "zeros only", "have at least one positive value")
}

/// Returns 2^e, which must be a normal number.
const fn two_to(e: i32) -> f64 {
    f64::from_bits(((1023 + e) as u64) << 52)
}

/// The units of each sample in one tree: sample weight times the number of times that it was drawn.
#[derive(Debug)]
pub(crate) enum RowUnits {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Weights of nearly the same size whose units are difficult to add: next to powers of two, or denormal.
    pub(crate) fn weights_on_the_edge(n: usize) -> impl Strategy<Value = Vec<f64>> {
        let near = |x: f64| prop::sample::select(vec![x, x.next_down(), x.next_up()]);
        prop_oneof![
            prop::collection::vec(near(1.0), n),
            Just(vec![1f64.next_down(); n]),
            prop::collection::vec(near(ROUNDED_TOTAL), n),
            prop::collection::vec(near(EXACT_TOTAL), n),
            prop::collection::vec((1u64..9).prop_map(f64::from_bits), n),
        ]
    }

    /// The same, or weights over many decades.
    pub(crate) fn hostile_weights(n: usize) -> impl Strategy<Value = Vec<f64>> {
        prop_oneof![
            2 => weights_on_the_edge(n),
            1 => prop::collection::vec((-300f64..300.0).prop_map(|e| 10f64.powf(e)), n),
            1 => prop::collection::vec((-15f64..1.0).prop_map(|e| 10f64.powf(e)), n),
            1 => prop::collection::vec(prop_oneof![Just(0.0), Just(f64::MAX), 0.1f64..3.0], n)
                .prop_filter("some weight", |w| w.iter().any(|&w| w > 0.0)),
        ]
    }

    proptest! {
        #[test]
        fn units_of_hostile_weights_are_within_their_total_and_nearly_proportional(
            w in (1usize..50).prop_flat_map(hostile_weights), draws in 1usize..100,
        ) {
            let of = Weights::new(Some(&w), w.len(), w.len() * draws).unwrap();
            let units: Vec<u64> = (0..w.len()).map(|i| of.units(i)).collect();
            let largest = w.iter().copied().fold(0.0, f64::max);
            let most = *units.iter().max().unwrap();
            prop_assert!(Total::new(most * (w.len() * draws) as u64).is_ok(), "{units:?}");
            for (&w, &units) in w.iter().zip(&units) {
                prop_assert_eq!(w > 0.0, units > 0);
                // Half a unit is lost to rounding, and the smallest weights keep one unit.
                let share = (w / largest) * most as f64;
                prop_assert!((units as f64 - share).abs() <= 1.0 + 1e-15 * share, "{w:e} {units} {share}");
            }
        }
    }

    fn units(w: &[f64]) -> Weights {
        Weights::new(Some(w), w.len(), w.len()).unwrap()
    }

    #[test]
    fn no_weights_are_one_unit_each() {
        let w = Weights::new(None, 5, 5).unwrap();
        assert_eq!((w.units(0), w.units(4), w.unit, w.exact), (1, 1, 1.0, true));
    }

    #[test]
    fn whole_and_dyadic_weights_are_exact() {
        for (weights, unit) in [
            (vec![0.0, 1.0, 7.0], 1.0),
            (vec![0.5, 2.0], 0.5),
            (vec![0.25, 0.5, 1e6], 0.25),
            (vec![1.0 / 64.0, 3.0], 1.0 / 64.0),
        ] {
            let w = units(&weights);
            assert!(w.exact);
            assert_eq!(w.unit, unit);
            for (i, &weight) in weights.iter().enumerate() {
                assert_eq!(w.units(i) as f64 * w.unit, weight);
            }
        }
    }

    #[test]
    fn other_weights_are_rounded_to_a_power_of_two_far_below_them() {
        for scale in [1.0, 1e-3, 1e300, 1e-300, f64::MAX / 4.0, 5e-324, 1e-310] {
            let weights = [0.1 * scale, 0.3 * scale, scale, 0.0];
            let w = units(&weights);
            assert!(w.unit > 0.0 && w.unit.is_finite(), "{scale}");
            let total: u64 = (0..4).map(|i| w.units(i)).sum();
            assert!(Total::new(total).is_ok(), "{scale}: {total}");
            assert_eq!(w.units(3), 0);
            for (i, &weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
                assert!(w.units(i) >= 1, "{scale}");
                let back = w.units(i) as f64 * w.unit;
                // The tolerance is about half a unit, 2⁻⁵⁰ of the largest weight. Weights below a unit become one unit.
                assert!((back - weight).abs() <= scale * 1e-14 + 5e-324, "{scale}: {weight} became {back}");
            }
        }
    }

    #[test]
    fn totals_stay_below_their_limit_where_all_weights_are_rounded_up() {
        let below_one = 1f64.next_down();
        for n in [1, 2, 3, 4096, 4097, 1 << 16] {
            for scale in [1.0, 0.5, two_to(1000), two_to(-1000)] {
                for weight in [below_one, below_one.next_down(), 1f64.next_up(), 2f64.next_down(), 1.0 / 3.0] {
                    let w = units(&vec![weight * scale; n]);
                    let total: u64 = (0..n).map(|i| w.units(i)).sum();
                    assert!(Total::new(total).is_ok(), "{n} {weight} {scale}: {total}");
                    // One bit is lost to the power of two above n, and one to that above the weight.
                    assert!(w.exact || total >= Total::LIMIT / 4, "{n} {weight} {scale}: {total}");
                }
            }
        }
    }

    #[test]
    fn tiny_weights_beside_huge_ones_are_not_lost() {
        let w = units(&[1e-300, 0.1, 1e300]);
        assert_eq!((w.units(0), w.units(1)), (1, 1));
        assert!(!w.exact);
    }

    #[test]
    fn a_total_beyond_the_largest_number_is_scaled_by_a_power_of_two() {
        let weights = [0.3, 1.7, 0.0, 1.1];
        let of = |scale: f64| units(&weights.map(|w| w * scale));
        let (near, far) = (of(1.0), of(two_to(1023)));
        let total: u64 = (0..4).map(|i| far.units(i)).sum();
        assert!((total as f64 * far.unit).is_finite());
        // All weights are multiplied by the same factor.
        (0..4).for_each(|i| assert_eq!(near.units(i), far.units(i)));
        let factor = far.in_sums(far.units(1)) / near.in_sums(near.units(1));
        assert_eq!(factor.to_bits() << 12, 0, "{factor}");
        (0..4).for_each(|i| assert_eq!(near.in_sums(near.units(i)) * factor, far.in_sums(far.units(i))));
    }

    #[test]
    fn multiples_of_a_large_power_of_two_are_exact() {
        for (scale, unit) in [(two_to(40), two_to(40)), (two_to(1000), LARGEST_UNIT)] {
            let w = units(&[3.0 * scale, 0.0, scale, 8.0 * scale]);
            assert_eq!([0, 1, 2, 3].map(|i| w.units(i)), [3, 0, 1, 8]);
            assert!(w.exact);
            assert_eq!(w.unit, unit);
        }
    }

    #[test]
    fn bad_weights_are_refused() {
        for bad in [&[1.0, -1.0][..], &[f64::NAN, 1.0], &[f64::INFINITY, 1.0], &[0.0, 0.0]] {
            let error = Weights::new(Some(bad), 2, 2).unwrap_err();
            assert!(matches!(error.kind(), crate::ErrorKind::Invalid { what: "sample_weight", .. }));
        }
        let error = Weights::new(Some(&[1.0]), 2, 2).unwrap_err();
        assert_eq!(error.kind(), &crate::ErrorKind::Shape { what: "sample_weight", expected: 2, got: 1 });
    }
}
