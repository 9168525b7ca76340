//! The k best columns of each sample.
//!
//! Where leaves are rows of a sparse table, only the columns that the leaves of a sample store are ranked, as all
//! others are zero. Otherwise all scores of a block of samples are computed and ranked.

use std::ops::Range;

use ndarray::Array2;

use super::predict::Worker;
use super::ranking::Ranking;
use super::{Additive, Terms, into_array, means};
use crate::control::Control;
use crate::data::{LabelView, Matrix};
use crate::error::{Error, Purpose, Result};
use crate::pool;
use crate::tree::rows::Rows;

/// The k columns with the largest predictions for each sample, the best column first.
///
/// If columns are excluded and fewer than k are left for a sample, its last places have the column [`TopK::NONE`] and
/// the score −∞.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TopK {
    /// Column indices, (n_samples, k).
    pub indices: Array2<u32>,
    /// The predictions of these columns, (n_samples, k).
    pub scores: Array2<f64>,
}

impl TopK {
    /// The index that stands in places for which no column is left.
    pub const NONE: u32 = u32::MAX;
}

/// The quantity by which columns are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RankBy {
    /// By scores, of which there may be fewer than predictions.
    Scores,
    /// By predictions: the classes of several outputs rank differently by scores than by probabilities.
    Predictions,
}

fn check_k(columns: usize, k: usize) -> Result<()> {
    if k == 0 || k > columns {
        return Err(Error::invalid("k", k, "be between 1 and the number of outputs that are ranked"));
    }
    Ok(())
}

/// Returns an error if `k` is not between 1 and the number of columns, or if the exclusions do not have the right
/// shape.
pub(crate) fn check_topk((n, columns): (usize, usize), k: usize, excluded: Option<&LabelView<'_>>) -> Result<()> {
    check_k(columns, k)?;
    check_excluded((n, columns), excluded)
}

/// Returns an error if the exclusions do not have the right shape.
pub(super) fn check_excluded((n, columns): (usize, usize), excluded: Option<&LabelView<'_>>) -> Result<()> {
    let Some(excluded) = excluded else { return Ok(()) };
    if excluded.n_labels() != columns {
        return Err(Error::shape("each row of exclude", columns, excluded.n_labels()));
    }
    if excluded.n_samples() != 1 && excluded.n_samples() != n {
        return Err(Error::shape("exclude", n, excluded.n_samples()));
    }
    Ok(())
}

impl Additive<'_> {
    /// Returns the `k` columns with the largest score, or prediction, for each sample, in descending order; of equal
    /// values, the lower column comes first.
    ///
    /// `excluded` lists columns that are not returned: one row for each sample, or a single row that holds for all
    /// samples. The whole prediction is never in memory: memory is O(n · k) and a block of samples for each thread, and
    /// time is that of reading the leaves that are reached.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] when `k` is 0 or larger than the number of columns,
    /// [`crate::ErrorKind::Shape`] when `excluded` has another number of columns or neither one row nor one for each
    /// sample of X, and the errors of [`Additive::scores`].
    pub(crate) fn topk(
        &self,
        x: &Matrix<'_>,
        k: usize,
        by: RankBy,
        excluded: Option<&LabelView<'_>>,
        control: &Control,
    ) -> Result<TopK> {
        let columns = match by {
            RankBy::Scores => self.width,
            RankBy::Predictions => self.n_columns(),
        };
        check_k(columns, k)?;
        if by == RankBy::Scores && matches!(self.terms, Terms::Leaves) && self.start.is_empty() {
            return means::topk(&self.leaves_of(x, control)?, (columns, k), self.divisor, excluded, control);
        }
        let rows = self.rows(x, control)?;
        let n = rows.n_samples();
        check_topk((n, columns), k, excluded)?;
        let mut indices = Purpose("the best columns").zeros(n, k)?;
        let mut scores = Purpose("the best scores").zeros(n, k)?;
        let n_threads = self.threads_for(n, self.trees.len(), control.n_threads());
        let size = self.rows_at_once(&rows, n_threads);
        pool::for_each(
            n_threads,
            indices.chunks_mut(size * k).zip(scores.chunks_mut(size * k)).enumerate(),
            || Ok((self.worker(&rows, 0..self.trees.len())?, Ranking::new(columns, excluded)?)),
            |(worker, ranking), (b, (indices, scores))| {
                let range = b * size..(b * size + size).min(n);
                let places = range.clone().zip(indices.chunks_exact_mut(k).zip(scores.chunks_exact_mut(k)));
                let block = self.block_of_scores(&rows, range, worker, by, control)?;
                for (scored, (row, places)) in block.chunks_exact(columns).zip(places) {
                    ranking.rank(row, scored.iter().copied(), places)?;
                }
                Ok(())
            },
        )?;
        Ok(TopK { indices: into_array(indices, n, k), scores: into_array(scores, n, k) })
    }

    /// Computes the scores, or predictions, of a block of samples.
    fn block_of_scores(
        &self,
        x: &Rows<'_>,
        rows: Range<usize>,
        worker: &mut Worker,
        by: RankBy,
        control: &Control,
    ) -> Result<Vec<f64>> {
        let n = rows.len();
        let mut scores = Purpose("a block of scores").zeros(n, self.width)?;
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
