//! Values of the leaves, filled once from the samples that ended in them.
//!
//! Workers that have grown one structure on their own rows each fill all leaves alike: counts and means are over all rows.

use super::grow::Structure;
use super::leaves::{LeafTable, LeafTableBuilder};
use super::masked_fill;
use crate::control::Control;
use crate::data::slots::Slots;
use crate::data::train_y::RealTargets;
use crate::data::train_y::TrainY;
use crate::data::weights::RowUnits;
use crate::error::{Result, try_filled, try_with_capacity};
use crate::exact::exact_mean_of_all;
use crate::exact::reduce::{Reduce, Workers};

/// One pass over the samples, leaf by leaf: O(stored labels) or O(samples × outputs).
pub(crate) fn leaf_values(
    structure: &Structure,
    y: &TrainY<'_>,
    units: &RowUnits,
    width: usize,
    workers: &Workers,
    control: &Control,
) -> Result<LeafTable> {
    let units = |row: u32| match units {
        RowUnits::Narrow(u) => u64::from(u[row as usize]),
        RowUnits::Wide(u) => u[row as usize],
    };
    let mut table = LeafTableBuilder::new(width);
    match y {
        TrainY::Slots(y) => fill_counts(structure, y, units, &mut table, workers),
        TrainY::Real(y) => fill_means(structure, y, units, &mut table, workers),
        // Of one worker.
        TrainY::MaskedSlots(y) => return masked_fill::frequencies(structure, y, units, control),
        TrainY::MaskedReal(y) => return masked_fill::means(structure, y, units, control),
    }?;
    table.finish()
}

fn fill_counts(
    structure: &Structure,
    y: &Slots<'_>,
    units: impl Fn(u32) -> u64,
    table: &mut LeafTableBuilder,
    workers: &Workers,
) -> Result<()> {
    const WHAT: &str = "the counts of a leaf";
    let mut counts = try_filled(WHAT, 0u64, y.width)?;
    let mut touched: Vec<u32> = try_with_capacity(WHAT, y.width)?;
    let mut cells: Vec<(u32, u64)> = try_with_capacity(WHAT, y.width)?;
    for leaf in 0..structure.leaf_samples.len() {
        let rows = structure.leaf_rows(leaf);
        cells.clear();
        if workers.has_all_rows()
            && let &[row] = rows
        {
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
        let total = workers.sum_of(total);
        workers.sum_sparse(&mut counts, &mut touched);
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
    workers: &Workers,
) -> Result<()> {
    let mut means = try_filled("the means of a leaf", 0.0, y.n_outputs)?;
    for leaf in 0..structure.leaf_samples.len() {
        let rows = structure.leaf_rows(leaf);
        for (output, mean) in means.iter_mut().enumerate() {
            *mean = exact_mean_of_all(rows.iter().map(|&row| (y.of(row)[output], units(row))), workers);
        }
        table.push_means(&means)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use proptest::prelude::*;

    use super::*;
    use crate::data::{LabelView, Targets};
    use crate::exact::reduce::tests::by_two;

    /// Leaves of the rows of some samples, by the leaf of each.
    fn structure(leaf_of: &[usize], n_leaves: usize, is_there: impl Fn(usize) -> bool) -> Structure {
        let mut structure = Structure::default();
        for leaf in 0..n_leaves {
            let start = structure.order.len() as u32;
            let rows = (0..leaf_of.len()).filter(|&row| leaf_of[row] == leaf && is_there(row));
            structure.order.extend(rows.map(|row| row as u32));
            structure.leaf_samples.push(start..structure.order.len() as u32);
        }
        structure
    }

    proptest! {
        #[test]
        fn leaves_of_two_workers_are_those_of_one(
            rows in prop::collection::vec((0usize..5, any::<bool>(), 1u32..4, -1e6f64..1e6, 0u32..8), 1..60),
        ) {
            let n = rows.len();
            let leaf_of: Vec<usize> = rows.iter().map(|row| row.0).collect();
            // Every leaf has a row.
            let mut present = leaf_of.clone();
            present.sort_unstable();
            present.dedup();
            let leaf_of: Vec<usize> = leaf_of.iter().map(|leaf| present.binary_search(leaf).unwrap()).collect();
            let units = RowUnits::Narrow(rows.iter().map(|row| row.2).collect());
            let numbers = Array2::from_shape_fn((n, 2), |(i, j)| rows[i].3 * [1.0, -1e-9][j]);
            let on: Vec<Vec<u32>> = rows.iter().map(|row| (0..3).filter(|label| row.4 >> label & 1 == 1).collect()).collect();
            let ptr: Vec<usize> = (0..=n).map(|i| on[..i].iter().map(Vec::len).sum()).collect();
            let labels = LabelView::try_new(ptr, on.concat(), 3).unwrap();
            for (y, width) in [(Targets::Real(numbers.view()), 2), (Targets::Labels(labels), 3)] {
                let y = TrainY::new(&y).unwrap();
                let (control, whole) = (Control::default(), structure(&leaf_of, present.len(), |_| true));
                let of_one = leaf_values(&whole, &y, &units, width, &Workers::One, &control).unwrap();
                let of_two = by_two(|worker, workers| {
                    let own = structure(&leaf_of, present.len(), |row| rows[row].1 == (worker == 0));
                    leaf_values(&own, &y, &units, width, workers, &Control::default()).unwrap()
                });
                for found in of_two {
                    prop_assert_eq!(&found, &of_one);
                }
            }
        }
    }
}
