//! Computes the targets of a tree from negative gradients: rows of R times Φᵀ, a few at a time, while they are in the
//! cache.

use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::loss::kernels::float::Float;
use crate::loss::kernels::vector::{Eight, LANES, products};
use crate::projection::ProjectionMatrix;

/// The matrix Φ, by rows.
#[derive(Debug)]
pub(crate) enum Projector {
    /// The identity: the targets are the negative gradients themselves.
    Identity(usize),
    /// A diagonal matrix: each negative gradient is multiplied by a factor.
    Diagonal(Vec<f64>),
    /// A dense matrix. The last eight values of each row are filled up with zeros.
    Dense { eights: Vec<Eight>, width: usize },
    /// A sparse matrix. Row k has the columns and values of `ptr[k]..ptr[k + 1]`.
    Sparse { ptr: Vec<usize>, columns: Vec<u32>, values: Vec<f64> },
}

impl Projector {
    pub(crate) fn new(matrix: &ProjectionMatrix, control: &Control) -> Result<Self> {
        Ok(if matrix.is_sparse() {
            let (ptr, columns, values) = matrix.to_csr(control)?;
            Projector::Sparse { ptr, columns, values }
        } else {
            let rows = matrix.to_dense(control)?;
            let rows = rows.as_slice().expect("rows one after the other");
            Projector::dense(rows, matrix.n_outputs())?
        })
    }

    /// Returns a projection to one target, for passes of which only by-products are used.
    pub(super) fn narrowest(width: usize) -> Result<Self> {
        const PURPOSE: Purpose = Purpose("a projection");
        if width == 1 {
            return Ok(Projector::Identity(1));
        }
        let (ptr, columns, values) = (PURPOSE.filled(0, 2)?, Vec::new(), Vec::new());
        Ok(Projector::Sparse { ptr, columns, values })
    }

    /// Builds a dense matrix from its rows, one after the other.
    pub(super) fn dense(rows: &[f64], width: usize) -> Result<Self> {
        let mut eights = Purpose("a projection").with_capacity(rows.len() / width * width.div_ceil(LANES))?;
        let cells = |cells: &[f64]| Eight(std::array::from_fn(|lane| cells.get(lane).copied().unwrap_or_default()));
        eights.extend(rows.chunks_exact(width).flat_map(|row| row.chunks(LANES)).map(cells));
        Ok(Projector::Dense { eights, width })
    }

    /// Returns the same projection of negative gradients that are first multiplied by the factors of their outputs.
    pub(super) fn of_multiplied(self, factors: &[f64]) -> Result<Self> {
        Ok(match self {
            Projector::Identity(_) => Projector::Diagonal(Purpose("a projection").copied(factors)?),
            Projector::Diagonal(mut diagonal) => {
                diagonal.iter_mut().zip(factors).for_each(|(cell, factor)| *cell *= factor);
                Projector::Diagonal(diagonal)
            }
            Projector::Dense { mut eights, width } => {
                for row in eights.chunks_exact_mut(width.div_ceil(LANES)) {
                    let cells = row.iter_mut().flat_map(|eight| &mut eight.0);
                    cells.zip(factors).for_each(|(cell, factor)| *cell *= factor);
                }
                Projector::Dense { eights, width }
            }
            Projector::Sparse { ptr, columns, mut values } => {
                values.iter_mut().zip(&columns).for_each(|(value, &j)| *value *= factors[j as usize]);
                Projector::Sparse { ptr, columns, values }
            }
        })
    }

    /// Returns the number of targets of a sample.
    pub(crate) fn n_targets(&self) -> usize {
        match self {
            Projector::Identity(width) => *width,
            Projector::Diagonal(factors) => factors.len(),
            Projector::Dense { eights, width } => eights.len() / width.div_ceil(LANES),
            Projector::Sparse { ptr, .. } => ptr.len() - 1,
        }
    }

    /// Writes row `k` of Φ to `out`, which must be zero.
    pub(crate) fn write_row(&self, k: usize, out: &mut [f64]) {
        match self {
            Projector::Identity(_) => out[k] = 1.0,
            Projector::Diagonal(factors) => out[k] = factors[k],
            Projector::Dense { eights, width } => {
                let row = &eights[k * width.div_ceil(LANES)..];
                out.chunks_mut(LANES).zip(row).for_each(|(out, eight)| out.copy_from_slice(&eight.0[..out.len()]));
            }
            Projector::Sparse { ptr, columns, values } => {
                let entries = ptr[k]..ptr[k + 1];
                columns[entries.clone()].iter().zip(&values[entries]).for_each(|(&j, &v)| out[j as usize] = v);
            }
        }
    }

    /// Computes the targets of some samples, at most [`crate::loss::kernels::vector::TILE_ROWS`], each with `width` negative
    /// gradients.
    #[inline(always)]
    pub(crate) fn project<T: Float>(&self, r: &[T], width: usize, targets: &mut [f64]) {
        match self {
            Projector::Identity(_) => targets.iter_mut().zip(r).for_each(|(z, r)| *z = r.to_f64()),
            Projector::Diagonal(factors) => {
                let rows = targets.chunks_exact_mut(width).zip(r.chunks_exact(width));
                let cells = rows.flat_map(|(z, r)| z.iter_mut().zip(r).zip(factors));
                cells.for_each(|((z, r), factor)| *z = r.to_f64() * factor);
            }
            Projector::Dense { eights, .. } => products(r, width, eights, targets),
            Projector::Sparse { ptr, columns, values } => {
                for (r, targets) in r.chunks_exact(width).zip(targets.chunks_exact_mut(ptr.len() - 1)) {
                    for (z, range) in targets.iter_mut().zip(ptr.windows(2)) {
                        let entries = columns[range[0]..range[1]].iter().zip(&values[range[0]..range[1]]);
                        *z = entries.map(|(&j, v)| r[j as usize].to_f64() * v).sum();
                    }
                }
            }
        }
    }
}
