//! Numerical outputs that are mostly zero, and the choice of the storage format in which numerical outputs are fitted.
//!
//! The format depends on the values, not on the format of the caller: many outputs that are mostly zero are fitted as
//! sparse entries, all others as dense rows. Dense and sparse y therefore give the same model, bit for bit.

use std::borrow::Cow;

use ndarray::{Array2, ArrayView2};

use super::dataset::Dataset;
use super::sparse::check_pattern;
use super::targets::{LabelView, Targets};
use super::train_y::RealTargets;
use super::weights::Weights;
use crate::error::{Error, Purpose, Result};

const PURPOSE: Purpose = Purpose("the targets");

/// Sparse numerical outputs: sample `i` has the values `values[ptr[i]..ptr[i + 1]]` in the outputs at the same
/// positions of `outputs`, which are strictly increasing, and zero in all other outputs.
#[derive(Clone, Debug)]
pub struct SparseTargets<'a> {
    ptr: Cow<'a, [usize]>,
    outputs: Cow<'a, [u32]>,
    values: Cow<'a, [f64]>,
    n_outputs: usize,
}

impl<'a> SparseTargets<'a> {
    /// Returns a view of the three arrays, after checking them against each other and against `n_outputs`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::SparseFormat`] under the same conditions as [`crate::SparseView::try_new`], and
    /// [`crate::ErrorKind::Shape`] if `values` and the indices of outputs differ in length.
    ///
    /// ```
    /// use weald::ndarray::array;
    /// use weald::{Criterion, SparseTargets, TreeConfig};
    ///
    /// let x = array![[0.0f32], [1.0], [2.0]];
    /// let y = SparseTargets::try_new(vec![0, 1, 1, 2], vec![7u32, 2], vec![5.0, 4.0], 1000)?;
    /// let tree = TreeConfig::new(Criterion::Variance).fit((&x, y))?;
    /// assert_eq!(tree.leaves().value(0).collect::<Vec<_>>(), [(7, 5.0)]);
    /// # Ok::<(), weald::Error>(())
    /// ```
    pub fn try_new(
        ptr: impl Into<Cow<'a, [usize]>>,
        outputs: impl Into<Cow<'a, [u32]>>,
        values: impl Into<Cow<'a, [f64]>>,
        n_outputs: usize,
    ) -> Result<Self> {
        let (ptr, outputs, values) = (ptr.into(), outputs.into(), values.into());
        check_pattern("y", &ptr, &outputs, n_outputs)?;
        if values.len() != outputs.len() {
            return Err(Error::shape("values of y", outputs.len(), values.len()));
        }
        Ok(SparseTargets { ptr, outputs, values, n_outputs })
    }

    /// Returns labels as numerical outputs, 1 for labels that are present. Only the values are allocated.
    pub(crate) fn of_labels(y: &'a LabelView<'_>) -> Result<Self> {
        Ok(SparseTargets {
            ptr: Cow::Borrowed(y.ptr()),
            outputs: Cow::Borrowed(y.indices()),
            values: Purpose("the labels as numbers").filled(1.0, y.indices().len())?.into(),
            n_outputs: y.n_labels(),
        })
    }

