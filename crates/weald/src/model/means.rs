//! Means, over trees, of the leaves that samples reach, whatever the tests of the trees are.
//!
//! A model implements [`FindLeaves`] and thereby tells which leaves some samples reach. What is computed from them is
//! here only once: complete means, the best columns, and the columns that are large enough. Sums are taken in the order
//! of the trees and divided at the end.

use std::ops::Range;

use super::at_least::SparseScores;
use super::into_array;
use super::ranking::{Places, Ranking};
use super::topk::{TopK, check_topk};
use super::touched::TouchedRow;
use crate::control::Control;
use crate::data::LabelView;
use crate::error::{Error, Purpose, Result};
use crate::pool;
use crate::tree::LeafTable;

/// Finds the leaves of the samples of one X in some trees.
pub(crate) trait FindLeaves: Sync {
    /// The working memory of one thread.
    type Scratch;

    fn n_samples(&self) -> usize;

    /// The largest mean that is possible but for rounding: 1 if leaves have frequencies. Larger means become this one.
    fn largest_mean(&self) -> f64 {
        f64::INFINITY
    }

    fn scratch(&self) -> Result<Self::Scratch>;

    /// Returns the number of samples that are processed together; results do not depend on it.
    fn block_rows(&self, n_threads: usize) -> usize;

    /// Finds the leaves of the samples `rows`.
    fn find(&self, rows: Range<usize>, scratch: &mut Self::Scratch, control: &Control) -> Result<()>;

    /// Calls `each` with what was found for sample `at` of the range above. Trees come in their order; of each tree,
    /// the leaves that count for the sample are given as rows of a table, with their weights.
    fn visit<'s>(
        &'s self,
        at: usize,
        scratch: &Self::Scratch,
        each: impl FnMut(usize, &'s LeafTable, usize, f64) -> Result<()>,
    ) -> Result<()>;
}

/// Writes the means over the trees for which `counts(row, tree)` is true into `out`, `width` values for each sample.
/// `n_counting(row)` must be the number of these trees; if it is 0, the values of the sample are NaN.
pub(crate) fn means_into<L: FindLeaves>(
    found: &L,
    (width, out): (usize, &mut [f64]),
    counts: impl Fn(usize, usize) -> bool + Sync,
    n_counting: impl Fn(usize) -> f64 + Sync,
    control: &Control,
) -> Result<()> {
    let n = found.n_samples();
    if Some(out.len()) != n.checked_mul(width) {
        return Err(Error::shape("out", n.saturating_mul(width), out.len()));
    }
    let size = found.block_rows(control.n_threads());
    pool::for_each(
        control.n_threads(),
        out.chunks_mut((size * width).max(1)).enumerate(),
        || found.scratch(),
        |scratch, (b, out)| {
            let range = b * size..(b * size + size).min(n);
            found.find(range.clone(), scratch, control)?;
            for ((at, row), sums) in range.enumerate().zip(out.chunks_exact_mut(width)) {
                control.check()?;
                mean_of(found, at, scratch, |tree| counts(row, tree), n_counting(row), sums)?;
            }
            Ok(())
        },
    )
}

/// Writes the mean for sample `at` over the `divisor` trees that count.
pub(crate) fn mean_of<L: FindLeaves>(
    found: &L,
    at: usize,
    scratch: &L::Scratch,
    counts: impl Fn(usize) -> bool,
    divisor: f64,
    sums: &mut [f64],
) -> Result<()> {
    sums.fill(0.0);
    found.visit(at, scratch, |tree, leaves, leaf, factor| {
        if counts(tree) {
            leaves.add_times(leaf, factor, sums);
        }
        Ok(())
    })?;
    let mean = |sum: f64| (sum / divisor).min(found.largest_mean());
    sums.iter_mut().for_each(|sum| *sum = if divisor == 0.0 { f64::NAN } else { mean(*sum) });
    Ok(())
}

/// Writes the standard deviations around the `means` over the trees for which `counts(row, tree)` is true into `out`, of
/// trees of which a sample reaches one leaf. `n_counting(row)` must be the number of these trees; if it is 0 or 1,
/// deviations are 0.
pub(crate) fn spread_into<L: FindLeaves>(
    found: &L,
    (width, means, out): (usize, &[f64], &mut [f64]),
    counts: impl Fn(usize, usize) -> bool + Sync,
    n_counting: impl Fn(usize) -> f64 + Sync,
    control: &Control,
) -> Result<()> {
    let n = found.n_samples();
    let size = found.block_rows(control.n_threads());
    pool::for_each(
        control.n_threads(),
        out.chunks_mut((size * width).max(1)).enumerate(),
        || Ok((found.scratch()?, Purpose("the prediction of a tree").zeros(1, width)?)),
        |(scratch, of_tree), (b, out)| {
            let range = b * size..(b * size + size).min(n);
            found.find(range.clone(), scratch, control)?;
            for ((at, row), squares) in range.enumerate().zip(out.chunks_exact_mut(width)) {
                control.check()?;
                let means = &means[row * width..][..width];
                found.visit(at, scratch, |tree, leaves, leaf, factor| {
                    if counts(row, tree) {
                        of_tree.fill(0.0);
                        leaves.add_times(leaf, factor, of_tree);
                        let deviations = of_tree.iter().zip(means).map(|(value, mean)| value - mean);
                        squares.iter_mut().zip(deviations).for_each(|(sum, deviation)| *sum += deviation * deviation);
                    }
                    Ok(())
                })?;
                let divisor = (n_counting(row) - 1.0).max(1.0);
                squares.iter_mut().for_each(|sum| *sum = (*sum / divisor).sqrt());
            }
            Ok(())
        },
    )
}

