//! Sums of negative gradients and curvatures by leaf, from which leaves and step sizes are computed.
//!
//! Every term is rounded to a grid on which all sums are exact (compare `criterion`), so that sums do not depend on the
//! order of the samples, and a sample of weight two is the same as two samples, unless weights are themselves rounded.

use std::iter;

use super::Fit;
use crate::boost::scores::held::{CHUNK_CELLS, Held};
use crate::boost::scores::one::{ColumnY, YMemory};
use crate::error::{Purpose, Result};
use crate::exact::reduce::Reduce;
use crate::exact::{WeightedGrid, WeightedGrids};
use crate::loss::kernels::float::Float;
use crate::loss::kernels::vector::{LANES, vectorised};
use crate::loss::rows::{LeafRows, RowSums};
use crate::pool;

/// Calls `visit` with consecutive leaves and the sums over the samples of each, until all leaves have been visited. The
/// sums are `n_sums` numbers, to which `add` adds those of some samples.
fn sum_by_leaf<T: Float, S>(
    Fit { data, leaves, control, .. }: Fit<'_, T>,
    n_sums: usize,
    scratch: impl Fn() -> Result<S> + Sync,
    add: impl Fn(&mut S, &[u32], &mut [f64]) -> Result<()> + Sync,
    mut visit: impl FnMut(&[(usize, &[f64])]) -> Result<()>,
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
    // Some chunks are processed at a time: only their sums are in memory.
    let (n_threads, workers) = (control.n_threads(), data.weights.workers());
    let at_once = (AT_ONCE / n_sums).max(4 * n_threads).min(chunks.len());
    let mut sums = SUMS.filled(0.0, at_once * n_sums)?;
    // The sums of the first samples of a leaf of which the others are still to come.
    let mut begun = SUMS.filled(0.0, n_sums)?;
    let mut rest = &chunks[..];
    while !rest.is_empty() {
        let (chunks, others) = rest.split_at(at_once.min(rest.len()));
        rest = others;
        let sums = &mut sums[..chunks.len() * n_sums];
        let jobs = chunks.iter().zip(sums.chunks_exact_mut(n_sums));
        pool::for_each(n_threads, jobs, &scratch, |scratch, (&(_, rows), sums)| {
            control.check()?;
            sums.fill(0.0);
            add(scratch, rows, sums)
        })?;
        sums.iter_mut().zip(&begun).for_each(|(sum, begun)| *sum += begun);
        begun.fill(0.0);
        let mut found = SUMS.with_capacity(chunks.len())?;
        let mut sums = sums.chunks_exact_mut(n_sums);
        for chunks in chunks.chunk_by(|a, b| a.0 == b.0) {
            let leaf = chunks[0].0;
            let Some(of_leaf) = sums.next() else { continue };
            for sums in sums.by_ref().take(chunks.len() - 1) {
                of_leaf.iter_mut().zip(sums).for_each(|(total, sum)| *total += *sum);
            }
            if rest.first().is_some_and(|next| next.0 == leaf) {
                begun.copy_from_slice(of_leaf);
            } else {
                workers.sum(of_leaf)?;
                found.push((leaf, &*of_leaf));
            }
        }
        visit(&found)?;
    }
    Ok(())
}

/// The number of sums that are in memory at once, unless each thread needs more. Tests have few samples.
const AT_ONCE: usize = if cfg!(test) { 1 } else { 1 << 18 };

/// Like [`sum_by_leaf`], but calls `visit` for each leaf with its row of `table`, on any thread.
fn rows_by_leaf<T: Float, S>(
    fit: Fit<'_, T>,
    (n_sums, table): (usize, &mut [f64]),
    scratch: impl Fn() -> Result<S> + Sync,
    add: impl Fn(&mut S, &[u32], &mut [f64]) -> Result<()> + Sync,
    visit: impl Fn(usize, &[f64], &mut [f64]) -> Result<()> + Sync,
) -> Result<()> {
    let mut rows = table.chunks_exact_mut((table.len() / fit.leaves.len().max(1)).max(1));
    sum_by_leaf(fit, n_sums, scratch, add, |leaves| {
        let (n_threads, _) = pool::blocks(fit.control.n_threads(), leaves.len() * n_sums, LEAST_SUMS);
        let jobs = leaves.iter().zip(&mut rows);
        pool::for_each(n_threads, jobs, || Ok(()), |(), (&(leaf, sums), row)| visit(leaf, sums, row))
    })
}

/// The minimum number of sums from which a thread computes leaves; it is set by hand.
const LEAST_SUMS: usize = if cfg!(test) { 1 } else { 1 << 11 };

