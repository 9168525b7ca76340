//! Dense X during growth: one contiguous slice for each feature.

use std::borrow::Cow;

use ndarray::ArrayView2;

use super::FeatureSubset;
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::pool;

/// Column-major float32 values. They are borrowed if the caller's array is Fortran-contiguous, and copied once
/// otherwise.
#[derive(Debug)]
pub(crate) struct DenseColumns<'a> {
    values: Cow<'a, [f32]>,
    n_samples: usize,
    n_features: usize,
    /// The features of X that the columns contain.
    features: FeatureSubset,
}

/// Number of samples in a tile of the transposing copy: the samples of a tile stay in the cache while its columns are
/// written.
const TILE: usize = 64;

/// The minimum number of columns that a thread copies, so that few threads read the same line of the cache.
const LEAST_COLUMNS: usize = if cfg!(test) { 1 } else { 16 };

impl<'a> DenseColumns<'a> {
    /// Each thread of `control` copies some of the columns.
    pub(crate) fn new(x: ArrayView2<'a, f32>, control: &Control) -> Result<Self> {
        let (n_samples, n_features) = x.dim();
        let columns = x.reversed_axes();
        let values = match columns.to_slice() {
            Some(slice) => Cow::Borrowed(slice),
            None => {
                let purpose = Purpose("the column-major copy of X");
                let mut values = control.filled(purpose, 0.0, n_samples * n_features)?;
                let (n_blocks, at_once) = pool::blocks(control.n_threads(), n_features, LEAST_COLUMNS);
                pool::for_each(
                    n_blocks,
                    values.chunks_mut((at_once * n_samples).max(1)).enumerate(),
                    || Ok(()),
                    |(), (block, values)| {
                        for start in (0..n_samples).step_by(TILE) {
                            let end = (start + TILE).min(n_samples);
                            for (j, out) in (block * at_once..).zip(values.chunks_exact_mut(n_samples)) {
                                let column = columns.row(j);
                                for (out, i) in out[start..end].iter_mut().zip(start..end) {
                                    *out = column[i];
                                }
                            }
                        }
                        control.check()
                    },
                )?;
                Cow::Owned(values)
            }
        };
        Ok(DenseColumns { values, n_samples, n_features, features: FeatureSubset::default() })
    }

    pub(crate) fn n_samples(&self) -> usize {
        self.n_samples
    }

    pub(crate) fn n_features(&self) -> usize {
        self.n_features
    }

    /// Returns a subset of the features, renumbered from 0. Their values are borrowed.
    pub(crate) fn narrowed(&self, features: &[u32]) -> Result<DenseColumns<'_>> {
        Ok(DenseColumns {
            values: Cow::Borrowed(&self.values),
            n_samples: self.n_samples,
            n_features: features.len(),
            features: self.features.narrowed(features)?,
        })
    }

    /// The number of a feature among those that the columns were made with.
    pub(crate) fn place(&self, feature: u32) -> u32 {
        self.features.in_x(feature)
    }

    pub(crate) fn column(&self, feature: u32) -> &[f32] {
        let start = self.place(feature) as usize * self.n_samples;
        &self.values[start..start + self.n_samples]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Matrix;
    use crate::testing::models;

    #[test]
    fn columns_are_the_same_in_every_layout() {
        for (n, p) in [(0, 3), (1, 1), (63, 5), (64, 2), (200, 7)] {
            let rows = models::rows(1, n, p);
            for x in rows.layouts() {
                let Matrix::Dense(x) = x else { continue };
                let columns = DenseColumns::new(x, &Control::default()).unwrap();
                assert_eq!((columns.n_samples(), columns.n_features()), (n, p));
                for j in 0..p {
                    assert_eq!(columns.column(j as u32), rows.c_order.column(j).to_vec());
                }
            }
        }
    }

    #[test]
    fn fortran_order_is_borrowed() {
        let rows = models::rows(1, 9, 4);
        let t = rows.c_order.t();
        let columns = DenseColumns::new(t, &Control::default()).unwrap();
        assert!(matches!(columns.values, Cow::Borrowed(_)));
        assert!(matches!(DenseColumns::new(rows.c_order.view(), &Control::default()).unwrap().values, Cow::Owned(_)));
    }
}
