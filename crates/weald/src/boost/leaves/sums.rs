//! Sums of negative gradients and curvatures by leaf, from which leaves and step sizes are computed.
//!
//! Every term is rounded to a grid on which all sums are exact (compare `criterion`), so that sums do not depend on the
//! order of the samples, and a sample of weight two is the same as two samples, unless weights are themselves rounded.

use std::slice;

use super::Fit;
use crate::boost::scores::held::{CHUNK_CELLS, Held};
use crate::boost::scores::one::{ColumnY, YMemory};
use crate::error::{Purpose, Result};
use crate::exact::WeightedGrids;
use crate::exact::reduce::Reduce;
use crate::loss::float::Float;
use crate::loss::rows::{LeafRows, RowSums};
use crate::loss::vector::vectorised;
use crate::pool;

/// Calls `visit` with the sums over the samples of each leaf, leaf by leaf. The sums are `n_sums` numbers, to which
/// `add` adds those of some samples.
fn sum_by_leaf<T: Float, S>(
    Fit { data, leaves, control, .. }: Fit<'_, T>,
    n_sums: usize,
    scratch: impl Fn() -> Result<S> + Sync,
    add: impl Fn(&mut S, &[u32], &mut [f64]) -> Result<()> + Sync,
    mut visit: impl FnMut(usize, &[f64]) -> Result<()>,
) -> Result<()> {
    // The sums of some samples are computed together; those of such chunks are added in their order.
    let n_rows = (CHUNK_CELLS / data.width).clamp(64, 1 << 13);
    let mut chunks: Vec<(usize, &[u32])> = Vec::new();
    for leaf in 0..leaves.len() {
        let rows = leaves.rows(leaf);
        if rows.is_empty() {
            // Other workers may have samples of this leaf.
            SUMS.push(&mut chunks, (leaf, rows))?;
        }
        rows.chunks(n_rows).try_for_each(|rows| SUMS.push(&mut chunks, (leaf, rows)))?;
    }
    // A few chunks are processed at a time: only their sums are in memory.
    let at_once = 4 * control.n_threads();
    let mut sums = SUMS.filled(0.0, at_once.min(chunks.len()) * n_sums)?;
    let mut of_leaf = SUMS.filled(0.0, n_sums)?;
    let next_leaf = |chunk: usize| chunks.get(chunk + 1).map(|(leaf, _)| *leaf);
    for (batch, chunks) in chunks.chunks(at_once).enumerate() {
        let jobs = chunks.iter().zip(sums.chunks_exact_mut(n_sums));
        pool::for_each(control.n_threads(), jobs, &scratch, |scratch, (&(_, rows), sums)| {
            control.check()?;
            sums.fill(0.0);
            add(scratch, rows, sums)
        })?;
        for (i, (&(leaf, _), sums)) in chunks.iter().zip(sums.chunks_exact(n_sums)).enumerate() {
            of_leaf.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
            if next_leaf(batch * at_once + i) != Some(leaf) {
                data.weights.workers().sum(&mut of_leaf)?;
                visit(leaf, &of_leaf)?;
                of_leaf.fill(0.0);
            }
        }
    }
    Ok(())
}

const SUMS: Purpose = Purpose("sums of gradients");