    /// Returns a view of the same targets.
    pub(crate) fn view(&self) -> SparseTargets<'_> {
        SparseTargets {
            ptr: Cow::Borrowed(&self.ptr),
            outputs: Cow::Borrowed(&self.outputs),
            values: Cow::Borrowed(&self.values),
            n_outputs: self.n_outputs,
        }
    }

    /// Returns the number of samples.
    pub fn n_samples(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Returns the number of outputs.
    pub fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    /// Returns all stored values, one sample after another.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the outputs and values that are stored for a sample.
    #[inline]
    pub(crate) fn of(&self, row: u32) -> (&[u32], &[f64]) {
        let range = self.range(row);
        (&self.outputs[range.clone()], &self.values[range])
    }

    /// Returns the range of the entries of a sample.
    #[inline]
    pub(crate) fn range(&self, row: u32) -> std::ops::Range<usize> {
        self.ptr[row as usize]..self.ptr[row as usize + 1]
    }

    /// Returns the entries of a sample.
    #[inline]
    pub(crate) fn entries(&self, row: u32) -> impl Iterator<Item = (u32, f64)> + Clone + '_ {
        let (outputs, values) = self.of(row);
        outputs.iter().copied().zip(values.iter().copied())
    }

    /// Returns the largest number of entries of a sample.
    pub(crate) fn most_in_a_row(&self) -> usize {
        self.ptr.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0)
    }

    /// Returns a dense array of shape (n_samples, n_outputs).
    pub(crate) fn to_dense(&self) -> Result<Array2<f64>> {
        let (n, width) = (self.n_samples(), self.n_outputs);
        let mut values = PURPOSE.filled(0.0, n.saturating_mul(width))?;
        for (row, values) in (0u32..).zip(values.chunks_exact_mut(width.max(1))) {
            self.entries(row).for_each(|(output, value)| values[output as usize] = value);
        }
        Ok(Array2::from_shape_vec((n, width), values).expect("as many as y has"))
    }

    /// Makes sparse targets from the non-zero entries of samples, of which there are `n_stored`.
    fn of_rows(
        rows: impl Iterator<Item = impl Iterator<Item = (u32, f64)>>,
        (n, n_stored, n_outputs): (usize, usize, usize),
    ) -> Result<SparseTargets<'static>> {
        let mut ptr = PURPOSE.with_capacity(n + 1)?;
        let mut outputs = PURPOSE.with_capacity(n_stored)?;
        let mut values = PURPOSE.with_capacity(n_stored)?;
        ptr.push(0);
        for row in rows {
            for (output, value) in row.filter(|(_, value)| *value != 0.0) {
                outputs.push(output);
                values.push(value);
            }
            ptr.push(values.len());
        }
        Ok(SparseTargets { ptr: ptr.into(), outputs: outputs.into(), values: values.into(), n_outputs })
    }

    /// Returns some samples.
    pub(super) fn narrowed(&self, rows: &[u32]) -> Result<SparseTargets<'static>> {
        let n_stored = rows.iter().map(|&row| self.range(row).len()).sum();
        SparseTargets::of_rows(rows.iter().map(|&row| self.entries(row)), (rows.len(), n_stored, self.n_outputs))
    }

    /// Returns one output.
    pub(super) fn column(&self, output: u32) -> Result<SparseTargets<'static>> {
        let n = self.n_samples();
        let rows =
            || (0..n as u32).map(|row| self.entries(row).filter(|entry| entry.0 == output).map(|entry| (0, entry.1)));
        SparseTargets::of_rows(rows(), (n, rows().flatten().count(), 1))
    }

    fn without_zeros(&self) -> Result<SparseTargets<'static>> {
        let n = self.n_samples();
        let rows = (0..n as u32).map(|row| self.entries(row));
        SparseTargets::of_rows(rows, (n, self.values.iter().filter(|v| **v != 0.0).count(), self.n_outputs))
    }

    pub(crate) fn of_dense(y: &ArrayView2<'_, f64>) -> Result<SparseTargets<'static>> {
        let rows = y.rows().into_iter().map(|row| (0u32..).zip(row.into_iter().copied()));
        SparseTargets::of_rows(rows, (y.nrows(), y.iter().filter(|v| **v != 0.0).count(), y.ncols()))
    }
}

/// Numerical outputs in the format in which they are fitted, if it is not the format of the caller. See
/// [`Dataset::restored`].
#[derive(Debug)]
pub(crate) enum Restored {
    Dense(Array2<f64>),
    Sparse(SparseTargets<'static>),
}

/// With fewer outputs, trees and forests always fit numerical y as dense rows, because reading a row of them is fast.
pub const FEW_OUTPUTS: usize = 16;

/// Trees and forests fit numerical y as sparse entries if at most one value in this many is non-zero, because moving an
/// entry costs a few times as much as moving a value of a dense row.
pub const ZEROS_TO_ONE: usize = 8;

impl Dataset<'_> {
    /// Returns y in the format in which it is fitted, or `None` if it already has this format, and for classes and
    /// labels. The format is sparse entries if `as_entries` is true and the values are mostly zero in samples of
    /// positive weight, and dense rows otherwise. See [`Dataset::with_restored`].
    pub(crate) fn restored(&self, as_entries: bool) -> Result<Option<Restored>> {
        let are_entries = self.fits_entries(as_entries)?;
        match self.y() {
            // Growth lists the known cells of any format.
            Targets::SparseReal(_) if as_entries && self.known().is_some() => Ok(None),
            Targets::Real(y) if are_entries => SparseTargets::of_dense(y).map(Restored::Sparse).map(Some),
            // Sizes that do not match are reported by the checks.
            Targets::SparseReal(y) if y.n_samples() != self.n_samples() => Ok(None),
            Targets::SparseReal(y) if !are_entries => {
                let mut values = y.to_dense()?;
                let weights = self.row_weights().sample_weight;
                let is_there = |row: &u32| weights.is_none_or(|weights| weights[*row as usize] > 0.0);
                self.known().map_or(Ok(()), |known| known.hide(&mut values, is_there))?;
                Ok(Some(Restored::Dense(values)))
            }
            Targets::SparseReal(y) => {
                let has_zeros = y.values().contains(&0.0);
                has_zeros.then(|| y.without_zeros().map(Restored::Sparse)).transpose()
            }
            Targets::Real(_) | Targets::Classes { .. } | Targets::Labels(_) => Ok(None),
        }
    }

