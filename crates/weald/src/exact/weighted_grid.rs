//! Rounding of products of weights and terms, so that their sums are exact in float64, in any order.
//!
//! If the weights have few bits, the terms are rounded to a grid before they are multiplied: a sample of weight 2 then
//! adds what two samples add. If the weights have nearly as many bits as a sum, the products are rounded instead.

use super::{Grid, GridFloat, Total, exponent_above, lowest_bit};
use crate::error::{Purpose, Result};

/// The number of bits of sums in float64.
const BITS_OF_SUMS: i32 = Total::BITS as i32;

/// The grids of the products of integer weights and terms. One of them rounds nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WeightedGrid<T = f64> {
    terms: Grid<T>,
    products: Grid,
}

impl<T: GridFloat> WeightedGrid<T> {
    const NONE: Self = WeightedGrid { terms: Grid::NONE, products: Grid::NONE };

    fn of_terms(terms: Grid<T>) -> Self {
        WeightedGrid { terms, ..Self::NONE }
    }

    fn of_products(products: Grid) -> Self {
        WeightedGrid { products, ..Self::NONE }
    }

    /// Returns the grids for terms |x| ≤ `bound` and integer weights, up to `total` in total. Terms are rounded if this
    /// leaves them [`GridFloat::FEWEST_BITS`] below the bound: for totals up to 2³⁰ with float32, and up to 2³¹ with
    /// float64.
    pub(crate) fn for_sums(bound: f64, total: Total) -> Self {
        if bound <= 0.0 {
            return Self::NONE;
        }
        // The exponent of the power of two at or above x.
        let exponent_at = |x: f64| exponent_above(x) - i32::from(x.to_bits() << 12 == 0);
        let (of_total, of_bound) = (exponent_at(total.as_f64().max(1.0)), exponent_at(bound.max(T::LEAST_BOUND)));
        let bits = BITS_OF_SUMS - of_total;
        if bits >= T::FEWEST_BITS {
            Self::of_terms(Grid::of_spacing(of_bound - bits.min(T::MOST_BITS)))
        } else {
            Self::of_products(Grid::of_spacing(of_bound + of_total - (BITS_OF_SUMS - 1)))
        }
    }

    /// Returns the grid of the terms if these are rounded.
    #[inline(always)]
    pub(crate) fn rounded_terms(self) -> Option<Grid<T>> {
        (!self.products.rounds()).then_some(self.terms)
    }

    /// Returns what a term adds to a sum.
    #[inline(always)]
    pub(crate) fn product(self, weight: f64, term: T) -> f64 {
        let rounded: f64 = self.terms.round(term).into();
        self.products.round(weight * rounded)
    }
}

/// The grids of several columns with the same weights. One of the vectors is empty.
#[derive(Debug)]
pub(crate) struct WeightedGrids<T> {
    terms: Vec<Grid<T>>,
    products: Vec<Grid>,
}

impl<T: GridFloat> WeightedGrids<T> {
    /// Returns the grids for the bounds of the terms of each column, and a total of the weights.
    pub(crate) fn for_sums(bounds: impl ExactSizeIterator<Item = f64>, total: Total) -> Result<Self> {
        const PURPOSE: Purpose = Purpose("sums of gradients");
        let rounds_terms = WeightedGrid::<T>::for_sums(1.0, total).rounded_terms().is_some();
        let grids = bounds.map(|bound| WeightedGrid::<T>::for_sums(bound, total));
        Ok(if rounds_terms {
            WeightedGrids { terms: PURPOSE.collected(grids.map(|grid| grid.terms))?, products: Vec::new() }
        } else {
            WeightedGrids { terms: Vec::new(), products: PURPOSE.collected(grids.map(|grid| grid.products))? }
        })
    }

    /// Adds `weight` times the values to the sums, rounded.
    #[inline(always)]
    pub(crate) fn add(&self, weight: f64, values: &[T], sums: &mut [f64]) {
        let cells = sums.iter_mut().zip(values);
        if self.products.is_empty() {
            for ((sum, &value), grid) in cells.zip(&self.terms) {
                let rounded: f64 = grid.round(value).into();
                *sum += weight * rounded;
            }
        } else {
            for ((sum, &value), grid) in cells.zip(&self.products) {
                let value: f64 = value.into();
                *sum += grid.round(weight * value);
            }
        }
    }
}

/// The rounding of products of terms and weights that are any floats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rounding {
    /// Terms are rounded to this number of bits below their bound.
    Terms { bits: i32 },
    /// Products are rounded to this number of bits below their bound, which is that of the terms times the largest
    /// weight.
    Products { bits: i32, largest: f64 },
}

/// Weights are counted in 64ths, as [`crate::data::weights`] stores them, or in finer units if they are finer; in
/// coarser units, which depend on the total only, if it leaves too few bits: four samples of weight 1 must be rounded
/// like two of weight 2.
const UNIT: i32 = -6;
/// The number of bits of the largest total of weights whose unit is at least 1/64.
const BITS_OF_TOTAL: i32 = Total::EXACT_BITS as i32 + 1;
/// Terms keep at least this many bits.
const FEWEST_BITS: i32 = BITS_OF_SUMS - BITS_OF_TOTAL;

