//! The values of the leaves, computed once from the samples of each leaf.
//!
//! Workers that have grown the same structure on their own samples all compute the same leaves, because counts and
//! means are over the samples of all workers. Medians are only computed by a single worker.

use super::constraints::MonotonicColumns;
use super::growth::grow::Structure;
use super::growth::grower::TreeTargets;
use super::leaves::{LeafTable, LeafTableBuilder};
use super::masked_fill;
use super::median::exact_median;
use crate::control::Control;
use crate::criterion::LeafValues;
use crate::data::slots::Slots;
use crate::data::sparse_targets::SparseNumbers;
use crate::data::train_y::RealTargets;
use crate::data::train_y::TrainY;
use crate::data::weights::RowUnits;
use crate::error::{Purpose, Result};
use crate::exact::exact_mean_of_all;
use crate::exact::reduce::{Reduce, Workers};

/// Computes the values of all leaves in one pass over the samples: O(stored labels) or O(samples × outputs), for
/// medians × log(samples of a leaf).
pub(crate) fn leaf_values(
    structure: &Structure,
    targets: &TreeTargets<'_>,
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
    match targets.y {
        TrainY::Slots(y) => {
            fill_counts(structure, y, units, &mut table, workers)?;
            return match targets.monotonic {
                None => table.finish(),
                Some(monotonic) => in_order(structure, table.finish()?, monotonic, y.n_class_outputs.is_some()),
            };
        }
        TrainY::Real(y) => match targets.criterion.leaf_values() {
            LeafValues::Means => fill_means(structure, (y, targets.monotonic), units, &mut table, workers)?,
            LeafValues::Medians => fill_medians(structure, y, units, &mut table, control)?,
        },
        TrainY::SparseReal(y) => match targets.monotonic {
            None => fill_sparse_means(structure, y, units, &mut table, workers)?,
            Some(_) => fill_means(structure, (&y.rows()?, targets.monotonic), units, &mut table, workers)?,
        },
        // There is only one worker if cells are masked.
        TrainY::MaskedSlots(_) | TrainY::MaskedReal(_) => {
            return masked_fill::of_structure(structure, targets.y, units, control);
        }
    }
    table.finish()
}

