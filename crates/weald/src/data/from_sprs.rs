//! X and labels from the matrices of the crate `sprs`.
//!
//! Indices of type `u32` and values are borrowed; those of type `usize`, which is the default of `sprs`, are copied, as
//! are the offsets of a slice of a matrix.

use std::borrow::Cow;

use sprs::{CsMatView, CsMatViewI};

use super::{LabelView, Matrix};
use crate::error::{Error, ErrorKind, Purpose, Result};

const PURPOSE: Purpose = Purpose("the indices of a sparse matrix");

impl<'a> TryFrom<CsMatViewI<'a, f32, u32, usize>> for Matrix<'a> {
    type Error = Error;

    /// Views a CSR or CSC matrix as X.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] for the offsets of a slice of a matrix.
    fn try_from(x: CsMatViewI<'a, f32, u32, usize>) -> Result<Self> {
        let (is_csr, n_minor) = (x.is_csr(), x.inner_dims());
        let (ptr, indices, values) = x.into_raw_storage();
        of_arrays(is_csr, from_zero(ptr)?, Cow::Borrowed(indices), values, n_minor)
    }
}

impl<'a> TryFrom<CsMatView<'a, f32>> for Matrix<'a> {
    type Error = Error;

    /// Views a CSR or CSC matrix as X, with a copy of its indices.
    ///
    /// # Errors
    /// [`ErrorKind::TooMany`] for indices above 2³² − 1; [`ErrorKind::OutOfMemory`].
    fn try_from(x: CsMatView<'a, f32>) -> Result<Self> {
        let (is_csr, n_minor) = (x.is_csr(), x.inner_dims());
        let (ptr, indices, values) = x.into_raw_storage();
        of_arrays(is_csr, from_zero(ptr)?, narrow(indices, n_minor)?.into(), values, n_minor)
    }
}

impl<'a, N> TryFrom<CsMatViewI<'a, N, u32, usize>> for LabelView<'a> {
    type Error = Error;

    /// Views the stored entries of a CSR matrix, a row for each sample, as labels, whatever their values.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a CSC matrix; [`ErrorKind::OutOfMemory`] for the offsets of a slice of a matrix.
    fn try_from(y: CsMatViewI<'a, N, u32, usize>) -> Result<Self> {
        if !y.is_csr() {
            return Err(Error::invalid("y", "a matrix of columns", "be a matrix of rows: see `to_csr`"));
        }
        let n_labels = y.cols();
        let (ptr, labels, _) = y.into_raw_storage();
        LabelView::try_new(from_zero(ptr)?, labels, n_labels)
    }
}

fn of_arrays<'a>(
    is_csr: bool,
    ptr: Cow<'a, [usize]>,
    indices: Cow<'a, [u32]>,
    values: &'a [f32],
    n_minor: usize,
) -> Result<Matrix<'a>> {
    if is_csr { Matrix::csr(ptr, indices, values, n_minor) } else { Matrix::csc(ptr, indices, values, n_minor) }
}

/// Returns the offsets from the first one, which is not zero in a slice of a matrix.
fn from_zero(ptr: &[usize]) -> Result<Cow<'_, [usize]>> {
    match ptr.first() {
        Some(&first) if first > 0 => Ok(PURPOSE.collected(ptr.iter().map(|end| end - first))?.into()),
        _ => Ok(ptr.into()),
    }
}

fn narrow(indices: &[usize], n_minor: usize) -> Result<Vec<u32>> {
    let limit = u32::MAX as usize;
    if n_minor > limit {
        return Err(ErrorKind::TooMany { what: "indices", limit }.into());
    }
    PURPOSE.collected(indices.iter().map(|&index| index as u32))
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use sprs::{CsMatI, TriMat};

    use super::*;
    use crate::{Criterion, ForestConfig, Targets};

    fn dense() -> Array2<f32> {
        array![[0.0, 1.5, 0.0, -2.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 4.0, 0.0], [0.0, 7.0, 0.0, 1.0]]
    }

    fn triplets(x: &Array2<f32>) -> TriMat<f32> {
        let mut found = TriMat::new(x.dim());
        x.indexed_iter().filter(|(_, v)| **v != 0.0).for_each(|((i, j), &v)| found.add_triplet(i, j, v));
        found
    }

    #[test]
    fn matrices_of_both_orders_and_widths_fit_the_forest_of_dense_x() {
        let x = dense();
        let y = array![[0.0], [1.0], [2.0], [4.0]];
        let (csr, csc) = (triplets(&x).to_csr::<usize>(), triplets(&x).to_csc::<usize>());
        let narrow: CsMatI<f32, u32, usize> = csr.to_other_types();
        let narrow_csc: CsMatI<f32, u32, usize> = csc.to_other_types();
        let config = ForestConfig::extra_trees(Criterion::Variance).n_trees(3);
        let expected = config.fit((&x, &y)).unwrap();
        let views = [
            Matrix::try_from(csr.view()).unwrap(),
            Matrix::try_from(csc.view()).unwrap(),
            Matrix::try_from(narrow.view()).unwrap(),
            Matrix::try_from(narrow_csc.view()).unwrap(),
        ];
        for view in views {
            assert_eq!(config.fit((view, &y)).unwrap(), expected);
        }
    }

    #[test]
    fn slices_begin_at_their_own_offset() {
        let narrow: CsMatI<f32, u32, usize> = triplets(&dense()).to_csr::<usize>().to_other_types();
        let Matrix::Csr(rows) = Matrix::try_from(narrow.slice_outer(2..4)).unwrap() else { panic!("rows") };
        assert_eq!(
            (rows.ptr(), rows.indices(), rows.values()),
            (&[0, 2, 4][..], &[0, 2, 1, 3][..], &[3.0, 4.0, 7.0, 1.0][..])
        );
    }

    #[test]
    fn stored_entries_of_rows_are_labels() {
        let narrow: CsMatI<f32, u32, usize> = triplets(&dense()).to_csr::<usize>().to_other_types();
        let labels = LabelView::try_from(narrow.view()).unwrap();
        assert_eq!((labels.n_samples(), labels.n_labels(), labels.indices()), (4, 4, &[1, 3, 0, 2, 1, 3][..]));
        let _: Targets<'_> = labels.into();
        let columns = narrow.to_csc();
        assert!(LabelView::try_from(columns.view()).unwrap_err().to_string().starts_with("y must be a matrix of rows"));
    }
}