    /// Returns whether numerical outputs are fitted as sparse entries by what may do so, `as_entries`.
    pub(crate) fn fits_entries(&self, as_entries: bool) -> Result<bool> {
        let is_fit = self.y().n_samples() == self.n_samples();
        // Targets with unknown cells have a format of their own.
        let may_be = as_entries && self.y().width() >= FEW_OUTPUTS && self.n_masked() == 0 && is_fit;
        match self.y() {
            Targets::Real(y) if may_be => self.is_mostly_zero(|row| y.row(row).iter().filter(|v| **v != 0.0).count()),
            Targets::SparseReal(y) if may_be => {
                self.is_mostly_zero(|row| y.of(row as u32).1.iter().filter(|v| **v != 0.0).count())
            }
            _ => Ok(false),
        }
    }

    /// Returns whether y is mostly zero. The result depends on samples and weights, not on their order: a sample of
    /// weight 2 is equivalent to two samples.
    fn is_mostly_zero(&self, n_entries: impl Fn(usize) -> usize) -> Result<bool> {
        let (n, weights) = (self.n_samples(), self.row_weights().sample_weight);
        Weights::check(weights, n)?;
        let weights = Weights::of_rows(weights, n)?;
        let (mut entries, mut cells) = (0u128, 0u128);
        for row in 0..n {
            let units = u128::from(weights.units(row));
            if units > 0 {
                entries += units * n_entries(row) as u128;
                cells += units * self.y().width() as u128;
            }
        }
        Ok(entries * ZEROS_TO_ONE as u128 <= cells)
    }

    /// Returns the data set with y in the format in which it is fitted.
    pub(crate) fn with_restored<'o>(&'o self, restored: Option<&'o Restored>) -> Dataset<'o> {
        let data = self.view();
        match restored {
            None => data,
            Some(Restored::Dense(y)) => data.with_targets(Targets::Real(y.view())),
            Some(Restored::Sparse(y)) => data.with_targets(Targets::SparseReal(y.view())),
        }
    }
}

/// Entries of y in the form that growth reads.
///
/// As in [`super::train_y::RealTargets`], leaves contain the values themselves, and the search of splits uses each
/// output multiplied by its factor.
#[derive(Debug)]
pub(crate) struct SparseNumbers<'a> {
    y: SparseTargets<'a>,
    /// The factor of each output, finite and not negative; `None` if all are 1.
    factors: Option<Vec<f64>>,
}

impl<'a> SparseNumbers<'a> {
    /// Returns entries without factors.
    pub(crate) fn new(y: SparseTargets<'a>) -> Self {
        SparseNumbers { y, factors: None }
    }

    /// Returns the entries with these factors.
    pub(crate) fn times(self, factors: Vec<f64>) -> Self {
        debug_assert_eq!(factors.len(), self.n_outputs());
        SparseNumbers { factors: Some(factors), ..self }
    }

