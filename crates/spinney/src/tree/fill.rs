//! Values of the leaves, filled once from the samples that ended in them.

use super::grow::Structure;
use super::leaves::{LeafTable, LeafTableBuilder};
use crate::criterion::slots::Slots;
use crate::criterion::variance::RealTargets;
use crate::data::weights::exponent_above;
use crate::error::{Result, try_filled, try_with_capacity};
use crate::split::dispatch::{RowUnits, SplitY};

/// One pass over the samples, leaf by leaf: O(stored labels) or O(samples × outputs).
pub(crate) fn leaf_values(structure: &Structure, y: &SplitY<'_>, units: &RowUnits, width: usize) -> Result<LeafTable> {
    let units = |row: u32| match units {
        RowUnits::Narrow(u) => u64::from(u[row as usize]),
        RowUnits::Wide(u) => u[row as usize],
    };
    let mut table = LeafTableBuilder::new(width);
    match y {
        SplitY::Slots(y) => fill_counts(structure, y, units, &mut table),
        SplitY::Real(y) => fill_means(structure, y, units, &mut table),
    }?;
    table.finish()
}

fn fill_counts(
    structure: &Structure,
    y: &Slots<'_>,
    units: impl Fn(u32) -> u64,
    table: &mut LeafTableBuilder,
) -> Result<()> {
    const WHAT: &str = "the counts of a leaf";
    let mut counts = try_filled(WHAT, 0u64, y.width)?;
    let mut touched: Vec<u32> = try_with_capacity(WHAT, y.width)?;
    let mut cells: Vec<(u32, u64)> = try_with_capacity(WHAT, y.width)?;
    for leaf in 0..structure.leaf_samples.len() {
        let rows = structure.leaf_rows(leaf);
        cells.clear();
        if let &[row] = rows {
            // Most leaves of a full tree hold one row, whose slots rise already.
            let w = units(row);
            cells.extend(y.of(row).iter().map(|&slot| (slot, w)));
            table.push_counts(&cells, w)?;
            continue;
        }
        let mut total = 0;
        for &row in rows {
            let w = units(row);
            total += w;
            for &slot in y.of(row) {
                if counts[slot as usize] == 0 {
                    touched.push(slot);
                }
                counts[slot as usize] += w;
            }
        }
        touched.sort_unstable();
        cells.extend(touched.drain(..).map(|slot| (slot, std::mem::take(&mut counts[slot as usize]))));
        table.push_counts(&cells, total)?;
    }
    Ok(())
}

fn fill_means(
    structure: &Structure,
    y: &RealTargets<'_>,
    units: impl Fn(u32) -> u64,
    table: &mut LeafTableBuilder,
) -> Result<()> {
    let mut means = try_filled("the means of a leaf", 0.0, y.n_outputs)?;
    for leaf in 0..structure.leaf_samples.len() {
        let rows = structure.leaf_rows(leaf);
        for (output, mean) in means.iter_mut().enumerate() {
            *mean = exact_mean(rows.iter().map(|&row| (y.of(row)[output], units(row))));
        }
        table.push_means(&means)?;
    }
    Ok(())
}

/// Weighted mean of values of positive weight, the same for every order: deviations from the middle of the range are
/// summed as 61-bit integers in 128 bits.
pub(crate) fn exact_mean(values: impl Iterator<Item = (f64, u64)> + Clone) -> f64 {
    let (low, high) =
        values.clone().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (y, _)| (low.min(y), high.max(y)));
    if low == high {
        return low;
    }
    let center = low / 2.0 + high / 2.0;
    let exponent = 61 - exponent_above((high - center).max(center - low));
    // Two factors: one alone may overflow for denormal ranges.
    let (up, up_again) = (2f64.powi(exponent / 2), 2f64.powi(exponent - exponent / 2));
    let (mut sum, mut total) = (0i128, 0i128);
    for (y, units) in values {
        sum += i128::from(units) * i128::from(((y - center) * up * up_again) as i64);
        total += i128::from(units);
    }
    let deviation = sum as f64 / total as f64 / up / up_again;
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
