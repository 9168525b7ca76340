//! Dense X during growth: one contiguous slice for each feature.

use std::borrow::Cow;

use ndarray::ArrayView2;

use super::FeatureSubset;
use crate::error::{Purpose, Result};

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

impl<'a> DenseColumns<'a> {
    pub(crate) fn new(x: ArrayView2<'a, f32>) -> Result<Self> {
        let (n_samples, n_features) = x.dim();
        let columns = x.reversed_axes();
        let values = match columns.to_slice() {
            Some(slice) => Cow::Borrowed(slice),
            None => {
                let mut values = Purpose("the column-major copy of X").with_capacity(n_samples * n_features)?;
                values.resize(n_samples * n_features, 0.0);
                for start in (0..n_samples).step_by(TILE) {
                    let end = (start + TILE).min(n_samples);
                    for (j, column) in columns.rows().into_iter().enumerate() {
                        let out = &mut values[j * n_samples + start..j * n_samples + end];
                        for (out, i) in out.iter_mut().zip(start..end) {
                            *out = column[i];
                        }
                    }
                }
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
                let columns = DenseColumns::new(x).unwrap();
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
        let columns = DenseColumns::new(t).unwrap();
        assert!(matches!(columns.values, Cow::Borrowed(_)));
        assert!(matches!(DenseColumns::new(rows.c_order.view()).unwrap().values, Cow::Owned(_)));
    }
}
