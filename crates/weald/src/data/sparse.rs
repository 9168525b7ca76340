//! Sparse X: a validated view in CSR or CSC format, and the form that growth uses.

use std::borrow::Cow;

use crate::control::{Control, STEPS};
use crate::error::{Error, ErrorKind, Purpose, Result};

/// A compressed sparse matrix in CSR or CSC format: the slices `ptr[i]..ptr[i + 1]` of `indices` and `values` contain
/// the entries of major index `i` (a row of CSR, a column of CSC). Indices are strictly increasing within a slice.
/// Values are not checked here, and may be infinite or NaN; explicit zeros are allowed and are treated as zeros.
#[derive(Clone, Debug)]
pub struct SparseView<'a> {
    ptr: Cow<'a, [usize]>,
    indices: Cow<'a, [u32]>,
    values: Cow<'a, [f32]>,
    n_minor: usize,
}

impl<'a> SparseView<'a> {
    /// Returns a view of the three arrays, after checking them against each other and against `n_minor` (the number of
    /// columns of CSR, of rows of CSC).
    ///
    /// # Errors
    /// [`ErrorKind::SparseFormat`] if the offsets do not start at 0, decrease, or do not end at the number of stored
    /// entries, or if the indices are not strictly increasing within a slice or not below `n_minor`.
    /// [`ErrorKind::Shape`] if `values` and `indices` differ in length.
    pub fn try_new(
        ptr: impl Into<Cow<'a, [usize]>>,
        indices: impl Into<Cow<'a, [u32]>>,
        values: impl Into<Cow<'a, [f32]>>,
        n_minor: usize,
    ) -> Result<Self> {
        let (ptr, indices, values) = (ptr.into(), indices.into(), values.into());
        check_pattern("X", &ptr, &indices, n_minor)?;
        if values.len() != indices.len() {
            return Err(Error::shape("values of X", indices.len(), values.len()));
        }
        Ok(SparseView { ptr, indices, values, n_minor })
    }

    /// Returns a view of the same matrix.
    pub(crate) fn view(&self) -> SparseView<'_> {
        let (ptr, indices, values) = (&self.ptr[..], &self.indices[..], &self.values[..]);
        SparseView { ptr: ptr.into(), indices: indices.into(), values: values.into(), n_minor: self.n_minor }
    }

    /// Returns the number of slices: rows of CSR, columns of CSC.
    pub fn n_major(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Returns the upper bound of the indices: the number of columns of CSR, of rows of CSC.
    pub fn n_minor(&self) -> usize {
        self.n_minor
    }

    /// Returns the stored values, one slice after another.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Returns the indices and values that are stored for `major`.
    #[inline]
    pub fn slice(&self, major: usize) -> (&[u32], &[f32]) {
        let range = self.ptr[major]..self.ptr[major + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    /// Returns the offsets of the slices, of length `n_major() + 1`.
    pub fn ptr(&self) -> &[usize] {
        &self.ptr
    }

    /// Returns the stored indices, one slice after another.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Returns a copy of some slices, one after another.
    pub(crate) fn narrowed(&self, majors: &[u32], control: &Control) -> Result<SparseView<'static>> {
        const PURPOSE: Purpose = Purpose("some columns of X");
        let slices = || majors.iter().map(|&major| self.slice(major as usize));
        let stored = slices().map(|(indices, _)| indices.len()).sum();
        let mut ptr = PURPOSE.with_capacity(majors.len() + 1)?;
        let mut indices: Vec<u32> = PURPOSE.with_capacity(stored)?;
        let mut values = PURPOSE.with_capacity(stored)?;
        let mut pulse = control.pulse();
        ptr.push(0);
        for (of_slice, stored) in slices() {
            pulse.after(of_slice.len())?;
            indices.extend_from_slice(of_slice);
            values.extend_from_slice(stored);
            ptr.push(indices.len());
        }
        Ok(SparseView { ptr: ptr.into(), indices: indices.into(), values: values.into(), n_minor: self.n_minor })
    }

    /// Returns the same matrix in the other format, CSC for CSR and vice versa. It is one counting sort, O(stored
    /// entries + n_major + n_minor).
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn transposed(&self) -> Result<SparseView<'static>> {
        self.try_transposed(&Control::default())
    }

    /// Like [`SparseView::transposed`], but can be interrupted.
    pub(crate) fn try_transposed(&self, control: &Control) -> Result<SparseView<'static>> {
        let nnz = self.indices.len();
        let mut ptr = Purpose("the transposed X").filled(0usize, self.n_minor + 1)?;
        for indices in self.indices.chunks(STEPS) {
            control.check()?;
            for &i in indices {
                ptr[i as usize + 1] += 1;
            }
        }
        for i in 0..self.n_minor {
            ptr[i + 1] += ptr[i];
        }
        let mut indices = control.filled(Purpose("the transposed X"), 0u32, nnz)?;
        let mut values = control.filled(Purpose("the transposed X"), 0f32, nnz)?;
        let mut pulse = control.pulse();
        for major in 0..self.n_major() {
            let (minor, slice) = self.slice(major);
            for (minor, slice) in minor.chunks(STEPS).zip(slice.chunks(STEPS)) {
                pulse.after(minor.len())?;
                for (&i, &v) in minor.iter().zip(slice) {
                    // ptr[i] is the next free position of slice i; at the end, it is the end of slice i.
                    let at = ptr[i as usize];
                    indices[at] = major as u32;
                    values[at] = v;
                    ptr[i as usize] += 1;
                }
            }
        }
        ptr.rotate_right(1);
        ptr[0] = 0;
        Ok(SparseView { ptr: ptr.into(), indices: indices.into(), values: values.into(), n_minor: self.n_major() })
    }
}