const SUMS: Purpose = Purpose("sums of gradients");

/// Calls `visit` with consecutive leaves and Σ w r of each, until all leaves have been visited.
pub(crate) fn leaf_sums<T: Float>(
    fit: Fit<'_, T>,
    held: &Held<T>,
    visit: impl FnMut(&[(usize, &[f64])]) -> Result<()>,
) -> Result<()> {
    let (Fit { data, leaves, .. }, Held { scores, bounds, .. }) = (fit, held);
    let width = data.width;
    let blocks = data.of_row.in_blocks();
    if let (Some(y), None) = (ColumnY::of(data), blocks) {
        let grid = WeightedGrid::for_sums(bounds[0].to_f64(), leaves.total);
        let add = |memory: &mut ColumnMemory<T>, rows: &[u32], sums: &mut [f64]| {
            memory.find(fit, scores, y, rows)?;
            sums[0] = summed(&memory.weights, &memory.gradients, |weight, r| grid.product(weight, r));
            Ok(())
        };
        return sum_by_leaf(fit, 1, || Ok(ColumnMemory::default()), add, visit);
    }
    let grids = WeightedGrids::for_sums(bounds.iter().map(|bound| bound.to_f64()), leaves.total)?;
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
                grids.add(leaves.units(row) as f64, r, sums);
            }
            return Ok(());
        }
        for &row in rows {
            let at = row as usize;
            data.of_row.responses(data.row(at), &scores[at * width..][..width], r);
            vectorised(
                #[inline(always)]
                || grids.add(leaves.units(row) as f64, r, sums),
            );
        }
        Ok(())
    };
    sum_by_leaf(fit, width, scratch, add, visit)
}

/// The columns of some samples that have one score each.
#[derive(Debug, Default)]
struct ColumnMemory<T> {
    weights: Vec<f64>,
    gradients: Vec<T>,
    scores: Vec<T>,
    losses: Vec<f64>,
    y: YMemory,
    /// Gradients and second derivatives.
    wide: [Vec<f64>; 2],
}

impl<T: Float> ColumnMemory<T> {
    /// Finds the weights of samples and their negative gradients at these scores.
    fn find(&mut self, fit: Fit<'_, T>, scores: &[T], y: ColumnY<'_>, rows: &[u32]) -> Result<()> {
        self.weights.clear();
        SUMS.extend(&mut self.weights, rows.iter().map(|&row| fit.leaves.units(row) as f64))?;
        self.gradients.clear();
        if let Some(gradients) = fit.gradients {
            return SUMS.extend(&mut self.gradients, rows.iter().map(|&row| T::from_f64(gradients[row as usize])));
        }
        SUMS.extend(&mut self.gradients, iter::repeat_n(T::from_f64(0.0), rows.len()))?;
        self.losses.clear();
        SUMS.extend(&mut self.losses, iter::repeat_n(0.0, rows.len()))?;
        self.scores.clear();
        SUMS.extend(&mut self.scores, rows.iter().map(|&row| scores[row as usize]))?;
        let y = y.of_rows(rows, &mut self.y)?;
        fit.data.of_row.column(y, &self.scores, &mut self.gradients, &mut self.losses);
        Ok(())
    }
}

/// Returns the sum of the products of weights and terms. They are rounded, so that lanes may be added in any order.
#[inline(always)]
fn summed<X: Copy>(weights: &[f64], terms: &[X], product: impl Fn(f64, X) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    vectorised(
        #[inline(always)]
        || {
            let ((weights, last_weights), (terms, last_terms)) = (weights.as_chunks(), terms.as_chunks());
            let mut add = |weights: &[f64], terms: &[X]| {
                let cells = lanes.iter_mut().zip(weights).zip(terms);
                cells.for_each(|((sum, &weight), &term)| *sum += product(weight, term));
            };
            weights.iter().zip(terms).for_each(|(weights, terms): (&[f64; LANES], &[X; LANES])| add(weights, terms));
            add(last_weights, last_terms);
        },
    );
    lanes.iter().sum()
}