/// The memory for the best columns of one sample after another.
#[derive(Debug)]
pub(crate) struct Best<'e> {
    sums: TouchedRow,
    pub(crate) ranking: Ranking<'e>,
}

impl<'e> Best<'e> {
    pub(crate) fn new(columns: usize, excluded: Option<&'e LabelView<'e>>) -> Result<Self> {
        Ok(Best { sums: TouchedRow::new(columns)?, ranking: Ranking::new(columns, excluded)? })
    }

    /// Writes the columns of sample `row` with the largest means of what `add` adds up, of which none is above `largest`.
    /// Columns that no leaf stores have score 0.
    pub(crate) fn rank(
        &mut self,
        row: usize,
        add: impl FnOnce(&mut TouchedRow) -> Result<()>,
        (divisor, largest): (f64, f64),
        places: Places<'_>,
    ) -> Result<()> {
        let Best { sums, ranking } = self;
        add(sums)?;
        sums.limit(divisor * largest);
        let touched = sums.columns().iter().map(|&column| (sums.sum(column) / divisor, column));
        ranking.rank_with_zeros(row, touched, sums.others(), places)?;
        sums.forget();
        Ok(())
    }

    /// [`rank`](Self::rank) for what was found for sample `at` of a range, which is sample `row`.
    pub(crate) fn of_means<L: FindLeaves>(
        &mut self,
        found: &L,
        at: usize,
        scratch: &L::Scratch,
        row: usize,
        divisor: f64,
        places: Places<'_>,
    ) -> Result<()> {
        let add =
            |sums: &mut TouchedRow| found.visit(at, scratch, |_, leaves, leaf, factor| sums.add(leaves, leaf, factor));
        self.rank(row, add, (divisor, found.largest_mean()), places)
    }
}

/// Returns the `k` of `columns` with the largest mean for each sample. The columns that leaves store are ranked; all
/// others are zero.
///
/// # Errors
/// The same as for [`super::Additive::topk`].
pub(crate) fn topk<L: FindLeaves>(
    found: &L,
    (columns, k): (usize, usize),
    divisor: f64,
    excluded: Option<&LabelView<'_>>,
    control: &Control,
) -> Result<TopK> {
    let n = found.n_samples();
    check_topk((n, columns), k, excluded)?;
    let mut indices = Purpose("the best columns").zeros(n, k)?;
    let mut scores = Purpose("the best scores").zeros(n, k)?;
    let size = found.block_rows(control.n_threads());
    pool::for_each(
        control.n_threads(),
        indices.chunks_mut(size * k).zip(scores.chunks_mut(size * k)).enumerate(),
        || Ok((found.scratch()?, Best::new(columns, excluded)?)),
        |(scratch, best), (b, (indices, scores))| {
            let range = b * size..(b * size + size).min(n);
            let places = range.clone().zip(indices.chunks_exact_mut(k).zip(scores.chunks_exact_mut(k)));
            found.find(range, scratch, control)?;
            for (at, (row, places)) in places.enumerate() {
                control.check()?;
                best.of_means(found, at, scratch, row, divisor, places)?;
            }
            Ok(())
        },
    )?;
    Ok(TopK { indices: into_array(indices, n, k), scores: into_array(scores, n, k) })
}

/// Returns an error if `floor` is negative or NaN.
pub(super) fn check_floor(floor: f64) -> Result<()> {
    if floor.is_nan() || floor < 0.0 {
        return Err(Error::invalid("min_score", floor, "be at least 0"));
    }
    Ok(())
}

/// Returns the means of each sample over the trees that count for it, where they are positive and at least `floor`.
///
/// `counts(row, tree)` tells whether a tree counts for a sample, and `n_counting(row)` must be the number of these
/// trees; a sample for which it is 0 has no entries. The bits are those of the complete mean, for any number of
/// threads. Memory is that of the result and one row of sums for each thread; time is that of reading the leaves that
/// are reached.
///
/// # Errors
/// Returns [`crate::ErrorKind::Invalid`] when `floor` is negative or NaN, [`crate::ErrorKind::Interrupted`] or
/// [`crate::ErrorKind::OutOfMemory`].
pub(crate) fn at_least<L: FindLeaves>(
    found: &L,
    (width, floor): (usize, f64),
    counts: impl Fn(usize, usize) -> bool + Sync,
    n_counting: impl Fn(usize) -> f64 + Sync,
    control: &Control,
) -> Result<SparseScores> {
    check_floor(floor)?;
    let n = found.n_samples();
    let size = found.block_rows(control.n_threads());
    let mut blocks = SparseScores::empty_blocks(n.div_ceil(size))?;
    pool::for_each(
        control.n_threads(),
        blocks.iter_mut().enumerate(),
        || Ok((found.scratch()?, TouchedRow::new(width)?)),
        |(scratch, sums), (b, block)| {
            let range = b * size..(b * size + size).min(n);
            found.find(range.clone(), scratch, control)?;
            for (at, row) in range.enumerate() {
                control.check()?;
                found.visit(
                    at,
                    scratch,
                    |tree, leaves, leaf, factor| {
                        if counts(row, tree) { sums.add(leaves, leaf, factor) } else { Ok(()) }
                    },
                )?;
                let divisor = n_counting(row);
                sums.limit(divisor * found.largest_mean());
                block.push_row(sums, divisor, floor)?;
            }
            Ok(())
        },
    )?;
    SparseScores::joined(blocks)
}
