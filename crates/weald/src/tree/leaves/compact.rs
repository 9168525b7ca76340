//! Smaller tables: numbers of fewer bits, fewer columns, and training samples in place of values.

use std::ops::Range;
use std::sync::Arc;

use super::rows::{StoredRows, StoredValues};
use super::{Amounts, Half, Indices, Layout, LeafTable, LeafTableBuilder, PURPOSE};
use crate::elementary::power_of_two;
use crate::error::Result;
use crate::exact::exponent_above;

/// The types of fewer bits for the values of leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precision {
    /// Whole numbers of 8 bits, −127 to 127, multiplied by a power of two for each leaf. A number changes by at most
    /// 1/127 of the largest magnitude in its leaf. It only applies to numerical outputs, not to frequencies.
    Byte,
    /// float16. A number changes by at most 2⁻¹¹ of the largest magnitude of its column in its tree.
    Half,
    /// float32. A number changes by at most 2⁻²⁴ of the largest magnitude of its column in its tree.
    Single,
}

impl Precision {
    pub(crate) fn n_bytes(self) -> usize {
        match self {
            Precision::Byte => 1,
            Precision::Half => 2,
            Precision::Single => 4,
        }
    }

    /// Returns the same precision, or the next wider one if it is not of floats.
    pub(crate) fn of_floats(self) -> Precision {
        match self {
            Precision::Byte | Precision::Half => Precision::Half,
            Precision::Single => Precision::Single,
        }
    }

    pub(super) fn amounts(self) -> Amounts {
        match self {
            Precision::Byte => Amounts::I8(Vec::new()),
            Precision::Half => Amounts::F16(Vec::new()),
            Precision::Single => Amounts::F32(Vec::new()),
        }
    }

    /// Returns the range of largest magnitudes for which the bound above holds without a scale: from the smallest to
    /// the largest normal number of the type of floats.
    fn reach(self) -> (f64, f64) {
        match self {
            Precision::Byte | Precision::Half => (Half::LEAST_NORMAL, Half::LARGEST),
            Precision::Single => (f32::MIN_POSITIVE.into(), f32::MAX.into()),
        }
    }

    /// Returns whether numbers of the given largest magnitude need no scale.
    pub(crate) fn holds(self, largest: f64) -> bool {
        let reach = self.reach();
        largest == 0.0 || (reach.0..=reach.1).contains(&largest)
    }

    /// Converts `value` to the type of floats and back. It must not be larger than the largest number of the type.
    pub(crate) fn nearest(self, value: f64) -> f64 {
        match self {
            Precision::Byte | Precision::Half => Half::nearest(value).into(),
            Precision::Single => f64::from(value as f32),
        }
    }

    /// Returns the factor by which a column of the given largest magnitude is divided: 1 if the magnitude is in range,
    /// and otherwise the power of two that brings it below the largest power of two in range. Returns `None` if there
    /// is no such power, for magnitudes below about 2⁻⁹⁰⁰.
    fn scale(self, largest: f64) -> Option<f64> {
        if self.holds(largest) {
            return Some(1.0);
        }
        let exponent = exponent_above(largest) - (exponent_above(self.reach().1) - 1);
        (exponent >= -1022).then(|| power_of_two(exponent))
    }

    /// Returns values, each with its column, as floats of fewer bits, and the scales of columns; `None` if a column has no
    /// scale.
    pub(super) fn narrowed<I: Iterator<Item = (u32, f64)>>(
        self,
        width: usize,
        values: impl Fn() -> I,
    ) -> Result<Option<(Amounts, Option<Vec<f64>>)>> {
        let Some(scales) = self.scales(largest_of(width, values())?) else { return Ok(None) };
        let mut amounts = self.amounts();
        for (column, value) in values() {
            amounts.push_rounded(scales.as_ref().map_or(value, |scales| value / scales[column as usize]))?;
        }
        amounts.shrink();
        Ok(Some((amounts, scales)))
    }

    /// Returns the scales of columns with these largest magnitudes, or `Some(None)` if all scales are 1. `None` if a
    /// column has no scale.
    fn scales(self, mut largest: Vec<f64>) -> Option<Option<Vec<f64>>> {
        for of_column in &mut largest {
            *of_column = self.scale(*of_column)?;
        }
        Some(largest.iter().any(|&scale| scale != 1.0).then_some(largest))
    }
}