/// Validates the index structure of a compressed sparse matrix named `what`.
pub(crate) fn check_pattern(what: &'static str, ptr: &[usize], indices: &[u32], n_minor: usize) -> Result<()> {
    check_offsets(what, ptr, indices.len())?;
    let broken = |rule| Err(ErrorKind::SparseFormat { what, rule }.into());
    for w in ptr.windows(2) {
        let slice = &indices[w[0]..w[1]];
        if slice.windows(2).any(|w| w[0] >= w[1]) {
            return broken("indices rise strictly inside each row or column (sorted, no duplicates)");
        }
        if slice.last().is_some_and(|&i| i as usize >= n_minor) {
            return broken("indices are below the number of columns or rows");
        }
    }
    Ok(())
}

/// Validates the offsets of a compressed sparse matrix named `what` with `n_stored` entries.
pub(crate) fn check_offsets(what: &'static str, ptr: &[usize], n_stored: usize) -> Result<()> {
    let broken = |rule| Err(ErrorKind::SparseFormat { what, rule }.into());
    if ptr.first() != Some(&0) {
        return broken("the offsets start with 0");
    }
    if ptr.last() != Some(&n_stored) {
        return broken("the offsets end with the number of stored entries");
    }
    if ptr.windows(2).any(|w| w[0] > w[1]) {
        return broken("the offsets never fall");
    }
    Ok(())
}

/// Sparse X during growth: by column, and by row for partitioners that read the rows of a node.
#[derive(Debug)]
pub(crate) struct SparseColumns<'a> {
    pub(crate) by_column: SparseView<'a>,
    pub(crate) by_row: SparseView<'a>,
}

impl<'a> SparseColumns<'a> {
    pub(crate) fn of(by_column: SparseView<'a>, control: &Control) -> Result<Self> {
        Ok(SparseColumns { by_row: by_column.try_transposed(control)?, by_column })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::models;

    fn rule(ptr: Vec<usize>, indices: Vec<u32>) -> Result<(), ErrorKind> {
        let values = vec![1.0; indices.len()];
        SparseView::try_new(ptr, indices, values, 3).map(|_| ()).map_err(|e| e.kind().clone())
    }

    #[test]
    fn arrays_that_contradict_each_other_are_refused() {
        assert_eq!(rule(vec![0], vec![]), Ok(()));
        assert_eq!(rule(vec![0, 0, 2], vec![0, 2]), Ok(()));
        for (ptr, indices, part) in [
            (vec![], vec![], "start with 0"),
            (vec![1, 1], vec![0], "start with 0"),
            (vec![0, 1], vec![0, 1], "end with"),
            (vec![0, 3], vec![0, 1], "end with"),
            (vec![0, 2, 1, 2], vec![0, 1], "never fall"),
            (vec![0, 2], vec![1, 0], "rise strictly"),
            (vec![0, 2], vec![1, 1], "rise strictly"),
            (vec![0, 1], vec![3], "below"),
        ] {
            match rule(ptr.clone(), indices) {
                Err(ErrorKind::SparseFormat { what: "X", rule }) => assert!(rule.contains(part), "{rule}, {part}"),
                other => panic!("{ptr:?} gives {other:?}"),
            }
        }
        let error = SparseView::try_new(vec![0, 1], vec![0], vec![], 3).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Shape { what: "values of X", expected: 1, got: 0 });
    }

    #[test]
    fn transposing_moves_every_entry_and_twice_is_nothing() {
        for (seed, (n, p)) in (0..).zip([(0, 0), (0, 4), (4, 0), (1, 1), (13, 7), (5, 90)]) {
            for x in models::rows(seed, n, p).layouts() {
                let crate::Matrix::Csr(x) = x else { continue };
                let t = x.transposed().unwrap();
                assert_eq!((t.n_major(), t.n_minor()), (p, n));
                let entries = |x: &SparseView<'_>, flip: bool| {
                    let mut entries = Vec::new();
                    for major in 0..x.n_major() {
                        let (indices, values) = x.slice(major);
                        for (&minor, v) in indices.iter().zip(values) {
                            let (i, j) = if flip { (minor, major as u32) } else { (major as u32, minor) };
                            entries.push((i, j, v.to_bits()));
                        }
                    }
                    entries.sort_unstable();
                    entries
                };
                assert_eq!(entries(&x, false), entries(&t, true));
                // The transposed matrix is valid, and transposing it again gives the original arrays.
                SparseView::try_new(t.ptr().to_vec(), t.indices().to_vec(), t.values().to_vec(), n).unwrap();
                let back = t.transposed().unwrap();
                assert_eq!((back.ptr(), back.indices(), back.values()), (x.ptr(), x.indices(), x.values()));
            }
        }
    }
}