impl Rounding {
    pub(crate) fn of(weights: &[f64]) -> Self {
        let there = || weights.iter().copied().filter(|&w| w > 0.0);
        let unit = there().map(lowest_bit).min().unwrap_or(0);
        Rounding::of_parts(unit, there().sum(), there().count() as f64, there().fold(0.0, f64::max))
    }

    /// `unit` is the exponent of a power of two of which the `n` positive weights are multiples.
    pub(crate) fn of_parts(unit: i32, total: f64, n: f64, largest: f64) -> Self {
        if total == 0.0 {
            return Rounding::Terms { bits: BITS_OF_SUMS };
        }
        let of_total = exponent_above(total);
        let bits = BITS_OF_SUMS - (of_total - unit.min(UNIT.max(of_total - BITS_OF_TOTAL)));
        if bits >= FEWEST_BITS {
            Rounding::Terms { bits }
        } else {
            Rounding::Products { bits: BITS_OF_SUMS - exponent_above(n), largest }
        }
    }

    /// Returns the grid for terms below `bound`.
    pub(crate) fn grid(self, bound: f64) -> WeightedGrid {
        match self {
            Rounding::Terms { bits } => WeightedGrid::of_terms(Grid::with_bits(bound, bits)),
            Rounding::Products { bits, largest } => WeightedGrid::of_products(Grid::with_bits(bound * largest, bits)),
        }
    }

    /// Returns grids in two parts for terms below `bound`.
    pub(crate) fn pair(self, bound: f64) -> WeightedPair {
        let largest = if let Rounding::Products { largest, .. } = self { largest } else { 1.0 };
        self.pair_for(bound, bound * largest)
    }

    /// The same, for products up to `of_products`.
    pub(crate) fn pair_for(self, bound: f64, of_products: f64) -> WeightedPair {
        let [coarse, fine] = match self {
            Rounding::Terms { bits } => Grid::pair(bound, bits).map(WeightedGrid::of_terms),
            Rounding::Products { bits, .. } => Grid::pair(of_products, bits).map(WeightedGrid::of_products),
        };
        WeightedPair { coarse, fine }
    }
}

/// Grids of terms or of products in two parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WeightedPair {
    coarse: WeightedGrid,
    fine: WeightedGrid,
}