impl LeafTable {
    /// Returns the table with numbers of fewer bits; counts become frequencies. The table is unchanged if that would
    /// not make it smaller, and if leaves refer to samples.
    pub(crate) fn narrowed(&self, to: Precision) -> Result<LeafTable> {
        if self.has_rows() || self.amounts.item_bytes() <= to.n_bytes() {
            return self.try_clone();
        }
        if to == Precision::Byte {
            // With a scale for each leaf, leaves do not share values.
            let narrow = self.in_bytes()?;
            return if narrow.n_bytes() < self.n_bytes() { Ok(narrow) } else { self.try_clone() };
        }
        if let Layout::Inherited(records) = &self.layout {
            let Some((amounts, scales)) = records.narrowed(self, to)? else { return self.try_clone() };
            return Ok(LeafTable { amounts, scales, ..self.try_clone()? });
        }
        let values = (0..self.n_leaves).flat_map(|leaf| self.value(leaf));
        let Some(scales) = to.scales(largest_of(self.width, values)?) else { return self.try_clone() };
        let mut builder = LeafTableBuilder::of_floats(self.width, to.amounts(), scales);
        (0..self.n_leaves).try_for_each(|leaf| builder.push_rounded(self.value(leaf)))?;
        builder.finish()
    }

    /// Returns the table with whole numbers of 8 bits, multiplied by a power of two for each leaf. Frequencies, and
    /// numbers that are far too small, are unchanged.
    fn in_bytes(&self) -> Result<LeafTable> {
        if self.totals.is_some() {
            return self.try_clone();
        }
        let mut builder = LeafTableBuilder::of_floats(self.width, Precision::Byte.amounts(), None);
        for leaf in 0..self.n_leaves {
            let largest = self.value(leaf).fold(0.0, |largest: f64, (_, value)| largest.max(value.abs()));
            // The scale is 2⁻⁷ times the power of two above `largest`, so that quotients are below 2⁷. If the largest
            // one is rounded to 2⁷, the scale is doubled.
            let mut exponent = if largest == 0.0 { 0 } else { exponent_above(largest) - 7 };
            if exponent < -1021 {
                return self.try_clone();
            }
            if (largest / power_of_two(exponent)).round_ties_even() > f64::from(i8::MAX) {
                exponent += 1;
            }
            let scale = power_of_two(exponent);
            let codes = self.value(leaf).map(|(column, value)| (column, (value / scale).round_ties_even()));
            builder.push_rounded(codes.filter(|(_, code)| *code != 0.0))?;
            PURPOSE.push(&mut builder.leaf_scales, scale)?;
        }
        builder.finish()
    }

    /// Returns the table without numbers of magnitudes up to `floor`. Frequencies, leaves that refer to samples, and
    /// numbers of 8 bits are unchanged.
    pub(crate) fn without_small(&self, floor: f64) -> Result<LeafTable> {
        if self.has_rows() || self.totals.is_some() || self.leaf_scales.is_some() {
            return self.try_clone();
        }
        let scales = self.scales.as_deref().map(|scales| PURPOSE.copied(scales)).transpose()?;
        let mut builder = LeafTableBuilder::of_floats(self.width, self.amounts.no_floats(), scales);
        let is_kept = |cell: &(u32, f64)| cell.1.abs() > floor;
        (0..self.n_leaves).try_for_each(|leaf| builder.push_rounded(self.value(leaf).filter(is_kept)))?;
        builder.finish()
    }

    /// Returns the table with only the `k` largest amounts of each group of columns; of equal amounts, the first ones
    /// are kept. The groups must be in increasing order.
    pub(crate) fn top_k(&self, k: usize, groups: &[Range<u32>]) -> Result<LeafTable> {
        let mut builder = LeafTableBuilder::new(self.width);
        if self.totals.is_none() {
            // Columns of float64 have no scales.
            let scales = self.scales.as_deref().map(|scales| PURPOSE.copied(scales)).transpose()?;
            builder = LeafTableBuilder::of_floats(self.width, self.amounts.no_floats(), scales);
        }
        let mut kept: Vec<(u32, f64)> = Vec::new();
        for leaf in 0..self.n_leaves {
            kept.clear();
            let mut groups = groups.iter();
            let (mut end, mut first) = (0, 0);
            for cell in self.cells(leaf) {
                while cell.0 >= end {
                    keep_largest(&mut kept, first, k);
                    first = kept.len();
                    end = groups.next().map_or(u32::MAX, |group| group.end);
                }
                PURPOSE.push(&mut kept, cell)?;
            }
            keep_largest(&mut kept, first, k);
            kept.sort_unstable_by_key(|cell| cell.0);
            if let Some(total) = self.total(leaf) {
                let cells = PURPOSE.collected(kept.iter().map(|&(column, units)| (column, units as u64)))?;
                builder.push_counts(&cells, total as u64)?;
            } else {
                builder.push_rounded(kept.iter().copied())?;
            }
        }
        builder.finish()
    }

