//! The cuts between the cells of a column of a node.

use std::ops::Range;

use super::builder::{Counting, Histogram};
use super::cells::SparseCells;
use super::part::Part;
use super::{BinnedSums, show_sums};
use crate::criterion::Units;
use crate::criterion::variance::Variance;
use crate::data::category_of;
use crate::partition::decision::Side;
use crate::split::Rules;
use crate::split::cut::Cut;
use crate::split::scan::Scan;

/// The cells of a column in a node. They have increasing `values`, the last of which may be missing. The weight of the
/// node that is not in the cells is that of zeros.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnCells<'a> {
    feature: u32,
    values: &'a [f32],
    sums: &'a [f64],
    counts: &'a [u32],
    counting: Counting,
    /// The number of items of a sample.
    len: usize,
    /// The weight of the cells.
    weight: f64,
}

impl<'a> ColumnCells<'a> {
    pub(super) fn new(
        (feature, cells): (u32, Range<usize>),
        x: &'a SparseCells,
        histogram: &'a Histogram,
        counting: Counting,
        len: usize,
    ) -> Self {
        let sums = &histogram.sums[cells.start * len..cells.end * len];
        let counts = histogram.counts.get(cells.clone()).unwrap_or(&[]);
        let weight = sums.iter().step_by(len).sum();
        ColumnCells { feature, values: x.values(cells), sums, counts, counting, len, weight }
    }

    /// Returns whether a column varies in a node of this weight.
    pub(super) fn has_several(&self, of_node: f64) -> bool {
        let n = self.sums.iter().step_by(self.len).filter(|weight| **weight != 0.0).count();
        n + usize::from(self.weight < of_node) > 1
    }

    /// Returns whether no cut can be permitted, because it moves cells, never zeros.
    fn is_light(&self, rules: &Rules) -> bool {
        let sizes = rules.constraints.leaf_sizes;
        let has_few = match self.counting {
            Counting::ByWeight(each) => self.weight < each * f64::from(sizes.min_samples),
            Counting::Not | Counting::InBins | Counting::OnDemand(_) => self.weight == 0.0,
        };
        has_few || self.weight < sizes.min_weight
    }
}

impl<U: Units, M: BinnedSums> Part<'_, '_, U, M> {
    /// Offers every cut of a column.
    pub(super) fn best_cell(&mut self, column: &ColumnCells<'_>) {
        if column.is_light(self.rules) {
            return;
        }
        let &ColumnCells { values, sums, len, .. } = column;
        let n = values.len();
        let has_missing = values[n - 1].is_nan() && sums[(n - 1) * len] != 0.0;
        let missing = has_missing.then_some(Side::Right);
        let n_negative = if values[0] > 0.0 { 0 } else { values.partition_point(|&value| value < 0.0) };
        let zero = (column.weight < self.weight).then_some(0.0);
        // If there are no zeros, the cut between the signs is offered only by the positive side.
        let last_negative = || (0..n_negative).rev().find(|&i| sums[i * len] != 0.0).map(|i| values[i]);
        let below_positive = zero.or_else(last_negative);
        self.move_cells(column, (n_negative..n).rev(), below_positive, None, (Side::Right, missing));
        self.move_cells(column, 0..n_negative, zero, None, (Side::Left, missing));
        if has_missing {
            // On the left, missing values are treated as the smallest. The cut between them and all others has been
            // offered already.
            let missing = Some(Side::Left);
            self.move_cells(column, (n_negative..n - 1).rev(), below_positive, None, (Side::Right, missing));
            self.move_cells(column, 0..n_negative, zero, Some(n - 1), (Side::Left, missing));
        }
    }

    /// Moves cells from the outermost inwards and offers the cut after each non-empty cell. `inner` is the value in the
    /// node after the last cell, if there is one. The cell `before` the first is on the side of the moved cells in
    /// every cut. The moved cells go to the first side, and missing values to the second, if there are any.
    #[inline]
    fn move_cells(
        &mut self,
        column: &ColumnCells<'_>,
        cells: impl Iterator<Item = usize>,
        inner: Option<f32>,
        before: Option<usize>,
        (side, missing): (Side, Option<Side>),
    ) {
        let &ColumnCells { feature, values, sums, counts, counting, .. } = column;
        let mut moved = self.mover.reset();
        let mut outer = None;
        let mut n_moved = 0;
        if let Some(cell) = before {
            self.mover.add(&mut moved, sums, cell);
            n_moved = counts.get(cell).copied().unwrap_or(0);
        }
        let count = |n_moved: u32| move |weight: f64| counting.n_samples(weight, Some(&n_moved));
        for cell in cells {
            // Every sample has a positive weight.
            if self.mover.weight_of(sums, cell) == 0.0 {
                continue;
            }
            if let Some(outer) = outer {
                self.offer(feature, (&moved, side), count(n_moved), || Cut::between(outer, values[cell], missing));
            }
            self.mover.add(&mut moved, sums, cell);
            n_moved += counts.get(cell).copied().unwrap_or(0);
            outer = Some(values[cell]);
        }
        if let (Some(outer), Some(inner)) = (outer, inner) {
            self.offer(feature, (&moved, side), count(n_moved), || Cut::between(outer, inner, missing));
        }
    }
}

impl<U: Units, M: BinnedSums> Scan<'_, Variance<'_, U, M>> {
    /// Like [`Part::best_cell`], for a feature whose cells are categories and possibly missing values.
    pub(super) fn best_subset_of_cells(&mut self, column: &ColumnCells<'_>) {
        if column.is_light(self.rules) {
            return;
        }
        let &ColumnCells { feature, values, sums, counts, counting, len, .. } = column;
        self.with_categories(|scan, categories| {
            categories.sums.clear();
            // Samples are counted, because some features are categorical.
            let mut n_rest = scan.n_samples;
            for (i, (&value, sums)) in values.iter().zip(sums.chunks_exact(len)).enumerate() {
                if !counting.is_empty(sums[0], counts.get(i)) {
                    let n = counting.n_samples(sums[0], counts.get(i));
                    n_rest -= n;
                    categories.sums.push(category_of(value), n, |visit| show_sums(sums, visit))?;
                }
            }
            scan.add_rest(categories, n_rest)?;
            scan.offer_subsets(feature, categories)
        });
    }
}