impl WeightedPair {
    /// Returns what a term adds to the sums of both parts.
    #[inline(always)]
    pub(crate) fn products(self, weight: f64, term: f64) -> [f64; 2] {
        let rounded = self.coarse.terms.round(term);
        let product = weight * rounded;
        let high = self.coarse.products.round(product);
        // One of the two remainders is zero.
        let low = weight * self.fine.terms.round(term - rounded) + self.fine.products.round(product - high);
        [high, low]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Weights;
    use crate::data::weights::tests::hostile_weights;
    use proptest::prelude::*;

    const EXTREMES: [f64; 4] = [2.0, 1.0, 0.3, 1e6];

    /// Returns the sum in the order of the rows, by [`WeightedGrid`], and by [`WeightedGrids`] if it is the same.
    fn sum<T: GridFloat>(rows: impl Iterator<Item = (f64, f64)>, bound: f64, total: Total) -> f64 {
        let (grid, grids) = (
            WeightedGrid::<T>::for_sums(bound, total),
            WeightedGrids::<T>::for_sums([bound].into_iter(), total).unwrap(),
        );
        let (mut sum, mut sums) = (0.0, [0.0]);
        for (w, x) in rows {
            sum += grid.product(w, T::from_f64(x));
            grids.add(w, &[T::from_f64(x)], &mut sums);
        }
        assert_eq!(sums[0], sum);
        sum
    }

    fn order_and_repetition<T: GridFloat>(rows: &[(u32, f64)], factor: u64, bound: f64) -> Result<(), TestCaseError> {
        let total = Total::new(rows.iter().map(|r| u64::from(r.0) * factor).sum()).unwrap();
        let factor = factor as f64;
        let whole = sum::<T>(rows.iter().map(|&(w, x)| (f64::from(w) * factor, x)), bound, total);
        let apart = rows.iter().rev().flat_map(|&(w, x)| std::iter::repeat_n((factor, x), w as usize));
        prop_assert_eq!(whole, sum::<T>(apart, bound, total));
        let grid = WeightedGrid::<T>::for_sums(bound, total);
        prop_assert!(grid.rounded_terms().is_some());
        for &(_, x) in rows {
            let x: f64 = T::from_f64(x).into();
            let rounded = grid.product(1.0, T::from_f64(x));
            // The tolerance is half a spacing of the coarsest grid, which has 21 bits below a power of two above the
            // bound.
            prop_assert!((rounded - x).abs() <= bound * 2f64.powi(-21), "{x:?} {rounded}");
        }
        Ok(())
    }

    fn order_of_units<T: GridFloat>(units: &[u64], terms: &[f64], bound: f64) -> Result<(), TestCaseError> {
        let total = Total::new(units.iter().sum()).unwrap();
        let rows = || units.iter().zip(terms).map(|(&u, &x)| (u as f64, x * bound));
        let found = sum::<T>(rows(), bound, total);
        prop_assert_eq!(found.to_bits(), sum::<T>(rows().rev(), bound, total).to_bits());
        let plain: f64 = rows()
            .map(|(w, x)| {
                let x: f64 = T::from_f64(x).into();
                w * x
            })
            .sum();
        // Terms of few units are rounded to 21 bits below a power of two, and products to 51 bits below the power of
        // two above the largest sum, each by half a spacing; the plain sum rounds once for each term.
        let whole = bound * total.as_f64();
        let rounded =
            whole * if total.as_f64() < 2f64.powi(31) { 2f64.powi(-21) } else { terms.len() as f64 * 2f64.powi(-49) };
        prop_assert!((found - plain).abs() <= rounded, "{found} {plain} {whole}");
        Ok(())
    }

    proptest! {
        #[test]
        fn weighted_sums_do_not_depend_on_order_or_repetition(
            rows in prop::collection::vec((0u32..20, -1.0f64..=1.0, 0i32..12), 1..60), bound in prop::sample::select(EXTREMES.to_vec()),
            factor in prop::sample::select(vec![1u64, 64, 1 << 17]),
        ) {
            let rows: Vec<_> = rows.into_iter().map(|(w, x, e)| (w, x * bound * 10f64.powi(-e))).collect();
            order_and_repetition::<f32>(&rows, factor, bound)?;
            order_and_repetition::<f64>(&rows, factor, bound)?;
        }

        #[test]
        fn sums_with_hostile_weights_do_not_depend_on_order(
            (weights, terms) in (1usize..40).prop_flat_map(|n| (hostile_weights(n), prop::collection::vec(-1f64..=1.0, n))),
            bound in prop::sample::select(EXTREMES.to_vec()),
        ) {
            let of = Weights::new(Some(&weights), weights.len(), weights.len()).unwrap();
            let units: Vec<u64> = (0..weights.len()).map(|i| of.units(i)).collect();
            order_of_units::<f32>(&units, &terms, bound)?;
            order_of_units::<f64>(&units, &terms, bound)?;
            let in_sums: Vec<f64> = units.iter().map(|&u| of.in_sums(u)).collect();
            let grid = Rounding::of(&in_sums).grid(bound);
            let products = || in_sums.iter().zip(&terms).map(|(&w, &x)| grid.product(w, x * bound));
            prop_assert_eq!(products().sum::<f64>().to_bits(), products().rev().sum::<f64>().to_bits());
        }
    }

    #[test]
    fn bits_are_counted_from_the_lowest_of_all_weights() {
        let bits = |weights: &[f64]| match Rounding::of(weights) {
            Rounding::Terms { bits } => bits,
            Rounding::Products { bits, .. } => -bits,
        };
        assert_eq!([bits(&[1.0; 4]), bits(&[2.0, 2.0]), bits(&[0.25, 0.75, 3.0])], [43, 43, 43]);
        assert_eq!([bits(&[0.125; 8]), bits(&[1.0 / 128.0, 1.0]), bits(&[0.0]), bits(&[])], [45, 44, 52, 52]);
        // The largest totals in 64ths, in ones, and in multiples of 2²⁰.
        let large = |unit: f64| [unit * (2f64.powi(32) - 2.0), unit];
        assert_eq!([1.0 / 64.0, 1.0, 2f64.powi(20)].map(|unit| bits(&large(unit))), [20; 3]);
        assert_eq!([bits(&[0.1]), bits(&[2f64.powi(33), 1.0])], [-51, -50]);
    }

    #[test]
    fn bounds_and_totals_of_any_size() {
        for bound in [0.0, 1e-30, 1.0, 2.0, 1e30] {
            for total in [0, 1, 1_000_000_000, 1_000_000_000_000_000, Total::LIMIT - 1] {
                let total = Total::new(total).unwrap();
                let (a, b) = (WeightedGrid::<f32>::for_sums(bound, total), WeightedGrid::<f64>::for_sums(bound, total));
                let weight = total.as_f64().max(1.0);
                for x in [-bound, 0.0, bound] {
                    // Even the coarsest grid represents the bound up to a factor of two.
                    assert!(
                        (a.product(weight, x as f32) - weight * x).abs() <= weight * bound * 0.5,
                        "{bound} {total:?}"
                    );
                    assert!((b.product(weight, x) - weight * x).abs() <= weight * bound * 0.5, "{bound} {total:?}");
                }
            }
        }
        assert_eq!(WeightedGrid::<f64>::for_sums(f64::MAX, Total::new(10).unwrap()).product(1.0, 1.0), 0.0);
    }
}