    /// Returns the values themselves.
    pub(crate) fn numbers(&self) -> &SparseTargets<'a> {
        &self.y
    }

    pub(crate) fn n_outputs(&self) -> usize {
        self.y.n_outputs
    }

    /// Returns the entries of a sample in the form that the search of splits uses; some may be zero.
    #[inline]
    pub(crate) fn searched(&self, row: u32) -> impl Iterator<Item = (u32, f64)> + Clone + '_ {
        let factor = |output: u32| self.factors.as_ref().map_or(1.0, |factors| factors[output as usize]);
        self.y.entries(row).map(move |(output, value)| (output, value * factor(output)))
    }

    /// Returns the same targets as dense rows.
    pub(crate) fn rows(&self) -> Result<RealTargets<'static>> {
        let (values, _) = self.y.to_dense()?.into_raw_vec_and_offset();
        let rows = RealTargets::new(values, self.n_outputs())?;
        Ok(match &self.factors {
            Some(factors) => rows.times(PURPOSE.copied(factors)?),
            None => rows,
        })
    }

    /// Calls `visit(output, values with units)` for each output in turn, with the values of `rows`. O(entries +
    /// outputs).
    pub(crate) fn by_output(
        &self,
        rows: &[u32],
        units: impl Fn(u32) -> u64,
        mut visit: impl FnMut(&[(f64, u64)]) -> Result<()>,
    ) -> Result<()> {
        let mut ends = PURPOSE.filled(0usize, self.n_outputs() + 1)?;
        let outputs = || rows.iter().flat_map(|&row| self.y.of(row).0);
        outputs().for_each(|&output| ends[output as usize + 1] += 1);
        (1..ends.len()).for_each(|output| ends[output] += ends[output - 1]);
        let mut cells = PURPOSE.filled((0.0, 0u64), ends[self.n_outputs()])?;
        let starts = PURPOSE.collected(ends.iter().copied())?;
        for &row in rows {
            let units = units(row);
            for (output, value) in self.y.entries(row) {
                cells[ends[output as usize]] = (value, units);
                ends[output as usize] += 1;
            }
        }
        starts.windows(2).try_for_each(|range| visit(&cells[range[0]..range[1]]))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn entries(y: &SparseTargets<'_>) -> Vec<Vec<(u32, f64)>> {
        (0..y.n_samples() as u32).map(|row| y.entries(row).collect()).collect()
    }

    #[test]
    fn one_storage_for_the_same_numbers() {
        let x = array![[0f32], [1.0], [2.0]];
        let mut y = Array2::zeros((3, 16));
        (y[[0, 3]], y[[2, 1]], y[[2, 15]]) = (2.0, -1.0, 0.5);
        // A stored zero is not kept as an entry.
        let held =
            SparseTargets::try_new(vec![0, 2, 2, 4], vec![3u32, 4, 1, 15], vec![2.0, 0.0, -1.0, 0.5], 16).unwrap();
        let (dense, sparse) = (Dataset::new(&x, &y), Dataset::new(&x, held.view()));
        for data in [&dense, &sparse] {
            let restored = data.restored(true).unwrap().unwrap();
            let Restored::Sparse(entries_of) = &restored else { panic!("entries") };
            assert_eq!(entries(entries_of), [vec![(3, 2.0)], vec![], vec![(1, -1.0), (15, 0.5)]]);
            // Now it has the format in which it is fitted.
            assert!(data.with_restored(Some(&restored)).restored(true).unwrap().is_none());
        }
        assert!(dense.restored(false).unwrap().is_none());
        let Some(Restored::Dense(rows)) = sparse.restored(false).unwrap() else { panic!("rows") };
        assert_eq!(rows, y);
        // In the last sample, two of 16 values are non-zero. Weights count as repetitions of samples.
        for (weights, are_entries) in [([0.0, 0.0, 1.0], true), ([3.0, 0.0, 1.0], true), ([1.0, 1.0, 0.1], true)] {
            let data = sparse.view().sample_weight(&weights[..]);
            assert_eq!(matches!(data.restored(true).unwrap(), Some(Restored::Sparse(_))), are_entries);
        }
        y.row_mut(1).fill(1.0);
        for (weights, are_entries) in [([1.0, 1.0, 1.0], false), ([1.0, 0.0, 1.0], true), ([30.0, 1.0, 0.0], true)] {
            let data = Dataset::new(&x, &y).sample_weight(&weights[..]);
            assert_eq!(data.restored(true).unwrap().is_some(), are_entries);
        }
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        assert!(SparseTargets::try_new(vec![0, 1], vec![0u32], vec![1.0], 1).is_ok());
        assert!(SparseTargets::try_new(vec![0, 1], vec![0u32], vec![1.0, 2.0], 1).is_err());
        assert!(SparseTargets::try_new(vec![0, 1], vec![1u32], vec![1.0], 1).is_err());
        assert!(SparseTargets::try_new(vec![0, 2], vec![1u32, 1], vec![1.0, 2.0], 2).is_err());
    }
}