/// Calls `visit` with Σ w r of each leaf, in order.
pub(crate) fn leaf_sums<T: Float>(fit: Fit<'_, T>, held: &Held<T>, mut visit: impl FnMut(usize, &[f64])) -> Result<()> {
    let (Fit { data, leaves, .. }, Held { scores, bounds }) = (fit, held);
    let width = data.width;
    let grids = WeightedGrids::for_sums(bounds.iter().map(|bound| bound.to_f64()), leaves.total)?;
    let blocks = data.of_row.in_blocks();
    if let (Some(y), None) = (ColumnY::of(data), blocks) {
        return leaf_sums_of_one(fit, scores, y, &grids, visit);
    }
    let scratch = || SUMS.filled(T::from_f64(0.0), width);
    let add = |r: &mut Vec<T>, rows: &[u32], sums: &mut [f64]| {
        if let Some(blocks) = blocks {
            let of_rows = rows.iter().flat_map(|&row| &scores[row as usize * width..][..width]);
            let mut block = SUMS.with_capacity(rows.len() * width)?;
            block.extend(of_rows.copied());
            let mut gradients = SUMS.filled(T::from_f64(0.0), block.len())?;
            let mut losses = SUMS.filled(0.0, rows.len())?;
            let y = |i: usize| data.row(rows[i] as usize);
            blocks.block(y, &block, width, &mut losses, Some(&mut gradients))?;
            for (&row, r) in rows.iter().zip(gradients.chunks_exact(width)) {
                grids.add(data.weights.units(row as usize) as f64, r, sums);
            }
            return Ok(());
        }
        for &row in rows {
            let row = row as usize;
            data.of_row.negative_gradients(data.row(row), &scores[row * width..][..width], r);
            vectorised(
                #[inline(always)]
                || grids.add(data.weights.units(row) as f64, r, sums),
            );
        }
        Ok(())
    };
    sum_by_leaf(fit, width, scratch, add, |leaf, sums| {
        visit(leaf, sums);
        Ok(())
    })
}

/// The columns of some samples.
#[derive(Debug, Default)]
struct ColumnMemory<T> {
    scores: Vec<T>,
    gradients: Vec<T>,
    losses: Vec<f64>,
    y: YMemory,
}

impl<T: Float> ColumnMemory<T> {
    /// Makes room for the negative gradients and the losses of this number of samples.
    fn make_room(&mut self, n: usize) -> Result<()> {
        self.gradients.clear();
        self.losses.clear();
        SUMS.grow(&mut self.gradients, n)?;
        SUMS.grow(&mut self.losses, n)?;
        self.gradients.resize(n, T::from_f64(0.0));
        self.losses.resize(n, 0.0);
        Ok(())
    }
}

/// Like [`leaf_sums`], for samples with one score each.
fn leaf_sums_of_one<T: Float>(
    fit: Fit<'_, T>,
    scores: &[T],
    y: ColumnY<'_>,
    grids: &WeightedGrids<T>,
    mut visit: impl FnMut(usize, &[f64]),
) -> Result<()> {
    let data = fit.data;
    let add = |memory: &mut ColumnMemory<T>, rows: &[u32], sums: &mut [f64]| {
        memory.make_room(rows.len())?;
        let ColumnMemory { scores: of_rows, gradients, losses, y: of_y } = memory;
        of_rows.clear();
        SUMS.extend(of_rows, rows.iter().map(|&row| scores[row as usize]))?;
        data.of_row.column(y.of_rows(rows, of_y)?, of_rows, gradients, losses);
        for (&row, gradient) in rows.iter().zip(&*gradients) {
            grids.add(data.weights.units(row as usize) as f64, slice::from_ref(gradient), sums);
        }
        Ok(())
    };
    let scratch = || Ok(ColumnMemory::default());
    sum_by_leaf(fit, 1, scratch, add, |leaf, sums| {
        visit(leaf, sums);
        Ok(())
    })
}

/// Calls `visit`, leaf by leaf, with Σ w r, Σ w h and the weight of the cells that are on, each for all columns one
/// after the other.
pub(crate) fn leaf_derivatives<T: Float>(
    fit: Fit<'_, T>,
    scores: &[T],
    sums_of: &dyn RowSums<T>,
    visit: impl FnMut(usize, &[f64]) -> Result<()>,
) -> Result<()> {
    let Fit { data, leaves, .. } = fit;
    let width = data.width;
    let units = data.weights.of_rows_in(0..data.n_samples);
    let add = |_: &mut (), ids: &[u32], sums: &mut [f64]| {
        let (gradients, sums) = sums.split_at_mut(width);
        let (curvatures, on) = sums.split_at_mut(width);
        let rows = LeafRows { ids, y: &data.y, scores, width, units, total: leaves.total };
        sums_of.add(&rows, gradients, curvatures)?;
        ids.iter().for_each(|&row| rows.y(row).each_on(|j| on[j] += rows.units(row) as f64));
        Ok(())
    };
    sum_by_leaf(fit, 3 * width, || Ok(()), add, visit)
}
