//! Negative gradients to the targets of a tree: rows of R times Φᵀ, a row at a time, while the row is in the cache.

use super::vector::{Score, dot};
use crate::control::Control;
use crate::error::Result;
use crate::projection::ProjectionMatrix;

/// Φ by rows.
#[derive(Debug)]
pub(crate) enum Projector {
    /// The negative gradients themselves.
    Identity(usize),
    /// `rows[k * width..][..width]` is row k.
    Dense { rows: Vec<f64>, width: usize },
    /// Row k has the columns and values of `ptr[k]..ptr[k + 1]`.
    Sparse { ptr: Vec<usize>, columns: Vec<u32>, values: Vec<f64> },
}

impl Projector {
    pub(crate) fn new(matrix: &ProjectionMatrix, control: &Control) -> Result<Self> {
        Ok(if matrix.is_sparse() {
            let (ptr, columns, values) = matrix.to_csr(control)?;
            Projector::Sparse { ptr, columns, values }
        } else {
            let rows = matrix.to_dense(control)?.into_raw_vec_and_offset().0;
            Projector::Dense { rows, width: matrix.n_outputs() }
        })
    }

    /// Number of targets of a row.
    pub(crate) fn n_targets(&self) -> usize {
        match self {
            Projector::Identity(width) => *width,
            Projector::Dense { rows, width } => rows.len() / width,
            Projector::Sparse { ptr, .. } => ptr.len() - 1,
        }
    }

    /// Writes row `k` of Φ over zeros.
    pub(crate) fn write_row(&self, k: usize, out: &mut [f64]) {
        match self {
            Projector::Identity(_) => out[k] = 1.0,
            Projector::Dense { rows, width } => out.copy_from_slice(&rows[k * width..][..*width]),
            Projector::Sparse { ptr, columns, values } => {
                let entries = ptr[k]..ptr[k + 1];
                columns[entries.clone()].iter().zip(&values[entries]).for_each(|(&j, &v)| out[j as usize] = v);
            }
        }
    }

    /// Targets of a row whose negative gradients are `r`.
    #[inline(always)]
    pub(crate) fn project<T: Score>(&self, r: &[T], targets: &mut [f64]) {
        match self {
            Projector::Identity(_) => targets.iter_mut().zip(r).for_each(|(z, r)| *z = r.to_f64()),
            Projector::Dense { rows, width } => {
                for (z, phi) in targets.iter_mut().zip(rows.chunks_exact(*width)) {
                    *z = dot(r, phi);
                }
            }
            Projector::Sparse { ptr, columns, values } => {
                for (z, range) in targets.iter_mut().zip(ptr.windows(2)) {
                    let entries = columns[range[0]..range[1]].iter().zip(&values[range[0]..range[1]]);
                    *z = entries.map(|(&j, v)| r[j as usize].to_f64() * v).sum();
                }
            }
        }
    }
}