    /// Returns the table of leaves that refer to samples of `stored`: leaf l has the samples `ids[ptr[l]..ptr[l + 1]]`,
    /// in increasing order, with their units.
    pub(crate) fn of_rows(ptr: Vec<u32>, ids: Indices, units: Amounts, stored: Arc<StoredRows>) -> Result<LeafTable> {
        let n_leaves = ptr.len() - 1;
        let totals = match &stored.values {
            StoredValues::Numbers { .. } => None,
            StoredValues::Slots { .. } => {
                let mut totals = PURPOSE.with_capacity(n_leaves)?;
                let total = |leaf: &[u32]| (leaf[0]..leaf[1]).map(|i| units.at(i as usize)).sum::<f64>();
                totals.extend(ptr.windows(2).map(total));
                Some(totals)
            }
        };
        let width = stored.width;
        let layout = Layout::Rows { ptr, ids, stored };
        Ok(LeafTable { n_leaves, width, layout, amounts: units, totals, scales: None, leaf_scales: None })
    }

    /// Returns the same leaves, which refer to other samples of y. A table without samples is unchanged.
    pub(crate) fn on_rows(mut self, other: &Arc<StoredRows>) -> LeafTable {
        if let Layout::Rows { stored, .. } = &mut self.layout {
            *stored = Arc::clone(other);
        }
        self
    }

    /// Returns the largest difference of a value of a leaf between the two tables.
    pub(crate) fn largest_change(&self, other: &LeafTable) -> f64 {
        (0..self.n_leaves).map(|leaf| difference(self.value(leaf), other.value(leaf))).fold(0.0, f64::max)
    }
}

impl StoredRows {
    /// Returns the samples with numbers of fewer bits; slots are unchanged.
    pub(crate) fn narrowed(&self, to: Precision) -> Result<StoredRows> {
        let to = to.of_floats();
        let StoredValues::Numbers { values, scales: None } = &self.values else { return self.try_clone() };
        let columns = || (0..self.n_rows).flat_map(|_| 0..self.width as u32).enumerate();
        let numbers = || columns().map(|(i, column)| (column, values.at(i)));
        let Some((values, scales)) = to.narrowed(self.width, numbers)? else { return self.try_clone() };
        let values = StoredValues::Numbers { values, scales };
        Ok(StoredRows { n_rows: self.n_rows, width: self.width, values })
    }
}

/// Returns the largest magnitude of each column.
fn largest_of(width: usize, values: impl Iterator<Item = (u32, f64)>) -> Result<Vec<f64>> {
    let mut largest = PURPOSE.filled(0.0f64, width)?;
    for (column, value) in values {
        largest[column as usize] = largest[column as usize].max(value.abs());
    }
    Ok(largest)
}

/// Keeps the `k` largest of `cells[first..]`, in any order.
fn keep_largest(cells: &mut Vec<(u32, f64)>, first: usize, k: usize) {
    if cells.len() - first > k {
        cells[first..].select_nth_unstable_by(k - 1, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        cells.truncate(first + k);
    }
}

/// Returns the largest difference of two sparse rows, whose columns are in increasing order.
fn difference(a: impl Iterator<Item = (u32, f64)>, b: impl Iterator<Item = (u32, f64)>) -> f64 {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    let mut largest = 0.0f64;
    loop {
        let (left, right) = (a.peek().copied(), b.peek().copied());
        let column = |cell: Option<(u32, f64)>| cell.map_or(u64::MAX, |cell| cell.0.into());
        let at = column(left).min(column(right));
        if at == u64::MAX {
            return largest;
        }
        let mut value = |side: bool| match if side { left } else { right } {
            Some((c, v)) if u64::from(c) == at => {
                if side {
                    a.next()
                } else {
                    b.next()
                };
                v
            }
            Some(_) | None => 0.0,
        };
        largest = largest.max((value(true) - value(false)).abs());
    }
}