/// Calls `visit` for each leaf with Σ w r, Σ w h and the weight of the cells that are on, each for all columns one after
/// the other, and with the leaf's row of `table`. Leaves are visited in any order, on several threads.
pub(crate) fn leaf_derivatives<T: Float>(
    fit: Fit<'_, T>,
    scores: &[T],
    sums_of: &dyn RowSums<T>,
    table: &mut [f64],
    visit: impl Fn(usize, &[f64], &mut [f64]) -> Result<()> + Sync,
) -> Result<()> {
    let Fit { data, leaves, .. } = fit;
    let width = data.width;
    if let (Some(y), Some(loss)) = (ColumnY::of(data), data.loss.curved())
        && let Some(bounds) = loss.bounds().filter(|_| loss.curvatures_at(&[], &mut []))
    {
        let grids = [bounds.gradient, bounds.curvature].map(|bound| WeightedGrid::<T>::for_sums(bound, leaves.total));
        let add = |memory: &mut ColumnMemory<T>, rows: &[u32], sums: &mut [f64]| {
            memory.find(fit, scores, y, rows)?;
            let ColumnMemory { weights, gradients, wide: [of_gradients, of_curvatures], .. } = memory;
            of_gradients.clear();
            SUMS.extend(of_gradients, gradients.iter().map(|r| r.to_f64()))?;
            of_curvatures.clear();
            SUMS.extend(of_curvatures, iter::repeat_n(0.0, rows.len()))?;
            loss.curvatures_at(of_gradients, of_curvatures);
            sums[0] = summed(weights, gradients, |weight, r| grids[0].product(weight, r));
            sums[1] = summed(weights, of_curvatures, |weight, h| grids[1].product(weight, T::from_f64(h)));
            // The score of a sample that is on should rise.
            sums[2] = summed(weights, gradients, |weight, r| if r > T::from_f64(0.0) { weight } else { 0.0 });
            Ok(())
        };
        return rows_by_leaf(fit, (3, table), || Ok(ColumnMemory::default()), add, visit);
    }
    let units = leaves.of_rows.of_rows_in(0..data.n_samples);
    let add = |_: &mut (), ids: &[u32], sums: &mut [f64]| {
        let (gradients, sums) = sums.split_at_mut(width);
        let (curvatures, on) = sums.split_at_mut(width);
        let rows = LeafRows { ids, y: &data.y, scores, width, units, total: leaves.total };
        sums_of.add(&rows, gradients, curvatures)?;
        ids.iter().for_each(|&row| rows.y(row).each_on(|j| on[j] += rows.units(row) as f64));
        Ok(())
    };
    rows_by_leaf(fit, (3 * width, table), || Ok(()), add, visit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boost::BoostConfig;
    use crate::boost::data::Data;
    use crate::boost::leaves::Leaves;
    use crate::control::Control;
    use crate::data::{LabelView, Targets, Weights};
    use crate::loss::LossKind;
    use crate::loss::outputs::ColumnLosses;
    use crate::loss::working::WorkingLoss;

    /// Leaves of one part of a chunk, of several chunks, and of more chunks than are in memory at once.
    #[test]
    fn sums_of_leaves_are_those_of_their_samples_in_any_parts() {
        let (n, width) = (2000u32, 1024);
        let ptr = vec![0usize; n as usize + 1];
        let y = Targets::Labels(LabelView::try_new(&ptr[..], &[][..], width).unwrap());
        let loss = LossKind::LogLoss;
        let working = WorkingLoss::Columns(ColumnLosses::One(loss.as_column()));
        let weights = Weights::of_rows(None, n as usize).unwrap();
        let data = Data::<f32>::new(&y, (&working, None), Weights::of_rows(None, n as usize).unwrap(), width).unwrap();
        let order: Vec<u32> = (0..n).rev().collect();
        let ends = [0, 1, 130, 130, 131, 1900, 1964, n];
        let ranges = ends.windows(2).map(|ends| ends[0]..ends[1]).collect();
        let leaves = Leaves::new(&order, ranges, &weights).unwrap();
        let config = BoostConfig::new(LossKind::LogLoss);
        for n_threads in [1, 3] {
            let control = Control::with_threads(n_threads);
            let fit = Fit { data: &data, leaves: &leaves, config: &config, control: &control, gradients: None };
            let add = |_: &mut (), rows: &[u32], sums: &mut [f64]| {
                rows.iter().for_each(|&row| (sums[0], sums[1]) = (sums[0] + f64::from(row), sums[1] + 1.0));
                Ok(())
            };
            let mut table = vec![f64::NAN; 2 * leaves.len()];
            let copy = |leaf: usize, sums: &[f64], row: &mut [f64]| {
                assert_eq!(leaves.rows(leaf).len() as f64, sums[1]);
                row.copy_from_slice(sums);
                Ok(())
            };
            rows_by_leaf(fit, (2, &mut table), || Ok(()), add, copy).unwrap();
            for (leaf, sums) in table.chunks_exact(2).enumerate() {
                let sum: u32 = leaves.rows(leaf).iter().sum();
                assert_eq!(sums, [f64::from(sum), leaves.rows(leaf).len() as f64]);
            }
        }
    }
}