fn fill_counts(
    structure: &Structure,
    y: &Slots<'_>,
    units: impl Fn(u32) -> u64,
    table: &mut LeafTableBuilder,
    workers: &Workers,
) -> Result<()> {
    const PURPOSE: Purpose = Purpose("the counts of a leaf");
    let mut counts = PURPOSE.filled(0u64, y.width)?;
    let mut touched: Vec<u32> = PURPOSE.with_capacity(y.width)?;
    let mut cells: Vec<(u32, u64)> = PURPOSE.with_capacity(y.width)?;
    for leaf in 0..structure.leaf_samples.len() {
        let rows = structure.leaf_rows(leaf);
        cells.clear();
        if workers.has_all_rows()
            && let &[row] = rows
        {
            // Most leaves of a full tree have one sample, whose slots are already in increasing order.
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
        let total = workers.sum_of(total)?;
        workers.sum_sparse(&mut counts, &mut touched)?;
        touched.sort_unstable();
        cells.extend(touched.drain(..).map(|slot| (slot, std::mem::take(&mut counts[slot as usize]))));
        table.push_counts(&cells, total)?;
    }
    Ok(())
}

/// Returns the table with its frequencies moved to meet the constraints, or unchanged if they already meet them.
fn in_order(
    structure: &Structure,
    table: LeafTable,
    monotonic: &MonotonicColumns,
    are_classes: bool,
) -> Result<LeafTable> {
    const PURPOSE: Purpose = Purpose("the frequencies of leaves");
    let width = table.width();
    let mut values = PURPOSE.filled(0.0, table.n_leaves() * width)?;
    values.chunks_exact_mut(width).enumerate().for_each(|(leaf, row)| table.add_to(leaf, row));
    let Some(weights) = table.totals.as_deref() else { return Ok(table) };
    if !monotonic.order_leaves(structure, weights, &mut values, width)? {
        return Ok(table);
    }
    let mut ordered = LeafTableBuilder::new(width);
    for row in values.chunks_exact_mut(width) {
        if are_classes {
            // The other of two classes has the remaining frequency.
            monotonic.columns().iter().for_each(|&second| row[second as usize - 1] = 1.0 - row[second as usize]);
        }
        ordered.push_means(row)?;
    }
    ordered.finish()
}

fn fill_means(
    structure: &Structure,
    (y, monotonic): (&RealTargets<'_>, Option<&MonotonicColumns>),
    units: impl Fn(u32) -> u64,
    table: &mut LeafTableBuilder,
    workers: &Workers,
) -> Result<()> {
    let n_leaves = structure.leaf_samples.len();
    let fill = |leaf: usize, means: &mut [f64]| -> Result<()> {
        let rows = structure.leaf_rows(leaf);
        for (output, mean) in means.iter_mut().enumerate() {
            *mean = exact_mean_of_all(rows.iter().map(|&row| (y.of(row)[output], units(row))), workers)?;
        }
        Ok(())
    };
    let Some(monotonic) = monotonic else {
        let mut means = Purpose("the means of a leaf").filled(0.0, y.n_outputs)?;
        return (0..n_leaves).try_for_each(|leaf| {
            fill(leaf, &mut means)?;
            table.push_means(&means)
        });
    };
    // Apart from the rounding during growth and from splits on features without a direction, these means are in order:
    // see `order_leaves`.
    let mut means = Purpose("the means of leaves").filled(0.0, n_leaves * y.n_outputs)?;
    let mut weights = Purpose("the weights of leaves").with_capacity(n_leaves)?;
    for (leaf, means) in means.chunks_exact_mut(y.n_outputs).enumerate() {
        fill(leaf, means)?;
        weights.push(workers.sum_of(structure.leaf_rows(leaf).iter().map(|&row| units(row)).sum::<u64>())? as f64);
    }
    monotonic.order_leaves(structure, &weights, &mut means, y.n_outputs)?;
    means.chunks_exact(y.n_outputs).try_for_each(|means| table.push_means(means))
}

/// Computes the means of numbers that are mostly zero: O(entries × log(entries)), plus the outputs that have entries.
fn fill_sparse_means(
    structure: &Structure,
    y: &SparseNumbers<'_>,
    units: impl Fn(u32) -> u64,
    table: &mut LeafTableBuilder,
    workers: &Workers,
) -> Result<()> {
    const PURPOSE: Purpose = Purpose("the means of a leaf");
    *table = LeafTableBuilder::of_means(y.n_outputs());
    let (mut entries, mut outputs, mut means) = (Vec::new(), Vec::new(), Vec::new());
    for leaf in 0..structure.leaf_samples.len() {
        let rows = structure.leaf_rows(leaf);
        entries.clear();
        for &row in rows {
            let mut of_row = y.numbers().entries(row).map(|(output, number)| (output, number, units(row)));
            of_row.try_for_each(|entry| PURPOSE.push(&mut entries, entry))?;
        }
        entries.sort_unstable_by_key(|&(output, ..)| output);
        let own = rows.iter().map(|&row| units(row)).sum::<u64>();
        // All workers must list the same outputs, in the same order.
        outputs.clear();
        let mut of_each = entries.chunk_by(|a, b| a.0 == b.0).map(|of_one| of_one[0].0);
        of_each.try_for_each(|output| PURPOSE.push(&mut outputs, output))?;
        workers.union(y.n_outputs(), &mut outputs)?;
        means.clear();
        let mut rest = &entries[..];
        for &output in &outputs {
            let (of_output, others) = rest.split_at(rest.partition_point(|entry| entry.0 <= output));
            rest = others;
            let zeros = own - of_output.iter().map(|entry| entry.2).sum::<u64>();
            let cells = of_output.iter().map(|entry| (entry.1, entry.2)).chain((zeros > 0).then_some((0.0, zeros)));
            PURPOSE.push(&mut means, (output, exact_mean_of_all(cells, workers)?))?;
        }
        table.push_rounded(means.iter().copied().filter(|(_, mean)| *mean != 0.0))?;
    }
    Ok(())
}

fn fill_medians(
    structure: &Structure,
    y: &RealTargets<'_>,
    units: impl Fn(u32) -> u64,
    table: &mut LeafTableBuilder,
    control: &Control,
) -> Result<()> {
    const PURPOSE: Purpose = Purpose("the medians of a leaf");
    let largest = structure.leaf_samples.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
    let mut values: Vec<(f64, u64)> = PURPOSE.with_capacity(largest)?;
    let mut medians = PURPOSE.filled(0.0, y.n_outputs)?;
    for leaf in 0..structure.leaf_samples.len() {
        for (output, median) in medians.iter_mut().enumerate() {
            values.clear();
            values.extend(structure.leaf_rows(leaf).iter().map(|&row| (y.of(row)[output], units(row))));
            *median = exact_median(&mut values, control)?;
        }
        table.push_means(&medians)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use proptest::prelude::*;

    use super::*;
    use crate::criterion::Criterion;
    use crate::data::{LabelView, SparseTargets, Targets};
    use crate::exact::reduce::tests::by_two;

    /// Returns leaves with some of the samples, given the leaf of each sample.
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
            // Every leaf has a sample.
            let mut present = leaf_of.clone();
            present.sort_unstable();
            present.dedup();
            let leaf_of: Vec<usize> = leaf_of.iter().map(|leaf| present.binary_search(leaf).unwrap()).collect();
            let units = RowUnits::Narrow(rows.iter().map(|row| row.2).collect());
            let numbers = Array2::from_shape_fn((n, 2), |(i, j)| rows[i].3 * [1.0, -1e-9][j]);
            let on: Vec<Vec<u32>> = rows.iter().map(|row| (0..3).filter(|label| row.4 >> label & 1 == 1).collect()).collect();
            let ptr: Vec<usize> = (0..=n).map(|i| on[..i].iter().map(Vec::len).sum()).collect();
            let labels = LabelView::try_new(ptr, on.concat(), 3).unwrap();
            let rows_of = &rows;
            let entries = |row: usize| (0u32..3).filter(move |j| rows_of[row].4 >> j & 1 == 1).map(move |j| (j, rows_of[row].3));
            let ends: Vec<usize> = (0..=n).map(|i| (0..i).map(|row| entries(row).count()).sum()).collect();
            let (outputs, values): (Vec<u32>, Vec<f64>) = (0..n).flat_map(entries).unzip();
            let dense = Array2::from_shape_fn((n, 3), |(i, j)| if rows[i].4 >> j & 1 == 1 { rows[i].3 } else { 0.0 });
            let sparse = SparseTargets::try_new(ends, outputs, values, 3).unwrap();
            let mut found = Vec::new();
            for (y, width) in [
                (Targets::Real(numbers.view()), 2),
                (Targets::Labels(labels), 3),
                (Targets::Real(dense.view()), 3),
                (Targets::SparseReal(sparse), 3),
            ] {
                let y = TrainY::new(&y).unwrap();
                let (control, whole) = (Control::default(), structure(&leaf_of, present.len(), |_| true));
                let targets = TreeTargets { y: &y, criterion: Criterion::Variance, monotonic: None };
                let of_one = leaf_values(&whole, &targets, &units, width, &Workers::One, &control).unwrap();
                let of_two = by_two(|worker, workers| {
                    let own = structure(&leaf_of, present.len(), |row| rows[row].1 == (worker == 0));
                    leaf_values(&own, &targets, &units, width, workers, &Control::default()).unwrap()
                });
                for found in of_two {
                    prop_assert_eq!(&found, &of_one);
                }
                found.push(of_one);
            }
            prop_assert_eq!(&found[2], &found[3]);
        }
    }
}
