//! The best columns of each sample.
//!
//! Where leaves are rows of a sparse table, the columns that the leaves of a sample touch are ranked, and all others are
//! zero. Else whole rows of scores are, a block of them at once.

use std::ops::Range;

use ndarray::Array2;

use super::predict::{Worker, leaf};
use super::{Additive, Terms, into_array, try_matrix};
use crate::control::Control;
use crate::data::Matrix;
use crate::error::{Error, Result, try_filled, try_grow, try_push};
use crate::pool;
use crate::tree::Tree;
use crate::tree::rows::Rows;

/// The best columns of each row, best first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TopK {
    /// Columns, (n_samples, k).
    pub indices: Array2<u32>,
    /// Their predictions, (n_samples, k).
    pub scores: Array2<f64>,
}

/// What columns are ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RankBy {
    /// Scores, of which there may be fewer than predictions.
    Scores,
    /// Predictions: scores of the classes of several outputs rank otherwise than their probabilities.
    Predictions,
}

impl Additive<'_> {
    /// The `k` columns of greatest score, or prediction, of each row: descending, then column ascending.
    ///
    /// Never holds the whole prediction: memory is O(n · k) and a block of rows for each thread, time the cells of the
    /// leaves that are reached.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] when `k` is 0 or more than there are columns, and those of [`Additive::scores`].
    pub(crate) fn topk(&self, x: &Matrix<'_>, k: usize, by: RankBy, control: &Control) -> Result<TopK> {
        let columns = match by {
            RankBy::Scores => self.width,
            RankBy::Predictions => self.n_columns(),
        };
        if k == 0 || k > columns {
            return Err(Error::invalid("k", k, "between 1 and the number of columns of predictions"));
        }
        let rows = self.rows(x, control)?;
        let n = rows.n_samples();
        let mut indices = try_matrix("the best columns", n, k)?;
        let mut scores = try_matrix("the best scores", n, k)?;
        let only_touched = by == RankBy::Scores && matches!(self.terms, Terms::Leaves) && self.start.is_empty();
        let size = if only_touched {
            rows.block_rows(self.trees.len(), control.n_threads())
        } else {
            self.rows_at_once(&rows, control.n_threads())
        };
        pool::for_each(
            control.n_threads(),
            indices.chunks_mut(size * k).zip(scores.chunks_mut(size * k)).enumerate(),
            || Ok((self.worker(&rows)?, Ranking::new(if only_touched { columns } else { 0 })?)),
            |(worker, ranking), (b, (indices, scores))| {
                let range = b * size..(b * size + size).min(n);
                let places = indices.chunks_exact_mut(k).zip(scores.chunks_exact_mut(k));
                if only_touched {
                    return self.rank_touched(&rows, range, worker, ranking, places, control);
                }
                let block = self.block_of_scores(&rows, range, worker, by, control)?;
                for (row, (indices, scores)) in block.chunks_exact(columns).zip(places) {
                    best_columns(&mut ranking.candidates, row, indices, scores)?;
                }
                Ok(())
            },
        )?;
        Ok(TopK { indices: into_array(indices, n, k), scores: into_array(scores, n, k) })
    }

    /// Writes the best columns of a block of rows: of those that leaves touch, and of the first of the others.
    fn rank_touched<'b>(
        &self,
        x: &Rows<'_>,
        rows: Range<usize>,
        worker: &mut Worker,
        ranking: &mut Ranking,
        places: impl Iterator<Item = (&'b mut [u32], &'b mut [f64])>,
        control: &Control,
    ) -> Result<()> {
        let ids = worker.walk(x, rows, &self.trees)?;
        for (ids, (indices, scores)) in ids.chunks_exact(self.trees.len()).zip(places) {
            control.check()?;
            for (tree, &id) in self.trees.iter().zip(ids) {
                ranking.add(tree, leaf(tree, id))?;
            }
            ranking.take_best(self.divisor, indices, scores)?;
        }
        Ok(())
    }

    /// Scores, or predictions, of a block of rows.
    fn block_of_scores(
        &self,
        x: &Rows<'_>,
        rows: Range<usize>,
        worker: &mut Worker,
        by: RankBy,
        control: &Control,
    ) -> Result<Vec<f64>> {
        let n = rows.len();
        let mut scores = try_matrix("a block of scores", n, self.width)?;
        self.scores_of_block(x, rows, worker, &mut scores, control)?;
        match by {
            RankBy::Scores => Ok(scores),
            RankBy::Predictions => {
                let predictions = self.linked(into_array(scores, n, self.width), control)?;
                Ok(predictions.into_raw_vec_and_offset().0)
            }
        }
    }
}

const RANKING: &str = "a row of predictions";

/// Sums of one row, and the columns that they touch.
#[derive(Debug)]
struct Ranking {
    sums: Vec<f64>,
    seen: Vec<bool>,
    /// Columns that are `seen`, in the order of their first touch; `sums` is zero elsewhere.
    touched: Vec<u32>,
    candidates: Vec<(f64, u32)>,
}

impl Ranking {
    fn new(width: usize) -> Result<Self> {
        let sums = try_filled(RANKING, 0.0, width)?;
        let seen = try_filled(RANKING, false, width)?;
        Ok(Ranking { sums, seen, touched: Vec::new(), candidates: Vec::new() })
    }

    /// Adds the values of a leaf.
    fn add(&mut self, tree: &Tree, leaf: usize) -> Result<()> {
        tree.leaves.add_to(leaf, &mut self.sums);
        for (column, _) in tree.leaves.cells(leaf) {
            if !std::mem::replace(&mut self.seen[column as usize], true) {
                try_push(RANKING, &mut self.touched, column)?;
            }
        }
        Ok(())
    }

    /// Writes the best columns and their scores, and forgets the row.
    fn take_best(&mut self, divisor: f64, indices: &mut [u32], scores: &mut [f64]) -> Result<()> {
        let k = indices.len();
        self.candidates.clear();
        try_grow(RANKING, &mut self.candidates, k + self.touched.len())?;
        self.candidates.extend(self.touched.iter().map(|&c| (self.sums[c as usize] / divisor, c)));
        // Columns never touched have score 0: the first k of them are enough. Fewer than k + touched are looked at.
        let untouched = (0u32..).zip(&self.seen).filter(|(_, seen)| !**seen).map(|(c, _)| (0.0, c));
        self.candidates.extend(untouched.take(k));
        take_best(&mut self.candidates, indices, scores);
        for column in self.touched.drain(..) {
            self.sums[column as usize] = 0.0;
            self.seen[column as usize] = false;
        }
        Ok(())
    }
}

/// The columns of greatest score of a row, and their scores.
fn best_columns(candidates: &mut Vec<(f64, u32)>, row: &[f64], indices: &mut [u32], scores: &mut [f64]) -> Result<()> {
    candidates.clear();
    try_grow(RANKING, candidates, row.len())?;
    candidates.extend(row.iter().copied().zip(0u32..));
    take_best(candidates, indices, scores);
    Ok(())
}

/// Writes the best candidates, as many as there are places: score descending, then column ascending.
fn take_best(candidates: &mut Vec<(f64, u32)>, indices: &mut [u32], scores: &mut [f64]) {
    let k = indices.len();
    let best_first = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if candidates.len() > k {
        candidates.select_nth_unstable_by(k - 1, best_first);
        candidates.truncate(k);
    }
    candidates.sort_unstable_by(best_first);
    for ((score, column), (out, place)) in candidates.iter().zip(scores.iter_mut().zip(indices)) {
        (*out, *place) = (*score, *column);
    }
}
