//! Sample weights as exact integers.
//!
//! Sums of floats depend on the order of addition. Here every weight is a whole number of *units*, so sums of weights
//! and of class counts are exact, whatever the order: the same for every layout and number of threads; a row of weight 2 is
//! exactly two rows, and a row of weight 0 is no row.

use crate::error::{Error, Result, try_collected, try_copied};

/// Weights of all rows, in units.
#[derive(Debug)]
pub(crate) struct Weights {
    /// Units of each row; `None` when every row weighs one unit.
    units: Option<Vec<u64>>,
    /// Weight of one unit: a power of two.
    pub(crate) unit: f64,
    /// All weights are multiples of the unit as given; otherwise they were rounded to it.
    pub(crate) exact: bool,
}

/// Total units of exact weights stay below 2³¹: squares of counts fit 64 bits.
const EXACT_TOTAL: f64 = (1u64 << 31) as f64;
/// Total units of rounded weights stay below 2⁵²: sums of units are exact as float64.
const ROUNDED_TOTAL: f64 = (1u64 << 52) as f64;
/// Extra low bits that exact weights may have below one: 1/64, as products with targets share 52 bits.
const MAX_FRACTION_BITS: i32 = 6;
/// The least positive float64 is 2⁻¹⁰⁷⁴: a finer unit has no weight of its own.
const MOST_BITS: i32 = 1074;

const WHAT: &str = "sample weights";

impl Weights {
    pub(crate) fn try_clone(&self) -> Result<Self> {
        let units = self.units.as_ref().map(|units| try_copied(WHAT, units)).transpose()?;
        Ok(Weights { units, ..*self })
    }

    /// `draws` is the largest total number of times that rows are drawn for one tree (the number of rows without
    /// bootstrap).
    pub(crate) fn new(weights: Option<&[f64]>, n_samples: usize, draws: usize) -> Result<Self> {
        let Some(w) = weights else {
            return Ok(Weights { units: None, unit: 1.0, exact: (draws as f64) < EXACT_TOTAL });
        };
        Weights::check(Some(w), n_samples)?;
        let largest = w.iter().copied().fold(0.0, f64::max);
        // Rows of weight zero do not count: a model does not change when they are not there at all.
        let draws = draws.max(w.iter().filter(|&&w| w > 0.0).count()) as f64;
        for bits in 0..=MAX_FRACTION_BITS {
            let scale = f64::from(1u32 << bits);
            if largest * scale * draws < EXACT_TOTAL && w.iter().all(|w| (w * scale).fract() == 0.0) {
                let units = try_collected(WHAT, w.iter().map(|w| (w * scale) as u64))?;
                return Ok(Weights { units: Some(units), unit: 1.0 / scale, exact: true });
            }
        }
        // The power of two that puts the largest possible total just below the limit. A positive weight keeps at
        // least one unit, so that no row is lost.
        let exponent = ((ROUNDED_TOTAL / draws).log2().floor() as i32 - exponent_above(largest)).min(MOST_BITS);
        let (half, rest) = (exponent / 2, exponent - exponent / 2);
        let scaled = |w: f64| w * 2f64.powi(half) * 2f64.powi(rest);
        let to_units = |&w: &f64| if w == 0.0 { 0 } else { (scaled(w).round() as u64).max(1) };
        let units = try_collected(WHAT, w.iter().map(to_units))?;
        // In two factors as well: the power itself may pass the largest float64.
        Ok(Weights { units: Some(units), unit: 2f64.powi(-half) * 2f64.powi(-rest), exact: false })
    }

    /// Of rows that are there once each, those of weight zero not at all.
    pub(crate) fn of_rows(weights: Option<&[f64]>, n_samples: usize) -> Result<Self> {
        let n_positive = weights.map_or(n_samples, |w| w.iter().filter(|&&w| w > 0.0).count());
        Weights::new(weights, n_samples, n_positive)
    }

    /// Refuses a wrong number of weights, those that are negative or not finite, and none that is positive.
    pub(crate) fn check(weights: Option<&[f64]>, n_samples: usize) -> Result<()> {
        let Some(w) = weights else { return Ok(()) };
        if w.len() != n_samples {
            return Err(Error::shape("sample_weight", n_samples, w.len()));
        }
        if let Some(bad) = w.iter().find(|w| !w.is_finite() || **w < 0.0) {
            return Err(Error::invalid("sample_weight", bad, "finite numbers, none negative"));
        }
        if w.iter().all(|&w| w == 0.0) {
            return Err(Error::invalid("sample_weight", "zero for every sample", "at least one positive weight"));
        }
        Ok(())
    }

    pub(crate) fn units(&self, row: usize) -> u64 {
        self.units.as_ref().map_or(1, |u| u[row])
    }
}

/// The least e with |x| < 2^e, for finite x ≠ 0.
pub(crate) fn exponent_above(x: f64) -> i32 {
    let bits = x.abs().to_bits();
    let biased = (bits >> 52) as i32;
    if biased > 0 { biased - 1022 } else { -1010 - bits.leading_zeros() as i32 }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!((total as f64) < ROUNDED_TOTAL, "{scale}: {total}");
            assert_eq!(w.units(3), 0);
            for (i, &weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
                assert!(w.units(i) >= 1, "{scale}");
                let back = w.units(i) as f64 * w.unit;
                assert!((back - weight).abs() <= scale * 1e-14 + 5e-324, "{scale}: {weight} became {back}");
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
    fn bad_weights_are_refused() {
        for bad in [&[1.0, -1.0][..], &[f64::NAN, 1.0], &[f64::INFINITY, 1.0], &[0.0, 0.0]] {
            let error = Weights::new(Some(bad), 2, 2).unwrap_err();
            assert!(matches!(error.kind(), crate::ErrorKind::Invalid { what: "sample_weight", .. }));
        }
        let error = Weights::new(Some(&[1.0]), 2, 2).unwrap_err();
        assert_eq!(error.kind(), &crate::ErrorKind::Shape { what: "sample_weight", expected: 2, got: 1 });
    }

    #[test]
    fn exponents_are_the_least_above() {
        for x in [1.0, 1.5, 2.0, 0.75, 1e300, f64::MAX, f64::MIN_POSITIVE, 1e-310, 3e-320, 5e-324] {
            let e = exponent_above(x);
            assert_eq!(e, exponent_above(-x));
            let power = |e: i32| 2f64.powi(e / 2) * 2f64.powi(e - e / 2);
            assert!(e == 1024 || x < power(e), "{x} {e}");
            assert!(x >= power(e - 1), "{x} {e}");
        }
    }
}
